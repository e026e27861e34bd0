"""Gravity: parity with the CPU, rates of the direct sum, the paper's case, cost against size.

usage: python3 -m bench gravity [parity rates blocks host paper growth] [--out FILE.json] [--set largest=7]
       compute-sanitizer python3 -m bench gravity --small

gravity_h200 has all parts but growth, gravity_growth_h200 growth with --set largest=7 (log10 of the greatest number of prisms). Rates count
prism-point pairs by the time of the kernels alone (median of several passes); whole calls are timed by the wall clock from NumPy arrays to
NumPy arrays: compilation and first transfers are left out and given apart. `--small` runs every method on small cases; on a CPU
--set scale=0.01 takes a share of the pairs of the rates.
"""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import craton.gravity
from bench.harness import median_seconds, picture, tables
from craton.backends import backend
from craton.methods.gravity import direct, far, fft, lattice, speed, tiles, vertex
from craton.methods.gravity.bench import EXTENT, HEIGHT, seven_spheres
from craton.methods.gravity.fields import FIELDS
from craton.methods.gravity.problem import problem
from craton.methods.gravity.tiles import Runner, sweep

NINE = FIELDS[1:]
FIELDS_BY_COUNT = {1: ("g_z",), 9: NINE, 10: FIELDS}
HIGH = {"g_z float32, far": ("g_z",), "nine float32, far": NINE}
MANY, PAPER = (192, 256), (150, 100)  # points over the seven spheres


def settings():
    """Rates of the direct sum: label -> (fields, precision, series)."""
    for label, case in tables("gravity")["rates"].items():
        series = case.get("series")
        series = direct.Far() if series == "none" else direct.series(*series) if series else None
        yield label, (FIELDS_BY_COUNT[case["fields"]], case["precision"], series)


def survey(nx, ny):
    """A grid of points above the seven spheres."""
    x, y = (np.linspace(0, size, n) for size, n in zip(EXTENT, (nx, ny)))
    x, y = np.meshgrid(x, y, indexing="ij")
    return x, y, np.full(x.shape, HEIGHT)


def random_ensemble(count, seed=3):
    """Prisms that fill about a third of a box 20 x 20 x 4 km."""
    rng = np.random.default_rng(seed)
    side = (20e3 * 20e3 * 4e3 / count / 3) ** (1 / 3)
    corner = rng.uniform([0, 0, -4000], [20e3 - side, 20e3 - side, -side], (count, 3))
    prisms = np.stack([corner, corner + side], axis=2).reshape(count, 6)
    return prisms, rng.uniform(100, 500, count)


def regular(nx, nz, cell):
    """A block of nx x nx x nz cells, and points over the middles of the upper ones."""
    edges, depths = np.arange(nx + 1) * cell, np.arange(-nz, 1) * cell
    k, j, i = (n.ravel() for n in np.indices((nz, nx, nx)))
    sides = [axis[n + d] for axis, n in ((edges, i), (edges, j), (depths, k)) for d in (0, 1)]
    prisms, middles = np.stack(sides, axis=1), edges[:-1] + cell / 2
    density = np.random.default_rng(nx).uniform(100, 500, len(prisms))
    return prisms, density, (*np.meshgrid(middles, middles), 50.0)


def high_points():
    """Points so far above `random_ensemble` that the series serves every pair."""
    return tuple(np.random.default_rng(1).uniform([0, 0, 40e3], [20e3, 20e3, 60e3], (32768, 3)).T)


# --- parts ------------------------------------------------------------------------------------


