"""The whole Earth, or two or three chunks of 90 degrees: the cubed sphere of 27-node hexahedra,
down to any depth or to the centre.

Chunks are the sides of a cube seen from its centre, at equal angles (Ronchi, Iacono & Paolucci
1996), three axes x, y, z of which are those of the mesh turned by the azimuth: a node's direction
is (tan, tan, tan) of pi/4 times its place (a, b, c) on the cube from -1 to 1. How the sides fit,
where elements grow, too, is told in `cube_stacks`.

About the centre lies a cube, in the innermost section of the model (the inner core). Its surface is
blended from a cube and a sphere, S = R (0.5 cube + 0.5 direction), both with tangents of equal
angles, R 0.55 of the section's radius: a cube's edge would leave 45 degrees to the elements beside
it, a sphere's would leave no angle to those within. From S to the section's top, layers go linearly
to spheres; within, the cube's nodes are interpolated from its surface (transfinite: Gordon & Hall
1973). The worst scaled Jacobian is 0.70 beside the cube's edges, with four elements along them, and
0.71 with eight; a rounder cube has 0.75 and shorter steps. Where elements grow it is 0.41.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from craton.model.globe.cube_stacks import SIX, WHOLE
from craton.model.globe.planet import Planet, directed
from craton.model.mesh.doubling import QUARTERS

WIDTH = np.pi / 2  # of a chunk, radians
CUBE = 0.55  # of the innermost section's radius: R of the cube's surface
ROUND = 0.5  # of the cube's surface is sphere, the rest cube


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
