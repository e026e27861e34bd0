"""A survey before it runs: its shots, the plan of one of them, and what several scenarios must
share.
"""

import hashlib
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from craton.errors import Problem, ScenarioError, refuse_all
from craton.methods import METHODS
from craton.shots.task import Task


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
    snapshots : bool
        Keep the snapshots of every shot.
    """

    kind: ClassVar[str] = "survey"  # of craton.output.store.KINDS
    title: str
    shots: list
    planned: Any
    times: Any
    scenarios: dict
    snapshots: bool = False
    _texts: dict = field(default_factory=dict, repr=False)

    @property
    def texts(self):
        """Name -> scenario in TOML of each shot."""
        from craton.scenario import dumps

        if not self._texts:
            self._texts = {shot.name: dumps(shot.scenario) for shot in self.shots}
        return self._texts

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
        left_out = (
            ["snapshots: a survey keeps waveforms only; --snapshots keeps those of every shot"]
            if taken and not self.snapshots
            else []
        )
        return [*self.planned.warnings, *left_out]

    @property
    def memory(self):
        """Bytes that a shot takes while it runs."""
        return self.planned.nbytes

    @property
    def nbytes_kept(self):
        """Bytes of the waveforms, and of snapshots that are kept, of all shots."""
        pictures = sum(series.nbytes for series in self.planned.snapshots) if self.snapshots else 0
        waveforms = 4 * len(self.times) * len(self.planned.channels)
        return (waveforms + pictures) * len(self.shots)

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
        text = self.texts[shot.name]
        return Task(shot.name, number, text, zarr, versions, start, ranks, self.snapshots)

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

    return load(source) if isinstance(source, str | PathLike) else source


def prepare(scenario, snapshots=False):
    """Return the Survey of a scenario with shots; with the snapshots of each of them, or without.

    Raises
    ------
    ScenarioError
        With every problem found, by the keys of the scenario.
    """
    from craton.survey import problems
    from craton.survey.shots import split

    refuse_all(unfit(scenario))
    shots = split(scenario)
    if not shots:
        remedy = 'give sources shot = "name" or shots = { from =, to =, count = }; craton run is for one experiment'
        raise ScenarioError([Problem("source", "there are no shots", remedy)])
    problem_list = problems(scenario)
    first = shots[0] if problem_list else min(shots, key=lambda shot: shot.start_time())
    planned, more = planned_of(first)
    known = {problem.key for problem in problem_list}
    refuse_all([*problem_list, *(p for p in map(first.of_survey, more) if p.key not in known)])
    return begun(shots, planned, {"scenario": scenario}, scenario.title, snapshots)


def single(name, scenario, snapshots=False):
    """Return the Survey of a scenario without shots, one shot of its own; see `prepare`."""
    from craton.survey.shots import Shot, split

    if split(scenario):
        return prepare(scenario, snapshots)
    refuse_all(unfit(scenario))
    shot = Shot(name, scenario)
    planned, problem_list = planned_of(shot)
    refuse_all(problem_list)
    return begun([shot], planned, {name: scenario}, scenario.title, snapshots)


def together(surveys):
    """One Survey of several, by name; they must share receivers and times.

    Raises
    ------
    ScenarioError
        With everything in which they differ from the first.
    """
    (first, survey), *others = surveys.items()
    refuse_all(
        [p for name, other in others for p in differences(first, survey.shots[0].scenario, survey.planned, name, other)]
    )
    start = min(item.planned.start for item in surveys.values())
    parts = [item if item.planned.start == start else restarted(item, start) for item in surveys.values()]
    shots = [renamed(name, shot) for name, part in zip(surveys, parts) for shot in part.shots]
    times = min((part.times for part in parts), key=len)
    return Survey(
        survey.title,
        shots,
        parts[0].planned,
        times,
        {name: next(iter(s.scenarios.values())) for name, s in surveys.items()},
        survey.snapshots,
    )


def unfit(scenario):
    """Problems of a scenario that no survey can be made of."""
    if METHODS[scenario.method].drive != "march":
        return [Problem("method", "a survey is of waves", "use craton run")]
    if scenario.receivers:
        return []
    words = "a survey keeps waveforms, and there are no receivers"
    return [Problem("receivers", words, "add [[receivers]]")]


def planned_of(shot):
    """Return the plan of a shot, or None; its problems."""
    from craton.driver import run as driver

    try:
        return driver.plan(shot.scenario), ()
    except ScenarioError as error:
        return None, error.problems


def begun(shots, planned, scenarios, title, snapshots):
    """Return a Survey of shots that begin together, when the plan does."""
    from craton.output.dataset import time_axis

    sampling = shots[0].scenario.output.sampling
    return Survey(
        title,
        [shot_from(shot, planned.start, snapshots) for shot in shots],
        planned,
        time_axis(planned.steps - planned.extra, planned.dt, planned.start, sampling),
        scenarios,
        snapshots,
    )


def shot_from(shot, start, snapshots):
    """Return the shot with a run that begins at `start`, s, with its snapshots or without."""
    changes = {"time": shot.scenario.time.model_copy(update={"start": start})}
    changes |= {} if snapshots else {"snapshots": (), "peaks": ()}
    changes |= {"gradient": None}  # waveforms do not depend on it
    return replace(shot, scenario=shot.scenario.model_copy(update=changes))


def restarted(survey, start):
    """Return the survey with all runs beginning at `start`, s."""
    planned = planned_of(shot_from(survey.shots[0], start, survey.snapshots))[0]
    return begun(survey.shots, planned, survey.scenarios, survey.title, survey.snapshots)


def renamed(name, shot):
    """Return a shot under the name of its scenario, in front of its own where it is one of several."""
    return shot if shot.name == name else replace(shot, name=f"{name}.{shot.name}")


def differences(first, ours, planned, name, other):
    """Problems of a survey that does not share receivers and times with the first."""
    theirs, their_plan = other.shots[0].scenario, other.planned
    steps = [
        plan.dt if scenario.output.sampling is None else None
        for plan, scenario in ((planned, ours), (their_plan, theirs))
    ]
    pairs = {
        "receivers": (receivers_of(planned), receivers_of(their_plan), "other receivers"),
        "output.waveforms": (ours.output.waveforms, theirs.output.waveforms, "other waveforms"),
        "output.sampling": (ours.output.sampling, theirs.output.sampling, "another sampling"),
        "time.step": (*steps, "another time step"),
        "time.duration": (ours.time.duration, theirs.time.duration, "another duration"),
        "run.precision": (ours.run.precision, theirs.run.precision, "another precision"),
        "domain": (ours.domain.motion, theirs.domain.motion, "other waves"),
    }
    return [
        Problem(
            f"{name}: {key}",
            f"{difference} than {first}; one result.zarr holds all shots",
            "give output.sampling" if key == "time.step" else "make them equal, or run two surveys",
        )
        for key, (value, its, difference) in pairs.items()
        if value != its
    ]


def receivers_of(planned):
    """Names and places of the receivers, to be compared."""
    receivers, fibres = planned.receivers, planned.receivers.fibres
    along = None if fibres is None else (fibres.names, fibres.xyz.tolist(), fibres.gauge.tolist())
    return list(receivers.names), receivers.xyz.tolist(), along
