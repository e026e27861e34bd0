"""netCDF and zarr, through xarray: gridded models, rasters, tables of columns; units attributes."""

from contextlib import contextmanager
from importlib.util import find_spec

from craton.io.contents import FileError, close_quietly, errors_of_libraries, warnings_of_libraries
from craton.io.libraries import library, written
from craton.io.regular import check, refuse_swollen
from craton.io.units import UnitError, si

SUFFIXES = (".nc", ".nc4", ".grd", ".cdf", ".zarr")
MAGIC = (b"CDF", b"\x89HDF")
SPELT = {
    f"{prefix}{word}": f"{unit}m"
    for prefix, unit in (("", ""), ("kilo", "k"))
    for word in ("metre", "metres", "meter", "meters")
}
TO_METRES = "project to metres first, for example with pyproj or rioxarray"


def recognises(path) -> bool:
    """Whether a file has a usual suffix or begins as netCDF does, or is a folder."""
    if path.is_dir() or path.suffix.lower() in SUFFIXES:
        return True
    with open(path, "rb") as file:
        return file.read(4).startswith(MAGIC)


@contextmanager
def opened(path, group=None):
    """Open a file, or a group of it, as an xarray.Dataset; values are read when they are used."""
    import xarray

    check(path, folders=True)
    if path.is_dir():
        refuse_swollen(path)
    kind = {"engine": "zarr", "consolidated": False} if path.is_dir() or path.suffix == ".zarr" else {}
    try:
        # chunks stays None: reading is lazy, by blocks, without dask
        with warnings_of_libraries(path):
            dataset = xarray.open_dataset(path, decode_times=False, group=group, **kind)
    # each engine has its own kinds of failure; all mean the same to the user
    except Exception as error:
        close_quietly(error)
        raise _unreadable(path, error) from error
    with dataset, errors_of_libraries(path):
        try:
            yield dataset
        except OSError as error:
            raise _unreadable(path, error) from error


def _unreadable(path, error):
    has_reader = path.is_dir() or any(find_spec(name) for name in ("h5netcdf", "netCDF4"))
    remedy = "Check that it is a netCDF file (.nc) or a zarr folder (.zarr)."
    remedy = remedy if has_reader else 'Install what reads netCDF 4: pip install "craton[netcdf]".'
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return FileError(f"cannot read {path}: {reason[:150]}", remedy)


def factor(variable, dimension, name) -> float:
    """Return the factor from the unit in a variable's attributes to SI; no unit is SI.

    A column of pandas will do, whose table may hold units by name in its attributes; whatever has no attributes has no unit.
    `dimension` is one of `craton.io.units.DIMENSIONS`, `name` for messages. Raises FileError for a unit that is unknown or of
    another dimension.
    """
    unit = stated_unit(variable)
    if unit in ("", "1"):  # "1" is CF's way to say that there is none
        return 1.0
    if dimension == "length" and unit.lower().startswith("degree"):
        raise FileError(f"{name} is in {unit}; {TO_METRES}", TO_METRES)
    try:
        return si(f"1 {SPELT.get(unit.lower(), unit)}", dimension)
    except UnitError as error:
        raise FileError(f"the units attribute of {name}, {unit!r}, cannot be read: {error}", error.remedy) from None


def stated_unit(variable) -> str:
    """Return the unit in the attributes of a variable, empty where there is none."""
    attrs = {str(name).lower(): v for name, v in getattr(variable, "attrs", {}).items()}
    unit = attrs.get("units", attrs.get("unit", ""))
    return str(unit.get(variable.name, "") if isinstance(unit, dict) else unit).strip()


def height_factor(variable, name, usual="up") -> float:
    """Return the factor from heights or depths to metres, z up: below zero for depths. The attribute ``positive`` (CF) says
    which of both a variable holds, `usual` (``"up"`` or ``"down"``) where it does not.
    """
    direction = str(getattr(variable, "attrs", {}).get("positive", usual)).lower()
    return (-1.0 if direction == "down" else 1.0) * factor(variable, "length", name)


def read_raster(path, variable=None, part=None):
    """Read a variable over two dimensions, needed where the file holds several, with coordinates and attributes as in the
    file: all, or what `part` takes of the array.
    """
    with opened(path) as dataset:
        flat = [str(n) for n, a in dataset.data_vars.items() if sum(size > 1 for size in a.shape) == 2]
        if variable is None and len(flat) != 1:
            raise FileError(
                f"{path.name} holds {', '.join(flat) or 'no variable'} over two dimensions; name one with variable ="
            )
        if variable is not None and variable not in dataset.variables:
            held = ", ".join(map(str, dataset.data_vars)) or "none"
            raise FileError(f"{path.name} has no variable {variable}; it has {held}")
        array = _with_system(dataset, dataset[variable or flat[0]])
        return (part(array) if part else array).load()


def _with_system(dataset, array):
    """Return an array with the reference system that a variable of its file has (CF's
    grid_mapping).
    """
    systems = (v.attrs.get("crs_wkt") or v.attrs.get("spatial_ref") for v in dataset.variables.values())
    system = next(filter(None, systems), None)
    return array.assign_attrs(crs_wkt=system) if system else array


def read_table(path):
    """Read the variables of one dimension: their names, and a function that returns the values of a name in SI, densities in
    kg/m3, all else in m; heights count upward and depths downward, whatever the attribute ``positive`` says.
    """
    with opened(path) as dataset:
        dataset.load()

    def column(name):
        variable, word = dataset[name], str(name).lower()
        if word.startswith(("density", "rho")):
            return variable.values * factor(variable, "density", name)
        upward = height_factor(variable, name, "down" if word == "depth" else "up")
        return variable.values * (-upward if word == "depth" else upward)

    return [name for name, variable in dataset.variables.items() if variable.ndim == 1], column


def write_map(dataset, path):
    """Write a map as it is."""
    library("h5netcdf", "netCDF")
    with written(path) as partial:
        dataset.to_netcdf(partial, engine="h5netcdf")
    return path
