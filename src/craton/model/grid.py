"""The regular grid: where its integer points are, in metres and in memory."""
from dataclasses import dataclass, replace

import numpy as np

EDGE = 12  # points: what is nearer to a face may be its doing


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
    start : tuple of int
        Of a part of a larger grid: index (z, y, x) there of its first point. `origin` stays that of the larger grid, so that coordinates
        are the same numbers in both.
    total : tuple of int, optional
        Of a part: points of the larger grid along (z, y, x).
    """

    origin: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]
    start: tuple[int, int, int] = (0, 0, 0)
    total: tuple[int, int, int] | None = None

    @property
    def size(self):
        """Number of points."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def planar(self):
        """True for a plane: one point along y."""
        return self.whole[1] == 1

    @property
    def whole(self):
        """Points along (z, y, x) of the grid that this is a part of, or its own."""
        return self.total or self.shape

    def window(self, box):
        """The part (k0, k1, j0, j1, i0, i1) of the grid, as a grid.

        Parameters
        ----------
        box : tuple of int
            k0, k1, j0, j1, i0, i1.
        """
        start = tuple(a + b for a, b in zip(self.start, box[::2]))
        return replace(self, shape=tuple(b - a for a, b in zip(box[::2], box[1::2])), start=start, total=self.whole)

    def words(self):
        """Points and spacing in words."""
        nz, ny, nx = self.shape
        points = f"{nx} x {nz}" if self.planar else f"{nx} x {ny} x {nz}"
        return f"{points} = {self.size / 1e6:,.2f} million points, spacing {self.spacing:g} m"

    def coarser(self, factor):
        """Say how a scenario asks for a spacing that is wider by a factor.

        Parameters
        ----------
        factor : float
        """
        return f"domain.spacing = {self.spacing * factor:.4g} m, or a smaller domain"

    def axis(self, name):
        """Coordinates of the integer points along ``"x"``, ``"y"`` or ``"z"``, metres.

        Parameters
        ----------
        name : str
            ``"x"``, ``"y"`` or ``"z"``.
        """
        a = "xyz".index(name)
        first = self.start[2 - a]
        return self.origin[a] + self.spacing * np.arange(first, first + self.shape[2 - a])

    def bounds(self, name):
        """First and last coordinate along ``"x"``, ``"y"`` or ``"z"``, metres.

        Parameters
        ----------
        name : str
            ``"x"``, ``"y"`` or ``"z"``.
        """
        a = "xyz".index(name)
        first = self.start[2 - a]
        return self.origin[a] + self.spacing * first, self.origin[a] + self.spacing * (first + self.shape[2 - a] - 1)

    def place(self, at):
        """Say where the point (k, j, i) of a part is, and whether it is near an edge of the whole grid.

        Parameters
        ----------
        at : tuple of int
            k, j, i.
        """
        axes = [(a, n, self.start["zyx".index(a)], self.whole["zyx".index(a)]) for a, n in zip("xyz", reversed(at))]
        axes = [axis for axis in axes if axis[0] != "y" or not self.planar]
        words = ", ".join(f"{a} = {self.axis(a)[n]:g}" for a, n, _, _ in axes)
        return words, any(min(n + start, total - 1 - n - start) < EDGE for _, n, start, total in axes)
