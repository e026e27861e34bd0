"""Plane waves, and the wave along a sea floor, as initial states of spectral elements: their speeds by degree and in anisotropic media,
reflection at faces.

A pulse exp(-(s / width)^2 / 2) along s = n . x - c t fills the box at the start. At its centre the motion is that of the infinite medium
until what the faces do arrives with the fastest wave: no source, no interpolation and no absorbing face take part. The shortest waves of a
mesh, with which faces answer, run ahead of the fastest wave: faces are 1.25 times its way off. The leapfrog's error in time is in the exact
solution, too: a wavenumber k has the frequency 2 / dt asin(c k dt / 2).
"""

from dataclasses import dataclass

import numpy as np

from craton.validation.compare import merged, misfit, row, runs
from craton.validation.exact.lines import scholte_speed
from craton.validation.spectral import positions, prepared, recorded, without_source

WAVELENGTH = 1000.0  # m, where a pulse's spectrum is 1 % of its peak
WIDTH = np.sqrt(2 * np.log(100)) / (2 * np.pi) * WAVELENGTH
BEFORE = 2.4 * WIDTH  # m, way of a pulse's middle up to where it is looked at, and behind it
DIRECTION = np.array([1.0, 0.6, 0.3]) / np.linalg.norm([1.0, 0.6, 0.3])
ACROSS = np.array([0.6, -1.0, 0.0]) / np.linalg.norm([0.6, -1.0, 0.0])
DOWN = np.array([0.0, 0.0, -1.0])
VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


