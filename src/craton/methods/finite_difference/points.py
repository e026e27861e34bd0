"""Points of the staggered grid around positions: which of them carry the value of a field, or its derivative, and with what weights.

Positions are in spacings from the first point of the grid; in the plane y counts shots. Weights are the products of weights along x, y and
z (interpolate.py); where the ground or a contact of fluid and solid cuts those points, weights of points in one medium take their place.

Thousands of moments, of faults and catalogues, have their rows in blocks, and the points that they touch known before the rows. They act on
stress as `GridSpace.moments` has it, but for points among air or beside a floor of the sea in steps: there the weights of a subfault are
those of its points in matter, enlarged to the same sum.
"""

import itertools
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from craton.conventions import STRESS, TENSOR_AXES
from craton.errors import refuse
from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.waves.interpolate import NODES, REACH, AxisWeights, scattered_weights
from craton.methods.waves.tables import Changed, Rows, scaled, stacked

TENSOR = dict(zip(STRESS, TENSOR_AXES))  # axes of stresses
ROWS = 1 << 20  # points that are weighted at a time
TILE = 64  # points of the grid to a side of the tiles in which the medium at the surface is asked
ON_TOP = 1e-6  # of the spacing
FEW = 10_000  # moments up to which 8 points per axis carry each of them; of more, 4 do
BLOCK = 4096  # moments whose rows are made at a time
LEAST_KEPT = 0.25  # of a subfault's weights, on points in matter


def positions_of(d, xyz, shots=0) -> np.ndarray:
    """Return positions (n, 3) in spacings to six digits, so that decimal numbers lie on the points they mean; xyz (n, 3), m."""
    out = np.round((np.asarray(xyz, float).reshape(-1, 3) - d.grid.origin) / d.grid.steps, 6)
    if d.planar:
        out[:, 1] = shots
    return out


# --- many positions -------------------------------------------------------------------------------


