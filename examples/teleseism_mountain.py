"""P of a distant earthquake on a mountain: what its shape adds to the plane wave in layers.

    python examples/teleseism_mountain.py  # about a minute on two cores; writes teleseism_mountain.png

A plane P wave rises obliquely below two layers. Inside the box of the injection is the full field, outside only what the
mountain scatters: P to surface waves (Rg) that spread along flat ground.
"""

import sys
from dataclasses import dataclass

import numpy as np

import craton
from craton.survey.layered_response import Stack, response

LAYERS = [
    {"vp": 4000, "vs": 2300, "rho": 2400},  # from above the summit on
    {"top": -2000, "vp": 5800, "vs": 3350, "rho": 2700},
]
RAYLEIGH = 0.92  # of the speed of S: surface waves


@dataclass(frozen=True)
class Section:
    """A mountain on flat ground at z = 0, in m and s; the wave travels to the east."""

    length: float = 16_800  # of the domain along x
    width: float = 10_200
    depth: float = 6_000
    element: float = 600
    height: float = 1100  # of the summit
    reach: float = 1700  # distance from the summit, along x, at which flat ground begins ...
    stretch: float = 1.2  # ... and times this along y
    incidence: float = 25  # degrees from the vertical, below the layers
    frequency: float = 0.9  # of the Ricker wavelet, Hz
    duration: float = 6.0
    stations: int = 81

    def ground(self, x, y):
        """Return the elevation of the ground at positions, m: a smooth hill."""
        away = np.hypot(x / self.reach, y / (self.stretch * self.reach))
        return self.height * np.cos(np.pi / 2 * np.minimum(away, 1)) ** 2

    @property
    def box(self):
        """Half the lengths of the box of the injection along x and y, m."""
        return 1.25 * np.array([self.reach, self.stretch * self.reach])

    @property
    def bottom(self):
        """Elevation of the bottom of the box, m."""
        return -0.8 * self.reach

    def scenario(self):
        """Return the scenario."""
        side, top = 0.5 * np.array([self.length, self.width]), self.height
        box = self.box
        return craton.Scenario(
            title="P on a mountain",
            method="sem",
            domain={
                "origin": [*(-side).tolist(), -self.depth],
                "size": [self.length, self.width, self.depth + top],
                "element_size": self.element,
            },
            model={
                "kind": "layers",
                "layers": [LAYERS[0] | {"top": top}, LAYERS[1]],
                "topography": self.ground,
            },
            time={"duration": self.duration},
            boundaries={"others": "pml"},
            injection=[
                {
                    "wave": "P",
                    "from": [*(-box).tolist(), self.bottom],
                    "to": [*box.tolist(), top],
                    "incidence": self.incidence,
                    "azimuth": 90,
                    "at": [0, 0, 0],
                    "velocity": 0.01,
                    "wavelet": {"kind": "ricker", "frequency": self.frequency},
                }
            ],
            receivers=[
                {
                    "name": "P",
                    "line": {
                        "from": {"x": -0.39 * self.length, "y": 0, "depth": 0},
                        "to": {"x": 0.39 * self.length, "y": 0, "depth": 0},
                        "count": self.stations,
                    },
                }
            ],
            snapshots=[
                {"name": "section", "quantity": "velocity", "every": 0.5, "plane": {"y": 0}}
            ],
        )

    def on_flat_ground(self, times, x):
        """Return velocities to the east and up of the wave at x on ground without the mountain, (2, times), m/s.

        Parameters
        ----------
        times : (n,) array
            Equally spaced, s.
        x : float
            m.
        """
        names = ("vp", "vs", "rho")
        stack = Stack(
            np.array([LAYERS[1]["top"], 0.0]),
            *(np.array([layer[name] for layer in LAYERS[::-1]], float) for name in names),
        )
        speed, angle = LAYERS[1]["vp"], np.radians(self.incidence)
        slowness = np.sin(angle) / speed
        step, count = float(times[1] - times[0]), 8 * len(times)
        omega = 2 * np.pi * np.fft.rfftfreq(count, step)
        # the incident wave has the wavelet's time at (0, 0, 0); the response counts from the top of the half-space
        late = slowness * x + np.cos(angle) / speed * stack.tops[0]
        spectrum = np.fft.rfft(ricker(times, self.frequency), count) * np.exp(-1j * omega * late)
        moved = response(stack, "P", slowness, omega)
        return np.array(
            [
                0.01 * np.fft.irfft(spectrum * moved.at(0.0, name), count)[: len(times)]
                for name in "rz"
            ]
        )


def ricker(times, frequency):
    """Return Ricker's wavelet at times, s, of a peak frequency, Hz."""
    argument = (np.pi * frequency * times) ** 2
    return (1 - 2 * argument) * np.exp(-argument)


