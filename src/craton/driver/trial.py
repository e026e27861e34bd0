"""A few steps of a plan timed on a machine: what a run will take."""

import time

import numpy as np

from craton.core.rolling import with_rings

LEAST, MOST = 3, 20  # steps that are timed
SECONDS = 0.4  # spent on them, about
LARGEST = 256 << 20  # bytes of what is timed: many times the caches of a processor


def parts_to_time(plan):
    """Return into how many parts a plan is cut of which one is timed.

    Parameters
    ----------
    plan : Plan
    """
    return -(-plan.nbytes // LARGEST)


def step_seconds(plan, machine, clock=time.perf_counter):
    """Return the seconds of a time step, the median of a few after a first one.

    Material that a run fills when it is committed is constant here: kernels are as fast with it.

    Parameters
    ----------
    plan : Plan
        It takes the memory of a run while it is timed.
    machine : Machine
    clock : callable
        ``time.process_time`` where other work holds the cores.

    Returns
    -------
    float
    """
    fills = {a.part_of or name: constant for name, a in plan.arrays.items() if a.filled}
    program = machine.commit(with_rings(plan), fills)
    seconds, begin = [], clock()
    most = min(MOST, plan.steps - 1)
    while len(seconds) <= min(LEAST, most) or (len(seconds) <= most and clock() - begin < SECONDS):
        start = clock()
        program.step(len(seconds))
        machine.finish()
        seconds.append(clock() - start)
    return float(np.median(seconds[1:] or seconds))


def constant(arrays, box):
    """Fill arrays with ones.

    Parameters
    ----------
    arrays : dict of str to ndarray
    box : tuple of int
        Of the whole grid; unused.
    """
    for array in arrays.values():
        array[...] = 1
