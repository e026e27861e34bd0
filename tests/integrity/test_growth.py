"""Energy that rises after the sources have ended ends a run: slow growth of either method is seen, what decays or stands is not."""

from types import SimpleNamespace

import numpy as np
import pytest
from common import refused

import craton
from craton.backends import backend
from craton.benchmark import watchers
from craton.driver import waves
from craton.driver.march import Observer, march
from craton.driver.observers.guard import EVERY, Growth, squares
from craton.errors import ComputationError
from craton.scenario import Scenario
from craton.survey.sources import end_time

EXPLOSION = {"kind": "explosion", "moment": 1e13, "wavelet": {"kind": "ricker", "frequency": 5}}
ROCK = {"vp": 3464, "vs": 2000, "rho": 2400}
WATER = {"top": 0, "vp": 1500, "vs": 0, "rho": 1000}


def plane(duration=12.0, vp=2500, step=None, **boundaries):
    """A plane of 40 x 30 points, vp / vs = 2.5, between A1 at the sides: it grows (numerics.md)."""
    return Scenario(
        domain={"origin": [-500, -750], "size": [1000, 750], "spacing": 25},
        model={"kind": "homogeneous", "vp": vp, "vs": 1000, "rho": 2400},
        time={"duration": duration, "step": step},
        boundaries=boundaries or {"others": "a1"},
        source=[EXPLOSION | {"at": [10, -300]}],
        receivers=[{"name": "R", "at": [100, 0]}],
    )


def elements(*layers):
    """Four elements along each axis between rigid faces."""
    return Scenario(
        method="sem",
        domain={"origin": [-200, -200, -400], "size": [400, 400, 400], "element_size": 100},
        model={"kind": "layers", "layers": layers},
        time={"duration": 8.0},
        boundaries={"others": "rigid"},
        source=[EXPLOSION | {"at": [10, 20, -310]}],
    )


def growth_of(quiet=1000.0):
    """A Growth of a run of 100,000 steps whose sources end after `quiet`."""
    plan = SimpleNamespace(steps=100_000, dt=1.0, start=0.0, quiet=quiet, limit=1.0, scale=1.0)
    plan.kinetic, plan.totals = (("vx", ""),), SimpleNamespace(points=900)
    plan.arrays = {"vx": SimpleNamespace(dtype=np.dtype("float32"))}
    return Growth(SimpleNamespace(plan=plan))


def seen(growth, energy):
    """First step at which a course of energy is taken for growth, or None."""
    steps = range(EVERY, growth.program.plan.steps, EVERY)
    return next((step for step in steps if growth.due(step) and growth.grows(step, energy(step))), None)


def test_what_cannot_grow_is_let_run_and_growth_is_seen_when_it_is_tenfold():
    """A factor of 20 in amplitude in 5,000 steps, out of what decays: energy tenfold 1,920 steps after its least."""
    random = np.random.default_rng(5)
    for name, energy in {
        "1/r": lambda n: 1 / n,
        "noise": lambda n: max(np.exp(-n / 500), 1e-13 * random.uniform(0.01, 1) * n),
        "standing": lambda n: np.cos(2 * np.pi * n / 3000) ** 2,
        "beating": lambda n: np.cos(n / 700) ** 2 + np.cos(n / 800) ** 2,
        "water": lambda n: 1.0 if n < 50_000 else 6.0,
        "rising source": lambda n: np.exp(n / 100) if n <= 1000 else np.exp(10),
    }.items():
        assert seen(growth_of(), energy) is None, name
    growth = growth_of()
    step = seen(growth, lambda n: np.exp(-n / 400) + 1e-5 * np.exp(2 * np.log(20) / 5000 * n))
    assert 7000 > step > growth.since > 1000 and 1900 <= step - growth.since <= 3500


def test_what_has_diverged_goes_with_the_impulse_of_the_sources_and_not_with_the_step():
    limits = [craton.plan(plane(step=step)).limit for step in (2e-3, 1e-3)]
    assert limits[0] == pytest.approx(limits[1], rel=1e-2)


def test_what_has_diverged_in_a_fluid_is_a_pressure():
    """Which a moment makes in a volume, however fast waves are."""
    limits = [craton.plan(elements(WATER | {"vp": vp})).limit for vp in (1500, 3000)]
    assert limits[0] == pytest.approx(limits[1], rel=1e-2)


def test_nothing_is_looked_at_while_sources_act():
    assert not growth_of(quiet=np.inf).due(50_000)
    assert end_time([], ["a recording"]) == end_time([]) == np.inf
    assert craton.plan(plane()).quiet == pytest.approx(0.224, abs=1e-3)
    assert seen(growth_of(quiet=99_000.0), lambda n: np.exp(n / 5000)) is None


def test_squares_of_a_field():
    """In pieces, over inverse masses, and of 16 bits, whose squares would overflow."""
    random = np.random.default_rng(7)
    v, inverse = random.standard_normal((101, 3)), random.uniform(0.5, 2, 101)
    inverse[-1] = 0
    exact = (v[:-1] ** 2 / inverse[:-1, None]).sum() / 4
    assert squares(np, v, inverse, 0.5, 8) == pytest.approx(exact, rel=1e-12)
    half = (6e4 * np.clip(v, -1, 1)).astype("float16")
    for field, chunk, bound in ((v, 7, 1e-12), (v[1:-1, 1:], 7, 1e-6), (half, 50, 1e-5)):
        assert squares(np, field, None, 1.0, chunk) == pytest.approx((field.astype(float) ** 2).sum(), rel=bound)


def test_a_run_that_grows_says_where_and_since_when():
    words = ["the energy grows, tenfold from step", "the sources ended at 0.2", "m/s at x = ", "thicker layer"]
    for devices in (1, 2):
        refused(ComputationError, words, craton.run, plane(), "cpu", progress=False, warn=False, devices=devices)
    assert ComputationError.exit_code == 4


@pytest.mark.parametrize("others", ["rigid", "cpml"])
def test_a_run_that_keeps_or_loses_its_energy_ends(others):
    """For 60 s: between rigid faces nothing leaves, between layers rounding is left."""
    assert craton.run(plane(60.0, 1732, others=others), "cpu", progress=False, warn=False).error is None


@pytest.mark.parametrize(
    "scenario", [plane(20.0, others="rigid"), elements(ROCK | {"top": 0}), elements(WATER, ROCK | {"top": -200})]
)
def test_energy_is_kept_and_its_growth_ends_a_run_of_either_method(scenario):
    """Between rigid faces; then with all fields a little larger after each step."""
    machine, plan = backend("cpu", threads=1), craton.plan(scenario)
    program = waves.commit(scenario, plan, machine)
    growth, energies = Growth(program), []

    class Looking(Observer):
        def due(self, step):
            return step > growth.first and step % 7 == 0

        def see(self, step, program):
            energies.append(growth.energy())

    march(program, [Looking()], growth.first + 600)
    first, last = np.split(np.array(energies[: len(energies) // 2 * 2]), 2)
    assert first.mean() > 0 and last.mean() == pytest.approx(first.mean(), rel=0.35)

    class Growing(Observer):
        def see(self, step, program):
            program.arrays["state"][...] *= 1.002

    words, program = "the energy grows, tenfold from step", waves.commit(scenario, plan, machine)
    refused(ComputationError, words, march, program, [Growing(), *watchers(scenario, program)], plan.steps)
