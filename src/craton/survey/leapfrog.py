"""Exact in time: what the leapfrog scheme does to frequencies is undone on wavelets before the run
and on records after it.

A leapfrog step differentiates exp(i w t) with the factor i w~, w~ = 2/dt sin(w dt / 2), in place of
i w. Everything else in the linear, time-invariant system is unchanged, so a record at frequency w
is the exact (in time) response at w~ to the wavelet's spectrum at w. Hence

    wavelet for the run   s'(w) = s(w~(w))                  w~(w) = 2/dt sin(w dt / 2)
    record                u(w)  = u'(w'(w))                 w'(w) = 2/dt asin(w dt / 2)

leave the error of the space differences alone, for any medium and at any stable step (Stork 2013,
EAGE; Koene, Robertsson, Broggini & Andersson 2018, Geophys. J. Int. 213, 169). The maps move what
happens at time t by about t (w dt)^2 / 8: wavelets to earlier times, records to later ones. Times
count from the start of the run, before which all is at rest. A record needs some steps beyond its
end, `extra`: the map spreads a time over an Airy function of width (t dt^2 / 8)^(1/3).

Records are cut above the band of the sources, where they are rounding errors. A sharp cut of a
record that ends in motion rings before its end (1e-3 of the peak); the last RING periods of the
band, and records of less than twice as many, are therefore cut only where the map itself ends.

Spectra at frequencies off the FFT's grid: FFT of twice the length and a Kaiser-Bessel window
(Beatty, Nishimura & Pauly 2005, IEEE Trans. Med. Imaging 24, 799), error below 1e-11.
"""

import math
from functools import cache

import numpy as np
from numpy.polynomial.polynomial import polyvander

from craton.model.media.cells import in_parallel

# of w dt / 2: kept as it is below, gone above; the wavefield carries nothing there on a stable grid
FULL, NONE = 0.6, 0.85
TAPER = 1.25  # times the band of the sources: what is above is gone
LEVEL = 1e-7  # of a wavelet's largest amplitude: its band ends where it stays below
RING = 12  # periods of the band's end; before them the ringing is below 4e-5 of the peak
WIDTH = 12  # points of the window in frequency
DEGREE = 18  # of the polynomials that the window is in frequency
BETA = math.pi * math.sqrt((WIDTH / 2) ** 2 * 1.5**2 - 0.8)
SLAB = 1 << 13  # frequencies of which a thread takes the window
BLOCK = 1 << 19  # values of one FFT of several series: they stay in the cache


def extra(steps):
    """Return steps beyond the last one of a record of some steps, int, that make it right up to its end."""
    return math.ceil(spread(steps)) + 10


def spread(steps):
    """Return the steps over which the Airy function of what happens after some steps, number or array, has fallen to 1e-6."""
    return 5.5 * np.cbrt(np.maximum(steps, 0) / 8)


def padded(n):
    """Return how many values stand for n of a series that ends at rest: those behind are zeros, which its continuation mirrors. Without
    them the map would move the echo of what is before the end into the series.
    """
    return n + n // 7 + 80


def for_leapfrog(series, dt, shift=0.0, band=math.inf):
    """Wavelets such that a leapfrog run answers as if time were continuous.

    Parameters
    ----------
    series : array_like, shape (n, columns)
        Values at ``(i + shift) dt`` after the start of the run.
    dt, shift : float
        Step (s), and place within the step. For series that begin s steps after the start of the
        run, s more.
    band : float
        Highest frequency to keep, Hz; from there to 1.25 times that it fades out.

    Returns
    -------
    ndarray, shape (n, columns)
        In the precision of `series`; computed in float64.
    """
    return _forward(len(series), dt, shift, band).apply(series)


def from_leapfrog(series, dt, shift=0.5, band=math.inf):
    """Return records of a leapfrog run as if time had been continuous.

    Parameters
    ----------
    series, dt, shift
        As in `for_leapfrog`.
    band : float
        Highest frequency that the sources carry, Hz, see `band`; above 1.25 times that a record is
        rounding errors and is set to zero.

    Returns
    -------
    ndarray, shape (n, columns)
    """
    full = _cut(band, dt, len(series))
    out = _backward(len(series), shift, full).apply(series)
    if full < FULL:
        first, ramp, weight = _end(len(out), full)
        tail = np.asarray(series)[first:] * ramp.astype(out.dtype)
        tail = _backward(len(tail), shift + first, FULL).apply(tail)[-len(weight) :]
        out[-len(weight) :] += weight.astype(out.dtype) * (tail - out[-len(weight) :])
    return out


