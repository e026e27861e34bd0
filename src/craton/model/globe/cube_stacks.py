"""Stacks of layers of hexahedra on the sides of a cube, glued along its edges, and the cube itself:
the cubed sphere in index space.

A side of the cube has n x n elements at the top. All is done on one integer lattice, as in
`bricks`: (A, B, C) are places on the cube in quarters of an element, 0 to 4 n along its x, y, z,
and K counts quarters of levels. A node on an edge of the cube has the same place, so the same
number, whichever side it is seen from: sides need no gluing. Nodes within the cube have K = 0 as
its surface has.

Where elements grow, this takes three layers in place of the two of a single stack, one for each
axis of the cube, x, y, z from above: in the layer of x the elements of the sides +-y and +-z grow
along x, those of +-x stay as they are, over both levels of the layer. Two layers cannot do. On an
edge of the cube along z, say, both sides that meet there must show elements that grow along z, or
both must not; at a corner each of three sides, tangent to two axes of three, would begin with one
of them; whichever the first takes, x, y or z, its neighbours are led round to what it did not take.
With a layer for each axis of the cube an edge along z shows bricks in the layer of z from both
sides. In the layer of x it shows one element over both levels: from the side +-x, which is plain
there, and from the side +-y, whose bricks stand with their backs to it: every second one is
mirrored, so the first and, as the number of them is even, the last as well. Then the pattern along
an edge is its own mirror image, too, and the direction in which a side counts does not matter.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from craton.model.mesh.doubling import CORNERS, QUARTERS, SIDES, Layer, Stack, all_nodes

# Axes of the cube along xi, eta of each side and outward (rows), right-handed. The first side looks
# along +z; the others are folded down from it: east, north, west, south of it, and the one behind.
SIX = np.array(
    [
        [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
        [(0, 0, -1), (0, 1, 0), (1, 0, 0)],
        [(1, 0, 0), (0, 0, -1), (0, 1, 0)],
        [(0, 0, 1), (0, 1, 0), (-1, 0, 0)],
        [(1, 0, 0), (0, 0, 1), (0, -1, 0)],
        [(-1, 0, 0), (0, 1, 0), (0, 0, -1)],
    ]
)
WHOLE = len(SIX)


@dataclass(frozen=True, eq=False)
class CubeStacks(Stack):
    """Layers from below on some sides of a cube, and its inside.

    Parameters
    ----------
    count : (int, int)
        Elements along an edge of the cube at the top, twice.
    layers : tuple of Layer
        `width` along x, y, z of the cube, `axis` one of them: see `chunk_layers.stack`.
    sides : int
        How many of the sides `SIX`, from the first on, there are.
    filled : bool
        The cube itself is filled with elements, as many along its edge as the lowest layer has.
    """

    sides: int = WHOLE
    filled: bool = False

    def __post_init__(self):
        super().__post_init__()
        if any(layer.axis is not None and self.edge // layer.width[layer.axis] % 2 for layer in self.layers):
            raise ValueError(
                f"{self.edge} elements along the edge of a chunk are odd where elements are coarsened, so neighbouring chunks do not match"
            )

    @property
    def edge(self):
        """Elements along an edge of the cube at the top."""
        return self.count[0]

    @property
    def inner(self):
        """Elements along an edge of the filled cube."""
        return self.edge // self.layers[0].width[0] if self.filled else 0

    @property
    def counts(self):
        """Number of elements of each layer, those of the cube with the lowest."""
        layers = [sum(of_layer) for of_layer in zip(*(stack.counts for stack in self.stacks))]
        return [layers[0] + self.inner**3, *layers[1:]]

    @cached_property
    def stacks(self):
        """The `Stack` of each side; those of opposite sides are one."""
        along = [tuple(int(a) for a in np.abs(axes[:2]).argmax(axis=1)) for axes in SIX[: self.sides]]
        stacks = {
            pair: Stack(self.count, tuple(_on_side(layer, pair) for layer in self.layers))
            for pair in dict.fromkeys(along)
        }
        return [stacks[pair] for pair in along]

    def points(self, degree):
        """Return number of different GLL points, counted without a mesh.

        Points of all sides, less those of the edges, which two sides have; plus those of the corners, which three sides
        and three edges have. With fewer than six sides the edges and corners that are there.
        """
        total = sum(stack.points(degree) for stack in self.stacks)
        normals = SIX[: self.sides, 2]
        for a, b in np.argwhere(np.tril(normals @ normals.T == 0)):
            is_along_xi = SIX[a, 0] @ normals[b] == 0
            total -= self.stacks[a].points(degree, (0, self.edge, 0, 0) if is_along_xi else (0, 0, 0, self.edge))
        corners = {2: 0, 3: 1, WHOLE: 8}.get(self.sides, 0)
        inside = max(self.inner * degree - 1, 0) ** 3
        return total + corners * self.stacks[0].points(degree, (0, 0, 0, 0)) + inside

    # --- the lattice ------------------------------------------------------------------------------

    def keys(self, places):
        """Return number (int64) of each node from its place (..., 4): A, B, C, K.

        `places` (..., 4): A, B, C, K.
        """
        a, b, c, k = np.moveaxis(places, -1, 0)
        n = QUARTERS * self.edge + 1
        return ((k * n + c) * n + b) * n + a

    def places(self, keys):
        """Places (..., 4) of nodes from their numbers.

        `keys` (m,) int64.
        """
        n = QUARTERS * self.edge + 1
        rest, a = np.divmod(keys, n)
        rest, b = np.divmod(rest, n)
        k, c = np.divmod(rest, n)
        return np.stack([a, b, c, k], axis=-1)

    def on_cube(self, side, places):
        """Places (..., 4) from those (..., 3) on one side: I, J, K.

        `places` (..., 3): I, J, K.
        """
        half = QUARTERS * self.edge // 2
        i, j, k = np.moveaxis(places, -1, 0)
        flat = np.stack([i - half, j - half, np.full_like(i, half)], axis=-1) @ SIX[side] + half
        return np.concatenate([flat, k[..., None]], axis=-1)

    def build(self, sides=None, window=None, block=None):
        """Elements of all, or of some sides, or of a window (x0, x1, y0, y1) of them.

        `sides`: by default all, and the cube with them; `window` (4,) ints: in elements of the top; by default a whole
        side; `block` (6,) ints: of the filled cube, limits x0, x1, y0, y1, z0, z1 in its own elements; by default all
        with all sides, else nothing. Returns elements (ne, 27) int32: lexicographic, into `keys`; side after side,
        layer after layer from below, the cube last; keys (m,) int64: number of each node, rising; layers (ne,) int32:
        layer of each element; 0 in the cube; faces dict of str to (nf, 2) int32: rows (element, local face): "top",
        "bottom" where the cube is not filled, and what other sides of a stack no neighbour joins; numbers (ne,) int: of
        each element in the part.
        """
        window = (0, self.edge, 0, self.edge) if window is None else window
        block = (0, self.inner) * 3 if sides is None and block is None else block or (0,) * 6
        nodes, layers, faces, first = [], [], {}, 0
        for side in range(self.sides) if sides is None else sides:
            is_open = self._open(side)
            for n in range(len(self.layers)):
                corners = self.stacks[side].corners(n, window)
                for name, rows in self.stacks[side].sides(corners).items():
                    if name in is_open:
                        faces.setdefault(name, []).append(rows + (first, 0))
                nodes.append(all_nodes(self.keys(self.on_cube(side, corners))))
                layers.append(np.full(len(corners), n, np.int32))
                first += len(corners)
        if self.filled:
            cube = all_nodes(self.keys(self._cube(block)))
            nodes.append(cube), layers.append(np.zeros(len(cube), np.int32))
        keys, elements = np.unique(np.concatenate(nodes), return_inverse=True)
        elements = elements.reshape(-1, 27).astype(np.int32)
        face_sets = {name: np.concatenate(rows).astype(np.int32) for name, rows in faces.items()}
        return elements, keys, np.concatenate(layers), face_sets, np.arange(len(elements))

    def _open(self, side):
        """Names of the sides of a stack beyond which there is nothing."""
        xi, eta, _ = SIX[side]
        beyond = dict(zip(SIDES, (-xi, xi, -eta, eta)))
        normals = {tuple(direction) for direction in SIX[: self.sides, 2]}
        closed = {name for name, direction in beyond.items() if tuple(direction) in normals} | (
            {"bottom"} if self.filled else set()
        )
        return [name for name in SIDES if name not in closed]

    def _cube(self, block):
        """Places (ne, 8, 4) of the corners of the elements within the cube, along x fastest."""
        z, y, x = np.meshgrid(*(np.arange(*block[2 * axis : 2 * axis + 2]) for axis in (2, 1, 0)), indexing="ij")
        low = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
        at = (low[:, None] + CORNERS // 2) * (QUARTERS * self.layers[0].width[0])
        return np.concatenate([at, np.zeros((*at.shape[:2], 1), int)], axis=2)


def _on_side(layer, along):
    """Return a layer as a side sees it whose xi and eta are along two axes of the cube: it grows
    along xi, along eta, or not at all.
    """
    width = tuple(layer.width[a] for a in along)
    if layer.axis not in along:
        return Layer(layer.levels, width, layer.section)
    return Layer(layer.levels, width, layer.section, along.index(layer.axis), layer.factor)
