"""What gradients are given and cannot take: told before anything runs, with what to change."""

import numpy as np
import pytest
from common import refused
from inversecase import BOTH, BY_Q, EXACT, FIBRE, FLOOR, GRID, LOSSY, SH, SOLID, THOMSEN, Case, force, place, scenario

import craton
from craton.errors import ResourceError, ScenarioError
from craton.inverse.parameters import problems
from craton.methods import METHODS

LOSSY_SEA = GRID["attenuation in water and soil"]


@pytest.fixture(scope="module")
def plain():
    """A case of the first kind."""
    return Case(scenario())


# observed data: (what is made of sound ones, words of the message)
OBSERVED = [
    (lambda d: d.isel(time=slice(0, 20)), ["along time", "time.duration"]),
    (lambda d: d.assign_coords(time=d.time * 2), ["times differ", "output.sampling"]),
    (lambda d: d.assign_coords(receiver=["B", "A"]), ['receiver 0 is "B"', '"A"', ".sel"]),
    (lambda d: d.where(d.velocity != d.velocity.max()), ["1 samples are not finite"]),
    (lambda d: 3.0, ["has no variables", "velocity"]),
    (lambda d: d.isel(component=0, drop=True), ["dimensions receiver, time"]),
    (lambda d: d.drop_vars("time"), ["no times", "coordinate"]),
    (lambda d: d.assign_coords(time=d.time * np.nan), ["times are not finite"]),
    (lambda d: d.isel(receiver=[0, 0]), ["receiver 1 is", "sel"]),
    (lambda d: d * 1j, ["complex128", "give numbers"]),
    (lambda d: d.astype(str), ["<U", "give numbers"]),
]
# options of a problem: (options, words)
OPTIONS = [
    ({"misfit": "l3"}, ["no misfit 'l3'", "travel_time"]),
    ({"misfit": None}, ["no misfit None", "    -> choose one of l2"]),
    ({"parameters": ("vp", "mu")}, ["vp, mu are not", "ip, is, rho"]),
    ({"parameters": "vp"}, ["'vp' is a text", '("vp",)']),
    ({"every": 0}, ["every", "0 is no number"]),
    ({"every": 1000}, ["every 1,000 steps", "shortest period"]),
    ({"memory": np.nan}, ["memory", "above 0", "2e9"]),
    ({"memory": "2 GB"}, ["memory", "'2 GB'"]),
    ({"weights": [1]}, ["weights", "of the type list", '"velocity"']),
    ({"weights": {"speed": 1}}, ["weights.speed", "velocity"]),
    ({"weights": {"velocity": np.ones(7)}}, ["does not broadcast"]),
]
# scenarios that gradients do not cover: (tables, parameters, words)
COVERED = [
    ({"model": SOLID | THOMSEN}, ("kappa", "mu"), "epsilon, delta, gamma"),
    ({"boundaries": {"others": "a1"}}, None, "a1"),
    ({"boundaries": {"surface": "imaging"}}, None, "sbp"),
    ({"source": [force(0.5, 0.8)]}, None, "move it inwards"),
    ({"receivers": []}, None, "need receivers"),
    (SH | {"receivers": [FIBRE]}, None, "receivers.0.das: SH waves do not strain"),
    (LOSSY_SEA, ("qs",), ["qs is infinite in", "inverse_qs"]),
    ({}, BY_Q, ["Q of an elastic medium", "model.attenuation"]),
]


def test_what_a_problem_cannot_take_is_told_before_anything_runs(plain, monkeypatch):
    observed, here = plain.problem.data(plain.m), scenario()
    monkeypatch.setattr("craton.inverse.experiment.march", None)
    for change, words in OBSERVED:
        refused(ScenarioError, words, craton.Problem, here, change(observed))
    for options, words in OPTIONS:
        refused(ScenarioError, words, craton.Problem, here, observed, **options)
    for tables, parameters, words in COVERED:
        options = {"parameters": parameters} if parameters else {}
        refused(ScenarioError, words, craton.Problem, scenario(**tables), **options)
    refused(ScenarioError, "no observed data", craton.gradient, here, None)
    refused(ResourceError, "increments and checkpoints", craton.Problem, here, memory=1e4)
    refused(ScenarioError, "method", METHODS["gravity"].linearised, None)


