"""Runs of a case compared with exact waveforms: the scenario, the solution and the measure that its table names."""

import numpy as np

from craton.driver import run as driver
from craton.model.globe.prem import prem
from craton.scenario import Scenario
from craton.survey.traveltimes import delay
from craton.validation import solutions
from craton.validation.compare import at_times, merged, misfit, row, runs
from craton.validation.exact.lines import love_speed, scholte_speed
from craton.validation.exact.modes import Waves
from craton.validation.spectral import distorted, run_on_mesh

STRONG = 0.2  # of the largest amplitude: spectra are compared where they are larger


def misfits(case: dict, device: str) -> list[dict]:
    """Run the scenarios of a case and return the rows of their misfits, and of how the worst falls from the first run to the last."""
    rows, compared = [], []
    for run in runs(case):
        data, about = computed(run, device)
        comparison = seismograms(run, data, compared) if "exact" in run else None
        views = [with_width(run, comparison, width) for width in run.get("widths", ())] or [(run, comparison)]
        if run["measure"] != "none":
            rows += [one for view, traces in views for one in MEASURES[run["measure"]](view | about, data, traces)]
        compared.append((run, comparison))
    return rows + (trend(case["trend"], compared) if "trend" in case else [])


def computed(run, device):
    """Dataset of a run, and what texts say of its mesh."""
    scenario = Scenario(**run["scenario"])
    if run.get("distorted"):
        return run_on_mesh(scenario, device, distorted(scenario)).dataset, {}
    result = driver.run(scenario, device=device, progress=False)
    return result.dataset, {"elements": result.plan.grid.elements} if scenario.method == "sem" else {}


def seismograms(run, data, earlier):
    """Return times (nt,) up to the end of a run, what it recorded and what it should have: (receivers, components, nt)."""
    if run["exact"] == "first run":
        t, expected, _ = earlier[0][1]
    else:
        t, expected = solutions.SOLUTIONS[run["exact"]](run["scenario"], data)
    inside = t <= min(run.get("until", np.inf), data.time.values[-1])
    values = data[run.get("quantity", "velocity")].values
    return t[inside], at_times(data.time.values, values, t[inside]), expected[..., inside]


def with_width(run, comparison, width):
    """Return the same run and seismograms for a wider Gaussian source."""
    t, traces, _ = comparison
    wavelet = run["scenario"]["source"][0]["wavelet"]
    view = merged(run, {"scenario": {"source": {"0": {"wavelet": {"tau": width, "delay": 4 * width}}}}})
    expected = solutions.two_layers(view["scenario"])[1][..., : len(t)]
    return view, (t, solutions.widened(t, traces, wavelet["tau"], width), expected)


def trend(about, compared):
    """Row: the worst misfit of the last run over that of the first."""
    if "width" in about:
        compared = [with_width(run, comparison, about["width"]) for run, comparison in compared]
    worst = [max(map(misfit, *comparison[1:])) for _, comparison in compared]
    t, traces, expected = compared[-1][1]
    curves = (t, traces[-1][about["curve"]], expected[-1][about["curve"]]) if "curve" in about else None
    text = about["what"].format(misfits=", ".join(f"{m:.2g}" for m in worst))
    return [row(text, worst[-1] / worst[0], about["limit"], curves)]


def words(run, **more):
    """Return the text of a row, with numbers of its scenario and others in it."""
    return run["what"].format(**run["scenario"], **run, **more)


# --- measures: rows of a run, its dataset and seismograms -----------------------------------------


def each(run, data, comparison):
    """Misfit at every receiver, or a power of it."""
    t, traces, expected = comparison
    curve, power = run.get("curve", 0), run.get("power", 1)
    return [
        row(f"{words(run)} {place}", misfit(found, exact) ** power, run["limit"], (t, found[curve], exact[curve]))
        for place, found, exact in zip(run["places"], traces, expected)
    ]


def worst(run, data, comparison):
    """Largest misfit of all receivers, or a power of it."""
    t, traces, expected = comparison
    curve, largest = run.get("curve", 0), max(map(misfit, traces, expected)) ** run.get("power", 1)
    return [row(words(run, count=len(traces)), largest, run["limit"], (t, traces[-1][curve], expected[-1][curve]))]


