"""H5DRM, the waves around a box of ShakerMaker and OpenSees: nodes of the domain reduction method.

Positions are north, east and depth in km, motions east, north and down: as ShakerMaker writes them
and as OpenSees reads them, which turns the sign of the third component.
"""

from pathlib import Path

import numpy as np

from craton.io.contents import FileError, MissingLibrary, Wavefield, errors_of_libraries
from craton.io.libraries import library, written

KM = 1000.0
DATA, METADATA = "DRM_Data", "DRM_Metadata"
MOTIONS = (("displacement", "u"), ("velocity", "v"))  # the first one that is there is taken
FEWEST_TIMES = 8
LARGEST = 1e30  # of any value: single precision holds its transforms
FEWEST = 2  # points along an axis: a file has two layers of them
REMEDY = "write it with ShakerMaker, or with craton convert"


def read(path):
    """Read the displacement, or the velocity, of all nodes.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Wavefield

    Raises
    ------
    FileError
        Groups or values are missing or do not fit each other.
    """
    h5py = library("h5py", f"{path.name}: H5DRM", MissingLibrary)
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        reason = str(error).splitlines()[0][:150]
        raise FileError(f"cannot read {path}: {reason}", REMEDY) from error
    with file, errors_of_libraries(path):
        try:
            return _waves_of(file, path)
        except OSError as error:  # a damaged chunk
            reason = str(error).splitlines()[0][:150]
            raise FileError(f"cannot read {path}: {reason}", REMEDY) from error


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
        words = f"{path} has positions of shape {table.shape} and motions of shape {series.shape}"
        raise FileError(words, REMEDY)
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
    known = all(part.min() > -LARGEST and part.max() < LARGEST for part in (rows, xyz, np.array([start, interval])))
    if not (known and interval > 0):
        words = f"{path} holds values that are not finite or beyond {LARGEST:g}, or no time step"
        raise FileError(words, REMEDY)
    north, east, depth = xyz.T
    values = {
        f"{motion[1]}{axis}": sign * rows[first + n].T for n, (axis, sign) in enumerate((("x", 1), ("y", 1), ("z", -1)))
    }
    places = KM * np.stack([east, north, -depth], axis=1)
    return Wavefield(str(path), places, values, start, interval, {}, fewest=FEWEST)


def write(dataset, path):
    """Write displacement, velocity and acceleration of nodes.

    Parameters
    ----------
    dataset : xarray.Dataset
        ``displacement``, ``velocity``, ``acceleration`` (component E N Z, time, point) with ``x``,
        ``y``, ``z``, m, and ``internal`` (point); attributes ``from`` and ``to``, the box.
    path : path-like
        A file that is there is replaced.

    Returns
    -------
    path-like

    Raises
    ------
    ResourceError
        h5py is not installed, or the file cannot be written.
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
