"""Misfits: derivatives, what they see and do not see; windows; what functions of users must return."""

import numpy as np
import pytest
import xarray as xr
from common import refused
from inversecase import BOTH, CENTRAL, FIBRE, Case, central, scenario, station, tiers

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


@pytest.mark.parametrize("misfit", tiers([name for name in MISFITS if name != "l2"] + [cubed], [cubed]))
def test_gradients_of_misfits(misfit):
    """Two quantities with several components, a fibre, and windows."""
    here = scenario(receivers=[station("A", 0.37, 0.55), FIBRE], **BOTH)
    blank = craton.Problem(here).recordings[0].blank()
    factors = {"velocity": 1, "fibre_strain_rate": 2}
    assert set(factors) < set(blank.data_vars)
    weights = {name: factor * window(blank, 0.01, 0.07, 0.6) for name, factor in factors.items()}
    assert Case(here, misfit=misfit, weights=weights).of_differences() < CENTRAL


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
