"""Joint inversion of waves and gravity for vp, vs and density of a buried body, in a section between two wells.

    python examples/joint.py  # a minute or two on one core; writes joint.png

Waves that cross the body say where speeds change, and little of density; gravity says how much mass there is, and not where. The
objective is the sum of both, of cross-gradients between speeds and density, which give them one shape, and of a little smoothing.
"""

import sys
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import craton
from craton.inverse import CrossGradient, GravityProblem, Tikhonov

ROCK = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2100}
NAMES = ("vp", "vs", "rho")
CHANGES = {"dvp": 0.08, "dvs": 0.06, "drho": 0.1}  # in the middle of the body
SHELLS = 8
SCALE = 0.1  # of the start: a change of x by 1


@dataclass(frozen=True)
class Survey:
    """Size of the section, m, and of the survey."""

    width: float = 640
    depth: float = 320
    spacing: float = 8
    frequency: float = 14
    shots: int = 9
    receivers: int = 33
    duration: float = 0.75
    stations: int = 41
    layer: int = 8  # cells of the absorbing layers
    noise: float = 0.002  # mGal; of g_zz that of a point at half the depth
    noise_of_waves: float = 0.01  # of the data's standard deviation
    smoothing: float = 1.5  # cells
    cross: float = 0.3  # weight of the cross-gradients

    def scenario(self, body):
        """Return the section with or without the body as a scenario of shots side by side."""
        w, d = self.width, self.depth
        center = {"shape": "sphere", "center": [0.5 * w, 0, -0.45 * d]}
        shells = [
            center
            | {"radius": 0.36 * d * (1 - part) ** 0.5}
            | {name: most / SHELLS for name, most in CHANGES.items()}
            for part in (np.arange(SHELLS) + 0.5) / SHELLS
        ]
        edge = (self.layer + 6) * self.spacing
        return craton.Scenario(
            title="A body between shots and stations",
            domain={"origin": [0, -d], "size": [w, d], "spacing": self.spacing, "waves": "P-SV"},
            model=ROCK | {"anomalies": shells if body else []},
            time={"duration": self.duration, "start": -1.5 / self.frequency, "step": self.step},
            boundaries={"cpml": {"thickness": self.layer}},
            source=[
                {
                    "kind": "force",
                    "at": [edge, float(z)],
                    "force": [1e8, 1e8],
                    "shot": f"S{n + 1}",
                    "wavelet": {"kind": "ricker", "frequency": self.frequency},
                }
                for n, z in enumerate(np.linspace(-2 * self.spacing, edge - d, self.shots))
            ],
            receivers=[
                {
                    "name": "R",
                    "line": {
                        "from": [w - edge, 0],
                        "to": [w - edge, edge - d],
                        "count": self.receivers,
                    },
                }
            ],
        )

    @property
    def step(self):
        """A time step for all models, s."""
        return 0.48 * self.spacing / (1.25 * ROCK["vp"])

    def gravity(self):
        """Return the stations, above the surface, with fields to be computed."""
        x = np.linspace(0, self.width, self.stations)
        place = {"x": ("station", x), "z": ("station", np.full(len(x), 1.0))}
        zero = ("station", np.zeros(len(x)))
        return xr.Dataset({"g_z": zero, "g_zz": zero}, place)


