"""Source time functions: their values, and what one must know of each (area, peak, peak frequency,
f95, when it starts and is over).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from craton import io
from craton.tables.sources import sample_problems

START_LEVEL = 1e-8  # of the peak: before `start` a wavelet is smaller
END_LEVEL = 1e-4  # of the peak: after `end` a wavelet is smaller
F95 = 0.95  # part of the spectrum's area below f95
LONGEST_GRID = 1 << 18
# of a low-pass pulse: its spectrum is integrated up to LOWPASS_TOP times its frequency; it is
# below 1e-9 of its peak LOWPASS_SPAN periods of that frequency from its centre
LOWPASS_TOP, LOWPASS_NODES, LOWPASS_SPAN = 2.0, 256, 6.5
gauss_legendre = lru_cache(np.polynomial.legendre.leggauss)  # 256 nodes take 10 ms
F95_LOWPASS, END_LOWPASS = 0.8514376313197741, 2.7734  # f95, and periods to 1e-4 of the peak


class NoArea(ValueError):
    """A wavelet of zero mean cannot be divided by its area."""


@dataclass(frozen=True, eq=False)
class Wavelet:
    """A source time function: a moment rate (1/s, times the moment tensor) or a force history
    (times the force).

    Parameters
    ----------
    kind : str
        Key of ``WAVELETS``.
    delay : float
        Time of the centre (gaussian, ricker, gaussian_derivative), of the onset (brune, kuepper),
        or shift of the sample times, s.
    shape : callable
        Values at times counted from `delay`.
    area : float
        Integral over all times, s times the unit of the values.
    peak : float
        Largest absolute value.
    peak_frequency : float
        Hz, where the amplitude spectrum |S| is largest; for pulses, whose |S| is largest at zero,
        where f |S| is, the spectrum of the far-field velocity that a moment rate radiates.
    f95 : float
        Hz; 95 % of the integral of |S(f)| over positive f lie below.
    start, end : float
        s; smaller than 1e-8 of the peak before `start`, smaller than 1e-4 of it after `end`.
    parameters : str
        The parameters in words, for `describe`.
    """

    kind: str
    delay: float
    shape: Callable
    area: float
    peak: float
    peak_frequency: float
    f95: float
    start: float
    end: float
    parameters: str

    def __call__(self, t):
        """Values at times `t` (s, any shape), float64."""
        return self.shape(np.asarray(t, dtype=float) - self.delay)

    @property
    def is_pulse(self):
        """Whether the integral is not zero: a moment rate then leaves a permanent moment."""
        return abs(self.area) * self.peak_frequency > 1e-3 * self.peak

    def shifted(self, shift):
        """Return it later by a time, s."""
        return replace(self, **{name: getattr(self, name) + shift for name in ("delay", "start", "end")})

    def describe(self):
        """One line: kind, parameters, time, area or peak, frequencies, with units."""
        where = {"brune": "onset", "kuepper": "onset", "samples": "shifted by"}.get(self.kind, "centre")
        area, peak = {"gaussian": ("", " 1/s"), "brune": ("", " 1/s"), "kuepper": (" s", "")}.get(self.kind, ("", ""))
        size = (
            f"area {self.area:.4g}{area}, peak {self.peak:.4g}{peak}"
            if self.is_pulse
            else f"zero mean, peak {self.peak:.4g}"
        )
        return (
            f"{self.kind}, {self.parameters}, {where} {self.delay:g} s, {size}, "
            f"peak frequency {self.peak_frequency:.3g} Hz, f95 {self.f95:.3g} Hz"
        )


def build(spec):
    """Return the wavelet that a scenario states.

    Parameters
    ----------
    spec : a wavelet of `craton.tables.sources`, or any object with its attributes
        ``kind``, ``delay`` and the parameters of the kind.

    Returns
    -------
    Wavelet

    Raises
    ------
    OSError, ValueError
        A file of samples that cannot be read, samples that make no wavelet, or a wavelet without
        area that is to be normalized.
    """
    wavelet = WAVELETS[spec.kind](spec)
    return normalized(wavelet) if getattr(spec, "normalize", False) else wavelet


def normalized(wavelet):
    """Return a wavelet divided by its area, which then is 1.

    Parameters
    ----------
    wavelet : Wavelet

    Raises
    ------
    ValueError
        It has no area.
    """
    if not wavelet.is_pulse:
        raise NoArea(f"a {wavelet.kind} wavelet of zero mean has no area to divide by")
    shape = partial(scaled_shape, shape=wavelet.shape, factor=1 / wavelet.area)
    return replace(wavelet, shape=shape, area=1.0, peak=wavelet.peak / abs(wavelet.area))


# --- shapes: plain functions of the time since the delay ------------------------------------------


def gaussian_shape(t, tau):
    """Gaussian of unit area and standard deviation `tau` (s), 1/s.

    Parameters
    ----------
    t : array_like
        Times, s.
    tau : float
        s.
    """
    return np.exp(-0.5 * (t / tau) ** 2) / (math.sqrt(2 * math.pi) * tau)


def ricker_shape(t, frequency):
    """Ricker (1953): second derivative of a Gaussian, sign and size such that the centre is 1;
    `frequency` of the spectrum's peak, Hz.

    Parameters
    ----------
    t : array_like
        Times, s.
    frequency : float
        Hz.
    """
    a = (math.pi * frequency * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


def gaussian_derivative_shape(t, tau):
    """First derivative of a Gaussian, extrema +1 at -tau and -1 at tau (s).

    Parameters
    ----------
    t : array_like
        Times, s.
    tau : float
        s.
    """
    x = t / tau
    return -x * np.exp(0.5 - 0.5 * x * x)


def lowpass_shape(t, frequency):
    """Band-limited impulse of unit area, 1/s: zero phase, amplitude spectrum ``exp(-ln(10)
    (f/frequency)^4)``, that is 0.1 at `frequency` (Hz) and 1e-7 at 1.63 times that.

    Parameters
    ----------
    t : array_like
        Times, s.
    frequency : float
        Hz.
    """
    x, t = LOWPASS_SPAN, np.asarray(t, dtype=float) * frequency
    node, weight = gauss_legendre(LOWPASS_NODES)
    f = LOWPASS_TOP * (node + 1) / 2
    amplitude = LOWPASS_TOP * weight * lowpass_spectrum(f, 1.0)
    inside = np.abs(t) < x
    out = np.zeros(t.shape)
    out[inside] = frequency * (np.cos(2 * np.pi * t[inside][:, None] * f) @ amplitude)
    return out


def lowpass_spectrum(f, frequency):
    """Amplitude spectrum of `lowpass_shape`.

    Parameters
    ----------
    f : array_like
        Hz.
    frequency : float
        Hz.
    """
    return np.exp(-math.log(10) * (np.asarray(f) / frequency) ** 4)


def brune_shape(t, corner_frequency):
    """Omega-squared pulse of unit area, ``w0^2 t exp(-w0 t)`` from t = 0 on, 1/s (Brune 1970);
    `corner_frequency` in Hz.

    Parameters
    ----------
    t : array_like
        Times, s.
    corner_frequency : float
        Hz.
    """
    w0, t = 2 * math.pi * corner_frequency, np.maximum(t, 0.0)
    return w0 * w0 * t * np.exp(-w0 * t)


def kuepper_shape(t, duration, extrema):
    """Kuepper (1958): ``sin(n pi t/T) - n/(n+2) sin((n+2) pi t/T)`` from 0 to T, scaled to peak 1;
    n extrema, T the duration (s).

    Parameters
    ----------
    t : array_like
        Times, s.
    duration : float
        s.
    extrema : int
    """
    x = np.clip(t / duration, 0.0, 1.0)
    return _kuepper(x, extrema) / _kuepper_peak(extrema)


def samples_shape(t, times, values):
    """Cubic spline (not-a-knot) through samples, zero outside them.

    Parameters
    ----------
    t : array_like
        Times, s.
    times : array_like
        s.
    values : array_like
    """
    inside = (t >= times[0]) & (t <= times[-1])
    return np.where(inside, _spline(times, values)(np.clip(t, times[0], times[-1])), 0.0)


def scaled_shape(t, shape, factor):
    """Return another shape times a factor.

    Parameters
    ----------
    t : array_like
        Times, s.
    shape : callable
    factor : float
    """
    return factor * shape(t)


def _kuepper(x, n):
    return np.sin(n * math.pi * x) - n / (n + 2) * np.sin((n + 2) * math.pi * x)


def _kuepper_peak(n):
    # The derivative vanishes where cos(n pi x) = cos((n+2) pi x): at x = k/(n+1).
    return np.abs(_kuepper(np.arange(n + 2) / (n + 1), n)).max()


def _spline(times, values):
    from scipy.interpolate import CubicSpline

    return CubicSpline(times, values)


# --- kinds: from a scenario's wavelet to a Wavelet ------------------------------------------------


def _wavelet(spec, shape, parameters, before, after, area, peak, peak_frequency, f95) -> Wavelet:
    """Return the Wavelet of a scenario's table, which lasts from a time `before` its delay to one `after` it, s."""
    delay = spec.delay or 0.0
    start, end = float(delay - before), float(delay + after)
    return Wavelet(spec.kind, delay, shape, area, peak, peak_frequency, f95, start, end, parameters)


