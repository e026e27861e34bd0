"""Plane waves as initial states of spectral elements: their speeds by degree and in anisotropic media, reflection at faces.

A pulse exp(-(s / width)^2 / 2) along s = n . x - c t fills the box at the start. At its centre the motion is that of the infinite medium until
what the faces do arrives with the fastest wave: no source, no interpolation and no absorbing face take part. The leapfrog's error in time is
in the exact solution, too: a wavenumber k has the frequency 2 / dt asin(c k dt / 2).
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from craton.scenario import SpectralScenario
from craton.validation.compare import misfit, row
from craton.validation.spectral import UNUSED, positions, prepared, recorded

WAVELENGTH = 1000.0  # m, where a pulse's spectrum is 1 % of its peak
WIDTH = np.sqrt(2 * np.log(100)) / (2 * np.pi) * WAVELENGTH
HALF = 3.7  # widths: half a pulse, 1e-3 of its peak is left there
VP, VS, RHO = 3464.0, 2000.0, 2500.0
DIRECTION = np.array([1.0, 0.6, 0.3]) / np.linalg.norm([1.0, 0.6, 0.3])
ACROSS = np.array([0.6, -1.0, 0.0]) / np.linalg.norm([0.6, -1.0, 0.0])
SPEED_LIMIT = 1e-3
# Relative L2 of a plane S wave after 1.8 wavelengths in elements of 0.8 wavelengths, by degree; a fifth and less from each to the next.
DEGREE_LIMITS = {2: 0.6, 3: 0.12, 4: 0.01, 5: 2e-3, 6: 3e-4, 7: 5e-5}
REFLECTION_LIMIT = 0.005
INTERFACE_LIMIT = 0.005


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
        """The pulse after some steps as a function of n . x."""
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
    """A box about the origin with absorbing faces and receivers; float64."""
    count = np.maximum(2 * np.ceil(np.broadcast_to(size, 3) / (2 * spacing)), 2)  # even: the origin is a corner of elements
    origin = -count * spacing / 2
    if low is not None:
        origin[2] = low
    return SpectralScenario(
        domain={"origin": origin.tolist(), "size": (count * spacing).tolist(), "spacing": spacing},
        model=model,
        time={"duration": duration, "start": 0, "step": step},
        boundaries={"top": "stacey", "others": "stacey"},
        source=[UNUSED],
        receivers=[{"name": f"R{n}", "at": list(map(float, x))} for n, x in enumerate(places)],
        **{"run": {"precision": "float64"}, **tables},
    )


# --- degrees ------------------------------------------------------------------------------------------------------------------------------


def degrees(device, limits=DEGREE_LIMITS, edge=0.8):
    """A plane S wave across elements of 0.8 wavelengths, or of half that, by degree."""
    return [row(f"plane S wave, degree {n}, edge {edge:g} wavelengths: velocity", shear_error(n, edge, device), limit)
            for n, limit in limits.items()]  # fmt: skip


def shear_error(degree, edge, device):
    """Misfit at the middle of a box when the pulse has passed."""
    before = HALF * WIDTH
    duration = 2 * before / VS
    scenario = scenario_of({"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO}, 2 * VP * duration, edge * WAVELENGTH, duration,
                           run={"degree": degree, "precision": "float64"})  # fmt: skip
    d, planned = prepared(scenario)
    wave = Wave(DIRECTION, ACROSS, VS, before, planned.dt)
    found = recorded(scenario, planned, device, initial([wave], positions(d)))
    wanted = wave.rate(len(found))[:, None] * ACROSS
    return misfit(found, wanted)


# --- anisotropy ---------------------------------------------------------------------------------------------------------------------------

# Orthorhombic: shale with vertical cracks, over density, km2/s2 (Schoenberg & Helbig 1997, Geophysics 62, 1954-1974, eq. 4).
SHALE = {"11": 9.0, "22": 9.84, "33": 5.9375, "12": 3.6, "13": 2.25, "23": 2.4, "44": 2.0, "55": 1.6, "66": 2.182}
TILT = (0.5, 0.4, -0.3)  # rad, about x, y, z: no constant of the 21 is zero then
PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def tilted(angles=TILT):
    """The shale's tensor, turned: (3, 3, 3, 3), m2/s2."""
    c = np.zeros((3, 3, 3, 3))
    for name, value in SHALE.items():
        a, b = PAIRS[int(name[0]) - 1], PAIRS[int(name[1]) - 1]
        for (i, j), (k, m) in ((a, b), (b, a)):
            for p, q in ((i, j), (j, i)):
                c[p, q, k, m] = c[p, q, m, k] = 1e6 * value
    turn = np.eye(3)
    for axis, angle in enumerate(angles):
        one = np.eye(3)
        a, b = (axis + 1) % 3, (axis + 2) % 3
        one[a, a] = one[b, b] = np.cos(angle)
        one[a, b], one[b, a] = -np.sin(angle), np.sin(angle)
        turn = one @ turn
    return np.einsum("ip,jq,kr,ms,pqrs->ijkm", turn, turn, turn, turn, c)


def constants(tensor):
    """The scenario's 21 constants of a tensor over density."""
    return {f"c{a + 1}{b + 1}": float(RHO * tensor[PAIRS[a] + PAIRS[b]]) for a in range(6) for b in range(a, 6)}


def christoffel(tensor, direction):
    """Speeds of the three plane waves along a direction, m/s, rising, and their polarisations, (3, 3), a row each."""
    squares, axes = np.linalg.eigh(np.einsum("ijkm,j,m->ik", tensor, direction, direction))
    return np.sqrt(squares), axes.T


