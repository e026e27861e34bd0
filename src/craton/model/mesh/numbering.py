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
from craton.host.compile import helper
from craton.model.mesh.shape import CORNERS

LARGEST = np.iinfo(np.int32).max
TEXT = Path(__file__).parent / "numbering.cpp"


@dataclass(frozen=True)
class Numbering:
    """Global numbers of GLL points."""

    # (ne, n, n, n) int32: number of the point [k][j][i] of each element, i along xi, j along eta, k along zeta
    points: np.ndarray
    count: int  # how many different points there are; they are numbered in the order in which the elements touch them


@lru_cache
def face_nodes(degree):
    """Nodes of an element (k * n + j) * n + i on each of its faces: (6, n * n), the earlier of the two axes in the face
    fastest.

    Faces: 0 xi = -1, 1 xi = +1, 2 eta = -1, 3 eta = +1, 4 zeta = -1, 5 zeta = +1.
    """
    n = degree + 1
    nodes = np.arange(n**3).reshape(n, n, n)
    table = np.array([nodes.take(side * degree, axis=2 - axis).ravel() for axis in range(3) for side in (0, 1)])
    table.flags.writeable = False
    return table


def face_corners(elements):
    """Node numbers of the corners of all faces: (ne, 6, 4) int32, in the order of ``face_nodes(1)``.

    `elements` (ne, 8 or 27) int.
    """
    return np.asarray(elements)[:, CORNERS[np.shape(elements)[1]]][:, face_nodes(1)]


def number(elements, degree):
    """Return the `Numbering` of the GLL points of a mesh.

    `elements` (ne, 8 or 27): node numbers in lexicographic order; only the corners matter; `degree`: polynomial degree:
    degree + 1 points an axis. Raises ResourceError: more points than an int32 can number.
    """
    if len(elements) * (degree + 1) ** 3 > LARGEST:  # kernels count places in the table in 32 bits
        raise ResourceError(
            f"{len(elements)} elements of degree {degree} have more points than the {LARGEST} that a 32-bit number counts;\n"
            "use larger elements, a lower degree, or share the mesh among ranks"
        )
    corners = np.asarray(elements)[:, CORNERS[np.shape(elements)[1]]]
    corners = np.ascontiguousarray(corners, np.int32)
    points = np.empty((len(corners), *(degree + 1,) * 3), np.int32)
    span = int(corners.max(initial=-1)) + 1
    count = helper(TEXT).call("number_points", len(corners), degree, span, corners, *_tables(degree), points)
    return Numbering(points, count)


@lru_cache
def _tables(degree):
    """Return what the compiled code is told of an element: corners of edges, edges and corners of
    faces, entity of each point, its place in the entity, places on a face by orientation.
    """
    parts, places = _parts(degree), np.zeros((degree + 1) ** 3, int)
    for part in range(27):  # points of an entity follow one another, the first axis fastest
        places[parts == part] = np.arange((parts == part).sum())
    tables = (_edge_ends(), _face_edges(), face_nodes(1), parts, places, _turned(degree - 1))
    return tuple(np.ascontiguousarray(table, np.int64) for table in tables)


def mark(flags, points, rows):
    """Set the flags of the points of some elements.

    `flags` (n,) bool: of all points; changed; `points` (ne, nodes) int32; `rows` (m,) int: elements.
    """
    helper(TEXT).call("mark", len(rows), points.shape[1], *_contiguous(rows, points), flags)


def renumber(out, places, number, points, rows):
    """Store new numbers of the points of some elements.

    `out` (.., nodes) int32: changed at `places`; `places` (m,) int; `number` (n,) int32: new number of each point;
    `points` (ne, nodes) int32; `rows` (m,) int: elements.
    """
    inputs, places = _contiguous(rows, points), np.ascontiguousarray(places, np.int64)
    helper(TEXT).call("renumber", len(rows), points.shape[1], *inputs, number, places, out)


def _contiguous(rows, points):
    return np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(points, np.int32)


def boundary_faces(elements):
    """Return the faces that belong to one element only: (nf, 2) int32 rows (element, local face), in the order of
    elements (ne, 8 or 27).
    """
    return np.argwhere(sharing(elements) == 1).astype(np.int32)


def sharing(elements):
    """Return how many elements share each face of each element (ne, 8 or 27): (ne, 6)."""
    faces = _faces(elements)
    return np.bincount(faces.ravel())[faces]


def inner_faces(elements):
    """Return the faces that two elements (ne, 8 or 27) share: rows (element, local face, the other element, its local
    face), (m, 4), in the order of the faces' nodes.
    """
    flat = _faces(elements).ravel()
    order = np.argsort(flat, kind="stable")
    twice = np.flatnonzero(flat[order][1:] == flat[order][:-1])
    rows = np.concatenate([np.stack(divmod(order[twice + side], 6), axis=1) for side in (0, 1)], axis=1)
    quads = face_corners(elements)[rows[:, 0], rows[:, 1]]
    first = quads.argmin(axis=1)[:, None]  # the lowest corner; then its neighbours, the lower one first, and the last
    low, left, right, far = np.take_along_axis(quads, first ^ np.arange(4), axis=1).T
    right, left = np.maximum(left, right), np.minimum(left, right)
    return rows[np.lexsort((np.maximum(right, far), np.minimum(right, far), left, low))]


def _faces(elements):
    """Return a number for each face of elements (ne, 8 or 27), the same for those that share it: (ne, 6)."""
    return number(elements, 2).points.reshape(-1, 27)[:, face_nodes(2)[:, 4]]


@lru_cache
def _edge_ends():
    """Corners at both ends of the 12 edges: four along xi (their other coordinates rising, the
    earlier axis fastest), eta, zeta.
    """
    starts = [[c for c in range(8) if not c >> axis & 1] for axis in range(3)]
    return np.array([(c, c + (1 << axis)) for axis in range(3) for c in starts[axis]])


@lru_cache
def _face_edges():
    """Edges of the six faces, two opposite ones and two opposite ones: (6, 4)."""
    edges = {frozenset(pair): e for e, pair in enumerate(_edge_ends().tolist())}
    sides = ((0, 1), (2, 3), (0, 2), (1, 3))
    return np.array([[edges[frozenset((face[i], face[j]))] for i, j in sides] for face in face_nodes(1).tolist()])


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
