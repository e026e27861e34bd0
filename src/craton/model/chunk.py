"""A chunk of the Earth: a cubed-sphere block of 27-node hexahedra about a place, from a radial model, whole or slice by slice."""
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.model import chunk_layers, ordering, shape, sphere
from craton.model.bricks import QUARTERS
from craton.model.hexmesh import HexMesh

WIDEST = 120.0  # degrees: beyond, the gnomonic elements at the edges are too thin
FLUID_CORE = "outer_core"
INWARD = 1e-9  # of the radius: so far from a section's ends its model is looked up, that rounding does not change sides


@dataclass(frozen=True, eq=False)
class Chunk:
    """What is to be meshed, and where all its nodes are; no array is longer than the stack is high until a part is built.

    Parameters
    ----------
    frame : sphere.Frame
        Its centre, and its axes.
    azimuth : float
        Of the chunk's eta axis at its centre, degrees clockwise from north.
    widths : (float, float)
        Along xi and eta, radians.
    stack : bricks.Stack
        Its elements in index space.
    radii : (n + 1,) array
        Of the boundaries between sections, m, rising: discontinuities, on which element faces lie.
    model : RadialModel
    figure : sphere.Figure or None
        Flattening; None for a sphere.
    topography : callable or None
        Elevations (m) above the figure at arrays of longitude and latitude (degrees, as the frame has them).
    root : float
        Radius, m, at which topography has died out.
    """

    frame: sphere.Frame
    azimuth: float
    widths: tuple
    stack: Any
    radii: np.ndarray
    model: Any
    figure: Any = None
    topography: Any = None
    root: float = 0.0

    @property
    def size(self):
        """Number of elements."""
        return self.stack.size

    @property
    def region_names(self):
        """Names of the regions, from below."""
        return tuple(dict.fromkeys(self._section_names()))

    def _section_names(self):
        return [self.model.region((a + b) / 2) for a, b in zip(self.radii[:-1], self.radii[1:])]

    def directions(self, xi, eta):
        """Unit vectors (..., 3) at gnomonic angles from the centre, radians (Ronchi, Iacono & Paolucci 1996): tan xi, tan eta, 1."""
        return self._directions(np.tan(xi), np.tan(eta))

    def _directions(self, x, y):
        a = np.radians(self.azimuth)
        x, y = np.broadcast_arrays(x, y)
        east, north = np.cos(a) * x + np.sin(a) * y, np.cos(a) * y - np.sin(a) * x
        return np.stack([east, north, np.ones_like(x)], axis=-1) / np.sqrt(1 + x**2 + y**2)[..., None]

    def angles(self, xyz):
        """Gnomonic angles xi, eta (radians) of positions (..., 3) before the chunk (z > 0); nan behind it."""
        a, (x, y, z) = np.radians(self.azimuth), np.moveaxis(np.asarray(xyz, float), -1, 0)
        z = np.where(z > 0, z, np.nan)
        return np.arctan((np.cos(a) * x - np.sin(a) * y) / z), np.arctan((np.cos(a) * y + np.sin(a) * x) / z)

    def positions(self, directions, r):
        """Positions (n, 3), m, of places at radius r (n,) of the spherical model in some directions (n, 3): flattened, with topography."""
        return directions * self.distance(directions, np.broadcast_to(r, directions.shape[:-1]))[..., None]

    def distance(self, directions, r):
        """Distance from the Earth's centre of places at radius r of the spherical model, m."""
        out = r * self.figure.factor(r, directions @ self.frame.pole) if self.figure else np.array(r, float)
        high = r > self.root
        if self.topography is not None and high.any():
            ground = np.asarray(self.topography(*self.frame.degrees(directions[high])), float)
            if not np.isfinite(ground).all():
                lon, lat = (c[~np.isfinite(ground)][0] for c in self.frame.degrees(directions[high]))
                raise ValueError(f"the topography has no elevation at longitude {lon:.6g}, latitude {lat:.6g}")
            out[high] += ground * (r[high] - self.root) / (self.model.radius - self.root)
        return out

    def ground(self, longitude, latitude):
        """Distance of the ground from the Earth's centre at places in degrees, m."""
        directions = self.frame.direction(longitude, latitude).reshape(-1, 3)
        return self.distance(directions, np.full(len(directions), self.model.radius)).reshape(np.shape(np.asarray(longitude) + latitude))

    def place(self, longitude, latitude, depth=0.0):
        """Positions (..., 3), m, of places in degrees at depths (m) below the ground, along the line to the Earth's centre."""
        r = self.ground(longitude, latitude) - depth
        return self.frame.direction(longitude, latitude) * np.asarray(r)[..., None]

    def whereabouts(self, xyz):
        """Longitude, latitude (degrees) and depth below the ground (m) of positions (..., 3): the inverse of `place`."""
        longitude, latitude = self.frame.degrees(xyz)
        return longitude, latitude, self.ground(longitude, latitude) - np.linalg.norm(xyz, axis=-1)

    def axes(self, longitude, latitude):
        """East, north, up at places as columns of matrices (..., 3, 3): see `sphere.Frame.axes`; up is radial on a sphere."""
        return self.frame.axes(longitude, latitude, normal=self.figure is not None)

    def inside(self, xyz):
        """True for positions (..., 3) between the chunk's sides, its bottom and the ground."""
        xi, eta = self.angles(xyz)
        longitude, latitude = self.frame.degrees(xyz)
        height = np.linalg.norm(xyz, axis=-1)
        directions = np.asarray(xyz, float) / height[..., None]
        floor = self.distance(directions, np.full(height.shape, self.radii[0]))
        with np.errstate(invalid="ignore"):
            within = (np.abs(xi) <= self.widths[0] / 2 * (1 + INWARD)) & (np.abs(eta) <= self.widths[1] / 2 * (1 + INWARD))
        fuzz = INWARD * self.model.radius
        return within & (height >= floor - fuzz) & (height <= self.ground(longitude, latitude) + fuzz)

    # --- parts --------------------------------------------------------------------------------------------------------------------------

    def slices(self, xi=1, eta=1):
        """Windows (x0, x1, y0, y1), in surface elements, of xi times eta blocks from top to bottom, xi fastest: (n, 4)."""
        return self.stack.slices(xi, eta)

    def part(self, window=None):
        """The mesh of one window, or of the whole: `Part`. Slices meet in nodes of equal `Part.keys`."""
        elements, keys, layers, faces = self.stack.build(window)
        i, j, k = np.moveaxis(self.stack.places(keys), -1, 0)
        x, y = (np.tan((np.arange(QUARTERS * n + 1) / (QUARTERS * n) - 0.5) * w) for n, w in zip(self.stack.count, self.widths))
        radius = self.stack.heights(k)
        sections = np.array([layer.section for layer in self.stack.layers])[layers]
        names = self.region_names
        regions = np.array([names.index(name) for name in self._section_names()])[sections]
        faces = {name: rows for name, rows in faces.items() if len(rows)}
        mesh = HexMesh(self.positions(self._directions(x[i], y[j]), radius), elements, regions, names, faces)
        return Part(self, mesh, keys, radius, sections.astype(np.int32), self.stack.numbers(window))

    def slice_of(self, part, xi=1, eta=1):
        """Number of the slice that each element of a part lies in: (ne,) int32."""
        windows = self.slices(xi, eta)
        i, j, _ = np.moveaxis(part.centres(), -1, 0)
        across = np.searchsorted(QUARTERS * windows[:xi, 1], i, side="right")
        return (np.searchsorted(QUARTERS * windows[::xi, 3], j, side="right") * xi + across).astype(np.int32)

    def sharers(self, keys, xi=1, eta=1):
        """Slices that hold the points at some node places: (n, 4) int32, rising, -1 where there are fewer than four.

        A face, edge or node belongs to the slices whose closed blocks its centre lies in; so nobody has to be asked.
        """
        windows = self.slices(xi, eta)
        i, j, _ = np.moveaxis(self.stack.places(np.asarray(keys)), -1, 0)
        (i0, i1), (j0, j1) = (_owners(c, QUARTERS * limits) for c, limits in ((i, windows[:xi, 0]), (j, windows[::xi, 2])))
        found = np.stack([j0 * xi + i0, j0 * xi + i1, j1 * xi + i0, j1 * xi + i1], axis=1)
        found[:, 1][i0 == i1] = -1
        found[:, 2][j0 == j1] = -1
        found[:, 3][(i0 == i1) | (j0 == j1)] = -1
        return found.astype(np.int32)


