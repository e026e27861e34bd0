"""Slip rates of finite faults in time: short windows of steps, corrected for the leapfrog, for
thousands of subfaults.
"""

import math

import numpy as np

from craton import memory
from craton.survey import leapfrog

BLOCK = 1024  # components handled at a time
RING = 8.0  # periods of the band's end over which a band-limited kink has faded
CUT = 1e-6  # of a column's peak: its window ends where it stays below
GROUP = 64  # steps: components whose windows begin within as many are corrected together
SORTED = 48  # bytes of a row while the table is sorted
MOST = 2**31 - 1  # rows of a table


def windows(d, fault, band):
    """First steps (n,), counts (n,) and values of the windows of a fault's components, corrected
    for the leapfrog.
    """
    low, high = bounds(d, fault, band)
    begin, counts, parts = (
        np.zeros(len(low), np.int64),
        np.zeros(len(low), np.int64),
        [np.empty(0, np.float32)] * len(low),
    )
    groups = low // GROUP
    order = np.lexsort((high - low, groups))
    for same in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        for some in np.array_split(same, -(-len(same) // BLOCK)):
            first, last = int(low[some].min()), int(high[some].max())
            series = fault.series(some, d.start + (first + 0.5) * d.dt, d.dt, last - first)
            series = leapfrog.for_leapfrog(series, d.dt, first + 0.5, band)
            for c, values in zip(some, series.T):
                begin[c], parts[c] = trimmed(values.astype(d.precision), first)
                counts[c] = len(parts[c])
    return begin, counts, np.concatenate(parts)


def bounds(d, fault, band):
    """Return steps (first, behind the last) in which each component acts, with room for what
    precedes and follows it.

    The leapfrog's correction moves frequency f of what happens at step T earlier by T (1 - cos(pi f
    dt)).
    """
    ring = RING / (band * d.dt)
    end = (fault.end + fault.interval - d.start) / d.dt
    early = end * (1 - math.cos(min(leapfrog.NONE, leapfrog.TAPER * math.pi * band * d.dt)))
    low = (fault.onset - fault.interval - d.start) / d.dt - ring - np.maximum(early, 0)
    low = np.clip(np.floor(low), 0, d.steps - 1).astype(np.int64)
    last = np.maximum(d.steps, low + 1)
    high = np.maximum(np.minimum(np.ceil(end + ring), last).astype(np.int64), low + 1)
    return low, high


def trimmed(values, first):
    """(first step, values) of a series without what is next to nothing before and behind."""
    large = np.flatnonzero(np.abs(values) > CUT * np.abs(values).max())
    if not len(large):
        return first, np.empty(0, np.float32)
    return first + large[0], values[large[0] : large[-1] + 1].copy()


def joined(parts):
    """Begins, starts (n + 1,) and values of several faults behind each other."""
    begins, counts, values = zip(*parts)
    return (np.concatenate(begins), np.concatenate([[0], np.cumsum(np.concatenate(counts))]), np.concatenate(values))


def available():
    """Bytes of memory that the host has left; what a table can have at most where it does not say."""
    free = memory.available()
    return SORTED * MOST if free is None else free
