"""An Earth with places on and in it: a radial model, its figure and topography about the frame of a
mesh; the mesh of it or of a part.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.model.globe import sphere
from craton.model.mesh import ordering
from craton.model.mesh.doubling import Stack
from craton.model.mesh.hexmesh import HexMesh

# of the radius: so far from a section's ends its model is looked up, that rounding does not change
# sides
INWARD = 1e-9
# of the fixed point that undoes flattening and topography: each leaves a hundredth of the error or
# less
TURNS = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Planet:
    """Conversion between longitude, latitude, depth and positions in the axes of a mesh, for a chunk (`chunk.Chunk`)
    and the whole sphere.
    """

    frame: sphere.Frame  # the centre of the (first) chunk, and its axes
    azimuth: float  # of the chunk's eta axis at its centre, degrees clockwise from north
    # (n + 1,): of the boundaries between sections, m, rising: discontinuities, on which element faces lie; 0 where they
    # begin at the centre
    radii: np.ndarray
    model: Any
    stack: Stack  # its elements in index space
    figure: Any = None  # flattening; None for a sphere
    # elevations (m) above the figure at arrays of longitude and latitude (degrees, as the frame has them)
    topography: Any = None
    root: float = 0.0  # radius, m, at which topography has died out

    @property
    def size(self):
        """Number of elements."""
        return self.stack.size

    @property
    def region_names(self):
        """Names of the regions, from below."""
        return tuple(dict.fromkeys(self.section_names()))

    def section_names(self):
        """Name of the region that each section lies in."""
        return [self.model.region((a + b) / 2) for a, b in zip(self.radii[:-1], self.radii[1:])]

    def part(self, *which):
        """Return the mesh, or that of the part that the stack builds of `which`: `Part`. Parts meet in nodes of equal
        `Part.keys`.
        """
        elements, keys, layers, faces, numbers = self.stack.build(*which)
        sections = np.array([layer.section for layer in self.stack.layers], np.int32)[layers]
        names = self.region_names
        regions = np.array([names.index(name) for name in self.section_names()])[sections]
        faces = {name: rows for name, rows in faces.items() if len(rows)}
        nodes, radius = self.nodes(keys)
        return Part(self, HexMesh(nodes, elements, regions, names, faces), keys, radius, sections, numbers)

    def turned(self, x, y):
        """East and north of places x along xi and y along eta.

        `x`: along xi; `y`: along eta.
        """
        a = np.radians(self.azimuth)
        return np.cos(a) * x + np.sin(a) * y, np.cos(a) * y - np.sin(a) * x

    def straight(self, east, north):
        """Return the way back."""
        a = np.radians(self.azimuth)
        return np.cos(a) * east - np.sin(a) * north, np.cos(a) * north + np.sin(a) * east

    def positions(self, directions, r):
        """Positions (n, 3), m, of places at radius r (n,) of the spherical model in some directions (n, 3): flattened,
        with topography.

        `directions` (n, 3): unit vectors; `r`: radius in the spherical model, m.
        """
        return directions * self.distance(directions, np.broadcast_to(r, directions.shape[:-1]))[..., None]

    def distance(self, directions, r):
        """Distance from the Earth's centre of places at radius r of the spherical model, m.

        `directions` (n, 3): unit vectors; `r`: radius in the spherical model, m.
        """
        out = r * self.figure.factor(r, directions @ self.frame.pole) if self.figure else np.array(r, float)
        high = r > self.root
        if self.topography is not None and high.any():
            ground = np.asarray(self.topography(*self.frame.degrees(directions[high])), float)
            if not np.isfinite(ground).all():
                lon, lat = (c[~np.isfinite(ground)][0] for c in self.frame.degrees(directions[high]))
                raise ValueError(f"the topography has no elevation at longitude {lon:.6g}, latitude {lat:.6g}")
            out[high] += ground * (r[high] - self.root) / (self.model.radius - self.root)
        return out

    @property
    def spherical(self):
        """True without flattening and topography."""
        return self.figure is None and self.topography is None

    def undone(self, xyz):
        """Radius, m, that positions (..., 3) had before flattening and topography.

        `xyz` (..., 3): positions, m.
        """
        if self.spherical:
            return length(xyz)
        directions, height = directed(xyz)
        r = height
        for _ in range(TURNS):
            r = r + (height - self.distance(directions, r))
        return r

    def ground(self, longitude, latitude):
        """Distance of the ground from the Earth's centre at places in degrees, m.

        `longitude`, `latitude` in degrees.
        """
        directions = self.frame.direction(longitude, latitude).reshape(-1, 3)
        return self.distance(directions, np.full(len(directions), self.model.radius)).reshape(
            np.shape(np.asarray(longitude) + latitude)
        )

    def place(self, longitude, latitude, depth=0.0):
        """Positions (..., 3), m, of places in degrees at depths (m) below the ground, along the line to the Earth's
        centre.

        `longitude`, `latitude` in degrees; `depth` in m below the ground.
        """
        r = self.ground(longitude, latitude) - depth
        return self.frame.direction(longitude, latitude) * np.asarray(r)[..., None]

    def whereabouts(self, xyz):
        """Longitude, latitude (degrees) and depth below the ground (m) of positions (..., 3): the inverse of `place`.

        `xyz` (..., 3): positions, m.
        """
        longitude, latitude = self.frame.degrees(xyz)
        return longitude, latitude, self.ground(longitude, latitude) - np.linalg.norm(xyz, axis=-1)

    def axes(self, longitude, latitude):
        """East, north, up at places as columns of matrices (..., 3, 3): see `sphere.Frame.axes`; up is radial on a
        sphere.

        `longitude`, `latitude` in degrees.
        """
        return self.frame.axes(longitude, latitude, normal=self.figure is not None)

    def deep_enough(self, xyz):
        """Return true for positions (..., 3) between the mesh's bottom and the ground.

        `xyz` (..., 3): positions, m.
        """
        directions, height = directed(xyz)
        floor = self.distance(directions, np.full(height.shape, self.radii[0]))
        fuzz = INWARD * self.model.radius
        return (height >= floor - fuzz) & (height <= self.ground(*self.frame.degrees(xyz)) + fuzz)


@dataclass(frozen=True, eq=False)
class Part:
    """The mesh of a chunk or of a slice of it."""

    chunk: Any
    # nodes in the chunk's axes, m; faces "top", "bottom", and of the chunk's own sides "west", "east" (xi), "south",
    # "north" (eta)
    mesh: HexMesh
    keys: np.ndarray  # (m,) int64: number of each node in the whole chunk
    radius: np.ndarray  # (m,): of each node in the spherical model, m: before flattening and topography
    sections: np.ndarray  # (ne,) int32: number of the section of `Chunk.radii` that each element lies in
    numbers: np.ndarray  # (ne,) int64: of each element in the whole chunk

    def reordered(self, permutation):
        """Return the part with its elements in another order: new [i] = old number.

        `permutation` (ne,) int: new [i] = old number.
        """
        return replace(
            self,
            mesh=self.mesh.reordered(permutation),
            sections=self.sections[permutation],
            numbers=self.numbers[permutation],
        )

    def centres(self):
        """Places of the elements' centres in the stack: (ne, 3), or (ne, 4) on a cube."""
        return self.chunk.stack.places(self.keys[self.mesh.elements[:, 13]])

    def local(self):
        """Return the part with its elements along a space-filling curve; any two elements have the
        same order in all parts.
        """
        return self.reordered(ordering.along_curve(*self.chunk.unrolled(self.centres())))


def length(xyz):
    """Distance from the centre of positions (..., 3), m; quicker than a norm along the last axis.

    `xyz` (..., 3): positions, m.
    """
    return np.sqrt(xyz[..., 0] ** 2 + xyz[..., 1] ** 2 + xyz[..., 2] ** 2)


def directed(xyz):
    """Directions (..., 3) of positions, and how far they are from the centre, m; 0, 0, 0 at the centre itself.

    `xyz` (..., 3): positions, m.
    """
    xyz = np.asarray(xyz, float)
    height = length(xyz)
    return xyz / np.maximum(height, np.finfo(float).tiny)[..., None], height
