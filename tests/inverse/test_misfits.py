"""Misfits as functions of arrays: derivatives, what they see and do not see; windows; what functions of users must return."""

import numpy as np
import pytest
import xarray as xr
from inversecase import scenario

import craton
from craton.errors import ComputationError, ScenarioError
from craton.inverse import window
from craton.inverse.misfit import MISFITS
from craton.inverse.transport import wasserstein

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
    misfit, (computed, observed) = MISFITS[name], traces
    weights = np.linspace(0, 1, 160) * np.array([1, 0.5, 2])[:, None]
    change = 3e-6 * np.random.default_rng(3).uniform(-1, 1, computed.shape)
    value, slope = misfit(weights * computed, weights * observed, INTERVAL)
    assert value > 0 and slope.shape == computed.shape

    def central(e):
        near, far = (
            misfit(weights * (computed + k * e * change), weights * observed, INTERVAL)[0]
            - misfit(weights * (computed - k * e * change), weights * observed, INTERVAL)[0]
            for k in (1, 2)
        )
        return (8 * near - far) / (12 * e)

    exact = float((weights * slope * change).sum())
    best = min(abs(central(e) / exact - 1) for e in (1e-3, 3e-4, 1e-4))
    assert best < (1e-7 if name == "transport" else 1e-8), best  # its second derivative has kinks


@pytest.mark.parametrize("name", MISFITS)
def test_equal_data_have_no_misfit(name, traces):
    _, observed = traces
    value, slope = MISFITS[name](observed.copy(), observed, INTERVAL)
    assert abs(value) < 1e-12 and np.abs(slope * observed).max() < 1e-12


def test_transport_has_one_minimum_where_l2_has_several():
    observed, delays = pulse(0.32)[None], 0.32 + np.linspace(-0.2, 0.2, 41)
    values = {
        name: np.array([MISFITS[name](pulse(t)[None], observed, INTERVAL)[0] for t in delays])
        for name in ("l2", "transport")
    }
    falls = {name: np.diff(v[:21]) < 0 for name, v in values.items()}
    assert falls["transport"].all() and not falls["l2"].all()
    assert (np.diff(values["transport"][20:]) > 0).all()


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
    box = window(data, 0.1, 0.3, 0, "cos_p10")
    np.testing.assert_array_equal(box, inside)
    with pytest.raises(ScenarioError, match="no taper 'hat'") as caught:
        window(data, 0.3, 0.1, 2, "hat")
    assert "0 to 1" in str(caught.value) and "ends before it begins" in str(caught.value)


@pytest.fixture(scope="module")
def observed():
    """Data of the start."""
    return craton.Problem(scenario(steps=4)).data()


@pytest.mark.parametrize(
    "outcome, words",
    [
        (lambda c, o: 1.0, "returned float"),
        (lambda c, o: (1.0, (c - o)[..., :-1]), r"shape \(2, 2, 3\) for data of \(2, 2, 4\)"),
        (lambda c, o: (c - o, c - o), "returned tuple"),
    ],
)
def test_functions_that_return_something_else_are_told_before_anything_runs(observed, outcome, words, monkeypatch):
    monkeypatch.setattr("craton.inverse.experiment.march", None)
    with pytest.raises(ScenarioError, match=words):
        craton.Problem(scenario(steps=4), observed, lambda c, o, interval: outcome(c, o))


def test_values_that_are_not_finite_are_told(observed, monkeypatch):
    def overflowing(computed, observed, interval):
        return 1.0, np.where(observed == observed.max(), np.inf, 0.0)

    problem = craton.Problem(scenario(steps=4), observed, overflowing)
    with pytest.raises(ComputationError, match="velocity, with its derivative, has 1 of"):
        problem.fun(1.001 * problem.m0)
    problem = craton.Problem(scenario(steps=4), observed)
    nowhere = np.full(problem.m0.shape, np.nan)
    monkeypatch.setattr(type(problem.parameters), "gradient", lambda *_: nowhere)
    with pytest.raises(ComputationError, match="the gradient has 2,016 of 2,016 values"):
        problem.jac(problem.m0)
    words = observed.assign(velocity=observed.velocity.astype(str))
    with pytest.raises(ScenarioError, match="holds values of type <U"):
        craton.Problem(scenario(steps=4), words)
