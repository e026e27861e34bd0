"""Points that several ranks have: sums over the ranks while a plan is built, and the operators,
tables and messages of those in a step.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from craton.core.operator import KERNELS, Operator, Struct
from craton.core.plan import Array, Launch
from craton.methods.waves.ranks.halo import buffers

FILE = KERNELS / "sharing.h"
PARAMS = Struct("SharedParams", (("count", "i32"),))
TYPES = (*((name, "i32") for name in ("points", "first", "source")), ("f", "force"), ("buffer", "force"))


def pack(fields):
    """Own sums at the points of all neighbours, (0, 1, 0, 1, 0, entries), into their buffers; see
    sharing.h.
    """
    return _operator("pack_shared", ("buffer",), ("f", "points"), fields, 2 * fields + 1)


def add(fields):
    """Return sums of all ranks at shared points, (0, 1, 0, 1, 0, points); see sharing.h."""
    return _operator("add_shared", ("f",), ("buffer", "points", "first", "source"), fields, 3 * fields + 4)


def _operator(name, writes, reads, fields, reals):
    return Operator(
        name if fields == 3 else f"{name}_{fields}",
        FILE,
        writes,
        reads,
        PARAMS,
        reals_per_point=reals,
        kernel=name,
        defines=(("FIELDS", fields),),
        types=TYPES,
        pointwise=False,
        grain=(1, 1, 4096),
        block=(128, 1, 1),
    )


class SingleRank:
    """A single rank, in place of `craton.comm.Together`."""

    rank, size = 0, 1

    def every(self, work):
        """Return the results of `work()` on every rank: list."""
        return [work()]

    def swap(self, arrays):
        """Exchange arrays by rank with other ranks, of which there are none."""
        return {}


@dataclass(frozen=True, eq=False)
class Sharing:
    """Points of one kind that a rank has in common with others.

    Parameters
    ----------
    team : craton.comm.Together, or SingleRank
    lists : dict of int to (n,) int array
        For each neighbour, rising, the own numbers of the points that both have; in the same order
        on both sides.
    """

    team: Any = SingleRank()
    lists: Any = None

    @cached_property
    def points(self):
        """Own numbers of all shared points, each once, rising."""
        return np.unique(np.concatenate([np.empty(0, int), *(self.lists or {}).values()]))

    @cached_property
    def places(self):
        """For each rank that has some of them, this one included, rising: where these are in
        `points`.
        """
        places = {rank: np.searchsorted(self.points, numbers) for rank, numbers in (self.lists or {}).items()}
        return dict(sorted((places | {self.team.rank: np.arange(len(self.points))}).items()))

    @cached_property
    def elsewhere(self):
        """Own numbers of the shared points that a lower rank counts, rising."""
        lower = np.zeros(len(self.points), bool)
        for rank, at in self.places.items():
            if rank < self.team.rank:
                lower[at] = True
        return self.points[lower]

    def sum_over_ranks(self, values):
        """Sum values (len(points), ...) at the shared points over the ranks, in the order of the
        ranks; all ranks must call.
        """
        out = {rank: np.ascontiguousarray(values[self.places[rank]], float) for rank in self.lists or {}}
        by_rank = self.team.swap(out) | {self.team.rank: values}
        total = np.zeros(values.shape)
        for rank, at in self.places.items():
            total[at] += by_rank[rank]
        return total

    def complete(self, values):
        """Complete values (n, ...) at all local points, in place, by the sums at shared points; all
        ranks must call.
        """
        values[self.points] = self.sum_over_ranks(values[self.points])
        return values

    def unite_points(self, points, values):
        """Return the points, rising, at which any rank has a value, and the sums of the values; all
        ranks must call.

        Parameters
        ----------
        points : (m,) int array
            Local points, rising.
        values : (m, ...) array
        """
        flat, common, _, flagged = self._at_shared_points(points, values)
        total, alone = self.sum_over_ranks(flagged), np.delete(np.arange(len(points)), common)
        anywhere = total[:, 0] > 0
        united = np.concatenate([points[alone], self.points[anywhere]]).astype(int)
        order = np.argsort(united)
        sums = np.concatenate([flat[alone], total[anywhere, 1:]])[order]
        return united[order], sums.reshape(len(united), *values.shape[1:])

    def assign_items(self, points, items, values):
        """Assign items at local points (m,), each point once, to the lowest rank that has one;
        values (m, ...) are summed over the ranks.

        All ranks must call. Return the items and values that stay on this rank.
        """
        flat, common, at, flagged = self._at_shared_points(points, values)
        out = {rank: np.ascontiguousarray(flagged[self.places[rank], 0]) for rank in self.lists or {}}
        taken = np.zeros(len(self.points), bool)
        for rank, flags in self.team.swap(out).items():
            if rank < self.team.rank:
                taken[self.places[rank]] |= flags > 0
        flat[common] = self.sum_over_ranks(flagged)[at, 1:]
        stays = np.ones(len(points), bool)
        stays[common] = ~taken[at]
        return items[stays], flat[stays].reshape(-1, *values.shape[1:])

    def _at_shared_points(self, points, values):
        """Return values (m, n), which of the points are shared, their places in `points`, and 1 and
        the values at all shared points.
        """
        flat = values.reshape(len(values), int(np.prod(values.shape[1:]))).copy()
        common = np.flatnonzero(np.isin(points, self.points))
        at = np.searchsorted(self.points, points[common])
        flagged = np.zeros((len(self.points), 1 + flat.shape[1]))
        flagged[at, 0], flagged[at, 1:] = 1, flat[common]
        return flat, common, at, flagged

    def exchange(self, field, fields, precision, exact=False, of_name=""):
        """Return arrays, and the messages, packing and unpacking of a `Phase` that complete a field
        of `fields` numbers a point in a step.

        `precision` is that of the field; `exact` where it is counted in whole units; `of_name`
        distinguishes the arrays of several exchanges of a field.
        """
        if not self.lists:
            return {}, {}
        name, counts = f"shared_{field}{of_name}", {rank: len(numbers) for rank, numbers in self.lists.items()}
        starts = np.concatenate([[0], np.cumsum(list(counts.values()))])
        first, source = self.rows(dict(zip(self.lists, starts)))
        total, sizes = int(starts[-1]), {rank: fields * count for rank, count in counts.items()}
        arrays, messages = buffers(name, sizes, sizes, precision)
        tables = {
            "packed": np.concatenate(list(self.lists.values())),
            "points": self.points,
            "first": first,
            "source": source,
        }
        arrays |= {
            f"{name}_{part}": Array("shared points", v.shape, np.int32, v.astype(np.int32))
            for part, v in tables.items()
        }
        packing, adding = (op.exact(()) if exact else op for op in (pack(fields), add(fields)))
        packs = Launch(packing, (f"{name}_out", field, f"{name}_packed"), (0, 1, 0, 1, 0, total), {"count": total})
        adds = Launch(
            adding,
            (field, f"{name}_in", *(f"{name}_{part}" for part in ("points", "first", "source"))),
            (0, 1, 0, 1, 0, len(self.points)),
            {"count": len(self.points)},
        )
        return arrays, {"messages": messages, "packing": (packs,), "unpacking": (adds,)}

    def rows(self, starts):
        """For each shared point, in the order of the ranks that have it: first rows (n + 1,),
        entries of the buffer that comes in; -1 is
        this rank's own. `starts`: entry at which each neighbour's run begins.
        """
        point = np.concatenate(list(self.places.values()))
        entry = np.concatenate(
            [
                np.full(len(at), -1) if rank == self.team.rank else starts[rank] + np.arange(len(at))
                for rank, at in self.places.items()
            ]
        )
        order = np.argsort(point, kind="stable")
        return np.searchsorted(point[order], np.arange(len(self.points) + 1)), entry[order]
