"""The OUT directory of a survey: one result.zarr with the shots in front, written by many
processes, and the state of each shot.
"""

import os
import re
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from craton.errors import ResourceError, ScenarioError, refuse
from craton.integrity import writing
from craton.output.arrays import CHUNK_BYTES, consolidate, create, open_group, write_dataset
from craton.output.dataset import TimeAxis, cf_dataset, of_fibres, receiver_coordinates, waveforms
from craton.output.inspection import inspect_metadata
from craton.output.store import FINISHED, Store, check_alone, check_out, kind_of, read_run
from craton.survey.geography import coordinates as on_earth_coordinates
from craton.survey.geography import local

WHERE = ("longitude", "latitude", "elevation", "depth")  # what does not depend on the shot
CHUNK = re.compile(r"\d+(\.\d+)+")  # names of files with values
FIBRES = "fibres"  # group of what fibres recorded
WRITTEN_EVERY = 1.0  # s between versions of run.json: what a kill takes with it is computed again


def check_survey_out(path, survey, force=False):
    """Refuse an OUT that holds something else than this survey, or is being written. Writes
    nothing.

    Parameters
    ----------
    path : path-like
    survey : craton.shots.Survey
        With `digest`, which survey it is, and `kind`, what it makes.
    force : bool
        Replace what is there, if it is of this kind.

    Raises
    ------
    ScenarioError, ResourceError
    """
    run = read_run(path)
    if force or kind_of(path) != survey.kind:
        check_out(path, force, survey.kind)
        return
    check_alone(path)
    if run.get("survey") != survey.digest:
        remedy = "choose another directory, or add --force to replace it"
        refuse("-o", f"{path} holds a survey of another scenario", remedy)


class ShotStore:
    """OUT of a survey that begins or goes on.

    Parameters
    ----------
    path : path-like
    survey : craton.shots.Survey
        What an earlier start of the same one has finished is kept.
    force : bool
        Begin anew.
    """

    def __init__(self, path, survey, force=False):
        check_survey_out(path, survey, force)
        digest = survey.digest
        goes_on = not force and read_run(path).get("survey") == digest
        self.store = Store.again(path) if goes_on else Store(path, force, survey.kind)
        self.path, self.zarr, self.written = self.store.path, self.store.zarr, 0.0
        self.laid_out = goes_on and (self.zarr / ".zmetadata").exists()
        self.shots = sound_outcomes(self.store.run.get("shots")) if self.laid_out else {}
        self.store.update(survey=digest, shots=self.shots)

    @property
    def finished(self):
        """Names of the shots that are there."""
        return {name for name, shot in self.shots.items() if shot["state"] == FINISHED}

    def adopt(self, outcomes, numbers):
        """Take over what workers wrote after an earlier start had ended, and forget shots whose
        waveforms are not there.

        Parameters
        ----------
        outcomes : dict
            Outcome of each shot, by name.
        numbers : dict
            Place of each shot along the axis, by name: all others are forgotten.
        """
        ended = {**self.shots, **outcomes}
        present = complete_shots(self.zarr)
        self.shots = {
            name: outcome
            for name, outcome in ended.items()
            if name in numbers and (outcome["state"] != FINISHED or numbers[name] in present)
        }
        self.store.update(shots=self.shots)

    def write_scenarios(self, texts):
        """Write scenario.toml, or where there are several the files of the folder scenarios."""
        if len(texts) == 1:
            return self.store.write_scenario(*texts.values())
        folder = self.path / "scenarios"
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        return self.store.note_files([f"scenarios/{name}.toml" for name in texts])

    def note(self, name, **fields):
        """Remember how a shot ended."""
        self.shots[name] = fields
        if time.monotonic() - self.written > WRITTEN_EVERY:
            self.store.update(shots=self.shots)
            self.written = time.monotonic()

    def finish(self, state, **fields):
        """Write the last state of the survey."""
        self.store.finish(state, shots=self.shots, **fields)


def sound_outcomes(shots):
    """Return what run.json says of shots, without what no survey has written."""
    if not isinstance(shots, dict):
        return {}
    return {
        name: outcome
        for name, outcome in shots.items()
        if isinstance(outcome, dict) and isinstance(outcome.get("state"), str)
    }


