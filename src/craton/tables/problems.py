"""From tables and objects to a scenario, and from what the validation says to problems for people: keys as they were
written, nearest names, remedies, all at once.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError

from craton.errors import Problem
from craton.io import objects
from craton.io.contents import FileError
from craton.tables.fields import Table
from craton.tables.foreign import adopt, dotted
from craton.text import control, listed, nearest, shown

TITLE = ("title",)
LARGE = 10_000  # elevations: more of them are written to a file, fewer stand in the scenario
DEGREES = {"lon", "longitude", "lat", "latitude"}  # dimensions of an array on Earth
# What an object may stand for, by table of the scenario: the keys beside its file.
TABLES = {
    "model": {"dataset": {"kind": "file"}},
    "source": {"event": {"kind": "quakeml"}, "table": {"kind": "csv"}},
    "receivers": {"inventory": {}, "table": {}},
}
NOUNS = {
    "model": "an xarray.Dataset",
    "source": "an Event or Catalog of ObsPy or a pandas.DataFrame",
    "receivers": "an Inventory of ObsPy or a pandas.DataFrame",
}


def diagnose(values, root, scenarios=None):
    """Build a scenario and find as many problems at once as can be found.

    Misspelt keys and choices are reported, then replaced by the nearest valid name (or left out)
    for the sake of the checks that come after them; what comes out is never run when there are
    problems.

    Parameters
    ----------
    values : dict
        The tables of a scenario.
    root : type
        Class of the scenario, a `craton.tables.schema.Document`.
    scenarios : dict, optional
        Classes of all methods by name, so that a key that another method has is reported with its
        method.

    Returns
    -------
    scenario : root or None
        The scenario, or what it would be with the misspellings put right, on which further checks
        can run.
    problems : list of Problem
        Empty when the scenario is right.
    """
    values, unwritten = as_files(_copied(values))
    refused, notes, renamed, usable = adopt(values, root.FOREIGN)
    problems = {problem.key: problem for problem in (*unwritten, *refused, *_controls(values))}
    for _ in range(8):
        scenario, errors = _attempt(values, root)
        unknown = [e for e in errors if e["type"] == "extra_forbidden"]
        fixable = unknown or [e for e in errors if _nearest(e) is not None or _has_default(e, root)]
        for error in unknown or errors:
            for problem in _problems(error, values, root, scenarios or {}):
                problems.setdefault(problem.key, problem)
        if not errors or not fixable:
            break
        for error in fixable:
            _repair(error, values, renamed, root)
    if scenario is not None:
        scenario.keep_notes(f"{key}: {note.format(scenario, value=value)}" for key, note, value in notes)
    unwritten_keys = tuple(f"{problem.key}." for problem in unwritten)
    reported = [p for p in problems.values() if not p.key.startswith(unwritten_keys or ("\0",))]
    return scenario if usable else None, [_as_written(p, renamed) for p in reported]


def _attempt(values, root):
    """Return a scenario, and pydantic's own errors; the classes themselves raise ScenarioError
    instead.
    """
    scenario = root.__new__(root)
    try:
        BaseModel.__init__(scenario, **values)
    except ValidationError as error:
        return None, error.errors(include_url=False)
    return scenario, []


def _controls(values, path=()):
    """Problems of texts and names of keys with control characters; a title may have several lines."""
    if isinstance(values, (dict, list)):
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from _controls(str(key), path) if isinstance(values, dict) else ()
            yield from _controls(value, (*path, key))
    elif isinstance(values, str) and (character := control(values, "\n\t" if path == TITLE else "")):
        message = f"{shown(values)} has the control character {character}"
        yield Problem(dotted(path), message, "write letters that a terminal and a file can show")


def _copied(value):
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, (list, tuple)) else value


def _written(loc, values):
    """Return the path of an error in the file: without tags of kinds, coordinates of a list by
    number.
    """
    path, here = [], values
    for step in loc:
        if isinstance(step, str) and step.startswith("~"):
            continue
        if isinstance(step, int) and isinstance(here, dict):
            continue  # a single table in the place of a list of one
        if isinstance(here, list) and step in ("x", "y", "z"):
            step = "xyz".index(step)
        path.append(step)
        here = _child(here, step)
    return tuple(path)


def _child(value, step):
    if isinstance(value, dict):
        return value.get(step)
    is_item = isinstance(value, list) and isinstance(step, int) and step < len(value)
    return value[step] if is_item else None


def _problems(error, values, root, scenarios):
    path = _written(error["loc"], values)
    kind, value = error["type"], error["input"]
    if kind == "craton":
        return [
            Problem(dotted((*path, *filter(None, [k]))), message, remedy)
            for k, message, remedy in error["ctx"]["items"]
        ]
    if kind == "extra_forbidden":
        return [_unknown_key(error["loc"], path, values, root, scenarios)]
    if kind == "missing":
        return [_missing_key(error["loc"], path, root)]
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        names = listed(_names(_tables_at(error["loc"], root)), "and")
        return [Problem(dotted(path), f"{shown(value)} is not a table", f"it has the keys {names}")]
    return [Problem(dotted(path), f"{shown(value)}: {error['msg']}")]


def _unknown_key(loc, path, values, root, scenarios):
    name, parent = path[-1], _value_at(values, path[:-1])
    if hint := hint_for(path):
        return Problem(dotted(path), f'unknown key "{name}"', hint)
    names = _names(_tables_at(loc[:-1], root))
    message, remedy = f'unknown key "{name}"', f"valid keys here: {', '.join(names)}"
    tables = {method: _tables_at(loc[:-1], kind) for method, kind in scenarios.items()}
    method = next((method for method, kinds in tables.items() if name in _names(kinds)), None)
    close = None
    if method is None:
        close = nearest(name, [n for n in names if n not in parent]) or nearest(name, names)
    if close is not None:
        message += f', did you mean "{close}"' + (", which is already given?" if close in parent else "?")
    elif owner := _owner(name, root, method):
        remedy = f'"{name}" belongs {owner}'
    return Problem(dotted(path), message, remedy)


@cache
def hints() -> dict[tuple[str, str], str]:
    """Return what to write instead of the words of other programs, by table and word."""
    rows = tomllib.loads(Path(__file__).with_name("hints.toml").read_text("utf-8"))["hints"]
    return {(t, word): row["remedy"] for row in rows for t in row["tables"] for word in row["words"].split()}


def hint_for(path) -> str | None:
    """Return what to write instead of an unknown key: ``("model", "layers", 0, "thickness")``."""
    *tables, word = [step for step in path if not isinstance(step, int)]
    tables = tables[:2] if tables[:2] == ["model", "regions"] else tables  # names are the user's
    return hints().get((".".join(tables), str(word).lower().replace("-", "_")))


def _owner(name, root, method):
    """Where this key belongs: in the one table of the scenario that has it, or with a method."""
    fields = root.model_fields.items()
    owners = [key for key, field in fields if name in _names(_tables_in(field.annotation))]
    if len(owners) == 1:
        return f"in [{owners[0]}]"
    return f"to scenarios with method = {shown(method)}" if method else None


def _missing_key(loc, path, root):
    name, remedy = path[-1], ""
    for example in (e for f in _fields(_tables_at(loc[:-1], root), name)[:1] for e in f.examples or ()):
        is_table = len(path) == 1 and example.startswith("[")
        remedy = f"add {example}" if is_table else f"write {name} = {example}"
    return Problem(dotted(path), f'missing: "{name}" is required', remedy)


def _tables_at(loc, root):
    """Return the classes of table that an error's location leads to."""
    tables, named = [root], False
    for step in loc:
        if isinstance(step, int):
            continue
        if step.startswith("~"):
            tables = [t for t in tables if t.__name__ == step[1:]]
        elif named:  # the name of a table among others, the user's choice
            named = False
        else:
            fields = _fields(tables, step)
            tables = [t for f in fields for t in _tables_in(f.annotation)]
            named = any(_by_name(f.annotation) for f in fields)
    return tables


