"""Speed of gravity, measured: prism-point pairs per second of the direct sum, and whole calls on the case of seven spheres."""
import time
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np

REPEATS, CALLS = 5, 3
CELLS, EXTENT, HEIGHT = (700, 700, 50), (22e3, 22e3, 8e3), 100.0
SPHERES = (  # centre, m, and density, kg/m3, as in examples/seven_spheres.toml
    (11_000, 11_000, -1660, -250), (16_610, 14_300, -2100, 300), (11_220, 17_710, -2900, -400), (5280, 14_190, -2500, 350),
    (5280, 7480, -1920, -300), (10_780, 4400, -3560, 500), (16_720, 7590, -2580, -350),
)  # fmt: skip
RADIUS = 1107.2
GRID = (150, 100)  # points of the paper's case
SIZES = {"cpu": (20_000, (32, 32), (15, 10))}  # prisms and points of the rates, points of whole direct sums; elsewhere:
LARGE = (251_946, (256, 192), GRID)


@dataclass(frozen=True)
class Case:
    """One line of the benchmark.

    Parameters
    ----------
    title : str
    fields : tuple of str
    precision : str
    method : str
    prisms : int
        Of the seven spheres, evenly chosen; all for a whole call.
    points : tuple of int
        Of the grid above them, along x and y.
    whole : bool
        The whole call from arrays to arrays, with checks, transfers and statement of the error; else the kernels alone.
    """

    title: str
    fields: tuple
    precision: str
    method: str
    prisms: int
    points: tuple
    whole: bool


def cases(device):
    """The cases for a machine of that name: under a minute on two cores."""
    from craton.methods.gravity.fields import FIELDS

    prisms, many, few = SIZES.get(device, LARGE)
    every = (("g_z", ("g_z",)), ("nine fields", FIELDS[1:]))
    rates = [Case(f"direct, {name}, {precision}", fields, precision, "direct", prisms, many, False)
             for precision in ("float64", "float32") for name, fields in every]  # fmt: skip
    at = f", at {few[0] * few[1]} points" if few != GRID else ""
    calls = [Case(f"paper's case, {name}, {method}{at if method == 'direct' else ''}", fields, "float64", method, LARGE[0],
                  few if method == "direct" else GRID, True) for method in ("direct", "auto") for name, fields in every]  # fmt: skip
    return [*rates, *calls]


@cache
def seven_spheres():
    """Prisms and density of the paper's case."""
    from craton.model.prisms.ensembles import cells, edges

    planes = (edges(low, low + size, n) for low, size, n in zip((0, 0, -EXTENT[2]), EXTENT, CELLS))
    bodies = [SimpleNamespace(shape="sphere", center=at, radius=RADIUS, density=density) for *at, density in SPHERES]
    found = cells(*planes, bodies=bodies)
    return found.prisms, found.density


def problem_of(case):
    """Prisms, density, points of a case."""
    prisms, density = seven_spheres()
    some = np.linspace(0, len(prisms) - 1, min(case.prisms, len(prisms))).astype(int)
    x, y = np.meshgrid(*(np.linspace(0, size, n) for size, n in zip(EXTENT, case.points)))
    return prisms[some], density[some], (x, y, np.full(x.shape, HEIGHT))


def measure(case, machine, bandwidth):
    """One case: median, lowest and highest pairs per second of some repeats."""
    given = problem_of(case)
    first, seconds, found = (call if case.whole else rate)(case, given, machine)
    pairs = len(given[1]) * given[2][0].size
    rates = pairs / np.array(seconds)
    return {
        "case": case.title, "prisms": len(given[1]), "points": given[2][0].size, "pairs": pairs, "fields": len(case.fields),
        "precision": case.precision, "whole_call": case.whole, "repeats": len(seconds), "first_call_seconds": first,
        "seconds": float(np.median(seconds)), "pairs_per_second": float(np.median(rates)), "lowest": float(rates.min()),
        "highest": float(rates.max()), **found,
    }  # fmt: skip


def rate(case, given, machine):
    """Seconds of the direct sum's kernels, its arrays loaded and its records of prisms made before; about how many operations that makes.

    Records are timed apart: some 1e-4 of the sum at the points of a GPU, but percents of it at the few points of the CPU's cases in single.
    """
    from craton.methods.gravity import direct
    from craton.methods.gravity.operators import flops
    from craton.methods.gravity.problem import problem

    begin = time.perf_counter()
    plan = direct.plan(problem(*given, case.fields, case.precision), machine.width)
    program, seconds = machine.commit(plan), {"records": np.zeros(REPEATS), "sum": np.zeros(REPEATS)}
    alone = {phase.name: [machine.single(one, program) for one in phase.launches] for phase in plan.phases}
    work = {"records": lambda: run_all(alone["records"]), "sum": lambda: run_all([*alone["sum"], *alone["collect"]])}
    for tile in plan.tiles:
        for name, values in tile.load().items():
            machine.fill(program.arrays[name], values)
        for name, run in work.items():
            run()
            machine.finish()
            seconds[name] += [machine.timed(run) for _ in range(REPEATS)]
    counted = flops(case.fields) * plan.work / float(np.median(seconds["sum"])) if case.precision == "float64" else None
    found = {"method": "direct", "about_flops": counted, "records_seconds": float(np.median(seconds["records"]))}
    return time.perf_counter() - begin, seconds["sum"], found


def run_all(calls):
    """Run some launches, one after another."""
    for call in calls:
        call()


def call(case, given, machine):
    """Seconds of whole calls after a first one, which compiles; and what was taken and how exact it says it is."""
    from craton.gravity import forward

    seconds = []
    for _ in range(1 + CALLS):
        begin = time.perf_counter()
        out = forward(*given, case.fields, machine, case.precision, case.method)
        seconds.append(time.perf_counter() - begin)
    return seconds[0], seconds[1:], {"method": out.method, "stated_error": out.error}


def row(case):
    """One line of the table."""
    spread = (case["highest"] - case["lowest"]) / case["pairs_per_second"] / 2
    line = f"{case['case']:<44} {case['pairs_per_second'] / 1e6:>11,.0f} Mpairs/s  +-{spread:.0%}  {1e3 * case['seconds']:>9,.1f} ms"
    if case["whole_call"]:
        return f"{line}  by {case['method']}, first call {case['first_call_seconds']:.2f} s"
    return line + (f"  about {case['about_flops'] / 1e9:,.0f} Gflop/s" if case["about_flops"] else "")
