"""Differences that cross the sides of a box: what a half step lacks where the total field is
computed inside and the scattered field outside.

Let A be one half step of the whole field, I be 1 at points inside the box and 0 outside. The run
computes w = u - (1 - I) u0, with u0 the incident field, for which u0 -> A u0 without the scatterers.
Then

    w -> A w + (I A - A I) u0,

and the commutator has entries only where a difference reaches from one side of the box to the
other: sources that are exact for any linear scheme, to rounding (total-field/scattered-field,
Taflove & Hagness 2005, section 5.10; multiple point sources, Robertsson & Chapman 2000, Geophysics
65, 908). For an entry that takes the value at q to the point p it is A[p, q] (I[p] - I[q]).

A box that ends at a free surface is open there: no difference crosses its top. Memory variables of
attenuation are part of the field: a strain rate whose difference crosses a side changes stresses and
these, see crossing_law.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from craton.methods.finite_difference import crossing_law as law
from craton.methods.finite_difference.equations import contact, relaxing
from craton.methods.finite_difference.equations.scheme import HALF, VELOCITY
from craton.methods.finite_difference.points import TENSOR


@dataclass(frozen=True)
class Box:
    """A box of integer points of the grid, both ends inside.

    Parameters
    ----------
    low, high : tuple of int
        First and last point along (x, y, z).
    open_top : bool
        It ends at the free surface.
    planar : bool
        The (x, z) plane: it has no sides along y.
    """

    low: tuple
    high: tuple
    open_top: bool
    planar: bool

    @property
    def axes(self):
        """Axes (0, 1, 2 for x, y, z) along which it has sides."""
        return (0, 2) if self.planar else (0, 1, 2)

    def holds(self, axis, half, n):
        """Return whether the index `n` along an axis is inside, of points on or half-way between
        integer points.

        Parameters
        ----------
        axis : int
        half : int
            1 for points half-way.
        n : int or int array
        """
        first, last = self.limits(axis, half)
        return (n >= first) & ((n < last) | (axis == 2 and self.open_top))

    def limits(self, axis, half):
        """Return the first and last + 1 index inside, see `holds`.

        Parameters
        ----------
        axis, half : int
        """
        return self.low[axis], self.high[axis] + 1 - half


@dataclass(frozen=True, eq=False)
class Crossing:
    """Entries of the commutator of one half step.

    Parameters
    ----------
    target : (n,) int array
        Places in the state, or in the block of memory variables, see `Discretisation.start_of`.
    source : (n,) int array
        Places in the state.
    weight : (n,) array
    """

    target: np.ndarray
    source: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Derivative:
    """A derivative along an axis in a half step, and what it changes.

    Parameters
    ----------
    field : str
        Field that changes, or whose memory variable does.
    source : str
        Field that is differentiated.
    factor : callable
        Of the discretisation and points (k, j, i): what the derivative is multiplied by.
    variable : int or None
        Number of the memory variable in its block; it holds strain rates times the spacing.
    surface_only : bool
        It changes the plane of the free surface alone.
    """

    field: str
    source: str
    factor: Callable
    variable: int | None = None
    surface_only: bool = False


def crossings(d, box):
    """Return the `Crossing` of both half steps: dict by ``"velocity"`` and ``"stress"``, and with
    attenuation of the ``"memory"`` variables.

    Parameters
    ----------
    d : Discretisation
    box : Box
    """
    parts = {"velocity": [], "stress": []} | ({"memory": []} if d.relaxing else {})
    for axis in box.axes:
        for step, derivative in derivatives(d, axis):
            for pairs in sides(d, box, axis, HALF[derivative.field][axis]):
                parts[step].append(entries(d, box, axis, derivative, pairs))
            parts[step] += closed_entries(d, box, axis, derivative)
    return {step: Crossing(*(np.concatenate(columns) for columns in zip(*rows))) for step, rows in parts.items()}


def derivatives(d, axis):
    """Yield what crosses sides along an axis: ``"velocity"``, ``"stress"`` or ``"memory"``, and the
    `Derivative`.
    """
    for a, field in enumerate(VELOCITY):
        other = stress_of(a, axis) if not d.acoustic else "s" if a == axis else ""
        if field in d.fields and other in d.fields:
            yield "velocity", Derivative(field, other, partial(law.buoyancy, axis=a))
    for field in d.stress:
        a, b = TENSOR.get(field, (0, 0))
        if a == b and VELOCITY[axis] in d.fields:
            factor = partial(law.column, axis=axis, component=a)
            yield "stress", Derivative(field, VELOCITY[axis], factor)
        elif a != b and axis in (a, b) and VELOCITY[a + b - axis] in d.fields:
            factor = partial(law.shear, axes=(a, b), field=field)
            yield "stress", Derivative(field, VELOCITY[a + b - axis], factor)
    if d.relaxing:
        yield from (("memory", derivative) for derivative in remembered(d, axis))


def remembered(d, axis):
    """Yield the `Derivative` along an axis of each memory variable that takes it.

    On a free surface the variables of the vertical strain rate take the horizontal ones, by the
    vertical one that keeps szz zero.
    """
    mechanisms = relaxing.Mechanisms(d)
    for field in d.stress:
        a, b = TENSOR[field]
        if axis in (a, b) and VELOCITY[a + b - axis] in d.fields:
            for n in range(mechanisms.count(field)):
                factor = partial(law.driven, field=field, number=n)
                variable = mechanisms.slot(n, field)
                yield Derivative(field, VELOCITY[a + b - axis], factor, variable)
    if not d.free or axis == 2 or not {"szz", VELOCITY[axis]} <= {*d.fields}:
        return
    for n in range(mechanisms.count("szz")):
        factor = partial(law.driven_by_surface, axis=axis, number=n)
        yield Derivative("szz", VELOCITY[axis], factor, mechanisms.slot(n, "szz"), True)


def stress_of(a, b):
    """Name of a component of stress."""
    return next(name for name, axes in TENSOR.items() if set(axes) == {a, b})


def sides(d, box, axis, to_half):
    """Yield, for each side across an axis, what a difference takes through it: (indices of
    targets, indices of sources, weights).
    """
    weights, rows = d.stencil.axes[axis], []
    reach = len(weights)
    for n in range(box.low[axis] - reach, box.high[axis] + reach + 1):
        inside = box.holds(axis, to_half, n)
        for m, c in enumerate(weights, 1):
            for at, weight in ((n + m - 1 + to_half, c), (n - m + to_half, -c)):
                if inside != box.holds(axis, 1 - to_half, at):
                    rows.append((n, at, weight if inside else -weight))
    lines = np.array([n for n, _, _ in rows])
    for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(lines) > 1) + 1):
        targets, sources, values = zip(*(rows[n] for n in part))
        yield np.array(targets), np.array(sources), np.array(values)


def entries(d, box, axis, derivative, pairs):
    """Return places of targets, places of sources, and weights, of one derivative through a side.

    Targets and sources differ only along the axis: along the others they are inside.
    """
    targets, sources, values = pairs
    lines = inside_lines(d, box, derivative)
    lines[axis] = np.arange(len(targets))
    if not all(map(len, lines)):
        return np.zeros(0, int), np.zeros(0, int), np.zeros(0)
    at = [a.ravel() for a in np.meshgrid(*lines[::-1], indexing="ij")]
    number, beside = at[2 - axis], list(at)
    at[2 - axis], beside[2 - axis] = targets[number], sources[number]
    return weighted(d, derivative, at, beside, values[number])


def weighted(d, derivative, at, beside, values):
    """Return places of targets, places of sources, and weights, of the weights of a derivative from
    points `beside` to points `at`, (k, j, i) each.
    """
    weight = values * derivative.factor(d, at)
    if derivative.variable is None:
        start, weight = d.start_of(derivative.field), weight * d.dt / d.grid.spacing
    else:
        start = derivative.variable * d.layout.field
    return start + d.layout.offset(*at), place(d, derivative.source, beside), weight


def closed_entries(d, box, axis, derivative):
    """Return what `entries` returns of the differences along an axis that end at contacts of fluid
    and solid (contact.h): list.

    Parameters
    ----------
    d : Discretisation
    box : Box
    axis : int
    derivative : Derivative
    """
    closed = contact.closures(d)
    if closed is None:
        return []
    column = contact.column(derivative.field, derivative.source, axis)
    numbers = closed.rows[closed.situations.numbers, column]
    patterns = closed.patterns[numbers[numbers > 0]]
    points = zip(closed.situations.points, closed.box[::2])
    at = [n[numbers > 0] + low for n, low in points]
    lines = inside_lines(d, box, derivative)
    others = [a for a in range(3) if a != axis]
    on_lines = np.logical_and.reduce([np.isin(at[2 - a], lines[a]) for a in others])
    half, out = HALF[derivative.field][axis], []
    size = patterns.shape[1] // 2
    for n, offset in enumerate(range(half - size, half + size)):
        n_of = at[2 - axis]
        inside = box.holds(axis, half, n_of)
        chosen = on_lines & (inside != box.holds(axis, 1 - half, n_of + offset)) & (patterns[:, n] != 0)
        if not chosen.any():
            continue
        targets = [v[chosen] for v in at]
        sources = list(targets)
        sources[2 - axis] = targets[2 - axis] + offset
        values = np.where(inside[chosen], 1, -1) * patterns[chosen, n]
        out.append(weighted(d, derivative, targets, sources, values))
    return out


def inside_lines(d, box, derivative):
    """Return the indices along x, y, z of the points inside a box that a derivative changes: list
    of arrays.
    """
    field, top = derivative.field, d.grid.shape[0] - 1
    lines = [np.arange(*box.limits(a, half)) for a, half in enumerate(d.half(field))]
    if d.planar:
        lines[1] = np.zeros(1, int)
    if derivative.surface_only:
        lines[2] = lines[2][lines[2] == top]
    elif d.free and field in ("szz", "s"):  # held at zero on the free surface
        lines[2] = lines[2][lines[2] < top]
    return lines


def place(d, field, at):
    """Place in the state of points (k, j, i) of a field."""
    return d.start_of(field) + d.layout.offset(*at)
