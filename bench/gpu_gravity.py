"""Gravity on one GPU: parity with the CPU, rates of the direct sum, the paper's case, cost against size. A table, and JSON with --out.

usage: PYTHONPATH=src python3 bench/gpu_gravity.py [--out FILE.json] [--only parity rates blocks host paper growth] [--largest 7]
                                                  [--device cuda]
Needs CuPy, NumPy, SciPy and a C++ compiler (the CPU's side of the parity). With --device cpu everything runs on the CPU, to try the script.
Rates count prism-point pairs by the time of the kernels alone (events, median of several passes); whole calls are timed by the wall clock
from NumPy arrays to NumPy arrays, the second call of two or more: compilation and first transfers are left out and printed apart.
"""
# ruff: noqa: E402 (the seven spheres are built by a neighbour)
import argparse
import json
import time
import traceback
from dataclasses import replace

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out")
parser.add_argument("--device", default="cuda")
parser.add_argument("--only", nargs="+", default=["parity", "rates", "blocks", "host", "paper", "growth"])
parser.add_argument("--largest", type=float, default=6, help="log10 of the greatest number of prisms in `growth`")
parser.add_argument("--scale", type=float, default=1.0, help="share of the pairs in `rates`, for trying the script")
options = parser.parse_args()

import numpy as np

import craton.gravity
from craton.backends import backend
from craton.driver.sweep import Runner, sweep
from craton.methods.gravity import direct, far, fft, lattice, vertex
from craton.methods.gravity.cost import speed
from craton.methods.gravity.fields import FIELDS
from craton.methods.gravity.groups import Far
from craton.methods.gravity.problem import problem

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
    # The machines' trees have leaves of different sizes: they may differ by the error allowed, 1e-8 of sums of magnitudes, and do by less.
    for precision, name, method, limit in (("float64", "direct", direct, 1e-12), ("float64", "far", far, 1e-10),
                                           ("float32", "direct", direct, 5e-6), ("float32", "far", far, 5e-6)):
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


def high_points():
    """Points so far above `random_ensemble` that the series serves every pair."""
    return tuple(np.random.default_rng(1).uniform([0, 0, 40e3], [20e3, 20e3, 60e3], (32768, 3)).T)


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
    points = high_points()
    for label, names in (("g_z float32, far", ("g_z",)), ("nine float32, far", NINE)):
        cut = slice(None, None, max(round(1 / options.scale), 1))
        asked = problem(prisms[cut], density[cut], points, names, "float32")
        seconds, pairs = kernel_seconds(machine, machine.commit(direct.plan(asked, machine.width)))
        found |= rated(label, GOALS[label], seconds, pairs)
    return found


BEFORE = {"g_z float64 closed form": 23.8e9, "nine float64 closed form": 9.49e9, "nine float32": 110.5e9, "nine float32, far": 116.0e9,
          "g_z float32, far": 204.2e9}  # with one wave of blocks of 256 threads, prisms' sides and coefficients found pair by pair
SHAPES = ((64, 1, 1), (32, 1, 1), (64, 2, 1), (64, 4, 1), (32, 4, 2))


def blocks(machine):
    """Which block (threads along x, y, z) and how many waves of blocks suit the kernels, beside what was measured before."""
    if machine.name == "cpu":
        return {}
    found, waves = {}, direct.WAVES
    try:
        for label, planned in block_cases(machine):
            row = {}
            for shape, direct.WAVES in [(SHAPES[0], w) for w in (1, 2, 4, 8)] + [(shape, 4) for shape in SHAPES[1:]]:
                program = machine.commit(in_blocks(planned(), shape))
                seconds, pairs = kernel_seconds(machine, program, 3)
                row[f"{'x'.join(map(str, shape))}, {direct.WAVES} waves"] = pairs / seconds
            before = f"before {BEFORE[label] / 1e9:.1f}" if label in BEFORE else ""
            show(f"blocks {label}", "  ".join(f"{key}: {value / 1e9:.1f}" for key, value in row.items()), before)
            found[label] = row
    finally:
        direct.WAVES = waves
    return found


def block_cases(machine):
    """Label and a function that makes the plan: direct sums over many points, over the paper's 15,000, of far pairs, of nodes."""
    prisms, density = seven_spheres()
    for points, count in ((survey(192, 256), ""), (survey(150, 100), ", 15000 points")):
        for label, names, precision, series in (CASES[n] for n in (0, 1, 4)):
            asked = problem(prisms, density, points, names, precision)
            yield label + count, lambda asked=asked, series=series: direct.plan(asked, machine.width, series)
    at = vertex.nodes(asked := problem(prisms, density, survey(150, 100), NINE), machine)
    at, coefficient = (machine.to_host(values) for values in (at.at, at.coefficient))
    yield "nodes, nine float64, 15000 points", lambda: vertex.plan(asked, at, coefficient, machine.width)
    for label, names in (("g_z float32, far", ("g_z",)), ("nine float32, far", NINE)):
        yield label, lambda names=names: direct.plan(problem(*random_ensemble(200_000), high_points(), names, "float32"), machine.width)


def in_blocks(planned, shape):
    """A plan whose summing operator runs in blocks of a shape."""
    phases = tuple(replace(phase, launches=tuple(replace(one, op=replace(one.op, block=shape)) if phase.name == "sum" else one
                                                 for one in phase.launches)) for phase in planned.phases)  # fmt: skip
    return replace(planned, phases=phases)


