"""craton's direct sum against Harmonica on this CPU: the same random prisms and points, g_z and nine fields.

usage: python3 -m bench gravity_harmonica [one_core two_threads] --device cpu [--repeats 5] [--set prisms=20000 points=2000]
       [--out bench/results/gravity_harmonica_cpu.json]
Needs Harmonica (pip install craton[dev]).

one_core      one thread each, Harmonica with parallel=False
two_threads   two threads each, Harmonica with parallel=True

Both programs take turns within each repeat, so that other work on the machine meets both. Kernels are compiled before, by a call with few
prisms. Rates are pairs over CPU seconds (process_time: of this process alone, all its threads), medians of the repeats, since other work
may hold the cores; wall seconds are given beside them, with the load of the machine at the beginning and the end. Harmonica computes one
field a call: its nine fields are nine calls.
"""

import os
import time
from functools import partial

import numpy as np

import craton.gravity
from craton.versions import versions

NINE = ("g_e", "g_n", "g_z", "g_ee", "g_nn", "g_zz", "g_en", "g_ez", "g_nz")
FIELDS = {"g_z": ("g_z",), "nine fields": NINE}
RATE, TIMES = 30e6, 8  # what is asked for on one core: pairs of g_z a second, times Harmonica


def random_case(prisms, points, seed=7):
    """Prisms of 10 to 300 m in a box, densities of both signs, points above: (prisms, density, points)."""
    rng = np.random.default_rng(seed)
    centre = rng.uniform([0, 0, -2000], [9000, 7000, -160], (prisms, 3))
    half = rng.uniform(5, 150, (prisms, 3))
    sides = np.stack([centre - half, centre + half], axis=2).reshape(-1, 6)
    at = rng.uniform([-2000, -2000, 1], [11000, 9000, 500], (points, 3)).T
    return sides, rng.uniform(-500, 500, prisms), tuple(at)


def by_craton(case, names, threads):
    """Fields by craton."""
    return craton.gravity.forward(*case, names, "cpu", method="direct", threads=threads)


def by_harmonica(case, names, threads):
    """Fields by Harmonica, one call each."""
    import harmonica

    prisms, density, points = case
    options = {"parallel": threads > 1, "disable_checks": True}
    return {name: harmonica.prism_gravity(points, prisms, density, name, **options) for name in names}


def in_turn(works, repeats):
    """Wall and CPU seconds of each function and what it returned, called in turn: dict of (wall, cpu, value)."""
    seconds, values = {name: [] for name in works}, {}
    for _ in range(repeats):
        for name, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            values[name] = work()
            seconds[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: (*np.array(rows).T, values[name]) for name, rows in seconds.items()}


def compare(report, part, threads):
    """Rows of a part: both programs with so many threads."""
    import numba

    numba.set_num_threads(threads)
    case = random_case(report.setting("prisms", 20_000), report.setting("points", 2_000))
    few = (case[0][:50], case[1][:50], tuple(axis[:50] for axis in case[2]))
    for label, names in FIELDS.items():
        programs = {"craton": by_craton, "harmonica": by_harmonica}
        for program in programs.values():
            program(few, names, threads)
        load = os.getloadavg()[0]
        works = {name: partial(run, case, names, threads) for name, run in programs.items()}
        measured = in_turn(works, report.options.repeats)
        loads = {"load": [load, os.getloadavg()[0]], **versions("harmonica", "choclo", "numba")}
        report.add(part, row(label, names, threads, measured, len(case[0]) * case[2][0].size, loads))


def row(label, names, threads, measured, pairs, loads):
    """Figures of one comparison, judged by CPU time."""
    figures = {"case": label, "threads": threads, "pairs": pairs}
    medians = {}
    for name, (wall, cpu, _) in measured.items():
        medians[name] = float(np.median(cpu))
        figures[f"{name} M pairs/s per core"] = pairs / medians[name] / 1e6
        figures[f"{name} cpu s"], figures[f"{name} wall s"] = list(cpu), list(wall)
    figures["times faster"] = medians["harmonica"] / medians["craton"]
    walls = {name: float(np.median(wall)) for name, (wall, _, _) in measured.items()}
    figures["times faster by wall time"] = walls["harmonica"] / walls["craton"]
    ours, theirs = measured["craton"][2], measured["harmonica"][2]
    figures["difference over norm"] = max(
        float(np.abs(ours[n] - theirs[n]).max() / np.linalg.norm(theirs[n])) for n in names
    )
    enough = pairs / medians["craton"] >= RATE or label != "g_z"
    figures["passed"] = bool(enough and figures["times faster"] >= TIMES)
    return figures | loads


PARTS = {
    "one_core": partial(compare, part="one_core", threads=1),
    "two_threads": partial(compare, part="two_threads", threads=2),
}
