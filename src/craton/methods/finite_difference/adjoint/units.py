"""Rows of unit sources in the places of point sources; see `craton.methods.waves.sources`."""

from dataclasses import replace

import numpy as np

from craton.methods.finite_difference import sides
from craton.methods.finite_difference.space import GridSpace
from craton.methods.waves.sources import AXES, MOVED, PARTS, collected, components, shifted

__all__ = ["PARTS", "collected", "rows"]


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
    table = [_rows_of(d, source, kind, unit) for unit in components(kind)]
    return [*table, *(_moved(d, source, kind, axis) for axis in range(AXES))]


def _rows_of(d, source, kind, strength):
    """Rows of a source with another strength, on its side of a contact."""
    fluid_first = [kind == "moment" and sides.isotropic(d, source.moment)]
    return GridSpace(d).point_rows([replace(source, **{kind: strength})], fluid_first)[:2]


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
        strength = source.force if kind == "force" else source.moment
        index, weight = _rows_of(d, shifted(source, axis, sign * step), kind, strength)
        parts.append((index, sign / (2 * step) * weight))
    return tuple(np.concatenate(part) for part in zip(*parts))
