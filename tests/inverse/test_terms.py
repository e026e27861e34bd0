"""Misfits: derivatives, what they see and do not see, windows, functions of users; gravity and terms of the model beside them."""

import inversecase as small
import numpy as np
import pytest
import xarray as xr
from common import difference, refused, tiers
from inversecase import SOLID, Case, central, extent, mismatch, place, scenario, station

import craton
import craton.gravity
from craton.errors import ComputationError, ScenarioError
from craton.inverse import CrossGradient, GravityProblem, Tikhonov, window
from craton.misfits import MISFITS, wasserstein
from craton.model.media import cells
from craton.model.prisms.from_model import of_model

INTERVAL = 0.004
TIMES = INTERVAL * np.arange(160)


def pulse(delay, frequency=12.0):
    """Ricker's wavelet at some time."""
    a = (np.pi * frequency * (TIMES - delay)) ** 2
    return (1 - 2 * a) * np.exp(-a)


@pytest.fixture
def traces():
    """Computed and observed data of two receivers and three components, one of them silent."""
    rng = np.random.default_rng(2)
    delays = 0.3 + 0.02 * rng.uniform(-1, 1, (2, 2, 3))
    computed, observed = (
        np.stack([[pulse(t) for t in row] for row in part]) + 0.05 * rng.standard_normal((2, 3, 160)) for part in delays
    )
    observed[1, 2] = 0
    return 3e-6 * computed, 3e-6 * observed


@pytest.mark.parametrize("name", MISFITS)
def test_derivatives_by_the_data(name, traces):
    """And equal data have no misfit."""
    misfit, (computed, observed) = MISFITS[name], traces
    weights = np.linspace(0, 1, 160) * np.array([1, 0.5, 2])[:, None]
    change = 3e-6 * np.random.default_rng(3).uniform(-1, 1, computed.shape)
    value, slope = misfit(weights * computed, weights * observed, INTERVAL)
    assert value > 0 and slope.shape == computed.shape

    def along(e):
        return misfit(weights * (computed + e * change), weights * observed, INTERVAL)[0]

    exact = float((weights * slope * change).sum())
    best = min(abs(central(along, e) / exact - 1) for e in (1e-3, 3e-4, 1e-4))
    assert best < (1e-7 if name == "transport" else 1e-8), best  # its second derivative has kinks
    value, slope = misfit(observed.copy(), observed, INTERVAL)
    assert abs(value) < 1e-12 and np.abs(slope * observed).max() < 1e-12


def cubed(computed, observed, interval):
    """A misfit of a user."""
    rest = (computed - observed) * 1e6
    return float((rest**4).sum()), 4e6 * rest**3


@pytest.mark.parametrize("misfit", tiers([name for name in MISFITS if name != "l2"] + [cubed], cubed))
def test_gradients_of_misfits(misfit):
    """Two quantities with several components, a fibre, and windows."""
    here = scenario(receivers=[station("A", 0.37, 0.55), small.FIBRE], **small.BOTH)
    blank = craton.Problem(here).recordings[0].blank()
    factors = {"velocity": 1, "fibre_strain_rate": 2}
    assert set(factors) < set(blank.data_vars)
    weights = {name: factor * window(blank, 0.01, 0.07, 0.6) for name, factor in factors.items()}
    assert Case(here, misfit=misfit, weights=weights).of_differences() < small.CENTRAL


def test_transport_has_one_minimum_where_l2_has_several():
    observed, delays = pulse(0.32)[None], 0.32 + np.linspace(-0.2, 0.2, 41)
    l2, transport = (
        np.diff([MISFITS[name](pulse(t)[None], observed, INTERVAL)[0] for t in delays]) for name in ("l2", "transport")
    )
    assert (transport[:20] < 0).all() and not (l2[:20] < 0).all() and (transport[20:] > 0).all()


def test_the_distance_of_shifted_masses():
    """Cells that move as a whole by three cells: nine, and the potential is linear there."""
    first, second = np.full(20, 1e-12), np.full(20, 1e-12)
    first[4:8] = second[7:11] = 0.25
    distance, potential = wasserstein(first / first.sum(), second / second.sum())
    assert distance == pytest.approx(9, rel=1e-6)
    np.testing.assert_allclose(np.diff(potential[4:8]), -6, rtol=1e-6)


def test_windows():
    data = xr.Dataset(coords={"time": TIMES})
    whole = window(data, 0.1, 0.3, 0.5)
    inside = (TIMES >= 0.1) & (TIMES <= 0.3)
    assert (whole.values[~inside] == 0).all() and whole.max() == 1
    flat = (TIMES > 0.15 + 1e-9) & (TIMES < 0.25 - 1e-9)
    assert (whole.values[flat] == 1).all() and (np.diff(whole.values[25:38]) > 0).all()
    begins = xr.DataArray([0.1, np.nan], dims="receiver", coords={"receiver": ["A", "B"]})
    each = window(data, begins, begins + 0.2, 0.5, "cos")
    assert each.dims == ("receiver", "time") and (each.sel(receiver="B") == 0).all()
    assert (each.sel(receiver="A") >= whole).all()
    np.testing.assert_array_equal(window(data, 0.1, 0.3, 0, "cos_p10"), inside)
    refused(ScenarioError, ["no taper 'hat'", "0 to 1", "ends before it begins"], window, data, 0.3, 0.1, 2, "hat")


