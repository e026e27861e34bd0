"""Random scenarios of spectral elements at their default step: does any diverge, and how near is the step to the true limit?

Meshes of 8 to 125 elements of all kinds (boxes to 25 times longer than thick, graded, sheared, moved, curved), degrees 2 to 6, media in
layers that cut elements, gradients, anisotropic, attenuating, water above and below rock, vp / vs 1.5 to 10, free, rigid and absorbing
faces, both precisions and ways of adding (tests/stepcase.py). The true limit is ARPACK's. Each marches from random velocities.

    python bench/random_steps.py [--scenarios 300] [--steps 3000] [--json bench/results/random_steps_cpu.json]
"""
import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import stepcase

from craton.backends.cpu import CPU
from craton.benchmark import provenance


def row(seed, steps):
    """What one scenario shows."""
    case, begin = stepcase.case_of(seed), time.perf_counter()
    d = stepcase.discretised(case)
    planned, true = time.perf_counter() - begin, stepcase.true_limit(d)
    growth = stepcase.marched(case.scenario, d, d.dt, steps)
    return {"seed": seed, "elements": d.mesh.size, "degree": d.element.degree, "precision": d.precision, "model": case.kind,
            "default_over_true": d.dt / true, "limit_over_true": d.stable.limit / true, "late_over_early_energy": growth,
            "diverged": not growth < stepcase.GROWTH, "seconds_planned": planned}  # fmt: skip


def summary(rows, steps):
    """Figures of all."""
    for_all = {name: np.array([one[name] for one in rows]) for name in ("default_over_true", "limit_over_true")}
    parts = {"least": 0, "percentile_5": 5, "median": 50, "most": 100}
    figures = {name: {word: float(np.percentile(v, part)) for word, part in parts.items()} for name, v in for_all.items()}
    return {"scenarios": len(rows), "steps": steps, "diverged": sum(one["diverged"] for one in rows), **figures}


def main():
    """Run them, print each and the figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--scenarios", type=int, default=300)
    options.add_argument("--steps", type=int, default=3000)
    options.add_argument("--json", type=Path)
    asked, rows = options.parse_args(), []
    for seed in range(asked.scenarios):
        rows.append(row(seed, asked.steps))
        print(*(f"{name}={value:.5g}" if isinstance(value, float) else f"{name}={value}" for name, value in rows[-1].items()), flush=True)
    figures = summary(rows, asked.steps)
    print(json.dumps(figures, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps({"bench": "random_steps", **provenance(CPU(threads=1)), **figures, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
