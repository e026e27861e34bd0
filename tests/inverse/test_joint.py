"""Gravity and terms of the model beside waves: transposes, gradients, sums, refusals; joint inversion."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from inversecase import SHAPES, SOLID, SPACING, extent, model_file, place, scenario

import craton
import craton.gravity
from craton.errors import ScenarioError
from craton.inverse import CrossGradient, GravityProblem, Tikhonov
from craton.model.media import cells
from craton.model.prisms.from_model import of_model

EXAMPLES = Path(__file__).parents[2] / "examples"
FIELDS = ("g_z", "g_zz", "g_ez")
BODY = {"shape": "sphere", "center": place(3, 0.5, 0.4, 0.4), "radius": 45, "drho": 0.2}


def stations(dimensions=2, count=7):
    """Points above the domain, with fields that are 0."""
    x = np.linspace(0, extent(dimensions)[0], count)
    coordinates = {"x": ("station", x), "z": ("station", np.full(count, 4.0))}
    if dimensions == 3:
        coordinates["y"] = ("station", x[::-1].copy())
    return xr.Dataset({name: ("station", np.zeros(count)) for name in FIELDS}, coordinates)


@pytest.fixture(scope="module")
def waves():
    """A problem in the plane."""
    return craton.Problem(scenario())


def moved(problem, varied=0.02):
    """A vector of parameters near the start, and a change of it."""
    rng = np.random.default_rng(5)
    m = problem.m0 * (1 + varied * rng.uniform(-1, 1, problem.m0.shape))
    return m, problem.m0 * rng.uniform(-1, 1, problem.m0.shape)


def mismatch_of_differences(term, m, dm, e=1e-3):
    """Mismatch of the gradient and central differences of order 4."""
    near, far = (term.fun(m + k * e * dm) - term.fun(m - k * e * dm) for k in (1, 2))
    slope = term.jac(m) @ dm
    return abs((8 * near - far) / (12 * e) - slope) / abs(slope)


@pytest.mark.parametrize("reference", ["start", "mean", 2150.0])
def test_gravity_has_an_exact_transpose(waves, reference):
    gravity = GravityProblem(waves, stations(), {"g_z": 7.0}, reference)
    m, dm = moved(waves)
    change = gravity.born(dm, m)
    residual = np.random.default_rng(1).standard_normal(change.shape)
    back = gravity.adjoint(residual, m) @ dm
    size = np.linalg.norm(change) * np.linalg.norm(residual)
    assert abs(change @ residual - back) < 1e-13 * size
    assert mismatch_of_differences(gravity, m, dm) < 1e-8
    again = GravityProblem(waves, gravity.data(m), reference=reference)
    assert again.fun(m) == 0 and again.fun(waves.m0) > 0


def test_gravity_is_that_of_the_model():
    """In space, of the same cells with the same means as craton.gravity.from_model has."""
    waves = craton.Problem(scenario(3, steps=4, model=SOLID | {"anomalies": [BODY]}))
    gravity = GravityProblem(waves, stations(3), reference=SOLID["rho"])
    axes = []
    for name in "xyz":
        lower, upper = cells.edges(waves.grid, name)
        axes.append(np.append(lower, upper[-1]))
    bodies = of_model(waves.scenario.model, axes, "background")
    expected = craton.gravity.forward(bodies.prisms, bodies.density, stations(3), FIELDS)
    for name in FIELDS:
        computed = gravity.data()[name].values
        peak = np.abs(expected[name].values).max()
        np.testing.assert_allclose(computed, expected[name].values, rtol=0, atol=1e-7 * peak)


def test_gravity_on_the_grid_of_a_model_file(tmp_path):
    """Through the means over cells, and cross-gradients between the points of the file."""
    waves = craton.Problem(scenario(model=model_file(tmp_path)), on="model")
    gravity = GravityProblem(waves, stations())
    m, dm = moved(waves)
    change = gravity.born(dm, m)
    size = np.linalg.norm(change) ** 2
    assert abs(gravity.adjoint(change, m) @ dm - size) < 1e-12 * size
    np.testing.assert_allclose(gravity.data(m).g_z - gravity.data().g_z, gravity.born(m - waves.m0)[:7], atol=1e-12)
    assert mismatch_of_differences(gravity + CrossGradient(waves, "vs", "rho"), m, dm) < 1e-8


def test_a_section_is_endless_across(waves):
    """g_z of a sheet of one density is nearly 2 pi G rho h over its middle."""
    density = np.full(waves.grid.shape, SOLID["rho"])
    gravity = GravityProblem(waves, stations().isel(station=[3]), reference=0.0)
    assert np.allclose(waves.parameters.cells(waves.m0)[0], density)
    width, depth = extent(2)
    z = np.array([4.0, 4.0 + depth])
    a = width / 2  # a rectangle without end: Telford et al. (1990), of its two halves
    primitive = 2 * z * np.arctan(a / z) + a * np.log(a**2 + z**2)
    expected = 2 * 6.6743e-11 * SOLID["rho"] * (primitive[1] - primitive[0]) * 1e5
    assert float(gravity.data().g_z[0]) == pytest.approx(expected, rel=1e-3)


def test_terms_of_the_model(waves):
    m, dm = moved(waves)
    for term in (
        Tikhonov(waves, 0, {"vs": 2.0}),
        Tikhonov(waves, 1),
        Tikhonov(waves, 2, reference=0),
        CrossGradient(waves, "vp", "rho"),
    ):
        assert mismatch_of_differences(term, m, dm) < 1e-8
        other = moved(waves)[1][::-1]
        assert term.hvp(dm, m) @ other == pytest.approx(term.hvp(other, m) @ dm, rel=1e-9)


def test_what_the_terms_of_the_model_are(waves):
    nz, nx = SHAPES[2][1], SHAPES[2][0]
    x, z = np.meshgrid(SPACING * np.arange(nx), SPACING * np.arange(nz))
    fields = np.reshape(waves.m0, waves.shape).copy()
    fields[0, :, 0] += 2.0 * x
    fields[2, :, 0] += 3.0 * z
    scales = {"vp": 10.0, "rho": 5.0}
    cross = CrossGradient(waves, "vp", "rho", scales)
    area = np.prod(extent(2))
    assert cross.fun(fields.ravel()) == pytest.approx(0.5 * area * (0.2 * 0.6) ** 2)
    assert cross.fun(waves.m0) == 0
    slope = Tikhonov(waves, 1, {"vp": 1.0}, scales=scales)
    rows = (nx - 1) * nz * SPACING**2
    assert slope.fun(fields.ravel()) == pytest.approx(0.5 * rows * 0.2**2)
    assert Tikhonov(waves, 2).fun(fields.ravel()) < 1e-3 * Tikhonov(waves, 1).fun(fields.ravel())


def test_sums_with_weights(waves):
    first = craton.Problem(scenario(), waves.data())
    gravity = GravityProblem(first, stations())
    total = first + 2 * (gravity + 3 * Tikhonov(first))
    m, dm = moved(first)
    parts = [first, gravity, Tikhonov(first)]
    weighted = [w * part.fun(m) for w, part in zip((1, 2, 6), parts)]
    assert total.fun(m) == pytest.approx(sum(weighted)) and total.values(m) == weighted
    value, slope = total.fun_and_jac(m)
    assert value == total.fun(m)
    np.testing.assert_allclose(slope, sum(w * p.jac(m) for w, p in zip((1, 2, 6), parts)))
    np.testing.assert_allclose(total.hvp(dm, m), sum(w * p.hvp(dm, m) for w, p in zip((1, 2, 6), parts)))
    assert total.dataset(slope).rho.dims == ("z", "x")


def test_terms_of_other_parameters_do_not_add_up(waves):
    other = craton.Problem(scenario(), parameters=("vp", "rho"))
    with pytest.raises(ScenarioError, match="build all terms on one Problem"):
        waves + Tikhonov(other)
    with pytest.raises(TypeError):
        waves + 3


def without(name):
    """Stations with a value that is not finite."""
    data = stations()
    data[name][2] = np.nan
    return data


def in_microgal():
    """Stations with a field in another unit."""
    data = stations()
    data.g_z.attrs["units"] = "uGal"
    return data


@pytest.mark.parametrize(
    "options, words",
    [
        ({"observed": stations().rename(g_z="a", g_zz="b", g_ez="c")}, "has a, b, c"),
        ({"observed": without("g_zz")}, "observed.g_zz: 1 values are not finite"),
        ({"observed": stations().drop_vars("z")}, "have no upward or z"),
        ({"observed": in_microgal()}, "observed.g_z: is in 'uGal', the computed field in mGal"),
        ({"observed": stations(), "weights": {"g_x": 1}}, "weights.g_x: is no variable"),
        ({"observed": stations(), "reference": "background"}, "'background' is no density"),
        ({"observed": stations(), "reference": np.ones(3)}, r"has the shape \(3,\)"),
        ({"observed": stations(), "across": -1}, "across: -1 m"),
    ],
)
def test_bad_gravity_is_told(waves, options, words):
    with pytest.raises(ScenarioError, match=words):
        GravityProblem(waves, **options)


def test_bad_terms_are_told(waves):
    speeds = craton.Problem(scenario(), parameters=("vp", "vs"))
    for make, words in (
        (lambda: GravityProblem(speeds, stations()), "add rho"),
        (lambda: Tikhonov(waves, 3), "use 0, 1 or 2"),
        (lambda: Tikhonov(waves, weights={"ip": 1}), "weights.ip: is no parameter"),
        (lambda: Tikhonov(waves, scales={"vp": 0.0}), "scales.vp"),
        (lambda: CrossGradient(waves, "vp", "vp"), "two parameters"),
        (lambda: np.nan * waves, "not finite"),
    ):
        with pytest.raises(ScenarioError, match=words):
            make()


def test_joint_inversion_halves_the_error_of_density():
    """The example in a small form."""
    module = example("joint")
    small = module.Survey(480, 240, 10, 12, shots=3, receivers=9, stations=15, duration=0.55, layer=6)
    inversion = module.Inversion(small)
    errors = {
        joint: inversion.errors(inversion.run(joint, iterations=6, report=lambda text: None)) for joint in (False, True)
    }
    assert errors[True]["rho"] < 0.5 * errors[False]["rho"], errors
    assert errors[True]["vs"] < 0.75 and errors[True]["vp"] < 0.9, errors


def test_inversion_in_space(monkeypatch):
    """The example's small form: a shot on the free surface of a box and one in each well, for vp and vs."""
    monkeypatch.syspath_prepend(EXAMPLES)
    box = example("fwi_3d")
    gradients = []
    problem, truth, models, values = box.invert(box.SMALL, 3, report=lambda text: None, gradients=gradients)
    assert len(problem.recordings) == 5 and problem.shape == (2, 16, 21, 21)
    errors = [box.error(truth, m, problem) for m in models]
    assert values[-1] < 0.3 and (np.diff(values) < 0).all(), values
    assert errors[-1] < 0.85 and (np.diff(errors) < 0).all(), errors
    kept = box.history(box.SMALL, problem, truth, models, values, gradients)
    assert kept["error_of_vs"] == errors and kept["shots"] == 5
    assert len(kept["seconds_of_gradients"]) >= 3 and min(kept["seconds_of_gradients"]) > 0.01


def example(name):
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_moment_tensor_in_three_iterations():
    """Each of them one run forward and one back."""
    event = example("moment_tensor")
    size = {"width": 800, "depth": 600, "spacing": 20, "duration": 0.5}
    observed = craton.Problem(event.scenario(event.TRUE, **size)).data()
    inverted = event.invert(observed, report=lambda text: None, **size)
    for name, value in event.TRUE.items():
        assert inverted[name] == pytest.approx(value, abs=1e-6 * event.UNIT)


def test_an_image_shows_reflectors_where_they_are():
    """The image is largest at the top and bottom of the layer that reflects first."""
    migration = example("rtm")
    small = migration.Survey(600, 360, 6, 22, 5, 30, duration=0.45, layer=8, muted=6)
    image = np.abs(migration.image(small).image)
    for across, depth in ((slice(150, 250), 0.4), (slice(350, 450), 0.5)):  # beside the fault
        brightest = float(image.sel(x=across).mean("x").idxmax("z"))
        assert abs(brightest / small.depth + depth) < 0.09
