"""What is wrong with an accepted input: numbers that the limits of their key, or of such a quantity, do not allow. These rules are
not those that craton applies: they read its published schema, and what its readers return.
"""

import tomllib
import warnings
from dataclasses import fields, is_dataclass
from functools import lru_cache
from numbers import Real

import numpy as np
from jsonschema import Draft202012Validator, ValidationError, validators
from jsonschema.exceptions import best_match

from craton import io
from craton.cli.scenarios import schema_of
from craton.inverse.survey import opened
from craton.io.units import DIMENSIONS, LARGEST, si
from craton.scenario import SCENARIOS

HOLDS = {"source": "source", "stations": "station", "wavelet": "wavelet", "mesh": "mesh"}
HOLDS |= {"topography": "raster", "model": "gridded model", "radial": "radial model"}
HOLDS |= {"prisms": "table", "perturbation": "gridded model", "observed": ""}
# dimension of what readers return, by name; other numbers need only be finite
LENGTHS = ("longitude", "latitude", "depth", "x", "y", "z", "elevation", "radius", "points", "slip")
LENGTHS += ("west", "east", "south", "north", "bottom", "top")
DIMENSION = dict.fromkeys(LENGTHS, "length") | {"rho": "density", "density": "density"}
DIMENSION |= dict.fromkeys(("vp", "vs", "vpv", "vph", "vsv", "vsh", "rates"), "velocity")
DIMENSION |= dict.fromkeys(("time", "shift", "width", "onset", "interval"), "time")
DIMENSION |= {"moment": "moment", "force": "force"}
UNKNOWN = ("elevation", "vs", "density", "qkappa", "qmu", "qp", "qs", "epochs")  # may be nan or endless


def faults(name, case, path):
    """List what is wrong with an accepted input.

    Parameters
    ----------
    name : str
        Of the case in the corpus.
    case : (Path, str, str)
        Its folder, scenario, and file that this reads.
    path : Path
        The damaged file.
    """
    if path.name == case[1]:
        # as craton reads it; by the schema that `craton schema` prints
        worst = best_match(validator().iter_errors(tomllib.loads(path.read_text("utf-8-sig"))))
        return [f"{worst.json_path}: {worst.message}"[:300]] if worst else []
    if name.split()[0] not in HOLDS:
        return []
    return [f"{key}: {fault}" for key, values in contents(name, *case) if (fault := content_fault(key, values))]


# Scenarios


@lru_cache(1)
def validator():
    """A validator of all scenarios that knows dimensions and units, too, and what is largest in each dimension."""
    printed = schema_of(list(SCENARIOS))
    for table in printed["oneOf"]:
        table["required"] = [key for key in table.get("required", []) if key != "source"]  # waves may be injected
    return validators.extend(Draft202012Validator, {"description": quantity_faults})(printed)


def quantity_faults(validator, described, value, key):
    """Yield what is wrong with a number, or a text with a unit, whose dimension stands in the description of its key."""
    dimension = described.rpartition(": ")[2].split(",")[0]
    numbers = {"number", "integer"} & set(np.atleast_1d(key.get("type", [])).tolist())
    if isinstance(value, bool | dict | list) or not numbers or {"enum", "const"} & key.keys():
        return
    if isinstance(value, str) and not any(map(str.isdigit, value)):  # a word, as of a discontinuity
        return
    try:
        number = si(value, dimension if dimension in DIMENSIONS else "ratio")
    except ValueError as error:
        yield ValidationError(str(error))
        return
    if isinstance(value, str):
        limits = {name: limit for name, limit in key.items() if "imum" in name.lower()}
        yield from validator.evolve(schema=limits).iter_errors(number)
    if not abs(number) <= LARGEST.get(dimension, np.inf):
        yield ValidationError(f"{value!r} is beyond {LARGEST[dimension]:g}")


# Other files


def contents(name, folder, toml, file):
    """Name and array of all that the reader of a case finds in its file."""
    if name.startswith("observed"):
        with opened(folder / file) as data:
            return list(arrays(data.load()))
    if name == "model bin":  # which has no heading
        return [("vp", np.fromfile(folder / file, "float32"))]
    document = tomllib.loads((folder / toml).read_text())
    holds = HOLDS[name.split()[0]]
    kind = document["source"][0]["kind"] if holds == "source" else None
    vp = document.get("model", {}).get("properties", {}).get("vp", {})
    options = {"depth_step": vp["depth_step"]} if "depth_step" in vp else {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        read = io.read(folder / file, holds, kind, **options)
        if holds == "gridded model":
            with read as dataset:
                read = dataset.load()
        elif holds == "wavelet":
            read = dict(zip(("time", "sample"), read))
        elif holds == "table":
            names, column = read
            read = {name: column(name) for name in names}
        return list(arrays(read))


def arrays(read, name=""):
    """Yield name and array of all numbers that a reader has returned."""
    if hasattr(read, "coords"):
        dataset = read if hasattr(read, "data_vars") else read.to_dataset(name="elevation")
        read = {key: variable.values for key, variable in dataset.variables.items()}
    elif is_dataclass(read):
        read = {field.name: getattr(read, field.name) for field in fields(read)}
    if isinstance(read, dict):
        for key, values in read.items():
            yield from arrays(values, str(key))
    elif isinstance(read, list | tuple):  # of entries, or rows of several lengths
        for entry in read:
            yield from arrays(entry, name)
    elif isinstance(read, Real | np.ndarray):
        yield name, np.asarray(read)


def content_fault(name, values):
    """The rule that the numbers of a name break; empty where they keep all."""
    if values.dtype.kind not in "if":
        return ""
    if not np.isfinite(values).all() and name not in UNKNOWN:
        return "not finite"
    largest = LARGEST.get(DIMENSION.get(name), np.inf)
    return f"beyond {largest:g}" if (np.abs(values) > largest).any() else ""
