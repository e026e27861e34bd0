"""Summation-by-parts closures of the staggered differences at a traction-free surface (tables,
norms, spectral radius).

Setting, one axis x into the medium in units of the spacing: integer points x = 0, 1, 2, ... (x = 0
on the surface; vx, vy, sxx, syy, szz, sxy) and half points x = 1/2, 3/2, ... (vz, sxz, syz; none at
or above the surface). D1 differentiates integer -> half, D2 half -> integer; inside both are the
Taylor stencils of the order. With diagonal norms Hp (integer) and Hm (half) they obey

    Hp D2 + (Hm D1)^T = -e0 ehat^T,                e0 picks x = 0, ehat extrapolates half points to
    x = 0,

the discrete integration by parts (Strand 1994, J. Comput. Phys. 110, 47; on staggered grids
O'Reilly, Lundquist, Dunham & Nordstrom 2017, J. Comput. Phys. 346, 572; Gao & Keyes 2019, arXiv
1802.08324). Traction-free is then imposed without parameters: sxz, syz vanish at x = 0 in the weak
sense, that is the boundary term is dropped, D2s = -Hp^-1 (Hm D1)^T; szz(0) = 0 exactly (its column
of D1 meets a zero); dvz/dz is wanted at x >= 1 only (rows >= 1 of D2 and D2s agree) because at x =
0 the medium is in plane stress. So the discrete energy with weights Hp, Hm is conserved in any
medium.

Derivation (bench/derive_closure.py): the block B = Hm D1 (first rows and columns), Hp and Hm enter
the accuracy conditions B p = Hm p' and -B^T q - e0 q(0) = Hp q' (monomials p, q up to degree 2; 1
for order 2) linearly; they are solved in rational arithmetic. What stays free (2 numbers for order
4, 14 for orders 6 and 8) is chosen to make the discrete Rayleigh speed (Vp/Vs 1.73 and 3.5) and the
frequencies and shapes of standing waves of both pairs (vx, sxz) and (szz, vz) accurate at 5 to 10
points per wavelength, with norms above 1/4 and a spectral radius within 0.03 % of the interior
value 2 sum|c|: the time step is not reduced. Exactness to degree 3 needs 6 rows and is less
accurate at those wavelengths. Order 2 gives Hp(0) = 1/2 and nothing else, the classical stress
imaging (Levander 1988).

A surface traction or a point force on the surface is the value of szz at x = 0 that meets the first
column of D1. From B^T q = -e0 q(0) - Hp q' follow the weights on vz, `surface` = -B[:, 0], exactly
adjoint between source and receiver:
    force F along x:  vz += dt F surface / (hm rho h^3), and in the velocity update sxx, syy at the
    point count
                      -lam / (lam + 2 mu) F / h^2 more than their stored values;
    value:            vz(0) = sum surface vz + hp(0) lam / (lam + 2 mu) h (exx + eyy)(0), exx and
    eyy rates of strain.
"""

