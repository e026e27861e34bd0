"""Stacks of layers of hexahedra over a rectangle, with layers in which elements become two or three
times larger, conforming.

All is done on an integer lattice: a node's number follows from its place, whoever builds the part
of the stack that it lies in. Places (I, J, K) count quarters: an element edge of the top is 4 steps
of I or J, a level 4 steps of K; mid-side and centre nodes fall between.

Where elements grow, a layer of one axis (from BRICKS) is followed below by one of the other axis.
Each coarse element of such a layer is cut into quadrilaterals in the plane of that axis and the
vertical; every second one is mirrored when the factor is 2, so that sides fit:

    factor 2:  +---+---+   factor 3:  +---+---+---+    upper side: two or three elements
               |   |   |              |   |   |   |
               |   +---+              |   +---+   |    middle level
               | /     |              | /       \\ |
               +-------+              +-----------+    lower side: one element
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from craton.model.mesh.numbering import number

QUARTERS = 4
DENSE = 8  # numbers from the least to the largest key, over keys, below which keys are dense
LARGEST = 2.0**50  # node number: means of eight are exact in double precision
# Corners (place along the axis in fine elements, level 0 to 2) of each quadrilateral: (low, low),
# (high, low), (low, high), (high, high).
BRICKS = {
    2: np.array([[(0, 0), (1, 1), (0, 2), (1, 2)], [(1, 1), (2, 1), (1, 2), (2, 2)], [(0, 0), (2, 0), (1, 1), (2, 1)]]),
    3: np.array(
        [
            [(0, 0), (1, 1), (0, 2), (1, 2)],
            [(1, 1), (2, 1), (1, 2), (2, 2)],
            [(2, 1), (3, 0), (2, 2), (3, 2)],
            [(0, 0), (3, 0), (1, 1), (2, 1)],
        ]
    ),
}
PLAIN = np.array([[(0, 0), (1, 0), (0, 1), (1, 1)]])
# of 27 nodes, as (xi, eta, zeta) in 0 to 2
CORNERS = np.array([(a, b, c) for c in (0, 2) for b in (0, 2) for a in (0, 2)])
FACES = np.array(
    [[n for n, corner in enumerate(CORNERS) if corner[axis] == side] for axis in range(3) for side in (0, 2)]
)
SIDES = ("west", "east", "south", "north", "bottom", "top")  # by local face


@dataclass(frozen=True)
class Layer:
    """One layer of a stack."""

    # vertical coordinates of its levels, rising: lower and upper side; with one in the middle where elements grow, or
    # do beside it
    levels: tuple
    width: tuple  # of the elements of its lower side along (xi, eta), in elements of the top of the stack
    section: int = 0  # what the caller wants to know its elements by
    axis: int | None = None  # 0 or 1 where elements grow along xi or eta on the way down; None for a plain layer
    factor: int = 1  # by how much: 2 or 3

    @property
    def pieces(self):
        """Elements of each column."""
        return 1 if self.axis is None else len(BRICKS[self.factor])


@dataclass(frozen=True, eq=False)
class Stack:
    """Layers from below over count (nx, ny) elements at the top."""

    count: tuple
    layers: tuple
    inner = 0  # elements along an edge of a cube within

    def __post_init__(self):
        coarse = self.coarsest
        if any(n % w for n, w in zip(self.count, coarse)):
            raise ValueError(
                f"{self.count[0]} x {self.count[1]} elements at the top are not a multiple of {coarse[0]} x {coarse[1]} below"
            )
        if np.prod([QUARTERS * n + 1.0 for n in (*self.count, len(self.levels) - 1)]) > LARGEST:
            raise ValueError(
                f"{self.count[0]} x {self.count[1]} elements at the top are too many to number their nodes"
            )
        if any(a.levels[-1] != b.levels[0] for a, b in zip(self.layers[:-1], self.layers[1:])):
            raise ValueError("a layer does not begin where the one below it ends")

    @property
    def coarsest(self):
        """Width of the largest elements along (xi, eta), in elements of the top."""
        return tuple(max(layer.width[a] for layer in self.layers) for a in range(2))

    @cached_property
    def levels(self):
        """Vertical coordinates of all levels, rising."""
        return np.array([self.layers[0].levels[0], *(z for layer in self.layers for z in layer.levels[1:])])

    @property
    def size(self):
        """Number of elements."""
        return sum(self.counts)

    @property
    def counts(self):
        """Number of elements of each layer."""
        return [self._elements(layer) for layer in self.layers]

    def _elements(self, layer):
        return (self.count[0] // layer.width[0]) * (self.count[1] // layer.width[1]) * layer.pieces

    def points(self, degree, window=None):
        """Return number of different GLL points of the stack, or of a window of it, without building it.

        Over m x n pairs of blocks (one block and its mirror image) it is a + b m + c n + d m n: known from windows of
        few.

        `window`: x0, x1, y0, y1; the whole by default.
        """
        limits = (0, self.count[0], 0, self.count[1]) if window is None else window
        sides = zip(limits[::2], limits[1::2], self.coarsest)
        (x0, x), (y0, y) = ((int(a) // w % 2, int(b - a) // w) for a, b, w in sides)
        least = [2 - n % 2 for n in (x, y)]
        counts = np.array(
            [[self._counted(degree, x0, m, y0, n) for m in (least[0], least[0] + 2)] for n in (least[1], least[1] + 2)]
        )
        m, n = ((blocks - few) // 2 for blocks, few in zip((x, y), least))
        across, along = counts[0, 1] - counts[0, 0], counts[1, 0] - counts[0, 0]
        return int(counts[0, 0] + m * across + n * along + m * n * (counts[1, 1] - counts[0, 1] - along))

    def _counted(self, degree, x0, x, y0, y):
        """Points of x by y of the coarsest blocks, from the first or second one on.

        Those of each layer by itself, less those on the side that it shares with the layer below.
        """
        wx, wy = self.coarsest
        window = (x0 * wx, (x0 + x) * wx, y0 * wy, (y0 + y) * wy)
        total = 0
        for n, layer in enumerate(self.layers):
            i, j = (degree * blocks * w // width + 1 for blocks, w, width in zip((x, y), (wx, wy), layer.width))
            alone = i * j * (degree + 1) if layer.axis is None else self._points_alone(layer, degree, window)
            total += alone - (i * j if n else 0)
        return total

    def _points_alone(self, layer, degree, window):
        """Points of a layer of growing elements over a window."""
        key = (layer.width, layer.axis, layer.factor, degree, window)
        if key not in self._known:
            single = Stack((window[1], window[3]), (layer,))
            self._known[key] = number(single.build(window)[0], degree).count
        return self._known[key]

    @cached_property
    def _known(self):
        return {}

    @cached_property
    def _bases(self):
        """Level of the lower side of each layer."""
        return np.cumsum([0, *(len(layer.levels) - 1 for layer in self.layers)]).tolist()

    def slices(self, px, py):
        """Limits of equal parts in elements of the top: rows (x0, x1, y0, y1), one for each slice, xi fastest.

        `px`: slices along xi; `py`: slices along eta. Raises ValueError: the coarsest elements cannot be shared among
        so many.
        """
        for name, parts, count, width in zip(("xi", "eta"), (px, py), self.count, self.coarsest):
            if parts < 1 or count // width < parts:
                raise ValueError(
                    f"{count // width} elements along {name} where they are largest cannot be shared among {parts} slices"
                )
        x, y = (w * (np.arange(p + 1) * (n // w) // p) for p, n, w in zip((px, py), self.count, self.coarsest))
        return np.array([(x[i], x[i + 1], y[j], y[j + 1]) for j in range(py) for i in range(px)])

    def corners(self, index, window):
        """Places (I, J, K) of the corners of the elements of layer `index` over a window (x0, x1, y0, y1): (ne, 8, 3)
        int64.

        The window is in elements of the top. Elements follow one another along xi fastest, then eta, those of one brick
        together.

        `index`: layer; `window`: x0, x1, y0, y1.
        """
        layer = self.layers[index]
        rows = [np.arange(low // w, high // w) for low, high, w in zip(window[::2], window[1::2], layer.width)]
        base = self._bases[index]
        across, along = (layer.axis, 1 - layer.axis) if layer.axis is not None else (0, 1)
        # (count, nq, 4, 2) in the plane of `across` and the vertical
        quads = _quads(layer, rows[across])
        starts = layer.width[along] * rows[along]
        # along, across, quadrilateral, end along, corner
        shape = (len(starts), *quads.shape[:2], 2, 4)
        out = np.empty((*shape, 3), np.int64)
        out[..., across] = quads[None, :, :, None, :, 0]
        out[..., 2] = base + quads[None, :, :, None, :, 1]
        out[..., along] = (starts[:, None] + np.array([0, layer.width[along]]))[:, None, None, :, None]
        if across == 1:
            out = out.swapaxes(0, 1)
        # corner of a quadrilateral: (place, level) with place fastest; ends along the other axis
        # come between or before
        out = out.reshape(*out.shape[:4], 2, 2, 3)  # .., end along, level, place, 3
        out = out.transpose(0, 1, 2, 4, 3, 5, 6) if across == 0 else out.transpose(0, 1, 2, 4, 5, 3, 6)
        return QUARTERS * out.reshape(-1, 8, 3)

    @property
    def lattice(self):
        """Number of places along each axis, the last fastest: K, J, I."""
        return tuple(QUARTERS * n + 1 for n in (len(self.levels) - 1, *self.count[::-1]))

    def keys(self, places):
        """Return number (int64) of each node from its place (..., 3 or 4): by level, then the axes from the last.

        `places` (..., 3): I, J, K.
        """
        return np.ravel_multi_index(tuple(np.moveaxis(places, -1, 0)[::-1]), self.lattice)

    def places(self, keys):
        """Places (..., 3) of nodes from their numbers.

        `keys` (m,) int64.
        """
        return np.stack(np.unravel_index(keys, self.lattice)[::-1], axis=-1)

    def around(self, window, columns):
        """Return a window with so many columns of the largest elements more on each side, as far as the stack reaches.

        `window`: x0, x1, y0, y1.
        """
        sides = zip(window[::2], window[1::2], self.coarsest, self.count)
        return tuple(int(v) for a, b, w, n in sides for v in (max(a - columns * w, 0), min(b + columns * w, n)))

    def heights(self, k):
        """Vertical coordinates at places K: linear between levels."""
        levels = self.levels
        return np.interp(np.asarray(k) / QUARTERS, np.arange(len(levels)), levels)

    def build(self, window=None):
        """Elements of the stack or of a window (x0, x1, y0, y1) of it.

        `window`: x0, x1, y0, y1; the whole by default. Returns elements (ne, 27) int32: lexicographic, into `keys`;
        layer after layer from below; keys (m,) int64: number of each node, rising; layers (ne,) int32: layer of each
        element; faces dict of str to (nf, 2) int32: rows (element, local face) on the sides of the whole stack, by
        `SIDES`; numbers (ne,) int64: of each element in the whole stack.
        """
        window = (0, self.count[0], 0, self.count[1]) if window is None else tuple(map(int, window))
        x0, x1, y0, y1 = window
        elements, keys, layers, faces, numbers = ([], [np.empty(0, np.int64)], [], {name: [] for name in SIDES}, [])
        first, nodes, shared, below = 0, 0, 0, 0
        for n, layer in enumerate(self.layers):
            corners = self.corners(n, window)
            node_keys, inverse = different(all_nodes(self.keys(corners)))
            above = self.keys(np.array([0, 0, QUARTERS * self._bases[n] + 1]))
            # on its lower side: the last nodes of the layer below
            shared = int(np.searchsorted(node_keys, above)) if n else 0
            elements.append((inverse.reshape(-1, 27) + (nodes - shared)).astype(np.int32))
            keys.append(node_keys[shared:])
            layers.append(np.full(len(corners), n, np.int32))
            for name, rows in self.sides(corners).items():
                faces[name].append(rows + (first, 0))
            first, nodes = first + len(corners), nodes + len(node_keys) - shared
            (wx, wy), each = layer.width, layer.pieces
            columns = np.arange(y0 // wy, y1 // wy)[:, None] * (self.count[0] // wx) + np.arange(x0 // wx, x1 // wx)
            numbers.append((below + columns[:, :, None] * each + np.arange(each)).ravel())
            below += self._elements(layer)
        return (
            np.concatenate(elements),
            np.concatenate(keys),
            np.concatenate(layers),
            {name: np.concatenate(rows).astype(np.int32) for name, rows in faces.items()},
            np.concatenate(numbers),
        )

    def sides(self, corners):
        """Faces of elements on each side of the stack: dict of (nf, 2).

        `corners` (ne, 8, 3) int.
        """
        ends = QUARTERS * np.array([0, self.count[0], 0, self.count[1], 0, len(self.levels) - 1])
        faces = {}
        for face, (name, end) in enumerate(zip(SIDES, ends)):
            on = (corners[:, FACES[face], face // 2] == end).all(axis=1)
            faces[name] = np.stack([np.flatnonzero(on), np.full(on.sum(), face)], axis=1)
        return faces


def different(keys):
    """Different keys, rising, and where each key is among them; quicker than by sorting where the keys are dense."""
    low, high = (int(keys.min()), int(keys.max())) if keys.size else (0, 0)
    if high - low >= DENSE * keys.size:
        values, inverse = np.unique(keys, return_inverse=True)
        return values, inverse.reshape(keys.shape)
    used = np.zeros(high - low + 1, bool)
    used[keys - low] = True
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used) + low, place[keys - low]


def _quads(layer, columns):
    """Quadrilaterals of coarse elements number `columns` of a layer: (count, nq, 4, 2) places in
    elements of the top, and levels.
    """
    width = layer.width[layer.axis or 0]
    if layer.axis is None:
        quads = np.broadcast_to(PLAIN, (len(columns), 1, 4, 2)).copy()
        quads[..., 0] = width * (quads[..., 0] + columns[:, None, None])
        quads[..., 1] *= len(layer.levels) - 1
        return quads
    plain = BRICKS[layer.factor]
    mirrored = plain[:, [1, 0, 3, 2]].copy()
    mirrored[..., 0] = layer.factor - mirrored[..., 0]
    turn = columns % 2 == 1 if layer.factor == 2 else np.zeros(len(columns), bool)
    quads = np.where(turn[:, None, None, None], mirrored, plain)
    quads[..., 0] = width // layer.factor * quads[..., 0] + (width * columns)[:, None, None]
    return quads


def all_nodes(corners):
    """Keys (ne, 27) of all nodes from those of the corners (ne, 8): means of the corners of their edge, face or
    element.

    A key is linear in the place, so its mean is the key of the mean. In floating point, because that is faster, and
    exact below `LARGEST`.

    `corners` (ne, 8) int.
    """
    grid = np.array([(a, b, c) for c in range(3) for b in range(3) for a in range(3)])
    weights = np.prod(np.where(CORNERS[None] == 2, grid[:, None], 2 - grid[:, None]), axis=2) / 8
    return (corners.astype(float) @ weights.T).astype(np.int64)
