"""Points in groups that lie together, prisms in records: the inputs of the kernels, in their number
format.
"""

from dataclasses import dataclass

import numpy as np

from craton.methods.gravity.operators import LANES

SAMPLE = 4096  # prisms that tell where they lie and how large they are


class Frame:
    """Local origin and length unit in which single precision works; double precision keeps the
    user's coordinates.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem):
        self.split = problem.precision == "float32"
        self.origin, self.unit = np.zeros(3), 1.0
        if self.split and len(problem.prisms):
            sample = problem.prisms[:: max(len(problem.prisms) // SAMPLE, 1)]
            sides, low, high = (
                sample[:, 1::2] - sample[:, ::2],
                sample[:, ::2].min(axis=0),
                sample[:, 1::2].max(axis=0),
            )
            self.origin = 0.5 * (low + high)
            self.unit = float(2.0 ** np.round(np.log2(np.median(np.linalg.norm(sides, axis=1)))))

    def reals(self, coordinates, axes):
        """Coordinates (n, c) of the given axes as reals, or as high and low parts side by side (n,
        2 c).
        """
        if not self.split:
            return coordinates
        local = (coordinates - self.origin[axes]) / self.unit
        high = local.astype(np.float32)
        return np.concatenate([high, (local - high).astype(np.float32)], axis=1)

    def rounded(self, centres):
        """Centres (n, 3) moved to where one real holds them."""
        return (
            (((centres - self.origin) / self.unit).astype(np.float32) * self.unit + self.origin)
            if self.split
            else centres
        )

    def points(self, points, stride):
        """Points (3, n) as the kernels read them, (coordinates, stride): the last one repeated."""
        reals = self.reals(points.T, [0, 1, 2]).T
        return np.pad(reals, ((0, 0), (0, stride - reals.shape[1])), mode="edge")

    def place(self, points, stride, fields):
        """Return what a tile of points loads: coordinates, groups, empty totals."""
        return {
            "points": self.points(points, stride),
            "groups": self.spheres(points, stride),
            "total": np.zeros((fields, stride)),
        }

    def spheres(self, points, stride):
        """Centre and radius around every group of LANES points, (groups, 4)."""
        local = (np.pad(points, ((0, 0), (0, stride - points.shape[1])), mode="edge").T - self.origin) / self.unit
        local = local.reshape(-1, LANES, 3)
        centre = 0.5 * (local.min(axis=1) + local.max(axis=1))
        radius = np.linalg.norm(local - centre[:, None], axis=2).max(axis=1)
        kind = np.float32 if self.split else np.float64
        return np.concatenate([centre, radius[:, None] * (1 + 1e-6)], axis=1).astype(kind)


def morton_order(points):
    """Order of points (3, n) that puts neighbours together."""
    return np.argsort(morton_code(points), kind="stable")


def morton_code(points):
    """Morton code of 21 bits per axis of points (3, n), over their cube."""
    low, high = points.min(axis=1, keepdims=True), points.max(axis=1, keepdims=True)
    cells = ((points - low) * ((2**21 - 1) / max(float((high - low).max()), 1e-300))).astype(np.uint64)
    code = np.zeros(points.shape[1], np.uint64)
    for axis, cell in enumerate(cells):
        code |= spread(cell) << np.uint64(2 - axis)
    return code


SPREAD = (
    (32, 0x1F00000000FFFF),
    (16, 0x1F0000FF0000FF),
    (8, 0x100F00F00F00F00F),
    (4, 0x10C30C30C30C30C3),
    (2, 0x1249249249249249),
)


def spread(cell):
    """Two zero bits after each of 21 bits."""
    for shift, keep in SPREAD:
        cell = (cell | (cell << np.uint64(shift))) & np.uint64(keep)
    return cell


def series_ratio(order, tolerance, orders):
    """Distance over half diagonal from which the box series to `order` is within `tolerance` of its
    leading term.

    Bound of a needle of that diagonal: the term of degree n is at most (a/r)^n / (n + 1) of the
    potential, (a/r)^n of the acceleration, (n + 2)/2 (a/r)^n of the gradient; the terms left out
    start at order + 2 and fall like (a/r)^2. `orders`: derivatives in the fields.
    """
    n = order + 2
    factor = max({0: 1 / (n + 1), 1: 1.0, 2: (n + 2) / 2}[k] for k in orders)
    ratio = 0.5
    for _ in range(20):
        ratio = min((tolerance / factor * (1 - ratio**2)) ** (1 / n), 0.7)
    return 1 / ratio


@dataclass(frozen=True)
class Far:
    """Where the series of a single prism takes over.

    Parameters
    ----------
    order : int
        Highest order, 0 for the closed form everywhere.
    ratio : float
        Distance over half diagonal from which it serves.
    starts : tuple of float
        Distances from which orders 4 and 2 do, over that distance.
    """

    order: int
    ratio: float = 0.0
    starts: tuple = (1.0, 1.0)

    @classmethod
    def within(cls, order, low, high, orders):
        """Return the series errs by less than `near` where it begins and by less than `far` where
        lower orders take over.
        """
        ratio = series_ratio(order, low, orders)
        return cls(order, ratio, tuple(max(series_ratio(lower, high, orders) / ratio, 1.0) for lower in (4, 2)))
