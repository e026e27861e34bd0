"""A survey before it runs: its shots, the plan of one of them, and what several scenarios must
share.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from craton.driver.run import method_of
from craton.errors import Problem, ScenarioError, refuse, refuse_all
from craton.shots.task import Task, record


@dataclass
class Survey:
    """Shots that share receivers and times.

    Parameters
    ----------
    title : str
    shots : list of craton.survey.shots.Shot
        Each as it will run: all begin at the same time.
    planned : Plan
        Of one of them.
    times : ndarray
        Samples of the waveforms, s.
    scenarios : dict
        Name -> the scenarios that they come from.
    """

    kind: ClassVar[str] = "survey"  # of craton.output.store.KINDS
    title: str
    shots: list
    planned: Any
    times: Any
    scenarios: dict

    @cached_property
    def texts(self):
        """Name -> scenario in TOML of each shot."""
        from craton.scenario import dumps

        return {shot.name: dumps(shot.scenario) for shot in self.shots}

    @property
    def snapshots(self):
        """Whether shots keep their snapshots."""
        return any(shot.scenario.snapshots or shot.scenario.peaks for shot in self.shots)

    @property
    def work(self):
        """What a worker does with a shot: see `Task`."""
        return partial(record, snapshots=self.snapshots)

    @property
    def digest(self):
        """Says which survey it is; the machine is no part of it."""
        from craton.scenario import dumps

        checksum = hashlib.sha256()
        for shot in self.shots:
            run = shot.scenario.run.model_copy(update={"device": "auto", "threads": None})
            checksum.update(f"{shot.name}\n{dumps(shot.scenario.model_copy(update={'run': run}))}".encode())
        return checksum.hexdigest()[:16]

    @property
    def warnings(self):
        """Sentences about what is probably not meant."""
        taken = any(scenario.snapshots for scenario in self.scenarios.values())
        left_out = "snapshots: a survey keeps waveforms only; --snapshots keeps those of every shot"
        return [*self.planned.warnings, *([left_out] if taken and not self.snapshots else [])]

    @property
    def memory(self):
        """Bytes that a shot takes while it runs."""
        return self.planned.nbytes

    @property
    def nbytes_kept(self):
        """Bytes of the waveforms, and of snapshots that are kept, of all shots."""
        from craton.driver.waves import written_bytes

        pictures = sum(series.nbytes for series in self.planned.snapshots) if self.snapshots else 0
        return (written_bytes(self.shots[0].scenario, self.planned) + pictures) * len(self.shots)

    def lay_out(self, path, about):
        """Make the empty result.zarr, for `write_shot`.

        Parameters
        ----------
        path : path-like
        about : dict
            Attributes.
        """
        from craton.output.shots import lay_out

        first = self.shots[0].scenario
        origin, of_shots = on_earth(self.shots)
        names = [shot.name for shot in self.shots]
        motion, attributes = first.domain.motion, about | origin
        lay_out(path, self.planned, first.output, motion, names, of_shots, self.times, attributes)

    def task(self, number, zarr, versions, start, ranks):
        """Return the Task of a shot; parameters as there."""
        shot = self.shots[number]
        return Task(shot.name, number, self.texts[shot.name], zarr, versions, start, ranks, self.work)

    def conclude(self, out):
        """Write into OUT what follows from all shots together, once they are there: of waveforms
        nothing.

        Parameters
        ----------
        out : Path
        """


def on_earth(shots):
    """Where and when shots are: attributes with the origin time that they share, and coordinates
    over ``shot``, with their origin times where these differ.

    Parameters
    ----------
    shots : list of craton.survey.shots.Shot
    """
    from craton.conventions import ORIGIN_TIME
    from craton.output.dataset import source_coordinates
    from craton.survey import event, geography

    maps = {geography.local_of(shot.scenario.domain) for shot in shots}
    local = next(iter(maps)) if len(maps) == 1 else None
    coordinates = source_coordinates([shot.place() for shot in shots], local)
    origins = [event.origin_time(shot.scenario) or ORIGIN_TIME for shot in shots]
    if len(set(origins)) == 1:
        return {"origin_time": origins[0]}, coordinates
    about = {"long_name": "origin time, UTC"}
    return {}, coordinates | {"origin_time": ("shot", np.array(origins, dtype=str), about)}


def scenario_of(source):
    """Return a scenario, read where it is given as a path."""
    from craton.scenario import load

    scenario = load(source) if isinstance(source, str | PathLike) else source
    method_of(scenario)  # refuses what is none
    return scenario


def prepare(scenario, snapshots=False, name=None):
    """Return the Survey of a scenario; with the snapshots of each shot, or without. A scenario without shots is one shot of
    that name; without a name it is refused.

    Raises
    ------
    ScenarioError
        With every problem found, by the keys of the scenario.
    """
    from craton.survey import problems
    from craton.survey.shots import Shot, split

    refuse_all(unfit(scenario))
    shots, title = split(scenario), "scenario"
    if not shots and name is None:
        remedy = 'give sources shot = "name" or shots = { from =, to =, count = }; craton run is for one experiment'
        refuse("source", "there are no shots", remedy)
    if not shots:
        shots, title = [Shot(name, scenario)], name
    problem_list = problems(scenario)
    first = shots[0] if problem_list or len(shots) == 1 else min(shots, key=lambda shot: shot.start_time())
    planned, more = planned_of(first)
    known = {problem.key for problem in problem_list}
    refuse_all([*problem_list, *(p for p in map(first.of_survey, more) if p.key not in known)])
    return begun(shots, planned, {title: scenario}, scenario.title, snapshots)


def single(name, scenario, snapshots=False):
    """Return the Survey of a scenario without shots, which is one shot of its own; see `prepare`."""
    return prepare(scenario, snapshots, name)


def together(surveys):
    """One Survey of several, by name; they must share receivers and times.

    Raises
    ------
    ScenarioError
        With everything in which they differ from the first.
    """
    (first, survey), *others = surveys.items()
    refuse_all([problem for name, other in others for problem in differences(first, survey, name, other)])
    start = min(item.planned.start for item in surveys.values())
    parts = [item if item.planned.start == start else restarted(item, start) for item in surveys.values()]
    shots = [renamed(name, shot) for name, part in zip(surveys, parts) for shot in part.shots]
    times = min((part.times for part in parts), key=len)
    scenarios = {name: next(iter(s.scenarios.values())) for name, s in surveys.items()}
    return Survey(survey.title, shots, parts[0].planned, times, scenarios)


def unfit(scenario):
    """Problems of a scenario that no survey can be made of."""
    if method_of(scenario).drive != "march":
        return [Problem("method", "a survey is of waves", "use craton run")]
    if scenario.receivers:
        return []
    return [Problem("receivers", "a survey keeps waveforms, and there are no receivers", "add [[receivers]]")]


def planned_of(shot):
    """Return the plan of a shot, or None; its problems."""
    from craton.driver import run as driver

    try:
        return driver.plan(shot.scenario), ()
    except ScenarioError as error:
        return None, error.problems


def begun(shots, planned, scenarios, title, snapshots):
    """Return a Survey of shots that begin together, when the plan does."""
    from craton.output.dataset import TimeAxis

    times = TimeAxis.of(planned, shots[0].scenario.output).times
    return Survey(title, [shot_from(shot, planned.start, snapshots) for shot in shots], planned, times, scenarios)


def shot_from(shot, start, snapshots):
    """Return the shot with a run that begins at `start`, s, with its snapshots or without."""
    changes = {"time": shot.scenario.time.model_copy(update={"start": start})}
    changes |= {} if snapshots else {"snapshots": (), "peaks": ()}
    changes |= {"gradient": None}  # waveforms do not depend on it
    return replace(shot, scenario=shot.scenario.model_copy(update=changes))


def restarted(survey, start):
    """Return the survey with all runs beginning at `start`, s."""
    planned = planned_of(shot_from(survey.shots[0], start, True))[0]
    return begun(survey.shots, planned, survey.scenarios, survey.title, True)


def renamed(name, shot):
    """Return a shot under the name of its scenario, in front of its own where it is one of several."""
    return shot if shot.name == name else replace(shot, name=f"{name}.{shot.name}")


def differences(first, survey, name, other):
    """Problems of a survey that does not share receivers and times with the first."""

    def shared(survey):
        scenario, planned = survey.shots[0].scenario, survey.planned
        sampling = scenario.output.sampling
        return {
            "receivers": (receivers_of(planned), "other receivers"),
            "output.waveforms": (scenario.output.waveforms, "other waveforms"),
            "output.sampling": (sampling, "another sampling"),
            "time.step": (planned.dt if sampling is None else None, "another time step"),
            "time.duration": (scenario.time.duration, "another duration"),
            "run.precision": (scenario.run.precision, "another precision"),
            "domain": (scenario.domain.motion, "other waves"),
        }

    ours, theirs = shared(survey), shared(other)
    remedies = {"time.step": "give output.sampling"}
    return [
        Problem(
            f"{name}: {key}",
            f"{difference} than {first}; one result.zarr holds all shots",
            remedies.get(key, "make them equal, or run two surveys"),
        )
        for key, (value, difference) in ours.items()
        if value != theirs[key][0]
    ]


def receivers_of(planned):
    """Names and places of the receivers, to be compared."""
    receivers, fibres = planned.receivers, planned.receivers.fibres
    along = None if fibres is None else (fibres.names, fibres.xyz.tolist(), fibres.gauge.tolist())
    return list(receivers.names), receivers.xyz.tolist(), along
