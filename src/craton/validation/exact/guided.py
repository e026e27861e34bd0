"""Speeds of guided waves: Love's in a layer on a half-space, Scholte's between water and rock; the
roots of their secular equations.
"""

import math

import numpy as np


def love_speed(f, thickness, layer, half_space):
    """Phase velocity of the fundamental Love mode, m/s (Aki & Richards 2002, eq. 7.6).

    Parameters
    ----------
    f : float
        Hz.
    thickness : float
        m.
    layer, half_space : (vs, rho)
        m/s, kg/m^3.
    """
    from scipy.optimize import brentq

    (vs1, rho1), (vs2, rho2) = layer, half_space
    w = 2 * math.pi * f

    def secular(c):
        q1, q2 = math.sqrt(1 / vs1**2 - 1 / c**2), math.sqrt(1 / c**2 - 1 / vs2**2)
        return rho1 * vs1**2 * q1 * math.sin(w * thickness * q1) - rho2 * vs2**2 * q2 * math.cos(w * thickness * q1)

    speeds = np.linspace(vs1 * (1 + 1e-9), vs2 * (1 - 1e-9), 2000)
    first = next(n for n, c in enumerate(speeds[1:]) if secular(c) > 0)
    return brentq(secular, speeds[first], speeds[first + 1])


def scholte_speed(water, bottom):
    """Speed of the wave along the plane between a fluid and a solid half-space, m/s (Scholte 1942,
    Proc. KNAW 45, 380-388).

    Parameters
    ----------
    water : (vp, rho)
    bottom : (vp, vs, rho)
    """
    from scipy.optimize import brentq

    (vf, rhof), (vp, vs, rho) = water, bottom

    def secular(c):
        a, b, f = (math.sqrt(1 - (c / v) ** 2) for v in (vp, vs, vf))
        return (2 - (c / vs) ** 2) ** 2 - 4 * a * b + rhof / rho * (c / vs) ** 4 * a / f

    slowest = min(vf, vs)
    return brentq(secular, 0.3 * slowest, slowest * (1 - 1e-12))
