"""Series of snapshots, of any `Space`: when pictures are taken, and what of the fields they read."""

import numpy as np

from craton.conventions import components
from craton.core.snapshots import SnapshotSeries

FREQUENT = 1e-2  # of a step: pictures that follow each other within it are as frequent as steps


def series_of(space, spec):
    """Return the `SnapshotSeries` of one table of a scenario; all ranks must call."""
    d = space.d
    steps, times = picture_steps(d, spec.every, 1.0 if spec.quantity == "pressure" else 0.5)
    coords, reads, sampling = space.raster(spec)
    named = components(spec.quantity, space.motion)
    return SnapshotSeries(spec.name, spec.quantity, named, coords, steps, times, reads, sampling, d.precision)


def picture_steps(d, every, place):
    """Return steps after which pictures are taken `every` so many seconds, and their times, of a
    field that step n leaves at n + `place` steps.

    `d` has start, end, dt, steps and extra.
    """
    last = d.steps - d.extra - 1
    if every < FREQUENT * d.dt:  # each step has pictures of its own: these are not counted
        first = np.clip(np.rint((every - d.start) / d.dt - place), 0, last)
        steps = np.arange(int(first), last + 1)
        return steps, d.start + (steps + place) * d.dt
    wanted = np.arange(1, int(d.end / every) + 1) * every
    steps = np.unique(np.clip(np.rint((wanted - d.start) / d.dt - place), 0, last).astype(int))
    return steps, d.start + (steps + place) * d.dt