def complete_shots(path):
    """Return the numbers of the shots all of whose chunks are in the store: set of int.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    ScenarioError
        The store cannot be read.
    """
    remedy = "add --force to compute all shots anew"
    for damage in inspect_metadata(Path(path))[0]:
        refuse("-o", f"{path} is damaged: {damage.path.relative_to(path)}: {damage.reason}", remedy)
    try:
        group = open_group(path)
        quantities = {name: a for name, a in group.arrays() if a.ndim > 2}
        if FIBRES in group:
            quantities |= {f"{FIBRES}/{n}": a for n, a in group[FIBRES].arrays() if a.ndim > 2}
    # a damaged store raises whatever its metadata make of it
    except Exception as error:
        raise ScenarioError.of("-o", f"{path} is damaged: {type(error).__name__}: {error}", remedy) from error
    present = None
    for name, array in quantities.items():
        in_shot = int(np.prod([-(-n // c) for n, c in zip(array.shape[1:], array.chunks[1:])]))
        counts = Counter(
            int(file.partition(".")[0]) for file in os.listdir(os.path.join(path, name)) if CHUNK.fullmatch(file)
        )
        complete = {number for number, count in counts.items() if count == in_shot}
        present = complete if present is None else present & complete
    return present or set()


def lay_out(path, planned, output, motion, names, of_shots, times, attributes):
    """Make the result.zarr of a survey: coordinates with their values, quantities with no chunk
    yet, NaN where nothing is written.

    A shot has chunks of its own: processes that write different shots never meet in a file.

    Parameters
    ----------
    path : path-like
    planned : Plan
        Of one of the shots.
    output : craton.scenario.Output
    motion : str or None
        Of the plane.
    names : list of str
        Shots.
    of_shots : dict
        Coordinates over ``shot``: (dimension, values, attributes) by name.
    times : ndarray
        Samples, s.
    attributes : dict
    """
    sample = _sample_dataset(planned, output, motion, attributes)
    coordinates = receiver_coordinates(planned.receivers)
    if planned.receivers.stations is not None:
        on_earth = on_earth_coordinates(planned.receivers.stations)
        coordinates |= {name: on_earth[name] for name in WHERE if name in on_earth}
    sample.attrs = {k: v for k, v in sample.attrs.items() if not k.startswith("source_")}
    _lay_out(path, None, sample, "receiver", coordinates, names, of_shots, times)
    if planned.receivers.fibres is not None:
        channels = [channel for channel in planned.channels if channel.terms]
        series = np.ones((planned.steps, len(channels)), planned.precision)
        sample = of_fibres(series, channels, planned.receivers.fibres, TimeAxis.of(planned, output), attributes)
        along = {name: (c.dims, c.values, c.attrs) for name, c in sample.coords.items() if "channel" in c.dims}
        _lay_out(path, FIBRES, sample, "channel", along, names, of_shots, times)
        consolidate(path, FIBRES)
    else:
        consolidate(path)


def _lay_out(path, name, sample, place, coordinates, names, of_shots, times):
    """Make a group of the store whose quantities are those of the sample of a shot; `coordinates` are along its dimension
    `place`.
    """
    others = {n: (c.dims, c.values, c.attrs) for n, c in sample.coords.items() if place not in c.dims}
    coordinates = others | {"time": ("time", times, sample.time.attrs)} | coordinates
    coordinates["shot"] = ("shot", np.array(names, dtype=str), {"long_name": "shot name"})
    whole = cf_dataset(None, coordinates | of_shots, sample.attrs)
    group = write_dataset(path, whole, name)
    auxiliary = " ".join(name for name in whole.coords if name not in whole.dims)
    for quantity, variable in sample.data_vars.items():
        shape = (len(names), whole.sizes[place], *variable.shape[1:-1], len(times))
        add_quantity(group, quantity, shape, variable, ("shot", *variable.dims), auxiliary)


def write_shot(path, number, dataset, along=None):
    """Write the waveforms of one shot, and what its fibres recorded; series a sample longer than
    those of the survey are cut.

    Raises
    ------
    ResourceError
        The store cannot be seen or written from here.
    """
    with writing(f"to {path}"), shared_folder(path):
        group = open_group(path, "r+")
        for part, written in ((group, dataset), *([] if along is None else [(group[FIBRES], along)])):
            for name, variable in written.data_vars.items():
                part[name][number] = variable.values[..., : part[name].shape[-1]]


@contextmanager
def shared_folder(path):
    """Inside, a file of a survey that is not there is one that this worker does not see."""
    try:
        yield
    except FileNotFoundError as error:
        raise ResourceError(f"{path} is not seen here: all workers need the folder OUT under the same name") from error


def _sample_dataset(planned, output, motion, attributes):
    """Return a dataset as each shot's will be, of the first receiver."""
    channels = [c for c in planned.channels if c.receiver == 0 and not c.terms]
    quantities = output.waveforms if len(planned.receivers) else ()
    first = planned.receivers.part(slice(1))
    samples, axis = np.ones((planned.steps, len(channels)), planned.precision), TimeAxis.of(planned, output)
    dataset = waveforms(samples, channels, first, axis, quantities, attributes, motion=motion)
    on_earth = first.stations is not None and first.stations.axes is not None
    return local(dataset, first.stations) if on_earth else dataset


def add_quantity(group, name, shape, variable, dims, auxiliary):
    """Create an empty array, one or several chunks for each shot.

    Parameters
    ----------
    group : zarr.Group
    name : str
    shape : tuple of int
        (shots, ...).
    variable : xarray.Variable
        Of its type, with its attributes.
    dims : tuple of str
    auxiliary : str
        Names of coordinates.
    """
    rest = int(np.prod(shape[2:])) * variable.dtype.itemsize
    receivers = max(1, min(shape[1], CHUNK_BYTES // max(rest, 1)))
    chunks, about = (1, receivers, *shape[2:]), {**variable.attrs, "coordinates": auxiliary}
    create(group, name, shape, chunks, variable.dtype, dims, about)
