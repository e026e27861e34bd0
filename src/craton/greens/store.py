"""Builds a store of Green's functions: a reciprocal run for each force at each station, as the
shots of a survey.
"""

import hashlib
import math
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from craton.conventions import VECTOR, components
from craton.driver.march import Observer
from craton.errors import ComputationError, Problem, ResourceError, refuse, refuse_all
from craton.greens import fields
from craton.greens.synthesis import interval_steps, margin
from craton.methods import METHODS
from craton.output.arrays import consolidate, create, open_group, write_dataset
from craton.shots import Survey, run
from craton.shots.survey import planned_of, scenario_of
from craton.shots.task import reused
from craton.survey import leapfrog
from craton.tables.fields import spatial
from craton.text import megabytes, text_sections

# N, or m3 of an injected volume: strain rates far above the smallest numbers of float32; no digits are lost
FORCE = 2.0**40
BUFFER = 1 << 26  # bytes of pictures that wait to be sorted by place
# of seismograms against those of runs, L2: medians and worst of bench/results/greens_cpu.json
ERRORS = {"float32": "5e-7, at most 1e-5", "16 bits": "6e-5, at most 1e-3"}
SCALE_BYTES = 4  # of each place of a force, beside its values
PICTURE_BYTES = 44  # of each place, while a picture is made and rounded (measured)


@dataclass
class GreensSurvey(Survey):
    """Forces at stations, whose fields are kept in a volume; `prepare` makes it.

    Parameters
    ----------
    volume : craton.methods.waves.greens.Volume
        Where the fields are kept.
    stations : Receivers
    forces : dict
        Name of each shot -> (number of the station, component).
    every : int
        Steps from one stored sample to the next.
    """

    kind: ClassVar[str] = "greens"  # of craton.output.store.KINDS
    volume: Any = None
    stations: Any = None
    forces: Any = None
    every: int = 1

    @property
    def scenario(self):
        """The scenario, as it was given."""
        return self.scenarios["scenario"]

    @property
    def settings(self):
        """The table ``greens`` of the scenario."""
        return self.scenario.greens

    @property
    def samples(self):
        """Stored samples of a run."""
        return math.ceil(self.planned.steps / self.every)

    @property
    def digest(self):
        """Says which store it is."""
        return hashlib.sha256(f"{super().digest}\n{self.settings.model_dump_json()}".encode()).hexdigest()[:16]

    @property
    def nbytes_kept(self):
        """Bytes of the stored values."""
        width = 2 if self.settings.storage == "16 bits" else 4
        return len(self.shots) * self.volume.places * self.samples * width

    @property
    def sorting(self):
        """Bytes of the host that the field of one force takes until it is written."""
        return bytes_of_field(self.volume.places, self.samples)

    @property
    def memory(self):
        """Bytes of the host that the run of one force takes, without Python and its libraries."""
        from craton.comm.placement import gpus

        on_gpu = bool(gpus(self.shots[0].scenario.run.device))
        return self.planned.host_memory[on_gpu] + self.sorting

    @property
    def warnings(self):
        """Sentences about what is probably not meant; none of them about the pulse."""
        return [*self.scenario.warnings]

    def lay_out(self, path, about):
        """Make the empty result.zarr: ``values(shot, place, time)``, and ``scale(shot, place)``:
        the largest magnitude over LEVELS, in 16 bits the unit of values.

        Parameters
        ----------
        path : path-like
        about : dict
            Attributes.
        """
        import xarray as xr

        names = np.array([shot.name for shot in self.shots], dtype=str)
        station, component = zip(*self.forces.values())
        planned = self.planned
        attributes = about | {
            "method": self.shots[0].scenario.method,
            "field": self.volume.about,
            "dt": planned.dt,
            "start": planned.start,
            "every": self.every,
            "max_frequency": self.settings.max_frequency,
            "duration": self.scenario.time.duration,
            "volume": [list(self.settings.from_), list(self.settings.to)],
        }
        coordinates = {
            "shot": ("shot", names),
            "station": ("shot", np.array(self.stations.names, dtype=str)[list(station)]),
            "component": ("shot", np.array(component, dtype=str)),
        }
        coordinates |= {axis: ("shot", self.stations.xyz[list(station), n]) for n, axis in enumerate("xyz")}
        group = write_dataset(path, xr.Dataset({}, coordinates, {}))
        group.attrs.update(attributes)
        dtype = "int16" if self.settings.storage == "16 bits" else "float32"
        shape = (len(names), self.volume.places, self.samples)
        settings = {"fill_value": 0, "codecs": fields.packing()}
        create(group, fields.FOLDER, shape, (1, *shape[1:]), dtype, ["shot", "place", "time"], **settings)
        create(group, "scale", shape[:2], (1, shape[1]), "float32", ["shot", "place"], fill_value=0)
        consolidate(path)

    @property
    def work(self):
        """What a worker does with a force: see `craton.shots.task.Task`."""
        corners = (tuple(self.settings.from_), tuple(self.settings.to))
        return partial(store_field, corners=corners, every=self.every, samples=self.samples)


