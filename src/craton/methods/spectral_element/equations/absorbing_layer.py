"""Absorbing layers: convolutional PML of second order in displacement, along reference directions
of elements; see layer.h.

With p = d/dt, the derivative across a layer is multiplied by 1/s, s = 1 + d / (alpha + p)
(Komatitsch & Martin 2007), twice:

    rho p^2 u = 1/s_x d_x sigma_x + 1/s_y d_y sigma_y + 1/s_z d_z sigma_z
    sigma = C : (d_x / s_x, d_y / s_y, d_z / s_z) u

This is the stretched equation of Xie et al. (2014), s_x s_y s_z rho p^2 u = ..., divided by s_x s_y
s_z: each direction keeps its own two filters, in faces, edges and corners of the domain alike, the
mass stays what it is and no filter follows another. At p = 0 the stretch is 1 + d / alpha, finite:
static displacement goes on behind the layer as it would some layer thicknesses further out.

Derivatives are those along the lines of the mesh. Where the layer's depth is constant on the other
two families of lines, that is the derivative across the layer in the coordinates that the mesh
makes.
"""

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from craton.core.plan import Array
from craton.errors import ScenarioError
from craton.methods.spectral_element.equations import faces, operators
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.mesh.element import Element
from craton.methods.spectral_element.ranks import copy_lowest_rank_values
from craton.methods.waves import guided
from craton.text import first_of

# with 0.6 two layers (0.43) double every 5,000 steps, with 0.7 they stay as they are
LEAST_GUIDING = 0.8
# of alpha: friction acts on motion faster than that (1: two layers 1.2 in place of 0.8 %; 4: slow
# waves stay)
CORNER = 2.0
FLOOR = 0.5  # of alpha at the outer face, of that at the inner one
LEAST_RATE = 1e-3  # of the greatest rate of friction: points with less have none
INSIDE = 1e-3  # of the layer: as deep as this an element must reach into it
# of the change of depth along one line of an element, how much it may change along the other lines
ALIGNED = 1e-2
WALL = 0.5  # of d: friction of the solid along a fluid in a layer
# see `left_behind`; powers of the thickness, of edges to the wavelength: coarse meshes, and others
MEASURED, EDGES, COARSEST = 0.007, 5, 3
COARSE, FINE = (1.15, 5.9), (1.4, 5)
TARGET = 0.003  # relative L2 that layers shall leave where no thickness is given
SHARE = 1 / 6  # of the mesh, that a layer takes at most for it
LEAST = 3  # elements of a layer, where no thickness is given
CONTRAST = 0.1  # of impedances within a layer, of which is warned
ROOM = 2  # elements between layers that are not asked for
FLAT = 1e-3  # of the layer: so far nodes of its face may be out of plane


@dataclass(frozen=True, kw_only=True)
class Side:
    """Absorbing layer along one face.

    Parameters
    ----------
    name : str
        Name of the face.
    width : float
        Width, m; of a chunk's side, at the surface.
    damping : float
        d on the face, 1/s.
    shift : float
        alpha at the inner edge, 1/s.
    rate : float
        Rate of friction on the face, 1/s.
    power : float
        Power of the depth with which friction rises.
    """

    name: str
    width: float
    damping: float = 0.0
    shift: float = 0.0
    rate: float = 0.0
    power: float = guided.DAMPING_POWER

    def profile(self, coordinates):
        """Return d and alpha at positions (n, 3, m), 1/s: d = d0 q^2, alpha falls linearly to
        `FLOOR` of itself (Collino & Tsogka 2001).
        """
        q = np.clip(self.depth(coordinates), 0, 1)
        return self.damping * q**2, self.shift * (1 - (1 - FLOOR) * q)

    def friction(self, coordinates):
        """Return the rate of friction at positions (n, 3, m), 1/s."""
        return self.rate * np.clip(self.depth(coordinates), 0, 1) ** self.power


