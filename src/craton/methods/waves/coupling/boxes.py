"""Recordings on the sides of boxes and injections through them, once for all methods: what does not fit, values of the
incident field, arrays and launches of a plan.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from craton.errors import Problem
from craton.methods.waves.coupling import recorded, shell
from craton.methods.waves.coupling.oblique import side_problems
from craton.text import first_of

ALIKE = {  # what to change where two runs are not alike
    "differences": "use the same differences in both runs",
    "degree": "use the same run.degree in both runs",
    "attenuation": "use the same model.attenuation in both runs",
    "lowest_q": "write the lower one as lowest_q of model.attenuation in both runs",
}


@dataclass(frozen=True, eq=False)
class Places:
    """Values of the incident field beside the sides of a box, on this rank.

    Parameters
    ----------
    fields : (n,) array of str
    xyz : (n, 3) array
        m.
    state : (n,) int array
        Where they lie in the state.
    late : (n,) bool array
        A step takes what the step before has left.
    medium : dict of str to (n,) array
        What two runs must have alike there; nan where it is not compared.
    fluid : (n,) bool array
        Waves that are not recorded on the same grid do not pass them.
    rows : (k,) int array
        Which this rank records.
    """

    fields: np.ndarray
    xyz: np.ndarray
    state: np.ndarray
    late: np.ndarray
    medium: dict
    fluid: np.ndarray
    rows: np.ndarray


class Sides(Protocol):
    """The sides of a box: which values cross them, and what comes of these."""

    places: Places

    def without_anomalies(self, wave) -> dict:
        """Return vp, vs and rho of the layers below a plane wave at the places, (n,) each; all ranks must call."""

    def launches(self, name: str, series) -> tuple[dict, dict]:
        """Return arrays, called NAME_series and so on, and launches by phase that inject the values of all steps, (steps, n)."""


class Boxes(Protocol):
    """What a method says of boxes; all ranks must call every method.

    Parameters
    ----------
    d : Discretisation
    method : str
        ``"fd"`` or ``"sem"``.
    team : craton.comm.Together, or SingleRank
    on_earth : bool
        Corners count from a longitude and latitude.
    alike : dict of str to str or float
        What recording and run must have alike, as the recording says it of itself.
    beside : str
        How near a box positions take values on both sides of it, in words.
    layers : str
        Table of the absorbing layers.
    reach : float
        m over which values beside a box depend on the medium.
    tolerance : float
        m; positions that are the same.
    precision : str
        Of incident values.
    refused_points : list of (bool, str, str)
        Why there are no recordings at points: whether it holds, words, remedy.
    outside_points : str
        Where no points are recorded, in words.
    """

    d: Any
    method: str
    team: Any
    on_earth: bool
    alike: dict
    beside: str
    layers: str
    reach: float
    tolerance: float
    precision: str
    refused_points: list
    outside_points: str

    def box(self, spec) -> Any:
        """Return the box of a recording's table."""

    def box_of_wave(self, wave) -> tuple[Any, list]:
        """Return the box of an incident wave, and list of Problem."""

    def box_problems(self, box, key: str) -> list:
        """Return what stands against a box: list of Problem."""

    def about(self, box) -> dict:
        """Return what a recording says of its box."""

    def sides(self, box) -> Sides:
        """Return the sides of a box."""

    def positions_beside(self, box, xyz) -> tuple[np.ndarray, np.ndarray]:
        """Return which positions (n, 3) are in a box or beside it, and which so deep inside that they take no value outside."""

    def peak(self, places: Places, series) -> float:
        """Return the largest velocity of incident values, m/s."""

    def shell_of(self, spec) -> shell.Shell:
        """Return the points of a recording at points."""

    def outside(self, xyz) -> np.ndarray:
        """Return which positions (n, 3) have no values to be recorded, (n,) bool."""

    def read(self, around: shell.Shell) -> tuple:
        """Return of the points of a shell on this rank the `Shell`, names of fields, weights (fields x points, state), medium,
        and the numbers of its values among those of all ranks.
        """


