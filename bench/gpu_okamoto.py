"""The set-up of Okamoto et al. (2010): A1 at the bottom, sponge and periodic sides, land topography and ocean; CPU against GPU.

A face has one kind of boundary here: west and east are periodic, south and north have the sponge of 20 points, above is vacuum.
512 x 512 x 256 points, 1500 steps, float32, order 4. The figure is theirs: the residual of the waveforms of both machines, root mean square
over stations, components and time, over the root mean square of the waveforms; they report 2e-6 to 9e-6.

usage: PYTHONPATH=src python3 bench/gpu_okamoto.py [--out FILE.json] [--shape 512 512 256] [--steps 1500] [--devices cuda cpu]
"""
import argparse
import json
import time

import numpy as np

from craton import api
from craton.scenario import Scenario

SPACING = 200.0
STEP = 0.01  # s
LAYERS = [  # m, m/s, kg/m3: a crust in layers below the ground
    {"top": 4000, "vp": 4000, "vs": 2300, "rho": 2400}, {"top": -3000, "vp": 5500, "vs": 3200, "rho": 2650},
    {"top": -12000, "vp": 6600, "vs": 3800, "rho": 2900}, {"top": -28000, "vp": 8000, "vs": 4500, "rho": 3300},
]  # fmt: skip
BOUND = 1e-5


def ground(x, y, width):
    """Elevations, m: sea floor at -3000 m in the west, a coast, hills of 1500 m in the east."""
    shelf = -3000 + 3500 / (1 + np.exp(-(x - 0.45 * width) / (0.05 * width)))
    hills = np.cos(2 * np.pi * x / (0.31 * width)) * np.sin(2 * np.pi * y / (0.43 * width))
    return shelf + 500 * np.tanh(np.maximum(x - 0.5 * width, 0) / (0.1 * width)) * hills


def scenario(shape=(512, 512, 256), steps=1500, spacing=SPACING):
    """Their boundaries on a grid of `shape` points (x, y, z)."""
    nx, ny, nz = shape
    coarser = spacing / SPACING
    step = STEP * coarser
    size = [spacing * (n - 1) for n in shape]
    top = 14 * spacing
    x, y = (np.linspace(0, s, 97) for s in size[:2])
    # The sides are periodic: the ground is level where they meet.
    edge = np.clip(np.minimum(x, size[0] - x) / (0.1 * size[0]), 0, 1)
    relief = (ground(x, y[:, None], size[0]) * coarser) * edge**2 * (3 - 2 * edge)
    middle = 0.5 * size[0], 0.5 * size[1]
    stack = [layer | {"top": layer["top"] * coarser} for layer in LAYERS]
    return Scenario(
        title=f"Okamoto et al. 2010, {nx} x {ny} x {nz}", time={"duration": steps * step, "step": step, "start": 0},
        domain={"origin": [0, 0, top - size[2]], "size": size, "spacing": spacing},
        model={"kind": "layers", "layers": stack, "topography": {"x": x, "y": y, "z": relief}, "water": {"level": -0.5 * spacing}},
        boundaries={"top": "rigid", "bottom": "a1", "west": "periodic", "east": "periodic", "others": "sponge",
                    "sponge": {"thickness": 20}},
        source=[{"kind": "moment_tensor", "at": [*middle, top - 0.35 * size[2]], "strike": 30, "dip": 45, "rake": 90, "moment": 1e18,
                 "wavelet": {"kind": "kuepper", "duration": 3.0 * coarser, "extrema": 2, "delay": 2.0 * coarser}}],
        receivers=[{"name": "S", "grid": {"x": [0.2 * size[0], 0.8 * size[0], 7], "y": [0.2 * size[1], 0.8 * size[1], 7],
                                          "depth": 2 * spacing}}],
        run={"precision": "float32", "order": 4})  # fmt: skip


def compared(a, b):
    """Residual of waveforms a against b, both (receivers, components, steps): root mean square over that of b, and the worst component."""

    def rms(values, axes=None):
        return np.sqrt((values**2).mean(axes))

    return {"residual": float(rms(a - b) / rms(b)), "worst_component": float((rms(a - b, (0, 2)) / rms(b, (0, 2))).max()),
            "worst_waveform": float((rms(a - b, 2) / rms(b, 2)).max())}  # fmt: skip


def main():
    """Run on each device and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--shape", type=int, nargs=3, default=[512, 512, 256])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--devices", nargs="+", default=["cuda", "cpu"])
    options = parser.parse_args()
    asked, waves, result = scenario(tuple(options.shape), options.steps), [], {"shape": options.shape, "steps": options.steps}
    for device in options.devices:
        begin = time.perf_counter()
        found = api.run(asked, device=device, progress=False)
        result[f"seconds_{device}"] = time.perf_counter() - begin
        waves.append(found.samples.astype(float).T.reshape(49, 3, -1))
        result[f"peak_{device}"] = float(np.abs(waves[-1]).max())
        print(f"{device}: {result[f'seconds_{device}']:.1f} s in all, peak {result[f'peak_{device}']:.3g} m/s", flush=True)
    if len(waves) == 2:
        result |= compared(*waves) | {"bound": BOUND}
        print("of RMS:", ", ".join(f"{key} {result[key]:.2e}" for key in ("residual", "worst_component", "worst_waveform")))
    if options.out:
        with open(options.out, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
