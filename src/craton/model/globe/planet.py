"""An Earth with places on and in it: its frame, figure and mechanisms, a radial model and topography; the mesh of it
or of a part.

The axes (x, y, z) of a chunk have their origin at the Earth's centre; z points to the chunk's centre, x east and y
north there. At the chunk's centre they are east, north, up; anywhere else `Frame.axes` gives east, north and up.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.model.mesh import ordering
from craton.model.mesh.doubling import Stack
from craton.model.mesh.hexmesh import HexMesh

FLATTENING = 1 / 298.257223563  # WGS84
STEPS = 2000  # of radius in Clairaut's equation
# of the radius: so far from a section's ends its model is looked up, that rounding does not change
# sides
INWARD = 1e-9
# of the fixed point that undoes flattening and topography: each leaves a hundredth of the error or
# less
TURNS = 4


@dataclass(frozen=True, eq=False)
class Frame:
    """The place and orientation of a chunk."""

    # longitude, latitude: of its centre, degrees; latitude geographic where `geographic`
    longitude: float
    latitude: float
    # latitudes given and returned are geographic (WGS84), as of maps, catalogues and station lists; else geocentric; on
    # a spherical Earth, too, geographic latitudes are turned into geocentric ones: where the place is seen from the
    # Earth's centre
    geographic: bool = True

    def geocentric(self, latitude):
        """Geocentric latitude of a place at the surface, degrees, from a latitude as the frame gives them.

        `latitude` in degrees.
        """
        return geocentric(latitude) if self.geographic else np.asarray(latitude, float)

    @property
    def matrix(self):
        """Rows: the chunk's x, y, z in Earth-fixed axes (x to longitude 0 on the equator, z to the
        north pole).
        """
        return _local(self.longitude, self.geocentric(self.latitude)).T

    @property
    def pole(self):
        """Direction of the north pole in the chunk's axes: (3,)."""
        return self.matrix[:, 2]

    def direction(self, longitude, latitude):
        """Return unit vectors (..., 3), in the chunk's axes, from the Earth's centre to places in degrees.

        `longitude`, `latitude` in degrees.
        """
        longitude, latitude = (np.radians(np.asarray(longitude, float)), np.radians(self.geocentric(latitude)))
        flat, up = np.cos(latitude), np.sin(latitude)
        return np.stack(np.broadcast_arrays(flat * np.cos(longitude), flat * np.sin(longitude), up), -1) @ self.matrix.T

    def degrees(self, xyz):
        """Longitude (-180 to 180) and latitude, degrees, of the directions of positions (..., 3).

        `xyz` (..., 3): positions, m.
        """
        earth = np.asarray(xyz, float) @ self.matrix
        latitude = np.degrees(np.arctan2(earth[..., 2], np.hypot(earth[..., 0], earth[..., 1])))
        longitude = np.degrees(np.arctan2(earth[..., 1], earth[..., 0]))
        return longitude, geographic(latitude) if self.geographic else latitude

    def axes(self, longitude, latitude, normal=False):
        """East, north and up at places as the columns of matrices (..., 3, 3) in the chunk's axes.

        A vector v of components (E, N, Z) is ``axes @ v`` in the chunk's axes; components of u are ``axes.T @ u``.

        `longitude`, `latitude` in degrees; `normal`: up is the normal of the WGS84 ellipsoid, as on a flattened Earth;
        else it is radial, as on a spherical one.
        """
        latitude = np.asarray(latitude, float)
        turned = (latitude if self.geographic else geographic(latitude)) if normal else self.geocentric(latitude)
        return self.matrix @ _local(longitude, turned)


