"""Shared by the tests of injection: runs that record and runs that inject, how far records are apart, exact waves in layers."""

import numpy as np
import xarray as xr
from common import misfit
from scipy.interpolate import CubicSpline

import craton
from craton.driver.run import plan
from craton.errors import ScenarioError
from craton.scenario import Ricker
from craton.survey import wavelets
from craton.survey.layered_response import Stack, response

RUN = {"device": "cpu", "threads": 1}
LAYERS = [
    {"top": 0, "vp": 2000, "vs": 1100, "rho": 2000},
    {"top": -430, "vp": 3000, "vs": 1700, "rho": 2300},  # cuts cells of 50 and 100 m
]
PULSE = {"kind": "gaussian", "tau": 0.08}
PLANE = {
    "domain": {"origin": [0, -1500], "size": [3000, 1500], "spacing": 50, "waves": "P-SV"},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 1.5},
    "boundaries": {"top": "free", "cpml": {"thickness": 6, "frequency": 3.0}},
    "source": [{"kind": "force", "at": [600, -800], "force": [1e9, 2e9], "wavelet": PULSE}],
    "recording": [{"name": "box", "from": [1200, -700], "to": [2000, 0]}],
    "receivers": [{"name": "in", "at": [1625, -210]}, {"name": "out", "at": [2300, -310]}],
}
SPACE = {
    "domain": {"origin": [0, 0, -1600], "size": [2600, 2100, 1600], "spacing": 100},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 1.1},
    "boundaries": {"top": "free", "cpml": {"thickness": 3, "frequency": 3.0}},
    "source": [{"kind": "force", "at": [450, 800, -600], "force": [1e12, 3e12, 2e12], "wavelet": PULSE}],
    "recording": [{"name": "box", "from": [900, 600, -900], "to": [1800, 1500, 0]}],
    "receivers": [{"name": "in", "at": [1350, 1050, -50]}, {"name": "out", "at": [2250, 900, -310]}],
}
CASE = {  # in spectral elements
    "method": "sem",
    "domain": {"origin": [0, 0, -1600], "size": [2800, 2000, 1600], "element_size": 400},
    "model": {"kind": "layers", "layers": [LAYERS[0], LAYERS[1] | {"top": -800}]},
    "time": {"duration": 1.0},
    "source": [SPACE["source"][0] | {"at": [300, 800, -600], "wavelet": PULSE | {"tau": 0.15}}],
    "recording": [{"name": "box", "from": [1100, 300, -900], "to": [2100, 1700, 0]}],
    "receivers": [{"name": "in", "at": [1500, 1050, 0]}, {"name": "out", "at": [2500, 900, -310]}],
}


def ran(base, out=None, anomaly=None, ranks=None, **changes):
    """The result of a run of a case, over ranks of this process, with an anomaly if there is one."""
    tables = {"run": RUN} | base | changes | ({} if out else {"recording": []})
    if anomaly:
        tables["model"] = tables["model"] | {"anomalies": [anomaly]}
    return craton.run(craton.Scenario(**tables), out=out, progress=False, devices=ranks)


def taking(out):
    """Changes of a run that takes a recording in place of its source."""
    return {"source": [], "recording": [], "injection": [{"recorded": str(out), "name": "box"}]}


def inject(out, base, anomaly=None, **changes):
    """The result of a run into which the recorded field comes."""
    return ran(base, None, anomaly, **changes | taking(out))


def series(result, name):
    """Waveforms at the receivers whose names begin so: {(quantity, receiver): values}."""
    chosen = [n for n in result.dataset.receiver.values if n.startswith(name)]
    assert chosen
    quantities = result.scenario.output.waveforms
    return {(q, n): result.dataset[q].sel(receiver=n).values for q in quantities for n in chosen}


def off(result, reference, name, less=None):
    """Largest difference at receivers whose names begin so, over the largest value of the reference there; `less` a run
    whose waves are left out of the reference.
    """
    expected = series(reference, name)
    if less is not None:
        expected = {key: expected[key] - values for key, values in series(less, name).items()}
    return max(
        np.abs(values - expected[key]).max() / np.abs(expected[key]).max()
        for key, values in series(result, name).items()
    )


def leaves(result, full):
    """Largest value outside over that of the incident wave."""
    incident = series(full, "out")
    return max(np.abs(values).max() / np.abs(incident[key]).max() for key, values in series(result, "out").items())


def together(result, full):
    """Velocity (time, receiver, component) of two runs at the times of the first that both have."""
    velocity, reference = (r.dataset.velocity.transpose("time", ...) for r in (result, full))
    times, known = velocity.time.values, reference.time.values
    both = (times >= known[0]) & (times <= known[-1])
    return velocity.values[both], CubicSpline(known, reference.values)(times[both])


