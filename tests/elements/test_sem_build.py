"""The plan of spectral elements against the plain way: every element sampled at all its nodes, in float64, one array for all."""

import numpy as np
import pytest
import threadpoolctl

from craton.backends.cpu import CPU
from craton.methods.shared.sharing import SingleRank
from craton.methods.spectral_element import bench, families, mesh_terms
from craton.methods.spectral_element.assembly import order_elements
from craton.methods.spectral_element.build import assemble, discretise
from craton.model import blas
from craton.model.media import sampling
from craton.model.media.cells import in_order
from craton.model.mesh import shape
from craton.survey import receivers, source_files

SINGLE = 3e-7  # relative: an array in float32
STRETCHED = {"vp_gradient": 0.5, "vs_gradient": 0.2}
CASES = {
    "cubes": ({}, False, False),
    "cubes, gradient": (STRETCHED, False, False),
    "irregular": ({}, True, False),
    "gradient": (STRETCHED, True, False),
    "anisotropic": (STRETCHED | bench.THOMSEN, True, False),
    "attenuation": (STRETCHED | bench.LOSS, True, False),
    "water": (STRETCHED, True, True),
}


@pytest.fixture(scope="module", params=CASES)
def problem(request):
    """A discretised problem of 128 elements and the samples at all their nodes."""
    more, irregular, water = CASES[request.param]
    scenario = bench.Box("small", (4, 4, 8), more, irregular, water).scenario()
    if not irregular:
        scenario = scenario.model_copy(update={"domain": scenario.domain.model_copy(update={"element_size": 99.0})})
    given = bench.irregular(scenario, moved=bench.MOVED * irregular)
    d = discretise(scenario, given, source_files.build_all(scenario, None), SingleRank(), CPU(threads=1))
    places = shape.positions(d.mesh.nodes, d.mesh.elements, d.element.points).transpose(0, 2, 1)
    centres = d.mesh.nodes[d.mesh.elements].mean(axis=1)
    return d, places, given.sampler.at(places, centres, d.mesh.regions), scenario


def test_places_and_material(problem):
    d, places, samples, _ = problem
    some = np.random.default_rng(1).permutation(d.mesh.size)[:50]
    assert np.allclose(d.coordinates(some), places[some], atol=1e-9)
    found = d.material(some)
    assert set(found) == set(samples)
    for name, values in samples.items():
        assert np.allclose(found[name], values[some], rtol=1e-12, atol=1e-12 * np.abs(values).max())


def test_what_is_seen_at_centres_only_is_the_same_at_all_nodes(problem):
    d, places, samples, _ = problem
    spread = np.max(
        [np.ptp(values, axis=-1).reshape(d.mesh.size, -1).max(axis=1) for values in samples.values()], axis=0
    )
    even = d.sampler.uniform(places[:, 2], d.centres, d.mesh.regions)
    assert not spread[even].any() and (d.statistics.varying == (spread > 0)).all()
    assert even.any() == (not d.statistics.varying.all()) or d.fluid.any()


def test_masses(problem):
    d, _, samples, _ = problem
    weight = shape.determinants(d.mesh.nodes, d.mesh.elements, d.element.points) * d.element.volume_weights
    for fluid, mass in enumerate(d.statistics.mass):
        own, expected = d.fluid == bool(fluid), np.zeros(len(mass))
        density = 1 / (samples["rho"] * samples["vp"] ** 2) if fluid else samples["rho"]
        np.add.at(expected, d.points[own], (weight * density)[own])
        assert np.allclose(mass, expected, rtol=1e-12)


def test_arrays_of_families(problem):
    d, _, samples, scenario = problem
    local = mesh_terms.relative(d.mesh.nodes[d.mesh.elements])[0]
    seen = np.zeros(d.mesh.size, int)
    plan = assemble(d, scenario, [], receivers.build(scenario), [])
    for own in families.families(d, d.layers):
        order = order_elements(own.elements, d.mesh.corners[own.elements], d.deterministic)
        there, e = order.elements >= 0, order.elements[order.elements >= 0]
        arrays = {name: plan.arrays[f"{own.name}_{name}"].on_host() for name in ("points", "geometry", "moduli")}
        seen[e] += 1
        assert (arrays["points"][there] == d.points[e]).all() and not arrays["moduli"][~there].any()
        assert (arrays["points"][~there] == (d.state.fluid if own.fluid else d.state.solid)).all()
        nodes = {"box": lambda g: boxes(g), "corners": lambda g: g @ mesh_terms.MIDDLES, "nodes": lambda g: g}[
            own.kind.geometry
        ]
        assert np.allclose(nodes(arrays["geometry"][there]), local[e], atol=1e-4)
        expected = 1 / samples["rho"][:, None] if own.fluid else samples.get("stiffness")
        if expected is None:
            expected = sampling.moduli(samples, d.relaxation)[0]
        made = arrays["moduli"][there].reshape(*arrays["moduli"][there].shape[:2], -1)
        assert np.allclose(made, expected[e], rtol=SINGLE, atol=SINGLE * np.abs(expected).max())
    assert (seen == 1).all()


def boxes(edges):
    """Nodes of boxes with these edges, (n, 3, 27)."""
    zeta, eta, xi = np.meshgrid(*3 * (mesh_terms.NODES,), indexing="ij")
    return edges[:, :, None] / 2 * np.stack([xi.ravel(), eta.ravel(), zeta.ravel()])


def blas_threads():
    """Threads of each BLAS that is loaded."""
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_within_a_block():
    if not blas_threads():
        pytest.skip("threadpoolctl does not know this NumPy's BLAS")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with blas.one_thread():
            with blas.one_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_blocks_of_one_thread_end_in_any_order():
    if not blas_threads():
        pytest.skip("threadpoolctl does not know this NumPy's BLAS")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        first, second = blas.one_thread(), blas.one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_work_keeps_its_order():
    assert list(in_order(lambda n: n * n, range(100))) == [n * n for n in range(100)]
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda n: 1 / (n - 50), range(100)))
