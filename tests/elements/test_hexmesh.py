"""Meshes of hexahedra: numbering of GLL points against coordinates, order and colours, the internal mesher, and messages for bad meshes."""

from dataclasses import replace
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from craton.errors import ResourceError, ScenarioError
from craton.model.mesh import numbering, ordering, shape
from craton.model.mesh.box import box_mesh
from craton.model.mesh.hexmesh import HexMesh, boundary_faces, named_by_place, problems


def bricks(nx, ny, nz, seed=None):
    """nx x ny x nz unit cubes with named sides; inner nodes shaken by up to 0.15 where a seed is given."""
    number = np.arange((nx + 1) * (ny + 1) * (nz + 1)).reshape(nz + 1, ny + 1, nx + 1)
    places = product((0, 1), (0, 1), (0, 1))
    elements = np.stack([number[c : c + nz, b : b + ny, a : a + nx].ravel() for c, b, a in places], axis=1)
    nodes = np.stack(np.indices(number.shape)[::-1], axis=-1).reshape(-1, 3).astype(float)
    if seed is not None:
        inner = ((nodes > 0) & (nodes < (nx, ny, nz))).all(axis=1)
        nodes[inner] += np.random.default_rng(seed).uniform(-0.15, 0.15, (inner.sum(), 3))
    mesh = HexMesh(nodes, elements)
    return replace(mesh, faces=named_by_place(mesh))


