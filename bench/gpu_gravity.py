"""Gravity on one GPU: parity with the CPU, rates of the direct sum, the paper's case, cost against size. A table, and JSON with --out.

usage: PYTHONPATH=src python3 bench/gpu_gravity.py [--out FILE.json] [--only parity rates blocks paper growth] [--largest 7] [--device cuda]
Needs CuPy, NumPy, SciPy and a C++ compiler (the CPU's side of the parity). With --device cpu everything runs on the CPU, to try the script.
Rates count prism-point pairs by the time of the kernels alone (events, median of several passes); whole calls are timed by the wall clock
from NumPy arrays to NumPy arrays, the second call of two or more: compilation and first transfers are left out and printed apart.
"""
# ruff: noqa: E402 (the seven spheres are built by a neighbour)
import argparse
import json
import time
import traceback

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out")
parser.add_argument("--device", default="cuda")
parser.add_argument("--only", nargs="+", default=["parity", "rates", "blocks", "paper", "growth"])
parser.add_argument("--largest", type=float, default=6, help="log10 of the greatest number of prisms in `growth`")
parser.add_argument("--points", type=float, default=5, help="log10 of the number of points in `growth`")
parser.add_argument("--scale", type=float, default=1.0, help="share of the pairs in `rates`, for trying the script")
options = parser.parse_args()

import numpy as np

import craton.gravity
from craton.backends import backend
from craton.run.sweep import Runner, sweep
from craton.solvers.gravity import METHODS, direct, far
from craton.solvers.gravity.fields import FIELDS
from craton.solvers.gravity.groups import Far
from craton.solvers.gravity.problem import problem

NINE = FIELDS[1:]
GOALS = {"g_z float64 closed form": 20e9, "nine float64 closed form": 6e9, "g_z float32": 90e9, "nine float32, far": 150e9,
         "g_z float32, far": 150e9}  # pairs per second, one H200
CELLS, EXTENT, RADIUS = (700, 700, 50), (22e3, 22e3, 8e3), 1107.2345
SPHERES = [(5e3, 5e3, 2e3, 200.0), (11e3, 5e3, 3e3, -300.0), (17e3, 5e3, 4e3, 400.0), (5e3, 16e3, 5e3, -500.0), (11e3, 16e3, 2.5e3, 300.0),
           (17e3, 16e3, 3.5e3, -200.0), (11e3, 10.5e3, 4.5e3, 500.0)]  # x, y, depth, kg/m3; ours: the paper gives none


def seven_spheres():
    """The 251,948 prisms and their density."""
    edges = [np.linspace(low, low + size, n + 1) for low, size, n in zip((0, 0, -EXTENT[2]), EXTENT, CELLS)]
    x, y, z = np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij", sparse=True)
    rho = np.zeros(CELLS)
    for cx, cy, depth, contrast in SPHERES:
        rho[(x - cx) ** 2 + (y - cy) ** 2 + (z + depth) ** 2 < RADIUS**2] = contrast
    at = np.nonzero(rho)
    return np.stack([side for e, i in zip(edges, at) for side in (e[i], e[i + 1])], axis=1), rho[at]


def survey(nx, ny, height=100.0):
    """A grid of points above the ensemble."""
    x, y = np.meshgrid(np.linspace(0, EXTENT[0], nx), np.linspace(0, EXTENT[1], ny), indexing="ij")
    return x, y, np.full(x.shape, height)


def random_ensemble(count, seed=3):
    """Prisms that fill about a third of a box 20 x 20 x 4 km."""
    rng = np.random.default_rng(seed)
    side = (20e3 * 20e3 * 4e3 / count / 3) ** (1 / 3)
    corner = rng.uniform([0, 0, -4000], [20e3 - side, 20e3 - side, -side], (count, 3))
    return np.stack([corner, corner + side], axis=2).reshape(count, 6), rng.uniform(100, 500, count)


def kernel_seconds(machine, program, passes=5):
    """Median seconds of the phases of one tile, loaded before."""
    tile = program.plan.tiles[0]
    for name, values in tile.load().items():
        machine.fill(program.arrays[name], values)

    def work():
        for phase in program.phases:
            phase.outer(0)
            phase.inner(0)

    work()
    machine.finish()
    if hasattr(machine, "timed"):
        return float(np.median([machine.timed(work) for _ in range(passes)])), tile.work
    spent = []
    for _ in range(passes):
        begin = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begin)
    return float(np.median(spent)), tile.work


