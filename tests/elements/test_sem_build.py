"""The plan of spectral elements against the plain way: every element sampled at all its nodes, in float64, one array for all."""

from functools import cache

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
    given = bench.irregular(scenario, moved=bench.MOVED * irregular)
    d = discretise(scenario, given, source_files.build_all(scenario, None), SingleRank(), CPU(threads=1))
    places = shape.positions(d.mesh.nodes, d.mesh.elements, d.element.points).transpose(0, 2, 1)
    return d, places, given.sampler.at(places, d.mesh.nodes[d.mesh.elements].mean(axis=1), d.mesh.regions), scenario


@every_case
def test_places_material_and_masses(name):
    """What is seen at centres only is the same at all nodes."""
    d, places, samples, _ = problem(name)
    some = np.random.default_rng(1).permutation(d.mesh.size)[:50]
    assert np.allclose(d.coordinates(some), places[some], atol=1e-9)
    found = d.material(some)
    assert set(found) == set(samples)
    for quantity, values in samples.items():
        assert np.allclose(found[quantity], values[some], rtol=1e-12, atol=1e-12 * np.abs(values).max())
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
    plan = assemble(d, scenario, [], receivers.build(scenario), [])
    for own in families.families(d, d.layers):
        order = order_elements(own.elements, d.mesh.corners[own.elements], d.deterministic).elements
        there, e = order >= 0, order[order >= 0]
        points, geometry, moduli = (
            plan.arrays[f"{own.name}_{array}"].on_host() for array in ("points", "geometry", "moduli")
        )
        seen[e] += 1
        assert (points[there] == d.points[e]).all() and not moduli[~there].any()
        assert (points[~there] == (d.state.fluid if own.fluid else d.state.solid)).all()
        assert np.allclose(nodes_of(own.kind.geometry, geometry[there]), local[e], atol=1e-4)
        expected = 1 / samples["rho"][:, None] if own.fluid else samples.get("stiffness")
        if expected is None:
            expected = sampling.moduli(samples, d.relaxation)[0]
        made = moduli[there].reshape(*moduli[there].shape[:2], -1)
        assert np.allclose(made, expected[e], rtol=SINGLE, atol=SINGLE * np.abs(expected).max())
    assert (seen == 1).all()


def blas_threads():
    """Threads of each BLAS that is loaded."""
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_within_blocks_that_end_in_any_order():
    if not blas_threads():
        pytest.skip("threadpoolctl does not know this NumPy's BLAS")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        for first_ends_first in (False, True):
            first, second = blas.one_thread(), blas.one_thread()
            first.__enter__()
            second.__enter__()
            assert blas_threads() == {1}
            one, other = (first, second) if first_ends_first else (second, first)
            one.__exit__(None, None, None)
            assert blas_threads() == {1}
            other.__exit__(None, None, None)
            assert blas_threads() == {2}


def test_work_keeps_its_order():
    assert list(in_order(lambda n: n * n, range(100))) == [n * n for n in range(100)]
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda n: 1 / (n - 50), range(100)))