def _by_name(annotation):
    """Whether a type is that of tables by names."""
    return get_origin(annotation) is dict or any(_by_name(part) for part in get_args(annotation))


def _tables_in(annotation):
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return [annotation]
    return [table for part in get_args(annotation) for table in _tables_in(part)]


def _names(tables):
    return dict.fromkeys(f.alias or n for t in tables for n, f in t.model_fields.items())


def _fields(tables, name):
    return [f for t in tables for n, f in t.model_fields.items() if (f.alias or n) == name]


def _nearest(error):
    """Return the choice that a wrong one was probably meant to be, or None."""
    return error.get("ctx", {}).get("nearest")


def _has_default(error, root):
    """Whether a wrong value can be left out for a default that is not "none of it"."""
    loc = error["loc"]
    is_key = bool(loc) and isinstance(loc[-1], str) and not loc[-1].startswith("~")
    if error["type"] == "missing" or not is_key:
        return False
    fields = _fields(_tables_at(loc[:-1], root), loc[-1])
    return bool(fields) and not fields[0].is_required() and fields[0].default is not None


def _value_at(values, path):
    for step in path:
        values = _child(values, step)
    return values


def _repair(error, values, renamed, root):
    """Put the nearest valid name in the place of a wrong one, or leave the wrong value out."""
    path = _written(error["loc"], values)
    close = _nearest(error)
    if close is not None:
        path = (*path, *(k for k, _, _ in error["ctx"]["items"] if k))
    parent = _value_at(values, path[:-1])
    if not isinstance(parent, (dict, list)):
        return
    if close is not None:
        # In a list the nearest name may be there already, and would then be a spurious problem.
        if isinstance(parent, dict) or close not in parent:
            parent[path[-1]] = close
    elif isinstance(parent, dict):
        value = parent.pop(path[-1], None)
        if error["type"] == "extra_forbidden" and not hint_for(path):
            names = [n for n in _names(_tables_at(error["loc"][:-1], root)) if n not in parent]
            right = nearest(path[-1], names)
            if right:
                parent[right] = value
                renamed[dotted((*path[:-1], right))] = dotted(path)


