"""What a page about a run shows, by what lies in OUT: waves in boxes or on the Earth, surveys,
gravity, gradients.
"""

import logging
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import CratonError
from craton.model.globe.earth_chunk import chunk_of
from craton.output.store import read_run
from craton.report import (
    arrivals,
    earth_pictures,
    fieldmaps,
    films,
    gradient_pictures,
    model_figures,
    pictures,
    shaking,
    station_maps,
)
from craton.report.page import facts, markup, viewer
from craton.report.page.drawings import Drawings

PLACE = "<!-- picture {} -->"
FEWEST, MOST = 12, 60  # frames of a film
# Arrivals are marked at the centre of the wavelet; that of these kinds begins at its delay.
ONSETS = ("brune", "kuepper")


@dataclass
class Contents:
    """What a page is made of.

    Parameters
    ----------
    out : pathlib.Path
        OUT directory.
    bandwidth : float, optional
        Copy bandwidth of the machine, bytes/s.
    drawings : Drawings
        Pictures that are being drawn.
    records : dict or None
        For the canvases, once `seismograms` was asked for.
    """

    out: Path
    bandwidth: float | None = None
    drawings: Drawings = field(default_factory=Drawings)
    records: dict | None = field(default=None, init=False)
    captions: dict = field(default_factory=dict, init=False)

    @cached_property
    def run(self):
        """Contents of run.json."""
        return read_run(self.out)

    @cached_property
    def scenario(self):
        """The scenario; None where it cannot be read."""
        return station_maps.scenario_of(self.out)

    @cached_property
    def gravity(self):
        """Fields of a gravity run, or None."""
        return fieldmaps.read_fields(self.out)

    @cached_property
    def gradient(self):
        """Gradient, or None."""
        return gradient_pictures.read_gradient(self.out)

    @cached_property
    def every_shot(self):
        """Waveforms of all shots, not read yet, or None."""
        if self.gradient is not None or self.gravity is not None:
            return None
        return pictures.read_waveforms(self.out, every_shot=True)

    @cached_property
    def waves(self):
        """Waveforms of the first shot, in memory, or None."""
        if self.every_shot is None:
            return None
        dataset = self.every_shot
        return (dataset.isel(shot=0) if "shot" in dataset.dims else dataset).load()

    @cached_property
    def scene(self):
        """Positions of sources, interfaces and title, as pictures show them: dict."""
        return pictures.scene_of(self.out, self.waves)

    @property
    def on_earth(self):
        """True for a chunk of the Earth, where distances are degrees."""
        return self.waves is not None and (
            "distance" in self.waves.coords and self.waves.distance.attrs.get("units") == "degree"
        )

    @cached_property
    def attributes(self):
        """Attributes of the results: dict."""
        for dataset in (self.gradient, self.gravity, self.waves):
            if dataset is not None:
                return dataset.attrs
        return {}

    @property
    def title(self):
        """Title of the run."""
        return str(self.attributes.get("title") or getattr(self.scenario, "title", "") or self.out.name)

    @property
    def kind(self):
        """What was computed, in words."""
        if self.gradient is not None:
            return "gradient of a misfit"
        if self.gravity is not None:
            return "gravity"
        method = getattr(self.scenario, "method", None)
        name = f"waves, method {method}" if method else "waves"
        shots = self.every_shot.sizes.get("shot", 0) if self.every_shot is not None else 0
        return name + (f", {shots} shots" if shots else "")

    @property
    def sections(self):
        """Sections of the page: list of (anchor, link, HTML); empty ones are left out."""
        rows = [
            ("run", "Run", self.what_was_run),
            ("map", "Map", self.map),
            ("shaking", "Shaking", self.shaking),
            ("model", "Model", self.model),
            ("fields", "Fields", self.fields),
            ("kernels", "Kernels", self.kernels),
            ("shots", "Shots", self.shots),
            ("records-section", "Seismograms", self.seismograms),
            ("snapshots", "Wavefield", self.snapshots),
            ("time", "Time", self.time),
            ("files", "Files", self.files),
        ]
        parts = [(name, label, make()) for name, label, make in rows]
        return [(name, label, self._with_pictures(text)) for name, label, text in parts if text]

    # --- sections ---------------------------------------------------------------------------------

    def what_was_run(self):
        """Table, warnings, plan and scenario."""
        plan = self.run.get("plan")
        return markup.section(
            "run",
            "What was run",
            facts.warnings(self.run),
            facts.summary(self.run, self.attributes),
            markup.folded("Plan", plan) if plan else "",
            facts.scenario_text(self.out),
        )

    def map(self):
        """Stations and source on a map, on the Earth on a globe; peaks at the stations."""
        if self.waves is None or self.waves.sizes["receiver"] < 1 or not {"x", "y"} <= set(self.waves.coords):
            return ""
        words = "Stations and source, and the largest amplitude at each station over all samples"
        if self.on_earth:
            words = "Source and stations on the Earth"
        return markup.section("map", "Map", self._drawn(self._map, words))

    def _map(self, path):
        page = station_maps.map_of(self.waves, self.scenario, self.scene["sources"])
        page.savefig(path)

    def shaking(self):
        """Return maps of peaks of every step, where the run took them."""
        if not (self.out / "result.zarr" / "peaks").is_dir():
            return ""
        words = (
            "Peaks of every time step, without the correction of time dispersion that seismograms "
            "have; intensity from them (Worden et al. 2012)"
        )
        return markup.section("shaking", "Shaking", self._drawn(partial(shaking.peaks, self.out), words))

    def model(self):
        """Sections of the model, or its profile."""
        if self.scenario is None:
            return ""
        words = "The model as it is computed, at the source; triangles are stations, the star is the source"
        if self.gravity is not None:
            words = "Mass of the prisms over area, from above and from the south"
        return markup.section("model", "Model", self._drawn(self._model, words))

    def _model(self, path):
        model_figures.figure_of(self.scenario).savefig(path)

    def seismograms(self):
        """Record section and seismograms on canvases."""
        if self.waves is None or self.waves.sizes["receiver"] < 1:
            return ""
        array = self.waves[self._quantity]
        times, words = self._arrivals()
        origin = self.scene["sources"][0] if self.scene["sources"] else None
        self.records = viewer.packed(array, times, origin)
        notes = [words] if words else []
        shown = len(self.records["names"])
        if shown < self.records["total"]:
            notes.append(f"{shown} of {self.records['total']:,} receivers are shown, evenly chosen.")
        if self.records["stride"] > 1:
            notes.append(f"Every {self.records['stride']}th sample is shown, filtered below that rate.")
        if "shot" in self.every_shot.dims:
            notes.append(f"Shot {self.waves.shot.item()}.")
        section = self._earth_section() if self.on_earth else ""
        note = markup.paragraph(" ".join(notes), "note") if notes else ""
        return markup.section("records-section", "Seismograms", note, markup.asset("controls.html"), section)

    @property
    def _quantity(self):
        """Name of the first quantity; on the Earth displacement or velocity first."""
        names = list(self.waves.data_vars)
        return next((n for n in ("velocity", "displacement") if n in names), names[0])

    def _earth_section(self):
        """Section with travel-time curves of TauP, where ObsPy is installed."""
        words = "Vertical component over distance with travel times by TauP in the model's profile"
        return self._drawn(partial(earth_pictures.section_figure, self.out), words)

    def _arrivals(self):
        """Return times of first arrivals at the receivers, and how they were computed, in words."""
        if self.scenario is None or len(self.scene["sources"]) != 1 and not self.on_earth:
            return {}, ""
        if self.on_earth:
            return self._taup()
        source = self.scene["sources"][0]
        xyz = np.stack([self.waves[axis].values for axis in "xyz"], axis=1)
        try:
            times = arrivals.of_model(self.scenario.model, source, xyz)
        except (OSError, CratonError) as error:
            logging.getLogger("craton").warning("no arrivals: %s", error)
            return {}, ""
        delay, name = self._delay()
        words = (
            "P and S mark the first arrivals, direct or head waves, in the profile of the model below "
            f"the source, at the {name} of the wavelet ({delay:g} s)."
        )
        return {phase: row + delay for phase, row in times.items()}, words if times else ""

    def _taup(self):
        """Return times of P and S by TauP; none where ObsPy is missing."""
        return earth_pictures.first_arrivals(self.waves, chunk_of(self.scenario).model)

    def _delay(self):
        """Time of the first source's wavelet, s, and what that is: its centre or its onset."""
        wavelet = getattr(next(iter(self.scenario.source), None), "wavelet", None)
        if self.waves.attrs.get("centroid_time") is not None and wavelet is None:
            return float(self.waves.attrs["centroid_time"]), "centroid"
        name = "onset" if getattr(wavelet, "kind", "") in ONSETS else "centre"
        return arrivals.wavelet_delay(wavelet), name

    def snapshots(self):
        """Film of the first series of snapshots; of a few snapshots some frames."""
        if self.gradient is not None or self.gravity is not None or not pictures.read_snapshots(self.out):
            return ""
        first = next(iter(pictures.read_snapshots(self.out).values()))
        words = "The first series of snapshots on one colour scale"
        if self.every_shot is not None and "shot" in self.every_shot.dims:
            words += f", shot {self.waves.shot.item()}"
        if first.sizes.get("time", 0) < FEWEST:
            picture = self._drawn(partial(pictures.snapshots, self.out), words)
        else:
            film = partial(films.film, self.out, most=MOST)
            picture = self._drawn(film, f"{words}: a film of {MOST} frames at most", "webp")
        return markup.section("snapshots", "Wavefield", picture)

    def fields(self):
        """Return maps and profiles of gravity, and how exact they are."""
        if self.gravity is None:
            return ""
        errors = self.run.get("error") or {}
        rows = [
            (
                name,
                self.gravity[name].attrs.get("units", ""),
                *_range(self.gravity[name]),
                f"{errors[name]:.1e}" if name in errors else "",
            )
            for name in fieldmaps.ORDER
            if name in self.gravity.data_vars
        ]
        head = ("field", "unit", "least", "greatest", "error at most about")
        parts = [
            self._drawn(partial(fieldmaps.maps, self.out), "All fields; dashed outlines are bodies of the scenario"),
            self._drawn(partial(fieldmaps.profiles, self.out), "Profiles through the largest anomaly")
            if self.gravity[rows[0][0]].ndim == 2
            else "",
            markup.table(rows, head, (2, 3, 4)),
            markup.paragraph(_error_words(self.run), "note"),
        ]
        return markup.section("fields", "Fields", *parts)

    def kernels(self):
        """Gradients by each parameter, and the misfit of each shot."""
        if self.gradient is None:
            return ""
        rows = []
        if "misfit" in self.gradient.data_vars:
            shots = self.gradient.misfit
            rows = [(str(shot), f"{float(value):.6g}") for shot, value in zip(shots.shot.values, shots.values)]
        words = "Gradient of the misfit by the value of a cell, summed over shots"
        return markup.section(
            "kernels",
            "Kernels",
            self._drawn(partial(gradient_pictures.kernels, self.out), words),
            _scrolled(markup.table(rows, ("shot", "misfit"), (1,))) if rows else "",
        )

    def shots(self):
        """Table of shots, and gathers of some of them."""
        dataset = self.every_shot if self.gradient is None else self.gradient
        if dataset is None or "shot" not in dataset.dims:
            return ""
        states = self.run.get("shots") if isinstance(self.run.get("shots"), dict) else {}
        columns = [c for c in ("source_x", "source_y", "source_z") if c in dataset.coords]
        rows = []
        for n, name in enumerate(dataset.shot.values):
            state = states.get(str(name), {})
            place = [f"{float(dataset[c][n]):,.6g}" for c in columns]
            seconds = f"{state['seconds']:.3g}" if "seconds" in state else ""
            rows.append((name, *place, state.get("state", ""), seconds, state.get("device", "")))
        head = ("shot", *(f"{c[-1]} (m)" for c in columns), "state", "seconds", "device")
        picture = ""
        if self.gradient is None and dataset.sizes["receiver"] > 1:
            words = "Gathers over signed offset, time downwards, each trace divided by its peak"
            picture = self._drawn(partial(pictures.gathers, self.out), words)
        return markup.section(
            "shots", "Shots", _scrolled(markup.table(rows, head, range(1, 1 + len(columns)))), picture
        )

    def time(self):
        """Return timings, and the machine's limit."""
        return markup.section("time", "Time", facts.timings(self.run, self.bandwidth))

    def files(self):
        """Return inputs and results with their checksums."""
        return markup.section("files", "Files", facts.inputs(self.run), _scrolled(facts.files(self.run)))

    # --- pictures ---------------------------------------------------------------------------------

    def _drawn(self, draw, caption, kind="png"):
        """Return the place of a picture, which is drawn meanwhile; where it cannot be drawn, it says
        why.

        Parameters
        ----------
        draw : callable
            Writes a picture to the path ``path``.
        caption : str
        kind : str
            Ending of the picture.
        """
        number = self.drawings.add(draw, kind)
        self.captions[number] = caption, kind
        return PLACE.format(number)

    def _with_pictures(self, text):
        """Return a section with its pictures in their places."""
        for number, (caption, kind) in self.captions.items():
            if PLACE.format(number) in text:
                try:
                    picture = markup.image(self.drawings.picture(number), caption, kind)
                except Exception as error:  # of any library: one picture does not end a page
                    kind = "" if isinstance(error, CratonError) else f"{type(error).__name__}: "
                    words = f"{caption}: {kind}{' '.join(str(error).split())}"
                    picture = markup.paragraph(f"Not drawn: {words}", "note")
                    logging.getLogger("craton").warning("not drawn: %s", words)
                text = text.replace(PLACE.format(number), picture)
        return text


def _scrolled(table):
    return f'<div class="scroll">{table}</div>' if table else ""


def _range(array: Any):
    """Least and greatest value, in words."""
    values = array.values[np.isfinite(array.values)]
    return (f"{values.min():.5g}", f"{values.max():.5g}") if values.size else ("", "")


def _error_words(run):
    """Return what is said of the error of gravity fields."""
    if not run.get("error"):
        return "The error was not estimated."
    undefined = run.get("undefined") or {}
    words = "Errors are bounds by the method and its rounding, in the unit of the field."
    if undefined:
        counts = ", ".join(f"{name} at {count} points" for name, count in undefined.items())
        words += f" Not defined on edges of prisms: {counts}."
    return words
