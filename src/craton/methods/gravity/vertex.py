"""Method `vertex`: nodes that prisms share act once, with the mixed third difference of density;
inside a body of one density they vanish.

In double precision whatever is asked: in single the terms, which grow with distance while their sum
falls, leave 1e-4 of the field.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from craton.methods.gravity import DEVICE, Estimate, direct, lattice, tiles
from craton.methods.gravity.fields import order
from craton.methods.gravity.operators import attract_nodes
from craton.methods.protocol import remembered
from craton.model.prisms import ensembles

NODES = 1 << 18  # of a tile
CHEAPER = 3.7  # closed forms of a node in that of a prism, measured
SAMPLE = 4096  # prisms looked at first
# prisms, points: beyond and below the nodes are not counted for an estimate alone
MANY, FEW = 100_000, 128
FIND = 5e-7  # s for each prism
# bytes of the machine for each prism to find the nodes: 210 measured, and a copy of the prisms
NEEDED = 270
# error of a term relative to C R^(2 - n), about twice the greatest measured: logarithms reach 10
NOISE = 8 * 2.2e-16


@remembered
def nodes(problem, machine):
    """Return the ensemble's Nodes on a machine."""
    with machine.work():
        arrays = lattice.prisms_of(problem, machine.xp)
        # on a device sorting costs more than filling a lattice
        regular = lattice.regular_nodes(*arrays, machine) if machine.width >= DEVICE else None
        if regular is None:
            return lattice.nodes(*arrays, machine.xp)
        vertices, problem.memo["mass"] = regular
        return vertices


def middle(rows):
    """Return some rows out of the middle."""
    begin = max(len(rows) - SAMPLE, 0) // 2
    return rows[begin : begin + SAMPLE]


def different(density):
    """Return True where nearly every prism has a density of its own: no interior vanishes."""
    return len(np.unique(density)) > 0.5 * len(density)


def shared(prisms):
    """Planes of the faces of some prisms relative to their greatest number: 1 where no two are
    alike; the least of the three axes.
    """
    if len(prisms) < 64:
        return 0.0
    return min(len(np.unique(prisms[:, 2 * axis : 2 * axis + 2])) / (2 * len(prisms)) for axis in range(3))


def estimate(problem, speed):
    """Return what the nodes cost."""
    unfit = partial(Estimate, "vertex", 0.0, applies=False)
    if not problem.pairs:
        return unfit("there is nothing to do")
    prisms, points, machine = len(problem.prisms), problem.points.shape[1], speed.machine
    if NEEDED * prisms > machine.memory()[0]:
        return unfit(f"to find the nodes of {prisms} prisms needs {NEEDED * prisms / 2**30:.1f} GiB at once")
    if shared(middle(problem.prisms)) > 0.5:
        return unfit("the prisms share too few faces")
    # then finding the nodes would cost more than it can tell
    if prisms > MANY and (points < FEW or different(middle(problem.density))):
        count, special, rough = prisms, 0, np.sqrt(8.0) * np.linalg.norm(problem.density)
        low, high = problem.prisms.T[::2], problem.prisms.T[1::2]
        box = np.array([[side.min() for side in low], [side.max() for side in high]])
    else:
        try:
            vertices = nodes(problem, machine)
        except OverflowError as reason:
            return unfit(str(reason))
        count, special = len(vertices.coefficient), len(split_off(problem, vertices, machine)[1])
        rough, box = np.linalg.norm(machine.to_host(vertices.coefficient)), ends(vertices, machine)
    error = bound(problem, rough, box)
    seconds = speed.start + (count * (points - special) / CHEAPER + special * prisms) / speed.double + FIND * prisms
    if error > problem.rtol:
        return unfit(f"far from a small body nodes cancel: error {error:.1e}, allowed {problem.rtol:.1e}")
    return Estimate("vertex", seconds, f"{count} nodes for {prisms} prisms, error below {error:.1e}")


