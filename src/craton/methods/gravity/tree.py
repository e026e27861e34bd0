"""An octree over prisms: nodes in preorder, multipole coefficients of each, and the distances from
which they serve.
"""

from dataclasses import dataclass
from functools import cache
from math import comb, factorial

import numpy as np

from craton.model.prisms.morton import BLOCK, LEVELS, morton_code

SHALLOW, PACKED = 13, 24  # levels that share 64 bits with an index, and the index's bits
NEAREST = 1.4  # of the distances from which an expansion serves, in radii


@dataclass(frozen=True)
class Tree:
    """Clusters of prisms.

    Parameters
    ----------
    order : ndarray of int
        The prisms in the tree's order.
    prisms : ndarray
        (M, 6) in that order.
    start, stop : ndarray of int
        Prisms of every node, as a range of that order; nodes in preorder.
    skip : ndarray of int
        First node behind the subtree.
    parent : ndarray of int
        -1 for the root.
    depth : ndarray of int
    centre, radius : ndarray
        Ball around the node's prisms.
    """

    order: np.ndarray
    prisms: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    skip: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    centre: np.ndarray
    radius: np.ndarray

    @property
    def leaf(self):
        """True for nodes without children."""
        return self.skip == np.arange(len(self.skip)) + 1


def build(prisms, leaf):
    """Return the octree of prisms (M, 6): a node with more than `leaf` prisms is cut at the planes
    of a cube's eight halves.
    """
    order, parting = sort(prisms, leaf)
    start, stop, parent = grow(parting, len(prisms), leaf)
    preorder = np.argsort((start << 32) | ((1 << 32) - 1 - stop))
    start, stop = start[preorder], stop[preorder]
    place = np.empty(len(preorder) + 1, np.int64)
    place[preorder], place[-1] = np.arange(len(preorder)), -1
    parent = place[parent[preorder]]
    skip = np.maximum(np.searchsorted(start, stop, side="left"), np.arange(len(start)) + 1)
    depth = depths(parent)
    prisms = prisms[order]
    centre, radius = balls(prisms, start, skip, parent, depth)
    return Tree(order, prisms, start, stop, skip, parent, depth, centre, radius)


def sort(prisms, leaf):
    """Order of prisms along the Morton curve through their centres, and the level at which each
    parts from the next.

    Thirteen levels and the index share a number where that suffices: sorting numbers is several
    times as quick as sorting indices.
    """
    code, count = morton_code((prisms[:, ::2] + prisms[:, 1::2]).T), len(prisms)
    if count <= 1 << PACKED:
        key = code >> np.uint64(63 - 3 * SHALLOW) << np.uint64(PACKED) | np.arange(count, dtype=np.uint64)
        key.sort()
        levels = parting(key >> np.uint64(PACKED), SHALLOW)
        # else more prisms than that in one place
        if np.diff(np.flatnonzero(levels <= LEVELS), prepend=-1, append=count - 1).max() <= leaf:
            return (key & np.uint64((1 << PACKED) - 1)).astype(np.int64), levels
    order = np.argsort(code, kind="stable")
    return order, parting(code[order], LEVELS)


