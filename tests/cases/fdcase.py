"""What tests of finite differences share: scenarios from a few words, marches of some steps, media, the (x, z) plane, standing waves."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import craton
from craton.backends import backend
from craton.driver import run as driver
from craton.driver.waves import commit
from craton.methods.finite_difference.equations.scheme import HALF, VELOCITY
from craton.scenario import Scenario

RIGID = {"top": "rigid", "others": "rigid"}
THOMSEN = {"vp": 3000.0, "vs": 1500.0, "rho": 2300.0, "epsilon": 0.25, "delta": 0.1, "gamma": 0.2}
QUALITY = {"qp": 80.0, "qs": 40.0}
LOSSY = QUALITY | {"attenuation": {"band": [0.7, 70], "frequency": 7, "mechanisms": 4, "storage": "full"}}


def cases(short, *more):
    """Parameters of a test: those of `make test`, and more in `make test-all`."""
    rows = (row if isinstance(row, tuple) else (row,) for row in more)
    return [*short, *(pytest.param(*row, marks=pytest.mark.long) for row in rows)]


def ricker(frequency, delay=None):
    """A wavelet."""
    return {"kind": "ricker", "frequency": frequency} | ({} if delay is None else {"delay": delay})


def explosion(at, wavelet, moment=1e12, **more):
    """A source."""
    return {"kind": "explosion", "at": at, "moment": moment, "wavelet": wavelet} | more


def force(at, components, wavelet, **more):
    """A source."""
    return {"kind": "force", "at": at, "force": components, "wavelet": wavelet} | more


def moment_tensor(at, tensor, wavelet, **more):
    """A source."""
    return {"kind": "moment_tensor", "at": at, "tensor": tensor, "wavelet": wavelet} | more


def box(size, spacing, model, source, duration, places=(), /, origin=None, waves=None, **tables):
    """A scenario on one thread: a box below z = 0, or elsewhere, sources, receivers R0, R1 ... at places, and other tables.

    The spacing may be the part of the domain's table that says how fine it is.
    """
    domain = {"origin": origin or [*[0] * (len(size) - 1), -size[-1]], "size": size}
    domain |= spacing if isinstance(spacing, dict) else {"spacing": spacing}
    asked = {
        "domain": domain | ({"waves": waves} if waves else {}),
        "model": model,
        "time": {"duration": duration},
        "source": [source] if isinstance(source, dict) else source,
        "receivers": [{"name": f"R{n}", "at": at} for n, at in enumerate(places)],
        "run": {"threads": 1},
    }
    return Scenario(**asked | tables)


def ran(scenario, **options):
    """The dataset of a run."""
    return craton.run(scenario, device="cpu", progress=False, **options).dataset


def velocities(scenario, times):
    """Velocities of a run on some times."""
    data = ran(scenario)
    return CubicSpline(data.time.values, data.velocity.values, axis=-1)(times)


def marched(scenario, machine, steps=60):
    """The record of a few steps; no guard, which would see the hostile machine's nan in the padding."""
    program = commit(scenario, craton.plan(scenario), backend(machine, threads=1))
    for step in range(steps):
        program.step(step)
    return program.host("record")[:steps]


# --- the plane and three dimensions --------------------------------------------------------------------------------------------------

RICKER = ricker(7.0, 0.16)
UPPER, LOWER = {"vp": 1800, "vs": 1000, "rho": 1900}, {"vp": 3000, "vs": 1700, "rho": 2300}
LAYERS = {"kind": "layers", "layers": [{"top": 0, **UPPER}, {"top": -235, **LOWER}]}


def plane(waves="P-SV", source=None, receivers=None, **more):
    """A small plane with a free surface, an interface that cuts cells, and CPML."""
    push = force([303.3, -122.2], [3e6, 0, -1e7] if waves == "P-SV" else [0, 1e7, 0], RICKER)
    more = {"time": {"duration": 0.5, "start": 0}, "run": {"precision": "float64", "threads": 1}} | more
    more |= {"receivers": receivers} if receivers else {}
    places = ([600, 0], [455.5, -261.7])
    return box([900, 500], 10, LAYERS, source or push, 0.5, places, waves=waves, **more)


