"""Where fields that need no time are computed: grids, draped grids, profiles, boreholes, scattered points, and points of
labelled data of xarray, Verde and pandas, with the names of Harmonica.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from craton.io.netcdf import TO_METRES, factor, height_factor
from craton.model.ground.surfaces import GEOGRAPHIC
from craton.model.media.readers import COORDINATES

WORDS = COORDINATES | {"z": ("upward", *COORDINATES["z"], "height", "altitude")}


@dataclass(frozen=True)
class Points:
    """Points and how they are laid out.

    Parameters
    ----------
    dims : tuple of str
        ``("y", "x")`` for grids, ``("point",)`` for anything else.
    x, y, z : arrays
        Coordinates, m, z up, each of the shape of the dimensions.
    axes : dict
        Coordinates of the dimensions of a grid: ``{"x": (nx,), "y": (ny,)}``, m.
    along : dict
        Further coordinates over the points: name to (values, unit, long name).
    words : str
        How they are laid out, for people.
    """

    dims: tuple
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    axes: dict = field(default_factory=dict)
    along: dict = field(default_factory=dict)
    words: str = ""

    @property
    def shape(self):
        """Shape of the fields at these points."""
        return self.x.shape

    @property
    def xyz(self):
        """The coordinates as (x, y, z)."""
        return self.x, self.y, self.z


def grid(x, y, z, words=""):
    """Return a grid over axes x and y (m) at elevations z: a number, or (ny, nx).

    Parameters
    ----------
    x, y : array_like
        m.
    z : float or (ny, nx) array
        Elevations, m.
    words : str
        How the points are laid out, for people.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    shape = (len(y), len(x))
    level = f" at z = {float(z):.10g} m" if not np.ndim(z) else ""
    full = (np.array(np.broadcast_to(c, shape)) for c in (x, y[:, None], z))
    return Points(("y", "x"), *full, {"x": x, "y": y}, words=words or f"grid of {len(x)} x {len(y)}{level}")


def scattered(x, y, z, words="scattered", **along):
    """Points anywhere, coordinates (n,) m.

    Parameters
    ----------
    x, y : (n,) array
        m.
    z : (n,) array
        m, up.
    words : str
        How the points are laid out, for people.
    """
    return Points(("point",), *(np.array(c, float) for c in (x, y, z)), along=along, words=words)


def build(table, surface, columns):
    """Return the points of a scenario.

    Parameters
    ----------
    table : table of a scenario
        ``points``, by its kind.
    surface : callable
        Gives a surface (x, y axes; ``at(x, y)``; z) for a table with file and variable.
    columns : callable
        ``columns(file, names, optional)`` gives the columns of a table as a dict of arrays.

    Raises
    ------
    ValueError
        Points off the surface, bad files: with the index of the first bad point.
    """
    return KINDS[table.kind](table, surface, columns)


def _grid(table, surface, columns):
    return grid(np.linspace(*table.x), np.linspace(*table.y), table.z)


def _drape(table, surface, columns):
    ground = surface(table.surface)
    x, y = (ground.x, ground.y) if table.x is None else (np.linspace(*table.x), np.linspace(*table.y))
    z = ground.z if table.x is None else ground.at(x, y[:, None])
    lost = np.argwhere(~np.isfinite(z))
    if len(lost):
        j, i = lost[0]
        raise ValueError(
            f"the surface has no elevation at {len(lost)} of {z.size} points, the first [{j}, {i}] at x {x[i]:.10g}, y {y[j]:.10g} m"
        )
    words = f"grid of {len(x)} x {len(y)}, {table.height:.10g} m over {Path(table.surface.file).name}"
    return grid(x, y, z + table.height, words)


def _profile(table, surface, columns):
    ends = np.array([table.from_.xyz, table.to.xyz], float)
    part = np.linspace(0, 1, table.count)
    length = float(np.linalg.norm(ends[1] - ends[0]))
    xyz = ends[0] + part[:, None] * (ends[1] - ends[0])
    distance = part * length, "m", "distance along the profile"
    return scattered(*xyz.T, f"profile of {table.count} over {length:,.10g} m", distance=distance)


