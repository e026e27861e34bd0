"""Elevations over longitude and latitude, from netCDF grids such as ETOPO's and GEBCO's, or
GeoTIFF: the topography of a chunk.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton import io
from craton.io.netcdf import height_factor
from craton.model.interpolate import interpolated, rises, weights

AXES = {"latitude": ("lat", "latitude", "y"), "longitude": ("lon", "longitude", "x")}
ROUNDING = 1e-9  # steps outside a grid that count as its edge


@dataclass(frozen=True, eq=False)
class Relief:
    """Elevations, m, bilinear between the points of a grid; nan beyond it."""

    # longitude, latitude: (nx,), (ny,), degrees, rising
    longitude: np.ndarray
    latitude: np.ndarray
    elevation: np.ndarray  # (ny, nx), m

    def __call__(self, longitude, latitude):
        """Elevations at places in degrees, arrays of one shape."""
        return interpolated(self.elevation, *around_the_world(self.longitude, self.latitude, longitude, latitude))

    def lowered(self, spacing):
        """Return the relief averaged over blocks about `spacing` degrees wide, so that elements of that size can follow
        it.

        `spacing` in degrees; nothing is done where the grid is as coarse. Raises ValueError: the grid is narrower than
        two blocks.
        """
        (longitude, columns), (latitude, rows) = (_blocks(axis, spacing) for axis in (self.longitude, self.latitude))
        return Relief(longitude, latitude, _averaged(_averaged(self.elevation, rows).T, columns).T)


def _blocks(axis, spacing):
    """Return the middles of blocks about `spacing` degrees wide and where each begins, and the last ends, on an axis."""
    count = len(axis) // max(1, int(spacing / np.diff(axis).mean() + 1e-6))
    if count < 2:
        width = f"{spacing:g} degrees are wider than half of the elevations, which reach over {np.ptp(axis):g} degrees"
        raise ValueError(f"smoothing: {width}; average over less, or give a larger file")
    edges = (
        np.arange(count + 1) * len(axis) // count
    )  # those left over are shared out: no gap where a grid meets itself
    return _averaged(axis, edges), edges


def _averaged(values, edges):
    """Return means of values over blocks of their first axis."""
    sizes = np.diff(edges).reshape(-1, *[1] * (values.ndim - 1))
    return np.add.reduceat(values, edges[:-1], axis=0) / sizes


def around_the_world(x, y, longitude, latitude):
    """Return `weights` along latitudes y and longitudes x, rising, of places, all in degrees; nan beyond them.

    Where x goes around the Earth the point after the last is the first, and latitudes beyond an end of y that is a
    spacing or less from the pole are moved to it: grids of cells end there.
    """
    count, east, latitude = len(x), x[0] + (np.asarray(longitude, float) - x[0]) % 360.0, np.asarray(latitude, float)
    if x[-1] - x[0] + np.diff(x).max(initial=0) >= 360.0 - 1e-6:
        x, spacing = np.append(x, x[0] + 360.0), np.diff(y).max(initial=0) * (1 + 1e-9)
        low, high = (y[0] if y[0] <= spacing - 90 else -np.inf, y[-1] if y[-1] >= 90 - spacing else np.inf)
        latitude = np.clip(latitude, low, high)
    east = np.where((east > x[-1]) & (east - 360.0 >= x[0] - 1e-9), east - 360.0, east)
    before, after, weight = weights(x, east, ROUNDING)
    return weights(y, latitude, ROUNDING), (before, after % count, weight)


def read(path, variable=None):
    """Return a `Relief` from a file.

    `path` path-like: netCDF (.nc, .grd), or GeoTIFF (.tif, where rioxarray is installed) in longitude and latitude;
    `variable`: its name; needed where the file holds several over longitude and latitude. Raises ValueError: a file
    that cannot be read or is no such grid: says what it holds.
    """
    return from_array(io.read(path, "raster", variable=variable), Path(path).name)


def from_array(array, name="the elevations"):
    """Return a `Relief` from an xarray.DataArray over longitude and latitude.

    `name`: for messages.
    """
    array, dims = array.squeeze(drop=True), {}
    for ours, names in AXES.items():
        theirs = next((d for d in array.dims if str(d).lower() in names), None)
        if theirs is None or theirs not in array.coords:
            raise ValueError(
                f"{name} has the dimensions {', '.join(map(str, array.dims))}; it needs longitude and latitude, in degrees"
            )
        dims[ours] = theirs
    array = array.transpose(dims["latitude"], dims["longitude"]).sortby(list(dims.values()))
    latitude, longitude = (np.asarray(array[d].values, float) for d in (dims["latitude"], dims["longitude"]))
    if np.abs(latitude).max(initial=0) > 90 or np.ptp(longitude) > 360 + 1e-9 or min(len(latitude), len(longitude)) < 2:
        raise ValueError(
            f"{name}: {dims['longitude']} and {dims['latitude']} are not in degrees, or have fewer than two values"
        )
    for axis, values in ((dims["longitude"], longitude), (dims["latitude"], latitude)):
        if not rises(values):
            raise ValueError(f"{name}: {axis} has a value twice, or one that is not finite")
    values = np.asarray(array.values, float) * height_factor(array, name)
    if longitude[-1] - longitude[0] >= 360 - 1e-9:  # -180 and 180 are one
        longitude, values = longitude[:-1], values[:, :-1]
    return Relief(longitude, latitude, values)
