"""Soil in a box of a regional model: a coarse run of the region once, fine runs of the box with and without soil.

    python examples/soil_box.py  # about a minute on two cores; writes soil_box.png

The region has a grid for rock and records its waves at points around a box. The box has a grid for soil and takes them in:
what is inside is computed as if the whole region had that grid, with whatever stands there.
"""

import sys
import tempfile
from dataclasses import dataclass

import numpy as np

import craton

ROCK = {"vp": 3200, "vs": 1800, "rho": 2300}
SOIL = {"vp": 1300, "vs": 600, "rho": 1900}


@dataclass(frozen=True)
class Site:
    """Region, box and soil, in m and s; the ground is at z = 0, the site at x = y = 0."""

    length: float = 9000  # of the region along x, from west to east
    width: float = 6000
    depth: float = 4000
    interface: float = -1400  # elevation of the top of faster rock
    spacing: float = 100  # of the region's grid
    source: tuple = (-4300, -900, -2300)
    frequency: float = 1.0  # of the Ricker wavelet, Hz
    duration: float = 6.0
    half: float = 1040  # half the width of the box
    bottom: float = -360  # of the box
    sampling: float = 150  # of the points around it
    fine: float = 40  # spacing of the box's grid
    margin: float = 640  # of its domain around the box
    radius: float = 800  # of the soil at the ground
    thickness: float = 200  # of the soil in the middle
    stations: int = 49  # along a profile from west to east

    def region(self):
        """Return the region as a scenario that records."""
        west = -5 / 8 * self.length
        return craton.Scenario(
            title="A region",
            domain={
                "origin": [west, -self.width / 2, -self.depth],
                "size": [self.length, self.width, self.depth],
                "spacing": self.spacing,
            },
            model=self.model(),
            time={"duration": self.duration},
            boundaries={"cpml": {"thickness": 8, "frequency": self.frequency}},
            source=[
                {
                    "kind": "moment_tensor",
                    "at": list(self.source),
                    "strike": 20,
                    "dip": 70,
                    "rake": 40,
                    "moment": 1e16,
                    "wavelet": {"kind": "ricker", "frequency": self.frequency},
                }
            ],
            recording=[
                {
                    "name": "site",
                    "from": [-self.half, -self.half, self.bottom],
                    "to": [self.half, self.half, 0],
                    "sampling": self.sampling,
                    "thickness": 3 * self.sampling,
                }
            ],
            receivers=self.profile(),
            run={"order": 8},
        )

    def box(self, folder, soil):
        """Return the box with or without soil, with the waves of the region's run in a folder."""
        edge = self.half + self.margin
        return craton.Scenario(
            title="The site with soil" if soil else "The site without soil",
            domain={
                "origin": [-edge, -edge, self.bottom - self.margin],
                "size": [2 * edge, 2 * edge, self.margin - self.bottom],
                "spacing": self.fine,
            },
            model=self.model(self.basin() if soil else ()),
            time={"duration": self.duration},
            boundaries={"cpml": {"thickness": 8, "frequency": self.frequency}},
            injection=[{"recorded": str(folder), "name": "site"}],
            receivers=self.profile(),
            peaks=[{"name": "ground", "quantities": ["pgv"]}],
        )

    def model(self, anomalies=()):
        """Return two layers of rock."""
        deep = {"vp": 4800, "vs": 2750, "rho": 2600, "top": self.interface}
        layers = [ROCK | {"top": 0}, deep]
        return {"kind": "layers", "layers": layers, "anomalies": list(anomalies)}

    def basin(self):
        """Return the soil: the cap of a sphere, whose centre is far above the ground."""
        sphere = (self.radius**2 + self.thickness**2) / (2 * self.thickness)
        center = [0, 0, sphere - self.thickness]
        return [SOIL | {"shape": "sphere", "center": center, "radius": sphere}]

    def depth_of_soil(self, x):
        """Return the thickness of the soil below positions on the profile, m."""
        sphere = (self.radius**2 + self.thickness**2) / (2 * self.thickness)
        return np.maximum(np.sqrt(sphere**2 - x**2) - sphere + self.thickness, 0)

    def profile(self):
        """Return stations from the west side of the box to its east side."""
        far = 0.8 * self.half
        line = {"from": [-far, 0, 0], "to": [far, 0, 0], "count": self.stations}
        return [{"name": "P", "line": line}]


