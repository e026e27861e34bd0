"""State of a mesh that other ranks have computed, cut anew: values at points and in elements, by
the numbers of the elements in the whole mesh.
"""

from functools import cached_property

import numpy as np

from craton.core.peaks import map_of, put_together
from craton.core.plan import LANES
from craton.errors import CratonError

OTHER_ELEMENTS = "the ranks that wrote the checkpoint had other elements: go on with as many ranks as before"


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


class Numbered:
    """Elements and points of a rank, of one medium.

    Parameters
    ----------
    families : list of str
    table : callable
        Gives an array of `identity_tables`.
    """

    def __init__(self, families, table):
        self.families, self.table = families, table

    @cached_property
    def numbers(self):
        """Numbers of the elements in the whole mesh, family after family; -1 for padding."""
        parts = [np.asarray(self.table(f"{family}_numbers")) for family in self.families]
        return np.concatenate([*parts, np.empty(0, np.int64)])

    @cached_property
    def centres(self):
        """Centres of the elements, m, (elements, 3)."""
        return np.concatenate([np.asarray(self.table(f"{f}_centres")) for f in self.families])

    @cached_property
    def points(self):
        """Local points of the elements, (elements, nodes)."""
        parts = [np.asarray(self.table(f"{family}_points")) for family in self.families]
        return np.concatenate([part.reshape(len(part), -1) for part in parts])


def common_rows(numbers, others):
    """Return the rows of elements that are in both lists of numbers: two int arrays.

    Parameters
    ----------
    numbers, others : int array
        -1 for padding.
    """
    common, rows, other_rows = np.intersect1d(numbers, others, return_indices=True)
    return rows[common >= 0], other_rows[common >= 0]


def check_places(centres, others):
    """Refuse elements that have the same numbers and lie elsewhere.

    Parameters
    ----------
    centres, others : (n, 3) array
        m.

    Raises
    ------
    CratonError
    """
    size = np.abs(centres).max(initial=1.0)
    if len(centres) and np.abs(centres - others).max() > 1e-5 * size:
        raise CratonError(OTHER_ELEMENTS)


