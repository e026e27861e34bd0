"""Unit sources in the places of point sources: what the misfit changes by with their components,
their positions and their series falls out of the adjoint fields there.
"""

from dataclasses import replace

import numpy as np

from craton.methods.finite_difference import points

FORCES = 3
TENSOR = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
AXES = 3
# columns of each source: components, then derivatives by position
PARTS = {"force": FORCES + AXES, "moment": len(TENSOR) + AXES}
MOVED = 1e-3  # of the spacing: to both sides, for derivatives by position


def rows(d, source, kind):
    """Return (index, weight) of the unit components of a source, and of the derivatives of the
    source itself by its position along x, y, z, 1/m.

    Parameters
    ----------
    d : Discretisation
    source : PointSource
    kind : str
        ``"force"`` or ``"moment"``.
    """
    table = [_joined(_rows_of(d, source, kind, unit)) for unit in _units(kind)]
    return [*table, *(_moved(d, source, kind, axis) for axis in range(AXES))]


def _units(kind):
    """Return unit forces, or symmetric unit moment tensors."""
    if kind == "force":
        return list(np.eye(FORCES))
    tensors = np.zeros((len(TENSOR), 3, 3))
    for tensor, (a, b) in zip(tensors, TENSOR):
        tensor[a, b] = tensor[b, a] = 1
    return list(tensors)


def _rows_of(d, source, kind, strength):
    """Rows of a source with another strength."""
    changed = replace(source, **{kind: strength})
    return list((points.force_rows if kind == "force" else points.moment_rows)(d, changed))


def _moved(d, source, kind, axis):
    """Rows of the derivative by the position along an axis, central difference; none on a free
    surface for z, and for y in the plane.
    """
    step = MOVED * d.grid.spacing
    low, high = d.grid.bounds("xyz"[axis])
    if (d.planar and axis == 1) or not low + step < source.xyz[axis] < high - step:
        return np.zeros(0, int), np.zeros(0)
    parts = []
    for sign in (1, -1):
        xyz = np.array(source.xyz, float)
        xyz[axis] += sign * step
        strength = source.force if kind == "force" else source.moment
        moved = _rows_of(d, replace(source, xyz=xyz), kind, strength)
        parts += [(index, sign / (2 * step) * weight) for index, weight in moved]
    return _joined(parts)


def _joined(parts):
    """Return rows as one table."""
    if not parts:
        return np.zeros(0, int), np.zeros(0)
    return tuple(np.concatenate(part) for part in zip(*parts))


def collected(source, kind, taps, series):
    """Return derivatives by strength, position and series of a source from the taps of its unit
    sources.

    Parameters
    ----------
    source : PointSource
    kind : str
    taps : (steps, parts) array
    series : (steps,) array
        What it injects.
    """
    count = PARTS[kind] - AXES
    strength = (
        np.asarray(source.force, float)
        if kind == "force"
        else np.array([source.moment[axes] for axes in TENSOR])
    )
    return {
        "strength": series @ taps[:, :count],
        "position": series @ taps[:, count:],
        "series": taps[:, :count] @ strength,
    }
