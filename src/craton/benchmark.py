"""Speed, measured: copy bandwidth of the machine first, then the cases of a method's benchmark."""

import json
import platform
import time
from functools import partial
from pathlib import Path

import numpy as np

from craton.backends import backend
from craton.comm.placement import planner
from craton.core.deferred import rings
from craton.driver import run as driver
from craton.driver import waves
from craton.driver.job import Job
from craton.driver.march import march
from craton.driver.observers.guard import Clock, Guard, Stop
from craton.driver.observers.record import Record
from craton.driver.sums import solve
from craton.errors import CratonError
from craton.methods import METHODS
from craton.methods.gravity import direct
from craton.methods.gravity.operators import flops
from craton.methods.gravity.problem import problem
from craton.methods.protocol import BenchCase
from craton.text import now
from craton.versions import source_commit, versions

REPEATS, CALLS = 5, 3  # timings of a case; of whole calls
SECONDS = 0.6  # of each repeat, about
BENCHES = {name: method for method in METHODS.values() for name in method.benches}
UNITS = {"point_steps": "Mpoint-steps/s", "elements": "M elements/s", "pairs": "Mpairs/s"}
DETAILS = (  # figure, factor, words; where a case has it
    ("fraction_of_copy_bandwidth", 1, "{:.0%} of copy bandwidth"),
    ("bytes_per_element", 1e-3, "{:.1f} kB an element"),
    ("seconds_of_1000_steps", 1, "{:.3g} s for 1000 steps"),
    ("seconds", 1e3, "{:,.1f} ms"),
    ("method", 1, "by {}"),
    ("first_call_seconds", 1, "first call {:.2f} s"),
    ("about_flops", 1e-9, "about {:,.0f} Gflop/s"),
)


def bench(name, device="auto", out=None, threads=None, show=print, cases=None):
    """Run a benchmark and write its figures as JSON.

    Parameters
    ----------
    name : str
        A key of `BENCHES`.
    device : str
        ``"auto"``, ``"cpu"`` or the name of another machine.
    out : path-like, optional
        File for the JSON.
    threads : int, optional
        Of the CPU.
    show : callable
        Takes a line of the table.
    cases : list of BenchCase or Scenario, optional
        In place of those of the benchmark.

    Returns
    -------
    dict
        Machine, versions, commit, copy bandwidth and a dict of figures for each case.
    """
    method, machine = BENCHES[name], backend(device, threads=threads)
    bandwidth = machine.copy_bandwidth()
    show(f"{machine.describe()}: copy {bandwidth / 1e9:,.0f} GB/s")
    result = {"bench": name, **provenance(machine), "copy_bandwidth": bandwidth, "cases": []}
    measure = march_rate if method.drive == "march" else sum_rate
    for case in cases or method.bench(name, machine.name):
        try:
            figures = measure(case, machine, bandwidth)
        except (CratonError, MemoryError) as error:
            figures = {"case": case.title, "skipped": str(error)}
        result["cases"].append(figures)
        show(line(figures))
        if out:
            Path(out).write_text(json.dumps(result, indent=1) + "\n")
    return result


def line(case):
    """Return a line of the table: rate in its unit, half the range of the repeats, further figures."""
    if "skipped" in case:
        return f"{case['case']:<44} skipped: {case['skipped'].splitlines()[0]}"
    rate = case[f"{case['unit']}_per_second"]
    words = [f"{rate / 1e6:>11{',.0f' if rate > 1e8 else '.3g'}} {UNITS[case['unit']]}"]
    words.append(f"+-{(case['highest'] - case['lowest']) / rate / 2:.0%}")
    words += [text.format(case[key] * factor) for key, factor, text in DETAILS if case.get(key)]
    return f"{case['case']:<44} {'  '.join(words)}"


def march_rate(case, machine, bandwidth):
    """Figures of a case of time steps."""
    begin = time.perf_counter()
    scenario = case.scenario if isinstance(case, BenchCase) else case
    plan = case.plan(planner()) if isinstance(case, BenchCase) else driver.plan(case)
    built = time.perf_counter() - begin
    figures = timed(scenario, plan, machine, bandwidth) | {"build_seconds": built, "unit": "point_steps"}
    if isinstance(case, BenchCase):
        figures |= {"unit": case.unit} | case.figures(plan, figures["seconds_per_step"])
        counted = figures[f"{case.unit}_per_second"] / figures["point_steps_per_second"]
        figures |= {key: counted * figures[key] for key in ("lowest", "highest")}
    return figures