from dataclasses import dataclass, replace
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
        Derivative into the medium at half point r + 1/2 from integer points: ``sum_c d1[r, c] f[c]
        / h``.
    d2 : (rows, cols) array
        Derivative into the medium at integer point r from half points c + 1/2 with zero traction at
        x = 0 (D2s).
    hp, hm : (rows,) arrays
        Norms (quadrature weights in units of h) of the integer and half points.
    surface : (rows,) array
        Weights on half points with which a traction on the surface acts, and vz on the surface is
        read (see the module's text).
    spectral_radius : float
        Largest sqrt of an eigenvalue of -D1 D2s (and of the variant with szz(0) = 0, never larger)
        in units of 1/h.
    stress : pair of arrays or None
        What `d1` and `d2` are for components of stress; None: the same (imaging.py has others).
    """

    rows: int
    cols: int
    d1: np.ndarray
    d2: np.ndarray
    hp: np.ndarray
    hm: np.ndarray
    surface: np.ndarray
    spectral_radius: float
    stress: tuple | None = None

    def stretched(self, rise: float) -> "Closure":
        """Return the same for planes `rise` spacings apart; norms stay in units of that distance."""
        if rise == 1:
            return self
        stress = self.stress and tuple(d / rise for d in self.stress)
        changed = {"d1": self.d1 / rise, "d2": self.d2 / rise, "stress": stress}
        return replace(self, spectral_radius=self.spectral_radius / rise, **changed)


# order: (denominator, hm, hp, B) with B = Hm D1 restricted to the first rows and columns;
# everything over the denominator.
_TABLES = {
    2: (2, [2], [1], [[-2]]),
    4: (
        576,
        [659, 399, 705, 541],
        [189, 753, 471, 603],
        [[-668, 686, -27, 9], [51, -552, 552, -51], [75, -201, -552, 702], [-34, 67, 27, -684]],
    ),
    6: (
        92160,
        [108311, 53292, 127443, 77209, 94770, 91935],
        [27360, 135015, 44715, 130005, 73305, 96480],
        [
            [-108446, 111191, -6420, 3330, 1755, -1410],
            [4869, -67026, 64425, 315, -3438, 855],
            [17886, -57429, -64884, 105480, -3465, 2412],
            [-2092, 2593, 6447, -91620, 87210, -2970],
            [-6240, 14265, 873, -21105, -86175, 103950],
            [1863, -3594, -441, 3600, 4545, -108405],
        ],
    ),
    8: (
        645120,
        [763847, 353514, 918246, 522508, 670635, 641970],
        [188685, 954555, 298830, 924210, 503685, 678195],
        [
            [-765557, 787067, -51735, 32985, 4905, -7665],
            [39843, -469362, 463710, -33930, 1449, -1710],
            [133932, -422658, -483258, 810360, -68670, 30744],
            [-25219, 31696, 81354, -709380, 656775, -40950],
            [-42420, 101250, -10269, -116865, -639450, 753480],
            [14301, -27993, 198, 16380, 50715, -779625],
        ],
    ),
}
HIGHEST = max(_TABLES)  # order


def taylor(order):
    """Coefficients c_1 .. c_{order/2} of the staggered first difference sum c_k (f[k - 1/2] - f[1/2
    - k]) (Fornberg 1988).
    """
    k = np.arange(1, order // 2 + 1)
    others = [np.delete(k, i) for i in range(k.size)]
    odd = [np.prod((2.0 * o - 1) ** 2 / np.abs((2.0 * o - 1) ** 2 - (2 * q - 1) ** 2)) for q, o in zip(k, others)]
    return (-1.0) ** (k + 1) * np.array(odd) / (2 * k - 1)


def operators(order, half_points):
    """Dense (B, hm, hp) of a long grid: `half_points` rows, one column more, surface at the first
    column, cut off at the other end.

    D1 = B / hm[:, None] and D2s = -B.T / hp[:, None] wherever the interior stencil is whole.
    """
    b, hm, hp = (np.zeros((half_points, half_points + 1)), np.ones(half_points), np.ones(half_points + 1))
    for k, c in enumerate(taylor(order), 1):
        b += c * (np.eye(half_points, half_points + 1, k) - np.eye(half_points, half_points + 1, 1 - k))
    denominator, *tables = _TABLES[order]
    m, p, block = (np.array(table, float) / denominator for table in tables)
    b[: m.size, : p.size], hm[: m.size], hp[: p.size] = block, m, p
    return b, hm, hp


@lru_cache
def closure(order):
    """Closure of `order` (2, 4, 6 or 8); ValueError otherwise. Its arrays are read-only."""
    if order not in _TABLES:
        raise ValueError(f"no closure of order {order}: choose {', '.join(map(str, _TABLES))}")
    rows = len(_TABLES[order][1])
    cols = rows + order // 2
    b, hm, hp = operators(order, _LONG)
    cut = float(np.linalg.norm(b / np.sqrt(hm)[:, None] / np.sqrt(hp), 2))
    radius = max(cut, 2 * float(np.abs(taylor(order)).sum()))
    d1, d2 = b[:rows, :cols] / hm[:rows, None], -b[:cols, :rows].T / hp[:rows, None]
    tables = (d1, d2, hp[:rows], hm[:rows], -b[:rows, 0])
    for table in tables:
        table.flags.writeable = False
    return Closure(rows, cols, *tables, radius)