@dataclass(frozen=True, kw_only=True)
class PlaneSide(Side):
    """A layer along a plane face: normal (3,) outwards, `outer` = normal . x on the face, m, and
    the largest extent of the face's elements along the normal, m.
    """

    normal: np.ndarray
    outer: float
    edge: float

    def depth(self, coordinates):
        """Return the depth in the layer of positions (n, 3, m), 0 at its inner edge, 1 on the face,
        negative outside: (n, m).
        """
        return 1 - (self.outer - np.einsum("a,nam->nm", self.normal, coordinates)) / self.width

    def slopes(self, coordinates):
        """Return d depth / d x, 1/m, and d x / d depth along the layer's own coordinate, m, at
        positions (n, 3, m): both (n, 3, m).
        """
        normal = np.broadcast_to(self.normal[:, None], coordinates.shape)
        return normal / self.width, normal * self.width


@dataclass(frozen=True, kw_only=True)
class ChunkSide(Side):
    """A layer along a side of a chunk of the Earth: across angle `axis` (0: xi, 1: eta), on its
    high or low side (`sign`); `angle` wide.
    """

    chunk: object
    axis: int
    sign: int
    angle: float

    def depth(self, coordinates):
        """Return the depth as `PlaneSide.depth`."""
        angle = self.chunk.angles(np.moveaxis(coordinates, 1, -1))[self.axis]
        return 1 - (self.chunk.widths[self.axis] / 2 - self.sign * angle) / self.angle

    def slopes(self, coordinates):
        """Return slopes as `PlaneSide.slopes`, along the angle at equal radius and equal other angle."""
        x, y, z = np.moveaxis(coordinates, 1, 0)
        tangents, radius = np.stack(self.chunk.straight(x, y)) / z, np.sqrt(x**2 + y**2 + z**2)
        square, scale = 1 + tangents[self.axis] ** 2, 1 + (tangents**2).sum(axis=0)
        ahead, other = self.sign / (self.angle * square * z), np.eye(2)[self.axis]
        turned = self.chunk.turned(*(other[:, None, None] * ahead))
        gradient = np.stack([*np.stack(turned), -tangents[self.axis] * ahead], axis=1)
        across = other[:, None, None] - tangents * tangents[self.axis] / scale
        flat = np.array([*across, -tangents[self.axis] / scale])
        flat *= self.sign * self.angle * square * radius / np.sqrt(scale)
        return gradient, np.stack([*self.chunk.turned(flat[0], flat[1]), flat[2]], axis=1)


@dataclass(frozen=True, kw_only=True)
class SphereSide(Side):
    """A layer above the bottom of a chunk of the Earth, a sphere of a radius, m."""

    radius: float

    def depth(self, coordinates):
        """Return the depth as `PlaneSide.depth`."""
        return 1 - (np.linalg.norm(coordinates, axis=1) - self.radius) / self.width

    def slopes(self, coordinates):
        """Return slopes as `PlaneSide.slopes`."""
        along = -coordinates / np.linalg.norm(coordinates, axis=1)[:, None]
        return along / self.width, along * self.width


@dataclass(frozen=True, eq=False)
class Layers:
    """The absorbing layers of a mesh.

    Parameters
    ----------
    sides : tuple of Side
    directions : (sides, ne) int8 array
        Reference direction of each element across each side's layer; -1 where it is not in that
        layer.
    general : (ne,) bool array
        Elements whose lines do not follow their layers.
    speeds : guided.Speeds
        For which they are made.
    """

    sides: tuple
    directions: np.ndarray
    general: np.ndarray
    speeds: guided.Speeds

    @property
    def axes(self):
        """`Kind.axes` of each element: (ne,) int."""
        inside = self.directions >= 0
        bits = np.where(inside, 1 << np.maximum(self.directions, 0).astype(int), 0)
        return np.where(self.general, (1 << inside.sum(axis=0)) - 1, np.bitwise_or.reduce(bits, axis=0))