class Spread(NamedTuple):
    """Rows of sums over the points of one field, from the points along each axis (`AxisWeights` along x, y, z)."""

    numbers: np.ndarray
    start: int
    axes: list
    layout: Any

    @property
    def counts(self) -> np.ndarray:
        """Number of points of each sum."""
        return np.prod([axis.count for axis in self.axes], axis=0)

    def blocks(self):
        """Yield which sums (m,), index and weight (m, points) of sums that have equally many points along each axis."""
        counts = np.stack([axis.count for axis in self.axes])
        together = np.ravel_multi_index(tuple(counts), tuple(counts.max(axis=1, initial=0) + 1))
        for name in np.flatnonzero(np.bincount(together)):
            alike = np.flatnonzero(together == name)
            along = counts[:, alike[0]]
            for part in np.array_split(alike, -(-len(alike) * int(along.prod()) // ROWS)):
                yield part, *self._products(part, along)

    def _products(self, part, along):
        """Index and weight (m, points) of some sums."""
        (i, wx), (j, wy), (k, wz) = (
            (axis.first[part, None] + np.arange(n), axis.weights[part, :n]) for axis, n in zip(self.axes, along)
        )
        index = self.layout.offset(k[:, :, None, None], j[:, None, :, None], i[:, None, None, :])
        weights = wz[:, :, None, None] * wy[:, None, :, None] * wx[:, None, None, :]
        return (self.start + index).reshape(len(part), -1), weights.reshape(len(part), -1)


def around(d, field, positions, derivative=None, fluid_first=False, in_matter=True) -> Iterator:
    """Yield the rows of a field, or its derivative along an axis (x, y, z as 0, 1, 2), at positions (n, 3), numbered as these are.

    On a contact of fluid and solid they are of the solid, unless `fluid_first`, one bool or one of each position. Points in the air or,
    beside a contact in steps, in the other medium are left out if `in_matter`: one position after the other.
    """
    cut = cut_around(d, positions) if in_matter else np.zeros(len(positions), bool)
    first = np.broadcast_to(fluid_first, len(positions))
    whole = np.flatnonzero(~cut)
    media = [(None, whole)]
    if d.partly_fluid and sides.flat_floor(d) is not None:
        fluid = sides.in_fluid(d, positions[whole], first[whole])
        media = [(in_fluid, whole[fluid == in_fluid]) for in_fluid in (False, True)]
    for in_fluid, some in media:
        if len(some):
            part = spread(d, field, positions[some], some, derivative, in_fluid)
            if in_fluid is not None and field in ("sxz", "syz"):  # no shear stress on a level sea floor
                part = Changed(part, lambda _, at, weight: weight * (d.layout.place(at)[0] != sides.flat_floor(d)))
            yield part
    rows = [nodes(d, field, tuple(positions[n].tolist()), derivative, first[n]) for n in np.flatnonzero(cut)]
    if rows:
        index, _, weight = zip(*rows)
        counts = np.array([len(one) for one in index])
        yield Rows(np.flatnonzero(cut), counts, np.concatenate(index), np.concatenate(weight))


def spread(d, field, positions, numbers, derivative=None, fluid=None, vertical=None, **options) -> Spread:
    """Return the rows of one field at positions with matter of one medium around.

    `vertical` are first plane and weights along z, options those of `AxisWeights`.
    """
    half, ends = d.half(field), [(0, d.shape[2 - a] - 1) for a in range(3)]
    ends = [(low, high - half[a]) for a, (low, high) in enumerate(ends)]
    if fluid is not None:
        ends[2] = sides.limits(d, field, fluid, ends[2][1])
    axes = [
        AxisWeights(positions[:, a] - half[a] / 2, *ends[a], int(derivative == a), **options)
        for a in ((0, 1) if vertical else (0, 1, 2))
    ]
    if vertical:
        (first, weights), n = vertical, len(numbers)
        count, weights = np.full(n, len(weights)), np.tile(weights, (n, 1))
        axes.append(SimpleNamespace(first=np.full(n, first), count=count, weights=weights))
    return Spread(numbers, d.start_of(field), axes, d.layout)


def at_surface(d, positions) -> Iterator:
    """Yield (field, rows) of the vertical velocity at positions on the free surface, where it has no points: it follows from that below
    and the vertical strain of a surface without traction.
    """
    if not len(positions):
        return
    top, weights = d.grid.shape[0] - 1, d.closure.surface
    yield "vz", spread(d, "vz", positions, np.arange(len(positions)), vertical=(top - len(weights), weights[::-1]))
    positions = positions.copy()
    positions[:, 2] = float(top)
    ratio = _vertical_strain(d, np.rint(positions[:, ::-1]).astype(np.int64).T)
    scale = -d.closure.hp[0] * d.rise
    for axis in d.horizontal:
        for part in around(d, VELOCITY[axis], positions, axis):
            yield VELOCITY[axis], scaled(scaled(part, scale), ratio)


def _vertical_strain(d, at):
    """Return `material.vertical_strain` at many points (k, j, i) of one plane, tile by tile of the grid."""
    out, tile = np.empty(at.shape[1]), (at[1] // TILE) * (1 << 32) + at[2] // TILE
    order = np.argsort(tile, kind="stable")
    for numbers in np.split(order, np.flatnonzero(np.diff(tile[order])) + 1):
        if len(numbers):
            out[numbers] = material.vertical_strain(d, list(at[:, numbers]))
    return out


def on_surface(d, positions) -> np.ndarray:
    """Return which positions (n, 3) lie on a free surface, where the vertical velocity has no points."""
    return d.free & (np.abs(positions[:, 2] - (d.grid.shape[0] - 1)) <= ON_TOP)


def cut_around(d, positions) -> np.ndarray:
    """Return which positions, (n, 3), have cells that are not full, or both fluid and solid, so near that points around them may lie in
    the air or in the other medium.
    """
    cut = np.zeros(len(positions), bool)
    if d.ground is not None:
        cut = np.floor(positions[:, 2]) + NODES > d.full_planes
    rest = np.flatnonzero(~cut)
    cut[rest] = sides.close_to_contact(d, positions[rest])
    return cut


# --- one position ---------------------------------------------------------------------------------


def nodes(d, field, position, derivative=None, fluid_first=False):
    """Index in the state, (k, j, i) and weight of the points of one field around a position, on its
    side of a contact of fluid and solid; on the contact that of the solid unless `fluid_first`.
    """
    fluid = bool(sides.in_fluid(d, [position], fluid_first)[0]) if d.partly_fluid else None
    level = d.partly_fluid and sides.flat_floor(d) is not None
    part = spread(d, field, np.array([position]), np.zeros(1, int), derivative, fluid if level else None)
    stepped = fluid is not None and not level
    if (d.ground is not None or stepped) and reaches_other(d, field, part.axes, fluid if stepped else None):
        k, j, i, weights = own_points(d, field, position, derivative, fluid if stepped else None)
        return d.start_of(field) + d.layout.offset(k, j, i), (k, j, i), weights
    ((_, index, weights),) = part.blocks()
    return index[0], d.layout.place(index[0]), weights[0]


def reaches_other(d, field, axes, fluid):
    """Return True where some of the points of a field along axes x, y, z (`AxisWeights` of one position) do not lie wholly in matter, or
    not on the side of the fluid or of the solid.
    """
    spans = [(int(axis.first[0]), int(axis.count[0])) for axis in axes[::-1]]
    if d.planar:  # y counts shots
        spans[1] = (0, 1)
    # the cells of the points, and those behind them, whose mean the points carry
    box = [v for (first, n), size in zip(spans, d.grid.shape) for v in (first, min(first + n + 1, size))]
    use = usable_points(d, box, d.half(field), fluid)
    return not use[tuple(slice(0, n) for _, n in spans)].all()


def own_points(d, field, position, derivative, fluid):
    """Return indices (k, j, i) of the points around a position that lie wholly in matter, on its
    side of fluid and solid, and weights fitted to them; refuse a position around which too few do.
    """
    half = d.half(field)
    box = around_position(d, position)
    use = usable_points(d, box, half, fluid)
    k, j, i = (a + low for a, low in zip(np.nonzero(use), box[::2]))
    j = np.full_like(j, position[1]) if d.planar else j
    weights = scattered_weights(position, half, (k, j, i), derivative)
    if weights is None:
        xyz = d.grid.origin + d.grid.steps * position
        where = ", ".join(f"{axis} = {xyz['xyz'.index(axis)]:.6g}" for axis in d.axes)
        medium = {None: "ground", False: "solid", True: "fluid"}[fluid]
        words = f"too few points of the grid lie in the {medium} around a source or receiver at {where} m"
        refuse("domain.spacing", words, "use a smaller one, or move it to where that is thicker than a cell")
    return k, j, i, weights


def around_position(d, position):
    """Box of grid points (k0, k1, j0, j1, i0, i1) around a position, as far as differences reach."""
    low = [max(int(np.floor(p)) - REACH, 0) for p in reversed(position)]
    box = [v for a, n in zip(low, d.grid.shape) for v in (min(a, n - 1), min(a + 2 * REACH + 2, n))]
    return box if not d.planar else [*box[:2], 0, 1, *box[4:]]


def usable_points(d, box, half, fluid=None):
    """Which points of a field in a box of the grid have matter in all the cells whose mean they
    carry, a velocity in one of them; with `fluid`, matter that is fluid, or solid.
    """
    # points at the end of the box have a cell behind it
    wider = [min(n + m % 2, d.grid.shape[m // 2]) for m, n in enumerate(box)]
    inside = tuple(slice(0, b - a) for a, b in zip(box[::2], box[1::2]))
    use = sides.of_cells(d.whole_box(wider), half) if d.ground is not None else True
    if fluid is not None:
        use = use & sides.own_points(d, wider, half, fluid)
    return use[inside]


# --- thousands of moments --------------------------------------------------------------------------


def moment_blocks(space, positions, tensors):
    """Yield index, weight and source of the rows of moments, some thousand sources at a time."""
    for low in range(0, len(positions), BLOCK):
        part = slice(low, low + BLOCK)
        parts = [
            rows
            for field, moment in space.glut(tensors[part])
            for rows in _rows(space, field, positions[part], moment, _width(positions))
        ]
        first, index, weight = stacked(len(positions[part]), parts)
        yield index, weight, low + np.repeat(np.arange(len(first) - 1), np.diff(first))


def _rows(space, field, positions, moment, width):
    """Yield the rows of a stress."""
    d, acting = space.d, np.flatnonzero(moment)
    part = around_many(d, field, positions[acting], width)
    yield from space.below_surface(field, Changed(scaled(part, moment[acting]), names=acting))


def _width(positions):
    return 4 if len(positions) > FEW else 8


def spread_in_solid(d, field, positions, width):
    """Return the rows of a field at positions that lie in the solid."""
    solid = False if d.partly_fluid and sides.flat_floor(d) is not None else None
    return spread(d, field, positions, np.arange(len(positions)), fluid=solid, width=width, together=True)


def around_many(d, field, positions, width):
    """Return the rows of a field at positions of the solid over the norms of its points, in matter alone."""
    part = Changed(spread_in_solid(d, field, positions, width), partial(over_norm, d, field))
    beside_fluid = d.partly_fluid and sides.flat_floor(d) is None
    if not beside_fluid and d.ground is None:
        return part
    return Changed(part, lambda _, index, weight: in_matter(d, field, index, weight, beside_fluid))


def norms(d, field, index):
    """Return the norms along z at the points of a field."""
    return d.norms(d.layout.place(index)[0].ravel(), d.half(field)[2]).reshape(index.shape)


def over_norm(d, field, _, index, weight):
    """Return weights over the norms along z at the points of a field."""
    return weight / norms(d, field, index)


def in_matter(d, field, index, weight, beside_fluid):
    """Return weights (n, points) with none on points that have air or, beside a floor that is not level, fluid around them, and the
    same sums.
    """
    at = d.layout.place(index)
    if not beside_fluid and at[0].max() + 1 < d.vacuum_planes[0]:
        return weight
    low = [int(a.min()) for a in at]
    box = [v for a, first in zip(at, low) for v in (first, int(a.max()) + 1)]
    use = usable_points(d, box, d.half(field), False if beside_fluid else None)
    use = use[tuple(a - first for a, first in zip(at, low))]
    kept, total = (weight * use).sum(1), weight.sum(1)
    few = kept < LEAST_KEPT * total
    if few.any():
        words = f"{few.sum()} slipping subfaults lie in the air or a fluid, or next to it"
        refuse("source", words, "move the fault down, or use a smaller spacing")
    return weight * use * (total / kept)[:, None]


def moment_table(space, positions, tensors):
    """Return the indices of all points that moments touch, the number of rows, and the function that yields these."""
    d, count, touched = space.d, 0, {}
    top = d.grid.shape[0] - 1 if d.free else -1
    for field, moment in space.glut(tensors):
        axes = spread_in_solid(d, field, positions[moment != 0], _width(positions)).axes[::-1]
        first, points = (np.stack([getattr(axis, name) for axis in axes], axis=1) for name in ("first", "count"))
        _refuse_cut(d, first, points)
        low, high = first.min(axis=0), (first + points).max(axis=0)
        k, j, i = (n + start for n, start in zip(np.nonzero(_covered(first - low, points, high - low)), low))
        count += int(points.prod(axis=1).sum())
        touched.setdefault(field, []).append((k, j, i))
        if field == "szz" and (k == top).any():  # its rows there go to both other normal stresses
            on_top = (first[:, 0] <= top) & (top < first[:, 0] + points[:, 0])
            count += int(points[on_top, 1:].prod(axis=1).sum())
            touched[field] = [tuple(n[k != top] for n in (k, j, i))]
            for other in ("sxx", "syy"):
                touched.setdefault(other, []).append(tuple(n[k == top] for n in (k, j, i)))
    target = [d.start_of(field) + d.layout.offset(*at) for field, several in touched.items() for at in several]
    return np.unique(np.concatenate(target).astype(np.int64)), count, lambda: moment_blocks(space, positions, tensors)


def _covered(first, count, shape):
    """Return the points of a box, True or False, that lie in one of many small boxes: first points and counts (n, 3)."""
    marks = np.zeros(np.add(shape, 1), np.int32)
    for corner in itertools.product((0, 1), repeat=3):
        np.add.at(marks, tuple((first + corner * count).T), (-1) ** sum(corner))
    for axis in range(3):
        np.cumsum(marks, axis, out=marks)
    return marks[:-1, :-1, :-1] > 0


def _refuse_cut(d, first, count):
    """Refuse moments whose points the ground or a fluid may cut: their weights would be others."""
    low, high, cut = first.min(axis=0), (first + count).max(axis=0), ""
    if d.ground is not None and high[0] >= d.vacuum_planes[0]:
        cut = "that the ground cuts"
    elif d.partly_fluid and sides.flat_floor(d) is None:
        box = [int(v) for pair in zip(low, high) for v in pair]
        cut = "of a fluid" if (sides.contents(d, box) == sides.FLUID).any() else ""
    if cut:
        words = f"a catalogue of moment tensors reaches points {cut}"
        refuse("source", words, "write it as several files of up to 1,000 sources, or use a smaller spacing")
