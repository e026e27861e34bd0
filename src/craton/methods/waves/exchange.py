"""What ranks send each other in a step: slabs of a grid (halos), which are copied, and points that several ranks have,
which are added; sums over such points while a plan is built.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from craton.core.operator import KERNELS, Operator, Struct
from craton.core.plan import Array, Launch, Message

HALO = Struct(
    "HaloParams",
    (("row", "i64", "row"), ("plane", "i64", "plane"), *((n, "i32") for n in ("k0", "j0", "i0", "nk", "nj", "ni"))),
)
SHARED = Struct("SharedParams", (("count", "i32"),))
TYPES = (*((name, "i32") for name in ("points", "first", "source")), ("f", "force"), ("buffer", "force"))
TOGETHER = 3  # fields


def point_list():
    """Return how machines run through lists of points: one list after another, because each may touch any point."""
    return {"pointwise": False, "grain": (1, 1, 4096), "block": (128, 1, 1)}


OF_LISTS = ("sharing.h", SHARED, {"types": TYPES} | point_list())


def pack(fields=TOGETHER):
    """Up to three fields of a slab into a buffer; see halo.h."""
    return _operator("pack", ("buffer",), ("f", "g", "h"), fields, 2 * fields)


def unpack(fields=TOGETHER):
    """Return a buffer into the ghosts of up to three fields; see halo.h."""
    return _operator("unpack", ("f", "g", "h"), ("buffer",), fields, 2 * fields)


def pack_shared(fields):
    """Own sums at the points of all neighbours, (0, 1, 0, 1, 0, entries), into their buffers; see sharing.h."""
    return _operator("pack_shared", ("buffer",), ("f", "points"), fields, 2 * fields + 1, *OF_LISTS)


def add_shared(fields):
    """Return sums of all ranks at shared points, (0, 1, 0, 1, 0, points); see sharing.h."""
    reads = ("buffer", "points", "first", "source")
    return _operator("add_shared", ("f",), reads, fields, 3 * fields + 4, *OF_LISTS)


def _operator(name, writes, reads, fields, reals, file="halo.h", params=HALO, machines=None):
    count = "" if fields == TOGETHER else f"_{fields}"
    options = {"kernel": name, "reals_per_point": reals, "defines": (("FIELDS", fields),)}
    return Operator(name + count, KERNELS / file, writes, reads, params, **options, **(machines or {}))


def buffers(name, out, into, precision):
    """Return the buffers of an exchange, ``NAME_out`` and ``NAME_in``, with a part ``NAME_out_RANK`` for each other
    rank, and the messages between these: dict of str to Array, tuple of Message.

    Parameters
    ----------
    out, into : dict of int to int
        Reals that go to other ranks, and that come from them, by rank.
    precision : str
    """
    arrays = {}
    for way, sizes in (("out", out), ("in", into)):
        ends = dict(zip(sizes, np.cumsum(list(sizes.values())).tolist()))
        arrays[f"{name}_{way}"] = Array("halos", (max(ends.values(), default=0),), precision)
        for rank, size in sizes.items():
            part = {"part_of": f"{name}_{way}", "start": ends[rank] - size}
            arrays[f"{name}_{way}_{rank}"] = Array("halos", (size,), precision, **part)
    return arrays, tuple(Message(rank, f"{name}_out_{rank}", f"{name}_in_{rank}") for rank in out)


# --- halos of a grid ------------------------------------------------------------------------------


def exchange(plan, subdomain, phase):
    """Return the buffers of a rank, and its phase with the messages to its neighbours and the
    launches that pack and unpack them.

    What goes to one rank is one message, also where it lies behind two faces: slabs in the order of
    the sender's faces.
    """
    name, arrays, launches, sizes = f"halo_{phase.name}", {}, {"out": [], "in": []}, {"out": {}, "in": {}}
    for way in launches:
        start = 0
        for rank, fields, box in slabs(subdomain, phase, way):
            part = f"{name}_{way}_slab{len(launches[way])}"
            launches[way].append(copy_of_slab(plan.layout, fields, box, part, way))
            size = len(fields) * launches[way][-1].points
            arrays[part] = Array("halos", (size,), plan.precision, part_of=f"{name}_{way}", start=start)
            sizes[way][rank] = sizes[way].get(rank, 0) + size
            start += size
    if not start:
        return {}, phase
    whole, messages = buffers(name, sizes["out"], sizes["in"], plan.precision)
    packing, unpacking = map(tuple, launches.values())
    return whole | arrays, replace(phase, messages=messages, packing=packing, unpacking=unpacking)


def slabs(subdomain, phase, way):
    """Yield (rank, fields, box) of the points that go to neighbours, ``"out"``, or of the ghosts that come from
    them, ``"in"``: up to three fields each, rank by rank.
    """
    sides = sorted(subdomain.faces.items(), key=lambda item: (item[1], item[0][0], item[0][1] ^ (way == "in")))
    for (axis, side), rank in sides:
        halos, n = [halo for halo in phase.halos if halo.axis == axis], "zyx".index(axis)
        for together in (halos[first : first + TOGETHER] for first in range(0, len(halos), TOGETHER)):
            low, high, end = max(h.low for h in together), max(h.high for h in together), subdomain.shape[n]
            box = [v for count in subdomain.shape for v in (0, count)]
            if way == "out":
                box[2 * n : 2 * n + 2] = (end - low, end) if side else (0, high)
            else:
                box[2 * n : 2 * n + 2] = (end, end + high) if side else (-low, 0)
            yield rank, [halo.field for halo in together], tuple(box)


def copy_of_slab(layout, fields, box, buffer, way):
    """Return the launch that packs up to three fields of a slab into a buffer, or unpacks them."""
    padded = (*fields, *[""] * (TOGETHER - len(fields)))
    op, names = (pack, (buffer, *padded)) if way == "out" else (unpack, (*padded, buffer))
    k0, k1, j0, j1, i0, i1 = box
    scalars = {"row": layout.row, "plane": layout.plane, "k0": k0, "j0": j0, "i0": i0}
    return Launch(op(len(fields)), names, box, scalars | {"nk": k1 - k0, "nj": j1 - j0, "ni": i1 - i0})


# --- points that several ranks have ---------------------------------------------------------------


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
    lists: dict = field(default_factory=dict)

    @cached_property
    def points(self):
        """Own numbers of all shared points, each once, rising."""
        return np.unique(np.concatenate([np.empty(0, int), *self.lists.values()]))

    @cached_property
    def places(self):
        """For each rank that has some of them, this one included, rising: where these are in `points`."""
        places = {rank: np.searchsorted(self.points, numbers) for rank, numbers in self.lists.items()}
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
        out = {rank: np.ascontiguousarray(values[self.places[rank]], float) for rank in self.lists}
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
        out = {rank: np.ascontiguousarray(flagged[self.places[rank], 0]) for rank in self.lists}
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
        packing, adding = (op.exact(()) if exact else op for op in (pack_shared(fields), add_shared(fields)))
        packs = Launch(packing, (f"{name}_out", field, f"{name}_packed"), (0, 1, 0, 1, 0, total), {"count": total})
        names = (field, f"{name}_in", *(f"{name}_{part}" for part in ("points", "first", "source")))
        adds = Launch(adding, names, (0, 1, 0, 1, 0, len(self.points)), {"count": len(self.points)})
        return arrays, {"messages": messages, "packing": (packs,), "unpacking": (adds,)}

    def rows(self, starts):
        """For each shared point, in the order of the ranks that have it: first rows (n + 1,),
        entries of the buffer that comes in; -1 is
        this rank's own. `starts`: entry at which each neighbour's run begins.
        """
        point = np.concatenate(list(self.places.values()))
        entries = {rank: begin + np.arange(len(self.places[rank])) for rank, begin in starts.items()}
        entries[self.team.rank] = np.full(len(self.points), -1)
        entry = np.concatenate([entries[rank] for rank in self.places])
        order = np.argsort(point, kind="stable")
        return np.searchsorted(point[order], np.arange(len(self.points) + 1)), entry[order]
