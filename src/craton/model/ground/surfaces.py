"""Surfaces z(y, x): from xarray, netCDF, zarr, GeoTIFF and ESRI ASCII grids, in metres with rising
axes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton import io
from craton.io.netcdf import TO_METRES, factor, height_factor
from craton.model import mapping
from craton.model.interpolate import interpolated, rises, weights

HORIZONTAL = {"x": ("x", "easting", "east"), "y": ("y", "northing", "north")}
HALF_A_STEP = 0.5  # outside a surface its outermost elevation holds
SAY_WHERE = "say where the box lies (domain.geographic)"
STRIP = 256  # rows of nodes that are interpolated at a time
GEOGRAPHIC = ("lon", "longitude", "lat", "latitude")


@dataclass(frozen=True)
class Surface:
    """Elevations on a rectangular grid."""

    # x, y: (nx,), (ny,): coordinates of the points, m, rising
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray  # (ny, nx): elevations, m, up; nan where there is none
    name: str = "surface"  # of the file or array, for messages

    def at(self, x, y):
        """Elevations at points (arrays that broadcast together), bilinear; nan beyond the grid by more than half a
        step.

        `x`, `y` in m.
        """
        places = [weights(axis, np.asarray(c, float), HALF_A_STEP) for axis, c in ((self.y, y), (self.x, x))]
        return interpolated(self.z, *places)


def elevations(surface, grid):
    """Return a surface, or a number, at the points of a surface's grid: (ny, nx) array."""
    if isinstance(surface, float):
        return np.full(grid.z.shape, surface)
    return surface.z if surface is grid else surface.at(grid.x, grid.y[:, None])


def as_surface(surface):
    """Return a Surface or float from a Surface, DataArray, path, table of a scenario (file, variable) or number.

    `surface` Surface, xarray.DataArray, path, table or number.
    """
    if isinstance(surface, Surface):
        return surface
    if hasattr(surface, "dims"):
        return from_array(surface)
    if hasattr(surface, "file"):
        return of_table(surface)
    if isinstance(surface, str | Path):
        return read(surface)
    return float(surface)


def from_array(array, name=None, dimension="length"):
    """Return a Surface from an xarray.DataArray over x and y (easting and northing), in metres or a unit that its
    attributes name.

    `name`: for messages; `dimension`: of the values, as of `craton.io.units.DIMENSIONS`. Raises ValueError: dimensions
    that are not these two, coordinates in degrees or not monotonous, infinite elevations.
    """
    name = name or str(array.name or "surface")
    if array.attrs.get("geographic"):
        raise ValueError(f"{name} is in longitude and latitude; {TO_METRES}, or {SAY_WHERE}")
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
    with np.errstate(all="ignore"):  # infinite and signalling numbers are refused below
        z = np.asarray(array.values, float) * _value_factor(array, dimension, name)
    for dim in dims.values():
        if dim not in array.coords:
            raise ValueError(f"{name} has no coordinate {dim}")
    x, y = (np.asarray(array[dims[a]].values, float) * factor(array[dims[a]], "length", f"{a} of {name}") for a in "xy")
    return made(x, y, z, name)


def _value_factor(array, dimension, name):
    """Factor from values to SI; elevations that count downward are turned."""
    if dimension == "length":
        return height_factor(array, name)
    return factor(array, dimension, name)


def _advice(dims):
    if any(str(dim).lower() in GEOGRAPHIC for dim in dims):
        return f"{TO_METRES.replace('project', 'project longitude and latitude')}, or {SAY_WHERE}"
    return "a surface has x and y (or easting and northing), in metres"


def made(x, y, z, name):
    """Return a Surface whose axes rise, checked.

    `x` (nx,) in m; `y` (ny,) in m; `z` (ny, nx): elevations, m; `name`: for messages.
    """
    if np.size(x) > 1 and x[0] > x[-1]:
        x, z = x[::-1], z[:, ::-1]
    if np.size(y) > 1 and y[0] > y[-1]:
        y, z = y[::-1], z[::-1]
    for axis, values in (("x", x), ("y", y)):
        if len(values) < 2 or not rises(values):
            raise ValueError(f"{name}: {axis} must have at least 2 increasing or decreasing values")
    if np.isinf(z).any():
        j, i = np.argwhere(np.isinf(z))[0]
        raise ValueError(f"{name} is infinite at [{j}, {i}]")
    return Surface(np.ascontiguousarray(x), np.ascontiguousarray(y), np.ascontiguousarray(z), name)


def of_table(table):
    """Return the Surface of a table of a scenario, mapped to the box that it is for.

    `table` table with file and variable, and perhaps crs and frame.
    """
    frame, system = getattr(table, "frame", None), getattr(table, "crs", None)
    return read(table.file, table.variable, frame, system)


def read(path, variable=None, frame=None, system=None, dimension="length"):
    """Return a Surface from a file: netCDF (.nc, .grd), zarr, ESRI ASCII grid (.asc), GeoTIFF (.tif, where rioxarray is
    installed).

    `path` path-like; `variable`: of the file; needed where it holds more than one over x and y; `frame`: of the box,
    where that has a place on Earth: files on longitude and latitude or with a reference system of their own are mapped
    to it, at about two nodes for each of their steps; `system`: reference system of the file's coordinates, where it
    does not state it itself; `dimension`: of its values, as of `craton.io.units.DIMENSIONS`. Raises ValueError: with what
    is wrong and the names that are there.
    """
    name = Path(path).name
    if frame is None and system is not None:
        raise ValueError(f"{name}: crs = {system!r} needs domain.geographic, the place of the box")
    if frame is None:
        return from_array(io.read(path, "raster", variable=variable), name, dimension)
    rasters = []

    def part(array):
        stated = mapping.system_of(array, system)
        if stated is None:
            return array
        rasters.append(mapping.raster(array, frame, stated, name, HALF_A_STEP))
        return rasters[0].data

    array = io.read(path, "raster", variable=variable, part=part)
    if not rasters:
        return from_array(array, name, dimension)
    return _mapped(array, rasters[0], name, dimension)


def _mapped(array, raster, name, dimension):
    """Return a Surface at the nodes of a raster, of its values."""
    plane = np.asarray(array.squeeze(drop=True).transpose("y", "x").values, float)
    plane = plane * _value_factor(array, dimension, name)
    z = np.empty((len(raster.y), len(raster.x)))
    for start in range(0, len(z), STRIP):
        rows = slice(start, start + STRIP)
        ((first, stop), (low, high)), stencil = raster.window(rows, slice(None))
        z[rows] = interpolated(plane[low:high, first:stop], *stencil)
    return made(raster.x, raster.y, z, name)
