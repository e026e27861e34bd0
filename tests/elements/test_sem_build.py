"""The reference element and what elements' shapes give: exact quadrature, derivatives, volumes, areas, damping of absorbing faces. The
plan of spectral elements against the plain way: every element sampled at all its nodes, in float64, one array for all; and compiled
batches of elements: the same bits as NumPy's, element for element.
"""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import semcase
import stepcase
import threadpoolctl
from common import refused

from craton.backends.cpu import CPU
from craton.host import compile as host
from craton.methods.protocol import Reuse
from craton.methods.spectral_element import bench
from craton.methods.spectral_element.build import discretise
from craton.methods.spectral_element.equations import faces, material
from craton.methods.spectral_element.equations.time_step import corner_nodes, corner_stiffness
from craton.methods.spectral_element.equations.undamped import TEXT, advance, products_on_host
from craton.methods.spectral_element.mesh import families, mesh_statistics, mesh_terms
from craton.methods.spectral_element.mesh.element import DEGREES, Element, lagrange, lagrange_slopes
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.problem import Setup, assemble
from craton.model import blas
from craton.model.globe import radial
from craton.model.media import anomalies, sampling
from craton.model.media.cells import in_order
from craton.model.mesh import shape
from craton.scenario import Layers
from craton.survey import receivers, source_files

# --- elements ---------------------------------------------------------------------------------------------------------------------------


def test_quadrature_and_derivatives_are_exact_to_their_degree():
    element = Element(4)
    assert np.allclose(element.points, [-1, -np.sqrt(3 / 7), 0, np.sqrt(3 / 7), 1], rtol=0, atol=1e-16)
    assert np.allclose(element.weights, [1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10], rtol=0, atol=1e-15)
    for degree in DEGREES:
        element = Element(degree)
        for power in range(2 * degree):
            assert abs(element.weights @ element.points**power - (1 + (-1) ** power) / (power + 1)) < 1e-14
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


@pytest.mark.parametrize("straight", [False, True])
def test_boxes_and_straight_elements_are_recognised(straight):
    mesh = semcase.Mesh(2, straight=straight, distortion=0.15 * straight)
    bent = mesh.local.copy()
    bent[3, 1, 13 if straight else 5] += 1e-4
    if straight:
        assert mesh_statistics.shape_statistics(mesh.local)[1].all()
        assert (mesh_terms.corners(mesh.local)[:, :, [7, 1]] == mesh.local[:, :, [26, 2]]).all()
        recognised = mesh_statistics.shape_statistics(bent)[1]
    else:
        assert np.allclose(mesh_statistics.shape_statistics(mesh.local)[0], [1.0, 0.8, 1.3])
        edges = mesh_statistics.shape_statistics(bent)[0]
        recognised = np.isfinite(edges).all(axis=1)
        assert np.isnan(edges[~recognised]).all()
    assert np.flatnonzero(~recognised).tolist() == [3]


def test_absorbing_faces_damp_p_and_s_waves():
    mesh = semcase.Mesh(2, (1, 1, 1), distortion=0)

    def damping(*sides):
        """Points and terms of faces of the element."""
        points = mesh.points[0, mesh.element.face_nodes[list(sides)]].ravel()
        vectors = mesh_terms.area_vectors(mesh.element, mesh.local, [(0, side) for side in sides]).reshape(-1, 3)
        medium = {name: np.full(len(points), value) for name, value in (("rho", 2.0), ("vp", 5.0), ("vs", 3.0))}
        return faces.stacey_damping(points, vectors, medium)

    points, c = damping(1)
    assert np.allclose(c.sum(0), 0.8 * 1.3 * 2.0 * np.array([5.0, 3.0, 3.0, 0, 0, 0]), atol=1e-12) and len(points) == 9
    points, c = damping(1, 3)
    assert len(points) == 15 and np.isclose(c[:, 1].sum(), 2.0 * (0.8 * 1.3 * 3.0 + 1.0 * 1.3 * 5.0))


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


