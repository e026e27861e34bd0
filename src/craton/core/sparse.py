"""Arrays over a box that are zero at most of its points: made where a machine, or a rank for its part,
asks for them. Surfaces are few points of the box around them.
"""

from dataclasses import dataclass

import numpy as np


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