def _ends(shape, last):
    """Return how long before and after its centre a symmetric wavelet, which only falls beyond `last`, is seen, s."""
    return _decay_time(shape, START_LEVEL, last), _decay_time(shape, END_LEVEL, last)


def _gaussian(spec):
    tau, shape = spec.tau, partial(gaussian_shape, tau=spec.tau)
    # |S| = exp(-2 (pi f tau)^2): its integral up to f is erf(sqrt(2) pi f tau), and
    # erf(1.385903824) = 0.95.
    peak, peak_frequency = 1 / (math.sqrt(2 * math.pi) * tau), 1 / (2 * math.pi * tau)
    f95 = 1.3859038243496775 / (math.sqrt(2) * math.pi * tau)
    return _wavelet(spec, shape, f"tau {tau:g} s", *_ends(shape, tau), 1.0, peak, peak_frequency, f95)


def _ricker(spec):
    f, shape = spec.frequency, partial(ricker_shape, frequency=spec.frequency)
    # |S| ~ f^2 exp(-(f/f0)^2): its integral up to x f0 is P(3/2, x^2), the incomplete gamma
    # function, and P(3/2, 1.9767^2) = 0.95.
    ends = _ends(shape, math.sqrt(1.5) / (math.pi * f))
    return _wavelet(spec, shape, f"frequency {f:g} Hz", *ends, 0.0, 1.0, f, 1.9767053274642605 * f)


