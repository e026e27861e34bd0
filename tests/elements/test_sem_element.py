"""The reference element and what elements' shapes give: exact quadrature, derivatives, volumes, areas, damping of absorbing faces."""

import numpy as np
import pytest
import semcase

from craton.methods.spectral_element import faces, mesh_statistics, mesh_terms
from craton.methods.spectral_element.element import DEGREES, Element, lagrange, lagrange_slopes


def test_quadrature_and_derivatives_are_exact_to_their_degree():
    element = Element(4)
    assert np.allclose(element.points, [-1, -np.sqrt(3 / 7), 0, np.sqrt(3 / 7), 1], rtol=0, atol=1e-16)
    assert np.allclose(element.weights, [1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10], rtol=0, atol=1e-15)
    for degree in DEGREES:
        element = Element(degree)
        for power in range(2 * degree):
            exact = 2 / (power + 1) if power % 2 == 0 else 0
            assert abs(element.weights @ element.points**power - exact) < 1e-14
        assert abs(element.weights @ element.points ** (2 * degree) - 2 / (2 * degree + 1)) > 1e-6  # and no further
        for power in range(degree + 1):
            slope = power * element.points ** max(power - 1, 0)
            assert np.allclose(element.derivative.T @ element.points**power, slope, rtol=0, atol=1e-12)


def test_lagrange_polynomials_are_one_at_their_own_point():
    points = Element(6).points
    assert (lagrange(points, points) == np.eye(7)).all()
    at, step = np.linspace(-1, 1, 12).reshape(3, 4), 1e-6
    values = lagrange(points, at)
    assert values.shape == (3, 4, 7) and np.allclose(values.sum(-1), 1, atol=1e-14)
    assert np.allclose(values @ points**5, at**5, atol=1e-14)
    numeric = (lagrange(points, at + step) - lagrange(points, at - step)) / (2 * step)
    assert np.allclose(lagrange_slopes(points, at), numeric, atol=1e-7)


def test_faces_lie_where_they_are_numbered():
    element = Element(3)
    z, y, x = (n.ravel() for n in np.meshgrid(*3 * (element.points,), indexing="ij"))
    for face, (axis, side) in enumerate((axis, side) for axis in (x, y, z) for side in (-1, 1)):
        assert (axis[element.face_nodes[face]] == side).all()


@pytest.mark.parametrize("degree", [3, 4, 6])
def test_volume_and_areas_of_curved_elements_agree(degree):
    """The divergence theorem: volume from the Jacobian and from the closed surface, which has no net area."""
    mesh = semcase.Mesh(degree, (3, 2, 2), distortion=0.25)
    local = mesh.local[: mesh.real]
    det = mesh_terms.determinants(mesh.element, local)
    assert np.allclose(det, mesh_terms.cofactors(mesh_terms.jacobian(mesh.element, local))[1], rtol=1e-13)
    volumes = (det * mesh.element.volume_weights).sum(1)
    x = mesh_terms.coordinates(mesh.element, local).transpose(0, 2, 1)
    for e in range(mesh.real):
        vectors = mesh_terms.area_vectors(mesh.element, local, [(e, side) for side in range(6)])
        assert np.abs(vectors.sum((0, 1))).max() < 1e-13
        assert np.isclose((x[e][mesh.element.face_nodes] * vectors).sum() / 3, volumes[e], rtol=1e-13)


def test_volumes_of_boxes_and_distorted_elements():
    """Where the node in the middle moves, volumes stay."""
    mesh = semcase.Mesh(4, (4, 2, 1), distortion=0)
    inner = mesh.local.copy()
    inner[:, :, 13] += np.random.default_rng(1).uniform(-0.1, 0.1, (mesh.size, 3))
    for local in (mesh.local, inner):
        weight = mesh_statistics.volumes(mesh.element, local, mesh_terms.boxes(local)) * mesh.element.volume_weights
        assert np.isclose(weight.sum(), 8 * 0.8 * 1.3, rtol=1e-13) and (weight > 0).all()


