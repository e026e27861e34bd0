"""The internal mesher: a box of hexahedra whose faces follow interfaces and topography, with larger
elements at depth.
"""

from dataclasses import replace
from itertools import pairwise
from math import ceil, prod

import numpy as np

from craton.errors import ResourceError, refuse
from craton.model.mesh import doubling as bricks
from craton.model.mesh import shape
from craton.model.mesh.hexmesh import HexMesh

ROUNDING = 1e-3  # of an element: how far a length may pass a whole number of elements
# of an element: a plane of refinement nearer to an interface than this begins at the interface
SNAP = 0.5
THINNEST = 1e-3  # of an element: thickness below which two surfaces count as touching
HEIGHT = 2.0  # of a transition layer, in elements of the layers above
STRETCH = 1.3  # by which it may be made higher, where that saves a layer of flat elements below it


def box_mesh(origin, size, element_size, interfaces=(), surface=None, refine=(), order=None, most=None):
    """Mesh a box.

    The box is meshed flat, at the mean elevations of its surfaces, in layers of elements; then
    every node is moved vertically, linearly between the two surfaces around it. Topography so fades
    out towards the first interface, or the bottom.

    Parameters
    ----------
    origin, size : (3,) sequences
        Lower south-west corner and extent x, y, z, m. The size is met exactly.
    element_size : float or (3,) sequence
        Longest element edge, m, along x, y, z; made shorter so that whole elements fit (a
        thousandth of an element too much does not count). Between surfaces that are not parallel
        the number of layers follows from the greatest thickness.
    interfaces : sequence of float or callable
        Elevations, m, or surfaces z(x, y) that faces of elements follow. Numbers at or beyond the
        top or bottom are left out.
    surface : callable or float, optional
        Elevation z(x, y) of the top; without it, ``origin[2] + size[2]``.
    refine : sequence of (z, factor)
        Below the elevation z, elements are `factor` (2 or 3) times as long along all axes as above
        it; each entry multiplies those above. First come two transition layers (see `bricks`), one
        in which elements grow along x and one along y, below z; where z lies between surfaces that
        are not flat, it counts in the flat mesh.
    order : int, optional
        1 for elements with 8 nodes, 2 for 27, the default where a surface is given, so that faces
        are curved.
    most : int, optional
        Elements that there may be.

    Returns
    -------
    HexMesh
        Face sets top, bottom, west, east, south, north; a region ``layer 1`` (the uppermost),
        ``layer 2``, ... between interfaces.

    Raises
    ------
    ScenarioError
        Surfaces that touch or cross or are not known everywhere; no room for the transitions;
        elements folded by steep surfaces.
    ResourceError
        More elements than `most`.
    """
    origin, size = np.asarray(origin, float), np.asarray(size, float)
    element_size = np.broadcast_to(np.asarray(element_size, float), 3)
    refine = sorted(((float(z), int(factor)) for z, factor in refine), key=lambda pair: -pair[0])
    _check(origin, size, element_size, refine)
    counts = _counts(size, element_size, [factor for _, factor in refine])
    surfaces = _surfaces(origin, size, interfaces, surface)
    sampled = _sampled(surfaces, origin, size, counts, element_size)
    # the mean of equal numbers may be another
    references = np.array([z.mean() if np.ptp(z) > 0 else z[0, 0] for z in sampled])
    thickest = [(a - b).max() for a, b in pairwise(sampled)]
    layers = _layers(references, thickest, element_size[2], refine)
    curved = any(np.ptp(z) > 0 for z in sampled)
    stack = bricks.Stack(tuple(counts), tuple(reversed(layers)))
    if most is not None and stack.size > most:
        raise ResourceError(
            f"the mesh has {stack.size:,} elements, and {most:,} fit into the memory that is free on "
            "this host\n    -> make domain.element_size larger, or the domain smaller"
        )
    flat = _flat(origin, size, stack, order or (2 if curved else 1))
    return _unfolded(replace(flat, nodes=_draped(flat.nodes, surfaces, references))) if curved else flat


# --- what is asked --------------------------------------------------------------------------------