def space(flat, spacing=10.0, count=7):
    """The same in three dimensions, periodic along y, with a source in every plane: nothing depends on y."""
    values = flat.model_dump(by_alias=True, exclude_none=True)
    (x, z), (sx, sz) = values["domain"]["origin"], values["domain"]["size"]
    values["domain"] = {"origin": [x, 0, z], "size": [sx, (count - 1) * spacing, sz], "spacing": spacing}
    values["boundaries"] |= {"south": "periodic", "north": "periodic"}
    (source,) = values.pop("source")
    (a, b), line = source.pop("at"), {}
    if "force" in source:  # a line source in the grid: what a metre of it does, times the spacing
        line["force"] = [spacing * f for f in source["force"]]
    else:
        line["tensor"] = {name: spacing * value for name, value in source["tensor"].items()}
    values["source"] = [{**source, "at": [a, n * spacing, b], **line} for n in range(count)]
    values["receivers"] = [{**r, "at": [r["at"][0], 3 * spacing, r["at"][1]]} for r in values["receivers"]]
    values["time"]["step"] = 0.0015
    return Scenario(**values)


# --- standing waves in a periodic box -------------------------------------------------------------------------------------------------

POINTS, SPACING = 24, 10.0


def periodic(model, waves=None, duration=0.2, points=POINTS):
    """A periodic box, order 8 in float64, nothing moves."""
    size, quiet = SPACING * (points - 1), ricker(5, 1e3)
    at = [size / 2, -size / 2] if waves else [size / 2, size / 2, -size / 2]
    source = force(at, [0, 1e-20, 0], quiet) if waves == "SH" else explosion(at, quiet, 1e-20)
    tables = {"time": {"duration": duration, "start": 0}, "boundaries": {"top": "periodic", "others": "periodic"}}
    tables["run"] = {"order": 8, "precision": "float64", "threads": 1, "device": "cpu"}
    return box([size] * len(at), SPACING, {"kind": "homogeneous", **model}, source, duration, waves=waves, **tables)


def standing(direction, polarisation, model, waves=None, steps=60, duration=0.2, points=POINTS):
    """Wavenumber, step and the amplitudes of a standing plane wave after each of some steps."""
    scenario = periodic(model, waves, duration, points)
    planned = driver.plan(scenario)
    program, shapes, amplitudes = commit(scenario, planned, backend("cpu", threads=1)), {}, []
    k = 2 * np.pi / (points * SPACING) * np.array(direction)
    for axis, name in enumerate(VELOCITY):
        if name in program.plan.arrays and abs(polarisation[axis]) > 1e-9:
            field = program.grid(name)
            z, y, x = (SPACING * (np.arange(n) + half / 2) for n, half in zip(field.shape, reversed(HALF[name])))
            phase = k[2] * z[:, None, None] + k[1] * y[:, None] * (waves is None) + k[0] * x
            field[...] = shapes[name] = polarisation[axis] * np.cos(phase)
    for step in range(steps):
        program.step(step)
        amplitudes.append(sum((shapes[name] * program.grid(name)).sum() for name in shapes))
    return np.linalg.norm(k), planned.dt, np.array(amplitudes)


def measured_speed(direction, polarisation, waves=None, model=THOMSEN):
    """Phase speed of a standing plane wave: a_(n+1) + a_(n-1) = (2 - dt^2 W^2) a_n for its amplitudes a; W over the wavenumber."""
    k, dt, a = standing(direction, polarisation, model, waves)
    ratio = (a[1:-1] @ (a[2:] + a[:-2])) / (a[1:-1] @ a[1:-1])
    return np.sqrt(2 - ratio) / dt / k


def decay(direction, polarisation, model):
    """1/Q of a standing plane wave with memory variables: of the decay of its amplitudes, once these have set in."""
    a = standing(direction, polarisation, model, steps=900, duration=1.4, points=16)[2][150:]
    (last, before), *_ = np.linalg.lstsq(np.stack([a[1:-1], a[:-2]], 1), a[2:], rcond=None)
    root = np.log(np.roots([1, -last, -before])[0] + 0j)
    return 2 * -root.real / abs(root.imag)
