"""Speed, measured: copy bandwidth of the machine first, then rates of finite differences, spectral elements or gravity."""
import json
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from craton import gravity_benchmark, nakata, sem_benchmark
from craton.errors import CratonError

REPEATS = 5
SECONDS = 0.6  # of each repeat, about
CUBES = {"cpu": (150, 220), "cuda": (384, 512, 768)}

CUBE = """
title = "{name}"
[domain]
origin = [0, 0, {bottom}]
size = [{extent}, {extent}, {extent}]
spacing = 10
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1732, rho = 2000 }}, {{ top = {middle}, vp = 4000, vs = 2309, rho = 2400 }}]
[time]
duration = 1000
[boundaries]
top = "{top}"
others = "{others}"
[[source]]
kind = "explosion"
at = [{centre}, {centre}, {middle}]
moment = 1e12
wavelet = {{ kind = "ricker", frequency = 8 }}
[[receivers]]
name = "R"
at = [{centre}, {centre}, {middle}]
[run]
order = {order}
precision = "{precision}"
"""
TWO_LAYERS = """
title = "Two layers of Michea & Komatitsch (2010), full size"
[domain]
origin = [0, 0, -18_800]
size = [53_900, 48_300, 18_800]
spacing = 100
[model]
kind = "layers"
layers = [ { top = 0, vp = 4200, vs = 2422, rho = 2300 }, { top = -1400, vp = 6000, vs = 3460, rho = 2700 } ]
[time]
duration = 8
step = 0.008
[[source]]
kind = "moment_tensor"
at = [2000, 4000, -2500]
strike = 0
dip = 90
rake = 0
moment = 1e18
wavelet = { kind = "gaussian", tau = 0.045, delay = 0.18 }
[[receivers]]
name = "R1"
at = [10_000, 10_000, 0]
[run]
precision = "float32"
"""


def cube(n, top="rigid", others="rigid", order=4, precision="float32"):
    """Scenario text of a cube of n^3 points."""
    extent = 10.0 * (n - 1)
    name = f"{n}^3 {others}{', free top' if top == 'free' else ''}, order {order}, {precision}"
    place = {"bottom": -extent, "extent": extent, "middle": -extent / 2, "centre": extent / 2}
    return CUBE.format(name=name, top=top, others=others, order=order, precision=precision, **place)


def fd_cases(device):
    """Scenario texts of the finite-difference cases."""
    sizes = CUBES[device]
    texts = [cube(n, *faces) for n in sizes for faces in (("rigid", "rigid"), ("cpml", "cpml"), ("free", "cpml"))]
    texts += [cube(sizes[1], order=order) for order in (2, 6, 8)] + [cube(sizes[0], precision="float64")]
    return [TWO_LAYERS, *texts] if device == "cuda" else texts


# What is asked by a name, each with the cases for a device.
BENCHES = {"fd": fd_cases, "nakata": nakata.cases, "sem": sem_benchmark.cases, "gravity": gravity_benchmark.cases}


def bench(name="fd", device="auto", out=None, threads=None, show=print, texts=None):
    """Run a benchmark and write its figures as JSON.

    Parameters
    ----------
    name : str
        A key of `BENCHES`.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    out : path-like, optional
        File for the JSON.
    show : callable
        Takes a line of the table.

    Returns
    -------
    dict
        Machine, versions, commit, copy bandwidth and one entry per case: median rate, spread, fraction of the copy bandwidth.
    """
    from craton.backends import backend

    measured, told = {"fd": (measure, row), "nakata": (measure, nakata.row), "gravity": (gravity_benchmark.measure, gravity_benchmark.row),
                      "sem": (measure_elements, sem_benchmark.row)}[name]  # fmt: skip
    machine = backend(device, threads=threads)
    bandwidth = machine.copy_bandwidth()
    show(f"{machine.describe()}: copy {bandwidth / 1e9:,.0f} GB/s")
    result = {"bench": name, **provenance(machine), "copy_bandwidth": bandwidth, "cases": []}
    for asked in texts or BENCHES[name](machine.name):
        try:
            case = measured(asked, machine, bandwidth)
        except (CratonError, MemoryError) as e:
            case = {"case": asked.split('"')[1] if isinstance(asked, str) else asked.title, "skipped": str(e)}
        result["cases"].append(case)
        show(skipped(case) if "skipped" in case else told(case))
        if out:
            Path(out).write_text(json.dumps(result, indent=1) + "\n")
    return result