# --- what does not fit ----------------------------------------------------------------------------


def problems(boxes, specs, incident):
    """Return what is wrong with tables of recordings and with injections: list of Problem."""
    wrong = earth_problems(boxes, specs, incident)
    if wrong:
        return wrong
    for n, spec in enumerate(specs):
        key = f"recording.{n}"
        wrong += points_problems(boxes, spec, key) if spec.sampling else boxes.box_problems(boxes.box(spec), key)
    for wave in incident:
        wrong += wave.clock_problems(boxes.d)
        unlike = [] if wave.wavelet or wave.resampled else unlike_problems(boxes, wave)
        box, misplaced = boxes.box_of_wave(wave)
        wrong += misplaced or unlike or boxes.box_problems(box, wave.key)
    return wrong


def earth_problems(boxes, specs, incident):
    """Return where boxes lie by longitude outside a chunk of the Earth, or without one inside: list of Problem."""
    on_earth, wrong = boxes.on_earth, []
    for n, spec in enumerate(specs):
        if (spec.longitude is not None) != on_earth:
            words = "there is no box by longitude outside a chunk of the Earth"
            remedy = "leave longitude and latitude out"
            if on_earth:
                words = "there is no box by x and y in a chunk of the Earth"
                remedy = "add longitude and latitude, from whose ground the corners count"
            wrong.append(Problem(f"recording.{n}", words, remedy))
    for wave in incident:
        computed = wave.wavelet or wave.resampled
        if not computed and (wave.about.get("place") is not None) != on_earth:
            runs = ("in a chunk of the Earth", "in a domain in metres")
            words = f"it was recorded {runs[on_earth]}, this run is {runs[not on_earth]}"
            remedy = "use the same domain around the box, or record it with sampling"
            wrong.append(Problem(f"{wave.key}.recorded", words, remedy))
        elif on_earth and computed:
            words = "plane waves and waves at points are not injected yet in a chunk of the Earth"
            remedy = "record them with elements of a chunk, without sampling"
            wrong.append(Problem(wave.key, words, remedy))
    return wrong


def points_problems(boxes, spec, key):
    """Return what stands against a recording at points: list of Problem."""
    wrong = [
        Problem(key, f"there is no recording at points yet {words}", remedy)
        for holds, words, remedy in boxes.refused_points
        if holds
    ]
    if wrong:
        return wrong
    xyz = boxes.shell_of(spec).xyz
    return shell.outside_problems(key, boxes.outside(xyz), xyz, boxes.outside_points)


def unlike_problems(boxes, wave):
    """Return where a recording is not of the scheme or the attenuation of the run: list of Problem."""
    for name, ours in boxes.alike.items():
        theirs = wave.about.get(name, recorded.LOSSLESS if name == "attenuation" else ours)
        if theirs != ours if isinstance(ours, str) else abs(theirs - ours) > recorded.SAME_NUMBER * abs(ours):
            theirs, ours = (v if isinstance(v, str) else f"{name} {v:.9g}" for v in (theirs, ours))
            words = f"it was recorded with {theirs}; this run has {ours}"
            return [Problem(f"{wave.key}.recorded", words, ALIKE[name])]
    return []


def warnings(boxes, specs, incident, sources, receivers):
    """Return warnings of sources in the boxes of recordings, and of receivers that take values on both sides of a box:
    list of str.
    """
    sentences = recorded.layer_warnings(boxes.d, incident, boxes.layers)
    for spec in specs:
        if spec.sampling:
            sentences += shell.source_warning(boxes.shell_of(spec), sources)
            continue
        box = boxes.box(spec)
        names = [source.name for source in sources if boxes.positions_beside(box, source.points)[0].any()]
        words = f'in the box of the recording "{spec.name}", or {boxes.beside} it, so that it is no incident wave: '
        sentences += [words + first_of(names)] * bool(names)
    for wave in incident:
        around, deep = boxes.positions_beside(boxes.box_of_wave(wave)[0], receivers.xyz)
        names = [receivers.names[n] for n in np.flatnonzero(around & ~deep)]
        words = f"{boxes.beside} a side of an injection's box, where records mix the total and the scattered field: "
        sentences += [words + first_of(names)] * bool(names)
    return sentences


