"""When a run starts, how long its step is, how much of the record stays on the machine."""

import math

from craton import memory
from craton.errors import Problem, ResourceError, ScenarioError
from craton.survey import sources as survey_sources
from craton.text import number

MOST_STEPS = 2**31 - 1  # kernels count steps in 32 bits
SERIES_BYTES = 3 * 8  # of a step of one column: its values, and those for the leapfrog in two precisions
WORK_BYTES = 128  # of a step, for the transforms of a block of columns (measured: 104)
FEW_BYTES = 1 << 24  # that every computer has; to ask what is free takes longer than a small series
COURANT = 0.95  # of the stability limit, where the scenario names no step
SLOTS = 200  # steps that the record holds on the machine
RECORD_BYTES = 1 << 28  # of the record on the machine, at most


def time_step(scenario, limit):
    """Return the scenario's step, s, or the one that the stability limit suggests.

    Raises
    ------
    ScenarioError
        Waveforms are to be sampled more often.
    """
    step, sampling = scenario.time.step or time_step_for(limit), scenario.output.sampling
    if sampling is not None and sampling < step * (1 - 1e-9):
        words = f"sampling = {number(sampling)} s is shorter than the time step, {number(step)} s"
        remedy = f"leave sampling out to store every step, or give at least {number(step)}"
        raise ScenarioError([Problem("output.sampling", words, remedy)])
    return step


def time_step_for(limit):
    """95 % of the stability limit, in whole microseconds where these are fine enough."""
    chosen = COURANT * limit
    return math.floor(chosen * 1e6) / 1e6 if chosen > 1e-4 else chosen


def start_time(scenario, sources, dt):
    """time.start, else where every wavelet without a delay of its own begins, a whole number of
    steps before t = 0.
    """
    if scenario.time.start is not None:
        return scenario.time.start
    return -math.ceil(-survey_sources.start_time(scenario, sources) / dt - 1e-9) * dt


def step_count(scenario, start, dt):
    """Return steps from the start to the duration.

    Raises
    ------
    ScenarioError
        There are more than `MOST_STEPS`.
    """
    count = (scenario.time.duration - start) / dt
    if not count <= MOST_STEPS:
        words = f"{count:.4g} steps of {dt:.6g} s are more than the {MOST_STEPS:,} that are counted"
        raise ScenarioError([Problem("time.duration", words, "shorten the run, or split it")])
    return math.ceil(count - 1e-6)


def refuse_series(steps, columns):
    """Refuse source time functions that do not fit into memory while they are made.

    Parameters
    ----------
    steps, columns : int

    Raises
    ------
    ResourceError
    """
    needed = SERIES_BYTES * steps * columns + WORK_BYTES * steps
    if not columns or needed < FEW_BYTES:
        return
    free = memory.available()
    if free is not None and needed > free:
        raise ResourceError(
            f"the series of {columns:,} source{'s' * (columns > 1)} over {steps:,} steps take "
            f"{needed / 2**30:,.1f} GiB while they are made, of {free / 2**30:,.1f} GiB that are "
            "free\n    -> shorten time.duration, or use fewer sources or larger steps"
        )


def slots(steps, channels):
    """Return steps that the record of some channels holds before it is drained."""
    return max(1, min(SLOTS, steps, RECORD_BYTES // max(8 * channels, 1)))
