"""Waves of a force in a full space of constant Q: the Green's function with complex moduli
(Kjartansson 1979).
"""

import numpy as np

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
