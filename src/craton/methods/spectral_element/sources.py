"""Point sources in elements: a force acts through the values of an element's polynomials, a moment through their slopes.

In a lattice of boxes a moment is distributed over the Gauss points around it, where slopes are most exact. The slope of degree N in one
element is off like the Legendre polynomial P_N: least at the N Gauss points, most at nodes, where a moment at 5 points a wavelength would
be up to 3 % off. Slopes at any place follow from those at the nearest 2 N Gauss points along each axis, in the element and its neighbours,
by Lagrange's formula (superconvergent recovery: Zienkiewicz & Zhu 1992). This requires boxes that meet face to face in one smooth medium;
elsewhere, on curved elements and at interfaces, the elements that hold the moment take it as it is.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from craton.errors import refuse
from craton.methods.spectral_element.mesh.element import lagrange
from craton.methods.spectral_element.sites import at_sites, materials, numbers, sites, vector_index
from craton.model.mesh.locate import Located

MOST = 256  # moments that are distributed: each has rows for 27 elements
LOCATED = 1 << 16  # positions that are found at a time
SMOOTH = 1e-3  # of the medium's values: so far neighbours may differ at the corners they share
TOUCH = 1e-6  # of an edge
INSIDE = 2  # Gauss points at least on either side of the moment
SIDES = tuple(itertools.product((-1, 0, 1), repeat=3))


def element_parts(d, points):
    """Return (number of the source, element, index, weight) of each part of a point source that an
    owned element takes: list.

    A moment is distributed over Gauss points around it, see `samples`. Elsewhere, where elements
    meet, each has an equal share: the polynomials of an element have slopes on its own side of a
    face only; a moment in one element alone would be off by a per cent.
    """
    xyz = np.array([source.xyz for source in points], float)
    parts, shared = moment_parts(d, points, xyz)
    source_numbers, located, parts_of = d.elements_holding(xyz)
    holding_sites = sites(d, located)
    for m, n in enumerate(source_numbers):
        if shared[n]:
            continue
        source, site = points[n], holding_sites.part(slice(m, m + 1))
        if source.moment is None:
            index, weight = force_rows(d, site, source.force)
        else:
            index, weight = moment_rows(d, site, source.moment[None])
        parts.append((n, located.element[m], index.ravel(), weight.ravel() / parts_of[n]))
    return parts


def moment_parts(d, points, xyz):
    """Return the parts of distributed moments, as of `element_parts`, and which sources these are."""
    moments = np.array([n for n, source in enumerate(points) if source.moment is not None], int)
    is_shared, which, located, weights = samples(d, xyz[moments])
    shared = np.zeros(len(points), bool)
    shared[moments] = is_shared
    parts = []
    first = np.flatnonzero(np.diff(which, prepend=-1) | np.diff(located.element, prepend=-1))
    for begin, end in zip(first, [*first[1:], len(which)]):
        n = moments[which[begin]]
        tensors = weights[begin:end, None, None] * points[n].moment
        index, weight = moment_rows(d, sites(d, located.some(slice(begin, end))), tensors)
        parts.append((n, located.element[begin], index[0], weight.sum(axis=0)))
    return parts, shared


def force_rows(d, positions, force):
    """Return (index, weight) of a force (3,) at sites of the solid: (n, 3 n^3)."""
    weight = np.asarray(force)[None, :, None] * positions.values[:, None, :]
    return vector_index(d, "force", numbers(d, positions.element)), weight.reshape(len(positions), -1)


def moment_rows(d, positions, tensors):
    """Return (index, weight) of moment tensors (n, 3, 3) at sites of the solid, (n, 3 n^3), or of
    the fluid, (n, n^3).
    """
    number = numbers(d, positions.element)
    if d.fluid[positions.element].any():
        material = materials(d, positions.element)
        kappa = at_sites(positions, material["rho"] * material["vp"] ** 2)
        pressure = np.trace(tensors, axis1=1, axis2=2) / 3
        return d.offset("potential_force") + number, -(pressure / kappa)[:, None] * positions.values
    weight = np.einsum("ncj,njm->ncm", tensors, positions.slopes)
    return vector_index(d, "force", number), weight.reshape(len(positions), -1)


def holding(d, xyz):
    """Return what `Discretisation.elements_holding` does of many positions, in bounded memory; on
    one rank it is asked only of positions on the faces of elements.

    Parameters
    ----------
    d : Discretisation
    xyz : (n, 3) array
        m.

    Returns
    -------
    which : (m,) int array
    located : Located
    parts : (n,) int array
    """
    pieces, parts, several = [], np.ones(len(xyz), int), np.arange(len(xyz))
    if d.subdomain.team.size == 1:
        located = d.locate(xyz, False)
        inside = np.abs(located.local).max(axis=1) < 1 - TOUCH
        pieces.append((several[inside], located.some(inside)))
        several = several[~inside]
    for low in range(0, len(several), LOCATED):
        block = several[low : low + LOCATED]
        which, located, count = d.elements_holding(xyz[block])
        pieces.append((block[which], located))
        parts[block] = count
    which, located = zip(*pieces)
    which, held = np.concatenate(which), np.zeros(len(xyz), bool)
    held[which] = True
    outside = len(xyz) - int(np.any(d.subdomain.team.every(lambda: held), axis=0).sum())
    if outside:
        words = f"{outside:,} of {len(xyz):,} subfaults or moments lie outside the mesh"
        refuse("source", words, "move them inside, or make the mesh larger")
    return which, Located.joined(located), parts


# --- moments in a lattice of boxes ----------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """An element that is a box.

    Parameters
    ----------
    rank : int
    local_number, number : int
        Its number on that rank and in the whole mesh.
    ends : (2, 3) array
        Lowest and highest x, y, z, m.
    medium : (rows, 8) array
        Material at the corners.
    """

    rank: int
    local_number: int
    number: int
    ends: np.ndarray
    medium: np.ndarray


def samples(d, xyz):
    """Distribute point moments in the solid over Gauss points of owned elements; all ranks must
    call.

    Parameters
    ----------
    d : Discretisation
    xyz : (n, 3) array
        m.

    Returns
    -------
    shared : (n,) bool array
        Moments that are distributed; the others are left to the elements that hold them.
    which : (m,) int array
        Moment of each sample, rising, one element's behind one another.
    located : Located
        Positions of the m samples.
    weights : (m,) array
        Weights of the samples; those of one moment add up to 1 over all ranks.
    """
    team, rows = d.subdomain.team, []
    shared = np.zeros(len(xyz), bool)
    if len(xyz) <= MOST:
        homes = nearest_homes(d, xyz)
        nearby = [[] if home is None else boxes_at(d, home) for home in homes]
        nearby_by_rank = team.every(lambda: nearby)
        for n, home in enumerate(homes):
            boxes = [box for of_rank in nearby_by_rank for box in of_rank[n]]
            parts = None if home is None else moment_samples(home, boxes, xyz[n], d.element.degree)
            shared[n] = parts is not None
            rows += [(n, box.local_number, *samples) for box, *samples in parts or () if box.rank == team.rank]
    numbers = np.array([row[:2] for row in rows], int).reshape(-1, 2)
    which, element = np.repeat(numbers, np.array([len(weight) for *_, weight in rows], int), axis=0).T
    local = np.concatenate([np.empty((0, 3)), *(local for _, _, local, _ in rows)])
    weights = np.concatenate([np.empty(0), *(weight for *_, weight in rows)])
    return shared, which, Located(element, local, element, np.zeros(len(element))), weights


def nearest_homes(d, xyz):
    """Return the `Box` with the lowest number among those that hold each position, or None: list."""
    lowest, holding = [None] * len(xyz), d.elements_holding(xyz)
    for n, element in zip(holding[0], holding[1].element):
        box = box_of(d, element)
        if box is not None and (lowest[n] is None or box.number < lowest[n].number):
            lowest[n] = box
    lowest_by_rank = d.subdomain.team.every(lambda: lowest)
    candidates = [[box for box in boxes if box is not None] for boxes in zip(*lowest_by_rank)]
    return [min(boxes, key=lambda box: box.number, default=None) for boxes in candidates]


def box_of(d, element):
    """Return an owned element as a `Box`; None where it is not a box, or is fluid."""
    edges = d.statistics.edges[element]
    if np.isnan(edges[0]) or d.fluid[element]:
        return None
    ends = d.centres[element] + np.array([[-0.5], [0.5]]) * edges
    corners = np.array([0, -1])
    nodes = np.arange(d.element.size).reshape(3 * (d.element.n,))[np.ix_(corners, corners, corners)].ravel()
    material = d.material([element], nodes)
    names = [name for name in ("rho", "vp", "vs", "stiffness") if name in material]
    medium = np.concatenate([material[name].reshape(-1, 8) for name in names])
    return Box(d.subdomain.team.rank, int(element), int(d.subdomain.numbers[element]), ends, medium)


def boxes_at(d, home):
    """Return the owned boxes that touch a box, which may be among them."""
    middle, edges = home.ends.mean(axis=0), np.ptp(home.ends, axis=0)
    reach = (edges + d.statistics.edges) / 2 + TOUCH * edges
    # nan is not near
    touching = (box_of(d, e) for e in np.flatnonzero((np.abs(d.centres - middle) <= reach).all(axis=1)))
    return [box for box in touching if box is not None]


def moment_samples(home, boxes, position, degree):
    """Return (box, local coordinates (m, 3), weights (m,)) of a moment's samples; None where it is not distributed."""
    lattice = lattice_of(home, boxes)
    points = np.polynomial.legendre.leggauss(degree)[0]
    axes = [axis_samples(a, position[a], home, lattice, points) for a in range(3)]
    if any(axis is None for axis in axes):
        return None
    samples = []
    for side in SIDES:
        parts = [[sample[1:] for sample in axis if sample[0] == s] for axis, s in zip(axes, side)]
        if all(parts):
            z, y, x = np.meshgrid(*(np.arange(len(part)) for part in parts[::-1]), indexing="ij")
            columns = np.array([np.array(part)[n.ravel()] for part, n in zip(parts, (x, y, z))])
            samples.append((lattice[side], columns[:, :, 0].T, np.prod(columns[:, :, 1], axis=0)))
    return samples