def _owners(places, starts):
    """First and last block that closed intervals from `starts` put a place into."""
    last = np.searchsorted(starts, places, side="right") - 1
    return np.where((places == starts[last]) & (last > 0), last - 1, last), last


@dataclass(frozen=True, eq=False)
class Part:
    """The mesh of a chunk or of a slice of it.

    Parameters
    ----------
    chunk : Chunk
    mesh : HexMesh
        Nodes in the chunk's axes, m. Faces "top", "bottom", and of the chunk's own sides "west", "east" (xi), "south", "north" (eta).
    keys : (m,) int64 array
        Number of each node in the whole chunk.
    radius : (m,) array
        Of each node in the spherical model, m: before flattening and topography.
    sections : (ne,) int32 array
        Number of the section of `Chunk.radii` that each element lies in.
    numbers : (ne,) int64 array
        Of each element in the whole chunk.
    """

    chunk: Chunk
    mesh: HexMesh
    keys: np.ndarray
    radius: np.ndarray
    sections: np.ndarray
    numbers: np.ndarray

    def reordered(self, permutation):
        """The same part with its elements in another order: new [i] = old number."""
        return replace(self, mesh=self.mesh.reordered(permutation), sections=self.sections[permutation], numbers=self.numbers[permutation])

    def centres(self):
        """Places (ne, 3) of the elements' centres in the stack."""
        return self.chunk.stack.places(self.keys[self.mesh.elements[:, 13]])

    def local(self):
        """The same part with its elements along a space-filling curve: any two of them follow one another alike in all parts."""
        stack, centres = self.chunk.stack, self.centres()
        edges = [w / (QUARTERS * n) * self.chunk.model.radius for w, n in zip(self.chunk.widths, stack.count)]
        heights = stack.heights(np.arange(QUARTERS * (len(stack.levels) - 1) + 1))
        places = np.stack([centres[:, 0] * edges[0], centres[:, 1] * edges[1], heights[centres[:, 2]] - heights[0]], axis=1)
        extent = max(*(e * QUARTERS * n for e, n in zip(edges, stack.count)), heights[-1] - heights[0])
        return self.reordered(ordering.along_curve(places, extent))

    def radii(self, points, chosen=slice(None)):
        """Radii of the spherical model at GLL points, (ne, n, n, n) [k][j][i], m, each well inside its element's section.

        Parameters
        ----------
        points : (n,) array
            Reference coordinates along each axis.
        chosen : slice or array
            Elements.
        """
        n = len(points)
        values, _ = shape.shape(3, *shape.lattice(np.asarray(points, float)))
        r = self.radius[self.mesh.elements[chosen]] @ values
        low, high = (self.chunk.radii[self.sections[chosen] + side][:, None] for side in (0, 1))
        away = INWARD * self.chunk.model.radius
        return np.clip(r, low + away, high - away).reshape(-1, n, n, n)

    def point_keys(self, degree, chosen=slice(None)):
        """Number in the whole chunk of each GLL point, (ne, n, n, n) int64: equal where, and only where, two points are one.

        A point on a node, edge, face, or inside an element is numbered by the key of the node at the centre of that, and by its place there
        counted from the corner of lowest key; for any part and any order of elements the same.
        """
        return point_keys(self.keys[self.mesh.elements[chosen]], degree)


