"""Receivers and fibres as a point table: which channels are sums over which points of the state, of any `Space`."""

import numpy as np

from craton.conventions import VECTOR
from craton.core.gathering import partial_sums
from craton.methods.waves import tables
from craton.methods.waves.tables import Changed, sampling, scaled
from craton.survey.channels import columns


def recording(space, channels, receivers, slots, precision):
    """Return channels with the times of their samples, the sums over ranks, arrays, and launches that sample the channels; all ranks
    must call.
    """
    rows, at = rows_of_channels(space, channels, receivers)
    if space.team.size == 1:
        return with_times(channels, at), None, *sampling(*rows, slots, precision)
    recorded = np.flatnonzero(np.diff(rows[0]))
    of_rank, times = zip(*space.team.every(lambda: (recorded, at)))
    table = rows[0][np.append(recorded, len(channels))], *rows[1:]
    gathering = partial_sums(of_rank, len(channels), tables.SAMPLE) if channels else None
    return with_times(channels, np.fmin.reduce(times)), gathering, *sampling(*table, slots, precision)


def with_times(channels, at):
    """Return the channels, some of which are sampled at other times within a step than their quantity says; nan means as it says."""
    if np.isnan(at).all():
        return channels
    return [c if np.isnan(time) else c._replace(at=float(time)) for c, time in zip(channels, at)]


def rows_of_channels(space, channels, receivers):
    """Return the rows of all channels that this rank has, see `tables.stacked`, and the time of their samples within a step, (channels,),
    nan where their quantity says it; all ranks must call.
    """
    table = columns(channels)
    fibres = table.by_component.get(None, np.empty(0, int)).tolist()
    terms = [(n, *term) for n in fibres for term in channels[n].terms]  # a channel of a fibre sums several readings
    ends = {place: len(receivers.xyz) + m for m, place in enumerate(dict.fromkeys(place for _, place, *_ in terms))}
    lengths = np.ones(len(channels), np.int64)
    lengths[fibres] = 0
    np.add.at(lengths, [n for n, *_ in terms], 1)
    begins = np.append(0, np.cumsum(lengths))
    readings = {
        name: [(begins[numbers], table.receiver[numbers], table.shot[numbers], np.ones(len(numbers)))]
        for name, numbers in table.by_component.items()
        if name is not None
    }
    following = dict(zip(fibres, begins[fibres].tolist()))
    for n, place, axis, factor in terms:
        readings.setdefault(("velocity", VECTOR[axis]), []).append(([following[n]], [ends[place]], [0], [factor]))
        following[n] += 1
    xyz = np.concatenate([np.asarray(receivers.xyz, float).reshape(-1, 3), np.reshape(list(ends), (-1, 3))])
    (first, *rows), at = read(space, xyz, readings, begins[-1])
    of_channel = np.minimum(begins[:-1], max(len(at) - 1, 0))
    return (first[begins], *rows), at[of_channel] if len(at) else at


def read(space, xyz, readings, count):
    """Return the rows of readings and the time of their samples within a step; all ranks must call.

    Parameters
    ----------
    space : Space
    xyz : (n, 3) array
        Positions, m.
    readings : dict of (str, str) to list
        By quantity and component: arrays of the numbers of the readings, of their positions and shots, and factors.
    count : int
        Of readings.
    """
    parts, at, by_quantity = [], np.full(count, np.nan), {}
    for (quantity, component), several in readings.items():
        by_quantity.setdefault(quantity, {})[component] = [np.concatenate(part) for part in zip(*several)]
    for quantity, by_component in by_quantity.items():
        place, shot = (np.concatenate([one[n] for one in by_component.values()]) for n in (1, 2))
        used = np.unique(shot * len(xyz) + place)
        for places in space.locate(xyz[used % len(xyz)], used // len(xyz), quantity == "pressure"):
            row = np.full(len(used), -1)
            row[places.rows] = np.arange(len(places.rows))
            for component, (numbers, place, shot, factors) in by_component.items():
                rows = row[np.searchsorted(used, shot * len(xyz) + place)]
                here = np.flatnonzero(rows >= 0)
                if not len(here):
                    continue
                for part in space.read(quantity, component, places, rows[here]):
                    parts.append(Changed(scaled(part, factors[here]), names=numbers[here]))
                if quantity == "pressure":
                    at[numbers[here]] = places.pressure_at
    return space.stacked(count, parts), at