def _check(origin, size, element_size, refine):
    for name, values in (("domain.size", size), ("domain.element_size", element_size)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            words = f"it is {', '.join(f'{v:g}' for v in values)} m; every length must be more than 0"
            refuse(name, words, "Give lengths in metres.")
    for i, (_, factor) in enumerate(refine):
        if factor not in bricks.BRICKS:
            text = f"it is {factor}; elements can be coarsened only by 2 or 3"
            refuse(f"domain.refine.{i}.factor", text, "Use 2 or 3, or several steps.")
    if not np.isfinite(origin).all():
        refuse("domain.origin", "the coordinates are not finite", "Give x, y, z in metres.")


def _counts(size, element_size, factors):
    """Elements along x and y at the top: enough that none is longer than asked, and a multiple of
    what the transitions need.
    """
    unit, counts = prod(factors), []
    for axis, name in enumerate("xy"):
        asked = max(1, ceil(size[axis] / element_size[axis] - ROUNDING))
        fitted = ceil(asked / unit) * unit
        if fitted > 2 * asked:
            words = f"the domain has {asked} elements along {name}, but these refinements need a multiple of {unit}"
            refuse("domain.refine", words, "Leave out refinements, make the domain longer, or element_size smaller.")
        counts.append(fitted)
    return counts


def _surfaces(origin, size, interfaces, surface):
    """Functions z(x, y) from the top down to the bottom."""
    low, high = origin[2], origin[2] + size[2]
    tolerance = 1e-9 * size[2]
    ceiling = high - tolerance if surface is None else np.inf
    inner = [z for z in interfaces if callable(z) or low + tolerance < float(z) < ceiling]
    return [_function(high if surface is None else surface), *map(_function, inner), _function(low)]


def _function(surface):
    if callable(surface):
        return surface
    return lambda x, y: np.full(np.broadcast_shapes(np.shape(x), np.shape(y)), float(surface))


def _sampled(surfaces, origin, size, counts, element_size):
    """Elevations of the surfaces at corners and middles of the uppermost elements; `surfaces` is
    sorted downwards in place.
    """
    x, y = (np.linspace(origin[a], origin[a] + size[a], 2 * counts[a] + 1) for a in (0, 1))
    values = [np.asarray(z(x, y[:, None]), float) + np.zeros((len(y), len(x))) for z in surfaces]
    order = [0, *(1 + i for i in np.argsort([-v.mean() for v in values[1:-1]], kind="stable")), len(values) - 1]
    surfaces[:], values = [surfaces[i] for i in order], [values[i] for i in order]
    for i, z in enumerate(values):
        if not np.isfinite(z).all():
            j, k = np.argwhere(~np.isfinite(z))[0]
            place = f"(x, y) = ({x[k]:.10g}, {y[j]:.10g}) m, inside the domain"
            words = f"{_name(i, len(values))} has no elevation at {place}"
            refuse("model", words, "Give a surface that covers the domain.")
    for i, (above, below) in enumerate(pairwise(values)):
        gap = above - below
        if gap.min() <= THINNEST * element_size[2]:
            j, k = np.unravel_index(gap.argmin(), gap.shape)
            names = (f"{_name(i + n, len(values))}, at {z[j, k]:.6g} m," for n, z in enumerate((above, below)))
            refuse(
                "model",
                f"{' and '.join(names)} touch or cross at (x, y) = ({x[k]:.10g}, {y[j]:.10g}) m",
                "Keep surfaces apart. An interface that pinches out or crops out cannot follow element faces everywhere: leave it "
                "out of the mesh, or deepen the domain.",
            )
    return values


def _name(i, count):
    return "the top" if i == 0 else "the bottom" if i == count - 1 else f"interface {i} (from above)"


# --- layers ---------------------------------------------------------------------------------------


def _layers(references, thickest, element_size, refine):
    """Return the layers of elements of the flat mesh, from the top down."""
    layers, waiting, pending, width = [], list(refine), [], [1, 1]
    for slab, (top, bottom) in enumerate(pairwise(references)):
        stretch = thickest[slab] / (top - bottom)
        while top > bottom:
            while waiting and waiting[0][0] > top - SNAP * element_size:
                pending += [(axis, waiting[0][1]) for axis in (0, 1)]
                waiting.pop(0)
            end = max(bottom, waiting[0][0]) if waiting else bottom
            end = bottom if end - bottom < SNAP * element_size else end
            steps, element_size = _steps((top - end) * stretch, element_size, pending)
            layers += _piece(top, end, slab, steps, width)
            top = end
    unmet = [factor for axis, factor in pending if axis == 1]
    if unmet or waiting:
        text = f"{len(unmet) + len(waiting)} of {len(refine)} refinements do not fit above the bottom, at {references[-1]:g} m"
        remedy = (
            "A refinement needs the height of about four elements below its elevation: raise it, or deepen the domain."
        )
        refuse("domain.refine", text, remedy)
    return layers


def _steps(height, element_size, pending):
    """Layers (height, axis, factor) for a height, m; transitions that fit are taken from `pending`;
    and the new element size.
    """
    steps = []
    while pending:
        needed = sum(step[0] for step in steps) + HEIGHT * element_size
        if height < needed * (0.9 if steps else 0.75):
            break
        steps.append((HEIGHT * element_size, *pending.pop(0)))
        if steps[-1][1] == 1:
            element_size *= steps[-1][2]
    room = sum(step[0] for step in steps)
    plain = max(0 if steps else 1, ceil((height - STRETCH * room) / element_size - ROUNDING))
    stretch = max(1, (height - plain * element_size) / room) if steps else 1
    return [(step[0] * stretch, *step[1:]) for step in steps] + [(element_size, None, 1)] * plain, element_size


def _piece(top, bottom, slab, steps, width):
    """Return the layers between two elevations, from the top down, with heights in proportion to
    `steps`; `width` grows with them.
    """
    edges = np.append(0, np.cumsum([step[0] for step in steps]))
    levels = top - (top - bottom) * edges / edges[-1]
    levels[-1] = bottom
    layers = []
    for (above, below), (_, axis, factor) in zip(pairwise(levels.tolist()), steps):
        middle = () if axis is None else ((above + below) / 2,)
        if axis is not None:
            width[axis] *= factor
        layers.append(bricks.Layer((below, *middle, above), tuple(width), slab, axis, factor))
    return layers


def _flat(origin, size, stack, order):
    """Return the mesh of a stack of layers before it follows its surfaces."""
    elements, keys, number, faces, _ = stack.build()
    if order == 1:
        corners = elements[:, shape.CORNERS[27]]
        used = np.zeros(len(keys), bool)
        used[corners] = True
        elements, keys = (np.cumsum(used, dtype=np.int32) - np.int32(1))[corners], keys[used]
    places = stack.places(keys)
    nodes = np.empty((len(keys), 3))
    for axis in range(2):
        last = bricks.QUARTERS * stack.count[axis]
        along = origin[axis] + size[axis] * (np.arange(last + 1) / last)
        along[-1] = origin[axis] + size[axis]
        nodes[:, axis] = along[places[:, axis]]
    nodes[:, 2] = stack.heights(places[:, 2])
    slabs = np.array([layer.section for layer in stack.layers], np.int32)[number]
    names = tuple(f"layer {i + 1}" for i in range(slabs.max() + 1)) if slabs.max() else ()
    return HexMesh(nodes, elements, slabs, names, faces)


# --- surfaces -------------------------------------------------------------------------------------


def _draped(nodes, surfaces, references):
    """Return the nodes of the flat mesh moved vertically to lie between the surfaces as they lay
    between the reference elevations.
    """
    x, y, z = nodes.T
    out = nodes.copy()
    for (above, below), (top, bottom) in zip(pairwise(surfaces), pairwise(references)):
        between = (z <= top) & (z >= bottom)
        low, high = (np.asarray(s(x[between], y[between]), float) for s in (below, above))
        out[between, 2] = low + (z[between] - bottom) / (top - bottom) * (high - low)
    return out


def _unfolded(mesh):
    """Return the mesh, if the Jacobians of its elements are positive at their corners and between them."""
    least = shape.determinants(mesh.nodes, mesh.elements, np.linspace(-1, 1, mesh.order + 1)).min(axis=1)
    e = int(np.argmin(least))
    if least[e] <= 0:
        x, y, z = mesh.centroids()[e]
        place = f"(x, y, z) = ({x:.6g}, {y:.6g}, {z:.6g}) m"
        remedy = "Smooth the surfaces, use smaller elements, or refine where the surfaces are flatter."
        refuse("domain.element_size", f"the surfaces are so steep that the element at {place} is folded", remedy)
    return mesh
