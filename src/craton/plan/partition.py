"""Who owns what: the part of the grid that a rank owns, and the regions of its work that neighbours wait for."""
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Part:
    """A rank's box of the grid and its neighbours.

    Parameters
    ----------
    box : tuple of int
        (k0, k1, j0, j1, i0, i1) in points of the whole grid.
    neighbours : dict of (str, int) to int
        Rank behind each side, ("x", 0) for the low side of x; a side without neighbour is an edge of the grid.
    """

    box: tuple
    neighbours: dict

    @classmethod
    def whole(cls, shape):
        """The whole grid of `shape` (nz, ny, nx) on one rank."""
        nz, ny, nx = shape
        return cls((0, nz, 0, ny, 0, nx), {})

    @property
    def shape(self):
        """Points owned along (z, y, x)."""
        k0, k1, j0, j1, i0, i1 = self.box
        return (k1 - k0, j1 - j0, i1 - i0)


def clip(box, other):
    """Common part of two boxes, or None."""
    low = [max(a, b) for a, b in zip(box[::2], other[::2])]
    high = [min(a, b) for a, b in zip(box[1::2], other[1::2])]
    return None if any(a >= b for a, b in zip(low, high)) else tuple(v for pair in zip(low, high) for v in pair)


def shells(part, thickness):
    """Disjoint slabs of the part's own points that lie within `thickness` of a neighbour, and the box that is left."""
    rest = [v for n in part.shape for v in (0, n)]
    outer = []
    for axis, side in sorted(part.neighbours, key=lambda face: ("zyx".index(face[0]), face[1])):
        low, high = 2 * "zyx".index(axis), 2 * "zyx".index(axis) + 1
        slab = list(rest)
        if side == 0:
            slab[high] = rest[low] = min(rest[low] + thickness, rest[high])
        else:
            slab[low] = rest[high] = max(rest[high] - thickness, rest[low])
        outer.append(tuple(slab))
    return outer, tuple(rest)


def regions(launches, part, thickness):
    """Split the launches of a phase into those of points that neighbours wait for and those of the rest.

    Boxes and point tables are cut; what else is not pointwise (ghosts of a periodic axis) runs whole, with the outer points if it comes
    before the first step of the phase.
    """
    if not part.neighbours:
        return (), tuple(launches)
    slabs, rest = shells(part, thickness)
    outer, inner, begun = [], [], False
    for one in launches:
        if one.op.pointwise:
            begun = True
            outer += _clipped(one, slabs)
            inner += _clipped(one, [rest])
        elif one.places is not None:
            inside = np.all([(a <= n) & (n < b) for n, a, b in zip(one.places, rest[::2], rest[1::2])], axis=0)
            outer += _runs(one, ~inside)
            inner += _runs(one, inside)
        else:
            (inner if begun else outer).append(one)
    return tuple(outer), tuple(inner)


def _clipped(launch, boxes):
    return [replace(launch, box=common) for box in boxes if (common := clip(launch.box, box))]


def _runs(launch, chosen):
    """The launch on each run of chosen entries of its table."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    return [replace(launch, box=(0, 1, 0, 1, int(a), int(b))) for a, b in zip(edges[::2], edges[1::2])]
