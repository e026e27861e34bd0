"""Sensitivity of a P wave's travel time to a chunk of PREM: a banana-doughnut kernel through the Earth's mantle.

    python examples/banana_doughnut_prem.py  # two minutes on two cores; writes banana_doughnut_prem.png
    python examples/banana_doughnut_prem.py --phase S  # of an SH wave, half as long again
    python examples/banana_doughnut_prem.py --check  # and by two more runs with a block that is faster or slower

An explosion at 600 km depth, a station 40 degrees away. The delay by cross-correlation changes with the speed around the ray but not
on it (Dahlen, Hung & Nolet 2000, Geophys. J. Int. 141, 157): K of  delay = integral of K dv/v  is a banana that is hollow as a
doughnut. Kernel and seismogram are of one mesh and one law: the discrete adjoint of the spectral elements.
"""

import argparse
from dataclasses import dataclass

import numpy as np

import craton
from craton.misfits import delays_of

EARTH = 6371e3  # m
PERIODS = {"P": 30.0, "S": 50.0}  # s, that the elements carry
PHASES = {"P": ("vp", "Z"), "S": ("vs", "N")}  # speed, component that records it


@dataclass(frozen=True)
class Path:
    """Source and station on the equator of a spherical PREM, in a chunk about longitude 0; degrees, m and s."""

    phase: str = "P"
    distance: float = 40.0
    depth: float = 600e3  # of the source
    bottom: float = 2000e3
    width: tuple = (52.0, 18.0)
    elements: tuple = (48, 16)  # even, so that the planes of the pictures are faces of elements
    period: float = 30.0
    degree: int = 4
    precision: str = "float32"
    model: tuple = (("kind", "prem"),)

    @property
    def arrival(self):
        """Travel time of the ray, s, and the ray itself: angles from the source, radians, and depths, m; by ObsPy's TauP."""
        from obspy.taup import TauPyModel

        ray = TauPyModel("prem").get_ray_paths(
            self.depth / 1e3, self.distance, [self.phase], receiver_depth_in_km=0
        )[0]
        return ray.time, ray.path["dist"], 1e3 * ray.path["depth"]

    def scenario(self):
        """Return it as a scenario."""
        travel_time, _, _ = self.arrival
        # P of an explosion; S of a double couple that shears along the path and across it
        tensor = {"rr": 1, "tt": 1, "pp": 1} if self.phase == "P" else {"tp": 1}
        return craton.Scenario(
            title=f"A {self.phase} wave in PREM",
            method="sem",
            domain={
                "chunk": {
                    "longitude": 0,
                    "latitude": 0,
                    "width": self.width,
                    "elements": self.elements,
                    "bottom": self.bottom,
                    "growth": [],
                }
            },
            model=dict(self.model),
            time={"duration": travel_time + 2.5 * self.period, "start": -self.period},
            source=[
                {
                    "kind": "moment_tensor",
                    "at": {"longitude": -self.distance / 2, "latitude": 0, "depth": self.depth},
                    "tensor": {name: 1e20 * value for name, value in tensor.items()},
                    "wavelet": {"kind": "ricker", "frequency": 1 / self.period},
                }
            ],
            receivers=[{"name": "R", "at": {"longitude": self.distance / 2, "latitude": 0}}],
            output={"waveforms": ["displacement"]},
            run={"degree": self.degree, "precision": self.precision},
        )


def delay(computed, observed, interval):
    """Return the sum of the delays by cross-correlation, s, and its derivative by the computed traces."""
    delays, slopes = delays_of(computed, observed, interval)
    return float(delays.sum()), slopes


def window(path, data):
    """Weights of samples: 1 for the phase, falling to 0 before and behind it."""
    weights = np.zeros(data.displacement.shape)
    periods = np.abs(data.time.values - path.arrival[0]) / path.period
    component = list(data.component.values).index(PHASES[path.phase][1])
    weights[:, component] = np.cos(np.pi / 2 * np.clip((periods - 1.0) / 0.8, 0, 1)) ** 2
    return weights


def kernel(path):
    """Return K of  delay = integral of K dv/v,  s/m3,  over (element, node), with coordinates, volumes and speed: xarray.Dataset."""
    name, _ = PHASES[path.phase]
    problem = craton.Problem(path.scenario(), parameters=("vp", "vs"))
    data = problem.data()
    speed = problem.dataset(problem.m0)[name]
    gradient = craton.gradient(
        path.scenario(),
        data,
        misfit=delay,
        parameters=("vp", "vs"),
        weights={"displacement": window(path, data)},
    )
    return gradient.assign(kernel=speed * gradient[name] / gradient.volume, speed=speed)


def ball(path, kernels, radius):
    """Weights of nodes: a smooth ball beside the ray's deepest point, where the kernel is about largest."""
    _, angles, depths = path.arrival
    deepest = int(np.argmax(depths))
    turn = angles[deepest] - np.radians(path.distance / 2)
    height = EARTH - depths[deepest]
    centre = height * np.sin(turn), 1.2 * radius, height * np.cos(turn)
    squares = sum((kernels[a] - at) ** 2 for a, at in zip("xyz", centre))
    return np.exp(-squares / (0.5 * radius) ** 2)


