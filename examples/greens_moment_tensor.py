"""Moment tensor and place of a local earthquake below a mountain, with their uncertainties, from a store of Green's functions.

    python examples/greens_moment_tensor.py  # three minutes on one core; writes greens_moment_tensor.png

Data are those of a forward run with noise. Three reciprocal runs for each station give the Green's functions of all places on a lattice
around the event; at each place the six moments follow from least squares, and their covariance from the noise (Tarantola 2005, Inverse
Problem Theory, section 3.2). Places weigh as exp(-chi^2 / 2) sqrt(det C), the probability that is left when the moments are integrated out;
an ensemble of places and tensors drawn from it shows what the waveforms do not tell.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import craton
from craton import greens

UNIT = 1e14  # N m
NAMES = ("xx", "yy", "zz", "xy", "xz", "yz")  # east, north and up; the order of `Database.batch`
TRUE = UNIT * np.array([0.35, -0.95, 0.45, 0.6, -0.4, 0.3])
NOISE = 0.3  # of the largest velocity


@dataclass(frozen=True)
class Valley:
    """A mountain with stations around it, and an event below; m and s."""

    size: float = 6000.0
    depth: float = 3600.0
    spacing: float = 120.0
    height: float = 840.0  # of the mountain
    stations: int = 6
    reach: tuple = (0.2, 0.31)  # of the stations from the middle, over the size
    event: tuple = (2940.0, 3180.0, -1380.0)
    around: tuple = (100.0, 100.0, 200.0)  # half the extent of the lattice of places
    step: float = 25.0  # of the lattice
    tau: float = 0.16  # of the wavelet
    duration: float = 4.0
    max_frequency: float = 2.4

    def ground(self):
        """Return the elevation as a table of a scenario."""
        along = np.linspace(0, self.size, 41)
        x, y = np.meshgrid(along, along, indexing="ij")
        away = np.hypot(x - 0.45 * self.size, 0.8 * (y - 0.55 * self.size)) / (0.2 * self.size)
        ridge = 0.3 * np.exp(-(((x - y) / (0.25 * self.size)) ** 2))
        z = self.height * (np.exp(-(away**2)) + ridge - 0.3)
        return {"x": along.tolist(), "y": along.tolist(), "z": z.tolist()}

    def scenario(self):
        """Return the event as a scenario, with the table of the store."""
        azimuth = 2 * np.pi * (np.arange(self.stations) + 0.3) / self.stations
        radius = self.size * np.linspace(*self.reach, self.stations)
        places = 0.5 * self.size + radius * np.array([np.sin(azimuth), np.cos(azimuth)])
        event, around = np.array(self.event), np.array(self.around)
        wavelet = {"kind": "gaussian", "tau": self.tau}
        tensor = dict(zip(NAMES, TRUE.tolist()))
        return craton.Scenario(
            title="A local earthquake below a mountain",
            domain={
                "origin": [0, 0, -self.depth],
                "size": [self.size, self.size, self.depth + self.height + 2 * self.spacing],
                "spacing": self.spacing,
            },
            model={
                "kind": "homogeneous",
                "vp": 3400,
                "vs": 2000,
                "rho": 2400,
                "topography": self.ground(),
            },
            time={"duration": self.duration},
            boundaries={"cpml": {"thickness": 6, "frequency": 1.0}},
            source=[
                {"kind": "moment_tensor", "at": list(self.event), "tensor": tensor}
                | {"wavelet": wavelet}
            ],
            receivers=[
                {"name": f"S{n}", "at": {"x": float(x), "y": float(y), "depth": 0}}
                for n, (x, y) in enumerate(places.T)
            ],
            greens={
                "from": (event - around).tolist(),
                "to": (event + around).tolist(),
                "max_frequency": self.max_frequency,
            },
        )

    def lattice(self):
        """Return the places that are tried: (n, 3)."""
        axes = [
            center + np.arange(-half, half + self.step / 2, self.step)
            for center, half in zip(self.event, self.around)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)


@dataclass(frozen=True)
class Solution:
    """What the waveforms tell of the event.

    Parameters
    ----------
    places : (n, 3) array
        m.
    moments : (n, 6) array
        Best tensor at each place, N m.
    covariances : (n, 6, 6) array
        (N m)^2.
    probability : (n,) array
        Of each place; their sum is 1.
    fit : (receivers, components, times) array
        Velocity of the most probable place and tensor, m/s.
    """

    places: np.ndarray
    moments: np.ndarray
    covariances: np.ndarray
    probability: np.ndarray
    fit: np.ndarray

    @property
    def best(self):
        """Number of the most probable place."""
        return int(np.argmax(self.probability))

    def ensemble(self, count, rng):
        """Draw places and tensors from their probability: (count, 3) and (count, 6)."""
        number = rng.choice(len(self.places), count, p=self.probability)
        factors = np.linalg.cholesky(self.covariances[number])
        steps = np.einsum("nij,nj->ni", factors, rng.standard_normal((count, 6)))
        return self.places[number], self.moments[number] + steps


def observe(scenario, sampling, rng):
    """Return the times, s, the velocities of a forward run with noise, and the noise's standard deviation, m/s."""
    run = craton.run(scenario, progress=False).dataset.velocity
    times = np.arange(sampling, scenario.time.duration - 0.3, sampling)
    velocity = run.interp(time=times, method="cubic").values
    sigma = NOISE * np.abs(velocity).max()
    return times, velocity + sigma * rng.standard_normal(velocity.shape), sigma


