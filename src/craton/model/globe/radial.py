"""Radial Earth models: piecewise polynomials of radius with PREM's parameters, on either side of
discontinuities; elastic moduli.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from craton.host.compile import helper

SPHERES = Path(__file__).parent / "spheres.cpp"  # polynomials at nodes
# Shear and pressure speeds along the vertical (v) and across it (h), eta = F / (A - 2 L); qkappa
# and qmu stand for losses, 1 / Q.
PARAMETERS = ("rho", "vpv", "vph", "vsv", "vsh", "eta", "qkappa", "qmu")
ELASTIC = len(PARAMETERS) - 2
# relative change of density or speed that makes a discontinuity; PREM's polynomials meet within
# 2e-5 elsewhere
JUMP = 1e-3
LOOKED_AT = 20  # radii of a piece between two others at which the slowest wave is looked for
ISOTROPIC = 1e-12  # relative difference below which two speeds are one


@dataclass(frozen=True, eq=False)
class RadialModel:
    """An Earth that depends on radius alone."""

    name: str
    knots: np.ndarray  # (n + 1,): radii between pieces, m, rising; the last is the surface
    # (n, 8, d): of polynomials in r / radius of the surface, lowest power first, for `PARAMETERS` in SI (losses 1 / Q)
    coefficients: np.ndarray
    regions: tuple  # name of the region that each piece belongs to: ``"crust"``, ``"upper_mantle"``, ``"outer_core"``,

    @property
    def radius(self):
        """Radius of the surface, m."""
        return float(self.knots[-1])

    def piece(self, r, side="below"):
        """Index of the piece that holds radii r, m; a radius on a knot takes the piece of that side.

        `r`: radius, m; `side`: ``"below"`` or ``"above"``: which values a discontinuity gives. Raises ValueError: a
        radius outside the model by more than rounding.
        """
        r, fuzz = np.asarray(r, float), 1e-9 * self.radius
        outside = (r < self.knots[0] - fuzz) | (r > self.knots[-1] + fuzz) | np.isnan(r)
        if outside.any():
            limits = f"{self.knots[0] / 1e3:.10g} to {self.radius / 1e3:.10g} km"
            raise ValueError(f"radius {r[outside].flat[0] / 1e3:.10g} km is outside the model {self.name}, {limits}")
        pieces = np.searchsorted(self.knots, r, side="left" if _below(side) else "right") - 1
        return np.clip(pieces, 0, len(self.regions) - 1)

    def parameters(self, r, side="below", piece=None, rows=slice(None)):
        """`PARAMETERS`, or some `rows` of them, at radii r (any shape), m: array (8, ...).

        `side` "below" or "above": which values a discontinuity gives; `piece`: piece to evaluate, in place of the one
        that holds r.
        """
        r = np.asarray(r, float)
        if piece is None and r.ndim == 2:
            return self._of_elements(r, side, rows)
        pieces = np.broadcast_to(self.piece(r, side) if piece is None else piece, r.shape)
        x, values = (r / self.radius)[..., None], 0.0
        for coefficients in np.moveaxis(self.coefficients[:, rows][pieces], -1, 0)[::-1]:
            values = values * x + coefficients
        return np.moveaxis(values, -1, 0)

    def _of_elements(self, r, side, rows):
        """Return parameters at radii (ne, n), by compiled code."""
        coefficients = np.ascontiguousarray(self.coefficients[:, rows])
        pieces, count, powers = coefficients.shape
        r, knots = np.ascontiguousarray(r), np.ascontiguousarray(self.knots, float)
        out, fuzz = np.empty((count, *r.shape)), 1e-9 * self.radius
        sizes = (pieces, knots, count, powers, coefficients)
        if helper(SPHERES).call("polynomials", *r.shape, r, int(_below(side)), fuzz, self.radius, *sizes, out):
            self.piece(r, side)  # raises its error
        return out

    def medium(self, r, lossy=True):
        """vp, vs (m/s), rho (kg/m3), 1 / Qp, 1 / Qs at radii, those of `speeds` and of `inverse_q`: five arrays; losses 0
        if not `lossy`.

        `r`: radius, m.
        """
        if self.anisotropic:
            values = self.parameters(r)
            return *speeds(values), *inverse_q(values)
        names = ("rho", "vpv", "vsv", "qkappa", "qmu")[: 5 if lossy else 3]
        rho, vp, vs, *rest = self.parameters(r, rows=[PARAMETERS.index(name) for name in names])
        return vp, vs, rho, *(_of_waves(vp, vs, *rest) if lossy else (0.0, 0.0))

    def speeds(self, r, side="below", piece=None):
        """vp, vs (m/s), rho (kg/m3) at radii; of the Voigt average where the model is transversely isotropic.

        `r`: radius, m; `side`: ``"below"`` or ``"above"``: which values a discontinuity gives; `piece`: piece to
        evaluate, in place of the one that holds r.
        """
        return speeds(self.parameters(r, side, piece))

    def moduli(self, r, side="below", piece=None):
        """Love's A, C, F, L, N at radii, Pa: array (5, ...).

        `r`: radius, m; `side`: ``"below"`` or ``"above"``: which values a discontinuity gives; `piece`: piece to
        evaluate, in place of the one that holds r.
        """
        return love(self.parameters(r, side, piece))

    @cached_property
    def anisotropic(self):
        """True where it is transversely isotropic somewhere."""
        _, vpv, vph, vsv, vsh, eta = self.coefficients[:, :ELASTIC].swapaxes(0, 1)
        return not (
            np.allclose(vpv, vph, ISOTROPIC)
            and np.allclose(vsv, vsh, ISOTROPIC)
            and np.allclose(eta, np.eye(1, eta.shape[1]), ISOTROPIC)
        )

    def jumps(self):
        """Radii, rising, m, at which density or a speed changes by more than `JUMP` of itself; without surface and
        centre.
        """
        inner = self.knots[1:-1]
        below, above = (self.parameters(inner, side)[:ELASTIC] for side in ("below", "above"))
        with np.errstate(invalid="ignore"):
            change = np.abs(above - below) / np.maximum(np.abs(above), np.abs(below))
        return inner[np.nan_to_num(change).max(axis=0, initial=0) > JUMP]

    def region(self, r, side="below"):
        """Name of the region at one radius, m.

        `r`: radius, m; `side`: ``"below"`` or ``"above"``: which values a discontinuity gives.
        """
        return self.regions[int(self.piece(r, side))]

    def boundary(self, region):
        """Radii (bottom, top), m, of a region by its name.

        Raises KeyError: there is none of that name.
        """
        pieces = [n for n, name in enumerate(self.regions) if name == region]
        if not pieces:
            raise KeyError(f"{self.name} has no region {region}; it has {', '.join(dict.fromkeys(self.regions))}")
        return float(self.knots[pieces[0]]), float(self.knots[pieces[-1] + 1])

    def slowest(self, bottom, top):
        """Lowest wave speed between two radii, m/s: of shear waves, of pressure waves where it is fluid.

        `bottom`, `top`: radius, m.
        """
        limits = [bottom, *self.knots[(self.knots > bottom) & (self.knots < top)], top]
        r = np.unique(np.concatenate([np.linspace(a, b, LOOKED_AT) for a, b in zip(limits[:-1], limits[1:])]))
        sides = [self.speeds(r, side) for side in ("below", "above")]
        slow = np.array([np.where(vs > 0, vs, vp) for vp, vs, _ in sides])
        # not the values behind either end
        return float(np.min([slow[0, 1:].min(), slow[1, :-1].min()]))


def _below(side):
    if side not in ("below", "above"):
        raise ValueError(f"side = {side!r} is neither 'below' nor 'above'")
    return side == "below"


def love(parameters):
    """Love's A, C, F, L, N (Pa) from `PARAMETERS` (8, ...) (Dziewonski & Anderson 1981, section 3).

    `parameters` (8, ...): `PARAMETERS`.
    """
    rho, vpv, vph, vsv, vsh, eta = parameters[:ELASTIC]
    a, c, l, n = rho * vph**2, rho * vpv**2, rho * vsv**2, rho * vsh**2
    return np.array([a, c, eta * (a - 2 * l), l, n])


def speeds(parameters):
    """vp, vs (m/s) and rho (kg/m3) of `PARAMETERS`, of the isotropic medium with Voigt's moduli (Babuska & Cara 1991,
    eq. 2.25).

    `parameters` (8, ...): `PARAMETERS`.
    """
    a, c, f, l, n = love(parameters)
    rho = parameters[0]
    kappa, mu = (4 * a + c + 4 * f - 4 * n) / 9, (a + c - 2 * f + 6 * l + 5 * n) / 15
    mu = np.where(l == 0, 0.0, mu)  # rounding in a fluid
    return np.sqrt((kappa + 4 / 3 * mu) / rho), np.sqrt(mu / rho), rho


def inverse_q(parameters):
    """1 / Qp and 1 / Qs of `PARAMETERS` (8, ...), from those of bulk and shear modulus (Dziewonski & Anderson 1981, eq.
    4).

    `parameters` (8, ...): `PARAMETERS`.
    """
    return _of_waves(*speeds(parameters)[:2], *parameters[6:])


def _of_waves(vp, vs, kappa, mu):
    """1 / Qp and 1 / Qs from 1 / Q of bulk and shear modulus."""
    shear = 4 / 3 * (vs / vp) ** 2
    return (1 - shear) * kappa + shear * mu, np.where(vs > 0, mu, 0.0)


def stiffness(moduli, axis):
    """Stiffness of a transversely isotropic medium about any axis.

    `moduli` (5, ...): Love's A, C, F, L, N, Pa; `axis` (3, ...): unit vector of symmetry, in a chunk the radial
    direction. Returns (6, 6, ...): Pa, for stress and strain as xx, yy, zz, yz, xz, xy (shear strains doubled): c_ijkl
    of Browaeys & Chevrot (2004), eq. A1.
    """
    a, c, f, l, n = moduli
    d, v = np.eye(3), axis
    pairs = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
    out = np.empty((6, 6, *np.shape(a)))
    for p, (i, j) in enumerate(pairs):
        for q, (k, m) in enumerate(pairs):
            out[p, q] = (
                (a - 2 * n) * d[i, j] * d[k, m]
                + n * (d[i, k] * d[j, m] + d[i, m] * d[j, k])
                + (f - a + 2 * n) * (d[i, j] * v[k] * v[m] + v[i] * v[j] * d[k, m])
                + (l - n)
                * (d[i, k] * v[j] * v[m] + d[i, m] * v[j] * v[k] + d[j, k] * v[i] * v[m] + d[j, m] * v[i] * v[k])
                + (a + c - 2 * f - 4 * l) * v[i] * v[j] * v[k] * v[m]
            )
    return out
