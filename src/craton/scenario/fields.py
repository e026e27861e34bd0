"""Types of the values in a scenario: numbers with units and limits, choices, positions, tables told apart by kind."""
import os
from typing import Annotated, Any, Union

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

from craton.text import listed, nearest, number, shown
from craton.units import DIMENSIONS, UnitError, si


class Table(BaseModel):
    """A table of the scenario: its keys are fixed, its values do not change, an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def wrong(*items, nearest=None):
    """The exception that carries problems of one value or table to the report.

    Parameters
    ----------
    items : (key, message, remedy) tuples
        ``key`` is relative to the table being checked, ``""`` for the value or table itself.
    nearest : str, optional
        The choice that was probably meant, so that checking can go on with it.
    """
    return PydanticCustomError("craton", "{message}", {"message": "; ".join(m for _, m, _ in items), "items": items, "nearest": nearest})


def quantity(dimension, above=None, least=None, below=None, most=None):
    """The type of a number with a dimension, and its limits: ``above`` and ``below`` are excluded, ``least`` and ``most`` allowed."""
    unit = DIMENSIONS[dimension][0]

    def validate(value):
        try:
            value = si(value, dimension)
        except UnitError as error:
            raise wrong(("", str(error), error.remedy)) from None
        _check_limits(value, unit, above, least, below, most)
        return value

    schema = {"type": ["number", "string"], "description": f"{dimension}, {unit}" if unit else dimension}
    return Annotated[float, BeforeValidator(validate), WithJsonSchema(schema | _schema_limits(above, least, below, most))]


def whole(least=None, most=None):
    """The type of a whole number within limits."""

    def validate(value):
        integral = isinstance(value, int) or (isinstance(value, float) and value.is_integer()) or hasattr(value, "__index__")
        if isinstance(value, bool) or not integral:
            raise wrong(("", f"{shown(value)} is not a whole number", f"write a whole number{_range_text(least, most)}"))
        _check_limits(int(value), "", None, least, None, most)
        return int(value)

    return Annotated[int, BeforeValidator(validate), WithJsonSchema({"type": "integer"} | _schema_limits(least=least, most=most))]


def _schema_limits(above=None, least=None, below=None, most=None):
    """Limits in the words of JSON Schema."""
    words = {"exclusiveMinimum": above, "minimum": least, "exclusiveMaximum": below, "maximum": most}
    return {word: limit for word, limit in words.items() if limit is not None}


def _range_text(least, most):
    return "" if least is None else f" from {least} to {most}" if most is not None else f", {least} or more"


def _check_limits(value, unit, above, least, below, most):
    rules = [
        (above, "greater than", lambda v, limit: v > limit),
        (least, "at least", lambda v, limit: v >= limit),
        (below, "less than", lambda v, limit: v < limit),
        (most, "at most", lambda v, limit: v <= limit),
    ]
    broken = [f"{words} {number(limit)} {unit}".rstrip() for limit, words, holds in rules if limit is not None and not holds(value, limit)]
    if broken:
        wanted = [f"{words} {number(limit)} {unit}".rstrip() for limit, words, _ in rules if limit is not None]
        given = f"{number(value)} {unit}".rstrip()
        raise wrong(("", f"{given} is out of range: must be {broken[0]}", f"give a value {listed(wanted, 'and')}"))


def choice(*names, later=None, meant=None):
    """The type of one word (or number) out of a few.

    ``later`` maps what is known but not available yet to what to do instead, ``meant`` other programs' words to ours.
    """
    later, meant = later or {}, meant or {}

    def validate(value):
        if value in names and not isinstance(value, bool):
            return names[names.index(value)]
        quoted = listed([shown(n) for n in names])
        if isinstance(value, str) and value in later:
            raise wrong(("", f"{shown(value)} is not available yet", f"{later[value]}; available: {quoted}"), nearest=names[0])
        close = (meant.get(value) or nearest(value, names)) if isinstance(value, str) else None
        hint = f"; did you mean {shown(close)}?" if close else ""
        raise wrong(("", f"{shown(value)} is not {quoted}{hint}", f"write one of {quoted}"), nearest=close)

    return Annotated[Any, BeforeValidator(validate), WithJsonSchema({"enum": list(names)})]


def tagged(noun, by, later=None, **tables):
    """The type of tables that come in kinds.

    Parameters
    ----------
    noun : str
        What they are, for messages: ``"wavelet"``.
    by : str or None
        The key that names the kind; None where the kind is seen from which key is there.
    later : dict
        Kinds that are known but not available yet, and what to do instead.
    tables : Table classes by kind
    """
    kinds = choice(*tables, later=later).__metadata__[0].func

    def check(value):
        if isinstance(value, Table):
            return value
        if not isinstance(value, dict):
            raise wrong(("", f"{shown(value)} is not a table", f"write {{ ... }} with the keys of a {noun}"))
        if by:
            _check_kind(value, noun, by, kinds, tables, later or {})
        else:
            _check_signs(value, noun, tables)
        return value

    def pick(value):
        if isinstance(value, Table):
            return "~" + type(value).__name__
        kind = value[by] if by else next(k for k in tables if k in value)
        return "~" + tables[kind].__name__

    union = Union[tuple(Annotated[t, Tag("~" + t.__name__)] for t in tables.values())]  # noqa: UP007 (made at run time)
    return Annotated[union, Discriminator(pick), BeforeValidator(check)]


def _check_kind(value, noun, by, kinds, tables, later):
    if by not in value:
        raise wrong((by, f"missing: the {by} of the {noun}", f"write {by} = {listed([shown(t) for t in tables])}"))
    try:
        kinds(value[by])
    except PydanticCustomError as error:
        (_, message, remedy), *_ = error.context["items"]
        close = None if isinstance(value[by], str) and value[by] in later else error.context["nearest"]
        raise wrong((by, f"{noun} {by} {message}", remedy), nearest=close) from None


def _check_signs(value, noun, tables):
    given = [k for k in tables if k in value]
    if len(given) == 1:
        return
    message = f"{listed(given, 'and')} are mutually exclusive" if given else f"the {noun} needs one of {listed(tables)}"
    close = [(k, nearest(k, tables)) for k in value if k not in given and nearest(k, tables)]
    hint = f"; did you mean {shown(close[0][1])} for {shown(close[0][0])}?" if close and not given else ""
    raise wrong(("", message + hint, f"give exactly one of {listed(tables)}"))


def as_list(value):
    """A list from a list, tuple, range or NumPy array; anything else as it is."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, (list, tuple, range)) else value


