"""Weak and strong scaling to many GPUs, from the model of craton.core.partition fitted to `bench.cases.ranks`.

usage: python3 -m bench scaling_model --device cpu [--set measured=FILE.json picture=docs/scaling.png network=50e9] [--out FILE.json]
network: bytes per second out of a GPU between hosts.
Without measurements the rates of single pieces are taken (bench/NOTES.md). Fitted, by least squares of relative misfits over all rows with
overlap: plain rate of a GPU, bandwidth out of it, latency of an exchange, cost of a point in the slabs that neighbours wait for. Beyond one
host the links are those of network: 4 x 400 Gbit/s shared by 4 GPUs, 50 GB/s each, 5 us more (assumed, not measured here).
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from bench.harness import picture
from craton.core.partition import Speeds, arrangements, step_seconds

THICK = (4, 4, 32)  # points of a slab along z, y, x
PLANES = 3 * (2 + 2) / 2 * 2  # numbers that a point of a cut sends: 3 fields, 2 planes, 2 phases
NAMES = {"weak_512": "weak, 512$^3$ a GPU"}
NAMES |= {f"strong_{side}": f"strong, {side}$^3$" for side in (1024, 2048, 4096)}
PLAIN = {"overlap": True, "order": 4, "faces": ["rigid", "rigid"], "how": "graphs"}


def seconds(shape, counts, speeds):
    """Seconds of a step of the slowest rank of an arrangement (z, y, x)."""
    own = [n / c for n, c in zip(shape, counts)]
    volume = float(np.prod(own))
    faces = [min(c - 1, 2) * volume / n for n, c in zip(own, counts)]
    outer = sum(face * thick for face, thick in zip(faces, THICK))
    return step_seconds(volume, min(outer, volume), sum(faces) * PLANES * 4, speeds)


def best(shape, ranks, speeds):
    """Seconds of a step in the best arrangement, and that arrangement (z, y, x)."""
    wide = (c for c in arrangements(ranks) if min(n / k for n, k in zip(shape, c)) >= 8)
    return min(((seconds(shape, c, speeds), c) for c in wide), default=(np.nan, None))


def fit(rows):
    """Speeds that fit measured rows (shape_xyz, gpus, grid_xyz, seconds_per_step) of plain cases."""
    from scipy.optimize import least_squares

    used = [row for row in rows if all(row.get(key) == value for key, value in PLAIN.items())]
    start = np.log([31e9, 166e9, 25e-6, 1.5])

    def misfit(logs):
        speeds = Speeds(*np.exp(logs))
        shapes = ((row["shape_xyz"][::-1], row["grid_xyz"][::-1]) for row in used)
        times = [row["seconds_per_step"] for row in used]
        return [seconds(*both, speeds) / time - 1 for both, time in zip(shapes, times)]

    found = least_squares(misfit, start)
    return Speeds(*map(float, np.exp(found.x))), float(np.sqrt(np.mean(found.fun**2))), len(used)


def curves(speeds, network, counts):
    """Weak scaling of 512^3 a GPU and strong scaling of three sizes: rows by number of GPUs."""
    rows = []
    for n in counts:
        here = speeds if n <= 4 else replace(speeds, bandwidth=network, latency=speeds.latency + 5e-6)
        per = min(arrangements(n), key=lambda c: max(c) / min(c))
        weak, _ = best([512 * c for c in per], n, here)
        row = {"gpus": n, "weak_512": best((512, 512, 512), 1, speeds)[0] / weak}
        for side in (1024, 2048, 4096):
            seconds, counts_ = best((side,) * 3, n, here)
            alone = step_seconds(float(side) ** 3, 0, 0, speeds)
            row[f"strong_{side}"] = alone / (n * seconds)
            row[f"grid_{side}"] = counts_
        rows.append(row)
    return rows


def model(report):
    """Fit, curves, and their picture."""
    speeds, off, count = Speeds(), None, 0
    measured, image = report.setting("measured", ""), report.setting("picture", "")
    if measured:
        speeds, off, count = fit(json.loads(Path(measured).read_text())["rows"])
    network = report.setting("network", 50e9)
    for name, value in (("speeds", asdict(speeds)), ("misfit_rms", off), ("rows_fitted", count), ("network", network)):
        report.keep(name, value)
    for row in curves(speeds, network, (1, 2, 4, 8, 16, 64, 256, 1000, 4000, 10_000)):
        report.add("rows", row)
    if image:
        rows = report.parts["rows"]
        lines = [([r["gpus"] for r in rows], [r[k] for r in rows], ".-", n) for k, n in NAMES.items()]
        picture(image, lines, "semilogx", xlabel="GPUs", ylabel="efficiency", ylim=(0, 1.05))


PARTS = {"model": model}
