"""Point tables of a plan: the operators that inject sources, sample receivers and count steps; rows, arrays and launches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from craton.core.deferred import Deferred, Part, Rolling
from craton.core.operator import KERNELS, Operator, Struct
from craton.core.plan import Array, Launch
from craton.errors import ResourceError

SHORT = 64  # points of a sum up to which those of many are copied together
LATER = 1 << 22  # rows above which they are made when a run begins
MOST_ROWS = 2**31 - 1
PARAMS = Struct("PointParams", (("columns", "i32"), ("slots", "i32")))
TYPES = (
    *((name, "i64") for name in ("target", "source")),
    *((name, "i32") for name in ("first", "column", "begin")),
    *(("at", "i64"), ("step", "i32")),
)
TABLE = ("target", "first", "column", "weight", "series", "step")


def _operator(name, writes, reads, *types):
    """Return an operator of points.h."""
    return Operator(name, KERNELS / "points.h", (writes,), reads, PARAMS, types=(*TYPES, *types), pointwise=False)


INJECT = _operator("inject", "state", TABLE, ("state", "force"))
SAMPLE = _operator("sample", "ring", ("state", "source", "first", "weight", "step"), ("state", "field"))
WINDOW, HOLD = (_operator(name, "now", ("begin", "at", "series", "step")) for name in ("window", "hold"))
ADVANCE = _operator("advance", "step", ())
STEP = {"step": Array("points", (1,), np.int32)}  # the number of the step, and what counts it
COUNT_STEPS = Launch(ADVANCE, ("step",), (0, 1, 0, 1, 0, 1), {"columns": 1, "slots": 1})


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
    return arrays, Launch(INJECT, names, (0, 1, 0, 1, 0, len(target)), {"columns": series.shape[1], "slots": 1})


def of_values(name, **values):
    """Arrays of point tables from (values, type) by the last part of their names."""
    return {
        f"{name}_{part}": Array("points", v.shape, dtype, v if isinstance(v, Part | Rolling) else np.asarray(v, dtype))
        for part, (v, dtype) in values.items()
    }


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of some sums over points of the state, the points of one sum behind those of the other.

    Parameters
    ----------
    numbers, counts : (n,) int array
        Number of each sum, no sum twice, and of its points.
    index : (points,) int array
        In the state.
    weight : (points,) array
    """

    numbers: np.ndarray
    counts: np.ndarray
    index: np.ndarray
    weight: np.ndarray

    @classmethod
    def without_zeros(cls, numbers, index, weight):
        """Return the rows of sums over index and weight, (n, m) each, without points of weight 0; one stays of a sum of zeros."""
        nonzero = weight != 0
        nonzero[~nonzero.any(axis=1), 0] = True
        return cls(numbers, nonzero.sum(axis=1), index[nonzero], weight[nonzero])

    def blocks(self):
        """Yield which sums (m,), index and weight (m, points), of sums of equally many points."""
        begins = np.cumsum(self.counts) - self.counts
        for count in np.unique(self.counts):
            chosen = np.flatnonzero(self.counts == count)
            at = begins[chosen, None] + np.arange(count)
            yield chosen, self.index[at], self.weight[at]


class Changed(NamedTuple):
    """Rows that are others with weights of their own, `change` (numbers, index, weight) of each block, or with other numbers."""

    part: Any
    change: Callable | None = None
    names: np.ndarray | None = None

    @property
    def numbers(self) -> np.ndarray:
        """Number of each sum."""
        return self.part.numbers if self.names is None else self.names[self.part.numbers]

    @property
    def counts(self) -> np.ndarray:
        """Number of points of each sum."""
        return self.part.counts

    def blocks(self):
        """See `Rows.blocks`."""
        for some, index, weight in self.part.blocks():
            yield some, index, self.change(self.part.numbers[some], index, weight) if self.change else weight


def scaled(part, factor) -> Changed:
    """Return rows with weights times a factor, one number or one by the number of each sum."""
    return Changed(part, lambda n, _, weight: (factor if np.ndim(factor) == 0 else factor[n, None]) * weight)


def stacked(count, parts, precision=float, later=False):
    """Return the rows of all sums, one behind the other: first rows (count + 1,), indices, weights.

    Parameters
    ----------
    count : int
        Number of sums.
    parts : list of Rows
        Or what has the same numbers, counts and blocks; the points of a sum follow in the order of the parts.
    precision : dtype
    later : bool
        Leave indices and weights of many rows to be made when a run begins.

    Raises
    ------
    ResourceError
        There are more than can be counted in 32 bits.
    """
    lengths = np.zeros(count, np.int64)
    for part in parts:
        lengths[part.numbers] += part.counts
    first = np.append(0, np.cumsum(lengths))
    if first[-1] > MOST_ROWS:
        raise ResourceError(
            f"{count:,} channels take {first[-1]:,} points of the grid, {MOST_ROWS:,} at most are "
            "possible: take fewer receivers, or put them on points of the grid"
        )
    if later and first[-1] > LATER:
        rows = Deferred(lambda: _filled(first, parts, precision))
        return first, rows.part(0, first[-1], np.int64), rows.part(1, first[-1], precision)
    return first, *_filled(first, parts, precision)


def _filled(first, parts, precision):
    """Return indices and weights of the rows of `stacked`."""
    source, weight = np.empty(first[-1], np.int64), np.empty(first[-1], precision)
    free = first[:-1].copy()
    for part in parts:
        of_part = part.numbers
        for some, index, weights in part.blocks():
            rows, numbers = index.shape[1], of_part[some]
            begins = free[numbers]
            free[numbers] = begins + rows
            if rows <= SHORT:
                to = begins[:, None] + np.arange(rows)
                source[to], weight[to] = index, weights
                continue
            for begin, row_index, row_weights in zip(begins.tolist(), index, weights):
                source[begin : begin + rows] = row_index
                weight[begin : begin + rows] = row_weights
    return source, weight


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


def split_rows(first, index, weight):
    """Return rows (index, weight) of each channel: the inverse of `stacked_rows`."""
    return [(index[begin:end], weight[begin:end]) for begin, end in zip(first, first[1:])]


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
    if len(first) == 1:
        return dict(STEP), [COUNT_STEPS]
    arrays, sample = sampled("record", "sample", (first, source, weight), slots, precision)
    return STEP | arrays, [sample, COUNT_STEPS]


def sampled(record, name, rows, slots, precision, block="state"):
    """Arrays and the launch that samples rows (first, source, weight) of a block, see `sampling`, into the array `record` of
    (slots, channels); `name`: first part of the names of the rows' arrays.
    """
    first, source, weight = rows
    channels = len(first) - 1
    arrays = {record: Array("record", (slots, channels), precision)}
    arrays |= of_values(name, source=(source, np.int64), first=(first, np.int32), weight=(weight, precision))
    names = (record, block, *(f"{name}_{part}" for part in ("source", "first", "weight")), "step")
    return arrays, Launch(SAMPLE, names, (0, 1, 0, 1, 0, channels), {"columns": channels, "slots": slots})
