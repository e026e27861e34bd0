"""State of a grid that other ranks have computed, cut anew: the arrays of a rank, point by point
from those of the ranks of another partition.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from craton.core.gathering import owner_of
from craton.core.layout import Layout
from craton.core.localise import localise_plan
from craton.core.peaks import map_of, put_together
from craton.core.subdomain import Subdomain
from craton.errors import CratonError


@dataclass(frozen=True, eq=False)
class Span:
    """Part of an array along one of its dimensions, in indices of the whole grid.

    Parameters
    ----------
    offset : int
        Index of the grid at the first element of the array.
    low, high : int
        First and last + 1 index of the grid.
    """

    offset: int
    low: int
    high: int

    def common(self, other, shift):
        """Return the slices of both arrays that hold the same indices, those of `other` moved by
        `shift`; None where they have none.

        Parameters
        ----------
        other : Span
        shift : int
        """
        low, high = max(self.low, other.low + shift), min(self.high, other.high + shift)
        if low >= high:
            return None
        return (
            slice(low - self.offset, high - self.offset),
            slice(low - shift - other.offset, high - shift - other.offset),
        )


def recut(whole, partition, plan, read):
    """Return a function of a name that gives the values of an array of a rank, host array of the
    shape in its plan.

    Parameters
    ----------
    whole : Plan
        Plan of the whole grid.
    partition : sequence of Subdomain
        Of the ranks whose arrays are read; one that owns the whole grid has no neighbours.
    plan : Plan
        Of the rank that takes the values.
    read : callable
        ``read(rank, name)`` gives an array of one of the others.
    """
    sources = [
        (subdomain, (localise_plan(whole, subdomain) if len(partition) > 1 else whole).arrays)
        for subdomain in partition
    ]
    periodic = whole.weights.periodic

    def values_of(name):
        spec = plan.arrays[name]
        values, count = np.zeros(spec.shape, spec.dtype), 0
        series = map_of(plan.peaks, name)
        if series:
            all_sites = map_of(whole.peaks, name)
            owner = owner_of(partition, all_sites.points)
            shares = ((all_sites.where[owner == n], n) for n in range(len(partition)))
            shares = ((sites, read(n, name)) for sites, n in shares if len(sites))
            put_together(values, series.where, shares)
            return values
        for rank, (subdomain, arrays) in enumerate(sources):
            source = arrays.get(name)
            if source is None or 0 in source.shape:
                continue
            if spec.over is None:
                return np.array(read(rank, name))  # the same on every rank
            array = read(rank, name)
            if array.shape != tuple(source.shape):
                raise CratonError(f"{name} of rank {rank} has shape {array.shape}")
            copy = copy_block if isinstance(spec.over, Layout) else copy_along_axes
            count += copy(values, spec, plan.subdomain, array, source, subdomain, whole, periodic)
        if isinstance(spec.over, tuple) and count != values.size:
            raise CratonError(f"{count:,} of {values.size:,} values of {name} are there")
        return values

    return values_of


def copy_along_axes(values, spec, subdomain, array, source, other, whole, periodic):
    """Copy what two arrays along axes of the grid have in common; return the number of values.

    Parameters
    ----------
    values : ndarray
        Array of the rank that takes them, written in place.
    spec, subdomain : Array, Subdomain
        Of it.
    array, source, other : ndarray, Array, Subdomain
        The array that is read, and what it is.
    whole : Plan
        Plan of the whole grid.
    periodic : str
        Axes whose ends are neighbours.
    """
    here, there = ([along_axis(a, n, s) for n in range(len(a.shape))] for a, s in ((spec, subdomain), (source, other)))
    pairs = [a.common(b, 0) for a, b in zip(here, there)]
    if any(pair is None for pair in pairs):
        return 0
    target, chosen = (tuple(pair[n] for pair in pairs) for n in (0, 1))
    values[target] = array[chosen]
    return values[target].size


def along_axis(spec, n, subdomain):
    """Return the Span of a dimension of an array along axes of the grid.

    Parameters
    ----------
    spec : Array
    n : int
        Dimension.
    subdomain : Subdomain
    """
    length, over = spec.shape[n], spec.over[n]
    offset = 0 if over is None else over[1] + subdomain.range(over[0])[0]
    return Span(offset, offset, offset + length)


def copy_block(values, spec, subdomain, array, source, other, whole, periodic):
    """Copy the points of a block of fields, ghosts included, of which the other rank is the owner;
    return the number of values.

    Parameters
    ----------
    values, spec, subdomain, array, source, other, whole, periodic
        See `copy_along_axes`.
    """
    old, new, count = source.over, spec.over, 0
    here = padded_spans(new, subdomain)
    there = [
        owned_span(span, other, axis, whole, axis in periodic) for span, axis in zip(padded_spans(old, other), "zyx")
    ]
    length = dict(zip("zyx", whole.layout.shape))
    shifts = [(-length[a], 0, length[a]) if a in periodic else (0,) for a in "zyx"]
    for shift in product(*shifts):
        pairs = [a.common(b, s) for a, b, s in zip(here, there, shift)]
        if any(pair is None for pair in pairs):
            continue
        target, chosen = (tuple(pair[n] for pair in pairs) for n in (0, 1))
        for number in range((spec.shape[0] - new.lead) // new.field):
            part = field(values, new, number)[target]
            part[...] = field(array, old, number)[chosen]
            count += part.size
    return count


def field(block, layout, number):
    """Return a field of a block as the padded array that it is: a view.

    Parameters
    ----------
    block : ndarray
    layout : Layout
    number : int
        Of the field, from 0.
    """
    start, size = layout.start(number), int(np.prod(layout.padded))
    return block[start : start + size].reshape(layout.padded)


def padded_spans(layout, subdomain):
    """Return the Span of each dimension of a padded array.

    Parameters
    ----------
    layout : Layout
    subdomain : Subdomain
    """
    lows = [
        low if n == subdomain.shape[axis] else 0 for axis, (low, n) in enumerate(zip(subdomain.box[::2], layout.shape))
    ]
    return [
        Span(low - origin, low - origin, low - origin + length)
        for low, origin, length in zip(lows, layout.origin, layout.padded)
    ]


def owned_span(span, subdomain, axis, whole, is_periodic):
    """Return the part of a Span that a rank owns: its points, and ghosts behind an edge of the grid
    that has no other side.

    Parameters
    ----------
    span : Span
    subdomain : Subdomain
    axis : str
    whole : Plan
        Plan of the whole grid.
    is_periodic : bool
        The ends of the axis are neighbours.
    """
    low, high = subdomain.range(axis)
    n = whole.layout.shape["zyx".index(axis)]
    if span.high - span.low < high - low:  # a plane of several shots: one row of media for all
        return span
    first = span.low if low == 0 and not is_periodic else max(low, span.low)
    last = span.high if high == n and not is_periodic else min(high, span.high)
    return Span(span.offset, first, last)


def whole_partition(plan):
    """Return the partition of a run on one rank.

    Parameters
    ----------
    plan : Plan
        Plan of the whole grid.
    """
    return (Subdomain.whole(plan.layout.shape),)