def with_default_faces(d, scenario):
    """Return a `Medium` whose faces of which the scenario says nothing absorb by layers where these
    have room and are stable, else by first-order conditions; all ranks must call.
    """
    names = [name for name in layered_faces(d) if scenario.boundaries.face(name) is None]
    why = lacks_room(d, scenario.boundaries.pml) if names else ""
    if not why:
        return d
    kinds = d.face_kinds | dict.fromkeys(names, "stacey")
    return replace(d, face_kinds=kinds, not_layered=why)


def layered_faces(d):
    """Return the names of the faces with absorbing layers, sorted."""
    return [name for name in sorted({*d.mesh.faces}) if d.face_kinds[name] == "pml"]


def lacks_room(d, options):
    """Return across which face of a box layers of the least thickness leave less than `ROOM`
    elements, in words, or ""; all ranks must call.
    """
    sides = [plane_side(d, name, options) for name in layered_faces(d)]
    for side in sides:
        along = [other for other in sides if abs(other.normal @ side.normal) > 0.5]
        width, distance = sum(other.width for other in along), distance_across(d, side)
        if width + ROOM * side.edge > distance:
            names = " and ".join(other.name for other in along)
            return f"layers of {width:,.4g} m ({names}) leave no room in {distance:,.4g} m"
    return ""


def distance_across(d, side):
    """Return the extent of the whole mesh along the normal of a `PlaneSide`, m."""
    corners = np.array(list(product(*zip(*d.subdomain.bounds))))
    return side.outer - float((corners @ side.normal).min())


def build_layers(d, frequency, options):
    """Build the `Layers` of a `Medium`, None where no face has an absorbing layer; all ranks must
    call. `frequency`, Hz, is what layers are made for, `options` are those of the PML.
    """
    names = layered_faces(d)
    if not names:
        return None
    speeds, sides = guided.speeds_of(options, d.statistics.speeds, d.statistics.speeds["vp"][1]), []
    vp = speeds.fastest
    for name in names:
        side = plane_side(d, name, options, frequency) if d.globe is None else chunk_side(d.globe.chunk, name, options)
        if side is not None:
            shift = np.pi * (frequency or 0.1 * vp / side.width)
            damping = guided.damping(vp, options.reflection, side.width)
            share, power = friction_of(d, speeds, options.friction)
            sides.append(replace(side, damping=damping, shift=shift, rate=share * damping, power=power))
    if not sides:
        return None
    directions, bent = zip(*(directions_across(d, side) for side in sides))
    layers = Layers(tuple(sides), np.stack(directions), np.any(bent, axis=0), speeds)
    refuse(d, layers)
    return layers


def refuse(d, layers):
    """Raise where layers meet or leave no room; all ranks must call."""
    inside = layers.directions >= 0
    along = np.where(inside, layers.directions, np.arange(3, 3 + len(inside))[:, None])
    meet = [(a, b) for a in range(len(inside)) for b in range(a) if (along[a] == along[b])[~layers.general].any()]
    by_rank = d.subdomain.team.every(lambda: (bool(meet), bool((~inside.any(axis=0)).any())))
    meet, room = (any(flags) for flags in zip(*by_rank))
    if meet or not room:
        widths = ", ".join(f"{side.name} {side.width:,.4g} m" for side in layers.sides)
        text = f"absorbing layers meet, or leave no room between them: {widths}"
        raise ScenarioError.of("boundaries.pml", text, "make them thinner, or the domain larger")


def warn_contrasts(d):
    """Warn of layers in which the mean medium changes across the layer by more than `CONTRAST`, as
    at an interface along it: list of str; all ranks must call.
    """
    out = []
    for side, directions in zip(d.layers.sides, d.layers.directions) if d.layers else ():
        if not isinstance(side, PlaneSide):
            continue
        rows = np.flatnonzero(directions >= 0)
        depth = side.outer - d.centres[rows] @ side.normal
        place = np.minimum((depth / side.edge).astype(int), int(side.width / side.edge))
        constant, count = d.statistics.constant, int(side.width / side.edge) + 1
        impedance = (constant["rho"] * constant["vp"])[rows]
        sums = [np.bincount(place, weights, count) for weights in (np.ones(len(rows)), impedance)]
        elements, impedances = np.sum(d.subdomain.team.every(lambda sums=sums: sums), axis=0)
        means = impedances[elements > 0] / elements[elements > 0]
        change = means.max() / means.min() - 1
        if change > CONTRAST:
            out.append(
                f"the impedance of P waves changes by {change:.0%} within the absorbing layer of "
                f"{side.width:,.4g} m at face {side.name}: what reflects there is damped, too; let "
                "the domain end a layer's width behind the interface"
            )
    return out


