"""State that other ranks have computed, cut anew: each value is found by the numbers of its rows in the whole
grid or mesh.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.core.gathering import owner_of
from craton.core.grid import Layout
from craton.core.localise import localise_plan
from craton.core.peaks import map_of
from craton.core.subdomain import Subdomain
from craton.errors import CratonError

OTHER_ELEMENTS = "the ranks that wrote the checkpoint had other elements: go on with as many ranks as before"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of an array along one dimension, by their numbers in the whole.

    Parameters
    ----------
    numbers : (m,) int array
        Of points of a grid along an axis, elements of a mesh, or sites of a map.
    rows : (m, ...) int array
        The row of each number, or those of the points of an element; -1 for none.
    owned, needed : (m,) bool array, or ... for all
        Rows whose values other ranks take from here, and those that must be there.
    centres : (m, 3) array or None
        Of elements, m.
    """

    numbers: np.ndarray
    rows: np.ndarray
    owned: Any = ...
    needed: Any = ...
    centres: np.ndarray | None = None

    def common(self, other):
        """Return the rows here, and those that the other rank owns, of the same numbers.

        Raises
        ------
        CratonError
            Elements of the same numbers lie elsewhere.
        """
        numbers, rows = other.numbers[other.owned], other.rows[other.owned]
        in_both, order = np.isin(self.numbers, numbers), np.argsort(numbers, kind="stable")
        place = order[np.searchsorted(numbers, self.numbers[in_both], sorter=order)]
        if self.centres is not None and len(place):
            centres = self.centres[in_both]
            if np.abs(centres - other.centres[other.owned][place]).max() > 1e-5 * max(1.0, np.abs(self.centres).max()):
                raise CratonError(OTHER_ELEMENTS)
        here, there = self.rows[in_both].ravel(), rows[place].ravel()
        both = (here >= 0) & (there >= 0)
        return here[both], there[both]


def every(numbers):
    """Return Rows, one for each number, in their order."""
    return Rows(np.asarray(numbers), np.arange(len(numbers)))


def recut(here, others):
    """Return a function of a name that gives the values of an array of a rank, put together from those of other
    ranks: host array of the shape in its plan.

    Parameters
    ----------
    here : GridRank or MeshRank
        The rank that takes the values.
    others : list of GridRank or MeshRank
    """

    def values_of(name):
        spec = here.plan.arrays[name]
        values = np.zeros(spec.shape, spec.dtype)
        parts = {key: part for key, *part in here.parts(name, {name: values})}
        if not parts:
            return np.array(others[0].arrays[name])  # the same on every rank
        filled = {key: np.zeros(view.shape[: len(rows)], bool) for key, (view, rows) in parts.items()}
        for key, source, other_rows in (part for other in others for part in other.parts(name, other.arrays)):
            view, rows = parts[key]
            target, chosen = (np.ix_(*side) for side in zip(*map(Rows.common, rows, other_rows)))
            if all(axis.size for axis in target):
                view[target], filled[key][target] = source[chosen], True
        for key, (_, rows) in parts.items():
            needed = (row.rows[row.needed].ravel() for row in rows)
            if not filled[key][np.ix_(*(row[row >= 0] for row in needed))].all():
                raise CratonError(OTHER_ELEMENTS)
        return values

    return values_of


