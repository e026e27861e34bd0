"""Receivers as a point table on the staggered grid: (index, weight) rows of each channel, many
channels at a time where no topography is near.

A channel is a sum of terms: a field, or its derivative along an axis, times a factor. The vertical
velocity on a free surface, where it has no points, has terms of its own (`points.velocity_at`).
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from craton.core.deferred import Deferred
from craton.errors import ResourceError
from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.finite_difference.points import COMPONENT_AXES, nodes, place, velocity_at
from craton.methods.waves.interpolate import NODES, AxisWeights
from craton.methods.waves.tables import stacked_rows
from craton.survey.channels import columns

SHORT = 64  # rows of a channel up to which those of many are copied together
ROWS = 1 << 20  # rows that are made at a time
LATER = 1 << 22  # rows above which they are made when a run begins
MOST_ROWS = 2**31 - 1
TILE = 64  # points of the grid to a side of the tiles in which the medium at the surface is asked


class Term(NamedTuple):
    """One addend of channels: a field, the axis of a derivative or None, a factor or None (1)."""

    field: str
    derivative: int | None = None
    factor: Any = None


def channel_rows(d, channel, xyz):
    """(index, weight) rows whose sum is the channel's value."""
    if channel.terms:  # of a fibre
        for at, axis, factor in channel.terms:
            if VELOCITY[axis] in d.fields:
                yield from ((index, factor * weights) for _, index, _, weights in velocity_at(d, axis, place(d, at)))
        return
    position = place(d, xyz, channel.shot)
    if channel.quantity == "velocity":
        yield from (
            (index, weights) for _, index, _, weights in velocity_at(d, "ENZ".index(channel.component), position)
        )
        return
    if channel.quantity == "pressure":
        yield from pressure_rows(d, position)
        return
    for field, derivative, factor in gradient_terms(d, channel.quantity, channel.component):
        index, _, weights = nodes(d, field, position, derivative)
        yield index, factor * weights


def gradient_terms(d, quantity, component):
    """Terms of a strain rate, or of a rotation rate, half the curl."""
    h = d.grid.steps.tolist()
    if quantity == "strain_rate":
        a, b = COMPONENT_AXES[component]
        terms = [Term(VELOCITY[a], b, 0.5 / h[b]), Term(VELOCITY[b], a, 0.5 / h[a])]
    else:
        a = "ENZ".index(component)
        b, c = (a + 1) % 3, (a + 2) % 3
        terms = [Term(VELOCITY[c], b, 0.5 / h[b]), Term(VELOCITY[b], c, -0.5 / h[c])]
    return [t for t in terms if t.field in d.fields and not (d.planar and t.derivative == 1)]


def pressure_rows(d, position):
    """Minus a third of the trace of stress; in the plane, syy is the share of sxx + szz that keeps
    eyy zero.
    """
    for field in d.normal:
        index, at, weights = nodes(d, field, position, fluid_first=True)
        yield index, -weights * material.trace_share(d, at, field)


def rows_of(d, channels, receivers, later=False):
    """Return the rows of all channels, one channel behind the other: first rows (channels + 1,),
    indices, weights; the latter two, where they are many, made `later`.
    """
    table = columns(channels)
    positions = positions_of(d, table, receivers)
    groups, single = {}, {}
    for name, numbers in table.by_component.items():
        alone = np.ones(len(numbers), bool)
        if name is not None and not needs_medium(d, name[0]):
            alone = close_to_others(d, positions[numbers])
            groups[name] = numbers[~alone]
        for n in numbers[alone].tolist():
            xyz = None if name is None else receivers.xyz[table.receiver[n]]
            single[n] = stacked_rows([tuple(map(np.concatenate, zip(*channel_rows(d, channels[n], xyz))))])[1:]
    if len(single) == len(channels):
        return stacked_rows([single[n] for n in range(len(channels))])
    spreads = [
        of_term
        for (quantity, component), numbers in groups.items()
        if len(numbers)
        for of_term in group_terms(d, quantity, component, positions, numbers)
    ]
    return laid_out(d, len(channels), single, spreads, later)


def close_to_others(d, positions):
    """Return which positions, (n, 3) in units of the spacing, have cells that are not full, or both
    fluid and solid ones at a floor that is not level, among those that interpolation reaches: (n,)
    booleans.
    """
    close = np.zeros(len(positions), bool)
    if d.ground is not None:
        close = np.floor(positions[:, 2]) + NODES > d.full_planes
    rest = np.flatnonzero(~close)
    close[rest] = sides.close_to_contact(d, positions[rest])
    return close


