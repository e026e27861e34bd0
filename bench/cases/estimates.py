"""Run times that `craton plan` foretells on a CPU against those of the time loop, for both wave methods.

usage: python3 -m bench estimates [steps] --device cpu --threads 1 [--only NAME] [--out bench/results/estimates_cpu.json]

`foretold` are the seconds of a step as `craton.driver.waves` finds them, on zeros, constant material and a few steps; `measured` those of
the whole loop with its observers, on random data and the real material (as `craton.benchmark.timed` runs it), median of several runs of
steps. Both are CPU seconds of one thread, since other work may hold the cores. A row passes where they agree within a factor of 1.5.
"""

import time

import numpy as np

from craton.benchmark import randomise, watchers
from craton.driver import run as driver
from craton.driver import waves
from craton.driver.march import march
from craton.driver.waves import step_seconds
from craton.methods.finite_difference.bench import cube
from craton.methods.spectral_element.bench import LOSS, THOMSEN, VARYING, Box

FACTOR = 1.5
SMALL, LARGE = (8, 8, 6), (16, 16, 12)  # elements


def grids():
    """Scenarios of finite differences by name."""
    attenuation = {"band": [1, 20]}
    return {
        "fd, order 4": cube(80, "free", "cpml"),
        "fd, order 2": cube(80, order=2),
        "fd, order 8, float64": cube(80, order=8, precision="float64"),
        "fd, attenuation": cube(70, "free", "cpml", medium=LOSS, attenuation=attenuation),
        "fd, small": cube(30, "free", "cpml"),
    }


def meshes():
    """Boxes of spectral elements by name, and their tables of [run]."""
    media = {"isotropic": {}, "varying": VARYING, "21 constants": THOMSEN, "attenuation": LOSS}
    boxes = {f"sem, {name}": (Box(name, LARGE, medium), {}) for name, medium in media.items()}
    cubes = {shape: Box("cubes", shape, {}, irregular=False) for shape in (SMALL, LARGE)}
    return boxes | {
        "sem, water": (Box("water", LARGE, {}, water=True), {}),
        "sem, cubes": (cubes[LARGE], {}),
        "sem, degree 2": (cubes[LARGE], {"degree": 2}),
        "sem, degree 7": (cubes[SMALL], {"degree": 7}),
        "sem, float64": (cubes[SMALL], {"precision": "float64"}),
    }


def cases(machine):
    """Scenario and plan of every case by name, made when it is its turn; a machine's operators help to make plans of elements."""
    for name, scenario in grids().items():
        yield name, lambda scenario=scenario: (scenario, driver.plan(scenario))
    for name, (box, table) in meshes().items():
        scenario = box.scenario(run=table)
        if table:
            yield name, lambda scenario=scenario: (scenario, driver.plan(scenario))
        else:
            yield name, lambda scenario=scenario, box=box: (scenario, box.plan(machine))


def loop_seconds(scenario, plan, machine, repeats=5, clock=time.process_time):
    """CPU seconds of a step of the time loop with its observers, on random data: median of several runs of steps."""
    program = waves.commit(scenario, plan, machine)
    randomise(program, machine)
    observers, seconds = watchers(scenario, program), []
    march(program, observers, 1)
    count = max(3, min(40, (plan.steps - 2) // (repeats + 1)))
    for n in range(repeats):
        begin = clock()
        march(program, observers, 1 + (n + 1) * count, 1 + n * count)
        machine.finish()
        seconds.append((clock() - begin) / count)
    return float(np.median(seconds))


def steps(report):
    """Every case: foretold and measured."""
    for name, make in cases(report.machine):
        if not report.wants(name):
            continue
        scenario, plan = make()
        waves.check_memory(plan, report.machine)
        foretold = step_seconds(plan, report.machine, time.process_time)
        measured = loop_seconds(scenario, plan, report.machine)
        ratio = foretold / measured
        row = {"case": name, "points": plan.points, "foretold": foretold, "measured": measured}
        report.add("steps", row | {"ratio": ratio, "passed": 1 / FACTOR < ratio < FACTOR})


PARTS = {"steps": steps}
