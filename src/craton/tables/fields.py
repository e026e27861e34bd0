"""Types of the values in a scenario: numbers with units and limits, choices, positions, tables told
apart by kind.
"""

import math
import operator
import os
import re
import sys
from typing import Annotated, Any, ClassVar, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from craton.io.units import DIMENSIONS, LARGEST, SMALLEST, UnitError, si
from craton.text import listed, nearest, number, shown


class Table(BaseModel):
    """A table of the scenario: its keys are fixed, its values do not change, an unknown key is an
    error.

    `_problems` yields (key, message, remedy) of values that do not fit each other; `key` is
    relative to the table.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)

    @model_validator(mode="after")
    def _values_fit(self):
        items = list(self._problems())
        if items:
            raise wrong(*items)
        return self

    def _problems(self):
        return ()


def wrong(*items, nearest=None):
    """Return the exception that carries problems of one value or table to the report.

    Parameters
    ----------
    items : (key, message, remedy) tuples
        ``key`` is relative to the table being checked, ``""`` for the value or table itself.
    nearest : str, optional
        The choice that was probably meant, so that checking can go on with it.
    """
    return PydanticCustomError(
        "craton", "{message}", {"message": "; ".join(m for _, m, _ in items), "items": items, "nearest": nearest}
    )


def repeated(names, key, remedy, message="{} is listed twice"):
    """Problems of names that are in a list twice: list; `key` is a format of the number, `message`
    of the name.

    Parameters
    ----------
    names : sequence of str
    key : str
        Format of the number.
    remedy : str
    message : str, optional
        Format of the name.
    """
    twice = [(i, name) for i, name in enumerate(names) if name in names[:i]]
    return [(key.format(i), message.format(shown(name)), remedy) for i, name in twice]


def unique_names(message, remedy):
    """Return a validator of tables whose names must differ."""

    def validate(tables):
        items = repeated([table.name for table in tables], "{}.name", remedy, message)
        if items:
            raise wrong(*items)
        return tables

    return AfterValidator(validate)


def exactly_one(table, names, remedy, key=""):
    """Problems of a table with both or none of two keys, reported at `key`: list of (key, message,
    remedy).

    Parameters
    ----------
    table : Table
    names : (str, str)
        The two keys.
    remedy : str
    key : str, optional
        Where the problem is reported; by default the table itself.
    """
    present = sum(getattr(table, name) is not None for name in names)
    message = "{} and {} are mutually exclusive" if present else "missing: neither {} nor {} is given"
    return [(key, message.format(*names), remedy)] * (present != 1)


def both_or_none(table, names, otherwise):
    """Return the problem of a table with one of two keys that go together: list; `otherwise` is
    used where both are left out.

    Parameters
    ----------
    table : Table
    names : (str, str)
        The two keys.
    otherwise : str
        What is used where both are left out, for the remedy.
    """
    missing = [name for name in names if getattr(table, name) is None]
    message = f"{' and '.join(names)} must be given together"
    remedy = f"give both, or leave both out to use {otherwise}"
    return [(name, message, remedy) for name in missing] if len(missing) == 1 else []


# How a limit is said, its word in JSON Schema, and whether a value keeps it.
LIMITS = {
    "above": ("greater than", "exclusiveMinimum", operator.gt),
    "least": ("at least", "minimum", operator.ge),
    "below": ("less than", "exclusiveMaximum", operator.lt),
    "most": ("at most", "maximum", operator.le),
}


MOST = 10_000_000  # of what is counted, where a key has no limit of its own


def quantity(dimension, **limits):
    """Return the type of a number with a dimension, and its limits: ``above`` and ``below`` are
    excluded, ``least`` and ``most`` allowed.

    Parameters
    ----------
    dimension : str
        One of `craton.io.units.DIMENSIONS`.
    limits : float by name
        ``above``, ``least``, ``below``, ``most``, in SI units.
    """
    unit = DIMENSIONS[dimension][0]

    def validate(value):
        try:
            value = si(value, dimension)
        except UnitError as error:
            raise wrong(("", str(error), error.remedy)) from None
        except OverflowError:
            raise wrong(("", "the number is too large", "correct it")) from None
        largest = LARGEST.get(dimension, math.inf)
        if abs(value) > largest:
            message = f"{number(value)} {unit} is out of range: no more than {number(largest)} {unit}"
            raise wrong(("", message, "correct the number or its unit"))
        smallest = SMALLEST.get(dimension, 0.0)
        # a place or a depth may be next to 0 by rounding; a size or a speed is not
        is_size = limits.get("above") == 0 or limits.get("least") == 0 and dimension == "velocity"
        if is_size and 0 < value < smallest:
            message = f"{number(value)} {unit} is out of range: at least {number(smallest)} {unit}"
            raise wrong(("", message, "correct the number or its unit"))
        return _within(value, limits, unit)

    name = f"{dimension}, {unit}" if unit else dimension
    schema = {"type": ["number", "string"], "description": name}
    return Annotated[float, BeforeValidator(validate), _schema(schema, limits)]


def whole(**limits):
    """Return the type of a whole number within the limits ``least`` and ``most``.

    Parameters
    ----------
    limits : int by name
        ``least``, ``most``.
    """
    least, most = limits.get("least"), limits.get("most")
    extent = f" from {least} to {most}" if most is not None else f", {least} or more"

    def validate(value):
        is_integral = hasattr(value, "__index__") or isinstance(value, float) and value.is_integer()
        if isinstance(value, bool) or not is_integral:
            remedy = "write a whole number" + ("" if least is None else extent)
            raise wrong(("", f"{shown(value)} is not a whole number", remedy))
        if abs(value) > sys.maxsize:
            raise wrong(("", "the number is too large", "correct it"))
        return _within(int(value), {"most": MOST} | limits)

    return Annotated[int, BeforeValidator(validate), _schema({"type": "integer"}, limits)]


def _schema(schema, limits):
    return WithJsonSchema(schema | {LIMITS[name][1]: limit for name, limit in limits.items()})


def _within(value, limits, unit=""):
    """Return the value, where it keeps its limits."""
    unit = f" {unit}".rstrip()
    phrases = {name: f"{LIMITS[name][0]} {number(limit)}{unit}" for name, limit in limits.items()}
    broken = [phrases[name] for name, limit in limits.items() if not LIMITS[name][2](value, limit)]
    if broken:
        message = f"{number(value)}{unit} is out of range: must be {broken[0]}"
        raise wrong(("", message, f"give a value {listed(phrases.values(), 'and')}"))
    return value


def must(holds, message, remedy):
    """Return the check of a value by a function; "{value}" in the texts is the value.

    Parameters
    ----------
    holds : callable
        Whether a value is right.
    message, remedy : str
    """

    def validate(value):
        if not holds(value):
            texts = (text.replace("{value}", shown(value)) for text in (message, remedy))
            raise wrong(("", *texts))
        return value

    return BeforeValidator(validate)


def matching(pattern, message, remedy):
    """Return the type of a text that matches a pattern; of what does not the message (with ``{value}``) and remedy are
    said.
    """
    return Annotated[str, must(lambda value: isinstance(value, str) and re.fullmatch(pattern, value), message, remedy)]


def one_of(names, meant=None):
    """Return the check that a value is one word (or number) out of a few; `meant` maps other
    programs' words to ours.

    Parameters
    ----------
    names : tuple of str or int
        What may be written.
    meant : dict, optional
        Words of other programs and the names that they stand for.
    """

    def validate(value):
        if value in names and not isinstance(value, bool):
            return names[names.index(value)]
        quoted = listed([shown(name) for name in names])
        close = None
        if isinstance(value, str):
            close = (meant or {}).get(value) or nearest(value, names)
        hint = f"; did you mean {shown(close)}?" if close else ""
        message = f"{shown(value)} is not {quoted}{hint}"
        raise wrong(("", message, f"write {'one of ' * (len(names) > 1)}{quoted}"), nearest=close)

    return validate


def choice(*names, meant=None):
    """Return the type of one word (or number) out of a few; `meant` maps other programs' words to
    ours.

    Parameters
    ----------
    names : str or int
    meant : dict, optional
        As of `one_of`.
    """
    schema = WithJsonSchema({"enum": list(names)})
    return Annotated[Any, BeforeValidator(one_of(names, meant)), schema]


def union(pick, *tables, **plain):
    """Return the type of a value that is one of several tables, or of other types by name.

    Parameters
    ----------
    pick : callable
        From a value that is no table yet to the name of its type.
    tables : Table classes, named as they are
    plain : types of other values
    """

    def tag(value):
        return "~" + (type(value).__name__ if isinstance(value, Table) else pick(value))

    kinds = {kind.__name__: kind for kind in tables} | plain
    members = tuple(Annotated[kind, Tag("~" + name)] for name, kind in kinds.items())
    return Annotated[Union[members], Discriminator(tag)]  # noqa: UP007 (made at run time)


def tagged(noun, by, **tables):
    """Return the type of tables that come in kinds.

    Parameters
    ----------
    noun : str
        What they are, for messages: ``"wavelet"``.
    by : str or None
        The key that names the kind; None where the kind is seen from which key is there.
    tables : Table classes by kind
    """

    def check(value):
        if isinstance(value, Table):
            return value
        if not isinstance(value, dict):
            raise wrong(("", f"{shown(value)} is not a table", f"write {{ ... }} with the keys of a {noun}"))
        if by:
            _check_kind(value, noun, by, tuple(tables))
        else:
            _check_signs(value, noun, tables)
        return value

    def pick(value):
        return tables[value[by] if by else next(k for k in tables if k in value)].__name__

    return Annotated[union(pick, *tables.values()), BeforeValidator(check)]


def _check_kind(value, noun, by, kinds):
    if by not in value:
        raise wrong((by, f"missing: the {by} of the {noun}", f"write {by} = {listed([shown(kind) for kind in kinds])}"))
    try:
        one_of(kinds)(value[by])
    except PydanticCustomError as error:
        ((_, message, remedy),) = error.context["items"]
        item = (by, f"{noun} {by} {message}", remedy)
        raise wrong(item, nearest=error.context["nearest"]) from None


def _check_signs(value, noun, tables):
    present = [key for key in tables if key in value]
    if len(present) == 1:
        return
    message = f"the {noun} needs one of {listed(tables)}"
    if present:
        message = f"{listed(present, 'and')} are mutually exclusive"
    else:
        close = [(key, nearest(key, tables)) for key in value if nearest(key, tables)]
        message += f"; did you mean {shown(close[0][1])} for {shown(close[0][0])}?" if close else ""
    raise wrong(("", message, f"give exactly one of {listed(tables)}"))


def as_list(value):
    """Return a list from a list, tuple, range or NumPy array; anything else as it is.

    Parameters
    ----------
    value : object
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, (list, tuple, range)) else value


