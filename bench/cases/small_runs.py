"""A thousand small runs in one process: what a run costs besides its time loop.

Sources move, their wavelets change; domain and model stay. `simulation` runs them by one craton.Simulation, `run` by craton.run of a
scenario each. The overhead is the wall time of a run, dataset included, less that of its time loop: median, and least decile, which a
busy machine disturbs less. CPU time is that of the whole run.

usage: python3 -m bench small_runs [simulation run] --device cpu [--set runs=1000] [--only plane] [--out bench/results/small_runs_cpu.json]
"""

import time

import numpy as np

import craton

WAVELET = {"kind": "gaussian", "tau": 0.06}
SOURCE = {"kind": "explosion", "moment": 1e13, "wavelet": WAVELET}
MEDIUM = {"kind": "homogeneous", "vp": 3000, "vs": 1700, "rho": 2300}
SPACE = {
    "domain": {"origin": [0, 0, -2000], "size": [2000, 2000, 2000], "spacing": 80},
    "source": [SOURCE | {"at": [1000, 1000, -700]}],
    "receivers": [{"name": "P", "line": {"from": [950, 1000, 0], "to": [1050, 1000, 0], "count": 5}}],
}
PLANE = {
    "domain": {"origin": [0, -2000], "size": [2000, 2000], "spacing": 50},
    "source": [SOURCE | {"at": [1000, -700]}],
    "receivers": [{"name": "P", "line": {"from": [600, 0], "to": [1400, 0], "count": 5}}],
}
ELEMENTS = {
    **SPACE,
    "method": "sem",
    "domain": {"origin": [0, 0, -2000], "size": [2000, 2000, 2000], "element_size": 500},
}
CASES = {"space": SPACE, "plane": PLANE, "elements": ELEMENTS}


def scenario(name, device="cpu", threads=1):
    """Scenario of a case; a run takes some milliseconds."""
    tables = {"title": name, "model": MEDIUM, "time": {"duration": 0.3}, **CASES[name]}
    return craton.Scenario(**tables, run={"device": device, "threads": threads})


def moved(base, number):
    """The source of the n-th run: dict."""
    source = base.source[0].model_dump(by_alias=True, exclude_none=True)
    x = 800.0 + 400.0 * ((0.6180339887 * number) % 1)
    wavelet = WAVELET | {"tau": 0.06 + 0.01 * (number % 3)}
    return {**source, "at": [x, *source["at"][1:]], "wavelet": wavelet}


def row(name, base, runs, run_one):
    """Milliseconds of many runs."""
    times = []
    for number in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        result = run_one(moved(base, number))
        result.dataset  # noqa: B018 (its time counts)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        seconds = result.report["seconds"]
        times.append((wall, seconds["first step"] + seconds["steady"], cpu))
    wall, loop, cpu = 1e3 * np.array(times).T
    return {
        "case": name,
        "runs": runs,
        "run_ms": float(np.median(wall)),
        "loop_ms": float(np.median(loop)),
        "cpu_ms": float(np.median(cpu)),
        "overhead_ms": float(np.median(wall - loop)),
        "overhead_least_ms": float(np.percentile(wall - loop, 10)),
    }


def measured(report, part, runner):
    """A row for each case."""
    for name in filter(report.wants, CASES):
        base = scenario(name, report.options.device, report.options.threads or 1)
        run_one = runner(base)
        run_one(moved(base, 0))  # compiles
        runs = 3 if report.options.small else report.setting("runs", 1000)
        report.add(part, row(name, base, runs, run_one))


def simulation(report):
    """All runs by one Simulation."""

    def runner(base):
        many = craton.Simulation(base)
        return lambda source: many.run(source=source)

    measured(report, "simulation", runner)


def run(report):
    """Each run by itself: scenario, plan, material and commit anew."""

    def runner(base):
        tables = {name: getattr(base, name) for name in base.model_fields_set}
        return lambda source: craton.run(craton.Scenario(**{**tables, "source": [source]}), progress=False)

    measured(report, "run", runner)


PARTS = {"simulation": simulation, "run": run}
