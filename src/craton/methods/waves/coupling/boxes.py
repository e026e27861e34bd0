"""Recordings on the sides of boxes and injections through them, once for all methods: what does not fit, values of the
incident field, arrays and launches of a plan; recordings at points around a box, for runs of any grid.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from craton.conventions import STRESS, TENSOR, VECTOR, VELOCITY
from craton.errors import Problem, ScenarioError, refuse_all
from craton.methods.waves.coupling import recorded
from craton.methods.waves.coupling.oblique import side_problems, turned
from craton.methods.waves.tables import Changed, stacked
from craton.tables.fields import spatial
from craton.tables.sources import Recording
from craton.text import first_of

ALIKE = {  # what to change where two runs are not alike
    "differences": "use the same differences in both runs",
    "degree": "use the same run.degree in both runs",
    "attenuation": "use the same model.attenuation in both runs",
    "lowest_q": "write the lower one as lowest_q of model.attenuation in both runs",
}
LAYERS = 4  # of points on each side of a face, where no thickness is given
AT_TOP = 1e-6  # of the spacing: boxes that end at the ground
FIELDS = {  # of the wavefield in the axes of the domain: quantity and component
    **{field: ("velocity", component) for field, component in zip(VELOCITY, VECTOR)},
    **{field: ("stress", component) for field, component in zip(STRESS, TENSOR)},
    "s": ("stress", "EE"),  # of acoustic waves, which have one normal stress
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


@dataclass(frozen=True, eq=False)
class Shell:
    """Points around a box.

    Parameters
    ----------
    spec : craton.tables.sources.Recording
    local : (n, 3) array
        In the axes of the box, m.
    xyz : (n, 3) array
        In those of the run, m.
    axes : (3, 3) array
        Rows: the axes of the box in those of the run.
    """

    spec: object
    local: np.ndarray
    xyz: np.ndarray
    axes: np.ndarray


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
    space : Space
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
    fields, medium : tuple of str
        What recordings at points have of the wavefield (names of `FIELDS`) and of the medium there.
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

    space: Any
    d: Any
    method: str
    team: Any
    on_earth: bool
    alike: dict
    beside: str
    layers: str
    fields: tuple
    medium: tuple
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

    def shell_of(self, spec) -> Shell:
        """Return the points of a recording at points."""

    def outside(self, xyz) -> np.ndarray:
        """Return which positions (n, 3) have no values to be recorded, (n,) bool."""


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
    outside = boxes.outside(xyz)
    if not outside.any():
        return []
    x, y, z = xyz[outside.argmax()]
    words = f"{outside.sum():,} points of the recording are {boxes.outside_points}, the first at ({x:.6g}, {y:.6g}, {z:.6g}) m"
    return [Problem(key, words, "make the box smaller, or its thickness")]


def unlike_problems(boxes, wave):
    """Return where a recording is not of the scheme or the attenuation of the run: list of Problem."""
    for name, ours in boxes.alike.items():
        theirs = wave.about.get(name, recorded.LOSSLESS if name == "attenuation" else ours)
        if theirs != ours if isinstance(ours, str) else abs(theirs - ours) > recorded.SAME_NUMBER * abs(ours):
            theirs, ours = (v if isinstance(v, str) else f"{name} {v:.9g}" for v in (theirs, ours))
            return [Problem(f"{wave.key}.recorded", f"it was recorded with {theirs}; this run has {ours}", ALIKE[name])]
    return []


def warnings(boxes, specs, incident, sources, receivers):
    """Return warnings of sources in the boxes of recordings, and of receivers that take values on both sides of a box:
    list of str.
    """
    sentences = recorded.layer_warnings(boxes.d, incident, boxes.layers)
    for spec in specs:
        if spec.sampling:
            sentences += source_warning(boxes.shell_of(spec), sources)
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
    specs : tuple of craton.tables.sources.Recording
    band : float
        Highest frequency of the run, Hz.
    """
    d, all_recordings, arrays, launches = boxes.d, [], {}, []
    for spec in specs:
        about = {"method": boxes.method, **boxes.alike}
        if spec.sampling:
            about |= {"from": list(spec.from_), "to": list(spec.to), "sampling": spec.sampling}
            labels, rows, numbers = at_points(boxes, boxes.shell_of(spec))
        else:
            box = boxes.box(spec)
            places, numbers = boxes.sides(box).places, None
            about |= boxes.about(box)
            labels = {"field": places.fields, **dict(zip("xyz", places.xyz.T)), **places.medium}
            labels = {name: values[places.rows] for name, values in labels.items()}
            count = len(places.rows)
            rows = np.arange(count + 1), places.state[places.rows], np.ones(count)
        recording, more, sampling = recorded.ring(spec.name, rows, labels, about, d, band, numbers, boxes.team)
        all_recordings.append(recording)
        arrays |= more
        launches += sampling
    return all_recordings, arrays, launches