def host(machine):
    """Where the time of the paper's case by `auto` goes: the parts of the call one after the other, wall clock, best of five."""
    prisms, density = seven_spheres()
    points, found, rate = survey(150, 100), {}, speed(machine, NINE, "float64")

    def part(name, work):
        spent = []
        for _ in range(5):
            machine.finish()
            begin = time.perf_counter()
            out = work()
            machine.finish()
            spent.append(time.perf_counter() - begin)
        found[name] = min(spent)
        show(f"host {name}", f"{min(spent) * 1e3:8.2f} ms")
        return out

    def fresh(work):
        asked = problem(prisms, density, points, NINE)
        return lambda: work(replace(asked))

    asked = part("checks", lambda: problem(prisms, density, points, NINE))
    part("upload of prisms", fresh(lambda asked: lattice.prisms_of(asked, machine.xp)))
    part("nodes, with the upload", fresh(lambda asked: vertex.nodes(asked, machine)))
    part("estimate of vertex, with the nodes", fresh(lambda asked: vertex.estimate(asked, rate)))
    part("estimate of fft", fresh(lambda asked: fft.estimate(asked, rate)))
    nodes = vertex.nodes(asked, machine)
    planned = part("plan", lambda: vertex.plan(asked, nodes.at, nodes.coefficient, machine.width))
    program = part("commit", lambda: machine.commit(planned))
    part("sweep", lambda: sweep(program))
    found["kernels"] = kernel_seconds(machine, program)[0]
    show("host kernels of the sweep", f"{found['kernels'] * 1e3:8.2f} ms")
    planned = part("direct g_z: plan", lambda: direct.plan(problem(prisms, density, points, ("g_z",)), machine.width))
    program = part("direct g_z: commit", lambda: machine.commit(planned))
    part("direct g_z: load", planned.tiles[0].load)
    part("direct g_z: sweep", lambda: sweep(program))
    found["direct g_z: kernels"] = kernel_seconds(machine, program)[0]
    show("host direct g_z: kernels", f"{found['direct g_z: kernels'] * 1e3:8.2f} ms")
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
    """Cost of `far` and `fft` against size, a tenth as many points as prisms: whole calls, the second one; fitted by N log N."""
    found = {}
    for rtol in (1e-4, 1e-8):
        found[f"far, rtol {rtol:g}"] = curve(f"far, rtol {rtol:g}", far_case, "far", rtol)
    found["fft"] = curve("fft", fft_case, "fft", None)
    return found


def curve(label, case, method, rtol):
    """Seconds by number of prisms, and the fit seconds = a N log2 N to the sizes from 10^5.5 on, with the exponent N^b log N would have."""
    rows = []
    for exponent in np.arange(4, options.largest + 0.01, 0.5):
        prisms, density, points = case(exponent)
        for _ in range(2):
            begin = time.perf_counter()
            out = craton.gravity.forward(prisms, density, points, ("g_z",), options.device, method=method, rtol=rtol)
            spent = time.perf_counter() - begin
        rows.append({"prisms": len(prisms), "points": out["g_z"].size, "seconds": spent})
        pairs = len(prisms) * out["g_z"].size
        show(f"{label}: {len(prisms)} prisms, {out['g_z'].size} points", f"{spent:8.3f} s, {pairs / spent / 1e9:.1f} G pairs/s")
    n, seconds = (np.array([row[key] for row in rows]) for key in ("prisms", "seconds"))
    large = n >= min(10**5.5 * 0.9, n[-2:].min())
    ratio = seconds / (n * np.log2(n))
    slope = np.polyfit(np.log(n[large]), np.log(seconds[large] / np.log2(n[large])), 1)[0] if large.sum() > 1 else float("nan")
    a = float(np.exp(np.log(ratio[large]).mean()))
    spread = f"{ratio[large].min() / a:.2f} .. {ratio[large].max() / a:.2f}"
    show(f"{label}: fit", f"{a:.3g} s N log2 N, measured over fitted {spread}; N^{slope:.2f} log N fits best")
    return {"rows": rows, "fit": {"seconds per N log2 N": a, "exponent": float(slope), "from prisms": float(n[large].min())}}


def far_case(exponent):
    """Random prisms, random points 50 to 60 m above them."""
    count = round(10**exponent)
    return *random_ensemble(count), tuple(np.random.default_rng(2).uniform([0, 0, 50], [20e3, 20e3, 60], (max(count // 10, 1), 3)).T)


def fft_case(exponent):
    """A regular block under a grid of points: n x n x 10 cells, n x n points."""
    n = round(10 ** ((exponent - 1) / 2))
    edges, depths = np.arange(n + 1) * 100.0, np.arange(-10, 1) * 100.0
    k, j, i = (v.ravel() for v in np.meshgrid(np.arange(10), np.arange(n), np.arange(n), indexing="ij"))
    prisms = np.stack([edges[i], edges[i + 1], edges[j], edges[j + 1], depths[k], depths[k + 1]], axis=1)
    return prisms, np.random.default_rng(n).uniform(100, 500, len(prisms)), (*np.meshgrid(edges[:-1] + 50, edges[:-1] + 50), 50.0)


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
            result[name] = {part.__name__: part for part in (parity, rates, blocks, host, paper, growth)}[name](machine)
        except Exception:  # the device's time is dear: the rest still runs
            result[name] = {"error": traceback.format_exc()}
            traceback.print_exc()
        print(f"-- {name}: {time.perf_counter() - begin:.1f} s", flush=True)
        if options.out:
            with open(options.out, "w") as file:
                json.dump(result, file, indent=1)


main()
