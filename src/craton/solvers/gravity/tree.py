"""An octree over prisms: nodes in preorder, multipole coefficients of each, and the distances from which they serve."""
from dataclasses import dataclass
from functools import cache
from math import comb, factorial

import numpy as np

from craton.solvers.gravity.groups import morton_code

LEAF = 24  # prisms of a leaf, at most
LEVELS = 20


@dataclass(frozen=True)
class Tree:
    """Clusters of prisms.

    Parameters
    ----------
    order : ndarray of int
        The prisms in the tree's order.
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


def build(prisms, leaf=LEAF):
    """The octree of prisms (M, 6): a node with more than `leaf` prisms is cut at the planes of a cube's eight halves."""
    code = morton_code(0.5 * (prisms[:, ::2] + prisms[:, 1::2]).T)
    order = np.argsort(code, kind="stable")
    start, stop = ranges(code[order], leaf)
    preorder = np.lexsort((-stop, start))
    start, stop = start[preorder], stop[preorder]
    skip = np.maximum(np.searchsorted(start, stop, side="left"), np.arange(len(start)) + 1)
    parent, depth = ancestry(skip)
    centre, radius = balls(prisms[order], start, stop)
    return Tree(order, start, stop, skip, parent, depth, centre, radius)


def ranges(code, leaf):
    """Ranges of sorted codes: all octants of nodes with more than `leaf` entries, level by level; chains of single children left out."""
    active, kept = np.array([[0, len(code)]]), [np.array([[0, len(code)]])]
    for level in range(1, LEVELS + 1):
        active = active[active[:, 1] - active[:, 0] > leaf]
        if not len(active):
            break
        octant = code >> np.uint64(3 * (21 - level))
        cuts = np.flatnonzero(octant[1:] != octant[:-1]) + 1
        inside = cuts[np.searchsorted(active[:, 0], cuts, side="right") - 1 >= 0]
        owner = np.searchsorted(active[:, 0], inside, side="right") - 1
        inside = inside[(inside > active[owner, 0]) & (inside < active[owner, 1])]
        edges = np.unique(np.concatenate([active.ravel(), inside]))
        low, high = edges[:-1], edges[1:]
        owner = np.searchsorted(active[:, 0], low, side="right") - 1
        children = np.stack([low, high], axis=1)[(owner >= 0) & (low < active[owner, 1])]
        kept.append(children[~is_in(children, active)])
        active = children
    both = np.unique(np.concatenate(kept), axis=0)
    return both[:, 0], both[:, 1]


def is_in(some, others):
    """Which ranges equal one of the others; both sorted by their starts."""
    at = np.clip(np.searchsorted(others[:, 0], some[:, 0]), 0, len(others) - 1)
    return (others[at] == some).all(axis=1)


def ancestry(skip):
    """Parent and depth of nodes in preorder."""
    parent, depth, open_ = np.full(len(skip), -1), np.zeros(len(skip), np.int64), []
    ends = skip.tolist()
    for node, end in enumerate(ends):
        while open_ and ends[open_[-1]] <= node:
            open_.pop()
        if open_:
            parent[node], depth[node] = open_[-1], len(open_)
        if end > node + 1:
            open_.append(node)
    return parent, depth


def balls(prisms, start, stop):
    """Centre of the box around each node's prisms and the distance of its farthest corner."""
    centre, half = np.empty((len(start), 3)), np.empty((len(start), 3))
    for axis in range(3):
        low, high = extremes(prisms[:, 2 * axis], start, stop, np.minimum), extremes(prisms[:, 2 * axis + 1], start, stop, np.maximum)
        centre[:, axis], half[:, axis] = 0.5 * (low + high), 0.5 * (high - low)
    return centre, np.linalg.norm(half, axis=1)


def extremes(values, start, stop, ufunc):
    """Minimum or maximum over each range; ranges nest, so all of one size class are reduced together."""
    table, out, width = values, np.empty(len(start)), 1
    length = stop - start
    while True:
        some = (length >= width) & (length < 2 * width)
        out[some] = ufunc(table[start[some]], table[stop[some] - width])
        if 2 * width > len(values):
            return out
        table, width = ufunc(table[:-width], table[width:]), 2 * width


def monomials(degree):
    """Exponents (i, j, k) of all moments in the order of moments.h."""
    return [(a, b, c) for a in range(degree + 1) for b in range(degree + 1 - a) for c in range(degree + 1 - a - b)]


def terms(degree):
    """(n, m) of all coefficients."""
    return [(n, m) for n in range(degree + 1) for m in range(n + 1)]


@cache
def from_cartesian(degree):
    """Matrix that makes complex coefficients b(n, m), m >= 0, of Cartesian moments; both scaled by the radius.

    V = sum of moments / (i! j! k!) d^i/dx^i d^j/dy^j d^k/dz^k (1/r), with d/dx = (P + Q) / 2, d/dy = (P - Q) / 2i and
    P^a Q^b (d/dz)^c (1/r) = (-1)^(a + c) S(a + b + c, a - b).
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
                    out[rows[i + j + k, m], column] += weight * comb(i, u) * comb(j, v) * (-1) ** (j - v) * (-1) ** (a + k)
    return out


def powers(coefficients, degree):
    """Greatest possible value of each degree's term at distance 1 (Cauchy-Schwarz with the addition theorem), (nodes, degree + 1)."""
    out = np.zeros((len(coefficients), degree + 1))
    for column, (n, m) in enumerate(terms(degree)):
        out[:, n] += (1 if m == 0 else 2) * np.abs(coefficients[:, column]) ** 2 * float(factorial(n - m) * factorial(n + m))
    return np.sqrt(out)


def reaches(power, mass, radius, degree, rtol, orders):
    """Distance from which the expansion to degree 2, 4, .. `degree` errs by at most rtol times |mass| / r, |mass| / r^2, 2 |mass| / r^3.

    `power` must go two degrees further: these two terms are taken as they are, the rest as a geometric series in radius / r.
    """
    out = np.empty((len(mass), degree // 2))
    for column, kept in enumerate(range(2, degree + 1, 2)):
        ratio = np.full(len(mass), 1.4)  # r / radius, least; found by iteration because of the geometric series
        for _ in range(6):
            tail = 1 / (1 - 1 / ratio)
            found = np.full(len(mass), 1.4)
            for n, geometric in ((kept + 1, 1.0), (kept + 2, tail)):
                worst = max({0: 1.0, 1: n + 1.0, 2: (n + 1) * (n + 2) / 2}[k] for k in orders)
                found = np.maximum(found, (2 * worst * geometric * power[:, n] / (rtol * mass)) ** (1 / n))
            ratio = found
        out[:, column] = ratio * radius
    return np.minimum.accumulate(out, axis=1)