def point_keys(keys, degree):
    """Numbers (ne, n, n, n) int64 of the GLL points of 27-node elements from those of their nodes (ne, 27): see `Part.point_keys`."""
    n, count = degree + 1, max(degree - 1, 1) ** 3
    out = np.empty((len(keys), n, n, n), np.int64)
    grid = keys.reshape(-1, 3, 3, 3)
    inner = np.arange(degree - 1)
    ends = [slice(0, 1), slice(1, degree), slice(degree, degree + 1)]
    for c in range(3):
        for b in range(3):
            for a in range(3):
                free = [axis for axis, at in enumerate((c, b, a)) if at == 1]
                corners = grid[:, [c] if c != 1 else [0, 2]][:, :, [b] if b != 1 else [0, 2]][:, :, :, [a] if a != 1 else [0, 2]]
                local = _ordered(corners, free, inner)
                out[:, ends[c], ends[b], ends[a]] = grid[:, c, b, a, None, None, None] * count + local
    return out


def _ordered(corners, free, inner):
    """Places of inner points on an edge, face or element, counted from its corner of lowest key along its axes of lower neighbours first.

    `corners` (ne, 1 or 2, 1 or 2, 1 or 2) are keys, `free` the axes (0 zeta, 1 eta, 2 xi) with 2. Inside an element, which nobody shares,
    it is along xi, eta, zeta.
    """
    m = len(inner)
    if len(free) == 0:
        return 0
    if len(free) == 3:
        return np.arange(m**3).reshape(m, m, m)
    flat = corners.reshape(len(corners), -1)
    lowest = flat.argmin(axis=1)
    if len(free) == 1:
        places = np.where((lowest == 1)[:, None], inner[::-1], inner)
    else:
        rows = np.arange(len(flat))
        q, p = (np.where((lowest & bit > 0)[:, None], inner[::-1], inner) for bit in (2, 1))
        swapped = flat[rows, lowest ^ 2] < flat[rows, lowest ^ 1]
        plain, turned = q[:, :, None] * m + p[:, None, :], q[:, :, None] + p[:, None, :] * m
        places = np.where(swapped[:, None, None], turned, plain)
    sizes = [m if axis in free else 1 for axis in range(3)]
    return places.reshape(len(flat), *sizes)


# --- design -----------------------------------------------------------------------------------------------------------------------------


