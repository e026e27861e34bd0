"""A chunk of the Earth: a cubed-sphere block of 27-node hexahedra about a place, from a radial
model, whole or slice by slice; its layers: element sizes from wave speeds, faces on discontinuities,
larger elements where speeds have grown.
"""

from dataclasses import dataclass

import numpy as np

from craton.model.globe.cubed_sphere import CUBE, WHOLE, CubedSphere, CubeStacks
from craton.model.globe.planet import INWARD, Frame, Planet, clairaut
from craton.model.media import cells
from craton.model.mesh.doubling import QUARTERS, Layer, Stack

CENTRE = "centre"  # bottom of a mesh of the whole Earth
WIDEST = 120.0  # degrees: beyond, the gnomonic elements at the edges are too thin
FLUID_CORE = "outer_core"
BLOCK = 1 << 14  # nodes placed at a time
ROUNDING = 0.02  # of an element: so much larger than wanted they may be before there is one more
MOST_LAYERS = 10_000  # of elements between two radii of the model
LOOKED_AT = 200  # radii of a section at which it is decided where elements may grow
# Height of a layer in which elements grow, in widths of the smaller ones: least, wanted where
# speeds allow, largest to save a layer.
LEAST, WANTED, LARGEST = 1.0, 1.6, 2.3
# of the width that they have at the radius below: chunks of many degrees grow narrow towards the
# centre
STEEPEST = 3.0
WORTH = 1.5  # of the least height of both layers: so much must lie below them


