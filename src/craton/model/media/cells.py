"""Cells of the grid: where they end, where they are sampled, and how a sampled cell becomes one
density and two moduli.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from craton.conventions import AXES
from craton.model.blas import one_thread

# Two faces closer than this part of the spacing are the same face: rounding must not put a sliver
# of fluid into a solid cell.
SLIVER = 1e-6
WORKING = threading.local()  # `now` is True in threads among which work is divided


@dataclass(frozen=True)
class Region:
    """A box of space; what `extremes` and `problems` need to know of a grid, for use before there is a spacing."""

    # lower, upper: lower south-west and upper north-east corner (x, y, z), metres
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    def bounds(self, name):
        """First and last coordinate along ``"x"``, ``"y"`` or ``"z"``, metres.

        `name`: ``"x"``, ``"y"`` or ``"z"``.
        """
        a = AXES.index(name)
        return self.lower[a], self.upper[a]


@dataclass(frozen=True)
class Blocks:
    """Cells between any planes, in the place of a grid where only its cells count."""

    edges: dict  # edges along ``"x"``, ``"y"`` and ``"z"``, metres, rising

    @property
    def shape(self):
        """Cells along z, y, x."""
        return tuple(len(self.edges[name]) - 1 for name in "zyx")

    @property
    def spacing(self):
        """Width of the narrowest cell, metres."""
        return float(min(np.diff(e).min() for e in self.edges.values()))

    def bounds(self, name):
        """First and last edge along an axis, metres.

        `name`: ``"x"``, ``"y"`` or ``"z"``.
        """
        return float(self.edges[name][0]), float(self.edges[name][-1])


def box(grid):
    """Extent of a grid or region as ((x0, x1), (y0, y1), (z0, z1)), metres."""
    return tuple(grid.bounds(name) for name in AXES)


def slab(grid, k0, k1):
    """Extent of the cells of planes k0 to k1 - 1, as `box` has it. An axis of one point has its whole cell here, not
    nothing.

    `k0`: first plane; `k1`: one past the last plane.
    """
    x, y, z = (*(edges(grid, name) for name in "xy"), edges(grid, "z", k0, k1))
    return tuple((lower[0], upper[-1]) for lower, upper in (x, y, z))


def edges(grid, name, begin=0, end=None):
    """Lower and upper edge of each cell along one axis, metres: two arrays (n,).

    A cell reaches half a spacing to both sides of its point and is clipped at the first and last point of the (whole)
    grid, so that the cell of a free surface is its lower half. An axis of one point (a 2-D grid) keeps its whole cell.
    `Blocks` say it themselves.

    `name`: ``"x"``, ``"y"`` or ``"z"``; `begin`, `end`: first cell and one past the last one; all by default.
    """
    if isinstance(grid, Blocks):
        return grid.edges[name][:-1][begin:end], grid.edges[name][1:][begin:end]
    points, half = grid.axis(name, begin, end), grid.steps[AXES.index(name)] / 2
    lower, upper = points - half, points + half
    start, count = (n[2 - AXES.index(name)] for n in (grid.start, grid.whole))
    first = start + begin
    if count > 1 and first == 0:
        lower[0] = points[0]
    if count > 1 and first + len(points) == count:
        upper[-1] = points[-1]
    return lower, upper


def plane_by_plane(grid, k0, k1, average, mean):
    """Averages over the cells of planes k0 to k1 - 1, (k1 - k0, ny, nx) each, from what `mean(k)` gives for a plane."""
    out = tuple(np.empty((k1 - k0, *grid.shape[1:])) for _ in range(average.size))

    def fill(k):
        for whole, part in zip(out, mean(k)):
            whole[k - k0] = part

    in_parallel(fill, range(k0, k1))
    return out


def middles(lower, upper, pieces):
    """Middles of `pieces` equal parts of each interval: array (len(lower), pieces).

    `lower`, `upper` (n,).
    """
    parts = (np.arange(pieces) + 0.5) / pieces
    return lower[:, None] + (upper - lower)[:, None] * parts


def quadrature(lower, upper, breaks, pieces=1, order=1):
    """Nodes and weights (sum 1) for the mean over one interval of a function that may jump at `breaks`.

    `lower`, `upper`: the interval, metres; `breaks` (m,): where the function may jump, metres; those outside the
    interval do no harm; `pieces`: equal parts that the interval is cut into besides; `order`: Gauss-Legendre points in
    each part; 1 is the midpoint rule. Returns nodes, weights (n,).
    """
    cuts = np.concatenate([np.linspace(lower, upper, pieces + 1)[1:-1], breaks])
    sliver = SLIVER * (upper - lower)
    cuts = np.sort(cuts[(cuts > lower + sliver) & (cuts < upper - sliver)])
    if len(cuts) > 1:
        cuts = cuts[np.concatenate([[True], np.diff(cuts) > sliver])]
    ends = np.concatenate([[lower], cuts, [upper]])
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    nodes, weights = np.polynomial.legendre.leggauss(order) if order > 1 else (np.zeros(1), np.full(1, 2.0))
    total = upper - lower
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] / total * weights).ravel()


def moduli(vp, vs, rho):
    """Bulk modulus and shear modulus, Pa, of speeds in m/s and density in kg/m3: rho (vp^2 - 4/3 vs^2) and rho vs^2.

    `vp`, `vs` in m/s; `rho` in kg/m3.
    """
    mu = rho * vs**2
    return rho * vp**2 - 4 / 3 * mu, mu


class Average(NamedTuple):
    """An average over cells: means of `terms`, from which `finish` makes the `size` values of an
    effective medium; it needs `names`.
    """

    names: tuple[str, ...]
    size: int
    terms: Callable
    finish: Callable

    def __call__(self, values, weights, axes):
        """Return the effective medium of samples with weights whose sum over `axes` is 1; arrays
        that broadcast together.

        Where fluid and solid share a cell, only the one that fills more of it counts; see `mean`.
        """
        *terms, vs, weights = np.broadcast_arrays(*self.terms(*values), values[1], weights)
        solid = vs > 0
        if solid.all() or not solid.any():
            return self.finish(*((weights * term).sum(axes) for term in terms))
        share = (weights * solid).sum(axes, keepdims=True)
        weights = np.where(solid == (share > 0.5 - SLIVER), weights, 0)
        weights = weights / weights.sum(axes, keepdims=True)
        return self.finish(*(np.where(weights > 0, weights * term, 0).sum(axes) for term in terms))


def _compliances(vp, vs, rho):
    kappa, mu = moduli(vp, vs, rho)
    with np.errstate(divide="ignore"):
        return rho, 1 / kappa, 1 / mu


def _losses(vp, vs, rho, qp, qs):
    """Compliances and their lossy parts. Where there is no shear modulus there is no loss of it."""
    kappa, mu = moduli(vp, vs, rho)
    of_mu = np.where(mu > 0, qs, 0.0)
    of_kappa = ((kappa + 4 / 3 * mu) * qp - 4 / 3 * mu * of_mu) / kappa
    with np.errstate(divide="ignore"):
        return 1 / kappa, 1 / mu, of_kappa / kappa, of_mu / np.where(mu > 0, mu, 1.0)


def _finish_losses(soft_kappa, soft_mu, lost_kappa, lost_mu):
    """1/Qp and 1/Qs of an effective medium."""
    kappa, mu = 1 / soft_kappa, 1 / soft_mu
    of_kappa, of_mu = kappa * lost_kappa, mu * lost_mu
    return (kappa * of_kappa + 4 / 3 * mu * of_mu) / (kappa + 4 / 3 * mu), of_mu


def stiffness(vp, vs, rho, epsilon, delta, gamma):
    """c11, c13, c33, c44, c66, Pa, of Thomsen's (1986) parameters.

    `vp`, `vs` in m/s; `rho` in kg/m3; `epsilon`, `delta`, `gamma`: Thomsen's parameter.
    """
    c33, c44 = rho * vp**2, rho * vs**2
    c13 = np.sqrt(2 * c33 * (c33 - c44) * delta + (c33 - c44) ** 2) - c44
    return c33 * (1 + 2 * epsilon), c13, c33, c44, c44 * (1 + 2 * gamma)


def _layered(vp, vs, rho, qp, qs, epsilon, delta, gamma):
    """Means that make the medium of a stack of thin layers (Backus 1962, eq. 13)."""
    c11, c13, c33, c44, c66 = stiffness(vp, vs, rho, epsilon, delta, gamma)
    with np.errstate(divide="ignore"):
        return rho, c11 - c13**2 / c33, c13 / c33, 1 / c33, 1 / c44, c66


def _finish_layered(rho, plane, ratio, soft33, soft44, c66):
    """Density and c11, c13, c33, c44, c66; no shear stress at all in a cell with fluid in it."""
    c33, c44 = 1 / soft33, 1 / soft44
    return rho, plane + c33 * ratio**2, c33 * ratio, c33, c44, np.where(c44 > 0, c66, 0.0)


# Density and moduli: `mean`. Losses 1/Qp, 1/Qs: complex moduli averaged harmonically (Kristek &
# Moczo 2003, BSSA 93, 2273-2280) to first order in 1/Q, that is losses of the bulk and the shear
# modulus weighted with compliances.
ELASTIC = Average(
    ("vp", "vs", "rho"), 3, _compliances, lambda rho, soft_kappa, soft_mu: (rho, 1 / soft_kappa, 1 / soft_mu)
)
VTI = Average(("vp", "vs", "rho", "qp", "qs", "epsilon", "delta", "gamma"), 6, _layered, _finish_layered)
LOSSES = Average(("vp", "vs", "rho", "qp", "qs"), 2, _losses, _finish_losses)


def mean(vp, vs, rho, weights, axes):
    """Effective medium of one cell from samples in it: Moczo et al. (2002), BSSA 92, 3042-3066.

    `vp`, `vs`, `rho`: samples, m/s and kg/m3; `weights`: weights of the samples, broadcasting with them; their sum over
    `axes` is 1; `axes`: axes to average over, of the full broadcast shape. Returns rho, kappa, mu arrays: arithmetic
    mean of density, kg/m3; harmonic means of bulk and shear modulus, Pa; where fluid and solid share a cell, those of
    the one that fills more of it (the solid where both fill half): means of the two make waves along a sea floor wrong
    by per cent.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return ELASTIC((vp, vs, rho), weights, axes)


def cores():
    """Cores that this process may use, up to 16."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 16)


def in_parallel(work, items):
    """Call `work` on each item, over the cores of this process; the first error is raised here."""
    for _ in in_order(work, items):
        pass


def in_order(work, items):
    """Results of `work` for each item, in order, computed on the cores of this process, few at a time; the first error
    is raised. Work that is itself a part of such work stays on its thread.
    """
    items, count = list(items), cores()
    if min(count, len(items)) < 2 or getattr(WORKING, "now", False):
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    workers = min(count, len(items))
    with one_thread(), ThreadPoolExecutor(workers, initializer=setattr, initargs=(WORKING, "now", True)) as pool:
        waiting = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
