"""Weak and strong scaling to many GPUs, from the model of craton.core.performance fitted to bench/gpu_scaling.py. JSON and PNG with --out.

usage: PYTHONPATH=src python3 bench/scaling_model.py [MEASURED.json] [--out docs/scaling.png] [--json FILE]
Without measurements the rates of single pieces are taken (bench/NOTES.md). Fitted, by least squares of relative misfits over all rows with
overlap: plain rate of a GPU, bandwidth out of it, latency of an exchange, cost of a point in the slabs that neighbours wait for. Beyond one
host the links are those of --network: 4 x 400 Gbit/s shared by 4 GPUs, 50 GB/s each, 5 us more (assumed, not measured here).
"""
import argparse
import json
from dataclasses import asdict, replace

import numpy as np

from craton.core.partition import arrangements
from craton.core.performance import Speeds, step_seconds

THICK = 4  # points of a slab along y and z; 32 along x
PLANES = 3 * (2 + 2) / 2 * 2  # numbers that a point of a cut sends each way in a step, order 4: 3 fields, 2 planes, 2 phases


def best(shape, ranks, speeds):
    """Seconds of a step of the slowest rank in the best arrangement, and that arrangement (z, y, x)."""
    found = []
    for counts in arrangements(ranks):
        own = [n / c for n, c in zip(shape, counts)]
        if min(own) < 8:
            continue
        volume, nbytes, outer = float(np.prod(own)), 0.0, 0.0
        for n, c, thick in zip(own, counts, (THICK, THICK, 32)):
            sides = min(c - 1, 2)
            nbytes += sides * volume / n * PLANES * 4
            outer += sides * volume / n * thick
        found.append((step_seconds(volume, min(outer, volume), nbytes, speeds), counts))
    return min(found) if found else (np.nan, None)


def fit(rows):
    """Speeds that fit measured rows (shape_xyz, gpus, grid_xyz, seconds_per_step) of plain cases."""
    from scipy.optimize import least_squares

    used = [r for r in rows if r.get("overlap") and r.get("order") == 4 and r["faces"] == ["rigid", "rigid"] and r["how"] == "graphs"]
    start = np.log([31e9, 166e9, 25e-6, 1.5])

    def misfit(logs):
        speeds = Speeds(*np.exp(logs))
        return [one(r, speeds) / r["seconds_per_step"] - 1 for r in used]

    found = least_squares(misfit, start)
    return Speeds(*map(float, np.exp(found.x))), float(np.sqrt(np.mean(found.fun**2))), len(used)


def one(row, speeds):
    """Seconds of a measured case by the model."""
    own = [n / c for n, c in zip(row["shape_xyz"][::-1], row["grid_xyz"][::-1])]
    volume = float(np.prod(own))
    sides = [min(c - 1, 2) for c in row["grid_xyz"][::-1]]
    faces = [s * volume / n for s, n in zip(sides, own)]
    outer = sum(f * t for f, t in zip(faces, (THICK, THICK, 32)))
    return step_seconds(volume, min(outer, volume), sum(faces) * PLANES * 4, speeds)


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


def picture(rows, path):
    """Efficiency against number of GPUs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4))
    axes = figure.subplots()
    names = {"weak_512": "weak, 512$^3$ a GPU", **{f"strong_{s}": f"strong, {s}$^3$" for s in (1024, 2048, 4096)}}
    for key, label in names.items():
        axes.semilogx([r["gpus"] for r in rows], [r[key] for r in rows], marker=".", label=label)
    axes.set(xlabel="GPUs", ylabel="efficiency", ylim=(0, 1.05))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="?")
    parser.add_argument("--out")
    parser.add_argument("--json")
    parser.add_argument("--network", type=float, default=50e9, help="B/s out of a GPU between hosts")
    options = parser.parse_args()
    speeds, off, count = Speeds(), None, 0
    if options.measured:
        with open(options.measured) as file:
            speeds, off, count = fit(json.load(file)["rows"])
    rows = curves(speeds, options.network, (1, 2, 4, 8, 16, 64, 256, 1000, 4000, 10_000))
    print(json.dumps({"speeds": asdict(speeds), "misfit_rms": off, "rows_fitted": count}))
    for row in rows:
        words = "{gpus:>6} GPUs: weak {weak_512:.3f}  strong 1024^3 {strong_1024:.3f}  2048^3 {strong_2048:.3f}  4096^3 {strong_4096:.3f}"
        print(words.format(**row))
    if options.json:
        with open(options.json, "w") as file:
            told = {"speeds": asdict(speeds), "misfit_rms": off, "rows_fitted": count, "network": options.network, "rows": rows}
            json.dump(told, file, indent=1)
    if options.out:
        picture(rows, options.out)


if __name__ == "__main__":
    main()