@dataclass(frozen=True, eq=False)
class GridRank:
    """A rank of a grid.

    Parameters
    ----------
    whole : Plan
        Plan of the whole grid.
    subdomain : Subdomain
    plan : Plan
        Of the rank, of which arrays and maps of peaks count.
    arrays : mapping of str to ndarray, optional
        Its arrays, where others take values from them.
    """

    whole: Any
    subdomain: Subdomain
    plan: Any
    arrays: Any = None

    @classmethod
    def of(cls, whole, partition, rank, arrays):
        """Return one of the ranks of a partition; one that owns the whole grid has no neighbours."""
        plan = localise_plan(whole, partition[rank]) if len(partition) > 1 else whole
        peaks = (replace(s, where=s.where[owner_of(partition, s.points) == rank]) for s in whole.peaks)
        return cls(whole, partition[rank], replace(plan, peaks=tuple(peaks)), arrays)

    def parts(self, name, arrays):
        """Return the parts of an array whose rows have numbers: list of key, view, Rows of the dimensions."""
        spec, series = self.plan.arrays.get(name), map_of(self.plan.peaks, name)
        if series:
            return peak_parts(series.where, name, arrays)
        if spec is None or spec.over is None or 0 in spec.shape:
            return []
        if arrays[name].shape != tuple(spec.shape):
            raise CratonError(f"{name} of rank {self.subdomain.rank} has shape {arrays[name].shape}")
        if not isinstance(spec.over, Layout):
            firsts = [over or (None, 0) for over in spec.over]
            return [("", arrays[name], [self.rows(n, *first) for n, first in zip(spec.shape, firsts)])]
        of, size = spec.over, int(np.prod(spec.over.padded))
        axes = [axis if n == count else None for axis, n, count in zip("zyx", of.shape, self.subdomain.shape)]
        rows = [self.rows(n, axis, -origin) for n, axis, origin in zip(of.padded, axes, of.origin)]
        starts = range(of.start(0), spec.shape[0], of.field)
        return [(start // of.field, arrays[name][start : start + size].reshape(of.padded), rows) for start in starts]

    def rows(self, count, axis, first):
        """Return the Rows of a dimension along an axis, None for none, of which the first has a number in this
        rank; ghosts behind an edge of the grid belong to the rank at that edge.
        """
        numbers, rows = np.arange(first, first + count), np.arange(count)
        if axis is None:
            return Rows(numbers, rows)
        (low, high), total = self.subdomain.range(axis), self.whole.layout.shape["zyx".index(axis)]
        numbers, is_periodic = numbers + low, axis in self.whole.weights.periodic
        needed = (low <= numbers) & (numbers < high)
        if is_periodic:
            return Rows(numbers % total, rows, needed, needed)
        return Rows(numbers, rows, needed | (numbers < 0) & (low == 0) | (numbers >= total) & (high == total), needed)


@dataclass(frozen=True, eq=False)
class MeshRank:
    """A rank of a mesh.

    Parameters
    ----------
    plan : Plan
        Of the rank that takes the values: names of arrays and fields are the same on all ranks.
    families : list of str
        Families of its elements.
    fields : dict
        `field_places` of its plan.
    arrays : mapping of str to ndarray
        Its arrays, among them its `identity_tables`.
    """

    plan: Any
    families: list
    fields: dict
    arrays: Any

    @classmethod
    def of(cls, plan):
        """Return the rank of a plan."""
        return cls(plan, list(plan.elements.numbers), field_places(plan), identity_tables(plan))

    def parts(self, name, arrays):
        """Return the parts of an array whose rows have numbers: list of key, view, Rows of the dimensions."""
        plan, spec, series = self.plan, self.plan.arrays[name], map_of(self.plan.peaks, name)
        if series:
            return peak_parts(self.arrays[series.array("where")], name, arrays)
        if name in plan.elements.tables:
            table, field = plan.elements.tables[name]
            if name not in arrays:
                return []
            return [("", arrays[name].T, [self.points(field, self.arrays[table])])]
        if spec.lanes:
            family = max((f for f in plan.elements.numbers if name.startswith(f + "_")), key=len)
            out = []
            for of in self.of_medium(plan.elements.fields[family][0]):
                if (same := of + name.removeprefix(family)) in arrays:
                    values, rows = arrays[same], self.elements([of])
                    if len(values) < len(rows.rows):  # the machine kept elements side by side
                        values = np.moveaxis(values, -1, 1).reshape(-1, *values.shape[1:-1])
                    out.append(("", values, [rows]))
            return out
        out = []
        for field, (start, *shape) in self.fields.items():
            if field in plan.arrays and plan.arrays[field].part_of == name:
                values = arrays[name][start : start + np.prod(shape)].reshape(shape[0], -1)
                out.append((field, values, [self.points(field)]))
        return out

    def of_medium(self, field):
        """Return the families of the medium that a field is of."""
        media = {f.split("_")[0] for f, fields in self.plan.elements.fields.items() if field in fields}
        return [family for family in self.families if family.split("_")[0] in media]

    def elements(self, families, rows=None):
        """Return the Rows of elements, or those of their points: (elements, points)."""
        numbers, centres = (
            np.concatenate([self.arrays[f"{f}_{part}"] for f in families]) for part in ("numbers", "centres")
        )
        rows = np.arange(len(numbers)) if rows is None else rows
        return Rows(numbers, rows, numbers >= 0, numbers >= 0, centres)

    def points(self, field, table=None):
        """Return the Rows of the points of a field, or of those of a table of points, by element."""
        families = self.of_medium(field)
        points = np.concatenate([np.reshape(p, (len(p), -1)) for p in (self.arrays[f"{f}_points"] for f in families)])
        if table is not None:
            place = np.full(self.fields[field][1], -1)
            place[table] = np.arange(len(table))
            points = place[points]
        return self.elements(families, points)


def identity_tables(plan):
    """Return the arrays by which elements and points of a rank are found again: dict by name.

    Parameters
    ----------
    plan : Plan
        Of elements.
    """
    elements = plan.elements
    tables = {f"{family}_numbers": numbers for family, numbers in elements.numbers.items()}
    tables |= {f"{family}_centres": centres for family, centres in elements.centres.items()}
    names = [f"{family}_points" for family in elements.numbers]
    names += [table for table, _ in elements.tables.values()]
    tables |= {series.array("where"): series.where for series in plan.peaks}
    return tables | {name: plan.arrays[name].data for name in names}


def field_places(plan):
    """Return where the fields of a rank lie: name to [first element in the block, *shape].

    Parameters
    ----------
    plan : Plan
        Of elements.
    """
    names = {name for fields in plan.elements.fields.values() for name in fields}
    return {name: [plan.arrays[name].start, *plan.arrays[name].shape] for name in sorted(names)}


def peak_parts(where, name, arrays):
    """Return the part of an array of a map of peaks, whose columns are sites."""
    return [("", arrays[name], [every(range(len(arrays[name]))), every(where)])] if len(where) else []