def warn_inside_layers(d, placed):
    """Warn of sources and receivers, (name, positions), inside absorbing layers: list of str."""
    if d.layers is None:
        return []
    positions = [np.atleast_2d(xyz) for _, xyz in placed]
    inside = inside_layers(d, np.concatenate([np.empty((0, 3)), *positions]))
    begins = np.cumsum([0, *map(len, positions)])
    names = [name for (name, _), a, b in zip(placed, begins, begins[1:]) if inside[a:b].any()]
    return [f"inside an absorbing layer, where waves are damped: {first_of(names)}"] * bool(names)


def inside_layers(d, xyz):
    """Return which positions (n, 3), m, lie inside absorbing layers: (n,) bool."""
    inside = np.zeros(len(xyz), bool)
    for side in d.layers.sides if d.layers is not None else ():
        inside |= (side.depth(xyz[:, :, None]) > INSIDE).reshape(len(xyz), -1).any(axis=1)
    return inside


def friction_of(d, speeds, share=None):
    """Return the rate of friction on the outer faces of layers for some `guided.Speeds` over d there
    (`share` where given), and its power of depth; see `guided`.
    """
    ratio = speeds.fastest / speeds.slowest
    plate = d.globe is None and all(d.face_kinds[name] in ("free", "rigid") for name in ("top", "bottom"))
    guide = 1.0 if d.anisotropic else max(guided.guiding(speeds.vp, speeds.vs), LEAST_GUIDING)
    share = guided.strength(guided.PLATE if plate else guide, ratio) if share is None else share
    return share, guided.power(ratio)


def plane_side(d, name, options, frequency=0.0):
    """Return the `PlaneSide` of a face without its profile, as thick as waves of a frequency, Hz,
    need it; None where the face has no elements on any rank; all ranks must call.
    """
    rows = d.mesh.faces[name]
    vectors = faces.area_vectors(d, rows).sum(axis=(0, 1)) if len(rows) else np.zeros(3)
    vector = np.sum(d.subdomain.team.every(lambda: vectors), axis=0)
    if not vector.any():
        return None
    normal = vector / np.linalg.norm(vector)
    low, high, edge = face_extents(d, name, normal)
    side = PlaneSide(name=name, normal=normal, outer=(low + high) / 2, width=edge, edge=edge)
    width = options.width or (options.thickness or thickness(d, side, frequency)) * edge
    if high - low > FLAT * width:
        text = f"an absorbing layer requires a plane face; nodes of this face are {high - low:.4g} m apart along its normal"
        raise ScenarioError.of(f"boundaries.{name}", text, 'use "stacey" there')
    return replace(side, width=width)


def thickness(d, side, frequency):
    """Return the number of elements of a layer where it is not given: so many that it leaves
    `TARGET` of waves of a frequency, Hz, but at least `LEAST` and no more than a `SHARE` of the
    mesh.
    """
    left = MEASURED * (EDGES / edges_to(d, side.edge, frequency)) ** FINE[1] if frequency else 0.0
    wanted = LEAST * math.sqrt(left / TARGET)
    most = int(SHARE * distance_across(d, side) / side.edge)
    return max(LEAST, min(math.ceil(wanted), most))


