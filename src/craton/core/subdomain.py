"""Subdomain of a rank, of a grid or of a mesh: what it owns, its neighbours, and the regions of its
work that neighbours wait for.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.core.grid import rounded


@dataclass(frozen=True)
class Neighbour:
    """A rank that shares points with this one, or whose points are ghosts here.

    Parameters
    ----------
    rank : int
    face : (str, int) or None
        Of a grid: axis and side behind which it lies, ("x", 0) for the low side of x.
    shared : int
        Of a mesh: points that both ranks have.
    """

    rank: int
    face: tuple | None = None
    shared: int = 0


@dataclass(frozen=True)
class Subdomain:
    """Subdomain of a rank, of a grid or of a mesh of elements.

    Parameters
    ----------
    box : tuple of int
        Owned points (k0, k1, j0, j1, i0, i1) of the whole grid; of a mesh (0, 1, 0, 1, 0, owned
        elements).
    neighbours : tuple of Neighbour
        Of a grid by face: a side without neighbour is an edge of the grid. Of a mesh by rank.
    place, ranks : tuple of int
        Place among the ranks along (z, y, x), and numbers of ranks along these; of a mesh (0, 0,
        rank) and (1, 1, number of ranks).
    points : int
        Points that this rank counts: those that no lower rank has.
    outer : int
        Owned elements for which neighbours wait.
    checksum : int
        Of the numbers of the owned elements, which identifies the partition.
    """

    box: tuple
    neighbours: tuple = ()
    place: tuple = (0, 0, 0)
    ranks: tuple = (1, 1, 1)
    points: int = 0
    outer: int = 0
    checksum: int = 0

    @classmethod
    def whole(cls, shape):
        """Return the subdomain of a rank that owns all points (nz, ny, nx) of a grid.

        Parameters
        ----------
        shape : tuple of int
        """
        return cls(tuple(v for n in shape for v in (0, n)), points=int(np.prod(shape, dtype=np.int64)))

    @property
    def rank(self):
        """The rank that owns it."""
        return int(np.ravel_multi_index(self.place, self.ranks))

    @property
    def shape(self):
        """Points owned along (z, y, x)."""
        k0, k1, j0, j1, i0, i1 = self.box
        return (k1 - k0, j1 - j0, i1 - i0)

    @property
    def elements(self):
        """Owned elements of a mesh."""
        return self.shape[2]

    @property
    def faces(self):
        """Rank behind each face of the box that has one: dict of (axis, side) to int."""
        return {neighbour.face: neighbour.rank for neighbour in self.neighbours}

    @property
    def fingerprint(self):
        """Integers that must agree when a run is resumed: list of int."""
        return [*self.box, self.outer, self.checksum]

    def range(self, axis):
        """Return the first and last + 1 index along ``"x"``, ``"y"`` or ``"z"``.

        Parameters
        ----------
        axis : str
        """
        n = 2 * "zyx".index(axis)
        return self.box[n : n + 2]


@dataclass(frozen=True)
class Totals:
    """Sums over the plans of all ranks.

    Parameters
    ----------
    grid : Grid or ElementGrid
        The whole.
    points : int
    traffic : dict of str to int
        Least bytes a step, by operator.
    state_bytes, nbytes : int
        Bytes of the arrays that a restart needs, and of all arrays.
    """

    grid: object
    points: int
    traffic: dict
    state_bytes: int
    nbytes: int


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


def shells(subdomain, thickness, along_x=1):
    """Return disjoint slabs of the owned points within `thickness` of a neighbour, and the box of
    the other points.

    Slabs along x are as thick as a multiple of `along_x`.

    Parameters
    ----------
    subdomain : Subdomain
    thickness : int
        Points.
    along_x : int

    Returns
    -------
    list of box, box
        In points of the subdomain: the slabs, and what is left.
    """
    rest = [v for n in subdomain.shape for v in (0, n)]
    outer = []
    for axis, side in sorted(subdomain.faces, key=lambda face: ("zyx".index(face[0]), face[1])):
        low, high = 2 * "zyx".index(axis), 2 * "zyx".index(axis) + 1
        slab, thick = list(rest), rounded(thickness, along_x) if axis == "x" else thickness
        if side == 0:
            slab[high] = rest[low] = min(rest[low] + thick, rest[high])
        else:
            start = rest[high] - thick
            slab[low] = rest[high] = max(start - start % along_x if axis == "x" else start, rest[low])
        outer.append(tuple(slab))
    return outer, tuple(rest)


def regions(launches, subdomain, thickness, along_x=1):
    """Split the launches of a phase into those of points that neighbours wait for and those of the
    rest.

    Boxes and point tables are cut. Other launches that are not pointwise run whole where they fill
    ghosts or precede the first update of the phase; after it, they are cut like the updates
    (columns of points across a face). Launches that state `outer` are only sorted.

    Parameters
    ----------
    launches : sequence of Launch
    subdomain : Subdomain
    thickness : int
        Points of the slabs that neighbours wait for.
    along_x : int
        Slabs along x are as thick as a multiple of it.

    Returns
    -------
    (tuple of Launch, tuple of Launch)
        Outer and inner ones.
    """
    if not subdomain.neighbours:
        return (), tuple(launches)
    if all(launch.outer is not None for launch in launches):
        return tuple(tuple(launch for launch in launches if launch.outer == is_outer) for is_outer in (True, False))
    slabs, rest = shells(subdomain, thickness, along_x)
    whole = tuple(v for n in subdomain.shape for v in (0, n))
    columns = [
        launch
        for launch in launches
        if not launch.op.pointwise
        and launch.places is None
        and launch.on_grid
        and clip(launch.box, whole) == launch.box
    ]
    # too thin a subdomain: nothing is left for later
    if any(_column_in_slab(launch.box, rest) for launch in columns):
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
    """Return True where a plane of columns lies in a slab along its own axis: updates of the rest
    would come after it.
    """
    return any(
        b - a == 1 and not low <= a < high for a, b, low, high in zip(box[::2], box[1::2], rest[::2], rest[1::2])
    )


def _clip_launch(launch, boxes):
    return [replace(launch, box=common) for box in boxes if (common := clip(launch.box, box))]


def _split_into_runs(launch, chosen):
    """Split a launch into runs of chosen entries of its table."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    return [replace(launch, box=(0, 1, 0, 1, int(a), int(b))) for a, b in zip(edges[::2], edges[1::2])]
