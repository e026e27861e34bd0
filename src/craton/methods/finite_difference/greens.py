"""Strain rates in a volume of the grid as a `craton.methods.waves.greens.Volume`, at the points of stress.

A moment M adds -dt M' w / (V H) to stresses, w the weights that interpolate there and H the norm of the scheme (space.py). The scheme is
symmetric in the energy product with weights V H, so that the velocity which a force functional r records of this moment is

    r(v) = sum over components of M_c times the sum of w e_c,    e = D v of the run with force r,

shear strains counted twice (gamma_xy = 2 e_xy). D are the scheme's own differences, closures of a free surface included; there szz is
zero, and the vertical strain follows from the horizontal ones. Below a topography differences are the same, and read zeros in the air.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from craton.errors import Problem
from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.scheme import HALF, VELOCITY
from craton.methods.finite_difference.points import TENSOR, around, positions_of
from craton.methods.waves.greens import station_problems
from craton.methods.waves.interpolate import MARGIN, NODES
from craton.methods.waves.tables import scaled, stacked


@dataclass(frozen=True, eq=False)
class GridVolume:
    """Strain rates at the points of stress in a box (k0, k1, j0, j1, i0, i1) of the grid of a `Discretisation`."""

    d: Any
    box: tuple

    quantity, of_what = "velocity", "grid"

    @property
    def per_point(self):
        """Strain rates of a point."""
        return len(self.d.stress)

    @property
    def counts(self):
        """Points of the box along (z, y, x)."""
        return tuple(int(end - begin) for begin, end in zip(self.box[::2], self.box[1::2]))

    @property
    def places(self):
        """All places; those of a point lie side by side."""
        return self.per_point * math.prod(self.counts)

    @property
    def about(self):
        """What a store says of it: the spacing, m."""
        return {"resolution": float(self.d.grid.spacing)}

    # --- in: strain rates of a velocity ------------------------------------------------------------

    @cached_property
    def closure(self):
        """Differences below a free surface that reach into the box, or None."""
        d = self.d
        reaches = d.free and self.box[1] + len(d.stencil.vertical) > d.grid.shape[0] - d.closure.rows
        return d.closure if reaches else None

    @cached_property
    def ratio(self):
        """Vertical over the sum of horizontal strains at the top points of the box on a free surface, (y, x); None elsewhere."""
        d, (_, k1, *limits) = self.d, self.box
        if not d.free or k1 < d.grid.shape[0] or "szz" not in d.stress:
            return None
        j, i = np.meshgrid(np.arange(*limits[:2]), np.arange(*limits[2:]), indexing="ij")
        top = np.full(j.size, k1 - 1)
        return -material.vertical_strain(d, [top, j.ravel(), i.ravel()]).reshape(j.shape)

    @cached_property
    def block(self):
        """Slices (z, y, x) of the velocities that differences in the box take."""
        d, (k0, k1, j0, j1, i0, i1) = self.d, self.box
        reach, rise = len(d.stencil.horizontal), len(d.stencil.vertical)
        low, high = k0 - rise, min(k1 + rise, d.grid.shape[0])
        if self.closure is not None:
            low = min(low, d.grid.shape[0] - 1 - self.closure.cols)
        y = slice(0, 1) if d.planar else slice(j0 - reach, j1 + reach)
        return slice(low, high), y, slice(i0 - reach, i1 + reach)

    @property
    def reads(self):
        """See `Volume.reads`."""
        return {v: self.block for v in VELOCITY if any(v in self._parts(s) for s in self.d.stress)}

    def picture(self, fields):
        """Return the strain rates of a velocity by place."""
        stresses = self.d.stress
        rates = np.stack([self._rate(stress, fields) for stress in stresses])
        if self.ratio is not None:
            horizontal = [n for n, s in enumerate(stresses) if s in ("sxx", "syy")]
            rates[stresses.index("szz"), -1] = self.ratio * rates[horizontal, -1].sum(axis=0)
        return np.moveaxis(rates, 0, -1).ravel()

    def _parts(self, stress):
        """Velocities that a strain rate is made of, with the axis of their derivative."""
        a, b = TENSOR[stress]
        parts = {VELOCITY[a]: b} if a == b else {VELOCITY[a]: b, VELOCITY[b]: a}
        return {v: axis for v, axis in parts.items() if not (self.d.planar and axis == 1)}

    def _rate(self, stress, fields):
        """Strain rate at the points of a stress in the box."""
        return sum(self._difference(fields[v], axis, HALF[stress][axis]) for v, axis in self._parts(stress).items())

    def _difference(self, values, axis, to_half):
        """Differentiate a velocity along x, y or z (0, 1, 2), at the points of a stress in the box."""
        first, at = self.box[::2], 2 - axis
        across = [slice(f - r.start, f - r.start + n) for f, r, n in zip(first, self.block, self.counts)]
        across[at] = slice(None)
        f = np.moveaxis(values[tuple(across)], at, 0)
        begin, count = first[at] - self.block[at].start, self.counts[at]
        weights = self.d.stencil.vertical if axis == 2 else self.d.stencil.horizontal
        if axis == 2:  # nothing moves above the grid
            f = np.concatenate([f, np.zeros((len(weights), *f.shape[1:]), f.dtype)])
        out = np.zeros((count, *f.shape[1:]))
        for n, c in enumerate(weights, 1):
            after, before = begin + n - 1 + to_half, begin - n + to_half
            out += c * (f[after : after + count].astype(float) - f[before : before + count])
        if axis == 2 and self.closure is not None:
            self._close(out, f, to_half)
        return np.moveaxis(out, 0, at) / float(self.d.grid.spacing)

    def _close(self, out, f, to_half):
        """Replace vertical differences below a free surface by those of its closure."""
        table, planes = self.closure.d1 if to_half else self.closure.d2, self.d.grid.shape[0]
        highest = planes - 1 if to_half else planes - 2  # plane that is read
        read = [highest - self.block[0].start - c for c in range(self.closure.cols)]
        for depth, row in enumerate(table):
            k = planes - 1 - depth - to_half - self.box[0]
            if 0 <= k < len(out):
                out[k] = -np.tensordot(row, f[read].astype(float), 1)
        if to_half and self.box[1] == planes:
            out[-1] = 0.0  # no half points above the surface

    # --- out: weights of moments -------------------------------------------------------------------

    def rows(self, xyz, six):
        """Return the weights of moments on the places; see `Volume.rows`."""
        d, positions, moments = self.d, positions_of(self.d, xyz), dict(zip(TENSOR, np.asarray(six, float).T))
        parts = [scaled(part, moments[name]) for name in d.stress for part in around(d, name, positions)]
        first, index, weight = stacked(len(positions), parts)
        (k, j, i), field = d.layout.place(index), (index + d.layout.first) // d.layout.field
        (k0, _, j0, _, i0, _), (_, ny, nx) = self.box, self.counts
        point = ((k - k0) * ny + (j - j0)) * nx + (i - i0)
        return first, point * self.per_point + field - d.fields.index(d.stress[0]), weight


def volume_of(d, low, high, stations):
    """Return the `GridVolume` of moments between two corners, m, and what is wrong with it or with stations: list of Problem."""
    if d.acoustic:
        remedy = 'write domain.waves = "elastic"'
        return None, [Problem("greens", "Green's functions are not computed of acoustic waves", remedy)]
    box = box_around(d, low, high)
    words = "lies in an absorbing layer or next to it"
    remedy = f"keep {MARGIN} spacings from it, or make the domain larger"
    problems = box_problems(d, box) or station_problems(stations, close_to_layers(d, stations.xyz), words, remedy)
    return GridVolume(d, box), problems


def box_around(d, low, high):
    """Return the box of points that the weights of positions between two corners reach."""
    box = []
    for n, axis in enumerate((2, 1, 0)):
        count = d.grid.shape[n]
        if d.planar and axis == 1:
            box += [0, 1]
            continue
        first = (low[axis] - d.grid.origin[axis]) / d.grid.steps[axis]
        last = (high[axis] - d.grid.origin[axis]) / d.grid.steps[axis]
        top = axis == 2 and (d.free or d.ground is not None)
        end = math.ceil(last - 1e-6) + MARGIN + 1
        # below the free surface fewer points are taken, from further inside (EDGE_NODES)
        begin = math.floor(first + 1e-6) - MARGIN
        box += [min(begin, count - NODES) if top else begin, min(end, count) if top else end]
    return tuple(int(v) for v in box)


def box_problems(d, box):
    """Return where a box reaches a fluid, layers or the end of the grid: list of Problem."""
    cells = (max(box[0], 0), min(box[1], d.grid.shape[0]), *box[2:])
    if d.partly_fluid and (sides.contents(d, cells) == sides.FLUID).any():
        words = f"the volume reaches a fluid, or comes within {MARGIN + 1} points of one"
        return [Problem("greens", words, "let it end deeper (greens.to)")]
    reach = max(len(d.stencil.horizontal), len(d.stencil.vertical))
    for axis in range(3):
        if d.planar and axis == 1:
            continue
        # layers have derivatives of their own; differences may reach into them
        first, last = d.unstretched(axis)
        first, last = max(first, reach), min(last, d.grid.shape[2 - axis] - reach)
        begin, end = box[2 * (2 - axis) : 2 * (2 - axis) + 2]
        free = axis == 2 and (d.free or d.ground is not None)
        if begin < first or (end > last and not free):
            ends = first + MARGIN, last - 1 + (reach if free else -MARGIN)
            low, high = (d.grid.origin[axis] + d.grid.steps[axis] * n for n in ends)
            words = f"the volume is too close to a boundary along {'xyz'[axis]}"
            return [Problem("greens", words, f"keep it between {low:,.6g} and {high:,.6g} m")]
    return []


def close_to_layers(d, xyz):
    """Return which positions (n, 3), m, take points of absorbing layers, (n,) bool."""
    position = (xyz - np.array(d.grid.origin)) / d.grid.steps
    close = np.zeros(len(position), bool)
    for axis, side in d.faces("cpml"):
        first, last = d.unstretched(axis)
        at = position[:, axis]
        close |= at < first + MARGIN - 1 if side == 0 else at > last - MARGIN
    return close
