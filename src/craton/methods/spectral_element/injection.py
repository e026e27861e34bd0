"""Boxes of elements around which incident waves are recorded and injected, see `craton.methods.waves.coupling.boxes`: the domain
reduction method (Bielak, Loukakis, Hisada & Yoshimura 2003, BSSA 93, 817), exact for the discrete scheme.

Let b be the points of elements inside the box, e all others, K the stiffness of the elements outside that share points with the box (the
layer), u0 the incident displacement. The run computes u at b and u - u0 at e; then the forces

    -K_be u0_e   at points b of the layer,      K_eb u0_b   at its points e

stand for the incident field, and the same of memory variables of attenuation, of a fluid potential and of the coupling of fluid and solid
where the box has one side only. Mass and absorbing faces act at single points: they add nothing.

The kernels of the step compute them. Let A be what a step adds to the forces, D be 1 at points of the box and 0 elsewhere. The run lacks
(D A - A D) u0: at points of the box what comes of u0 outside, and outside, with the other sign, what comes of u0 in the box. Two programs
of the elements around the box march with these two parts of u0.

Ranks that have parts of a box, or of what is around it, agree on the points that they have in common.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from craton.core.plan import Array, Phase, StepPlan
from craton.errors import Problem
from craton.methods.spectral_element.equations import faces
from craton.methods.spectral_element.equations.faces import coupled_pairs
from craton.methods.spectral_element.equations.state import FLUID, FORCE, SOLID, State
from craton.methods.spectral_element.mesh import families
from craton.methods.spectral_element.ranks import ELSEWHERE
from craton.methods.waves.coupling import boxes, recorded
from craton.methods.waves.tables import injection, table_of

SAME_POINT = 1e-4  # of the shortest distance between points: positions that are the same
SPEEDS = ("vp", "vs", "rho")
QUALITY = {"qp": "loss_p", "qs": "loss_s"}  # and the model's names of 1 / Q
FIELDS = {"solid": ("displacement", "ux", "uy", "uz"), "fluid": ("potential", "potential")}
PAIR_NAMES = ("pair_ux", "pair_uy", "pair_uz", "pair_pressure")
FORCES = {"solid": "force", "fluid": "potential_force"}


# --- what is around a box --------------------------------------------------------------------------


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
    axes = boxes.turned_axes(np.asarray(chunk.axes(longitude, latitude), float).T, azimuth)
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
    return boxes.Places(fields, xyz, state, late, medium, fluid, np.flatnonzero(once))


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
    columns = means(d, layer, {name: values[numbers] for name, values in speeds.items()})
    return {name: np.repeat(column, 3) for name, column in columns.items()}


def entries(state, fields):
    """Return the places (m, components) of fields at points (m,) in their block of a `State`."""
    columns = []
    for name, points in fields.items():
        # a rank may not have the medium
        start, _, count = state.fields.get(name, (0, 0, {**SOLID, **FLUID}[name]))
        columns.append(start + count * points[:, None].astype(np.int64) + np.arange(count))
    return np.concatenate(columns, axis=1)


def entries_in_turn(state, parts):
    """Return the places of the fields of some parts, one part after another: (n,)."""
    return np.concatenate([entries(state, fields) for fields in parts], axis=None)


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


# --- forces of the incident field ------------------------------------------------------------------


def forces(d, around, moved, machine):
    """Return the places in the block "forces" that forces of an incident field act on, (n,), and these forces at every
    step, N, of the potential m3, (steps, n): computed on a `machine`.

    `moved` are displacements, m, potentials, kg/m, and pressures, Pa, (steps, m), in the order of `places_around`.
    """
    points = around.points
    state = State(*map(len, points.values()))
    plan = plan_around(replace(d, precision="float64"), around, state)
    into, out_of = (machine.commit(plan) for _ in range(2))
    within = {name: np.zeros(plan.arrays[name].shape) for name in ("state", "forces")}
    for name, (start, _, count) in state.fields.items():
        flags = np.repeat(around.within[medium_of(name)][around.points[medium_of(name)]], count)
        within["forces" if name.endswith(FORCE) else "state"][start : start + len(flags)] = flags
    parts = [{FIELDS[medium][0]: layer.points} for medium, layer in around.layers.items()]
    parts.append({"displacement": around.pairs.solid, "pressure": around.pairs.fluid})
    acting = [{force: points[medium]} for medium, force in FORCES.items()]
    source, target = (entries_in_turn(state, map(around.renumbered, some)) for some in (parts, acting))
    series, field = np.zeros((d.steps, len(target))), np.zeros(len(within["state"]))
    for total, values in zip(series, np.asarray(moved)):
        field[source] = values
        entering, leaving = added(into, field * (1 - within["state"])), added(out_of, field * within["state"])
        total[:] = np.where(within["forces"], entering, -leaving)[target]
    return entries_in_turn(d.state, acting), series


def plan_around(d, around, state):
    """Return the `StepPlan` of what a step adds to the forces at the points around a box, whose fields a `State` has."""
    pairs = around.renumbered({"displacement": around.pairs.solid, "pressure": around.pairs.fluid})
    arrays, coupling = faces.coupling_of(
        np.stack(list(pairs.values()), axis=1), around.pairs.vectors, d.precision, d.units, potential_force="pressure"
    )
    arrays |= state.arrays(d.precision)
    launches = [*coupling["fluid"], *coupling["solid"]]
    for medium, layer in around.layers.items():
        for family in families.families_of_medium(d, layer.elements, medium == "fluid", 0, False):
            more, launch = families.arrays_and_launch(d, families.arrange_family(d, family))
            points = more[f"{family.name}_points"]
            # the dummy point, to which padding adds, is behind the last point
            numbers = np.searchsorted(around.points[medium], points.data).astype(np.int32)
            arrays |= more | {f"{family.name}_points": replace(points, data=numbers)}
            launches.append(launch)
    # the kernel takes the pressure p by the acceleration of the potential, -p
    minus = np.full(state.fluid + 1, -1.0)
    arrays["fluid_inverse_mass"] = Array("material", minus.shape, d.precision, minus)
    return StepPlan(
        precision=d.precision, layout=state.layout, arrays=arrays, phases=(Phase("forces", tuple(launches)),)
    )


def added(program, field):
    """Return what a step adds to the block "forces" for a block "state"."""
    program.backend.fill(program.arrays["state"], field)
    program.backend.fill(program.arrays["forces"], np.zeros(program.plan.arrays["forces"].shape))
    program.step(0)
    return program.host("forces")


# --- boxes ----------------------------------------------------------------------------------------


class ElementBoxes:
    """Boxes of elements, as `craton.methods.waves.coupling.boxes.Boxes`; all ranks must call every method.

    Parameters
    ----------
    space : ElementSpace
        Forces are computed on its machine.
    domain : ElementDomain
        Whose top is where a box in metres is open at a free surface.
    """

    method, beside, layers, precision = "sem", "in the elements around", "boundaries.pml", "float64"
    fields, medium = tuple(name for name in boxes.FIELDS if name != "s"), ("vp", "vs", "rho")
    outside_points = "outside the mesh, in absorbing layers or in fluid"

    def __init__(self, space, domain):
        self.space, self.d, self.machine, self.domain = space, space.d, space.machine, domain
        d = self.d
        self.team, self.on_earth = d.subdomain.team, d.globe is not None
        self.reach = np.cbrt(d.statistics.smallest)
        self.tolerance = SAME_POINT * self.reach / d.element.degree**2
        self.refused_points = [(d.relaxation is not None, "where the medium has attenuation", "leave attenuation out")]
        self.alike = {"degree": d.element.degree, **recorded.attenuation_of(d.relaxation)}

    def box(self, spec):
        """Return the `Surroundings` of a recording's box."""
        place = (spec.longitude, spec.latitude, spec.azimuth) if spec.longitude is not None else None
        return around_box(self.d, Box(spec.from_, spec.to, place))

    def box_of_wave(self, wave):
        """Return the `Surroundings` of the box of an incident wave, and no problems."""
        place = None if wave.wavelet or wave.resampled else wave.about.get("place")
        return around_box(self.d, Box(*wave.corners, place)), []

    def box_problems(self, around, key):
        """Return what stands against a box: list of Problem."""
        d = self.d
        if d.exact:
            return [Problem(key, 'there is no box yet with run.assembly = "colour"', 'use "fast" or float64')]

        def of_rank():
            """Elements in the box and in all, boundaries that the box reaches, layers beside it."""
            touched = [
                (name, d.face_kinds[name])
                for name, rows in d.mesh.faces.items()
                if d.face_kinds[name] != "free" and np.isin(np.asarray(rows)[:, 0], around.inside).any()
            ]
            absorbing = d.layers is not None and (d.layers.axes[around.elements] != 0).any()
            return len(around.inside), d.mesh.size, touched, bool(absorbing)

        inside, elements, touched, absorbing = zip(*self.team.every(of_rank))
        if not any(inside) or sum(inside) == sum(elements):
            words = "no element" if not any(inside) else "every element"
            remedy = "give corners around some elements: those whose centres they hold are inside"
            return [Problem(key, f"{words} of the mesh is in the box", remedy)]
        if any(touched):
            name, kind = next(boundary for boundaries in touched for boundary in boundaries)
            words = f"the box reaches the boundary {name!r}, which is {kind}"
            return [Problem(key, words, "leave an element and more between them")]
        if any(absorbing):
            return [Problem(key, "the box is next to an absorbing layer", "leave an element and more between them")]
        return []

    def about(self, around):
        """Return what a recording says of its box: dict."""
        box = around.box
        return {"from": list(box.low), "to": list(box.high), "place": box.place and list(box.place)}

    def sides(self, around):
        """Return the `ElementSides` of a box."""
        return ElementSides(self.d, around, self.machine, places_around(self.d, around))

    def positions_beside(self, around, xyz):
        """Return which positions (n, 3), m, are in a box or in the elements around it, and which in the box."""
        located = self.d.locate(np.asarray(xyz, float).reshape(-1, 3), False).element
        parts = around.elements, around.inside
        beside, inside = np.any(self.team.every(lambda: [np.isin(located, part) for part in parts]), axis=0)
        return beside | inside, inside

    def peak(self, places, series):
        """Return the largest velocity of incident values, m/s; in a fluid that which belongs to the largest pressure by
        the largest speed and the smallest density, see `build.divergence_guard`.
        """
        d, series = self.d, np.asarray(series)
        moving, potential = np.isin(places.fields, ("ux", "uy", "uz")), places.fields == "potential"
        pressure = np.abs(np.diff(series[:, potential].astype(float), 2, axis=0)).max(initial=0.0) / d.dt**2
        velocity = np.abs(np.diff(series[:, moving], axis=0)).max(initial=0.0) / d.dt
        speeds = d.statistics.speeds
        return float(max(velocity, pressure / (speeds["rho"][0] * speeds["vp"][1])))

    def shell_of(self, spec):
        """Return the `Shell` of a recording at points."""
        if not self.on_earth:
            free = self.d.face_kinds["top"] == "free"
            return boxes.shell_of(spec, self.domain.top if free else np.inf)
        chunk = self.d.globe.chunk
        origin = np.asarray(chunk.place(spec.longitude, spec.latitude, 0.0), float)
        axes = np.asarray(chunk.axes(spec.longitude, spec.latitude), float).T
        around = boxes.shell_of(spec, 0.0, (origin, boxes.turned_axes(axes, spec.azimuth)))
        depth = chunk.whereabouts(around.xyz)[2]
        up = around.xyz / np.linalg.norm(around.xyz, axis=1, keepdims=True)
        # the tangent plane at the origin rises above the ground away from it
        return replace(around, xyz=around.xyz + np.minimum(depth, 0.0)[:, None] * up)

    def outside(self, xyz):
        """Return which positions (n, 3), m, have no values to be recorded, (n,) bool."""
        d, located = self.d, self.d.locate(xyz, False).element
        refused_elements = d.fluid if d.layers is None else d.fluid | (d.layers.axes != 0)
        outside = (located < 0) & (located != ELSEWHERE)
        outside |= (located >= 0) & refused_elements[np.maximum(located, 0)]
        return np.any(self.team.every(lambda: outside), axis=0)


@dataclass(frozen=True, eq=False)
class ElementSides:
    """The sides of a box, as `craton.methods.waves.coupling.boxes.Sides`.

    Parameters
    ----------
    d : Discretisation
    around : Surroundings
    machine : backend
    places : boxes.Places
    """

    d: Any
    around: Surroundings
    machine: Any
    places: boxes.Places

    def without_anomalies(self, wave):
        """Return vp, vs and rho of the flat layers of a plane wave at the places: dict; all ranks must call."""
        return layer_without(self.d, wave.stack, self.around.layers["solid"])

    def launches(self, name, series):
        """Return arrays, and launches by phase, that add the forces of the values of all steps, (steps, n).

        A rank adds the forces of its own elements; ranks exchange those of points that they share as any other forces.
        """
        if not len(self.places.fields):
            return {}, {}
        target, added = forces(self.d, self.around, series, self.machine)
        table = table_of(target, np.ones(len(target)), np.arange(len(target)))
        arrays, launch = injection(name, table, added, self.d.precision, "forces")
        return arrays, {"forces": [self.d.units.launch(launch, False)]}