def together(run, data, comparison):
    """Misfit of all receivers together, each up to the end of its S wave."""
    t, traces, expected = comparison
    over = np.linalg.norm(solutions.places(data), axis=1) / run["scenario"]["model"]["vs"] + run["pulse"]
    traces, expected = (values * (t <= over[:, None, None]) for values in (traces, expected))
    text = words(run, worst=max(map(misfit, traces, expected)))
    return [row(text, misfit(traces, expected), run["limit"], (t, traces[-1][0], expected[-1][0]))]


def spectra(run, data, comparison):
    """Amplitude and phase of spectra where they are strong, all components together, and velocity."""
    t, traces, expected = comparison
    ratios = []
    for found, exact in zip(traces, expected):
        spectrum, exact_spectrum = (np.fft.rfft(values, 4 * len(t)) for values in (found, exact))
        strong = np.abs(exact_spectrum) > STRONG * np.abs(exact_spectrum).max()
        ratios.append(spectrum[strong] / exact_spectrum[strong])
    ratios, curves = np.concatenate(ratios), (t, traces[0, 2], expected[0, 2])
    amplitude, phase = np.abs(np.abs(ratios) - 1).max(), np.abs(np.angle(ratios)).max() / np.pi
    return [
        row(f"{words(run)} spectral amplitude, worst of both receivers", amplitude, run["limit"], curves),
        row(f"{words(run)} spectral phase / pi, worst of both receivers", phase, run["limit"]),
        row(f"{words(run)} velocity", max(map(misfit, traces, expected)), run["limit"]),
    ]


def love(run, data, _):
    """Phase speed of Love waves at some frequencies between two receivers."""
    layers = [(layer["vs"], layer["rho"]) for layer in run["scenario"]["model"]["layers"]]
    thickness = -run["scenario"]["model"]["layers"][1]["top"]
    exact = [love_speed(f, thickness, *layers) for f in run["frequencies"]]
    return speeds(run, data, data.velocity.values[:, 0], exact)


def scholte(run, data, _):
    """Phase speed of the wave along a sea floor between two receivers, other waves cut out."""
    water, rock = run["scenario"]["model"]["layers"]
    exact, (f,) = scholte_speed((water["vp"], water["rho"]), (rock["vp"], rock["vs"], rock["rho"])), run["frequencies"]
    lag = data.time.values - run["scenario"]["source"][0]["wavelet"]["delay"] - data.x.values[:, None] / exact
    return speeds(run, data, data.velocity.sel(component="Z").values * np.exp(-0.5 * (lag * f / 1.2) ** 2), [exact])


def speeds(run, data, records, exact):
    """Rows of the phase speeds between two records against exact ones."""
    found = phase_speeds(data.time.values, records, data.x.values, run["frequencies"], exact)
    return [
        row(words(run, frequency=f, speed=c), abs(v / c - 1), run["limit"])
        for f, v, c in zip(run["frequencies"], found, exact)
    ]


def phase_speeds(t, records, distances, frequencies, guesses):
    """Phase speeds between two records, of the branches of the phase nearest to `guesses`."""
    measured, (first, second) = [], records
    for f, c in zip(frequencies, guesses):
        carrier = np.exp(-2j * np.pi * f * t)
        lag = np.angle((first * carrier).sum() / (second * carrier).sum())
        expected = 2 * np.pi * f * (distances[1] - distances[0]) / c
        lag += 2 * np.pi * round((expected - lag) / (2 * np.pi))
        measured.append(2 * np.pi * f * (distances[1] - distances[0]) / lag)
    return measured


# --- measures in chunks of PREM: static offsets, arrivals of body and of surface waves --------------------------------

# Arrivals are picked on the run's and on the exact seismograms alike. Waves of tens of seconds arrive when rays do only to a few seconds:
# from a source at 600 km, S between 24 and 30 degrees is picked 7 s later than its ray on the exact seismogram, 1.4 % (with sigma = 5 s:
# 0.2 % or less). So what a run does to travel times shows against modes. Their core is empty, and so is that of a chunk down to the
# core-mantle boundary.

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
    text = words(run)
    curves = (t, traces[0, 2], expected[0, 2])
    rows = [row(f"{text}: displacement at 5 degrees", misfit(traces, expected), run["limit"], curves)]
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
        text = f"{words(run)}: {phase} late by {text} s"
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
        waves, name = Waves(model, kind), f"{words(run)}: {kind.capitalize()} wave"
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


MEASURES = {
    "each": each,
    "worst": worst,
    "together": together,
    "spectra": spectra,
    "love": love,
    "scholte": scholte,
    "offsets": offsets,
    "body waves": body_waves,
    "surface waves": surface_waves,
}
