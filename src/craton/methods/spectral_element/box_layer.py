"""What is around a box of elements: the elements of each medium that share points with it, points
where fluid and solid touch of which the box has one side only, and the values there that are
recorded.

Ranks that have parts of a box, or of what is around it, agree on the points that they have in
common.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from craton.methods.spectral_element.equations.faces import coupled_pairs
from craton.methods.spectral_element.equations.state import FLUID, SOLID
from craton.methods.waves.coupling.boxes import Places
from craton.methods.waves.coupling.shell import turned_axes

SPEEDS = ("vp", "vs", "rho")
QUALITY = {"qp": "loss_p", "qs": "loss_s"}  # and the model's names of 1 / Q
FIELDS = {"solid": ("displacement", "ux", "uy", "uz"), "fluid": ("potential", "potential")}
PAIR_NAMES = ("pair_ux", "pair_uy", "pair_uz", "pair_pressure")


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
    """Elements of one medium and of this rank outside a box that share points with it, whoever has the box.

    Parameters
    ----------
    medium : str
        ``"solid"`` or ``"fluid"``.
    elements : (n,) int array
    points : (m,) int array
        Their points, rising.
    local : (n, n^3) int array
        Rows of `points` of each element's nodes.
    """

    medium: str
    elements: np.ndarray
    points: np.ndarray
    local: np.ndarray


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a solid and a fluid point at one place of which the box has one; each on one rank.

    Parameters
    ----------
    solid, fluid : (p,) int array
    vectors : (p, 3) array
        Area vectors that point out of the fluid, m2.
    """

    solid: np.ndarray
    fluid: np.ndarray
    vectors: np.ndarray


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is around a box on this rank.

    Parameters
    ----------
    box : Box
    inside : (ni,) int array
        Elements inside the box.
    layers : dict of str to Layer
        Of "solid" and "fluid".
    pairs : Pairs
    within : dict of str to (n,) bool array
        Points of "solid" and "fluid" that the box has.
    """

    box: Box
    inside: np.ndarray
    layers: dict
    pairs: Pairs
    within: dict

    @property
    def elements(self):
        """The elements of both layers."""
        return np.concatenate([layer.elements for layer in self.layers.values()])

    @cached_property
    def points(self):
        """Points of the layers and the pairs, rising, by medium."""
        return {medium: np.union1d(layer.points, getattr(self.pairs, medium)) for medium, layer in self.layers.items()}

    def renumbered(self, fields):
        """Return the rows of `points` of points (m,) by the names of fields there."""
        return {name: np.searchsorted(self.points[medium_of(name)], numbers) for name, numbers in fields.items()}


def medium_of(field):
    """Return the medium of a field."""
    return "fluid" if field in FLUID else "solid"


def around_box(d, box):
    """Return the `Surroundings` of a box; all ranks must call.

    Parameters
    ----------
    d : Medium
    box : Box
    """
    inside = box.holds(d)
    points, layers, within = np.asarray(d.points).reshape(d.mesh.size, -1), {}, {}
    for fluid, (medium, shared) in enumerate(d.subdomain.shared.items()):
        of_medium = d.fluid == bool(fluid)
        flags = np.zeros(d.subdomain.counts[fluid])
        flags[points[inside & of_medium]] = 1.0
        within[medium] = shared.complete(flags) > 0
        outside = np.flatnonzero(~inside & of_medium)
        elements = outside[within[medium][points[outside]].any(axis=1)]
        numbers, local = np.unique(points[elements], return_inverse=True)
        layers[medium] = Layer(medium, elements, numbers, local.reshape(points[elements].shape))
    pairs, vectors = coupled_pairs(d)
    solid, fluid = pairs.T
    split = within["solid"][solid] != within["fluid"][fluid]
    return Surroundings(box, np.flatnonzero(inside), layers, Pairs(solid[split], fluid[split], vectors[split]), within)


# --- values ---------------------------------------------------------------------------------------


def places_around(d, around):
    """Return the `boxes.Places` around a box: displacements and potentials in the layers, then displacement and pressure
    at pairs; all ranks must call.
    """

    def values(names, fields, xyz, once, medium):
        """Return fields, positions, places in the state, flags and the medium of values at points, side by side."""
        unknown, count = np.full(len(xyz), np.nan), len(names)
        media = [np.repeat(medium.get(name, unknown), count) for name in medium_names(d)]
        state = entries(d.state, fields).ravel()
        return np.tile(names, len(xyz)), np.repeat(xyz, count, axis=0), state, np.repeat(once, count), *media

    present = dict(zip(FIELDS, d.subdomain.media))
    parts = [values(*layer_values(d, layer)) for medium, layer in around.layers.items() if present[medium]]
    if all(present.values()):
        fields = {"displacement": around.pairs.solid, "pressure": around.pairs.fluid}
        every = np.ones(len(around.pairs.solid), bool)
        parts.append(values(PAIR_NAMES, fields, pair_positions(d, around.pairs), every, {}))
    fields, xyz, state, once, *media = (np.concatenate(column) for column in zip(*parts))
    medium = dict(zip(medium_names(d), media))
    late, fluid = fields != "pair_pressure", ~np.isin(fields, FIELDS["solid"])
    return Places(fields, xyz, state, late, medium, fluid, np.flatnonzero(once))


def layer_values(d, layer):
    """Return names, field and points, positions, flags of points that this rank records, and the medium of a layer; all
    ranks must call.
    """
    field, *names = FIELDS[layer.medium]
    # a point of several ranks is recorded by the lowest
    rows = np.arange(len(layer.points))
    recorded_rows = d.subdomain.shared[layer.medium].assign_items(layer.points, rows, np.ones(len(rows)))[0]
    xyz = np.zeros((len(rows), 3))
    xyz[layer.local] = d.coordinates(layer.elements).transpose(0, 2, 1)
    return names, {field: layer.points}, xyz, np.isin(rows, recorded_rows), medium_at(d, layer)


def medium_names(d):
    """Return what of the medium two runs compare: tuple of str."""
    return (*SPEEDS, *(QUALITY if d.relaxation is not None else ()))


def medium_at(d, layer):
    """Return the means of vp, vs and rho over the elements of a layer at its points, with attenuation Qp and Qs, 0 where
    there is none: dict; all ranks must call.
    """
    samples = d.material(layer.elements)
    if layer.medium == "fluid":
        samples |= dict.fromkeys(QUALITY.values(), np.zeros(layer.local.shape))
    out = means(d, layer, {name: samples[QUALITY.get(name, name)] for name in medium_names(d)})
    for name in QUALITY.keys() & out.keys():
        out[name] = np.divide(1, out[name], out=np.zeros(len(layer.points)), where=out[name] > 0)
    return out


def layer_without(d, stack, layer):
    """Return vp, vs and rho of the flat layers of a `Stack` at the values of a layer of the solid: dict; all ranks must
    call.
    """
    z = d.coordinates(layer.elements)[:, 2]
    numbers = stack.layer(z + 1e-6 * (d.centres[layer.elements][:, 2:] - z))
    speeds = {"vp": stack.vp, "vs": stack.vs, "rho": stack.rho}
    return {
        name: np.repeat(column, 3)
        for name, column in means(d, layer, {name: values[numbers] for name, values in speeds.items()}).items()
    }


def entries(state, fields):
    """Return the places (m, components) of fields at points (m,) in their block of a `State`."""
    columns = []
    for name, points in fields.items():
        # a rank may not have the medium
        start, _, count = state.fields.get(name, (0, 0, {**SOLID, **FLUID}[name]))
        columns.append(start + count * points[:, None].astype(np.int64) + np.arange(count))
    return np.concatenate(columns, axis=1)


def pair_positions(d, pairs):
    """Return positions of pairs of points, (p, 3), m."""
    solid = np.flatnonzero(~d.fluid)
    points = np.asarray(d.points).reshape(d.mesh.size, -1)
    elements = solid[np.isin(points[solid], pairs.solid).any(axis=1)]
    numbers, first = np.unique(points[elements], return_index=True)
    xyz = d.coordinates(elements).transpose(0, 2, 1).reshape(-1, 3)
    return xyz[first[np.searchsorted(numbers, pairs.solid)]]


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