def _as_written(problem, renamed):
    for right, wrong in renamed.items():
        if problem.key == right or problem.key.startswith(right + "."):
            return Problem(wrong + problem.key[len(right) :], problem.message, problem.remedy)
    return problem


# --- objects of a scenario that is built in Python ----------------------------------------------------------------------


def as_files(values):
    """Return the tables of a scenario, and problems, with objects (Dataset, DataFrame, Event, Inventory) as files that hold
    the same: a table, an entry of a list, or the value of a key ``file`` may be one.
    """
    problems = []

    def file_of(value, path):
        """Write an object and return its file; the path is that of the table it belongs to."""
        try:
            return objects.write(value, next(step for step in reversed(path) if isinstance(step, str)))
        except FileError as error:
            problems.append(Problem(dotted((*path, "file")), str(error), error.remedy))
            return "unwritten"

    def entry(value, path):
        """Return a table, or the table that an object stands for."""
        kinds, kind = TABLES.get(path[0], {}), objects.kind_of(value)
        if kind in kinds:
            return kinds[kind] | {"file": file_of(value, path)}
        if kind is not None:
            message = f"a {type(value).__module__.partition('.')[0]} {type(value).__name__} cannot stand here"
            remedy = f"give {NOUNS.get(path[0], 'a table')}, or a dict with its keys"
            problems.append(Problem(dotted(path), message, remedy))
            return {}
        if not isinstance(value, dict):
            return value
        return kinds.get(objects.kind_of(value.get("file")), {}) | inside(value, path)

    def inside(value, path):
        """Return a value of a table with the objects in it as files."""
        kind = objects.kind_of(value)
        if path[-1] == "file" and kind:
            return file_of(value, path[:-1])
        if path[-1] == "topography" and kind == "dataset" and _in_a_file(value):
            return {"file": file_of(value, path)}
        return {k: inside(v, (*path, k)) for k, v in value.items()} if isinstance(value, dict) else value

    def table(name, value):
        if name not in ("source", "receivers"):
            return entry(value, (name,))
        if objects.kind_of(value.get("file") if isinstance(value, dict) else value):
            value = [value]
        return [entry(v, (name, n)) for n, v in enumerate(value)] if isinstance(value, list | tuple) else value

    return {name: table(name, value) for name, value in values.items()}, problems


def _in_a_file(array):
    """Whether elevations are on longitude and latitude, in a projection of their own, or many."""
    on_earth = {str(dim).lower() for dim in array.dims} & DEGREES
    return bool(on_earth) or "spatial_ref" in array.coords or getattr(array, "size", 0) > LARGE