# --- plans ------------------------------------------------------------------------------------------------------------------------------

SINGLE = 3e-7  # relative: an array in float32
STRETCHED = {"vp_gradient": 0.5, "vs_gradient": 0.2}
CASES = {  # of the medium, whether the mesh is irregular, whether water is above
    "cubes": ({}, False, False),
    "cubes, gradient": (STRETCHED, False, False),
    "irregular": ({}, True, False),
    "gradient": (STRETCHED, True, False),
    "anisotropic": (STRETCHED | bench.THOMSEN, True, False),
    "attenuation": (STRETCHED | bench.LOSS, True, False),
    "water": (STRETCHED, True, True),
}
every_case = pytest.mark.parametrize("name", CASES)


@cache
def problem(name):
    """A discretised problem of 128 elements, places of all their nodes and samples there, the scenario."""
    more, irregular, water = CASES[name]
    scenario = bench.Box("small", (4, 4, 8), more, irregular, water).scenario()
    if not irregular:
        scenario = scenario.model_copy(update={"domain": scenario.domain.model_copy(update={"element_size": 99.0})})
    prepared = bench.irregular(scenario, moved=bench.MOVED * irregular)
    d = discretise(scenario, prepared, source_files.build_all(scenario, None), SingleRank(), CPU(threads=1))
    places = shape.positions(d.mesh.nodes, d.mesh.elements, d.element.points).transpose(0, 2, 1)
    return d, places, prepared.sampler.at(places, d.mesh.nodes[d.mesh.elements].mean(axis=1), d.mesh.regions), scenario


@every_case
def test_places_material_and_masses(name):
    """What is seen at centres only is the same at all nodes."""
    d, places, samples, _ = problem(name)
    some = np.random.default_rng(1).permutation(d.mesh.size)[:50]
    assert np.allclose(d.coordinates(some), places[some], atol=1e-9)
    material = d.material(some)
    assert set(material) == set(samples)
    for quantity, values in samples.items():
        assert np.allclose(material[quantity], values[some], rtol=1e-12, atol=1e-12 * np.abs(values).max())
    spreads = [np.ptp(values, axis=-1).reshape(d.mesh.size, -1).max(axis=1) for values in samples.values()]
    spread, even = np.max(spreads, axis=0), d.sampler.uniform(places[:, 2], d.centres, d.mesh.regions)
    assert not spread[even].any() and (d.statistics.varying == (spread > 0)).all()
    assert even.any() == (not d.statistics.varying.all()) or d.fluid.any()
    weight = shape.determinants(d.mesh.nodes, d.mesh.elements, d.element.points) * d.element.volume_weights
    for fluid, mass in enumerate(d.statistics.mass):
        own, expected = d.fluid == bool(fluid), np.zeros(len(mass))
        density = 1 / (samples["rho"] * samples["vp"] ** 2) if fluid else samples["rho"]
        np.add.at(expected, d.points[own], (weight * density)[own])
        assert np.allclose(mass, expected, rtol=1e-12)


def nodes_of(kind, geometry):
    """Nodes of elements from the geometry that a kernel reads, (n, 3, 27)."""
    if kind == "box":
        zeta, eta, xi = np.meshgrid(*3 * (mesh_terms.NODES,), indexing="ij")
        return geometry[:, :, None] / 2 * np.stack([xi.ravel(), eta.ravel(), zeta.ravel()])
    return geometry @ mesh_terms.MIDDLES if kind == "corners" else geometry


