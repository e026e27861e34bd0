"""Sensitivity of a P wave's travel time to the medium: a banana-doughnut kernel, of spectral elements.

    python examples/banana_doughnut.py  # a minute on one core; writes banana_doughnut.png

The speed grows with depth, so that the ray dives. The delay by cross-correlation changes with the speed everywhere but on the ray: its
kernel is a banana along the ray with a hole in it (Marquering, Dahlen & Nolet 1999, Geophys. J. Int. 137, 805). Whatever its shape, its
integral is minus the travel time: where all speeds grow by a per cent, the wave comes a per cent earlier.
"""

import sys
from dataclasses import dataclass

import numpy as np

import craton
from craton.misfits import delays_of

RATIO = np.sqrt(3)  # vp / vs


@dataclass(frozen=True)
class Path:
    """A source and a receiver at one depth, absorbing faces all around; m and s."""

    distance: float = 14e3
    depth: float = 2000.0
    margin: float = 2500.0  # behind source and receiver
    width: float = 10e3
    bottom: float = 9000.0
    edge: float = 1000.0  # of an element
    speed: float = 3000.0  # of P waves at the top, m/s
    growth: float = 0.3  # m/s per m
    frequency: float = 1.2
    degree: int = 4

    @property
    def travel_time(self):
        """Of the ray, s: an arc of a circle (e.g. Aki & Richards 2002, problem 9.4)."""
        speed = self.speed + self.growth * self.depth
        return 2 / self.growth * np.arcsinh(self.growth * self.distance / (2 * speed))

    @property
    def ends(self):
        """Positions of source and receiver, m."""
        y, z = self.width / 2, -self.depth
        return [self.margin, y, z], [self.margin + self.distance, y, z]

    def scenario(self):
        """Return it as a scenario."""
        source, receiver = self.ends
        size = [self.distance + 2 * self.margin, self.width, self.bottom]
        rock = {"vp": self.speed, "vs": self.speed / RATIO, "rho": 2500, "top": 0}
        gradients = {"vp_gradient": self.growth, "vs_gradient": self.growth / RATIO}
        wavelet = {"kind": "ricker", "frequency": self.frequency}
        return craton.Scenario(
            title="A P wave that dives",
            method="sem",
            domain={"origin": [0, 0, -self.bottom], "size": size, "element_size": self.edge},
            model={"kind": "layers", "layers": [rock | gradients]},
            time={"duration": self.travel_time + 4 / self.frequency, "start": -1 / self.frequency},
            boundaries={"top": "stacey", "others": "stacey"},
            source=[{"kind": "explosion", "at": source, "moment": 1e15, "wavelet": wavelet}],
            receivers=[{"name": "R", "at": receiver}],
            run={"degree": self.degree},
        )


def delay(computed, observed, interval):
    """Return the sum of the delays by cross-correlation, s, and its derivative by the computed traces."""
    delays, slopes = delays_of(computed, observed, interval)
    return float(delays.sum()), slopes


def p_window(path, time):
    """Weights of samples: 1 for the P wave, falling to 0 before and behind it; a window that bends the wavelet itself would bias delays."""
    periods = np.abs(time - path.travel_time) * path.frequency
    return np.cos(np.pi / 2 * np.clip((periods - 1.2) / 0.8, 0, 1)) ** 2


def kernel(path):
    """Return K of  delay = integral of K dvp/vp, s/m3,  over (element, node), with coordinates and volumes: xarray.Dataset."""
    scenario = path.scenario()
    problem = craton.Problem(scenario)
    data = problem.data()
    window = np.zeros(data.velocity.shape)
    component = list(data.component.values).index("E")  # along the line of source and receiver
    window[:, component] = p_window(path, data.time.values)
    gradient = craton.gradient(
        scenario, data, misfit=delay, parameters=("vp", "vs"), weights={"velocity": window}
    )
    speed = path.speed - path.growth * gradient.z
    return gradient.assign(kernel=speed * gradient.vp / gradient.volume)


def section(kernels, axis, at, tolerance):
    """Return coordinates of the nodes of a plane and the kernel there, where elements meet their mean."""
    chosen = np.abs(kernels[axis].values - at) < tolerance
    across = [a for a in "xyz" if a != axis]
    places = np.round(np.stack([kernels[a].values[chosen] for a in across], 1), 3)
    places, which = np.unique(places, axis=0, return_inverse=True)
    values = kernels.kernel.values[chosen]
    mean = np.bincount(which.ravel(), values) / np.bincount(which.ravel())
    return *places.T, mean


def draw(path, kernels, file):
    """Draw the kernel along the ray and across it."""
    import matplotlib.pyplot as plt

    source, receiver = path.ends
    middle, tolerance = 0.5 * (source[0] + receiver[0]), 0.01 * path.edge
    sizes = [path.distance + 2 * path.margin, path.width]
    figure, axes = plt.subplots(
        1, 2, figsize=(13, 4), sharey=True, layout="constrained", width_ratios=sizes
    )
    planes = (("y", path.width / 2), ("x", middle))
    halfway = np.abs(kernels.x - middle) < path.edge
    most = float(np.abs(kernels.kernel.where(halfway)).max()) * 1e9
    for ax, (axis, at) in zip(axes, planes):
        across, z, values = section(kernels, axis, at, tolerance)
        image = ax.tripcolor(
            across / 1e3,
            z / 1e3,
            1e9 * values,
            shading="gouraud",
            cmap="RdBu",
            vmin=-most,
            vmax=most,
        )
        ax.set(aspect="equal", xlabel=f"{'x' if axis == 'y' else 'y'}, km")
    axes[0].plot(*ray(path), "k--", linewidth=0.8)
    axes[0].set(ylabel="elevation, km", title="along the ray")
    axes[1].set_title("across it, in the middle")
    ticks = np.linspace(-most, most, 5)
    figure.colorbar(image, ax=axes, label="K of dvp/vp, s/km3", ticks=ticks, format="%.3f")
    figure.savefig(file, dpi=110)


def ray(path):
    """Return the ray, x and z in km."""
    source, receiver = path.ends
    top, middle = path.speed / path.growth, 0.5 * (source[0] + receiver[0])
    radius = np.hypot(path.distance / 2, top + path.depth)
    x = np.linspace(source[0], receiver[0], 101)
    return x / 1e3, (top - np.sqrt(radius**2 - (x - middle) ** 2)) / 1e3


def main(file="banana_doughnut.png"):
    """Compute the kernel, and draw it."""
    path = Path()
    kernels = kernel(path)
    total = float((kernels.kernel * kernels.volume).sum())
    print(f"integral of K {total:.3f} s, travel time of the ray {path.travel_time:.3f} s; {file}")
    draw(path, kernels, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
