"""The Earth model of a scenario as methods see it: cell averages, values at points, extremes, and
what is wrong with it.

A model is any object with the names of the scenario's `model` table: `kind` homogeneous (vp, vs,
rho), layers (layers) or file (file), and for each `anomalies`. Inside, it becomes a medium
(`Layered` or `Gridded`) with anomalies on top.
"""

from pathlib import Path

import numpy as np

from craton.errors import ScenarioError
from craton.model.ground import terrain
from craton.model.media import anomalies, cells, checks, gridded, layered, properties, readers

CUT = 4  # samples per axis in a cell that the surface of an anomaly cuts
BATCH = 1 << 18  # samples held at a time while such cells are averaged


def cell_averages(model, grid, k0, k1, cut=True):
    """Density and moduli averaged over the cells of some planes of a grid.

    A cell has the size of the spacing, is centred on its integer point and is clipped at the first and last point of
    the grid: the cells of the top plane are their lower halves. Density is the arithmetic mean over the cell, the bulk
    and the shear modulus are harmonic means (Moczo et al. 2002, BSSA 92, 3042-3066). Flat layers are exact wherever an
    interface crosses a cell; a cell that an anomaly's surface cuts is sampled 4 times along each axis (its share of the
    cell is known to 1/8 at worst, where the surface runs along the grid; exactly for the horizontal faces of boxes);
    model files are interpolated linearly at 2 points along each axis.

    `k0`, `k1`: planes k0 to k1 - 1, counted from the bottom; `cut`: density and moduli times the part of a cell that is
    below the surface; else those of the matter in a cell, without a surface where it is empty. Returns rho, kappa, mu
    arrays (k1 - k0, ny, nx), float64: kg/m3, Pa, Pa; Read-only views, constant along y and x, where the model depends
    on z only. mu is 0 in a cell with fluid in it; all three are 0 in a cell above the surface of a model with
    topography (`terrain.fill`). Raises ScenarioError: a model file cannot be read.
    """
    return _below_ground(model, grid, k0, k1, cells.ELASTIC, cut)


