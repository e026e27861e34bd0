"""Compiled batches of elements: the same bits as NumPy's, element for element."""

from dataclasses import fields

import numpy as np
import pytest
import stepcase

from craton.host import helpers
from craton.methods.spectral_element import batched, material, mesh_statistics, mesh_terms, undamped
from craton.methods.spectral_element.element import Element
from craton.model.globe import radial
from craton.model.media import sampling
from craton.scenario import Scenario


@pytest.fixture
def numpy_alone(monkeypatch):
    """Return a function that takes the compiler away."""

    def take_away():
        monkeypatch.setattr(batched, "compiled", lambda: None)
        monkeypatch.setattr(sampling, "helper", lambda path: None)
        monkeypatch.setattr(radial, "helper", lambda path: None)

    return take_away


def shapes(moved, count=300):
    """Nodes (count, 3, 27) of boxes, every third with moved corners, every other third with all nodes moved."""
    random = np.random.default_rng(3)
    places = np.stack(np.meshgrid(*[mesh_terms.NODES] * 3, indexing="ij")[::-1]).reshape(3, 27)
    local = np.tile(places, (count, 1, 1)) * random.uniform(10, 20, (count, 3, 1))
    bent, off = random.uniform(-moved, moved, (2, count, 3, 27))
    local[1::3] += (bent[:, :, [0, 2, 6, 8, 18, 20, 24, 26]] @ mesh_terms.MIDDLES)[1::3]
    local[2::3] += off[2::3]
    return local - local.mean(axis=2, keepdims=True)


def twice(numpy_alone, compute):
    """Return what a function gives with compiled code, and with NumPy."""
    assert batched.compiled() is not None
    compiled = compute()
    numpy_alone()
    return compiled, compute()


def same(first, second):
    """Assert that two nests of arrays have the same bits."""
    if isinstance(first, dict):
        assert list(first) == list(second)
        first, second = list(first.values()), list(second.values())
    if isinstance(first, (tuple, list)):
        assert len(first) == len(second)
        for pair in zip(first, second):
            same(*pair)
    else:
        assert np.array_equal(first, second, equal_nan=True)


def test_shapes_and_quality_have_the_bits_of_numpy(numpy_alone):
    local = shapes(1.0)
    looks = twice(numpy_alone, lambda: mesh_statistics.shape_statistics(local))
    same(*([getattr(look, field.name) for field in fields(look)] for look in looks))
    assert looks[0].straight.sum() == 200 and np.isfinite(looks[0].edges[:, 0]).sum() == 100


@pytest.mark.parametrize("degree", [2, 4, 8])
def test_masses_and_extremes_have_the_bits_of_numpy(degree, numpy_alone):
    element, local, random = Element(degree), shapes(1.0, 33), np.random.default_rng(1)
    samples = {name: random.uniform(1, 2, (33, element.size)) for name in ("vp", "vs", "rho")}
    samples["vs"][:, 3], samples["rho"][5:9] = 0.0, 7.0
    samples["stiffness"] = random.uniform(1, 2, (33, 21, element.size))
    points = random.integers(0, 50, (33, element.size)).astype(np.int32)

    def compute():
        total = np.zeros(50)
        volume = mesh_statistics.volumes(element, local, mesh_terms.boxes(local))
        mass = mesh_statistics.masses(volume, samples["rho"], element.volume_weights)
        mesh_statistics.add_at(total, points, mass)
        single = mesh_statistics.masses(volume[:, :1], samples["rho"][:, :1], mass[0])
        slow = mesh_statistics.slowest_in({n: samples[n] for n in ("vp", "vs", "rho")})
        return mass, total, single, slow, mesh_statistics.material_of(samples)

    same(*twice(numpy_alone, compute))


@pytest.mark.parametrize("wrong", [np.nan, -1.0, 1e9, np.inf])
def test_impossible_material_has_the_same_message(wrong, numpy_alone):
    samples = {"vp": np.full((4, 8), 3e3), "vs": np.full((4, 8), 1e3), "rho": np.full((4, 8), 2e3)}
    centres = np.zeros((4, 3))
    assert mesh_statistics.impossible(samples, centres, np.arange(4)) == []
    samples["rho"][2, 5] = wrong
    samples["vs"][3, 1] = 0.0
    problems = twice(numpy_alone, lambda: mesh_statistics.impossible(samples, centres, np.arange(4)))
    assert problems[0] == problems[1] and len(problems[0]) == 2


def test_layers_have_the_bits_of_numpy(numpy_alone):
    layer = {"vp": 3000, "vs": 1700, "rho": 2000, "qp": 80, "qs": 40, "vp_gradient": 0.1}
    layers = [{"top": 0.0} | layer, {"top": -301.0} | layer, {"top": -500.0} | layer]
    model = {"kind": "layers", "layers": layers, "attenuation": {"band": [1, 10]}}
    table = {"origin": [0, 0, -900], "size": [900] * 3, "spacing": 50.0}
    source = {"kind": "explosion", "at": [400, 400, -300], "moment": 1e9}
    source["wavelet"] = {"kind": "ricker", "frequency": 5}
    tables = {"title": "layers", "domain": table, "model": model, "time": {"duration": 0.1}}
    receiver = {"name": "R", "at": [100, 100, 0]}
    scenario = Scenario(**tables, source=[source], receivers=[receiver])
    random = np.random.default_rng(2)
    centres = random.uniform(-900, 0, (400, 3))
    nodes = centres[:, :, None] + shapes(1.0, 400)
    nodes[:50] += -301.0 - nodes[:50, :, :1]
    sampler = sampling.sampler(scenario.model, sampling.cells.Region((0, 0, -900), (900, 900, 0)))
    same(*twice(numpy_alone, lambda: sampler.at(nodes, nodes.mean(axis=2))))


