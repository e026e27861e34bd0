"""Interpolation between points that are part of a regular lattice, such as a shell around a box:
weights from the points that are there, and how far waves are off.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from craton.methods.waves.interpolate import fitted_many

COUNTS = (8, 6, 4, 2)  # points along an axis, the most that are there
ON_LINE = 1e-6  # of the spacing: positions on a line of the lattice
REGULAR = 1e-3  # of the spacing: how far points may lie off the lattice
SPAN = np.array(list(product((0, 1), repeat=3)))


class NoLattice(ValueError):
    """Points that are no part of a regular lattice."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points of a regular lattice along x, y and z; not all of its places hold one.

    Parameters
    ----------
    origin, spacing : (3,) array
        m; the spacing along an axis with one line is 1.
    number : int array, shape (nx, ny, nz)
        Of the point at each place, -1 where there is none.
    """

    origin: np.ndarray
    spacing: np.ndarray
    number: np.ndarray

    @cached_property
    def filled(self):
        """Points below each place along all axes, (nx + 1, ny + 1, nz + 1)."""
        counted = np.zeros(np.array(self.number.shape) + 1, np.int64)
        counted[1:, 1:, 1:] = (self.number >= 0).cumsum(0).cumsum(1).cumsum(2)
        return counted

    def positions(self, xyz):
        """Positions in units of the spacing from the first line, (n, 3)."""
        return (np.asarray(xyz, float).reshape(-1, 3) - self.origin) / self.spacing

    def complete(self, first, count):
        """Return which blocks of places hold points only: (n,) bool.

        Parameters
        ----------
        first, count : (n, 3) int arrays
        """
        shape, last = np.array(self.number.shape), first + count
        inside = ((first >= 0) & (last <= shape)).all(axis=1)
        low, high = np.clip(first, 0, shape), np.clip(last, 0, shape)
        total = np.zeros(len(first), np.int64)
        for corner in SPAN:
            place = np.where(corner, high, low)
            total += (-1) ** (3 - corner.sum()) * self.filled[tuple(place.T)]
        return inside & (total == count.prod(axis=1))

    def corners(self, xyz, reach=0.0):
        """Yield the numbers (n,) of the points at the corners of the cells around positions, -1
        where there is none.

        Parameters
        ----------
        xyz : (n, 3) array
            m.
        reach : float
            m by which the cells are larger.
        """
        position, wider = self.positions(xyz), reach / self.spacing
        top = np.array(self.number.shape) - 1
        low = np.clip(np.floor(position - wider + ON_LINE).astype(int), 0, top)
        high = np.clip(np.ceil(position + wider - ON_LINE).astype(int), 0, top)
        for corner in SPAN:
            yield self.number[tuple(np.where(corner, high, low).T)]


def lattice_of(xyz):
    """Return the `Lattice` of points (n, 3), m.

    Raises
    ------
    NoLattice
        They are not on one.
    """
    xyz = np.asarray(xyz, float)
    origin, spacing, lines, index = np.zeros(3), np.ones(3), [], []
    for axis in range(3):
        values = np.unique(xyz[:, axis])
        gaps = np.diff(values)
        gaps = gaps[gaps > REGULAR * max(gaps.max(initial=0.0), 1e-9)]
        origin[axis] = values[0]
        if len(gaps):
            rough = np.median(gaps)
            spacing[axis] = (values[-1] - values[0]) / np.rint((values[-1] - values[0]) / rough)
        places = (xyz[:, axis] - origin[axis]) / spacing[axis]
        whole = np.rint(places).astype(np.int64)
        if np.abs(places - whole).max() > REGULAR:
            raise NoLattice(f"along {'xyz'[axis]} they are not equally spaced")
        index.append(whole)
        lines.append(int(whole.max()) + 1)
    if np.prod(lines, dtype=float) > max(1e3 * len(xyz), 1e6):
        raise NoLattice("they fill hardly any places of a lattice")
    number = np.full(lines, -1, np.int64)
    number[tuple(index)] = np.arange(len(xyz))
    return Lattice(origin, spacing, number)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Weights of values at positions on the points of a lattice.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (positions, points)
    first, count : (positions, 3) int arrays
        Lines of the lattice that each position takes; count 0 where points are missing.
    position : (positions, 3) array
        In units of the spacing.
    spacing : (3,) array
        m.
    """

    matrix: object
    first: np.ndarray
    count: np.ndarray
    position: np.ndarray
    spacing: np.ndarray

    @property
    def missing(self):
        """Which positions have too few points around them, (positions,) bool."""
        return (self.count == 0).any(axis=1)

    def error(self, wavenumber):
        """Return the largest relative error of plane waves along the axes, of a wavenumber (1/m)."""
        worst = 0.0
        for axis in range(3):
            offsets_by_count = np.unique(
                np.stack([self.count[:, axis], (self.position - self.first)[:, axis].round(6)], axis=1), axis=0
            )
            for count in COUNTS:
                x = offsets_by_count[offsets_by_count[:, 0] == count, 1]
                offsets = np.arange(count) - x[:, None]
                waves = np.exp(1j * wavenumber * self.spacing[axis] * offsets)
                sums = (fitted_many(x, count) * waves).sum(axis=1)
                worst = max(worst, float(np.abs(sums - 1).max(initial=0.0)))
        return worst


