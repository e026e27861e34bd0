"""Partition of a grid over ranks: the box that each rank owns, and the regions of its work that neighbours wait for."""
from dataclasses import dataclass, replace

import numpy as np

from craton.core.layout import rounded
from craton.errors import Problem, ScenarioError


@dataclass(frozen=True)
class Part:
    """Subdomain of a rank: its box of the grid and its neighbours.

    Parameters
    ----------
    box : tuple of int
        (k0, k1, j0, j1, i0, i1) in points of the whole grid.
    neighbours : dict of (str, int) to int
        Rank behind each side, ("x", 0) for the low side of x; a side without neighbour is an edge of the grid.
    place, ranks : tuple of int
        Place among the ranks along (z, y, x), and numbers of ranks along these.
    """

    box: tuple
    neighbours: dict
    place: tuple = (0, 0, 0)
    ranks: tuple = (1, 1, 1)

    @classmethod
    def whole(cls, shape):
        """Return the whole grid of `shape` (nz, ny, nx) on one rank.

        Parameters
        ----------
        shape : tuple of int
        """
        nz, ny, nx = shape
        return cls((0, nz, 0, ny, 0, nx), {})

    @property
    def shape(self):
        """Points owned along (z, y, x)."""
        k0, k1, j0, j1, i0, i1 = self.box
        return (k1 - k0, j1 - j0, i1 - i0)

    def range(self, axis):
        """Return the first and last + 1 index along ``"x"``, ``"y"`` or ``"z"``.

        Parameters
        ----------
        axis : str
        """
        n = 2 * "zyx".index(axis)
        return self.box[n : n + 2]


def clip(box, other):
    """Return the intersection of two boxes, or None.

    Parameters
    ----------
    box, other : tuple of int
        (k0, k1, j0, j1, i0, i1), upper bounds excluded.
    """
    low = [max(a, b) for a, b in zip(box[::2], other[::2])]
    high = [min(a, b) for a, b in zip(box[1::2], other[1::2])]
    return None if any(a >= b for a, b in zip(low, high)) else tuple(v for pair in zip(low, high) for v in pair)


def shells(part, thickness, along_x=1):
    """Return disjoint slabs of the owned points within `thickness` of a neighbour, and the box of the other points.

    Slabs along x are as thick as a multiple of `along_x`.

    Parameters
    ----------
    part : Part
    thickness : int
        Points.
    along_x : int

    Returns
    -------
    list of box, box
        In points of the part: the slabs, and what is left.
    """
    rest = [v for n in part.shape for v in (0, n)]
    outer = []
    for axis, side in sorted(part.neighbours, key=lambda face: ("zyx".index(face[0]), face[1])):
        low, high = 2 * "zyx".index(axis), 2 * "zyx".index(axis) + 1
        slab, thick = list(rest), rounded(thickness, along_x) if axis == "x" else thickness
        if side == 0:
            slab[high] = rest[low] = min(rest[low] + thick, rest[high])
        else:
            start = rest[high] - thick
            slab[low] = rest[high] = max(start - start % along_x if axis == "x" else start, rest[low])
        outer.append(tuple(slab))
    return outer, tuple(rest)


