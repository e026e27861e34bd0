"""A property of the Earth as bare numbers, as models of exploration are often handed on: what such a
file does not say comes from the scenario.
"""

from contextlib import contextmanager
from pathlib import Path

import numpy as np

from craton.io.contents import FileError

ORDERS = ("xz", "zx", "xyz", "xzy", "yxz", "yzx", "zxy", "zyx")
TYPES = ("float32", "float64")
ENDIANS = {"little": "<", "big": ">"}
REMEDY = 'write shape = [nx, nz], order = "xz", spacing = [dx, dz] beside the file'


@contextmanager
def opened(path, shape=None, order=None, spacing=None, origin=None, type=TYPES[0], endian="little"):
    """Open a file; its values are read when they are used.

    Parameters
    ----------
    path : pathlib.Path
    shape : sequence of int
        Points along the axes of `order`.
    order : str
        Axes from the one that varies slowest to the one that varies fastest: ``"xz"`` has one
        column after the other. Samples along z go down.
    spacing : sequence of float
        m along the axes of `order`; negative for x and y that fall and z that rises.
    origin : sequence of float, optional
        x, (y) and z of the first sample, m, in the order of `order`; 0 by default.
    type, endian : str
        Of a number: one of `TYPES`, of `ENDIANS`.

    Yields
    ------
    xarray.Dataset
        One variable, ``value``, over the axes of `order` (m, z up).

    Raises
    ------
    FileError
        The file has not as many bytes as these numbers.
    """
    from xarray import Dataset

    path = Path(path)
    if None in (shape, order, spacing):
        raise FileError(f"{path.name} has no heading that says what is where", REMEDY)
    kind = np.dtype(ENDIANS[endian] + {"float32": "f4", "float64": "f8"}[type])
    needed, held = kind.itemsize * int(np.prod(shape, dtype=object)), path.stat().st_size
    if needed != held:
        raise FileError(
            f"{path.name} has {held:,} bytes, {' x '.join(map(str, shape))} numbers of {type} have {needed:,}",
            "correct shape or type",
        )
    axes = {
        axis: first + (-step if axis == "z" else step) * np.arange(count)
        for axis, first, step, count in zip(order, origin or [0.0] * len(shape), spacing, shape)
    }
    yield Dataset({"value": (tuple(order), np.memmap(path, kind, "r", shape=tuple(shape)))}, axes)