def _three(names, unit):
    def validate(value):
        value = as_list(value)
        if not isinstance(value, list):
            raise wrong(("", f"{shown(value)} is not a list of three numbers", f"write [{', '.join(names)}] in {unit}"))
        if len(value) != 3:
            raise wrong(("", f"{shown(value)} has {len(value)} numbers, not 3", f"write [{', '.join(names)}] in {unit}"))
        return value

    return validate


def triple(item, names, unit):
    """The type of three numbers, such as a position or a force."""
    return Annotated[tuple[item, item, item], BeforeValidator(_three(names, unit))]


def in_space_or_plane(item, names, unit):
    """The type of three numbers, or of the two in the (x, z) plane."""
    three = _three(names, unit)

    def validate(value):
        value = as_list(value)
        return value if isinstance(value, list) and len(value) == 2 else three(value)

    schema = {"type": "array", "prefixItems": 3 * [TypeAdapter(item).json_schema()], "minItems": 2, "maxItems": 3}
    return Annotated[tuple[item, ...], BeforeValidator(validate), WithJsonSchema(schema)]


def spatial(values):
    """Three numbers from those of a `in_space_or_plane`: none of the plane points along y."""
    return tuple(values) if len(values) == 3 else (values[0], 0.0, values[1])


def many(item):
    """The type of a list of numbers or tables: a tuple, from a list or a NumPy array."""

    def validate(value):
        value = as_list(value)
        if not isinstance(value, list):
            raise wrong(("", f"{shown(value)} is not a list", f"write [{'{ ... }' if isinstance(value, dict) else shown(value)}]"))
        return value

    return Annotated[tuple[item, ...], BeforeValidator(validate)]


def several(noun, item):
    """The type of a list of tables, written ``[[noun]]``."""

    def validate(value):
        value = as_list(value)
        if not isinstance(value, list):
            raise wrong(("", f"{noun} must be a list of tables, not a single {'table' if isinstance(value, dict) else 'value'}",
                         f"write [[{noun}]] with double brackets"))
        return value

    return Annotated[tuple[item, ...], BeforeValidator(validate)]


