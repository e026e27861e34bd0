"""Records of a run with a folder: how they reach the store, receivers in blocks, so that memory does not grow with their
number.
"""

import numpy as np

from craton.core import plan as plan_limits


def write_records(result, store):
    """Write waveforms and fibres to the store."""
    from craton.output.dataset import time_axis

    plan = result.plan
    samples = len(time_axis(plan.steps - plan.extra, plan.dt, plan.start, result.scenario.output.sampling))
    if plan.receivers.fibres is not None and len(result.samples):
        store.write_fibres(of_fibres(result).fibres, samples)
    if len(plan.receivers) and len(result.samples):
        store.write_waveforms((part.dataset for part in blocks(result, samples)), samples)


def of_fibres(result):
    """Return a result with the channels of fibres only, where it has others in blocks."""
    if result.samples.nbytes <= plan_limits.RECORD_BLOCK:
        return result
    fibres = [n for n, channel in enumerate(result.plan.channels) if channel.terms]
    return result.part(result.plan.receivers, fibres)


def blocks(result, samples=0):
    """Yield results of some receivers each, which together are the whole one: itself where it is
    small, or has several shots.

    Parameters
    ----------
    result : Result
    samples : int, optional
        Times that are written; where they or the quantities are more than were recorded, blocks are
        smaller.
    """
    receivers, channels = result.plan.receivers, result.plan.channels
    recorded = len({channel.quantity for channel in channels})
    steps, written = max(len(result.samples), 1), len(result.scenario.output.waveforms)
    wider = max(1.0, samples / steps) * max(1.0, written / max(recorded, 1))
    per_receiver = int(wider * result.samples.nbytes) // max(len(receivers), 1)
    count = max(1, plan_limits.RECORD_BLOCK // max(per_receiver, 1))
    if count >= len(receivers) or result.plan.shots:
        yield result
        return
    block = np.array([-1 if channel.terms else channel.receiver // count for channel in channels])
    for n, first in enumerate(range(0, len(receivers), count)):
        named = receivers.part(slice(first, first + count))
        yield result.part(named, np.flatnonzero(block == n), first)


def opened(result, store):
    """Return the waveforms as a dataset: that of a small result, else the one in the store, whose
    values are read when they are used.

    Parameters
    ----------
    result : Result
    store : Store
    """
    import xarray as xr

    if result.samples.nbytes <= plan_limits.RECORD_BLOCK:
        return result.dataset
    return xr.open_zarr(store.zarr, chunks=None)
