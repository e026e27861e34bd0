"""Channels over ranks: the columns that each rank records, and the channels that all columns make together.

A channel whose points one rank owns is recorded there. Where several ranks own its points, each records its owned points one by one, and
the sum over all of them is computed afterwards, by the same operator and in the same order.
"""
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from craton.core.layout import Layout
from craton.core.plan import Array, Phase, Plan
from craton.core.share import Cut

RECORD_BYTES = 1 << 28  # of a rank's record, at most


def sampling_launch(plan):
    """Return the launch that samples the channels, or None."""
    return next((launch for phase in plan.phases for launch in phase.launches if launch.op.function == "sample"), None)


@dataclass(frozen=True, eq=False)
class Gathering:
    """Gathering of the columns of all ranks.

    Parameters
    ----------
    plan : Plan
        Plan of the whole grid.
    parts : list of Part
    """

    plan: Plan
    parts: list

    @cached_property
    def launch(self):
        """The launch that samples."""
        return sampling_launch(self.plan)

    @cached_property
    def table(self):
        """Sources, first rows (channels + 1) and weights of all channels."""
        names = dict(zip((*self.launch.op.writes, *self.launch.op.reads), self.launch.arrays))
        return tuple(self.plan.arrays[names[name]].data for name in ("source", "first", "weight"))

    @cached_property
    def owners(self):
        """Rank that owns the point of each row."""
        indices = self.plan.layout.place(self.table[0])
        lows = [np.unique([part.box[2 * n] for part in self.parts]) for n in range(3)]
        place = [np.searchsorted(low, a, side="right") - 1 for low, a in zip(lows, indices)]
        return np.ravel_multi_index(place, self.parts[0].ranks)

    @cached_property
    def whole(self):
        """Owner of each channel whose points have one owner, -1 for the others."""
        first = self.table[1]
        low, high = (f.reduceat(self.owners, first[:-1]) for f in (np.minimum, np.maximum))
        return np.where(low == high, low, -1)

    @cached_property
    def single(self):
        """Rows of the channels that have several owners."""
        return np.flatnonzero(np.repeat(self.whole < 0, np.diff(self.table[1])))

    def channels(self, rank):
        """Return the channels that a rank records."""
        return np.flatnonzero(self.whole == rank)

    def rows(self, rank):
        """Return the rows that a rank records in addition, each a column behind its channels."""
        return self.single[self.owners[self.single] == rank]

    @cached_property
    def slots(self):
        """Steps that the record of every rank holds."""
        counts = np.bincount(self.whole[self.whole >= 0], minlength=len(self.parts))
        counts = counts + np.bincount(self.owners[self.single], minlength=len(self.parts))
        return max(1, min(self.plan.slots, RECORD_BYTES // max(8 * int(counts.max()), 1)))

    def record(self, rank):
        """Return arrays and launches of a rank's record; none where it records nothing."""
        source, first, weight = self.table
        channels, rows = self.channels(rank), self.rows(rank)
        if not len(channels) + len(rows):
            return {}, []
        old, part = self.plan.layout, self.parts[rank]
        of_channels = np.concatenate([np.arange(first[c], first[c + 1]) for c in channels] or [np.empty(0, int)]).astype(int)
        counts = np.append(np.diff(first)[channels], np.ones(len(rows), int))
        values = {
            "source": Cut(old, replace(old, shape=part.shape), part).move(source[np.append(of_channels, rows)]),
            "first": np.append(0, np.cumsum(counts)),
            "weight": np.append(weight[of_channels], np.ones(len(rows))),
        }
        names = dict(zip((*self.launch.op.writes, *self.launch.op.reads), self.launch.arrays))
        arrays = {names[n]: replace(self.plan.arrays[names[n]], shape=v.shape, data=np.asarray(v, self.plan.arrays[names[n]].dtype))
                  for n, v in values.items()}  # fmt: skip
        arrays["record"] = replace(self.plan.arrays["record"], shape=(self.slots, len(counts)))
        params = {"columns": len(counts), "slots": self.slots}
        return arrays, [replace(self.launch, box=(0, 1, 0, 1, 0, len(counts)), params=params)]

    def join_columns(self, blocks, machine):
        """Return all channels (steps, channels) from the columns (steps, columns) of every rank."""
        steps = len(blocks[0])
        out, points = np.empty((steps, len(self.whole)), self.plan.precision), np.empty((steps, len(self.single)), self.plan.precision)
        for rank, block in enumerate(blocks):
            channels, rows = self.channels(rank), self.rows(rank)
            out[:, channels] = block[:, : len(channels)]
            points[:, np.searchsorted(self.single, rows)] = block[:, len(channels) :]
        if len(self.single):
            out[:, self.whole < 0] = self.sum_channels(points, machine)
        return out

    def sum_channels(self, points, machine):
        """Return the channels of several owners, (steps, channels), from their points (steps, rows)."""
        _, first, weight = self.table
        counts = np.diff(first)[self.whole < 0]
        steps, rows = points.shape
        begins = (np.arange(steps)[:, None] * rows + np.append(0, np.cumsum(counts[:-1]))).ravel()
        data = {
            "ring": (np.zeros((1, len(begins))), points.dtype), "state": (points, points.dtype),
            "source": (np.arange(points.size), np.int64), "first": (np.append(begins, points.size), np.int32),
            "weight": (np.tile(weight[self.single], steps), points.dtype),
            "step": (np.zeros(1), np.int32),
        }  # fmt: skip
        arrays = {name: Array("points", v.shape, dtype, np.asarray(v, dtype)) for name, (v, dtype) in data.items()}
        launch = replace(self.launch, arrays=tuple(self.launch.op.arrays), box=(0, 1, 0, 1, 0, len(begins)),
                         params={"columns": len(begins), "slots": 1})  # fmt: skip
        layout, phases = Layout((1, 1, 1), 0), (Phase("sum", (launch,)),)
        plan = Plan("", "", self.plan.precision, None, layout, arrays, phases, 1, 1.0, 0.0, [], None, 1, np.inf)
        program = machine.commit(plan)
        program.phases[0].inner(0)
        return program.host("ring")[0].reshape(steps, len(counts))
