"""From the axes of a box to the longitudes and latitudes, or the projection, of files: through
PROJ.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from craton.io.contents import FileError
from craton.io.netcdf import factor
from craton.model.interpolate import weights


@dataclass(frozen=True)
class System:
    """Reference system of the coordinates of a file."""

    definition: str  # as PROJ understands it
    azimuth: float = 0.0  # of the file's second axis, degrees clockwise from the north of the projection
    # (float, float) or None: longitude and latitude from which its coordinates count; None: as in the projection
    origin: tuple | None = None


DEGREES = System("EPSG:4326")
NAMES = {"u": ("longitude", "lon", "x", "easting", "east"), "v": ("latitude", "lat", "y", "northing", "north")}
WHERE = "add geographic = { longitude =, latitude = } to [domain], or project it to metres first"
ON_EARTH = ("longitude", "lon", "latitude", "lat")
METRES_PER_DEGREE = 111_194.93  # on a sphere of 6371 km: only for the step of nodes
FINER = 2  # nodes per step of the file, so that interpolating twice hardly smooths
MOST = 4_000_000  # nodes from which on there is one per step
COARSE = 400.0  # m: h^2 tan(latitude) / 8 R is 3 mm at 48 degrees
PROBES = 65  # places per axis at which it is asked whether a file covers the box


def system_of(data, stated=None):
    """Return the reference system of the coordinates of a file; None where it has none.

    `data`: its attribute ``crs_wkt`` (and of an rfile ``crs_azimuth``, ``crs_origin``), a variable with ``crs_wkt``
    (CF, GDAL), or coordinates in degrees; `stated`: what the scenario says.
    """
    definition = stated or data.attrs.get("crs_wkt")
    if definition is not None:
        azimuth, origin = data.attrs.get("crs_azimuth", 0.0), data.attrs.get("crs_origin")
        return System(definition, float(azimuth), None if origin is None else tuple(origin))
    variables = getattr(data, "variables", data.coords)
    for variable in variables.values():
        wkt = variable.attrs.get("crs_wkt") or variable.attrs.get("spatial_ref")
        if wkt:
            return System(wkt)
    return DEGREES if on_degrees(data) else None


def on_degrees(data):
    """Whether the dimensions of a file are longitude and latitude, by their names or units: bool."""
    return any(
        str(dim).lower() in ON_EARTH
        or dim in data.coords
        and str(data[dim].attrs.get("units", "")).lower().startswith("degree")
        for dim in data.dims
    )


@lru_cache(16)
def _is_geographic(system):
    import pyproj

    try:
        return pyproj.CRS.from_user_input(system.definition).is_geographic
    except pyproj.exceptions.CRSError as error:
        raise FileError(
            f"the reference system {system.definition[:80]!r} of the file is not understood: "
            f"{str(error).partition(':')[0]}",
            'state it: crs = "EPSG:32633"',
        ) from None


@lru_cache(8)
def _coordinates(frame, system, x, y):
    """Coordinates of a file (ny, nx) at nodes: (first, last, count) along x and y of the box.

    PROJ is asked every `COARSE` metres; between, bilinear, the map is right to some millimetres.
    """
    axes = [np.linspace(*nodes) for nodes in (x, y)]
    coarse = [
        np.linspace(first, last, min(count, math.ceil((last - first) / COARSE) + 1)) for first, last, count in (x, y)
    ]
    places = coordinates(frame, system, coarse[0], coarse[1][:, None])
    (i, p, u), (j, q, v) = (weights(axis, nodes) for axis, nodes in zip(coarse, axes))
    rows = [plane[j] * (1 - v)[:, None] + plane[q] * v[:, None] for plane in places]
    return tuple(row[:, i] * (1 - u) + row[:, p] * u for row in rows)


def coordinates(frame, system, x, y):
    """Coordinates of a file at positions of a box: two arrays, degrees or m.

    Longitudes are within 180 degrees of the reference of the box.

    `system`: reference system of the file; `x`, `y` in m.
    """
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    u, v = _transformer(frame, system).transform(*_turned(x, y, frame.azimuth))
    if _is_geographic(system):
        return _within_half(u, frame.longitude), v
    u0, v0 = _origin(system)
    return _turned(u - u0, v - v0, -system.azimuth)


def _positions(frame, system, u, v):
    """Positions x, y of a box, m, at coordinates of a file."""
    if not _is_geographic(system):
        u0, v0 = _origin(system)
        u, v = _turned(u, v, system.azimuth)
        u, v = u0 + u, v0 + v
    east, north = _transformer(frame, system).transform(u, v, direction="INVERSE")
    return _turned(east, north, -frame.azimuth)


def _turned(x, y, azimuth):
    """East and north of places along axes x and y, y at an azimuth clockwise from north, degrees; with the negative
    azimuth the other way.
    """
    c, s = math.cos(math.radians(azimuth)), math.sin(math.radians(azimuth))
    return c * x + s * y, c * y - s * x


@lru_cache(8)
def _origin(system):
    """Origin of a file's axes in its projection, m."""
    import pyproj

    if system.origin is None:
        return 0.0, 0.0
    crs = pyproj.CRS.from_user_input(system.definition)
    return pyproj.Transformer.from_crs(crs.geodetic_crs, crs, always_xy=True).transform(*system.origin)