def left_behind(d, edge, width, frequency):
    """Return what a layer leaves of waves of a frequency, Hz, as a relative L2 of velocity.

    Measured in full space, elements of degree 4 to the P wavelength, and 3, 4, 6, 8 of them in the
    layer: 10 to it 0.03, 0.018, 0.007 %; `EDGES` 0.63, 0.35, 0.26, 0.15 %; 3.5 to it 4.7, 3.7, 2.4,
    1.3 %; 2.5 to it 11, 8.5, 5.2, 2.9 %.
    """
    if not frequency:
        return 0.0
    thin, coarse = LEAST * edge / width, EDGES / max(edges_to(d, edge, frequency), COARSEST)
    of_width, of_edges = COARSE if coarse > 1 else FINE
    return MEASURED * thin ** (2 if thin > 1 else of_width) * coarse**of_edges


def edges_to(d, edge, frequency):
    """Return the number of edges to the P wavelength at a frequency, Hz."""
    return d.statistics.speeds["vp"][1] / (frequency * edge)


def face_extents(d, name, normal):
    """Return least and largest normal . x on a face, and the largest extent of its elements along
    the normal, m, of all ranks; all ranks must call.
    """
    rows = d.mesh.faces[name]
    along = d.mesh.nodes[d.mesh.elements[rows[:, 0]]] @ normal  # 27 nodes
    on_face, across = np.take_along_axis(along, Element(2).face_nodes[rows[:, 1]], axis=1), np.ptp(along, axis=1)
    extents = on_face.min(initial=np.inf), on_face.max(initial=-np.inf), across.max(initial=0.0)
    lows, highs, edges = zip(*d.subdomain.team.every(lambda: tuple(map(float, extents))))
    return min(lows), max(highs), max(edges)


def chunk_side(chunk, name, options):
    """Return the layer of a side or the bottom of a chunk, without its profile."""
    if chunk.all_chunks > 1:
        raise ScenarioError.of(f"boundaries.{name}", "absorbing layers are for one chunk of the Earth", 'use "stacey"')
    count = options.thickness or LEAST
    if name == "bottom":
        radius, stack = chunk.radii[0], chunk.stack
        width = options.width or count * float(np.diff(stack.levels[:2])[0])
        return SphereSide(name=name, radius=radius, width=width)
    axis, sign = {"west": (0, -1), "east": (0, 1), "south": (1, -1), "north": (1, 1)}[name]
    angle = count * chunk.widths[axis] / chunk.stack.count[axis] * chunk.stack.coarsest[axis] ** 0.5
    angle = options.width / chunk.model.radius if options.width else angle
    return ChunkSide(name=name, width=angle * chunk.model.radius, chunk=chunk, axis=axis, sign=sign, angle=angle)


def directions_across(d, side):
    """Return the reference direction of each element across a layer, and where the depth changes
    along other directions, too.

    Returns
    -------
    directions : (ne,) int8 array
        -1 outside the layer.
    general : (ne,) bool array
    """
    out, general = np.full(d.mesh.size, -1, np.int8), np.zeros(d.mesh.size, bool)
    for part in mesh_terms.batches(d.mesh.size):
        depth = side.depth(d.mesh.nodes[d.mesh.elements[part]].transpose(0, 2, 1))
        inside = np.flatnonzero(depth.max(axis=1) > INSIDE)
        cube = depth[inside].reshape(-1, 3, 3, 3)
        spread = np.stack([np.ptp(cube, axis=axis).max(axis=(1, 2)) for axis in (3, 2, 1)])
        out[part.start + inside] = spread.argmax(axis=0)
        general[part.start + inside] = np.sort(spread, axis=0)[1] > ALIGNED * spread.max(axis=0)
    return out, general


