"""The attraction as a linear operator on density, and its transpose on data: for inversion, without
ever storing the matrix.
"""

from dataclasses import replace
from warnings import warn

import numpy as np

from craton.core.layout import Layout
from craton.core.operator import Operator
from craton.core.plan import Array, Launch, Phase, SweepPlan, Tile
from craton.methods.gravity import direct
from craton.methods.gravity.fields import scale, undefined
from craton.methods.gravity.operators import ATTRACT, BLOCK, HERE, LANES, TYPES, collect, constants, flops

POINTS = 1 << 18  # of a tile


def gather(fields):
    """Points at prisms; see transpose.h."""
    return Operator(
        "gather",
        HERE / "transpose.h",
        ("partial",),
        ("faces", "data", "first"),
        ATTRACT,
        flops=flops(fields),
        defines=constants(fields, "float64", 0),
        types=TYPES,
        grain=(1, 1),
        block=BLOCK,
    )


def operator(problem, runner, fields, prisms, count):
    """J with J @ density = fields at points, one field after another, and J.T @ data.

    Parameters
    ----------
    problem : Problem
        Prisms with volume; its density is not used.
    runner : Runner
    fields : sequence of str
        The fields in the order that data shall have.
    prisms : ndarray of int
        Place of each of the problem's prisms in the density vector.
    count : int
        Length of that vector.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        (fields * points, prisms), float64.
    """
    from scipy.sparse.linalg import LinearOperator

    rows, points = [problem.fields.index(name) for name in fields], problem.points.shape[1]

    def forward(density):
        density_part = np.asarray(density, np.float64).reshape(-1)[prisms]
        here = replace(problem, prisms=problem.prisms[density_part != 0], density=density_part[density_part != 0])
        values = direct.solve(here, runner) if here.pairs else np.zeros((len(problem.fields), points))
        if words := undefined(problem.fields, problem.points, values):
            warn(words, stacklevel=2)
        return values[rows].reshape(-1)

    def transpose(data):
        ordered, out = np.zeros((len(problem.fields), points)), np.zeros(count)
        np.add.at(ordered, rows, np.asarray(data, np.float64).reshape(len(rows), points))
        if problem.pairs:
            out[prisms] = runner.sweep(transpose_plan(problem, ordered, runner.machine.width))[0]
            if lost := int(np.isnan(out).sum()):
                warn(
                    f"nan in the transpose for {lost} of {count} prisms: points lie on their edges or "
                    "vertices, where gradients have no limit; leave these points out",
                    stacklevel=2,
                )
        return out

    return LinearOperator((len(rows) * points, count), matvec=forward, rmatvec=transpose, dtype=np.float64)


def transpose_plan(problem, data, width):
    """Return the plan of J.T @ data, data (fields, points): prisms take the place of points, points
    that of prisms.
    """
    records = np.concatenate([problem.points, data * scale(problem.fields)[:, None]]).T.copy()
    count, size = len(problem.prisms), min(POINTS, max(len(records), 1))
    most = min(max(direct.PAIRS * max(width // 16, 1) // size, LANES), max(count, 1))
    groups = -(-direct.balanced(count, most) // LANES)
    parts, stride = direct.split(groups, width, size), groups * LANES
    arrays = {
        "faces": Array("points", (6, stride), np.float64),
        "data": Array("sources", (size, records.shape[1]), np.float64),
        "first": Array("sources", (parts + 1,), np.int32),
        "partial": Array("record", (parts, 1, stride), np.float64),
        "total": Array("sums", (1, stride), np.float64),
    }
    op, last = gather(problem.fields), collect(("potential",))  # one number for each prism
    params = {"stride": stride, "parts": parts}
    phases = (
        Phase("sum", (Launch(op, op.arrays, (0, parts, 0, groups, 0, LANES), params),)),
        Phase("collect", (Launch(last, last.arrays, (0, 1, 0, groups, 0, LANES), params),)),
    )
    tiles = [
        _tile(
            problem.prisms, slice(p, p + stride), records[s : s + size], parts, stride, s == 0, s + size >= len(records)
        )
        for p in range(0, count, stride)
        for s in range(0, len(records), size)
    ]
    layout = Layout((parts, groups, LANES), 0)
    return SweepPlan(
        precision="float64",
        layout=layout,
        arrays=arrays,
        phases=phases,
        tiles=tiles,
        count=(1, count),
        scale=np.ones(1),
    )


def _tile(prisms, chosen, records, parts, stride, first, last):
    def load():
        out = {"data": records, "first": np.linspace(0, len(records), parts + 1).astype(np.int32)}
        if first:
            faces = prisms[chosen].T
            out |= {
                "faces": np.pad(faces, ((0, 0), (0, stride - faces.shape[1])), mode="edge"),
                "total": np.zeros((1, stride)),
            }
        return out

    return Tile(load, len(prisms[chosen]) * len(records), chosen if last else None)