def lattice_of(home, boxes):
    """Return a box and its neighbours by side, as far as they form a lattice and have equal
    material where they touch: dict.
    """
    neighbours = {side_of(home, box): box for box in boxes if continues(home, box)}
    sides = [(a, s) for a in range(3) for s in (-1, 1) if face(a, s) in neighbours]
    while True:
        choices = [[0, *(s for b, s in sides if b == a)] for a in range(3)]
        lost = [side for side in itertools.product(*choices) if not fits(home, neighbours, side)]
        if not lost:
            return {side: neighbours[side] for side in itertools.product(*choices)}
        sides.remove(max(sides, key=lambda axis_side: sum(side[axis_side[0]] == axis_side[1] for side in lost)))


def face(axis, side):
    """Return the side of a box on which its neighbour across a face lies."""
    return tuple(side if a == axis else 0 for a in range(3))


def side_of(home, box):
    """Return the side of a box on which a touching box lies: -1, 0 or 1 along each axis."""
    off, edges = box.ends.mean(axis=0) - home.ends.mean(axis=0), np.ptp(home.ends, axis=0)
    return tuple(int(s) for s in np.where(np.abs(off) <= TOUCH * edges, 0, np.sign(off)))


def fits(home, neighbours, side):
    """Return True where a box lies on a side and has the ends of the neighbours across faces."""
    if side not in neighbours:
        return False
    ends = neighbours[side].ends
    off = [np.abs(ends[:, a] - neighbours[face(a, s)].ends[:, a]).max() for a, s in enumerate(side)]
    return bool((off <= TOUCH * np.ptp(home.ends, axis=0)).all())