class Inversion:
    """Waves, gravity and what ties them, of data of the body with noise.

    Parameters
    ----------
    survey : Survey
    """

    def __init__(self, survey):
        self.survey = survey
        truth = craton.Problem(survey.scenario(True), parameters=NAMES)
        self.truth = truth.m0
        rng = np.random.default_rng(1)
        data = truth.data()[["velocity"]]
        size = survey.noise_of_waves * float(data.velocity.std())
        data = data + size * rng.standard_normal(data.velocity.shape)
        self.waves = craton.Problem(survey.scenario(False), data, parameters=NAMES, every=3)
        background = ROCK["rho"]
        deviation = {"g_z": survey.noise, "g_zz": survey.noise * 2e4 / survey.depth}
        fields = GravityProblem(truth, survey.gravity(), reference=background).data()
        noisy = fields + {
            name: deviation[name] * rng.standard_normal(values.shape)
            for name, values in fields.data_vars.items()
        }
        weights = {name: 1 / value for name, value in deviation.items()}
        self.gravity = GravityProblem(self.waves, noisy, weights=weights, reference=background)
        self.weight = taper(survey, self.waves)

    def objective(self, joint):
        """Return waves alone, or the sum with gravity and cross-gradients; both with smoothing."""
        waves, m0 = self.waves, self.waves.m0
        area = self.survey.width * self.survey.depth
        smooth = Tikhonov(waves, order=1)
        total = (1 / waves.fun(m0)) * waves + (2e-2 * self.survey.width**2 / area) * smooth
        if not joint:
            return total
        shape = CrossGradient(waves, "vp", "rho") + CrossGradient(waves, "vs", "rho")
        total += (1 / self.gravity.fun(m0)) * self.gravity
        return total + (self.survey.cross * self.survey.width**4 / area) * shape

    def model(self, x):
        """Return the parameters of a vector x, which is smoothed."""
        return self.waves.m0 * (1 + SCALE * self.weight * self.smoothed(x))

    def smoothed(self, x):
        """Return smoothed fields: its own transpose."""
        sigma = (0, self.survey.smoothing, 0, self.survey.smoothing)
        fields = np.reshape(x, self.waves.shape)
        return gaussian_filter(fields, sigma, mode="constant").ravel()

    def run(self, joint, iterations=20, report=print):
        """Return the parameters after an inversion of waves alone, or of both."""
        objective, m0 = self.objective(joint), self.waves.m0

        def function(x):
            value, slope = objective.fun_and_jac(self.model(x))
            return value, self.smoothed(SCALE * m0 * self.weight * slope)

        def note(intermediate_result):
            m = self.model(intermediate_result.x)
            errors = ", ".join(f"{name} {error:.3f}" for name, error in self.errors(m).items())
            report(f"objective {intermediate_result.fun:.4f}, errors {errors}")

        options = {"maxiter": iterations, "maxcor": 20}
        best = minimize(
            function, 0 * m0, jac=True, method="L-BFGS-B", callback=note, options=options
        )
        return self.model(best.x)

    def errors(self, m):
        """Return the error of each parameter over that of the start."""
        fields = [np.reshape(v, self.waves.shape) for v in (m, self.truth, self.waves.m0)]
        return {
            name: float(np.linalg.norm(a - b) / np.linalg.norm(c - b))
            for name, a, b, c in zip(NAMES, *fields)
        }


def taper(survey, problem):
    """Weights of the cells: 0 at sources, receivers and in absorbing layers, smaller near them."""
    z, x = (problem.grid.axis(axis) for axis in "zx")
    layer = survey.layer * survey.spacing
    edge = layer + 8 * survey.spacing
    inside = np.minimum(x - edge, survey.width - edge - x)[None, None] / layer
    below = np.minimum(-z - 2 * survey.spacing, z + survey.depth - layer)[:, None, None] / layer
    window = np.clip(2 * inside, 0, 1) * np.clip(below, 0, 1)
    depth = np.maximum(-z, 0)[:, None, None] / survey.depth
    return np.broadcast_to(window * (0.1 + depth), problem.shape).ravel()


def draw(inversion, models, path):
    """Draw all parameters: true, of waves alone, of both."""
    import matplotlib.pyplot as plt

    waves = inversion.waves
    x, z = (waves.grid.axis(axis) for axis in "xz")
    figure, axes = plt.subplots(
        3, 3, figsize=(12, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    rows = {"true": inversion.truth} | models
    for row, (title, m) in zip(axes, rows.items()):
        change = 100 * (np.reshape(m, waves.shape) / np.reshape(waves.m0, waves.shape) - 1)
        errors = inversion.errors(m)
        for ax, name, field in zip(row, NAMES, change):
            image = ax.pcolormesh(
                x, z, field[:, 0], cmap="RdBu", vmin=-10, vmax=10, shading="nearest"
            )
            after = "" if title == "true" else f", error {errors[name]:.2f}"
            ax.set(title=f"{name}, {title}{after}", aspect="equal")
    figure.colorbar(image, ax=axes, label="change from the start, %", shrink=0.6)
    figure.supxlabel("x, m")
    figure.supylabel("elevation, m")
    figure.savefig(path, dpi=100)


def main(path="joint.png"):
    """Invert waves alone and both, and draw."""
    inversion = Inversion(Survey())
    models = {
        "waves alone": inversion.run(joint=False),
        "waves and gravity": inversion.run(joint=True),
    }
    draw(inversion, models, path)
    for name, m in models.items():
        print(name, {key: round(value, 3) for key, value in inversion.errors(m).items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
