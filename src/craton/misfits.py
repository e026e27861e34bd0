"""Misfits as functions of arrays: value and derivative by the computed data; windows in time, weights by which they see a
phase and no other.

A misfit takes computed and observed data, (..., time), and the sampling interval; any function of
this form may stand in their place. Traces are the last axis; what is not a trace is summed.
"""

import numpy as np

from craton.errors import ComputationError, Problem, ScenarioError, refuse, refuse_all
from craton.text import choice

QUIET = 0.05  # of the largest observed envelope: phases of what is smaller count less
LEVEL = 1e-6  # of the largest envelope: added, so that silence has a derivative
SHARPNESS = 3.0  # of softplus, over the largest observed amplitude: what is negative counts little
# rising edges of windows from 0 to 1, by how much of the edge is passed
TAPERS = {
    "hann": lambda part: 0.5 - 0.5 * np.cos(np.pi * part),
    "cos": lambda part: np.sin(np.pi / 2 * part),
    "cos_p10": lambda part: 1 - np.cos(np.pi / 2 * part) ** 10,
}


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


def transport(computed, observed, interval):
    """Half the squared Wasserstein distance of each trace from the observed one, summed, s2: a shift
    in time counts by its square, over many periods, without minima between them.

    A trace u becomes a density by softplus, log(1 + exp(b u)), over its sum, with b = 3 over the
    largest observed amplitude of the trace (Qiu, Ramos-Martinez, Valenciano, Yang & Engquist 2017,
    SEG Technical Program, 1299); densities are constant over samples, so that the distance is
    exact: the integral of the squared difference of inverse distribution functions (Yang,
    Engquist, Sun & Hamfeldt 2018, Geophysics 83, R43). A silent observed trace counts nothing.

    Parameters
    ----------
    computed, observed, interval
        See `l2`.
    """
    value, derivative = 0.0, np.zeros(np.shape(computed))
    for trace in np.ndindex(np.shape(computed)[:-1]):
        peak = np.abs(observed[trace]).max(initial=0.0)
        if peak > 0:
            more, derivative[trace] = _of_trace(computed[trace], observed[trace], SHARPNESS / peak)
            value += more
    return 0.5 * interval**2 * value, 0.5 * interval**2 * derivative


def _of_trace(computed, observed, sharpness):
    """Squared distance of two traces, in samples, and its derivative by the computed one."""
    positive, other = (np.logaddexp(0.0, sharpness * u) for u in (computed, observed))
    total = positive.sum()
    distance, potential = wasserstein(positive / total, other / other.sum())
    by_positive = (potential - potential @ positive / total) / total
    slope = sharpness * np.exp(sharpness * computed - positive)  # of softplus
    return distance, by_positive * slope


def wasserstein(first, second):
    """Squared Wasserstein distance of two densities that are constant over cells of length 1, and
    its derivative by the masses of the first one, but for a constant: Kantorovich's potential.

    Parameters
    ----------
    first, second : (n,) arrays
        Masses of the cells, positive, of sum 1.

    Returns
    -------
    float, (n,) array
    """
    edges = [np.concatenate([[0.0], np.cumsum(masses)]) for masses in (first, second)]
    for edge in edges:
        edge[-1] = 1.0
    levels = np.union1d(*edges)
    places, images = (np.interp(levels, edge, np.arange(len(edge))) for edge in edges)
    # between two levels places and images are linear, and so is how far mass is moved
    moved, length = places - images, np.diff(places)
    low, high = moved[:-1], moved[1:]
    distance = (np.diff(levels) * (low**2 + low * high + high**2)).sum() / 3
    potential = np.concatenate([[0.0], np.cumsum(length * (low + high))])
    means = length * potential[:-1] + length**2 * (2 * low + high) / 3
    cells = np.minimum(((places[:-1] + places[1:]) / 2).astype(int), len(first) - 1)
    return float(distance), np.bincount(cells, means, len(first))


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
        refuse("misfit", f"the function {words}", remedy)
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


def misfit_of(misfit):
    """Return the function of a misfit by its name, or the function itself."""
    if callable(misfit):
        return misfit
    if misfit in MISFITS:
        return MISFITS[misfit]
    raise ScenarioError.of("misfit", f"there is no misfit {misfit!r}", f"{choice(misfit, MISFITS)}, or give a function")


def window(data, left, right, taper_percentage=0.15, taper_type="hann"):
    """Return weights that are 1 between two times, 0 outside, with tapered edges inside:
    ``weights={"velocity": window(observed, 0.4, 0.9)}``. Names are those of pyadjoint.

    Parameters
    ----------
    data : xarray.Dataset or xarray.DataArray
        With the coordinate ``time``, s.
    left, right : float or xarray.DataArray
        Begin and end, s: numbers, or of each receiver, shot, component; nan where there is none.
    taper_percentage : float
        Part of the window that both edges take together, 0 to 1.
    taper_type : str
        ``"hann"``, ``"cos"`` or ``"cos_p10"``.

    Returns
    -------
    xarray.DataArray
        Over the dimensions of `left` and `right`, and ``time``. Windows of several phases add up.

    Raises
    ------
    ScenarioError
        There is no such taper, or a window ends before it begins.
    """
    import xarray as xr

    problems = []
    if taper_type not in TAPERS:
        problems.append(Problem("taper_type", f"there is no taper {taper_type!r}", choice(taper_type, TAPERS)))
    if not 0 <= taper_percentage <= 1:
        problems.append(Problem("taper_percentage", f"{taper_percentage!r} is no part of a window", "use 0 to 1"))
    left, right = (xr.DataArray(limit).astype(float) for limit in (left, right))
    if bool((right <= left).any()):
        problems.append(Problem("right", "a window ends before it begins", "swap left and right"))
    refuse_all(problems)
    edge = (right - left) * taper_percentage / 2
    inside = np.minimum(data["time"] - left, right - data["time"])
    passed = (inside / edge.where(edge > 0, 1.0)).clip(0, 1).where(edge > 0, 1.0)
    weights = TAPERS[taper_type](passed).where(inside >= 0, 0.0)
    return weights.transpose(..., "time")