def _text(value):
    if not isinstance(value, str) or not value.strip():
        message = "the string is empty" if isinstance(value, str) else f"{shown(value)} is not a string"
        raise wrong(("", message, 'write a string in quotes, "..."'))
    return value


def _path(value):
    return os.path.abspath(os.path.expanduser(_text(os.fspath(value) if isinstance(value, os.PathLike) else value)))


def _flag(value):
    if not isinstance(value, bool):
        raise wrong(("", f"{shown(value)} is neither true nor false", "write true or false, without quotes"))
    return value


Flag = Annotated[bool, BeforeValidator(_flag)]
Text = Annotated[str, BeforeValidator(_text)]
FilePath = Annotated[str, BeforeValidator(_path)]
Length = quantity("length")
Distance = quantity("length", above=0)
Duration = quantity("time", above=0)
Time = quantity("time")
Frequency = quantity("frequency", above=0)
Xyz = triple(Length, "xyz", "m")


class Position(Table):
    """A place: ``[x, y, z]`` in metres with z up, or ``{ x, y, depth }`` with depth below the local surface.

    In the (x, z) plane y may be left out: ``[x, z]``, ``{ x, depth }``. ``Position(x=0, y=0, depth=100)`` in Python; `xyz` gives the three
    coordinates either way.
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

    @model_validator(mode="after")
    def _one_height(self):
        if (self.z is None) == (self.depth is None):
            message = "z and depth are mutually exclusive" if self.z is not None else "missing: neither z nor depth is given"
            raise wrong(("", message, "give z (m, up) or depth (m, below the surface)"))
        return self

    @model_serializer
    def _as_written(self):
        if self.depth is None:
            return [self.x, self.z] if self.y is None else [*self.xyz]
        return {name: value for name, value in (("x", self.x), ("y", self.y), ("depth", self.depth)) if value is not None}

    @property
    def xyz(self):
        """Coordinates (x, y, z), metres, z up; y = 0 where it was left out."""
        return self.x, self.y or 0.0, self.z if self.depth is None else 0.0 - self.depth


def _with_y(position):
    if position.y is None:
        raise wrong(
            ("", "a position in a 3-D domain needs three coordinates, y is missing", "write [x, y, z] in m, or { x =, y =, depth = }")
        )
    return position


SpatialPosition = Annotated[Position, AfterValidator(_with_y)]


Longitude = quantity("angle", least=-180, most=360)
Latitude = quantity("angle", least=-90, most=90)


class Place(Table):
    """A place on Earth, for ``domain.chunk``: ``longitude`` and ``latitude`` (deg), ``depth`` below the ground (m)."""

    longitude: Longitude = Field(examples=["-67.25  # deg, east"])
    latitude: Latitude = Field(examples=["-13.82  # deg, north"])
    depth: Length = 0.0

    @property
    def where(self):
        """longitude, latitude, depth."""
        return self.longitude, self.latitude, self.depth


def _kind_of_place(value):
    if isinstance(value, Table):
        return "~" + type(value).__name__
    return "~Place" if isinstance(value, dict) and {"longitude", "latitude"} & set(value) else "~Position"


# Where something is: in the domain's own axes, or on Earth.
At = Annotated[
    Union[Annotated[Position, Tag("~Position")], Annotated[Place, Tag("~Place")]], Discriminator(_kind_of_place)  # noqa: UP007 (tags)
]


def places_on_earth(value, path=()):
    """Every `Place` in a table or list of tables: pairs of its key (a tuple) and itself."""
    return _found(value, path, Place)


def places(value, path=()):
    """Every `Position` in a table or list of tables: pairs of its key (a tuple) and itself."""
    return _found(value, path, Position)


def _found(value, path, kind):
    if isinstance(value, kind):
        yield path, value
    elif isinstance(value, Table):
        for name, field in type(value).model_fields.items():
            yield from _found(getattr(value, name), (*path, field.alias or name), kind)
    elif isinstance(value, tuple):
        for n, item in enumerate(value):
            yield from _found(item, (*path, n), kind)


def key(example, default=..., **more):
    """A key of a table with an example for the remedy where it is missing."""
    return Field(default, examples=[example], **more)
