"""Waves at points around a box: in netCDF or zarr, velocity or displacement with stress or strain; in H5DRM of ShakerMaker
and OpenSees, the motion of nodes of the domain reduction method.

Positions in H5DRM are north, east and depth in km, motions east, north and down: as ShakerMaker writes them and as OpenSees
reads them, which turns the sign of the third component.
"""

import math
from collections import namedtuple
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from craton.io.contents import FileError, MissingLibrary, Wavefield
from craton.io.libraries import library, written
from craton.io.netcdf import factor, opened, recognises  # noqa: F401 (asked by the table of formats)

FACES = ("west", "east", "south", "north", "bottom", "top")
AXES = {"x": "x", "y": "y", "z": "z", "E": "x", "N": "y", "Z": "z"}
PAIRS = {a + b: AXES[a] + AXES[b] for a in AXES for b in AXES}
# Letter of its fields, coordinate and names of its components, and dimension of each quantity; strain has none.
QUANTITIES = {
    "velocity": ("v", "component", AXES, "velocity"),
    "displacement": ("u", "component", AXES, "length"),
    "stress": ("s", "tensor", PAIRS, "stiffness"),
    "strain": ("e", "tensor", PAIRS, ""),
}
MEDIUM = {"vp": "velocity", "vs": "velocity", "rho": "density"}
UNEVEN = 1e-4  # of the interval: how far times may lie off equal steps
SAME = 1e-3  # m: points that several faces have
LARGEST = 1e30  # of any value: single precision holds its transforms
FEWEST_TIMES = 8
LAYOUT = "see docs/injection.md for the layout"


def read(path) -> Wavefield:
    """Read a wavefield in the layout of docs/injection.md."""
    with opened(path) as root:
        parts = [_part_of(root, path)] if root.data_vars else []
    for face in FACES if not parts else ():
        with ExitStack() as stack:
            try:
                dataset = stack.enter_context(opened(path, face))
            except FileError:  # it has no such face
                continue
            parts.append(_part_of(dataset, path))
    if not parts:
        raise FileError(f"{path} has neither waves nor groups {', '.join(FACES)}", LAYOUT)
    times = parts[0].times
    if any(set(part.values) != set(parts[0].values) for part in parts):
        raise FileError(f"the faces of {path} have different fields", LAYOUT)
    if any(len(part.times) != len(times) or np.any(part.times != times) for part in parts):
        raise FileError(f"the faces of {path} have different times", LAYOUT)
    xyz = np.concatenate([part.xyz for part in parts])
    _, rows = np.unique(np.rint(xyz / SAME), axis=0, return_index=True)
    joined = {name: np.concatenate([part.values[name] for part in parts], axis=1)[:, rows] for name in parts[0].values}
    medium = {name: np.concatenate([part.medium[name] for part in parts])[rows] for name in parts[0].medium}
    start, interval = _regular(times, path)
    waves = _with_stress(joined, medium, path)
    _finite(waves, path)
    return Wavefield(str(path), xyz[rows], waves, start, interval, medium)


_Part = namedtuple("_Part", "times xyz values medium")  # of one dataset


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
    for name, (letter, coordinate, names, dimension) in QUANTITIES.items():
        if name in dataset:
            scale = factor(dataset[name], dimension, name) if dimension else 1.0
            values |= _columns(dataset[name], coordinate, letter, names, scale, path)
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


def _regular(times, path):
    """Return first time and interval of equally spaced times."""
    if len(times) < FEWEST_TIMES:
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
            raise FileError(f"{name} of {path} is not finite everywhere, or beyond {LARGEST:g}", "write it anew")


def _with_stress(values, medium, path):
    """Return fields with the stress of an isotropic medium in place of strain."""
    strains = [name for name in values if name[0] == "e"]
    if not strains or any(name[0] == "s" for name in values):
        return {name: series for name, series in values.items() if name[0] != "e"}
    if set(medium) != set(MEDIUM):
        raise FileError(f"{path} has strain, but not vp, vs and rho at its points", "add them, or write stress")
    mu = medium["rho"] * medium["vs"] ** 2
    lam = medium["rho"] * medium["vp"] ** 2 - 2 * mu
    trace = lam * sum(values[f"e{a}{a}"] for a in "xyz" if f"e{a}{a}" in values)
    stress = {f"s{name[1:]}": 2 * mu * values[name] + (trace if name[1] == name[2] else 0.0) for name in strains}
    return {name: series for name, series in values.items() if name[0] != "e"} | stress


# --- H5DRM ----------------------------------------------------------------------------------------

