"""A store of Green's functions, open: seismograms of any source in its volume."""

import json
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from craton.backends.cpu import host_memory
from craton.conventions import TENSOR, TENSOR_AXES, recorded_as
from craton.errors import CratonError, ResourceError, ScenarioError, refuse, refuse_all
from craton.greens.fields import Fields
from craton.greens.synthesis import LOST, Synthesis, key_of, moments_of, six_numbers
from craton.integrity import Damaged, read_json
from craton.io import seismograms
from craton.methods import METHODS
from craton.methods.waves.tables import stacked_rows
from craton.output.arrays import open_group
from craton.output.inputs import changed as changed_inputs
from craton.output.inspection import inspect_run, named_damage
from craton.output.store import FINISHED, KINDS, RESULT, kind_of, read_run, refuse_changed
from craton.survey import wavelets
from craton.survey.geography import in_corners, local, local_of
from craton.survey.source_files import axes_of
from craton.survey.sources import dyads
from craton.tables.fields import choice, spatial
from craton.tables.sources import Wavelet

WAVELET = TypeAdapter(Wavelet)  # what checks the table of a wavelet
SHIFT = 0.1  # of the spacing: how far a source is moved to see how seismograms change
FOURTH = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}  # shift: weight of a derivative
VALUE_BYTES = 100  # of a sample, while seismograms are made (measured: 52 to 86)
TOGETHER = 64  # sources of a batch that are summed at a time
# share of a source's sum, by magnitude, that need not be read: far below the errors of storage,
# also where the sum is a hundredth of its parts, as a vertical couple below a free surface
SPARED = {"float32": 1e-8, "int16": 1e-6}
# MTUQ's couples, in up, south, east: our components and signs (Aki & Richards 2002, box 4.4)
COUPLES = {
    "Mrr": ("zz", 1.0),
    "Mtt": ("yy", 1.0),
    "Mpp": ("xx", 1.0),
    "Mrt": ("yz", -1.0),
    "Mrp": ("xz", 1.0),
    "Mtp": ("xy", -1.0),
}
WAVES = [name for name, method in METHODS.items() if method.drive == "march"]


class About(BaseModel):
    """What a store says of itself; numbers are finite.

    Parameters
    ----------
    method : str
        ``"fd"`` or ``"sem"``.
    field : dict
        See `craton.methods.waves.greens.Volume`.
    dt, start : float
        Of the runs, s.
    every : int
        Steps from one stored sample to the next.
    max_frequency : float
        Hz.
    duration : float
        Of the scenario, s.
    volume : (2, axes) list
        Its corners, m.
    """

    model_config = ConfigDict(allow_inf_nan=False, strict=True)

    method: choice(*WAVES)
    field: dict
    dt: Annotated[float, Field(gt=0)]
    start: float
    every: Annotated[int, Field(gt=0)]
    max_frequency: Annotated[float, Field(gt=0)]
    duration: float
    volume: Annotated[
        list[Annotated[list[float], Field(min_length=2, max_length=3)]], Field(min_length=2, max_length=2)
    ]

    @classmethod
    def read(cls, path, attributes):
        """Return what the attributes of a file say.

        Raises
        ------
        Damaged
            Some are missing, of another type or beyond limits.
        ScenarioError
            An earlier version began runs at the scenario's time.start.
        """
        try:
            about = cls.model_validate(attributes)
        except ValidationError as error:
            wrong = ", ".join(dict.fromkeys(str(row["loc"][0]) for row in error.errors()))
            raise Damaged(path, f"its {wrong} cannot be right") from error
        begins = -wavelets.LOWPASS_SPAN / about.max_frequency
        if about.start > begins + about.dt:
            words = (
                f"the runs of {path.parent.parent} begin at {about.start:.4g} s, their impulse at "
                f"{begins:.4g} s: an earlier version of craton cut it off"
            )
            refuse("greens", words, "build it anew")
        return about