@dataclass(frozen=True, eq=False, kw_only=True)
class Chunk(Planet):
    """Geometry of a chunk and the positions of all its nodes; no array is longer than the height of the stack until a
    part is built.
    """

    widths: tuple  # (float, float): along xi and eta, radians
    all_chunks = 1

    @property
    def charts(self):
        """Functions of two angles that give directions, of each chunk."""
        return (self.directions,)

    def directions(self, xi, eta):
        """Return unit vectors (..., 3) at gnomonic angles from the centre, radians (Ronchi, Iacono & Paolucci 1996):
        tan xi, tan eta, 1.

        `xi`, `eta` in radians.
        """
        return self._directions(np.tan(xi), np.tan(eta))

    def _directions(self, x, y):
        x, y = np.broadcast_arrays(x, y)
        return np.stack([*self.turned(x, y), np.ones_like(x)], axis=-1) / np.sqrt(1 + x**2 + y**2)[..., None]

    def angles(self, xyz):
        """Gnomonic angles xi, eta (radians) of positions (..., 3) before the chunk (z > 0); nan behind it.

        `xyz` (..., 3): positions, m.
        """
        x, y, z = np.moveaxis(np.asarray(xyz, float), -1, 0)
        z = np.where(z > 0, z, np.nan)
        return tuple(np.arctan(coordinate / z) for coordinate in self.straight(x, y))

    def inside(self, xyz):
        """Return true for positions (..., 3) between the chunk's sides, its bottom and the ground.

        `xyz` (..., 3): positions, m.
        """
        xi, eta = self.angles(xyz)
        half = [width / 2 * (1 + INWARD) for width in self.widths]
        with np.errstate(invalid="ignore"):
            return (np.abs(xi) <= half[0]) & (np.abs(eta) <= half[1]) & self.deep_enough(xyz)

    def beyond(self, xyz):
        """Say why a position that is neither too high nor too deep is not in the chunk; "" where it is.

        `xyz` (..., 3): positions, m.
        """
        xi, eta = (np.degrees(a) for a in self.angles(xyz))
        half = np.degrees(self.widths) / 2
        if abs(xi) <= half[0] and abs(eta) <= half[1]:
            return ""
        return f"{xi:.4g} and {eta:.4g} deg from the centre along xi and eta; the chunk reaches to {half[0]:g} and {half[1]:g}"

    # --- parts ------------------------------------------------------------------------------------

    def slices(self, xi=1, eta=1):
        """Windows (x0, x1, y0, y1), in surface elements, of xi times eta blocks from top to bottom, xi fastest: (n, 4).

        `xi`: slices along xi; `eta`: slices along eta.
        """
        return self.stack.slices(xi, eta)

    def nodes(self, keys):
        """Return positions (m, 3), m, and radii in the spherical model of nodes by their numbers."""
        x, y = (
            np.tan((np.arange(QUARTERS * n + 1) / (QUARTERS * n) - 0.5) * w)
            for n, w in zip(self.stack.count, self.widths)
        )
        levels = self.stack.heights(np.arange(QUARTERS * (len(self.stack.levels) - 1) + 1))
        nodes, radius = np.empty((len(keys), 3)), np.empty(len(keys))

        def place(rows):
            i, j, k = np.moveaxis(self.stack.places(keys[rows]), -1, 0)
            radius[rows] = levels[k]
            nodes[rows] = self.positions(self._directions(x[i], y[j]), radius[rows])

        cells.in_parallel(place, [slice(a, a + BLOCK) for a in range(0, len(keys), BLOCK)])
        return nodes, radius

    def unrolled(self, places):
        """Places (m, 3) in the stack as positions of a box from 0 to an extent along each axis, m, in any part alike;
        and the extent.

        `places` (m, 3).
        """
        stack = self.stack
        edges = [w / (QUARTERS * n) * self.model.radius for w, n in zip(self.widths, stack.count)]
        heights = stack.heights(np.arange(QUARTERS * (len(stack.levels) - 1) + 1))
        xyz = np.stack([places[:, 0] * edges[0], places[:, 1] * edges[1], heights[places[:, 2]] - heights[0]], axis=1)
        return xyz, max(*(e * QUARTERS * n for e, n in zip(edges, stack.count)), heights[-1] - heights[0])

    def samples(self):
        """Parts that have the shapes of all elements, or nearly: columns of the largest, in the
        middle, at two sides and in a corner.
        """
        wide = self.stack.coarsest
        middle = [n // w // 2 * w for n, w in zip(self.stack.count, wide)]
        for x, y in {(middle[0], middle[1]), (0, middle[1]), (middle[0], 0), (0, 0)}:
            yield self.part((x, x + wide[0], y, y + wide[1]))

    def slice_of(self, part, xi=1, eta=1):
        """Return number of the slice that each element of a part lies in: (ne,) int32.

        `xi`: slices along xi; `eta`: slices along eta.
        """
        windows = self.slices(xi, eta)
        i, j, _ = np.moveaxis(part.centres(), -1, 0)
        across = np.searchsorted(QUARTERS * windows[:xi, 1], i, side="right")
        return (np.searchsorted(QUARTERS * windows[::xi, 3], j, side="right") * xi + across).astype(np.int32)


# --- design ---------------------------------------------------------------------------------------


def chunk(
    model,
    centre=(0.0, 0.0),
    widths=(90.0, 90.0),
    bottom="cmb",
    period=None,
    elements=None,
    azimuth=0.0,
    points_per_wavelength=5.0,
    degree=4,
    growth="auto",
    honour=(),
    slices=(1, 1),
    geographic=True,
    elliptic=False,
    topography=None,
    root=None,
    chunks=1,
):
    """Design the mesh of a chunk of the Earth, or of two, three or all six chunks of a cubed sphere.

    Parameters
    ----------
    model : RadialModel
    centre : (float, float)
        Longitude and latitude, degrees.
    widths : (float, float)
        Along xi and eta, degrees at the centre, up to 120; several chunks have 90.
    bottom : "cmb", "centre" or float
        The core-mantle boundary, the Earth's centre (of six chunks), or a depth in m.
    period, elements : float, or (int, int)
        One of them: the shortest period, s, to be resolved; or elements along xi and eta at the
        surface (equal numbers in several chunks).
    azimuth : float
        Of the eta axis, degrees clockwise from north.
    points_per_wavelength : float
        GLL points at their mean distance, in the slowest medium of each section; also where
        `elements` is given, for what lies below.
    degree : int
        Of the elements.
    growth : "auto" or sequence of float
        Depths, m, below which elements become twice as large along xi and eta (the next place where
        there is room); "auto": where wave speeds allow; () for none. In several chunks elements
        grow in three layers, one for each axis of the cube.
    honour : sequence of float
        Depths, m, on which element faces shall lie beside the model's discontinuities.
    slices : (int, int)
        Numbers of blocks along xi and eta into which a single chunk shall be cut.
    geographic : bool
        Latitudes are geographic, else geocentric.
    elliptic : bool
        Flatten it: WGS84 at the surface, with depth by Clairaut's equation.
    topography : callable, optional
        Elevation (m) at longitudes and latitudes (arrays, degrees).
    root : float, optional
        Depth, m, at which topography has died out; by default that of the Moho.
    chunks : int
        1, 2, 3 or 6: the first about `centre`, the second east of it, the third north of both.

    Returns
    -------
    Chunk or CubedSphere

    Raises
    ------
    ValueError
        With what is wrong and what to change.
    """
    for fault in _faults(model, chunks, widths, bottom, period, elements):
        raise ValueError(fault)
    single, filled, angles = chunks == 1, bottom == CENTRE, tuple(np.radians(widths))
    honoured = [model.radius - d for d in honour]
    if filled:
        low = CUBE * min([model.radius, *model.jumps(), *honoured])
    else:
        low = model.boundary(FLUID_CORE)[1] if isinstance(bottom, str) else model.radius - float(bottom)
    radii = sections(model, low, honoured)
    if period is None:
        edge = max(w / n for w, n in zip(angles, elements)) * model.radius
        period = edge * points_per_wavelength / (degree * model.slowest(radii[-2], radii[-1]))
    sizes = Sizes(model, period, points_per_wavelength, degree)
    doublings = None if isinstance(growth, str) else [model.radius - d for d in sorted(growth)]
    parts, axes = (slices, 2) if single else ((2, 2), 3)
    count, layers = divided(radii, sizes, angles, elements, doublings, parts, axes)
    if root is not None:
        root = model.radius - root
    else:
        root = model.boundary("crust")[0] if "crust" in model.regions else model.radius * 0.99
    earth = {
        "frame": Frame(float(centre[0]), float(centre[1]), geographic),
        "model": model,
        "figure": clairaut(model) if elliptic else None,
        "topography": topography,
        "root": root,
        "azimuth": float(azimuth),
        "radii": np.array([0.0, *radii[1:]]) if filled else radii,
    }
    if single:
        return Chunk(widths=angles, stack=Stack(count, layers), **earth)
    return CubedSphere(stack=CubeStacks(count, layers, chunks, filled), **earth)


def _faults(model, chunks, widths, bottom, period, elements):
    """Yield why no chunk can be made of these, in words."""
    filled, asked, widths = bottom == CENTRE, (1, 1) if elements is None else tuple(elements), tuple(widths)
    if len(widths) != 2 or not all(0 < w <= WIDEST for w in widths):
        yield f"widths = {widths} must be two angles up to {WIDEST:g} degrees"
    if (period is None) == (elements is None):
        yield "give either period (s, the shortest) or elements (along xi and eta at the surface)"
    if period is not None and not period > 0:
        yield f"period = {period} s is not above 0"
    if len(asked) != 2 or min(asked) < 1:
        yield f"elements = {asked} must be two numbers, 1 or more"
    if isinstance(bottom, str) and bottom not in ("cmb", CENTRE):
        yield f'bottom = {bottom!r} is neither "cmb" nor a depth in m'
    if chunks not in (1, 2, 3, WHOLE):
        yield f"chunks = {chunks} is neither 1, 2, 3 nor 6"
    if filled and chunks != WHOLE:
        yield f'bottom = "{CENTRE}" needs chunks = {WHOLE}, all around the centre'
    if filled and model.knots[0] > 0:
        yield f"{model.name} begins at radius {model.knots[0] / 1e3:.10g} km: it does not reach the centre"
    if chunks > 1 and len(set(asked)) > 1:
        yield f"elements = {asked}: several chunks need the same number of elements along xi and eta"
    if chunks > 1 and widths != (90, 90):
        yield f"widths = {widths}: several chunks have 90 degrees"


def divided(radii, sizes, angles, elements, doubling_radii, slices, axes):
    """Elements (nx, ny) at the surface, as many as doublings and slices divide, and the layers: see
    `layers_between`.

    `radii` in m, rising; `angles`: of the chunk along xi and eta, radians; `elements`: along xi and eta at the surface;
    `doubling_radii` in m; None to choose them; `slices`: along xi and eta; `axes`: axes along which elements double.
    """
    count = surface_elements(angles, sizes, radii[-2], slices) if elements is None else tuple(elements)
    for _ in range(20):  # more surface elements are smaller ones, which may grow once more
        angle = max(w / n for w, n in zip(angles, count))
        doublings = doubling_radii if doubling_radii is not None else automatic(radii, sizes, angle, axes)
        multiple = tuple(2 ** len(doublings) * s for s in slices)
        if all(n % m == 0 for n, m in zip(count, multiple)):
            return count, layers_between(radii, sizes, angle, doublings, axes)
        if elements is not None and doubling_radii is not None:
            raise ValueError(
                f"elements = {tuple(elements)} must be multiples of {multiple[0]} and {multiple[1]} "
                f"({len(doublings)} doublings, {slices[0]} x {slices[1]} slices)"
            )
        if elements is not None:
            doubling_radii = doublings[:-1]  # automatic: as many as the number given divides
            continue
        count = surface_elements(angles, sizes, radii[-2], multiple)
    raise ValueError("no number of surface elements is possible: give elements and growth")


# --- layers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Largest allowed element sizes."""

    model: object
    period: float  # shortest period, s
    points: float  # GLL points per wavelength, at their mean distance
    degree: int

    def largest(self, bottom, top):
        """Longest edge allowed between two radii, m.

        `bottom`, `top`: radius, m.
        """
        return self.degree * self.period * self.model.slowest(bottom, top) / self.points

    def angles(self, radii):
        """Longest edge allowed anywhere below each of some rising radii down to the first, over the radius of its
        place: radians.

        `radii` in m, rising.
        """
        below, above = (
            np.where(vs > 0, vs, vp) / radii
            for vp, vs, _ in (self.model.speeds(radii, side) for side in ("below", "above"))
        )
        # nothing lies below the first
        slow = np.append(below[1], np.minimum(above[:-1], below[1:]))
        return np.minimum.accumulate(self.degree * self.period / self.points * slow)


def sections(model, bottom, extra=()):
    """Radii (m), rising, on which element faces lie: the bottom, discontinuities above it, further ones asked for, the
    surface.

    `bottom`: radius, m; `extra`: further radii, m. Raises ValueError: a bottom or further radius that is not within the
    model.
    """
    for r in (bottom, *extra):
        if not model.knots[0] <= r < model.radius or r <= 0:
            raise ValueError(
                f"radius {r / 1e3:.10g} km is not between the surface and the bottom of {model.name} "
                f"({max(model.knots[0], 0) / 1e3:.10g} km)"
            )
    inner = [r for r in (*model.jumps(), *extra) if r > bottom + 1e-9 * model.radius]
    return np.unique([bottom, *inner, model.radius])


def surface_elements(widths, sizes, bottom, multiple):
    """Elements (nx, ny) at the surface, multiples of `multiple`.

    `widths` (2,) in radians; `bottom`: of the uppermost section, m.
    """
    edge = sizes.largest(bottom, sizes.model.radius) / sizes.model.radius
    return tuple(int(np.ceil(max(1, w / edge - ROUNDING) / m)) * m for w, m in zip(widths, multiple))


def automatic(radii, sizes, angle, axes):
    """Radii, falling, m, at which elements may become twice as large: where all below allows it, and it is worth
    it.

    `radii`: of sections, rising; `angle`: width of elements at the surface, radians; `axes`: how many layers growing
    takes, one for each axis: see `layers_between`.
    """
    depths, top = [], radii[-1]
    looked = np.unique(np.concatenate([np.linspace(a, b, LOOKED_AT) for a, b in zip(radii[:-1], radii[1:])]))
    allowed = sizes.angles(looked) * (1 + ROUNDING)
    while True:
        fitting = looked[(allowed >= 2 * angle) & (looked <= top)]
        start = next((r for r in fitting[::-1] if _room(radii, r, r * angle, axes)), None)
        if start is None:
            return depths
        depths.append(float(start))
        angle, top = 2 * angle, start - _needed(start * angle / 2, axes)


def _room(radii, r, width, axes):
    """Return True where elements of a width can grow below r, above the next section boundary, and
    enough is left below them.
    """
    needed = _needed(width, axes)
    floor = radii[np.searchsorted(radii, r * (1 - 1e-12), side="left") - 1]
    return r - floor >= needed and r - radii[0] >= (1 + WORTH) * needed


def _needed(width, axes):
    """Least height of all layers in which elements of a width grow."""
    return axes * LEAST * width


def layers_between(radii, sizes, angle, doubling_radii, axes):
    """Return the layers of a chunk, or of the chunks of a sphere.

    `radii`: of sections, rising, m; the section of a `Layer` is its number among them, from below; `angle`: largest
    width of elements at the surface, radians; `doubling_radii`: radii, falling, below which they become twice as
    large; each goes on to the next section where there is no room; `axes`: axes along which elements grow, one in each
    of as many layers: 2 of a chunk, 3 of the cube around a sphere. Returns tuple of Layer: from below; `width` has a
    number for each of the axes, and `axis` is one of them. Raises ValueError: no room for a growth above the bottom.
    """
    layers, width, waiting, last = [], (1,) * axes, list(doubling_radii), radii[-1]
    for n in range(len(radii) - 2, -1, -1):
        bottom, top = radii[n], radii[n + 1]
        while waiting and (start := min(waiting[0], top)) - bottom >= _needed(start * angle * width[0], axes):
            waiting.pop(0)
            start = top if top - start < sizes.largest(bottom, top) / 2 else start
            layers += _plain(start, top, sizes, width, n)
            grown, top = _growth(bottom, start, sizes, angle * width[0], width, n)
            layers, width = layers + grown, grown[-1].width
        layers += _plain(bottom, top, sizes, width, n)
        last = bottom
    if waiting:
        raise ValueError(
            f"elements cannot be coarsened below radius {waiting[0] / 1e3:.10g} km and above {last / 1e3:.10g} km"
        )
    return tuple(layers[::-1])


def _plain(bottom, top, sizes, width, section):
    """Layers of equal height between two radii, from above; none where there is nothing between
    them.
    """
    if top - bottom < 1e-9 * top:
        return []
    ratio = (top - bottom) / sizes.largest(bottom, top)
    if ratio > MOST_LAYERS:
        raise ValueError(
            f"{ratio:.3g} layers of elements between radius {bottom / 1e3:.10g} and {top / 1e3:.10g} km are "
            f"more than {MOST_LAYERS:,}: correct the speeds of the model there, or the period"
        )
    count = max(1, int(np.ceil(ratio - ROUNDING)))
    levels = np.linspace(bottom, top, count + 1)
    return [Layer((float(a), float(b)), width, section) for a, b in zip(levels[-2::-1], levels[:0:-1])]


def _growth(bottom, top, sizes, angle, width, section):
    """Return the layers in which elements grow along one axis after another, from above, and the
    radius of their lower side.
    """
    edge, allowed, axes = angle * top, sizes.largest(bottom, top), len(width)
    height = float(np.clip(allowed, LEAST * edge, WANTED * edge))
    share, steepest = ((top - bottom) / axes, STEEPEST * edge / (1 + STEEPEST * angle * axes))
    # no thin layer behind them
    if top - bottom - axes * height < 0.6 * allowed and share <= LARGEST * edge:
        height = share
    height = min(height, share, max(steepest, LEAST * edge))
    levels = top - height * np.arange(axes + 1)
    levels[-1] = bottom if levels[-1] - bottom < 1e-6 * top else levels[-1]
    widths = [tuple(2 * w if a <= axis else w for a, w in enumerate(width)) for axis in range(axes)]
    return [
        Layer((float(low), float((low + high) / 2), float(high)), widths[axis], section, axis, 2)
        for axis, (high, low) in enumerate(zip(levels[:-1], levels[1:]))
    ], float(levels[-1])