class ElementRecut:
    """Arrays of a rank, put together from those of the ranks of another partition.

    Parameters
    ----------
    plan : Plan
        Of the rank that takes the values.
    places : list of dict
        `field_places` of each of the others.
    families : list of list of str
        Families of each of the others.
    read : callable
        ``read(rank, name)`` gives an array of one of the others, also of `identity_tables`.
    """

    def __init__(self, plan, places, families, read):
        self.plan, self.places, self.families, self.read = plan, places, families, read
        self.media: dict = {}
        for family, fields in plan.elements.fields.items():
            self.media.setdefault(fields, []).append(family)
        self.pairs: dict = {}

    def __call__(self, name):
        """Return the values of an array, host array of the shape in the plan.

        Parameters
        ----------
        name : str
        """
        spec = self.plan.arrays[name]
        if name in self.plan.elements.tables:
            return self.point_table(name, spec)
        if spec.lanes:
            return self.elements(name, spec)
        series = map_of(self.plan.peaks, name)
        if series:
            return self.columns(name, spec, series)
        parts = [field for fields in self.media for field in fields]
        if any(self.plan.arrays[field].part_of == name for field in parts):
            return self.block(name, spec)
        return np.array(self.read(0, name))  # the same on every rank

    def columns(self, name, spec, series):
        """Return an array of a map of peaks, whose columns are sites.

        Parameters
        ----------
        name : str
        spec : Array
        series : PeakSeries
        """
        values = np.zeros(spec.shape, spec.dtype)
        sites = [self.read(rank, series.array("where")) for rank in range(len(self.places))]
        shares = ((where, self.read(n, name)) for n, where in enumerate(sites) if len(where))
        put_together(values, series.where, shares)
        return values

    def of_rank(self, rank, fields):
        """Return the Numbered elements of another rank, of the medium of some fields, or None.

        Parameters
        ----------
        rank : int
        fields : tuple of str
        """
        prefix = {family.split("_")[0] for family in self.media[fields]}
        families = [f for f in self.families[rank] if f.split("_")[0] in prefix]
        return Numbered(families, lambda name: self.read(rank, name)) if families else None

    def common(self, rank, fields):
        """Return local points here and there, (elements, nodes) each, of the elements that another
        rank has had; None where there are none.

        Parameters
        ----------
        rank : int
        fields : tuple of str
        """
        if (rank, fields) not in self.pairs:
            other, pair = self.of_rank(rank, fields), None
            tables = identity_tables(self.plan)
            here = Numbered(self.media[fields], tables.__getitem__)
            if other is not None:
                rows, other_rows = common_rows(here.numbers, other.numbers)
                check_places(here.centres[rows], other.centres[other_rows])
                pair = (here.points[rows], other.points[other_rows]) if len(rows) else None
            self.pairs[rank, fields] = pair
        return self.pairs[rank, fields]

    def block(self, name, spec):
        """Return a block of fields.

        Parameters
        ----------
        name : str
        spec : Array
        """
        values = np.zeros(spec.shape, spec.dtype)
        for fields in self.media:
            for field in fields:
                part = self.plan.arrays[field]
                if part.part_of == name:
                    target = view(values, [part.start, *part.shape])
                    self.carry(fields, target, lambda rank, field=field: self.field(rank, name, field))
        return values

    def field(self, rank, block, field):
        """Return a field of another rank, (points, components).

        Parameters
        ----------
        rank : int
        block, field : str
        """
        return view(self.read(rank, block), self.places[rank][field])

    def carry(self, fields, target, source):
        """Copy values at points, (points, components), from all other ranks.

        Parameters
        ----------
        fields : tuple of str
            Of the medium.
        target : ndarray
        source : callable
            Gives the values at all points of another rank.

        Raises
        ------
        CratonError
            No other rank has had a point.
        """
        filled = np.zeros(len(target), bool)
        for rank in range(len(self.places)):
            pair = self.common(rank, fields)
            if pair is not None:
                target[pair[0]] = source(rank)[pair[1]]
                filled[pair[0]] = True
        if not filled[:-1].all():  # the last one is the dummy of padding elements
            raise CratonError(OTHER_ELEMENTS)

    def elements(self, name, spec):
        """Return an array of elements.

        Parameters
        ----------
        name : str
        spec : Array
        """
        family = max((f for f in self.plan.elements.numbers if name.startswith(f + "_")), key=len)
        suffix, fields = name.removeprefix(family), self.plan.elements.fields[family]
        numbers, values = self.plan.elements.numbers[family], np.zeros(spec.shape, spec.dtype)
        filled = numbers < 0
        for rank in range(len(self.places)):
            other = self.of_rank(rank, fields)
            for other_family in other.families if other else ():
                table = Numbered([other_family], other.table)
                rows, other_rows = common_rows(numbers, table.numbers)
                if len(rows):
                    there = one_after_another(self.read(rank, other_family + suffix), len(table.numbers))
                    values[rows] = there[other_rows]
                    filled[rows] = True
        if not filled.all():
            raise CratonError(OTHER_ELEMENTS)
        return values

    def point_table(self, name, spec):
        """Return an array (components, points) of some points of a field.

        Parameters
        ----------
        name : str
        spec : Array
        """
        table, field = self.plan.elements.tables[name]
        fields = next(fields for fields in self.media if field in fields)
        target = np.zeros((self.plan.arrays[field].shape[0], spec.shape[0]), spec.dtype)

        def source(rank):
            values = np.zeros((self.places[rank][field][1], spec.shape[0]), spec.dtype)
            if self.has(rank, table):
                values[np.asarray(self.read(rank, table))] = np.asarray(self.read(rank, name)).T
            return values

        self.carry(fields, target, source)
        return np.ascontiguousarray(target[self.plan.arrays[table].data].T)

    def has(self, rank, table):
        """Return True where another rank has a table.

        Parameters
        ----------
        rank : int
        table : str
        """
        try:
            self.read(rank, table)
        except CratonError:
            return False
        return True


def view(block, place):
    """Return a field of a block as (points, components).

    Parameters
    ----------
    block : ndarray
    place : list of int
        First element, points, components.
    """
    start, points, *components = place
    count = components[0] if components else 1
    return block[start : start + points * count].reshape(points, count)


def one_after_another(array, count):
    """Return elements one after another, which a machine may have kept side by side.

    Parameters
    ----------
    array : ndarray
    count : int
        Number of elements.
    """
    if len(array) == count:
        return array
    if array.shape[-1] != LANES or len(array) * LANES != count:
        raise CratonError(f"an array of {count} elements has shape {array.shape}")
    return np.moveaxis(np.asarray(array), -1, 1).reshape(count, *array.shape[1:-1])
