"""Where the wavefield is read out: names and positions of receivers, and the channels that a run
records at them.
"""

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from craton import io
from craton.errors import Problem, ScenarioError
from craton.io.contents import Stations
from craton.survey import event, fibres, geography, globe, places, sensors
from craton.survey.channels import Channel
from craton.survey.refusals import FAR_AWAY, file_fault, misplaced
from craton.tables.receivers import Points
from craton.text import first_of

MOST_RECEIVERS = 1_000_000  # of a run: each has a channel for every component of every quantity
ALONG_FIBRE = "fibre_strain_rate"  # quantity of a fibre's channels
KINDS = "CSV, STATIONS, StationXML or FDSN text file"
COLUMNS = (
    "a CSV file has columns name, x, y and z (m, up) or depth (m), or name, longitude, latitude "
    "and depth or elevation: see docs/sources.md"
)


@dataclass(frozen=True, eq=False)
class Receivers:
    """Receivers of a run.

    Parameters
    ----------
    names : list of str
        All different: station codes, with the network in front where a code stands twice.
    xyz : ndarray, shape (n, 3)
        Positions (x, y, z), metres.
    fibres : Fibres or None
        Channels of fibres beside them.
    stations : globe.Stations or None
        Where they are on Earth and from the source.
    source : tuple of float or None
        Position of the first source, m; None where there are several shots.
    networks, codes : list of str or None
        Network and station codes.
    elevation : ndarray, shape (n,), or None
        Of the ground, m, as files state it; NaN elsewhere.
    event : dict
        Attributes of datasets that say what the event is: see `craton.survey.event`.
    locations : list of str or None
        Location codes; empty but where a station has several receivers.
    warnings : tuple of str
        What files hold and the run does not record.
    skipped : tuple of str
        Receivers of files outside the domain, in words.
    """

    names: list[str]
    xyz: np.ndarray
    fibres: Any = None
    stations: Any = None
    source: tuple | None = None
    networks: list[str] | None = None
    codes: list[str] | None = None
    elevation: np.ndarray | None = None
    event: dict = field(default_factory=dict)
    locations: list[str] | None = None
    warnings: tuple = ()
    skipped: tuple = ()

    def __len__(self):
        return len(self.names)

    def part(self, rows):
        """Return the receivers of some rows, a slice or an array, without fibres; texts are arrays of one width for all
        parts.
        """
        texts = {
            name: None if (values := getattr(self, name)) is None else np.array(values, str)[rows]
            for name in ("names", "networks", "codes", "locations")
        }
        return replace(
            self,
            xyz=self.xyz[rows],
            fibres=None,
            stations=None if self.stations is None else self.stations.part(rows),
            elevation=None if self.elevation is None else self.elevation[rows],
            **texts,
        )

    def fibre_channels(self):
        """Return a Channel for each channel of the fibres."""
        numbers = range(len(self.fibres)) if self.fibres is not None else ()
        return [Channel(n, ALONG_FIBRE, "", True, terms=tuple(self.fibres.terms(n))) for n in numbers]


def build(scenario) -> Receivers:
    """Return the receivers of a scenario: single ones, lines, grids and files, in its order; raise ScenarioError for a
    file that cannot be read, or a name used twice.

    Lines and grids are numbered from 1 behind their name (``L1, L2, ...``); grids with x fastest.
    """
    entries, problems = collect(scenario)
    if problems:
        raise ScenarioError(problems)
    cables, points = [], []
    for number, found in entries:
        entry = scenario.receivers[number]
        if entry.where == "das":
            cables.append((found.names[0], found.xyz, entry.das.spacing, entry.das.gauge))
        else:
            points.append(found)
    texts = {
        column: [str(text) for found in points for text in getattr(found, column)]
        for column in ("names", "networks", "codes", "locations")
    }
    if not any(texts["locations"]):
        texts["locations"] = None
    return Receivers(
        xyz=np.concatenate([np.empty((0, 3)), *(found.xyz for found in points)]),
        fibres=fibres.build(cables) if cables else None,
        elevation=np.concatenate([np.empty(0), *(found.elevation for found in points)]),
        warnings=tuple(text for found in points for text in found.warnings),
        skipped=tuple(text for found in points for text in found.skipped),
        **texts,
    )


