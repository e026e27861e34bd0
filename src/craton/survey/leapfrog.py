"""Exact in time: what the leapfrog scheme does to frequencies is undone on wavelets before the run and on records after it.

A leapfrog step differentiates exp(i w t) with the factor i w~, w~ = 2/dt sin(w dt / 2), in place of i w. Everything else in the linear,
time-invariant system is unchanged, so a record at frequency w is the exact (in time) response at w~ to the wavelet's spectrum at w. Hence

    wavelet for the run   s'(w) = s(w~(w))                  w~(w) = 2/dt sin(w dt / 2)
    record                u(w)  = u'(w'(w))                 w'(w) = 2/dt asin(w dt / 2)

leave the error of the space differences alone, for any medium and at any stable step (Stork 2013, EAGE; Koene, Robertsson, Broggini &
Andersson 2018, Geophys. J. Int. 213, 169). Both maps move what happens at time t by less than t (w dt)^2 / 8, seismograms to later times.
Times count from the start of the run, before which all is at rest.
"""
import numpy as np

FULL, NONE = 0.6, 0.85  # of w dt / 2: kept as it is below, gone above; the wavefield carries nothing there on a stable grid
LENGTH = 2  # times the series: room for what is moved to later times, at most 1 / sqrt(1 - NONE^2) = 1.9 times its own
CHUNK = 256  # frequencies at a time


def for_leapfrog(series, dt, shift=0.0):
    """Wavelets such that a leapfrog run answers as if time were continuous.

    Parameters
    ----------
    series : array_like, shape (n, columns)
        Values at ``(i + shift) dt`` after the start of the run.
    dt, shift : float
        Step (s), and place within the step.

    Returns
    -------
    ndarray, shape (n, columns), float64
    """
    return _mapped(series, dt, shift, lambda w: 2 / dt * np.sin(w * dt / 2))


def from_leapfrog(series, dt, shift=0.5):
    """Records of a leapfrog run as if time had been continuous; arguments as in `for_leapfrog`."""
    return _mapped(series, dt, shift, lambda w: 2 / dt * np.arcsin(np.minimum(w * dt / 2, 1.0)))


def _mapped(series, dt, shift, frequency):
    """The series whose spectrum at w is that of the given one at ``frequency(w)``."""
    n = len(series)
    series = _continued(np.asarray(series, float))
    padded = LENGTH * len(series)
    w = 2 * np.pi * np.fft.rfftfreq(padded, dt)
    w = w[w * dt / 2 < NONE]
    times = (np.arange(len(series)) + shift) * dt
    spectrum = np.zeros((padded // 2 + 1, series.shape[1]), complex)
    for at in range(0, len(w), CHUNK):
        some = w[at : at + CHUNK]
        spectrum[at : at + len(some)] = np.exp(-1j * np.outer(frequency(some), times)) @ series
    spectrum[: len(w)] *= (_taper(w * dt / 2) * np.exp(1j * w * shift * dt))[:, None]
    return np.fft.irfft(spectrum, padded, axis=0)[:n]


def _continued(series):
    """The series with an end that fades: mirrored in its last value, so that a record cut short rings there only."""
    n = len(series)
    more = min(n - 1, n // 8 + 64)
    fade = 0.5 + 0.5 * np.cos(np.pi * np.arange(1, more + 1) / more)
    return np.concatenate([series, (2 * series[-1] - series[n - 1 - more : n - 1][::-1]) * fade[:, None]])


def _taper(x):
    """1 up to FULL, 0 from NONE on, a half cosine between."""
    return 0.5 + 0.5 * np.cos(np.pi * np.clip((x - FULL) / (NONE - FULL), 0, 1))