def rotations(p):
    """The 24 ways to turn a lattice of p^3 nodes without mirroring it, as permutations of its nodes."""
    lattice = np.arange(p**3).reshape(p, p, p)
    found = []
    for axes in permutations(range(3)):
        for flips in product((1, -1), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[range(3), axes] = flips
            if np.linalg.det(matrix) > 0:
                found.append(lattice.transpose(axes)[tuple(slice(None, None, f) for f in flips)].ravel())
    return np.array(found)


def turned(mesh, seed):
    """The same mesh with the local axes of each element turned at random; its face sets are named anew."""
    table = rotations(mesh.order + 1)
    chosen = table[np.random.default_rng(seed).integers(len(table), size=mesh.size)]
    mesh = replace(mesh, elements=np.take_along_axis(mesh.elements, chosen, axis=1), faces={})
    return replace(mesh, faces=named_by_place(mesh))


def agrees_in_space(mesh, degree):
    """Assert that GLL points have the same number exactly where they have the same place; returns the numbering."""
    found = numbering.number(mesh.elements, degree)
    places = shape.positions(mesh.nodes, mesh.elements, shape.gll_points(degree)).reshape(-1, 3)
    numbers = found.points.reshape(-1)
    assert found.points.dtype == np.int32
    first = np.unique(numbers, return_index=True)[1]
    assert len(first) == found.count == numbers.max() + 1
    assert (np.diff(first) > 0).all()  # numbered by first touch
    own = places[first]
    assert np.abs(places - own[numbers]).max() < 1e-12  # rounding of coordinates of size 1 to 10
    # The nearest two different points are 0.05 apart (degree 8); rounded to 1e-6, equal rows would be equal points.
    assert len(np.unique(np.rint(own * 1e6), axis=0)) == found.count
    return found


# --- numbering --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(1, 9))
def test_points_of_a_brick(degree):
    found = agrees_in_space(bricks(3, 2, 4), degree)
    assert found.count == (3 * degree + 1) * (2 * degree + 1) * (4 * degree + 1)


@pytest.mark.parametrize("degree", range(2, 9))
def test_points_of_elements_in_any_orientation(degree):
    agrees_in_space(turned(bricks(4, 4, 3, seed=degree), seed=degree), degree)


def test_points_of_elements_with_27_nodes_in_any_orientation():
    mesh = bricks(3, 3, 3, seed=7).elevated()
    nodes = mesh.nodes + 0.03 * np.sin(2 * mesh.nodes[:, [1, 2, 0]])  # curved faces
    agrees_in_space(turned(replace(mesh, nodes=nodes), seed=3), 4)


def test_points_of_a_mesh_of_irregular_valence():
    mesh = box_mesh((0, 0, -8), (8, 8, 8), 1, refine=[(-2, 2)])  # in its transitions 3 to 5 elements meet at edges
    agrees_in_space(turned(mesh, seed=5), 4)


def test_no_elements():
    none = np.empty((0, 8), np.int32)
    assert numbering.number(none, 4).count == 0 and numbering.boundary_faces(none).shape == (0, 2)
    found = numbering.chunks(none, 64)
    order, limits = numbering.by_colour(found, numbering.colour(found))
    assert len(found) == len(order) == 0 and limits.tolist() == [0]


def test_scattered_node_numbers_change_only_the_order():
    mesh = bricks(3, 3, 3)
    new = np.random.default_rng(0).permutation(1000)[: len(mesh.nodes)].astype(np.int32)
    nodes = np.full((1000, 3), np.nan)
    nodes[new] = mesh.nodes
    agrees_in_space(replace(mesh, nodes=nodes, elements=new[mesh.elements], faces={}), 4)


def test_one_element_is_numbered_in_order():
    found = numbering.number(np.arange(8)[None], 5)
    np.testing.assert_array_equal(found.points.ravel(), np.arange(216))


def test_faces_of_an_element_hold_the_points_on_them():
    points = shape.gll_points(3)
    places = np.stack(shape.lattice(points), axis=1)
    for face, nodes in enumerate(numbering.face_nodes(3)):
        axis, side = divmod(face, 2)
        assert (places[nodes, axis] == 2 * side - 1).all()
        others = np.delete(places[nodes], axis, axis=1)
        np.testing.assert_array_equal(others, [(s, t) for t in points for s in points])


def test_too_many_points_are_refused():
    elements = np.broadcast_to(
        np.arange(8), (3_000_000, 8)
    )  # at degree 8: 729 points an element, more than 2^31 - 1 in all
    with pytest.raises(ResourceError, match="3000000 elements of degree 8"):
        numbering.number(elements, 8)


def test_boundary_faces_of_a_brick():
    mesh = turned(bricks(4, 3, 2), seed=1)
    assert len(boundary_faces(mesh)) == 2 * (12 + 8 + 6)
    sizes = {name: len(rows) for name, rows in mesh.faces.items()}
    assert sizes == {"west": 6, "east": 6, "south": 8, "north": 8, "bottom": 12, "top": 12}
    for name, axis, value in (
        ("west", 0, 0),
        ("east", 0, 4),
        ("south", 1, 0),
        ("north", 1, 3),
        ("bottom", 2, 0),
        ("top", 2, 2),
    ):
        rows = mesh.faces[name]
        assert (mesh.nodes[numbering.face_corners(mesh.elements)[rows[:, 0], rows[:, 1]]][:, :, axis] == value).all()


# --- order, chunks, colours -------------------------------------------------------------------------------------------------------------


def test_locality_walks_from_neighbour_to_neighbour():
    mesh = bricks(8, 8, 8)
    order = numbering.locality(mesh)
    np.testing.assert_array_equal(np.sort(order), np.arange(512))
    # On a cube of a power of two, Hilbert's curve steps to a neighbour each time: distance 1.
    steps = np.linalg.norm(np.diff(mesh.centroids()[order], axis=0), axis=1)
    np.testing.assert_allclose(steps, 1)


def test_elements_in_another_order_keep_their_faces():
    mesh = turned(bricks(4, 3, 2), seed=2)
    again = mesh.reordered(numbering.locality(mesh))
    before, after = named_by_place(mesh), named_by_place(again)
    for name, rows in after.items():
        assert set(map(tuple, rows)) == set(map(tuple, again.faces[name]))
        assert len(rows) == len(before[name])


@pytest.mark.parametrize("size", [1, 8, 64])
def test_chunks_of_one_colour_share_no_point(size):
    mesh = turned(bricks(9, 8, 7), seed=size)
    mesh = mesh.reordered(numbering.locality(mesh))
    found = numbering.chunks(mesh.elements, size)
    colours = numbering.colour(found)
    points = numbering.number(mesh.elements, 2).points
    for one in range(colours.max() + 1):
        sets = [np.unique(points[found.offsets[c] : found.offsets[c + 1]]) for c in np.flatnonzero(colours == one)]
        together = np.concatenate(sets)
        assert len(np.unique(together)) == len(together) > 0
    assert found.offsets[-1] == mesh.size and len(colours) == -(-mesh.size // size)
    assert colours.max() < 20  # an element has 26 neighbours, 8 colours are the least; greedy takes 10 to 16
    order, limits = numbering.by_colour(found, colours)
    np.testing.assert_array_equal(np.sort(order), np.arange(mesh.size))
    assert limits[-1] == mesh.size
    for one, (low, high) in enumerate(pairwise(limits)):
        chunks = [np.arange(found.offsets[c], found.offsets[c + 1]) for c in np.flatnonzero(colours == one)]
        np.testing.assert_array_equal(order[low:high], np.concatenate(chunks))


# --- messages ---------------------------------------------------------------------------------------------------------------------------


def told(mesh, degree=4):
    """The messages and remedies for a mesh, joined; each problem has both."""
    found = problems(mesh, degree)
    assert all(p.key == "domain.mesh" and p.message and p.remedy for p in found)
    return "\n".join(p.message for p in found)


@pytest.mark.parametrize("order", [1, 2])
def test_a_good_mesh_has_no_problem(order):
    mesh = turned(bricks(3, 3, 3, seed=1), seed=1)
    assert told(mesh if order == 1 else mesh.elevated()) == ""


def test_folded_element_is_named_with_place_and_value():
    mesh = bricks(3, 3, 3)
    nodes = mesh.nodes.copy()
    n = np.flatnonzero((nodes == (1, 1, 1)).all(axis=1))[0]
    nodes[n] = (2.4, 2.4, 2.4)
    text = told(replace(mesh, nodes=nodes))
    assert "has the Jacobian -" in text and "; 7 of 27 elements are affected" in text
    assert "element 13 (numbers begin at 0" in text  # the middle one is turned inside out


def test_element_folded_between_its_corners_only():
    mesh = bricks(1, 1, 1).elevated()
    nodes = mesh.nodes.copy()
    nodes[(nodes == (0.5, 0.5, 1)).all(axis=1)] = (0.5, 0.5, -0.4)  # the middle of the top below the bottom's corners
    mesh = replace(mesh, nodes=nodes)
    assert (shape.determinants(mesh.nodes, mesh.elements, np.array([-1.0, 1.0])) > 0).all()
    assert "element 0" in told(mesh) and "Jacobian -" in told(mesh)


@pytest.mark.parametrize("order", ["VTK", "gmsh", "Exodus", "SPECFEM"])
def test_node_order_of_a_file_format_is_recognised(order):
    mesh = bricks(2, 2, 2, seed=4).elevated()
    place = shape.lexicographic(np.arange(27)[None], order)[0]
    given = np.empty_like(mesh.elements)
    given[:, place] = mesh.elements  # node f of the format at column f
    np.testing.assert_array_equal(shape.lexicographic(given, order), mesh.elements)
    assert f"in the order of {order} the element is valid; 8 of 8 elements are affected" in told(
        replace(mesh, elements=given)
    )


def test_node_order_of_vtk_with_8_nodes_and_left_handed_elements():
    mesh = bricks(2, 2, 2, seed=4)
    elements = mesh.elements.copy()
    elements[3] = elements[3, [0, 1, 3, 2, 4, 5, 7, 6]]
    elements[5] = elements[5, [4, 5, 6, 7, 0, 1, 2, 3]]
    text = told(replace(mesh, elements=elements))
    assert "element 3 " in text and "in the order of VTK, gmsh and Exodus the element is valid\n" in text
    assert "element 5 " in text and "left-handed" in text


def test_unused_and_duplicate_nodes():
    mesh = bricks(3, 2, 2)
    extra = replace(mesh, nodes=np.vstack([mesh.nodes, [[0.5, 0.5, 0.5]]]))
    assert told(extra) == f"node {len(mesh.nodes)} at (x, y, z) = (0.5, 0.5, 0.5) m belongs to no element"
    elements = mesh.elements.copy()
    old = elements[0, 7]
    elements[0, 7] = len(mesh.nodes)
    double = HexMesh(np.vstack([mesh.nodes, mesh.nodes[old]]), elements)
    text = told(replace(double, faces=named_by_place(double)))
    assert text == (
        f"nodes {old} and {len(mesh.nodes)} lie at the same place, (x, y, z) = (1, 1, 1) m: "
        "the elements there are not connected"
    )


def test_three_elements_at_one_face():
    mesh = bricks(2, 1, 1)
    third = mesh.elements[0].copy()
    third[[0, 2, 4, 6]] = len(mesh.nodes) + np.arange(4)
    nodes = np.vstack([mesh.nodes, mesh.nodes[mesh.elements[0, [0, 2, 4, 6]]] - (0.5, 0, 0)])
    text = told(HexMesh(nodes, np.vstack([mesh.elements, third])))
    assert "the face xi = +1 of element 0 " in text and "is shared by 3 elements; at most two can share a face" in text


def test_middle_nodes_that_are_not_shared():
    mesh = bricks(2, 1, 1).elevated()
    elements = mesh.elements.copy()
    old = elements[1, 12]  # the middle of the face that both share
    elements[1, 12] = len(mesh.nodes)
    text = told(replace(mesh, nodes=np.vstack([mesh.nodes, mesh.nodes[old]]), elements=elements))
    assert f"has node {old} where its neighbour" in text or f"has node {len(mesh.nodes)} where its neighbour" in text


@pytest.mark.parametrize("order", [1, 2])
def test_hanging_nodes_are_named(order):
    coarse, fine = bricks(1, 1, 1), bricks(2, 2, 2)
    nodes = np.vstack([coarse.nodes, fine.nodes / 2 + (1, 0, 0)])
    elements = np.vstack([coarse.elements, fine.elements + 8])
    unique, ids = np.unique(nodes, axis=0, return_inverse=True)  # the four corners are shared, five nodes hang
    mesh = HexMesh(unique, ids.reshape(-1)[elements])
    mesh = mesh if order == 1 else mesh.elevated()
    text = told(replace(mesh, faces={"all": boundary_faces(mesh)}))
    assert "is a hanging node: it lies on the face xi = +1 of element 0 " in text
    assert (
        "is not one of its corners; 5 of 30 nodes of unmatched faces are affected" in text
    )  # 31 corners, one of them inside


def test_faces_without_tag_and_with_two():
    mesh = bricks(2, 2, 2)
    faces = dict(mesh.faces)
    faces["top"] = faces["top"][1:]
    faces["bottom"] = np.vstack([faces["bottom"], faces["west"][:1]])
    text = told(replace(mesh, faces=faces))
    assert (
        "the face zeta = +1 of element 4 lies on the boundary, at (x, y, z) = (0.5, 0.5, 2) m, and is in no face set"
        in text
    )
    assert (
        "the face xi = -1 of element 0 (numbers begin at 0" in text
        and "is in the face sets 'west' and 'bottom'" in text
    )


def test_material_tag_missing():
    mesh = replace(bricks(2, 1, 1), regions=[0, -1], region_names=("sediment",))
    assert "element 1 (numbers" in told(mesh) and "has no material tag" in told(mesh)


def test_arrays_that_make_no_mesh():
    mesh = bricks(2, 1, 1)
    for change, words in (
        ({"elements": mesh.elements + 1}, "element 1 names node 12, but the nodes are 0 to 11"),
        ({"nodes": np.where(mesh.nodes == 2, np.nan, mesh.nodes)}, "which is not finite; 4 of 12 nodes are affected"),
        ({"elements": np.where(mesh.elements == 1, 0, mesh.elements)}, "contains node 0 twice"),
    ):
        assert words in told(replace(mesh, **change))
    with pytest.raises(ValueError, match=r"\(2, 6\); it must be"):
        HexMesh(mesh.nodes, mesh.elements[:, :6])


# --- shapes -----------------------------------------------------------------------------------------------------------------------------


def test_volume_and_quality():
    mesh = turned(bricks(3, 3, 3, seed=9), seed=9)
    points = shape.gll_points(2)
    weights = (
        np.array([1, 4, 1]) / 3
    )  # Simpson's rule: exact, the Jacobian of a trilinear map has degree 2 along each axis
    cube = np.einsum("k,j,i->kji", weights, weights, weights).ravel()
    assert shape.determinants(mesh.nodes, mesh.elements, points).dot(cube).sum() == pytest.approx(27, rel=1e-13)
    np.testing.assert_allclose(shape.quality(bricks(1, 1, 1).nodes * (1, 5, 9), bricks(1, 1, 1).elements), 1)
    sheared = bricks(1, 1, 1)
    sheared.nodes[:, 0] += sheared.nodes[:, 2]  # 45 degrees
    np.testing.assert_allclose(shape.quality(sheared.nodes, sheared.elements), np.sqrt(0.5))
    assert shape.is_affine(sheared.nodes, sheared.elements).all() and not shape.is_affine(mesh.nodes, mesh.elements)[13]


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
    np.testing.assert_allclose(lengths(mesh)[:, 0], 8000 / 9)
    np.testing.assert_allclose(lengths(mesh)[:, 1], 5200 / 6)
    assert shape.is_affine(mesh.nodes, mesh.elements).all()
    assert volume(mesh).sum() == pytest.approx(8000 * 5200 * 10_000)


@pytest.mark.parametrize(
    "refine", [[(-5000, 3)], [(-5000, 2)], [(-4000, 2), (-9000, 3)], [(-2000, 3), (-8000, 2)], [(-200, 2)]]
)
def test_elements_below_are_larger(refine):
    mesh = box_mesh(**BOX, interfaces=(-4900.0, -6000.0), refine=refine)
    assert problems(mesh, 4) == []  # conforming: no face unmatched inside, nothing folded
    assert (
        mesh.quality().min() > 0.6
    )  # 45 degrees would be 0.71; transition layers are flattened to fit between interfaces
    assert volume(mesh).sum() == pytest.approx(30_000 * 24_000 * 20_000)
    size, z = lengths(mesh), mesh.centroids()[:, 2]
    total = np.prod([factor for _, factor in refine])
    top = z > (
        -200 if refine[0][0] == -200 else refine[0][0] + 500
    )  # a plane within half an element moves to the interface
    assert (size[top] <= 1000 * (1 + 1e-9)).all()
    last = z < mesh.nodes[:, 2].min() + 1000
    np.testing.assert_allclose(size[last, 0], total * size[:, 0].min())
    np.testing.assert_allclose(size[last, 1], total * size[:, 1].min())
    assert (size[last, 2] > 0.5 * total * 1000).all() and (size[last] <= total * 1000 * (1 + 1e-9)).all()
    sizes = {name: len(rows) for name, rows in mesh.faces.items()}
    assert sizes["top"] == total**2 * sizes["bottom"]


def test_faces_follow_topography_and_horizon():
    mesh = box_mesh(**BOX, interfaces=(-1400.0, -6000.0, horizon), surface=hill, refine=[(-6000, 3)])
    assert mesh.order == 2 and problems(mesh, 4) == []
    assert mesh.quality().min() > 0.45
    for name, places in (("top", hill), ("bottom", lambda x, y: -20_000 + 0 * x)):
        rows = mesh.faces[name]
        x, y, z = mesh.nodes[mesh.elements[rows[:, 0][:, None], numbering.face_nodes(2)[rows[:, 1]]]].reshape(-1, 3).T
        np.testing.assert_allclose(z, places(x, y), atol=1e-9)
    above, below = mesh.regions == 2, mesh.regions == 3
    x, y, z = mesh.nodes[np.intersect1d(mesh.elements[above], mesh.elements[below])].T
    np.testing.assert_allclose(z, horizon(x, y), atol=1e-9)
    assert len(z) > 100
    # Between the flat interfaces nothing moves.
    assert shape.is_affine(mesh.nodes, mesh.elements)[mesh.regions == 1].all()
    # The volume under the hill: 27-node faces integrate it to the fourth order of the element's length.
    x, y = (np.linspace(a, b, 1201) for a, b in ((100, 30_100), (-200, 23_800)))
    exact = np.trapezoid(np.trapezoid(hill(x, y[:, None]) + 1400, x, axis=1), y)
    assert volume(mesh)[mesh.regions == 0].sum() == pytest.approx(exact, rel=1e-5)


def test_eight_nodes_on_request():
    mesh = box_mesh(**BOX, surface=hill, refine=[(-3000, 2)], order=1)
    assert mesh.order == 1 and problems(mesh, 4) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"interfaces": [lambda x, y: -500 + x / 20]},
            "at 0 m, and interface 1 (from above), at 1005 m, touch or cross at (x, y) = (30100,",
        ),
        ({"refine": [(-19_000, 3)]}, "domain.refine: 1 of 1 refinements do not fit above the bottom, at -20000 m"),
        ({"refine": [(-5000, 4)]}, "domain.refine.0.factor: it is 4; elements can be coarsened only by 2 or 3"),
        (
            {"surface": lambda x, y: np.where(x > 2e4, np.nan, 0)},
            "the top has no elevation at (x, y) = (20100, -200) m",
        ),
        (
            {"size": (4000, 24_000, 20_000), "refine": [(-2000, 3), (-9000, 3)]},
            "the domain has 4 elements along x, but these refinements need a multiple of 9",
        ),
        ({"size": (0, 1, 1)}, "domain.size: it is 0, 1, 1 m; every length must be more than 0"),
        ({"interfaces": [lambda x, y: -5000 + 2500 * np.sin(x / 900)], "refine": [(-5000, 3)]}, "is folded"),
    ],
)
def test_boxes_that_cannot_be_meshed(change, words):
    with pytest.raises(ScenarioError) as refusal:
        box_mesh(**BOX | change)
    assert words in str(refusal.value)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 17, 50])