@every_case
def test_arrays_of_families(name):
    d, _, samples, scenario = problem(name)
    local = mesh_terms.relative(d.mesh.nodes[d.mesh.elements])[0]
    seen = np.zeros(d.mesh.size, int)
    expected = samples["stiffness"] if "stiffness" in samples else sampling.moduli(samples, d.relaxation)[0]
    plan = assemble(Setup(ElementSpace(d), scenario, [], receivers.build(scenario), [], []), Reuse(keep=False))
    for own in families.families(d, d.layers):
        order = families.order_elements(own.elements, d.mesh.corners[own.elements], d.deterministic).elements
        there, e = order >= 0, order[order >= 0]
        names = (f"{own.name}_{array}" for array in ("points", "geometry", "moduli"))
        points, geometry, moduli = (plan.arrays[name].on_host() for name in names)
        seen[e] += 1
        assert (points[there] == d.points[e]).all() and not moduli[~there].any()
        assert (points[~there] == (d.state.fluid if own.fluid else d.state.solid)).all()
        assert np.allclose(nodes_of(own.kind.geometry, geometry[there]), local[e], atol=1e-4)
        values = 1 / samples["rho"][:, None] if own.fluid else expected
        of_elements = moduli[there].reshape(*moduli[there].shape[:2], -1)
        assert np.allclose(of_elements, values[e], rtol=SINGLE, atol=SINGLE * np.abs(values).max())
    assert (seen == 1).all()


def blas_threads():
    """Threads of each BLAS that is loaded."""
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_within_blocks_that_end_in_any_order():
    if not blas_threads():
        pytest.skip("threadpoolctl does not know this NumPy's BLAS")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        for order in ((0, 1), (1, 0)):
            blocks = blas.one_thread(), blas.one_thread()
            for block in blocks:
                block.__enter__()
            for n in order:
                assert blas_threads() == {1}
                blocks[n].__exit__(None, None, None)
            assert blas_threads() == {2}


def test_work_keeps_its_order():
    assert list(in_order(lambda n: n * n, range(100))) == [n * n for n in range(100)]
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda n: 1 / (n - 50), range(100)))


# --- compiled ---------------------------------------------------------------------------------------------------------------------------

same = np.testing.assert_equal  # nests of arrays have the same bits, or nan


def shapes(count=300):
    """Nodes (count, 3, 27) of boxes, every third with moved corners, every other third with all nodes moved."""
    random = np.random.default_rng(3)
    places = np.stack(np.meshgrid(*[mesh_terms.NODES] * 3, indexing="ij")[::-1]).reshape(3, 27)
    local = np.tile(places, (count, 1, 1)) * random.uniform(10, 20, (count, 3, 1))
    bent, off = random.uniform(-1.0, 1.0, (2, count, 3, 27))
    local[1::3] += (bent[:, :, [0, 2, 6, 8, 18, 20, 24, 26]] @ mesh_terms.MIDDLES)[1::3]
    local[2::3] += off[2::3]
    return local - local.mean(axis=2, keepdims=True)


def test_shapes_and_quality():
    local, kind = shapes(), np.arange(300) % 3
    edges, straight, quality, smallest = mesh_statistics.shape_statistics(local)
    same([straight, edges], [kind < 2, np.where(kind[:, None] == 0, np.ptp(local, axis=2), np.nan)])
    assert smallest == np.prod(np.ptp(local, axis=2), axis=1).min()
    along = [np.diff(mesh_terms.corners(local).reshape(-1, 3, 2, 2, 2), axis=axis) for axis in (4, 3, 2)]
    lengths = [np.sqrt((edge**2).sum(axis=1, keepdims=True)) for edge in along]
    xi, eta, zeta = (np.repeat(e / s, 2, axis=a).reshape(-1, 3, 8) for e, s, a in zip(along, lengths, (4, 3, 2)))
    sine = np.max([np.abs((u * v).sum(axis=1)).max(axis=1) for u, v in ((xi, eta), (xi, zeta), (eta, zeta))], axis=0)
    lengths = np.concatenate([length.reshape(-1, 4) for length in lengths], axis=1)
    jacobian, skewness = (mesh_terms.cross(xi, eta) * zeta).sum(axis=1), np.arcsin(np.minimum(sine, 1)) / (np.pi / 2)
    same([*quality.values()], [lengths.min(axis=1), lengths.max(axis=1), jacobian.min(axis=1), skewness])


