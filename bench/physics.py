"""Physics at sizes for a GPU: the CPML bar, 100,000 steps, Lamb's problem, the full space to 20 wavelengths; a table, and JSON.

    PYTHONPATH=src python bench/physics.py [bar] [steps] [lamb] [far]

The JSON goes to $OUT or bench/results. `--device cpu` is possible, and slow.
"""
import argparse
import json
import os
import time
from functools import partial
from pathlib import Path

import numpy as np

from craton import api
from craton.backends import backend
from craton.benchmark import provenance
from craton.driver import waves
from craton.scenario import Scenario
from craton.validation import absorbing
from craton.validation.compare import row
from craton.validation.homogeneous import full_space
from craton.validation.surface import LAYERS, lamb

OUT = Path(os.environ.get("OUT", Path(__file__).parent / "results"))
STEPS = 100_000
STEP = 0.0075  # s, 0.92 of the stability limit
GRID = 32  # points along each axis of the grid that marches so long
MODELS = {"homogeneous": {"kind": "homogeneous", "vp": 5000, "vs": 2600, "rho": 2500}, "layers": {"kind": "layers", "layers": LAYERS}}


def bar(device, duration=20.0):
    """The thin bar of 101 x 101 x 641 points, CPML 10 on all faces: energy ratio, and that it never grows."""
    times, left = absorbing.energies(absorbing.bar_scenario(duration), device, every=0.1)
    for t in (2.5, 2.8, 3, 4, 6, 10, 15, 20):
        print(f"   bar: energy / peak at {t:4g} s  {np.interp(t, times, left):.2e}")
    return absorbing.limits("CPML bar", times, left)


def steps(device, count=STEPS, n=GRID):
    """Two layers below a free surface in a small grid with CPML 5: the largest velocity at the end over the largest of all."""
    length = 100.0 * (n - 1)
    tensor = {"xx": 1e15, "yy": -0.5e15, "zz": 0.5e15, "xy": 0.8e15, "xz": -0.3e15, "yz": 0.6e15}
    rows = []
    for name, model in MODELS.items():
        scenario = Scenario(
            domain={"origin": [0, 0, -length], "size": [length] * 3, "spacing": 100},
            model=model,
            time={"duration": 0.01 * count, "start": 0},  # longer than the steps: the series of the sources is read in each
            boundaries={"cpml": {"thickness": 5}},
            source=[{"kind": "moment_tensor", "at": [length / 2, length / 2 + 13, -length / 2 + 29], "tensor": tensor,
                     "wavelet": {"kind": "ricker", "frequency": 3, "delay": 0.4}}],
        )  # fmt: skip
        largest = marched(scenario, device, count)
        rows.append(row(f"{count} steps, {n}^3, {name}, free top, CPML 5: speed at the end / its peak", largest[-1] / max(largest), 1e-6))
        print("   ", name, " ".join(f"{v:.1e}" for v in largest[:: max(len(largest) // 10, 1)]))
    return rows


def marched(scenario, device, count):
    """Largest velocity now and then over `count` steps; whole runs."""
    planned = api.plan(scenario)
    program, largest = waves.commit(scenario, planned, backend(device)), []
    for step in range(count):
        absorbing.advance(program, step)
        looks = step < 400 and step % 20 == 19
        if looks or (step + 1) % (count // 20) == 0:
            largest.append(max(float(abs(program.host(name)).max()) for name in ("vx", "vy", "vz")))
    return largest


def far(device):
    """Both sources at 5 to 20 wavelengths, orders 4 and 8."""
    return [one for source in ("double couple", "single force") for order in (4, 8) for one in full_space(source, order, device, reach=20)]


RUNS = {"bar": bar, "steps": steps, "lamb": partial(lamb, spacing=10.0), "far": far}


def main():
    """What was asked for."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("names", nargs="*", help=f"of {', '.join(RUNS)}; all by default")
    words.add_argument("--device", default="cuda")
    asked = words.parse_args()
    rows = []
    for name in asked.names or RUNS:
        begin = time.perf_counter()
        found = RUNS[name](asked.device)
        rows += [{"case": name, **one} for one in found]
        for one in found:
            print(f"{one['what']:<75} {one['misfit']:.3g}  limit {one['limit']:.3g}  {'yes' if one['passed'] else 'NO'}")
        print(f"-- {name}: {time.perf_counter() - begin:.1f} s", flush=True)
        path = OUT / "physics_h200.json" if asked.device == "cuda" else OUT / "physics_cpu.json"
        path.write_text(json.dumps({**provenance(backend(asked.device)), "validation": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