def test_products_do_not_depend_on_the_number_of_rows(count):
    random = np.random.default_rng(count)
    rows, matrix = random.standard_normal((400, 27)), random.standard_normal((27, 125))
    want = shape.product(rows, matrix)
    assert np.array_equal(shape.product(rows[:count], matrix), want[:count])
    assert np.allclose(want, rows @ matrix, rtol=0, atol=1e-13)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_compiled_numbers_are_those_of_numpy(degree, monkeypatch):
    random, nodes = np.random.default_rng(degree), np.arange(5 * 6 * 7).reshape(7, 6, 5)
    cubes = np.lib.stride_tricks.sliding_window_view(nodes, (2, 2, 2)).reshape(-1, 2, 2, 2)
    turned = [cube.transpose(random.permutation(3))[::-1, :, ::-1] for cube in cubes]
    elements = random.permutation(500)[random.permutation(np.reshape(turned, (-1, 8)))]
    elements[3, 5] = elements[3, 2]  # of a bad mesh, too
    compiled = numbering.number(elements, degree)
    rows, places = random.permutation(len(elements))[:50], np.arange(50)
    table = compiled.points.reshape(len(elements), -1)

    def again():
        flags, out = np.zeros(compiled.count, bool), np.zeros((50, table.shape[1]), np.int32)
        numbering.mark(flags, table, rows)
        number = np.arange(compiled.count, dtype=np.int32)[::-1].copy()
        numbering.renumber(out, places, number, table, rows)
        return flags, out

    marked, renumbered = again()
    assert numbering.helper(numbering.TEXT) is not None
    monkeypatch.setattr(numbering, "helper", lambda path: None)
    plain = numbering.number(elements, degree)
    assert compiled.count == plain.count and np.array_equal(compiled.points, plain.points)
    assert np.array_equal(marked, again()[0]) and np.array_equal(renumbered, again()[1])


@pytest.mark.parametrize("size", [1, 16])
def test_compiled_colours_are_those_of_numpy(size, monkeypatch):
    nodes = np.arange(21**3).reshape(21, 21, 21)
    cubes = np.lib.stride_tricks.sliding_window_view(nodes, (2, 2, 2)).reshape(-1, 8)

    def coloured():
        cut = ordering.chunks(cubes, size)
        return cut.offsets, cut.starts, cut.nodes, ordering.colour(cut)

    compiled = coloured()
    many = ordering.chunks(np.tile(np.arange(8), (65, 1)), 1)
    with pytest.raises(ValueError, match="more than 64 chunks"):
        ordering.colour(many)
    monkeypatch.setattr(ordering, "helper", lambda path: None)
    assert all(map(np.array_equal, compiled, coloured())) and len(np.unique(compiled[3])) >= 8
