"""What every machine offers: commit a plan, run its phases, show its arrays. A backend is one file beside this one."""
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Shared:
    """What neighbours exchange after a phase: its messages, functions of the step that fill and empty their buffers."""

    messages: tuple
    pack: Any
    unpack: Any


@dataclass(frozen=True)
class Stage:
    """One phase on a machine: the work that neighbours wait for, the rest, and what they wait for (Shared or None)."""

    name: str
    outer: Any
    inner: Any
    shared: Any = None


@dataclass
class Program:
    """A plan on a machine.

    Parameters
    ----------
    phases : list of Stage
        One time step, in order.
    arrays : dict
        The plan's arrays on the machine, padding included.
    seconds : float
        Time that the commit took.
    """

    plan: Any
    backend: Any
    phases: list
    arrays: dict
    seconds: float = 0.0

    def grid(self, name):
        """The grid's points of a field, as an array of the machine."""
        return self.arrays[name][self.plan.arrays[name].window]

    def host(self, name, index=...):
        """A copy on the host of part of an array; of a field, its grid's points."""
        spec = self.plan.arrays[name]
        if spec.lanes:
            return self.backend.separate(self.backend.to_host(self.arrays[name]))[index]
        array = self.grid(name) if spec.window else self.arrays[name]
        return self.backend.to_host(array[index])


def aligned(shape, dtype, alignment=128):
    """An uninitialised host array whose data start on an aligned address."""
    dtype = np.dtype(dtype)
    raw = np.empty(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + raw.size - alignment].view(dtype).reshape(shape)


def interleaved(array, lanes):
    """Elements (n, ...) side by side: (n / lanes, ..., lanes).

    Raises
    ------
    ValueError
        n is no multiple of `lanes`.
    """
    if len(array) % lanes:
        raise ValueError(f"{len(array)} elements are no multiple of {lanes}: fill up with elements that add nothing to the dummy point")
    return np.moveaxis(array.reshape(-1, lanes, *array.shape[1:]), 1, -1)


def separate(array):
    """What `interleaved` put side by side, as it was."""
    return np.ascontiguousarray(np.moveaxis(array, -1, 1)).reshape(-1, *array.shape[1:-1])
