"""Moment rates of thousands of sources in time: short windows of steps, corrected for the leapfrog.

The correction moves frequency f of what happens at step T earlier by T (1 - cos(pi f dt)).
"""

import math
from collections.abc import Iterator

import numpy as np

from craton.survey import leapfrog

SLIPPING, WAVELETS = 1024, 256  # components of faults, and wavelets of catalogues, that are corrected at a time
RING = 8.0  # periods of the band's end over which a band-limited kink has faded
CUT = 1e-6  # of a column's peak: its window ends where it stays below
GROUP = 64  # steps: columns whose windows begin within as many are corrected together


def of_fault(d, fault, band):
    """Return first steps (n,), counts (n,) and values of the windows of a fault's components: slip rates up to a band, Hz."""
    low, high = _bounds(d, fault, band)
    begin, parts = np.zeros(len(low), np.int64), [np.empty(0, np.float32)] * len(low)
    for some, first, series in _corrected(d, fault, low, high, SLIPPING, band):
        for n, values in zip(some, series.T):
            begin[n], parts[n] = _trimmed(values.astype(d.precision), first)
    return begin, np.array([len(part) for part in parts], np.int64), np.concatenate(parts)


def _bounds(d, fault, band):
    """Return steps (first, behind the last) in which each component acts, with room for what precedes and follows it."""
    ring = RING / (band * d.dt)
    end = (fault.end + fault.interval - d.start) / d.dt
    early = end * (1 - math.cos(min(leapfrog.NONE, leapfrog.TAPER * math.pi * band * d.dt)))
    low = (fault.onset - fault.interval - d.start) / d.dt - ring - np.maximum(early, 0)
    low = np.clip(np.floor(low), 0, d.steps - 1).astype(np.int64)
    last = np.maximum(d.steps, low + 1)
    high = np.maximum(np.minimum(np.ceil(end + ring), last).astype(np.int64), low + 1)
    return low, high


def _trimmed(values, first):
    """Return first step and values of a series without what is next to nothing before and behind."""
    large = np.flatnonzero(np.abs(values) > CUT * np.abs(values).max())
    if not len(large):
        return first, np.empty(0, np.float32)
    return first + large[0], values[large[0] : large[-1] + 1].copy()


def limits(d, catalogue):
    """Return the first steps of the windows of a catalogue's wavelets, and the steps behind their last: (m,) each."""
    onset, end = ((time - d.start) / d.dt for time in catalogue.span())
    phase = np.minimum(math.pi * catalogue.highest(d.dt) * d.dt, leapfrog.NONE)
    early = np.maximum(end, 0) * (1 - np.cos(phase))
    low = np.clip(np.floor(onset - early - 1), 0, d.steps - 1).astype(np.int64)
    high = np.clip(np.ceil(end + 1), low + 1, max(d.steps, 1)).astype(np.int64)
    return low, high


def of_catalogue(d, catalogue, low, high):
    """Return the values of the windows between `limits`, one behind another, in the precision of the run."""
    at = np.concatenate([[0], np.cumsum(high - low)])
    out = np.empty(at[-1], d.precision)
    for some, first, series in _corrected(d, catalogue, low, high, WAVELETS):
        for n, values in zip(some, series.T):
            out[at[n] : at[n + 1]] = values[low[n] - first : high[n] - first]
    return out


def _corrected(d, source, low, high, most, band=math.inf) -> Iterator:
    """Yield columns (m,), their first step and their rates (steps, m), of columns whose windows begin close to each other."""
    groups = low // GROUP
    order = np.lexsort((high - low, groups))
    for same in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        for some in np.array_split(same, -(-len(same) // most)):
            first, last = int(low[some].min()), int(high[some].max())
            series = source.series(some, d.start + (first + 0.5) * d.dt, d.dt, last - first)
            yield some, first, leapfrog.for_leapfrog(series, d.dt, first + 0.5, band)