def refuse_others(path):
    """Refuse what is no store, one some of whose forces are not there, and metadata that are not as
    they were written.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ScenarioError, Damaged
    """
    words, remedy = "", "give the folder of craton greens build"
    if not (path / "run.json").exists():
        words = f"{path} holds no Green's functions: it has no run.json"
    elif read_json(path / "run.json") and kind_of(path) != "greens":
        words = f"{path} holds no Green's functions but {KINDS.get(kind_of(path), 'other files')}"
    elif (state := read_json(path / "run.json").get("state")) != FINISHED:
        words = f"{path} is not complete: its state is {state}"
        remedy = "run craton greens build again"
    if words:
        refuse("greens", words, remedy)
    inspect_run(path)
    refuse_changed(path, RESULT, "scenario.toml")


def refuse_layout(stored, volume):
    """Refuse a store whose fields, of which it says `stored`, are laid out otherwise than those of a `Volume`."""
    if stored.get("layout") != volume.about.get("layout"):
        refuse("greens", "the store was built by another version of craton", "run craton greens build again")


def open(path, device="cpu", threads=None):
    """Open a store of Green's functions.

    Parameters
    ----------
    path : path-like
        What `craton greens build` made.
    device : str
        Where sums are computed: ``"cpu"``, ``"cuda"``, or ``"auto"``.
    threads : int, optional
        Of a CPU; by default $OMP_NUM_THREADS, else one per core.

    Returns
    -------
    Database

    Raises
    ------
    ScenarioError
        There is none, it is not complete, or of another version.
    Damaged
        It is not as it was written; of the fields, that is found when they are first used.
    """
    return Database(path, device, threads)