def parity(report):
    """All fields at ordinary and singular points: the device against the CPU."""
    if report.options.small:
        return few(report)
    prisms, density = random_ensemble(3000)
    west, east, south, north, _, top = prisms[:20].T
    middle = 0.5 * (west + east), 0.5 * (south + north), top
    special = [np.stack(kind, axis=1) for kind in ((west, south, top), middle, (west, middle[1], top))]
    scattered = np.random.default_rng(5).uniform([-2e3, -2e3, -4e3], [22e3, 22e3, 1e3], (937, 3))
    points = tuple(np.concatenate([scattered, *special]).T)  # and vertices, faces, edges
    machines = Runner(report.machine), Runner(backend("cpu", threads=report.options.threads))
    # Trees of machines have leaves of different sizes: they may differ by the error allowed, 1e-8 of sums of magnitudes, and do by less.
    limits = {("float64", direct): 1e-12, ("float64", far): 1e-10}
    limits |= {("float32", direct): 5e-6, ("float32", far): 5e-6}
    for (precision, method), limit in limits.items():
        asked = problem(prisms, density, points, FIELDS, precision, 1e-8)
        values, reference = (method.solve(asked, machine) for machine in machines)
        norm = np.sqrt(np.nanmean(reference**2, axis=1, keepdims=True))
        worst = float(np.nanmax(np.abs(values - reference) / norm))
        same = bool((np.isnan(values) == np.isnan(reference)).all())
        name = f"{method.__name__.rpartition('.')[2]} {precision}"
        row = {"case": name, "worst": worst, "same nan": same, "limit": limit}
        report.add("parity", row | {"passed": same and worst < limit})
    return None


def few(report):
    """Every method on a small case, and its difference from the CPU's direct sum over the greatest value."""
    rng = np.random.default_rng(1)
    corner, size = rng.uniform(-1000, 0, (200, 3)), rng.uniform(50, 150, (200, 3))
    prisms = np.stack([corner, corner + size], axis=2).reshape(200, 6)
    points, density = tuple(rng.uniform(-1500, 1500, (3, 300))), rng.uniform(-300, 300, 200)
    cases = {"irregular": ((prisms, density, points), ("direct", "far"))}
    cases["regular"] = (regular(12, 4, 100.0), ("vertex", "fft", "direct", "far"))
    for name, (case, methods) in cases.items():
        exact = craton.gravity.forward(*case, FIELDS, "cpu", method="direct")
        for precision in ("float64", "float32"):
            for method in methods:
                out = craton.gravity.forward(*case, FIELDS, report.options.device, precision, method)
                errors = [np.nanmax(np.abs(out[f] - exact[f])) / np.nanmax(np.abs(exact[f])) for f in FIELDS]
                worst = float(max(errors))
                report.add("small", {"case": f"{name} {precision} {method}", "worst": worst})


def kernel_seconds(machine, program, passes=5):
    """Median seconds of the phases of one tile, loaded before, and its pairs."""
    tile = program.plan.tiles[0]
    for name, values in tile.load().items():
        machine.fill(program.arrays[name], values)

    program.step(0)
    machine.finish()
    return float(np.median([machine.timed(lambda: program.step(0)) for _ in range(passes)])), tile.work


def rates(report):
    """Pairs per second of the direct sum: the seven spheres with many points and few; far pairs."""
    every = slice(None, None, max(round(1 / report.setting("scale", 1.0)), 1))

    def rate(name, ensemble, points, names, precision, *series):
        prisms, density = ensemble
        asked = problem(prisms[every], density[every], points, names, precision)
        program = report.machine.commit(direct.plan(asked, report.machine.width, *series))
        seconds, pairs = kernel_seconds(report.machine, program)
        row = {"case": name, "pairs": pairs, "seconds": seconds}
        report.add("rates", row | {"pairs per second": pairs / seconds})

    for nx, ny in (MANY, (10, 10)):
        points = tuple(c.ravel() for c in survey(nx, ny))
        for label, (names, precision, series) in settings():
            rate(f"{label}, {nx * ny} points", seven_spheres(), points, names, precision, series)
    for label, names in HIGH.items():
        rate(label, random_ensemble(200_000), high_points(), names, "float32")


SHAPES = ((64, 1, 1), (32, 1, 1), (64, 2, 1), (64, 4, 1), (32, 4, 2))


def blocks(report):
    """Which block (threads along x, y, z) and how many waves of blocks suit the kernels."""
    machine, waves = report.machine, tiles.WAVES
    if machine.name == "cpu":
        return
    settings = [(SHAPES[0], n) for n in (1, 2, 4, 8)] + [(shape, 4) for shape in SHAPES[1:]]
    try:
        for label, planned in block_cases(machine):
            row = {"case": label}
            for shape, tiles.WAVES in settings:
                program = machine.commit(in_blocks(planned(), shape))
                seconds, pairs = kernel_seconds(machine, program, 3)
                row[f"{'x'.join(map(str, shape))}, {tiles.WAVES} waves"] = pairs / seconds
            report.add("blocks", row)
    finally:
        tiles.WAVES = waves


