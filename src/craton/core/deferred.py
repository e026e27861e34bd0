"""Values of a plan that are made when a machine takes them: a plan of a million sources or receivers
is ready in seconds, and its memory is known.
"""

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