@pytest.mark.parametrize("degree", [2, 4, 8])
def test_masses_and_extremes(degree):
    element, local, random = Element(degree), shapes(33), np.random.default_rng(1)
    samples = {name: random.uniform(1, 2, (33, element.size)) for name in ("vp", "vs", "rho")}
    samples["vs"][:, 3], samples["rho"][5:9] = 0.0, 7.0
    whole = samples | {"stiffness": random.uniform(1, 2, (33, 21, element.size))}
    points = random.integers(0, 50, (33, element.size)).astype(np.int32)

    edges, weights = mesh_statistics.shape_statistics(local)[0], element.volume_weights
    volume = mesh_statistics.volumes(element, local, edges)  # of boxes and others side by side
    det = mesh_terms.cofactors(mesh_terms.jacobian(element, local))[1]
    same(volume, np.where(np.isnan(edges[:, :1]), det, edges.prod(axis=1)[:, None] / 8))
    mass, total, expected = mesh_statistics.masses(volume, samples["rho"], weights), *np.zeros((2, 50))
    mesh_statistics.add_at(total, points, mass)
    np.add.at(expected, points.ravel(), mass.ravel())
    same((mass, total), (volume * samples["rho"] * weights, expected))
    few = volume[:, :1], samples["rho"][:, :1]
    same(mesh_statistics.masses(*few, weights), few[0] * few[1] * weights)
    same(mesh_statistics.slowest_in(samples), sampling.slowest_in(samples))
    limits = {name: (v.min(axis=-1), v.max(axis=-1)) for name, v in whole.items()}
    means = {name: v.mean(axis=-1) for name, v in whole.items()}
    same(mesh_statistics.material_of(whole), (limits, means, np.ones(33, bool)))
    assert not mesh_statistics.material_of({"vp": np.full((2, 3), 7.0)})[2].any()


@pytest.mark.parametrize("wrong", [np.nan, -1.0, 1e9, np.inf])
def test_impossible_material_has_the_same_message(wrong):
    samples = {name: np.full((4, 8), value) for name, value in (("vp", 3e3), ("vs", 1e3), ("rho", 2e3))}
    medium = samples, np.zeros((4, 3)), np.arange(4)
    assert mesh_statistics.impossible(*medium) == []
    samples["rho"][2, 5], samples["vs"][3, 1] = wrong, 0.0
    plain = sampling.element_problems(*medium[:2], numbers=medium[2])
    assert mesh_statistics.impossible(*medium) == plain and len(plain) == 2


def test_layers():
    """By compiled code as with an anomaly, which changes nothing."""
    layer = {"vp": 3000, "vs": 1700, "rho": 2000, "qp": 80, "qs": 40, "vp_gradient": 0.1}
    model = Layers(layers=[layer | {"top": top} for top in (0.0, -301.0, -500.0)], attenuation={"band": [1, 10]})
    centres = np.random.default_rng(2).uniform(-900, 0, (400, 3))
    nodes = centres[:, :, None] + shapes(400)
    nodes[:50] += -301.0 - nodes[:50, :, :1]
    sampler = sampling.sampler(model, sampling.cells.Region((0, 0, -900), (900, 900, 0)))
    nothing = anomalies.Anomaly(np.zeros(3), np.zeros(3), np.zeros(3), 1e-9, np.full(8, np.nan), np.zeros(8))
    same(*(s.at(nodes, nodes.mean(axis=2)) for s in (sampler, replace(sampler, bodies=[nothing]))))


@pytest.mark.parametrize("side", ["below", "above"])
def test_radial_models(side):
    random, knots = np.random.default_rng(4), np.array([1e6, 2e6, 3e6, 3.1e6, 6e6])
    model = radial.RadialModel("m", knots, random.uniform(-1, 1, (4, 8, 4)), ("a", "b", "c", "d"))
    r = np.clip(random.uniform(1e6, 6e6, (200, 1)) + random.uniform(-9e5, 9e5, (200, 27)), 1e6, 6e6)
    r[0, :5] = knots
    same(model.parameters(r, side), model.parameters(r.ravel(), side).reshape(8, 200, 27))
    refused(ValueError, "outside", model.parameters, np.full((2, 3), 7e6), side)