def chunk(model, centre, widths, bottom="cmb", period=None, elements=None, azimuth=0.0, points_per_wavelength=5.0, degree=4, growth="auto",
          honour=(), slices=(1, 1), geographic=True, elliptic=False, topography=None, root=None):  # fmt: skip
    """Design the mesh of a chunk of the Earth.

    Parameters
    ----------
    model : RadialModel
    centre : (float, float)
        Longitude and latitude, degrees.
    widths : (float, float)
        Along xi and eta, degrees at the centre, up to 120.
    bottom : "cmb" or float
        The core-mantle boundary, or a depth in m.
    period, elements : float, or (int, int)
        One of them: the shortest period, s, to be resolved; or elements along xi and eta at the surface.
    azimuth : float
        Of the eta axis, degrees clockwise from north.
    points_per_wavelength : float
        GLL points at their mean distance, in the slowest medium of each section; also where `elements` is given, for what lies below.
    degree : int
        Of the elements.
    growth : "auto" or sequence of float
        Depths, m, below which elements become twice as large along xi and eta (the next place where there is room); "auto": where wave
        speeds allow; () for none.
    honour : sequence of float
        Depths, m, on which element faces shall lie beside the model's discontinuities.
    slices : (int, int)
        Numbers of blocks along xi and eta into which the chunk shall be cut.
    geographic : bool
        Latitudes are geographic, else geocentric.
    elliptic : bool
        Flatten it: WGS84 at the surface, with depth by Clairaut's equation.
    topography : callable, optional
        Elevation (m) at longitudes and latitudes (arrays, degrees).
    root : float, optional
        Depth, m, at which topography has died out; by default that of the Moho.

    Returns
    -------
    Chunk

    Raises
    ------
    ValueError
        With what is wrong and what to change.
    """
    _check(widths, period, elements)
    wide = tuple(np.radians(widths))
    low = _bottom_radius(model, bottom)
    radii = chunk_layers.sections(model, low, [model.radius - d for d in honour])
    if period is None:
        edge = max(w / n for w, n in zip(wide, elements)) * model.radius
        period = edge * points_per_wavelength / (degree * model.slowest(radii[-2], radii[-1]))
    sizes = chunk_layers.Sizes(model, period, points_per_wavelength, degree)
    given = None if isinstance(growth, str) else [model.radius - d for d in sorted(growth)]
    stack = _stack(radii, sizes, wide, elements, given, slices)
    frame = sphere.Frame(float(centre[0]), float(centre[1]), geographic)
    figure = sphere.clairaut(model) if elliptic else None
    depth = model.radius - root if root is not None else _moho(model)
    return Chunk(frame, float(azimuth), wide, stack, radii, model, figure, topography, depth)


def _check(widths, period, elements):
    if (period is None) == (elements is None):
        raise ValueError("give either period (s, the shortest) or elements (along xi and eta at the surface)")
    if len(widths) != 2 or not all(0 < w <= WIDEST for w in widths):
        raise ValueError(f"widths = {tuple(widths)} must be two angles up to {WIDEST:g} degrees")
    if period is not None and not period > 0:
        raise ValueError(f"period = {period} s is not above 0")
    if elements is not None and (len(elements) != 2 or min(elements) < 1):
        raise ValueError(f"elements = {tuple(elements)} must be two numbers, 1 or more")


def _bottom_radius(model, bottom):
    if not isinstance(bottom, str):
        return model.radius - float(bottom)
    if bottom != "cmb":
        raise ValueError(f'bottom = {bottom!r} is neither "cmb" nor a depth in m')
    return model.boundary(FLUID_CORE)[1]


def _moho(model):
    return model.boundary("crust")[0] if "crust" in model.regions else model.radius * 0.99


def _stack(radii, sizes, wide, elements, growths, slices):
    """The stack, with as many surface elements as its growths and slices divide."""
    count = chunk_layers.surface_elements(wide, sizes, radii[-2], elements is None, elements, slices)
    for _ in range(20):  # more surface elements are smaller ones, which may grow once more
        angle = max(w / n for w, n in zip(wide, count))
        found = growths if growths is not None else chunk_layers.automatic(radii, sizes, angle)
        multiple = tuple(2 ** len(found) * s for s in slices)
        if all(n % m == 0 for n, m in zip(count, multiple)):
            return chunk_layers.stack(radii, sizes, count, angle, found)
        if elements is not None and growths is not None:
            raise ValueError(f"elements = {tuple(elements)} must be multiples of {multiple[0]} and {multiple[1]} "
                             f"({len(found)} doublings, {slices[0]} x {slices[1]} slices)")  # fmt: skip
        if elements is not None:
            growths = found[:-1]  # automatic: as many as the number given divides
            continue
        count = chunk_layers.surface_elements(wide, sizes, radii[-2], True, None, multiple)
    raise ValueError("no number of surface elements fits: give elements and growth")