def at_points(boxes, whole):
    """Return what a recording has of the points of a `Shell` on this rank: labels, rows as of `recorded.ring`, and numbers of the values
    among those of all ranks.
    """
    from scipy.sparse import csr_array, eye_array, kron

    space, names, parts, media, begin = boxes.space, boxes.fields, [], [], 0
    every = list(space.locate(whole.xyz))
    here = np.concatenate([np.empty(0, int), *(places.rows for places in every)])
    for places in every:
        rows = np.arange(len(places.rows))
        for n, name in enumerate(names):
            numbers = n * len(here) + begin + rows
            parts += [Changed(part, names=numbers) for part in space.read(*FIELDS[name], places, rows)]
        media.append(space.medium(places))
        begin += len(rows)
    first, index, weight = stacked(len(names) * len(here), parts, boxes.precision)
    if len(here) and not np.array_equal(whole.axes, np.eye(3)):
        weights = csr_array((weight, index, first), shape=(len(first) - 1, int(index.max()) + 1))
        weights = csr_array(kron(csr_array(turned(names, whole.axes)), eye_array(len(here))) @ weights)
        first, index, weight = weights.indptr, weights.indices, weights.data
    labels = dict(zip("xyz", whole.local[here].T))
    labels |= {name: np.concatenate([np.empty(0), *(one[name] for one in media)]) for name in boxes.medium}
    labels = {name: np.tile(values, len(names)) for name, values in labels.items()}
    labels["field"] = np.repeat(names, len(here))
    numbers = (np.arange(len(names))[:, None] * len(whole.xyz) + here).ravel()
    return labels, (first, index, weight), numbers


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
        series = incident_values(boxes, wave, sides)
        peak = max(peak, boxes.peak(sides.places, series))
        more, by_phase = sides.launches(f"injection{n}", series)
        arrays |= more
        for phase, added in by_phase.items():
            launches.setdefault(phase, []).extend(added)
    return arrays, launches, max(boxes.team.every(lambda: peak))


def incident_values(boxes, wave, sides):
    """Return the values of an incident wave at the places of sides at every step, (steps, n); refuse a wave that does not fit."""
    d, places = boxes.d, sides.places
    if not (wave.wavelet or wave.resampled):
        points, wrong = recorded.matching_values(wave, places, boxes.tolerance, boxes.team)
        refuse_all(wrong or recorded.medium_problems(wave, points, places))
        return recorded.values_of(d, wave, points, places.late)
    without = sides.without_anomalies(wave) if wave.wavelet else {}
    if places.fluid.any():
        x, y, z = places.xyz[places.fluid.argmax()]
        words = "waves that are not recorded on this grid do not pass fluid at the sides of the box yet, "
        words += f"near ({x:.6g}, {y:.6g}, {z:.6g}) m"
        remedy = "keep fluid away from the sides, or record the waves on this grid, without sampling"
        refuse_all([Problem(wave.key, words, remedy)])
    if wave.wavelet:
        refuse_all(side_problems(d, wave, {name: places.medium[name] for name in without}, without, places.xyz))
    else:
        refuse_all(wave.problems(places.fields, places.xyz, places.medium, boxes.reach))
    return wave.series(d, places.fields, places.xyz, boxes.precision)


# --- recordings at points --------------------------------------------------------------------------