def test_metric_terms_are_the_inverse_of_the_jacobian_the_slope_of_the_coordinates():
    mesh = semcase.Mesh(4)
    terms, jacobian = mesh_terms.metric(mesh.element, mesh.local), mesh_terms.jacobian(mesh.element, mesh.local)
    inverse = terms[:, :9].reshape(mesh.size, 3, 3, -1)
    assert np.allclose(np.einsum("esrp,etrp->estp", inverse, jacobian), np.eye(3)[:, :, None], atol=1e-12)
    assert np.allclose(terms[:, 9], np.linalg.det(jacobian.transpose(0, 3, 1, 2)), rtol=1e-12)
    x = mesh_terms.coordinates(mesh.element, mesh.local).reshape(mesh.size, 3, 5, 5, 5)
    slopes = jacobian.reshape(mesh.size, 3, 3, 5, 5, 5)
    for s, term in enumerate(("erkjl,li->erkji", "erkli,lj->erkji", "erlji,lk->erkji")):
        assert np.allclose(np.einsum(term, x, mesh.element.derivative), slopes[:, s], atol=1e-13)


def test_boxes_and_straight_elements_are_recognised():
    for straight in (False, True):
        mesh = semcase.Mesh(2, straight=straight, distortion=0.15 * straight)
        bent = mesh.local.copy()
        bent[3, 1, 13 if straight else 5] += 1e-4
        if straight:
            corners, told = mesh_terms.corners(mesh.local)
            assert told.all() and (corners[:, :, [7, 1]] == mesh.local[:, :, [26, 2]]).all()
            others = ~mesh_terms.corners(bent)[1]
        else:
            assert np.allclose(mesh_terms.boxes(mesh.local), [1.0, 0.8, 1.3])
            others = np.isnan(mesh_terms.boxes(bent)).all(axis=1)
            assert np.isfinite(mesh_terms.boxes(bent)[~others]).all()
        assert np.flatnonzero(others).tolist() == [3]


def test_absorbing_faces_damp_p_and_s_waves():
    mesh = semcase.Mesh(2, (1, 1, 1), distortion=0)
    nodes, medium = mesh.element.face_nodes, {"rho": np.full(18, 2.0), "vp": np.full(18, 5.0), "vs": np.full(18, 3.0)}
    one = mesh_terms.area_vectors(mesh.element, mesh.local, [(0, 1)])[0]
    half = {name: values[:9] for name, values in medium.items()}
    points, c = faces.stacey_damping(mesh.points[0, nodes[1]], one, half)
    assert np.allclose(c.sum(0), 0.8 * 1.3 * 2.0 * np.array([5.0, 3.0, 3.0, 0, 0, 0]), atol=1e-12) and len(points) == 9
    corner = mesh_terms.area_vectors(mesh.element, mesh.local, [(0, 1), (0, 3)])
    both, c = faces.stacey_damping(mesh.points[0, nodes[[1, 3]]].ravel(), corner.reshape(-1, 3), medium)
    assert len(both) == 15 and np.isclose(c[:, 1].sum(), 2.0 * (0.8 * 1.3 * 3.0 + 1.0 * 1.3 * 5.0))


def test_implicit_damping_is_the_inverse_matrix():
    rng = np.random.default_rng(2)
    a, mass = rng.standard_normal((4, 3, 3)), rng.random(4) + 0.1
    full = a @ a.transpose(0, 2, 1)
    c = full[:, (0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)]
    g = mesh_terms.implicit(c, mass, 0.4)[:, semcase.VOIGT]
    assert np.allclose(g @ (np.eye(3) + 0.2 / mass[:, None, None] * full), np.eye(3), atol=1e-12)


def test_pairs_of_solid_and_fluid_points_come_once():
    solid, fluid, vectors = np.array([[5, 6], [6, 7]]), np.array([[1, 2], [2, 3]]), np.arange(12.0).reshape(2, 2, 3)
    pairs, sums = mesh_terms.unique_pairs(solid, fluid, vectors)
    assert pairs.tolist() == [[5, 1], [6, 2], [7, 3]] and sums.tolist() == [[0, 1, 2], [9, 11, 13], [9, 10, 11]]
