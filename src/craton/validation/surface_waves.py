"""Love and Rayleigh waves across a chunk of PREM against modes: when they arrive at some periods,
and how they look.

The reference is the sum of the modes of PREM's crust and mantle, with all overtones: those of Love
waves travel with the fundamental mode and move its phase by up to 0.8 % of its travel time here. A
band about a period is cut out by a Gaussian of that length in time; its phase is compared when the
fundamental mode's group arrives, after distance / U, and the time at which its envelope is highest.
"""

import numpy as np

from craton.model.globe.prem import prem
from craton.validation import earth
from craton.validation.compare import at_times, misfit, row
from craton.validation.exact.modes import Waves
from craton.validation.exact.modes_sum import velocity

PERIODS = (60.0, 80.0, 100.0, 120.0)  # s
COMPONENTS = {"rayleigh": 0, "love": 2}  # up, across the path
DISTANCES = (8.0, 16.0)  # degrees along the equator, the last one the farthest
DEPTH, SIGMA = 20e3, 20.0  # m, s: the Gaussian moment rate's standard deviation
# Up, south, east: Rayleigh waves that are the same in all directions, Love waves that are strongest
# to the east.
TENSOR = (1e20, -5e19, -5e19, 0.0, 0.0, 1e20)
LIMIT = 0.005  # of the travel time to the far station
LOOKS = 0.05  # relative L2: a mesh for 60 s takes 3 to 8 % of the amplitude there
MARGIN = 60.0  # s before and after the surface waves


def surface(device, period=60.0, width=(36.0, 30.0), until=650.0, transverse=False):
    """Arrivals at two stations from a shallow moment tensor; a path by way of the sides is 18
    degrees longer or more.
    """
    model = prem(transverse)
    data, size = records(device, period, width, until, transverse)
    t = np.arange(6 * SIGMA, until - 2)
    computed = [earth.turned(at_times(data.time.values, record, t), 270.0) for record in data.velocity.values]
    expected = velocity(model, TENSOR, DEPTH, SIGMA, DISTANCES, [90.0] * len(DISTANCES), t)
    text = f"PREM{' (transversely isotropic)' * transverse}, chunk of {size} elements"
    return [record for kind in COMPONENTS for record in rows(kind, model, t, computed, expected, text)]


def rows(kind, model, t, computed, expected, text):
    """Of one kind of wave: how it looks, phase and group at each period."""
    component, waves, out, a = COMPONENTS[kind], Waves(model, kind), [], model.radius
    pairs = [
        (record[component], exact_record[component], a * np.radians(d))
        for record, exact_record, d in zip(computed, expected, DISTANCES)
    ]
    name = f"{text}: {kind.capitalize()} wave"
    for record, exact_record, x in pairs:
        window = (t > x / waves.at(2 * np.pi / PERIODS[-1]).phase - MARGIN) & (t < x / 3.7e3 + MARGIN)
        label = f"{name}, {np.degrees(x / a):g} degrees: velocity"
        out.append(
            row(
                label,
                misfit(record[window], exact_record[window]),
                LOOKS,
                (t[window], record[window], exact_record[window]),
            )
        )
    for period in PERIODS:
        mode = waves.at(2 * np.pi / period)
        late = np.array(
            [lateness(t, record, exact_record, period, x / mode.group) for record, exact_record, x in pairs]
        )
        total = pairs[-1][2] / mode.group
        for label, off in zip(("phase", "group"), late.T):
            text = f"{name} at {period:g} s: {label} late by {off[0]:+.2f}, {off[1]:+.2f} of {total:.0f} s"
            out.append(row(text, np.abs(off).max() / total, LIMIT))
    return out


def lateness(t, computed, expected, period, arrival):
    """How much later `computed` is than `expected` in the band about a period, s: its phase at the
    arrival, and its envelope's peak.
    """
    around = arrival + np.arange(-1.5 * period, 1.5 * period)
    a, b = (band(t, series, period, around) for series in (computed, expected))
    middle = len(around) // 2
    phase = -np.angle(a[middle] / b[middle]) * period / (2 * np.pi)
    return phase, peak(around, np.abs(a)) - peak(around, np.abs(b))


def band(t, values, period, times):
    """Complex record (n,) of a band at some times: exp(-(t / period)^2 / 2) is the filter's
    envelope.
    """
    lag = t - times[:, None]
    return (np.exp(-((lag / period) ** 2) / 2 - 2j * np.pi * lag / period) * values).sum(axis=1)


def peak(times, values):
    """When equally spaced values are largest, by a parabola."""
    n = int(np.clip(np.argmax(values), 1, len(values) - 2))
    before, top, after = values[n - 1 : n + 2]
    return times[n] + (times[1] - times[0]) * (before - after) / (2 * (before - 2 * top + after))


def records(device, period, width, until, transverse):
    """Velocity at the stations: xarray.Dataset, and the number of elements."""
    area = earth.chunk((DISTANCES[-1] / 2, 0.0), 0, "cmb", period) | {"width": width}
    source = earth.moment((0.0, 0.0), DEPTH, TENSOR) | {"wavelet": {"kind": "gaussian", "tau": SIGMA}}
    more = {"transverse": True} if transverse else {}
    return earth.run(
        area, source, [(d, 0.0) for d in DISTANCES], until, device, start=-6 * SIGMA, quantity="velocity", **more
    )
