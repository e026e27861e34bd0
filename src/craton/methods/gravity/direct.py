"""Method `direct`: every prism at every point.

In double the closed form throughout; in single the series of order 6 takes far pairs.
"""

import numpy as np

from craton.core.layout import Layout
from craton.core.plan import Array, Launch, Phase, SweepPlan, Tile
from craton.methods.gravity.cost import Estimate
from craton.methods.gravity.fields import kinds, scale
from craton.methods.gravity.groups import Far, Frame, morton_order
from craton.methods.gravity.operators import LANES, attract, collect, record, records

PRISMS = 1 << 18  # of a tile
POINTS = 1 << 20  # of a tile, at most
PAIRS = 1 << 15  # of a tile for every point that the machine takes at a time
# times that the parts of few points fill the machine: the last blocks to end keep little of it
# waiting
WAVES = 4
# float32: the series begins where its bound falls below this; closed form and series then err alike
NEAR = 3e-5
FAR = 1e-6  # float32: where its lower orders take over


def plan(problem, width, far=None):
    """Return the plan of a direct sum.

    Parameters
    ----------
    problem : Problem
    width : int
        Points side by side that keep the machine busy; fewer points are helped by splitting the
        prisms.
    far : Far, optional
        Series for far pairs; by default none in double, order 6 in single.
    """
    frame, far = Frame(problem), far or pairwise(problem)
    sorted_ = morton_order(problem.points) if far.order and problem.points.size else np.arange(problem.points.shape[1])
    prisms = min(PRISMS, max(len(problem.prisms), 1))
    points = min(max(PAIRS * width // prisms, LANES), POINTS, max(len(sorted_), 1))
    points = balanced(len(sorted_), points)
    groups = -(-points // LANES)
    parts = split(groups, width, prisms)
    tiles = _tiles(problem, sorted_, prisms, groups * LANES, parts, frame)
    op = attract(problem.fields, problem.precision, far.order, far.starts)
    sources = {
        "faces": Array("sources", (prisms, 6), np.float64),
        "density": Array("sources", (prisms,), np.float64),
        "first": Array("sources", (parts + 1,), np.int32),
    }
    return assemble(problem, frame, op, tiles, parts, groups, sources, far)


def pairwise(problem, tolerance=0.0):
    """Far pairs of a problem: by the series in single precision, or in double where an error
    `tolerance` per pair is allowed.
    """
    if problem.precision == "float32":
        return Far.within(6, max(NEAR, tolerance), max(FAR, tolerance), kinds(problem.fields))
    return Far.within(6, tolerance, tolerance, kinds(problem.fields)) if tolerance else Far(0)


def recording(problem, frame, op, count, far):
    """Return the array of prisms as `op` reads them and the phase that fills it from their faces
    and density.
    """
    last, size = records(op), record(problem.precision, dict(op.defines)["ORDER"])
    params = {"count": count, **dict(zip("xyz", frame.origin)), "unit": frame.unit, "distance": far.ratio}
    launch = Launch(last, last.arrays, (0, 1, 0, -(-count // LANES), 0, LANES), params)
    return {"prisms": Array("sources", (count, size), problem.precision)}, (Phase("records", (launch,)),)


def assemble(problem, frame, op, tiles, parts, groups, sources, far=None):
    """Return a SweepPlan of one summing operator over sources and the sum of its parts; with `far`
    it makes the records of prisms first.
    """
    count, stride, precision = len(problem.fields), groups * LANES, problem.precision
    made, before = recording(problem, frame, op, sources["density"].shape[0], far) if far else ({}, ())
    arrays = {
        "points": Array("points", (6 if frame.split else 3, stride), precision),
        "groups": Array("points", (groups, 4), precision),
        "partial": Array("record", (parts, count, stride), np.float64),
        "total": Array("sums", (count, stride), np.float64),
        **sources,
        **made,
    }
    params = {"stride": stride, "parts": parts}
    last = collect(problem.fields)
    phases = (
        *before,
        Phase("sum", (Launch(op, op.arrays, (0, parts, 0, groups, 0, LANES), params),)),
        Phase("collect", (Launch(last, last.arrays, (0, 1, 0, count * groups, 0, LANES), params),)),
    )
    layout = Layout((parts, max(groups, count * groups), LANES), 0)
    return SweepPlan(
        precision=precision,
        layout=layout,
        arrays=arrays,
        phases=phases,
        tiles=tiles,
        count=(count, problem.points.shape[1]),
        scale=scale(problem.fields, frame.unit),
    )


def balanced(total, most):
    """Equal tiles of at most `most`: the size of one."""
    return max(-(-total // max(-(-total // most), 1)), 1)


def split(groups, width, sources):
    """Parts of the source list so that parts times points fill the machine `WAVES` times, each part
    long enough to pay.
    """
    return int(np.clip(-(-WAVES * width // (groups * LANES)), 1, max(sources // 64, 1)))


def _tiles(problem, sorted_, prisms, stride, parts, frame):
    """Points in tiles, and for each of these all prisms in tiles."""
    starts = list(range(0, max(len(problem.prisms), 1), prisms))
    return [
        _tile(
            problem,
            sorted_[p : p + stride],
            slice(s, s + prisms),
            stride,
            parts,
            frame,
            s == starts[0],
            s == starts[-1],
        )
        for p in range(0, len(sorted_), stride)
        for s in starts
    ]


def _tile(problem, chosen, prisms_here, stride, parts, frame, first, last):
    """One tile; its arrays are made when it is its turn."""
    prisms, density = problem.prisms[prisms_here], problem.density[prisms_here]

    def load():
        out = {"faces": prisms, "density": density, "first": np.linspace(0, len(prisms), parts + 1).astype(np.int32)}
        if first:
            out |= frame.place(problem.points[:, chosen], stride, len(problem.fields))
        return out

    return Tile(load, len(chosen) * len(prisms), chosen if last else None)


def estimate(problem, speed):
    """Return what the direct sum costs."""
    return Estimate(
        "direct",
        speed.start + problem.pairs / speed.pairs,
        f"{problem.pairs:.3g} pairs, each by the closed form"
        + (" or, far away, its series" if problem.precision == "float32" else ""),
    )


def solve(problem, runner):
    """Fields (fields, points) in their units."""
    return runner.sweep(plan(problem, runner.machine.width))