def _transformer(frame, system):
    import pyproj

    local = f"+proj=tmerc +lat_0={frame.latitude!r} +lon_0={frame.longitude!r} +k=1 +datum=WGS84 +units=m +type=crs"
    return pyproj.Transformer.from_crs(local, system.definition, always_xy=True)


def _within_half(longitude, middle):
    return middle + (np.asarray(longitude, float) - middle + 180.0) % 360.0 - 180.0


@dataclass(frozen=True, eq=False)
class Raster:
    """Values over the coordinates of a file, not yet read, and the nodes of a box at which they are wanted."""

    data: object  # over dimensions ``y`` and ``x``, rising coordinates of the file, no more than the box needs
    # x, y: (nx,), (ny,): nodes in the axes of the box, m
    x: np.ndarray
    y: np.ndarray
    places: tuple  # ((ny, nx), (ny, nx)): their coordinates in the file

    def loaded(self):
        """Return it with its values read."""
        return replace(self, data=self.data.load())

    def window(self, rows, columns):
        """Part of the file that some nodes need, and the indices and weights that interpolate it.

        `rows`, `columns`: of the nodes. Returns ranges ((int, int), (int, int)): first and one past the last index
        along x and y of the file; stencil: places in that part along y and x, for `interpolate.interpolated`.
        """
        ranges, stencil = [], []
        for name, places in zip("xy", self.places):
            axis = np.asarray(self.data[name].values, float)
            before, after, weight = weights(axis, places[rows, columns], 1e-6)
            first, stop = int(before.min()), int(after.max()) + 1
            ranges.append((first, stop))
            stencil.append((before - first, after - first, weight))
        return tuple(ranges), tuple(reversed(stencil))


def raster(data, frame, system, name, beyond):
    """Return the `Raster` of a file for a box; nothing of its values is read.

    `system`: reference system of its coordinates; `name`: of the file, for messages; `beyond`: steps of the file by
    which the box may reach beyond its outermost points. Raises FileError: dimensions that cannot be understood, or a
    file that does not cover the box: says how much is missing.
    """
    axes = [_axis(data, axis, frame, system, name) for axis in "uv"]
    limits = None if frame.x is None else _covered(axes, frame, system, name, beyond)
    parts = [_part(values, limits and limits[n]) for n, (_, values) in enumerate(axes)]
    data = data.isel({dim: _indices(index) for (dim, _), index in zip(axes, parts)})
    u, v = (values[index] for (_, values), index in zip(axes, parts))
    data = data.rename({axes[0][0]: "x", axes[1][0]: "y"}).assign_coords(x=("x", u), y=("y", v))
    x, y = _nodes(u, v, frame, system)
    places = _coordinates(frame, system, x, y)
    if frame.x is not None:  # covered, up to what a grid reaches beyond the box
        places = np.clip(places[0], u[0], u[-1]), np.clip(places[1], v[0], v[-1])
    return Raster(data, np.linspace(*x), np.linspace(*y), places)


def _axis(data, axis, frame, system, name):
    """Name of a dimension, and its coordinates in degrees or m, in the order of the file."""
    dims = {str(dim).lower(): dim for dim in data.dims}
    dim = next((dims[n] for n in NAMES[axis] if n in dims), None)
    if dim is None or dim not in data.coords:
        held = ", ".join(map(str, data.dims)) or "none"
        raise FileError(
            f"{name} has the dimensions {held}; it needs {' and '.join(n[0] for n in NAMES.values())}, "
            "or x and y, each with its coordinates",
            "put it on a rectangular grid of longitude and latitude first",
        )
    values = np.asarray(data[dim].values, float)
    if not _is_geographic(system):
        values = values * factor(data[dim], "length", f"{dim} of {name}")
    elif axis == "u":
        values = _within_half(values, frame.longitude)
    if len(values) < 2 or not np.isfinite(values).all():
        raise FileError(f"{name}: {dim} must have at least 2 finite values")
    return dim, values


