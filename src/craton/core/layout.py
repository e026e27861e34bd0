"""Memory layout of a grid: ghost points on all sides, rows padded so that each starts on an aligned
address.
"""

from dataclasses import dataclass

import numpy as np

ALIGNMENT = 32  # elements: 128 bytes in float32, a cache line of a GPU
LEFT = 8  # ghosts before the first point of a row, at least
# between fields of one block, against conflicts of equal low address bits
FIELD_GAP = 17 * ALIGNMENT


def rounded(n, to):
    """Round up to a multiple of `to`.

    Parameters
    ----------
    n, to : int
    """
    return -(-n // to) * to


@dataclass(frozen=True)
class Layout:
    """Padded memory of fields over a grid; several of them share a block, one after another.

    Parameters
    ----------
    shape : tuple of int
        Points of the grid along (z, y, x).
    reach : int
        Ghost planes and rows on each side. Along x there are at least 8 reals on the left.
    flat : bool
        No ghost rows: the rows of a plane are the same line of the (x, z) plane in several shots.
    alignment : int
        Elements of which the length of a row is a multiple.
    right : int
        Ghosts after the last point of a row, at least.
    """

    shape: tuple
    reach: int
    flat: bool = False
    alignment: int = ALIGNMENT
    right: int = LEFT

    @property
    def origin(self):
        """Index of the grid's point (0, 0, 0) in the padded array."""
        return (self.reach, 0 if self.flat else self.reach, LEFT)

    @property
    def padded(self):
        """Shape with ghosts and padding."""
        nz, ny, nx = self.shape
        return (nz + 2 * self.origin[0], ny + 2 * self.origin[1], rounded(LEFT + nx + self.right, self.alignment))

    @property
    def row(self):
        """Elements from one row to the next."""
        return self.padded[2]

    @property
    def plane(self):
        """Elements from one plane to the next."""
        return self.padded[1] * self.padded[2]

    @property
    def lead(self):
        """Elements before the first field of a block."""
        return -LEFT % self.alignment

    @property
    def field(self):
        """Elements from one field to the next where several share a block."""
        return self.padded[0] * self.plane + FIELD_GAP // ALIGNMENT * self.alignment

    @property
    def first(self):
        """Elements from the start of a field to the grid's point (0, 0, 0)."""
        return self.offset(0, 0, 0) + self.origin[0] * self.plane + self.origin[1] * self.row + self.origin[2]

    def block(self, fields):
        """Return the elements of a block of several fields.

        Parameters
        ----------
        fields : int
            Number of fields in the block.
        """
        return self.lead + fields * self.field

    def start(self, number):
        """Return the elements from the start of a block to field `number`, padding included.

        Parameters
        ----------
        number : int
            Of the field, from 0.
        """
        return self.lead + number * self.field

    def offset(self, k, j, i):
        """Return the elements from the grid's point (0, 0, 0) to (k, j, i); works on arrays, int64.

        Parameters
        ----------
        k, j, i : int or ndarray of int
            Indices along z, y and x; ghosts have negative ones.
        """
        return np.int64(self.plane) * k + np.int64(self.row) * j + i

    def place(self, offset):
        """Return (k, j, i) of offsets into a block of fields, counted from the first field's point
        (0, 0, 0): the inverse of `offset`.

        Parameters
        ----------
        offset : int or ndarray of int
        """
        padding = self.first
        within = (offset + padding) % self.field
        return tuple(
            n - o
            for n, o in zip((within // self.plane, within % self.plane // self.row, within % self.row), self.origin)
        )

    def window(self):
        """Return the slices of the padded array that hold the grid's points."""
        return tuple(slice(o, o + n) for o, n in zip(self.origin, self.shape))