def _forward(n, dt, shift, band):
    full = min(FULL, math.pi * band * dt)
    return _Map(n, shift, np.sin, 1.0, full, min(NONE, TAPER * full) if full < FULL else NONE)


def _backward(n, shift, full):
    none = min(NONE, TAPER * full) if full < FULL else NONE
    return _Map(n, shift, np.arcsin, 1 / math.sqrt(1 - none**2), full, none)


def _cut(band, dt, n):
    """Return w dt / 2 up to which records of n samples are kept."""
    full = math.pi * band * dt
    return full if full < FULL and n * full > 2 * RING * math.pi else FULL


def _end(n, full):
    """Return the end of records of n samples that a cut above `full` would let ring.

    Returns
    -------
    first : int
        Sample from which on the record is mapped once more.
    ramp : ndarray, shape (n - first, 1)
        Fades that part in.
    weight : ndarray, shape (samples of the end, 1)
        Rises from 0 to 1.
    """
    ring = math.ceil(RING * math.pi / full)
    delay = math.ceil(n * (math.asin(full) / full - 1))  # of the map, at the band's end
    first = max(0, n - 2 * ring - delay)
    ramp = np.ones((n - first, 1))
    if first:
        ramp[:ring, 0] = _rise(np.arange(ring) / ring)
    return first, ramp, _rise(np.minimum(np.arange(1, ring + 1) / (ring / 2), 1))[:, None]


def _rise(x):
    """From 0 to 1 with three derivatives zero at both ends."""
    return x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3)


def spectra(series, dt, every, shift, frequencies):
    """Spectra of records of a leapfrog run as if time had been continuous, s times their unit.

    Parameters
    ----------
    series : array_like, shape (n, columns)
        Every `every`-th step, from the one at ``shift dt`` after the start of the run.
    dt : float
        Step, s.
    every : int
    shift : float
        Place of the first value, in steps.
    frequencies : array
        Hz; below 0.85 / (pi dt), and as steps count, see the module, below the Nyquist frequency of
        the series.

    Returns
    -------
    ndarray of complex, shape (columns, frequencies)
        Of times that count from the start of the run.
    """
    phase = 2 * every * np.arcsin(np.pi * np.asarray(frequencies) * dt)
    return every * dt * _spectrum(_continued(np.asarray(series)), phase, shift / every)


def band(series, dt):
    """Highest frequency, Hz, at which any column's spectrum is above 1e-7 of its largest value; at
    most the Nyquist frequency.

    Parameters
    ----------
    series : (steps, n) array
    dt : float
        Time step, s.
    """
    highest = 0.0
    for spectrum in _amplitude_spectra(series):
        above = np.flatnonzero((spectrum > LEVEL * spectrum.max(axis=1, keepdims=True)).any(axis=0))
        highest = max(highest, above[-1] if len(above) else 0)
    return highest / (_good(2 * len(series)) * dt)


