"""Points of the staggered grid around positions: which of them carry the value of a field, or its derivative, and with what weights.

Positions are in spacings from the grid's first point; in the plane y counts shots. Weights are the products of weights along x, y and z
(interpolate.py); where the ground or a contact of fluid and solid cuts those points, weights of points in one medium take their place.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.waves.interpolate import NODES, REACH, AxisWeights, scattered_weights
from craton.methods.waves.tables import Changed, Rows, scaled

# Stress components of a symmetric tensor, by axes.
TENSOR = {"sxx": (0, 0), "syy": (1, 1), "szz": (2, 2), "sxy": (0, 1), "sxz": (0, 2), "syz": (1, 2)}
ROWS = 1 << 20  # points that are weighted at a time
TILE = 64  # points of the grid to a side of the tiles in which the medium at the surface is asked
ON_TOP = 1e-6  # of the spacing


def positions_of(d, xyz, shots=0) -> np.ndarray:
    """Return positions (n, 3) in spacings to six digits, so that decimal numbers lie on the points they mean; xyz (n, 3), m."""
    columns = zip(np.asarray(xyz, float).reshape(-1, 3).T, d.grid.origin, d.grid.steps)
    out = np.stack([_rounded_as_python((column - origin) / step) for column, origin, step in columns], axis=1)
    if d.planar:
        out[:, 1] = shots
    return out


def _rounded_as_python(values: np.ndarray) -> np.ndarray:
    """Return values, (n,), to six decimals with the bits of Python's `round`: NumPy's rounds decimals by division."""
    scaled = values * 1e6
    whole = np.rint(scaled)
    out = whole / 1e6
    doubtful = ~((np.abs(np.abs(scaled - whole) - 0.5) > 1e-3) & (np.abs(scaled) < 1e10))
    out[doubtful] = [round(value, 6) for value in values[doubtful].tolist()]
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
            at_floor = in_fluid is not None and field in ("sxz", "syz")
            yield Changed(part, lambda _, index, weight: weight * _off_floor(d, index)) if at_floor else part
    rows = [nodes(d, field, tuple(positions[n].tolist()), derivative, first[n]) for n in np.flatnonzero(cut)]
    if rows:
        index, _, weight = zip(*rows)
        counts = np.array([len(one) for one in index])
        yield Rows(np.flatnonzero(cut), counts, np.concatenate(index), np.concatenate(weight))


def _off_floor(d, index):
    """Return which points do not lie on a level sea floor, where shear stress is zero."""
    return d.layout.place(index)[0] != sides.flat_floor(d)


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
    side of fluid and solid, and weights fitted to them.
    """
    half = d.half(field)
    box = around_position(d, position)
    use = usable_points(d, box, half, fluid)
    k, j, i = (a + low for a, low in zip(np.nonzero(use), box[::2]))
    j = np.full_like(j, position[1]) if d.planar else j
    return k, j, i, scattered_weights(position, half, (k, j, i), derivative)


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
