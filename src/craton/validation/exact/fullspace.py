"""Exact waves in a homogeneous full space: point force and moment tensor, near to far field (Aki & Richards 2002, eqs 4.23
and 4.29); a force where Q is constant (Kjartansson 1979).
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


# --- constant Q -------------------------------------------------------------------------------------------------------

VP, VS, RHO, REFERENCE = 4000.0, 2300.0, 2500.0, 5.0  # m/s, m/s, kg/m^3 at Hz
FORCE, FREQUENCY, DELAY = (1e9, -0.4e9, 0.7e9), 5.0, 0.25
DECADES = 3.0  # by which the transform damps what wraps around


def constant_q(x, t, quality, deriv=1):
    """Motion at x from a force at the origin where Q is constant (Kjartansson 1979, J. Geophys.
    Res. 84, 4737-4748), (3, nt).

    Aki & Richards (2002), eq. 4.23 at complex wavenumbers, summed over complex frequencies.

    Parameters
    ----------
    x : (3,)
        m.
    t : ndarray
        Equidistant times, s.
    quality : float
        Q of P and S waves; infinity for none.
    deriv : int
        0 for displacement, 1 for velocity.
    """
    dt, n = t[1] - t[0], 4 * len(t)
    damping = DECADES * np.log(10) / (n * dt)
    omega = 2 * np.pi * np.fft.rfftfreq(n, dt) - 1j * damping
    a = (np.pi * FREQUENCY * (t[0] + dt * np.arange(n) - DELAY)) ** 2
    wavelet = np.fft.rfft((1 - 2 * a) * np.exp(-a - damping * dt * np.arange(n)))
    spectrum = displacement(np.asarray(x), omega, quality) * wavelet * (1j * omega) ** deriv
    return (np.fft.irfft(spectrum, n) * np.exp(damping * dt * np.arange(n)))[:, : len(t)]


def displacement(x, omega, quality):
    """Displacement (3, n) of the force at complex frequencies, the history's spectrum left out."""
    r = np.linalg.norm(x)
    g, force = x / r, np.array(FORCE)
    power = np.arctan(1 / quality) / np.pi
    factor = np.cos(np.pi * power / 2) * (1j * omega / (2 * np.pi * REFERENCE)) ** power
    ks, kp = omega / (VS * factor), omega / (VP * factor)
    (s, s1, s2), (_, p1, p2) = radial(ks, r), radial(kp, r)
    across, along = ks**2 * s + (s1 - p1) / r, s2 - p2 - (s1 - p1) / r
    return (np.outer(force, across) + np.outer(g * (g @ force), along)) / (4 * np.pi * RHO * omega**2)


def radial(k, r):
    """exp(-i k r) / r and two derivatives along r."""
    wave = np.exp(-1j * k * r) / r
    return wave, wave * (-1j * k - 1 / r), wave * (-(k**2) + 2j * k / r + 2 / r**2)
