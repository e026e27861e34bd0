"""Full-waveform inversion of a layered section with lenses, 2-D P-SV, from shots on the surface and in two wells.

    python examples/fwi.py  # 20 shots, some minutes on two cores; writes fwi.png

Surface waves and body waves are inverted together for vp and vs by L-BFGS; density stays. The change of the model is a smooth
function: x is smoothed to m, so that the gradient is smoothed by the transpose.
"""

import math
import sys
import time
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import craton

LAYERS = [
    {"top": 0, "vp": 1100, "vs": 600, "rho": 1900},
    {"top": -60, "vp": 1500, "vs": 800, "rho": 2000},
    {"top": -150, "vp": 1900, "vs": 1000, "rho": 2100},
]
LENSES = [
    {"center": [0.32, 0, -0.42], "radius": 0.16, "dvp": -0.1, "dvs": -0.12},
    {"center": [0.66, 0, -0.5], "radius": 0.17, "dvp": 0.1, "dvs": 0.12},
]


@dataclass(frozen=True)
class Survey:
    """Size of the section, m, and of the survey."""

    width: float = 600
    depth: float = 240
    spacing: float = 5
    frequency: float = 18
    shots: int = 20
    receivers: int = 40
    duration: float = 0.75
    smoothing: float = 1.5  # cells
    layer: int = 10  # cells of the absorbing layers

    def scenario(self, lenses):
        """Return the section with or without lenses as a scenario of shots side by side."""
        w, d = self.width, self.depth
        bodies = [
            {"shape": "sphere", "dvp": lens["dvp"], "dvs": lens["dvs"]}
            | {
                "center": [lens["center"][0] * w, 0, lens["center"][2] * d],
                "radius": lens["radius"] * d,
            }
            for lens in lenses
        ]
        return craton.Scenario(
            title="Lenses in a layered section",
            domain={"origin": [0, -d], "size": [w, d], "spacing": self.spacing, "waves": "P-SV"},
            model={"kind": "layers", "layers": LAYERS, "anomalies": bodies},
            time={"duration": self.duration, "start": -1.5 / self.frequency, "step": self.step},
            boundaries={"cpml": {"thickness": self.layer}},
            source=self.sources(),
            receivers=self.lines(),
        )

    @property
    def step(self):
        """A time step for all models, s: stable for waves 25 % faster than the start's."""
        return 0.48 * self.spacing / (1.25 * LAYERS[-1]["vp"])

    def sources(self):
        """Vertical forces on the surface, horizontal ones in the wells."""
        w, d, edge = self.width, self.depth, (self.layer + 6) * self.spacing
        along = max(self.shots - 2 * (self.shots // 4), 2)
        down = [((x, 0), (0, -1e8)) for x in np.linspace(edge, w - edge, along)]
        wells = [
            ((x, -z), (1e8, 0))
            for x in (edge, w - edge)
            for z in np.linspace(0.25 * d, d - edge, self.shots // 4)
        ]
        wavelet = {"kind": "ricker", "frequency": self.frequency}
        return [
            {
                "kind": "force",
                "at": list(map(float, at)),
                "force": list(force),
                "wavelet": wavelet,
                "shot": f"S{n + 1}",
            }
            for n, (at, force) in enumerate(down + wells)
        ]

    def lines(self):
        """Receivers on the surface and down both wells."""
        w, d, edge = self.width, self.depth, (self.layer + 2) * self.spacing
        count = max(self.receivers // 2, 4)
        ends = {
            "L": ([edge, 0], [w - edge, 0], self.receivers),
            "A": ([edge, -edge], [edge, -d + edge], count),
            "B": ([w - edge, -edge], [w - edge, -d + edge], count),
        }
        return [
            {"name": name, "line": {"from": first, "to": last, "count": n}}
            for name, (first, last, n) in ends.items()
        ]

    def taper(self, problem):
        """Weights of the cells, which precondition the inversion: they grow with depth, where waves
        are weaker, and are 0 at sources and receivers on the surface and in absorbing layers.
        """
        layer = self.layer * self.spacing
        z, *horizontal = (problem.grid.axis(axis) for axis in "zyx")
        window = np.minimum(-z - self.spacing, z + self.depth - layer)[:, None, None] / layer
        window = np.clip(3 * window, 0, 1)
        for axis, at in enumerate(horizontal):
            if len(at) > 1:
                inside = np.clip(3 * np.minimum(at - layer, self.width - layer - at) / layer, 0, 1)
                window = window * np.expand_dims(inside, [0, 2 - axis])
        depth = np.maximum(-z, 0)[:, None, None] / self.depth
        return np.broadcast_to(window * (0.05 + depth**2), problem.shape).ravel()


def invert(survey, iterations=20, every=3, report=print, seconds=math.inf, gradients=None):
    """Return the problem, the true model, and the models of all iterations as vectors.

    The wavefield of the start has `every`-th step stored: some ten in the shortest period. No
    iteration begins after so many `seconds`; those that each gradient takes are appended to the list
    `gradients`.
    """
    begin, gradients = time.perf_counter(), [] if gradients is None else gradients
    start = survey.scenario([])
    truth = craton.Problem(survey.scenario(LENSES), parameters=("vp", "vs"))
    observed = truth.data()
    problem = craton.Problem(start, observed, parameters=("vp", "vs"), every=every)
    scale, shape = 0.1 * problem.m0, problem.shape
    weight = survey.taper(problem)
    first = problem.fun(problem.m0)

    def model(x):
        return problem.m0 + (scale * weight * smooth(x)).ravel()

    def smooth(x):
        sigma = [0, *(survey.smoothing if count > 1 else 0 for count in shape[1:])]
        return gaussian_filter(np.reshape(x, shape), sigma, mode="constant").ravel()

    def misfit(x):
        before = time.perf_counter()
        value, slope = problem.fun_and_jac(model(x))
        gradients.append(time.perf_counter() - before)
        return value / first, smooth(scale * weight * slope) / first

    models, values = [problem.m0], [1.0]

    def note(intermediate_result):
        models.append(model(intermediate_result.x))
        values.append(intermediate_result.fun)
        report(
            f"iteration {len(models) - 1}: misfit {values[-1]:.4f}, "
            f"error of vs {error(truth.m0, models[-1], problem):.3f}"
        )
        if time.perf_counter() - begin > seconds:
            raise StopIteration

    options = {"maxiter": iterations, "maxcor": 20}
    minimize(misfit, 0 * problem.m0, jac=True, method="L-BFGS-B", callback=note, options=options)
    return problem, truth.m0, models, values


def error(truth, m, problem, part=1):
    """Error of a model over that of the start, of vs."""
    truth, m, start = (np.reshape(v, problem.shape)[part] for v in (truth, m, problem.m0))
    return float(np.linalg.norm(m - truth) / np.linalg.norm(start - truth))


def draw(problem, truth, m, path):
    """Draw vs of the lenses, of what was found and of the start."""
    import matplotlib.pyplot as plt

    x, z = (problem.grid.axis(axis) for axis in "xz")
    figure, axes = plt.subplots(
        3, 2, figsize=(10, 7), sharex=True, sharey=True, layout="constrained"
    )
    for column, name in enumerate(problem.parameters.names):
        fields = [
            100 * (np.reshape(v, problem.shape) / np.reshape(problem.m0, problem.shape) - 1)[column]
            for v in (truth, m)
        ]
        fields.append(fields[1] - fields[0])
        for row, (field, title) in enumerate(zip(fields, ("true", "inverted", "difference"))):
            ax = axes[row, column]
            image = ax.pcolormesh(
                x, z, field[:, 0], cmap="RdBu", vmin=-12, vmax=12, shading="nearest"
            )
            ax.set(title=f"{name}, {title}", aspect="equal")
    figure.colorbar(image, ax=axes, label="change from the start, %", shrink=0.6)
    figure.supxlabel("x, m")
    figure.supylabel("elevation, m")
    figure.savefig(path, dpi=110)


def main(path="fwi.png"):
    """Invert, and draw."""
    problem, truth, models, _ = invert(Survey())
    draw(problem, truth, models[-1], path)
    print(f"error of vs {error(truth, models[-1], problem):.3f} of the start's; {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
