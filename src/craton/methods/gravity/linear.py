"""The attraction as a linear operator on density, and its transpose on data: for inversion, without
ever storing the matrix.
"""

from dataclasses import replace
from warnings import warn

import numpy as np

from craton.methods.gravity import direct, tiles
from craton.methods.gravity.fields import scale, undefined
from craton.methods.gravity.operators import gather
from craton.methods.gravity.problem import problem
from craton.model.prisms.ensembles import have_volume
from craton.model.prisms.labelled import arrays_of
from craton.survey.points import coordinates_of

POINTS = 1 << 18  # of a tile


def operator(prisms, points, fields, machine):
    """Return the LinearOperator J of float64: J @ density has the fields at the points, one field after another in
    the order asked for, and J.T @ data is its transpose. Prisms and points are arrays or labelled, as in
    `craton.gravity.operator`.
    """
    from scipy.sparse.linalg import LinearOperator

    prisms = np.asarray(arrays_of(prisms, 1.0)[0], np.float64)
    task = problem(prisms, 1.0, coordinates_of(points)[0], fields)
    solid = have_volume(prisms.reshape(-1, 6))  # the others are not in the problem
    names = (fields,) if isinstance(fields, str) else fields
    rows, points, runner = [task.fields.index(name) for name in names], task.points.shape[1], tiles.Runner(machine)

    def forward(density):
        density_part = np.asarray(density, np.float64).reshape(-1)[solid]
        here = replace(task, prisms=task.prisms[density_part != 0], density=density_part[density_part != 0])
        values = direct.solve(here, runner) if here.pairs else np.zeros((len(task.fields), points))
        if words := undefined(task.fields, task.points, values):
            warn(words, stacklevel=2)
        return values[rows].reshape(-1)

    def transpose(data):
        ordered, out = np.zeros((len(task.fields), points)), np.zeros(len(solid))
        np.add.at(ordered, rows, np.asarray(data, np.float64).reshape(len(rows), points))
        if task.pairs:
            out[solid] = runner.sweep(transpose_plan(task, ordered, runner.machine.width))[0]
            if lost := int(np.isnan(out).sum()):
                warn(
                    f"nan in the transpose for {lost} of {len(solid)} prisms: points lie on their edges or "
                    "vertices, where gradients have no limit; leave these points out",
                    stacklevel=2,
                )
        return out

    return LinearOperator((len(rows) * points, len(solid)), matvec=forward, rmatvec=transpose, dtype=np.float64)


def transpose_plan(problem, data, width):
    """Return the plan of J.T @ data, data (fields, points): prisms take the place of points, points that of prisms."""
    records = np.concatenate([problem.points, data * scale(problem.fields)[:, None]]).T.copy()
    faces, order = problem.prisms.T, np.arange(len(problem.prisms))
    targets = tiles.Targets(order, lambda chosen, stride: {"faces": tiles.padded(faces[:, chosen], stride)})
    sources = tiles.streamed(data=records, most=POINTS)
    groups, parts = tiles.cut(targets, sources, width, max(width // 16, 1), max(len(order), 1))
    # one number for each prism
    return tiles.plan(gather(problem.fields), ("potential",), np.ones(1), targets, sources, groups, parts)