def _borehole(table, surface, columns):
    z = np.linspace(table.top, table.bottom, table.count)
    x, y = (np.full(table.count, c) for c in (table.x, table.y))
    words = f"borehole of {table.count} at x {table.x:.10g}, y {table.y:.10g} m, z {table.top:.10g} to {table.bottom:.10g} m"
    return scattered(x, y, z, words, depth=(table.top - z, "m", "depth below the top of the borehole"))


def _scattered(table, surface, columns):
    if table.file is None:
        return scattered(*np.array([p.xyz for p in table.at], float).reshape(-1, 3).T, f"{len(table.at)} points")
    held, name = columns(table.file, ("x", "y", "z", "depth"), ("z", "depth")), Path(table.file).name
    if ("z" in held) == ("depth" in held):
        raise ValueError(f"{name} needs exactly one of the columns z and depth")
    height = held["z"] if "z" in held else 0.0 - held["depth"]
    bad = np.flatnonzero(~np.isfinite(held["x"] + held["y"] + height))
    if len(bad):
        raise ValueError(
            f"{name}: point {bad[0]} is not finite: x {held['x'][bad[0]]}, y {held['y'][bad[0]]}, z {height[bad[0]]}"
        )
    return scattered(held["x"], held["y"], height, f"{len(height)} points of {name}")


KINDS = {"grid": _grid, "drape": _drape, "profile": _profile, "borehole": _borehole, "scattered": _scattered}


# --- points of labelled data ------------------------------------------------------------------------------------------


def coordinates_of(points):
    """Return x, y, z of points, m, of one shape, and the dimensions that this shape has.

    Parameters
    ----------
    points : tuple of array_like, xarray.Dataset, xarray.DataArray or pandas.DataFrame
        Labelled data have easting, northing and upward (or x, y and z, elevation, height; depth
        counts downward) as coordinates, variables or columns; a grid has easting and northing as
        dimensions, and upward over both, over none of them or as a third. Units are those of the
        attributes, also of arrays in a tuple.

    Returns
    -------
    xyz : tuple of arrays
    dims : tuple of str, or None
        Names of the dimensions of these arrays; None where they have none.

    Raises
    ------
    ValueError
        A coordinate is missing, in degrees or in an unknown unit.
    """
    if hasattr(points, "columns"):
        table = {str(name).lower(): points[name] for name in points.columns}
        return tuple(_in_metres(axis, *_named(table, axis)) for axis in "xyz"), None
    if isinstance(points, tuple | list) and len(points) == 3:
        return tuple(_in_metres(axis, axis, part) for axis, part in zip("xyz", points)), None
    if not hasattr(points, "dims"):
        return points, None
    import xarray

    if not hasattr(points, "data_vars"):
        points = points.to_dataset(name="values" if points.name is None else points.name)
    table = {str(name).lower(): points[name] for name in points.variables}
    x, y, z = (_in_metres(axis, *_named(table, axis)) for axis in "xyz")
    dims = tuple(dict.fromkeys(dim for part in (z, y, x) for dim in part.dims))
    parts = xarray.broadcast(*(part.reset_coords(drop=True) for part in (x, y, z)))
    return tuple(part.transpose(*dims).values for part in parts), dims


def _named(table, axis):
    """Return the first name of an axis that a table has, and its values."""
    name = next((word for word in WORDS[axis] if word in table), None)
    if name is None:
        remedy = f"; {TO_METRES}" if set(table) & set(GEOGRAPHIC) else ""
        names = " or ".join(WORDS[axis])
        raise ValueError(f"the points have no {names}; they have {', '.join(table)}{remedy}")
    return name, table[name]


def _in_metres(axis, name, values):
    """Return a coordinate in metres, depths turned upward."""
    if axis == "z":
        scale = height_factor(values, name, "down" if name == "depth" else "up")
    else:
        scale = factor(values, "length", name)
    return values if scale == 1.0 else scale * values.astype(float)