def solve(store, places, wavelet, times, observed, sigma):
    """Return the `Solution` on a lattice of places."""
    sampling, unit = times[1] - times[0], UNIT * np.eye(6)
    xyz, six = np.repeat(places, 6, axis=0), np.tile(unit, (len(places), 1))
    velocity, computed = store.batch(xyz, six, wavelet, sampling=sampling)
    where = np.round((times - computed[0]) / sampling).astype(int)
    units = velocity.reshape(len(places), 6, *velocity.shape[1:])[..., where].astype(float)
    design = units.reshape(len(places), 6, -1)
    normal = np.einsum("nat,nbt->nab", design, design)
    numbers = np.linalg.solve(normal, (design @ observed.ravel())[..., None])[..., 0]
    residual = observed.ravel() - np.einsum("na,nat->nt", numbers, design)
    chi_squared = (residual**2).sum(axis=1) / sigma**2
    log = -chi_squared / 2 - np.linalg.slogdet(normal)[1] / 2
    probability = np.exp(log - log.max())
    best = np.argmax(probability)
    return Solution(
        places,
        UNIT * numbers,
        (UNIT * sigma) ** 2 * np.linalg.inv(normal),
        probability / probability.sum(),
        np.einsum("a,a...->...", numbers[best], units[best]),
    )


def scalar(six):
    """Return scalar moments, N m."""
    squares = np.asarray(six) ** 2
    return np.sqrt(squares[..., :3].sum(axis=-1) / 2 + squares[..., 3:].sum(axis=-1))


def lower_hemisphere(six, n=121):
    """Return coordinates on the lower hemisphere, equal area, and the amplitude of P there: (tensors, n, n), nan outside."""
    x, y = np.meshgrid(*[np.linspace(-1, 1, n)] * 2)
    radius = np.hypot(x, y)
    plunge = np.pi / 2 - 2 * np.arcsin(np.minimum(radius, 1) / np.sqrt(2))
    azimuth = np.arctan2(x, y)
    east, north = np.cos(plunge) * np.sin(azimuth), np.cos(plunge) * np.cos(azimuth)
    up = -np.sin(plunge)
    products = [east**2, north**2, up**2, 2 * east * north, 2 * east * up, 2 * north * up]
    return x, y, np.tensordot(six, np.where(radius <= 1, products, np.nan), 1)


def draw(valley, scenario, solution, times, observed, sigma, file, rng):
    """Draw beachball, depth, map and waveforms."""
    import matplotlib.pyplot as plt

    places, six = solution.ensemble(400, rng)
    figure = plt.figure(figsize=(13, 8), layout="constrained")
    grid = figure.add_gridspec(3, 3, width_ratios=[1, 1, 1.5])
    draw_ball(figure.add_subplot(grid[:2, 0]), solution.moments[solution.best], six)
    draw_depth(figure.add_subplot(grid[0, 1]), solution, valley.event[2])
    draw_epicentres(figure.add_subplot(grid[1, 1]), valley, places, rng)
    draw_moments(figure.add_subplot(grid[2, 1]), six)
    draw_map(figure.add_subplot(grid[2, 0]), valley, scenario)
    draw_waveforms(figure.add_subplot(grid[:, 2]), times, observed, solution.fit)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def draw_ball(ax, best, six):
    """Draw where P waves push, as probability, with the nodal lines of the best tensor and the true one."""
    x, y, amplitude = lower_hemisphere(six)
    push = np.where(np.isnan(amplitude[0]), np.nan, (amplitude > 0).mean(axis=0))
    image = ax.pcolormesh(
        x, y, push, cmap="Greys", vmin=0, vmax=1.15, shading="auto", rasterized=True
    )
    for tensor, style in ((best, "-"), (TRUE, "--")):
        color = "C0" if style == "-" else "C3"
        nodal = lower_hemisphere(tensor[None])[2][0]
        ax.contour(x, y, nodal, [0], colors=color, linestyles=style)
        ax.plot([], [], color=color, linestyle=style, label="best" if style == "-" else "true")
    ring = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.sin(ring), np.cos(ring), "k", linewidth=1)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title("lower hemisphere")
    ax.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.5, -0.1), frameon=False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.5, boundaries=np.linspace(0, 1, 101))
    bar.set_label("probability of a push")
    bar.set_ticks([0, 0.5, 1])


