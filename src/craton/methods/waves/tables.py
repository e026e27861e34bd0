"""Point tables as arrays and launches of a plan: rows sorted by what they add to, time series
beside them, the ring of the record.
"""

from dataclasses import dataclass

import numpy as np

from craton.core.deferred import Part
from craton.core.plan import Array, Launch
from craton.core.rolling import Rolling
from craton.methods.waves import points as operators


def table_of(index, weight, column):
    """Rows sorted by index: unique targets, where their rows start, columns, weights."""
    order = np.argsort(index, kind="stable")
    target, first = np.unique(index[order], return_index=True)
    return target, np.append(first, len(index)).astype(np.int32), column[order], weight[order]


def injection(name, table, series, precision, into="state"):
    """Arrays, called NAME_target and so on, and the launch that adds `series` (steps, columns),
    ndarray or `Rolling`, to a block by a `table_of` rows.
    """
    target, first, column, weight = table
    arrays = of_values(
        name,
        target=(target, np.int64),
        first=(first, np.int32),
        column=(column, np.int32),
        weight=(weight, precision),
        series=(series, precision),
    )
    names = (into, *(f"{name}_{part}" for part in ("target", "first", "column", "weight", "series")), "step")
    return arrays, Launch(
        operators.INJECT, names, (0, 1, 0, 1, 0, len(target)), {"columns": series.shape[1], "slots": 1}
    )


def of_values(name, **values):
    """Arrays of point tables from (values, type) by the last part of their names."""
    return {
        f"{name}_{part}": Array("points", v.shape, dtype, v if isinstance(v, Part | Rolling) else np.asarray(v, dtype))
        for part, (v, dtype) in values.items()
    }


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of some channels, the rows of one channel behind those of the other.

    Parameters
    ----------
    channels : (n,) array of int
    counts : (n,) array of int
        Number of rows of each channel.
    index, weight : (rows,) arrays
        Index in the state, and weight, of each row.
    """

    channels: np.ndarray
    counts: np.ndarray
    index: np.ndarray
    weight: np.ndarray

    def by_channel(self):
        """Return (channel, (index, weight)) of each channel: list."""
        ends = np.cumsum(self.counts)[:-1]
        rows = zip(np.split(self.index, ends), np.split(self.weight, ends))
        return list(zip(self.channels.tolist(), rows))


def joined_rows(parts):
    """Return the channels of some `Rows`, rising, and their rows as `stacked_rows`.

    Parameters
    ----------
    parts : list of Rows
        No channel twice.
    """
    none = [np.empty(0, np.int64)]
    channels = np.concatenate([*(part.channels for part in parts), *none])
    order = np.argsort(channels, kind="stable")
    counts = np.concatenate([*(part.counts for part in parts), *none])[order]
    first = np.concatenate([[0], np.cumsum(counts)])
    index, weight = np.empty(first[-1], np.int64), np.empty(first[-1])
    channels = channels[order]
    for part in parts:
        begins = first[np.searchsorted(channels, part.channels)]
        shift = begins - np.cumsum(part.counts) + part.counts
        at = np.arange(len(part.index)) + np.repeat(shift, part.counts)
        index[at], weight[at] = part.index, part.weight
    return channels, (first, index, weight)


def stacked_rows(rows):
    """Return the rows of all channels, one channel behind the other: first rows (channels + 1,),
    indices, weights.

    Parameters
    ----------
    rows : list of (index, weight)
        Of each channel.
    """
    first = np.cumsum([0, *(len(index) for index, _ in rows)])
    if not rows:
        return first, np.empty(0, np.int64), np.empty(0)
    return first, *(np.concatenate(part) for part in zip(*rows))


def sampling(first, source, weight, slots, precision):
    """Arrays and launches that sample channels into a ring of `slots` steps and count the steps.

    Parameters
    ----------
    first : (channels + 1,) array of int
        Where the rows of each channel begin.
    source, weight : (rows,) arrays
        Index in the state, and weight, of each row.
    slots : int
    precision : str
    """
    channels = len(first) - 1
    arrays = {"step": Array("points", (1,), np.int32)}
    launches = []
    if channels:
        arrays["record"] = Array("record", (slots, channels), precision)
        arrays |= of_values("sample", source=(source, np.int64), first=(first, np.int32), weight=(weight, precision))
        names = ("record", "state", "sample_source", "sample_first", "sample_weight", "step")
        launches.append(
            Launch(operators.SAMPLE, names, (0, 1, 0, 1, 0, channels), {"columns": channels, "slots": slots})
        )
    launches.append(Launch(operators.ADVANCE, ("step",), (0, 1, 0, 1, 0, 1), {"columns": 1, "slots": 1}))
    return arrays, launches
