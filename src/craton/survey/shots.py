"""The shots of a survey: each as a scenario of its own, that gives alone what it gives among the
others.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.errors import Problem
from craton.survey import geography, source_files, sources
from craton.tables.fields import Place, Position


@dataclass(frozen=True)
class Shot:
    """One experiment of several.

    Parameters
    ----------
    name : str
    scenario : Scenario
        It alone: no `shot` and `shots` in its sources.
    entries : tuple of int
        Which sources of the survey's scenario its sources come from.
    """

    name: str
    scenario: Any
    entries: tuple = ()

    def start_time(self):
        """Beginning of the run of this shot alone, s."""
        return sources.start_time(self.scenario, source_files.build_all(self.scenario))

    def place(self):
        """Mean position of its sources that stand in the scenario, else that of the first in a
        file, (3,) in metres; NaN where there is none.
        """
        entries = self.scenario.source
        xyz = [sources.positions(self.scenario, e) for e in entries if e.at is not None]
        if not xyz:
            files = [e for e in entries if hasattr(e, "file")][:1]
            xyz = [source_files.build(e, "", self.scenario, source_files.any_solid)[0].points[:1] for e in files]
        return np.mean(np.concatenate(xyz), axis=0) if xyz else np.full(3, np.nan)

    def of_survey(self, problem):
        """Return a problem of this shot's scenario with the key that it has in the survey's.

        Parameters
        ----------
        problem : Problem
        """
        first, _, rest = problem.key.partition(".")
        number, _, rest = rest.partition(".")
        if first != "source" or not self.entries or not number.isdecimal():
            return problem
        key = ".".join(filter(None, ("source", str(self.entries[int(number)]), rest)))
        return replace(problem, key=key)


def split(scenario):
    """Return the shots of a scenario, in its order: list of Shot; empty where all sources act
    together.

    Parameters
    ----------
    scenario : Scenario
    """
    entries_of = {name: [] for name in sources.shots(scenario)}
    for n, entry in enumerate(scenario.source):
        for name, source in alone(scenario, entry, entry.name or f"source {n + 1}") if entries_of else ():
            entries_of[name].append((n, source))
    columns = {name: tuple(zip(*entries)) for name, entries in entries_of.items()}
    return [
        Shot(name, scenario.model_copy(update={"source": entries}), numbers)
        for name, (numbers, entries) in columns.items()
    ]


def alone(scenario, entry, name):
    """(shot, source) of each shot of a source, the source as it is written where there is one
    experiment.

    Parameters
    ----------
    scenario : Scenario
    entry : source or receivers of a scenario
    name : str
        For an entry without name.
    """
    if entry.shots is None:
        return [(entry.shot, entry.model_copy(update={"shot": None, "name": name}))]
    return [
        (shot, entry.model_copy(update={"shots": None, "name": shot, "at": position(scenario, xyz, entry)}))
        for shot, xyz in zip(sources.shots_of(entry, name), sources.positions(scenario, entry))
    ]


def position(scenario, xyz, entry):
    """Return a Position of these coordinates, m; without y in the plane. In a box a Place, where the
    source's line is on Earth: its mechanism is in true east, north and up.

    Parameters
    ----------
    scenario : Scenario
    xyz : (3,) array
        m.
    entry : source of a scenario
    """
    x, y, z = map(float, xyz)
    earth = geography.local_of(scenario.domain)
    if earth is not None and source_files.on_earth(entry):
        longitude, latitude = map(float, earth.degrees(x, y))
        return Place(longitude=longitude, latitude=latitude, elevation=z)
    return Position(x=x, z=z) if scenario.domain.planar else Position(x=x, y=y, z=z)


def side_by_side(scenario):
    """Whether the shots of a scenario make one run: they do in the plane.

    Parameters
    ----------
    scenario : Scenario
    """
    return scenario.domain.planar


def refusal(scenario):
    """Problems of a scenario that is to be one run and has shots in space, or shots and fibres.

    Parameters
    ----------
    scenario : Scenario
    """
    names = sources.shots(scenario)
    if not names:
        return []
    if side_by_side(scenario):
        remedy = "use craton survey, which runs the shots one by one"
        words = "the fibres of one run record one shot, but the scenario has several"
        fibres = [n for n, entry in enumerate(scenario.receivers) if hasattr(entry, "das")]
        return [Problem(f"receivers.{n}.das", words, remedy) for n in fibres]
    key = "source.0.shot" + ("" if scenario.source[0].shots is None else "s")
    remedy = "use craton survey, which runs them one by one or on several workers"
    return [Problem(key, f"{len(names)} shots in 3-D are {len(names)} separate runs", remedy)]