def amplitudes(series, dt):
    """Return frequencies, Hz, and the largest amplitude of any column there.

    Parameters
    ----------
    series : (steps, n) array
    dt : float
        Time step, s.
    """
    length = _good(2 * len(series))
    largest = np.zeros(length // 2 + 1)
    for spectrum in _amplitude_spectra(series):
        np.maximum(largest, spectrum.max(axis=0), out=largest)
    return np.arange(len(largest)) / (length * dt), largest


def _amplitude_spectra(series):
    """Yield the amplitude spectra of blocks of columns of series (steps, n), at twice their length: (columns, frequencies)."""
    series = np.asarray(series)
    for block in blocks(series.shape[1], len(series)):
        yield np.abs(np.fft.rfft(_continued(series[:, block]), _good(2 * len(series))))


class _Map:
    """The map of n series values of a step between the frequencies of a leapfrog run and true ones, which `to` gives
    from x = w dt / 2 of what is returned, for values at `shift` steps; and its transpose.
    """

    def __init__(self, n, shift, to, stretch, full, none):
        self.n, self.shift = n, shift
        self.length = _good(stretch * (n + _more(n)) + (stretch - 1) * int(shift) + 64)
        x = np.pi * np.arange(self.length // 2 + 1) / self.length
        x = x[x < none]
        self.phase, self.factor = 2 * to(x), taper(x, full, none) * np.exp(2j * x * shift)

    def apply(self, series):
        """Return the series (n, columns) mapped."""
        series = np.asarray(series)
        out = np.empty_like(series)
        for block in blocks(series.shape[1], self.n) if series.size else ():
            spectrum = _spectrum(_continued(series[:, block]), self.phase, self.shift)
            out[:, block] = np.fft.irfft(spectrum * self.factor, self.length)[:, : self.n].T
        return out

    def transpose(self, values):
        """Return the transpose of `apply`, step by step backwards; complex numbers are pairs of reals here."""
        values = np.asarray(values, float)
        out, n = np.zeros(values.shape), self.n
        for block in blocks(values.shape[1], n) if values.size else ():
            spectrum = np.fft.rfft(values[:, block].T, self.length)[:, : len(self.phase)] * (2 / self.length)
            spectrum[:, 0] *= 0.5  # the irfft counts all frequencies but this one twice
            rows = _spectrum_transposed(spectrum * np.conj(self.factor), self.phase, self.shift, n + _more(n))
            out[:, block] = _continued_transposed(rows, n).T
        return out


def _spectrum(rows, phase, shift):
    """Spectra of the rows, shape (rows, len(phase)), at `phase` = w dt from 0 to less than pi; the
    first value is at time shift dt.
    """
    n = rows.shape[1]
    length, middle = _good(max(2 * n, 8 * WIDTH)), n // 2
    at = np.arange(n) - middle
    grid = np.fft.rfft(rows / _window_transform(at / length), length)
    grid *= np.exp(2j * np.pi * middle / length * np.arange(grid.shape[1]))
    position = phase * length / (2 * np.pi)
    out = np.zeros((len(rows), len(phase)), complex)

    def add(part):
        first, window = _window(position[part])
        for point in range(WIDTH):
            index = first + point
            values = grid[:, np.abs(index)]
            np.conjugate(values, out=values, where=index < 0)
            out[:, part] += values * window[point]
        out[:, part] *= np.exp(-1j * phase[part] * (middle + shift))

    in_parallel(add, [slice(n, n + SLAB) for n in range(0, len(phase), SLAB)])
    return out


def _window(position):
    """Return the first of the WIDTH points of a grid around each position (n,), and the window's values at them, (WIDTH, n)."""
    first = np.ceil(position - WIDTH / 2).astype(int)
    return first, _window_polynomials().T @ polyvander(2 * (first - position) + WIDTH - 1, DEGREE).T


@cache
def _window_polynomials():
    """Polynomials, (degree + 1, WIDTH), of the Kaiser-Bessel window at its WIDTH points, in twice the first one's distance from
    the middle of the places that it may have, -1 to 1 (Barnett, Magland & af Klinteberg 2019, SIAM J. Sci. Comput. 41, C479):
    error 1e-14 of the peak, a tenth of the time of `numpy.i0`.
    """
    off = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    x = (off[:, None] + 1 - WIDTH) / 2 + np.arange(WIDTH)
    return np.linalg.solve(polyvander(off, DEGREE), np.i0(BETA * np.sqrt(1 - (2 * x / WIDTH) ** 2)))


def _window_transform(t):
    """Fourier transform of the window at `t` cycles per point; |t| <= 1/4 here, where the root
    stays real.
    """
    root = np.sqrt(BETA**2 - (np.pi * WIDTH * t) ** 2)
    return WIDTH * np.sinh(root) / root


def _more(n):
    """Return samples by which a series is continued."""
    return min(n - 1, n // 8 + 64)


def _continued(series):
    """Rows of float64 with an end that fades, mirrored in its last value, so that a record cut
    short rings there only.

    The fade begins with three derivatives zero: the third one is what the maps turn into a change
    of values.
    """
    n, extra_samples = len(series), _more(len(series))
    rows = np.empty((series.shape[1], n + extra_samples))
    rows[:, :n] = series.T
    x = np.arange(1, extra_samples + 1) / max(extra_samples, 1)
    fade = 1 - _rise(x)
    rows[:, n:] = (2 * rows[:, n - 1 : n] - rows[:, n - 1 - extra_samples : n - 1][:, ::-1]) * fade
    return rows


def taper(x, full, none):
    """Return 1 up to `full`, 0 from `none` on, a half cosine between."""
    return 0.5 + 0.5 * np.cos(np.pi * np.clip((x - full) / (none - full), 0, 1))


def _good(length):
    """Return a length not below `length` that FFTs like: a power of two times a number from 16 to
    31.
    """
    length = math.ceil(length)
    step = 1 << max(length.bit_length() - 5, 1)
    return -(-length // step) * step


def blocks(columns, steps):
    """Return slices of columns that are transformed at a time.

    Parameters
    ----------
    columns, steps : int
        Number of series, and of their values.
    """
    width = max(1, BLOCK // max(2 * steps, 1))
    return [slice(at, at + width) for at in range(0, columns, width)]


def from_leapfrog_transposed(records, dt, shift=0.5, band=math.inf):
    """Return the transpose of `from_leapfrog`.

    Parameters
    ----------
    records : array_like, shape (n, columns)
    dt, shift, band
        See `from_leapfrog`.

    Returns
    -------
    ndarray, shape (n, columns), float64
    """
    full = _cut(band, dt, len(records))
    if full == FULL:
        return _backward(len(records), shift, full).transpose(records)
    values = np.array(records, float)
    first, ramp, weight = _end(len(values), full)
    tail = np.zeros((len(ramp), values.shape[1]))
    tail[-len(weight) :] = weight * values[-len(weight) :]
    values[-len(weight) :] -= tail[-len(weight) :]
    out = _backward(len(values), shift, full).transpose(values)
    out[first:] += ramp * _backward(len(tail), shift + first, FULL).transpose(tail)
    return out


def for_leapfrog_transposed(series, dt, shift=0.0, band=math.inf):
    """Return the transpose of `for_leapfrog`.

    Parameters
    ----------
    series : array_like, shape (n, columns)
    dt, shift, band
        See `for_leapfrog`.

    Returns
    -------
    ndarray, shape (n, columns), float64
    """
    return _forward(len(series), dt, shift, band).transpose(series)


def _spectrum_transposed(spectra, phase, shift, n):
    """Transpose of `_spectrum`: rows of n reals."""
    length, middle = _good(max(2 * n, 8 * WIDTH)), n // 2
    at = np.arange(n) - middle
    spectra = spectra * np.exp(1j * phase * (middle + shift))
    first, window = _window(phase * length / (2 * np.pi))
    grid = np.zeros((len(spectra), length // 2 + 1), complex)
    for point in range(WIDTH):
        index = first + point
        part = spectra * window[point]
        np.conjugate(part, out=part, where=index < 0)
        np.add.at(grid, (slice(None), np.abs(index)), part)
    grid *= np.exp(-2j * np.pi * middle / length * np.arange(grid.shape[1]))
    grid[:, 1:-1] /= 2  # the irfft counts these twice
    return (np.fft.irfft(grid, length) * length)[:, :n] / _window_transform(at / length)


def _continued_transposed(rows, n):
    """Transpose of `_continued`: rows of n values."""
    extra_samples = rows.shape[1] - n
    x = np.arange(1, extra_samples + 1) / max(extra_samples, 1)
    faded = rows[:, n:] * (1 - _rise(x))
    out = rows[:, :n].copy()
    out[:, n - 1] += 2 * faded.sum(axis=1)
    out[:, n - 1 - extra_samples : n - 1] -= faded[:, ::-1]
    return out


def resampled(series, interval, offset, steps, dt, shift=0.0, leapfrog=False, rate=False):
    """Series of any sampling as a leapfrog run of another step has them: its spectrum at w is that
    of the series at w~(w).

    Parameters
    ----------
    series : array_like, shape (n, columns)
        Before the first value all is at rest.
    interval : float
        Of the series, s.
    offset : (float, float)
        Seconds from the start of the run to the time from which the series counts, and where its
        first value lies after that, in intervals.
    steps : int
        Of the run.
    dt, shift : float
        Step of the run, s, and place within the step of the values that are returned.
    leapfrog : bool
        The series come from a leapfrog run of the step `interval`, as it has left them.
    rate : bool
        Return the time derivative.

    Returns
    -------
    ndarray, shape (steps, columns), float64
    """
    series = np.asarray(series)
    (away, place), n = offset, len(series)
    stretch = 1 / math.sqrt(1 - FULL**2) if leapfrog else 1.0
    latest = away + stretch * (n + _more(n) + place) * interval
    length = _good(max(latest / dt, steps) + max(-away, 0) / dt + 64)
    x = np.pi * np.arange(length // 2 + 1) / length
    omega = 2 / dt * np.sin(x)
    half = omega * interval / 2
    phase = 2 * np.arcsin(np.minimum(half, 1)) if leapfrog else 2 * half
    # the window in frequency stays below the Nyquist frequency
    inside = (1 - (WIDTH + 2) / _good(max(2 * n, 8 * WIDTH))) * np.pi / 2
    ends = min(np.sin(inside), FULL) if leapfrog else min(inside, 0.95 * np.pi / 2)
    carried = (x < NONE) & (half < ends)
    x, omega, phase = x[carried], omega[carried], phase[carried]
    factor = taper(x, FULL, NONE) * taper(half[carried], 0.9 * ends, ends)
    factor = factor * interval / dt * np.exp(1j * (2 * x * shift - omega * away))
    if rate:
        factor = factor * 1j * omega
    out = np.empty((steps, series.shape[1]))
    for block in blocks(series.shape[1], n):
        spectrum = _spectrum(_continued(series[:, block]), phase, place) * factor
        out[:, block] = np.fft.irfft(spectrum, length)[:, :steps].T
    return out