@remembered
def mass(problem):
    """Return the mass of all prisms without signs, kg."""
    (more, less), _ = ensembles.mass(problem)
    return more - less


def bound(problem, rough, box):
    """Estimated error at the worst point, relative to the sum of the magnitudes of all prisms'
    attractions there.

    Terms are of the order of C R^(2 - n) for the n-th derivative of the potential, R the distance
    of the farthest node, and each carries `NOISE`; many add up like random numbers, to that of
    `rough`, the root of the sum of C^2. The field is at least m / R^(n + 1) with the mass m of all
    prisms. R^3 / m is left, for every field.
    """
    low, high = (corner[:, None] for corner in box)
    farthest = np.sqrt((np.maximum(problem.points - low, high - problem.points) ** 2).sum(axis=0).max())
    return float(NOISE * rough * farthest**3 / mass(problem))


def ends(vertices, machine):
    """Corners of the box around all nodes."""
    at = np.array([machine.to_host(axis.at[[0, -1]]) for axis in vertices.planes])
    return at[:, 0], at[:, 1]


@remembered
def split_off(problem, vertices, machine):
    """Return points (3, N) for the nodes, and indices of those that need the closed form's rules: gradients on
    faces and edges in the ensemble.

    On its outer faces the field is the limit from outside: there points step outside by a rounding error.
    """
    points = problem.points
    if not any(order(name) == 2 for name in problem.fields):
        return points, np.zeros(0, int)
    low, high = ends(vertices, machine)
    slack = lattice.ULPS * np.maximum(np.abs(low), np.abs(high))
    inside = np.flatnonzero(((points >= (low - slack)[:, None]) & (points <= (high + slack)[:, None])).all(axis=0))
    touched, stepped = np.zeros((3, len(inside)), bool), np.zeros(len(inside), bool)
    points = points.copy() if len(inside) else points
    for axis, planes in enumerate(vertices.planes):
        at, here = machine.to_host(planes.at), points[axis, inside]
        place = np.searchsorted(at, here).clip(1, len(at) - 1)
        touched[axis] = np.minimum(np.abs(here - at[place - 1]), np.abs(here - at[place])) <= slack[axis]
    alone = touched.sum(axis=0) == 1
    for axis in range(3):
        here, step = points[axis, inside], max(slack[axis] / 8, 1e-15 * float((high - low).max()))
        above, below = (touched[axis] & alone & outside for outside in (here >= high[axis], here <= low[axis]))
        points[axis, inside[above]], points[axis, inside[below]] = (high[axis] + step, low[axis] - step)
        stepped |= above | below
    return points, inside[touched.any(axis=0) & ~stepped]


def plan(problem, vertices, machine):
    """Return the plan of a sum over nodes; a node is four reals, its place and coefficient, streamed like prisms."""
    at, coefficient, width = machine.to_host(vertices.at), machine.to_host(vertices.coefficient), machine.width
    frame, points = tiles.Frame(replace(problem, precision="float64")), problem.points
    order = np.arange(points.shape[1])
    targets = tiles.Targets(order, lambda chosen, stride: {"points": frame.points(points[:, chosen], stride)})
    sources = tiles.streamed(nodes=np.concatenate([at, coefficient[:, None]], axis=1), most=NODES)
    groups, parts = tiles.cut(targets, sources, width, max(width // 16, 1), max(len(order), 1))
    return tiles.plan(attract_nodes(problem.fields), problem.fields, frame.factors, targets, sources, groups, parts)


def solve(problem, runner):
    """Fields (fields, points) in their units."""
    machine = runner.machine
    vertices = nodes(problem, machine)
    points, special = split_off(problem, vertices, machine)
    here = plan(replace(problem, points=points), vertices, machine)
    values = runner.scaled(problem.pairs / max(here.work, 1)).sweep(here)
    if len(special):
        distinct = replace(problem, precision="float64", points=np.ascontiguousarray(problem.points[:, special]))
        values[:, special] = direct.solve(distinct, runner)
    return values
