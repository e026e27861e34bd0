"""Partition of a grid over ranks: the box that each rank owns, from the cost of planes of points; and how long a step takes
then, by kernel rate, links, latency, surface to volume.
"""

import itertools
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from craton.core.grid import rounded
from craton.core.subdomain import Neighbour, Subdomain, shells
from craton.errors import refuse


@dataclass(frozen=True, eq=False)
class GridWeights:
    """Costs and limits for the partition of a grid.

    Parameters
    ----------
    cost : dict of str to ndarray
        For each axis the cost of a point of each plane, in plain points.
    cut : dict of str to float
        For each axis the cost of a point at a cut, in plain points.
    least, least_at_top : int
        Least number of planes of a subdomain along an axis that is cut, and of the uppermost one
        along z.
    periodic, uncut : str
        Axes whose ends are neighbours, and axes that no cut crosses, as ``"xy"``.
    together : (int, int) or None
        First and last + 1 plane along z of a run that no cut divides.
    ends : dict of str to (int, int)
        For an axis, the planes at its low and its high end that no cut divides.
    align : int
        Cuts lie at multiples of it.
    """

    cost: dict
    cut: dict
    least: int
    least_at_top: int
    periodic: str = ""
    uncut: str = ""
    together: tuple | None = None
    ends: dict = field(default_factory=dict)
    align: int = 2


def split(plan, ranks, grid=None):
    """Return the subdomains of all ranks: boxes of about equal cost.

    All ways to arrange the ranks along z, y and x are tried, each with its cuts where planes of
    points cost the same on both sides; taken is the one whose slowest rank is the fastest, halos
    included. Cuts lie at even points, so that patterns of two points go on across them.

    Parameters
    ----------
    plan : Plan
        Plan of the whole grid.
    ranks : int
    grid : tuple of int, optional
        Ranks along (x, y, z), in place of the best arrangement.

    Raises
    ------
    ScenarioError
        The grid is too small for so many ranks, or `grid` is not theirs.
    """
    shape, weights = plan.layout.shape, plan.weights
    if grid is not None and int(np.prod(grid)) != ranks:
        message = f"{' x '.join(map(str, grid))} parts are not {ranks}"
        refuse("run.grid", message, "give three numbers whose product is the number of ranks")
    tried = [tuple(grid)[::-1]] if grid else arrangements(ranks)
    candidates = [limits for counts in tried if (limits := cuts(counts, weights))]
    if not candidates:
        words = f"{ranks} ranks" + (f" as {' x '.join(map(str, grid))}" if grid else "")
        nz, ny, nx = shape
        more = ", those of a sea floor" if weights.together else ""
        more += ", and those of an absorbing layer and beside it," if weights.ends else ""
        message = (
            f"{words} do not fit {nx} x {ny} x {nz} points: each needs {weights.least} along an axis that is cut, "
            f"and the planes of a free surface{more} stay together"
        )
        refuse("--ranks", message, "use fewer ranks")
    return subdomains(min(candidates, key=lambda cut: max(costs(cut, weights))), weights.periodic)