def apart(result, full):
    """Misfit (relative L2) at the first receiver, inside, and what is at the second, outside, over what was there at the most."""
    values, expected = together(result, full)
    return misfit(values[:, 0], expected[:, 0]), np.abs(values[:, 1]).max() / np.abs(expected[:, 1]).max()


def problems(tables, part="message"):
    """What the plan of tables tells: {key: message}."""
    try:
        plan(craton.Scenario(**tables))
    except ScenarioError as error:
        return {problem.key: getattr(problem, part) for problem in error.problems}
    return {}


def untold(*rows):
    """Rows (tables, key, words) whose plan does not tell the words at the key, or at any where it is "", and what it tells."""
    missing = []
    for tables, key, words in rows:
        messages = problems(tables)
        if words not in (messages.get(key, "") if key else str(messages)):
            missing.append((words, messages))
    return missing


# --- exact waves in layers ------------------------------------------------------------------------------------------

ROCK = [LAYERS[0], {"top": -400, "vp": 3200, "vs": 1800, "rho": 2300}]
STACK = Stack(*(np.array(v, float) for v in ([-400, 0], [3200, 2000], [1800, 1100], [2300, 2000])))
WAVELET = {"kind": "ricker", "frequency": 2.0}
BOX = {"from": [600, -1000], "to": [2400, 0]}


def section(wave, incidence, **changes):
    """Tables of a section of the layers, into which a plane wave comes."""
    places = {"in": [1720, 0], "deep": [1300, -700], "out": [2600, -100]}
    waves = "SH" if wave == "SH" else "P-SV"
    return {
        "domain": {"origin": [0, -1500], "size": [3000, 1500], "spacing": 20, "waves": waves},
        "model": {"kind": "layers", "layers": ROCK},
        "time": {"duration": 1.6},
        "injection": [{"wave": wave, **BOX, "incidence": incidence, "at": [1500, -1000], "wavelet": WAVELET}],
        "receivers": [{"name": name, "at": at} for name, at in places.items()],
        "run": RUN | {"order": 8},
    } | changes


def flat(wave, incidence, **changes):
    """The scenario of the section."""
    return craton.Scenario(**section(wave, incidence, **changes))


def exact(times, along, z, names, wave="P", incidence=25, stack=STACK, frequency=2.0):
    """Series (name, time, point) at distances along the direction of travel and elevations, for a wave that passes (0, -1000) at t = 0."""
    along, z = np.broadcast_arrays(np.atleast_1d(along), z)
    dt, speed = times[1] - times[0], 3200.0 if wave == "P" else 1800.0
    p, q = np.sin(np.radians(incidence)) / speed, np.cos(np.radians(incidence)) / speed
    count, first = 1 << int(np.ceil(np.log2(40 / dt))), round(5 / dt)
    pulse = wavelets.build(Ricker(**WAVELET | {"frequency": frequency}))
    spectrum = np.fft.rfft(pulse(times[0] + (np.arange(count) - first) * dt))
    omega = 2 * np.pi * np.fft.rfftfreq(count, dt)
    spectrum = spectrum * np.exp(-1j * omega * (1000 + stack.tops[0]) * q)
    motion, series = response(stack, wave, p, omega), np.zeros((len(names), len(times), len(z)))
    for level in np.unique(z):
        at = z == level
        passed = spectrum * np.exp(-1j * omega * p * along[at][:, None])
        for name, values in zip(names, series):
            values[:, at] = np.fft.irfft(passed * motion.at(level, name), count).T[first : first + len(times)]
    return series


def wavefield(spacing=50.0, thickness=200.0, dt=0.02, end=1.9):
    """The dataset of the section's P wave at points of a lattice on both sides of the faces of BOX."""
    points, times = craton.injection_points(BOX["from"], BOX["to"], spacing, thickness), np.arange(-1.5, end, dt)
    x, z = points.x.values, points.z.values
    fields = exact(times, x - 1500, z, ("r", "z", "rr", "zz", "rz"))
    layer = (z >= -400).astype(int)
    waves = {name: ("point", getattr(STACK, name)[layer]) for name in ("vp", "vs", "rho")}
    waves |= {"velocity": (("component", "time", "point"), fields[:2])}
    waves |= {"stress": (("tensor", "time", "point"), fields[2:])}
    coordinates = {"time": times, "component": ["x", "z"], "tensor": ["xx", "zz", "xz"]}
    return xr.Dataset(waves, coordinates | {"x": ("point", x), "y": 0.0, "z": ("point", z)})
