"""Exact waves in a homogeneous full space: point force and moment tensor, near to far field (Aki &
Richards 2002, eqs 4.23 and 4.29).
"""

import math

import numpy as np


def gaussian(t, tau, n=0):
    """Return the n-th time derivative of a Gaussian of unit area and standard deviation `tau`; n =
    -1, -2, -3: antiderivatives from -infinity.

    Derivatives are Hermite polynomials times the Gaussian; antiderivatives follow from the error
    function by parts.

    Parameters
    ----------
    t : array_like
        Times from the centre, s; complex ones for n >= 0.
    tau : float
        Standard deviation, s.
    n : int
        Order, -3 or more.

    Returns
    -------
    ndarray
        In s^-(n + 1).
    """
    t = np.asarray(t)
    x = t / tau
    g = np.exp(-0.5 * x * x) / (math.sqrt(2 * math.pi) * tau)
    if n >= 0:
        return g * (-1.0 / tau) ** n * np.polynomial.hermite_e.hermeval(x, [0.0] * n + [1.0])
    from scipy.special import ndtr

    step = ndtr(x)
    ramp = t * step + tau**2 * g
    return {-1: step, -2: ramp, -3: (t * ramp + tau**2 * step) / 2}[n]


def history(kind, width, amplitude=1.0):
    """Return a source time function with all its derivatives and antiderivatives, as a function (t,
    n).

    Parameters
    ----------
    kind : str
        ``"gaussian"``, ``"gaussian_derivative"`` (`width` = tau, s) or ``"ricker"`` (`width` = peak
        frequency, Hz); scaled as a scenario's.
    width, amplitude : float

    Returns
    -------
    callable
        (t, n) -> n-th time derivative (antiderivative for negative n) of the wavelet centred at t =
        0.
    """
    tau = 1 / (math.sqrt(2) * math.pi * width) if kind == "ricker" else width
    order, scale = {
        "gaussian": (0, 1.0),
        "gaussian_derivative": (1, math.sqrt(2 * math.pi * math.e) * tau**2),
        "ricker": (2, -math.sqrt(2 * math.pi) * tau**3),
    }[kind]
    return lambda t, n=0: amplitude * scale * gaussian(t, tau, order + n)


def point_force(x, source, force, w, t, vp, vs, rho, deriv=1):
    """Motion radiated by a point force (Aki & Richards 2002, eq. 4.23).

    Parameters
    ----------
    x, source : array_like, shape (3,)
        Receiver and source, m.
    force : array_like, shape (3,)
        N, times the force history w(t, 0).
    w : callable
        (t, n) -> n-th derivative of the force history; see `history`.
    t : ndarray, shape (nt,)
        Times, s.
    vp, vs, rho : float
        m/s, m/s, kg/m^3.
    deriv : int
        0 for displacement (m), 1 for velocity (m/s), 2 for acceleration (m/s^2).

    Returns
    -------
    ndarray, shape (3, nt)
    """
    r, g = _direction(x, source)
    force = np.asarray(force, float)
    along = (g @ force) * g
    near_field = np.outer(3 * along - force, _near(w, t, r, vp, vs, deriv)) / r**3
    far = np.outer(along, w(t - r / vp, deriv)) / (vp**2 * r) + np.outer(force - along, w(t - r / vs, deriv)) / (
        vs**2 * r
    )
    return (near_field + far) / (4 * math.pi * rho)


def moment_tensor(x, source, moment, w, t, vp, vs, rho, deriv=1):
    """Motion radiated by a symmetric moment tensor (Aki & Richards 2002, eq. 4.29).

    Parameters
    ----------
    moment : array_like, shape (3, 3)
        N m, times w(t, 0), the history of the *moment*: of a moment rate s, pass ``lambda t, n:
        s(t, n - 1)``.
    x, source, w, t, vp, vs, rho, deriv
        As in `point_force`.

    Returns
    -------
    ndarray, shape (3, nt)
    """
    r, g = _direction(x, source)
    moment = np.asarray(moment, float)
    pull, trace = moment @ g, np.trace(moment)
    along = (g @ pull) * g
    terms = (
        (15 * along - 3 * trace * g - 6 * pull, _near(w, t, r, vp, vs, deriv) / r**4),
        (6 * along - trace * g - 2 * pull, w(t - r / vp, deriv) / (vp * r) ** 2),
        (trace * g + 3 * pull - 6 * along, w(t - r / vs, deriv) / (vs * r) ** 2),
        (along, w(t - r / vp, deriv + 1) / (vp**3 * r)),
        (pull - along, w(t - r / vs, deriv + 1) / (vs**3 * r)),
    )
    return sum(np.outer(a, b) for a, b in terms) / (4 * math.pi * rho)


def gradient(motion, x, step):
    """Spatial gradient of a motion, [component, axis, time], by central differences of order 8.

    Parameters
    ----------
    motion : callable
        Position (3,) -> (3, nt).
    x : array_like, shape (3,)
        Where, m.
    step : float
        Distance of the points, m; a fiftieth of a wavelength leaves errors below 1e-9.
    """
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}

    def slope(axis):
        return sum(c * (motion(x + n * step * axis) - motion(x - n * step * axis)) for n, c in weights.items()) / step

    return np.stack([slope(axis) for axis in np.eye(3)], axis=1)


def _direction(x, source):
    """Distance and unit vector from the source."""
    d = np.asarray(x, float) - np.asarray(source, float)
    r = math.sqrt(d @ d)
    return r, d / r


def _near(w, t, r, vp, vs, n):
    """Integral over s from r/vp to r/vs of s w^(n)(t - s), by parts."""
    tp, ts = r / vp, r / vs
    return tp * w(t - tp, n - 1) - ts * w(t - ts, n - 1) + w(t - tp, n - 2) - w(t - ts, n - 2)
