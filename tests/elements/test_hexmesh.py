"""Meshes of hexahedra: numbering of GLL points against coordinates, order and colours, the internal mesher, and messages for bad meshes."""

from dataclasses import replace
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from common import refused
from elementcase import brick

from craton.errors import ResourceError, ScenarioError
from craton.model.mesh import numbering, ordering, shape
from craton.model.mesh.box import box_mesh
from craton.model.mesh.hexmesh import HexMesh, named_by_place, problems


def bricks(nx, ny, nz, moved=0.0, seed=1):
    """nx x ny x nz unit cubes with named sides; inner nodes moved by up to half of `moved`."""
    mesh = brick((nx, ny, nz), (nx, ny, nz), moved, seed=seed)
    return replace(mesh, nodes=mesh.nodes + (0, 0, nz))


def turned(mesh, seed=1):
    """The same mesh with the local axes of each element turned at random in one of 24 ways; its face sets are named anew."""
    p, table = mesh.order + 1, []
    for axes, flips in product(permutations(range(3)), product((1, -1), repeat=3)):
        matrix = np.zeros((3, 3))
        matrix[range(3), axes] = flips
        if np.linalg.det(matrix) > 0:
            lattice = np.arange(p**3).reshape(p, p, p).transpose(axes)
            table.append(lattice[tuple(slice(None, None, f) for f in flips)].ravel())
    assert len(table) == 24
    chosen = np.array(table)[np.random.default_rng(seed).integers(24, size=mesh.size)]
    mesh = replace(mesh, elements=np.take_along_axis(mesh.elements, chosen, axis=1), faces={})
    return replace(mesh, faces=named_by_place(mesh))


# --- numbering --------------------------------------------------------------------------------------------------------------------------


def curved():
    """27 nodes and curved faces."""
    mesh = bricks(3, 3, 3, 0.3).elevated()
    return replace(mesh, nodes=mesh.nodes + 0.03 * np.sin(2 * mesh.nodes[:, [1, 2, 0]]))


def scattered():
    """Node numbers anywhere, most of them of no node."""
    mesh, nodes = bricks(3, 3, 3), np.full((1000, 3), np.nan)
    new = np.random.default_rng(0).permutation(1000)[: len(mesh.nodes)].astype(np.int32)
    nodes[new] = mesh.nodes
    return replace(mesh, nodes=nodes, elements=new[mesh.elements], faces={})


