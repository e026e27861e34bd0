"""The internal mesher: a box of hexahedra whose faces follow interfaces and topography, with larger elements at depth."""
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import ceil, lcm

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.model import shape
from craton.model.hexmesh import HexMesh
from craton.model.numbering import face_nodes

ROUNDING = 1e-3  # of an element: how far a length may pass a whole number of elements
SNAP = 0.5  # of an element: a plane of refinement nearer to an interface than this begins at the interface
THINNEST = 1e-3  # of an element: thickness below which two surfaces count as touching
# A transition layer coarsens one axis; it is two elements high. Quadrilaterals (lower left, lower right, upper left, upper right) of one
# group in the plane of that axis and z: t upper nodes (0 to width), m middle ones (1 to width - 1), b lower ones (0 to width / factor).
TEMPLATES = {
    3: (3, ("b0 m1 t0 t1", "m1 m2 t1 t2", "m2 b1 t2 t3", "b0 b1 m1 m2")),
    2: (4, ("b0 m1 t0 t1", "m1 m2 t1 t2", "m2 m3 t2 t3", "m3 b2 t3 t4", "b0 b1 m1 m2", "b1 b2 m2 m3")),
}
HEIGHT = 2.0  # of a transition layer, in elements of the layers above
STRETCH = 1.3  # by which it may be made higher, where that saves a layer of flat elements below it


@dataclass(frozen=True)
class Layer:
    """One layer of elements of the flat mesh: its reference elevations, the slab between surfaces, the axis that it coarsens."""

    top: float
    bottom: float
    slab: int
    axis: str = ""
    factor: int = 1


def box_mesh(origin, size, spacing, interfaces=(), surface=None, refine=(), order=None):
    """Mesh a box.

    The box is meshed flat, at the mean elevations of its surfaces, in layers of elements; then every node is moved vertically, linearly
    between the two surfaces around it. Topography so fades out towards the first interface, or the bottom.

    Parameters
    ----------
    origin, size : (3,) sequences
        Lower south-west corner and extent x, y, z, m. The size is met exactly.
    spacing : float or (3,) sequence
        Longest element edge, m, along x, y, z; made shorter so that whole elements fit (a thousandth of an element too much does not
        count). Between surfaces that are not parallel the number
        of layers follows from the greatest thickness.
    interfaces : sequence of float or callable
        Elevations, m, or surfaces z(x, y) that faces of elements follow. Numbers at or beyond the top or bottom are left out.
    surface : callable or float, optional
        Elevation z(x, y) of the top; without it, ``origin[2] + size[2]``.
    refine : sequence of (z, factor)
        Below the elevation z, elements are `factor` (2 or 3) times as long along all axes as above it; each entry multiplies those above.
        First come two transition layers, one that coarsens x and one y, below z; where z lies between surfaces that are not flat, it
        counts in the flat mesh.
    order : int, optional
        1 for elements with 8 nodes, 2 for 27, the default where a surface is given, so that faces are curved.

    Returns
    -------
    HexMesh
        Face sets top, bottom, west, east, south, north; a region ``layer 1`` (the uppermost), ``layer 2``, ... between interfaces.

    Raises
    ------
    ScenarioError
        Surfaces that touch or cross or are not known everywhere; no room for the transitions; elements folded by steep surfaces.
    """
    origin, size = np.asarray(origin, float), np.asarray(size, float)
    spacing = np.broadcast_to(np.asarray(spacing, float), 3)
    refine = sorted(((float(z), int(factor)) for z, factor in refine), key=lambda pair: -pair[0])
    _check(origin, size, spacing, refine)
    counts = _counts(size, spacing, [factor for _, factor in refine])
    surfaces = _surfaces(origin, size, interfaces, surface)
    sampled = _sampled(surfaces, origin, size, counts, spacing)
    references = np.array([z.mean() if np.ptp(z) > 0 else z[0, 0] for z in sampled])  # the mean of equal numbers may be another
    thickest = [(a - b).max() for a, b in pairwise(sampled)]
    layers = _layers(references, thickest, spacing[2], refine)
    flat = _flat(origin, size, counts, layers)
    curved = any(np.ptp(z) > 0 for z in sampled)
    if order == 2 or (order is None and curved):
        flat = flat.elevated()
    return _unfolded(replace(flat, nodes=_draped(flat.nodes, surfaces, references))) if curved else flat


