"""Full-waveform inversion in space: two lenses in a layered box below a free surface, from shots on it and in four wells.

    python examples/fwi_3d.py           # one GPU; writes fwi_3d.png and fwi_3d.json
    python examples/fwi_3d.py --small   # a minute on a core
    python examples/fwi_3d.py --seconds 200  # no iteration begins later

The plane's inversion is examples/fwi.py; shots, receivers and the pictures are others here. The JSON holds misfit and errors of vp and
vs of each iteration, and the seconds of each gradient, of all shots.
"""

import argparse
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from fwi import LAYERS, LENSES, error, invert
from fwi import Survey as Section

import craton


@dataclass(frozen=True)
class Survey(Section):
    """Size of the box, m, and of the survey: shots and receivers on the surface are those along one
    side, each of four wells has one shot and so many receivers.
    """

    width: float = 800
    depth: float = 320
    spacing: float = 5
    frequency: float = 12
    shots: int = 3
    receivers: int = 20
    in_wells: int = 16
    duration: float = 0.95
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

    @property
    def wells(self):
        """Places (x, y) of the wells, and the horizontal directions in which they see the middle."""
        edge = (self.layer + 4) * self.spacing
        sides = (edge, 1.0), (self.width - edge, -1.0)
        return [((x, y), (to_x, to_y)) for x, to_x in sides for y, to_y in sides]

    def sources(self):
        """Vertical forces on a square grid on the surface, horizontal ones in the wells."""
        edge = (self.layer + 4) * self.spacing
        along = np.linspace(edge, self.width - edge, self.shots)
        forces = [((x, y, 0), (0, 0, -1e8)) for y in along for x in along]
        forces += [
            ((x, y, -0.6 * self.depth), (a * 1e8, b * 1e8, 0)) for (x, y), (a, b) in self.wells
        ]
        return [
            {
                "kind": "force",
                "at": list(map(float, at)),
                "force": list(force),
                "wavelet": {"kind": "ricker", "frequency": self.frequency},
                "shot": f"S{n + 1}",
            }
            for n, (at, force) in enumerate(forces)
        ]

    def lines(self):
        """Receivers on a square grid on the surface, and down the wells."""
        edge = (self.layer + 2) * self.spacing
        first, last = edge, self.width - edge
        ends = [([first, y, 0], [last, y, 0]) for y in np.linspace(first, last, self.receivers)]
        counts = [self.receivers] * len(ends) + [self.in_wells] * len(self.wells)
        ends += [([x, y, -edge / 2], [x, y, edge - self.depth]) for (x, y), _ in self.wells]
        return [
            {
                "name": f"L{n + 1:02d}",
                "line": {"from": list(map(float, a)), "to": list(map(float, b)), "count": count},
            }
            for n, ((a, b), count) in enumerate(zip(ends, counts))
        ]


SMALL = Survey(
    200, 150, 10, 14, shots=1, receivers=4, in_wells=4, duration=0.18, smoothing=1, layer=4
)


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


def history(survey, problem, truth, models, values, gradients):
    """Return what the JSON file holds of an inversion."""
    return {
        "survey": asdict(survey),
        "shots": len(problem.names),
        "shape": problem.shape,
        "misfit": values,
        "error_of_vp": [error(truth, m, problem, 0) for m in models],
        "error_of_vs": [error(truth, m, problem, 1) for m in models],
        "seconds_of_gradients": gradients[1:],  # that of the start came with its misfit
    }


def main():
    """Invert, draw and record."""
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--small", action="store_true", help="a form for one core")
    words.add_argument("--seconds", type=float, default=math.inf, help="begin no iteration later")
    words.add_argument("path", nargs="?", type=Path, default=Path("fwi_3d.png"))
    given = words.parse_args()
    survey, iterations = (SMALL, 5) if given.small else (Survey(), 20)
    gradients = []
    problem, truth, models, values = invert(
        survey, iterations, seconds=given.seconds, gradients=gradients
    )
    draw(problem, truth, models[-1], given.path)
    found = history(survey, problem, truth, models, values, gradients)
    given.path.with_suffix(".json").write_text(json.dumps(found, indent=1))
    print(
        f"error of vs {found['error_of_vs'][-1]:.3f} of the start's, "
        f"{np.median(found['seconds_of_gradients']):.1f} s a gradient of {found['shots']} shots; {given.path}"
    )


if __name__ == "__main__":
    main()
