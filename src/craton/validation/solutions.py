"""Exact waveforms at the receivers of a scenario: closed forms, sums of modes, and files of other programs beside this one.

Each is a function of the scenario's tables and the run's dataset; it returns times (nt,) and motion (receivers, components, nt).
"""

import math

import numpy as np

from craton.model.globe.prem import prem
from craton.validation.compare import reference
from craton.validation.exact import fullspace, lines
from craton.validation.exact import modes as exact_modes
from craton.validation.exact.fullspace import constant_q


def places(data, axes="xyz"):
    """Positions of the receivers, m: (receivers, axes)."""
    return np.stack([data[axis].values for axis in axes], axis=1)


def ricker(tables, data):
    """Return the source, its history, the standard deviation of its Gaussian, s, and times after its centre."""
    source = tables["source"][0]
    frequency, delay = source["wavelet"]["frequency"], source["wavelet"].get("delay", 0)
    history, width = fullspace.history("ricker", frequency), 1 / (math.sqrt(2) * math.pi * frequency)
    return source, history, width, data.time.values - delay


def medium_of(tables):
    """vp, vs, rho of a homogeneous model."""
    return tuple(tables["model"][name] for name in ("vp", "vs", "rho"))


def full_space(tables, data):
    """Return a force or a double couple in a full space (Aki & Richards 2002, eqs 4.23, 4.29)."""
    source, history, _, t = ricker(tables, data)
    if source["kind"] == "force":
        exact = [
            fullspace.point_force(x, source["at"], source["force"], history, t, *medium_of(tables))
            for x in places(data)
        ]
    else:
        tensor = double_couple(*(source[name] for name in ("strike", "dip", "rake", "moment")))
        exact = [
            fullspace.moment_tensor(x, source["at"], tensor, lambda t, n: history(t, n - 1), t, *medium_of(tables))
            for x in places(data)
        ]
    return data.time.values, np.array(exact)


def double_couple(strike, dip, rake, moment):
    """Moment tensor in x east, y north, z up, from slip and normal vectors (Aki & Richards 2002, eqs 4.88, 4.89)."""
    phi, delta, lam = np.radians([strike, dip, rake])
    along, across = np.array([np.sin(phi), np.cos(phi), 0]), np.array([np.cos(phi), -np.sin(phi), 0])
    up = np.array([0, 0, 1.0])
    slip = np.cos(lam) * along - np.sin(lam) * (np.cos(delta) * across - np.sin(delta) * up)
    normal = np.sin(delta) * across + np.cos(delta) * up
    return moment * (np.outer(slip, normal) + np.outer(normal, slip))


def lossy_space(tables, data):
    """Return the force of `constant_q` where Q = Qp = Qs is constant."""
    t = data.time.values
    return t, np.array([constant_q(x, t, tables["model"]["qs"]) for x in places(data)])


def line_force(tables, data):
    """Lamb's problem in the plane: a line force on the surface."""
    source, history, width, t = ricker(tables, data)
    exact = [lines.surface_force(x, source["force"], history, width, t, medium_of(tables)) for x in data.x.values]
    return data.time.values, np.array(exact)


def line_explosion(tables, data):
    """Garvin's problem: a line of explosions below the plane ground, which may have a slope."""
    source, history, width, t = ricker(tables, data)
    ground = tables["model"].get("topography", {"x": (0, 1), "z": (0, 0)})
    angle = math.atan2(ground["z"][1] - ground["z"][0], ground["x"][1] - ground["x"][0])
    c, s = math.cos(angle), math.sin(angle)
    x, z = source["at"][0], source["at"][1] - np.interp(0, ground["x"], ground["z"])
    depth, along = s * x - c * z, data.x.values / c - (c * x + s * z)
    exact = [
        lines.buried_explosion(far, depth, source["moment"], history, width, t, medium_of(tables)) for far in along
    ]
    return data.time.values, np.array([[c, -s], [s, c]]) @ np.array(exact)


