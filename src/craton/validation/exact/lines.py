"""Exact waves of line sources in the plane, at any vp / vs: Lamb's and Garvin's problems at the free surface, SH waves in a
full space; speeds of Love's waves in a layer on a half-space and of Scholte's between water and rock.

The response to an impulse is the imaginary part of a function that is analytic for Im t > 0
(Cagniard 1939; de Hoop 1960, Appl. sci. Res. B8, 349-356): on the surface the path p(t) is known in
closed form, p the horizontal slowness. Lamb (1904): p = t / x. Garvin (1956, Proc. R. Soc. A234,
528-541; Sanchez-Sesma, Iturraran-Viveros & Kausel 2013, Soil Dyn. Earthq. Eng. 47, 4-15): t = p x +
h sqrt(1/vp^2 - p^2).
"""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss

# of Gauss and Legendre on a panel as long as its distance from the singularities: 1e-13 of the
# integrand
NODES = 12
REACH = 9  # standard deviations after which a Gaussian's derivatives are over


def convolved(response, history, width, t, deriv):
    """Return the impulse response Im `response` convolved with the derivative of a history.

    Arrivals, branch points and Rayleigh's pole lie on the real axis of time; the integral is taken
    above it, where nothing is singular, from t = 0, before which there is nothing.

    Parameters
    ----------
    response : callable
        Complex times (n,) -> (components, n), analytic for Im t > 0 and real for real t before the
        first arrival.
    history : callable
        (t, n) -> n-th derivative, entire: of `fullspace.history`.
    width : float
        Standard deviation of its Gaussian, s.
    t : ndarray, shape (nt,)
        Times after the wavelet's centre, s.
    deriv : int
        Derivative of the history.

    Returns
    -------
    ndarray, shape (components, nt)
    """
    panels = max(int(np.ceil((t[-1] + REACH * width) / width)), 1)
    x, w = leggauss(NODES)
    up, across = (1j * width * (x + 1) / 2, (width * (np.arange(panels)[:, None] + (x + 1) / 2)).ravel() + 1j * width)
    times, weights = (np.concatenate([up, across]), np.concatenate([1j * w, np.tile(w, panels)]) * width / 2)
    values = np.atleast_2d(response(times)) * weights
    return np.stack([(values @ history(one - times, deriv)).imag for one in t], axis=-1)


def slownesses(p, vp, vs):
    """Vertical slownesses a of P and b of S, N = 1/vs^2 - 2 p^2, and Rayleigh's function N^2 + 4
    p^2 a b.
    """
    a, b, n = np.sqrt(vp**-2 - p**2), np.sqrt(vs**-2 - p**2), vs**-2 - 2 * p**2
    return a, b, n, n**2 + 4 * p**2 * a * b


def surface_force(x, force, history, width, t, medium, deriv=1):
    """Lamb's problem: motion of the surface at a distance x > 0 from a line force on it.

    Parameters
    ----------
    x : float
        m.
    force : (fx, fz)
        N per metre, z up, times history(t, 0).
    history, width, t
        As in `convolved`.
    medium : (vp, vs, rho)
        m/s, m/s, kg/m^3.
    deriv : int
        0 for displacement, 1 for velocity.

    Returns
    -------
    ndarray, shape (2, nt)
        Along x and up.
    """
    vp, vs, rho = medium
    fx, fz = force

    def response(time):
        p = time / x
        a, b, n, rayleigh = slownesses(p, vp, vs)
        cross = p * (n - 2 * a * b) / rayleigh  # along x of a force down; upwards of one along x
        along, up = b / (vs**2 * rayleigh), a / (vs**2 * rayleigh)
        return np.stack([fx * along - fz * cross, fx * cross + fz * up]) / (np.pi * rho * vs**2 * x)

    return convolved(response, history, width, t, deriv)


def buried_explosion(x, depth, moment, rate, width, t, medium, deriv=1):
    """Garvin's problem: motion of the surface at a horizontal distance x from a line of explosions
    below it.

    Parameters
    ----------
    x, depth : float
        m.
    moment : float
        M_xx = M_zz, N m per metre, after the integral of rate(t, 0), 1/s.
    rate, width, t, medium, deriv
        As history, ... of `surface_force`.

    Returns
    -------
    ndarray, shape (2, nt)
        Along x and up.
    """
    vp, vs, rho = medium
    first = np.hypot(x, depth) / vp

    def response(time):
        root = np.sqrt(first**2 - time**2)
        p = (x * time - depth * root) / (x**2 + depth**2)
        _, b, n, rayleigh = slownesses(p, vp, vs)
        slope = (x + depth * time / root) / (x**2 + depth**2)  # dp/dt
        return np.stack([2 * p * b, n]) * slope / rayleigh * moment / (np.pi * rho * (vp * vs) ** 2)

    return convolved(response, rate, width, t, deriv)


def sh_force(r, force, history, width, t, vs, rho, deriv=1):
    """Motion along y of a line force along y (N per metre) at a distance r: H(t - r/vs) / (2 pi rho
    vs^2 sqrt(t^2 - r^2/vs^2)), (nt,).

    The transform of Hankel's function; Eason, Fulton & Sneddon (1956, Phil. Trans. R. Soc. A248,
    575-607).
    """

    def response(time):
        return force / (2 * np.pi * rho * vs**2 * np.sqrt((r / vs) ** 2 - time**2))

    return convolved(response, history, width, t, deriv)[0]


# --- speeds of guided waves -------------------------------------------------------------------------------------------


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
