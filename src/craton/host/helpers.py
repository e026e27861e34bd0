"""Compiled helpers of set-up: C++ texts that modules call from NumPy.

A helper takes a batch of elements or points on one thread; threads take batches side by side, as
they do with NumPy. Sums and products are rounded one by one, as NumPy rounds them: the compiler
must not contract them.
"""

import ctypes
from functools import cache, lru_cache

import numpy as np

from craton.host import compile as host

FLAGS = tuple("-ffp-contract=off" if f == "-ffp-contract=fast" else f for f in host.FLAGS)


class Helper:
    """The functions of a compiled text.

    Parameters
    ----------
    library : ctypes.CDLL
        Its functions take addresses, 64-bit integers and doubles, and return nothing or an integer.
    """

    def __init__(self, library):
        self.library = library

    @lru_cache  # noqa: B019
    def function(self, name):
        """Return a function by its name."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_longlong
        return function

    def call(self, name, *arguments):
        """Call a function with arrays, integers and floats; what it returns, if anything, is an
        integer.

        Raises
        ------
        ValueError
            An array is not contiguous.
        """
        return self.function(name)(*map(argument, arguments))


def argument(value):
    """Return an array, a number or None as a function of a `Helper` takes it."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError(f"an array {value.shape} for a compiled helper is not contiguous")
        return ctypes.c_void_p(value.__array_interface__["data"][0])
    if value is None:
        return ctypes.c_void_p()
    return (ctypes.c_double if isinstance(value, float) else ctypes.c_longlong)(value)


@cache
def helper(path):
    """Return the `Helper` of a C++ text, a Path."""
    return Helper(host.library(path.read_text(), FLAGS))
