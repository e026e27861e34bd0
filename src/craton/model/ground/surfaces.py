"""Surfaces z(y, x): from xarray, netCDF, zarr, GeoTIFF and ESRI ASCII grids, in metres with rising axes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

HORIZONTAL = {"x": ("x", "easting", "east"), "y": ("y", "northing", "north")}
GEOGRAPHIC = ("lon", "longitude", "lat", "latitude")


@dataclass(frozen=True)
class Surface:
    """Elevations on a rectangular grid.

    Parameters
    ----------
    x, y : (nx,), (ny,) arrays
        Coordinates of the points, m, rising.
    z : (ny, nx) array
        Elevations, m, up; nan where there is none.
    name : str
        Of the file or array, for messages.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    name: str = "surface"

    def at(self, x, y):
        """Elevations at points (arrays that broadcast together), bilinear; nan beyond the grid by more than half a step."""
        (i, p, u), (j, q, v) = (_weights(axis, np.asarray(c, float)) for axis, c in zip((self.x, self.y), (x, y)))
        low = self.z[j, i] * (1 - u) + np.where(u > 0, self.z[j, p], 0) * u
        high = self.z[q, i] * (1 - u) + np.where(u > 0, self.z[q, p], 0) * u
        return np.where(np.isnan(u) | np.isnan(v), np.nan, low * (1 - v) + np.where(v > 0, high, 0) * v)


def _weights(axis, at):
    before = np.clip(np.searchsorted(axis, at, side="right") - 1, 0, max(len(axis) - 2, 0))
    after = np.minimum(before + 1, len(axis) - 1)
    step = np.where(after > before, axis[after] - axis[before], 1.0)
    weight = (at - axis[before]) / step
    return before, after, np.where(np.abs(weight - 0.5) <= 1.0, np.clip(weight, 0, 1), np.nan)


def elevations(surface, grid):
    """A surface, or a number, at the points of a surface's grid: (ny, nx) array."""
    if isinstance(surface, float):
        return np.full(grid.z.shape, surface)
    return surface.z if surface is grid else surface.at(grid.x, grid.y[:, None])


def as_surface(given):
    """A Surface or float from a Surface, DataArray, path, table of a scenario (file, variable) or number."""
    if isinstance(given, Surface):
        return given
    if hasattr(given, "dims"):
        return from_array(given)
    if hasattr(given, "file"):
        return read(given.file, given.variable)
    if isinstance(given, str | Path):
        return read(given)
    return float(given)


def from_array(array, name=None):
    """A Surface from an xarray.DataArray over x and y (easting and northing), in metres or a unit that its attributes name.

    Raises
    ------
    ValueError
        Dimensions that are not these two, coordinates in degrees or not monotonous, infinite elevations.
    """
    name = name or str(array.name or "surface")
    array = array.squeeze(drop=True)
    dims = {}
    for dim in array.dims:
        axis = next((a for a, names in HORIZONTAL.items() if str(dim).lower() in names), None)
        if axis is None or axis in dims:
            raise ValueError(f"{name} has the dimensions {', '.join(map(str, array.dims))}; {_advice(array.dims)}")
        dims[axis] = dim
    if set(dims) != {"x", "y"}:
        raise ValueError(f"{name} has the dimensions {', '.join(map(str, array.dims)) or 'none'}; it needs x and y")
    array = array.transpose(dims["y"], dims["x"])
    z = np.asarray(array.values, float) * scale(array, name)
    for dim in dims.values():
        if dim not in array.coords:
            raise ValueError(f"{name} has no coordinate {dim}")
    x, y = (np.asarray(array[dims[a]].values, float) * scale(array[dims[a]], f"{a} of {name}") for a in "xy")
    return made(x, y, z, name)


def _advice(dims):
    if any(str(dim).lower() in GEOGRAPHIC for dim in dims):
        return "project longitude and latitude to metres first, for example with pyproj or rioxarray"
    return "a surface has x and y (or easting and northing), in metres"


