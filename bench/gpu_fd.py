"""One session on a GPU machine for the finite differences: parity with the CPU, the two-layer reference, speed.

Writes JSON to $OUT or bench/results:

    PYTHONPATH=src python bench/gpu_fd.py [parity] [layered] [speed] [full]
"""
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from parity import difference

import craton
from craton.backends import backend
from craton.benchmark import TWO_LAYERS, bench, provenance
from craton.scenario import loads, with_overrides

OUT = Path(os.environ.get("OUT", Path(__file__).parent / "results"))
SMALL = """
title = "parity"
[domain]
origin = [0, 0, -3000]
size = [4100, 3700, 3000]
spacing = 50
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1600, rho = 2100 }}, {{ top = -820, vp = 4500, vs = 2500, rho = 2500 }}]
anomalies = [{{ shape = "sphere", center = [2000, 2000, -1200], radius = 500, dvp = -0.15, dvs = -0.2 }}]
[time]
duration = 1.5
[boundaries]
top = "{top}"
others = "{others}"
bottom = "{bottom}"
sponge = {{ thickness = 12, strength = 0.03 }}
[[source]]
kind = "moment_tensor"
at = [1733, 1811, -641]
tensor = {{ xx = 1e15, yy = -2e15, zz = 0.7e15, xy = 1e15, xz = 0.3e15, yz = -0.5e15 }}
wavelet = {{ kind = "ricker", frequency = 3 }}
[[source]]
kind = "force"
at = [2211, 1500, -20]
force = [1e11, 2e11, -1e11]
wavelet = {{ kind = "gaussian", tau = 0.1 }}
[[receivers]]
name = "L"
line = {{ from = [800, 900, 0], to = [3100, 2900, -1500], count = 20 }}
[output]
waveforms = ["velocity", "pressure", "strain_rate", "rotation_rate"]
[run]
order = {order}
precision = "{precision}"
"""
FACES = [("free", "cpml", "cpml"), ("cpml", "sponge", "rigid"), ("free", "periodic", "cpml"), ("rigid", "rigid", "sponge")]


def worst(a, b, channels):
    """The worse of both measures over the kinds of channel."""
    kinds = sorted({c.quantity for c in channels})
    columns = [[n for n, c in enumerate(channels) if c.quantity == kind] for kind in kinds]
    return [max(values) for values in zip(*(difference(a[:, some], b[:, some]).values() for some in columns))]


def parity(rows):
    """All boundary types, orders and precisions at a small size."""
    for precision, limit in (("float32", 1e-4), ("float64", 1e-12)):
        for order in (2, 4, 6, 8):
            for top, others, bottom in FACES:
                scenario = loads(SMALL.format(top=top, others=others, bottom=bottom, order=order, precision=precision))
                results = [craton.run(scenario, device=device, progress=False) for device in ("cpu", "cuda")]
                peak, l2 = worst(results[1].samples, results[0].samples, results[0].plan.channels)
                case = {"what": "parity", "case": f"{top}/{others}/{bottom}", "order": order, "precision": precision}
                rows.append(case | {"peak": peak, "l2": l2, "passed": peak <= limit})
    rows = [r for r in rows if r["what"] == "parity"]
    bad = [r for r in rows if not r["passed"]]
    print(f"parity: {len(rows)} cases, worst float32 {max(r['l2'] for r in rows if r['precision'] == 'float32'):.1e}, "
          f"float64 {max(r['l2'] for r in rows if r['precision'] == 'float64'):.1e} (relative L2); {len(bad)} failed")
    for r in bad:
        print("  ", r)


def full_text(tau, duration=8.0):
    """The full-size two-layer case with the stations of the reference."""
    places = ((10000, 10000), (5000, 4000), (2000, 9000))
    stations = "".join(f'[[receivers]]\nname = "S{n}"\nat = [{x}, {y}, 0]\n' for n, (x, y) in enumerate(places))
    text = TWO_LAYERS.replace("tau = 0.045, delay = 0.18", f"tau = {tau}, delay = {4 * tau}")
    text = text.replace("duration = 8\n", f"duration = {duration}\n")
    i = text.index("[[receivers]]")
    return text[:i] + stations + text[text.index("[run]") :]


def layered(rows):
    """Misfit E = sum (a - b)^2 / sum b^2 against the reference, each station."""
    reference = np.load(".dev/two_layers.npz")
    for tau, key in ((0.16, "160"), (0.12, "120"), (0.09, "090")):
        result = craton.run(loads(full_text(tau, 12.0)), device="cuda", progress=False)
        ours, times = result.dataset.velocity.values, result.dataset.time.values
        t = reference["t"]
        inside = (times >= t[0]) & (times <= t[-1])
        for station in range(3):
            v = np.array([spline(t, c, times[inside]) for c in reference[f"v_{key}"][station]])
            error = ours[station][:, inside] - v
            l2 = float(np.sqrt((error**2).sum() / (v**2).sum()))
            rows.append({"what": "layered", "tau": tau, "station": station, "l2": l2, "passed": l2 <= 0.03 or tau < 0.16})
            print(f"two layers, tau {tau}, station {station}: relative L2 {l2:.4f}")


def spline(t, values, at):
    """The reference at our sample times."""
    from scipy.interpolate import CubicSpline

    return CubicSpline(t, values)(at)


def full(rows):
    """CPU against GPU on the full-size case, both precisions."""
    for precision in ("float32", "float64"):
        scenario = with_overrides(loads(full_text(0.045)), [f"run.precision={precision}"])
        runs, seconds = {}, {}
        for device in ("cuda", "cpu"):
            begin = time.perf_counter()
            runs[device] = craton.run(scenario, device=device, progress=False)
            seconds[device] = time.perf_counter() - begin
        peak, l2 = difference(runs["cuda"].samples, runs["cpu"].samples).values()
        limit = 1e-4 if precision == "float32" else 1e-12
        rates = {d: r.report["point_steps_per_second"] / 1e9 for d, r in runs.items()}
        case = {"what": "full parity", "precision": precision, "peak": peak, "l2": l2, "passed": peak <= limit}
        rows.append(case | {"seconds": seconds, "rates": rates})
        print(f"full size {precision}: difference {peak:.1e} of the peak, relative L2 {l2:.1e}; "
              f"CPU {seconds['cpu']:.0f} s, GPU {seconds['cuda']:.1f} s; {rates} G/s")  # fmt: skip


def main():
    """What was asked for, one JSON for all."""
    wanted = sys.argv[1:] or ["parity", "layered", "full", "speed"]
    rows = []
    result = {**provenance(backend("cuda")), "rows": rows}
    for name, run in (("parity", parity), ("layered", layered), ("full", full)):
        if name in wanted:
            begin = time.perf_counter()
            run(rows)
            print(f"-- {name}: {time.perf_counter() - begin:.0f} s", flush=True)
            (OUT / "fd_h200_checks.json").write_text(json.dumps(result, indent=1) + "\n")
    if "speed" in wanted:
        bench("fd", "cuda", out=OUT / "fd_h200.json")


if __name__ == "__main__":
    main()
