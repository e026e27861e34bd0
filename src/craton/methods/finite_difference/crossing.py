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

A box that ends at a free surface is open there: no difference crosses its top.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from craton.methods.finite_difference import laminate, material
from craton.methods.finite_difference.points import TENSOR
from craton.methods.finite_difference.scheme import HALF, VELOCITY


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
        n : int
        """
        first, last = self.limits(axis, half)
        return n >= first and (n < last or (axis == 2 and self.open_top))

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
    target, source : (n,) int arrays
        Places in the state, see `Discretisation.start_of`.
    weight : (n,) array
    """

    target: np.ndarray
    source: np.ndarray
    weight: np.ndarray


def crossings(d, box):
    """Return the `Crossing` of both half steps: dict by ``"velocity"`` and ``"stress"``.

    Parameters
    ----------
    d : Discretisation
    box : Box
    """
    parts = {"velocity": [], "stress": []}
    for axis in box.axes:
        for step, target, source, factor in terms(d, axis):
            for pairs in sides(d, box, axis, HALF[target][axis]):
                parts[step].append(entries(d, box, axis, target, source, pairs, factor))
    return {
        step: Crossing(*(np.concatenate(columns) for columns in zip(*rows)))
        for step, rows in parts.items()
    }


def terms(d, axis):
    """Yield the derivatives along an axis in both half steps: half step, field that changes, field
    that is differentiated, what they are multiplied by, see `entries`.
    """
    for a, field in enumerate(VELOCITY):
        other = stress_of(a, axis) if not d.acoustic else "s" if a == axis else ""
        if field in d.fields and other in d.fields:
            yield "velocity", field, other, partial(buoyancy, axis=a)
    for field in d.stress:
        a, b = TENSOR.get(field, (0, 0))
        if a == b and VELOCITY[axis] in d.fields:
            yield "stress", field, VELOCITY[axis], partial(column, axis=axis, component=a)
        elif a != b and axis in (a, b) and VELOCITY[a + b - axis] in d.fields:
            yield "stress", field, VELOCITY[a + b - axis], partial(shear, axes=(a, b))


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


def entries(d, box, axis, target, source, pairs, factor):
    """Return places of targets, places of sources, and weights, of one derivative through a side.

    Targets and sources differ only along the axis: along the others they are inside.
    """
    targets, sources, values = pairs
    lines = [np.arange(*box.limits(a, half)) for a, half in enumerate(d.half(target))]
    if d.planar:
        lines[1] = np.zeros(1, int)
    if d.free and target in ("szz", "s"):  # held at zero on the free surface
        lines[2] = lines[2][lines[2] < d.grid.shape[0] - 1]
    lines[axis] = np.arange(len(targets))
    at = [a.ravel() for a in np.meshgrid(*lines[::-1], indexing="ij")]
    number, beside = at[2 - axis], list(at)
    at[2 - axis], beside[2 - axis] = targets[number], sources[number]
    weight = values[number] * factor(d, at) * d.dt / d.grid.spacing
    return place(d, target, at), place(d, source, beside), weight


def place(d, field, at):
    """Place in the state of points (k, j, i) of a field."""
    return d.start_of(field) + d.layout.offset(*at)


# --- the medium -----------------------------------------------------------------------------------


class Around:
    """Stored parameters of the medium around points (k, j, i) of the grid.

    Parameters
    ----------
    d : Discretisation
    at : (k, j, i) int arrays
    """

    def __init__(self, d, at):
        self.d, cells = d, d.cell(at)
        box = [v for a, n in zip(cells, d.grid.shape) for v in (a.min(), min(a.max() + 2, n))]
        self.part = d.grid.window([int(v) for v in box])
        self.at = [a - low for a, low in zip(cells, box[::2])]

    def values(self, name, *moved):
        """Return a parameter at the points, or one point further along some axes.

        Parameters
        ----------
        name : str
            Of `material.parameters`.
        moved : int
            Axes (0, 1, 2 for x, y, z).
        """
        planes = material.parameters(self.d, self.part, (name,))[name]
        shift = [int(2 - n in moved) for n in range(3)]
        return planes[
            tuple(np.minimum(a + s, n - 1) for a, s, n in zip(self.at, shift, planes.shape))
        ]


def buoyancy(d, at, axis):
    """1 / (mean of density) where a velocity is; 0 between cells that hold nothing."""
    medium = Around(d, at)
    both = medium.values("rho") + medium.values("rho", axis)
    return np.divide(2, both, out=np.zeros(len(both)), where=both > 0)


def shear(d, at, axes):
    """Modulus of a shear stress across two axes, see law.h."""
    name = "r66" if d.anisotropic and set(axes) == {0, 1} else "rmu"
    medium = Around(d, at)
    corners = [medium.values(name, *moved) for moved in ((), axes[:1], axes[1:], axes)]
    modulus = 4 / sum(corners)
    return modulus + laminate.at_points(d, at)[3] if set(axes) == {0, 1} else modulus


def column(d, at, axis, component):
    """Modulus that takes a strain along an axis to a normal stress, or to the pressure's negative,
    see law.h.
    """
    medium = Around(d, at)
    lam = medium.values("lam")
    if d.acoustic:
        return lam
    mu2 = 2 / medium.values("rmu")
    d11, d13, d33, d66 = laminate.at_points(d, at)
    across = 2 * d66
    if d.anisotropic:
        d11, d13 = medium.values("d11"), medium.values("d13")
        across = 2 / medium.values("r66") - mu2
    if axis == component:
        return lam + mu2 + (d33 if axis == 2 else d11)
    return lam + (d13 if 2 in (axis, component) else d11 - across)
