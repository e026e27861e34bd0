"""Optimal transport between traces: the misfit of densities made of computed and observed data."""

import numpy as np

SHARPNESS = 3.0  # of softplus, over the largest observed amplitude: what is negative counts little


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
        See `craton.inverse.misfit.l2`.
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