def amplification(section, result):
    """Return positions of stations in the box, m, and their peak velocity over that on flat ground: east, up.

    Parameters
    ----------
    section : Section
    result : Result

    Returns
    -------
    x : (n,) array
    ratio : (2, n) array
    """
    velocity = result.dataset.velocity.sel(component=["E", "Z"]).transpose(
        "component", "receiver", ...
    )
    inside = np.abs(velocity.x.values) < 0.85 * section.box[0]
    flat = section.on_flat_ground(velocity.time.values, 0.0)
    peaks = np.abs(velocity.values[:, inside]).max(axis=2)
    return velocity.x.values[inside], peaks / np.abs(flat).max(axis=1)[:, None]


def draw(section, result, path, times=(0.5, 1.5, 2.5)):
    """Draw sections at some times, records along the ground and the amplification."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(12, 10), layout="constrained")
    grid = figure.add_gridspec(3, len(times), height_ratios=[1, 2, 1])
    frames = result.snapshots["section"].velocity.sel(component="Z")
    x = np.linspace(-0.5, 0.5, 300) * section.length
    for column, time in enumerate(times):
        draw_frame(figure.add_subplot(grid[0, column]), section, frames, time, x)
    records = figure.add_subplot(grid[1, :])
    draw_records(records, section, result.dataset.velocity.sel(component="Z"))
    picture = figure.add_subplot(grid[2, :], sharex=records)
    at, ratio = amplification(section, result)
    for values, label in zip(ratio, ("to the east", "up")):
        picture.plot(at, values, "o-", markersize=3, label=label)
    picture.fill_between(x, section.ground(x, 0) / section.height, color="0.85")
    picture.axhline(1, color="0.5", linewidth=0.7)
    words = "peak velocity / on flat ground"
    picture.set(
        xlabel="x, m",
        ylabel=words,
        ylim=(0, None),
        xlim=(-0.4 * section.length, 0.4 * section.length),
    )
    picture.legend()
    figure.savefig(path, dpi=100)


def draw_frame(axes, section, frames, time, x):
    """Draw the vertical velocity in the section at one time."""
    frame = frames.sel(time=time, method="nearest")
    axes.pcolormesh(frame.x, frame.z, frame, vmin=-0.008, vmax=0.008, cmap="RdBu_r")
    axes.plot(x, section.ground(x, 0), "k", linewidth=1)
    half = section.box[0]
    axes.plot(
        [-half, -half, half, half], [0, section.bottom, section.bottom, 0], "k--", linewidth=0.8
    )
    axes.axhline(LAYERS[1]["top"], color="0.5", linewidth=0.5)
    limits = {"xlim": (-0.39 * section.length, 0.39 * section.length), "ylim": (-4000, 1300)}
    axes.set(title=f"vertical velocity at {float(frame.time):.1f} s", aspect="equal", **limits)
    axes.set_xticks([-5000, 0, 5000])


def draw_records(axes, section, velocity):
    """Draw vertical velocities along the ground: the full field in the box, the scattered one outside."""
    spacing = float(velocity.x[1] - velocity.x[0])
    inside = np.abs(velocity.x.values) < section.box[0]
    size = 1.6 * spacing / float(abs(velocity).max())
    mixed = ~inside & (np.abs(velocity.x.values) < section.box[0] + section.element)
    for trace, within, skipped in zip(velocity.transpose("receiver", "time"), inside, mixed):
        if skipped:  # records of the elements around the box mix both fields
            continue
        scale, colour = (size, "k") if within else (4 * size, "tab:blue")
        axes.plot(float(trace.x) + scale * trace, trace.time, colour, linewidth=0.6)
    speed = RAYLEIGH * LAYERS[0]["vs"]
    for side in (-1, 1):
        ends = np.array([section.box[0], 0.39 * section.length])
        axes.plot(side * ends, 0.4 + ends / speed, "r--", linewidth=1)
        axes.axvline(side * section.box[0], color="0.5", linewidth=0.8)
    axes.set(ylim=(section.duration, -1), ylabel="time, s")
    axes.set_title(
        f"vertical velocity along the ground; blue: scattered, 4 times larger; red: {speed:.0f} m/s"
    )


def main(path="teleseism_mountain.png"):
    """Run and draw."""
    section = Section()
    result = craton.run(section.scenario(), progress=False)
    draw(section, result, path)
    x, ratio = amplification(section, result)
    for values, name in zip(ratio, ("to the east", "up")):
        largest, least = values.argmax(), values.argmin()
        print(
            f"peak velocity {name}: {values[largest]:.2f} times that on flat ground at x = {x[largest]:.0f} m, "
            f"{values[least]:.2f} times at {x[least]:.0f} m"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