# --- out, in --------------------------------------------------------------------------------------


def recordings(boxes, specs, band):
    """Return recordings, their arrays and launches: list of Recording, dict, list.

    Parameters
    ----------
    boxes : Boxes
    specs : tuple of craton.tables.injection.Recording
    band : float
        Highest frequency of the run, Hz.
    """
    d, all_recordings, arrays, launches = boxes.d, [], {}, []
    for spec in specs:
        if spec.sampling:
            around, names, rows, medium, numbers = boxes.read(boxes.shell_of(spec))
            about = {"method": boxes.method, **boxes.alike}
            ringed = shell.ring(around, names, rows, medium, about, d, band)
        else:
            box = boxes.box(spec)
            places = boxes.sides(box).places
            labels = {"field": places.fields, **dict(zip("xyz", places.xyz.T)), **places.medium}
            labels = {name: values[places.rows] for name, values in labels.items()}
            about = {"method": boxes.method, **boxes.about(box), **boxes.alike}
            ringed = recorded.ring(spec.name, places.state[places.rows], labels, about, d, band)
            numbers = recorded.numbered(len(places.rows), boxes.team)
        recording, more, sampling = recorded.joined(ringed, numbers, boxes.team)
        all_recordings.append(recording)
        arrays |= more
        launches += sampling
    return all_recordings, arrays, launches


def injections(boxes, incident):
    """Return arrays, and launches by phase, that inject incident waves, and the largest velocity of these on all ranks, m/s.

    Raises
    ------
    ScenarioError
        A recording has not the values that are needed, or another medium, or is not complete.
    """
    arrays, launches, peak = {}, {}, 0.0
    for n, wave in enumerate(incident):
        sides = boxes.sides(boxes.box_of_wave(wave)[0])
        series = recorded.checked(*incident_values(boxes, wave, sides))
        peak = max(peak, boxes.peak(sides.places, series))
        more, by_phase = sides.launches(f"injection{n}", series)
        arrays |= more
        for phase, added in by_phase.items():
            launches.setdefault(phase, []).extend(added)
    return arrays, launches, max(boxes.team.every(lambda: peak))


def incident_values(boxes, wave, sides):
    """Return the values of an incident wave at the places of sides at every step of the run, (steps, n), and list of
    Problem.
    """
    d, places = boxes.d, sides.places
    if not (wave.wavelet or wave.resampled):
        points, wrong = recorded.matching_values(wave, places, boxes.tolerance, boxes.team)
        wrong = wrong or recorded.medium_problems(wave, points, places)
        return (None, wrong) if wrong else recorded.values_of(d, wave, points, places.late)
    without = sides.without_anomalies(wave) if wave.wavelet else {}
    if places.fluid.any():
        x, y, z = places.xyz[places.fluid.argmax()]
        words = "waves that are not recorded on this grid do not pass fluid at the sides of the box yet, "
        words += f"near ({x:.6g}, {y:.6g}, {z:.6g}) m"
        remedy = "keep fluid away from the sides, or record the waves on this grid, without sampling"
        return None, [Problem(wave.key, words, remedy)]
    if wave.wavelet:
        wrong = side_problems(d, wave, {name: places.medium[name] for name in without}, without, places.xyz)
    else:
        wrong = wave.problems(d, places.fields, places.xyz, places.medium, boxes.reach)
    return (None, wrong) if wrong else (wave.series(d, places.fields, places.xyz, boxes.precision), [])
