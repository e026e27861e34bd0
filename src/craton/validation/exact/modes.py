"""Love and Rayleigh waves of a radial model: toroidal and spheroidal modes of any real angular order, by spectral elements
along radius; seismograms by their sum, overtones or surface waves alone (Dahlen & Tromp 1998, section 10.3).

No gravity, no rotation, no loss: the physics of `sem`. Displacement of a mode (Dahlen & Tromp 1998,
chapter 8), k^2 = nu (nu + 1): toroidal W(r) times the unit vector spherical harmonic C, spheroidal
U(r) P + V(r) B. At large nu it runs along the surface as exp i (omega t - (nu + 1/2) distance) /
sqrt(sin distance): phase speed there omega a / (nu + 1/2), group speed a d omega / d nu.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

DEGREE = 6  # of the elements
SPACING = 100e3  # m, their length at most: 1e-9 of the speeds at 40 s and longer
RIGID = 1e-4  # rad/s: below all modes of the Earth, above the rounding of motions of the whole
ROUNDS, CLOSE = 30, 1e-10  # Newton's steps at most, and the relative change of k after the last


@dataclass(frozen=True)
class Mode:
    """One mode at angular frequency `omega` (rad/s): angular order `nu`, speeds of phase and group
    along the surface, m/s.

    displacement (n, 1 or 2) is W, or U and V, at `Waves.radii` with the integral of rho r^2 (W^2 or
    U^2 + V^2) equal to 1.
    """

    omega: float
    nu: float
    phase: float
    group: float
    displacement: np.ndarray


@dataclass(frozen=True, eq=False)
class Waves:
    """Modes of the shells of a radial model between two radii, both of them free.

    Parameters
    ----------
    model : RadialModel
    kind : "love" or "rayleigh"
    depth : float
        Of the lower end, m. Waves of the surface do not see it some wavelengths down.
    spacing : float
        Longest element, m.

    Raises
    ------
    ValueError
        There is a fluid between.
    """

    model: object
    kind: str
    depth: float = 2.8e6
    spacing: float = SPACING

    @property
    def fields(self):
        """Functions of radius: W, or U and V."""
        return {"love": 1, "rayleigh": 2}[self.kind]

    @cached_property
    def _elements(self):
        """Radii (ne, n), integration weights (ne, n), derivative (ne, n, n), density (ne, n),
        Love's A, C, F, L, N (5, ne, n).
        """
        points, weights, derivative = gauss_lobatto(DEGREE)
        bottom, knots = self.model.radius - self.depth, self.model.knots
        ends = np.unique([bottom, *knots[knots > bottom]])
        cuts = [np.linspace(a, b, 1 + int(np.ceil((b - a) / self.spacing))) for a, b in zip(ends[:-1], ends[1:])]
        low, high = (np.concatenate([cut[side] for cut in cuts])[:, None] for side in (slice(None, -1), slice(1, None)))
        r, half = (low + high) / 2 + (high - low) / 2 * points, (high - low) / 2
        pieces = np.broadcast_to(self.model.piece((low + high) / 2), r.shape)
        moduli = self.model.moduli(r, piece=pieces)
        if (moduli[3] <= 0).any():
            where = f"{r[moduli[3] <= 0][0] / 1e3:.6g} km"
            raise ValueError(
                f"{self.model.name} is fluid at a radius of {where}, modes are of solid shells: take less depth, no ocean"
            )
        return (r, half * weights, derivative / half[:, :, None], self.model.parameters(r, piece=pieces)[0], moduli)

    @cached_property
    def radii(self):
        """Of the nodes, rising, m."""
        r = self._elements[0]
        return np.append(r[:, :-1].ravel(), r[-1, -1])

    @cached_property
    def _mass(self):
        """Diagonal mass, (n * fields,)."""
        r, weights, _, rho, _ = self._elements
        out = np.zeros(len(self.radii))
        np.add.at(out, self._numbers, weights * rho * r**2)
        return np.repeat(out, self.fields)

    @property
    def _numbers(self):
        """Node of each element's point, (ne, n)."""
        count, n = self._elements[0].shape
        return DEGREE * np.arange(count)[:, None] + np.arange(n)

    def _energy(self, k):
        """Twice the elastic energy (n * fields, n * fields) as a matrix, for any real k.

        Of Dahlen & Tromp (1998), chapter 8, without gravity, with Love's constants: f = (2 U - k V)
        / r, C U'^2 + 2 F U' f + (A - N) f^2 + L (V' - V/r + k U/r)^2 + N (k^2 - 2) V^2 / r^2;
        toroidal L (W' - W/r)^2 + N (k^2 - 2) W^2 / r^2.
        """
        r, weights, d, _, (a, c, f, l, n) = self._elements
        by_r, m = np.eye(r.shape[1]) / r[:, None, :], weights * r**2
        parts = (
            [(l * m, d - by_r, 0 * d), (n * (k**2 - 2) * m, by_r, 0 * d)]
            if self.kind == "love"
            else [
                ((c - f**2 / (a - n)) * m, 0 * d, d),
                ((a - n) * m, -k * by_r, (f / (a - n))[:, :, None] * d + 2 * by_r),
                (l * m, d - by_r, k * by_r),
                (n * (k**2 - 2) * m, by_r, 0 * d),
            ]
        )
        out = np.zeros((self.fields * len(self.radii),) * 2)
        for factor, tangential, radial in parts:
            strain = np.stack([radial, tangential], axis=-1)[..., 2 - self.fields :].reshape(*r.shape, -1)
            rows = (self.fields * self._numbers[:, :, None] + np.arange(self.fields)).reshape(len(r), -1)
            np.add.at(
                out,
                (rows[:, :, None], rows[:, None, :]),
                np.einsum("ep,epa,epb->eab", factor, strain, strain, optimize=True),
            )
        return out

    @cached_property
    def _powers(self):
        """The energy is a parabola in k; its coefficients divided by the root of masses, each in
        the band storage of eig_banded.
        """
        middle, plus, minus = (self._energy(k) for k in (0.0, 1.0, -1.0))
        root, wide = np.sqrt(self._mass), self.fields * (DEGREE + 1)
        whole = [part / np.outer(root, root) for part in (middle, (plus - minus) / 2, (plus + minus) / 2 - middle)]
        return np.array([[np.pad(np.diagonal(part, -row), (0, row)) for row in range(wide)] for part in whole])

    def _solved(self, nu, **chosen):
        """Angular frequencies of modes of an order, rising, and vectors of unit length; `chosen` as
        eig_banded has it.
        """
        from scipy.linalg import eig_banded

        k = np.sqrt(nu * (nu + 1))
        squares, vectors = eig_banded(np.tensordot([1, k, k * k], self._powers, 1), lower=True, **chosen)
        return np.sqrt(np.maximum(squares, 0)), vectors

    def _shapes(self, vectors):
        """Functions of radius (n, fields, modes) of vectors of unit length."""
        return (vectors / np.sqrt(self._mass)[:, None]).reshape(len(self.radii), self.fields, -1)

    def lowest(self, nu, count=1):
        """Return the lowest angular frequencies of an order, rising, their derivatives by nu, and
        shapes (n, fields, count).
        """
        k = np.sqrt(nu * (nu + 1))
        omega, vectors = self._solved(nu, select="i", select_range=(0, count - 1))
        by_k = self._powers[1] + 2 * k * self._powers[2]
        # Rayleigh's principle
        slopes = np.array([_product(by_k, v) for v in vectors.T]) / (2 * omega)
        return omega, slopes * (nu + 0.5) / k, self._shapes(vectors)

    def below(self, l, most, branches=None):
        """Angular frequencies of order l up to `most`, rising, without motions of the whole, and
        shapes (n, fields, modes).
        """
        omega, vectors = self._solved(l, select="v", select_range=(-1.0, most**2))
        rigid = omega < RIGID  # a turn or a shift, at l = 1
        return omega[~rigid][:branches], self._shapes(vectors[:, ~rigid][:, :branches])

    def at(self, omega, overtone=0, speed=4.5e3):
        """Return the `Mode` of a branch (0: the fundamental one) at an angular frequency, by
        Newton's method from a phase speed.
        """
        a, nu = self.model.radius, omega * self.model.radius / speed
        for _ in range(ROUNDS):
            speeds, slopes, shapes = (part[..., overtone] for part in self.lowest(nu, overtone + 1))
            change = (omega - speeds) / slopes
            nu += np.clip(change, -0.3 * nu, 0.3 * nu)
            if abs(change) < CLOSE * nu:
                return Mode(omega, nu, omega * a / (nu + 0.5), a * slopes, shapes)
        raise ArithmeticError(f"no mode of branch {overtone} at {2 * np.pi / omega:.5g} s")


