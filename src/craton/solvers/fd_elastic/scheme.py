"""The scheme in numbers: where fields are on the cell, difference weights, stability and dispersion."""
from math import prod

import numpy as np

VELOCITY = ("vx", "vy", "vz")
STRESS = ("sxx", "syy", "szz", "sxy", "sxz", "syz")
FIELDS = (*VELOCITY, *STRESS)
ORDERS = (2, 4, 6, 8)

# Which axes (x, y, z) of a field are half a cell after the integer point.
HALF = {
    "vx": (1, 0, 0), "vy": (0, 1, 0), "vz": (0, 0, 1),
    "sxx": (0, 0, 0), "syy": (0, 0, 0), "szz": (0, 0, 0),
    "sxy": (1, 1, 0), "sxz": (1, 0, 1), "syz": (0, 1, 1),
}  # fmt: skip


def weights(order):
    """Taylor weights c_1 .. c_R of the staggered first difference, R = order / 2 (Fornberg 1988).

    d f / d x at 0 is sum of c_n (f((n - 1/2) h) - f(-(n - 1/2) h)) / h. Returns an array of shape (R,).
    """
    reach = order // 2
    odd = [2 * n - 1 for n in range(1, reach + 1)]
    others = [[m for m in odd if m != n] for n in odd]
    return np.array([prod(m**2 / (m**2 - n**2) for m in rest) / n for n, rest in zip(odd, others)])


def symbol(order, phase):
    """Fourier symbol of the difference divided by i: 2 sum c_n sin((n - 1/2) phase), `phase` = wavenumber times spacing."""
    c = weights(order)
    return 2 * sum(c[n] * np.sin((n + 0.5) * phase) for n in range(len(c)))


def stable_step(order, spacing, vp, vertical=None):
    """Largest stable time step, s: dt vp sqrt(sum of squared spectral radii) < 2 (Levander 1988 for a uniform grid).

    `vertical` is the spectral radius of the vertical difference where a closure changes it.
    """
    radius = 2 * np.abs(weights(order)).sum()
    return 2 * spacing / (vp * np.sqrt(2 * radius**2 + (vertical or radius) ** 2))


def velocity_error(order, spacing, step, speed, frequency):
    """Relative error of phase velocity along a grid axis and along the space diagonal (worst first is not promised).

    From the dispersion relation sin(w dt / 2) / (c dt / 2) = |symbol| / h. Returns (axis, diagonal); nan where the grid
    does not carry that frequency. With step = 0 the error is that of space alone.
    """
    wavenumber = 2 * np.pi * frequency / speed * spacing
    target = wavenumber * np.sinc(frequency * step)
    return tuple(wavenumber / _solve(order, target, np.sqrt(share)) - 1 for share in (1.0, 3.0))


def _solve(order, target, spread):
    """Phase k h for which |symbol| = target, the wavenumber spread equally over spread^2 axes; nan where there is none.

    By bisection: importing scipy.optimize would cost every start of the program a third of a second.
    """

    def excess(phase):
        return spread * symbol(order, phase / spread) - target

    low, high = 0.0, np.pi * spread
    if excess(high) <= 0:
        return np.nan
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return high
