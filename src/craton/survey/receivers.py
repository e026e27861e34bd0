"""Where the wavefield is read out: names and positions of receivers, and the channels that a run
records at them.
"""

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from craton import io
from craton.errors import Problem, ScenarioError
from craton.survey import event, fibres, geography, places, sensors
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

    def first(self):
        """Return the first receiver alone, without fibres."""
        return self.part(0, 1)

    def part(self, first, last):
        """Return the receivers from number `first` up to `last`, excluded, without fibres; texts
        are arrays of one width for all parts.

        Parameters
        ----------
        first, last : int
        """
        rows = slice(first, last)
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


def build(scenario):
    """Return the receivers of a scenario: single ones, lines, grids and files, in its order.

    Lines and grids are numbered from 1 behind their name (``L1, L2, ...``); grids with x fastest.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        A file that cannot be read, or a name used twice.
    """
    entries, problems = collect(scenario)
    if problems:
        raise ScenarioError(problems)
    ways = [(e.names[0], e.xyz, scenario.receivers[e.number]) for e in entries]
    cables = [(name, along, entry.das.spacing, entry.das.gauge) for name, along, entry in ways if where(entry) == "das"]
    points = [e for e in entries if where(scenario.receivers[e.number]) != "das"]
    names, networks, codes, locations = (
        [text for e in points for text in getattr(e, column)] for column in ("names", "networks", "codes", "locations")
    )
    return Receivers(
        names,
        np.concatenate([np.empty((0, 3)), *(e.xyz for e in points)]),
        fibres.build(cables) if cables else None,
        networks=networks,
        codes=codes,
        elevation=np.concatenate([np.empty(0), *(e.elevation for e in points)]),
        locations=locations if any(locations) else None,
        warnings=tuple(word for e in points for word in e.words),
        skipped=tuple(word for e in points for word in e.skipped),
    )


class Entry(NamedTuple):
    """Receivers of one entry of a scenario: its number; names, positions (n, 3), m; codes of
    networks and stations, elevations of the ground, m, NaN where no file states them, location
    codes; what its file holds and is not recorded, and what is outside the domain, in words.
    """

    number: int
    names: list
    xyz: np.ndarray
    networks: list
    codes: list
    elevation: np.ndarray
    locations: list
    words: list
    skipped: list

    def part(self, rows, **changes):
        """Return some of the receivers.

        Parameters
        ----------
        rows : sequence of int
        changes : dict
            Other fields that change.
        """
        lists = ("names", "networks", "codes", "locations")
        some = {name: [getattr(self, name)[n] for n in rows] for name in lists}
        arrays = {name: getattr(self, name)[rows] for name in ("xyz", "elevation")}
        return self._replace(**some, **arrays, **changes)


def collect(scenario):
    """Receivers of each entry of a scenario, and the problems of names and files.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    entries : list of Entry
        All that can be read.
    problems : list of Problem
    """
    entries, problems, total = [], [], 0
    for i, entry in enumerate(scenario.receivers):
        total += _count(entry)
        if total > MOST_RECEIVERS:
            words = f"{total:,} receivers are more than the {MOST_RECEIVERS:,} that one run can have"
            problems.append(Problem(f"receivers.{i}.{where(entry)}", words, "write fewer, or split the run"))
            break
        try:
            names, xyz, codes = expand(entry, scenario)
        except (OSError, ValueError, LookupError) as error:
            key, words = where(entry), (str(error), FAR_AWAY)
            if key == "file":
                words = file_fault(entry, error, KINDS, COLUMNS)
            problems.append(Problem(f"receivers.{i}.{key}", *words))
            continue
        filled = codes.filled(names, scenario.output.network)
        words = [f"receivers.{i}.file: {text}" for text in codes.words]
        if getattr(entry, "side", None) is not None:
            xyz = places.on_side(scenario, xyz, entry.side)
        found = Entry(i, names, xyz, *filled, words, [])
        if getattr(entry, "outside", "") == "skip":
            found = _inside(scenario, found)
            if not found.names:
                words = f"all {len(names)} receivers of {entry.file} are outside the domain: {found.skipped[0]}"
                problems.append(Problem(f"receivers.{i}.file", words, FAR_AWAY))
        entries.append(found)
    entries = with_networks(_without_repeated(scenario, entries))
    taken = set()
    for entry in entries:
        problems += _used_twice(entry.number, scenario.receivers[entry.number], taken, list(entry.names))
        taken.update(entry.names)
    return entries, problems