def line_force_along_y(tables, data):
    """SH waves of a line force in a full space; a free surface doubles it by its image."""
    source, history, width, t = ricker(tables, data)
    _, vs, rho = medium_of(tables)
    at = np.array(source["at"])
    sources = [at, at * [1, -1]] if tables["boundaries"]["top"] == "free" else [at]
    distances = np.linalg.norm(places(data, "xz")[:, None] - sources, axis=2)
    exact = [sum(lines.sh_force(r, source["force"][1], history, width, t, vs, rho) for r in rs) for rs in distances]
    return data.time.values, np.array(exact)[:, None]


# --- files ----------------------------------------------------------------------------------------


def lamb_3d(tables, data):
    """Return a vertical force on the surface of a half-space with lambda = mu (Mooney 1974, Kausel 2012)."""
    stored = reference("lamb3d")
    radial, down = (stored[name][: data.receiver.size] for name in ("vr", "vz_down"))
    return stored["t"], np.stack([radial, 0 * radial, -down], axis=1)


def lamb_2d(tables, data):
    """Return a line force down on the surface of a half-space, in closed form."""
    stored = reference("lamb2d")
    return stored["t"], np.stack([stored["vx"], -stored["vz"]], axis=1)


def loh1(tables, data):
    """SCEC's layer over a half-space by pyprop8 1.1.5, wavenumbers 0 to 40 rad/km in 3000 steps; 1500 to 25 change it by 1e-5."""
    stored = reference("loh1")
    return stored["t"], stored["velocity"].astype(float)


def two_layers(tables, data=None):
    """Return a double couple below an interface by pyprop8 and PyGRT, which agree to 4e-5, for any width of its Gaussian."""
    stored, tau = reference("two_layers"), tables["source"][0]["wavelet"]["tau"]
    return stored["t"], widened(stored["t"], stored["velocity"].astype(float), float(stored["tau"]), tau)


def widened(t, values, tau, wider):
    """Series of a Gaussian source of width `tau` centred at 4 tau as those of a wider one: convolved with a Gaussian, and later."""
    n = 4 * len(t)
    w = 2 * np.pi * np.fft.rfftfreq(n, t[1] - t[0])
    factor = np.exp(-0.5 * w**2 * (wider**2 - tau**2) - 4j * w * (wider - tau))
    return np.fft.irfft(np.fft.rfft(values, n) * factor, n)[..., : len(t)]


def axisem(kind):
    """Return the solution of AxiSEM for PREM, displacement every 1 or 2 s at 100 s and longer, good to 1e-3 to 4e-3."""

    def solution(tables, data):
        stored = reference("earth")
        if kind == "bolivia":  # Z, N, E
            return stored["bolivia_t"], stored["bolivia"][None, ::-1]
        return stored["t"], east_north_up(stored[kind], data)

    return solution


def east_north_up(motion, data):
    """East, north and up of motion (receivers, 3, nt) up, away from the source and 90 degrees clockwise from that."""
    b, (up, away, across) = np.radians(data.back_azimuth.values)[:, None], np.moveaxis(motion, 1, 0)
    return np.stack([-np.sin(b) * away - np.cos(b) * across, np.sin(b) * across - np.cos(b) * away, up], axis=1)


def modes(tables, data):
    """Return the sum of the modes of PREM's crust and mantle for a moment tensor at longitude 0 on the equator, stations to the east."""
    source, time = tables["source"][0], tables["time"]
    sigma, tensor = source["wavelet"]["tau"], [source["tensor"][name] for name in ("rr", "tt", "pp", "rt", "rp", "tp")]
    distances = [receiver["at"]["longitude"] for receiver in tables["receivers"]]
    t, east = np.arange(6 * sigma, time["start"] + time["duration"] - 2), [90.0] * len(distances)
    model = prem(tables["model"].get("transverse", False))
    return t, east_north_up(exact_modes.velocity(model, tensor, source["at"]["depth"], sigma, distances, east, t), data)


SOLUTIONS = {
    "full space": full_space,
    "constant Q": lossy_space,
    "line force": line_force,
    "line explosion": line_explosion,
    "line force along y": line_force_along_y,
    "lamb3d": lamb_3d,
    "lamb2d": lamb_2d,
    "loh1": loh1,
    "two layers": two_layers,
    "earth moment": axisem("moment"),
    "earth force": axisem("force"),
    "bolivia": axisem("bolivia"),
    "modes": modes,
}