def _local(longitude, latitude):
    """East, north, up at longitude and latitude (degrees) as columns (..., 3, 3) in Earth-fixed
    axes.
    """
    lon, lat = np.broadcast_arrays(np.radians(np.asarray(longitude, float)), np.radians(np.asarray(latitude, float)))
    s, c, sl, cl, zero = np.sin(lon), np.cos(lon), np.sin(lat), np.cos(lat), np.zeros_like(lon)
    return np.stack(
        [np.stack([-s, -sl * c, cl * c], -1), np.stack([c, -sl * s, cl * s], -1), np.stack([zero, cl, sl], -1)], -2
    )


def geocentric(latitude):
    """Geocentric latitude of a place on the ellipsoid, degrees, from its geographic latitude: tan = (1 - f)^2 tan.

    `latitude` in degrees.
    """
    latitude, squared = np.asarray(latitude, float), (1 - FLATTENING) ** 2
    cosine, sine = np.cos(np.radians(latitude)), np.sin(np.radians(latitude))
    return latitude + np.degrees(np.arctan2((squared - 1) * sine * cosine, cosine**2 + squared * sine**2))


def geographic(latitude):
    """Geographic latitude, degrees, of a place on the ellipsoid from its geocentric latitude; inverse of `geocentric`.

    `latitude` in degrees.
    """
    lat = np.radians(np.asarray(latitude, float))
    return np.degrees(np.arctan2(np.sin(lat), (1 - FLATTENING) ** 2 * np.cos(lat)))


# --- figure of the Earth --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Figure:
    """The flattening of a sphere of radius r: to radius r (1 - 2/3 e(r) P2(sin latitude)) at geocentric latitudes, of
    the same volume.
    """

    radii: np.ndarray  # (n,), m, rising
    flattening: np.ndarray  # (n,): e at them

    def factor(self, r, sine):
        """Radius over r at spherical radii r (m) and sines of geocentric latitude.

        `r`: radius in the spherical model, m; `sine`: of geocentric latitude.
        """
        return 1 - np.interp(r, self.radii, self.flattening) * (sine**2 - 1 / 3)


def clairaut(model, surface=FLATTENING):
    """Flattening within a rotating Earth in hydrostatic equilibrium, scaled to that of WGS84 at the surface.

    e(r) = e(a) exp(-int_r^a eta dr / r) with Radau's eta = 25/4 (1 - 3/2 z)^2 - 1, z = 2/3 of int_0^r rho s^4 ds / (r^2
    int_0^r rho s^2 ds) (Bullard 1954; Dahlen & Tromp 1998, eq. 14.16 to 14.19): exact to first order but for Radau's
    approximation, 3e-4 of e.

    `model`: from the centre to the surface; `surface`: flattening there. Raises ValueError: the model does not reach
    down to the centre.
    """
    if model.knots[0] > 1e-6 * model.radius:
        raise ValueError(
            f"{model.name} begins at radius {model.knots[0] / 1e3:.10g} km: flattening needs density from the centre"
        )
    r = np.unique(np.concatenate([np.linspace(0, model.radius, STEPS), model.knots]))
    middle, step = (r[:-1] + r[1:]) / 2, np.diff(r)
    rho = model.parameters(middle)[0]
    mass, inertia = np.cumsum(rho * np.diff(r**3) / 3), np.cumsum(rho * np.diff(r**5) / 5)
    # 1 - 3/2 z
    eta = np.concatenate([[0.0], 25 / 4 * (1 - inertia / (r[1:] ** 2 * mass)) ** 2 - 1])
    rate = np.concatenate([[0.0], eta[1:] / r[1:]])
    growth = np.concatenate([[0.0], np.cumsum((rate[:-1] + rate[1:]) / 2 * step)])
    return Figure(r, surface * np.exp(growth - growth[-1]))


# --- the Earth and its mesh -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Planet:
    """Conversion between longitude, latitude, depth and positions in the axes of a mesh, for a chunk (`chunk.Chunk`)
    and the whole sphere.
    """

    frame: Frame  # the centre of the (first) chunk, and its axes
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
        """East, north, up at places as columns of matrices (..., 3, 3): see `Frame.axes`; up is radial on a
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