def store_field(task, log, corners, every, samples):
    """Run the force of a task, and write its field in a volume between two corners, m: so many samples, each `every` steps."""
    from craton.driver.simulation import MediumRuns
    from craton.scenario import dumps, loads

    scenario = loads(task.text)

    def runs_and_volume():
        field, problems = METHODS[scenario.method].moment_field(scenario, *map(spatial, corners))
        refuse_all(problems)
        return MediumRuns(scenario), field.volume

    key = task.start, dumps(scenario.model_copy(update={"source": ()}))
    with reused(key, runs_and_volume) as (runs, volume):
        pictures = Pictures(volume, every, samples)
        runs.compute(scenario, observers=[pictures])
        write_field(task.zarr, task.number, pictures.finished())
    return {"state": "finished"}


def write_field(zarr, number, field):
    """Write the field of a force, (places, samples), its scale first: a field that is there is complete."""
    group = open_group(zarr, "r+")
    largest = np.maximum(field.max(axis=1), -field.min(axis=1))
    if not np.isfinite(largest).all():
        raise ComputationError("the field in the volume is not finite")
    group["scale"][number] = largest / FORCE / fields.LEVELS
    dtype = group[fields.FOLDER].dtype
    if dtype.kind == "i":
        factor = fields.LEVELS / np.where(largest > 0, largest, 1)
    else:
        factor = np.full(len(largest), 1 / FORCE)
    fields.write(Path(zarr) / fields.FOLDER, number, [field], factor, dtype)


class Pictures(Observer):
    """Takes the field of a force in a `Volume` every so many steps, rounds it to float32 and sorts it by place.

    What is rounded off a value is added to the next one at its place, so that integrals over time,
    which seismograms are made of, are not off by more than one rounding (noise shaping: Spang &
    Schultheiss 1962, IRE Trans. Commun. Syst. 10, 373).

    Parameters
    ----------
    volume : Volume
    every : int
        Steps from one picture to the next.
    samples : int
        Number of pictures.
    """

    def __init__(self, volume, every, samples):
        self.volume, self.every = volume, every
        self.field = np.empty((volume.places, samples), np.float32)
        self.waiting = np.empty((waiting(volume.places, samples), volume.places), np.float32)
        self.sorted, self.count, self.left = 0, 0, np.zeros(volume.places)

    def due(self, step):
        """Return True after a step of which the store has a sample."""
        return (step - 1) % self.every == 0

    def see(self, step, program):
        """Take a picture of the state."""
        fields = {name: program.host(name, index) for name, index in self.volume.reads.items()}
        self.left += self.volume.picture(fields)
        self.waiting[self.count] = self.left
        self.left -= self.waiting[self.count]
        self.count += 1
        if self.count == len(self.waiting):
            self.flush()

    def flush(self):
        """Sort what waits."""
        end = self.sorted + self.count
        self.field[:, self.sorted : end] = self.waiting[: self.count].T
        self.sorted, self.count = end, 0

    def finished(self):
        """Return all pictures, (places, samples)."""
        self.flush()
        self.waiting = self.left = None
        return self.field


