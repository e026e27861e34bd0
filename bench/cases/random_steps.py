"""Random scenarios of spectral elements at their default step: does any diverge, and how near is the step to the true limit?

Meshes of 8 to 125 elements of all kinds (boxes to 25 times longer than thick, graded, sheared, moved, curved), degrees 2 to 6, media in
layers that cut elements, gradients, anisotropic, attenuating, water above and below rock, vp / vs 1.5 to 10, free, rigid and absorbing
faces, both precisions and ways of adding (tests/cases/stepcase.py). The true limit is ARPACK's. Each marches from random velocities.

usage: python3 -m bench random_steps --device cpu [--set scenarios=300] [--steps 3000] [--out bench/results/random_steps_cpu.json]
"""

import sys
import time

import numpy as np

from bench.harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "cases"))

import stepcase  # noqa: E402


def row(seed, steps):
    """What one scenario shows."""
    case, begin = stepcase.case_of(seed), time.perf_counter()
    d = stepcase.discretised(case)
    planned, true = time.perf_counter() - begin, stepcase.true_limit(d)
    growth = stepcase.marched(case.scenario, d, d.dt, steps)
    return {
        "seed": seed,
        "elements": d.mesh.size,
        "degree": d.element.degree,
        "precision": d.precision,
        "model": case.kind,
        "default_over_true": d.dt / true,
        "limit_over_true": d.stable.limit / true,
        "late_over_early_energy": growth,
        "diverged": not growth < stepcase.GROWTH,
        "seconds_planned": planned,
    }


def steps(report):
    """--set scenarios=300 scenarios, each for --steps (3000)."""
    count = report.options.steps or 3000
    for seed in range(report.setting("scenarios", 300)):
        report.add("rows", row(seed, count))
    rows = report.parts["rows"]
    parts = {"least": 0, "percentile_5": 5, "median": 50, "most": 100}
    for name in ("default_over_true", "limit_over_true"):
        values = [one[name] for one in rows]
        figures = {word: float(np.percentile(values, part)) for word, part in parts.items()}
        report.keep(name, figures)
    report.keep("diverged", sum(one["diverged"] for one in rows))


PARTS = {"steps": steps}
