"""Who owns what: the part of the grid that a rank owns, and the regions of its work that neighbours wait for."""
from dataclasses import dataclass, replace


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
    """Split launches into those of points that neighbours wait for and those of the rest.

    Points tables act on the whole part and stay with the outer region: what they add must be there before it is sent.
    """
    if not part.neighbours:
        return (), tuple(launches)
    slabs, rest = shells(part, thickness)
    outer = [clipped for one in launches for clipped in _clipped(one, slabs)]
    inner = [clipped for one in launches if one.op.pointwise for clipped in _clipped(one, [rest])]
    return tuple(outer), tuple(inner)


def _clipped(launch, boxes):
    if not launch.op.pointwise:
        return [launch]
    return [replace(launch, box=common) for box in boxes if (common := clip(launch.box, box))]
