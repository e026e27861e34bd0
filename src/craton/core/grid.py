"""Grids: where the integer points of a regular grid are, or the GLL points of elements, for messages and coordinates; the
memory of a field, with ghost points on all sides and rows padded so that each starts on an aligned address.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.model.mesh.shape import functions, gll_points

EDGE = 12  # points: what is nearer to a face may be its doing
ALIGNMENT = 32  # elements: 128 bytes in float32, a cache line of a GPU
LEFT = 8  # ghosts before the first point of a row, at least
# between fields of one block, against conflicts of equal low address bits
FIELD_GAP = 17 * ALIGNMENT


@dataclass(frozen=True)
class Grid:
    """Integer points of a regular grid, equally spaced along each axis.

    Parameters
    ----------
    origin : tuple of float
        Position (x, y, z) of the lower south-west point, metres.
    spacing : float
        Distance between neighbouring points along x and y, metres.
    shape : tuple of int
        Points along (z, y, x), the order in memory.
    start : tuple of int
        Of a part of a larger grid: index (z, y, x) there of its first point. `origin` stays that of
        the larger grid, so that coordinates are the same numbers in both.
    total : tuple of int, optional
        Of a part: points of the larger grid along (z, y, x).
    vertical : float, optional
        Distance between neighbouring points along z, metres, where it is not `spacing`.
    """

    origin: tuple[float, float, float]
    spacing: float
    shape: tuple[int, int, int]
    start: tuple[int, int, int] = (0, 0, 0)
    total: tuple[int, int, int] | None = None
    vertical: float | None = None

    @property
    def steps(self) -> np.ndarray:
        """Distances between neighbouring points along x, y and z, metres: shape (3,)."""
        return np.array([self.spacing, self.spacing, self.vertical or self.spacing])

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

    @property
    def undivided(self):
        """The grid that this is a part of, or itself."""
        return replace(self, shape=self.whole, start=(0, 0, 0), total=None)

    def window(self, box):
        """Return a part of the grid, as a grid.

        Parameters
        ----------
        box : tuple of int
            (k0, k1, j0, j1, i0, i1), upper bounds excluded.
        """
        start = tuple(a + b for a, b in zip(self.start, box[::2]))
        return replace(self, shape=tuple(b - a for a, b in zip(box[::2], box[1::2])), start=start, total=self.whole)

    def words(self):
        """Points and spacing in words."""
        nz, ny, nx = self.shape
        points = f"{nx} x {nz}" if self.planar else f"{nx} x {ny} x {nz}"
        along_z = f", {self.vertical:.6g} m along z" if self.vertical else ""
        return f"{points} = {self.size / 1e6:,.2f} million points, spacing {self.spacing:g} m{along_z}"

    def coarser(self, factor):
        """How a scenario asks for a spacing that is wider by a factor, in words.

        Parameters
        ----------
        factor : float
        """
        return f"domain.spacing = {self.spacing * factor:.4g} m, or a smaller domain"

    def axis(self, name, begin=0, end=None):
        """Coordinates of the integer points along an axis, metres.

        Parameters
        ----------
        name : str
            ``"x"``, ``"y"`` or ``"z"``.
        begin, end : int
            First point and one past the last one; all by default.
        """
        a = "xyz".index(name)
        first, count = self.start[2 - a], self.shape[2 - a]
        last = count if end is None else min(end, count)
        return self.origin[a] + self.steps[a] * np.arange(first + begin, first + last)

    def bounds(self, name):
        """First and last coordinate along an axis, metres.

        Parameters
        ----------
        name : str
            ``"x"``, ``"y"`` or ``"z"``.
        """
        a = "xyz".index(name)
        first, step = self.start[2 - a], float(self.steps[a])
        return self.origin[a] + step * first, self.origin[a] + step * (first + self.shape[2 - a] - 1)

    def place(self, at):
        """Where a point is, in words, and whether it is near an edge of the whole grid.

        Parameters
        ----------
        at : tuple of int
            Index (k, j, i) in the part.
        """
        axes = [(a, n, self.start["zyx".index(a)], self.whole["zyx".index(a)]) for a, n in zip("xyz", reversed(at))]
        axes = [row for row in axes if row[0] != "y" or not self.planar]
        words = ", ".join(f"{a} = {self.axis(a)[n]:g}" for a, n, _, _ in axes)
        return words, any(min(n + start, total - 1 - n - start) < EDGE for _, n, start, total in axes)


@dataclass(frozen=True, eq=False)
class ElementTable:
    """GLL points and shapes of some elements, as the kernels have them.

    Parameters
    ----------
    points : (n, (degree + 1)^3) int array
    shapes : (n, 3), (n, 3, 8) or (n, 3, 27) array
        Edges of boxes, or corners or nodes relative to the centre, m.
    centres : (n, 3) array
        Positions, m.
    """

    points: np.ndarray
    shapes: np.ndarray
    centres: np.ndarray


@dataclass(frozen=True, eq=False)
class ElementGrid:
    """Number, size and positions of elements and GLL points; the counterpart of `Grid`.

    Parameters
    ----------
    elements, degree : int
    size : int
        Points that elements share counted once, solid and fluid.
    shortest, spacing, longest : float
        Edges of the elements, m: the shortest, the median, the longest.
    from_file : bool
        The mesh comes from a file, or is a chunk of the Earth.
    tables : tuple of ElementTable
        Elements whose points the divergence guard watches.
    """

    elements: int
    degree: int
    size: int
    shortest: float
    spacing: float
    longest: float
    from_file: bool = False
    tables: tuple = ()

    def words(self):
        """Elements, points and edges in words."""
        edges = f"{self.spacing:.4g} m"
        if self.longest > 1.001 * self.shortest:
            edges = f"{self.shortest:.4g} to {self.longest:.4g} m"
        return (
            f"{self.elements:,} elements of degree {self.degree} = {self.size / 1e6:,.2f} million points, edges {edges}"
        )

    def coarser(self, factor):
        """How a scenario asks for elements that are longer by a factor, in words.

        Parameters
        ----------
        factor : float
        """
        if self.from_file:
            return f"a mesh whose elements are {factor:.3g} times longer"
        return f"elements {factor:.3g} times longer (domain.element_size, or period of a chunk), or a smaller domain"

    def place(self, at):
        """Return the position of a point in words, and False: whether it is near an edge is not
        known.

        Parameters
        ----------
        at : tuple of int
            Index in a field: (point,) or (point, component).
        """
        return ", ".join(f"{axis} = {v:g}" for axis, v in zip("xyz", self.position(at[0]))), False

    def position(self, point):
        """Return the position (x, y, z), m, of a point by its number; nan where no element has it.

        Parameters
        ----------
        point : int
        """
        n = self.degree + 1
        for table in self.tables:
            for element, node in np.argwhere(table.points == point)[:1]:
                local, shape = (gll_points(self.degree)[[node % n, node // n % n, node // n**2]], table.shapes[element])
                if shape.ndim == 1:
                    return table.centres[element] + local * shape / 2
                return table.centres[element] + shape @ functions(round(shape.shape[1] ** (1 / 3)), local[None])[0][0]
        return np.full(3, np.nan)


@dataclass(frozen=True, eq=False)
class Cells:
    """Elements with their medium, as a file of the mesh has them.

    Parameters
    ----------
    nodes : (m, 3) array
        m.
    elements : (ne, 8 or 27) int array
        Numbers of their nodes.
    regions : (ne,) int array
    faces : dict of str to (n, 2) int array
        Element and local face of the faces of each named side.
    values : dict of str to (ne,) array
    """

    nodes: np.ndarray
    elements: np.ndarray
    regions: np.ndarray
    faces: dict
    values: dict

    @property
    def size(self):
        """Number of elements."""
        return len(self.elements)


# --- memory of a field ----------------------------------------------------------------------------


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
        within = (offset + self.first) % self.field
        padded = within // self.plane, within % self.plane // self.row, within % self.row
        return tuple(n - origin for n, origin in zip(padded, self.origin))

    def window(self):
        """Return the slices of the padded array that hold the grid's points."""
        return tuple(slice(o, o + n) for o, n in zip(self.origin, self.shape))