@pytest.mark.parametrize("side", ["below", "above"])
def test_radial_models_have_the_bits_of_numpy(side, numpy_alone):
    random = np.random.default_rng(4)
    knots = np.array([1e6, 2e6, 3e6, 3.1e6, 6e6])
    model = radial.RadialModel("m", knots, random.uniform(-1, 1, (4, 8, 4)), ("a", "b", "c", "d"))
    r = np.clip(random.uniform(1e6, 6e6, (200, 1)) + random.uniform(-9e5, 9e5, (200, 27)), 1e6, 6e6)
    r[0, :5] = knots
    same(*twice(numpy_alone, lambda: model.parameters(r, side)))
    with pytest.raises(ValueError, match="outside"):
        model.parameters(np.full((2, 3), 7e6), side)


def test_corner_stiffness_and_moduli_have_the_bits_of_numpy(numpy_alone):
    from craton.methods.spectral_element import time_step

    element, local, random = Element(4), shapes(1.0, 40), np.random.default_rng(6)
    speed, inert = random.uniform(1, 2, (2, 40, 8))
    nodes = time_step.corner_nodes(element.n)

    class Elements:
        def shapes(self, rows):
            return local[rows]

        def jacobian(self, rows, nodes):
            return mesh_terms.jacobian(element, local[rows], nodes)

    d = Elements()
    d.element = element
    same(*twice(numpy_alone, lambda: time_step.corner_stiffness(d, np.arange(40), nodes, speed, inert)))


def test_moduli_have_the_bits_of_numpy():
    random, places = np.random.default_rng(7), np.array([3, 0, 2])
    samples = {name: random.uniform(1, 2, (3, 27)) for name in ("vp", "vs", "rho")}
    for dtype in (np.float32, np.float64):
        out = np.zeros((5, 2, 27), dtype)
        batched.compiled().moduli(samples, places, out)
        expected = np.zeros_like(out)
        expected[places] = sampling.moduli(samples)[0]
        same(out, expected)


def test_a_helper_refuses_what_is_not_contiguous():
    with pytest.raises(ValueError, match="not contiguous"):
        helpers.argument(np.zeros((4, 4))[:, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("components", [1, 3])
def test_vectors_of_lanczos_have_the_bits_of_numpy(dtype, components):
    compiled, random = helpers.helper(undamped.TEXT), np.random.default_rng(8)
    force, vector, before = random.normal(size=(3, 1001, components)).astype(dtype)
    mass = random.uniform(1, 2, (1001, 1)).astype(dtype)
    arrays = vector, force, mass
    for stiffness in (None, before):
        sums = [undamped.products_on_host(code, *arrays, stiffness) for code in (compiled, None)]
        same(*sums)
        weighed = (mass * vector if stiffness is None else -stiffness).astype(float)
        exact = [(weighed * values).sum() for values in (vector, -force / mass)]
        assert sums[0] == pytest.approx(exact, rel=1e-9 if dtype == np.float64 else 1e-5)
    for alpha, beta in ((0.0, 0.0), (0.3, 0.0), (0.3, 1.7)):
        states = [(vector.copy(), before.copy()) for _ in range(2)]
        for code, (v, b) in zip((compiled, None), states):
            undamped.advance(code, v, force, b, mass, 1.3, alpha, beta)
        same(*states)


MEDIA = {  # top and bottom of a box whose layers cut elements
    "gradient": ({"vp_gradient": 0.5}, {}),
    "one layer varies": ({}, {"vs_gradient": 0.1}),
    "sea": ({"vs": 0, "vp": 1500, "vp_gradient": 0.1}, {"vs_gradient": 0.1}),
}


@pytest.mark.parametrize("name, precision", [*((name, "float32") for name in MEDIA), ("sea", "float64")])
def test_moduli_kept_from_the_statistics_have_the_bits_of_those_sampled_again(name, precision, monkeypatch):
    media = MEDIA[name]
    rock = {"vp": 3000, "vs": 1700, "rho": 2000}
    tops = (0, -40 if media[0].get("vs") == 0 else -50)
    layers = [{"top": top} | rock | more for top, more in zip(tops, media)]
    case = stepcase.box(
        (5, 4, 4),
        model={"kind": "layers", "layers": layers},
        run={"degree": 3, "precision": precision},
        moved=0.0 if tops[1] == -40 else 0.2,
    )
    holding = stepcase.discretised(case)
    assert holding.statistics.moduli is not None and holding.statistics.moduli.values is None
    monkeypatch.setattr(material, "KEPT", 0.0)
    sampled = stepcase.discretised(case)
    assert sampled.statistics.moduli is None
    arrays = [
        {f.family.name: [array.data for array in f.arrays.values()] for f in d.families} for d in (holding, sampled)
    ]
    same(*arrays)
