"""Summation-by-parts closures of the staggered differences at a traction-free surface (tables, norms, spectral radius).

Setting, one axis x into the medium in units of the spacing: integer points x = 0, 1, 2, ... (x = 0 on the surface; vx, vy, sxx, syy, szz, sxy)
and half points x = 1/2, 3/2, ... (vz, sxz, syz; none at or above the surface). D1 differentiates integer -> half, D2 half -> integer; inside both
are the Taylor stencils of the order. With diagonal norms Hp (integer), Hm (half) they obey

    Hp D2 + (Hm D1)^T = -e0 ehat^T,                e0 picks x = 0, ehat extrapolates half points to x = 0,

the discrete integration by parts (Strand 1994, J. Comput. Phys. 110, 47; staggered: O'Reilly, Lundquist, Dunham & Nordstrom 2017, J. Comput. Phys.
344, 572; Gao, Keyes et al. 2019, Geophysics). Traction-free is then imposed without parameters: sxz, syz vanish at x = 0 in the weak sense, i.e. the
boundary term is dropped, D2s = -Hp^-1 (Hm D1)^T; szz(0) = 0 exactly (its column of D1 meets a zero); dvz/dz is wanted at x >= 1 only (rows >= 1 of
D2 and D2s agree) because at x = 0 the medium is in plane stress. So the discrete energy with weights Hp, Hm is conserved in any medium.

Derivation (bench/derive_closure.py): the block B = Hm D1 (first `size` rows and columns), Hp and Hm enter the accuracy conditions
B p = Hm p' and -B^T q - e0 q(0) = Hp q' (monomials p, q up to the boundary order) linearly; they are solved in rational arithmetic. What stays free is
chosen to make the discrete Rayleigh speed (Vp/Vs 1.73 and 3.5; 6 to 10 points per S wavelength) and the standing waves of both pairs (vx, sxz) and
(szz, vz) accurate, with positive norms and a spectral radius within 0.1 % of the interior value 2 sum|c|: the time step is not reduced.
Order 2 gives Hp(0) = 1/2 and nothing else, the classical stress imaging (Levander 1988).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_LONG = 200  # points of the grid on which the spectral radius is measured


@dataclass(frozen=True)
class Closure:
    """Differences near a traction-free surface; rows >= `rows` are the interior stencils.

    Attributes
    ----------
    rows, cols : int
        Rows that differ from the interior stencil and columns that they reach.
    d1 : (rows, cols) array
        Derivative into the medium at half point r + 1/2 from integer points: ``sum_c d1[r, c] f[c] / h``.
    d2 : (rows, cols) array
        Derivative into the medium at integer point r from half points c + 1/2 with zero traction at x = 0 (D2s).
    hp, hm : (rows,) arrays
        Norms (quadrature weights in units of h) of the integer and half points.
    surface : (rows,) array
        Weights that extrapolate half points to x = 0 (exact up to degree order - 1 or rows - 1); divided by hm they inject a surface force.
    spectral_radius : float
        Largest sqrt of an eigenvalue of -D1 D2s (and of the variant with szz(0) = 0, never larger) in units of 1/h.
    """

    rows: int
    cols: int
    d1: np.ndarray
    d2: np.ndarray
    hp: np.ndarray
    hm: np.ndarray
    surface: np.ndarray
    spectral_radius: float


# order: (denominator, hm, hp, B) with B = Hm D1 restricted to the first rows and columns; everything over the denominator.
_TABLES = {
    2: (2, [2], [1], [[-2]]),
    4: (
        576,
        [659, 399, 705, 541],
        [189, 753, 471, 603],
        [[-668, 686, -27, 9], [51, -552, 552, -51], [75, -201, -552, 702], [-34, 67, 27, -684]],
    ),
}


def taylor(order):
    """Coefficients c_1 .. c_{order/2} of the staggered first difference sum c_k (f[k - 1/2] - f[1/2 - k]) (Fornberg 1988)."""
    k = np.arange(1, order // 2 + 1)
    others = [np.delete(k, i) for i in range(k.size)]
    odd = [np.prod((2.0 * o - 1) ** 2 / np.abs((2.0 * o - 1) ** 2 - (2 * q - 1) ** 2)) for q, o in zip(k, others)]
    return (-1.0) ** (k + 1) * np.array(odd) / (2 * k - 1)


def operators(order, half_points):
    """Dense (B, hm, hp) of a long grid: `half_points` rows, one column more, surface at the first column, cut off at the other end.

    D1 = B / hm[:, None] and D2s = -B.T / hp[:, None] wherever the interior stencil is whole.
    """
    b, hm, hp = np.zeros((half_points, half_points + 1)), np.ones(half_points), np.ones(half_points + 1)
    for k, c in enumerate(taylor(order), 1):
        b += c * (np.eye(half_points, half_points + 1, k) - np.eye(half_points, half_points + 1, 1 - k))
    denominator, *tables = _TABLES[order]
    m, p, block = (np.array(table, float) / denominator for table in tables)
    b[: m.size, : p.size], hm[: m.size], hp[: p.size] = block, m, p
    return b, hm, hp


@lru_cache
def closure(order):
    """Closure of `order` (2, 4, 6 or 8); ValueError otherwise."""
    if order not in _TABLES:
        raise ValueError(f"no closure of order {order}: choose {', '.join(map(str, _TABLES))}")
    rows = len(_TABLES[order][1])
    cols = rows + order // 2
    b, hm, hp = operators(order, _LONG)
    radius = np.linalg.norm(b / np.sqrt(hm)[:, None] / np.sqrt(hp), 2)
    d1 = b[:rows, :cols] / hm[:rows, None]
    d2 = -b[:cols, :rows].T / hp[:rows, None]
    return Closure(
        rows, cols, d1, d2, hp[:rows], hm[:rows], _extrapolation(min(order, rows), rows), max(radius, 2 * np.abs(taylor(order)).sum())
    )


def _extrapolation(points, rows):
    """Lagrange weights of half points 1/2 .. points - 1/2 at x = 0, padded with zeros to `rows`."""
    x = np.arange(points) + 0.5
    weights = [np.prod(np.delete(x, i) / (np.delete(x, i) - x[i])) for i in range(points)]
    return np.pad(weights, (0, rows - points))