def draw_depth(ax, solution, true):
    """Draw the probability of depths."""
    z, which = np.unique(solution.places[:, 2], return_inverse=True)
    ax.barh(z / 1e3, np.bincount(which, solution.probability), 0.8 * (z[1] - z[0]) / 1e3)
    ax.axhline(true / 1e3, color="C3", linestyle="--", label="true")
    ax.set(xlabel="probability", ylabel="elevation of the event, km", title="depth")
    ax.legend(frameon=False)


def draw_epicentres(ax, valley, places, rng):
    """Draw the ensemble of epicentres about the true one; places of the lattice are spread over their cells."""
    off = (places - valley.event)[:, :2] + valley.step * rng.uniform(-0.5, 0.5, (len(places), 2))
    ax.plot(*off.T, "C0.", markersize=3)
    ax.plot(0, 0, "x", color="C3", markersize=9, markeredgewidth=2, label="true")
    ax.set(aspect="equal", xlabel="east of the event, m", ylabel="north, m", title="epicentre")
    ax.legend(frameon=False)


def draw_map(ax, valley, scenario):
    """Draw the ground, the stations and the epicentre."""
    ground = valley.ground()
    x, y, z = (np.array(ground[name]) for name in "xyz")
    levels = ax.contourf(x / 1e3, y / 1e3, z.T, 10, cmap="Greys", alpha=0.7)
    ax.figure.colorbar(levels, ax=ax, label="ground, m")
    at = np.array([[r.at.x, r.at.y] for r in scenario.receivers]) / 1e3
    ax.plot(*at.T, "v", color="C2", markeredgecolor="k")
    for n, place in enumerate(at):
        ax.annotate(f"S{n}", place, xytext=(4, 3), textcoords="offset points", fontsize=8)
    ax.plot(*np.array(valley.event[:2]) / 1e3, "x", color="C3", markersize=9, markeredgewidth=2)
    ax.set(aspect="equal", xlabel="x, km", ylabel="y, km", title="stations and event")


def draw_moments(ax, six):
    """Draw the six moments with two standard deviations of the ensemble."""
    n = np.arange(6)
    ax.errorbar(n, six.mean(axis=0) / UNIT, 2 * six.std(axis=0) / UNIT, fmt="o", capsize=4)
    ax.plot(n, TRUE / UNIT, "x", color="C3", label="true")
    ax.set_xticks(n, NAMES)
    ax.set(ylabel=f"moment, {UNIT:.0e} N m", title="tensor, 2 standard deviations")
    ax.legend(frameon=False)


def draw_waveforms(ax, times, observed, fit):
    """Draw data and fit of each station and component."""
    scale = 0.6 / np.abs(fit).max()
    traces = observed.reshape(-1, len(times)), fit.reshape(-1, len(times))
    for n, (data, computed) in enumerate(zip(*traces)):
        ax.plot(times, scale * data - n, color="0.7", linewidth=1, label="data" if n == 0 else None)
        ax.plot(times, scale * computed - n, "C0", linewidth=1, label="best" if n == 0 else None)
    names = [f"S{n // 3} {'ENZ'[n % 3]}" for n in range(len(traces[0]))]
    ax.set_yticks(-np.arange(len(names)), names)
    ax.set(xlabel="time, s", xlim=times[[0, -1]], ylim=(0.2 - len(names), 0.8))
    ax.set_title("velocity", loc="left")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)


def invert(valley, folder, rng, sampling=0.05):
    """Return scenario, times, data, their noise and the `Solution`; the store is kept in a folder."""
    scenario = valley.scenario()
    times, observed, sigma = observe(scenario, sampling, rng)
    store = greens.build(scenario, Path(folder) / "store", progress=False)
    wavelet = scenario.source[0].wavelet
    solution = solve(store, valley.lattice(), wavelet, times, observed, sigma)
    return scenario, times, observed, sigma, solution


def main(file="greens_moment_tensor.png"):
    """Invert the event, print what is known of it, and draw it."""
    valley, rng = Valley(), np.random.default_rng(7)
    with TemporaryDirectory() as folder:
        scenario, *data, solution = invert(valley, folder, rng)
    places, six = solution.ensemble(2000, rng)
    for name, values, true in zip(NAMES, six.T / UNIT, TRUE / UNIT):
        print(
            f"{name}  {values.mean():6.3f} +- {values.std():.3f}, true {true:.3f}  x {UNIT:.0e} N m"
        )
    moment = scalar(six)
    print(f"M0  {moment.mean():.3g} +- {moment.std():.1g}, true {scalar(TRUE):.3g} N m")
    for axis, values, true in zip("xyz", places.T, valley.event):
        print(f"{axis}   {values.mean():.0f} +- {values.std():.0f}, true {true:.0f} m")
    draw(valley, scenario, solution, *data, file, rng)
    print(file)


if __name__ == "__main__":
    main(*sys.argv[1:2])
