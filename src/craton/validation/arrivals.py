"""Measures of runs in chunks of PREM: static offsets, arrivals of body and of surface waves.

Arrivals are picked on the run's and on the exact seismograms alike. Waves of tens of seconds arrive when rays do only to a few seconds:
from a source at 600 km, S between 24 and 30 degrees is picked 7 s later than its ray on the exact seismogram, 1.4 % (with sigma = 5 s:
0.2 % or less). So what a run does to travel times shows against modes. Their core is empty, and so is that of a chunk down to the
core-mantle boundary.
"""

import numpy as np

from craton.model.globe.prem import prem
from craton.survey.traveltimes import delay
from craton.validation.compare import misfit, row
from craton.validation.exact.modes import Waves

# component of E, N, up and the sign that makes it up, or clockwise across the path to the east
COMPONENTS = {"P": (2, 1), "PcP": (2, 1), "S": (1, -1), "ScS": (1, -1), "rayleigh": (2, 1), "love": (1, -1)}
PERIODS = (60.0, 80.0, 100.0, 120.0)  # s
LOOKS = 0.05  # relative L2: a mesh for 60 s takes 3 to 8 % of the amplitude there
MARGIN = 60.0  # s before and after the surface waves


def with_wave(wave, traces):
    """Return the records (receivers, nt) on which a wave is seen."""
    component, sign = COMPONENTS[wave]
    return sign * traces[:, component]


def offsets(run, data, comparison):
    """Misfit of displacement, and the static offsets up and north against those observed."""
    t, traces, expected = comparison
    text = run["what"].format(**run)
    rows = [
        row(
            f"{text}: displacement at 5 degrees",
            misfit(traces, expected),
            run["limit"],
            (t, traces[0, 2], expected[0, 2]),
        )
    ]
    late = (t > run["late"][0]) & (t < run["late"][1])
    for name, trace, offset in zip(("vertical", "north"), traces[0, :0:-1], run["offsets"]):
        value = float(trace[late].mean())
        label = f"{text}: {name} offset {1e3 * value:.2f} mm for {1e3 * offset:.1f}"
        rows.append(row(label, abs(value / offset - 1), run["offset_limit"]))
    return rows


def body_waves(run, data, comparison):
    """How much later each phase is picked than on the exact seismograms, over its travel time; `times` (TauP) say where to look."""
    t, traces, expected = comparison
    sigma, rows = run["scenario"]["source"][0]["wavelet"]["tau"], []
    for phase, times in run["times"].items():
        late = [
            (picked(found, t, time, sigma) - picked(exact, t, time, sigma), time)
            for found, exact, time in zip(with_wave(phase, traces), with_wave(phase, expected), times)
            if time
        ]
        text = ", ".join(f"{off:+.2f} of {time:.0f}" for off, time in late)
        text = f"{run['what'].format(**run)}: {phase} late by {text} s"
        rows.append(row(text, max(abs(off) / time for off, time in late), run["limit"]))
    return rows


def picked(trace, t, time, sigma):
    """Arrival by correlation with the derivative of the Gaussian moment rate, s."""
    window = (time - 2 * sigma, time + 2 * sigma)
    return delay(trace, lambda lag: -lag * np.exp(-((lag / sigma) ** 2) / 2), t[1] - t[0], t[0], window)[0]


def surface_waves(run, data, comparison):
    """Misfit of Love and Rayleigh waves, and how late phase and group arrive at some periods, over the travel time to the far station.

    The reference has all overtones: those of Love waves travel with the fundamental mode and move its phase by up to 0.8 % of its travel
    time here. A band about a period is cut out by a Gaussian of that length in time; its phase is compared when the fundamental mode's
    group arrives, after distance / U, and the time at which its envelope is highest.
    """
    t, traces, expected = comparison
    model, rows = prem(run["scenario"]["model"].get("transverse", False)), []
    distances = model.radius * np.radians([receiver["at"]["longitude"] for receiver in run["scenario"]["receivers"]])
    for kind in ("rayleigh", "love"):
        waves, name = Waves(model, kind), f"{run['what'].format(**run)}: {kind.capitalize()} wave"
        records = list(zip(with_wave(kind, traces), with_wave(kind, expected), distances))
        for found, exact, x in records:
            window = (t > x / waves.at(2 * np.pi / PERIODS[-1]).phase - MARGIN) & (t < x / 3.7e3 + MARGIN)
            found, exact = found[window], exact[window]
            text = f"{name}, {np.degrees(x / model.radius):g} degrees: velocity"
            rows.append(row(text, misfit(found, exact), LOOKS, (t[window], found, exact)))
        for period in PERIODS:
            mode = waves.at(2 * np.pi / period)
            late = np.array([lateness(t, found, exact, period, x / mode.group) for found, exact, x in records])
            total = distances[-1] / mode.group
            for label, off in zip(("phase", "group"), late.T):
                text = f"{name} at {period:g} s: {label} late by {off[0]:+.2f}, {off[1]:+.2f} of {total:.0f} s"
                rows.append(row(text, np.abs(off).max() / total, run["limit"]))
    return rows


def lateness(t, computed, expected, period, arrival):
    """How much later a record is than the exact one in the band about a period, s: its phase at the arrival, its envelope's peak."""
    around = arrival + np.arange(-1.5 * period, 1.5 * period)
    a, b = (band(t, series, period, around) for series in (computed, expected))
    middle = len(around) // 2
    phase = -np.angle(a[middle] / b[middle]) * period / (2 * np.pi)
    return phase, peak(around, np.abs(a)) - peak(around, np.abs(b))


def band(t, values, period, times):
    """Complex record (n,) of a band at some times: exp(-(t / period)^2 / 2) is the filter's envelope."""
    lag = t - times[:, None]
    return (np.exp(-((lag / period) ** 2) / 2 - 2j * np.pi * lag / period) * values).sum(axis=1)


def peak(times, values):
    """When equally spaced values are largest, by a parabola."""
    n = int(np.clip(np.argmax(values), 1, len(values) - 2))
    before, top, after = values[n - 1 : n + 2]
    return times[n] + (times[1] - times[0]) * (before - after) / (2 * (before - 2 * top + after))