def parity(machine):
    """All fields at ordinary and singular points: this device against the CPU, and both against the reference values."""
    prisms, density = random_ensemble(3000)
    west, east, south, north, _, top = prisms[:20].T
    x, y = 0.5 * (west + east), 0.5 * (south + north)
    kinds = ((west, south, top), (x, y, top), (west, y, top))  # vertex, face, edge
    special = np.concatenate([np.stack(kind, axis=1) for kind in kinds])
    rng, found = np.random.default_rng(5), {}
    points = np.concatenate([rng.uniform([-2e3, -2e3, -4e3], [22e3, 22e3, 1e3], (937, 3)), special]).T
    host = Runner(backend("cpu"))
    for precision, limit in (("float64", 1e-12), ("float32", 5e-6)):
        for name, method in (("direct", direct), ("far", far)):
            asked = problem(prisms, density, tuple(points), FIELDS, precision, 1e-8)
            here, there = method.solve(asked, Runner(machine)), method.solve(asked, host)
            norm = np.sqrt(np.nanmean(there**2, axis=1, keepdims=True))
            worst = float(np.nanmax(np.abs(here - there) / norm))
            same = bool((np.isnan(here) == np.isnan(there)).all())
            verdict = "ok" if worst < limit and same else "BAD"
            show(f"parity {name} {precision}", f"{worst:.1e} of the rms, nan at the same places: {same}", verdict)
            found[f"{name} {precision}"] = {"worst": worst, "same nan": same}
    return found


CASES = [("g_z float64 closed form", ("g_z",), "float64", None), ("nine float64 closed form", NINE, "float64", None),
         ("ten float64 closed form", FIELDS, "float64", None), ("g_z float32", ("g_z",), "float32", None),
         ("nine float32", NINE, "float32", None),
         ("g_z float32 closed form", ("g_z",), "float32", Far(0)), ("nine float32 closed form", NINE, "float32", Far(0)),
         ("g_z float64 and series 1e-9", ("g_z",), "float64", Far.within(6, 1e-9, 1e-9, (1,))),
         ("nine float64 and series 1e-9", NINE, "float64", Far.within(6, 1e-9, 1e-9, (1, 2)))]  # fmt: skip


def rated(key, goal, seconds, pairs):
    """One row of `rates`."""
    rate = pairs / seconds
    show(key, f"{rate / 1e9:8.2f} G pairs/s", "" if goal is None else f"goal {goal / 1e9:.0f} {'ok' if rate >= goal else 'MISSED'}")
    return {key: {"pairs": pairs, "seconds": seconds, "pairs per second": rate}}


def rates(machine):
    """Pairs per second of the direct sum: the seven spheres' prisms; many points, and few."""
    prisms, density = seven_spheres()
    found = {}
    for nx, ny in ((192, 256), (10, 10)):
        points = tuple(c.ravel() for c in survey(nx, ny))
        for label, names, precision, series in CASES:
            cut = slice(None, None, max(round(1 / options.scale), 1))
            asked = problem(prisms[cut], density[cut], points, names, precision)
            program = machine.commit(direct.plan(asked, machine.width, series))
            seconds, pairs = kernel_seconds(machine, program)
            found |= rated(f"{label}, {nx * ny} points", GOALS.get(label) if nx > 100 else None, seconds, pairs)
    prisms, density = random_ensemble(200_000)
    points = tuple(np.random.default_rng(1).uniform([0, 0, 40e3], [20e3, 20e3, 60e3], (32768, 3)).T)
    for label, names in (("g_z float32, far", ("g_z",)), ("nine float32, far", NINE)):
        cut = slice(None, None, max(round(1 / options.scale), 1))
        asked = problem(prisms[cut], density[cut], points, names, "float32")
        seconds, pairs = kernel_seconds(machine, machine.commit(direct.plan(asked, machine.width)))
        found |= rated(label, GOALS[label], seconds, pairs)
    return found


def blocks(machine):
    """Which shape of a block suits the plain bodies: threads along x, y, z."""
    from craton.backends import cuda

    if machine.name == "cpu":
        return {}
    prisms, density = seven_spheres()
    points, kept, found = tuple(c.ravel() for c in survey(192, 256)), cuda.plain_geometry, {}
    try:
        for shape in ((32, 4, 2), (64, 1, 1), (64, 2, 1), (64, 4, 1), (32, 2, 1), (32, 4, 1), (32, 1, 1)):
            cuda.plain_geometry = lambda box, shape=shape: (shape, shape)
            for label, names, precision, series in CASES[:5]:
                asked = problem(prisms[::4], density[::4], points, names, precision)
                seconds, pairs = kernel_seconds(machine, machine.commit(direct.plan(asked, machine.width, series)), 3)
                found[f"{label} {shape}"] = pairs / seconds
        for label in (case[0] for case in CASES[:5]):
            row = {key.removeprefix(label).strip(): value for key, value in found.items() if key.startswith(label + " (")}
            show(f"blocks {label}", "  ".join(f"{key} {value / 1e9:.1f}" for key, value in row.items()), f"best {max(row, key=row.get)}")
    finally:
        cuda.plain_geometry = kept
    return found


