"""Planes, nodes and cells that the prisms of an ensemble share, found from the prisms alone; on the
arrays of either machine.

`xp` is the array module of the machine: NumPy, or one that looks like it. What is found out is
remembered with the problem.
"""

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from craton.core.plan import Array
from craton.methods.gravity.operators import FLOATS, RASTER, kernel, launch

ULPS = 16 * 2.2e-16  # coordinates this close, relative to the greatest, are one
LOOSE = 1e-10  # departure from a regular spacing, in spacings
UNSPACED = "the points are not regularly spaced by a simple multiple of the prisms' width"
FINEST = 64  # greatest denominator of a ratio of spacings
BLOCK = 1 << 18  # prisms that are looked at together
FEW_PAIRS = 1 << 20  # pairs of planes that are told apart by a table


def prisms_of(problem, xp):
    """Return prisms and density as arrays of `xp`; the memo keeps them."""
    if xp.__name__ not in problem.memo:
        problem.memo[xp.__name__] = xp.asarray(problem.prisms), xp.asarray(problem.density)
    return problem.memo[xp.__name__]


@dataclass(frozen=True)
class Planes:
    """Where the faces of all prisms across one axis lie.

    Parameters
    ----------
    at : array
        (n,) coordinates, ascending.
    begin, step : float, optional
        Of planes at equal distances.
    """

    at: Any
    begin: float | None = None
    step: float | None = None

    def places(self, low, high, xp):
        """Planes of faces, numbers of int64."""
        if self.step is None:
            return tuple(xp.searchsorted(self.at, a, side="right") - 1 for a in (low, high))
        return tuple(xp.rint((a - self.begin) / self.step).astype(xp.int64) for a in (low, high))


def blocks(count):
    """Return prisms that are looked at together: what is in between takes little memory."""
    return [slice(n, n + BLOCK) for n in range(0, count, BLOCK)]


def largest(*arrays):
    """Greatest magnitude."""
    return max(max(float(a.max()), -float(a.min())) for a in arrays)


def planes(low, high, xp):
    """Planes of faces (M,) `low` and `high`; coordinates that differ by rounding alone are one."""
    least, parts = ULPS * largest(low, high), blocks(len(low))
    width = min(float((high[part] - low[part]).min()) for part in parts)
    begin, end = float(low.min()), float(high.max())
    count = round((end - begin) / width) if width * 4 * len(low) + 1e3 * width > end - begin else 0
    if count:  # all faces at multiples of the smallest prism: nothing to sort
        step = (end - begin) / count
        regular = Planes(begin + step * xp.arange(count + 1), begin, step)
        if _fits(regular, low, high, least, parts, xp):
            for n, faces in enumerate((low, high)):
                for part in parts:  # to the last digit: points may lie on these faces
                    place = regular.places(low[part], high[part], xp)[n]
                    regular.at[place] = faces[part]
            return regular
    each = [xp.concatenate([low[part], high[part]]) for part in parts[:1]]
    each += [xp.unique(xp.concatenate([low[part], high[part]])) for part in parts[1:]]
    every = xp.sort(xp.concatenate(each))
    return Planes(every[xp.concatenate([xp.ones(1, bool), xp.diff(every) > least])])


def _fits(regular, low, high, least, parts, xp):
    """Whether all faces lie on planes at equal distances, those of a prism on two of them."""
    for part in parts:
        faces = low[part], high[part]
        places = regular.places(*faces, xp)
        for place, at in zip(places, faces):
            if float(xp.abs(regular.begin + regular.step * place - at).max()) > least:
                return False
        if int((places[1] - places[0]).min()) < 1:
            return False
    return True


def combined(keys, values, least, xp):
    """Equal keys once with the sum of their values; sums below `least` are dropped."""
    if not len(keys):
        return keys, values
    order = xp.argsort(keys)
    keys, values = keys[order], values[order]
    new = xp.concatenate([xp.ones(1, bool), keys[1:] != keys[:-1]])
    sums = xp.bincount(xp.cumsum(new) - 1, weights=values)
    left = xp.abs(sums) > least
    return keys[new][left], sums[left]