def _inside(scenario, entry):
    """Return the receivers of an entry that are inside the domain."""
    numbers, texts, _ = misplaced(scenario, entry.xyz, len(entry.names))
    texts = [f"{entry.names[n]}: {text}" for n, text in zip(numbers, texts)]
    return entry.part(np.setdiff1d(np.arange(len(entry.names)), numbers), skipped=texts)


def _without_repeated(scenario, entries):
    """Return entries without the stations of files that an earlier file has at the same place."""
    taken = [name for entry in entries for name in entry.names]
    if len(set(taken)) == len(taken):
        return entries
    seen, kept = set(), []
    for entry in entries:
        if where(scenario.receivers[entry.number]) == "file":
            codes = zip(entry.networks, entry.codes, entry.locations)
            stations = [(*three, *xyz) for three, xyz in zip(codes, entry.xyz.tolist())]
            rows = [n for n, station in enumerate(stations) if station not in seen]
            if len(rows) < len(stations):
                again = [entry.names[n] for n, station in enumerate(stations) if station in seen]
                words = f"receivers.{entry.number}.file: {sensors.TOLD['twice']}"
                words = words.format(first_of(again))
                entry = entry.part(rows, words=[*entry.words, words])
            seen.update(stations)
        kept.append(entry)
    return kept


def _count(entry):
    """Receivers of an entry, as far as they are counted before they are made or read."""
    line, grid = getattr(entry, "line", None), getattr(entry, "grid", None)
    line = line if line is not None else getattr(entry, "at", None)
    if hasattr(line, "count"):
        return line.count
    if grid is None:
        return 1
    axes = (grid.longitude, grid.latitude) if grid.on_earth else (grid.x, grid.y)
    return axes[0][2] * axes[1][2]


def with_networks(entries):
    """Return entries in which receivers of equal names but different networks are named
    network.station.

    Parameters
    ----------
    entries : list of Entry
    """
    taken = [name for entry in entries for name in entry.names]
    if len(set(taken)) == len(taken):
        return entries
    pairs = [pair for entry in entries for pair in zip(entry.names, entry.networks)]
    counts = Counter(name for name, _ in pairs)
    networks = Counter(name for name, _ in set(pairs))
    apart = {name for name, count in counts.items() if 1 < count == networks[name]}
    return [
        entry._replace(
            names=[f"{network}.{name}" if name in apart else name for name, network in zip(entry.names, entry.networks)]
        )
        if apart & set(entry.names)
        else entry
        for entry in entries
    ]


@dataclass(frozen=True)
class Codes:
    """Codes of networks and stations, elevations of the ground, m, and location codes, as far as a
    file has them; what it holds and is not recorded, in words.

    Parameters
    ----------
    networks, codes : list of str or None
    elevation : ndarray or None
    locations : list of str or None
    words : list of str
    """

    networks: list | None = None
    codes: list | None = None
    elevation: np.ndarray | None = None
    locations: list | None = None
    words: tuple | list = ()

    def filled(self, names, network):
        """Networks, codes, elevations and locations of all receivers: `network`, the names, NaN and
        nothing where the file has none.

        Parameters
        ----------
        names : list of str
        network : str
        """
        stated = self.networks if self.networks is not None else [""]
        networks = [name or network for name in stated]
        elevation = self.elevation if self.elevation is not None else np.full(len(names), np.nan)
        return (
            networks if self.networks is not None else networks * len(names),
            self.codes or list(names),
            elevation,
            self.locations or [""] * len(names),
        )


def expand(entry, scenario):
    """Names, positions (n, 3) and `Codes` of one entry of a scenario's receivers; of a fibre its
    one name and its corners.

    Parameters
    ----------
    entry : receivers of a scenario
    scenario : Scenario

    Raises
    ------
    OSError, ValueError, LookupError
        A file that cannot be read, that is not a table of receivers, or whose longitudes and
        latitudes have no reference.
    """
    if getattr(entry, "file", None) is not None:
        names, xyz, deep, codes = read_file(entry, scenario.domain, _origin(scenario))
        return names, _placed(scenario, xyz, deep), codes
    if getattr(entry, "das", None) is not None:
        return [entry.name], places.located(scenario, entry.das.along), Codes()
    if getattr(entry, "line", None) is not None:
        xyz = places.line(scenario, entry.line)
    elif isinstance(getattr(entry, "at", None), Points):
        xyz = places.line(scenario, entry.at)
    elif getattr(entry, "grid", None) is not None:
        lattice = _lattice(entry.grid, scenario.domain)
        xyz = _placed(scenario, lattice, entry.grid.depth is not None)
    else:
        return [entry.name], places.located(scenario, [entry.at]), Codes()
    return [f"{entry.name}{n}" for n in range(1, len(xyz) + 1)], xyz, Codes()