def _gaussian_derivative(spec):
    tau, shape = spec.tau, partial(gaussian_derivative_shape, tau=spec.tau)
    # |S| ~ f exp(-2 (pi f tau)^2): its integral up to f is 1 - exp(-2 (pi f tau)^2).
    f95 = math.sqrt(math.log(1 / (1 - F95)) / 2) / (math.pi * tau)
    return _wavelet(spec, shape, f"tau {tau:g} s", *_ends(shape, tau), 0.0, 1.0, 1 / (2 * math.pi * tau), f95)


def lowpass(frequency):
    """Return the low-pass pulse of a frequency, Hz, about t = 0."""
    return _lowpass(SimpleNamespace(kind="lowpass", frequency=frequency, delay=None))


def _lowpass(spec):
    f, shape = spec.frequency, partial(lowpass_shape, frequency=spec.frequency)
    # |S| = exp(-ln(10) x^4), x = f/f0: f |S| is largest at (4 ln 10)^(-1/4) f0.
    peak, peak_frequency = float(shape(np.zeros(1))[0]), f / (4 * math.log(10)) ** 0.25
    ends = LOWPASS_SPAN / f, END_LOWPASS / f
    return _wavelet(spec, shape, f"frequency {f:g} Hz", *ends, 1.0, peak, peak_frequency, F95_LOWPASS * f)


def _brune(spec):
    fc, shape = spec.corner_frequency, partial(brune_shape, corner_frequency=spec.corner_frequency)
    # |S| = 1 / (1 + (f/fc)^2): its integral up to f is fc atan(f/fc).
    after = _decay_time(shape, END_LEVEL, 1 / (2 * math.pi * fc))
    peak, f95 = 2 * math.pi * fc / math.e, fc * math.tan(F95 * math.pi / 2)
    return _wavelet(spec, shape, f"corner frequency {fc:g} Hz", 0.0, after, 1.0, peak, fc, f95)


