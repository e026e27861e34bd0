"""Values of a plan that are made when a machine takes them: a plan of a million sources or receivers
is ready in seconds, and its memory is known.
"""

from dataclasses import dataclass
from threading import Lock

import numpy as np


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
        found = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        return np.where(self.places[found] == places, self.numbers[found], 0)
