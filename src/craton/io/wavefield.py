"""Waves at points around a box, in netCDF or zarr: velocity or displacement with stress or strain."""

import math

import numpy as np

from craton.io.contents import FileError, Wavefield
from craton.io.netcdf import factor, opened, recognises  # noqa: F401 (asked by the table of formats)

FACES = ("west", "east", "south", "north", "bottom", "top")
AXES = {"x": "x", "y": "y", "z": "z", "E": "x", "N": "y", "Z": "z"}
PAIRS = ("xx", "yy", "zz", "xy", "xz", "yz")
VECTORS = {"velocity": ("v", "velocity"), "displacement": ("u", "length")}
TENSORS = {"stress": "s", "strain": "e"}
MEDIUM = {"vp": "velocity", "vs": "velocity", "rho": "density"}
UNEVEN = 1e-4  # of the interval: how far times may lie off equal steps
SAME = 1e-3  # m: points that several faces have
LARGEST = 1e30  # of any value: single precision holds its transforms
LAYOUT = "see docs/injection.md for the layout"


def read(path):
    """Read a wavefield.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Wavefield

    Raises
    ------
    FileError
        Dimensions, units or values that are not as docs/injection.md has them.
    """
    with opened(path) as root:
        parts = [_part_of(root, path)] if root.data_vars else []
    for face in FACES if not parts else ():
        try:
            with opened(path, face) as dataset:
                parts.append(_part_of(dataset, path))
        except FileError as error:
            if error.remedy == LAYOUT:
                raise
    if not parts:
        words = f"{path} has neither waves nor groups {', '.join(FACES)}"
        raise FileError(words, LAYOUT)
    times = parts[0].times
    if any(set(part.values) != set(parts[0].values) for part in parts):
        raise FileError(f"the faces of {path} have different fields", LAYOUT)
    if any(len(part.times) != len(times) or np.any(part.times != times) for part in parts):
        raise FileError(f"the faces of {path} have different times", LAYOUT)
    xyz = np.concatenate([part.xyz for part in parts])
    _, kept = np.unique(np.rint(xyz / SAME), axis=0, return_index=True)
    joined = {name: np.concatenate([part.values[name] for part in parts], axis=1)[:, kept] for name in parts[0].values}
    medium = {name: np.concatenate([part.medium[name] for part in parts])[kept] for name in parts[0].medium}
    start, interval = _regular(times, path)
    waves = _with_stress(joined, medium, path)
    _finite(waves, path)
    return Wavefield(str(path), xyz[kept], waves, start, interval, medium)


class _Part:
    """Times, positions, fields and medium of one dataset."""

    def __init__(self, times, xyz, values, medium):
        self.times, self.xyz, self.values, self.medium = times, xyz, values, medium


def _part_of(dataset, path):
    """Return the `_Part` of a dataset."""
    for name in ("time", "x", "y", "z"):
        if name not in dataset.coords:
            raise FileError(f"{path} has no coordinate {name}", LAYOUT)
    if "point" not in dataset.dims:
        dataset = dataset.reset_coords([n for n in "xyz" if not dataset[n].ndim])
        axes = [name for name in "zyx" if name in dataset.dims]
        points = math.prod(dataset.sizes[name] for name in axes)
        if points > max((array.size for array in dataset.data_vars.values()), default=0):
            raise FileError(f"{path} has no values over its {points:,} points", LAYOUT)
        dataset = dataset.stack(point=axes)
    units = {name: factor(dataset[name], "length", name) for name in "xyz"}
    count = dataset.sizes["point"]
    xyz = np.stack([np.broadcast_to(dataset[a].values, count) * units[a] for a in "xyz"], axis=1).astype(float)
    values = {}
    for name, (letter, dimension) in VECTORS.items():
        if name in dataset:
            scale = factor(dataset[name], dimension, name)
            values |= _columns(dataset[name], "component", letter, AXES, scale, path)
    for name, letter in TENSORS.items():
        if name in dataset:
            scale = _pascal(dataset[name], path) if name == "stress" else 1.0
            pairs = {a + b: AXES[a] + AXES[b] for a in AXES for b in AXES}
            values |= _columns(dataset[name], "tensor", letter, pairs, scale, path)
    if "traction" in dataset and not any(name[0] in "se" for name in values):
        words = f"{path} has traction on a surface, which is not enough: the waves are needed on both sides of it"
        raise FileError(words, "write velocity and stress at points in layers around the box")
    if not any(name[0] in "uv" for name in values):
        raise FileError(f"{path} has neither velocity nor displacement", LAYOUT)
    medium = {
        name: np.broadcast_to(dataset[name].values, count) * factor(dataset[name], dimension, name)
        for name, dimension in MEDIUM.items()
        if name in dataset
    }
    times = dataset["time"].values * factor(dataset["time"], "time", "time")
    _finite({"time": times, "a position": xyz} | values | medium, path)
    return _Part(times, xyz, values, medium)


