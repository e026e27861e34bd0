"""Channels over ranks: the columns that each rank records, and the channels that all columns make
together.

Of a grid, a channel whose points one rank owns is recorded there; where several ranks own its
points, each records its owned points one by one, and the sum is computed afterwards by the operator
that samples, in the same order: as on one rank, to the last bit. Of a mesh, each rank records the
part of a channel that its own elements give.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.core.grid import Layout
from craton.core.localise import Cut, select_rows
from craton.core.operator import Operator
from craton.core.plan import Array, Launch, Phase, StepPlan

RECORD_BYTES = 1 << 28  # of a rank's record, at most


@dataclass(frozen=True, eq=False)
class Gathering:
    """Channels as sums over the columns of all ranks, one rank's columns behind the other's.

    Parameters
    ----------
    first : (channels + 1,) int array
        Where the columns of each channel begin in `source`.
    source : (n,) int array
        Columns. One that is a channel by itself has the weight 1.
    weight : (n,) array
    op : Operator
        Samples a state into a ring: its sums are those of a run on one rank.
    """

    first: np.ndarray
    source: np.ndarray
    weight: np.ndarray
    op: Operator

    def join_columns(self, blocks, machine):
        """Return all channels (steps, channels).

        Parameters
        ----------
        blocks : list of (steps, columns) array
            The columns that each rank has recorded.
        machine : Machine
            Where they are summed.
        """
        columns, counts = np.concatenate(blocks, axis=1), np.diff(self.first)
        out = np.zeros((len(columns), len(counts)), columns.dtype)
        single, several = np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)
        out[:, single] = columns[:, self.source[self.first[single]]]
        if len(several):
            entries = np.repeat(counts > 1, counts)
            values, weight = columns[:, self.source[entries]], self.weight[entries]
            out[:, several] = self.sum_columns(values, weight, counts[several], machine)
        return out

    def sum_columns(self, values, weight, counts, machine):
        """Return weighed sums of neighbouring columns (steps, len(counts)).

        Parameters
        ----------
        values : (steps, n) array
        weight : (n,) array
        counts : (channels,) int array
            Columns of each channel.
        machine : Machine
        """
        steps, width = values.shape
        begins = np.arange(steps)[:, None] * width + np.append(0, np.cumsum(counts[:-1]))
        first, sums = np.append(begins.ravel(), values.size), begins.size
        data = {
            "ring": (np.zeros((1, sums)), values.dtype),
            "state": (values, values.dtype),
            "source": (np.arange(values.size), np.int64),
            "first": (first, np.int32),
            "weight": (np.tile(weight, steps), values.dtype),
            "step": (np.zeros(1), np.int32),
        }
        arrays = {name: Array("points", v.shape, dtype, np.asarray(v, dtype)) for name, (v, dtype) in data.items()}
        launch = Launch(self.op, self.op.arrays, (0, 1, 0, 1, 0, sums), {"columns": sums, "slots": 1})
        phases, layout = (Phase("sum", (launch,)),), Layout((1, 1, 1), 0)
        plan = StepPlan(precision=values.dtype.name, layout=layout, arrays=arrays, phases=phases)
        program = machine.commit(plan)
        program.phases[0].inner(0)
        return program.host("ring")[0].reshape(steps, len(counts))


def partial_sums(channels, count, op):
    """Return the `Gathering` of channels of which ranks record parts, to be added in the order of
    the ranks.

    Parameters
    ----------
    channels : list of int array
        Channels that each rank records, in the order of its columns.
    count : int
        Number of channels.
    op : Operator
        See `Gathering`.
    """
    channel = np.concatenate(channels)
    order = np.argsort(channel, kind="stable")
    return Gathering(np.searchsorted(channel[order], np.arange(count + 1)), order, np.ones(len(order)), op)


# --- of a grid ------------------------------------------------------------------------------------


def sampling_launches(plan):
    """Return the launches of a plan that sample, in their order: list of Launch.

    Parameters
    ----------
    plan : StepPlan
    """
    launches = (launch for phase in plan.phases for launch in phase.launches)
    return [launch for launch in launches if launch.op.function == "sample"]


def divide_channels(plan, partition, launch):
    """Return the columns of every rank, and the `Gathering` of all channels that a launch samples.

    Parameters
    ----------
    plan : StepPlan
        Of the whole grid.
    partition : list of Subdomain
    launch : Launch

    Returns
    -------
    list of (int array, int array, array)
        Of each rank: where its columns begin among its entries of the launch's table, which these are, their
        weights.
    Gathering
    """
    source, first, weight = (np.asarray(plan.arrays[name].data) for name in names_of(launch))
    owner, counts = owner_of(partition, plan.layout.place(source)), np.diff(first)
    low, high = (f.reduceat(owner, first[:-1][counts > 0]) for f in (np.minimum, np.maximum))
    is_divided = np.repeat(low != high, counts[counts > 0])  # entries of channels of several ranks: a column each
    begins = is_divided.copy()
    begins[first[:-1][counts > 0]] = True
    start = np.flatnonzero(begins)
    of_rank, tables, weights = owner[start], [], np.where(is_divided, 1, weight)
    for rank in range(len(partition)):
        begin, entries = select_rows(np.append(start, len(source)), np.flatnonzero(of_rank == rank))
        tables.append((begin, entries, weights[entries]))
    column = np.empty(len(start), np.int64)
    column[np.argsort(of_rank, kind="stable")] = np.arange(len(start))
    weights = np.where(is_divided, weight, 1)[start].astype(weight.dtype)
    return tables, Gathering(np.searchsorted(start, first), column, weights, launch.op)


def owner_of(partition, points):
    """Return the rank that owns each point of a grid.

    Parameters
    ----------
    partition : sequence of Subdomain
    points : (k, j, i) int arrays
    """
    lows = [np.unique([subdomain.box[2 * n] for subdomain in partition]) for n in range(3)]
    place = [np.searchsorted(low, a, side="right") - 1 for low, a in zip(lows, points)]
    return np.ravel_multi_index(place, partition[0].ranks)


def names_of(launch):
    """Return the names of a sampling launch's tables: sources, first rows, weights.

    Parameters
    ----------
    launch : Launch
    """
    names = dict(zip(launch.op.arrays, launch.arrays))
    return [names[name] for name in ("source", "first", "weight")]


def record_columns(plan, table, launch, subdomain, slots):
    """Return arrays and launches of a rank's record; none where it records nothing.

    Parameters
    ----------
    plan : Plan
        Of the whole grid.
    table : (int array, int array, array)
        Of the rank, see `divide_channels`.
    launch : Launch
        Samples all channels of the whole.
    subdomain : Subdomain
    slots : int
        Steps that the record holds.
    """
    first, entries, weight = table
    count, names, record = len(first) - 1, names_of(launch), launch.arrays[0]
    if not count:
        return {}, []
    source = Cut.of(plan, subdomain).move(np.asarray(plan.arrays[names[0]].data)[entries])
    arrays = {name: plan.arrays[name].of(values) for name, values in zip(names, (source, first, weight))}
    arrays[record] = replace(plan.arrays[record], shape=(slots, count))
    params = {"columns": count, "slots": slots}
    return arrays, [replace(launch, box=(0, 1, 0, 1, 0, count), params=params)]