KM = 1000.0
DATA, METADATA = "DRM_Data", "DRM_Metadata"
MOTIONS = (("displacement", "u"), ("velocity", "v"))  # the first one that is there is taken
FEWEST = 2  # points along an axis: a file has two layers of them
REMEDY = "write it with ShakerMaker, or with craton convert"


def read_h5drm(path) -> Wavefield:
    """Read the displacement, or the velocity, of all nodes of an H5DRM file."""
    with library("h5py", f"{path.name}: H5DRM", MissingLibrary).File(path, "r") as file:
        return _waves_of(file, path)


def _waves_of(file, path):
    """Return the `Wavefield` of an open file."""
    for name in ("xyz", "dt", "tstart"):
        group = DATA if name == "xyz" else METADATA
        if f"{group}/{name}" not in file:
            raise FileError(f"{path} has no {group}/{name}", REMEDY)
    motion = next((pair for pair in MOTIONS if f"{DATA}/{pair[0]}" in file), None)
    if motion is None:
        raise FileError(f"{path} has neither displacement nor velocity", REMEDY)
    table = file[f"{DATA}/xyz"]
    series = file[f"{DATA}/{motion[0]}"]
    if table.ndim != 2 or table.shape[1] != 3 or not table.size or series.ndim != 2:
        raise FileError(f"{path} has positions of shape {table.shape} and motions of shape {series.shape}", REMEDY)
    xyz = np.asarray(table, float)
    rows = np.asarray(series, float)
    first = 3 * np.arange(len(xyz))
    if f"{DATA}/data_location" in file:
        first = np.asarray(file[f"{DATA}/data_location"], int)
    if first.shape != (len(xyz),) or first.min() < 0 or first.max() + 2 >= len(rows):
        raise FileError(f"{path} has {len(rows):,} rows for {len(xyz):,} nodes", REMEDY)
    if rows.shape[1] < FEWEST_TIMES:
        raise FileError(f"{path} has {rows.shape[1]} times", "give the whole wavefield")
    start, interval = (float(file[f"{METADATA}/{n}"][()]) for n in ("tstart", "dt"))
    _finite({"a position": xyz, motion[0]: rows, "time": np.array([start, interval])}, path)
    if interval <= 0:
        raise FileError(f"{path} has no time step", REMEDY)
    north, east, depth = xyz.T
    values = {
        f"{motion[1]}{axis}": sign * rows[first + n].T for n, (axis, sign) in enumerate((("x", 1), ("y", 1), ("z", -1)))
    }
    places = KM * np.stack([east, north, -depth], axis=1)
    return Wavefield(str(path), places, values, start, interval, {}, fewest=FEWEST)


def write_h5drm(dataset, path):
    """Write displacement, velocity and acceleration of nodes as H5DRM.

    `dataset` has ``displacement``, ``velocity``, ``acceleration`` (component E N Z, time, point) with ``x``, ``y``, ``z``,
    m, and ``internal`` (point); attributes ``from`` and ``to``, the box. A file that is there is replaced.
    """
    h5py = library("h5py", f"writing {Path(path).name}")
    with written(path) as partial, h5py.File(partial, "w") as file:
        _fill(file, dataset)
    return path


def _fill(file, dataset):
    """Write the groups."""
    count, times = dataset.sizes["point"], dataset.time.values
    data, about = file.create_group(DATA), file.create_group(METADATA)
    east, north, up = (dataset[axis].values / KM for axis in "xyz")
    data["xyz"] = np.stack([north, east, -up], axis=1)
    data["internal"] = dataset.internal.values.astype(bool)
    data["data_location"] = 3 * np.arange(count, dtype=np.int32)
    for name in ("displacement", "velocity", "acceleration"):
        rows = data.create_dataset(name, (3 * count, len(times)), np.double, chunks=(3, len(times)))
        for n, (component, sign) in enumerate((("E", 1), ("N", 1), ("Z", -1))):
            rows[n::3] = sign * dataset[name].sel(component=component).transpose("point", "time")
    low, high = (np.array(dataset.attrs[name], float) / KM for name in ("from", "to"))
    ends = {"x": (low[1], high[1]), "y": (low[0], high[0]), "z": (-high[2], -low[2])}
    for axis, (least, most) in ends.items():
        about[f"drmbox_{axis}min"], about[f"drmbox_{axis}max"] = least, most
    about["drmbox_x0"] = [sum(ends["x"]) / 2, sum(ends["y"]) / 2, ends["z"][0]]
    about["h"] = [dataset.attrs["spacing"][n] / KM for n in (1, 0, 2)]
    about["dt"] = float(times[1] - times[0])
    about["tstart"], about["tend"] = float(times[0]), float(times[-1])
    about["program_used"] = "craton"
