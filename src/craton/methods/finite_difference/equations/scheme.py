"""The scheme in numbers: where fields are on the cell, difference weights, stability and
dispersion.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from craton.conventions import STRESS, VELOCITY
from craton.methods.finite_difference.equations.closure import HIGHEST, taylor

FIELDS = (*VELOCITY, *STRESS)
# Fields that are computed: in space, and in the (x, z) plane for motion in it and across it.
MOTION = {None: FIELDS, "P-SV": ("vx", "vz", "sxx", "szz", "sxz"), "SH": ("vy", "sxy", "syz")}
ACOUSTIC = {None: (*VELOCITY, "s"), "P-SV": ("vx", "vz", "s")}  # s = -p, in place of all stresses
ORDERS = (2, 4, 6, 8, 10, 12, 14, 16)
# of Holberg's weights: bound of the relative error of group velocity in their band
GROUP_ERROR = 1e-3

# Which axes (x, y, z) of a field are half a cell after the integer point.
HALF = {
    "vx": (1, 0, 0),
    "vy": (0, 1, 0),
    "vz": (0, 0, 1),
    "sxx": (0, 0, 0),
    "syy": (0, 0, 0),
    "szz": (0, 0, 0),
    "sxy": (1, 1, 0),
    "sxz": (1, 0, 1),
    "syz": (0, 1, 1),
    "s": (0, 0, 0),
}


@lru_cache
def holberg(order, bound=GROUP_ERROR):
    """Weights c_1 .. c_R that keep the group velocity along an axis within `bound` over the widest
    band (Holberg 1987, eqs 12-16).

    The group velocity is in error by e(phase) = sum (2n - 1) c_n cos((n - 1/2) phase) - 1. Here
    e(0) = 0 as well (a consistent difference), and e alternates between +bound and -bound at its R
    - 1 extrema in the band, where it leaves through -bound: the best there is (Chebyshev), found by
    Remez exchange. The phase velocity, an average of e, is nowhere worse. Returns shape (R,).
    """
    odd = np.arange(1, order, 2)
    if order == 2:
        return np.ones(1)
    phase = np.linspace(0, np.pi, 4001)[1:]
    first = np.cos(phase / 2)
    basis, target = np.cos(np.outer(phase, odd[1:] / 2)) - first[:, None], 1 - first
    aim, at = (bound * (-1.0) ** np.arange(len(odd) - 2, -1, -1), len(phase) * odd[:-1] // (order + 2))
    for _ in range(50):
        factors = np.linalg.solve(basis[at], target[at] + aim)
        error = basis @ factors - target
        slope = np.diff(error)
        extrema = np.flatnonzero(slope[:-1] * slope[1:] <= 0)[: len(odd) - 1] + 1
        if (extrema == at).all():
            return np.array([1 - factors.sum(), *factors]) / odd
        at = extrema
    raise ArithmeticError(f"no weights of order {order} with a group velocity within {bound:g}")


WEIGHTS = {"taylor": taylor, "holberg": holberg}


@dataclass(frozen=True)
class Stencil:
    """The staggered first differences: d f / d x at 0 is the sum of c_n (f((n - 1/2) h) - f(-(n -
    1/2) h)) / h.

    Parameters
    ----------
    horizontal, vertical : tuple of float
        Weights c_1 .. c_R along x and y, and along z.
    motion : str or None
        ``"P-SV"`` or ``"SH"`` in the (x, z) plane, None in space.
    rise : float
        Vertical over horizontal spacing; `vertical` is divided by it.
    terrain : bool
        Some cells hold nothing.
    acoustic : bool
        Velocity and pressure only: vs = 0 everywhere.
    law : tuple of (str, number)
        Constants of law.h that the medium sets; the others are 0.
    """

    horizontal: tuple
    vertical: tuple
    motion: str | None = None
    rise: float = 1.0
    terrain: bool = False
    acoustic: bool = False
    law: tuple = ()

    @property
    def anisotropic(self):
        """True where the medium is transversely isotropic about z."""
        return ("VTI", 1) in self.law

    @property
    def reach(self):
        """Points to each side that the longest difference reaches."""
        return max(len(self.horizontal), len(self.vertical))

    @property
    def axes(self):
        """Weights along x, y, z; none along y in the plane."""
        return (self.horizontal, () if self.motion else self.horizontal, self.vertical)


@lru_cache(64)
def stencil(order, kind="taylor", free=False, motion=None, rise=1.0, **medium):
    """Return the differences of an order (2, 4 .. 16) with weights ``"taylor"`` or ``"holberg"``,
    all per horizontal spacing; planes are `rise` such spacings apart.

    Closures of a free surface exist for Taylor weights to order 8: with one, vertical differences
    are those (closure.py). Each axis keeps its own integration by parts, so energy and reciprocity
    hold to rounding with any horizontal weights. `medium`: what else `Stencil` has.
    """
    chosen = tuple(map(float, WEIGHTS[kind](order)))
    vertical = map(float, taylor(min(order, HIGHEST))) if free else chosen
    return Stencil(chosen, tuple(c / rise for c in vertical), motion, rise, **medium)


def symbol(weights, phase):
    """Fourier symbol of the difference divided by i: 2 sum c_n sin((n - 1/2) phase), `phase` =
    wavenumber times spacing.
    """
    return 2 * sum(c * np.sin((n + 0.5) * phase) for n, c in enumerate(weights))


def stable_step(stencil, spacing, vp, vertical=None):
    """Largest stable time step, s: dt vp sqrt(sum of squared spectral radii) < 2 (Levander 1988 for
    a uniform grid).

    `vertical` is the spectral radius of the vertical difference where a closure changes it.
    """
    x, y, z = (2 * np.abs(c).sum() for c in stencil.axes)
    return 2 * spacing / (vp * np.sqrt(x**2 + y**2 + (vertical or z) ** 2))


@lru_cache(64)
def velocity_error(stencil, spacing, step, speed, frequency):
    """Relative error of phase velocity along x (or y), along z and along the diagonal.

    From the dispersion relation sin(w dt / 2) / (c dt / 2) = |symbol| / h. Returns three numbers;
    nan where the grid does not carry that frequency. With step = 0 the error is that of space
    alone.
    """
    wavenumber = 2 * np.pi * frequency / speed * spacing
    target = wavenumber * np.sinc(frequency * step)
    directions = ((1, 0, 0), (0, 0, 1), tuple(int(len(c) > 0) for c in stencil.axes))
    return tuple(wavenumber / _solve(stencil, target, np.array(n) / np.sqrt(sum(n))) - 1 for n in directions)


def _solve(stencil, target, direction):
    """Phase k h for which |symbol| = target, the wavenumber along the unit vector `direction`; nan
    where there is none.

    By bisection: importing scipy.optimize would cost every start of the program a third of a
    second.
    """
    direction = direction * np.array([1, 1, stencil.rise])  # phases from point to point

    def excess(phase):
        return np.sqrt(sum(symbol(c, phase * n) ** 2 for c, n in zip(stencil.axes, direction))) - target

    low, high = 0.0, np.pi / direction.max()
    if excess(high) <= 0:
        return np.nan
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return high
