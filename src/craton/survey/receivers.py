"""Where the wavefield is read out: names and positions of receivers, one by one and from files of stations, and the channels
of fibres.
"""

import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from craton import io
from craton.errors import Problem, refuse_all
from craton.io.contents import Stations, unique_codes
from craton.io.fdsn import seconds
from craton.survey import event, geography, places
from craton.survey.channels import Channel
from craton.survey.places import FAR_AWAY, file_fault, misplaced
from craton.tables.receivers import Points
from craton.text import first_of

MOST_RECEIVERS = 1_000_000  # of a run: each has a channel for every component of every quantity
ALONG_FIBRE = "fibre_strain_rate"  # quantity of a fibre's channels
KINDS = "CSV, STATIONS, StationXML or FDSN text file"
# What is told of stations, by what was done with them.
TOLD = {
    "twice": "more than once at the same place: {} (one receiver for each)",
    "moved": "at different places in different epochs: {} (the last epoch is taken: there is no "
    "origin time; give time.origin)",
    "nearest": "no epoch holds the origin time: {} (the nearest epoch is taken)",
    "gone": "sensors that do not record in the epoch of the origin time, left out: {}",
    "apart": "channels of one location at different places: {} (the place of the first is taken)",
    "together": "several sensors at one place: {} (one receiver for them)",
}
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
    stations : geography.Stations or None
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
    refuse_all(problems)
    cables, points = [], []
    for number, group in entries:
        entry = scenario.receivers[number]
        if entry.where == "das":
            cables.append((group.names[0], group.xyz, entry.das.spacing, entry.das.gauge))
        else:
            points.append(group)
    texts = {
        column: [str(text) for group in points for text in getattr(group, column)]
        for column in ("names", "networks", "codes", "locations")
    }
    if not any(texts["locations"]):
        texts["locations"] = None
    return Receivers(
        xyz=np.concatenate([np.empty((0, 3)), *(group.xyz for group in points)]),
        fibres=fibres_of(cables) if cables else None,
        elevation=np.concatenate([np.empty(0), *(group.elevation for group in points)]),
        warnings=tuple(text for group in points for text in group.warnings),
        skipped=tuple(text for group in points for text in group.skipped),
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
            group = expand(entry, scenario, f"receivers.{i}.file")
        except (OSError, ValueError, LookupError) as error:
            is_file = entry.where == "file"
            words = file_fault(entry, error, KINDS, COLUMNS) if is_file else (str(error), FAR_AWAY)
            problems.append(Problem(f"receivers.{i}.{entry.where}", *words))
            continue
        if entry.where == "file" and entry.outside == "skip":
            numbers, texts, _ = misplaced(scenario, group.xyz, len(group))
            skipped = tuple(f"{group.names[n]}: {text}" for n, text in zip(numbers, texts))
            if len(skipped) == len(group):
                words = f"all {len(group)} receivers of {entry.file} are outside the domain: {skipped[0]}"
                problems.append(Problem(f"receivers.{i}.file", words, FAR_AWAY))
            group = replace(group.part(np.setdiff1d(np.arange(len(group)), numbers)), skipped=skipped)
        entries.append((i, group))
    entries = _with_networks(_without_repeated(scenario, entries))
    taken = set()
    for i, group in entries:
        twice = []
        for name in group.names:
            twice += [name] if name in taken else []
            taken.add(name)
        if twice:
            others = f" and {len(twice) - 1} more names" if len(twice) > 1 else ""
            words = f'the name "{twice[0]}"{others} is already taken by another receiver'
            key = "file" if scenario.receivers[i].where == "file" else "name"
            problems.append(Problem(f"receivers.{i}.{key}", words, "give every receiver a unique name"))
    return entries, problems


def _without_repeated(scenario, entries):
    """Leave out stations of files that another entry has with the same codes at the same place."""
    seen, left = set(), []
    for i, group in entries if _names_repeat(entries) else ():
        if scenario.receivers[i].where == "file":
            stations = [*zip(group.networks, group.codes, group.locations, map(tuple, group.xyz.tolist()))]
            rows = [n for n, station in enumerate(stations) if station not in seen]
            if len(rows) < len(stations):
                again = first_of([group.names[n] for n, station in enumerate(stations) if station in seen])
                words = f"receivers.{i}.file: {TOLD['twice'].format(again)}"
                group = replace(group.part(rows), warnings=(*group.warnings, words))
            seen.update(stations)
        left.append((i, group))
    return left or entries


def _names_repeat(entries):
    names = [name for _, group in entries for name in group.names]
    return len(set(names)) < len(names)


def _with_networks(entries):
    """Put the network in front of names that stations of different networks have."""
    if not _names_repeat(entries):
        return entries
    pairs = [pair for _, group in entries for pair in zip(group.names, group.networks)]
    counts, networks = Counter(name for name, _ in pairs), Counter(name for name, _ in set(pairs))
    apart = {name for name, count in counts.items() if 1 < count == networks[name]}

    def named(group):
        names = zip(group.names, group.networks)
        return [f"{network}.{name}" if name in apart else name for name, network in names]

    return [(i, replace(group, names=named(group))) for i, group in entries]


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
    return recorded(io.read(file, "station"), origin)


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
    """Return the `geography.Stations` of receivers; None where the model lies nowhere and there is no source."""
    if earth is None:
        return None if source is None else geography.flat(receivers.xyz, source)
    depth, ground = places.heights(scenario, receivers.xyz)
    if receivers.elevation is not None:
        ground = np.where(np.isfinite(receivers.elevation), receivers.elevation, ground)
    return geography.stations(earth, receivers.xyz, source, (depth, ground))


# --- stations of a file that record at a time ---------------------------------------------------------------------------


def recorded(stations, origin=None):
    """Return the stations of a file that record at a time, without those that stand there twice.

    A station's sensors, by their location codes, are receivers of their own where their places
    differ.

    Parameters
    ----------
    stations : craton.io.contents.Stations
    origin : str, optional
        Origin time, ISO 8601, UTC; without it the last epoch of each station counts.

    Returns
    -------
    stations : Stations
        Without epochs; `locations` where a station has several receivers.
    words : list of str
        What was left out or taken in place of what.
    """
    pairs = stations.pairs
    if stations.epochs is None and len(set(pairs)) == len(pairs):
        return stations, []
    rows_of = defaultdict(list)
    for n, pair in enumerate(pairs):
        rows_of[pair].append(n)
    time = None if origin is None else seconds(origin)
    rows_kept, told = {}, defaultdict(list)
    for pair, rows in rows_of.items():
        find = _repeated if stations.epochs is None else _of_epoch
        rows_kept[pair] = find(stations, rows, time, told, ".".join(filter(None, pair)))
    words = [TOLD[kind].format(first_of(told[kind])) for kind in TOLD if told[kind]]
    return _some(stations, rows_kept), words


def _place(stations, n):
    return float(stations.x[n]), float(stations.y[n]), float(stations.depth[n])


def _repeated(stations, rows, time, told, name):
    """Return the first row of each place: those that are left have equal names."""
    places = {_place(stations, n): n for n in reversed(rows)}
    if len(places) < len(rows):
        told["twice"].append(name)
    return sorted(places.values())


def _of_epoch(stations, rows, time, told, name):
    """Return a row for each place of the sensors that record at a time, s."""
    begin, end = stations.epochs[rows].T
    now = begin.max() if time is None else time
    alive = (begin <= now) & (now < end)
    if not alive.any():
        gap = np.maximum(begin - now, now - end)
        alive = gap == gap.min()
        told["nearest"] += [name] * (time is not None)
    sensors, codes = {}, stations.locations or [""] * len(stations.x)
    for n in (n for n, records in zip(rows, alive) if records):
        first = sensors.setdefault(codes[n], n)
        if _place(stations, first) != _place(stations, n) and name not in told["apart"][-1:]:
            told["apart"].append(name)
    places = {_place(stations, n): n for n in reversed(sensors.values())}
    # only a channel that stands twice gives a row twice
    if len({(codes[n], _place(stations, n), *stations.epochs[n]) for n in rows}) < len(rows):
        told["twice"].append(name)
    for n in rows:
        if codes[n] not in sensors and (lost := f"{name}.{codes[n]}") not in told["gone"]:
            told["gone"].append(lost)
    if time is None and {_place(stations, n) for n in rows} - set(places):
        told["moved"].append(name)
    if len(places) < len(sensors):
        told["together"].append(f"{name} ({', '.join(code or '--' for code in sensors)})")
    return sorted(places.values())


def _some(stations, rows_kept):
    """Return the stations of some rows, named anew."""
    rows = [n for some in rows_kept.values() for n in some]
    base = dict(zip(rows_kept, unique_codes([*rows_kept])))
    names, locations = [], []
    for pair, some in rows_kept.items():
        for n in some:
            code = stations.locations[n] if stations.locations and len(some) > 1 else ""
            names.append(f"{base[pair]}.{code}".rstrip("."))
            locations.append(code)
    columns = ("networks", "codes", "x", "y", "depth", "elevation")
    stated = {name: column for name in columns if (column := getattr(stations, name)) is not None}
    picked = {name: [c[n] for n in rows] if isinstance(c, list) else c[rows] for name, c in stated.items()}
    return replace(stations, names=names, locations=locations if any(locations) else None, epochs=None, **picked)


@dataclass(frozen=True, eq=False)
class Fibres:
    """The channels of all fibres of a run.

    Parameters
    ----------
    names : list of str
        Of the fibre that each channel lies on, (n,).
    distance : ndarray, shape (n,)
        Along its fibre, m.
    xyz : ndarray, shape (n, 3)
        Middle of the channel, m.
    ends, tangents : ndarray, shape (n, 2, 3)
        Where the gauge length begins and ends on the fibre, m, and the fibre's unit tangents there.
    gauge : ndarray, shape (n,)
        m.
    """

    names: list
    distance: np.ndarray
    xyz: np.ndarray
    ends: np.ndarray
    tangents: np.ndarray
    gauge: np.ndarray

    def __len__(self):
        return len(self.names)

    def terms(self, channel):
        """Terms whose sum is the value of a channel: (position, velocity component 0 1 2, weight)
        of

        ``(v(s + g/2) . t(s + g/2) - v(s - g/2) . t(s - g/2)) / g``

        with the tangents t of the fibre at both ends of the gauge length g. Where the fibre is
        straight between them this is the mean over g of the axial strain rate t . dv/ds. Where it
        bends it also holds the mean of v . dt/ds, which is no strain: channels whose gauge length
        holds a corner tell of the corner.

        Parameters
        ----------
        channel : int
            Number of the channel.
        """
        for end, sign in ((0, -1.0), (1, 1.0)):
            for axis in range(3):
                weight = sign * self.tangents[channel, end, axis] / self.gauge[channel]
                if weight:
                    yield tuple(self.ends[channel, end]), axis, weight


def fibres_of(entries):
    """Return the channels of ``(name, along (m, 3), spacing, gauge)`` fibres, lengths in m.

    The first channel lies half a gauge length from the fibre's beginning, the others every
    `spacing` as far as half a gauge length remains behind them. At a corner the tangent is that of
    the piece towards the middle of the channel.

    Parameters
    ----------
    entries : list of (str, (m, 3) array, float, float)
    """
    parts = [_channels(*entry) for entry in entries]
    names, *arrays = zip(*parts)
    return Fibres([n for fibre_names in names for n in fibre_names], *(np.concatenate(a) for a in arrays))


def _channels(name, along, spacing, gauge):
    """names, distance, xyz, ends, tangents, gauge of one fibre."""
    along = np.asarray(along, dtype=float)
    pieces = np.diff(along, axis=0)
    lengths = np.linalg.norm(pieces, axis=1)
    corners = np.concatenate([[0.0], np.cumsum(lengths)])
    count = int(np.floor((corners[-1] - gauge) / spacing + 1e-9)) + 1
    distance = gauge / 2 + spacing * np.arange(count)
    s = np.stack([distance - gauge / 2, distance + gauge / 2], axis=1)
    tiny = 1e-9 * corners[-1]
    piece = np.stack(
        [np.searchsorted(corners, s[:, 0] + tiny, "right") - 1, np.searchsorted(corners, s[:, 1] - tiny, "left") - 1],
        axis=1,
    )
    piece = np.clip(piece, 0, len(pieces) - 1)
    unit = pieces / lengths[:, None]

    def at(where):
        return np.stack([np.interp(where, corners, c) for c in along.T], axis=-1)

    return [name] * count, distance, at(distance), at(s), unit[piece], np.full(count, float(gauge))
