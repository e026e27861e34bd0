"""Method `far`: clusters of prisms act by their multipole expansions, cost N log N; the error
against `direct` is bounded.

At every point it is at most rtol times the sum over the prisms of G |m| / r (potential), G |m| /
r^2 (accelerations) or 2 G |m| / r^3 (gradients).
"""

import numpy as np

from craton.core.grid import Layout
from craton.core.plan import Array, Phase, StepPlan
from craton.methods.gravity import DEVICE, GROW, Estimate, direct, tiles, tree, walk
from craton.methods.gravity.fields import kinds
from craton.methods.gravity.operators import LANES, attract_clusters, launch, of_nodes
from craton.model.prisms.morton import morton_order

POINTS = 4  # of a tile for every point that the machine takes at a time
# prisms of a leaf at most, on a CPU and on a device: there growing costs more than walking
LEAF = (32, 64)
PRISMS = 1 << 21  # of a tree; more prisms make several trees, one after the other
# of a tree on a device with so many bytes; a grid of blocks ends at 2^24 prisms
ROOMY = 15 << 20, 32 << 30
# bytes for each prism of a tree at most, host and machine together: 600 to 2,200 measured for
# degrees 4 to 12
NEEDED = 2600
LEAST = 1024  # prisms of a tree, however little memory there is


def degree_for(rtol):
    """Degree of the expansions: more where more digits are asked for."""
    return 4 if rtol >= 1e-3 else 6 if rtol >= 1e-5 else 8 if rtol >= 1e-7 else 10 if rtol >= 1e-10 else 12


def estimate(problem, speed):
    """Return what the walk through the tree costs, the growth of the tree included."""
    degree, points = degree_for(problem.rtol), problem.points.shape[1]
    seconds = speed.start + GROW * len(problem.prisms) + points * walk(len(problem.prisms), degree) / speed.pairs
    words = f"clusters of prisms by multipoles of degree {degree}, error below {problem.rtol:g}"
    return Estimate("far", seconds, words)