def rates(d, elements, axes, general=False):
    """Return the rows of each direction of `axes` at the nodes of elements, see layer.h: (n, 2 or 8
    directions, n^3).
    """
    directions_used = [s for s in range(3) if axes >> s & 1]
    count = 8 if general else 2
    out, places = np.zeros((len(elements), len(directions_used), count, d.element.size)), d.coordinates(elements)
    # d xi_s / d x_r at [.., r, s]
    inverse = np.linalg.inv(d.jacobian(elements).transpose(0, 3, 1, 2)) if general else None
    directions = d.layers.directions[:, elements]
    number = np.cumsum(directions >= 0, axis=0) - 1
    for n, s in enumerate(directions_used):
        for side, across, which in zip(d.layers.sides, directions, number):
            inside = (across >= 0) & (which == n) if general else across == s
            if not inside.any():
                continue
            damping, shift = side.profile(places[inside])
            out[inside, n, :2] = filter_rates(damping, shift + damping, d.dt / 2)
            if general:
                gradient, tangent = side.slopes(places[inside])
                out[inside, n, 2:5] = np.einsum("nsrm,nrm->nsm", d.jacobian(elements[inside]), gradient)
                out[inside, n, 5:] = np.einsum("nmrs,nrm->nsm", inverse[inside], tangent)
    return out.reshape(len(elements), -1, d.element.size)


def filter_rates(damping, beta, h):
    """Return held, decay of layer.h from d and alpha + d, 1/s, and half a step, s: (n, 2, m)."""
    return np.stack([damping * h / (1 + beta * h), (1 - beta * h) / (1 + beta * h)], axis=1)


# --- fluid and solid ------------------------------------------------------------------------------


def coupling(d):
    """Return arrays and launches of what layers add to the coupling of fluid and solid, by medium:
    arrays, {"fluid": [...], "solid": [...]}; all ranks must call.

    In the stretched equation divided by s_x s_y s_z, parts of the flux through faces across a
    layer enter with 1/s, as derivatives across it do: the solid takes -p sum_s n_s / s_s, the fluid
    sum_s n_s u_s / s_s, n the area vector. A pair of points has one filter for what it takes and
    one for what it gives in each layer with a part b of its area vector, n - b + b / s.
    """
    arrays, launches = {}, {"solid": [], "fluid": []}
    for side, pairs, vectors, damping, shift in filtered_pairs(d):
        if not len(pairs):
            continue
        name, rates = f"coupling_in_{side.name}", filter_rates(damping, shift + damping, d.dt / 2)
        arrays |= faces.point_arrays(
            name,
            solid=(pairs[:, 0], np.int32),
            fluid=(pairs[:, 1], np.int32),
            vectors=(vectors.T, d.precision),
            rates=(rates[..., 0].T, d.precision),
        )
        for medium, op, what in (("fluid", operators.to_fluid, "flow"), ("solid", operators.to_solid, "pressure")):
            remembered = f"{name}_{what}"
            arrays[remembered] = Array("boundary points", (1, len(pairs)), d.precision)
            launch = faces.launch_on_points(op(layered=True), name, len(pairs), layer=remembered)
            launches[medium].append(d.units.launch(launch, medium == "fluid"))
    return arrays, launches


def filtered_pairs(d):
    """Return the pairs of a solid and a fluid point at which a layer stretches a part of the area
    vector, for each layer; each pair on one rank, all ranks must call.

    Returns
    -------
    list of (Side, pairs, vectors, damping, shift)
        Pairs (m, 2); parts of area vectors (m, 3), m2; d and alpha there, (m, 1), 1/s.
    """
    if d.layers is None or not all(d.subdomain.media):
        return []
    rows, out = faces.interface(d), []
    for side, directions in zip(d.layers.sides, d.layers.directions):
        inside = rows[(directions[rows[:, 0]] >= 0) & (directions[rows[:, 2]] >= 0)]
        along = directions[inside[:, 0]] == inside[:, 1] // 2
        vectors = vectors_across(d, side, inside, along)
        pairs, vectors = faces.coupled_points(d, inside, vectors)
        shared = d.subdomain.shared["solid"]
        pairs, vectors = shared.assign_items(pairs[:, 0], pairs, vectors)
        places = np.zeros((int(np.max(pairs[:, 0], initial=-1)) + 1, 3))
        solid = np.asarray(d.points)[inside[:, 2]]
        known = solid < len(places)
        places[solid[known]] = d.coordinates(inside[:, 2]).transpose(0, 2, 1)[known]
        damping, shift = side.profile(places[pairs[:, 0]][:, :, None])
        stretched = (damping[:, 0] > 0) & vectors.any(axis=1)
        out.append((side, *(values[stretched] for values in (pairs, vectors, damping, shift))))
    return out


