"""Full-waveform inversion in space: two lenses in a layered box below a free surface, from 16 shots on it.

    python examples/fwi_3d.py          # one GPU; writes fwi_3d.png
    python examples/fwi_3d.py --small  # seconds on a core

The plane's inversion is examples/fwi.py; shots, receivers and the pictures are others here. The large form has not been run yet: by
the rate of one H200 (bench/results/gradient_h200.json: 134 million points and 3,000 steps in 63 s, forward and back) its 16
gradients take 20 s together, 20 iterations with 22 evaluations 7 minutes, and setting up 352 runs about 2 more.
"""

import sys
from dataclasses import dataclass

import numpy as np
from fwi import LAYERS, LENSES, error, invert
from fwi import Survey as Section

import craton

PACE = 63.0 / (512**3 * 3000)  # s a point and step of misfit and gradient on one H200, measured


@dataclass(frozen=True)
class Survey(Section):
    """Size of the box, m, and of the survey: shots and receivers are those along one side."""

    width: float = 1000
    depth: float = 400
    spacing: float = 4
    frequency: float = 15
    shots: int = 4
    receivers: int = 24
    duration: float = 1.0
    smoothing: float = 2.0

    def scenario(self, lenses):
        """Return the box with or without lenses as a scenario of shots one by one."""
        w, d = self.width, self.depth
        bodies = [
            {"shape": "sphere", "dvp": lens["dvp"], "dvs": lens["dvs"]}
            | {
                "center": [
                    lens["center"][0] * w,
                    (1 - lens["center"][0]) * w,
                    lens["center"][2] * d,
                ],
                "radius": 1.3 * lens["radius"] * d,
            }
            for lens in lenses
        ]
        layers = [layer | {"top": layer["top"] * d / 240} for layer in LAYERS]
        return craton.Scenario(
            title="Lenses in a layered box",
            domain={"origin": [0, 0, -d], "size": [w, w, d], "spacing": self.spacing},
            model={"kind": "layers", "layers": layers, "anomalies": bodies},
            time={"duration": self.duration, "start": -1.5 / self.frequency, "step": self.step},
            boundaries={"cpml": {"thickness": self.layer}},
            source=self.sources(),
            receivers=self.lines(),
        )

    def sources(self):
        """Vertical forces on a square grid on the surface."""
        edge = (self.layer + 4) * self.spacing
        along = np.linspace(edge, self.width - edge, self.shots)
        return [
            {
                "kind": "force",
                "at": [float(x), float(y), 0],
                "force": [0, 0, -1e8],
                "wavelet": {"kind": "ricker", "frequency": self.frequency},
                "shot": f"S{n + 1}",
            }
            for n, (y, x) in enumerate((y, x) for y in along for x in along)
        ]

    def lines(self):
        """Receivers on a square grid on the surface."""
        edge = (self.layer + 2) * self.spacing
        first, last = edge, self.width - edge
        return [
            {
                "name": f"L{n + 1}",
                "line": {"from": [first, y, 0], "to": [last, y, 0], "count": self.receivers},
            }
            for n, y in enumerate(map(float, np.linspace(first, last, self.receivers)))
        ]

    @property
    def predicted(self):
        """Seconds of misfit and gradient of all shots on one H200, without setting up."""
        across, down = (round(extent / self.spacing) + 1 for extent in (self.width, self.depth))
        steps = (self.duration + 1.5 / self.frequency) / self.step
        return self.shots**2 * across**2 * down * steps * PACE


SMALL = Survey(200, 150, 10, 14, shots=2, receivers=4, duration=0.18, smoothing=1, layer=4)


def draw(problem, truth, m, path):
    """Draw vs, true and inverted, on sections through both lenses and at their depth."""
    import matplotlib.pyplot as plt

    x, y, z = (problem.grid.axis(axis) for axis in "xyz")
    vertical = [np.argmin(abs(y - (1 - lens["center"][0]) * y[-1])) for lens in LENSES]
    level = np.argmin(abs(z - LENSES[0]["center"][2] * -z[0]))
    figure, axes = plt.subplots(2, 3, figsize=(13, 6), layout="constrained")
    for row, (title, vector) in zip(axes, (("true", truth), ("inverted", m))):
        fields = [np.reshape(v, problem.shape)[1] for v in (vector, problem.m0)]
        change = 100 * (fields[0] / fields[1] - 1)
        views = [(x, z, change[:, j], f"y = {y[j]:.0f} m", "elevation, m") for j in vertical]
        views.append((x, y, change[level], f"elevation {z[level]:.0f} m", "y, m"))
        for ax, (across, up, view, where, label) in zip(row, views):
            image = ax.pcolormesh(across, up, view, cmap="RdBu", vmin=-12, vmax=12)
            ax.set(title=f"vs, {title}, {where}", aspect="equal", xlabel="x, m", ylabel=label)
    figure.colorbar(image, ax=axes, label="change from the start, %", shrink=0.6)
    figure.savefig(path, dpi=100)


def main(*words):
    """Invert, and draw."""
    small = "--small" in words
    path = next((word for word in words if not word.startswith("-")), "fwi_3d.png")
    survey, iterations = (SMALL, 5) if small else (Survey(), 20)
    if not small:
        print(f"16 shots; predicted for one H200: {survey.predicted:.0f} s a gradient")
    problem, truth, models, _ = invert(survey, iterations)
    draw(problem, truth, models[-1], path)
    print(f"error of vs {error(truth, models[-1], problem):.3f} of the start's; {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
