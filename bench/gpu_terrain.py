"""Topography and water on one machine: speed at full size with and without them, and parity of CPU and GPU.

usage: PYTHONPATH=src python3 bench/gpu_terrain.py [--device cuda] [--points 512] [--out FILE.json] [--only parity speed]
"""
import argparse
import json

import numpy as np
from parity import compared

from craton import benchmark
from craton.scenario import Scenario, dumps

ROCK = {"kind": "homogeneous", "vp": 5000.0, "vs": 2900.0, "rho": 2700.0}
SPACING = 20.0
RELIEF = 20  # planes between the lowest and the highest ground


def mountain(extent, relief):
    """Elevations of a plain at 0 with one mountain in its middle: (x, z(y, x))."""
    x = np.linspace(0, extent, 129)
    distance = np.hypot(x - extent / 2, x[:, None] - extent / 2)
    return x, relief * np.where(distance < 0.35 * extent, np.cos(np.pi * distance / (0.7 * extent)) ** 2, 0)


def scenario(points, ground, others="rigid", duration=40.0, precision="float32"):
    """A cube of points^3: below a free surface at its top ("none"), or with a ground in its upper part."""
    extent = SPACING * (points - 1)
    x, z = mountain(extent, RELIEF * SPACING)
    room = (RELIEF + 4) * SPACING
    more = {"none": {}, "flat": {"topography": 0.0}, "mountain": {"topography": {"x": x, "y": x, "z": z}},
            "coast": {"topography": {"x": x, "y": x, "z": z - 0.5 * room}, "water": {"level": 0.0}}}[ground]  # fmt: skip
    top = 0.0 if ground == "none" else room
    return Scenario(
        title=f"{points}^3, ground: {ground}", model=ROCK | more, time={"duration": duration},
        domain={"origin": [0, 0, top - extent], "size": [extent] * 3, "spacing": SPACING},
        boundaries={"top": "free" if ground == "none" else "rigid", "others": others, "cpml": {"thickness": 10}},
        source=[{"kind": "explosion", "moment": 1e15, "at": [0.4 * extent, 0.5 * extent, -0.3 * extent],
                 "wavelet": {"kind": "ricker", "frequency": 12}}],
        receivers=[{"name": "R", "line": {"from": [0.3 * extent, 0.5 * extent, -0.25 * extent],
                                          "to": [0.7 * extent, 0.5 * extent, -0.25 * extent], "count": 9}}],
        run={"precision": precision})  # fmt: skip


def parity():
    """Largest difference between the machines over the largest value, and relative L2, of 300 steps of small cubes."""
    rows = []
    for ground in ("flat", "mountain", "coast"):
        for others, precision in (("rigid", "float32"), ("cpml", "float32"), ("cpml", "float64")):
            rows.append(compared(f"{ground}, {others}, {precision}", scenario(80, ground, others, 0.5, precision)))
    return rows


def main():
    """Both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--points", type=int, default=512)
    parser.add_argument("--only", nargs="+", default=["parity", "speed"])
    options = parser.parse_args()
    result = {}
    if "parity" in options.only:
        result["parity"] = parity()
    if "speed" in options.only:
        texts = [dumps(scenario(options.points, ground)) for ground in ("none", "flat", "mountain", "coast")]
        result |= benchmark.bench("fd", options.device, threads=options.threads, texts=texts)
        plain, *others = (case["seconds_per_step"] for case in result["cases"])
        result["over_free_surface"] = dict(zip(("flat", "mountain", "coast"), (s / plain for s in others)))
        print("seconds a step over those of a free surface:", {k: round(v, 3) for k, v in result["over_free_surface"].items()})
    if options.out:
        with open(options.out, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
