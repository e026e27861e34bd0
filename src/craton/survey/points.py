"""Where fields that need no time are computed: grids, draped grids, profiles, boreholes, scattered
points.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


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
    return grid(
        x,
        y,
        z + table.height,
        f"grid of {len(x)} x {len(y)}, {table.height:.10g} m over {Path(table.surface.file).name}",
    )


def _profile(table, surface, columns):
    ends = np.array([table.from_.xyz, table.to.xyz], float)
    part = np.linspace(0, 1, table.count)
    length = float(np.linalg.norm(ends[1] - ends[0]))
    xyz = ends[0] + part[:, None] * (ends[1] - ends[0])
    return scattered(
        *xyz.T,
        f"profile of {table.count} over {length:,.10g} m",
        distance=(part * length, "m", "distance along the profile"),
    )


def _borehole(table, surface, columns):
    z = np.linspace(table.top, table.bottom, table.count)
    x, y = (np.full(table.count, c) for c in (table.x, table.y))
    words = f"borehole of {table.count} at x {table.x:.10g}, y {table.y:.10g} m, z {table.top:.10g} to {table.bottom:.10g} m"
    return scattered(x, y, z, words, depth=(table.top - z, "m", "depth below the top of the borehole"))


def _scattered(table, surface, columns):
    if table.file is None:
        return scattered(*np.array([p.xyz for p in table.at], float).reshape(-1, 3).T, f"{len(table.at)} points")
    held, name = (columns(table.file, ("x", "y", "z", "depth"), ("z", "depth")), Path(table.file).name)
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
