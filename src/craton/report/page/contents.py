"""What a page about a run shows, by what lies in OUT: waves in boxes or on the Earth, surveys, gravity, gradients."""

import base64
import logging
from functools import cached_property, partial

import numpy as np

from craton.errors import CratonError
from craton.output.store import read_run
from craton.report import arrivals, figures, gravity, plot
from craton.report.films import film
from craton.report.page import facts, markup
from craton.report.page.drawings import Drawings
from craton.report.runs import Run
from craton.report.traces import places_of

FEWEST, MOST = 12, 60  # frames of a film


class Contents:
    """What a page about the folder of a run is made of; `bandwidth` is the copy bandwidth of the machine, bytes/s."""

    def __init__(self, out, bandwidth=None, drawings=None):
        self.run, self.state = Run(out), read_run(out)
        self.bandwidth, self.drawings = bandwidth, drawings or Drawings()
        self.records = None  # for the canvases, once `seismograms` was asked for

    @property
    def kind(self) -> str:
        """What was computed, in words."""
        if self.run.gradient is not None:
            return "gradient of a misfit"
        if self.run.gravity is not None:
            return "gravity"
        method = self.run.scenario.method if self.run.scenario else None
        count = 0 if self.run.every_shot is None else self.run.every_shot.sizes.get("shot", 0)
        return "waves" + (f", method {method}" if method else "") + (f", {count} shots" if count else "")

    @cached_property
    def waves(self):
        """Waveforms of the first shot; None where the page is about a gradient or gravity."""
        return self.run.waves if self.run.gradient is None and self.run.gravity is None else None

    @property
    def shot(self) -> str:
        """Name of the first of several shots, else empty."""
        return str(self.waves.shot.item()) if self.waves is not None and "shot" in self.waves.coords else ""

    @cached_property
    def sections(self):
        """Sections of the page: list of (anchor, title, HTML); empty ones are left out."""
        rows = [
            ("run", "What was run", self.what_was_run()),
            ("map", "Map", self.map()),
            ("shaking", "Shaking", self.shaking()),
            ("model", "Model", self.model()),
            ("fields", "Fields", self.fields()),
            ("kernels", "Kernels", self.kernels()),
            ("shots", "Shots", self.shots()),
            ("records-section", "Seismograms", self.seismograms()),
            ("snapshots", "Wavefield", self.snapshots()),
            ("time", "Time", [facts.timings(self.state, self.bandwidth)]),
            ("files", "Files", [facts.inputs(self.state), _scrolled(facts.files(self.state))]),
        ]
        # all pictures are being drawn now, and the first one is waited for
        texts = [(name, title, [part() if callable(part) else part for part in parts]) for name, title, parts in rows]
        return [(name, title, markup.section(name, title, *parts)) for name, title, parts in texts if any(parts)]

    # --- sections: texts, and functions that give the text of a picture ---------------------------------

    def what_was_run(self):
        """Return table, warnings, plan and scenario."""
        plan = self.state.get("plan")
        table = facts.summary(self.state, self.run.attributes)
        plan = markup.folded("Plan", plan) if plan else ""
        return [facts.warnings(self.state), table, plan, facts.scenario_text(self.run.out)]

    def map(self):
        """Return stations and source on a map, on the Earth on a globe; peaks at the stations."""
        if self.waves is None:
            return []
        words = "Stations and source, and the largest amplitude at each station over all samples"
        return [self._drawn("map", "Source and stations on the Earth" if self.run.on_earth else words)]

    def shaking(self):
        """Return maps of peaks of every step, where the run took them."""
        if not (self.run.out / "result.zarr" / "peaks").is_dir():
            return []
        words = (
            "Peaks of every time step, without the correction of time dispersion that seismograms "
            "have; intensity from them (Worden et al. 2012)"
        )
        return [self._drawn("peaks", words)]

    def model(self):
        """Return sections of the model, or its profile."""
        if self.run.scenario is None:
            return []
        words = "The model as it is computed, at the source; triangles are stations, the star is the source"
        prisms = "Mass of the prisms over area, from above and from the south"
        return [self._drawn("model", prisms if self.run.gravity is not None else words)]

    def seismograms(self):
        """Return seismograms on canvases, on the Earth a section with the travel times of TauP."""
        if self.waves is None:
            return []
        times, words = arrivals.at_receivers(self.run)
        self.records = packed(self.run.waveforms, times, self.run.origin)
        notes, shown = [words] if words else [], len(self.records["names"])
        if shown < self.records["total"]:
            notes.append(f"{shown} of {self.records['total']:,} receivers are shown, evenly chosen.")
        if self.records["stride"] > 1:
            notes.append(f"Every {self.records['stride']}th sample is shown, filtered below that rate.")
        notes += [f"Shot {self.shot}."] if self.shot else []
        parts = [markup.paragraph(" ".join(notes), "note") if notes else "", markup.asset("controls.html")]
        words = "Vertical component over distance with travel times by TauP in the model's profile"
        return parts + ([self._drawn("section", words)] if self.run.on_earth else [])

    def snapshots(self):
        """Return a film of the first series of snapshots; of a few snapshots some frames."""
        if self.run.gradient is not None or self.run.gravity is not None or not self.run.snapshots:
            return []
        words = "The first series of snapshots on one colour scale" + (f", shot {self.shot}" if self.shot else "")
        if next(iter(self.run.snapshots.values())).sizes["time"] < FEWEST:
            return [self._drawn("snapshots", words)]
        return [self._drawn("film", f"{words}: a film of {MOST} frames at most", "webp")]

    def fields(self):
        """Return maps and profiles of gravity, and how exact they are."""
        dataset, errors = self.run.gravity, self.state.get("error") or {}
        if dataset is None:
            return []
        names = gravity.names_of(dataset)
        about = [(name, dataset[name].attrs.get("units", ""), *_range(dataset[name])) for name in names]
        rows = [(*row, f"{errors[row[0]]:.1e}" if row[0] in errors else "") for row in about]
        words = "Profiles through the largest anomaly"
        return [
            self._drawn("maps", "All fields; dashed outlines are bodies of the scenario"),
            self._drawn("profiles", words) if dataset[names[0]].ndim == 2 else "",
            markup.table(rows, ("field", "unit", "least", "greatest", "error at most about"), (2, 3, 4)),
            markup.paragraph(_error_words(self.state), "note"),
        ]

    def kernels(self):
        """Return gradients by each parameter, and the misfit of each shot."""
        dataset = self.run.gradient
        if dataset is None:
            return []
        parts = [self._drawn("kernels", "Gradient of the misfit by the value of a cell, summed over shots")]
        if "misfit" in dataset.data_vars:
            rows = [(str(shot.shot.item()), f"{float(shot):.6g}") for shot in dataset.misfit]
            parts.append(_scrolled(markup.table(rows, ("shot", "misfit"), (1,))))
        return parts

    def shots(self):
        """Return a table of shots, and gathers of some of them."""
        is_gradient = self.run.gradient is not None
        dataset = self.run.gradient if is_gradient else self.run.every_shot
        if dataset is None or "shot" not in dataset.dims:
            return []
        states = self.state.get("shots") if isinstance(self.state.get("shots"), dict) else {}
        columns = [c for c in ("source_x", "source_y", "source_z") if c in dataset.coords]
        rows = []
        for n, name in enumerate(dataset.shot.values):
            state = states.get(str(name), {})
            place = [f"{float(dataset[c][n]):,.6g}" for c in columns]
            seconds = f"{state['seconds']:.3g}" if "seconds" in state else ""
            rows.append((name, *place, state.get("state", ""), seconds, state.get("device", "")))
        head = ("shot", *(f"{c[-1]} (m)" for c in columns), "state", "seconds", "device")
        parts = [_scrolled(markup.table(rows, head, range(1, 1 + len(columns))))]
        words = "Gathers over signed offset, time downwards, each trace divided by its peak"
        has_gathers = not is_gradient and dataset.sizes["receiver"] > 1
        return parts + ([self._drawn("gathers", words)] if has_gathers else [])

    # --- pictures ---------------------------------------------------------------------------------

    def _drawn(self, name, caption, kind="png"):
        """Begin a figure of `craton.report.FIGURES`, or the film, and return the function that waits for it and gives
        its HTML; where it cannot be drawn, that says why.
        """
        draw = partial(film, self.run, most=MOST) if name == "film" else partial(plot, self.run, name)
        number = self.drawings.add(draw, kind)

        def html():
            try:
                return markup.image(self.drawings.picture(number), caption, kind)
            except Exception as error:  # of any library: one picture does not end a page
                noun = "" if isinstance(error, CratonError) else f"{type(error).__name__}: "
                words = f"{caption}: {noun}{' '.join(str(error).split())}"
                logging.getLogger("craton").warning("not drawn: %s", words)
                return markup.paragraph(f"Not drawn: {words}", "note")

        return html