def items_of(count, message, remedy):
    """Return the check that a value is a list of `count` items; "{value}" in the message is the
    value.

    Parameters
    ----------
    count : int
    message, remedy : str
    """

    def validate(value):
        value = as_list(value)
        if not isinstance(value, list) or len(value) != count:
            raise wrong(("", message.format(value=shown(value)), remedy))
        return value

    return validate


def _three(names, unit):
    return items_of(3, "{value} is not a list of three numbers", f"write [{', '.join(names)}] in {unit}")


def triple(item, names, unit):
    """Return the type of three numbers, such as a position or a force.

    Parameters
    ----------
    item : type
    names : sequence of str
        Of the three numbers, for the remedy.
    unit : str
    """
    return Annotated[tuple[item, item, item], BeforeValidator(_three(names, unit))]


def in_space_or_plane(item, names, unit):
    """Return the type of three numbers, or of the two in the (x, z) plane.

    Parameters
    ----------
    item : type
    names : sequence of str
    unit : str
        As of `triple`.
    """
    three = _three(names, unit)

    def validate(value):
        value = as_list(value)
        return value if isinstance(value, list) and len(value) == 2 else three(value)

    coordinates = 3 * [TypeAdapter(item).json_schema()]
    schema = {"type": "array", "prefixItems": coordinates, "minItems": 2, "maxItems": 3}
    return Annotated[tuple[item, ...], BeforeValidator(validate), WithJsonSchema(schema)]