def test_what_misfits_return_is_told(monkeypatch):
    """What is something else before anything runs, values that are not finite where they are computed."""
    few = scenario(steps=4)
    observed = craton.Problem(few).data()
    with monkeypatch.context() as patch:
        patch.setattr("craton.inverse.experiment.march", None)
        for outcome, words in (
            (lambda c, o, interval: 1.0, "returned float"),
            (lambda c, o, interval: (1.0, (c - o)[..., :-1]), "shape (2, 2, 3) for data of (2, 2, 4)"),
            (lambda c, o, interval: (c - o, c - o), "returned tuple"),
        ):
            refused(ScenarioError, words, craton.Problem, few, observed, outcome)
    problem = craton.Problem(few, observed, lambda c, o, dt: (1.0, np.where(o == o.max(), np.inf, 0.0)))
    refused(ComputationError, "velocity, with its derivative, has 1 of", problem.fun, 1.001 * problem.m0)
    problem = craton.Problem(few, observed)
    nowhere = np.full(problem.m0.shape, np.nan)
    monkeypatch.setattr(type(problem.parameters), "gradient", lambda *_: nowhere)
    refused(ComputationError, "the gradient has 2,016 of 2,016 values", problem.jac, problem.m0)
    words = observed.assign(velocity=observed.velocity.astype(str))
    refused(ScenarioError, "holds values of type <U", craton.Problem, few, words)


# gravity and terms of the model beside waves

FIELDS = ("g_z", "g_zz", "g_ez")
BODY = {"shape": "sphere", "center": place(3, 0.5, 0.4, 0.4), "radius": 45, "drho": 0.2}


def stations(dimensions=2, count=7):
    """Points above the domain, with fields that are 0."""
    x = np.linspace(0, extent(dimensions)[0], count)
    y = {"y": ("station", x[::-1].copy())} if dimensions == 3 else {}
    fields = {name: ("station", np.zeros(count)) for name in FIELDS}
    return xr.Dataset(fields, {"x": ("station", x), "z": ("station", np.full(count, 4.0))} | y)


@pytest.fixture(scope="module")
def waves():
    """A problem in the plane."""
    return craton.Problem(scenario())


def moved(problem):
    """A vector of parameters near the start, and a change of it."""
    rng = np.random.default_rng(5)
    m = problem.m0 * (1 + 0.02 * rng.uniform(-1, 1, problem.m0.shape))
    return m, problem.m0 * rng.uniform(-1, 1, problem.m0.shape)


def mismatch_of_differences(term, m, dm):
    """Mismatch of the gradient and central differences of order 4."""
    slope = term.jac(m) @ dm
    return abs(central(lambda e: term.fun(m + e * dm), 1e-3) - slope) / abs(slope)


def test_gravity_has_an_exact_transpose(waves):
    m, dm = moved(waves)
    for reference in ("start", "mean", 2150.0):
        gravity = GravityProblem(waves, stations(), {"g_z": 7.0}, reference)
        assert mismatch(gravity, m, dm, np.random.default_rng(1)) < 1e-13, reference
        assert mismatch_of_differences(gravity, m, dm) < 1e-8, reference
        again = GravityProblem(waves, gravity.data(m), reference=reference)
        assert again.fun(m) == 0 and again.fun(waves.m0) > 0, reference


def test_gravity_is_that_of_the_model():
    """In space, of the same cells with the same means as craton.gravity.from_model has."""
    waves = craton.Problem(scenario(3, steps=4, model=SOLID | {"anomalies": [BODY]}))
    data = GravityProblem(waves, stations(3), reference=SOLID["rho"]).data()
    edges = (cells.edges(waves.grid, name) for name in "xyz")
    bodies = of_model(waves.scenario.model, [np.append(low, high[-1]) for low, high in edges], "background")
    expected = craton.gravity.forward(bodies.prisms, bodies.density, stations(3), FIELDS)
    for name in FIELDS:
        assert difference(data[name], expected[name]) < 1e-7, name


def test_gravity_on_the_grid_of_a_model_file(tmp_path):
    """Through the means over cells, and cross-gradients between the points of the file."""
    waves = craton.Problem(scenario(model=small.model_file(tmp_path, small.FILE_OF_PLANE)), on="model")
    gravity, (m, dm) = GravityProblem(waves, stations()), moved(waves)
    assert mismatch(gravity, m, dm, np.random.default_rng(1)) < 1e-12
    np.testing.assert_allclose(gravity.data(m).g_z - gravity.data().g_z, gravity.born(m - waves.m0)[:7], atol=1e-12)
    assert mismatch_of_differences(gravity + CrossGradient(waves, "vs", "rho"), m, dm) < 1e-8