NUMBERED = {
    "brick": (lambda degree: bricks(3, 2, 4), range(1, 9)),
    "elements in any orientation": (lambda degree: turned(bricks(4, 4, 3, 0.3, degree), degree), range(2, 9)),
    "27 nodes in any orientation": (lambda degree: turned(curved()), [4]),
    # 3 to 5 elements meet at edges of transitions
    "irregular": (lambda degree: turned(box_mesh((0, 0, -8), (8, 8, 8), 1, refine=[(-2, 2)])), [4]),
    "scattered": (lambda degree: scattered(), [4]),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_points_have_one_number_exactly_where_they_have_one_place(name):
    mesh_of, degrees = NUMBERED[name]
    for degree in degrees:
        mesh = mesh_of(degree)
        numbered = numbering.number(mesh.elements, degree)
        places = shape.positions(mesh.nodes, mesh.elements, shape.gll_points(degree)).reshape(-1, 3)
        numbers = numbered.points.reshape(-1)
        first = np.unique(numbers, return_index=True)[1]
        assert numbered.points.dtype == np.int32 and len(first) == numbered.count == numbers.max() + 1
        assert (np.diff(first) > 0).all()  # numbered by first touch
        own = places[first]
        assert np.abs(places - own[numbers]).max() < 1e-12  # rounding of coordinates of size 1 to 10
        # The nearest two different points are 0.05 apart (degree 8); rounded to 1e-6, equal rows would be equal points.
        assert len(np.unique(np.rint(own * 1e6), axis=0)) == numbered.count
        assert name != "brick" or numbered.count == (3 * degree + 1) * (2 * degree + 1) * (4 * degree + 1)


def test_few_and_many_elements():
    np.testing.assert_array_equal(numbering.number(np.arange(8)[None], 5).points.ravel(), np.arange(216))
    none = np.empty((0, 8), np.int32)
    assert numbering.number(none, 4).count == 0 and numbering.boundary_faces(none).shape == (0, 2)
    chunks = ordering.chunks(none, 64)
    assert len(chunks) == len(ordering.colour(chunks)) == 0
    many = np.broadcast_to(np.arange(8), (3_000_000, 8))  # 729 points an element, more than 2^31 - 1 in all
    refused(ResourceError, "3000000 elements of degree 8", numbering.number, many, 8)


def test_faces_of_an_element_hold_the_points_on_them():
    points = shape.gll_points(3)
    places = shape.lattice(points)
    for face, nodes in enumerate(numbering.face_nodes(3)):
        axis, side = divmod(face, 2)
        assert (places[nodes, axis] == 2 * side - 1).all()
        np.testing.assert_array_equal(np.delete(places[nodes], axis, axis=1), [(s, t) for t in points for s in points])


def test_boundary_faces_of_a_brick():
    """Also of its elements in another order."""
    mesh = turned(bricks(4, 3, 2))
    sides = {"west": (6, 0, 0), "east": (6, 0, 4), "south": (8, 1, 0)}
    sides |= {"north": (8, 1, 3), "bottom": (12, 2, 0), "top": (12, 2, 2)}
    for ordered in (mesh, mesh.reordered(ordering.locality(mesh))):
        assert len(numbering.boundary_faces(ordered.elements)) == 2 * (12 + 8 + 6)
        assert ordered.faces.keys() == sides.keys()
        for name, (count, axis, value) in sides.items():
            rows = ordered.faces[name]
            corners = ordered.nodes[numbering.face_corners(ordered.elements)[rows[:, 0], rows[:, 1]]]
            assert len(np.unique(rows, axis=0)) == len(rows) == count and (corners[:, :, axis] == value).all()


# --- order, chunks, colours -------------------------------------------------------------------------------------------------------------


def test_locality_walks_from_neighbour_to_neighbour():
    mesh = bricks(8, 8, 8)
    order = ordering.locality(mesh)
    np.testing.assert_array_equal(np.sort(order), np.arange(512))
    # On a cube of a power of two, Hilbert's curve steps to a neighbour each time: distance 1.
    np.testing.assert_allclose(np.linalg.norm(np.diff(mesh.centroids()[order], axis=0), axis=1), 1)


@pytest.mark.parametrize("size", [1, 8, 64])
def test_chunks_of_one_colour_share_no_point(size):
    mesh = turned(bricks(9, 8, 7), seed=size)
    mesh = mesh.reordered(ordering.locality(mesh))
    cut = ordering.chunks(mesh.elements, size)
    colours = ordering.colour(cut)
    assert cut.offsets[-1] == mesh.size and len(colours) == -(-mesh.size // size)
    assert colours.max() < 20  # an element has 26 neighbours, 8 colours are the least; greedy takes 10 to 16
    points = numbering.number(mesh.elements, 2).points
    for colour in range(colours.max() + 1):
        chunks = [points[a:b] for (a, b), c in zip(pairwise(cut.offsets), colours) if c == colour]
        touched = np.concatenate([np.unique(chunk) for chunk in chunks])
        assert len(np.unique(touched)) == len(touched) > 0


# --- messages ---------------------------------------------------------------------------------------------------------------------------


def messages(mesh, degree=4):
    """The messages for a mesh, joined; each problem has a remedy, too."""
    faults = problems(mesh, degree)
    assert all(p.key == "domain.mesh" and p.message and p.remedy for p in faults)
    return "\n".join(p.message for p in faults)


def with_node(mesh, place, to):
    """A mesh of which one node lies elsewhere."""
    nodes = mesh.nodes.copy()
    (n,) = np.flatnonzero((nodes == place).all(axis=1))
    nodes[n] = to
    return replace(mesh, nodes=nodes)


def torn(mesh, element, column):
    """A mesh of which one element has a node of its own where others have theirs, and that node's number."""
    elements = mesh.elements.copy()
    old, elements[element, column] = elements[element, column], len(mesh.nodes)
    return replace(mesh, nodes=np.vstack([mesh.nodes, mesh.nodes[old]]), elements=elements), old


def with_third_at_a_face():
    """Two cubes, and one inside the first at the face between them."""
    mesh, face = bricks(2, 1, 1), [0, 2, 4, 6]
    third = mesh.elements[0].copy()
    third[face] = len(mesh.nodes) + np.arange(4)
    nodes = np.vstack([mesh.nodes, mesh.nodes[mesh.elements[0, face]] - (0.5, 0, 0)])
    return HexMesh(nodes, np.vstack([mesh.elements, third]))


def hanging(order):
    """One cube beside eight of half its edge: four corners are shared, five nodes hang."""
    coarse, fine = bricks(1, 1, 1), bricks(2, 2, 2)
    nodes, ids = np.unique(np.vstack([coarse.nodes, fine.nodes / 2 + (1, 0, 0)]), axis=0, return_inverse=True)
    mesh = HexMesh(nodes, ids.reshape(-1)[np.vstack([coarse.elements, fine.elements + 8])])
    mesh = mesh if order == 1 else mesh.elevated()
    return replace(mesh, faces={"all": numbering.boundary_faces(mesh.elements)})


GOOD, TWO, EIGHT, MOVED = turned(bricks(3, 3, 3, 0.3)), bricks(2, 1, 1), bricks(2, 2, 2), bricks(2, 2, 2, 0.3)
DOUBLE, OLD = torn(bricks(3, 2, 2), 0, 7)
BETWEEN = with_node(bricks(1, 1, 1).elevated(), (0.5, 0.5, 1), (0.5, 0.5, -0.4))  # the top's middle below the bottom
MARKED = EIGHT.faces | {"top": EIGHT.faces["top"][1:]}
MARKED["bottom"] = np.vstack([MARKED["bottom"], MARKED["west"][:1]])
MIXED = MOVED.elements.copy()
MIXED[3], MIXED[5] = MIXED[3][[0, 1, 3, 2, 4, 5, 7, 6]], MIXED[5][[4, 5, 6, 7, 0, 1, 2, 3]]
MIXED_WORDS = "element 3 ", "in the order of VTK, gmsh and Exodus the element is valid\n", "element 5 ", "left-handed"
HANGING = (
    "is a hanging node: it lies on the face xi = +1 of element 0 ",
    "is not one of its corners; 5 of 30 nodes of unmatched faces are affected",  # 31 corners, one of them inside
)
TAGS = (
    "the face zeta = +1 of element 4 lies on the boundary, at (x, y, z) = (0.5, 0.5, 2) m, and is in no face set",
    "the face xi = -1 of element 0 (numbers begin at 0",
    "is in the face sets 'west' and 'bottom'",
)
SAME_PLACE = "lie at the same place, (x, y, z) = (1, 1, 1) m: the elements there are not connected"
SHARED = "the face xi = +1 of element 0 ", "is shared by 3 elements; at most two can share a face"
MIDDLES = ("has node 14 where its neighbour, with which it shares the corners, has node 45",)
UNUSED = replace(DOUBLE, elements=bricks(3, 2, 2).elements)
# the middle one is turned inside out
FOLDED = "has the Jacobian -", "; 7 of 27 elements are affected", "element 13 (numbers begin at 0"
DAMAGED = [  # a mesh, and the whole text of its messages or words in it
    (GOOD, ""),
    (GOOD.elevated(), ""),
    (with_node(bricks(3, 3, 3), (1, 1, 1), (2.4, 2.4, 2.4)), FOLDED),
    (BETWEEN, ("element 0", "Jacobian -")),
    (replace(MOVED, elements=MIXED), MIXED_WORDS),
    (UNUSED, "node 36 at (x, y, z) = (1, 1, 1) m belongs to no element"),
    (replace(DOUBLE, faces=named_by_place(DOUBLE)), f"nodes {OLD} and 36 {SAME_PLACE}"),
    (with_third_at_a_face(), SHARED),
    (torn(TWO.elevated(), 1, 12)[0], MIDDLES),  # the middle of the face that both share
    (hanging(1), HANGING),
    (hanging(2), HANGING),
    (replace(EIGHT, faces=MARKED), TAGS),
    (replace(TWO, regions=[0, -1], region_names=("sediment",)), ("element 1 (numbers", "has no material tag")),
    (replace(TWO, elements=TWO.elements + 1), ["element 1 names node 12, but the nodes are 0 to 11"]),
    (replace(TWO, nodes=np.where(TWO.nodes == 2, np.nan, TWO.nodes)), ["not finite; 4 of 12 nodes are affected"]),
    (replace(TWO, elements=np.where(TWO.elements == 1, 0, TWO.elements)), ["contains node 0 twice"]),
]


def test_damaged_meshes_are_described():
    missing = []
    for n, (mesh, words) in enumerate(DAMAGED):
        text = messages(mesh)
        if text != words if isinstance(words, str) else any(word not in text for word in words):
            missing.append((n, words, text))
    assert missing == []
    assert (shape.determinants(BETWEEN.nodes, BETWEEN.elements, np.array([-1.0, 1.0])) > 0).all()
    refused(ValueError, "(2, 6); it must be", HexMesh, TWO.nodes, TWO.elements[:, :6])


def test_node_order_of_a_file_format_is_recognised():
    mesh = MOVED.elevated()
    for order in ("VTK", "gmsh", "Exodus", "SPECFEM"):
        elements = np.empty_like(mesh.elements)
        elements[:, shape.lexicographic(np.arange(27)[None], order)[0]] = (
            mesh.elements
        )  # node f of the format at column f
        np.testing.assert_array_equal(shape.lexicographic(elements, order), mesh.elements)
        words = f"in the order of {order} the element is valid; 8 of 8 elements are affected"
        assert words in messages(replace(mesh, elements=elements))


# --- shapes -----------------------------------------------------------------------------------------------------------------------------


def test_volume_and_quality():
    mesh, cube = turned(bricks(3, 3, 3, 0.3)), bricks(1, 1, 1)
    # Simpson's rule: exact, the Jacobian of a trilinear map has degree 2 along each axis
    weights = np.array([1, 4, 1]) / 3
    determinants = shape.determinants(mesh.nodes, mesh.elements, shape.gll_points(2))
    assert determinants.dot(np.einsum("k,j,i->kji", *3 * (weights,)).ravel()).sum() == pytest.approx(27, rel=1e-13)
    np.testing.assert_allclose(shape.quality(cube.nodes * (1, 5, 9), cube.elements), 1)
    sheared = replace(cube, nodes=cube.nodes + cube.nodes[:, 2:] * (1, 0, 0))  # 45 degrees
    np.testing.assert_allclose(shape.quality(sheared.nodes, sheared.elements), np.sqrt(0.5))
    assert shape.is_affine(sheared.nodes, sheared.elements).all() and not shape.is_affine(mesh.nodes, mesh.elements)[13]


def test_products_do_not_depend_on_the_number_of_rows():
    for count in (1, 2, 3, 7, 17, 50):
        random = np.random.default_rng(count)
        rows, matrix = random.standard_normal((400, 27)), random.standard_normal((27, 125))
        whole = shape.product(rows, matrix)
        assert np.array_equal(shape.product(rows[:count], matrix), whole[:count]), count
        assert np.allclose(whole, rows @ matrix, rtol=0, atol=1e-13)


# --- the internal mesher ----------------------------------------------------------------------------------------------------------------

BOX = {"origin": (100, -200, -20_000), "size": (30_000, 24_000, 20_000), "element_size": 1000}


def hill(x, y):
    """A hill 900 m high."""
    return 900 * np.exp(-((x - 15_000) ** 2 + (y - 12_000) ** 2) / 8e7)


def horizon(x, y):
    """An interface that waves by 800 m around -9 km."""
    return -9000 + 800 * np.sin(x / 4000) * np.cos(y / 5000)


def lengths(mesh):
    """Extent of each element along x, y and z: (ne, 3)."""
    return np.ptp(mesh.nodes[mesh.corners], axis=1)


def volume(mesh):
    """Volume of each element, by a quadrature that is exact for both orders of geometry."""
    points, weights = np.polynomial.legendre.leggauss(4)
    cube = np.einsum("k,j,i->kji", weights, weights, weights).ravel()
    return shape.determinants(mesh.nodes, mesh.elements, points) @ cube


def test_flat_box():
    mesh = box_mesh((0, 0, -10_000), (8000, 5200, 10_000), (900, 1000, 700), interfaces=(0, -1400, -4000.0))
    assert mesh.order == 1 and problems(mesh, 4) == []
    np.testing.assert_allclose(mesh.bounds(), [(0, 0, -10_000), (8000, 5200, 0)])
    assert mesh.region_names == ("layer 1", "layer 2", "layer 3")  # the interface at the top is the top
    z = mesh.nodes[mesh.corners][:, :, 2]
    for region, (top, bottom) in enumerate(((0, -1400), (-1400, -4000), (-4000, -10_000))):
        own = mesh.regions == region
        assert z[own].max() == top and z[own].min() == bottom
        heights = lengths(mesh)[own, 2]
        assert np.ptp(heights) < 1e-9 and 0.9 * 700 / 1.2 < heights[0] <= 700
    np.testing.assert_allclose(lengths(mesh)[:, :2], [[8000 / 9, 5200 / 6]] * mesh.size)
    assert shape.is_affine(mesh.nodes, mesh.elements).all()
    assert volume(mesh).sum() == pytest.approx(8000 * 5200 * 10_000)


@pytest.mark.parametrize("refine", ["-5000 3", "-5000 2", "-4000 2, -9000 3", "-2000 3, -8000 2", "-200 2"])
def test_elements_below_are_larger(refine):
    """Conforming: no face unmatched inside, nothing folded; a plane within half an element moves to the interface."""
    refine = [tuple(map(int, one.split())) for one in refine.split(",")]
    mesh = box_mesh(**BOX, interfaces=(-4900.0, -6000.0), refine=refine)
    assert problems(mesh, 4) == []
    # 45 degrees would be 0.71; transition layers are flattened to fit between interfaces
    assert mesh.quality().min() > 0.6
    assert volume(mesh).sum() == pytest.approx(30_000 * 24_000 * 20_000)
    size, z = lengths(mesh), mesh.centroids()[:, 2]
    total, first = np.prod([factor for _, factor in refine]), refine[0][0]
    assert (size[z > (-200 if first == -200 else first + 500)] <= 1000 * (1 + 1e-9)).all()
    last = size[z < mesh.nodes[:, 2].min() + 1000]
    np.testing.assert_allclose(last[:, :2], total * size[:, :2].min(axis=0) * np.ones((len(last), 1)))
    assert (last[:, 2] > 0.5 * total * 1000).all() and (last <= total * 1000 * (1 + 1e-9)).all()
    assert len(mesh.faces["top"]) == total**2 * len(mesh.faces["bottom"])


def test_faces_follow_topography_and_horizon():
    mesh = box_mesh(**BOX, interfaces=(-1400.0, -6000.0, horizon), surface=hill, refine=[(-6000, 3)])
    assert mesh.order == 2 and problems(mesh, 4) == [] and mesh.quality().min() > 0.45
    for name, places in (("top", hill), ("bottom", lambda x, y: -20_000 + 0 * x)):
        rows = mesh.faces[name]
        x, y, z = mesh.nodes[mesh.elements[rows[:, 0][:, None], numbering.face_nodes(2)[rows[:, 1]]]].reshape(-1, 3).T
        np.testing.assert_allclose(z, places(x, y), atol=1e-9)
    x, y, z = mesh.nodes[np.intersect1d(mesh.elements[mesh.regions == 2], mesh.elements[mesh.regions == 3])].T
    np.testing.assert_allclose(z, horizon(x, y), atol=1e-9)
    assert len(z) > 100
    # Between the flat interfaces nothing moves.
    assert shape.is_affine(mesh.nodes, mesh.elements)[mesh.regions == 1].all()
    # The volume under the hill: 27-node faces integrate it to the fourth order of the element's length.
    x, y = (np.linspace(a, b, 1201) for a, b in ((100, 30_100), (-200, 23_800)))
    exact = np.trapezoid(np.trapezoid(hill(x, y[:, None]) + 1400, x, axis=1), y)
    assert volume(mesh)[mesh.regions == 0].sum() == pytest.approx(exact, rel=1e-5)
    eight = box_mesh(**BOX, surface=hill, refine=[(-3000, 2)], order=1)
    assert eight.order == 1 and problems(eight, 4) == []


CROSSING = "at 0 m, and interface 1 (from above), at 1005 m, touch or cross at (x, y) = (30100,"
NARROW = {"size": (4000, 24_000, 20_000), "refine": [(-2000, 3), (-9000, 3)]}
IMPOSSIBLE = [
    ({"interfaces": [lambda x, y: -500 + x / 20]}, CROSSING),
    ({"refine": [(-19_000, 3)]}, "domain.refine: 1 of 1 refinements do not fit above the bottom, at -20000 m"),
    ({"refine": [(-5000, 4)]}, "domain.refine.0.factor: it is 4; elements can be coarsened only by 2 or 3"),
    ({"surface": lambda x, y: np.where(x > 2e4, np.nan, 0)}, "the top has no elevation at (x, y) = (20100, -200) m"),
    (NARROW, "the domain has 4 elements along x, but these refinements need a multiple of 9"),
    ({"size": (0, 1, 1)}, "domain.size: it is 0, 1, 1 m; every length must be more than 0"),
    ({"interfaces": [lambda x, y: -5000 + 2500 * np.sin(x / 900)], "refine": [(-5000, 3)]}, "is folded"),
]


def test_boxes_that_cannot_be_meshed():
    for change, words in IMPOSSIBLE:
        refused(ScenarioError, words, box_mesh, **BOX | change)


# --- tables of points and colours ---------------------------------------------------------------------------------------------------------


def test_marked_and_renumbered_points():
    random, points = np.random.default_rng(1), numbering.number(bricks(5, 4, 3).elements, 2)
    table, rows, places = points.points.reshape(60, -1), random.permutation(60)[:20], random.permutation(30)[:20]
    flags, out = np.zeros(points.count, bool), np.zeros((30, 27), np.int32)
    number = random.permutation(points.count).astype(np.int32)
    numbering.mark(flags, table, rows)
    numbering.renumber(out, places, number, table, rows)
    assert np.array_equal(np.flatnonzero(flags), np.unique(table[rows])) and not np.delete(out, places, axis=0).any()
    assert np.array_equal(out[places], number[table[rows]])


def test_too_many_chunks_meet():
    refused(ValueError, "more than 64 chunks", ordering.colour, ordering.chunks(np.tile(np.arange(8), (65, 1)), 1))
