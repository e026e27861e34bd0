"""How far the answer of each method may be from the truth, estimated from the problem in a small
part of the time of the answer itself.

Rounding of the closed form and of nodes adds up like random numbers; each term's is bounded (see
`rounding_bounds`, `closed_form`, `nodes`). Transforms spread theirs evenly (`convolution`). The tree errs by less than
its bound (`tree`). In single precision the error is measured (`measured`).
"""

from dataclasses import replace

import numpy as np

from craton.methods.gravity import DEVICE, direct, far, fft, speed, vertex, walk
from craton.methods.gravity.fields import order, scale

EPSILON = 2.2e-16
BATCH = 64  # terms that are added up before they join the whole sum, see attract.h
SHARED = 8  # prisms that share a node, and the roundings of its distance from a point
# pairs of prisms and points whose rounding is bounded: at least, on a CPU and on a device; at most;
# the part of the time of the direct sum that this may take; seconds for each
LEAST_PAIRS, MOST_PAIRS, PART, BOUND_SECONDS = (1 << 14, 1 << 11), 1 << 18, 0.02, 1.5e-6
BLOCK = 1 << 11  # of these pairs: what is in between stays in the cache
CHEAPER = 16  # distances of prisms in the time of one of these bounds
# points at which an answer is compared with the direct sum in double, or its error estimated
SAMPLES = 64
SEEN = 512  # prisms that stand for all
FEWEST = 64  # prisms from which distances of points are looked at
CELLS = 16  # coarse cells of the bound along an axis, at most
THINNED = 1 << 16  # points, or prisms, among which those that tell are sought
# greatest difference at all points over that at the sample points: mostly 1 to 4, up to 17 was seen
ELSEWHERE = 20.0


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
        error = {"direct": closed_form, "vertex": nodes, "fft": convolution, "far": tree}[name](problem, values, runner)
    return dict(zip(problem.fields, map(float, error)))


