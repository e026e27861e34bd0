"""Thousands of moments on the grid, of faults and catalogues: their rows in blocks, and the points that they touch, known before the rows.

They act on stress as `GridSpace.moments` has it, but for points among air or beside a floor of the sea in steps: there the weights of a
subfault are those of its points in matter, enlarged to the same sum.
"""

import itertools

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.methods.finite_difference import sides
from craton.methods.finite_difference.points import spread, usable_points
from craton.methods.waves.tables import Changed, scaled, stacked

FEW = 10_000  # moments up to which 8 points per axis carry each of them; of more, 4 do
BLOCK = 4096  # moments whose rows are made at a time
LEAST_KEPT = 0.25  # of a subfault's weights, on points in matter


def blocks(space, positions, tensors):
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


def _spread(d, field, positions, width):
    solid = False if d.partly_fluid and sides.flat_floor(d) is not None else None
    return spread(d, field, positions, np.arange(len(positions)), fluid=solid, width=width, together=True)


def around_many(d, field, positions, width):
    """Return the rows of a field at positions of the solid over the norms of its points, in matter alone."""
    part = Changed(_spread(d, field, positions, width), lambda _, index, weight: weight / norms(d, field, index))
    beside_fluid = d.partly_fluid and sides.flat_floor(d) is None
    if not beside_fluid and d.ground is None:
        return part
    return Changed(part, lambda _, index, weight: in_matter(d, field, index, weight, beside_fluid))


def norms(d, field, index):
    """Return the norms along z at the points of a field."""
    return d.norms(d.layout.place(index)[0].ravel(), d.half(field)[2]).reshape(index.shape)


def in_matter(d, field, index, weight, beside_fluid):
    """Return weights (n, points) with none on points that have air or, beside a floor that is not level, fluid around them, and the
    same sums.
    """
    at = d.layout.place(index)
    if not beside_fluid and at[0].max() + 1 < d.vacuum_planes[0]:
        return weight
    low = [int(a.min()) for a in at]
    # The box ends a point later: a shear point carries the mean of the cells before and behind it.
    box = [v for a, first, size in zip(at, low, d.grid.shape) for v in (first, min(int(a.max()) + 2, size))]
    use = usable_points(d, box, d.half(field), False if beside_fluid else None)
    use = use[tuple(a - first for a, first in zip(at, low))]
    kept, total = (weight * use).sum(1), weight.sum(1)
    few = kept < LEAST_KEPT * total
    if few.any():
        words = f"{few.sum()} slipping subfaults lie in the air or a fluid, or next to it"
        raise ScenarioError([Problem("source", words, "move the fault down, or use a smaller spacing")])
    return weight * use * (total / kept)[:, None]


def table(space, positions, tensors):
    """Return the indices of all points that moments touch, the number of rows, and the function that yields these."""
    d, count, touched = space.d, 0, {}
    top = d.grid.shape[0] - 1 if d.free else -1
    for field, moment in space.glut(tensors):
        axes = _spread(d, field, positions[moment != 0], _width(positions)).axes[::-1]
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
    return np.unique(np.concatenate(target).astype(np.int64)), count, lambda: blocks(space, positions, tensors)


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
        remedy = "write it as several files of up to 1,000 sources, or use a smaller spacing"
        raise ScenarioError([Problem("source", words, remedy)])