def check(path, kernels, radius=300e3, change=0.002):
    """Return the delay of a ball that is faster, s, by the kernel and by runs of ball faster and slower."""
    name, _ = PHASES[path.phase]
    problem = craton.Problem(path.scenario(), parameters=("vp", "vs"))
    faster = change * ball(path, kernels, radius)
    data, row = problem.data(), ("vp", "vs").index(name)
    weights, interval = window(path, data), float(data.time[1] - data.time[0])
    delays = []
    for sign in (1, -1):
        m = problem.m0.reshape(problem.shape).copy()
        m[row] *= 1 + sign * faster.values
        traces = (weights * each.displacement.values for each in (problem.data(m.ravel()), data))
        delays.append(delay(*traces, interval)[0])
    by_kernel = float((kernels.kernel * kernels.volume * faster).sum())
    return by_kernel, (delays[0] - delays[1]) / 2


def section(kernels, axis, tolerance=1.0):
    """Return coordinates, m, and the kernel on element faces in a plane through the centre, means of both sides: (faces, n, n) each."""
    n = round(kernels.sizes["node"] ** (1 / 3))
    shape = (kernels.sizes["element"], n, n, n)  # along z, y, x of the element
    x, y, z, values = (kernels[name].values.reshape(shape) for name in ("x", "y", "z", "kernel"))
    chosen = np.abs(x if axis == "x" else y) < tolerance
    along = (y if axis == "x" else x)[chosen]
    places = np.round(np.stack([along, z[chosen]], 1))
    _, which = np.unique(places, axis=0, return_inverse=True)
    which = which.ravel()
    mean = np.bincount(which, values[chosen]) / np.bincount(which)
    faces = (int(chosen.sum()) // n**2, n, n)
    return along.reshape(faces), z[chosen].reshape(faces), mean[which].reshape(faces)


def draw(path, kernels, file):
    """Draw the kernel along the great circle and across it."""
    import matplotlib.pyplot as plt

    time, angles, depths = path.arrival
    sections = [section(kernels, axis) for axis in "yx"]
    halfway = np.abs(kernels.x) < 0.1 * EARTH
    most = float(np.abs(kernels.kernel.where(halfway)).max()) * 1e15
    sizes = [np.ptp(across) for across, _, _ in sections]
    figure, axes = plt.subplots(
        1, 2, figsize=(14, 4.2), sharey=True, layout="constrained", width_ratios=sizes
    )
    for ax, (across, z, values) in zip(axes, sections):
        for face in zip(across / 1e3, z / 1e3, 1e15 * values):
            image = ax.pcolormesh(
                *face, shading="gouraud", cmap="RdBu", vmin=-most, vmax=most, rasterized=True
            )
        widest = np.arctan2(across, z).max()
        turns = np.linspace(-widest, widest, 90)
        for depth in (0, 400e3, 670e3):
            radius = (EARTH - depth) / 1e3
            ax.plot(radius * np.sin(turns), radius * np.cos(turns), "k", linewidth=0.4)
        ax.set(aspect="equal", xlabel="km")
    turn, radius = angles - np.radians(path.distance / 2), (EARTH - depths) / 1e3
    x, z = radius * np.sin(turn), radius * np.cos(turn)
    axes[0].plot(x, z, "k--", linewidth=0.8)
    axes[0].plot(x[0], z[0], "k*", markersize=9)
    axes[0].plot(x[-1], z[-1], "kv")
    axes[1].plot(0, np.interp(0, x, z), "k.", markersize=4)
    axes[0].set(
        ylabel="km from the Earth's centre",
        title=f"{path.phase} in PREM, {path.distance:g} degrees, period {path.period:g} s: {time:.0f} s",
    )
    axes[1].set(title="across it, halfway")
    label = f"K of d{PHASES[path.phase][0]} / {PHASES[path.phase][0]}, 1e-6 s/km3"
    figure.colorbar(image, ax=axes, label=label)
    figure.savefig(file, dpi=100)


def main(words=None):
    """Compute the kernel, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default="banana_doughnut_prem.png")
    parser.add_argument("--phase", choices=tuple(PHASES), default="P")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args(words)
    path = Path(asked.phase, period=PERIODS[asked.phase])
    kernels = kernel(path)
    draw(path, kernels, asked.file)
    total = float((kernels.kernel * kernels.volume).sum())
    print(f"integral of K {total:.1f} s, travel time of the ray {path.arrival[0]:.1f} s")
    if asked.check:
        by_kernel, by_runs = check(path, kernels)
        print(f"a faster ball: {by_kernel:.5f} s by the kernel, {by_runs:.5f} s by two runs")
    return kernels


if __name__ == "__main__":
    main()