def anisotropic(device, directions=((1, 0.6, 0.3), (-0.2, 0.5, 1)), points=5, distort=None):
    """Speeds of the three plane waves in a medium of 21 constants against Christoffel's equation."""
    return [one for direction in directions for one in anisotropic_rows(np.array(direction) / np.linalg.norm(direction), points, device)]


def anisotropic_rows(direction, points, device):
    """One direction: three pulses at once, told apart by their polarisations."""
    tensor = tilted()
    speeds, axes = christoffel(tensor, direction)
    arrival = HALF * WIDTH / speeds[0]
    duration, fastest = 2 * arrival, np.sqrt(1e6 * max(SHALE.values())) * 1.01
    scenario = scenario_of({"kind": "homogeneous", "rho": RHO, "stiffness": constants(tensor)}, 2 * fastest * duration,
                           4 * WAVELENGTH / points, duration)  # fmt: skip
    d, planned = prepared(scenario)
    waves = [Wave(direction, axis, c, c * arrival, planned.dt) for c, axis in zip(speeds, axes)]
    found = recorded(scenario, planned, device, initial(waves, positions(d)))
    what = f"21 constants, {points:g} points per wavelength, along ({', '.join(f'{n:.2f}' for n in direction)}):"
    rows = []
    for name, wave in zip(("slower S", "faster S", "P"), waves):
        error = abs(late(found @ wave.polarisation, wave.rate(len(found)), planned.dt)) / arrival
        rows.append(row(f"{what} speed of the {name} wave, {wave.speed:.1f} m/s", error, SPEED_LIMIT))
    return rows


def late(found, wanted, dt):
    """By how much time a record is behind another of almost its shape, s."""
    slope = np.gradient(wanted, dt)
    return -((found - wanted) @ slope) / (slope @ slope)


# --- faces --------------------------------------------------------------------------------------------------------------------------------


def absorbed(device, points=5):
    """P and S waves that meet an absorbing face at a right angle: what it sends back, over what arrives, on the face."""
    before, spacing = HALF * WIDTH, 4 * WAVELENGTH / points
    duration = 2 * before / VS
    low = -2 * spacing
    scenario = scenario_of({"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO}, [2 * VP * duration] * 2 + [VP * duration + 3 * before],
                           spacing, duration, places=[(0, 0, low)], low=low)  # fmt: skip
    d, planned = prepared(scenario)
    down = np.array([0.0, 0.0, -1.0])
    waves = [Wave(down, axis, c, before + low, planned.dt) for c, axis in ((VS, np.array([1.0, 0, 0])), (VP, down))]
    found = recorded(scenario, planned, device, initial(waves, positions(d)))
    rows = []
    for name, wave in zip(("S", "P"), waves):
        wanted = wave.rate(len(found), (0, 0, low))
        rows.append(row(f"{name} wave onto an absorbing face at a right angle: reflected amplitude",
                        misfit(found @ wave.polarisation, wanted), REFLECTION_LIMIT))  # fmt: skip
    return rows


WATER, ROCK = (1500.0, 1000.0), (3400.0, 1963.0, 2500.0)  # vp, rho; vp, vs, rho


def sea_floor(device, points=5):
    """A P wave in water that meets rock at a right angle: reflected and transmitted amplitudes."""
    (vf, rhof), (vp, _, rho) = WATER, ROCK
    spacing, before = 4 * WAVELENGTH / points, HALF * WIDTH
    duration = 2.2 * before / vf + WAVELENGTH / vp
    high, low = vf * duration + 2 * before, -np.ceil(vp * duration / 2 / spacing) * spacing
    layers = [{"top": 1e6, "vp": vf, "vs": 0, "rho": rhof}, {"top": 0, **dict(zip(("vp", "vs", "rho"), ROCK))}]
    below = (0.0, 0.0, -WAVELENGTH)
    scenario = scenario_of({"kind": "layers", "layers": layers}, [2 * vp * duration] * 2 + [high - low], spacing, duration,
                           places=[(0, 0, 0), below], low=low, output={"waveforms": ["pressure", "velocity"]})  # fmt: skip
    d, planned = prepared(scenario)
    wave = Wave(np.array([0.0, 0.0, -1.0]), np.zeros(3), vf, before, planned.dt)
    height = positions(d, fluid=True) @ wave.direction
    now, earlier = wave.line(0)(height), wave.line(-1)(height)
    samples = recorded(scenario, planned, device, {"potential": now, "potential_rate": (now - earlier) / planned.dt})
    return interface_rows(wave, samples, planned)


def interface_rows(wave, samples, planned):
    """Amplitudes by least squares: pressure on the interface is 1 + R times that of the incident wave, velocity below T times."""
    (vf, rhof), (vp, _, rho) = WATER, ROCK
    place = {(c.receiver, c.quantity, c.component): n for n, c in enumerate(planned.channels)}
    steps, water, rock = len(samples), rhof * vf, rho * vp
    potential = np.array([wave.line(step)(0.0) for step in range(-1, steps + 1)])
    incident = -np.diff(potential, 2) / planned.dt**2
    pressure = next(samples[:, n] for (r, q, _), n in place.items() if r == 0 and q == "pressure")
    reflected = (pressure @ incident) / (incident @ incident) - 1
    later = Wave(wave.direction, wave.polarisation, vp, wave.before * vp / vf, wave.dt)
    return reflected, later
