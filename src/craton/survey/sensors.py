"""Stations of a file that a run records: those of its origin time, a receiver for each place of a
sensor.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from craton.io.contents import unique_codes
from craton.io.fdsn import seconds
from craton.text import first_of

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
    kept, told = {}, defaultdict(list)
    for pair, rows in rows_of.items():
        find = _repeated if stations.epochs is None else _of_epoch
        kept[pair] = find(stations, rows, time, told, ".".join(filter(None, pair)))
    words = [TOLD[kind].format(first_of(told[kind])) for kind in TOLD if told[kind]]
    return _some(stations, kept), words


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
    sensors, located = {}, stations.locations or [""] * len(stations.x)
    for n in (n for n, records in zip(rows, alive) if records):
        first = sensors.setdefault(located[n], n)
        if _place(stations, first) != _place(stations, n) and name not in told["apart"][-1:]:
            told["apart"].append(name)
    places = {_place(stations, n): n for n in reversed(sensors.values())}
    # only a channel that stands twice gives a row twice
    if len({(located[n], _place(stations, n), *stations.epochs[n]) for n in rows}) < len(rows):
        told["twice"].append(name)
    for n in rows:
        if located[n] not in sensors and (lost := f"{name}.{located[n]}") not in told["gone"]:
            told["gone"].append(lost)
    if time is None and {_place(stations, n) for n in rows} - set(places):
        told["moved"].append(name)
    if len(places) < len(sensors):
        told["together"].append(f"{name} ({', '.join(code or '--' for code in sensors)})")
    return sorted(places.values())


def _some(stations, kept):
    """Return the stations of some rows, named anew."""
    rows = [n for some in kept.values() for n in some]
    base = dict(zip(kept, unique_codes([*kept])))
    names, locations = [], []
    for pair, some in kept.items():
        for n in some:
            code = stations.locations[n] if stations.locations and len(some) > 1 else ""
            names.append(f"{base[pair]}.{code}".rstrip("."))
            locations.append(code)
    columns = ("networks", "codes", "x", "y", "depth", "elevation")
    given = {name: column for name in columns if (column := getattr(stations, name)) is not None}
    picked = {name: [c[n] for n in rows] if isinstance(c, list) else c[rows] for name, c in given.items()}
    return replace(stations, names=names, locations=locations if any(locations) else None, epochs=None, **picked)