def _product(band, v):
    """v A v of a symmetric matrix in lower band storage."""
    return sum(
        (1 if row == 0 else 2) * (diagonal[: len(v) - row] * v[row:] * v[: len(v) - row]).sum()
        for row, diagonal in enumerate(band)
    )


@lru_cache
def gauss_lobatto(degree):
    """Points (n,), weights (n,) and derivative matrix [at, of] (n, n) of Gauss-Lobatto-Legendre
    elements on -1 to 1.
    """
    legendre = np.polynomial.legendre.Legendre.basis(degree)
    points = np.concatenate([[-1.0], np.sort(legendre.deriv().roots().real), [1.0]])
    apart = points[:, None] - points + np.eye(degree + 1)
    scale = apart.prod(axis=1)
    derivative = scale[:, None] / scale / apart
    np.fill_diagonal(derivative, 0)
    np.fill_diagonal(derivative, -derivative.sum(axis=1))
    return points, 2 / (degree * (degree + 1) * legendre(points) ** 2), derivative


# --- the sum of modes -------------------------------------------------------------------------------------------------

SMALLEST = 1e-5  # of the source's spectrum: modes beyond are not summed
BOTTOM = 2.891e6  # m, PREM's core-mantle boundary


def velocity(model, tensor, depth, sigma, distances, azimuths, t, branches=None, bottom=BOTTOM):
    """Velocity up, away from the source and 90 degrees clockwise from that, m/s: (stations, 3, nt).

    Of the shells above `bottom`, which is free, as the surface is. The moment rate is a Gaussian
    about t = 0; it holds from 5 sigma on.

    Parameters
    ----------
    model : RadialModel
    tensor : (6,) array
        Moment rr, tt, pp, rt, rp, tp, N m (r up, t south, p east).
    depth, sigma : float
        m, s.
    distances, azimuths : sequences of float
        Of the stations, degrees; azimuths clockwise from north at the source.
    t : (nt,) array
        s.
    branches : int, optional
        Lowest ones of each order that are summed: 1 leaves the fundamental Love and Rayleigh waves;
        all by default.
    bottom : float
        Depth, m.
    """
    most = np.sqrt(-2 * np.log(SMALLEST)) / sigma
    out = np.zeros((len(distances), 3, len(t)))
    for waves in (Waves(model, "rayleigh", bottom), Waves(model, "love", bottom)):
        l, omega = 0, np.ones(1)
        while len(omega) or l < 10:  # the lowest modes of the Earth are those of l = 2
            l += 1
            omega, shapes = waves.below(l, most, branches)
            excited = excitation(waves, shapes, l, tensor, depth) * (2 * l + 1) / (4 * np.pi)
            parts = np.array(
                [seen(waves, shapes[-1], excited, l, *np.radians(place)) for place in zip(distances, azimuths)]
            )
            out += parts * (np.exp(-((omega * sigma) ** 2) / 2) / omega) @ np.sin(omega[:, None] * t)
    return out