def spatial(values):
    """Three numbers from those of a `in_space_or_plane`: none of the plane points along y.

    Parameters
    ----------
    values : sequence of float
        Two or three.
    """
    return tuple(values) if len(values) == 3 else (values[0], 0.0, values[1])


def many(item, noun=None):
    """Return the type of a list of numbers or tables: a tuple, from a list or a NumPy array; tables
    with a noun are written ``[[noun]]``.

    Parameters
    ----------
    item : type
    noun : str, optional
    """

    def validate(value):
        items = as_list(value)
        if isinstance(items, list):
            return items
        is_table = isinstance(value, dict)
        if noun:
            message = f"{noun} must be a list of tables, not a single {'table' if is_table else 'value'}"
            raise wrong(("", message, f"write [[{noun}]] with double brackets"))
        raise wrong(("", f"{shown(value)} is not a list", f"write [{'{ ... }' if is_table else shown(value)}]"))

    return Annotated[tuple[item, ...], BeforeValidator(validate)]


def word_or(words, kind):
    """Return the type of one of some words, or of something else, which is no string or begins like
    a number.

    Parameters
    ----------
    words : tuple of str
    kind : type
    """
    word, adapter = one_of(words), TypeAdapter(kind)

    def validate(value):
        is_word = isinstance(value, str) and value.strip()[:1] not in tuple("+-.0123456789")
        return word(value) if is_word else adapter.validate_python(value)

    return Annotated[Any, BeforeValidator(validate), WithJsonSchema(adapter.json_schema())]


def _text(value):
    if not isinstance(value, str) or not value.strip():
        message = "the string is empty" if isinstance(value, str) else f"{shown(value)} is not a string"
        raise wrong(("", message, 'write a string in quotes, "..."'))
    return value


def _path(value):
    return os.path.abspath(os.path.expanduser(_text(os.fspath(value) if isinstance(value, os.PathLike) else value)))


