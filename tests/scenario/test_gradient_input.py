"""What gradients are given and cannot take: told before anything runs, with what to change."""

import numpy as np
import pytest
from inversecase import SOLID, Case, place, scenario
from test_adjoint import BAND, BY_Q, CASES, EXACT, FIBRE, LOSSY, THOMSEN, force, told

import craton
from craton.errors import ResourceError, ScenarioError


@pytest.fixture(scope="module")
def plain():
    """A case of the first kind."""
    return Case(scenario())


def test_wrong_data_are_told_before_anything_runs(plain, monkeypatch):
    observed, here = plain.problem.data(plain.m), scenario()
    monkeypatch.setattr("craton.inverse.experiment.march", None)
    told(["along time", "time.duration"], here, observed.isel(time=slice(0, 20)))
    told(["times differ", "output.sampling"], here, observed.assign_coords(time=observed.time * 2))
    other = observed.assign_coords(receiver=["B", "A"])
    told(['receiver 0 is "B"', '"A"', ".sel"], here, other)
    told(["1 samples are not finite"], here, observed.where(observed.velocity != observed.velocity.max()))
    told(["has no variables", "velocity"], here, 3.0)
    told(["dimensions receiver, time"], here, observed.isel(component=0, drop=True))
    told(["no misfit 'l3'", "travel_time"], here, observed, "l3")
    told(["vp, mu are not", "ip, is, rho"], here, observed, parameters=("vp", "mu"))
    told(["every", "0 is no number"], here, observed, every=0)
    told(["every 1,000 steps", "shortest period"], here, observed, every=1000)
    told(["memory", "above 0", "2e9"], here, observed, memory=np.nan)
    told(["memory", "'2 GB'"], here, observed, memory="2 GB")
    told(["'vp' is a text", '("vp",)'], here, observed, parameters="vp")
    told(["no misfit None", "    choose one of l2"], here, observed, None)
    told(["no times", "coordinate"], here, observed.drop_vars("time"))
    told(["times are not finite"], here, observed.assign_coords(time=observed.time * np.nan))
    told(["receiver 1 is", "sel"], here, observed.isel(receiver=[0, 0]))
    told(["complex128", "give numbers"], here, observed * 1j)
    told(["<U", "give numbers"], here, observed.astype(str))
    told(["weights", "of the type list", '"velocity"'], here, observed, weights=[1])
    told(["weights.speed", "velocity"], here, observed, weights={"speed": 1})
    told(["does not broadcast"], here, observed, weights={"velocity": np.ones(7)})


def test_wrong_vectors_are_told_before_anything_runs(plain, monkeypatch):
    problem = craton.Problem(scenario(), plain.problem.data(plain.m))
    m0, rows = problem.m0, plain.problem.born(plain.dm).size
    monkeypatch.setattr("craton.inverse.experiment.march", None)
    for call, words in (
        (lambda: problem.fun(m0[:5]), "m: has 5 values, the problem has 3 x 24 x 1 x 28"),
        (lambda: problem.fun(m0 * 1j), "complex128"),
        (lambda: problem.fun("vp"), "give numbers"),
        (lambda: problem.born(m0[:5]), "dm: has 5 values"),
        (lambda: problem.born(m0 * np.nan), "dm: 2,016 values are not finite"),
        (lambda: problem.hvp(m0 * np.inf), "dm: 2,016 values are not finite"),
        (lambda: problem.adjoint(np.ones(rows + 1)), f"residual: has {rows + 1:,} values"),
        (lambda: problem.adjoint(np.full(rows, np.nan)), "residual: .* are not finite"),
        (lambda: craton.gradient(scenario(), None), "no observed data"),
    ):
        with pytest.raises(ScenarioError, match=words):
            call()


def test_memory_that_is_too_small_is_told():
    with pytest.raises(ResourceError, match="increments and checkpoints"):
        craton.Problem(scenario(), memory=1e4)