def test_a_section_is_endless_across(waves):
    """g_z of a sheet of one density is nearly 2 pi G rho h over its middle."""
    gravity = GravityProblem(waves, stations().isel(station=[3]), reference=0.0)
    assert np.allclose(waves.parameters.cells(waves.m0)[0], np.full(waves.grid.shape, SOLID["rho"]))
    width, depth = extent(2)
    z, a = np.array([4.0, 4.0 + depth]), width / 2  # a rectangle without end: Telford et al. (1990), of its two halves
    primitive = 2 * z * np.arctan(a / z) + a * np.log(a**2 + z**2)
    expected = 2 * 6.6743e-11 * SOLID["rho"] * (primitive[1] - primitive[0]) * 1e5
    assert float(gravity.data().g_z[0]) == pytest.approx(expected, rel=1e-3)


def test_terms_of_the_model(waves):
    m, dm = moved(waves)
    smooth = Tikhonov(waves, 0, {"vs": 2.0}), Tikhonov(waves, 1), Tikhonov(waves, 2, reference=0)
    for term in (*smooth, CrossGradient(waves, "vp", "rho")):
        assert mismatch_of_differences(term, m, dm) < 1e-8
        assert term.hvp(dm, m) @ dm[::-1] == pytest.approx(term.hvp(dm[::-1], m) @ dm, rel=1e-9)


def test_what_the_terms_of_the_model_are(waves):
    nx, nz = small.SHAPES[2]
    x, z = np.meshgrid(small.SPACING * np.arange(nx), small.SPACING * np.arange(nz))
    fields = np.reshape(waves.m0, waves.shape).copy()
    fields[0, :, 0] += 2.0 * x
    fields[2, :, 0] += 3.0 * z
    scales = {"vp": 10.0, "rho": 5.0}
    cross = CrossGradient(waves, "vp", "rho", scales)
    assert cross.fun(fields.ravel()) == pytest.approx(0.5 * np.prod(extent(2)) * (0.2 * 0.6) ** 2)
    assert cross.fun(waves.m0) == 0
    slope = Tikhonov(waves, 1, {"vp": 1.0}, scales=scales)
    assert slope.fun(fields.ravel()) == pytest.approx(0.5 * (nx - 1) * nz * small.SPACING**2 * 0.2**2)
    assert Tikhonov(waves, 2).fun(fields.ravel()) < 1e-3 * Tikhonov(waves, 1).fun(fields.ravel())


def test_sums_with_weights(waves):
    first = craton.Problem(scenario(), waves.data())
    gravity, smooth = GravityProblem(first, stations()), Tikhonov(first)
    total, parts = first + 2 * (gravity + 3 * smooth), [(1, first), (2, gravity), (6, smooth)]
    m, dm = moved(first)
    weighted = [weight * part.fun(m) for weight, part in parts]
    assert total.fun(m) == pytest.approx(sum(weighted)) and total.values(m) == weighted
    value, slope = total.fun_and_jac(m)
    assert value == total.fun(m)
    np.testing.assert_allclose(slope, sum(weight * part.jac(m) for weight, part in parts))
    np.testing.assert_allclose(total.hvp(dm, m), sum(weight * part.hvp(dm, m) for weight, part in parts))
    assert total.dataset(slope).rho.dims == ("z", "x")


def test_what_is_wrong_with_terms_is_told(waves):
    of = {parameters: craton.Problem(scenario(), parameters=parameters) for parameters in (("vp", "rho"), ("vp", "vs"))}
    silent, microgal = stations(), stations()
    silent.g_zz[2] = np.nan
    microgal.g_z.attrs["units"] = "uGal"
    for words, term, *options in (
        ("has a, b, c", GravityProblem, waves, stations().rename(g_z="a", g_zz="b", g_ez="c")),
        ("observed.g_zz: 1 values are not finite", GravityProblem, waves, silent),
        ("have no upward or z", GravityProblem, waves, stations().drop_vars("z")),
        ("observed.g_z: is in 'uGal', the computed field in mGal", GravityProblem, waves, microgal),
        ("weights.g_x: is no variable", GravityProblem, waves, stations(), {"g_x": 1}),
        ("'background' is no density", GravityProblem, waves, stations(), None, "background"),
        ("has the shape (3,)", GravityProblem, waves, stations(), None, np.ones(3)),
        ("across: -1 m", lambda across: GravityProblem(waves, stations(), across=across), -1),
        ("add rho", GravityProblem, of["vp", "vs"], stations()),
        ("use 0, 1 or 2", Tikhonov, waves, 3),
        ("weights.ip: is no parameter", Tikhonov, waves, 1, {"ip": 1}),
        ("weights.vp: '1'", Tikhonov, waves, 1, {"vp": "1"}),
        ("reference: has 3 values", Tikhonov, waves, 1, None, np.ones(3)),
        ("scales.vp", lambda scales: Tikhonov(waves, scales=scales), {"vp": 0.0}),
        ("two parameters", CrossGradient, waves, "vp", "vp"),
        ("not finite", lambda factor: factor * waves, np.nan),
        ("build all terms on one Problem", lambda term: waves + term, Tikhonov(of["vp", "rho"])),
    ):
        refused(ScenarioError, words, term, *options)
    with pytest.raises(TypeError):
        waves + 3