def test_corner_stiffness_and_moduli():
    element, local, random = Element(4), shapes(40), np.random.default_rng(6)
    nodes, (speed, inert) = corner_nodes(element.n), random.uniform(1, 2, (2, 40, 8))
    d = SimpleNamespace(element=element, shapes=lambda rows: local[rows])
    across, det = mesh_terms.cofactors(mesh_terms.jacobian(element, local, nodes))
    metric = ((across / det[:, None, None]) ** 2).sum(axis=2)  # |grad xi_s|^2
    quotient, compact = speed**2 * metric.sum(axis=1), (metric.sum(axis=1) / metric.max(axis=1)).mean(axis=1)
    expected = quotient * inert * det * element.volume_weights[nodes], quotient.max(axis=1), compact
    same(corner_stiffness(d, np.arange(40), nodes, speed, inert), expected)
    places, samples = np.array([3, 0, 2]), {name: random.uniform(1, 2, (3, 27)) for name in ("vp", "vs", "rho")}
    for dtype in (np.float32, np.float64):
        out, expected = np.zeros((2, 5, 2, 27), dtype)
        material.store_moduli(samples, places, out)
        expected[places] = sampling.moduli(samples)[0]
        same(out, expected)
    refused(ValueError, "not contiguous", host.argument, np.zeros((4, 4))[:, 1])


@pytest.mark.parametrize("dtype, components, near", [(np.float32, 3, 1e-5), (np.float64, 1, 1e-9)])
def test_vectors_of_lanczos(dtype, components, near):
    compiled, random = host.helper(TEXT), np.random.default_rng(8)
    force, vector, before = random.normal(size=(3, 1001, components)).astype(dtype)
    mass = random.uniform(1, 2, (1001, 1)).astype(dtype)
    for stiffness in (None, before):
        sums = [products_on_host(code, vector, force, mass, stiffness) for code in (compiled, None)]
        same(*sums)
        weighed = (mass * vector if stiffness is None else -stiffness).astype(float)
        assert sums[0] == pytest.approx([(weighed * values).sum() for values in (vector, -force / mass)], rel=near)
    for alpha, beta in ((0.0, 0.0), (0.3, 0.0), (0.3, 1.7)):
        states = [(vector.copy(), before.copy()) for _ in range(2)]
        for code, (v, b) in zip((compiled, None), states):
            advance(code, v, force, b, mass, 1.3, alpha, beta)
        same(*states)


MEDIA = {  # top and bottom of a box whose layers cut elements
    "gradient": ({"vp_gradient": 0.5}, {}),
    "one layer varies": ({}, {"vs_gradient": 0.1}),
    "sea": ({"vs": 0, "vp": 1500, "vp_gradient": 0.1}, {"vs_gradient": 0.1}),
}


@pytest.mark.parametrize("name, precision", [*((name, "float32") for name in MEDIA), ("sea", "float64")])
def test_moduli_kept_from_the_statistics_are_those_sampled_again(name, precision, monkeypatch):
    is_sea = name == "sea"
    tops = [{"top": top, "vp": 3000, "vs": 1700, "rho": 2000} for top in (0, -40 if is_sea else -50)]
    model = {"kind": "layers", "layers": [top | more for top, more in zip(tops, MEDIA[name])]}
    moved, run = 0.0 if is_sea else 0.2, {"degree": 3, "precision": precision}
    case = stepcase.box((5, 4, 4), model=model, run=run, moved=moved)
    kept = stepcase.discretised(case)
    assert kept.statistics.moduli is not None and kept.statistics.moduli.values is None
    monkeypatch.setattr(material, "KEPT", 0.0)
    sampled = stepcase.discretised(case)
    assert sampled.statistics.moduli is None
    of_families = ([[a.data for a in f.arrays.values()] for f in d.families] for d in (kept, sampled))
    same(*of_families)
