"""Values of a plan that come late: made when a machine takes them, so that a plan of a million sources is ready in seconds; or
a row for each step, of which a machine holds some at a time, in a ring that is filled as the run goes.
"""

from dataclasses import dataclass, replace
from threading import Lock
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


# --- made when a machine takes them ---------------------------------------------------------------


class Deferred:
    """Arrays that are made together, when the first is asked for, and let go as they are taken.

    Parameters
    ----------
    make : callable
        Returns them: tuple of ndarray.
    """

    def __init__(self, make):
        self.make, self.made, self.lock = make, [], Lock()

    def part(self, number, count, dtype):
        """Return the `Part` of one of the arrays.

        Parameters
        ----------
        number, count : int
            Which, and its length.
        dtype : numpy dtype
        """
        return Part(self, number, count, dtype)

    def take(self, number):
        """Return one of the arrays, which is made anew when it is asked for again.

        Parameters
        ----------
        number : int
        """
        with self.lock:
            if not self.made or self.made[number] is None:
                self.made = list(self.make())
            values, self.made[number] = self.made[number], None
            return values


class Part:
    """One of the arrays of a `Deferred`: what NumPy makes an array of.

    Parameters
    ----------
    whole : Deferred
    number, count : int
    dtype : numpy dtype
    """

    def __init__(self, whole, number, count, dtype):
        self.whole, self.number, self.shape, self.dtype = whole, number, (count,), np.dtype(dtype)

    def __array__(self, dtype=None, copy=None):
        values = np.asarray(self.whole.take(self.number), dtype or self.dtype)
        if values.shape != self.shape:
            raise RuntimeError(f"{values.shape} values, {self.shape} were planned")
        return values

    def __len__(self):
        return self.shape[0]


@dataclass(frozen=True, eq=False)
class Sparse:
    """Numbers at some points of a box, 0 at the others: what NumPy makes a whole array of.

    Parameters
    ----------
    shape : tuple of int
    places : (n,) int array
        Of the points in the box, rising.
    numbers : (n,) int array
    """

    shape: tuple
    places: np.ndarray
    numbers: np.ndarray

    def __array__(self, dtype=None, copy=None):
        out = np.zeros(self.shape, dtype or np.int32)
        out.ravel()[self.places] = self.numbers
        return out

    def __getitem__(self, part: tuple) -> "Sparse":
        """Return those of a part of the box, slices along its axes."""
        limits = [one.indices(n)[:2] for one, n in zip(part, self.shape)]
        inside = [(n >= low) & (n < high) for n, (low, high) in zip(self.points, limits)]
        chosen = np.logical_and.reduce(inside)
        shape = tuple(max(high - low, 0) for low, high in limits)
        moved = tuple(n[chosen] - low for n, (low, _) in zip(self.points, limits))
        places = np.ravel_multi_index(moved, shape) if chosen.any() else self.places[:0]
        return Sparse(shape, places, self.numbers[chosen])

    @property
    def points(self) -> tuple:
        """Indices (k, j, i) of the points, from the first of the box on."""
        return np.unravel_index(self.places, self.shape)

    def at(self, *points: np.ndarray) -> np.ndarray:
        """Return the numbers at points (k, j, i) of the box."""
        places = np.ravel_multi_index(points, self.shape)
        next_one = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        return np.where(self.places[next_one] == places, self.numbers[next_one], 0)