def regions(launches, part, thickness, along_x=1):
    """Split the launches of a phase into those of points that neighbours wait for and those of the rest.

    Boxes and point tables are cut. Other launches that are not pointwise run whole where they fill ghosts or precede the first update of
    the phase; after it, they are cut like the updates (columns of points across a face). Launches that state `outer` are only sorted.

    Parameters
    ----------
    launches : sequence of Launch
    part : Part
    thickness : int
        Points of the slabs that neighbours wait for.
    along_x : int
        Slabs along x are as thick as a multiple of it.

    Returns
    -------
    (tuple of Launch, tuple of Launch)
        Outer and inner ones.
    """
    if not part.neighbours:
        return (), tuple(launches)
    if all(launch.outer is not None for launch in launches):
        return tuple(tuple(launch for launch in launches if launch.outer == is_outer) for is_outer in (True, False))
    slabs, rest = shells(part, thickness, along_x)
    whole = tuple(v for n in part.shape for v in (0, n))
    columns = [launch for launch in launches if not launch.op.pointwise and launch.places is None and launch.on_grid
               and clip(launch.box, whole) == launch.box]  # fmt: skip
    if any(_column_in_slab(launch.box, rest) for launch in columns):  # too thin a part: nothing is left for later
        return tuple(launches), ()
    outer, inner, stepping = [], [], False
    for launch in launches:
        if launch.op.pointwise or (stepping and any(launch is other for other in columns)):
            stepping = True
            outer += _clip_launch(launch, slabs)
            inner += _clip_launch(launch, [rest])
        elif launch.places is not None:
            inside = np.all([(a <= n) & (n < b) for n, a, b in zip(launch.places, rest[::2], rest[1::2])], axis=0)
            outer += _split_into_runs(launch, ~inside)
            inner += _split_into_runs(launch, inside)
        else:
            (inner if stepping else outer).append(launch)
    return tuple(outer), tuple(inner)


def _column_in_slab(box, rest):
    """Return True where a plane of columns lies in a slab along its own axis: updates of the rest would come after it."""
    return any(b - a == 1 and not low <= a < high for a, b, low, high in zip(box[::2], box[1::2], rest[::2], rest[1::2]))


def _clip_launch(launch, boxes):
    return [replace(launch, box=common) for box in boxes if (common := clip(launch.box, box))]


def _split_into_runs(launch, chosen):
    """Split a launch into runs of chosen entries of its table."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    return [replace(launch, box=(0, 1, 0, 1, int(a), int(b))) for a, b in zip(edges[::2], edges[1::2])]


# --- parts of all ranks -----------------------------------------------------------------------------------------------------------------


def split(plan, ranks, grid=None):
    """Return the Part of every rank: boxes of about equal cost.

    All ways to arrange the ranks along z, y and x are tried, each with its cuts where planes of points cost the same on both sides; taken
    is the one whose slowest rank is the fastest, halos included. Cuts lie at even points, so that patterns of two points go on across them.

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
    shape, sharing = plan.layout.shape, plan.sharing
    if grid is not None and int(np.prod(grid)) != ranks:
        message = f"{' x '.join(map(str, grid))} parts are not {ranks}"
        raise ScenarioError([Problem("run.grid", message, "give three numbers whose product is the number of ranks")])
    candidates = [limits for counts in ([tuple(grid)[::-1]] if grid else arrangements(ranks)) if (limits := cuts(counts, sharing))]
    if not candidates:
        words = f"{ranks} ranks" + (f" as {' x '.join(map(str, grid))}" if grid else "")
        nz, ny, nx = shape
        sea_floor = ", and those of a sea floor," if sharing.get("together") else ""
        message = f"{words} do not fit {nx} x {ny} x {nz} points: each needs {sharing['least']} along an axis that is cut, " \
                  f"and the planes of a free surface{sea_floor} stay together"  # fmt: skip
        raise ScenarioError([Problem("--ranks", message, "use fewer ranks")])
    return parts(min(candidates, key=lambda cut: max(costs(cut, sharing))), sharing["periodic"])