def test_impossible_parameters_are_told(plain):
    problem = craton.Problem(scenario(), plain.problem.data(plain.m))
    m = problem.m0.reshape(problem.shape)
    for change, words in (
        (lambda v: v[:2], "has 1,344 values"),
        (lambda v: v * np.array([2, 1, 1]).reshape(3, 1, 1, 1), "too fast for the time step"),
        (lambda v: v * np.array([1, 1, -1]).reshape(3, 1, 1, 1), "not positive"),
        (lambda v: v * np.array([0.5, 1, 1]).reshape(3, 1, 1, 1), "bulk moduli"),
        (lambda v: np.where(v > 2400, np.nan, v), "not finite"),
        (lambda v: v * np.array([-1, 1, 1]).reshape(3, 1, 1, 1), "672 cells have vp below zero"),
        (lambda v: v * np.array([1, -1, 1]).reshape(3, 1, 1, 1), "have vs below zero"),
    ):
        with pytest.raises(ScenarioError, match=words):
            problem.fun(change(m))
    with pytest.raises(ScenarioError, match="no observed data"):
        craton.Problem(scenario()).fun(problem.m0)


REFUSED = {
    "parameters of an isotropic medium": ({"model": SOLID | THOMSEN}, "epsilon, delta, gamma"),
    "a1": ({"boundaries": {"others": "a1"}}, "a1"),
    "imaging": ({"boundaries": {"surface": "imaging"}}, "sbp"),
    "force in a layer": ({"source": [force(0.5, 0.8)]}, "move it inwards"),
    "no receivers": ({"receivers": []}, "need receivers"),
    "a fibre in SH waves": (CASES["SH"] | {"receivers": [FIBRE]}, "receivers.0.das: SH waves do not strain"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_covered_is_refused(name):
    tables, words = REFUSED[name]
    isotropic = {"parameters": ("kappa", "mu")} if "isotropic" in name else {}
    told([words], scenario(**tables), **isotropic)


def test_derivatives_by_shear_are_exact_beside_a_fluid_and_refused_in_one():
    """A solid that has become a fluid during an inversion, and an explosion in water with a trace of
    shear; the medium's are there. With attenuation both."""
    tensor = {"kind": "moment_tensor", "at": place(2, 0.43, 0.38), "tensor": {"xz": 1e12}}
    tables = CASES["sea floor"] | {"source": [tensor], "run": {"order": 2}}
    case = Case(scenario(**tables))
    assert case.of_medium() < EXACT and case.of_sources() < EXACT
    trace = dict.fromkeys(("xx", "yy", "zz"), 1e12) | {"xz": 1e5}
    water = tensor | {"at": place(2, 0.43, 0.2), "tensor": trace}
    sea, rock = Case(scenario(**tables | {"source": [water]})), Case(scenario(source=[tensor]))
    soft = rock.problem.m0.reshape(rock.problem.shape).copy()
    soft[rock.problem.parameters.names.index("vs")] = 0
    for problem, m in ((sea.problem, sea.m), (rock.problem, soft.ravel())):
        with pytest.raises(ScenarioError, match="(?s)source 1: .*shear on points of a fluid"):
            problem.by_sources(m)
    lossy = CASES["attenuation in water and soil"] | {"source": [tensor]}
    assert Case(scenario(**lossy)).of_sources() < EXACT


def test_other_methods_are_refused():
    from craton.methods import METHODS

    with pytest.raises(ScenarioError, match="method"):
        METHODS["gravity"].linearised(None)


def test_wrong_q_is_told():
    here = scenario(**CASES["attenuation in water and soil"])
    told(["qs is infinite in", "inverse_qs"], here, parameters=("qs",))
    told(["Q of an elastic medium", "model.attenuation"], scenario(), parameters=BY_Q)
    problem = craton.Problem(here, parameters=BY_Q)
    for factor, words in ((1.3, "(?s)Q below 20, .*lowest_q"), (-1, "below zero"), (np.nan, "finite")):
        with pytest.raises(ScenarioError, match=words):
            problem.data(factor * problem.m0)
    lower = {"attenuation": BAND["attenuation"] | {"lowest_q": 10}}
    craton.Problem(scenario(model=LOSSY | lower, steps=4), parameters=BY_Q).data(2 * problem.m0)