def _covered(axes, frame, system, name, beyond):
    """Limits of what a box needs along both axes of a file, ((u0, u1), (v0, v1)); refuses a file
    that does not reach so far.
    """
    x, y = (np.linspace(*limits, PROBES) for limits in (frame.x, frame.y))
    places = coordinates(frame, system, x, y[:, None])
    missing, gaps, texts = np.zeros(places[0].shape, bool), [], []
    unit = "deg" if _is_geographic(system) else "m"
    words = ("longitude", "latitude") if unit == "deg" else ("x", "y")
    for n, (_, values) in enumerate(axes):
        low, high, step = values.min(), values.max(), _step(values)
        room = step * (beyond + 1e-6)
        missing |= ~((places[n] >= low - room) & (places[n] <= high + room))
        needed = places[n].min(), places[n].max()
        texts.append((f"{words[n]} {low:.6g} to {high:.6g}", f"{words[n]} {needed[0]:.6g} to {needed[1]:.6g}"))
        ends = (("west", "south")[n], low - needed[0]), (("east", "north")[n], needed[1] - high)
        gaps += [f"{gap:.4g} {unit} in the {side}" for side, gap in ends if gap > room]
    if missing.any():
        share = 100 * missing.mean()
        held, needs = (", ".join(row) for row in zip(*texts))
        raise FileError(
            f"{name} covers {held} {unit}, the box needs {needs} {unit}: {share:.3g} % of the box is "
            f"missing ({', '.join(gaps)})",
            "give a file that covers the box, or make or move the box (domain.size, domain.geographic)",
        )
    x, y = ((a - frame.margin, b + frame.margin) for a, b in (frame.x, frame.y))
    wide = coordinates(frame, system, np.linspace(*x, PROBES), np.linspace(*y, PROBES)[:, None])
    return [(place.min(), place.max()) for place in wide]


def _step(values):
    """Typical step of an axis, positive."""
    return float(np.median(np.abs(np.diff(np.sort(values)))))


def _part(values, limits):
    """Return indices that make an axis rise, without the points that the box does not need."""
    order = np.argsort(values, kind="stable")
    order = order[np.concatenate([[True], np.diff(values[order]) > 0])]  # 0 and 360 are one
    if limits is None:
        return order
    rising = values[order]
    first = max(int(np.searchsorted(rising, limits[0], side="right")) - 2, 0)
    stop = min(int(np.searchsorted(rising, limits[1], side="left")) + 2, len(order))
    return order[min(first, len(order) - 2) : max(stop, 2)]


def _indices(order):
    """Return a slice where indices follow each other: files are read faster so."""
    steps = np.diff(order)
    if len(steps) and (steps == 1).all():
        return slice(int(order[0]), int(order[-1]) + 1)
    return order


def _nodes(u, v, frame, system):
    """(first, last, count) of nodes along x and y of a box."""
    steps = _step(u), _step(v)
    if _is_geographic(system):
        east = METRES_PER_DEGREE * math.cos(math.radians(float(v.mean())))
        steps = steps[0] * east, steps[1] * METRES_PER_DEGREE
    limits = (frame.x, frame.y) if frame.x is not None else _hull(u, v, frame, system)
    spans = [(low - frame.margin, high + frame.margin) for low, high in limits]
    nodes = (spans[0][1] - spans[0][0]) * (spans[1][1] - spans[1][0]) / min(steps) ** 2
    step = min(steps) / min(FINER, max(1.0, math.sqrt(MOST / max(nodes, 1))))
    return tuple((low, high, max(math.ceil((high - low) / step) + 1, 3)) for low, high in spans)


def _hull(u, v, frame, system):
    """Limits along x and y of a box that holds a whole file."""
    edges = np.linspace(u[0], u[-1], PROBES), np.linspace(v[0], v[-1], PROBES)
    positions = _positions(frame, system, *(g.ravel() for g in np.meshgrid(*edges)))
    return [(float(p.min()), float(p.max())) for p in positions]
