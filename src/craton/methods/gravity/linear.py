"""The attraction as a linear operator on density, and its transpose on data: for inversion, without
ever storing the matrix.
"""

from dataclasses import replace
from warnings import warn

import numpy as np

from craton.methods.gravity import direct, tiles
from craton.methods.gravity.fields import scale, undefined
from craton.methods.gravity.operators import gather

POINTS = 1 << 18  # of a tile


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
    """Return the plan of J.T @ data, data (fields, points): prisms take the place of points, points that of prisms."""
    records = np.concatenate([problem.points, data * scale(problem.fields)[:, None]]).T.copy()
    faces, order = problem.prisms.T, np.arange(len(problem.prisms))
    targets = tiles.Targets(order, lambda chosen, stride: {"faces": tiles.padded(faces[:, chosen], stride)})
    sources = tiles.streamed(data=records, most=POINTS)
    groups, parts = tiles.cut(targets, sources, width, max(width // 16, 1), max(len(order), 1))
    # one number for each prism
    return tiles.plan(gather(problem.fields), ("potential",), np.ones(1), targets, sources, groups, parts)