def timed(scenario, plan, machine, bandwidth):
    """Whole time steps of a plan on random data, several times, and each of its operators.

    Parameters
    ----------
    scenario : Scenario
    plan : Plan
    machine : Backend
    bandwidth : float
        Of a copy, bytes per second.

    Returns
    -------
    dict
    """
    waves.check_memory(plan, machine)
    program = waves.commit(scenario, plan, machine)
    randomise(program, machine)
    observers = watchers(scenario, program)

    def steps(first, count):
        begin = time.perf_counter()
        march(program, observers, first + count, first)
        machine.finish()
        return time.perf_counter() - begin

    first = steps(0, 1)
    once = min(steps(1 + n, 1) for n in range(3))
    count = max(2, min(int(SECONDS / once), (plan.steps - 4) // REPEATS))
    seconds = [steps(4 + n * count, count) / count for n in range(REPEATS)]
    median, traffic = float(np.median(seconds)), sum(plan.traffic.values())
    return {
        "case": plan.title,
        "points": plan.points,
        "shape_zyx": plan.layout.shape,
        "nbytes": plan.nbytes,
        "steps_per_repeat": count,
        "repeats": REPEATS,
        "seconds_per_step": median,
        "commit_seconds": program.seconds,
        "first_step_seconds": first,
        **rates("point_steps", plan.points, seconds),
        "least_bytes_per_step": traffic,
        "fraction_of_copy_bandwidth": float(traffic / median / bandwidth),
        "operators": by_operator(program, bandwidth),
    }


def watchers(scenario, program):
    """Return what watches every run: its record, and the guard of its wavefield."""
    job = Job(scenario, program.plan, program.backend)
    clock = Clock(job)
    return [clock, *rings(program), Record(job, program), Guard(job, program, clock, Stop())]


def rates(unit, count, seconds):
    """Median, lowest and highest of a count over some seconds."""
    per_second = count / np.array(seconds)
    median = {f"{unit}_per_second": float(np.median(per_second))}
    return median | {"lowest": float(per_second.min()), "highest": float(per_second.max())}


def by_operator(program, bandwidth):
    """Seconds a step of each operator by itself, median of five, and the fraction of the copy
    bandwidth that its traffic makes.
    """
    machine, rows = program.backend, {}
    size = np.dtype(program.plan.precision).itemsize
    for launch in (launch for phase in program.plan.phases for launch in phase.launches):
        work = machine.single(launch, program)
        row = rows.setdefault(launch.op.name, {"seconds": 0.0, "bytes": 0.0})
        row["seconds"] += float(np.median([machine.timed(work) for _ in range(5)]))
        row["bytes"] += launch.points * launch.op.reals_per_point * size
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
            if np.dtype(spec.dtype) == np.float16:  # which holds 6e-5 and more
                size = 1.0
            plane = size * rng.standard_normal((min(len(field), 7), *field.shape[1:]))
            for k in range(0, len(field), len(plane)):
                part = field[k : k + len(plane)]
                part[...] = machine.asarray(plane[: len(part)].astype(spec.dtype))


# --- sums over prisms -----------------------------------------------------------------------------


def sum_rate(case, machine, bandwidth):
    """Figures of a case of gravity: of the kernels alone, or of whole calls."""
    arrays = case.problem
    pairs = len(arrays[1]) * arrays[2][0].size
    first, seconds, figures = (whole_calls if case.whole else kernels)(case, arrays, machine)
    counts = {"prisms": len(arrays[1]), "points": arrays[2][0].size, "pairs": pairs}
    about = {"precision": case.precision, "whole_call": case.whole, "repeats": len(seconds)}
    times = {"first_call_seconds": first, "seconds": float(np.median(seconds))}
    head = {"case": case.title, "unit": "pairs", "fields": len(case.fields)}
    return head | counts | about | times | rates("pairs", pairs, seconds) | figures


def kernels(case, arrays, machine):
    """Seconds of the direct sum's kernels, its arrays loaded and its records of prisms made before.

    Records are timed apart: some 1e-4 of the sum at the points of a GPU, but percents of it at the
    few points of the CPU's cases.
    """
    begin = time.perf_counter()
    plan = direct.plan(problem(*arrays, case.fields, case.precision), machine.width)
    program = machine.commit(plan)
    seconds = {name: np.zeros(REPEATS) for name in ("records", "sum")}
    parts = {"records": ("records",), "sum": ("sum", "collect")}
    phases = {phase.name: [machine.single(launch, program) for launch in phase.launches] for phase in plan.phases}
    for tile in plan.tiles:
        for name, values in tile.load().items():
            machine.fill(program.arrays[name], values)
        for part, names in parts.items():
            run = partial(run_all, [launch for name in names for launch in phases[name]])
            run()
            machine.finish()
            seconds[part] += [machine.timed(run) for _ in range(REPEATS)]
    median = {name: float(np.median(values)) for name, values in seconds.items()}
    double = case.precision == "float64"
    operations = flops(case.fields) * plan.work / median["sum"] if double else None
    figures = {"method": "direct", "about_flops": operations, "records_seconds": median["records"]}
    return time.perf_counter() - begin, seconds["sum"], figures


def run_all(launches):
    """Run launches, one after another."""
    for launch in launches:
        launch()


def whole_calls(case, arrays, machine):
    """Seconds of whole calls after a first one, which compiles; and what was taken and how exact it
    says it is.
    """
    seconds = []
    for _ in range(1 + CALLS):
        begin = time.perf_counter()
        task = problem(*arrays, case.fields, case.precision, machine=machine)
        _, report = solve(task, machine, case.method)
        seconds.append(time.perf_counter() - begin)
    return seconds[0], seconds[1:], {"method": report["method"], "stated_error": report["error"]}


# --- origin ---------------------------------------------------------------------------------------


def provenance(machine):
    """Where, when and with what it was measured."""
    return {
        "device": machine.describe(),
        "host": platform.processor() or platform.machine(),
        "date": now(),
        "commit": source_commit(),
        "versions": {"python": platform.python_version(), **versions()},
    }