def collect(scenario) -> tuple[list[tuple[int, Receivers]], list[Problem]]:
    """Return the receivers of each entry of a scenario that can be read, with the number of the entry, and the problems
    of the others; of a fibre they are its corners, with one name.

    A name that stands for stations of different networks has the network in front.
    """
    entries, problems, total = [], [], 0
    for i, entry in enumerate(scenario.receivers):
        total += 1 if entry.where in ("file", "das") else entry.place.count
        if total > MOST_RECEIVERS:
            words = f"{total:,} receivers are more than the {MOST_RECEIVERS:,} that one run can have"
            problems.append(Problem(f"receivers.{i}.{entry.where}", words, "write fewer, or split the run"))
            break
        try:
            found = expand(entry, scenario, f"receivers.{i}.file")
        except (OSError, ValueError, LookupError) as error:
            is_file = entry.where == "file"
            words = file_fault(entry, error, KINDS, COLUMNS) if is_file else (str(error), FAR_AWAY)
            problems.append(Problem(f"receivers.{i}.{entry.where}", *words))
            continue
        if entry.where == "file" and entry.outside == "skip":
            numbers, texts, _ = misplaced(scenario, found.xyz, len(found))
            skipped = tuple(f"{found.names[n]}: {text}" for n, text in zip(numbers, texts))
            if len(skipped) == len(found):
                words = f"all {len(found)} receivers of {entry.file} are outside the domain: {skipped[0]}"
                problems.append(Problem(f"receivers.{i}.file", words, FAR_AWAY))
            found = replace(found.part(np.setdiff1d(np.arange(len(found)), numbers)), skipped=skipped)
        entries.append((i, found))
    entries = _with_networks(_without_repeated(scenario, entries))
    taken = set()
    for i, found in entries:
        problems += _used_twice(f"receivers.{i}.", scenario.receivers[i], taken, list(found.names))
        taken.update(found.names)
    return entries, problems


def _without_repeated(scenario, entries):
    """Leave out stations of files that another entry has with the same codes at the same place."""
    seen, kept = set(), []
    for i, found in entries if _names_repeat(entries) else ():
        if scenario.receivers[i].where == "file":
            stations = [*zip(found.networks, found.codes, found.locations, map(tuple, found.xyz.tolist()))]
            rows = [n for n, station in enumerate(stations) if station not in seen]
            if len(rows) < len(stations):
                again = first_of([found.names[n] for n, station in enumerate(stations) if station in seen])
                words = f"receivers.{i}.file: {sensors.TOLD['twice'].format(again)}"
                found = replace(found.part(rows), warnings=(*found.warnings, words))
            seen.update(stations)
        kept.append((i, found))
    return kept or entries


def _names_repeat(entries):
    names = [name for _, found in entries for name in found.names]
    return len(set(names)) < len(names)


def _with_networks(entries):
    """Put the network in front of names that stations of different networks have."""
    if not _names_repeat(entries):
        return entries
    pairs = [pair for _, found in entries for pair in zip(found.names, found.networks)]
    counts, networks = Counter(name for name, _ in pairs), Counter(name for name, _ in set(pairs))
    apart = {name for name, count in counts.items() if 1 < count == networks[name]}

    def named(found):
        names = zip(found.names, found.networks)
        return [f"{network}.{name}" if name in apart else name for name, network in names]

    return [(i, replace(found, names=named(found))) for i, found in entries]


def expand(entry, scenario, key) -> Receivers:
    """Return the receivers of one entry; raise OSError, ValueError or LookupError, as reading its file does.

    A place of a file that is not on the map has NaN as x, y and z. Warnings begin with `key`.
    """
    words = []
    if entry.where == "file":
        stations, xyz, deep, words = read_file(entry, scenario.domain, _origin(scenario))
        xyz = _placed(scenario, xyz, deep)
    else:
        if entry.where == "grid":
            grid = entry.grid
            mapped = geography.places(scenario.domain, "geographic" if grid.on_earth else "metres")
            x, y = (values.ravel() for values in np.meshgrid(*(np.linspace(*axis) for axis in grid.sides)))
            xyz = _placed(scenario, mapped.xyz(x, y, 0.0 - grid.height), grid.depth is not None)
        elif entry.where == "das":
            xyz = places.located(scenario, entry.das.along)
        else:
            xyz = places.positions(scenario, entry.place)
        many = entry.where in ("line", "grid") or isinstance(entry.place, Points)
        stations = Stations([f"{entry.name}{n}" for n in range(1, len(xyz) + 1)] if many else [entry.name], *xyz.T)
    count = len(stations.names)
    return Receivers(
        stations.names,
        places.on_side(scenario, xyz, entry.side),
        networks=[name or scenario.output.network for name in stations.networks or [""] * count],
        codes=stations.codes or list(stations.names),
        elevation=np.full(count, np.nan) if stations.elevation is None else stations.elevation,
        locations=stations.locations or [""] * count,
        warnings=tuple(f"{key}: {text}" for text in words),
    )