def _kuepper_wavelet(spec):
    duration, n = spec.duration, spec.extrema
    shape = partial(kuepper_shape, duration=duration, extrema=n)
    area = (1 - (-1) ** n) * duration / math.pi * (1 / n - n / (n + 2) ** 2) / _kuepper_peak(n)
    numbers = _spectrum_numbers(shape(np.arange(1024) * duration / 1024), duration / 1024)
    parameters = f"duration {duration:g} s, {n} extrem{'um' if n == 1 else 'a'}"
    return _wavelet(spec, shape, parameters, 0.0, duration, area, 1.0, *numbers)


def _samples(spec):
    times, values = sample_arrays(spec)
    shape = partial(samples_shape, times=times, values=values)
    points = 2 * math.ceil((times[-1] - times[0]) / np.diff(times).min() - 1e-6) + 1
    fine = np.linspace(times[0], times[-1], min(LONGEST_GRID, points))
    curve = shape(fine)
    peak = float(max(np.abs(curve).max(), np.abs(values).max()))
    start, end = (times[_edge(values, level * peak, side)] for level, side in ((START_LEVEL, 0), (END_LEVEL, -1)))
    parameters = f"{len(times)} samples" + (f" of {Path(spec.file).name}" if spec.file is not None else "")
    area = float(_spline(times, values).integrate(times[0], times[-1]))
    return _wavelet(spec, shape, parameters, -start, end, area, peak, *_spectrum_numbers(curve, fine[1] - fine[0]))


WAVELETS = {
    "gaussian": _gaussian,
    "ricker": _ricker,
    "gaussian_derivative": _gaussian_derivative,
    "lowpass": _lowpass,
    "brune": _brune,
    "kuepper": _kuepper_wavelet,
    "samples": _samples,
}


# --- numbers of a wavelet -------------------------------------------------------------------------


def _decay_time(shape, level, last):
    """Time after which |shape| stays below `level` of its peak; it must decay from the time `last`
    of its last extremum on.
    """
    peak = max(abs(float(shape(np.float64(t)))) for t in (0.0, last))
    low = high = last
    while abs(float(shape(np.float64(high)))) > level * peak:
        low, high = high, 2 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if abs(float(shape(np.float64(middle)))) > level * peak else (low, middle)
    return high


def _spectrum_numbers(values, dt):
    """Peak frequency and f95 (Hz) of a sampled curve, by a zero-padded FFT."""
    length = 1 << max(17, math.ceil(math.log2(8 * len(values))))
    amplitude, f = np.abs(np.fft.rfft(values, length)), np.fft.rfftfreq(length, dt)
    top = int(amplitude.argmax())
    # A pulse has its largest amplitude at zero (or within its first lobe around zero): then where f
    # |S| is largest.
    pulse = amplitude[0] > 0.999 * amplitude[top]
    cumulative = np.cumsum(0.5 * (amplitude[1:] + amplitude[:-1]))
    return float(f[int((f * amplitude).argmax()) if pulse else top]), float(
        np.interp(F95 * cumulative[-1], cumulative, f[1:])
    )


def _edge(values, level, side):
    """Index of the sample just before the first (side 0) or just after the last (side -1) that is
    larger than `level`.
    """
    large = np.flatnonzero(np.abs(values) > level)
    return max(large[0] - 1, 0) if side == 0 else min(large[-1] + 1, len(values) - 1)


# --- files of samples -----------------------------------------------------------------------------


def sample_arrays(spec):
    """Return times and values of a ``samples`` wavelet as arrays, read from its file where it has
    one; a ValueError says why they make no wavelet.

    Parameters
    ----------
    spec : wavelet of a scenario
    """
    times, values = (spec.times, spec.values) if spec.file is None else io.read(spec.file, "wavelet", "text")
    times, values = np.array(times, dtype=float), np.array(values, dtype=float)
    for _, message, _ in sample_problems(times, values):
        raise ValueError(message)
    return times, values