def _columns(variable, dimension, letter, names, scale, path):
    """Return (time, point) arrays of the components of a variable by the name of their field."""
    if dimension not in variable.coords:
        raise FileError(f"{variable.name} of {path} has no coordinate {dimension}", LAYOUT)
    fields = {}
    for word in map(str, variable[dimension].values):
        if word not in names:
            known = ", ".join(dict.fromkeys(names))
            raise FileError(f"{dimension} {word!r} of {path} is none of {known}", LAYOUT)
        name = "".join(sorted(names[word]))
        part = variable.sel({dimension: word}).transpose("time", "point").values
        fields[letter + name] = part if scale == 1.0 else part * scale
    return fields


def _pascal(variable, path):
    """Return the factor of stress from its unit to Pa."""
    unit = str(variable.attrs.get("units", "Pa")).strip()
    units = {"": 1.0, "1": 1.0, "Pa": 1.0, "N/m2": 1.0, "N m-2": 1.0, "kPa": 1e3, "MPa": 1e6}
    if unit not in units:
        raise FileError(f"the unit of stress of {path}, {unit!r}, is not known", "write Pa")
    return units[unit]


def _regular(times, path):
    """Return first time and interval of equally spaced times."""
    if len(times) < 8:
        raise FileError(f"{path} has {len(times)} times", "give the whole wavefield")
    interval = (times[-1] - times[0]) / (len(times) - 1)
    if not np.isfinite(interval) or interval <= 0:
        raise FileError(f"the times of {path} do not rise", "sort them")
    if np.abs(times - times[0] - np.arange(len(times)) * interval).max() > UNEVEN * interval:
        raise FileError(f"the times of {path} are not equally spaced", "resample them")
    return float(times[0]), float(interval)


def _finite(values, path):
    """Refuse arrays that are empty, not finite or too large."""
    for name, array in values.items():
        if not array.size:
            raise FileError(f"{path} has no points or no times", LAYOUT)
        if not (array.min() > -LARGEST and array.max() < LARGEST):
            words = f"{name} of {path} is not finite everywhere, or beyond {LARGEST:g}"
            raise FileError(words, "write it anew")


def _with_stress(values, medium, path):
    """Return fields with the stress of an isotropic medium in place of strain."""
    strains = [name for name in values if name[0] == "e"]
    if not strains or any(name[0] == "s" for name in values):
        return {name: series for name, series in values.items() if name[0] != "e"}
    if set(medium) != set(MEDIUM):
        words = f"{path} has strain, but not vp, vs and rho at its points"
        raise FileError(words, "add them, or write stress")
    mu = medium["rho"] * medium["vs"] ** 2
    lam = medium["rho"] * medium["vp"] ** 2 - 2 * mu
    trace = lam * sum(values[f"e{a}{a}"] for a in "xyz" if f"e{a}{a}" in values)
    stress = {f"s{name[1:]}": 2 * mu * values[name] + (trace if name[1] == name[2] else 0.0) for name in strains}
    return {name: series for name, series in values.items() if name[0] != "e"} | stress