def made(x, y, z, name):
    """A Surface whose axes rise, checked."""
    if np.size(x) > 1 and x[0] > x[-1]:
        x, z = x[::-1], z[:, ::-1]
    if np.size(y) > 1 and y[0] > y[-1]:
        y, z = y[::-1], z[::-1]
    for axis, values in (("x", x), ("y", y)):
        if len(values) < 2 or not np.isfinite(values).all() or not (np.diff(values) > 0).all():
            raise ValueError(f"{name}: {axis} must have at least 2 increasing or decreasing values")
    if np.isinf(z).any():
        j, i = np.argwhere(np.isinf(z))[0]
        raise ValueError(f"{name} is infinite at [{j}, {i}]")
    return Surface(np.ascontiguousarray(x), np.ascontiguousarray(y), np.ascontiguousarray(z), name)


def scale(variable, name):
    """Factor to metres from a variable's units attribute; none means metres."""
    from craton.tables.units import UnitError, si

    unit = str(variable.attrs.get("units", "")).strip()
    if unit.lower() in ("", "m", "metre", "meter", "metres", "meters"):
        return 1.0
    if unit.lower().startswith("degree"):
        raise ValueError(f"{name} is in {unit}; project to metres first, for example with pyproj or rioxarray")
    try:
        return si(f"1 {unit}", "length")
    except UnitError as error:
        raise ValueError(f"the units of {name}, {unit!r}, cannot be read: {error}") from None


def read(path, variable=None):
    """A Surface from a file: netCDF (.nc, .grd), zarr, ESRI ASCII grid (.asc), GeoTIFF (.tif, where rioxarray is installed).

    Parameters
    ----------
    path : path-like
    variable : str, optional
        Of the file; needed where it holds more than one over x and y.

    Raises
    ------
    ValueError
        With what is wrong and the names that are there.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    if path.suffix.lower() == ".asc":
        return _ascii(path)
    import xarray

    try:
        if path.suffix.lower() in (".tif", ".tiff"):
            return _geotiff(path)
        kind = {"engine": "zarr", "consolidated": False} if path.is_dir() else {}
        with xarray.open_dataset(path, decode_times=False, **kind) as dataset:
            return from_array(_chosen(dataset, variable, path.name), path.name)
    except ValueError as error:
        raise ValueError(f"{error}" if path.name in str(error) else f"{path.name}: {error}") from None
    except Exception as error:  # each engine has its own kinds of failure; all mean the same to the user
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(f"cannot read {path}: {reason[:150]}") from error


def _chosen(dataset, variable, name):
    flat = [str(n) for n, a in dataset.data_vars.items() if sum(size > 1 for size in a.shape) == 2]
    if variable is not None:
        if variable not in dataset.data_vars:
            raise ValueError(f"{name} has no variable {variable}; it has {', '.join(map(str, dataset.data_vars)) or 'none'}")
        return dataset[variable]
    if len(flat) != 1:
        raise ValueError(f"{name} holds {', '.join(flat) or 'no variable'} over two dimensions; name one with variable =")
    return dataset[flat[0]]


def _geotiff(path):
    try:
        import rioxarray
    except ImportError:
        raise ValueError(f"{path.name}: GeoTIFF needs rioxarray (pip install rioxarray); netCDF and .asc do not") from None
    with rioxarray.open_rasterio(path, masked=True) as array:
        if array.rio.crs is not None and array.rio.crs.is_geographic:
            raise ValueError(f"{path.name} is in longitude and latitude; project it to metres first: array.rio.reproject(...)")
        return from_array(array.isel(band=0, drop=True), path.name)


def _ascii(path):
    """An ESRI ASCII grid: header of key and value, then rows from north to south."""
    header, lines = {}, path.read_text(encoding="ascii", errors="replace").splitlines()
    while len(header) < len(lines) and lines[len(header)].split()[:1] and lines[len(header)].split()[0][0].isalpha():
        key, value = lines[len(header)].split()[:2]
        header[key.lower()] = float(value)
    try:
        nx, ny, step = int(header["ncols"]), int(header["nrows"]), header["cellsize"]
        west, south = (header.get(f"{a}llcenter", header.get(f"{a}llcorner", np.nan) + step / 2) for a in "xy")
        z = np.array(" ".join(lines[len(header) :]).split(), float).reshape(ny, nx)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path.name} is not an ESRI ASCII grid: {error}") from None
    z[z == header.get("nodata_value", -9999.0)] = np.nan
    return made(west + step * np.arange(nx), south + step * np.arange(ny)[::-1], z, path.name)