@dataclass(frozen=True)
class Wave:
    """A pulse along a unit vector, with a speed, m/s, whose middle is `before` m from the origin at the start; dt: step, s."""

    direction: np.ndarray
    polarisation: np.ndarray
    speed: float
    before: float
    dt: float

    def line(self, step):
        """Return the pulse after some steps as a function of n . x."""
        from scipy.interpolate import CubicSpline

        n = 2048
        s = (np.arange(n) - n // 2) * (40 * WAVELENGTH / n)
        k = 2 * np.pi * np.fft.rfftfreq(n, s[1] - s[0])
        spectrum = np.fft.rfft(np.exp(-0.5 * (s / WIDTH) ** 2))
        half = np.clip(self.speed * k * self.dt / 2, 0, 1)
        return CubicSpline(s - self.before, np.fft.irfft(spectrum * np.exp(-2j * np.arcsin(half) * step), n))

    def motion(self, xyz, step):
        """Displacement after some steps, (n, 3)."""
        return self.line(step)(xyz @ self.direction)[:, None] * self.polarisation

    def rate(self, steps, place=(0, 0, 0)):
        """Velocity along the polarisation at a place as it is sampled, half a step after 0, 1 ... steps - 1."""
        return np.diff([float(self.line(n)(np.dot(place, self.direction))) for n in range(steps + 1)]) / self.dt


def run_waves(tables, device, waves):
    """Run from pulses (direction, polarisation, speed, before) in a solid: the samples (steps, channels), and the `Wave`s."""
    scenario = without_source(tables)
    d, planned = prepared(scenario)
    waves, xyz = [Wave(*wave, planned.dt) for wave in waves], positions(d)
    now, before = (sum(wave.motion(xyz, step) for wave in waves) for step in (0, -1))
    fields = {"displacement": now, "velocity": (now - before) / planned.dt}
    return recorded(scenario, planned, device, fields), waves


def degrees(case, device):
    """Run a plane S wave across elements of 0.8 wavelengths by degree: the error falls by a like factor from each to the next."""
    rows = []
    for degree, limit in zip(case["degrees"], case["limits"]):
        tables = merged(case["scenario"], {"run": {"degree": degree}})
        computed, (wave,) = run_waves(tables, device, [(DIRECTION, ACROSS, tables["model"]["vs"], BEFORE)])
        error = misfit(computed, wave.rate(len(computed))[:, None] * ACROSS)
        rows.append(row(f"plane S wave, degree {degree}, edges of 0.8 wavelengths: velocity", error, limit))
    return rows


def christoffel(model, direction):
    """Speeds of the three plane waves along a direction, m/s, rising, and their polarisations, (3, 3), a row each."""
    tensor = np.zeros((3, 3, 3, 3))
    for name, value in model["stiffness"].items():
        a, b = VOIGT[int(name[1]) - 1], VOIGT[int(name[2]) - 1]
        for (i, j), (k, m) in ((a, b), (b, a)):
            for p, q in ((i, j), (j, i)):
                tensor[p, q, k, m] = tensor[p, q, m, k] = value / model["rho"]
    squares, axes = np.linalg.eigh(np.einsum("ijkm,j,m->ik", tensor, direction, direction))
    return np.sqrt(squares), axes.T


def anisotropy(case, device):
    """Three pulses at once in a medium of 21 constants, told apart by their polarisations: speeds against Christoffel's equation."""
    rows, points = [], 4 * WAVELENGTH / case["scenario"]["domain"]["element_size"]
    for direction in case["directions"]:
        direction = np.array(direction) / np.linalg.norm(direction)
        speeds, axes = christoffel(case["scenario"]["model"], direction)
        pulses = [(direction, axis, c, c * BEFORE / speeds[0]) for c, axis in zip(speeds, axes)]
        computed, waves = run_waves(case["scenario"], device, pulses)
        label = f"21 constants, {points:g} points per wavelength, along ({', '.join(f'{n:.2f}' for n in direction)}):"
        for name, wave in zip(("slower S", "faster S", "P"), waves):
            expected = wave.rate(len(computed))
            slope = np.gradient(expected, wave.dt)
            late = (computed @ wave.polarisation - expected) @ slope / (slope @ slope)
            text = f"{label} speed of the {name} wave, {wave.speed:.1f} m/s"
            rows.append(row(text, abs(late) / (BEFORE / speeds[0]), case["limit"]))
    return rows


def absorbing_face(case, device):
    """P and S waves that meet an absorbing face at a right angle: what it sends back, over what arrives, on the face."""
    model, low = case["scenario"]["model"], case["scenario"]["domain"]["origin"][2]
    pulses = [(DOWN, np.array([1.0, 0, 0]), model["vs"], BEFORE + low), (DOWN, DOWN, model["vp"], BEFORE + low)]
    computed, waves = run_waves(case["scenario"], device, pulses)
    errors = [misfit(computed @ wave.polarisation, wave.rate(len(computed), (0, 0, low))) for wave in waves]
    text = "{} wave onto an absorbing face at a right angle: reflected amplitude"
    return [row(text.format(name), error, case["limit"]) for name, error in zip("SP", errors)]


def sea_floor(case, device):
    """Run a P wave in water onto rock at a right angle: the coefficients follow from pressure and motion on the interface."""
    scenario, (water, rock) = without_source(case["scenario"]), case["scenario"]["model"]["layers"]
    d, planned = prepared(scenario)
    wave = Wave(DOWN, np.zeros(3), water["vp"], 4.5 * WIDTH, planned.dt)  # nothing has reached the rock at the start
    height = positions(d, fluid=True) @ DOWN
    now, earlier = wave.line(0)(height), wave.line(-1)(height)
    samples = recorded(scenario, planned, device, {"potential": now, "potential_rate": (now - earlier) / planned.dt})
    series = {(c.quantity, c.component): samples[:, n] for n, c in enumerate(planned.channels)}
    (pressure,) = (values for (quantity, _), values in series.items() if quantity == "pressure")
    lines = [wave.line(step) for step in range(-1, len(samples) + 1)]
    incident = -np.diff([line(0.0) for line in lines], 2) / planned.dt**2  # pressure at whole steps
    # vertical velocity half a step later
    moving = -np.diff([line(0.0, 1) for line in lines[1:]]) / planned.dt / water["rho"]
    z1, z2 = water["rho"] * water["vp"], rock["rho"] * rock["vp"]
    pairs = (
        ("reflected pressure", pressure - incident, incident, (z2 - z1) / (z2 + z1)),
        ("transmitted motion", series["velocity", "Z"], moving, 2 * z1 / (z2 + z1)),
    )
    return [
        row(
            f"water over rock, at a right angle: {label}, {expected:.4f} of the incident one",
            abs(computed @ unit / (unit @ unit) - expected),
            case["limit"],
        )
        for label, computed, unit, expected in pairs
    ]


def interface_wave(case, device):
    """Run the wave along the plane between water and rock from its exact motion: speed, from the phase at one place on it."""
    rows = []
    for run in runs(case):
        scenario, (water, rock) = without_source(run["scenario"]), run["scenario"]["model"]["layers"]
        d, planned = prepared(scenario)
        mode, dt = Scholte(water, rock), planned.dt
        solid, fluid = positions(d), positions(d, fluid=True)
        now, before = (
            (mode.displacement(solid, -a), mode.potential(fluid, -a)) for a in mode.angle(np.array([0, -1]), dt)
        )
        fields = {"displacement": now[0], "velocity": (now[0] - before[0]) / dt}
        fields |= {"potential": now[1], "potential_rate": (now[1] - before[1]) / dt}
        computed = recorded(scenario, planned, device, fields)[:, 2]
        expected, faster, slower = (mode.rate(len(computed), dt, factor) for factor in (1, 1 + 1e-5, 1 - 1e-5))
        slope = (faster - slower) / 2e-5
        error = abs((computed - expected) @ slope / (slope @ slope))
        rows.append(row(run["what"].format(speed=mode.c), error, run["limit"]))
    return rows


class Scholte:
    """The wave's motion, of amplitude 1 for the rock's P potential (Scholte 1942): theta = k x - omega t."""

    def __init__(self, water, rock, k=2 * np.pi / WAVELENGTH):
        self.c = scholte_speed((water["vp"], water["rho"]), (rock["vp"], rock["vs"], rock["rho"]))
        self.k, self.rho = k, water["rho"]
        # decay of P and S waves in the rock, of sound in the water, over k; amplitude of the S potential
        self.p, self.s, self.f = (np.sqrt(1 - (self.c / v) ** 2) for v in (rock["vp"], rock["vs"], water["vp"]))
        self.shear = -2 * self.p / (1 + self.s**2)

    def angle(self, step, dt, factor=1.0):
        """omega t after some steps of the leapfrog, of a wave so many times as fast."""
        return 2 * step * np.arcsin(factor * self.c * self.k * dt / 2)

    def displacement(self, xyz, phase):
        """Displacement of the rock, (n, 3); phase = -omega t."""
        theta, z = self.k * xyz[:, 0] + phase, self.k * np.minimum(xyz[:, 2], 0)
        p, s = np.exp(self.p * z), self.shear * np.exp(self.s * z)
        return np.stack([-(p + self.s * s) * np.sin(theta), 0 * theta, (self.p * p + s) * np.cos(theta)], axis=1)

    def potential(self, xyz, phase):
        """Potential of the water, (n,), such that vertical motion is the rock's."""
        theta, z = self.k * xyz[:, 0] + phase, self.k * np.maximum(xyz[:, 2], 0)
        return -self.rho * (self.p + self.shear) / (self.f * self.k) * np.exp(-self.f * z) * np.cos(theta)

    def rate(self, steps, dt, factor=1.0):
        """Vertical velocity at the origin as it is sampled, of a wave so many times as fast."""
        return np.diff((self.p + self.shear) * np.cos(self.angle(np.arange(steps + 1), dt, factor))) / dt
