"""The whole Earth, or two or three chunks of 90 degrees: the cubed sphere of 27-node hexahedra,
down to any depth or to the centre.

Chunks are the sides of a cube seen from its centre, at equal angles (Ronchi, Iacono & Paolucci
1996), three axes x, y, z of which are those of the mesh turned by the azimuth: a node's direction
is (tan, tan, tan) of pi/4 times its place (a, b, c) on the cube from -1 to 1.

About the centre lies a cube, in the innermost section of the model (the inner core). Its surface is
blended from a cube and a sphere, S = R (0.5 cube + 0.5 direction), both with tangents of equal
angles, R 0.55 of the section's radius: a cube's edge would leave 45 degrees to the elements beside
it, a sphere's would leave no angle to those within. From S to the section's top, layers go linearly
to spheres; within, the cube's nodes are interpolated from its surface (transfinite: Gordon & Hall
1973). The worst scaled Jacobian is 0.70 beside the cube's edges, with four elements along them, and
0.71 with eight; a rounder cube has 0.75 and shorter steps. Where elements grow it is 0.41.

In index space they are stacks of layers of hexahedra on the sides of a cube, glued along its edges.
A side of the cube has n x n elements at the top. All is done on one integer lattice, as in
`doubling`: (A, B, C) are places on the cube in quarters of an element, 0 to 4 n along its x, y, z,
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
from functools import cached_property, partial
from itertools import product

import numpy as np

from craton.model.globe.planet import Planet, directed
from craton.model.mesh.doubling import CORNERS, QUARTERS, SIDES, Layer, Stack, all_nodes

WIDTH = np.pi / 2  # of a chunk, radians
CUBE = 0.55  # of the innermost section's radius: R of the cube's surface
ROUND = 0.5  # of the cube's surface is sphere, the rest cube
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
        `width` along x, y, z of the cube, `axis` one of them: see `chunk.layers_between`.
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

    @property
    def lattice(self):
        """Number of places along each axis, the last fastest: K, C, B, A."""
        return tuple(QUARTERS * n + 1 for n in (len(self.levels) - 1, *3 * (self.edge,)))

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


@dataclass(frozen=True, eq=False, kw_only=True)
class CubedSphere(Planet):
    """Geometry of several chunks or the whole sphere, and the positions of all nodes; interface as
    `chunk.Chunk`.
    """

    widths = (WIDTH, WIDTH)  # of each chunk

    @property
    def all_chunks(self):
        """Number of chunks: 6 are the whole Earth."""
        return self.stack.sides

    @property
    def charts(self):
        """Functions of two angles that give directions, of each chunk."""
        return tuple(partial(self.directions, chunk=n) for n in range(self.all_chunks))

    @property
    def turn(self):
        """Matrix from the cube's axes to those of the mesh."""
        east, north = self.turned(*np.eye(2))
        return np.array([[*east, 0], [*north, 0], [0, 0, 1]])

    def directions(self, xi, eta, chunk=0):
        """Return unit vectors (..., 3) at angles from the centre of one of the chunks, radians.

        `xi`, `eta` in radians; `chunk`: number of the chunk.
        """
        x, y = np.broadcast_arrays(np.tan(xi), np.tan(eta))
        return directed(np.stack([x, y, np.ones_like(x)], axis=-1) @ SIX[chunk] @ self.turn.T)[0]

    def inside(self, xyz):
        """Return true for positions (..., 3) in one of the chunks, between the bottom and the ground.

        `xyz` (..., 3): positions, m.
        """
        return self.deep_enough(xyz) & self._aside(xyz)

    def _aside(self, xyz):
        """Whether positions are in the directions of the chunks: on none of the cube's other sides
        alone.
        """
        if self.all_chunks == WHOLE:
            return np.ones(np.shape(xyz)[:-1], bool)
        along = directed(np.asarray(xyz, float) @ self.turn)[0] @ SIX[:, 2].T
        return along[..., : self.all_chunks].max(axis=-1) >= along.max(axis=-1) - 1e-9

    def beyond(self, xyz):
        """Say why a position that is neither too high nor too deep is in none of the chunks; "" where it is in one.

        `xyz` (..., 3): positions, m.
        """
        return "" if self._aside(xyz) else f"in none of the {self.all_chunks} chunks of 90 degrees"

    def nodes(self, keys):
        """Return positions (m, 3), m, and radii in the spherical model of nodes by their numbers."""
        directions, radius = directed(self._spherical(self.stack.places(keys)))
        return self.positions(directions @ self.turn.T, radius), radius

    def unrolled(self, places):
        """Positions of places (m, 4) on the spherical Earth from 0 along each axis, m; and how far they reach.

        `places` (m, 4).
        """
        return self._spherical(places) + self.model.radius, 2 * self.model.radius

    def samples(self):
        """Parts that have the shapes of all elements, or nearly: columns in the middle, at a side
        and in corners, blocks of the cube.
        """
        wide, middle = (self.stack.coarsest[0], self.stack.edge // self.stack.coarsest[0] // 2 * self.stack.coarsest[0])
        for side, x, y in {
            (0, middle, middle),
            (0, 0, middle),
            *((side, 0, 0) for side in range(min(self.all_chunks, 3))),
        }:
            yield self.part([side], (x, x + wide, y, y + wide), (0,) * 6)
        n = min(self.stack.inner, 4)
        for low in {0, self.stack.inner // 2 - n // 2} if n else ():
            yield self.part([], None, (low, low + n) * 3)

    def _spherical(self, places):
        """Positions (m, 3) in the cube's axes, before flattening and topography, of nodes by their
        places (m, 4).
        """
        t = places[:, :3] / (QUARTERS * self.stack.edge / 2) - 1
        radius = self.stack.heights(places[:, 3])
        if not self.stack.filled:
            return outward(t) * radius[:, None]
        out, (low, high) = np.empty_like(t), (self.stack.levels[0], self.radii[1])
        within = np.abs(t).max(axis=1) < 1
        out[within] = low * interpolated(t[within])
        t, part = t[~within], np.minimum((radius[~within, None] - low) / (high - low), 1)
        out[~within] = (1 - part) * low * surface(t) + np.where(part < 1, part * high, radius[~within, None]) * outward(
            t
        )
        return out


def tangents(t):
    """tan of pi/4 times places from -1 to 1; the ends exactly.

    `t`: -1 to 1.
    """
    return np.where(np.abs(t) == 1, t, np.tan(np.pi / 4 * t))


def outward(t):
    """Directions of places (..., 3) on the surface of the cube.

    `t` (..., 3): -1 to 1.
    """
    return directed(tangents(t))[0]


def surface(t):
    """Return the blended surface of the cube about the centre, R = 1.

    `t` (..., 3): -1 to 1.
    """
    return (1 - ROUND) * tangents(t) + ROUND * outward(t)


def interpolated(t):
    """Positions of places (m, 3) within the cube from its surface: all faces, less the edges, plus the corners, each
    linearly weighted.

    `t` (m, 3): -1 to 1.
    """
    out = np.zeros_like(t)
    for ends in product((-1, 0, 1), repeat=3):
        fixed = np.flatnonzero(ends)
        if len(fixed):
            at = np.where(np.array(ends) == 0, t, ends)
            weight = np.prod((1 + np.array(ends)[fixed] * t[:, fixed]) / 2, axis=1)
            out += (-1.0) ** (len(fixed) + 1) * weight[:, None] * surface(at)
    return out
