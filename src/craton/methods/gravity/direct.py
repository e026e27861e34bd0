"""Method `direct`: every prism at every point.

In double the closed form throughout; in single the series of order 6 takes far pairs.
"""

from typing import NamedTuple

import numpy as np

from craton.methods.gravity import Estimate, tiles
from craton.methods.gravity.fields import kinds
from craton.methods.gravity.operators import attract
from craton.model.prisms.morton import morton_order

PRISMS = 1 << 18  # of a tile
POINTS = 1 << 20  # of a tile, at most
# float32: the series begins where its bound falls below this; closed form and series then err alike
NEAR = 3e-5
FAR = 1e-6  # float32: where its lower orders take over


class Far(NamedTuple):
    """Where the series of a single prism takes over: its highest order (0: the closed form everywhere), the
    distance over half diagonal from which it serves, and from which orders 4 and 2 do, over that distance.
    """

    order: int = 0
    ratio: float = 0.0
    starts: tuple = (1.0, 1.0)


def series(order: int, tolerance: float, lower: float, orders) -> Far:
    """Return where a series begins to err by less than `tolerance`, and its lower orders by less than `lower`."""
    ratio = series_ratio(order, tolerance, orders)
    return Far(order, ratio, tuple(max(series_ratio(n, lower, orders) / ratio, 1.0) for n in (4, 2)))


def series_ratio(order, tolerance, orders):
    """Return the distance over half diagonal from which the box series to `order` is within `tolerance` of its leading
    term.

    Bound of a needle of that diagonal: the term of degree n is at most (a/r)^n / (n + 1) of the potential, (a/r)^n
    of the acceleration, (n + 2)/2 (a/r)^n of the gradient; the terms left out start at order + 2 and fall like
    (a/r)^2. `orders`: derivatives in the fields.
    """
    n = order + 2
    factor = max({0: 1 / (n + 1), 1: 1.0, 2: (n + 2) / 2}[k] for k in orders)
    ratio = 0.5
    for _ in range(20):
        ratio = min((tolerance / factor * (1 - ratio**2)) ** (1 / n), 0.7)
    return 1 / ratio


def pairwise(precision: str, fields, tolerance=0.0) -> Far:
    """Return how far pairs are treated: by the series in single precision, or in double where an error `tolerance` per
    pair is allowed.
    """
    if precision == "float32":
        return series(6, max(NEAR, tolerance), max(FAR, tolerance), kinds(fields))
    return series(6, tolerance, tolerance, kinds(fields)) if tolerance else Far()


def plan(problem, width, far=None):
    """Return the plan of a direct sum for a machine of that width; `far`: series for far pairs, by default none in
    double, order 6 in single.
    """
    frame, far = tiles.Frame(problem), far or pairwise(problem.precision, problem.fields)
    order = morton_order(problem.points) if far.order else np.arange(problem.points.shape[1])
    targets = frame.targets(problem.points, order)
    sources = tiles.streamed(faces=problem.prisms, density=problem.density, most=PRISMS)
    groups, parts = tiles.cut(targets, sources, width, width, min(POINTS, max(len(order), 1)))
    op = attract(problem.fields, problem.precision, far.order, far.starts)
    made, before = frame.records(op, sources.size, far.ratio)
    return tiles.plan(
        op, problem.fields, frame.factors, targets, sources, groups, parts, problem.precision, made, before
    )


def estimate(problem, speed):
    """Return what the direct sum costs."""
    series_too = " or, far away, its series" if problem.precision == "float32" else ""
    words = f"{problem.pairs:.3g} pairs, each by the closed form{series_too}"
    return Estimate("direct", speed.start + problem.pairs / speed.pairs, words)


def solve(problem, runner):
    """Return the fields (fields, points) in their units."""
    return runner.sweep(plan(problem, runner.machine.width))