def test_wrong_vectors_are_told_before_anything_runs(plain, monkeypatch):
    problem = craton.Problem(scenario(), plain.problem.data(plain.m))
    m0, rows = problem.m0, plain.problem.born(plain.dm).size
    m, (by_vp, by_vs, by_rho) = m0.reshape(problem.shape), np.eye(3).reshape(3, 3, 1, 1, 1)
    wrong = {
        problem.fun: [
            (m0[:5], "m: has 5 values, the problem has 3 x 24 x 1 x 28"),
            (m0 * 1j, "complex128"),
            ("vp", "give numbers"),
            (m[:2], "has 1,344 values"),
            (m * (1 + by_vp), "too fast for the time step"),
            (m * (1 - 2 * by_rho), "not positive"),
            (m * (1 - by_vp / 2), "bulk moduli"),
            (np.where(m > 2400, np.nan, m), "not finite"),
            (m * (1 - 2 * by_vp), "672 values of vp are below zero"),
            (m * (1 - 2 * by_vs), "values of vs are below zero"),
        ],
        problem.born: [(m0[:5], "dm: has 5 values"), (m0 * np.nan, "dm: 2,016 values are not finite")],
        problem.hvp: [(m0 * np.inf, "dm: 2,016 values are not finite")],
        problem.adjoint: [
            (np.ones(rows + 1), f"residual: has {rows + 1:,} values"),
            (np.full(rows, np.nan), ["residual: ", " are not finite"]),
        ],
    }
    monkeypatch.setattr("craton.inverse.experiment.march", None)
    for function, cases in wrong.items():
        for values, words in cases:
            refused(ScenarioError, words, function, values)
    refused(ScenarioError, "no observed data", craton.Problem(scenario()).fun, m0)


@pytest.mark.long
def test_derivatives_by_shear_are_exact_beside_a_fluid_and_refused_in_one():
    """A solid that has become a fluid during an inversion, and an explosion in water with a trace of
    shear; the medium's are there. With attenuation both.
    """
    tensor = {"kind": "moment_tensor", "at": place(2, 0.43, 0.38), "tensor": {"xz": 1e12}}
    tables = {"model": FLOOR, "source": [tensor], "run": {"order": 2}} | BOTH
    case = Case(scenario(**tables))
    assert case.of_medium() < EXACT and case.of_sources() < EXACT
    trace = dict.fromkeys(("xx", "yy", "zz"), 1e12) | {"xz": 1e5}
    water = tensor | {"at": place(2, 0.43, 0.2), "tensor": trace}
    sea, rock = Case(scenario(**tables | {"source": [water]})), Case(scenario(source=[tensor]))
    soft = rock.problem.m0.reshape(rock.problem.shape).copy()
    soft[rock.problem.parameters.names.index("vs")] = 0
    for problem, m in ((sea.problem, sea.m), (rock.problem, soft.ravel())):
        refused(ScenarioError, ["source 1: ", "shear on points of a fluid"], problem.by_sources, m)
    assert Case(scenario(**LOSSY_SEA | {"source": [tensor]})).of_sources() < EXACT


@pytest.mark.long
def test_a_lower_q_is_taken_where_the_scenario_says_so():
    lower = LOSSY | {"attenuation": {"band": [5, 50], "lowest_q": 10}}
    problem = craton.Problem(scenario(model=lower, steps=4), parameters=BY_Q)
    assert np.isfinite(problem.data(2 * problem.m0).velocity).all()


def test_wrong_q_is_told():
    problem = craton.Problem(scenario(**LOSSY_SEA), parameters=BY_Q)
    for factor, words in ((1.3, ["Q below 20, ", "lowest_q"]), (-1, "below zero"), (np.nan, "finite")):
        refused(ScenarioError, words, problem.data, factor * problem.m0)


def test_sh_waves_of_layered_media_are_as_fast_as_their_faster_direction():
    for c44, c66 in ((2e10, 1e10), (1e10, 2e10)):
        cells = tuple(np.full(2, value) for value in (2500.0, 6e10, 1e10, 6e10, c44, c66))
        for carried, count in ((2800.0, 1), (2850.0, 0)):  # m/s; sqrt(2e10 / 2500) = 2828
            assert len(problems(cells, carried, "SH", cells, None, "cells")) == count