def waiting(places, samples):
    """Return how many pictures wait to be sorted."""
    return max(1, min(BUFFER // (4 * places), samples // 8))


def bytes_of_field(places, samples):
    """Return the bytes of the field of one force, and of the work on it until it is written."""
    field = 4 * places * samples
    work = (4 * waiting(places, samples) + PICTURE_BYTES) * places
    return field + max(work, 2 * min(fields.BLOCK, field))


def prepare(scenario):
    """Return the GreensSurvey of a scenario; its sources are left out.

    Parameters
    ----------
    scenario : Scenario
        With the table ``greens``, and receivers: the stations.

    Raises
    ------
    ScenarioError
        With every problem found.
    """
    from craton.survey.shots import Shot

    if "greens" not in type(scenario).model_fields:
        refuse("method", f'method = "{scenario.method}" has no Green\'s functions', 'use method = "fd"')
    settings = scenario.greens
    if settings is None:
        refuse("greens", "there is no table [greens]", "add [greens] with from, to and max_frequency")
    axes = 3 if getattr(scenario.domain, "chunk", None) else len(scenario.domain.size or ())
    if axes and len(settings.from_) != axes:
        refuse("greens.from", f"the corners have {len(settings.from_)} numbers, the domain {axes}", "give as many")
    low, high = map(spatial, (settings.from_, settings.to))
    bare = {"source": (), "snapshots": (), "peaks": (), "greens": None, "gradient": None}
    # runs begin with their own impulse, whatever the scenario's sources begin with
    time = scenario.time.model_copy(update={"start": None})
    bare |= {"recording": (), "injection": (), "time": time}
    bare = scenario.model_copy(update=bare)
    bounded = bare.model_copy(update={"greens": settings})
    field, problems = METHODS[scenario.method].moment_field(bounded, low, high)
    refuse_all(problems)
    stations = stations_of(field.scenario)
    forces, bare = forces_of(scenario, stations, field.volume.quantity), bare.model_copy(update={"receivers": ()})
    first = next(iter(forces.values()))
    planned, problems = planned_of(Shot("greens", with_force(bare, stations, field, *first, settings.max_frequency)))
    refuse_all(problems)
    every = interval_steps(settings.max_frequency, planned.dt)
    if not every:
        words = f"{settings.max_frequency:g} Hz is too high for time steps of {planned.dt:.4g} s"
        refuse("greens.max_frequency", words, "lower it, or take a finer grid")
    extra = leapfrog.extra(planned.steps) * planned.dt + margin(settings.max_frequency)
    time = time.model_copy(update={"duration": time.duration + extra, "start": planned.start})
    bare = bare.model_copy(update={"time": time})
    shots = [
        Shot(name, with_force(bare, stations, field, *force, settings.max_frequency)) for name, force in forces.items()
    ]
    planned, problems = planned_of(shots[0])
    refuse_all(problems)
    by_name = {"scenario": scenario}
    survey = GreensSurvey(scenario.title, shots, planned, np.empty(0), by_name, field.volume, stations, forces, every)
    check_memory(survey)
    return survey


def stations_of(scenario):
    """Return the receivers of a scenario.

    Raises
    ------
    ScenarioError
        There are none, or two of one name.
    """
    from craton.survey import receivers
    from craton.survey.receivers import located

    if not scenario.receivers:
        refuse("receivers", "there are no stations", "add [[receivers]]: the stations")
    stations = located(receivers.build(scenario), scenario, [])
    names = list(stations.names)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    refuse_all([Problem("receivers", f'two stations are called "{n}"', "rename one") for n in twice[:5]])
    return stations


def forces_of(scenario, stations, quantity):
    """Return the forces, for pressure the injected volumes: name of each -> (number of the station, component)."""
    along = components(quantity, scenario.domain.motion)
    return {f"{name}.{c}": (n, c) for n, name in enumerate(stations.names) for c in along}


def with_force(scenario, stations, field, number, component, max_frequency):
    """Return a scenario with a force at a station, along its true east, north or up, or for pressure with a volume that
    is injected there: a moment of the bulk modulus times the volume.

    Parameters
    ----------
    scenario : Scenario
    stations : Receivers
        With what is known of them on Earth.
    field : MomentField
    number : int
        Of the station.
    component : str
    max_frequency : float
        Hz.
    """
    force = np.array([FORCE * (c == component) for c in VECTOR])
    at = [float(v) for v in stations.xyz[number]]
    if scenario.domain.planar:
        at = [at[0], at[2]]
    elif getattr(scenario.domain, "chunk", None) is not None:
        where = {name: float(v[number]) for name, v, _ in stations.stations.coordinates}
        at = {name: where[name] for name in ("longitude", "latitude", "depth")}
    elif stations.stations is not None and stations.stations.axes is not None:
        force = stations.stations.axes[number] @ force
    written = scenario.model_fields_set & set(type(scenario).model_fields)
    tables = {name: getattr(scenario, name) for name in written}
    wavelet = {"kind": "lowpass", "frequency": max_frequency}
    source = {"kind": "force", "at": at, "force": force.tolist(), "wavelet": wavelet}
    if field.volume.quantity == "pressure":
        vp, vs, rho = (float(v[0]) for v in field.values(stations.xyz[[number]]))
        moment = FORCE * rho * (vp**2 - 4 / 3 * vs**2)
        source = {"kind": "explosion", "at": at, "moment": moment, "wavelet": wavelet}
    return type(scenario)(**{**tables, "source": [source]})


def check_memory(survey):
    """Refuse a force whose run and field do not fit into the host's memory."""
    from craton.backends.cpu import host_memory

    free, _ = host_memory()
    if survey.memory > free:
        raise ResourceError(
            f"the run of one force takes {megabytes(survey.memory)}, {megabytes(survey.sorting)} of "
            f"them for its field, of {megabytes(free)} that are free\n    -> make the volume of "
            "[greens] smaller, lower its max_frequency, or shorten time.duration"
        )


def build(source, out, workers=None, client=None, force=False, progress=True):
    """Compute the Green's functions of a scenario into a folder; `craton greens build` in Python.
    Forces that are there already are not run again.

    Parameters
    ----------
    source : Scenario, path-like or GreensSurvey
        With the table ``greens``.
    out, workers, client, force, progress
        See `craton.run_survey`.

    Returns
    -------
    Database

    Raises
    ------
    CratonError
        See `craton.run_survey`.
    """
    from craton.greens.database import Database

    survey = source if isinstance(source, GreensSurvey) else prepare(scenario_of(source))
    check_disk(out, survey)
    outcome = run(survey, out, workers, client, force, progress).finished()
    return Database(Path(outcome.out))


def words(survey):
    """Return what a store costs and holds, in words.

    Parameters
    ----------
    survey : GreensSurvey
    """
    settings, volume = survey.settings, survey.volume
    bytes_of_point = survey.nbytes_kept / volume.places * volume.per_point
    rows = [
        ("stations", f"{len(survey.stations)}, {len(survey.shots)} runs"),
        ("runs", f"{survey.planned.steps:,} steps for each"),
        (
            "volume",
            f"{volume.places // volume.per_point:,} points of the {volume.of_what}; {bytes_of_point:,.0f} bytes for each",
        ),
        ("samples", f"{survey.samples:,}, every {survey.every} steps, to {settings.max_frequency:g} Hz"),
        ("memory", f"{megabytes(survey.memory)} for each run, beside Python"),
        ("storage", f"{settings.storage}: seismograms differ from runs by {ERRORS[settings.storage]}"),
        ("on disk", megabytes(survey.nbytes_kept)),
    ]
    return text_sections({"Green's functions": rows})


def check_disk(out, survey):
    """Refuse a store that does not fit on the disk of its folder."""
    free = shutil.disk_usage(next(p for p in Path(out).absolute().parents if p.exists())).free
    present = sum(p.stat().st_size for p in Path(out).glob(f"result.zarr/{fields.FOLDER}/*.*"))
    needed = survey.nbytes_kept + SCALE_BYTES * len(survey.shots) * survey.volume.places
    if needed - present > free:
        raise ResourceError(
            f"the store needs {megabytes(needed)}, {megabytes(free)} are free at {out}\n"
            "    -> make the volume of [greens] smaller, lower its max_frequency, write "
            'storage = "16 bits", or choose another disk'
        )
