"""Misfits as functions of arrays: value and derivative by the computed data.

A misfit takes computed and observed data, (..., time), and the sampling interval; any function of
this form may stand in their place. Traces are the last axis; what is not a trace is summed.
"""

import numpy as np

from craton.errors import ComputationError, Problem, ScenarioError
from craton.inverse.transport import transport

QUIET = 0.05  # of the largest observed envelope: phases of what is smaller count less
LEVEL = 1e-6  # of the largest envelope: added, so that silence has a derivative


def l2(computed, observed, interval):
    """Half the squared difference, integrated over time and summed over traces.

    Parameters
    ----------
    computed, observed : ndarray, shape (..., time)
    interval : float
        s.

    Returns
    -------
    value : float
    derivative : ndarray
        By the computed data.
    """
    residual = computed - observed
    return 0.5 * interval * float((residual**2).sum()), interval * residual


def correlation(computed, observed, interval):
    """One minus the normalised correlation of each trace, summed (Choi & Alkhalifah 2012,
    Geophys. J. Int. 188, 1091): blind to amplitudes. A silent trace counts nothing.

    Parameters
    ----------
    computed, observed, interval
        See `l2`.
    """
    norms = [np.sqrt((v**2).sum(-1, keepdims=True)) for v in (computed, observed)]
    heard = (norms[0] > 0) & (norms[1] > 0)
    a, b = (np.where(heard, v, 0) / np.where(heard, n, 1.0) for v, n in zip((computed, observed), norms))
    product = (a * b).sum(-1, keepdims=True)
    derivative = (product * a - b) / np.where(heard, norms[0], 1.0)
    return float((heard - product).sum()), derivative


def travel_time(computed, observed, interval):
    """Half the squared delay of each trace, summed (Luo & Schuster 1991, Geophysics 56, 645): the
    delay, s, is where the correlation with the observed trace is largest, between samples too.

    Parameters
    ----------
    computed, observed, interval
        See `l2`. A trace silent in either counts nothing.
    """
    delays, slopes = delays_of(computed, observed, interval)
    return 0.5 * float((delays**2).sum()), delays[..., None] * slopes


def delays_of(computed, observed, interval, newton=30):
    """Delays of the computed traces, s, and their derivatives by the computed data.

    The delay d is a root of c'(d) with c(d) = sum of s(t) o(t - d); o is interpolated as a
    band-limited signal, zero outside its samples. By the implicit function theorem
    dd/ds(t) = o'(t - d) / c''(d).

    Parameters
    ----------
    computed, observed, interval
        See `l2`.
    newton : int
        Iterations at most.

    Returns
    -------
    delays : ndarray, shape (...)
    slopes : ndarray, shape (..., time)
    """
    n = computed.shape[-1]
    length = 2 * n
    spectra = [np.fft.rfft(v, length) for v in (computed, observed)]
    omega = 2j * np.pi * np.fft.rfftfreq(length, interval)
    omega[-1] = 0  # the highest frequency has no derivative
    product = spectra[0] * np.conj(spectra[1])
    c = np.fft.irfft(product, length)
    lag = c.argmax(-1)
    delays = np.where(lag < n, lag, lag - length) * float(interval)
    heard = np.abs(c).max(-1) > 0
    weight = np.full(omega.shape, 2.0 / length)
    weight[[0, -1]] /= 2

    def derivative(order):
        shifted = product * omega**order * np.exp(omega * delays[..., None])
        return (weight * shifted.real).sum(-1)

    for _ in range(newton):
        bend = derivative(2)
        step = np.where(heard, -derivative(1) / np.where(bend == 0, 1.0, bend), 0.0)
        delays = delays + np.clip(step, -interval, interval)
        if np.abs(step).max(initial=0) < 1e-14 * interval * n:
            break
    moved = spectra[1] * omega * np.exp(-omega * delays[..., None])
    bend = derivative(2)[..., None]
    slopes = np.fft.irfft(moved, length)[..., :n] / np.where(bend == 0, 1.0, bend)
    return np.where(heard, delays, 0.0), np.where(heard[..., None], slopes, 0.0)