def corners_of(box):
    """Return the corners of a box, (8, 3), m."""
    return np.stack(np.meshgrid(*box.ends.T[::-1], indexing="ij")[::-1], -1).reshape(8, 3)


def continues(home, box):
    """Return True where two boxes have the same medium at the corners that both have."""
    home_corners, box_corners = corners_of(home), corners_of(box)
    same = (np.abs(home_corners[:, None] - box_corners) <= TOUCH * np.ptp(home.ends, axis=0)).all(axis=2)
    a, b = np.nonzero(same)
    differences, limits = np.abs(home.medium[:, a] - box.medium[:, b]), SMOOTH * np.abs(home.medium).max(axis=1)
    return len(a) > 0 and bool((differences <= limits[:, None]).all())


def axis_samples(axis, position, home, lattice, points):
    """Return (side, local coordinate, weight) of the Gauss points along an axis over which a
    position is distributed.

    A position that these do not surround stays as it is; None where it then lies on a face, which
    two elements hold.
    """
    places = []
    for side in (-1, 0, 1):
        if face(axis, side) in lattice:
            low, high = lattice[face(axis, side)].ends[:, axis]
            places += [(side, local, low + (local + 1) / 2 * (high - low)) for local in points]
    nearest = sorted(places, key=lambda place: abs(place[2] - position))[: 2 * len(points)]
    nearest.sort(key=lambda place: place[2])
    below = sum(x < position for _, _, x in nearest)
    if len(nearest) == 2 * len(points) and INSIDE <= below <= len(nearest) - INSIDE:
        weights = lagrange([x for _, _, x in nearest], [position])[0]
        return [(side, local, weight) for (side, local, _), weight in zip(nearest, weights)]
    low, high = home.ends[:, axis]
    local = 2 * (position - low) / (high - low) - 1
    return [(0, local, 1.0)] if abs(local) < 1 - TOUCH else None
