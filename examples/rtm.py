"""Reverse-time migration as a gradient: an image of layers and a fault from shots on the surface, 2-D.

    python examples/rtm.py  # half a minute on one core; writes rtm.png

The gradient of the misfit by the impedance of P waves, in a smooth model, is the correlation of the shots' wavefields with the
data sent back in time: where it is large, something reflects (Zhu et al. 2009, Geophysics 74, WCA167; Douma et al. 2010,
Geophysics 75, S219). By impedance, and not by speed, the long waves of transmission stay small. The image is divided by the
illumination.
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

import craton


@dataclass(frozen=True)
class Survey:
    """Size of the section, m, and of the survey."""

    width: float = 1200
    depth: float = 600
    spacing: float = 6
    frequency: float = 18
    shots: int = 12
    receivers: int = 60
    duration: float = 0.75
    layer: int = 10  # cells of the absorbing layers
    muted: int = 14  # cells below it, where waves go straight from shots to receivers

    def scenario(self, bodies=True):
        """Return the section with its reflectors, or the smooth model around them."""
        w, d = self.width, self.depth
        edge = (self.layer + 6) * self.spacing
        boxes = [  # a layer with a fault, and a deeper one
            ([-w, -w, -0.45 * d], [0.5 * w, w, -0.35 * d]),
            ([0.5 * w, -w, -0.55 * d], [2 * w, w, -0.45 * d]),
            ([-w, -w, -0.82 * d], [2 * w, w, -0.72 * d]),
        ]
        anomalies = [{"shape": "box", "min": low, "max": high, "drho": 0.12} for low, high in boxes]
        return craton.Scenario(
            title="Layers with a fault",
            domain={
                "origin": [0, -d],
                "size": [w, d],
                "spacing": self.spacing,
                "waves": "acoustic",
            },
            model={"kind": "homogeneous", "vp": 2000, "vs": 0, "rho": 2000}
            | {"anomalies": anomalies if bodies else []},
            time={"duration": self.duration, "start": -1.5 / self.frequency},
            boundaries={"top": "cpml", "cpml": {"thickness": self.layer}},
            source=[
                {
                    "kind": "explosion",
                    "at": [float(x), -edge],
                    "moment": 1e10,
                    "shot": f"S{n + 1}",
                    "wavelet": {"kind": "ricker", "frequency": self.frequency},
                }
                for n, x in enumerate(np.linspace(edge, w - edge, self.shots))
            ],
            receivers=[
                {
                    "name": "R",
                    "line": {
                        "from": [edge, -edge],
                        "to": [w - edge, -edge],
                        "count": self.receivers,
                    },
                }
            ],
            output={"waveforms": ["pressure"]},
        )


def image(survey):
    """Return the image: a dataset of `craton.gradient` with ``image`` over (z, x), largest 1."""
    observed = craton.Problem(survey.scenario(), parameters=("ip", "rho")).data()
    out = craton.gradient(survey.scenario(False), observed, parameters=("ip",), every=2)
    light = gaussian_filter(out.illumination.values, 3)
    values = -out.ip.values / (light + 0.02 * light.max())
    values = values * window(survey, out.x.values, out.z.values)
    return out.assign(image=(("z", "x"), values / np.abs(values).max()))


def window(survey, x, z):
    """Return factors (z, x): 0 in absorbing layers and above the muted cells."""
    edge = (survey.layer + 1) * survey.spacing
    inside = np.minimum(x - edge, survey.width - edge - x)[None]
    below = (-z - (survey.layer + survey.muted) * survey.spacing)[:, None] / 6
    return np.clip(
        np.minimum(np.minimum(inside, below), (z + survey.depth - edge)[:, None]) / survey.spacing,
        0,
        1,
    )


def draw(survey, out, path):
    """Draw the true impedance and the image."""
    import matplotlib.pyplot as plt

    true = craton.Problem(survey.scenario(), parameters=("ip",))
    impedance = true.dataset(true.m0).ip
    figure, (high, low) = plt.subplots(2, 1, figsize=(8, 8), sharex=True, layout="constrained")
    panels = [(high, impedance / 1e6, "viridis", {}, "impedance of P waves, 10$^6$ kg/(m$^2$ s)")]
    panels.append((low, out.image, "gray", {"vmin": -0.6, "vmax": 0.6}, "image"))
    for ax, field, colours, limits, title in panels:
        mesh = ax.pcolormesh(out.x, out.z, field, cmap=colours, shading="nearest", **limits)
        figure.colorbar(mesh, ax=ax, shrink=0.8)
        ax.set(title=title, aspect="equal", ylabel="elevation, m")
    low.set(xlabel="x, m")
    figure.savefig(path, dpi=100)


def main(path="rtm.png"):
    """Migrate, and draw."""
    survey = Survey()
    draw(survey, image(survey), path)


if __name__ == "__main__":
    main(*sys.argv[1:])