def needs_medium(d, quantity):
    """Return True where the terms of a quantity depend on the medium at the receiver."""
    return quantity == "pressure" and d.planar and not d.acoustic


def positions_of(d, table, receivers):
    """Positions (channels, 3) in units of the spacing; each receiver and shot is rounded once."""
    rounded = np.array(
        [
            rounded_as_python((column - origin) / step)
            for column, origin, step in zip(np.asarray(receivers.xyz, float).T, d.grid.origin, d.grid.steps)
        ]
    )
    out = np.full((len(table.receiver), 3), np.nan)
    at_receiver = table.receiver >= 0
    out[at_receiver] = rounded.T[table.receiver[at_receiver]]
    if d.planar:
        out[at_receiver, 1] = table.shot[at_receiver]
    return out


def rounded_as_python(values):
    """Return values, (n,), to six decimals with the bits of Python's `round`, as `points.place` has
    them: the quotient of two whole numbers is rounded once, so only values half way between two
    decimals differ, and those too large for whole numbers.
    """
    scaled = values * 1e6
    whole = np.rint(scaled)
    out = whole / 1e6
    doubtful = ~((np.abs(np.abs(scaled - whole) - 0.5) > 1e-3) & (np.abs(scaled) < 1e10))
    out[doubtful] = [round(value, 6) for value in values[doubtful].tolist()]
    return out


