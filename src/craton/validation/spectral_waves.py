"""Plane waves as initial states of spectral elements: their speeds by degree and in anisotropic
media, reflection at faces.

A pulse exp(-(s / width)^2 / 2) along s = n . x - c t fills the box at the start. At its centre the
motion is that of the infinite medium until what the faces do arrives with the fastest wave: no
source, no interpolation and no absorbing face take part. The leapfrog's error in time is in the
exact solution, too: a wavenumber k has the frequency 2 / dt asin(c k dt / 2).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from craton.scenario import SpectralScenario
from craton.validation.compare import misfit, row
from craton.validation.exact.guided import scholte_speed
from craton.validation.guided import BOTTOMS, WATER
from craton.validation.spectral import UNUSED, positions, prepared, recorded

WAVELENGTH = 1000.0  # m, where a pulse's spectrum is 1 % of its peak
WIDTH = np.sqrt(2 * np.log(100)) / (2 * np.pi) * WAVELENGTH
BEFORE = 2.4 * WIDTH  # m, way of a pulse's middle up to where it is looked at, and behind it
# times the way of the fastest wave are the faces away: the shortest waves of a mesh, with which
# faces answer, run ahead of it
AWAY = 1.25
VP, VS, RHO = 3464.0, 2000.0, 2500.0
DIRECTION = np.array([1.0, 0.6, 0.3]) / np.linalg.norm([1.0, 0.6, 0.3])
ACROSS = np.array([0.6, -1.0, 0.0]) / np.linalg.norm([0.6, -1.0, 0.0])
SPEED_LIMIT = 1e-3
# Relative L2 of a plane S wave that has crossed three elements, by degree; about twice what is
# reached.
DEGREE_LIMITS = {2: 0.15, 3: 0.02, 4: 0.002, 5: 5e-4, 6: 4e-5}
REFLECTION_LIMIT = 0.005
INTERFACE_LIMIT = 0.005
SCHOLTE_LIMIT = 0.003


@dataclass(frozen=True)
class Wave:
    """A pulse.

    Parameters
    ----------
    direction, polarisation : (3,)
        Unit vectors.
    speed : float
        m/s.
    before : float
        Distance of its middle from the origin at the start, m, against its direction.
    dt : float
        Step, s.
    """

    direction: np.ndarray
    polarisation: np.ndarray
    speed: float
    before: float
    dt: float

    @cached_property
    def _spectrum(self):
        """Wavenumbers and the pulse's spectrum on a line of 40 wavelengths."""
        n = 2048
        s = (np.arange(n) - n // 2) * (40 * WAVELENGTH / n)
        k = 2 * np.pi * np.fft.rfftfreq(n, s[1] - s[0])
        return s, k, np.fft.rfft(np.exp(-0.5 * (s / WIDTH) ** 2))

    def line(self, step):
        """Return the pulse after some steps as a function of n . x."""
        from scipy.interpolate import CubicSpline

        s, k, spectrum = self._spectrum
        half = np.clip(self.speed * k * self.dt / 2, 0, 1)
        return CubicSpline(s - self.before, np.fft.irfft(spectrum * np.exp(-2j * np.arcsin(half) * step), len(s)))

    def motion(self, xyz, step):
        """Displacement after some steps, (n, 3)."""
        return self.line(step)(xyz @ self.direction)[:, None] * self.polarisation

    def history(self, steps, place=(0, 0, 0)):
        """Displacement along the polarisation at a place after 0, 1 ... steps."""
        at = float(np.dot(place, self.direction))
        return np.array([self.line(step)(at) for step in range(steps + 1)])

    def rate(self, steps, place=(0, 0, 0)):
        """Velocity there as it is sampled, half a step after 0, 1 ... steps - 1."""
        return np.diff(self.history(steps, place)) / self.dt


def initial(waves, xyz):
    """Displacement at the start and velocity half a step before of some waves together."""
    now, before = (sum(wave.motion(xyz, step) for wave in waves) for step in (0, -1))
    return {"displacement": now, "velocity": (now - before) / waves[0].dt}


def scenario_of(model, size, spacing, duration, places=((0, 0, 0),), step=None, low=None, **tables):
    """Return a box about the origin with absorbing faces and receivers; float64."""
    # even: the origin is a corner of elements
    count = np.maximum(2 * np.ceil(np.broadcast_to(size, 3) / (2 * spacing)), 2)
    origin = -count * spacing / 2
    if low is not None:
        origin[2] = low
    return SpectralScenario(
        domain={"origin": origin.tolist(), "size": (count * spacing).tolist(), "element_size": spacing},
        model=model,
        time={"duration": duration, "start": 0, "step": step},
        boundaries={"top": "stacey", "others": "stacey"},
        source=[UNUSED],
        receivers=[{"name": f"R{n}", "at": list(map(float, x))} for n, x in enumerate(places)],
        **{"run": {"precision": "float64"}, **tables},
    )


# --- degrees --------------------------------------------------------------------------------------


def degrees(device, limits=DEGREE_LIMITS, edge=0.8):
    """Return a plane S wave across elements of 0.8 wavelengths by degree: the error falls by a like
    factor from each to the next.
    """
    return [
        row(f"plane S wave, degree {n}, edges of {edge:g} wavelengths: velocity", shear_error(n, edge, device), limit)
        for n, limit in limits.items()
    ]


def shear_error(degree, edge, device):
    """Misfit at the middle of a box, over all of the pulse but its end."""
    duration = 2 * BEFORE / VS
    scenario = scenario_of(
        {"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        2 * AWAY * VP * duration,
        edge * WAVELENGTH,
        duration,
        run={"degree": degree, "precision": "float64"},
    )
    d, planned = prepared(scenario)
    wave = Wave(DIRECTION, ACROSS, VS, BEFORE, planned.dt)
    computed = recorded(scenario, planned, device, initial([wave], positions(d)))
    return misfit(computed, wave.rate(len(computed))[:, None] * ACROSS)


# --- anisotropy -----------------------------------------------------------------------------------

# Orthorhombic: shale with vertical cracks, over density, km2/s2 (Schoenberg & Helbig 1997,
# Geophysics 62, 1954-1974, eq. 4).
SHALE = {"11": 9.0, "22": 9.84, "33": 5.9375, "12": 3.6, "13": 2.25, "23": 2.4, "44": 2.0, "55": 1.6, "66": 2.182}
TILT = (0.5, 0.4, -0.3)  # rad, about x, y, z: no constant of the 21 is zero then
PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def tilted(angles=TILT):
    """Return the shale's tensor, turned: (3, 3, 3, 3), m2/s2."""
    c = np.zeros((3, 3, 3, 3))
    for name, value in SHALE.items():
        a, b = PAIRS[int(name[0]) - 1], PAIRS[int(name[1]) - 1]
        for (i, j), (k, m) in ((a, b), (b, a)):
            for p, q in ((i, j), (j, i)):
                c[p, q, k, m] = c[p, q, m, k] = 1e6 * value
    turn = np.eye(3)
    for axis, angle in enumerate(angles):
        rotation = np.eye(3)
        a, b = (axis + 1) % 3, (axis + 2) % 3
        rotation[a, a] = rotation[b, b] = np.cos(angle)
        rotation[a, b], rotation[b, a] = -np.sin(angle), np.sin(angle)
        turn = rotation @ turn
    return np.einsum("ip,jq,kr,ms,pqrs->ijkm", turn, turn, turn, turn, c)


def constants(tensor):
    """Return the scenario's 21 constants of a tensor over density."""
    return {f"c{a + 1}{b + 1}": float(RHO * tensor[PAIRS[a] + PAIRS[b]]) for a in range(6) for b in range(a, 6)}


def christoffel(tensor, direction):
    """Speeds of the three plane waves along a direction, m/s, rising, and their polarisations, (3,
    3), a row each.
    """
    squares, axes = np.linalg.eigh(np.einsum("ijkm,j,m->ik", tensor, direction, direction))
    return np.sqrt(squares), axes.T


def anisotropic(device, directions=((1, 0.6, 0.3),), points=5):
    """Speeds of the three plane waves in a medium of 21 constants against Christoffel's equation."""
    return [
        case
        for direction in directions
        for case in anisotropic_rows(np.array(direction) / np.linalg.norm(direction), points, device)
    ]


def anisotropic_rows(direction, points, device):
    """One direction: three pulses at once, told apart by their polarisations."""
    tensor = tilted()
    speeds, axes = christoffel(tensor, direction)
    arrival = BEFORE / speeds[0]
    duration, fastest = 2 * arrival, np.sqrt(1e6 * max(SHALE.values())) * 1.01
    scenario = scenario_of(
        {"kind": "homogeneous", "rho": RHO, "stiffness": constants(tensor)},
        2 * AWAY * fastest * duration,
        4 * WAVELENGTH / points,
        duration,
    )
    d, planned = prepared(scenario)
    waves = [Wave(direction, axis, c, c * arrival, planned.dt) for c, axis in zip(speeds, axes)]
    computed = recorded(scenario, planned, device, initial(waves, positions(d)))
    label = f"21 constants, {points:g} points per wavelength, along ({', '.join(f'{n:.2f}' for n in direction)}):"
    rows = []
    for name, wave in zip(("slower S", "faster S", "P"), waves):
        error = abs(late(computed @ wave.polarisation, wave.rate(len(computed)), planned.dt)) / arrival
        rows.append(row(f"{label} speed of the {name} wave, {wave.speed:.1f} m/s", error, SPEED_LIMIT))
    return rows


def late(computed, expected, dt):
    """By how much time a record is behind another of almost its shape, s."""
    slope = np.gradient(expected, dt)
    return -((computed - expected) @ slope) / (slope @ slope)


# --- faces ----------------------------------------------------------------------------------------


def absorbed(device, points=5):
    """P and S waves that meet an absorbing face at a right angle: what it sends back, over what
    arrives, on the face.
    """
    spacing, duration = 4 * WAVELENGTH / points, 2 * BEFORE / VS
    low = -2 * spacing
    wide, high = 2 * AWAY * VP * duration, AWAY * VP * duration
    scenario = scenario_of(
        {"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        [wide, wide, high],
        spacing,
        duration,
        places=[(0, 0, low)],
        low=low,
    )
    d, planned = prepared(scenario)
    down = np.array([0.0, 0.0, -1.0])
    waves = [Wave(down, axis, c, BEFORE + low, planned.dt) for c, axis in ((VS, np.array([1.0, 0, 0])), (VP, down))]
    computed, rows = recorded(scenario, planned, device, initial(waves, positions(d))), []
    for name, wave in zip(("S", "P"), waves):
        expected = wave.rate(len(computed), (0, 0, low))
        rows.append(
            row(
                f"{name} wave onto an absorbing face at a right angle: reflected amplitude",
                misfit(computed @ wave.polarisation, expected),
                REFLECTION_LIMIT,
            )
        )
    return rows


def sea_floor(device, points=6):
    """Return a P wave in water that meets rock at a right angle: pressure and motion on the
    interface, of which the coefficients follow.
    """
    (vf, rhof), (vp, vs, rho) = WATER, BOTTOMS["hard bottom"]
    above = 4.5 * WIDTH  # nothing has reached the rock at the start
    spacing, duration = 4 * WAVELENGTH / points, (above + BEFORE) / vf
    wide, high = 2 * AWAY * vp * duration, AWAY * vf * duration
    layers = [{"top": 1e6, "vp": vf, "vs": 0, "rho": rhof}, {"top": 0, "vp": vp, "vs": vs, "rho": rho}]
    low = spacing * np.floor(-AWAY * vp * duration / 4 / spacing)
    scenario = scenario_of(
        {"kind": "layers", "layers": layers},
        [wide, wide, high - low],
        spacing,
        duration,
        low=low,
        output={"waveforms": ["pressure", "velocity"]},
    )
    d, planned = prepared(scenario)
    wave = Wave(np.array([0.0, 0.0, -1.0]), np.zeros(3), vf, above, planned.dt)
    height = positions(d, fluid=True) @ wave.direction
    now, earlier = wave.line(0)(height), wave.line(-1)(height)
    samples = recorded(scenario, planned, device, {"potential": now, "potential_rate": (now - earlier) / planned.dt})
    series = {(c.quantity, c.component): samples[:, n] for n, c in enumerate(planned.channels)}
    pressure = next(values for (quantity, _), values in series.items() if quantity == "pressure")
    lines = [wave.line(step) for step in range(-1, len(samples) + 1)]
    incident = -np.diff([line(0.0) for line in lines], 2) / planned.dt**2  # pressure at whole steps
    # vertical velocity half a step later
    moving = -np.diff([line(0.0, 1) for line in lines[1:]]) / planned.dt / rhof
    water, rock = rhof * vf, rho * vp
    pairs = (
        ("reflected pressure", pressure, incident, 1, (rock - water) / (rock + water)),
        ("transmitted motion", series["velocity", "Z"], moving, 0, 2 * water / (rock + water)),
    )
    return [
        row(
            f"water over rock, at a right angle: {label}, {expected:.4f} of the incident one",
            abs((computed_wave @ unit_wave) / (unit_wave @ unit_wave) - more - expected),
            INTERFACE_LIMIT,
        )
        for label, computed_wave, unit_wave, more, expected in pairs
    ]


# --- along an interface ---------------------------------------------------------------------------


def scholte(device, points=8, bottoms=tuple(BOTTOMS)):
    """Return the wave along the plane between water and rock, from its exact motion: speed, from
    the phase at one place on the interface.
    """
    return [scholte_row(name, points, device) for name in bottoms]


def scholte_row(name, points, device):
    """One bottom, GLL points per wavelength."""
    bottom, k = BOTTOMS[name], 2 * np.pi / WAVELENGTH
    c = scholte_speed(WATER, bottom)
    duration, spacing = 0.7 * WAVELENGTH / c, 4 * WAVELENGTH / points
    layers = [
        {"top": 1e6, "vp": WATER[0], "vs": 0, "rho": WATER[1]},
        {"top": 0, **dict(zip(("vp", "vs", "rho"), bottom))},
    ]
    size = 2 * AWAY * bottom[0] * duration
    scenario = scenario_of({"kind": "layers", "layers": layers}, size, spacing, duration, places=[(0, 0, -1e-3)])
    d, planned = prepared(scenario)
    dt, mode = planned.dt, Scholte(c, k, bottom)
    steps = [-mode.angle(step, dt) for step in (0, -1)]
    (solid, before), (fluid, earlier) = (
        [field(xyz, phase) for phase in steps]
        for field, xyz in ((mode.displacement, positions(d)), (mode.potential, positions(d, fluid=True)))
    )
    fields = {
        "displacement": solid,
        "velocity": (solid - before) / dt,
        "potential": fluid,
        "potential_rate": (fluid - earlier) / dt,
    }
    computed = recorded(scenario, planned, device, fields)[:, 2]
    expected = mode.rate(len(computed), dt)
    slope = (mode.rate(len(computed), dt, 1 + 1e-5) - mode.rate(len(computed), dt, 1 - 1e-5)) / 2e-5
    error = abs((computed - expected) @ slope / (slope @ slope))
    return row(f"Scholte wave, {name}, {points:g} points per wavelength: speed, {c:.1f} m/s", error, SCHOLTE_LIMIT)


@dataclass(frozen=True)
class Scholte:
    """The wave's motion, of amplitude 1 for the rock's P potential (Scholte 1942): theta = k x -
    omega t.
    """

    c: float
    k: float
    bottom: tuple

    def angle(self, step, dt, factor=1.0):
        """omega t after some steps of the leapfrog."""
        return 2 * step * np.arcsin(factor * self.c * self.k * dt / 2)

    @property
    def decays(self):
        """Of P and S waves in the rock, of sound in the water, over k; amplitude of the S
        potential.
        """
        a, b, f = (np.sqrt(1 - (self.c / v) ** 2) for v in (*self.bottom[:2], WATER[0]))
        return a, b, f, -2 * a / (1 + b**2)

    def displacement(self, xyz, phase):
        """Of the rock, (n, 3); phase = -omega t."""
        a, b, _, shear = self.decays
        theta, z = self.k * xyz[:, 0] + phase, self.k * np.minimum(xyz[:, 2], 0)
        p, s = np.exp(a * z), shear * np.exp(b * z)
        return np.stack([-(p + b * s) * np.sin(theta), 0 * theta, (a * p + s) * np.cos(theta)], axis=1)

    def potential(self, xyz, phase):
        """Of the water, (n,), such that vertical motion is the rock's."""
        a, _, f, shear = self.decays
        theta, z = self.k * xyz[:, 0] + phase, self.k * np.maximum(xyz[:, 2], 0)
        return -WATER[1] * (a + shear) / (f * self.k) * np.exp(-f * z) * np.cos(theta)

    def rate(self, steps, dt, factor=1.0):
        """Vertical velocity at the origin as it is sampled, of a wave so many times as fast."""
        a, _, _, shear = self.decays
        return np.diff((a + shear) * np.cos(self.angle(np.arange(steps + 1), dt, factor))) / dt
