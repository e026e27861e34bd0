"""What is around a box of elements: the elements of each medium that share points with it, points
where fluid and solid touch of which the box has one side only, and the values there that are
recorded.

Ranks that have parts of a box, or of what is around it, agree on the points that they have in
common.
"""

from dataclasses import dataclass

import numpy as np

from craton.methods.spectral_element.equations.faces import coupled_pairs
from craton.methods.waves.coupling.shell import turned_axes

SPEEDS = ("vp", "vs", "rho")
INVERSE_Q = {"inverse_qp": "loss_p", "inverse_qs": "loss_s"}  # labels, and names of the model's


@dataclass(frozen=True, eq=False)
class Box:
    """Which elements are inside: those whose centres lie between two corners.

    Parameters
    ----------
    low, high : sequence of float
        m; in a chunk of the Earth east and north along the ground from a place, and up from the
        ground.
    place : (float, float, float) or None
        Longitude and latitude, degrees, in a chunk of the Earth, and the azimuth by which the axes
        are turned there, clockwise.
    """

    low: tuple
    high: tuple
    place: tuple | None = None

    def holds(self, d):
        """Return which elements of a `Medium` are inside, (ne,) bool."""
        centres = d.centres
        if self.place is not None:
            centres = along_ground(d.globe.chunk, centres, *self.place)
        return ((centres >= self.low) & (centres <= self.high)).all(axis=1)


def along_ground(chunk, xyz, longitude, latitude, azimuth):
    """Return coordinates of positions that follow the ground: metres east and north along the great
    circle from a place, on axes turned by an azimuth, and up from the ground, (n, 3).

    Parameters
    ----------
    chunk : craton.model.globe.planet.Planet
    xyz : (n, 3) array
        m.
    longitude, latitude, azimuth : float
        Degrees.
    """
    origin = np.asarray(chunk.place(longitude, latitude, 0.0), float)
    axes = turned_axes(np.asarray(chunk.axes(longitude, latitude), float).T, azimuth)
    radius, depth = np.linalg.norm(origin), chunk.whereabouts(xyz)[2]
    unit = xyz / np.linalg.norm(xyz, axis=1, keepdims=True)
    cosine = unit @ origin / radius
    tangent = unit - cosine[:, None] * origin / radius
    sine = np.linalg.norm(tangent, axis=1)
    stretch = radius * np.arctan2(sine, cosine) / np.maximum(sine, np.finfo(float).tiny)
    return np.column_stack([stretch[:, None] * (tangent @ axes[:2].T), -depth])


@dataclass(frozen=True, eq=False)
class Layer:
    """Elements of one medium and of this rank outside a box that share points with it, whoever has
    the box.

    Parameters
    ----------
    medium : str
        ``"solid"`` or ``"fluid"``.
    elements : (n,) int array
    points : (m,) int array
        Their points, rising.
    local : (n, n^3) int array
        Rows of `points` of each element's nodes.
    total : (n, n^3) bool array
        Nodes that the box has, too.
    """

    medium: str
    elements: np.ndarray
    points: np.ndarray
    local: np.ndarray
    total: np.ndarray


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a solid and a fluid point at one place of which the box has one; each on one rank.

    Parameters
    ----------
    solid, fluid : (p,) int array
    vectors : (p, 3) array
        Area vectors that point out of the fluid, m2.
    solid_inside : (p,) bool array
        True where the box has the solid point.
    """

    solid: np.ndarray
    fluid: np.ndarray
    vectors: np.ndarray
    solid_inside: np.ndarray


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is around a box on this rank.

    Parameters
    ----------
    inside : (ni,) int array
        Elements inside the box.
    solid, fluid : Layer
    pairs : Pairs
    """

    inside: np.ndarray
    solid: Layer
    fluid: Layer
    pairs: Pairs

    @property
    def elements(self):
        """The elements of both layers."""
        return np.concatenate([self.solid.elements, self.fluid.elements])


def around_box(d, box):
    """Return the `Surroundings` of a box; all ranks must call.

    Parameters
    ----------
    d : Medium
    box : Box
    """
    inside = box.holds(d)
    points, layers, within = np.asarray(d.points).reshape(d.mesh.size, -1), [], {}
    for fluid, (medium, shared) in enumerate(d.subdomain.shared.items()):
        of_medium = d.fluid == bool(fluid)
        flags = np.zeros(d.subdomain.counts[fluid])
        flags[points[inside & of_medium]] = 1.0
        within[medium] = shared.complete(flags) > 0
        outside = np.flatnonzero(~inside & of_medium)
        elements = outside[within[medium][points[outside]].any(axis=1)]
        layers.append(layer_of(medium, elements, points[elements], within[medium]))
    return Surroundings(np.flatnonzero(inside), *layers, pairs_of(d, within))


def layer_of(medium, elements, points, within):
    """Return the `Layer` of elements (n,) with points (n, n^3), of which a box has those flagged in
    `within`.
    """
    numbers, local = np.unique(points, return_inverse=True)
    return Layer(medium, elements, numbers, local.reshape(points.shape), within[points])


def pairs_of(d, within):
    """Return the `Pairs` of which a box has one point; all ranks must call.

    Parameters
    ----------
    d : Medium
    within : dict of str to (n,) bool array
        Points of "solid" and "fluid" that the box has.
    """
    pairs, vectors = coupled_pairs(d)
    solid, fluid = pairs.T
    split = within["solid"][solid] != within["fluid"][fluid]
    inside = within["solid"][solid[split]]
    return Pairs(solid[split], fluid[split], vectors[split], inside)


# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Places:
    """Values of the incident field at points around a box, all fields of one point side by side.

    Parameters
    ----------
    fields : tuple of str
    late : tuple of bool
        For each field, whether a step takes what the step before has left.
    xyz : (m, 3) array
        m.
    medium : dict of str to (m,) array
        vp, vs, rho; empty where it is not compared.
    inverse_q : dict of str to (m,) array
        1/Qp, 1/Qs; empty without attenuation.
    state, forces : (m, fields) int array
        Places in the blocks "state", where they are recorded, and "forces", where they are injected.
    rows : (k,) int array
        Points that this rank records.
    """

    fields: tuple
    late: tuple
    xyz: np.ndarray
    medium: dict
    inverse_q: dict
    state: np.ndarray
    forces: np.ndarray
    rows: np.ndarray


def places_around(d, around):
    """Return the `Places` around a box: dict of "solid", "fluid" and "pairs", without media that
    the model has not; all ranks must call.

    Parameters
    ----------
    d : Medium
    around : Surroundings
    """
    solid, fluid = d.subdomain.media
    out = {"solid": solid_places(d, around.solid)} if solid else {}
    out |= {"fluid": fluid_places(d, around.fluid)} if fluid else {}
    return out | ({"pairs": pair_places(d, around.pairs)} if solid and fluid else {})


def solid_places(d, layer):
    """Return the `Places` of displacements in a layer; all ranks must call."""
    return Places(
        ("ux", "uy", "uz"),
        (True, True, True),
        positions(d, layer),
        means_of(d, layer, dict(zip(SPEEDS, SPEEDS))),
        means_of(d, layer, INVERSE_Q) if d.relaxation is not None else {},
        components(d, "displacement", layer.points),
        components(d, "force", layer.points),
        recorded_rows(d, layer),
    )


def fluid_places(d, layer):
    """Return the `Places` of potentials in a layer; all ranks must call."""
    lossless = dict.fromkeys(INVERSE_Q, np.zeros(len(layer.points)))
    return Places(
        ("potential",),
        (True,),
        positions(d, layer),
        means_of(d, layer, dict(zip(SPEEDS, SPEEDS))),
        lossless if d.relaxation is not None else {},
        components(d, "potential", layer.points),
        components(d, "potential_force", layer.points),
        recorded_rows(d, layer),
    )


def pair_places(d, pairs):
    """Return the `Places` of displacement and pressure at pairs of points."""
    columns = [
        np.concatenate([components(d, of_solid, pairs.solid), components(d, of_fluid, pairs.fluid)], axis=1)
        for of_solid, of_fluid in (("displacement", "pressure"), ("force", "potential_force"))
    ]
    fields = ("pair_ux", "pair_uy", "pair_uz", "pair_pressure")
    late, rows = (True, True, True, False), np.arange(len(pairs.solid))
    return Places(fields, late, pair_positions(d, pairs), {}, {}, *columns, rows)


def components(d, field, points):
    """Return the places of all components of a field at points (m,): (m, components)."""
    if not len(points):  # a rank may not have the medium
        return np.empty((0, 1 if field in ("potential", "potential_force", "pressure") else 3), int)
    start, _, count = d.state.fields[field]
    return start + count * points[:, None].astype(np.int64) + np.arange(count)


def positions(d, layer):
    """Return positions of the points of a layer, (m, 3), m."""
    out = np.zeros((len(layer.points), 3))
    out[layer.local] = d.coordinates(layer.elements).transpose(0, 2, 1)
    return out


def pair_positions(d, pairs):
    """Return positions of pairs of points, (p, 3), m."""
    solid = np.flatnonzero(~d.fluid)
    points = np.asarray(d.points).reshape(d.mesh.size, -1)
    elements = solid[np.isin(points[solid], pairs.solid).any(axis=1)]
    numbers, first = np.unique(points[elements], return_index=True)
    xyz = d.coordinates(elements).transpose(0, 2, 1).reshape(-1, 3)
    return xyz[first[np.searchsorted(numbers, pairs.solid)]]


def means_of(d, layer, names):
    """Return means of values of the model over the layer's elements at its points; all ranks must
    call.

    Parameters
    ----------
    d : Medium
    layer : Layer
    names : dict of str to str
        Names of the values in the model, by those that are returned.

    Returns
    -------
    dict of str to (m,) array
    """
    samples = d.material(layer.elements)
    return means(d, layer, {label: samples[name] for label, name in names.items()})


def means(d, layer, values):
    """Return means over the layer's elements of all ranks at the points of a layer; all ranks must
    call.

    Parameters
    ----------
    d : Medium
    layer : Layer
    values : dict of str to (n, n^3) array
        At the nodes of its elements.

    Returns
    -------
    dict of str to (m,) array
    """
    rows, count = layer.local.ravel(), len(layer.points)
    counts = np.bincount(rows, minlength=count)
    sums = [np.bincount(rows, part.ravel(), count) for part in values.values()]
    shared = d.subdomain.shared[layer.medium]
    points, totals = shared.unite_points(layer.points, np.stack([counts, *sums], axis=1))
    totals = totals[np.searchsorted(points, layer.points)]
    return {name: totals[:, n + 1] / totals[:, 0] for n, name in enumerate(values)}


def recorded_rows(d, layer):
    """Return the rows of the points of a layer that this rank records: those that no lower rank has
    in its part of the layer; all ranks must call.
    """
    rows, once = np.arange(len(layer.points)), np.ones(len(layer.points))
    return d.subdomain.shared[layer.medium].assign_items(layer.points, rows, once)[0]