def envelope(computed, observed, interval):
    """Half the squared difference of envelopes, integrated over time and summed over traces (Bozdag,
    Trampert & Tromp 2011, Geophys. J. Int. 185, 845).

    Parameters
    ----------
    computed, observed, interval
        See `l2`.
    """
    quadrature, other = hilbert(computed), hilbert(observed)
    of_observed = np.sqrt(observed**2 + other**2)
    least = LEVEL * of_observed.max(initial=0)
    of_computed = np.sqrt(computed**2 + quadrature**2 + least**2)
    residual = of_computed - np.sqrt(of_observed**2 + least**2)
    ratio = residual / np.where(of_computed > 0, of_computed, 1.0)
    derivative = ratio * computed - hilbert(ratio * quadrature)
    return 0.5 * interval * float((residual**2).sum()), interval * derivative


def phase(computed, observed, interval):
    """Half the squared difference of exponentiated phases (s + i h) / |s + i h|, h the Hilbert
    transform, integrated over time and summed over traces (Yuan, Bozdag, Ciardelli, Gao & Simons
    2020, Geophys. J. Int. 221, 1113): blind to amplitudes, without cycles to be counted. Where an
    envelope is below 5 % of the largest observed one it counts less and less.

    Parameters
    ----------
    computed, observed, interval
        See `l2`.
    """
    parts = [(v, hilbert(v)) for v in (computed, observed)]
    squared = [a**2 + b**2 for a, b in parts]
    least = QUIET * np.sqrt(squared[1].max(initial=0)) or 1.0
    (a, b), (c, d) = parts
    size, other = (np.sqrt(v + least**2) for v in squared)
    real, imaginary = a / size - c / other, b / size - d / other
    radial = (real * a + imaginary * b) / size**3
    derivative = real / size - radial * a - hilbert(imaginary / size - radial * b)
    return 0.5 * interval * float((real**2 + imaginary**2).sum()), interval * derivative


def hilbert(values):
    """Hilbert transform of traces, zero outside their samples: minus its own transpose.

    Parameters
    ----------
    values : ndarray, shape (..., time)
    """
    n = values.shape[-1]
    spectrum = np.fft.rfft(values, 2 * n) * -1j
    spectrum[..., [0, -1]] = 0
    return np.fft.irfft(spectrum, 2 * n)[..., :n]


def compared(misfit, computed, observed, interval):
    """Return the value of a misfit and its derivative by the computed data, as a float and an array.

    Parameters
    ----------
    misfit : callable
        Of `MISFITS`, or a user's.
    computed, observed, interval
        See `l2`.

    Raises
    ------
    ScenarioError
        It returns something else.
    """
    outcome = misfit(computed, observed, interval)
    words = ""
    try:
        value, derivative = outcome
        value, derivative = float(value), np.asarray(derivative, float)
    except (TypeError, ValueError):
        words = f"returned {type(outcome).__name__} where a value and an array are needed"
    else:
        if derivative.shape != computed.shape:
            words = f"returned a derivative of shape {derivative.shape} for data of {computed.shape}"
    if words:
        remedy = "return the value, a number, and its derivative by each computed sample"
        raise ScenarioError([Problem("misfit", f"the function {words}", remedy)])
    return value, derivative


def refuse_infinite(values, noun):
    """Refuse a misfit or a gradient with values that are not finite.

    Parameters
    ----------
    values : float or array
    noun : str
        What they are.

    Raises
    ------
    ComputationError
    """
    count = int(np.size(values) - np.isfinite(values).sum())
    if count:
        raise ComputationError(
            f"{noun} has {count:,} of {np.size(values):,} values that are not finite: the wavefield "
            "overflowed, or the misfit divides by data that are zero; scale the data, or use weights="
        )


MISFITS = {
    "l2": l2,
    "correlation": correlation,
    "travel_time": travel_time,
    "envelope": envelope,
    "phase": phase,
    "transport": transport,
}
