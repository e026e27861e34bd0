"""What an accepted input holds that the sound one does not: which key or part of a file, how it has changed, and
whether the limits of the key, or of such a quantity, allow it. These rules are not those that craton applies: they
read its published schema, and what its readers return.
"""

import tomllib
import warnings
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from io import BytesIO, TextIOWrapper
from numbers import Real

import numpy as np

HOLDS = {"source": "source", "stations": "station", "wavelet": "wavelet", "mesh": "mesh"}
HOLDS |= {"topography": "raster", "model": "gridded model", "radial": "radial model"}
HOLDS |= {"prisms": "table", "perturbation": "gridded model", "observed": ""}
# dimension of what readers return, by name; other numbers need only be finite
LENGTHS = ("longitude", "latitude", "depth", "x", "y", "z", "elevation", "radius", "points", "slip")
LENGTHS += ("west", "east", "south", "north", "bottom", "top")
DIMENSION = dict.fromkeys(LENGTHS, "length")
DIMENSION |= dict.fromkeys(("vp", "vs", "vpv", "vph", "vsv", "vsh", "rates"), "velocity")
DIMENSION |= dict.fromkeys(("rho", "density"), "density")
DIMENSION |= dict.fromkeys(("time", "shift", "width", "onset", "interval"), "time")
DIMENSION |= {"moment": "moment", "force": "force"}
UNKNOWN = ("elevation", "vs", "density", "qkappa", "qmu", "qp", "qs")  # may be nan
RASTER = "elevation"


@dataclass(frozen=True)
class Change:
    """A difference from the sound input.

    Parameters
    ----------
    part : str
        Key of the scenario without numbers of entries, or format and part of a file.
    how : str
        ``"0"``, ``"other sign"``, ``"larger"``, ``"smaller"``, ``"text"``, ``"left out"``, ``"added"``, ``"count"``,
        or ``"not read"``.
    values : tuple of float
        Numbers that are new.
    fault : str
        Rule that they break; empty where all hold.
    """

    part: str
    how: str
    values: tuple = ()
    fault: str = ""


def changes(name, case, path, before):
    """List the changes of an accepted input; its damaged file is sound afterwards.

    Parameters
    ----------
    name : str
        Of the case in the corpus.
    case : (Path, str, str)
        Its folder, scenario, and file that this reads.
    path : Path
        The damaged file.
    before : bytes
        What it held.

    Returns
    -------
    list of Change
    """
    after, toml = path.read_bytes(), case[1]
    if path.name == toml:
        path.write_bytes(before)
        return of_scenario(before, after) or [Change("scenario", "not read")]
    held = contents(name, *case)
    path.write_bytes(before)
    if name not in SOUND:
        SOUND[name] = contents(name, *case)
    return of_contents(f"{name}:", SOUND[name], held) or [Change(f"{name}: {path.name}", "not read")]


# Scenarios


def of_scenario(before, after):
    """List the changes of a scenario in TOML, each value held against the schema that `craton schema` prints."""
    old, document = (tomllib.loads(text_of(data)) for data in (before, after))
    was, listed = dict(flat(old)), []
    new = dict(flat(document))
    for path in sorted(was.keys() | new.keys(), key=str):
        key = ".".join(word for word in path if isinstance(word, str))
        if path not in new:
            listed.append(Change(key, "left out"))
        elif path not in was or repr(was[path]) != repr(new[path]):
            value = new[path]
            how = difference(was[path], value) if path in was else "added"
            numbers = (float(value),) if is_number(value) else ()
            listed.append(Change(key, how, numbers, scenario_fault(document, path, value)))
    return listed


def text_of(data):
    """Return the text of a file with ends of lines of any system, as craton reads it."""
    return TextIOWrapper(BytesIO(data), encoding="utf-8-sig").read()


def flat(table, path=()):
    """Yield path and value of all leaves of nested tables and lists."""
    if isinstance(table, dict | list) and table:
        for key, value in table.items() if isinstance(table, dict) else enumerate(table):
            yield from flat(value, (*path, key))
    else:
        yield path, table


