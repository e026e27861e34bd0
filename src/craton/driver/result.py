"""What a run leaves: one class for all methods."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from craton.errors import ComputationError, CratonError
from craton.text import html_sections


@dataclass
class Result:
    """What a run leaves.

    Parameters
    ----------
    scenario : Scenario
    plan : Plan
    samples : ndarray
        Of waves the recorded channels as they were sampled, (steps, channels), some steps past the
        end included (`plan.extra`); of gravity the fields in their units, (fields, points).
    report : dict
        Device, timings, rate.
    out : Path or None
        The OUT directory, if there is one.
    error : CratonError or None
        What ended the run early.
    in_memory : dict of str to xarray.Dataset
        Snapshots of a run without a folder.
    measured : dict of str to dict
        Quantities of the maps of peaks, by the map's name; on rank 0.
    """

    scenario: Any
    plan: Any
    samples: Any
    report: dict
    out: Path | None = None
    error: Exception | None = None
    in_memory: dict = field(default_factory=dict, repr=False)
    measured: dict = field(default_factory=dict, repr=False)
    _dataset: Any = field(default=None, repr=False)
    _corrected: Any = field(default=None, repr=False)

    def __repr__(self):
        state = "finished" if self.error is None else f"ended early ({self.error})"
        place = f", in {self.out}" if self.out else ""
        return f"<Result of {self.plan.title!r}: {state} on {self.report.get('device')}{place}>"

    def _repr_html_(self):
        rows = [("title", self.plan.title), ("device", self.report.get("device"))]
        rows += [("folder", self.out)] if self.out else []
        rows += [("ended early", self.error)] if self.error else []
        if not self.plan.rank:
            rows += [
                (name, f"{dict(array.sizes)} {array.attrs.get('units', '')}")
                for name, array in self.dataset.data_vars.items()
            ]
        names = [f"{f.name} ({f.quantity})" for f in self.plan.snapshots]
        rows += [("snapshots", ", ".join(names))] if names else []
        return html_sections("Result", {"Summary": rows})

    @property
    def snapshots(self):
        """Series of snapshots by name, velocity(time, component, z, x) and the like: dict of
        xarray.Dataset.

        Of a run with a folder they are opened there. A run on several ranks takes them only with a
        folder.
        """
        if self.out is None:
            return self.in_memory
        from craton.output.snapshots import read_series

        return {f.name: read_series(self.out, f.name) for f in self.plan.snapshots}

    @property
    def peaks(self):
        """Maps of ground motion by name, pgv(component, y, x) and the like: dict of
        xarray.Dataset. Of several ranks, rank 0 has them.

        They are of the computed field, at every step; waveforms are corrected for temporal
        dispersion besides.
        """
        from craton.output.peaks import dataset

        return {
            series.name: dataset(series, self.measured[series.name], self.attributes)
            for series in self.plan.peaks
            if series.name in self.measured
        }

    def part(self, receivers, columns, first=0):
        """Return the result of some channels.

        Parameters
        ----------
        receivers : Receivers
            Their receivers.
        columns : sequence of int
            Numbers of the channels.
        first : int
            Number of the first receiver here.
        """
        import numpy as np

        plan = self.plan
        channels = [plan.channels[n] for n in columns]
        channels = [channel._replace(receiver=channel.receiver - first) for channel in channels]
        return Result(
            self.scenario,
            replace(plan, channels=channels, receivers=receivers),
            np.array(self.samples[:, columns]),
            self.report,
            self.out,
            self.error,
        )

    def finished(self):
        """Return self, or raise the error that ended the run early."""
        if self.error:
            raise self.error
        return self

    @property
    def dataset(self):
        """Waveforms, velocity(receiver, component, time) and the like, or fields, g_z(y, x) and the
        like: xarray.Dataset.

        Waveforms are corrected for temporal dispersion, unless the computation failed. Of several
        ranks, rank 0 has them.
        """
        if self._dataset is None:
            from craton.methods import METHODS

            self._dataset = METHODS[self.scenario.method].dataset(self)
        return self._dataset

    @property
    def fibres(self):
        """What fibres recorded as an xarray.Dataset, strain_rate(channel, time); None without
        fibres.
        """
        plan = self.plan
        if plan.receivers.fibres is None:
            return None
        from craton.output.dataset import TimeAxis, of_fibres

        source = plan.receivers.source
        place = {} if source is None else {f"source_{a}": v for a, v in zip("xyz", source)}
        axis, about = TimeAxis.of(plan, self.scenario.output), self.attributes | plan.receivers.event | place
        return of_fibres(self.records, plan.channels, plan.receivers.fibres, axis, about)

    @property
    def records(self):
        """Channels corrected for temporal dispersion; as they are where the computation failed.

        Raises
        ------
        CratonError
            Another rank has them.
        """
        from craton.output.dataset import corrected

        if self.plan.rank:
            raise CratonError("rank 0 has the waveforms")
        if self._corrected is None:
            failed = isinstance(self.error, ComputationError)
            self._corrected = (
                self.samples if failed else corrected(self.samples, self.plan.channels, self.plan.dt, self.plan.band)
            )
        return self._corrected

    @property
    def attributes(self):
        """Attributes of all datasets: title, scenario as TOML, precision, device."""
        from craton.output.inputs import Inputs
        from craton.scenario import dumps

        text = Inputs(self.scenario).text(self.scenario) if self.out else dumps(self.scenario)
        about = {"title": self.plan.title, "scenario": text}
        return about | {"precision": self.plan.precision, "device": self.report["device"]}

    def response_spectra(self, periods, damping=0.05):
        """Return pseudo-spectral accelerations at the receivers: xarray.Dataset with
        sa(receiver, component, period), rotd50(receiver, period), rotd100(receiver, period), m/s2.

        Parameters
        ----------
        periods : sequence of float
            Of the oscillators, s.
        damping : float
            Share of critical damping.

        Raises
        ------
        CratonError
            The run recorded no velocity, or has several shots; a period or the damping is
            impossible.

        See Also
        --------
        craton.output.ground_motion.response_spectra : The computation, with its sources.
        """
        from craton.output.ground_motion import spectra_of

        return spectra_of(self, periods, damping)

    def stream(self):
        """Return the waveforms as an obspy.Stream, with coordinates, distances and back azimuths in
        ``trace.stats``; needs the `seis` extra. See `craton.io.seismograms.stream`.
        """
        from craton.io.seismograms import stream

        return stream(self.dataset, self.scenario.output.network)

    def inventory(self):
        """Return receivers and channels as an obspy.Inventory; needs the `seis` extra. See
        `craton.io.stationxml.inventory`.
        """
        from craton.io.stationxml import inventory

        return inventory(self.dataset, self.scenario.output.network)

    def event(self):
        """Return the event as an obspy Event, with origin, moment tensor and magnitude; needs the
        `seis` extra. See `craton.io.quakeml.event`.

        Raises
        ------
        CratonError
            There are several shots.
        """
        from craton.io.quakeml import event

        return event(self.dataset)

    def view(self, series=None, component=None):
        """Return a widget for a notebook: snapshots with a slider for time, receivers to click on;
        needs the `notebook` extra. See `craton.output.notebook.view`.
        """
        from craton.output.notebook import view

        return view(self, series, component)

    def citations(self):
        """Return what to cite for this run: `craton.citations.Citations`, whose ``bibtex()`` gives
        BibTeX. Works are chosen by the operators of the plan and the values of the scenario.
        """
        from craton.citations import citations

        return citations(self.scenario, self.plan, self.report)

    def rotate(self, components="RT"):
        """Return the dataset with radial and transverse components in place of east and north; see
        `craton.output.ground_motion.rotated`. ObsPy's ``result.stream().rotate("NE->RT")`` does the same.

        Parameters
        ----------
        components : str
            ``"RT"``.

        Raises
        ------
        CratonError
            Other components, or the source is not known.
        """
        from craton.output.ground_motion import rotated

        if components != "RT":
            raise CratonError(f'components are rotated to "RT", not to {components!r}')
        return rotated(self.dataset)
