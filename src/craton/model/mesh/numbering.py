"""Numbers of the GLL points of a hexahedral mesh, shared by elements that share a node, an edge or
a face; the faces of elements.

Numbering is topological: it follows from the node numbers of the elements and not from coordinates.
Elements may lie in each other's neighbourhood in any orientation. One million elements of degree 4
take 8 s on one core of a Xeon, and 1.7 GB.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from craton.errors import ResourceError
from craton.host.helpers import helper
from craton.model.media.cells import in_parallel
from craton.model.mesh.ordering import Chunks, by_colour, chunks, colour, locality
from craton.model.mesh.shape import CORNERS

__all__ = [
    "Chunks",
    "Numbering",
    "boundary_faces",
    "by_colour",
    "chunks",
    "colour",
    "face_corners",
    "face_nodes",
    "faces_of",
    "locality",
    "mark",
    "number",
    "renumber",
]

LARGEST = np.iinfo(np.int32).max
TEXT = Path(__file__).parent / "numbering.cpp"  # the compiled form
BLOCK = 1 << 12  # elements handled at a time, so that their points stay in the cache


@dataclass(frozen=True)
class Numbering:
    """Global numbers of GLL points.

    Parameters
    ----------
    points : (ne, n, n, n) int32 array
        Number of the point [k][j][i] of each element, i along xi, j along eta, k along zeta.
    count : int
        How many different points there are; they are numbered in the order in which the elements
        touch them.
    """

    points: np.ndarray
    count: int


@lru_cache
def face_nodes(degree):
    """Nodes of an element (k * n + j) * n + i on each of its faces: (6, n * n), the earlier of the
    two axes in the face fastest.

    Faces: 0 xi = -1, 1 xi = +1, 2 eta = -1, 3 eta = +1, 4 zeta = -1, 5 zeta = +1.

    Parameters
    ----------
    degree : int
    """
    n = degree + 1
    nodes = np.arange(n**3).reshape(n, n, n)
    table = np.array([nodes.take(side * degree, axis=2 - axis).ravel() for axis in range(3) for side in (0, 1)])
    table.flags.writeable = False
    return table


def face_corners(elements):
    """Node numbers of the corners of all faces: (ne, 6, 4) int32, in the order of
    ``face_nodes(1)``.

    Parameters
    ----------
    elements : (ne, 8 or 27) array of int
    """
    return np.asarray(elements)[:, CORNERS[np.shape(elements)[1]]][:, face_nodes(1)]


def number(elements, degree):
    """Return number the GLL points of a mesh.

    Parameters
    ----------
    elements : (ne, 8 or 27) integer array
        Node numbers in lexicographic order; only the corners matter.
    degree : int
        Polynomial degree: degree + 1 points an axis.

    Returns
    -------
    Numbering

    Raises
    ------
    ResourceError
        More points than an int32 can number.
    """
    if len(elements) * (degree + 1) ** 3 > LARGEST:  # kernels count places in the table in 32 bits
        _refuse(len(elements), degree)
    corners = np.asarray(elements)[:, CORNERS[np.shape(elements)[1]]]
    if (compiled := helper(TEXT)) is not None:
        return _by_compiled(compiled, np.ascontiguousarray(corners, np.int32), degree)
    corners, nodes, touched = _by_first_touch(corners)
    edges, edge_count = _edges(corners)
    faces, face_count = _faces(edges)
    m, n = degree - 1, degree + 1
    starts = np.cumsum([0, nodes, edge_count * m, face_count * m**2, len(corners) * m**3])
    # A point is new where the node, edge, face or inside that it lies in is.
    new = [touched, _first(edges, edge_count), _first(faces, face_count), np.ones((len(corners), 1), bool)]
    points, known = np.empty((len(corners), n**3), np.int32), np.empty(starts[-1], np.int32)
    blocks = _blocks(len(corners))
    # new points are those of new entities, which have as many points each
    sizes = np.repeat([1, m, m**2, m**3], [8, 12, 6, 1])
    counts = [int(np.concatenate([p[b] for p in new], axis=1).sum(0) @ sizes) for b in blocks]
    ends = np.cumsum([0, *counts])

    def touch(place):
        block = blocks[place]
        part = points[block]
        part[...] = _provisional(corners[block], edges[block], faces[block], degree, starts, block.start)
        fresh = part[np.concatenate([p[block] for p in new], axis=1)[:, _parts(degree)]]
        known[fresh] = np.arange(ends[place], ends[place + 1], dtype=np.int32)

    def settle(block):
        points[block] = known[points[block]]

    in_parallel(touch, range(len(blocks)))
    in_parallel(settle, blocks)
    return Numbering(points.reshape(-1, n, n, n), int(ends[-1]))


def _by_compiled(compiled, corners, degree):
    """Return the `Numbering` of elements by their corners (ne, 8), made by compiled code: the same."""
    points = np.empty((len(corners), *(degree + 1,) * 3), np.int32)
    span = int(corners.max(initial=-1)) + 1
    sizes = (len(corners), degree, span)
    count = compiled.call("number_points", *sizes, corners, *_tables(degree), points)
    return Numbering(points, count)


@lru_cache
def _tables(degree):
    """Return what the compiled code is told of an element: corners of edges, edges and corners of
    faces, entity of each point, its place in the entity, places on a face by orientation.
    """
    parts, places = _parts(degree), np.zeros((degree + 1) ** 3, int)
    for part in range(27):  # points of an entity follow one another as in `_provisional`
        places[parts == part] = np.arange((parts == part).sum())
    tables = (_edge_ends(), _face_edges(), face_nodes(1), parts, places, _turned(degree - 1))
    return tuple(np.ascontiguousarray(table, np.int64) for table in tables)


def _refuse(count, degree):
    raise ResourceError(
        f"{count} elements of degree {degree} have more points than the {LARGEST} that a 32-bit number counts;\n"
        "use larger elements, a lower degree, or share the mesh among ranks"
    )


def mark(flags, points, rows):
    """Set the flags of the points of some elements.

    Parameters
    ----------
    flags : (n,) bool array
        Of all points; changed.
    points : (ne, nodes) int32 array
    rows : (m,) array of int
        Elements.
    """
    if (compiled := helper(TEXT)) is not None:
        compiled.call("mark", len(rows), points.shape[1], *_contiguous(rows, points), flags)
        return
    for block in _blocks(len(rows)):
        flags[points[rows[block]]] = True


def renumber(out, places, number, points, rows):
    """Store new numbers of the points of some elements.

    Parameters
    ----------
    out : (.., nodes) int32 array
        Changed at `places`.
    places : (m,) array of int
    number : (n,) int32 array
        New number of each point.
    points : (ne, nodes) int32 array
    rows : (m,) array of int
        Elements.
    """
    if (compiled := helper(TEXT)) is not None:
        inputs, places = _contiguous(rows, points), np.ascontiguousarray(places, np.int64)
        compiled.call("renumber", len(rows), points.shape[1], *inputs, number, places, out)
        return
    for block in _blocks(len(rows)):
        out[places[block]] = number[points[rows[block]]]


def _contiguous(rows, points):
    return np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(points, np.int32)


def boundary_faces(elements):
    """Faces that belong to one element only: (nf, 2) int32 rows (element, local face), in the order
    of elements.

    Parameters
    ----------
    elements : (ne, 8 or 27) array of int
    """
    faces, count = faces_of(elements)
    return np.argwhere(np.bincount(faces.ravel(), minlength=count)[faces] == 1).astype(np.int32)


def inner_faces(elements):
    """Faces that two elements share: rows (element, local face, the other element, its local face),
    (m, 4).

    Parameters
    ----------
    elements : (ne, 8 or 27) array of int
    """
    flat = faces_of(elements)[0].ravel()
    order = np.argsort(flat, kind="stable")
    twice = np.flatnonzero(flat[order][1:] == flat[order][:-1])
    return np.concatenate([np.stack(divmod(order[twice + side], 6), axis=1) for side in (0, 1)], axis=1)


def faces_of(elements):
    """Return number of each face of each element, the same for both elements that share it: ((ne,
    6) array, count).

    Parameters
    ----------
    elements : (ne, 8 or 27) array of int
    """
    corners = np.ascontiguousarray(np.asarray(elements)[:, CORNERS[np.shape(elements)[1]]], dtype=np.int64)
    return _faces(_edges(corners)[0])


def _blocks(count):
    return [slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]


@lru_cache
def _edge_ends():
    """Corners at both ends of the 12 edges: four along xi (their other coordinates rising, the
    earlier axis fastest), eta, zeta.
    """
    starts = [[c for c in range(8) if not c >> axis & 1] for axis in range(3)]
    return np.array([(c, c + (1 << axis)) for axis in range(3) for c in starts[axis]])


def _ids(keys):
    """Numbers 0, 1, ... of equal keys, and how many there are."""
    unique, ids = np.unique(keys.ravel(), return_inverse=True)
    return ids.reshape(keys.shape), len(unique)


def _edges(corners):
    """Edge numbers (ne, 12) and their count: an edge is its two ends."""
    ends = _edge_ends()
    a, b = corners[:, ends[:, 0]], corners[:, ends[:, 1]]
    return _ids(np.minimum(a, b) * (corners.max(initial=0) + 1) + np.maximum(a, b))


@lru_cache
def _face_edges():
    """Edges of the six faces, two opposite ones and two opposite ones: (6, 4)."""
    names = {frozenset(map(int, pair)): e for e, pair in enumerate(_edge_ends())}
    return np.array(
        [[names[frozenset((int(f[i]), int(f[j])))] for i, j in ((0, 1), (2, 3), (0, 2), (1, 3))] for f in face_nodes(1)]
    )


def _faces(edges):
    """Face numbers (ne, 6) and their count: a face is its lowest edge and the one opposite (four
    corners without order are not enough).
    """
    key = np.empty((len(edges), 6), np.int64)
    size = int(edges.max(initial=0)) + 1
    for face, (a, b, c, d) in enumerate(_face_edges()):
        pairs = [
            (np.minimum(edges[:, i], edges[:, j]), np.maximum(edges[:, i], edges[:, j])) for i, j in ((a, b), (c, d))
        ]
        first = pairs[0][0] < pairs[1][0]
        key[:, face] = np.where(first, pairs[0][0], pairs[1][0]) * size + np.where(first, pairs[0][1], pairs[1][1])
    return _ids(key)


@lru_cache
def _turned(m):
    """Place in a face's own order of its m x m inner points in an element's order, for the 8
    orientations: (8, m * m).

    Orientation 2 * origin + swapped: `origin` the corner (0 to 3, the earlier axis fastest) at
    which the face's own order begins, `swapped` 1 where its first axis is the later axis of the
    element.
    """
    q, p = np.indices((m, m))
    table = []
    for origin in range(4):
        u = p if not origin & 1 else m - 1 - p
        v = q if not origin & 2 else m - 1 - q
        table += [(v * m + u).ravel(), (u * m + v).ravel()]
    return np.array(table, dtype=np.int64).reshape(8, m * m)


def _orientation(quad):
    """Orientation (see `_turned`) of faces by their corners (ne, 4): from the lowest node number
    towards its lower neighbour.
    """
    origin = np.argmin(quad, axis=1)
    rows = np.arange(len(quad))
    return 2 * origin + (quad[rows, origin ^ 2] < quad[rows, origin ^ 1])


def _provisional(corners, edges, faces, degree, starts, first):
    """Numbers (ne, n^3) of the points of some elements by what they lie in: all nodes, then edges,
    faces, insides; `first` element.
    """
    n, m = degree + 1, degree - 1
    points = np.empty((len(corners), n**3), np.int32)
    lattice = np.arange(n**3).reshape(n, n, n)
    points[:, lattice[::degree, ::degree, ::degree].ravel()] = corners
    inner = np.arange(m)
    for edge, (a, b) in enumerate(_edge_ends()):
        backward = (corners[:, a] > corners[:, b])[:, None]
        points[:, lattice[_on_edge(edge, degree)]] = (
            starts[1] + edges[:, edge, None] * m + np.where(backward, m - 1 - inner, inner)
        )
    for face, nodes in enumerate(face_nodes(degree)):
        turned = _turned(m)[_orientation(corners[:, face_nodes(1)[face]])]
        points[:, nodes.reshape(n, n)[1:-1, 1:-1].ravel()] = starts[2] + faces[:, face, None] * m**2 + turned
    inside = (first + np.arange(len(corners)))[:, None] * m**3 + np.arange(m**3)
    points[:, lattice[1:-1, 1:-1, 1:-1].ravel()] = starts[3] + inside
    return points


def _on_edge(edge, degree):
    """Index of the inner points of an edge in a lattice [k][j][i]."""
    corner = _edge_ends()[edge, 0]
    place = [int(corner >> d & 1) * degree for d in (2, 1, 0)]
    place[2 - edge // 4] = slice(1, degree)
    return tuple(place)


@lru_cache
def _parts(degree):
    """Entity that each point of an element lies in: 0 to 7 corners, 8 to 19 edges, 20 to 25 faces,
    26 the inside; (n^3,).
    """
    n = degree + 1
    parts = np.full((n, n, n), 26)
    for face, nodes in enumerate(face_nodes(degree)):
        parts.reshape(-1)[nodes] = 20 + face
    for edge in range(12):
        parts[_on_edge(edge, degree)] = 8 + edge
    parts[::degree, ::degree, ::degree] = np.arange(8).reshape(2, 2, 2)
    return parts.ravel()


def _first(ids, count):
    """Return True where a row of `ids` (ne, k), numbers below `count`, is the first to hold a
    number.
    """
    first = np.full(count, -1, np.int64)
    # Of equal indices the last assignment stays: written backwards, that is the first position.
    first[ids.reshape(-1)[::-1]] = np.arange(ids.size - 1, -1, -1)
    is_first = np.zeros(ids.size, bool)
    is_first[first[first >= 0]] = True
    return is_first.reshape(ids.shape)


def _by_first_touch(corners):
    """Node numbers in the order in which the elements touch them: ((ne, 8) int64 array, count,
    first touches).

    Near numbers for what is touched soon after one another make all look-ups stay in the cache.
    """
    corners = corners.astype(np.int64)
    span = int(corners.max(initial=-1)) + 1
    first = _first(corners, span)
    order = corners[first]
    new = np.empty(span, np.int64)
    new[order] = np.arange(len(order))
    return new[corners], len(order), first