def interpolation(lattice, xyz, fewest=4):
    """Return the `Interpolation` of positions (n, 3), m: on the most points along each axis that
    are all there, as centred as may be, and on no fewer than `fewest` off its lines.
    """
    position = lattice.positions(xyz)
    nearest = np.rint(position).astype(np.int64)
    on_line = np.abs(position - nearest) < ON_LINE
    cell = np.where(on_line, nearest, np.floor(position).astype(np.int64))
    cells, of_position = np.unique(np.concatenate([cell, on_line], axis=1), axis=0, return_inverse=True)
    first, count = blocks(lattice, cells[:, :3], cells[:, 3:].astype(bool), fewest)
    first, count = first[of_position.ravel()], count[of_position.ravel()]
    matrix = weights_of(lattice, first, count, position)
    return Interpolation(matrix, first, count, position, lattice.spacing)


def blocks(lattice, cell, on_line, fewest):
    """Return the first lines and the numbers of lines along each axis, 0 without, of the best blocks
    of points around positions: (n, 3) int arrays.

    Parameters
    ----------
    lattice : Lattice
    cell : (n, 3) int array
        Line before the position along each axis.
    on_line : (n, 3) bool array
        Whether the position is on that line.
    fewest : int
        Points along an axis off its lines.
    """

    def block(rows, choice):
        points, shift = np.array(choice).T
        counts = np.where(on_line[rows], 1, points)
        firsts = np.where(on_line[rows], cell[rows], cell[rows] - points // 2 + 1 + shift)
        return firsts, counts, lattice.complete(firsts, counts)

    first, count = np.zeros(cell.shape, np.int64), np.zeros(cell.shape, np.int64)
    lines = [max(count, fewest) for count in lattice.number.shape]
    tried = [c for c in choices(fewest) if all(n <= most for (n, _), most in zip(c, lines))]
    least = [choice for choice in tried if all(c == fewest for c, _ in choice)]
    every = np.arange(len(cell))
    rows = np.flatnonzero(np.any([block(every, choice)[2] for choice in least], axis=0))
    for choice in tried:
        if not len(rows):
            break
        firsts, counts, fits = block(rows, choice)
        first[rows[fits]], count[rows[fits]] = firsts[fits], counts[fits]
        rows = rows[~fits]
    return first, count


@lru_cache(4)
def choices(fewest):
    """Return what is tried along the axes, best first: list of three (points, shift)."""

    def quality(option):
        count, shift = option
        offsets = np.abs(np.arange(count) - (count // 2 - 1 + 0.5 - shift))
        factorial = np.cumprod(np.arange(1, count + 1))[-1]
        return np.prod(offsets) / factorial * (np.pi / 4) ** count

    options = [(c, s) for c in COUNTS if c >= fewest for s in range(1 - c // 2, c // 2)]
    return sorted(product(options, repeat=3), key=lambda three: sum(map(quality, three)))


def weights_of(lattice, first, count, position):
    """Return the weights of positions on the blocks of places (first, count), (n, 3) each:
    csr_array (n, points).
    """
    from scipy.sparse import csr_array

    rows, columns, weights = [], [], []
    for along in np.unique(count, axis=0):
        if not along.all():
            continue
        rows_of_block = np.flatnonzero((count == along).all(axis=1))
        fitted, lines = [], []
        for axis, number in enumerate(along):
            x = (position[rows_of_block, axis] - first[rows_of_block, axis]).round(9)
            different, of_row = np.unique(x, return_inverse=True)
            single = number == 1
            each = np.ones((len(different), 1)) if single else fitted_many(different, number)
            fitted.append(each[of_row])
            lines.append(first[rows_of_block, axis, None] + np.arange(number))
        i, j, k = lines
        points = lattice.number[i[:, :, None, None], j[:, None, :, None], k[:, None, None, :]]
        product_of = np.einsum("ni,nj,nk->nijk", *fitted)
        rows.append(np.repeat(rows_of_block, int(along.prod())))
        columns.append(points.ravel())
        weights.append(product_of.ravel())
    shape = len(position), int(lattice.number.max()) + 1
    if not rows:
        return csr_array(shape)
    return csr_array((np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
