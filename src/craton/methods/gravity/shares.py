"""Shares of a problem for ranks: some of the prisms at all points, or all prisms at some of the
points. Fields add up either way.
"""

from dataclasses import replace

import numpy as np

from craton.methods import gravity
from craton.methods.gravity.operators import LANES
from craton.model.prisms.morton import morton_order


def balanced(count, rank, size):
    """Part of a rank: all alike, the first ``count % size`` ranks one more (Couder-Castaneda et al.

    2013).
    """
    each, rest = divmod(count, size)
    begin = rank * each + min(rank, rest)
    return slice(begin, begin + each + (rank < rest))


def some_prisms(problem, rank, size):
    """Consecutive prisms."""
    part = balanced(len(problem.prisms), rank, size)
    return replace(problem, prisms=problem.prisms[part], density=problem.density[part]), slice(None)


def some_layers(problem, rank, size):
    """Whole layers of prisms: each of them costs `fft` its transforms, however many prisms are in
    it.
    """
    bottom, layer = np.unique(problem.prisms[:, 4], return_inverse=True)
    part = balanced(len(bottom), rank, size)
    chosen = (layer >= part.start) & (layer < part.stop)
    return replace(problem, prisms=problem.prisms[chosen], density=problem.density[chosen]), slice(None)


def some_points(problem, rank, size):
    """Return groups of points that lie together, dealt out in turn: every rank gets as many near
    the masses.
    """
    order = morton_order(problem.points)
    group = np.arange(len(order)) // LANES
    chosen = np.sort(order[group % size == rank])
    return replace(problem, points=np.ascontiguousarray(problem.points[:, chosen])), chosen


# vertex: prisms apart from each other would lose nodes in common. far: a tree of half the prisms
# costs nearly as much at every point, but half as much to grow.
SHARES = {"direct": (some_prisms,), "far": (some_prisms, some_points), "vertex": (some_points,), "fft": (some_layers,)}


def share(problem, method, speed, rank, size):
    """Return a rank's Problem, and the points of the whole one that its results belong to.

    Where a method can be split in several ways, the one that costs least; all ranks must give the
    same `speed`.
    """
    if size == 1:
        return problem, slice(None)
    ways = SHARES[method]
    if len(ways) > 1:
        ways = sorted(ways, key=lambda way: gravity.algorithm(method).estimate(way(problem, 0, size)[0], speed).seconds)
    return ways[0](problem, rank, size)