def run(site, folder):
    """Return the results of the box without and with soil; the region's run is kept in a folder."""
    craton.run(site.region(), out=folder, progress=False)
    return [craton.run(site.box(folder, soil), progress=False) for soil in (False, True)]


def spectral_ratio(rock, soil, component="N", smoothing=0.15):
    """Return the ratio of amplitude spectra with and without soil, both smoothed over `smoothing` Hz.

    Parameters
    ----------
    rock, soil : Result
    component : str
    smoothing : float
        Hz.

    Returns
    -------
    frequency : (n,) array
        Hz.
    ratio : (stations, n) array
    """
    spectra = []
    for result in (rock, soil):
        velocity = result.dataset.velocity.sel(component=component).transpose("receiver", "time")
        step = float(velocity.time[1] - velocity.time[0])
        count = int(60 / step)
        power = np.abs(np.fft.rfft(velocity.values, count)) ** 2
        frequency = np.fft.rfftfreq(count, step)
        width = frequency[:, None] - frequency[frequency < 4][None]
        weights = np.exp(-((width / smoothing) ** 2))
        spectra.append(np.sqrt(power @ weights / weights.sum(axis=0)))
    return frequency[frequency < 4], spectra[1] / spectra[0]


def draw(site, rock, soil, path):
    """Draw records along the profile, their spectral ratio, and the peak velocity on the ground."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    figure, axes = plt.subplots(2, 2, figsize=(12, 8.4), layout="constrained")
    records = [result.dataset.velocity.sel(component="N") for result in (rock, soil)]
    x = records[0].x.values
    size = 2 * (x[2] - x[0]) / float(abs(records[1]).max())
    titles = ("without soil", "with soil")
    for panel, record, title in zip(axes[0], records, titles):
        for trace in record.transpose("receiver", "time")[::2]:
            panel.plot(float(trace.x) + size * trace, trace.time, "k", linewidth=0.7)
        panel.set(title=f"velocity to the north, {title}", xlabel="x, m", ylabel="time, s")
        panel.set(ylim=(site.duration, 0.5))
        panel.plot([-site.radius, site.radius], [0.55] * 2, color="tab:brown", linewidth=4)
    frequency, ratio = spectral_ratio(rock, soil)
    shown = (frequency > 0.3) & (frequency < 2.6)
    picture = axes[1, 0]
    image = picture.pcolormesh(
        x, frequency[shown], ratio[:, shown].T, cmap="magma", vmin=0, vmax=10
    )
    figure.colorbar(image, ax=picture, label="with soil / without")
    deep = site.depth_of_soil(x)
    below = deep > 0.25 * site.thickness
    label = "vs / 4h, one dimension"
    picture.plot(x[below], SOIL["vs"] / 4 / deep[below], "w--", label=label)
    picture.set(title="spectral ratio", xlabel="x, m", ylabel="frequency, Hz", ylim=(0.3, 2.6))
    picture.legend(loc="upper right", facecolor="0.3", labelcolor="w")
    ground = soil.peaks["ground"].pgv.sel(component="H")
    picture = axes[1, 1]
    largest = 100 * float(ground.max())
    image = picture.pcolormesh(
        ground.x, ground.y, 100 * ground, cmap="inferno", norm=LogNorm(largest / 300, largest)
    )
    label = "cm/s; around the box of what the soil scatters"
    figure.colorbar(image, ax=picture, label=label)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * site.half
    picture.plot(*corners.T, "w", linewidth=1)
    angle = np.linspace(0, 2 * np.pi, 100)
    picture.plot(site.radius * np.cos(angle), site.radius * np.sin(angle), "w--", linewidth=1)
    title = "peak horizontal velocity"
    picture.set(title=title, xlabel="x, m", ylabel="y, m", aspect="equal")
    figure.savefig(path, dpi=100)


def main(path="soil_box.png"):
    """Run the region and the box without and with soil, and draw."""
    site = Site()
    with tempfile.TemporaryDirectory() as folder:
        rock, soil = run(site, folder)
    draw(site, rock, soil, path)
    frequency, ratio = spectral_ratio(rock, soil)
    middle = ratio[site.stations // 2]
    band = (frequency > 0.4) & (frequency < 2.0)
    peak = frequency[band][middle[band].argmax()]
    resonance = SOIL["vs"] / 4 / site.thickness
    print(
        f"largest ratio in the middle {middle[band].max():.1f} at {peak:.2f} Hz, vs / 4h = {resonance:.2f} Hz"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