def closed_form(problem, values, runner):
    """Return rounding of a direct sum in double precision: that of each prism is bounded (see
    `rounding_bounds`), and those of many add up in quadrature, `SHARED` of them at a time alike; so do
    those of the additions.
    """
    points, prisms, share = telling_pairs(problem, affordable(problem, runner.machine))
    density, worst = problem.density[prisms], np.zeros(len(problem.fields))
    undefined = np.isnan(values[:, points])
    for n in range(0, len(points), step := max(BLOCK // len(prisms), 1)):
        here = problem.points[:, points[n : n + step]]
        bounds = rounding_bounds(problem.prisms[prisms], here)
        power = np.array([(density * bounds[name]) ** 2 @ share for name in problem.fields])
        power[undefined[:, n : n + step]] = 0
        worst = np.maximum(worst, power.max(axis=1))
    additions = np.sqrt(BATCH + len(problem.density) / BATCH)
    summing = UNIT * additions * greatest(values)
    return scale(problem.fields) * np.sqrt(SHARED * worst) + summing


def greatest(values):
    """Return the greatest magnitude of each field, nan left out."""
    most, least = np.fmax.reduce(values, axis=1), np.fmin.reduce(values, axis=1)
    return np.nan_to_num(np.maximum(most, -least))


def affordable(problem, machine):
    """Pairs whose rounding may be bounded, in a small part of the time of the direct sum."""
    seconds = problem.pairs / speed(machine, problem.fields, "float64").double
    least = LEAST_PAIRS[machine.width >= DEVICE]
    return int(np.clip(PART * seconds / BOUND_SECONDS, least, MOST_PAIRS))


def telling_pairs(problem, most):
    """Return indices of points and of prisms, at most so many pairs, that tell the rounding, and
    how many prisms each stands for: all if they are few; else prisms that are large and dense,
    that are close to one of the points, and an even spread of the others.
    """
    prisms, points = len(problem.density), problem.points.shape[1]
    if prisms * points <= most:
        return np.arange(points), np.arange(prisms), np.ones(prisms)
    points = telling(problem, CHEAPER * most)
    points = points[sample(len(points), max(most // SEEN, 1))]
    count = most // len(points)
    if prisms <= count:
        return points, np.arange(prisms), np.ones(prisms)
    some = sample(prisms, THINNED)
    sides = (problem.prisms[some, 1::2] - problem.prisms[some, ::2]).max(axis=1)
    heavy = np.argpartition(-np.abs(problem.density[some]) * sides, count // 4)
    heavy, some = some[heavy[: count // 4]], some[sample(len(some), CHEAPER * count)]
    _, close = closeness(problem, points, some)
    near = some[np.argpartition(-close, count // 2)[: count // 2]]
    chosen = np.union1d(heavy, near)
    rest = np.setdiff1d(sample(prisms, count - len(chosen)), chosen)
    share = np.full(len(rest), (prisms - len(chosen)) / max(len(rest), 1))
    return points, np.concatenate([chosen, rest]), np.concatenate([np.ones(len(chosen)), share])


def closeness(problem, points, prisms):
    """Return of points, and of prisms, how close they come to some of the others: the greatest
    longest side of a prism times its density over the distance of its surface from a point.
    """
    part, of_points, of_prisms = problem.prisms[prisms], [], np.zeros(len(prisms))
    sides = (part[:, 1::2] - part[:, ::2]).max(axis=1)
    weight = np.abs(problem.density[prisms]) * sides
    for n in range(0, len(points), step := max(BLOCK * CHEAPER // len(prisms), 1)):
        gap, square = -np.inf, 0.0
        for axis, (low, high) in enumerate(zip(part.T[::2], part.T[1::2])):
            at = problem.points[axis, points[n : n + step]][:, None]
            beyond = np.maximum(low - at, at - high)
            gap, square = np.maximum(gap, beyond), square + np.maximum(beyond, 0.0) ** 2
        away = np.where(gap < 0, -gap, np.sqrt(square))
        close = weight / np.maximum(away, 1e-9 * sides)
        of_points.append(close.max(axis=1))
        of_prisms = np.maximum(of_prisms, close.max(axis=0))
    return np.concatenate(of_points), of_prisms


def nodes(problem, values, runner):
    """Return rounding of the sum over nodes: see `vertex.bound`."""
    machine = runner.machine
    corners = vertex.nodes(problem, machine)
    rough = np.linalg.norm(machine.to_host(corners.coefficient))
    low, high = vertex.ends(corners, machine)
    # at least the distance of any point from any node
    reach = float(np.linalg.norm(np.maximum(problem.points.max(axis=1) - low, high - problem.points.min(axis=1))))
    return vertex.NOISE * rough * scale(problem.fields) * [reach ** (2 - order(name)) for name in problem.fields]


def convolution(problem, values, runner):
    """Return rounding of transforms, spread evenly over the lattice, and that of the closed form in
    the kernels.
    """
    spread = problem.memo["spread"] + greatest(values)
    return fft.NOISE * EPSILON * spread + closed_form(problem, values, runner)


def tree(problem, values, runner):
    """Measured where that takes less than a tenth of the walk; else the bound of `far`, 100 to
    100,000 times what was measured elsewhere.

    The bound: rtol times the greatest sum over the prisms of G |m| / r^(n + 1), doubled for
    gradients; and rounding. The sum runs over coarse cells of the ensemble, at sample points:
    cheap, and within a factor of about two.
    """
    prisms, count = len(problem.prisms), problem.points.shape[1]
    if SAMPLES * prisms < 0.1 * count * walk(prisms, far.degree_for(problem.rtol)):
        return measured(problem, values, runner) + closed_form(problem, values, runner)
    mass, centre, width = coarse(problem)
    points = problem.points[:, telling(problem)]
    away = np.maximum(np.linalg.norm(points[:, :, None] - centre[:, None, :], axis=0), width)
    sums = [float((away ** -(n + 1.0) @ mass).max()) for n in range(3)]
    sums[2] *= 2
    bound = problem.rtol * scale(problem.fields) * [sums[order(name)] for name in problem.fields]
    return bound + closed_form(problem, values, runner)


def coarse(problem):
    """Magnitudes of masses in at most 16^3 cells of the ensemble, their centres (3, n), and half a
    cell's width.
    """
    low, high = problem.prisms[:, ::2], problem.prisms[:, 1::2]
    mass, centre = np.abs(problem.density) * np.prod(high - low, axis=1), 0.5 * (low + high)
    begin, extent = centre.min(axis=0), np.ptp(centre, axis=0)
    count = int(np.clip(round((len(mass) / 8) ** (1 / 3)), 1, CELLS))
    place = np.minimum((centre - begin) * (count / np.maximum(extent, 1e-300)), count - 1).astype(np.int64)
    cell = place @ [1, count, count**2]
    total = np.bincount(cell, mass, count**3)
    heavy = np.flatnonzero(total)
    middle = np.stack([np.bincount(cell, mass * c, count**3)[heavy] / total[heavy] for c in centre.T])
    return total[heavy], middle, 0.5 * max(float(extent.max()) / count, float((high - low).max()))


def measured(problem, values, runner):
    """Greatest difference from double precision at sample points, all of a small problem, times
    `ELSEWHERE`.
    """
    most = affordable(problem, runner.machine)
    few = problem.pairs <= most
    chosen = np.arange(problem.points.shape[1]) if few else telling(problem, CHEAPER * most)
    exact = replace(problem, points=np.ascontiguousarray(problem.points[:, chosen]), precision="float64", rtol=1e-10)
    cheap = far if exact.pairs > 1e9 else direct
    difference = np.abs(values[:, chosen] - cheap.solve(exact, runner))
    return ELSEWHERE * np.nanmax(difference, axis=1, initial=0.0)


def telling(problem, most=1 << 16):
    """Return indices of sample points, half of them close to some prism for its size, where fields
    and errors are greatest; at most so many distances of points from prisms are looked at.
    """
    step = max(problem.points.shape[1] // THINNED, 1)
    prisms, points = sample(len(problem.prisms), SEEN), problem.points[:, ::step]
    part = problem.prisms[prisms]
    low, high = part[:, ::2].min(axis=0)[:, None], part[:, 1::2].max(axis=0)[:, None]
    gap = np.linalg.norm(np.maximum(np.maximum(low - points, points - high), 0.0), axis=0)
    nearest = np.flatnonzero(gap <= gap.min() + 0.05 * np.linalg.norm(high - low))
    prisms = prisms[sample(len(prisms), max(most // len(nearest), FEWEST))]
    nearest = nearest[sample(len(nearest), most // len(prisms))]
    close, _ = closeness(problem, step * nearest, prisms)
    first = np.argsort(-close)[: SAMPLES // 2]
    return step * np.union1d(nearest[first], sample(len(gap), SAMPLES // 2))


def sample(count, most):
    """Return indices of an even spread of points."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(int))


# --- rounding of the closed form --------------------------------------------------------------------------------------

UNIT = 2.0**-53
# in units of rounding: of a distance (offsets, squares, their sum, its root); of the two distances
# and the side of an edge
DISTANCE, EDGE = 3.0, 4.0
BESIDE = 4 * DISTANCE  # of the quotient in a logarithm beside an edge
LOG = 9.0  # of a difference of two logarithms: the products and the quotient in it, and its own
TRIPLE = 10.0  # of a product of three distances, or of one and a scalar product
ANGLE = 8.0  # of an angle of known components, and of its factor
LEAST = 1e-30  # as in prism.h
EDGES, FACES = ((0, 1, 2), (0, 2, 1), (1, 2, 0)), ((0, 1, 2), (1, 0, 2), (2, 0, 1))


def rounding_bounds(prisms, points):
    """Bounds of the rounding of all fields of prisms of unit density over G at points, in SI.

    An error of the distances r1 and r2 from the ends of an edge of length l changes its logarithm
    L = ln((S + l) / (S - l)), S = r1 + r2, by 2 l dS / (S^2 - l^2): with distance this falls less
    than what is left of four of them. The solid angle of a face is twice that of first + i top for
    each of two triangles; `first` loses digits near edges and diagonals of long faces.

    Parameters
    ----------
    prisms : ndarray
        (M, 6).
    points : ndarray
        (3, N).

    Returns
    -------
    dict of str to ndarray
        (N, M) by the name of a field.
    """
    offsets = (prisms.T[:, None] - np.repeat(points, 2, axis=0)[:, :, None]).reshape(3, 2, points.shape[1], -1)
    sides = (prisms[:, 1::2] - prisms[:, ::2]).T
    (xx, yy, zz), axes = offsets**2, "enz"
    away = np.sqrt(xx[:, None, None] + yy[None, :, None] + zz[None, None])
    out = dict.fromkeys(("potential", "g_e", "g_n", "g_z"), 0.0)
    for a, b, t in EDGES:
        distances = np.moveaxis(away, (a, b, t), (0, 1, 2))
        parts = _edges(offsets[a], offsets[b], offsets[t], sides[a], sides[t], distances)
        for name, part in zip(("g_" + axes[a], "g_" + axes[b], "potential"), parts):
            out[name] = out[name] + part
        out[f"g_{axes[a]}{axes[b]}"] = parts[3]
    for h, u, v in FACES:
        distances = np.moveaxis(away, (h, u, v), (0, 1, 2))
        height, area = np.abs(offsets[h]), sides[u] * sides[v]
        angles = [_angle(height[n], offsets[u], offsets[v], area, distances[n]) for n in range(2)]
        out["g_" + axes[h]] = out["g_" + axes[h]] + (height * angles).sum(axis=0)
        out["potential"] = out["potential"] + 0.5 * (height**2 * angles).sum(axis=0)
        out[f"g_{axes[h]}{axes[h]}"] = angles[0] + angles[1]
    return {name: UNIT * bound for name, bound in out.items()}


def _edges(a, b, t, side, length, r):
    """Bounds of what the four edges along t give g_a, g_b, the potential, and of their mixed
    difference; in units of rounding.

    Distances r (a, b, t, points, prisms), offsets (2, points, prisms).
    """
    across = np.maximum((a**2)[:, None] + (b**2)[None], LEAST)
    (near, far), outside = np.sort(np.abs(t), axis=0), t[0] * t[1] > 0
    total, (closer, farther) = r.sum(axis=2), np.moveaxis(np.sort(r, axis=2), 2, 0)
    rest = np.where(outside, closer + near + across / (farther + far), total - length)
    beside = ~outside & (rest < length)
    ratio = np.where(beside, (closer + near) * (farther + far) / across, (total + length) / np.maximum(rest, LEAST))
    error = np.where(beside, BESIDE, 2 * EDGE * length * total / (np.maximum(rest, LEAST) * (total + length)))
    logs = np.log(np.maximum(ratio, LEAST))
    (a1, a2), (b1, b2) = np.abs(a), np.abs(b)
    (d1, d2), e1 = LOG * np.abs(logs[0] - logs[1]), LOG * np.abs(logs[0, 0] - logs[0, 1])
    to_a = b1 * (error[0, 0] + error[1, 0] + d1) + b2 * (error[0, 1] + error[1, 1] + d2)
    to_b = a1 * (error[0].sum(axis=0) + e1) + a2 * (error[1].sum(axis=0) + d1 + d2 + e1)
    potential = a2 * to_a + side * (b1 * (error[0, 0] + LOG * logs[0, 0]) + b2 * (error[0, 1] + LOG * logs[0, 0] + e1))
    return to_a, to_b, potential, error.sum(axis=(0, 1)) + d1 + d2


def _angle(height, u, v, area, r):
    """Bound of the solid angle of a face, in units of rounding."""
    p, q, hh, top = u[0] * u[1], v[0] * v[1], height**2, height * area
    cross, out = hh + p + q, 0.0
    for n, other in ((1, 0), (0, 1)):  # the corner (u[n], v[other]) that one triangle has alone
        alone = r[0, 0] * r[1, 1] * r[n, other]
        first = alone + cross * r[n, other]
        first += (hh + p + v[other] ** 2) * r[n, n] + (hh + q + u[n] ** 2) * r[other, other]
        out = out + ANGLE * np.arctan2(top, first)
        out = out + 2 * TRIPLE * alone * top / np.maximum(first**2 + top**2, LEAST)
    return out
