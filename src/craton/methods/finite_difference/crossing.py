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

A box that ends at a free surface is open there: no difference crosses its top. Memory variables of attenuation are part
of the field.

A is found by trial: the kernels of the step, on a slab of the grid around each side, are applied to fields that are 1 in
one plane along the side, plane after plane. A difference along an axis, and no other, takes fields to fields that are
half a point away along it.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from craton.core.localise import localise_plan
from craton.core.subdomain import Subdomain
from craton.methods.finite_difference.equations import contact, material, relaxing

ROUNDING = 1e-14  # of the largest weight: what is left where differences end at contacts


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


def crossings(d, box, step, machine):
    """Return the `Crossing` of the half steps: dict by ``"velocity"`` and ``"stress"``, and with attenuation of the
    ``"memory"`` variables.

    `step` is the `StepPlan` of the grid in float64, without sources and receivers; parts of it run on the `machine`.
    """
    parts = {}
    for axis in box.axes:
        for limits in slabs(d, box, axis):
            part = Subdomain(limits)
            local = localise_plan(replace(step, partition=(part,)), part)
            program = machine.commit(local, {"material": partial(material.fill, d=d)})
            for names in alike(d, axis):
                for n in range(*part.range("xyz"[axis])):
                    for kind, rows in entries(d, box, axis, program, names, n):
                        parts.setdefault(kind, []).append(rows)
    out = {}
    for kind, rows in parts.items():
        target, source, weight = (np.concatenate(columns) for columns in zip(*rows))
        real = np.abs(weight) > ROUNDING * np.abs(weight).max()
        out[kind] = Crossing(target[real], source[real], weight[real])
    return out


def slabs(d, box, axis):
    """Yield the parts of the grid (k0, k1, j0, j1, i0, i1) in which differences along an axis reach through a side."""
    closed = contact.closures(d)
    reach = d.reach if closed is None else max(d.reach, closed.patterns.shape[1] // 2)
    ends = [box.low[axis], *([] if axis == 2 and box.open_top else [box.high[axis]])]
    lines = np.unique(np.add.outer(ends, np.arange(-reach, reach + 1)).clip(0, d.grid.shape[2 - axis] - 1))
    for run in np.split(lines, np.flatnonzero(np.diff(lines) > 1) + 1):
        ranges = [(low, high + 1) for low, high in zip(box.low, box.high)]
        ranges[axis] = int(run[0]), int(run[-1]) + 1
        # even and odd points may have other mechanisms of attenuation
        yield tuple(n for low, high in ranges[::-1] for n in (low - low % 2, high))


def alike(d, axis):
    """Yield names of fields of one half step that lie alike along an axis: no field takes two of them along it."""
    others = {f"s{a}{a}" for a in "xyz"} - {"s" + 2 * "xyz"[axis]}
    for fields in (d.velocity, [name for name in d.stress if name not in others]):
        for half in (0, 1):
            if names := [name for name in fields if d.half(name)[axis] == half]:
                yield names


def entries(d, box, axis, program, names, n):
    """Yield what a step makes of fields that are 1 in a plane n across an axis, as far as it crosses a side:
    ``"velocity"``, ``"stress"`` or ``"memory"``, and (targets, sources, weights).
    """
    corner, layout, moves = program.plan.subdomain.box[::2], program.plan.layout, names[0] in d.velocity
    blocks = {"state": d.fields} | ({"memory": relaxing.Mechanisms(d).fields} if d.relaxing else {})
    with program.backend.work():
        for block in blocks:
            program.arrays[block][...] = 0
        for name in names:
            program.grid(name)[(slice(None),) * (2 - axis) + (n - corner[2 - axis],)] = 1
    program.step(0)
    starts = {d.half(name): d.start_of(name) for name in names}
    for block, fields in blocks.items():
        values = program.host(block)
        for number, name in enumerate(fields):
            half = d.half(name)
            start = starts.get((*half[:axis], 1 - half[axis], *half[axis + 1 :]))  # of a field half a point away
            if start is None or (name in d.velocity) == moves:
                continue
            lines = [np.arange(*box.limits(other, half[other])) for other in range(3)]
            across = np.arange(*program.plan.subdomain.range("xyz"[axis]))
            inside = box.holds(axis, half[axis], across)
            crosses = inside != box.holds(axis, 1 - half[axis], n)
            lines[axis], sign = across[crosses], np.where(inside[crosses], 1, -1)
            first = layout.start(number)
            of_field = values[first : first + np.prod(layout.padded)].reshape(layout.padded)[layout.window()]
            weight = of_field[np.ix_(*(line - low for line, low in zip(lines[::-1], corner)))]
            weight = weight * np.expand_dims(sign, tuple({0, 1, 2} - {2 - axis}))
            target = number * d.layout.field + d.layout.offset(*np.ix_(*lines[::-1]))
            lines[axis] = np.array([n])
            source = np.broadcast_to(start + d.layout.offset(*np.ix_(*lines[::-1])), target.shape)
            some = weight != 0
            kind = "velocity" if not moves else "stress" if block == "state" else "memory"
            yield kind, (target[some], source[some], weight[some])