def most_prisms(machine):
    """Return how many prisms a tree has at most."""
    most = ROOMY[0] if machine.width >= DEVICE and machine.memory()[1] >= ROOMY[1] else PRISMS
    return min(most, max(machine.memory()[0] // (2 * NEEDED), LEAST))


def solve(problem, runner):
    """Fields (fields, points) in their units."""
    out = np.zeros((len(problem.fields), problem.points.shape[1]))
    most = most_prisms(runner.machine)
    for begin in range(0, len(problem.prisms), most):
        part = slice(begin, begin + most)
        out += runner.sweep(plan(problem, problem.prisms[part], problem.density[part], runner))
    return out


def plan(problem, prisms, density, runner):
    """Return the plan of a walk through the tree of some of the problem's prisms: tiles of points, all of which
    walk the tree; few points share it out among parts.
    """
    width = runner.machine.width
    grown = tree.build(prisms, LEAF[width >= DEVICE])
    degree, orders = degree_for(problem.rtol), kinds(problem.fields)
    prisms, density = grown.prisms, density[grown.order]
    frame = tiles.Frame(problem)
    centre = frame.rounded(grown.centre)
    radius = grown.radius + np.linalg.norm(centre - grown.centre, axis=1)
    coefficients, loaded = expansions(grown, density, (centre, radius), degree + 2, runner.machine)
    west, east, south, north, bottom, top = prisms.T
    mass = np.abs(density) * (east - west) * (north - south) * (top - bottom)
    mass = np.diff(np.concatenate([[0.0], np.cumsum(mass)])[np.stack([grown.start, grown.stop])], axis=0)[0]
    power = tree.powers(coefficients, degree + 2)
    reach = tree.reaches(power, mass, radius, degree, problem.rtol, orders)
    targets = frame.targets(problem.points, morton_order(problem.points))
    groups = -(-tile_points(problem, width) // LANES)
    parts = int(np.clip(-(-width // (groups * LANES)), 1, 256))
    loaded |= source_arrays(frame, grown, (centre, radius, reach, coefficients)) | shares(grown, parts)
    pairs = direct.pairwise(problem.precision, problem.fields, problem.rtol)
    op = attract_clusters(problem.fields, problem.precision, degree, pairs.starts)
    made, before = frame.records(op, len(prisms), pairs.ratio)
    made |= {name: Array("sources", a.shape, a.dtype, a) for name, a in loaded.items()}
    sources = tiles.Sources(len(prisms), len(prisms), {})
    return tiles.plan(
        op, problem.fields, frame.factors, targets, sources, groups, parts, problem.precision, made, before
    )


def tile_points(problem, width):
    """Return the points of a tile."""
    return tiles.balanced(problem.points.shape[1], min(max(int(POINTS * width), LANES), direct.POINTS))


def expansions(grown, density, balls, degree, machine):
    """Return the complex coefficients (nodes, terms) of all nodes, and the prisms as they lie on the machine:
    moments of the leaves, then level by level those above.
    """
    nodes, matrix = len(grown.start), tree.from_cartesian(degree)
    spans, family, listed, cuts = levels(grown)
    rows, columns = np.nonzero(matrix)
    weights = matrix[rows, columns]
    integers = {
        "spans": spans,
        "family": family,
        "list": listed,
        "terms": np.searchsorted(rows, np.arange(len(matrix) + 1)),
        "columns": columns,
    }
    data = {name: values.astype(np.int32) for name, values in integers.items()} | {
        "faces": grown.prisms,
        "density": density,
        "centres": np.concatenate([balls[0], balls[1][:, None]], axis=1),
        "weights": np.stack([weights.real, weights.imag], axis=1),
    }
    arrays = {name: Array("sources", a.shape, a.dtype, a) for name, a in data.items()}
    arrays["moments"] = Array("scratch", (nodes, matrix.shape[1]), np.float64)
    arrays["out"] = Array("sums", (nodes, 2 * len(matrix)), np.float64)
    ops = [of_nodes(name, degree) for name in ("leaf_moments", "parent_moments", "harmonics")]
    ops[1:2] *= len(cuts) - 2
    phases = tuple(
        Phase(op.name, (launch(op, int(end - begin), {"begin": int(begin), "end": int(end)}),))
        for op, begin, end in zip(ops, [*cuts[:-1], 0], [*cuts[1:], nodes])
    )
    layout = Layout((1, -(-nodes // LANES), LANES), 0)
    program = machine.commit(StepPlan(precision="float64", layout=layout, arrays=arrays, phases=phases))
    program.step(0)
    loaded = {name: program.arrays[name] for name in ("faces", "density")}
    return machine.to_host(program.arrays["out"]).view(np.complex128), loaded


def levels(grown):
    """Return what nodes are made of (prisms of a leaf, children of another), children side by side,
    the nodes in working order and its cuts.
    """
    count, leaf = len(grown.start), grown.leaf
    family = np.argsort(grown.parent, kind="stable")
    begins, ends = (np.searchsorted(grown.parent[family], np.arange(count), side=side) for side in ("left", "right"))
    spans = np.where(leaf[:, None], np.stack([grown.start, grown.stop], axis=1), np.stack([begins, ends], axis=1))
    level = np.where(leaf, 1 << 30, grown.depth)
    listed = np.argsort(-level, kind="stable")
    return spans, family, listed, [0, *(np.flatnonzero(np.diff(level[listed])) + 1), count]


def source_arrays(frame, grown, clusters):
    """Return what clusters.h reads of a tree."""
    centre, radius, reach, coefficients = clusters
    real = np.float32 if frame.split else np.float64
    local = (centre - frame.origin) / frame.unit
    nodes = np.concatenate([local, radius[:, None] / frame.unit, reach / frame.unit], axis=1).astype(real)
    terms = [column for column, (n, m) in enumerate(tree.terms(64)) if n <= 2 * reach.shape[1]]
    needed = coefficients[:, terms] / frame.unit**3
    links = np.stack([grown.start, grown.stop, grown.skip], axis=1).astype(np.int32)
    moments = np.stack([needed.real, needed.imag], axis=2).reshape(len(needed), -1).astype(real)
    return {"nodes": nodes, "moments": moments, "links": links}


def shares(grown, parts):
    """Return the subtrees for each of `parts` walkers: part k walks heads[first[k] .. first[k + 1]]."""
    if parts == 1:
        return {"heads": np.array([0], np.int32), "first": np.array([0, 1], np.int32)}
    largest = max(len(grown.order) // (4 * parts), 1)
    size = grown.stop - grown.start
    above = np.where(grown.parent >= 0, size[grown.parent], 1 << 60)
    heads = np.flatnonzero(((size <= largest) | grown.leaf) & (above > largest))
    ends = np.cumsum(size[heads])
    first = np.searchsorted(ends, np.linspace(0, ends[-1], parts + 1)[1:-1])
    return {"heads": heads.astype(np.int32), "first": np.concatenate([[0], first, [len(heads)]]).astype(np.int32)}
