"""Series with a row for each step, of which a machine holds some rows at a time: a ring that is filled
as the run goes, in place of all rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Rolling:
    """Rows that are read when they are needed: what NumPy makes a whole array of.

    Parameters
    ----------
    read : callable
        ``read(first, last)`` returns the rows first .. last - 1; data alone, so that a plan can be
        pickled.
    shape : (int, int)
        Steps and columns.
    dtype : numpy dtype
    slots : int
        Rows that a ring holds, two or more.
    """

    read: Any
    shape: tuple
    dtype: Any
    slots: int

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.read(0, self.shape[0]), dtype or self.dtype)

    def __len__(self):
        return self.shape[0]

    @property
    def nbytes(self):
        """Bytes of the ring."""
        return self.slots * self.shape[1] * np.dtype(self.dtype).itemsize


def rolling_series(plan):
    """Return the series of a plan that a ring can stand for: dict of str to Rolling.

    Parameters
    ----------
    plan : StepPlan
    """
    return {name: a.data for name, a in plan.arrays.items() if isinstance(a.data, Rolling)}


def with_rings(plan):
    """Return a plan whose arrays of `Rolling` are rings, empty, and whose launches read them so.

    Parameters
    ----------
    plan : StepPlan
    """
    series = rolling_series(plan)
    if not series:
        return plan
    rings = {
        name: replace(plan.arrays[name], shape=(rows.slots, rows.shape[1]), data=None) for name, rows in series.items()
    }

    def in_turn(launch):
        slots = [series[name].slots for name in launch.arrays if name in series]
        return replace(launch, params=launch.params | {"slots": slots[0]}) if slots else launch

    phases = tuple(replace(phase, launches=tuple(map(in_turn, phase.launches))) for phase in plan.phases)
    return replace(plan, arrays=plan.arrays | rings, phases=phases)


class Ring:
    """Fills a ring of a program with rows of incident waves, a block ahead; an observer of the time loop
    (`craton.driver.march`). `begun` steps were done before.
    """

    def __init__(self, program, name, begun):
        self.array, self.series, self.steps = program.arrays[name], program.rolling[name], program.plan.steps
        self.see(begun - begun % self.series.slots, program)

    def due(self, step):
        """Return True where a block ends."""
        return step % self.series.slots == 0 and step < self.steps

    def see(self, step, program):
        """Put the rows of the next steps in place of those that are done."""
        last = min(step + self.series.slots, self.steps)
        program.backend.fill(self.array, self.series.read(step, last))

    def close(self):
        """Nothing to end."""


def rings(program, begun=0):
    """Return what fills the rings of a program, which have their first rows."""
    # a rank without places that take them has no ring
    return [Ring(program, name, begun) for name in program.rolling if name in program.arrays]
