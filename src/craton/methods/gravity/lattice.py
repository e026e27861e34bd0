"""Planes, nodes and cells that the prisms of an ensemble share, found from the prisms alone; on the
arrays of either machine.

`xp` is the array module of the machine: NumPy, or one that looks like it. What is found out is
remembered with the problem.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

ULPS = 16 * 2.2e-16  # coordinates this close, relative to the greatest, are one
LOOSE = 1e-10  # departure from a regular spacing, in spacings
UNSPACED = "the points are not regularly spaced by a simple multiple of the prisms' width"
FINEST = 64  # greatest denominator of a ratio of spacings


def remembered(problem, name, make):
    """Return what `make()` finds out about a problem, found once."""
    kept = vars(problem)
    if name not in kept:
        kept[name] = make()
    return kept[name]


def prisms_of(problem, xp):
    """Prisms and density as arrays of `xp`."""
    return remembered(
        problem,
        f"_{xp.__name__}",
        lambda: (xp.asarray(problem.prisms), xp.asarray(problem.density)),
    )


@dataclass(frozen=True)
class Planes:
    """Where the faces of all prisms across one axis lie.

    Parameters
    ----------
    at : array
        (n,) coordinates, ascending.
    lower, upper : array of int
        (M,) plane of each prism's two faces.
    """

    at: Any
    lower: Any
    upper: Any


def largest(xp, *arrays):
    """Greatest magnitude."""
    return max(float(xp.abs(a).max()) for a in arrays)


def planes(low, high, xp):
    """Planes of faces (M,) `low` and `high`; coordinates that differ by rounding alone are one."""
    least = ULPS * largest(xp, low, high)
    width, begin, end = float((high - low).min()), float(low.min()), float(high.max())
    count = round((end - begin) / width) if width * 4 * len(low) + 1e3 * width > end - begin else 0
    if count:  # all faces at multiples of the smallest prism: nothing to sort
        step = (end - begin) / count
        lower, upper = xp.rint((low - begin) / step), xp.rint((high - begin) / step)
        off = max(
            float(xp.abs(begin + step * n - a).max()) for n, a in ((lower, low), (upper, high))
        )
        if off <= least and float((upper - lower).min()) >= 1:
            at, lower, upper = (
                begin + step * xp.arange(count + 1),
                lower.astype(xp.int64),
                upper.astype(xp.int64),
            )
            at[lower], at[upper] = low, high  # to the last digit: points may lie on these faces
            return Planes(at, lower, upper)
    every = xp.sort(xp.concatenate([low, high]))
    at = every[xp.concatenate([xp.ones(1, bool), xp.diff(every) > least])]
    return Planes(
        at, xp.searchsorted(at, low, side="right") - 1, xp.searchsorted(at, high, side="right") - 1
    )


def combined(keys, values, least, xp):
    """Equal keys once with the sum of their values; sums below `least` are dropped."""
    if not len(keys):
        return keys, values
    order = xp.argsort(keys)
    keys, values = keys[order], values[order]
    new = xp.concatenate([xp.ones(1, bool), keys[1:] != keys[:-1]])
    sums = xp.bincount(xp.cumsum(new) - 1, weights=values)
    kept = xp.abs(sums) > least
    return keys[new][kept], sums[kept]


def third_difference(x, y, z, density, xp):
    """Nodes of prisms between planes: (flat index of x in y in z, mixed third difference of
    density), those that are not zero.

    One axis after the other: prisms of equal density side by side leave nothing between them, so
    that few ends of rows, then few corners remain to be sorted.
    """
    nx, ny, nz = len(x.at), len(y.at), len(z.at)
    wide, tall = (int((axis.upper - axis.lower).max()) for axis in (y, z))
    if float(nx) * ny * wide * nz * tall > 2.0**62:
        raise OverflowError("too many planes")
    least = ULPS * largest(xp, density)
    row = (
        (z.lower * tall + z.upper - z.lower - 1) * (ny * wide)
        + y.lower * wide
        + y.upper
        - y.lower
        - 1
    )
    key, value = combined(
        xp.concatenate([row * nx + x.lower, row * nx + x.upper]),
        xp.concatenate([-density, density]),
        least,
        xp,
    )
    i, row = key % nx, key // nx
    j, layer = row % (ny * wide), row // (ny * wide)
    south = (layer * ny + j // wide) * nx + i
    key, value = combined(
        xp.concatenate([south, south + (j % wide + 1) * nx]),
        xp.concatenate([-value, value]),
        least,
        xp,
    )
    level, layer = key % (nx * ny), key // (nx * ny)
    bottom = (layer // tall) * (nx * ny) + level
    return combined(
        xp.concatenate([bottom, bottom + (layer % tall + 1) * (nx * ny)]),
        xp.concatenate([-value, value]),
        least,
        xp,
    )


@dataclass(frozen=True)
class Nodes:
    """Nodes with what each contributes, and the planes that they lie in (three Planes)."""

    at: Any
    coefficient: Any
    planes: tuple


def nodes(prisms, density, xp):
    """Nodes of an ensemble whose mixed third difference of density is not zero: at (n, 3),
    coefficient (n,).
    """
    x, y, z = axes_nodes = tuple(
        planes(prisms[:, 2 * axis], prisms[:, 2 * axis + 1], xp) for axis in range(3)
    )
    key, value = third_difference(x, y, z, density, xp)
    nx, ny = len(x.at), len(y.at)
    return Nodes(
        xp.stack([x.at[key % nx], y.at[key // nx % ny], z.at[key // (nx * ny)]], axis=1),
        value,
        axes_nodes,
    )


# --- regular columns and the points above them ----------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """Cells of one width along an axis, and points at a rational multiple of it: both on a lattice
    `width` / `refine` apart.

    Parameters
    ----------
    width : float
        Of every cell, m.
    first : float
        Centre of cell 0 minus point 0, m.
    cells, points : int
        How many places there are for each.
    refine, stride : int
        Points are `width` * `stride` / `refine` apart.
    cell, point : array of int
        Place of each prism, of each point.
    """

    width: float
    first: float
    cells: int
    points: int
    refine: int
    stride: int
    cell: Any
    point: Any

    @property
    def reach(self):
        """Least and greatest of (point minus cell) in lattice steps."""
        return -(self.cells - 1) * self.refine, (self.points - 1) * self.stride


def axis(low, high, at, xp):
    """Cells between `low` and `high` (M,) and points `at` (N,) as an Axis, or in words why that
    cannot be.
    """
    least, width = ULPS * largest(xp, low, high, at), float(high[0] - low[0])
    if float(xp.abs(high - low - width).max()) > least + LOOSE * width:
        return "the prisms are not of one width"
    begin, span = float(low.min()), float(low.max() - low.min())
    cells = round(span / width) + 1
    width = span / (cells - 1) if cells > 1 else width
    cell = xp.rint((low - begin) / width)
    if float(xp.abs(begin + width * cell - low).max()) > least + LOOSE * width:
        return "the prisms are not regularly spaced"
    sites = spaced(at, width, least + LOOSE * width, xp)
    if sites is None:
        return UNSPACED
    start, points, refine, stride, point = sites
    return Axis(
        width,
        begin + 0.5 * width - start,
        cells,
        points,
        refine,
        stride,
        cell.astype(xp.int64),
        point,
    )


def spaced(at, width, least, xp):
    """First of coordinates `at`, number of places, denominator and numerator of their spacing over
    `width`, place of each; or None.
    """
    start, span = float(at.min()), float(at.max() - at.min())
    if span <= least:
        return start, 1, 1, 1, xp.zeros(len(at), xp.int64)
    for gaps in (xp.abs(xp.diff(at)), xp.diff(xp.sort(at))):  # points in order tell it at once
        gaps = gaps[gaps > least]
        points = round(span / float(gaps.min())) + 1
        step = span / (points - 1)
        ratio = Fraction(step / width).limit_denominator(FINEST)
        place = xp.rint((at - start) / step)
        off = (
            float(xp.abs(start + step * place - at).max()),
            abs(step - width * ratio) * (points - 1),
        )
        if ratio and max(off) <= least:
            return start, points, ratio.denominator, ratio.numerator, place.astype(xp.int64)
    return None


@dataclass(frozen=True)
class Columns:
    """Regular cells in layers and points on a regular grid in levels.

    Parameters
    ----------
    x, y : Axis
    layers : ndarray
        (n, 2) bottom and top, m; each prism fills one layer of its cell.
    layer : array of int
        (M,) layer of each prism.
    levels : ndarray
        Heights of the points, m.
    level : array of int
        (N,) level of each point.
    """

    x: Axis
    y: Axis
    layers: Any
    layer: Any
    levels: Any
    level: Any


def columns(prisms, points, to_host, xp):
    """Prisms (M, 6) and points (3, N) as Columns, or in words why that cannot be."""
    axes = []
    for n in range(2):
        axes.append(axis(prisms[:, 2 * n], prisms[:, 2 * n + 1], points[n], xp))
        if isinstance(axes[-1], str):
            return axes[-1] + (" along x", " along y")[n]
    z = planes(prisms[:, 4], prisms[:, 5], xp)
    pairs, layer = xp.unique(z.lower * len(z.at) + z.upper, return_inverse=True)
    layers = xp.stack([z.at[pairs // len(z.at)], z.at[pairs % len(z.at)]], axis=1)
    levels, level = xp.unique(points[2], return_inverse=True)
    return Columns(*axes, to_host(layers), layer, to_host(levels), level)