def parting(code, levels):
    """Level of the first octant, 1 .. `levels`, that each of sorted codes does not share with the
    next; LEVELS + 1 where they are equal.
    """
    out = np.empty(max(len(code) - 1, 0), np.uint8)
    of_bit = np.array([levels - bit // 3 for bit in range(3 * levels)] + [LEVELS + 1], np.uint8)
    for n in range(0, len(out), BLOCK):
        bits = code[n : n + BLOCK + 1]
        bits = bits[1:] ^ bits[:-1]
        # the highest bit stays, the next is gone: no rounding up to the next power
        bits &= ~(bits >> np.uint64(1))
        highest = (bits.astype(np.float64).view(np.int64) >> 52) - 1023  # the exponent
        out[n : n + BLOCK] = of_bit[np.where(bits == 0, 3 * levels, highest)]
    return out


def grow(levels, count, leaf):
    """Start, stop and parent of all nodes, level by level: octants of nodes with more than `leaf`
    prisms, no chains of single children.
    """
    start, stop, parent = [np.array([0])], [np.array([count])], [np.array([-1])]
    # start, stop, name
    active = tuple(np.array([value] * (count > leaf), np.int64) for value in (0, count, 0))
    built = 1
    for level in range(1, LEVELS + 1):
        if not len(active[0]):
            break
        cuts = np.flatnonzero(levels == level) + 1
        owner = np.searchsorted(active[0], cuts, side="right") - 1
        cuts, owner = (a[(owner >= 0) & (cuts < active[1][owner])] for a in (cuts, owner))
        divided = np.zeros(len(active[0]), bool)
        divided[owner] = True
        first, last, name = (a[divided] for a in active)
        owner = (np.cumsum(divided) - 1)[owner]
        begin, of = np.concatenate([first, cuts]), np.concatenate([np.arange(len(first)), owner])
        sorted_ = np.argsort(begin)
        begin, of = begin[sorted_], of[sorted_]
        end = np.minimum(np.append(begin[1:], count), last[of])
        start.append(begin), stop.append(end), parent.append(name[of])
        divisible = end - begin > leaf
        both = [
            np.concatenate([a[~divided], b[divisible]])
            for a, b in zip(active, (begin, end, built + np.arange(len(begin))))
        ]
        sorted_, built = np.argsort(both[0]), built + len(begin)
        active = tuple(a[sorted_] for a in both)
    return tuple(np.concatenate(part) for part in (start, stop, parent))


def depths(parent):
    """Depth of nodes from their parents: all nodes one step up at a time."""
    depth, at = np.zeros(len(parent), np.int64), parent.copy()
    while (at >= 0).any():
        depth += at >= 0
        at = np.where(at >= 0, parent[at], -1)
    return depth


def balls(prisms, start, skip, parent, depth):
    """Centre of the box around each node's prisms and the distance of its farthest corner: leaves
    from prisms, the others from children.
    """
    leaves = np.flatnonzero(skip == np.arange(len(skip)) + 1)
    levels = [np.flatnonzero(depth == level) for level in range(depth.max(), 0, -1)]
    # siblings of a depth are neighbours
    family = [(level, np.flatnonzero(np.diff(parent[level], prepend=-2))) for level in levels]
    centre, half = np.empty((len(start), 3)), np.empty((len(start), 3))
    for axis in range(3):
        ends = []
        for side, ufunc in enumerate((np.minimum, np.maximum)):
            values = np.empty(len(start))
            values[leaves] = ufunc.reduceat(prisms[:, 2 * axis + side], start[leaves])
            for level, heads in family:
                values[parent[level[heads]]] = ufunc.reduceat(values[level], heads)
            ends.append(values)
        centre[:, axis], half[:, axis] = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
    return centre, np.linalg.norm(half, axis=1)


def monomials(degree):
    """Exponents (i, j, k) of all moments in the order of moments.h."""
    return [(a, b, c) for a in range(degree + 1) for b in range(degree + 1 - a) for c in range(degree + 1 - a - b)]


def terms(degree):
    """(n, m) of all coefficients."""
    return [(n, m) for n in range(degree + 1) for m in range(n + 1)]


@cache
def from_cartesian(degree):
    """Matrix that makes complex coefficients b(n, m), m >= 0, of Cartesian moments; both scaled by
    the radius.

    V = sum of moments / (i! j! k!) d^i/dx^i d^j/dy^j d^k/dz^k (1/r), with d/dx = (P + Q) / 2, d/dy
    = (P - Q) / 2i and P^a Q^b (d/dz)^c (1/r) = (-1)^(a + c) S(a + b + c, a - b).
    """
    rows = {nm: row for row, nm in enumerate(terms(degree))}
    out = np.zeros((len(rows), len(monomials(degree))), np.complex128)
    for column, (i, j, k) in enumerate(monomials(degree)):
        weight = 1 / (factorial(i) * factorial(j) * factorial(k)) / 2**i / (2j) ** j
        for u in range(i + 1):
            for v in range(j + 1):
                a = u + v  # power of P; that of Q is i + j - a
                m = 2 * a - i - j
                if m >= 0:
                    out[rows[i + j + k, m], column] += (
                        weight * comb(i, u) * comb(j, v) * (-1) ** (j - v) * (-1) ** (a + k)
                    )
    return out


def powers(coefficients, degree):
    """Greatest possible value of each degree's term at distance 1 (Cauchy-Schwarz with the addition
    theorem), (nodes, degree + 1).
    """
    out = np.zeros((len(coefficients), degree + 1))
    for column, (n, m) in enumerate(terms(degree)):
        of_both_signs = 1 if m == 0 else 2
        out[:, n] += of_both_signs * np.abs(coefficients[:, column]) ** 2 * float(factorial(n - m) * factorial(n + m))
    return np.sqrt(out)


def reaches(power, mass, radius, degree, rtol, orders):
    """Distance from which the expansion to degree 2, 4, .. `degree` errs by at most rtol times
    |mass| / r, |mass| / r^2, 2 |mass| / r^3.

    `power` must go two degrees further: these two terms are taken as they are, the rest as a
    geometric series in radius / r.
    """
    out = np.empty((len(mass), degree // 2))
    worst = [max({0: 1.0, 1: n + 1.0, 2: (n + 1) * (n + 2) / 2}[k] for k in orders) for n in range(degree + 3)]
    root = {n: (2 * worst[n] / rtol * power[:, n] / mass) ** (1 / n) for n in range(3, degree + 3)}
    for column, kept in enumerate(range(2, degree + 1, 2)):
        # r / radius; found by iteration because of the geometric series
        ratio = least = np.maximum(root[kept + 1], NEAREST)
        for _ in range(5):  # an odd number ends above what it tends to
            ratio = np.maximum(least, root[kept + 2] * (1 - 1 / ratio) ** (-1 / (kept + 2)))
        out[:, column] = ratio * radius
    return np.minimum.accumulate(out, axis=1)