def arrangements(ranks):
    """Return all arrangements (z, y, x) of `ranks` ranks.

    Parameters
    ----------
    ranks : int
    """
    divisors = [n for n in range(1, ranks + 1) if ranks % n == 0]
    return [(a, b, ranks // a // b) for a in divisors for b in divisors if ranks // a % b == 0]


def cuts(counts, weights):
    """Return the limits of the parts along z, y and x: three rising arrays (count + 1,); None where
    they do not fit.

    Parameters
    ----------
    counts : tuple of int
        Parts along z, y and x.
    weights : GridWeights
    """
    out = []
    for axis, count in zip("zyx", counts):
        if count > 1 and axis in weights.uncut:
            return None
        others = sum(weights.cost[b].mean() - 1 for b in "zyx" if b != axis)
        least_last = weights.least_at_top if axis == "z" else weights.least
        together = weights.together if axis == "z" else None
        low, high = weights.ends.get(axis, (0, 0))
        ends = max(weights.least, low), max(least_last, high)
        out.append(balance_limits(weights.cost[axis] + others, count, weights.least, ends, together, weights.align))
        if out[-1] is None:
            return None
    return out


def balance_limits(weights, count, least, ends, together=None, align=2):
    """Return aligned limits that give `count` runs nearly equal weight; None where a run would be
    too short.

    No limit lies within the run `together` (first, last + 1).

    Parameters
    ----------
    weights : ndarray
        Cost of each plane.
    count : int
        Number of runs.
    least : int
        Least number of planes of a run.
    ends : (int, int)
        Least numbers of planes of the first and of the last run.
    together : (int, int), optional
    align : int
        Limits are multiples of it.

    Returns
    -------
    ndarray of int, shape (count + 1,), or None
    """
    total, n = np.concatenate([[0], np.cumsum(weights)]), len(weights)
    even = np.interp(total[-1] * np.arange(1, count) / count, total, np.arange(n + 1))
    limits = np.array([0, *(align * np.rint(even / align).astype(int)), n])
    short, lowest = rounded(least, align), rounded(ends[0], align)
    highest = (n - ends[1]) // align * align
    low, high = together or (0, 0)
    down, up = low // align * align, rounded(high, align)
    limits[1:-1] = [v if not low < v < high else down if v - low < high - v else up for v in limits[1:-1]]
    for m in range(1, count):  # no shorter than the least, from below and from above
        limits[m] = max(limits[m], limits[m - 1] + short if m > 1 else lowest)
        limits[m] = up if low < limits[m] < high else limits[m]
    for m in range(count - 1, 0, -1):
        limits[m] = min(limits[m], limits[m + 1] - short if m < count - 1 else highest)
        limits[m] = down if low < limits[m] < high else limits[m]
    fits = (np.diff(limits) >= least).all() and limits[1] >= ends[0]
    return limits if count == 1 or fits else None


def costs(cut, weights):
    """Return the cost of every part in plain points: its points with their layers, and its cuts.

    Parameters
    ----------
    cut : sequence of ndarray
        Limits along z, y and x, see `cuts`.
    weights : GridWeights

    Returns
    -------
    ndarray, shape (parts,)
        x fastest.
    """
    lengths = [np.diff(limits) for limits in cut]
    extra = [np.add.reduceat(weights.cost[axis] - 1, limits[:-1]) / np.diff(limits) for axis, limits in zip("zyx", cut)]
    z, y, x = np.ix_(*lengths)
    volume = z * y * x
    whole = volume * (1 + sum(np.ix_(*extra)))
    for n, axis in enumerate("zyx"):
        count = len(lengths[n])
        sides = np.full(count, 2.0 if count > 1 else 0.0)
        if axis not in weights.periodic and count > 1:
            sides[0] = sides[-1] = 1
        sides = np.expand_dims(sides, tuple(m for m in range(3) if m != n))
        whole = whole + weights.cut[axis] * sides * volume / (z, y, x)[n]
    return whole.ravel()


def subdomains(cut, periodic):
    """Return the subdomains between limits, x fastest; a cut periodic axis continues at its other
    end.

    Parameters
    ----------
    cut : sequence of ndarray
        Limits along z, y and x, see `cuts`.
    periodic : collection of str
        Axes whose ends are neighbours.

    Returns
    -------
    list of Subdomain
    """
    counts, out = tuple(len(limits) - 1 for limits in cut), []
    for place in np.ndindex(counts):
        box = tuple(int(v) for limits, p in zip(cut, place) for v in limits[p : p + 2])
        neighbours = []
        for n, axis in enumerate("zyx"):
            for side, step in ((0, -1), (1, 1)):
                neighbour_place = list(place)
                neighbour_place[n] += step
                if counts[n] > 1 and (0 <= neighbour_place[n] < counts[n] or axis in periodic):
                    neighbour_place[n] %= counts[n]
                    rank = int(np.ravel_multi_index(neighbour_place, counts))
                    neighbours.append(Neighbour(rank, (axis, side)))
        points = int(np.prod([b - a for a, b in zip(box[::2], box[1::2])], dtype=np.int64))
        out.append(Subdomain(box, tuple(neighbours), place, counts, points))
    return out


# --- seconds of a step ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Speeds:
    """Speeds of a GPU and its links; the defaults are those of a grid on H200s of one host (bench/NOTES.md).

    Parameters
    ----------
    rate : float
        Plain points a second, or what else costs are counted in.
    bandwidth : float
        Bytes a second out of a rank.
    latency : float
        Least time of an exchange, s.
    thin : float
        Cost of a point in the slabs that neighbours wait for, over that of another point.
    launch : float
        Launch time of a phase that is not hidden, s.
    """

    rate: float = 31e9
    bandwidth: float = 166e9
    latency: float = 25e-6
    thin: float = 1.5
    launch: float = 8e-6


def step_seconds(cost, outer, nbytes, speeds):
    """Return the seconds of a step of one rank: slabs first, then the rest while halos travel; two
    phases.

    Parameters
    ----------
    cost, outer : float
        Of all that the rank owns, and of what neighbours wait for, as `Speeds.rate` counts.
    nbytes : float
        Bytes sent in a step.
    """
    travel = nbytes / speeds.bandwidth + 2 * speeds.latency if nbytes else 0.0
    launches = 2 * speeds.launch if nbytes else 0.0
    return speeds.thin * outer / speeds.rate + max((cost - outer) / speeds.rate, travel) + launches


# Of spectral elements, whose cost is the least traffic in bytes. Fitted to one and two H200s with 399,748
# isotropic elements of 27 nodes each, degree 4, float32 (bench/results/sem_ranks_h200.json): 1.620 ms alone,
# 1.629 without the exchange, 1.639 with it behind the inner elements.
OF_ELEMENTS = Speeds(rate=2.2e12, thin=1.0, launch=5e-6)


def grid_loads(partition, weights, phases, itemsize, thickness=4):
    """Return for each rank (cost in plain points, points that neighbours wait for, bytes sent in a step).

    Parameters
    ----------
    partition : list of Subdomain
    weights : GridWeights
    phases : sequence of Phase
        All fields of a phase are sent as thick as the thickest.
    itemsize : int
        Bytes of a real.
    thickness : int
        Points of the slabs that neighbours wait for.
    """
    limits = [np.unique([n for subdomain in partition for n in subdomain.box[2 * a : 2 * a + 2]]) for a in range(3)]
    uncut = map(float, costs(limits, replace(weights, cut=dict.fromkeys("zyx", 0.0))))
    planes = {}
    for axis, side in itertools.product("xyz", (0, 1)):
        of_phases = [[h.low if side else h.high for h in p.halos if h.axis == axis] for p in phases]
        planes[axis, side] = sum(len(thick) * max(thick, default=0) for thick in of_phases)
    loads = []
    for part, cost in zip(partition, uncut):
        reals = sum(planes[face] * prod(part.shape) // part.shape["zyx".index(face[0])] for face in part.faces)
        outer = sum(prod([b - a for a, b in zip(box[::2], box[1::2])]) for box in shells(part, thickness, 32)[0])
        loads.append((cost, min(float(outer), cost), reals * itemsize))
    return loads
