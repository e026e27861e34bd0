"""Staggered differences at a traction-free surface: summation-by-parts closures (tables, norms,
spectral radius), and stress imaging beside them.

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

Stress imaging, of any order. Tractions are continued as odd functions through the surface
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

import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

# points of the grid on which the spectral radius of a closure, and of imaging, is measured
_LONG, _LONG_IMAGED = 200, 60
# of imaging: q(0) = sum of these q at half points - q'(0) / 2, exact to degree 2
_VALUE = np.array([7.0, 2.0, -1.0]) / 8


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
        What `d1` and `d2` are for components of stress; None: the same (stress imaging has others).
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


# order: [denominator, hm, hp, B]
_TABLES = {int(order): table for order, table in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()}
HIGHEST = max(_TABLES)  # order


def taylor(order):
    """Coefficients c_1 .. c_{order/2} of the staggered first difference sum c_k (f[k - 1/2] - f[1/2
    - k]) (Fornberg 1988).
    """
    k = np.arange(1, order // 2 + 1)
    others = [np.delete(k, i) for i in range(k.size)]
    odd = [np.prod((2.0 * o - 1) ** 2 / np.abs((2.0 * o - 1) ** 2 - (2 * q - 1) ** 2)) for q, o in zip(k, others)]
    return (-1.0) ** (k + 1) * np.array(odd) / (2 * k - 1)


def interior(order, half_points):
    """Dense difference from integer to half points of a long grid without closure: `half_points` rows, one column more."""
    out = np.zeros((half_points, half_points + 1))
    for k, c in enumerate(taylor(order), 1):
        out += c * (np.eye(half_points, half_points + 1, k) - np.eye(half_points, half_points + 1, 1 - k))
    return out


def operators(order, half_points):
    """Dense (B, hm, hp) of a long grid: `half_points` rows, one column more, surface at the first
    column, cut off at the other end.

    D1 = B / hm[:, None] and D2s = -B.T / hp[:, None] wherever the interior stencil is whole.
    """
    b, hm, hp = interior(order, half_points), np.ones(half_points), np.ones(half_points + 1)
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


# --- stress imaging -------------------------------------------------------------------------------


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
    stress1, stress2, d1, d2 = (d[:rows, : rows + reach] for d in imaged(order, lowered, rows + reach))
    hp = np.ones(rows)
    hp[0] = 0.5
    tables = (d1, d2, hp, np.ones(rows), np.pad(_VALUE, (0, rows - len(_VALUE))))
    for table in (*tables, stress1, stress2):
        table.flags.writeable = False
    return Closure(rows, rows + reach, *tables, spectral_radius(order, lowered), (stress1, stress2))


def imaged(order, lowered, half_points):
    """Dense differences (integer -> half, half -> integer) of stress and the same two of velocity,
    cut off at the other end.
    """
    reach, c = order // 2, taylor(order)
    forward = interior(order, half_points)
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
    """Replace a row by the centred difference of an order between the columns `after` - 1 and `after`."""
    d[row] = 0
    for k, weight in enumerate(taylor(order)):
        d[row, after + k], d[row, after - 1 - k] = weight, -weight


def spectral_radius(order, lowered):
    """Largest sqrt of an eigenvalue of the two products of a difference of velocity and one of
    stress, not below the interior's.
    """
    stress1, stress2, d1, d2 = imaged(order, lowered, _LONG_IMAGED)
    products = (d1 @ stress2, d2[1:] @ stress1[:, 1:])
    largest = max(np.abs(np.linalg.eigvals(one)).max() for one in products)
    return max(float(np.sqrt(largest)), 2 * float(np.abs(taylor(order)).sum()))