class Spread(NamedTuple):
    """One term of several channels, on the points along each axis.

    Parameters
    ----------
    channels : int array, shape (n,)
    start : int
        Of the field in the state.
    axes : list of AxisWeights, or with the same attributes
        Along x, y and z: first point (n,), number of points (n,), weights (n, most).
    factor : ndarray, shape (n,), float or None
    scale : float or None
        Comes before the factor, as in `points.surface_strain`.
    """

    channels: np.ndarray
    start: int
    axes: list
    factor: Any = None
    scale: float | None = None

    @property
    def lengths(self):
        """Number of rows of each channel."""
        return np.prod([axis.count for axis in self.axes], axis=0)

    def blocks(self, layout):
        """Yield (channels, index, weight) of channels that have equally many points along each
        axis: index and weight (channels, rows).
        """
        counts = np.stack([axis.count for axis in self.axes])
        together = np.ravel_multi_index(tuple(counts), tuple(counts.max(axis=1, initial=0) + 1))
        for name in np.flatnonzero(np.bincount(together)):
            alike = np.flatnonzero(together == name)
            along = counts[:, alike[0]]
            for part in np.array_split(alike, -(-len(alike) * int(along.prod()) // ROWS)):
                yield self.channels[part], *self.outer(layout, part, along)

    def outer(self, layout, part, along):
        """Index and weight (part, rows) of some channels from their points along each axis."""
        (i, wx), (j, wy), (k, wz) = (
            (axis.first[part, None] + np.arange(n), axis.weights[part, :n]) for axis, n in zip(self.axes, along)
        )
        index = layout.offset(k[:, :, None, None], j[:, None, :, None], i[:, None, None, :])
        weights = wz[:, :, None, None] * wy[:, None, :, None] * wx[:, None, None, :]
        index = (self.start + index).reshape(len(part), -1)
        weights = weights.reshape(len(part), -1)
        if self.scale is not None:
            weights = self.scale * weights
        if self.factor is None:
            return index, weights
        factor = self.factor if np.ndim(self.factor) == 0 else self.factor[part, None]
        return index, factor * weights


def laid_out(d, count, single, spreads, later=False):
    """Return the rows of all channels, in the precision of the run: as `stacked_rows`.

    Parameters
    ----------
    d : Discretisation
    count : int
        Channels.
    single : dict of int to (index, weight)
        Channels by their number.
    spreads : list of Spread
        Of the other channels, in the order of their terms.
    later : bool
        Many indices and weights are made when they are taken.

    Raises
    ------
    ResourceError
        More rows than 32 bits count.
    """
    lengths = np.zeros(count, np.int64)
    for n, (index, _) in single.items():
        lengths[n] = len(index)
    for spread in spreads:
        lengths[spread.channels] += spread.lengths
    first = np.append(0, np.cumsum(lengths))
    if first[-1] > MOST_ROWS:
        raise ResourceError(
            f"{count:,} channels take {first[-1]:,} points of the grid, {MOST_ROWS:,} at most are "
            "possible: take fewer receivers, or put them on points of the grid"
        )
    if later and first[-1] > LATER:
        rows = Deferred(lambda: filled(d, first, single, spreads))
        return first, rows.part(0, first[-1], np.int64), rows.part(1, first[-1], d.precision)
    return first, *filled(d, first, single, spreads)


def filled(d, first, single, spreads):
    """Return indices and weights of the rows of `laid_out`.

    Parameters
    ----------
    first : (channels + 1,) array of int
        First row of each channel.
    d, single, spreads
        See `laid_out`.
    """
    source, weight = np.empty(first[-1], np.int64), np.empty(first[-1], d.precision)
    for n, (index, weights) in single.items():
        source[first[n] : first[n + 1]], weight[first[n] : first[n + 1]] = index, weights
    free = first[:-1].copy()
    for spread in spreads:
        for numbers, index, weights in spread.blocks(d.layout):
            rows = index.shape[1]
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


def group_terms(d, quantity, component, positions, numbers):
    """Yield the `Spread` of each term of channels of one quantity and component, by their numbers."""
    if quantity == "velocity":
        axis = "ENZ".index(component)
        if axis == 2 and d.free:
            on_top = np.abs(positions[numbers, 2] - (d.grid.shape[0] - 1)) <= 1e-6
            yield from surface_terms(d, positions, numbers[on_top])
            numbers = numbers[~on_top]
        terms = [Term(VELOCITY[axis])]
    elif quantity == "pressure":
        terms = [Term(field, None, -material.trace_share(d, None)) for field in d.normal]
    else:
        terms = gradient_terms(d, quantity, component)
    for fluid, some in sides.split(d, positions[numbers], quantity == "pressure"):
        chosen = numbers[some]
        for term in terms:
            yield spread(d, term, positions[chosen], chosen, fluid=fluid)


def surface_terms(d, positions, numbers):
    """Yield the terms of vertical velocities on the free surface: see `points.velocity_at`."""
    if not len(numbers):
        return
    top, surface = d.grid.shape[0] - 1, d.closure.surface
    on_top = positions[numbers]
    yield spread(d, Term("vz"), on_top, numbers, (top - len(surface), surface[::-1]))
    on_top[:, 2] = float(top)
    ratio = vertical_strain(d, np.rint(on_top[:, ::-1]).astype(np.int64).T)
    for a in d.horizontal:
        term = spread(d, Term(VELOCITY[a], a, ratio), on_top, numbers)
        yield term._replace(scale=-d.closure.hp[0] * d.rise)


def vertical_strain(d, at):
    """Return `material.vertical_strain` at many points (k, j, i) of one plane, tile by tile of the
    grid.
    """
    out, tile = np.empty(at.shape[1]), (at[1] // TILE) * (1 << 32) + at[2] // TILE
    order = np.argsort(tile, kind="stable")
    for numbers in np.split(order, np.flatnonzero(np.diff(tile[order])) + 1):
        if len(numbers):
            out[numbers] = material.vertical_strain(d, list(at[:, numbers]))
    return out


def spread(d, term, positions, numbers, vertical=None, fluid=None):
    """Return the `Spread` of one term of channels.

    Parameters
    ----------
    term : Term
    positions : (n, 3) array
        In units of the spacing.
    numbers : (n,) int array
        Of the channels.
    vertical : (int, ndarray), optional
        First index and weights along z, in place of the fitted ones.
    fluid : bool, optional
        The side of a level floor of fluid and solid whose points are used.
    """
    half, ends = d.half(term.field), [(0, d.shape[2 - a] - 1) for a in range(3)]
    ends = [(low, high - half[a]) for a, (low, high) in enumerate(ends)]
    if fluid is not None:
        ends[2] = sides.limits(d, term.field, fluid, ends[2][1])
    axes = [
        AxisWeights(positions[:, a] - half[a] / 2, *ends[a], int(term.derivative == a))
        for a in ((0, 1) if vertical else (0, 1, 2))
    ]
    if vertical:
        (first, weights), n = vertical, len(numbers)
        count, weights = np.full(n, len(weights)), np.tile(weights, (n, 1))
        axes.append(SimpleNamespace(first=np.full(n, first), count=count, weights=weights))
    return Spread(numbers, d.start_of(term.field), axes, term.factor)