PAPER = [("one component, direct", ("g_z",), "float64", "direct", 0.2), ("nine, direct", NINE, "float64", "direct", None),
         ("nine, direct, float32", NINE, "float32", "direct", None), ("nine, auto", NINE, "float64", "auto", 0.015),
         ("nine, far", NINE, "float64", "far", None)]  # fmt: skip


def paper(machine):
    """The whole call on the case of Couder-Castaneda et al. 2013."""
    prisms, density = seven_spheres()
    points, found, exact = survey(150, 100), {}, None
    for label, names, precision, method, goal in PAPER:
        spent = []
        for _ in range(4):
            begin = time.perf_counter()
            out = craton.gravity.forward(prisms, density, points, names, options.device, precision, method)
            spent.append(time.perf_counter() - begin)
        exact = out if label == "nine, direct" else exact
        error = max(float(np.abs(out[n] - exact[n]).max()) for n in names) if exact else float("nan")
        best = float(np.median(spent[1:]))
        verdict = "" if goal is None else f"goal {goal * 1e3:.0f} ms " + ("ok" if best < goal else "MISSED")
        said = f"{best * 1e3:9.1f} ms by {out.method} (first call {spent[0]:.2f} s), differs {error:.1e} from direct"
        show(f"paper {label}", said, verdict)
        found[label] = {"seconds": best, "first call": spent[0], "method": out.method, "difference mGal or Eotvos": error}
    return found


def growth(machine):
    """Cost of `far` (and `fft` where it is there) against the number of prisms."""
    found, count = {}, round(10**options.points)
    rng = np.random.default_rng(2)
    points = tuple(rng.uniform([0, 0, 50], [20e3, 20e3, 60], (count, 3)).T)
    for exponent in np.arange(4, options.largest + 0.01, 0.5):
        prisms, density = random_ensemble(round(10**exponent))
        for rtol in (1e-4, 1e-8):
            asked = problem(prisms, density, points, ("g_z",), "float64", rtol)
            begin = time.perf_counter()
            planned = far.plan(asked, asked.prisms, asked.density, Runner(machine))
            program = machine.commit(planned)
            machine.finish()
            grown = time.perf_counter()
            sweep(program)
            machine.finish()
            walked = time.perf_counter() - grown
            key = f"far 1e{exponent:g} prisms, {count} points, rtol {rtol:g}"
            show(key, f"tree {grown - begin:.2f} s, walk {walked:.3f} s, {asked.pairs / walked / 1e9:.1f} G pairs/s")
            found[key] = {"prisms": len(prisms), "points": count, "rtol": rtol, "tree s": grown - begin, "walk s": walked}
    if "fft" in METHODS:
        found |= growth_of_fft()
    return found


def growth_of_fft():
    """A regular block under a grid of points: n x n x 16 cells, n x n points."""
    found = {}
    for n in [2**k for k in range(6, 11) if 16 * 4**k <= 10 ** (options.largest + 1)]:
        edges, depths = np.arange(n + 1) * 100.0, np.arange(-16, 1) * 100.0
        k, j, i = (v.ravel() for v in np.meshgrid(np.arange(16), np.arange(n), np.arange(n), indexing="ij"))
        prisms = np.stack([edges[i], edges[i + 1], edges[j], edges[j + 1], depths[k], depths[k + 1]], axis=1)
        density = np.random.default_rng(n).uniform(100, 500, len(prisms))
        x, y = np.meshgrid(edges[:-1] + 50, edges[:-1] + 50)
        spent = []
        for _ in range(2):
            begin = time.perf_counter()
            craton.gravity.forward(prisms, density, (x, y, 50.0), ("g_z",), options.device, method="fft")
            spent.append(time.perf_counter() - begin)
        show(f"fft {n} x {n} x 16 prisms, {n * n} points", f"{spent[1]:.3f} s, {len(prisms) * n * n / spent[1] / 1e9:.1f} G pairs/s")
        found[f"fft {n}"] = {"prisms": len(prisms), "points": n * n, "seconds": spent[1]}
    return found


def show(what, value, verdict=""):
    """One row of the table."""
    print(f"{what:46s} {value}  {verdict}", flush=True)


def main():
    """Everything asked for; a part that fails does not stop the others."""
    machine = backend(options.device)
    result = {"device": machine.describe(), "width": machine.width}
    print(result["device"], flush=True)
    for name in options.only:
        begin = time.perf_counter()
        try:
            result[name] = {"parity": parity, "rates": rates, "blocks": blocks, "paper": paper, "growth": growth}[name](machine)
        except Exception:  # the device's time is dear: the rest still runs
            result[name] = {"error": traceback.format_exc()}
            traceback.print_exc()
        print(f"-- {name}: {time.perf_counter() - begin:.1f} s", flush=True)
        if options.out:
            with open(options.out, "w") as file:
                json.dump(result, file, indent=1)


main()