def seen(waves, top, excited, l, angle, azimuth):
    """Amplitudes up, away, clockwise at the surface, (3, modes), of modes with functions of radius
    `top` (fields, modes) there.
    """
    # phi counts from south over east
    m, phi, k = np.arange(3), np.pi - azimuth, np.sqrt(l * (l + 1))
    p, slope = legendre(l, angle)
    around, turned = (
        np.array([np.cos(m * phi), np.sin(m * phi)]),
        np.array([-m * np.sin(m * phi), m * np.cos(m * phi)]),
    )
    value, south, east = (
        np.einsum("nms,sm,m->n", excited, c, q) for c, q in ((around, p), (around, slope), (turned, p / np.sin(angle)))
    )
    if waves.kind == "rayleigh":
        return np.array([top[0] * value, top[1] * south / k, -top[1] * east / k])
    return np.array([0 * value, top[0] * east / k, top[0] * south / k])


def excitation(waves, shapes, l, tensor, depth):
    """Moment tensor times strain of each mode at the source: factors of cos m phi and sin m phi,
    (modes, 3, 2).
    """
    rr, tt, pp, rt, rp, tp = tensor
    r, k = waves.model.radius - depth, np.sqrt(l * (l + 1))
    values, slopes = at_radius(waves, shapes, r)
    zero = np.zeros(shapes.shape[-1])
    if waves.kind == "love":
        shear, turn = (slopes[0] - values[0] / r) / k, values[0] / (k * r)
        rows = (((zero, zero)), (-rp * shear, rt * shear), (-tp * turn, (tt - pp) / 2 * turn))
    else:
        u, v = values
        shear = (slopes[1] - v / r) / k + u / r
        rows = (
            (rr * slopes[0] + (tt + pp) * (u - k * v / 2) / r, zero),
            (rt * shear, rp * shear),
            ((tt - pp) / 2 * v / (k * r), tp * v / (k * r)),
        )
    return np.moveaxis(np.array(rows), -1, 0)


def at_radius(waves, shapes, r):
    """Functions of radius and their derivatives at r, m, by the polynomials of its element: two of
    (fields, modes).
    """
    ends = waves.radii[::DEGREE]
    e = int(np.clip(np.searchsorted(ends, r) - 1, 0, len(ends) - 2))
    own, x = (shapes[DEGREE * e : DEGREE * (e + 1) + 1], 2 * (r - ends[e]) / (ends[e + 1] - ends[e]) - 1)
    points, _, derivative = gauss_lobatto(DEGREE)
    at = np.array([np.prod([(x - q) / (p - q) for q in points if q != p]) for p in points])
    return np.tensordot(at, own, 1), np.tensordot(at @ derivative, own, 1) * 2 / (ends[e + 1] - ends[e])


def legendre(l, angle):
    """P_lm(cos angle), m = 0, 1, 2, without Condon's and Shortley's sign, and derivatives by the
    angle, at an angle: (3,), (3,).
    """
    from scipy.special import lpmv

    p = np.array([lpmv(m, l, np.cos(angle)) * (-1) ** m for m in range(4)])
    below = np.array([-p[1] / (l * (l + 1)), p[0], p[1]])
    return p[:3], np.array([(l + m) * (l - m + 1) * below[m] - p[m + 1] for m in range(3)]) / 2
