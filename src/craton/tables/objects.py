"""Objects in a scenario that is built in Python, a Dataset, DataFrame, Event or Inventory, as the
tables that name their files.
"""

from craton.errors import Problem
from craton.io import objects
from craton.io.contents import FileError

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


def as_files(values):
    """Return the tables of a scenario with objects replaced by files that hold the same.

    Parameters
    ----------
    values : dict
        Tables by name. A table, an entry of a list, or the value of a key ``file`` may be an
        object of `craton.io.objects`.

    Returns
    -------
    values : dict
    problems : list of Problem
        Objects that cannot stand where they stand.
    """
    problems = []
    return {name: _table(name, value, problems) for name, value in values.items()}, problems


def _table(name, value, problems):
    if name in ("source", "receivers"):
        if objects.kind_of(value.get("file") if isinstance(value, dict) else value):
            value = [value]
        if isinstance(value, (list, tuple)):
            return [_entry(name, f"{name}.{n}", v, problems) for n, v in enumerate(value)]
        return value
    return _entry(name, name, value, problems)


def _entry(name, key, value, problems):
    """Return a table, or the table that an object stands for."""
    kind = objects.kind_of(value)
    if kind is None:
        return _walked(key, value, problems)
    beside = TABLES.get(name, {}).get(kind)
    if beside is None:
        noun = NOUNS.get(name, "a table")
        message = f"{_name(value)} cannot stand here"
        problems.append(Problem(key, message, f"give {noun}, or a dict with its keys"))
        return {}
    return beside | {"file": _written(value, f"{key}.file", name, problems)}


def _walked(key, value, problems):
    """Return a value with the objects in its tables written to files."""
    if isinstance(value, dict):
        return _kind_of_file(value, key) | {k: _child(f"{key}.{k}", k, v, problems) for k, v in value.items()}
    return value


def _child(key, name, value, problems):
    stem = key.split(".")[-2] if name == "file" else name
    stem = key.split(".")[0] if str(stem).isdecimal() else stem
    if name == "file" and objects.kind_of(value):
        return _written(value, key, stem, problems)
    if name == "topography" and objects.kind_of(value) == "dataset" and _in_a_file(value):
        return {"file": _written(value, key, stem, problems)}
    return _walked(key, value, problems)


def _kind_of_file(table, key):
    """Return the kind that the object under ``file`` says, where the table says none."""
    name, held = key.partition(".")[0], objects.kind_of(table.get("file"))
    beside = TABLES.get(name, {}).get(held, {}) if key.count(".") <= 1 and held else {}
    return {k: v for k, v in beside.items() if k not in table}


def _in_a_file(array):
    """Whether elevations are on longitude and latitude, in a projection of their own, or many."""
    on_earth = {str(dim).lower() for dim in array.dims} & DEGREES
    return bool(on_earth) or "spatial_ref" in array.coords or getattr(array, "size", 0) > LARGE


def _written(value, key, stem, problems):
    try:
        return objects.write(value, stem)
    except FileError as error:
        problems.append(Problem(key, str(error), error.remedy))
        return "unwritten"


def _name(value):
    return f"a {type(value).__module__.partition('.')[0]} {type(value).__name__}"