def injection_points(from_, to, sampling, thickness=None, top=0.0):
    """Return the points around a box at which another program should write velocity and stress, for an
    injection of its file.

    Parameters
    ----------
    from_, to : sequence of 2 or 3 floats
        Corners of the box of the injection, m, in the axes of the domain: (x, z) in the plane.
    sampling : float
        Distance of the points, m: 3.5 of them a shortest wavelength at least.
    thickness : float, optional
        How far points reach on both sides of a face, m; by default four times the sampling.
    top : float
        Elevation of the flat ground, m; infinite where the top is no free surface. A box that ends
        there has no points above it.

    Returns
    -------
    xarray.Dataset
        Coordinates ``x``, ``y``, ``z`` over ``point``, m: velocity and stress over time and point
        make it a file that ``[[injection]]`` reads.

    Raises
    ------
    ScenarioError
        The box ends before it begins, or a distance is not positive.
    """
    import xarray as xr
    from pydantic import ValidationError

    box = {"name": "points", "from": list(from_), "to": list(to)}
    try:
        spec = Recording(**box, sampling=sampling, thickness=thickness)
    except ValidationError as error:
        remedy = "give two corners, [x, y, z], lower south-west first, and distances above 0, in m"
        problems = [Problem(".".join(map(str, e["loc"])) or "to", e["msg"], remedy) for e in error.errors()]
        raise ScenarioError(problems) from error
    xyz = shell_of(spec, float(top)).xyz
    return xr.Dataset(
        coords={
            axis: ("point", column, {"units": "m", "long_name": f"{axis} of the domain"})
            for axis, column in zip("xyz", xyz.T)
        }
    )


def shell_of(spec, top, frame=None):
    """Return the `Shell` of a recording.

    Parameters
    ----------
    spec : craton.tables.sources.Recording
    top : float
        Elevation of the ground, m: in the axes of the run, with a frame in those of the box;
        infinite where the top is no free surface.
    frame : (origin, axes), optional
        Of the box in the axes of the run, for recordings on Earth.
    """
    origin, turned = frame or frame_of(spec)
    top = top if frame else top - origin[2]
    low, high = (np.array(spatial(corner), float) for corner in (spec.from_, spec.to))
    axes = (0, 2) if len(spec.from_) == 2 else (0, 1, 2)
    thickness = spec.thickness or LAYERS * spec.sampling
    lines, inner = [np.zeros(1)] * 3, [np.ones(1, bool)] * 3
    for axis in axes:
        count = int(np.ceil((high[axis] - low[axis]) / spec.sampling - AT_TOP))
        spacing = (high[axis] - low[axis]) / count
        beyond = int(np.ceil(thickness / spacing - AT_TOP))
        index = np.arange(-beyond, count + beyond + 1)
        at_ground = axis == 2 and high[2] > top - AT_TOP * spacing
        index = index[: len(index) - beyond] if at_ground else index
        inner[axis] = (index > beyond) & ((index < count - beyond) | at_ground)
        lines[axis] = low[axis] + spacing * index
        if at_ground:
            lines[axis][-1] = high[2]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    hollow = np.all(np.stack(np.meshgrid(*inner, indexing="ij"), axis=-1), axis=-1).ravel()
    local = grid[~hollow]
    return Shell(spec, local, origin + local @ turned, turned)


def frame_of(spec):
    """Return origin (3,) and axes (3, 3) of a recording in a Cartesian domain."""
    origin = np.zeros(3) if spec.origin is None else np.array(spatial(spec.origin), float)
    return origin, turned_axes(np.eye(3), spec.azimuth)


def turned_axes(axes, azimuth):
    """Return horizontal axes (rows east, north, up) turned clockwise by degrees."""
    if not azimuth:
        return axes
    sine, cosine = np.sin(np.radians(azimuth)), np.cos(np.radians(azimuth))
    return np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]) @ axes


def source_warning(shell, sources):
    """Return the warning of sources in the box of a recording or in its points, a `Shell`: list of str."""
    low, high = shell.local.min(axis=0), shell.local.max(axis=0)
    origin = shell.xyz[0] - shell.local[0] @ shell.axes
    names = []
    for source in sources:
        local = (np.asarray(source.points, float) - origin) @ shell.axes.T
        if ((local >= low - AT_TOP) & (local <= high + AT_TOP)).all(axis=-1).any():
            names.append(source.name)
    words = f'in the box of the recording "{shell.spec.name}", or among its points, so that it is no incident wave: '
    return [words + first_of(names)] * bool(names)