def measure(text, machine, bandwidth):
    """One case: whole time steps on random data, with its recording, several times."""
    from craton import api
    from craton.scenario import loads

    scenario = loads(text)
    return timed(scenario, api.plan(scenario), machine, bandwidth)


def measure_elements(case, machine, bandwidth):
    """One case of spectral elements; and how long its plan takes to make."""
    begin = time.perf_counter()
    plan = sem_benchmark.plan_of(case)
    seconds = time.perf_counter() - begin
    rates = timed(sem_benchmark.scenario_of(case), plan, machine, bandwidth)
    return sem_benchmark.figures(case, plan, rates, machine.name) | {"build_seconds": seconds}


def timed(scenario, plan, machine, bandwidth):
    """Whole time steps of a plan on random data, several times; and each of its operators."""
    from craton.comm.local import Alone
    from craton.driver import waves
    from craton.driver.march import march
    from craton.driver.recorder import Recorder

    waves.check_memory(plan, machine)
    program = waves.commit(scenario, plan, machine)
    randomise(program, machine)
    recorder = Recorder(program)

    def steps(first, count):
        begin = time.perf_counter()
        march(program, Alone(), recorder, first + count, first)
        machine.finish()
        return time.perf_counter() - begin

    first = steps(0, 1)
    once = min(steps(1 + n, 1) for n in range(3))
    count = max(2, min(int(SECONDS / once), (plan.steps - 4) // REPEATS))
    seconds = [steps(4 + n * count, count) / count for n in range(REPEATS)]
    rates = plan.points / np.array(seconds)
    traffic = sum(plan.traffic.values())
    return {
        "case": plan.title, "points": plan.points, "shape_zyx": plan.grid.shape, "nbytes": plan.nbytes,
        "steps_per_repeat": count, "repeats": REPEATS,
        "seconds_per_step": float(np.median(seconds)),
        "commit_seconds": program.seconds, "first_step_seconds": first, "point_steps_per_second": float(np.median(rates)),
        "lowest": float(rates.min()), "highest": float(rates.max()), "least_bytes_per_step": traffic,
        "fraction_of_copy_bandwidth": float(traffic / np.median(seconds) / bandwidth), "operators": by_operator(program, bandwidth),
    }  # fmt: skip


def by_operator(program, bandwidth):
    """Seconds a step of each operator run by itself, median of five, and the fraction of the copy bandwidth that its traffic makes."""
    machine, rows = program.backend, {}
    for launch in (one for phase in program.plan.phases for one in phase.launches):
        work = machine.single(launch, program)
        seconds = float(np.median([machine.timed(work) for _ in range(5)]))
        row = rows.setdefault(launch.op.name, {"seconds": 0.0, "bytes": 0.0})
        row["seconds"] += seconds
        row["bytes"] += launch.points * launch.op.reals_per_point * np.dtype(program.plan.precision).itemsize
    for row in rows.values():
        row["fraction_of_copy_bandwidth"] = row["bytes"] / row["seconds"] / bandwidth
    return rows


def randomise(program, machine):
    """Small random numbers everywhere in the wavefield: zeros can run faster than real data do."""
    rng = np.random.default_rng(1)
    for name, spec in program.plan.arrays.items():
        if spec.kind == "wavefield" and spec.part_of:
            field = program.grid(name)
            size = 1e-12 if name.startswith(("v", "displacement", "potential")) else 1e-6
            plane = rng.standard_normal((min(len(field), 7), *field.shape[1:])).astype(spec.dtype) * size
            for k in range(0, len(field), len(plane)):
                part = field[k : k + len(plane)]
                part[...] = machine.asarray(plane[: len(part)])


def skipped(case):
    """The line of a case that could not be measured."""
    return f"{case['case']:<44} skipped: {case['skipped'].splitlines()[0]}"


def row(case):
    """One line of the table."""
    rate = case["point_steps_per_second"]
    spread = (case["highest"] - case["lowest"]) / rate
    fraction = case["fraction_of_copy_bandwidth"]
    return f"{case['case']:<44} {rate / 1e6:>9,.0f} Mpoint-steps/s  +-{spread / 2:.0%}  {fraction:.0%} of copy bandwidth"


def provenance(machine):
    """Where, when and with what it was measured."""
    from craton.versions import versions

    installed = versions()
    return {
        "device": machine.describe(), "host": platform.processor() or platform.machine(), "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "commit": commit(), "versions": {"python": platform.python_version(), **installed},
    }  # fmt: skip


def commit():
    """Commit of the source tree, where it is one."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True)
    return done.stdout.strip() or None
