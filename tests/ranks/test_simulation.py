"""craton.Simulation: the bits of craton.run, without planning, filling and compiling again."""

import operator
import time
from collections import Counter

import benchscript
import numpy as np
import pytest
from common import refused

import craton
from craton.backends.cpu import CPU
from craton.comm.local import Alone
from craton.driver.simulation import fixed, unchanged
from craton.errors import ScenarioError
from craton.host import compile
from craton.methods import METHODS
from craton.methods.finite_difference import build
from craton.methods.finite_difference.equations import material
from craton.methods.protocol import Reuse
from craton.methods.spectral_element import build as elements
from craton.methods.spectral_element.equations import step

small_runs = benchscript.load("cases.small_runs")
ROCK = {"vp": 2500, "vs": 1400, "rho": 2100}
LAYERS = {"kind": "layers", "layers": [ROCK | {"top": 0}, ROCK | {"top": -530, "vp": 3500, "vs": 2000, "rho": 2400}]}
CHANGES = {
    "space": {"model": LAYERS},
    "plane": {},
    "elements": {"boundaries": {"top": "free", "bottom": "pml", "others": "stacey"}},
}


def changed(base, **tables):
    """A scenario with other tables."""
    return craton.Scenario(**{name: getattr(base, name) for name in base.model_fields_set} | tables)


@pytest.mark.parametrize("case", CHANGES)
def test_the_bits_are_those_of_single_runs(case):
    """Other places, wavelets (with other frequencies of absorbing layers and other units), receivers, and back."""
    base = changed(small_runs.scenario(case), **CHANGES[case])
    many, source = craton.Simulation(base), small_runs.moved(base, 1)
    ricker = {"kind": "ricker", "frequency": 4}
    receivers = [{"name": "Q", "at": [1000, 0] if case == "plane" else [1000, 900, 0]}]
    moved, other, back = many.run(source=source), many.run(receivers=receivers, wavelet=ricker), many.run()
    assert other.scenario.source[0].wavelet.kind == "ricker" and list(other.dataset.receiver.values) == ["Q"]
    single = (changed(base, source=[source]), other.scenario, base)
    for result, scenario in zip((moved, other, back), single):
        alone = craton.run(scenario, progress=False)
        assert np.array_equal(result.samples, alone.samples) and result.dataset.equals(alone.dataset)
        assert np.abs(alone.samples).max() > 0 and result.plan.start == alone.plan.start


def test_nothing_is_built_twice(monkeypatch):
    """A thousand runs of which none fills or compiles: here eleven, counted."""
    counts = Counter()

    def count(module, function):
        real = getattr(module, function)

        def counted(*arguments, **options):
            counts[function] += 1
            return real(*arguments, **options)

        monkeypatch.setattr(module, function, counted)

    count(material, "fill")
    count(build, "model_problems")
    count(elements, "build_medium")
    count(step, "elements_of")
    count(compile, "_load")
    for case, most in (("plane", 8), ("elements", 3)):
        base = small_runs.scenario(case)
        many = craton.Simulation(base)
        many.run()
        before, begin = counts.copy(), time.process_time()
        for number in range(most):
            many.run(source=small_runs.moved(base, number))
        assert (time.process_time() - begin) / most < 0.5  # s: an order more than it takes
        assert counts == before, case


def test_arrays_that_differ_are_filled_again():
    """Values of material are taken over in place; everything that changes in time begins with zeros."""
    base, reuse = small_runs.scenario("plane"), Reuse()
    first = craton.plan(base, reuse=reuse)
    second = craton.plan(base.model_copy(update={"title": "again"}), reuse=reuse)
    program = CPU(threads=1).commit(first, METHODS[base.method].fills(base, first))
    ready = unchanged(second, first, {name: program.arrays[name] for name in fixed(first)})
    assert "material" in ready and not {"state", "record", "step"} & set(ready)
    other = craton.plan(changed(base, run={"precision": "float64"}))
    assert unchanged(other, first, program.arrays) == {}


def test_what_is_wrong_is_said():
    many = craton.Simulation(small_runs.scenario("plane"))
    assert "craton.Simulation of 'plane' on CPU" in repr(many)
    refused(ScenarioError, "receivers", many.run, receivers={"name": "Q"})
    with pytest.raises(ScenarioError, match="below the domain|outside"):
        many.run(receivers={"name": "Q", "at": [1000, -9000]})
    gravity = craton.load(benchscript.ROOT / "examples" / "seven_spheres.toml")
    refused(ScenarioError, 'a Simulation is of waves, and the method is "gravity"', craton.Simulation, gravity)
    refused(ScenarioError, "a survey is of waves", craton.run_gradient, gravity, "out")
    refused(ValueError, "devices = 0: there must be at least one", craton.run, gravity, devices=0)
    for verb in (craton.run, craton.resume):
        refused(ValueError, "either comm or devices", verb, gravity, comm=Alone(), devices=2)


@pytest.mark.parametrize("verb", ["run", "plan", "Simulation", "Problem", "run_survey", "run_gradient", "greens.build"])
def test_what_is_no_scenario_is_refused(verb):
    """Tables that nobody has checked, and by verbs that read no files the name of one."""
    call = operator.attrgetter(verb)(craton)
    out = [] if verb in ("run", "plan", "Simulation", "Problem") else ["out"]
    scenarios = [{"domain": {"size": [1, 1, 1]}}, *([] if out else ["file.toml"])]
    for scenario in scenarios:
        words = (f"a {type(scenario).__name__} is no Scenario", "craton.Scenario(**tables)", "craton.load(path)")
        refused(ScenarioError, words, call, scenario, *out)