class Database:
    """Green's functions of some stations in a volume of possible sources.

    Parameters
    ----------
    path : path-like
        Folder of `craton greens build`.
    device, threads
        See `open`.

    Attributes
    ----------
    stations : list of str
    positions : (stations, 3) array
        m.
    volume : (2, 3) array
        Its corners, m.
    quantity : str
        What stations record: ``"velocity"``, in fluids alone ``"pressure"``.
    max_frequency : float
        Hz.
    scenario_on_grid : Scenario
        From which it was built, with positions as the grid or mesh has them.
    """

    def __init__(self, path, device="cpu", threads=None):
        self.path = Path(path)
        folder = self.path / RESULT
        refuse_others(self.path)
        try:
            with named_damage(folder):
                group = open_group(folder)
                self._fields = Fields(group, folder, device, threads)
                columns = [np.asarray(group[name][:]) for name in ("station", "component")]
                places = [np.asarray(group[axis][:], float) for axis in "xyz"]
        except CratonError:
            raise
        # a damaged store raises whatever its metadata make of it
        except Exception as error:
            words = f"{path} holds no Green's functions: {type(error).__name__}: {error}"
            raise ScenarioError.of("greens", words, "give the folder of craton greens build") from error
        self._about = about = About.read(folder / ".zattrs", dict(group.attrs))
        names, components = (list(map(str, column)) for column in columns)
        self.stations = list(dict.fromkeys(names))
        self.components = "".join(dict.fromkeys(components))
        firsts = [names.index(name) for name in self.stations]
        self.positions = np.stack(places, axis=1)[firsts]
        self.max_frequency = about.max_frequency
        self.volume = np.array(about.volume, float)
        field = self._moment_field()
        self.scenario_on_grid, self._medium, self._rows = field.scenario, field.values, field.volume.rows
        self.quantity = field.volume.quantity
        axis = about.dt, about.start, about.every, self._fields.samples
        self.synthesis = Synthesis(*axis, self.max_frequency, self.quantity)
        self._spared, self._last = SPARED[self._fields.dtype.name], None

    def __repr__(self):
        return (
            f"<craton.greens.Database of {len(self.stations)} stations, to {self.max_frequency:g} Hz, in {self.path}>"
        )

    def _moment_field(self):
        """Return the `MomentField` that the scenario and its files give, which are compared with what they were."""
        for words in changed_inputs(self.path, read_run(self.path).get("inputs", ())):
            refuse("greens", words, "build the store anew")
        about = self._about
        try:
            self._resolution = float(about.field["resolution"])
            field, problems = METHODS[about.method].moment_field(self.scenario, *map(spatial, about.volume))
            refuse_all(problems)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            words = f"its field cannot be right ({type(error).__name__}: {error})"
            raise Damaged(self.path / RESULT / ".zattrs", words) from error
        refuse_layout(about.field, field.volume)
        if field.volume.places != self._fields.places:
            words = f"it has {self._fields.places:,} places, its volume {field.volume.places:,}"
            raise Damaged(self.path / RESULT, words)
        return field

    @cached_property
    def scenario(self):
        """The scenario that it was built from."""
        from craton.scenario import load

        return load(self.path / "scenario.toml")

    # --- seismograms -------------------------------------------------------------------------------

    def seismograms(self, source=None, stations=None, sampling=None, duration=None, quantities=None):
        """Return the velocities or pressures of a source, or of several that act together, at stations.

        Parameters
        ----------
        source : table, dict, object, or list of these, optional
            As of `craton.Scenario`: a moment tensor, a file, an Event of ObsPy; by default the
            sources of the scenario.
        stations : list of str, optional
            By default all.
        sampling : float, optional
            s; by default half the interval of what is stored.
        duration : float, optional
            Where they end, s; by default where those of the scenario do, and no later.
        quantities : sequence of str, optional
            ``"velocity"``, ``"displacement"``, ``"acceleration"``, or ``"pressure"``; by default what stations record.

        Returns
        -------
        xarray.Dataset
            ``velocity(receiver, component, time)`` and the like, as of `craton.run`.

        Raises
        ------
        ScenarioError
            A source lies outside of the volume, or is a force; there is no such station or quantity.
        ResourceError
            They do not fit into memory.
        """
        from craton.output.dataset import TimeAxis, waveforms
        from craton.scenario import dumps
        from craton.survey import receivers
        from craton.survey.channels import channels as channels_of

        scenario, chosen, quantities = self._changed(source), self._chosen(stations), quantities or (self.quantity,)
        for name in quantities:
            if recorded_as(name) != self.quantity:
                refuse("quantities", f"the stations record {self.quantity}, not {name}", "leave it out")
        sources = moments_of(scenario, self._medium)
        values = len(self.stations) * len(self.components)
        times = self._times(sources, sampling, duration, values)
        places = receivers.located(receivers.build(scenario), scenario, sources)
        motion, step = scenario.domain.motion, times[1] - times[0]
        channels = [channel._replace(at=0.5) for channel in channels_of(len(places), (self.quantity,), motion)]
        samples = np.zeros((len(times), len(channels)))
        columns = self._columns(chosen)
        samples[:, columns] = self._sum(sources, chosen, times).reshape(len(columns), -1).T
        about = {"title": scenario.title, "scenario": dumps(scenario)} | places.event
        axis = TimeAxis(len(times), step, times[0] - step / 2)
        dataset = waveforms(samples, channels, places, axis, quantities, about, motion=motion)
        if places.stations is not None and places.stations.axes is not None:
            # in space forces have been along the stations' true east, north and up
            axes = places.stations.axes if scenario.domain.planar else None
            dataset = local(dataset, replace(places.stations, axes=axes))
        return dataset.isel(receiver=chosen)

    def batch(self, xyz, moment, wavelet, stations=None, sampling=None, duration=None, out=None):
        """Return what stations record of many sources, each by itself.

        Sources are summed TOGETHER at a time: what it needs beside the outcome does not grow with
        their number. They are fastest in an order in which neighbours are close to each other.

        Parameters
        ----------
        xyz : (n, 3) array
            m.
        moment : (n, 6) or (n, 3, 3) array
            Tensors along x, y, z of the model, N m; six numbers are EE, NN, ZZ, EN, EZ, NZ.
        wavelet : table or dict
            Of all of them: moment rate of unit moment.
        stations, sampling, duration
            As of `seismograms`.
        out : (n, receivers, components, times) array, optional
            Where they are written, also a `numpy.memmap` or an array of a file; by default a new
            array.

        Returns
        -------
        records : (n, receivers, components, times) array
            m/s, or Pa.
        times : array
            s.

        Raises
        ------
        ScenarioError
            A position outside of the volume or that is no number, moments that are not as many as
            positions, an `out` of another shape.
        """
        history, chosen = wavelet_of(wavelet), self._chosen(stations)
        work = 6 * len(chosen) * len(self.components) + self._fields.samples // 4
        times = self._times([history], sampling, duration, work)
        xyz, six = np.atleast_2d(np.asarray(xyz, float)), six_numbers(moment)
        self._check(xyz, six)
        shape = (len(xyz), len(chosen), len(self.components), len(times))
        out = np.empty(shape, np.float32) if out is None else out
        if tuple(out.shape) != shape:
            words = f"out has the shape {tuple(out.shape)}, the seismograms {shape}"
            refuse("out", words, "give an array of that shape")
        machine, begin = self._fields.machine, 0
        transform = self._transform(history, times)
        for columns in self._fields.groups(self._columns(chosen)):
            where = np.unravel_index(np.arange(begin, begin + len(columns)), shape[1:3])
            begin += len(columns)
            for first in range(0, len(xyz), TOGETHER):
                part = slice(first, first + TOGETHER)
                strain = self._strain(columns, self._rows(xyz[part], six[part]))
                with machine.work():
                    records = strain @ transform
                out[part, *where] = self._finite(machine.to_host(records))
        return out, times

    def derivatives(self, source, stations=None, sampling=None, duration=None):
        """Return what stations record of the six unit moments at the place of a source, in the axes of its mechanism: what
        moment tensor inversions need.

        Parameters
        ----------
        source, stations, sampling, duration
            As of `seismograms`; one source.

        Returns
        -------
        xarray.DataArray
            ``(tensor, receiver, component, time)``, m/s or Pa for 1 N m.
        """
        point, scenario = self.single_source(source), self._changed(source)
        axes = axes_of(scenario.source[0], scenario, np.array([point.xyz], float))[0].T
        units = [dyads(axes[a], axes[b]) / (1 + (a == b)) for a, b in TENSOR_AXES]
        rows = self._rows(np.array([point.xyz] * len(TENSOR), float), six_numbers(units))
        return self._labelled({"tensor": list(TENSOR)}, rows, point.wavelet, stations, sampling, duration)

    def slopes(self, source, stations=None, sampling=None, duration=None):
        """Return how the records of a source change with its position: what inversions for a
        hypocentre need.

        Differences of the weights, of fourth order over SHIFT of the spacing; the source lies 2
        SHIFT spacings inside the volume.

        Parameters
        ----------
        source, stations, sampling, duration
            As of `seismograms`; one source.

        Returns
        -------
        xarray.DataArray
            ``(axis, receiver, component, time)``, m/s or Pa for 1 m along x, y, z of the model.
        """
        point, step = self.single_source(source), SHIFT * self._resolution
        axes = [0, 2] if self.scenario.domain.planar else [0, 1, 2]
        six, parts = six_numbers(point.moment), []
        for axis in axes:
            xyz = np.array([point.xyz] * len(FOURTH), float)
            xyz[:, axis] += step * np.array(list(FOURTH))
            self._inside(xyz)
            _, index, weight = self._rows(xyz, six * np.array(list(FOURTH.values()))[:, None] / step)
            places, row = np.unique(index, return_inverse=True)
            parts.append((places, np.bincount(row, weight)))
        labels = {"axis": ["xyz"[axis] for axis in axes]}
        return self._labelled(labels, stacked_rows(parts), point.wavelet, stations, sampling, duration)

    def write_mtuq(self, at, path, wavelet=None, network="XX", sampling=None, stations=None):
        """Write the Green's functions of a place into a folder for MTUQ's client SPECFEM3D_SAC:
        NETWORK.STATION.LOCATION.{Z,R,T}.{Mrr, Mtt, ...}.sac, displacement in m for 1 N m.

        Parameters
        ----------
        at : sequence of float or dict
            Place of the source, as in a scenario.
        path : path-like
            Folder; files of the same names are replaced.
        wavelet : dict, optional
            Moment rate; by default an impulse up to the store's highest frequency.
        network : str
            Of stations without one.
        sampling : float, optional
            s, see `seismograms`.
        stations : list of str, optional
            By default all.

        Returns
        -------
        bool
            False, with a warning in the log, where ObsPy is missing.

        Raises
        ------
        ScenarioError
            The place is outside of the volume; the store is one of the plane.
        ResourceError
            A file cannot be written.
        """
        from craton.output.ground_motion import rotated

        if self.scenario.domain.planar:
            words = "MTUQ's couples are those of space, and this is a store of the plane"
            refuse("greens", words, "build a store in space")
        wavelet = wavelet or {"kind": "lowpass", "frequency": self.max_frequency}
        written = True
        for couple, (name, sign) in COUPLES.items():
            source = {"kind": "moment_tensor", "at": at, "tensor": {name: sign}, "wavelet": wavelet}
            dataset = self.seismograms([source], stations, sampling, None, ("displacement",))
            written &= seismograms.write_sac(rotated(dataset), path, network, f"{{channel}}.{couple}")
        return written

    # --- parts -------------------------------------------------------------------------------------

    def _sum(self, sources, chosen, times):
        """Return the records of sources that act together, (receivers, components, times)."""
        xyz = np.array([s.xyz for s in sources], float)
        self._inside(xyz)
        six = six_numbers([s.moment for s in sources])
        columns, rates = self._columns(chosen), 0
        for begin in range(0, len(sources), TOGETHER):
            part = slice(begin, begin + TOGETHER)
            strain, groups = self._on_host(columns, self._rows(xyz[part], six[part])), {}
            for n, source in enumerate(sources[part]):
                groups.setdefault(key_of(source.wavelet), []).append(n)
            for rows in groups.values():
                wavelet = sources[begin + rows[0]].wavelet
                rates = rates + self.synthesis.rates(strain[rows].sum(axis=0), wavelet)
        first = min(s.wavelet.start for s in sources)
        records = self._finite(self.synthesis.records(rates, first, times))
        return records.reshape(len(chosen), len(self.components), -1)

    def _finite(self, records):
        """Return records; refused where a sample is no number."""
        if not np.isfinite(records).all():
            raise Damaged(self.path / RESULT, "its seismograms are not finite")
        return records

    def single_source(self, source=None):
        """Return the point moment that a source is.

        Parameters
        ----------
        source : table, dict, object, or list of these, optional
            As of `seismograms`; one source.

        Returns
        -------
        PointSource or craton.greens.synthesis.PointMoment

        Raises
        ------
        ScenarioError
            There are several, or it lies outside of the volume.
        """
        sources = moments_of(self._changed(source), self._medium)
        if len(sources) > 1:
            words = f"a single place is needed, and there are {len(sources)} sources"
            refuse("source", words, "give them one after another")
        self._inside(np.array([sources[0].xyz], float))
        return sources[0]

    def _labelled(self, labels, rows, wavelet, stations, sampling, duration):
        """Return the records of sums of rows, one for each label: xarray.DataArray."""
        import xarray as xr

        chosen = self._chosen(stations)
        values = (len(rows[0]) - 1) * len(chosen) * len(self.components)
        times = self._times([wavelet], sampling, duration, values)
        strain = self._on_host(self._columns(chosen), rows)
        rates = self.synthesis.rates(strain.reshape(-1, strain.shape[-1]), wavelet)
        records = self._finite(self.synthesis.records(rates, wavelet.start, times))
        coordinates = labels | {"receiver": [self.stations[n] for n in chosen], "component": list(self.components)}
        coordinates["time"] = times
        shape = tuple(map(len, coordinates.values()))
        return xr.DataArray(records.reshape(shape), coordinates, tuple(coordinates))

    def _transform(self, wavelet, times):
        """Return `Synthesis.matrix` on the machine."""
        matrix = self.synthesis.matrix(wavelet, times)
        if self._last is None or self._last[0] is not matrix:
            self._last = matrix, self._fields.machine.asarray(matrix)
        return self._last[1]

    def _columns(self, chosen):
        """Numbers of the forces of stations."""
        width = len(self.components)
        return [n * width + c for n in chosen for c in range(width)]

    def _strain(self, columns, rows):
        """Strain rates weighted with moments, for some forces: (n, columns, samples) of the
        machine's arrays; they hold until the next call.

        Parameters
        ----------
        columns : list of int
            Numbers of forces.
        rows : tuple
            Of at most TOGETHER sources, see `Volume.rows`.
        """
        slots = 1 if len(rows[0]) == 2 else TOGETHER
        return self._fields.sums(columns, slots, rows, self._spared)

    def _on_host(self, columns, rows):
        """`_strain` in the host's memory, whatever the machine holds at a time."""
        fields = self._fields
        parts = [fields.machine.to_host(self._strain(group, rows)) for group in fields.groups(columns)]
        return np.concatenate(parts, axis=1)

    def _changed(self, source):
        """Return the scenario on its grid or mesh, with other sources."""
        from craton.driver.simulation import changed

        if source is None:
            return self.scenario_on_grid
        tables = changed(self.scenario, source=source).source
        return self.scenario_on_grid.model_copy(update={"source": tables})

    def _chosen(self, stations):
        """Numbers of stations."""
        if stations is None:
            return list(range(len(self.stations)))
        stations = [stations] if isinstance(stations, str) else list(stations)
        if not stations:
            refuse("stations", "the list of stations is empty", "leave it out to take all")
        unknown = [name for name in stations if name not in self.stations]
        if unknown:
            words = f'there is no station "{unknown[0]}"; there are {", ".join(self.stations[:8])}'
            refuse("stations", words, "choose some of these")
        return [self.stations.index(name) for name in stations]

    def _inside(self, xyz):
        """Refuse positions outside of the volume."""
        from craton.survey.places import outside

        axes = [0, 2] if self.volume.shape[1] == 2 else [0, 1, 2]
        low, high = self.volume
        at = in_corners(getattr(self.scenario_on_grid.domain, "globe", None), xyz, low)[:, axes]
        slack = 1e-6 * np.abs(self.volume).max(axis=0)
        beyond = ((at < low - slack) | (at > high + slack)).any(axis=1)
        if beyond.any():
            words = (
                f"a source at {tuple(at[beyond][0].round(3).tolist())} lies outside of the "
                f"volume from {tuple(low.tolist())} to {tuple(high.tolist())}"
            )
            refuse("source", words, "build a store of a larger volume")
        wrong = outside(self.scenario_on_grid, xyz)
        if wrong:
            refuse("source", *wrong[1:])

    def _check(self, xyz, six):
        """Refuse arrays of sources that do not fit together, or are no numbers."""
        if xyz.shape != (len(six), 3) or six.shape[1] != len(TENSOR):
            words = f"positions {xyz.shape} and moments {six.shape} do not fit together"
            refuse("source", words, "give arrays (n, 3) and (n, 6)")
        wrong = np.flatnonzero(~(np.isfinite(xyz).all(axis=1) & np.isfinite(six).all(axis=1)))
        if len(wrong):
            words = f"source {wrong[0]} (counted from 0) has a place or moment that is no number"
            refuse("source", words, "leave it out")
        self._inside(xyz)

    def _times(self, sources, sampling, duration, values):
        """Return the times of seismograms, s, of which each has so many values; refused where
        these do not fit into memory.
        """
        histories = [getattr(s, "wavelet", s) for s in sources]
        last = min(self._about.duration, *map(self.synthesis.end, histories))
        end = last if duration is None else duration
        if end > last * (1 + 1e-9):
            words = f"{end:g} s are more than the {last:.4g} s that are stored for this wavelet"
            refuse("duration", words, "build a longer store")
        step, longest = self.synthesis.interval / 2 if sampling is None else sampling, 0.5 / self.max_frequency
        if not 0 < step <= longest:
            words = f"{step:g} s is no sampling of waves up to {self.max_frequency:g} Hz"
            refuse("sampling", words, f"give at most {longest:.4g} s")
        begin, free = min(0.0, *(w.start for w in histories)), host_memory()[0]
        if end < step:
            refuse("duration", f"seismograms to {end:.4g} s hold no sample", "give a longer one")
        needed = VALUE_BYTES * values * (end - begin) / step
        if needed > free:
            raise ResourceError(
                f"sampling = {step:g} s: {(end - begin) / step:,.4g} samples need {needed / 2**30:,.4g}"
                f" GiB, {free / 2**30:,.1f} GiB are free\n    -> give at least "
                f"{step * needed / free:.2g} s, or fewer stations at a time"
            )
        first = np.floor(begin / step)
        return np.arange(first, np.floor(end / step + 1e-9) + 1) * step

    def warnings(self, source=None):
        """Return what is lost of the wavelets of a source: list of str.

        Parameters
        ----------
        source : table, dict, object, or list of these, optional
            As of `seismograms`.
        """
        histories = [s.wavelet for s in moments_of(self._changed(source), self._medium)]
        share = max(map(self.synthesis.lost, histories), default=0.0)
        if share < LOST:
            return []
        return [
            f"the wavelet goes beyond the store's {self.max_frequency:g} Hz, where its spectrum is "
            f"{share:.2g} of its largest value: what is above is left out"
        ]


