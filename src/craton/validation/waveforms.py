"""Runs of a case compared with exact waveforms: the scenario, the solution and the measure that its table names."""

import numpy as np

from craton.driver import run as driver
from craton.scenario import Scenario
from craton.validation import arrivals, solutions
from craton.validation.compare import at_times, merged, misfit, row, runs
from craton.validation.exact.lines import love_speed, scholte_speed
from craton.validation.spectral import distorted, run_on_mesh

STRONG = 0.2  # of the largest amplitude: spectra are compared where they are larger


def misfits(case: dict, device: str) -> list[dict]:
    """Run the scenarios of a case and return the rows of their misfits, and of how the worst falls from the first run to the last."""
    rows, compared = [], []
    for run in runs(case):
        data, about = computed(run, device)
        comparison = seismograms(run, data, compared) if "exact" in run else None
        views = (
            [with_width(run, comparison, width) for width in run["widths"]] if "widths" in run else [(run, comparison)]
        )
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


MEASURES = {
    "each": each,
    "worst": worst,
    "together": together,
    "spectra": spectra,
    "love": love,
    "scholte": scholte,
    "offsets": arrivals.offsets,
    "body waves": arrivals.body_waves,
    "surface waves": arrivals.surface_waves,
}