def block_cases(machine):
    """Label and a function that makes the plan: direct sums over many points, over the paper's 15,000, of far pairs, of nodes."""
    ensemble = seven_spheres()
    for points, count in ((survey(*MANY), ""), (survey(*PAPER), ", 15000 points")):
        for label in ("g_z float64 closed form", "nine float64 closed form", "nine float32"):
            names, precision, series = dict(settings())[label]
            asked = problem(*ensemble, points, names, precision)
            yield label + count, lambda a=asked, s=series: direct.plan(a, machine.width, s)
    asked = problem(*ensemble, survey(*PAPER), NINE)
    nodes = vertex.nodes(asked, machine)
    yield "nodes, nine float64, 15000 points", lambda: vertex.plan(asked, nodes, machine)
    for label, names in HIGH.items():
        asked = problem(*random_ensemble(200_000), high_points(), names, "float32")
        yield label, lambda a=asked: direct.plan(a, machine.width)


def in_blocks(planned, shape):
    """A plan whose summing operator runs in blocks of a shape."""
    phases = []
    for phase in planned.phases:
        launches = phase.launches
        if phase.name == "sum":
            launches = tuple(replace(one, op=replace(one.op, block=shape)) for one in launches)
        phases.append(replace(phase, launches=launches))
    return replace(planned, phases=tuple(phases))


def host(report):
    """Where the time of the paper's case by `auto` goes: the parts of the call one after the other, wall clock, best of five."""
    machine, points, ensemble = report.machine, survey(*PAPER), seven_spheres()
    rate = speed(machine, NINE, "float64")

    def part(name, work):
        kept = []
        _, seconds = median_seconds(lambda: kept.append(work()), machine.finish, 4)
        report.add("host", {"case": name, "seconds": min(seconds)})
        return kept[-1]

    def kernels(name, program):
        seconds = kernel_seconds(machine, program)[0]
        report.add("host", {"case": name, "seconds": seconds})

    def fresh(work):
        asked = problem(*ensemble, points, NINE)
        return lambda: work(replace(asked))

    asked = part("checks", lambda: problem(*ensemble, points, NINE))
    part("upload of prisms", fresh(lambda asked: lattice.prisms_of(asked, machine.xp)))
    part("nodes, with the upload", fresh(lambda asked: vertex.nodes(asked, machine)))
    part("estimate of vertex, with the nodes", fresh(lambda asked: vertex.estimate(asked, rate)))
    part("estimate of fft", fresh(lambda asked: fft.estimate(asked, rate)))
    nodes = vertex.nodes(asked, machine)
    width = machine.width
    planned = part("plan", lambda: vertex.plan(asked, nodes, machine))
    program = part("commit", lambda: machine.commit(planned))
    part("sweep", lambda: sweep(program))
    kernels("kernels", program)
    alone = problem(*ensemble, points, ("g_z",))
    planned = part("direct g_z: plan", lambda: direct.plan(replace(alone), width))
    program = part("direct g_z: commit", lambda: machine.commit(planned))
    part("direct g_z: load", planned.tiles[0].load)
    part("direct g_z: sweep", lambda: sweep(program))
    kernels("direct g_z: kernels", program)


def paper(report):
    """The whole call on the case of Couder-Castaneda et al. 2013."""
    exact, arrays = None, (*seven_spheres(), survey(*PAPER))
    for label, case in tables("gravity")["whole"].items():
        names, precision, method = (FIELDS_BY_COUNT[case["fields"]], case["precision"], case["method"])
        kept, device = [], report.options.device

        def call(names=names, precision=precision, method=method, kept=kept, device=device):
            kept.append(craton.gravity.forward(*arrays, names, device, precision, method))

        seconds, times = median_seconds(call, lambda: None, 3)
        out = kept[-1]
        exact = out if label == "nine, direct" else exact
        row = {"case": label, "seconds": seconds, "first call": times[0], "method": out.method}
        if exact:
            error = max(float(np.abs(out[name] - exact[name]).max()) for name in names)
            row["difference mGal or Eotvos"] = error
        report.add("paper", row)