def _origin(scenario):
    """Return the origin time of a scenario; None where there is none, or its file cannot be read,
    which is a problem of its source.
    """
    try:
        return event.origin_time(scenario)
    except (OSError, ValueError, LookupError):
        return None


def _placed(scenario, xyz, deep):
    """Positions of which all or none are depths, draped over the ground."""
    if scenario.domain.planar:
        xyz[:, 1] = 0.0
    return places.draped(scenario, xyz, np.full(len(xyz), deep))


def where(entry):
    """Return the key of an entry that says where its receivers are: ``at``, ``line``, ``grid``,
    ``file`` or ``das``.

    Parameters
    ----------
    entry : receivers of a scenario
    """
    return next((k for k in ("file", "line", "grid", "das") if getattr(entry, k, None) is not None), "at")


def _used_twice(index, entry, taken, names):
    if len(different := set(names)) == len(names) and different.isdisjoint(taken):
        return []
    seen, twice = set(taken), []
    for name in names:
        twice += [name] if name in seen else []
        seen.add(name)
    if not twice:
        return []
    key = "file" if where(entry) == "file" else "name"
    others = f" and {len(twice) - 1} more names" if len(twice) > 1 else ""
    message = f'the name "{twice[0]}"{others} is already taken by another receiver'
    return [Problem(f"receivers.{index}.{key}", message, "give every receiver a unique name")]


def _lattice(grid, domain):
    """Points (n, 3) of a grid, x or longitude fastest, depths from z = 0, m."""
    axes = (grid.longitude, grid.latitude) if grid.on_earth else (grid.x, grid.y)
    east, north = (values.ravel() for values in np.meshgrid(*(np.linspace(*a) for a in axes)))
    mapped = geography.places(domain, "geographic" if grid.on_earth else "metres")
    return mapped.xyz(east, north, 0.0 - grid.height)


def read_file(entry, domain, origin=None):
    """Receivers from a file: StationXML, text of the FDSN, STATIONS of SPECFEM or CSV, told apart by
    what they begin with.

    Parameters
    ----------
    entry : receivers of a scenario, from a file
    domain : Domain
    origin : str, optional
        Origin time, ISO 8601, UTC, in whose epoch stations are.

    Returns
    -------
    names : list of str
    xyz : ndarray, shape (n, 3)
        Positions, m; NaN where a place is not on the map of the box.
    deep : bool
        Whether z is minus a depth.
    codes : Codes

    Raises
    ------
    OSError, ValueError, LookupError
        A file that cannot be read or understood, or positions without reference.
    """
    status = os.stat(entry.file)
    stations, words = _stations(entry.file, origin, status.st_mtime_ns, status.st_size)
    codes = Codes(stations.networks, stations.codes, stations.elevation, stations.locations, words)
    if stations.coordinates == "model":
        xyz = np.stack([stations.x, stations.y, 0.0 - stations.depth], axis=1)
        return stations.names, xyz, stations.deep, codes
    mapped = geography.places(domain, stations.coordinates or entry.coordinates)
    if not (stations.deep or mapped.deep):
        raise ValueError(
            "it gives elevations, but in a chunk of the Earth positions count from the ground: give a column depth"
        )
    far = mapped.off_map(stations.x, stations.y)
    xyz = np.full((len(far), 3), np.nan)
    xyz[~far] = mapped.xyz(stations.x[~far], stations.y[~far], stations.depth[~far])
    return stations.names, xyz, mapped.deep and stations.deep, codes


@lru_cache(4)
def _stations(file, origin, *_):
    """Stations of a file at a time and what is left out, read once until it changes: checks and
    plans ask several times.
    """
    return sensors.recorded(io.read(file, "station"), origin)