_IS_BOOL = must(
    lambda value: isinstance(value, bool), "{value} is neither true nor false", "write true or false, without quotes"
)
Flag = Annotated[bool, _IS_BOOL]
Text = Annotated[str, BeforeValidator(_text)]
FilePath = Annotated[str, BeforeValidator(_path)]
Length = quantity("length")
Distance = quantity("length", above=0)
Duration = quantity("time", above=0)
Time = quantity("time")
Frequency = quantity("frequency", above=0)
Xyz = triple(Length, "xyz", "m")


class _At(Table):
    """One position, in the domain's own axes or on Earth."""

    count: ClassVar[int] = 1

    @property
    def positions(self):
        """It alone, as a tuple."""
        return (self,)


class Position(_At):
    """A place: ``[x, y, z]`` in metres with z up, or ``{ x, y, depth }`` with depth below the local
    surface.

    In the (x, z) plane y may be left out: ``[x, z]``, ``{ x, depth }``. ``Position(x=0, y=0,
    depth=100)`` in Python; `xyz` gives the three coordinates either way.
    """

    x: Length = Field(examples=["2000  # m, east"])
    y: Length | None = None
    z: Length | None = None
    depth: Length | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value):
        if isinstance(value, (dict, Position)):
            return value
        listed = as_list(value)
        if isinstance(listed, list) and len(listed) == 2:
            return {"x": listed[0], "z": listed[1]}
        x, y, z = _three("xyz", "m, or { x =, y =, depth = }")(value)
        return {"x": x, "y": y, "z": z}

    def _problems(self):
        return exactly_one(self, ("z", "depth"), "give z (m, up) or depth (m, below the surface)")

    @property
    def deep(self):
        """Whether it is given by its depth, which counts from the ground."""
        return self.depth is not None

    @model_serializer
    def _as_written(self):
        if self.depth is None:
            return [self.x, self.z] if self.y is None else [*self.xyz]
        return {name: value for name, value in dict(self).items() if value is not None}

    @property
    def xyz(self):
        """Coordinates (x, y, z), metres, z up; y = 0 where it was left out."""
        return self.x, self.y or 0.0, self.z if self.depth is None else 0.0 - self.depth


def _with_y(position):
    if position.y is None:
        message = "a position in a 3-D domain needs three coordinates, y is missing"
        raise wrong(("", message, "write [x, y, z] in m, or { x =, y =, depth = }"))
    return position


SpatialPosition = Annotated[Position, AfterValidator(_with_y)]


Longitude = quantity("angle", least=-180, most=360)
Latitude = quantity("angle", least=-90, most=90)


class Place(_At):
    """A place on Earth: ``longitude`` and ``latitude`` (deg), and ``depth`` below the ground or
    ``elevation`` (m); on the ground without them.

    It needs ``domain.geographic`` or ``domain.chunk``.
    """

    longitude: Longitude = Field(examples=["-67.25  # deg, east"])
    latitude: Latitude = Field(examples=["-13.82  # deg, north"])
    depth: Length | None = None
    elevation: Length | None = None

    def _problems(self):
        if self.depth is not None and self.elevation is not None:
            remedy = "give depth (m, below the ground) or elevation (m, up)"
            yield "elevation", "depth and elevation are mutually exclusive", remedy

    @property
    def where(self):
        """Longitude and latitude, degrees, and depth, m: minus the elevation where that is given."""
        depth = self.depth or 0.0
        return self.longitude, self.latitude, depth if self.elevation is None else -self.elevation

    @property
    def deep(self):
        """Whether the depth counts from the ground."""
        return self.elevation is None


def kind_of_place(value):
    """Return the class of one position, by its keys."""
    on_earth = isinstance(value, dict) and {"longitude", "latitude"} & set(value)
    return "Place" if on_earth else "Position"


At = union(kind_of_place, Position, Place)  # in the domain's own axes, or on Earth


def places(scenario, kind=Position):
    """Every `Position`, or `Place`, of the sources and receivers: generator of its path and itself.

    Parameters
    ----------
    scenario : WaveScenario
    kind : type, optional
    """
    for name in ("source", "receivers"):
        yield from _places(getattr(scenario, name), (name,), kind)


def _places(value, path, kind):
    if isinstance(value, kind):
        yield path, value
    elif isinstance(value, Table):
        for name, field in type(value).model_fields.items():
            yield from _places(getattr(value, name), (*path, field.alias or name), kind)
    elif isinstance(value, tuple):
        for n, item in enumerate(value):
            yield from _places(item, (*path, n), kind)


def key(example, default=..., **more):
    """Return a key of a table with an example for the remedy where it is missing.

    Parameters
    ----------
    example : str
        In TOML.
    default : object, optional
        Without one the key is required.
    more : keyword arguments of `pydantic.Field`
    """
    return Field(default, examples=[example], **more)
