"""Stress imaging at a traction-free surface, of any order, beside the summation-by-parts closures
of closure.py; and the choice of one.

Setting and names as in closure.py. Tractions are continued as odd functions through the surface
(Levander 1988, Geophysics 53, 1425; Graves 1996, BSSA 86, 1091): szz(-x) = -szz(x) with szz(0) = 0,
sxz(-x) = -sxz(x), the same for syz. Velocities have no such symmetry. Where their difference would
reach above the surface, it is the centred one of the highest order that does not: order 2 in the
first row, 4 in the second (Levander and Graves continue velocities upwards by the traction-free
conditions of order 2 instead; Kristek, Moczo & Archuleta 2002, Stud. Geophys. Geod. 46, 355, take
one-sided differences of order 4, which for stresses continued as odd functions have growing modes:
tests/inverse/test_imaging.py). Lowered, all vertical differences that would reach above the surface are of
order 2, those of stress too (as Michea & Komatitsch 2010, Geophys. J. Int. 182, 389, and others
before them).

No norm makes these operators skew-adjoint: energy and reciprocity hold to the order of accuracy,
not to rounding, and stability is an observation (eigenvalues of half-spaces, long runs), not a
theorem. Either way Rayleigh waves converge with order 2.
"""

from functools import lru_cache

import numpy as np

from craton.methods.finite_difference.equations.closure import HIGHEST, Closure, closure, taylor

_LONG = 60  # points of the grid on which the spectral radius is measured
# q(0) = sum of these q at half points - q'(0) / 2, exact to degree 2
_VALUE = np.array([7.0, 2.0, -1.0]) / 8


def surface(kind, order):
    """Rows below a free surface: ``"sbp"``, ``"imaging"`` or ``"imaging-2"``; beyond order 8 those
    of order 8.
    """
    order = min(order, HIGHEST)
    return closure(order) if kind == "sbp" else imaging(order, kind == "imaging-2")


@lru_cache
def imaging(order, lowered=False):
    """Return the `Closure` of stress imaging; `lowered` to order 2 near the surface.

    Its arrays are read-only.
    """
    reach = order // 2
    rows = max(reach, len(_VALUE))
    stress1, stress2, d1, d2 = (d[:rows, : rows + reach] for d in operators(order, lowered, rows + reach))
    hp = np.ones(rows)
    hp[0] = 0.5
    tables = (d1, d2, hp, np.ones(rows), np.pad(_VALUE, (0, rows - len(_VALUE))))
    for table in (*tables, stress1, stress2):
        table.flags.writeable = False
    return Closure(rows, rows + reach, *tables, spectral_radius(order, lowered), (stress1, stress2))


def operators(order, lowered, half_points):
    """Dense differences (integer -> half, half -> integer) of stress and the same two of velocity,
    cut off at the other end.
    """
    reach, c = order // 2, taylor(order)
    forward = np.zeros((half_points, half_points + 1))
    for k, weight in enumerate(c, 1):
        forward += weight * (np.eye(half_points, half_points + 1, k) - np.eye(half_points, half_points + 1, 1 - k))
    backward = -forward.T
    stress = [forward.copy(), backward.copy()]
    velocity = [forward.copy(), backward.copy()]
    # the row's lower neighbour: half point first + 1/2 has integer points up to it, and after it
    for first in range(reach):
        for above in range(first + 2, reach + 1):
            stress[0][first, above - first - 1] += c[above - 1]
        for above in range(first + 1, reach + 1):
            stress[1][first, above - first - 1] += c[above - 1]
    for row in range(reach - 1):
        _centred(velocity[0], row, row + 1, 2 * (row + 1))
        _centred(velocity[1], row + 1, row + 1, 2 * (row + 1))
    if lowered:
        for row in range(reach - 1):
            for d in (stress, velocity):
                _centred(d[0], row, row + 1, 2)
                _centred(d[1], row + 1, row + 1, 2)
        stress[1][0] = 2 * np.eye(half_points)[0]
    return *stress, *velocity


def _centred(d, row, after, order):
    """Replace a row by the centred difference of an order between the columns `after` - 1 and
    `after`.
    """
    d[row] = 0
    for k, weight in enumerate(taylor(order)):
        d[row, after + k], d[row, after - 1 - k] = weight, -weight


def spectral_radius(order, lowered):
    """Largest sqrt of an eigenvalue of the two products of a difference of velocity and one of
    stress, not below the interior's.
    """
    stress1, stress2, d1, d2 = operators(order, lowered, _LONG)
    products = (d1 @ stress2, d2[1:] @ stress1[:, 1:])
    largest = max(np.abs(np.linalg.eigvals(one)).max() for one in products)
    return max(float(np.sqrt(largest)), 2 * float(np.abs(taylor(order)).sum()))
