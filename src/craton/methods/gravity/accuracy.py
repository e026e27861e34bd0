"""How far the answer of each method may be from the truth, estimated from the problem in a small
part of the time of the answer itself.

Rounding of the closed form and of nodes adds up like random numbers; each term's is known (see
`closed_form`, `nodes`). Transforms spread theirs evenly (`convolution`). The tree errs by less than
its bound (`tree`). In single precision the error is measured (`measured`).
"""

from dataclasses import replace

import numpy as np

from craton.methods.gravity import direct, far, fft, vertex
from craton.methods.gravity.cost import walk
from craton.methods.gravity.fields import order, scale

EPSILON = 2.2e-16
CLOSED = 4.0  # roundings of a term of the closed form, twice to ten times what was measured
# points at which an answer is compared with the direct sum in double, or its error estimated
SAMPLES = 64
SEEN = 512  # prisms that stand for all
CELLS = 16  # coarse cells of the bound along an axis, at most
THINNED = 1 << 16  # points among which sample points are sought
# greatest difference at all points over that at the sample points: mostly 1 to 4, up to 17 was seen
ELSEWHERE = 10.0


def stated(problem, values, name, runner):
    """Greatest error of each field over the points, estimated; in the fields' units.

    Parameters
    ----------
    problem : Problem
        As it was solved.
    values : ndarray
        (fields, points), in the fields' units.
    name : str
        The method.
    runner : Runner

    Returns
    -------
    dict of str to float
    """
    if problem.precision == "float32" and name in ("direct", "far"):  # the others work in double
        error = measured(problem, values, runner)
    else:
        error = {"direct": closed_form, "vertex": nodes, "fft": convolution, "far": tree}[name](
            problem, values, runner
        )
    return dict(zip(problem.fields, map(float, error)))


def closed_form(problem, values=None, runner=None):
    """Return rounding of a direct sum in double precision.

    The merged closed form adds terms of the order of l R^(1 - n) for the n-th derivative of the
    potential, l the longest side of the prism and R its distance, at least l: the error of a prism
    hardly falls with distance. Of large ensembles some prisms stand for all.
    """
    chosen = sample(len(problem.density), SEEN)
    part, density, share = (
        problem.prisms[chosen],
        problem.density[chosen],
        np.sqrt(len(problem.density) / len(chosen)),
    )
    sides = (part[:, 1::2] - part[:, ::2]).max(axis=1)
    points = problem.points[:, telling(problem)]
    away = np.linalg.norm(
        points[:, :, None] - 0.5 * (part[:, ::2] + part[:, 1::2]).T[:, None], axis=0
    )
    away, weight = np.maximum(away, sides), density * sides
    sizes = [
        share * float(np.linalg.norm(weight * away ** (1.0 - n), axis=1).max()) for n in range(3)
    ]
    return (
        CLOSED * EPSILON * scale(problem.fields) * [sizes[order(name)] for name in problem.fields]
    )


def nodes(problem, values, runner):
    """Return rounding of the sum over nodes: see `vertex.bound`."""
    machine = runner.machine
    corners = vertex.nodes(problem, machine)
    rough = np.linalg.norm(machine.to_host(corners.coefficient))
    reach = farthest(problem.points, vertex.ends(corners, machine))
    return (
        vertex.NOISE
        * rough
        * scale(problem.fields)
        * [reach ** (2 - order(name)) for name in problem.fields]
    )


def farthest(points, box):
    """At least the distance of any point (3, N) from any place in a box."""
    low, high = box
    return float(np.linalg.norm(np.maximum(points.max(axis=1) - low, high - points.min(axis=1))))


def convolution(problem, values, runner):
    """Return rounding of transforms, spread evenly over the lattice, and that of the closed form in
    the kernels.
    """
    spread = vars(problem)["_spread"] + np.nanmax(np.abs(values), axis=1, initial=0.0)
    return fft.NOISE * EPSILON * spread + closed_form(problem)


def tree(problem, values, runner):
    """Measured where that takes less than a tenth of the walk; else the bound of `far`, 100 to
    100,000 times what was measured elsewhere.

    The bound: rtol times the greatest sum over the prisms of G |m| / r^(n + 1), doubled for
    gradients; and rounding. The sum runs over coarse cells of the ensemble, at sample points:
    cheap, and within a factor of about two.
    """
    prisms, count = len(problem.prisms), problem.points.shape[1]
    if SAMPLES * prisms < 0.1 * count * walk(prisms, far.degree_for(problem.rtol)):
        return measured(problem, values, runner) + closed_form(problem)
    mass, centre, width = coarse(problem)
    points = problem.points[:, telling(problem)]
    away = np.maximum(np.linalg.norm(points[:, :, None] - centre[:, None, :], axis=0), width)
    sums = [float((away ** -(n + 1.0) @ mass).max()) for n in range(3)]
    sums[2] *= 2
    return problem.rtol * scale(problem.fields) * [
        sums[order(name)] for name in problem.fields
    ] + closed_form(problem)


def coarse(problem):
    """Magnitudes of masses in at most 16^3 cells of the ensemble, their centres (3, n), and half a
    cell's width.
    """
    low, high = problem.prisms[:, ::2], problem.prisms[:, 1::2]
    mass, centre = np.abs(problem.density) * np.prod(high - low, axis=1), 0.5 * (low + high)
    begin, extent = centre.min(axis=0), np.ptp(centre, axis=0)
    count = int(np.clip(round((len(mass) / 8) ** (1 / 3)), 1, CELLS))
    cell = np.minimum((centre - begin) * (count / np.maximum(extent, 1e-300)), count - 1).astype(
        np.int64
    ) @ [1, count, count**2]
    total = np.bincount(cell, mass, count**3)
    heavy = np.flatnonzero(total)
    middle = np.stack(
        [np.bincount(cell, mass * c, count**3)[heavy] / total[heavy] for c in centre.T]
    )
    return total[heavy], middle, 0.5 * max(float(extent.max()) / count, float((high - low).max()))


def measured(problem, values, runner):
    """Greatest difference from double precision at sample points, times `ELSEWHERE`."""
    chosen = telling(problem)
    exact = replace(
        problem,
        points=np.ascontiguousarray(problem.points[:, chosen]),
        precision="float64",
        rtol=1e-10,
    )
    cheap = far if exact.pairs > 1e9 else direct
    difference = np.abs(values[:, chosen] - cheap.solve(exact, runner))
    return ELSEWHERE * np.nanmax(difference, axis=1, initial=0.0)


def telling(problem):
    """Return indices of sample points, half of them among those nearest to the ensemble, where
    fields and errors are greatest.
    """
    step = max(problem.points.shape[1] // THINNED, 1)
    part, points = problem.prisms[sample(len(problem.prisms), SEEN)], problem.points[:, ::step]
    low, high = part[:, ::2].min(axis=0)[:, None], part[:, 1::2].max(axis=0)[:, None]
    gap = np.linalg.norm(np.maximum(np.maximum(low - points, points - high), 0.0), axis=0)
    nearest = np.flatnonzero(gap <= gap.min() + 0.05 * np.linalg.norm(high - low))
    return step * np.union1d(
        nearest[sample(len(nearest), SAMPLES // 2)], sample(len(gap), SAMPLES // 2)
    )


def sample(count, most):
    """Return indices of an even spread of points."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(int))