def arrangements(ranks):
    """Return all arrangements (z, y, x) of `ranks` ranks.

    Parameters
    ----------
    ranks : int
    """
    divisors = [n for n in range(1, ranks + 1) if ranks % n == 0]
    return [(a, b, ranks // a // b) for a in divisors for b in divisors if ranks // a % b == 0]


def cuts(counts, known):
    """Return the limits of the parts along z, y and x: three rising arrays (count + 1,); None where they do not fit.

    Parameters
    ----------
    counts : tuple of int
        Parts along z, y and x.
    known : dict
        `Plan.sharing`: weights of planes, least lengths, axes that stay whole.
    """
    out = []
    for axis, count in zip("zyx", counts):
        if count > 1 and axis in known["whole"]:
            return None
        others = sum(known["cost"][b].mean() - 1 for b in "zyx" if b != axis)
        least_last = known["least_at_top"] if axis == "z" else known["least"]
        out.append(balance_limits(known["cost"][axis] + others, count, known["least"], least_last, known.get("together", {}).get(axis)))
        if out[-1] is None:
            return None
    return out


def balance_limits(weights, count, least, least_last, together=None):
    """Return even limits that give `count` runs nearly equal weight; None where a run would be too short.

    No limit lies within the run `together` (first, last + 1).

    Parameters
    ----------
    weights : ndarray
        Cost of each plane.
    count : int
        Number of runs.
    least, least_last : int
        Least number of planes of a run, and of the last run.
    together : (int, int), optional

    Returns
    -------
    ndarray of int, shape (count + 1,), or None
    """
    total, n = np.concatenate([[0], np.cumsum(weights)]), len(weights)
    inner = 2 * np.rint(np.interp(total[-1] * np.arange(1, count) / count, total, np.arange(n + 1)) / 2).astype(int)
    limits = np.array([0, *inner, n])
    short = least + least % 2
    low, high = together or (0, 0)
    down, up = low - low % 2, high + high % 2
    limits[1:-1] = [v if not low < v < high else down if v - low < high - v else up for v in limits[1:-1]]
    for m in range(1, count):  # no shorter than the least, from below and from above
        limits[m] = max(limits[m], limits[m - 1] + short)
        limits[m] = up if low < limits[m] < high else limits[m]
    for m in range(count - 1, 0, -1):
        limits[m] = min(limits[m], limits[m + 1] - (short if m < count - 1 else least_last + (n - least_last) % 2))
        limits[m] = down if low < limits[m] < high else limits[m]
    return limits if count == 1 or (np.diff(limits) >= least).all() else None


def costs(cut, known):
    """Return the cost of every part in plain points: its points with their layers, and its cuts.

    Parameters
    ----------
    cut : sequence of ndarray
        Limits along z, y and x, see `cuts`.
    known : dict
        `Plan.sharing`.

    Returns
    -------
    ndarray, shape (parts,)
        x fastest.
    """
    lengths = [np.diff(limits) for limits in cut]
    extra = [np.add.reduceat(known["cost"][axis] - 1, limits[:-1]) / np.diff(limits) for axis, limits in zip("zyx", cut)]
    z, y, x = np.ix_(*lengths)
    volume = z * y * x
    whole = volume * (1 + sum(np.ix_(*extra)))
    for n, axis in enumerate("zyx"):
        count = len(lengths[n])
        sides = np.full(count, 2.0 if count > 1 else 0.0)
        if axis not in known["periodic"] and count > 1:
            sides[0] = sides[-1] = 1
        whole = whole + known["cut"][axis] * np.expand_dims(sides, tuple(m for m in range(3) if m != n)) * volume / (z, y, x)[n]
    return whole.ravel()


def parts(cut, periodic):
    """Return the parts between limits, x fastest; a cut periodic axis continues at its other end.

    Parameters
    ----------
    cut : sequence of ndarray
        Limits along z, y and x, see `cuts`.
    periodic : collection of str
        Axes whose ends are neighbours.

    Returns
    -------
    list of Part
    """
    counts, all_parts = tuple(len(limits) - 1 for limits in cut), []
    for place in np.ndindex(counts):
        box = tuple(int(v) for limits, p in zip(cut, place) for v in limits[p : p + 2])
        neighbours = {}
        for n, axis in enumerate("zyx"):
            for side, step in ((0, -1), (1, 1)):
                neighbour_place = list(place)
                neighbour_place[n] += step
                if counts[n] > 1 and (0 <= neighbour_place[n] < counts[n] or axis in periodic):
                    neighbour_place[n] %= counts[n]
                    neighbours[axis, side] = int(np.ravel_multi_index(neighbour_place, counts))
        all_parts.append(Part(box, neighbours, place, counts))
    return all_parts