def growth(report):
    """Cost of `far` and `fft` against size, a tenth as many points as prisms: whole calls, the second one; fitted by N log N."""
    if report.setting("picture", ""):
        return growth_picture(report)
    curves = {f"far, rtol {rtol:g}": (far_case, "far", rtol) for rtol in (1e-4, 1e-8)}
    curves["fft"] = (fft_case, "fft", None)
    kept = {}
    for label, settings in curves.items():
        kept[label] = curve(report, label, *settings)
        report.keep("growth", kept)
    return None


def curve(report, label, case, method, rtol):
    """Seconds by number of prisms, and the fit seconds = a N log2 N to the sizes from 10^5.5 on, with the exponent N^b log N would have."""
    rows, device = [], report.options.device
    for exponent in np.arange(4, report.setting("largest", 6.0) + 0.01, 0.5):
        arrays = case(exponent)
        for _ in range(2):
            begin = time.perf_counter()
            out = craton.gravity.forward(*arrays, ("g_z",), device, method=method, rtol=rtol)
            seconds = time.perf_counter() - begin
        prisms, points = len(arrays[0]), out["g_z"].size
        rows.append({"prisms": prisms, "points": points, "seconds": seconds})
        rate = prisms * points / seconds / 1e9
        report.say(f"{label}: {prisms} prisms, {points} points  {seconds:8.3f} s, {rate:.1f} G pairs/s")
    n, seconds = (np.array([row[key] for row in rows]) for key in ("prisms", "seconds"))
    large = n >= min(10**5.5 * 0.9, n[-2:].min())
    ratio, slope = seconds / (n * np.log2(n)), float("nan")
    if large.sum() > 1:
        slope = float(np.polyfit(np.log(n[large]), np.log((n * ratio)[large]), 1)[0])
    a = float(np.exp(np.log(ratio[large]).mean()))
    report.say(f"{label}: fit {a:.3g} s N log2 N; N^{slope:.2f} log N fits best")
    fit = {"seconds per N log2 N": a, "exponent": slope, "from prisms": float(n[large].min())}
    return {"rows": rows, "fit": fit}


def growth_picture(report):
    """Draw growth of --set measured=FILE.json, seconds of a whole call over prisms, into --set picture=FILE.png."""
    data, lines = json.loads(Path(report.setting("measured", "")).read_text()), []
    for label, drawn in data["growth"].items():
        n, seconds = (np.array([row[key] for row in drawn["rows"]]) for key in ("prisms", "seconds"))
        fit, line = drawn["fit"], np.geomspace(drawn["fit"]["from prisms"], n.max())
        lines.append((n, seconds, "o", f"{label} (best: N^{fit['exponent']:.2f} log N)"))
        lines.append((line, fit["seconds per N log2 N"] * line * np.log2(line), "-", None))
    axes = {"xlabel": "prisms N, at N / 10 points", "ylabel": "whole call, s"}
    title = f"g_z, float64, {data['device'].split(',')[0]}; lines: a N log N"
    picture(report.setting("picture", "growth.png"), lines, "loglog", title=title, **axes)


def far_case(exponent):
    """Random prisms, random points 50 to 60 m above them."""
    count, rng = round(10**exponent), np.random.default_rng(2)
    points = rng.uniform([0, 0, 50], [20e3, 20e3, 60], (max(count // 10, 1), 3))
    return *random_ensemble(count), tuple(points.T)


def fft_case(exponent):
    """A regular block under a grid of points: n x n x 10 cells, n x n points."""
    return regular(round(10 ** ((exponent - 1) / 2)), 10, 100.0)


def only_large(part):
    """A part that `--small` leaves out; one that fails does not stop the others."""

    def guarded(report):
        if not report.options.small:
            with report.guarded(part.__name__, part.__name__):
                part(report)

    return guarded


PARTS = {"parity": parity} | {part.__name__: only_large(part) for part in (rates, blocks, host, paper, growth)}