def _origin(scenario):
    """Return the origin time of a run; None where the file that would say it cannot be read, which has a report of its
    own.
    """
    try:
        return event.origin_time(scenario)
    except (OSError, ValueError, LookupError):
        return None


def _placed(scenario, xyz, deep):
    """Put positions, m, into the plane of a 2-D domain, and below the ground where they are depths."""
    if scenario.domain.planar:
        xyz[:, 1] = 0.0
    return places.draped(scenario, xyz, np.full(len(xyz), deep))


def _used_twice(key, entry, taken, names):
    if len(different := set(names)) == len(names) and different.isdisjoint(taken):
        return []
    seen, twice = set(taken), []
    for name in names:
        twice += [name] if name in seen else []
        seen.add(name)
    others = f" and {len(twice) - 1} more names" if len(twice) > 1 else ""
    message = f'the name "{twice[0]}"{others} is already taken by another receiver'
    return [Problem(key + ("file" if entry.where == "file" else "name"), message, "give every receiver a unique name")]


def read_file(entry, domain, origin=None):
    """Return the stations of a file, their positions (n, 3), m, whether their z still count from the ground, and what
    was left out of the file or taken in place of what: Stations, array, bool, list of str.

    A place that is not on the map has NaN as x, y and z. Without an `origin` time (ISO 8601, UTC) the last epoch of
    each station counts.
    """
    status = os.stat(entry.file)
    stations, words = _stations(entry.file, origin, status.st_mtime_ns, status.st_size)
    if stations.coordinates == "model":
        xyz = np.stack([stations.x, stations.y, 0.0 - stations.depth], axis=1)
        return stations, xyz, stations.deep, words
    mapped = geography.places(domain, stations.coordinates or entry.coordinates)
    if not (stations.deep or mapped.deep):
        raise ValueError(
            "it gives elevations, but in a chunk of the Earth positions count from the ground: give a column depth"
        )
    far = mapped.off_map(stations.x, stations.y)
    xyz = np.full((len(far), 3), np.nan)
    xyz[~far] = mapped.xyz(stations.x[~far], stations.y[~far], stations.depth[~far])
    return stations, xyz, mapped.deep and stations.deep, words


@lru_cache(4)
def _stations(file, origin, *_):
    """Stations of a file at a time and what is left out, read once until it changes: checks and
    plans ask several times.
    """
    return sensors.recorded(io.read(file, "station"), origin)


def located(receivers, scenario, sources) -> Receivers:
    """Return receivers with the position of the first source (of a rupture where it starts), their own on Earth and
    from that source, and what is known of the event.
    """
    earth = places.globe_of(scenario) or geography.local_of(scenario.domain)
    if any(entry.shot or entry.shots for entry in scenario.source):
        sources = []
    source = tuple(map(float, sources[0].hypocentre)) if sources and len(sources[0].points) else None
    return replace(
        receivers,
        source=source,
        stations=_stations_of(receivers, scenario, earth, source) if len(receivers) else None,
        event=event.attributes(scenario, sources, earth),
    )


def _stations_of(receivers, scenario, earth, source):
    """Return the `globe.Stations` of receivers; None where the model lies nowhere and there is no source."""
    if earth is None:
        return None if source is None else globe.flat(receivers.xyz, source)
    depth, ground = places.heights(scenario, receivers.xyz)
    if receivers.elevation is not None:
        ground = np.where(np.isfinite(receivers.elevation), receivers.elevation, ground)
    return globe.with_heights(globe.stations(earth, receivers.xyz, source), depth, ground)