def cell_losses(model, grid, k0, k1):
    """1/Qp and 1/Qs averaged over the cells of some planes of a grid, 0 where a model says nothing of Q.

    As `cell_averages`, with the losses of bulk and shear modulus weighted with compliances: harmonic means of complex
    moduli (Kristek & Moczo 2003, BSSA 93, 2273-2280) to first order in 1/Q. 1/Qs is 0 in a cell with fluid in it.

    `k0`: first plane; `k1`: one past the last plane. Returns 1/Qp, 1/Qs arrays (k1 - k0, ny, nx), float64.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = _averages(model, grid, k0, k1, cells.LOSSES)
    ground = terrain.build(model)
    return losses if ground is None else terrain.lossless(ground, grid, k0, k1, losses)


def cell_stiffness(model, grid, k0, k1, cut=True):
    """Density and c11, c13, c33, c44, c66 averaged over the cells of some planes of a grid: transverse isotropy about
    z.

    As `cell_averages`, with the mean of thin horizontal layers (Backus 1962) for the stiffness, Pa.

    `k0`: first plane; `k1`: one past the last plane; `cut`: see `cell_averages`. Returns rho, c11, c13, c33, c44, c66
    arrays (k1 - k0, ny, nx), float64.
    """
    return _below_ground(model, grid, k0, k1, cells.VTI, cut)


def _below_ground(model, grid, k0, k1, average, cut):
    """Return an average over cells with the surface in them."""
    ground = terrain.build(model)
    with np.errstate(divide="ignore", invalid="ignore"):
        averages = _averages(model, grid, k0, k1, average)
    return averages if ground is None else terrain.fill(ground, grid, k0, k1, averages, cut)


def _averages(model, grid, k0, k1, average):
    """Return an average over cells, as if there were no surface in the grid."""
    box = cells.slab(grid, k0, k1)
    medium = medium_of(model, box, average.names)
    averages = medium.averages(grid, k0, k1, average)
    bodies = [a for a in anomalies.build(model) if a.meets(box)]
    if not bodies:
        return averages
    averages = tuple(np.array(values) for values in averages)
    cells.in_parallel(
        lambda k: _overlay(medium, bodies, grid, k, [values[k - k0] for values in averages], average), range(k0, k1)
    )
    return averages


def medium_of(model, box, names=checks.NAMES):
    """Return the medium of a model without its anomalies, at least for a box ((x0, x1), (y0, y1), (z0, z1)).

    `box` ((x0, x1), (y0, y1), (z0, z1)), m; `names`: of `properties.NAMES`.
    """
    if model.kind != "file":
        flat, ground = layered.build(model, names), terrain.build(model)
        return layered.Followed(flat, ground) if layered.follows(model) else flat
    return readers.part_of(model, box, names)


def _overlay(medium, bodies, grid, k, plane, average):
    """Average anew the cells of plane k that anomalies touch, into `plane`: an array (ny, nx) for
    each value of the average.
    """
    whole, cut = anomalies.cover(bodies, grid, k)
    faces = np.array([z for a in bodies if not a.radius for z in (a.lower[2], a.upper[2])])
    (lower,), (upper,) = cells.edges(grid, "z", k, k + 1)
    parts, pieces, order = medium.whole
    for where, sides, nodes in (
        (whole, parts, cells.quadrature(lower, upper, medium.breaks, pieces, order)),
        # the horizontal faces of boxes are known exactly: no need to sample for them
        (cut, CUT, cells.quadrature(lower, upper, np.append(medium.breaks, faces), CUT, 1)),
    ):
        j, i = np.nonzero(where)
        batch = max(BATCH // (sides * sides * len(nodes[0])), 1)
        for start in range(0, len(j), batch):
            at = j[start : start + batch], i[start : start + batch]
            for values, mean in zip(plane, _sampled(medium, bodies, grid, at, sides, nodes, average)):
                values[at] = mean


def _sampled(medium, bodies, grid, at, sides, nodes, average):
    """Means over cells at rows and columns `at`, from `sides` samples along x and y, and nodes and
    weights along z.
    """
    (xa, xb), (ya, yb) = (cells.edges(grid, name) for name in "xy")
    j, i = at
    x = cells.middles(xa[i], xb[i], sides)[:, None, None, :]
    y = cells.middles(ya[j], yb[j], sides)[:, None, :, None]
    z, weights = (values[None, :, None, None] for values in nodes)
    sampled = anomalies.apply(bodies, x, y, z, medium.values(x, y, z))
    shape = (len(i), z.shape[1], sides, sides)
    with np.errstate(divide="ignore", invalid="ignore"):  # in another thread than its caller's
        return average([np.broadcast_to(values, shape) for values in sampled], weights / sides**2, (1, 2, 3))


def point_values(model, xyz):
    """vp, vs and density at points, anomalies included.

    `xyz` array (n, 3): positions, metres; a point on an interface takes the layer below; outside a model file the
    nearest value. Returns vp, vs, rho arrays (n,): m/s, m/s, kg/m3.
    """
    xyz = np.asarray(xyz, dtype=float).reshape(-1, 3)
    if not len(xyz):
        return np.empty(0), np.empty(0), np.empty(0)
    medium = medium_of(model, list(zip(xyz.min(0), xyz.max(0))))
    return anomalies.apply(anomalies.build(model), *xyz.T, medium.values(*xyz.T))


def in_fluid(model, xyz):
    """Return which positions lie in a fluid of the model or in its water, (n,) bool; a point on an interface takes the
    layer below.

    `xyz` array (n, 3): positions, metres.
    """
    xyz = np.asarray(xyz, dtype=float).reshape(-1, 3)
    fluid = point_values(model, xyz)[1] == 0
    ground = terrain.build(model)
    if ground is not None and ground.water is not None:
        fluid |= xyz[:, 2] > ground.surface(xyz[:, 0], xyz[:, 1])
    return fluid


def extremes(model, region):
    """Smallest and largest values of a model in a grid or `Region`.

    Exact for layers; for a file those of its points in the region (interpolation stays between them); for relative
    anomalies those at a lattice of points in them.

    Returns dict: ``vp``, ``vs`` (m/s), ``rho`` (kg/m3), ``lam`` (lambda, Pa): (smallest, largest); ``slowest``: the
    slowest wave, m/s: the smallest vs of the solid and vp of the fluid, which limits the spacing.
    """
    ground = terrain.build(model)
    region = region if ground is None else terrain.clipped(ground, region)
    water = getattr(model, "water", None)
    seen = [] if water is None else [_summary(*(np.full(1, v) for v in (water.vp, 0.0, water.rho)))]
    seen += [_summary(*values) for *_, values in samples(model, region, checks.NAMES)]
    low, high, slowest = zip(*seen)
    limits = zip((*checks.NAMES, "lam"), np.min(low, 0), np.max(high, 0))
    return {name: (float(a), float(b)) for name, a, b in limits} | {"slowest": float(min(slowest))}


def samples(model, region, names=properties.NAMES):
    """Give values that show the extremes of a model in a grid or `Region`: (key, (x, y, z), values of `names`), arrays
    that broadcast together.

    Both ends of each layer, the points of a file, a lattice in each anomaly.
    """
    box = cells.box(region)
    if model.kind == "file":
        with readers.open_file(model, variables=names) as source:
            yield from (("file", slab.points(), slab.fields) for slab in source.slabs(box))
    else:
        medium = layered.build(model, names)
        for i, z, values in medium.ends(*_depths(model, terrain.build(model), region)):
            yield medium.keys[i], (box[0][0], box[1][0], z), values
    bodies = anomalies.build(model)
    medium = medium_of(model, around(bodies, box), names) if any(a.meets(box) for a in bodies) else None
    for i, anomaly in enumerate(bodies):
        xyz = anomalies.samples(anomaly, box, medium.breaks) if anomaly.meets(box) else [np.empty(0)]
        if len(xyz[0]):
            yield f"anomalies.{i}", xyz, anomalies.apply(bodies, *xyz, medium.values(*xyz))


def _depths(model, ground, region):
    """Lowest and highest z of a layered medium in a region, counted from the ground where it
    follows that.
    """
    low, high = region.bounds("z")
    if not layered.follows(model):
        return low, high
    _, highest = terrain.heights(ground, region)
    return low - highest, 0.0


def _summary(vp, vs, rho):
    slow, lam = np.where(vs > 0, vs, vp), rho * (vp**2 - 2 * vs**2)
    shown = (vp, vs, rho, lam)
    return [v.min() for v in shown], [v.max() for v in shown], slow.min()


def around(bodies, box):
    """Return the part of a box that the anomalies meet.

    `box` ((x0, x1), (y0, y1), (z0, z1)), m.
    """
    met = [a for a in bodies if a.meets(box)]
    lower, upper = np.min([a.lower for a in met], 0), np.max([a.upper for a in met], 0)
    return [(max(a, low), min(b, high)) for a, b, (low, high) in zip(lower, upper, box)]


def problems(model, region, key="model"):
    """Everything that is wrong with a model for a grid or `Region`.

    Values that are not finite, vp or density not above zero, vs > vp / sqrt(2), layers out of order or starting below
    the top of the domain, a file that is missing, unreadable, incomplete or smaller than the domain, anomalies outside
    or with wrong values.

    `key`: of the model in the scenario, for messages. Returns list of Problem: empty where all is well.
    """
    try:
        ground = terrain.build(model)
        wrong = [] if ground is None else terrain.problems(ground, region, key)
        if wrong:
            return wrong
        region = region if ground is None else terrain.clipped(ground, region)
        box = cells.box(region)
        if model.kind == "file":
            wrong = _file_problems(model, region, box, key)
        else:
            wrong = _layer_problems(model, ground, region, key)
    except ScenarioError as error:
        return list(error.problems)
    bodies = anomalies.build(model)
    if wrong or not bodies:
        return wrong
    medium = medium_of(model, around(bodies, box)) if any(a.meets(box) for a in bodies) else None
    return anomalies.problems(bodies, medium, box, key)


def _layer_problems(model, ground, region, key):
    low, high = _depths(model, ground, region) if ground is not None else region.bounds("z")
    (x0, y0, _), (x1, y1, _) = zip(*(region.bounds(name) for name in "xyz"))
    medium = layered.build(model)
    if ground is not None and not layered.follows(model):  # ground above the first layer is of it
        high = max(min(high, float(medium.breaks[0])), low)
    wrong = layered.problems(medium, cells.Region((x0, y0, low), (x1, y1, high)), key)
    return wrong or checks.unlikely(model, key, (values for *_, values in medium.ends(low, high)))


def _file_problems(model, region, box, key):
    with readers.open_file(model, f"{key}.file") as source:
        at, path = f"{key}.file", model.file
        if path is None:
            at, path = f"{key}.properties", next(iter(model.files.values()))
        if getattr(model, "extend", False):
            region = _below(source.axes[2][-1], region)
        wrong = gridded.extent_problems(source.axes, region, Path(path).name, at)
        for slab in source.slabs(box):
            worse = checks.points(at, slab.points(), *slab.fields, noun="points read")
            if worse:
                return wrong + worse
        return wrong or checks.unlikely(model, at, (slab.fields for slab in source.slabs(box)))


def _below(top, region):
    """Return the part of a region that lies below an elevation, m."""
    lower, upper = zip(*(region.bounds(name) for name in "xyz"))
    return cells.Region(lower, (*upper[:2], float(max(min(upper[2], top), lower[2]))))