def third_difference(planes_of, prisms, density, xp):
    """Nodes of prisms between planes: (flat index of x in y in z, mixed third difference of
    density), those that are not zero.
    """
    least = ULPS * largest(density)
    parts = []
    for part in blocks(len(prisms)):
        places = [axis.places(prisms[part, 2 * n], prisms[part, 2 * n + 1], xp) for n, axis in enumerate(planes_of)]
        parts.append(_differences(planes_of, places, density[part], least, xp))
    if len(parts) == 1:
        return parts[0]
    return combined(*(xp.concatenate(each) for each in zip(*parts)), least, xp)


def _differences(planes_of, places, density, least, xp):
    """Third difference of some prisms, with the planes of their faces along x, y, z.

    One axis after the other: prisms of equal density side by side leave nothing between them, so
    that few ends of rows, then few corners remain to be sorted.
    """

    def differ(lower, upper, values):
        return combined(xp.concatenate([lower, upper]), xp.concatenate([-values, values]), least, xp)

    nx, ny, nz = (len(axis.at) for axis in planes_of)
    (west, east), (south, north), (bottom, top) = places
    wide, tall = int((north - south).max()), int((top - bottom).max())
    if float(nx) * ny * wide * nz * tall > 2.0**62:
        raise OverflowError("too many planes")
    row = (bottom * tall + top - bottom - 1) * (ny * wide) + south * wide + north - south - 1
    key, value = differ(row * nx + west, row * nx + east, density)
    i, row = key % nx, key // nx
    j, layer = row % (ny * wide), row // (ny * wide)
    south = (layer * ny + j // wide) * nx + i
    key, value = differ(south, south + (j % wide + 1) * nx, value)
    level, layer = key % (nx * ny), key // (nx * ny)
    bottom = (layer // tall) * (nx * ny) + level
    return differ(bottom, bottom + (layer % tall + 1) * (nx * ny), value)


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
    x, y, z = axes = tuple(planes(prisms[:, 2 * axis], prisms[:, 2 * axis + 1], xp) for axis in range(3))
    key, value = third_difference(axes, prisms, density, xp)
    nx, ny = len(x.at), len(y.at)
    return Nodes(xp.stack([x.at[key % nx], y.at[key // nx % ny], z.at[key // (nx * ny)]], axis=1), value, axes)


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
    least, width = ULPS * largest(low, high, at), float(high[0] - low[0])
    parts = blocks(len(low))
    if max(float(xp.abs(high[p] - low[p] - width).max()) for p in parts) > least + LOOSE * width:
        return "the prisms are not of one width"
    begin = float(low.min())
    span = float(low.max()) - begin
    cells = round(span / width) + 1
    width = span / (cells - 1) if cells > 1 else width
    cell, off = xp.empty(len(low), xp.int32), 0.0
    if cells < 1 << 31:
        for part in parts:
            place = xp.rint((low[part] - begin) / width)
            off = max(off, float(xp.abs(begin + width * place - low[part]).max()))
            cell[part] = place
    if off > least + LOOSE * width or cells >= 1 << 31:
        return "the prisms are not regularly spaced"
    sites = spaced(at, width, least + LOOSE * width, xp)
    if sites is None:
        return UNSPACED
    start, points, refine, stride, point = sites
    return Axis(width, begin + 0.5 * width - start, cells, points, refine, stride, cell, point)


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
        off = (float(xp.abs(start + step * place - at).max()), abs(step - width * ratio) * (points - 1))
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
    pairs, layer = _layers(z, prisms, xp)
    layers = xp.stack([z.at[pairs // len(z.at)], z.at[pairs % len(z.at)]], axis=1)
    if float(points[2].max()) == float(points[2].min()):
        levels, level = points[2, :1], xp.zeros(points.shape[1], xp.int32)
    else:
        levels, level = xp.unique(points[2], return_inverse=True)
    return Columns(*axes, to_host(layers), layer, to_host(levels), level)


def _layers(z, prisms, xp):
    """Pairs of planes between which prisms lie, as lower * planes + upper, and the number of the
    pair of each prism.
    """
    count, parts = len(z.at), blocks(len(prisms))

    def pair(part):
        lower, upper = z.places(prisms[part, 4], prisms[part, 5], xp)
        return lower * count + upper

    if count**2 > FEW_PAIRS:
        return xp.unique(xp.concatenate([pair(p) for p in parts]), return_inverse=True)
    taken = xp.zeros(count**2, bool)
    for part in parts:
        taken[pair(part)] = True
    number, layer = xp.cumsum(taken) - 1, xp.empty(len(prisms), xp.int32)
    for part in parts:
        layer[part] = number[pair(part)]
    return xp.flatnonzero(taken), layer


# --- nodes on a regular lattice by kernels ----------------------------------------------------------------------------

THREADS = 4096  # that share the prisms out to find their outline
MOST = 15 << 20  # prisms: a grid of blocks ends at 2^24
PLACES = 1 << 28  # of the lattice at most, and
CROWD = 1000  # times the number of prisms


def run_kernel(machine, name, arrays, entries, **params):
    """Run an operator of raster.h once, over so many entries, on arrays of the machine."""
    described = {name: Array("scratch", a.shape, a.dtype) for name, a in arrays.items()}
    plan = SimpleNamespace(precision="float64", arrays=described)
    once = launch(kernel(name), entries, dict.fromkeys(RASTER.names, 0) | params)
    machine.single(once, SimpleNamespace(plan=plan, arrays=arrays))()


def regular_nodes(prisms, density, machine):
    """Return what `nodes` finds, on the host, by a few kernels, where sorting is dear; and the prisms' mass, kg without
    signs. None where the prisms lie on no regular lattice, or on a vast one.

    Prisms (M, 6), each with volume, and density (M,) are arrays of the machine, M > 0.
    """
    xp, count = machine.xp, len(prisms)
    if count > MOST:
        return None
    ensemble = {"faces": prisms, "density": density}
    arrays = ensemble | {"partial": xp.empty((11, THREADS))}
    run_kernel(machine, "outline", arrays, THREADS, count=count, threads=THREADS)
    rows = machine.to_host(arrays["partial"])
    begin, end, width = rows[:3].min(axis=1), rows[3:6].max(axis=1), rows[6:9].min(axis=1)
    mass, rho = rows[9].sum(), rows[10].max()
    cells = np.rint((end - begin) / width)
    if np.prod(cells + 1) > min(PLACES, CROWD * count):
        return None
    step, shape = (end - begin) / cells, [int(n) + 1 for n in cells]
    params = dict(zip((*FLOATS, "nx", "ny", "nz"), (*begin, *step, ULPS, *shape)))
    arrays = ensemble | {
        "corners": xp.zeros(int(np.prod(shape))),
        "planes": xp.full(sum(shape), np.nan),
        "bad": xp.zeros(1, np.int32),
    }
    run_kernel(machine, "scatter", arrays, count, count=count, **params)
    if int(arrays["bad"][0]):
        return None
    keys = xp.flatnonzero(xp.abs(arrays["corners"]) > ULPS * rho)
    if not len(keys):
        return None
    corners = arrays | {"keys": keys.astype(np.int64, copy=False), "nodes": xp.empty((len(keys), 4))}
    run_kernel(machine, "pick", corners, len(keys), count=len(keys), **params)
    records, planes = machine.to_host(corners["nodes"]), machine.to_host(arrays["planes"])
    spaced = [begin[axis] + step[axis] * np.arange(shape[axis]) for axis in range(3)]
    faces = np.split(planes, np.cumsum(shape)[:2])  # nan where a plane has none
    at = [np.where(np.isnan(of_axis), regular, of_axis) for of_axis, regular in zip(faces, spaced)]
    return Nodes(records[:, :3], records[:, 3], tuple(map(Planes, at))), float(mass)
