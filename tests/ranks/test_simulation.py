"""craton.Simulation: the bits of craton.run, without planning, filling and compiling again."""

import time

import benchscript
import numpy as np
import pytest

import craton
from craton.backends.cpu import CPU
from craton.errors import ScenarioError
from craton.host import compile
from craton.methods.finite_difference import build, material
from craton.methods.spectral_element import build as elements

small_runs = benchscript.load("cases.small_runs")
SOUTH = {"name": "Q", "at": [1000, 900, 0]}
LAYERS = {
    "kind": "layers",
    "layers": [{"top": 0, "vp": 2500, "vs": 1400, "rho": 2100}, {"top": -530, "vp": 3500, "vs": 2000, "rho": 2400}],
}
RICKER = {"kind": "ricker", "frequency": 4}


def tables_of(scenario):
    return {name: getattr(scenario, name) for name in scenario.model_fields_set}


def same(result, scenario):
    """Whether a run of a scenario by itself gives the same bits."""
    alone = craton.run(scenario, progress=False)
    equal = np.array_equal(result.samples, alone.samples) and result.dataset.equals(alone.dataset)
    return equal and np.abs(alone.samples).max() > 0 and result.plan.start == alone.plan.start


@pytest.mark.parametrize("case", ["space", "plane", "elements"])
def test_the_bits_are_those_of_single_runs(case):
    """Other places, wavelets (with other frequencies of absorbing layers and other units), receivers, and back."""
    base = small_runs.scenario(case)
    if case == "space":
        base = craton.Scenario(**{**tables_of(base), "model": LAYERS})
    if case == "elements":
        base = craton.Scenario(
            **{**tables_of(base), "boundaries": {"top": "free", "bottom": "pml", "others": "stacey"}}
        )
    many, tables = craton.Simulation(base), tables_of(base)
    source = small_runs.moved(base, 1)
    assert same(many.run(source=source), craton.Scenario(**{**tables, "source": [source]}))
    wavelet = many.run(wavelet=RICKER)
    assert wavelet.scenario.source[0].wavelet.kind == "ricker"
    assert same(wavelet, wavelet.scenario)
    receivers = [{**SOUTH, "at": [1000, 0]} if case == "plane" else SOUTH]
    other = many.run(receivers=receivers, wavelet=RICKER)
    assert list(other.dataset.receiver.values) == ["Q"] and same(other, other.scenario)
    assert same(many.run(), base)


def test_nothing_is_built_twice(monkeypatch):
    """A thousand runs of which none fills or compiles: here twenty-five, counted."""
    counts = {"fill": 0, "medium": 0, "compile": 0}

    def counted(name, function):
        def call(*arguments, **options):
            counts[name] += 1
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(material, "fill", counted("fill", material.fill))
    monkeypatch.setattr(build, "model_problems", counted("medium", build.model_problems))
    monkeypatch.setattr(elements, "build_medium", counted("medium", elements.build_medium))
    monkeypatch.setattr(elements, "elements_of", counted("fill", elements.elements_of))
    monkeypatch.setattr(compile, "_load", counted("compile", compile._load))
    for case, most in (("plane", 20), ("elements", 5)):
        base = small_runs.scenario(case)
        many = craton.Simulation(base)
        many.run()
        before, begin = dict(counts), time.process_time()
        for number in range(most):
            many.run(source=small_runs.moved(base, number))
        assert (time.process_time() - begin) / most < 0.5  # s: an order more than it takes
        assert counts == before, case


def test_arrays_that_differ_are_filled_again():
    """Values of material are taken over in place; everything that changes in time begins with zeros."""
    from craton.driver.simulation import fixed, unchanged
    from craton.methods.shared.reuse import Reuse

    base, reuse = small_runs.scenario("plane"), Reuse()
    first = build.build(base, reuse)
    second = build.build(base.model_copy(update={"title": "again"}), reuse)
    program = CPU(threads=1).commit(first, small_runs_fills(base, first))
    ready = unchanged(second, first, {name: program.arrays[name] for name in fixed(first)})
    assert "material" in ready and not {"state", "record", "step"} & set(ready)
    other = build.build(craton.Scenario(**{**tables_of(base), "run": {"precision": "float64"}}))
    assert unchanged(other, first, program.arrays) == {}


def small_runs_fills(scenario, plan):
    from craton.methods import METHODS

    return METHODS[scenario.method].fills(scenario, plan)


def test_what_is_wrong_is_said():
    base = small_runs.scenario("plane")
    many = craton.Simulation(base)
    assert "craton.Simulation of 'plane' on CPU" in repr(many)
    with pytest.raises(ScenarioError, match="receivers"):
        many.run(receivers={"name": "Q"})
    with pytest.raises(ScenarioError, match="below the domain|outside"):
        many.run(receivers={"name": "Q", "at": [1000, -9000]})
    gravity = craton.load(benchscript.ROOT / "examples" / "seven_spheres.toml")
    with pytest.raises(ScenarioError, match='a Simulation is of waves, and the method is "gravity"'):
        craton.Simulation(gravity)