def _scrolled(table):
    return f'<div class="scroll">{table}</div>' if table else ""


def _range(array):
    """Return the least and the greatest value, in words."""
    values = array.values[np.isfinite(array.values)]
    return (f"{values.min():.5g}", f"{values.max():.5g}") if values.size else ("", "")


def _error_words(state):
    """Return what is said of the error of gravity fields."""
    if not state.get("error"):
        return "The error was not estimated."
    words = "Errors are bounds by the method and its rounding, in the unit of the field."
    if undefined := state.get("undefined"):
        counts = ", ".join(f"{name} at {count} points" for name, count in undefined.items())
        words += f" Not defined on edges of prisms: {counts}."
    return words


# --- seismograms for the canvases -------------------------------------------------------------------------------------

SAMPLES = 1_000_000  # of a page at most: 2.7 MB as text
TRACES = 240  # receivers of a page at most


def packed(array, arrivals=None, origin=None):
    """Return what the canvases need of waveforms of one shot, over receiver, perhaps component, and time: dict for JSON.

    `arrivals` are travel times to each receiver by phase, s, NaN where there is none; `origin` is the position of the
    source, m.
    """
    total = array.sizes["receiver"]
    chosen = _chosen(array)
    traces = figures.components(array.isel(receiver=chosen))
    names = list(traces)
    values = np.nan_to_num(np.stack([traces[name] for name in names], axis=1)).astype(float)
    stride = max(1, int(np.ceil(values.size / SAMPLES)))
    values = _thinned(values, stride)
    peaks = np.abs(values).max(axis=-1, initial=0)
    whole = np.round(32767 * values / np.where(peaks > 0, peaks, 1.0)[..., None]).astype("<i2")
    time = array.time.values
    keys = {
        name: {"label": label, "unit": unit, "values": [float(f"{v:.7g}") for v in np.nan_to_num(places)[chosen]]}
        for name, (label, unit, places) in places_of(array, origin).items()
    }
    return {
        "quantity": figures.label(array),
        "unit": array.attrs.get("units", ""),
        "components": names,
        "names": [str(name) for name in array.receiver.values[chosen]],
        "keys": keys,
        "reducing": "distance",
        "time": {
            "start": float(time[0]),
            "step": float(stride * (time[-1] - time[0]) / max(len(time) - 1, 1)),
            "count": values.shape[-1],
        },
        "peaks": [[float(f"{p:.7g}") for p in row] for row in peaks],
        "samples": base64.b64encode(whole.tobytes()).decode(),
        "arrivals": {
            name: [round(float(t), 6) if np.isfinite(t) else None for t in times[chosen]]
            for name, times in (arrivals or {}).items()
        },
        "total": total,
        "stride": stride,
    }


def _chosen(array):
    """Numbers of the receivers shown: all, or evenly among many."""
    total = array.sizes["receiver"]
    parts = array.size // max(total * array.sizes["time"], 1)
    # so that each trace has a thousand samples at least
    most = max(min(TRACES, SAMPLES // max(parts * min(array.sizes["time"], 1000), 1)), 1)
    return np.unique(np.linspace(0, total - 1, min(total, most)).round().astype(int))


def _thinned(values, stride):
    """Return every n-th sample of series without what lies above the new Nyquist frequency."""
    if stride == 1:
        return values
    from scipy.signal import firwin, oaconvolve

    taps = firwin(20 * stride + 1, 0.8 / stride).reshape((1,) * (values.ndim - 1) + (-1,))
    return oaconvolve(values, taps, mode="same", axes=-1)[..., ::stride]