def wavelet_of(table):
    """Return the `Wavelet` of a table or dict; that of the same numbers is made once.

    Raises
    ------
    OSError, ValueError
        The dict is no wavelet, its file cannot be read, or its samples make none.
    """
    if not isinstance(table, dict):
        return wavelets.build(table)
    if "file" in table:  # which may change
        return wavelets.build(WAVELET.validate_python(table))
    return wavelet_of_text(json.dumps(table, default=as_json))


def as_json(value):
    """Return a NumPy array or number as JSON has it, and any other object by its text."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


@lru_cache(maxsize=16)
def wavelet_of_text(text):
    """Return the `Wavelet` of a table in JSON; queries that differ in their places have the same."""
    return wavelets.build(WAVELET.validate_python(json.loads(text)))


def place_of(store, source=None):
    """Return the place of a source of `Database.seismograms`, which is one, as a scenario has it: x, y, z, m; where the model
    lies on Earth longitude, latitude (degrees) and depth or elevation (m), so that mechanisms are in true east, north and up.
    """
    xyz, domain = np.array(store.single_source(source).xyz, float), store.scenario_on_grid.domain
    if globe := getattr(domain, "globe", None):
        longitude, latitude, height = in_corners(globe, xyz[None], store.volume[0])[0].tolist()
        return {"longitude": (longitude + 180) % 360 - 180, "latitude": latitude, "depth": -height}
    if earth := local_of(domain):
        longitude, latitude = map(float, earth.degrees(*xyz[:2]))
        return {"longitude": longitude, "latitude": latitude, "elevation": float(xyz[2])}
    return xyz.tolist()
