"""The regular grid: where its integer points are, in metres and in memory."""
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Grid:
    """Integer points of a regular grid, equal spacing in all axes.

    Parameters
    ----------
    origin : tuple of float
        Position (x, y, z) of the lower south-west point, metres.
    spacing : float
        Distance between neighbouring points, metres.
    shape : tuple of int
        Points along (z, y, x), the order in memory.
    """

    origin: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]

    @property
    def size(self):
        """Number of points."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def planar(self):
        """True for a plane: one point along y."""
        return self.shape[1] == 1

    def words(self):
        """Points and spacing in words."""
        nz, ny, nx = self.shape
        points = f"{nx} x {nz}" if self.planar else f"{nx} x {ny} x {nz}"
        return f"{points} = {self.size / 1e6:,.2f} million points, spacing {self.spacing:g} m"

    def axis(self, name):
        """Coordinates of the integer points along ``"x"``, ``"y"`` or ``"z"``, metres."""
        a = "xyz".index(name)
        return self.origin[a] + self.spacing * np.arange(self.shape[2 - a])

    def bounds(self, name):
        """First and last coordinate along ``"x"``, ``"y"`` or ``"z"``, metres."""
        a = "xyz".index(name)
        return self.origin[a], self.origin[a] + self.spacing * (self.shape[2 - a] - 1)
