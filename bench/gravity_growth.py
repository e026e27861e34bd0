"""Cost of the gravity methods against size, drawn from what bench/gpu_gravity.py --only growth wrote.

usage: python3 bench/gravity_growth.py RESULT.json PICTURE.png
"""
import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73")  # Okabe and Ito: told apart by the colour-blind


def draw(growth, device):
    """Seconds of a whole call over prisms, measured and a N log2 N."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for (label, curve), colour in zip(growth.items(), COLOURS):
        n, seconds = (np.array([row[key] for row in curve["rows"]]) for key in ("prisms", "seconds"))
        fit = curve["fit"]
        axes.loglog(n, seconds, "o", color=colour, label=f"{label} (best: N^{fit['exponent']:.2f} log N)")
        line = np.geomspace(fit["from prisms"], n.max())
        axes.loglog(line, fit["seconds per N log2 N"] * line * np.log2(line), "-", color=colour, lw=1)
    axes.set(xlabel="prisms N, at N / 10 points", ylabel="whole call, s", title=f"g_z, float64, {device}; lines: a N log N")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    return figure


def main(result, picture):
    """Read, draw, write."""
    data = json.loads(Path(result).read_text())
    draw(data["growth"], data["device"].split(",")[0]).savefig(picture, dpi=160)


if __name__ == "__main__":
    main(*sys.argv[1:])