def is_number(value):
    """Whether a value of TOML is a number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def difference(old, new):
    """Kind of a change of one value, in a word."""
    if not is_number(old) or not is_number(new):
        return "text"
    if new == 0:
        return "0"
    if old * new < 0:
        return "other sign"
    return "larger" if abs(new) > abs(old) else "smaller"


def scenario_fault(document, path, value):
    """Return what is wrong with the value of a key by the schema; empty where nothing is."""
    root = schema()
    keys = list(leaves(root, path, document, root))
    if not keys:
        return "no such key"
    return "" if any(allowed(key, value) for key in keys) else f"{value!r} is beyond the limits"


@lru_cache(1)
def schema():
    """Return the JSON Schema of all scenarios."""
    from craton.cli import schema as printed
    from craton.scenario import SCENARIOS

    return printed.schema(list(SCENARIOS))


def leaves(node, path, value, root):
    """Yield the nodes of the schema that describe a path in a document."""
    if "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    if branches := node.get("anyOf") or node.get("oneOf"):
        for branch in branches:
            yield from leaves(branch, path, value, root)
    elif not path:
        yield node
    elif "properties" in node:
        if isinstance(value, dict) and is_of_kind(node["properties"], value):
            key = node["properties"].get(path[0])
            if key is not None:
                yield from leaves(key, path[1:], value[path[0]], root)
    elif isinstance(value, list):
        place = node.get("prefixItems", [])[path[0] : path[0] + 1]
        items = place[0] if place else node.get("items")
        if items is not None:
            yield from leaves(items, path[1:], value[path[0]], root)


def is_of_kind(keys, table):
    """Whether the words that tell tables apart are those of a node."""
    for word in ("kind", "shape", "method"):
        stated = table.get(word, keys.get(word, {}).get("default"))
        const = keys.get(word, {}).get("const")
        if const is not None and stated != const:
            return False
    return True


def allowed(key, value):
    """Whether a leaf of the schema, and the largest number of its dimension, allow a value."""
    from craton.units import DIMENSIONS, LARGEST, si

    if isinstance(value, dict | list):  # empty, as nothing is below it
        return "properties" in key or "items" in key and not key.get("minItems")
    if "const" in key or "enum" in key:
        return value in key.get("enum", [key.get("const")])
    kinds = key.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    dimension = key.get("description", "").rpartition(": ")[2].split(",")[0]
    dimension = dimension if dimension in DIMENSIONS else "ratio"
    if isinstance(value, bool) or not {"number", "integer"} & set(kinds):
        word = "boolean" if isinstance(value, bool) else "string"
        return not kinds or word in kinds
    try:
        number = si(value, dimension)
    except ValueError:
        return False
    limits = (
        number >= key.get("minimum", -np.inf),
        number > key.get("exclusiveMinimum", -np.inf),
        number <= key.get("maximum", np.inf),
        number < key.get("exclusiveMaximum", np.inf),
        abs(number) <= LARGEST.get(dimension, np.inf),
    )
    return all(limits)


# Other files

SOUND = {}  # contents of sound files, by name of the case


def contents(name, folder, toml, file):
    """Return what the reader of a case finds in its file: name -> array, or text."""
    from craton import io

    if name.startswith("observed"):
        from craton.inverse.survey import opened

        with opened(folder / file) as data:
            return dict(arrays(data.load(), ""))
    document = tomllib.loads((folder / toml).read_text())
    holds = HOLDS[name.split()[0]]
    kind = document["source"][0]["kind"] if holds == "source" else None
    steps = [value for path, value in flat(document) if path[-1] == "depth_step"]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        held = io.read(folder / file, holds, kind, **({"depth_step": steps[0]} if steps else {}))
        if holds == "gridded model":
            with held as dataset:
                return dict(arrays(dataset.load(), holds))
        return dict(arrays(held, holds))


def arrays(held, holds, name=""):
    """Yield name and array of all that a reader has returned."""
    if holds == "wavelet" and isinstance(held, tuple):
        yield from (("time", np.array(held[0])), ("sample", np.array(held[1])))
    elif holds == "table" and isinstance(held, tuple):
        yield from ((column, np.asarray(held[1](column))) for column in held[0])
    elif hasattr(held, "coords"):
        yield from ((str(axis), values.values) for axis, values in held.coords.items())
        if hasattr(held, "data_vars"):
            yield from ((str(key), values.values) for key, values in held.data_vars.items())
        else:
            yield RASTER, held.values
    elif isinstance(held, list) and held and is_dataclass(held[0]):
        for field in fields(held[0]):
            values = [getattr(entry, field.name) for entry in held]
            yield field.name, as_array([v for v in values if v is not None])
    elif is_dataclass(held):
        for field in fields(held):
            yield from arrays(getattr(held, field.name), "", field.name)
    elif isinstance(held, dict):
        for key, values in held.items():
            yield from arrays(values, "", str(key))
    elif held is not None:
        yield name, as_array(held)


def as_array(values):
    """Return an array of numbers, else the text of the values."""
    try:
        array = np.asarray(values)
    except ValueError:
        return np.array(repr(values))
    return array if array.dtype.kind in "biuf" else np.array(repr(values))


def of_contents(prefix, before, after):
    """List the changes of what was read, each number held against the limit of its quantity."""
    listed = [Change(f"{prefix} {n}", "left out") for n in before if n not in after]
    for name, values in after.items():
        part, fault, old = f"{prefix} {name}", content_fault(name, values), before.get(name)
        if old is None:
            listed.append(Change(part, "added", fault=fault))
        elif values.dtype.kind == "U" or old.dtype.kind == "U":
            if repr(values) != repr(old):
                listed.append(Change(part, "text"))
        elif values.shape != old.shape:
            listed.append(Change(part, "count", fault=fault))
        elif not np.array_equal(values, old, equal_nan=True):
            new = values[(values != old) & np.isfinite(values)]
            first = np.argmax((values != old).ravel())
            how = difference(float(old.flat[first]), float(values.flat[first]))
            extent = (float(new.min()), float(new.max())) if new.size else ()
            listed.append(Change(part, how, extent, fault))
        elif fault:
            listed.append(Change(part, "as before", fault=fault))
    return listed


def content_fault(name, values):
    """Return the rule that the numbers of a name break; empty where they keep all."""
    from craton.units import LARGEST

    if values.dtype.kind not in "if":
        return ""
    if not np.isfinite(values).all() and name not in UNKNOWN:
        return "not finite"
    largest = LARGEST.get(DIMENSION.get(name), np.inf)
    return f"beyond {largest:g}" if (np.abs(values) > largest).any() else ""
