"""Injections of recordings and the recordings themselves, whatever the method: rings that sample
places, clocks that agree, values by step.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from craton import io
from craton.core.deferred import Rolling
from craton.core.gathering import partial_sums
from craton.core.snapshots import Recording, slots_for
from craton.errors import Problem, refuse_all
from craton.io.contents import Wavefield
from craton.methods.waves.coupling.oblique import plane_incident
from craton.methods.waves.coupling.sampled import SampledIncident, medium_problem
from craton.methods.waves.tables import SAMPLE, sampled
from craton.output.recordings import Recorded, RecordedRows, open_recording
from craton.tables.fields import spatial

QUIET = 1e-6  # of the largest value: what a recording may hold before the run begins
SAME_STEP = 1e-9  # relative
ALIGNED = 1e-3  # of a step
SAME_MEDIUM = 1e-4  # relative
SAME_NUMBER = 1e-9  # relative, of what recordings say of their runs
LOSSLESS = "no attenuation"
OTHER_CONTACT = (
    "contacts of fluid and solid are elsewhere, or of another shape (a body within some five points of a level "
    "sea floor changes the differences all along it)"
)
MEDIUM = ("vp", "vs", "rho", "qp", "qs")  # labels of places


@dataclass(frozen=True, eq=False)
class Incident:
    """A recording that is injected into a run.

    Parameters
    ----------
    key : str
        Of the scenario, for messages: ``"injection.0"``.
    recorded : Recorded
    """

    key: str
    recorded: Recorded

    wavelet, resampled = None, False

    @property
    def band(self):
        """Highest frequency, Hz."""
        return self.about["band"] or np.inf

    @property
    def about(self):
        """What the recording says of itself."""
        return self.recorded.about

    def shift(self, start):
        """Return the steps from the start of the recording to a start, s; not a whole number where the clocks
        do not agree.
        """
        return (start - self.about["start"]) / self.about["dt"]

    @property
    def corners(self):
        """Corners of the box of elements, m."""
        return np.array(self.about["from"]), np.array(self.about["to"])

    def describe(self):
        """Return what it is, in words."""
        return f'"{self.recorded.name}" of {self.recorded.path}'

    def clock_problems(self, d):
        """Return where recording and run do not agree in time: list of Problem."""
        dt, start, steps = self.about["dt"], self.about["start"], self.recorded.steps
        shift, key = self.shift(d.start), f"{self.key}.recorded"
        if abs(d.dt - dt) > SAME_STEP * dt:
            words = f"it was recorded with steps of {dt:.9g} s, the run has {d.dt:.9g} s"
            return [Problem(key, words, f"write time.step = {dt:.12g}, or record it with this step")]
        if abs(shift - round(shift)) > ALIGNED:
            words = f"the recording begins at {start:.9g} s, the run at {d.start:.9g} s: no whole number of steps apart"
            return [Problem("time.start", words, f"write time.start = {start:.12g}, or leave start out")]
        if d.steps + round(shift) > steps:
            last = start + steps * dt
            words = f"it ends at {last:.6g} s, the run needs it to {d.start + d.steps * dt:.6g} s"
            longest = last - d.extra * dt
            return [Problem(key, words, f"record it for longer, or write time.duration = {longest:.6g} at most")]
        return []


def opened(scenario, method):
    """Return the injections of a scenario, opened: list of `Incident` and the like; refuse those that cannot be read or do not fit.

    Parameters
    ----------
    scenario : WaveScenario
    method : str
        That of the run: ``"fd"``.
    """
    incident, problems = [], []
    for n, entry in enumerate(scenario.injection):
        key = f"injection.{n}"
        if not hasattr(entry, "recorded"):
            make = partial(plane_incident, scenario) if hasattr(entry, "wave") else of_file
            wave, wrong = make(key, entry)
            incident += [wave] * (wave is not None)
            problems += wrong
            continue
        try:
            recorded = open_recording(entry.recorded, entry.name)
        except (OSError, ValueError, KeyError) as error:
            remedy = "name the folder of a run with [[recording]], and the recording"
            problems.append(Problem(f"{key}.recorded", str(error), remedy))
            continue
        if recorded.about.get("sampling"):
            incident.append(of_points(key, recorded))
            continue
        other = recorded.about.get("method")
        if other != method:
            words = f'it was recorded with method = "{other}", this run has "{method}"'
            remedy = "record it with the same method, or with sampling, for runs of any grid"
            problems.append(Problem(f"{key}.recorded", words, remedy))
            continue
        incident.append(Incident(key, recorded))
    refuse_all(problems)
    return incident


def of_file(key, entry):
    """Return the `SampledIncident` of a file, and list of Problem.

    Parameters
    ----------
    key : str
        Of the scenario.
    entry : InjectedWavefield
    """
    try:
        waves = io.read(entry.file, "wavefield")
    except (OSError, ValueError) as error:
        remedy = getattr(error, "remedy", "") or "name a file of waves around the box"
        return None, [Problem(f"{key}.file", str(error), remedy)]
    if entry.at is not None:
        waves = replace(waves, xyz=waves.xyz + spatial(entry.at))
    corners = np.array([spatial(entry.from_), spatial(entry.to)])
    return SampledIncident(key, waves, corners), []


def of_points(key, recorded):
    """Return the `SampledIncident` of a recording at points.

    Parameters
    ----------
    key : str
    recorded : Recorded
    """
    about, labels = recorded.about, recorded.labels
    names = list(dict.fromkeys(map(str, labels["field"])))
    count = len(labels["field"]) // len(names)
    values = recorded.whole()
    waves = Wavefield(
        f'"{recorded.name}" of {recorded.path}',
        np.stack([labels[axis][:count] for axis in "xyz"], axis=1),
        {name: values[:, n * count : (n + 1) * count] for n, name in enumerate(names)},
        about["start"],
        about["dt"],
        {name: labels[name][:count] for name in MEDIUM if name in labels},
        {name: 0.5 if name[0] == "v" else 1.0 for name in names},
        leapfrog=True,
    )
    corners = np.array([spatial(about["from"]), spatial(about["to"])])
    return SampledIncident(key, waves, corners, about["band"] or np.inf)


def timed(scenario, incident, begin):
    """Return the scenario with the step and the start of its first recording, where it names none.

    Parameters
    ----------
    scenario : WaveScenario
    incident : list of Incident
    begin : float
        Where its sources begin, s; infinite without sources.
    """
    begin = min([begin, *(wave.begin for wave in incident if wave.wavelet)])
    begin = min([begin, *(wave.about["start"] for wave in incident if wave.resampled)])
    abouts = [wave.about for wave in incident if not (wave.wavelet or wave.resampled)]
    if not abouts:
        resampled = any(wave.resampled for wave in incident)
        start = begin if resampled else min(begin, 0.0)
        return with_time(scenario, {"start": start}) if incident else scenario
    about, time = abouts[0], scenario.time
    step = time.step or about["dt"]
    start = time.start
    if start is None:
        earlier = max(np.ceil((about["start"] - begin) / step - ALIGNED), 0) if begin < np.inf else 0
        start = about["start"] - earlier * step
    return with_time(scenario, {"step": step, "start": start})


def with_time(scenario, values):
    """Return the scenario with keys of its table ``time`` where it does not name them."""
    time = scenario.time
    values = {name: value for name, value in values.items() if getattr(time, name) is None}
    return scenario.model_copy(update={"time": time.model_copy(update=values)})


def carriers(sources, incident):
    """Return sources, and incident waves that have a wavelet."""
    return [*sources, *(wave for wave in incident if wave.wavelet)]


def values_of(d, wave, places, late):
    """Return the values of some places (n,) of a recording for every step of a run, `Rolling` (steps, n); refuse a recording that is not
    complete, or begins late.

    `late` (n,) says which values the run takes a step later than they were recorded.
    """
    recorded, shift = wave.recorded, round(wave.shift(d.start))
    # the row of the first value that is taken late stands before the first one that is not
    first = max(shift - 1, 0)
    # a ring of one row would stand for series of all steps (points.h)
    slots = max(2, slots_for(len(places), d.steps, recorded.values.dtype))
    largest = largest_values(recorded, places, first, d.steps + shift, slots)
    if not np.isfinite(largest).all():
        words = "it is not complete: the run that recorded it was stopped"
        refuse_all([Problem(f"{wave.key}.recorded", words, "run it again, or resume it")])
    before = largest_values(recorded, places, 0, first, slots).max(initial=0.0)
    if before > QUIET * max(largest.max(initial=0.0), before):
        words = f"waves have come before the run begins, at {d.start:.6g} s"
        refuse_all([Problem("time.start", words, f"write time.start = {wave.about['start']:.12g}, or leave start out")])
    late = np.asarray(late, bool)
    rows = RecordedRows(recorded.path, recorded.name, places, late, shift, largest)
    return Rolling(rows, (d.steps, len(places)), np.dtype(d.precision), slots)


def largest_values(recorded, places, first, last, rows):
    """Return the largest magnitude of some places in the rows first .. last - 1 of a recording,
    nan where any is, (n,): read in blocks of some rows.
    """
    largest = np.zeros(len(places), recorded.values.dtype)
    for low in range(first, last, rows):
        block = recorded.columns(places, low, min(low + rows, last))
        largest = np.maximum(largest, np.abs(block).max(axis=0))
    return largest


def attenuation_of(relaxation):
    """Return what a recording says of the mechanisms of attenuation of its run, None without: dict."""
    r = relaxation
    if r is None:
        return {"attenuation": LOSSLESS}
    low, high = r.band
    power = f", power {r.power:.9g}" if r.power else ""
    words = (
        f"attenuation by {len(r.omega)} mechanisms with {r.storage} storage from {low:.9g} to "
        f"{high:.9g} Hz, speeds of {r.frequency:.9g} Hz{power}"
    )
    return {"attenuation": words, "lowest_q": float(1 / r.largest)}


def matching_values(wave, places, tolerance, team):
    """Return where a recording holds the values of `Places`, (n,) int array, and list of Problem; all ranks must call.

    Positions that are less than a `tolerance` (m) apart are the same.
    """
    from scipy.spatial import cKDTree

    labels, out, missing = wave.recorded.labels, np.zeros(len(places.fields), int), []
    names, counts = np.unique(labels["field"], return_counts=True)
    theirs = dict(zip(map(str, names), map(int, counts)))
    ours: Counter = sum(team.every(lambda: Counter(map(str, places.fields[places.rows]))), Counter())
    xyz = np.stack([labels[axis] for axis in "xyz"], axis=1)
    for name in np.unique(places.fields):
        rows, values = (np.flatnonzero(fields == name) for fields in (places.fields, labels["field"]))
        if len(values):
            distance, nearest = cKDTree(xyz[values]).query(places.xyz[rows])
            out[rows] = values[nearest]
            rows = rows[distance > tolerance]
        missing += rows.tolist()
    words = ""
    if missing:
        x, y, z = places.xyz[missing[0]]
        words = f"it has no {places.fields[missing[0]]} at ({x:.6g}, {y:.6g}, {z:.6g}) m"
    elif theirs != ours:
        name = next(name for name in sorted({*theirs, *ours}) if theirs.get(name) != ours[name])
        words = f"it has {theirs.get(name, 0):,} values of {name}, this run takes {ours[name]:,}"
    remedy = "let medium and mesh or grid of both runs agree at the sides of the box, or record it anew"
    return out, [Problem(f"{wave.key}.recorded", words, remedy)] * bool(words)


def medium_problems(wave, points, places):
    """Return where the medium at `Places` is not that of a recording, whose values they take at `points`: list of Problem."""
    labels = wave.recorded.labels
    for name in dict.fromkeys([*places.medium, *(name for name in labels if name not in ("field", *"xyz"))]):
        unknown = np.full(len(points), np.nan)
        values, expected = places.medium.get(name, unknown), labels[name][points] if name in labels else unknown
        differs = np.abs(values - expected) > SAME_MEDIUM * np.maximum(np.abs(expected), 1.0)
        differs |= np.isnan(values) != np.isnan(expected)
        if differs.any():
            n = int(np.flatnonzero(differs)[0])
            words = OTHER_CONTACT if name == "contact" else f"{name} = {values[n]:.6g} instead of {expected[n]:.6g}"
            return [medium_problem(wave.key, words, places.xyz[n])]
    return []


def peak_of(series, columns=...):
    """Return the largest magnitude of some columns of series, 0 without any.

    Parameters
    ----------
    series : (steps, n) array or Rolling
    columns : index expression
    """
    if isinstance(series, Rolling):
        return float(series.read.largest[columns].max(initial=0.0))
    return float(np.abs(series[:, columns]).max(initial=0.0))


def band_with(band, sources, incident):
    """Return the highest frequency of a run, Hz, with that of its recordings.

    Parameters
    ----------
    band : float
        That of its sources, infinite without any.
    sources : list of sources
    incident : list of Incident
    """
    bands = [wave.band for wave in incident]
    return max([band] * bool(sources) + bands, default=band)


def notes(plan, incident):
    """Return the rows of `craton plan` on injections.

    Parameters
    ----------
    plan : Plan
    incident : list of Incident
    """
    rows = []
    for n, wave in enumerate(incident):
        series = plan.arrays[series_name(n)]
        words = f"{series.shape[1]:,} incident values a step, {series.nbytes / 2**20:,.1f} MiB"
        if isinstance(series.data, Rolling):
            whole = series.data.shape[0] * series.nbytes / series.data.slots
            words += f" of {whole / 2**20:,.1f} MiB: read {series.data.slots} steps at a time"
        words += f"; {wave.words}" if wave.resampled else ""
        rows.append(("injection", f"{wave.describe()}: {words}"))
    return rows


def series_name(number):
    """Name of the array of the incident values of an injection, (steps, values)."""
    return f"injection{number}_series"


def ring(name, rows, labels, about, d, band, numbers, team):
    """Return the `Recording` of all ranks, and the arrays and launches that sample the places of this one; all ranks must call.

    Parameters
    ----------
    name : str
    rows : tuple
        Where the rows of each place begin, (places + 1,), their indices in the state and weights.
    labels, about : dict
        See `Recording`; labels of this rank's places.
    d : Discretisation
    band : float
        Highest frequency of the run, Hz.
    numbers : (places,) int array or None
        Of this rank's places among those of all ranks; None: those of one rank stand behind those of the other.
    team : craton.comm.Together, or SingleRank
    """
    about = about | {"dt": float(d.dt), "start": float(d.start), "layers": d.layer_words}
    about["band"] = float(band) if np.isfinite(band) else None
    places, gathering = len(rows[0]) - 1, None
    if numbers is None:
        numbers = sum(team.every(lambda: places)[: team.rank]) + np.arange(places)
    if team.size > 1:
        numbers_of_ranks, of_ranks = zip(*team.every(lambda: (numbers, labels)))
        order = np.argsort(np.concatenate(numbers_of_ranks))
        labels = {label: np.concatenate([of[label] for of in of_ranks])[order] for label in labels}
        gathering = partial_sums(numbers_of_ranks, len(order), SAMPLE)
    slots, array = slots_for(len(labels["field"]), d.steps, d.precision), f"recording_{name}"
    recording = Recording(name, array, slots, labels, about, d.steps, d.precision, gathering)
    if team.size > 1 and not places:
        return recording, {}, []
    arrays, launch = sampled(array, f"rows_of_{array}", rows, slots, d.precision)
    return recording, arrays, [launch]


def layer_warnings(d, incident, table):
    """Return a warning for each recording whose run had absorbing layers made for other speeds.

    Parameters
    ----------
    d : Discretisation
    incident : list of Incident
    table : str
        Of the layers in the scenario.
    """
    return [
        f"the absorbing layers of this run are made for {d.layer_words}, those of {wave.describe()} for "
        f"{theirs}: records may differ by 0.5 %; give both runs the same vp and vs in {table}"
        for wave in incident
        if not (wave.wavelet or wave.resampled)
        if d.layer_words and (theirs := wave.about.get("layers", d.layer_words)) not in ("", d.layer_words)
    ]