def vectors_across(d, side, rows, along):
    """Return the parts of the area vectors at the nodes of faces of fluid and solid that a layer
    stretches: (nf, n^2, 3), m2.

    Parameters
    ----------
    d : Medium
    side : Side
    rows : (nf, 4) int array
        Of `faces.interface`.
    along : (nf,) bool array
        Faces along the layer, as lines of the mesh go.
    """
    vectors = faces.area_vectors(d, rows)
    nodes = d.element.face_nodes[rows[:, 1]]
    places = np.take_along_axis(d.coordinates(rows[:, 0]), nodes[:, None], axis=2)
    gradient, tangent = side.slopes(places)
    across = np.einsum("nma,nam,nbm->nmb", vectors, tangent, gradient)
    general = d.layers.general[rows[:, 0]] | d.layers.general[rows[:, 2]]
    return np.where(general[:, None, None], across, vectors * along[:, None, None])


# --- points ---------------------------------------------------------------------------------------


def friction_points(d):
    """Return arrays and launches of the points of absorbing layers by medium: arrays, {"solid":
    [...], "fluid": [...]}.

    Layered media have waves whose energy goes the other way than their phase, and PML amplifies
    them (Skelton, Adams & Craster 2007): a little friction, rate times the momentum of motion
    faster than twice alpha, takes more from them than that.
    """
    arrays, launches = {}, {"solid": [], "fluid": []}
    for fluid, medium in enumerate(("solid", "fluid")) if d.layers is not None else ():
        if not d.subdomain.media[fluid]:
            continue
        shared = d.subdomain.shared[medium]
        rate, shift = (copy_lowest_rank_values(shared, values) for values in friction(d, bool(fluid)))
        if not fluid:
            for points, walls in friction_of_walls(d):
                rate[points] = np.maximum(rate[points], walls)
        points = np.flatnonzero(rate > LEAST_RATE * max(side.rate for side in d.layers.sides))
        if not len(points):
            continue
        rate, shift = rate[points], shift[points]
        terms = np.stack([1 / (1 + d.dt / 2 * rate), rate * d.statistics.mass[fluid][points], -np.expm1(-d.dt * shift)])
        op = operators.damped_points(1 if fluid else 3)
        arrays |= faces.point_arrays(op.name, points=(points, np.int32), terms=(terms, d.precision))
        arrays[f"{op.name}_lowpass"] = Array("boundary points", (1 if fluid else 3, len(points)), d.precision)
        fields = {"force": "potential_force", "velocity": "potential_rate"} if fluid else {}
        launches[medium].append(d.units.launch(faces.launch_on_points(op, op.name, len(points), **fields), bool(fluid)))
    return arrays, launches


def friction_of_walls(d):
    """Yield points of the solid, rising, where it touches a fluid along a layer, and the rate of
    their friction, 1/s; all ranks must call.

    Waves along such a wall that the mesh hardly resolves grow without (0.1 of d: by a factor of 10
    in 8,000 steps where 0.4 lets them decay).
    """
    for _, pairs, _, damping, _ in filtered_pairs(d):
        points, first = np.unique(pairs[:, 0], return_index=True)
        points, rates = d.subdomain.shared["solid"].unite_points(points, WALL * damping[first])
        yield points, rates[:, 0]


def friction(d, fluid):
    """Return the rate of friction at all points of a medium, and the corner of its low-pass, 1/s; 0
    outside layers: (2, points).
    """
    out = np.zeros((2, d.subdomain.counts[fluid]))
    elements = np.flatnonzero((d.fluid == fluid) & (d.layers.directions >= 0).any(axis=0))
    for part in mesh_terms.batches(len(elements)):
        places, points = d.coordinates(elements[part]), d.points[elements[part]]
        out[0, points] = sum(side.friction(places) for side in d.layers.sides)
        out[1, points] = CORNER * np.min([side.profile(places)[1] for side in d.layers.sides], axis=0)
    return out
