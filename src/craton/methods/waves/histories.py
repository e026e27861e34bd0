"""Moment rates of catalogues in time: short windows of steps, corrected for the leapfrog, of
wavelets that differ; their lengths are known before their values.
"""

import math

import numpy as np

from craton.core.deferred import Deferred
from craton.core.plan import Array
from craton.methods.waves.ranks.gathered import deferred
from craton.survey import leapfrog

BLOCK = 256  # wavelets handled at a time
GROUP = 64  # steps: wavelets whose windows begin within as many are corrected together


def limits(d, catalogue):
    """First steps of the windows of a catalogue's wavelets, and the steps behind their last.

    The leapfrog's correction moves frequency f of what happens at step T earlier by T (1 - cos(pi f
    dt)).

    Parameters
    ----------
    d : Discretisation
    catalogue : Catalogue

    Returns
    -------
    low, high : ndarray of int, shape (m,)
    """
    onset, end = ((time - d.start) / d.dt for time in catalogue.span())
    phase = np.minimum(math.pi * catalogue.highest(d.dt) * d.dt, leapfrog.NONE)
    early = np.maximum(end, 0) * (1 - np.cos(phase))
    low = np.clip(np.floor(onset - early - 1), 0, d.steps - 1).astype(np.int64)
    high = np.clip(np.ceil(end + 1), low + 1, max(d.steps, 1)).astype(np.int64)
    return low, high


def rates(d, catalogue, low, high):
    """Values of the windows, one behind another, in the precision of the run.

    Parameters
    ----------
    d : Discretisation
    catalogue : Catalogue
    low, high : ndarray of int, shape (m,)
        As of `limits`.
    """
    at = np.concatenate([[0], np.cumsum(high - low)])
    out = np.empty(at[-1], d.precision)
    groups = low // GROUP
    order = np.lexsort((high - low, groups))
    for same in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        for chosen in np.array_split(same, -(-len(same) // BLOCK)):
            first, last = int(low[chosen].min()), int(high[chosen].max())
            series = catalogue.series(chosen, d.start + (first + 0.5) * d.dt, d.dt, last - first)
            series = leapfrog.for_leapfrog(series, d.dt, first + 0.5)
            for n, values in zip(chosen, series.T):
                out[at[n] : at[n + 1]] = values[low[n] - first : high[n] - first]
    return out


def arrays(name, d, held, windows, made=lambda values, at: values, later=0):
    """Arrays of the windows of catalogues one behind another, whose values are made later.

    Parameters
    ----------
    name : str
        With which the names of the arrays begin.
    d : Discretisation
    held : list of Catalogue
    windows : list of (low, high)
        Of each, see `limits`.
    made : callable
        From rates, and where each window begins, to the values.
    later : int
        Steps by which the values count later.

    Returns
    -------
    dict of str to Array
    """
    begin, high = (np.concatenate(ends) for ends in zip(*windows))
    at = np.concatenate([[0], np.cumsum(high - begin)])
    series = Deferred(lambda: (made(np.concatenate([rates(d, c, *w) for c, w in zip(held, windows)]), at),))
    parts = {
        "series": deferred(series, 0, int(at[-1]), d.precision),
        "begin": Array("points", begin.shape, np.int32, (begin + later).astype(np.int32)),
        "at": Array("points", at.shape, np.int64, at),
        "now": Array("points", begin.shape, d.precision),
    }
    return {f"{name}_{part}": array for part, array in parts.items()}


def columns(held):
    """Return the column of each source of catalogues, their histories one behind another.

    Parameters
    ----------
    held : list of Catalogue
    """
    starts = np.cumsum([0, *(len(c.histories[0]) for c in held)])
    parts = [c.histories[2] + start for c, start in zip(held, starts)]
    return np.concatenate(parts).astype(np.int32)