# --- what is asked ----------------------------------------------------------------------------------------------------------------------


def _refuse(key, message, remedy):
    raise ScenarioError([Problem(key, message, remedy)])


def _check(origin, size, spacing, refine):
    for name, values in (("domain.size", size), ("domain.spacing", spacing)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            _refuse(name, f"it is {', '.join(f'{v:g}' for v in values)} m; every length must be more than 0", "Give lengths in metres.")
    for i, (_, factor) in enumerate(refine):
        if factor not in TEMPLATES:
            text = f"it is {factor}; elements can become 2 or 3 times larger"
            _refuse(f"domain.refine.{i}.factor", text, "Use 2 or 3, or several steps.")
    if not np.isfinite(origin).all():
        _refuse("domain.origin", "it is no place", "Give x, y, z in metres.")


def _counts(size, spacing, factors):
    """Elements along x and y at the top: enough that none is longer than asked, and a multiple of what the transitions need."""
    unit = 1
    for factor in reversed(factors):
        unit = 3 * unit if factor == 3 else 2 * lcm(unit, 2)
    found = []
    for axis, name in enumerate("xy"):
        asked = max(1, ceil(size[axis] / spacing[axis] - ROUNDING))
        fitted = ceil(asked / unit) * unit
        if fitted > 2 * asked:
            _refuse("domain.refine", f"along {name} the domain is {asked} elements long, and these transitions need a multiple of {unit}",
                    "Leave out refinement, make the domain longer, or the spacing shorter.")  # fmt: skip
        found.append(fitted)
    return found


def _surfaces(origin, size, interfaces, surface):
    """Functions z(x, y) from the top down to the bottom."""
    low, high = origin[2], origin[2] + size[2]
    near = 1e-9 * size[2]
    ceiling = high - near if surface is None else np.inf
    inner = [z for z in interfaces if callable(z) or low + near < float(z) < ceiling]
    return [_function(high if surface is None else surface), *map(_function, inner), _function(low)]


def _function(given):
    if callable(given):
        return given
    return lambda x, y: np.full(np.broadcast_shapes(np.shape(x), np.shape(y)), float(given))


def _sampled(surfaces, origin, size, counts, spacing):
    """Elevations of the surfaces at corners and middles of the uppermost elements; `surfaces` is sorted downwards in place."""
    x, y = (np.linspace(origin[a], origin[a] + size[a], 2 * counts[a] + 1) for a in (0, 1))
    values = [np.asarray(z(x, y[:, None]), float) + np.zeros((len(y), len(x))) for z in surfaces]
    order = [0, *(1 + i for i in np.argsort([-v.mean() for v in values[1:-1]], kind="stable")), len(values) - 1]
    surfaces[:], values = [surfaces[i] for i in order], [values[i] for i in order]
    for i, z in enumerate(values):
        if not np.isfinite(z).all():
            j, k = np.argwhere(~np.isfinite(z))[0]
            _refuse("model", f"{_name(i, len(values))} has no elevation at (x, y) = ({x[k]:.10g}, {y[j]:.10g}) m, inside the domain",
                    "Give a surface that covers the domain.")  # fmt: skip
    for i, (above, below) in enumerate(pairwise(values)):
        gap = above - below
        if gap.min() <= THINNEST * spacing[2]:
            j, k = np.unravel_index(gap.argmin(), gap.shape)
            names = (f"{_name(i + n, len(values))}, at {z[j, k]:.6g} m," for n, z in enumerate((above, below)))
            _refuse("model", f"{' and '.join(names)} touch or cross at (x, y) = ({x[k]:.10g}, {y[j]:.10g}) m",
                    "Keep surfaces apart; an interface that ends or comes to the surface cannot be a face of elements everywhere: leave it "
                    "out of the mesh, or deepen the domain.")  # fmt: skip
    return values


def _name(i, count):
    return "the top" if i == 0 else "the bottom" if i == count - 1 else f"interface {i} (from above)"


# --- layers -----------------------------------------------------------------------------------------------------------------------------


def _layers(references, thickest, spacing, refine):
    """The layers of elements of the flat mesh, from the top down."""
    layers, waiting, pending = [], list(refine), []
    for slab, (top, bottom) in enumerate(pairwise(references)):
        stretch = thickest[slab] / (top - bottom)
        while top > bottom:
            while waiting and waiting[0][0] > top - SNAP * spacing:
                pending += [(axis, waiting[0][1]) for axis in "xy"]
                waiting.pop(0)
            end = max(bottom, waiting[0][0]) if waiting else bottom
            end = bottom if end - bottom < SNAP * spacing else end
            piece, spacing = _piece(top, end, slab, stretch, spacing, pending)
            layers += piece
            top = end
    unmet = [factor for axis, factor in pending if axis == "y"]
    if unmet or waiting:
        text = f"{len(unmet) + len(waiting)} of its {len(refine)} steps find no room above the bottom, at {references[-1]:g} m"
        _refuse("domain.refine", text,
                "A step needs about four elements of height below its elevation: raise it, or deepen the domain.")  # fmt: skip
    return layers


def _piece(top, bottom, slab, stretch, spacing, pending):
    """Layers between two elevations; takes from `pending` the transitions that it has room for. Returns them and the new spacing."""
    height = (top - bottom) * stretch
    steps = []
    while pending:
        factor = pending[0][1]
        if height < (sum(step[0] for step in steps) + HEIGHT * spacing) * (0.75 if not steps else 0.9):
            break
        steps.append((HEIGHT * spacing, *pending.pop(0)))
        if steps[-1][1] == "y":
            spacing *= factor
    room = sum(step[0] for step in steps)
    plain = max(0 if steps else 1, ceil((height - STRETCH * room) / spacing - ROUNDING))
    stretch = max(1, (height - plain * spacing) / room) if steps else 1
    steps = [(step[0] * stretch, *step[1:]) for step in steps] + [(spacing, "", 1)] * plain
    edges = np.append(0, np.cumsum([step[0] for step in steps]))
    levels = top - (top - bottom) * edges / edges[-1]
    levels[-1] = bottom
    return [Layer(a, b, slab, step[1], step[2]) for (a, b), step in zip(pairwise(levels), steps)], spacing


# --- the flat mesh ----------------------------------------------------------------------------------------------------------------------


class _Nodes:
    """Nodes as they are made: rows of coordinates and their numbers."""

    def __init__(self):
        self.count, self.parts = 0, []

    def plane(self, x, y, z):
        """Numbers (ny, nx) of new nodes at the crossings of x and y in the plane z."""
        self.parts.append(np.stack(np.broadcast_arrays(x, y[:, None], z), axis=-1).reshape(-1, 3))
        numbers = self.count + np.arange(len(x) * len(y), dtype=np.int64).reshape(len(y), len(x))
        self.count += numbers.size
        return numbers


def _flat(origin, size, counts, layers):
    """The mesh before it follows its surfaces."""
    x, y = (np.linspace(origin[a], origin[a] + size[a], counts[a] + 1) for a in (0, 1))
    nodes, elements, slabs = _Nodes(), [], []
    upper = nodes.plane(x, y, layers[0].top)
    for layer in layers:
        finer = {"x": x, "y": y}
        if layer.axis:
            finer[layer.axis] = finer[layer.axis][:: layer.factor]
        lower = nodes.plane(finer["x"], finer["y"], layer.bottom)
        made = _transition(nodes, layer, x, y, upper, lower) if layer.axis else _bricks(lower, upper)
        elements.append(made)
        slabs.append(np.full(len(made), layer.slab, np.int32))
        x, y, upper = finer["x"], finer["y"], lower
    places, elements, slabs = np.concatenate(nodes.parts), np.concatenate(elements), np.concatenate(slabs)
    if nodes.count > np.iinfo(np.int32).max:
        _refuse("domain.spacing", f"the mesh would have {nodes.count} nodes, more than 2^31 - 1", "Use larger elements.")
    names = tuple(f"layer {i + 1}" for i in range(layers[-1].slab + 1)) if layers[-1].slab else ()
    return HexMesh(places, elements, slabs, names, _sides(places, elements))


def _bricks(lower, upper):
    """Elements (ne, 8) between two like planes of nodes."""
    ny, nx = lower.shape[0] - 1, lower.shape[1] - 1
    corners = product((lower, upper), (0, 1), (0, 1))
    return np.stack([plane[b : b + ny, a : a + nx].ravel() for plane, b, a in corners], axis=1)


def _transition(nodes, layer, x, y, upper, lower):
    """Elements (ne, 8) of a layer that coarsens one axis: the groups of a template along it, extruded along the other."""
    width, quads = TEMPLATES[layer.factor]
    along = x if layer.axis == "x" else y
    inner = np.arange(len(along)) % width != 0
    middle = np.full(upper.shape, -1, np.int64)
    z = (layer.top + layer.bottom) / 2
    if layer.axis == "x":
        middle[:, inner] = nodes.plane(x[inner], y, z)
    else:
        middle[inner] = nodes.plane(x, y[inner], z)
        upper, middle, lower = upper.T, middle.T, lower.T
    rows = {"t": (upper, width), "m": (middle, width), "b": (lower, width // layer.factor)}
    groups = (len(along) - 1) // width

    def node(name, shift):
        """Numbers of one node of the template in all groups, at the rows `shift` (0 or 1) of the extrusion."""
        plane, step = rows[name[0]]
        start = int(name[1:])
        return plane[shift : len(plane) - 1 + shift, start : start + (groups - 1) * step + 1 : step].ravel()

    made = []
    for quad in quads:
        # corner (a, b, c): of the quadrilateral, 2 * c + its coordinate along the axis; of the extrusion, the other coordinate
        corners = product((0, 1), repeat=3)
        pick = [(c, a, b) if layer.axis == "x" else (c, b, a) for c, b, a in corners]
        made.append(np.stack([node(quad.split()[2 * c + at], shift) for c, at, shift in pick], axis=1))
    return np.concatenate(made)


def _sides(places, elements):
    """The six face sets of the flat mesh: the elements' axes are those of the box, so the west side consists of faces 0, and so on."""
    sets = {}
    low, high = places.min(axis=0), places.max(axis=0)
    for face, name in enumerate(("west", "east", "south", "north", "bottom", "top")):
        axis, limit = face // 2, (low, high)[face % 2]
        on = places[:, axis] == limit[axis]
        found = np.flatnonzero(on[elements[:, face_nodes(1)[face]]].all(axis=1))
        sets[name] = np.column_stack([found, np.full(len(found), face)])
    return sets


# --- surfaces ---------------------------------------------------------------------------------------------------------------------------


def _draped(nodes, surfaces, references):
    """The nodes of the flat mesh moved vertically to lie between the surfaces as they lay between the reference elevations."""
    x, y, z = nodes.T
    out = nodes.copy()
    for (above, below), (top, bottom) in zip(pairwise(surfaces), pairwise(references)):
        own = (z <= top) & (z >= bottom)
        low, high = (np.asarray(s(x[own], y[own]), float) for s in (below, above))
        out[own, 2] = low + (z[own] - bottom) / (top - bottom) * (high - low)
    return out


def _unfolded(mesh):
    """The mesh, if the Jacobians of its elements are positive at their corners and between them."""
    least = shape.determinants(mesh.nodes, mesh.elements, np.linspace(-1, 1, mesh.order + 1)).min(axis=1)
    e = int(np.argmin(least))
    if least[e] <= 0:
        x, y, z = mesh.centroids()[e]
        _refuse("domain.spacing", f"the surfaces bend so much that an element at (x, y, z) = ({x:.6g}, {y:.6g}, {z:.6g}) m is folded",
                "Smooth the surfaces, use smaller elements, or refine in a flatter place.")  # fmt: skip
    return mesh
