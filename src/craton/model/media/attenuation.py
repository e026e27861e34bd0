"""Attenuation by relaxation mechanisms: their frequencies and anelastic coefficients for a wanted
Q, and the medium that results.

The generalised Maxwell body of Emmerich & Korn (1987, Geophysics 52, 1252-1264), the same as a
generalised Zener body (Moczo & Kristek 2005, GRL 32, L01306). Fourier convention exp(+i w t). A
modulus relaxes from M_U at high frequency,

    M(w) / M_U = 1 - sum_l Y_l w_l / (w_l + i w),        1/Q = Im M / Re M,

with the memory variables xi_l of a strain (rate) e:  d xi_l/dt = w_l (e - xi_l),  stress (rate) =
M_U (e - sum_l Y_l xi_l).

Coefficients depend on Q alone, so they are fitted for a few losses s = 1/Q and kept as polynomials,
Y_l(s) = s (c0 + c1 s + c2 s^2 ...): a solver needs s at each point and these few numbers, whatever
the number of mechanisms.

What a point stores is its own matter. "full": all mechanisms. "coarse": one of them (Day 1998, BSSA
88, 1051-1062); "paired": two of four; "mixed": two of four for shear stresses, one for normal ones.
Points belong to classes, as many to each, in a pattern that repeats after two points along each
axis, one pattern for the normal stresses and one for each shear stress. What a wave then sees is
not quite the mean modulus over the classes, as the strain is larger where the point is softer: to
second order M_U (1 - <D> - theta var D) with D the relaxation of each class; theta = 1 would be the
harmonic mean. theta depends on wave and direction; the fit takes its mean, and the `PATTERNS` of
four classes are those, found by search, in which the moduli of P and S waves in a Poisson solid
vary least with direction (0.09 % at Q = 20; with one pattern for all stresses 0.25 % at best). What
is left at low Q is near a source or receiver: its point is softer or stiffer than the mean. Pairs
lie in a chequerboard, each next to the other on all sides: 3 to 4 wavelengths from a force at Q =
20 the worst spectral amplitude is off by 1.2 or 1.6 %, by where the force is (the first and the
last, the second and the third in other patterns of two classes up to 2.5 %).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

MOST = 4  # mechanisms
THETA = 0.57  # with the third order, for the lowest Q
STORED = {  # mechanisms that a point of each class stores
    "coarse": {1: ((0,),), 2: ((0,), (1,)), 3: ((0,), (1,), (2,), (1,)), 4: ((0,), (1,), (2,), (3,))},
    "paired": {4: ((0, 2), (1, 3))},
    "full": {n: (tuple(range(n)),) for n in range(1, MOST + 1)},
}
# Of normal and of shear stresses; "mixed": S waves are the shorter ones.
STORAGES = {
    "coarse": ("coarse", "coarse"),
    "mixed": ("coarse", "paired"),
    "paired": ("paired", "paired"),
    "full": ("full", "full"),
}
# Classes of the points 4 odd(i) + 2 odd(j) + odd(k), in the plane 2 odd(i) + odd(k), for normal
# stresses, sxy, sxz, syz.
PATTERNS = {2: ("01101001",) * 4, 4: ("32032110", "21321030", "33101022", "13230102")}
PLANAR = {2: ("0110",) * 4, 4: ("0123", "0231", "2013", "2013")}
DEGREE = 4  # numbers of a polynomial of the coefficients in 1/Q
SAMPLES = 61  # frequencies in the band at which the fit is made
NODES = 8  # losses at which it is made
BEYOND_FITTED = 1.25  # 1/Q over the largest for which mechanisms were fitted: their Q is then a little off
# relaxation frequencies over the band's, in logarithm: those tried
SPANS = np.linspace(0.3, 1.4, 34)
ROUNDS = 40  # of Lawson's weights


@dataclass(frozen=True)
class Relaxation:
    """Mechanisms fitted to Q = Q0 (f / frequency)^power over a band."""

    band: tuple[float, float]  # (float, float), Hz
    frequency: float  # where the given speeds are phase velocities and the given Q holds, Hz
    power: float  # exponent of Q's growth with frequency
    storage: str  # "coarse", "mixed", "paired" or "full": see the module's text
    omega: np.ndarray  # (L,): relaxation frequencies, rad/s, rising
    # (DEGREE, L): c of Y_l(s) = s (c[0] + c[1] s + ...); Y_l is that of the points that store mechanism l, for normal
    # stresses
    polynomials: np.ndarray
    of_shear: np.ndarray  # (DEGREE, L): the same for shear stresses
    largest: float  # largest 1/Q0 that was fitted

    @property
    def stored(self):
        """Mechanisms that a point of each class stores for normal stresses: tuple of tuples."""
        return STORED[STORAGES[self.storage][0]][len(self.omega)]

    @property
    def stored_of_shear(self):
        """Mechanisms that a point of each class stores for shear stresses: tuple of tuples."""
        return STORED[STORAGES[self.storage][1]][len(self.omega)]

    def coefficients(self, inverse_q):
        """Strengths Y_l of the mechanisms.

        `inverse_q`: 1/Q0 at the reference frequency. Returns ndarray, shape (..., L).
        """
        return _polynomial(self.polynomials, np.asarray(inverse_q, dtype=float))

    def modulus(self, frequency, inverse_q):
        """Complex modulus M(f) / M_U.

        `frequency` shape (n,), Hz; `inverse_q`: 1/Q0 at the reference frequency. Returns ndarray, shape (..., n).
        """
        return relaxed(self.coefficients(inverse_q), self.omega, 2 * np.pi * np.atleast_1d(frequency), self.stored)

    def fitted_inverse_q(self, frequency, inverse_q):
        """1/Q of the fitted medium: array (..., n).

        `frequency`, `inverse_q`: as of `modulus`.
        """
        m = self.modulus(frequency, inverse_q)
        return m.imag / m.real

    def speed(self, frequency, inverse_q):
        """Phase velocity over that at the reference frequency: array (..., n).

        `frequency`, `inverse_q`: as of `modulus`.
        """
        at = np.append(np.atleast_1d(frequency), self.frequency)
        slowness = (1 / np.sqrt(self.modulus(at, inverse_q))).real
        return slowness[..., -1:] / slowness[..., :-1]

    def unrelaxed(self, inverse_q):
        """M_U over rho c^2, with c the phase velocity at the reference frequency: array (...).

        `inverse_q`: 1/Q0 at the reference frequency.
        """
        return (1 / np.sqrt(self.modulus(self.frequency, inverse_q))).real[..., 0] ** 2

    def unrelaxed_slope(self, inverse_q):
        """Return the derivative of `unrelaxed` by 1/Q0: array (...).

        `inverse_q`: 1/Q0 at the reference frequency.
        """
        loss = np.asarray(inverse_q, dtype=float)
        rows = np.arange(1, len(self.polynomials) + 1)[:, None] * self.polynomials
        by_loss = _polynomial(rows, loss) / np.where(loss > 0, loss, 1.0)[..., None]
        by_loss = np.where(loss[..., None] > 0, by_loss, rows[0])
        omega = 2 * np.pi * np.atleast_1d(self.frequency)
        arguments = self.coefficients(loss), by_loss, self.omega, omega, self.stored
        modulus, slope = (part[..., 0] for part in _relaxed_with_slope(*arguments))
        root = 1 / np.sqrt(modulus)
        return 2 * root.real * (-0.5 * root / modulus * slope).real

    def target(self, frequency, inverse_q):
        """1/Q that the scenario asks for: array (..., n).

        `frequency`, `inverse_q`: as of `modulus`.
        """
        return (
            np.asarray(inverse_q, dtype=float)[..., None] * (np.atleast_1d(frequency) / self.frequency) ** -self.power
        )

    def error(self, inverse_q):
        """Largest relative error of Q in the band: array (...).

        `inverse_q`: 1/Q0 at the reference frequency, above 0.
        """
        f = np.geomspace(*self.band, 4 * SAMPLES)
        return np.abs(self.target(f, inverse_q) / self.fitted_inverse_q(f, inverse_q) - 1).max(-1)


def relaxation(band, largest, mechanisms=3, frequency=None, power=0.0, storage="coarse"):
    """Fit mechanisms.

    Relaxation frequencies lie evenly in logarithm about the band's middle; their span is the one with the smallest
    worst error of Q. Coefficients are non-negative and minimise the worst relative error of 1/Q (least squares with
    Lawson's weights).

    `band` (float, float): lowest and highest frequency, Hz; `largest`: largest 1/Q0 of the model; `mechanisms`: 1 to 4;
    `frequency`: reference frequency, Hz; the band's geometric mean where it is not given; `power`: exponent of Q = Q0
    (f / frequency)^power; `storage` "coarse", "mixed", "paired" or "full": "mixed" and "paired" are for 4 mechanisms
    only. Raises ValueError: losses too large for these mechanisms: a relaxed modulus would not be positive.
    """
    band = tuple(map(float, band))
    return _relaxation(band, float(largest), mechanisms, frequency, float(power), storage)


# a plan asks for the same fit at several places
@lru_cache(maxsize=32)
def _relaxation(band, largest, mechanisms, frequency, power, storage):
    """Fit mechanisms as `relaxation` says; the arrays cannot be written to, as they are shared."""
    stored, of_shear = (STORED[kind][mechanisms] for kind in STORAGES[storage])
    middle = np.sqrt(band[0] * band[1])
    frequency = frequency or middle
    omega = 2 * np.pi * np.geomspace(*band, SAMPLES)
    shape = (omega / (2 * np.pi * frequency)) ** -power
    nodes = largest * np.sin(np.arange(1, NODES + 1) * np.pi / (2 * NODES))
    spans = SPANS if mechanisms > 1 else [0.0]
    trials = np.array([_frequencies(band, middle, mechanisms, span) for span in spans])
    worst, _ = _fit(omega, trials, np.tile(nodes[NODES // 2] * shape, (len(trials), 1)), stored)
    rates = trials[int(np.argmin(worst))]
    fitted = _polynomials(omega, rates, nodes, shape, stored)
    shear = fitted if of_shear == stored else _polynomials(omega, rates, nodes, shape, of_shear)
    if fitted is None or shear is None:
        raise ValueError(f"Q = {1 / largest:.4g} is too low for {mechanisms} mechanism(s) with {storage} storage")
    for shared in (rates, fitted, shear):
        shared.flags.writeable = False
    return Relaxation(band, float(frequency), power, storage, rates, fitted, shear, largest)


def _polynomials(omega, rates, nodes, shape, stored):
    """Coefficients of Y_l(s) from fits at the losses `nodes`: (DEGREE, L); None where a relaxed
    modulus would not be positive.
    """
    _, values = _fit(omega, np.tile(rates, (len(nodes), 1)), nodes[:, None] * shape, stored)
    least = 1 - values[:, list(stored)].sum(-1).max(-1)
    if not np.isfinite(values).all() or (least <= 0).any():
        return None
    powers = nodes[:, None] ** np.arange(DEGREE)
    return np.linalg.lstsq(powers, values / nodes[:, None], rcond=None)[0]


def classes(count, planar=False):
    """Class of a point by (pattern, row, odd i): int array (4, 4, 2), row = odd(j) + 2 odd(k); (4, 2, 2) in the plane,
    row = odd(k).

    `count`: mechanisms.
    """
    patterns = (PLANAR if planar else PATTERNS)[count]
    table = np.array([[int(c) for c in pattern] for pattern in patterns])
    if planar:
        return table.reshape(4, 2, 2).transpose(0, 2, 1)
    return table.reshape(4, 2, 2, 2).transpose(0, 3, 2, 1).reshape(4, 4, 2)


def relaxed(coefficients, rates, omega, stored):
    """Complex M(w) / M_U that waves see, for coefficients (..., L), relaxation frequencies (L,) and omega (n,): array
    (..., n).

    `coefficients` (..., L); `rates` (L,): relaxation frequencies, rad/s; `omega` (n,) in rad/s.
    """
    parts = _parts(coefficients, rates, omega, stored)
    mean = parts.mean(-1)
    return 1 - mean - THETA * ((parts - mean[..., None]) ** 2).mean(-1)


def _relaxed_with_slope(coefficients, slopes, rates, omega, stored):
    """`relaxed`, and its derivative where the coefficients have the derivatives `slopes`."""
    parts, moved = (_parts(c, rates, omega, stored) for c in (coefficients, slopes))
    mean, drift = (v.mean(-1, keepdims=True) for v in (parts, moved))
    bent = 2 * THETA * ((parts - mean) * (moved - drift)).mean(-1)
    return relaxed(coefficients, rates, omega, stored), -drift[..., 0] - bent


def _parts(coefficients, rates, omega, stored):
    """Return what the mechanisms of each class of points take of a modulus: (..., n, classes)."""
    each = coefficients[..., None, :] * rates / (rates + 1j * omega[:, None])
    return each[..., list(stored)].sum(-1)


def _polynomial(c, s):
    value = np.zeros((*s.shape, c.shape[1]))
    for row in c[::-1]:
        value = (value + row) * s[..., None]
    return value


def _frequencies(band, middle, count, span):
    """Relaxation frequencies, rad/s: `count` between the band's limits, these drawn out from the
    middle by the factor `span`.
    """
    ends = (np.asarray(band) / middle) ** span
    return 2 * np.pi * middle * (np.geomspace(*ends, count) if count > 1 else np.ones(1))


def _fit(omega, rates, loss, stored):
    """Fit coefficients (m, L) of the rates (m, L) to 1/Q, `loss` (m, n) at omega (n,), and return the worst relative errors
    of 1/Q (m,) with them: infinite, with nan, where a modulus would not be positive.

    Im M = loss Re M is linear in Y (Emmerich & Korn 1987, eq. 23) but for the variance over the
    classes: that of the round before is taken.
    """
    # of the points, that store each mechanism
    share = np.bincount(np.ravel(stored), minlength=rates.shape[1]) / len(stored)
    r = share * rates[:, None] / (rates[:, None] + 1j * omega[:, None])
    matrix = (loss[..., None] * r.real - r.imag) / loss[..., None]
    weight, target = np.ones(loss.shape), np.ones(loss.shape)
    best, coefficients = np.full(len(rates), np.inf), np.full(rates.shape, np.nan)
    for _ in range(ROUNDS):
        y = _non_negative(matrix * weight[..., None], target * weight)
        m = relaxed(y, rates[:, None], omega, stored)
        with np.errstate(all="ignore"):
            error = np.abs(m.imag / (m.real * loss) - 1)
        possible = np.isfinite(error).all(1) & (m.real > 0).all(1)
        worst = np.where(possible, error.max(1), np.inf)
        better = worst < best
        best[better], coefficients[better] = worst[better], y[better]
        if not possible.any():
            break
        error[~possible] = 1  # a fit that failed keeps its weights; its best round counts
        lost = m - 1 + (r * y[:, None]).sum(-1)  # what is not linear
        target = np.where(possible[:, None], 1 + lost.real - lost.imag / loss, target)
        weight = weight * np.sqrt(error / error.max(1, keepdims=True) + 1e-3)
        weight /= weight.max(1, keepdims=True)
    return best, coefficients


def _non_negative(matrix, target):
    """Least squares without negative unknowns, (m, L), of matrices (m, n, L): those that come out negative are left out, the
    worst first.

    scipy.optimize.nnls solves a round exactly. After all rounds the worst error of Q is the same in 174 of 176 fits (1 to 4
    mechanisms, Q 10 to 100), and in two it is larger: 1.2 % rather than 0.9 %.
    """
    used = np.ones(matrix[:, 0].shape, bool)  # unknowns that are not left out
    y = np.zeros(used.shape)
    rows = np.arange(len(matrix))  # systems that are still to be solved
    while len(rows):
        of_rows = used[rows]
        inverse = np.linalg.pinv(matrix[rows] * of_rows[:, None], rcond=matrix.shape[1] * np.finfo(float).eps)
        y[rows] = np.where(of_rows, (inverse @ target[rows][..., None])[..., 0], 0)
        rows = rows[(y[rows].min(1) < 0) & (of_rows.sum(1) > 1)]
        used[rows, y[rows].argmin(1)] = False
    return np.maximum(y, 0)
