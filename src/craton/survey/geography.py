"""Where a model lies on Earth: maps from longitude and latitude to its axes, a transverse Mercator projection of WGS84 about
a box and the globe of a chunk; stations on them; and what was recorded, turned to each station's east, north and up.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.conventions import TENSOR, TENSOR_AXES, VECTOR
from craton.io.fdsn import bearings, geodesic
from craton.io.libraries import library
from craton.tables.ground import frame_of

WGS84 = {  # grid mapping of CF
    "grid_mapping_name": "latitude_longitude",
    "geographic_crs_name": "WGS 84",
    "horizontal_datum_name": "World Geodetic System 1984",
    "semi_major_axis": 6378137.0,
    "inverse_flattening": 298.257223563,
    "longitude_of_prime_meridian": 0.0,
}
CRS = "crs"  # coordinate of datasets that holds the grid mapping of CF
WHEREABOUTS = {  # what is said of coordinates of receivers
    "longitude": {"standard_name": "longitude", "long_name": "longitude"},
    "latitude": {"standard_name": "latitude", "long_name": "latitude"},
    "elevation": {"long_name": "elevation of the receiver", "positive": "up"},
    "depth": {"long_name": "depth of the receiver below the ground", "positive": "down"},
    "distance": {"long_name": "distance from the source"},
    "azimuth": {"long_name": "azimuth of the receiver, at the source, clockwise from north"},
    "back_azimuth": {"long_name": "azimuth of the source, at the receiver, clockwise from north"},
}
EXACT = 1e-12  # of axes, below which nothing is turned
WIDEST = 20.0  # degrees from the reference: farther off, a flat model is out of place


@dataclass(frozen=True)
class Metres:
    """The map of a file whose numbers are metres, x east and y north of the model's own origin."""

    deep = True  # its positions count from z = 0, not yet from the ground

    def xy(self, longitude, latitude):
        """x and y, metres, of places in degrees, here of metres."""
        return np.asarray(longitude, dtype=float), np.asarray(latitude, dtype=float)

    def xyz(self, longitude, latitude, depth=0.0):
        """Positions (..., 3), metres, z minus the depth (m) of places in degrees."""
        return np.stack(np.broadcast_arrays(*self.xy(longitude, latitude), 0.0 - np.asarray(depth, float)), axis=-1)

    def off_map(self, longitude, latitude):
        """Whether places are not on the map: bool array."""
        return np.zeros(np.shape(longitude), bool)

    def turned(self, longitude, latitude):
        """Angles of the model's y from true north, degrees clockwise, at places."""
        return np.zeros(np.shape(longitude))

    def rotation(self, longitude, latitude):
        """Matrices (..., 3, 3) from true east-north-up at places, degrees, to the model's axes (x, y, up)."""
        turned = np.radians(self.turned(longitude, latitude))
        c, s, zero = np.cos(turned), np.sin(turned), np.zeros(np.shape(longitude))
        return np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, zero + 1]]), (0, 1), (-2, -1))


@dataclass(frozen=True)
class Local(Metres):
    """A local map: x = y = 0 at a reference point, y at an azimuth from north, scale 1 on the
    meridian of the reference.

    The map is PROJ's ``+proj=tmerc +lon_0= +lat_0= +k=1 +ellps=WGS84``, good to nanometres, turned
    by the azimuth. Distances on it are too long by a factor 1 + e^2 / (2 R^2) at e metres east or
    west of the reference: 3e-5 at 50 km, 3e-4 at 160 km.

    Parameters
    ----------
    longitude, latitude : float
        Of x = y = 0, degrees, WGS84.
    azimuth : float
        Of +y, degrees clockwise from north.
    """

    longitude: float
    latitude: float
    azimuth: float = 0.0

    def xy(self, longitude, latitude):
        """x and y, metres, of places in degrees.

        Parameters
        ----------
        longitude, latitude : array_like
            Degrees.

        Raises
        ------
        ValueError
            Not a place on Earth, or farther than 20 degrees from the reference.
        """
        east, north = _projection(self.latitude)(*self._from_meridian(longitude, latitude))
        c, s = math.cos(math.radians(self.azimuth)), math.sin(math.radians(self.azimuth))
        return c * np.asarray(east) - s * np.asarray(north), s * np.asarray(east) + c * np.asarray(north)

    def degrees(self, x, y):
        """Longitude and latitude, degrees, of positions in metres.

        Parameters
        ----------
        x, y : array_like
            Metres.
        """
        x, y = np.asarray(x, float), np.asarray(y, float)
        c, s = math.cos(math.radians(self.azimuth)), math.sin(math.radians(self.azimuth))
        off, latitude = _projection(self.latitude)(c * x + s * y, c * y - s * x, inverse=True)
        return (np.asarray(off) + self.longitude + 180.0) % 360.0 - 180.0, np.asarray(latitude)

    def axes(self, xyz):
        """Return true east, north and up at positions, in the axes of the model, as columns: (n, 3,
        3).

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        """
        return self.rotation(*self.degrees(xyz[:, 0], xyz[:, 1]))

    def whereabouts(self, xyz, source=None):
        """Return what coordinates of stations there are: list of (name, values (n,), unit).

        Longitude, latitude and elevation; with a source the distance along the geodesic of WGS84,
        the azimuth at the source and the back azimuth at the station.

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        source : (3,) array, optional
            Position, m.
        """
        longitude, latitude = self.degrees(xyz[:, 0], xyz[:, 1])
        places = _place_rows(longitude, latitude, ("elevation", xyz[:, 2], "m"))
        if source is None:
            return places
        azimuth, back, distance = geodesic(self.degrees(source[0], source[1]), (longitude, latitude))
        return [*places, *_path_rows(distance, "m", azimuth, back)]

    def turned(self, longitude, latitude):
        """Azimuth of +y against true north at a place, degrees clockwise: that of the map and the
        meridian convergence.

        Parameters
        ----------
        longitude, latitude : array_like
            Degrees.
        """
        degrees = self._from_meridian(longitude, latitude)
        if not degrees[0].size:  # PROJ has no factors of no places
            return np.zeros(degrees[0].shape)
        return self.azimuth + np.asarray(_projection(self.latitude).get_factors(*degrees).meridian_convergence)

    def off_map(self, longitude, latitude):
        """Whether places on Earth are more than 20 degrees from the reference: bool array.

        Parameters
        ----------
        longitude, latitude : array_like
            Degrees.
        """
        latitude = np.asarray(latitude, float)
        return self._off(np.asarray(longitude, float), latitude)[1] & (np.abs(latitude) <= 90)

    def _off(self, longitude, latitude):
        """Longitude east of the reference's meridian, degrees, and whether places are too far."""
        with np.errstate(invalid="ignore"):  # what is infinite is refused later
            off = np.asarray((longitude - self.longitude + 180.0) % 360.0 - 180.0)
        return off, np.hypot(off * np.cos(np.radians(latitude)), latitude - self.latitude) > WIDEST

    def _from_meridian(self, longitude, latitude):
        """Longitude east of the reference's meridian, -180 to 180, and latitude, degrees; refuses
        places that are not on the map.
        """
        longitude, latitude = np.broadcast_arrays(np.asarray(longitude, dtype=float), np.asarray(latitude, dtype=float))
        off, far = self._off(longitude, latitude)
        bad = far | ~((np.abs(latitude) <= 90) & (np.abs(longitude) <= 360))
        if np.any(bad):
            first = np.flatnonzero(bad)[0]
            at = ", ".join(f"{degrees.flat[first]:g}" for degrees in (longitude, latitude))
            raise ValueError(
                f"longitude, latitude {at} deg is no place within {WIDEST:g} deg of the reference, "
                f"{self.longitude:g}, {self.latitude:g} deg (domain.geographic)"
            )
        return off, latitude


class Profile(Local):
    """The map of a plane (x, z): its one direction is that at the reference, without meridian
    convergence.
    """

    def axes(self, xyz):
        """East, north and up of the reference at all positions: (n, 3, 3); see `Local.axes`.

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        """
        return np.broadcast_to(super().axes(np.zeros((1, 3))), (len(xyz), 3, 3))


def _projection(latitude):
    """PROJ's transverse Mercator projection from longitude 0 and a latitude, degrees, to metres
    (Karney 2011, J. Geodesy 85, 475).

    Made anew each time, in 0.2 ms: pyproj does not promise that threads, as ranks of one process
    are, may share one.
    """
    pyproj = library("pyproj", "a position in longitude and latitude")
    return pyproj.Proj(proj="tmerc", algo="poder_engsager", lon_0=0, lat_0=latitude, k=1, ellps="WGS84")


def _place_rows(longitude, latitude, height):
    """Return the rows (name, values, unit) of places on Earth; `height` is the row of their depth or elevation."""
    return [("longitude", longitude, "degrees_east"), ("latitude", latitude, "degrees_north"), height]


def _path_rows(distance, unit, azimuth, back):
    """Return the rows (name, values, unit) of paths from a source to stations; `unit` is that of the distance."""
    return [("distance", distance, unit), ("azimuth", azimuth, "degree"), ("back_azimuth", back, "degree")]


def local_of(domain):
    """Return the `Local` map of a domain; None where it does not say where it lies.

    Parameters
    ----------
    domain : domain of a scenario
    """
    frame = frame_of(domain)
    if frame is None:
        return None
    return (Profile if domain.planar else Local)(frame.longitude, frame.latitude, frame.azimuth)


def places(domain, coordinates):
    """Return the map (`Metres` or `Local`) of a file in a domain; of a chunk of the Earth its `Globe`.

    Parameters
    ----------
    domain : Domain
    coordinates : str
        ``"geographic"`` or ``"metres"``.

    Raises
    ------
    LookupError
        Geographic coordinates without ``domain.geographic``.
    """
    if coordinates == "metres":
        return Metres()
    if getattr(domain, "globe", None) is not None:
        return domain.globe
    if domain.geographic is None:
        raise LookupError(
            "its positions are longitude and latitude, but domain.geographic does not say where the model lies"
        )
    return local_of(domain)


@dataclass(frozen=True, eq=False)
class Globe:
    """The map from a file's positions to those of a chunk; used as `Local` is.

    Parameters
    ----------
    chunk : model.chunk.Chunk
    """

    chunk: Any
    deep = False  # its positions already count from the ground

    def xyz(self, longitude, latitude, depth=0.0):
        """Positions (..., 3), m, in the chunk's axes, of places at depths (m) below the ground.

        Parameters
        ----------
        longitude, latitude : array_like
            Degrees.
        depth : array_like
            m.
        """
        return self.chunk.place(longitude, latitude, depth)

    def off_map(self, longitude, latitude):
        """No place on Earth is off the map: bool array.

        Parameters
        ----------
        longitude, latitude : array_like
            Degrees.
        """
        return np.zeros(np.shape(longitude), bool)

    def line(self, start, end, count):
        """Positions (count, 3), m, at equal distances on the great circle from one (longitude,
        latitude, depth) to another.

        Parameters
        ----------
        start : tuple of float
            Longitude and latitude, degrees, depth, m.
        end : tuple of float
            The same.
        count : int
        """
        frame = self.chunk.frame
        a, b = (frame.direction(*place[:2]) for place in (start, end))
        angle, part = (np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b), np.linspace(0, 1, count)[:, None])
        along = b - (a @ b) * a
        along = along / max(np.linalg.norm(along), 1e-300)
        way = np.cos(part * angle) * a + np.sin(part * angle) * along
        return self.xyz(*frame.degrees(way), start[2] + part[:, 0] * (end[2] - start[2]))

    def rotation(self, longitude, latitude):
        """Matrices (..., 3, 3) from east-north-up at a place to the chunk's axes.

        Parameters
        ----------
        longitude, latitude : array_like
            Degrees.
        """
        return self.chunk.axes(longitude, latitude)

    def axes(self, xyz):
        """East, north and up at positions (n, 3).

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        """
        return self.chunk.axes(*self.chunk.frame.degrees(xyz))

    def whereabouts(self, xyz, source=None):
        """Return what coordinates of stations there are: list of (name, values (n,), unit).

        Longitude, latitude and depth; with a source the distance, degrees at the Earth's centre,
        the azimuth at the source and the back azimuth at the station: of the great circle on a
        sphere, of the geodesic of WGS84 on a flattened Earth.

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        source : (3,) array, optional
            Position, m.
        """
        longitude, latitude, depth = self.chunk.whereabouts(xyz)
        places = _place_rows(longitude, latitude, ("depth", depth, "m"))
        if source is None:
            return places
        at = np.asarray(source, float)[None]
        (distance, azimuth), (_, back) = _bearing(self, at, xyz), _bearing(self, xyz, at)
        if self.chunk.figure is not None:
            start = self.chunk.frame.degrees(np.asarray(source, float))
            azimuth, back, _ = geodesic(start, (longitude, latitude))
        return [*places, *_path_rows(distance, "degree", azimuth, back)]

    def heights(self, xyz):
        """Depth below the ground and elevation of the ground at positions, m: two arrays (n,).

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        """
        longitude, latitude, depth = self.chunk.whereabouts(xyz)
        topography = self.chunk.topography
        ground = 0.0 if topography is None else np.asarray(topography(longitude, latitude), float)
        return depth, np.broadcast_to(ground, depth.shape)

    def outside(self, xyz):
        """Say what is wrong with each position (n, 3) that is not in the chunk: list of (index,
        text).

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        """
        xyz = np.asarray(xyz, float).reshape(-1, 3)
        wrong = np.flatnonzero(~self.chunk.inside(xyz))
        return [(int(n), self._where(xyz[n])) for n in wrong]

    def _where(self, xyz):
        longitude, latitude, depth = (float(v) for v in self.chunk.whereabouts(xyz))
        place = f"longitude {longitude:.6g}, latitude {latitude:.6g} deg, depth {depth / 1e3:.6g} km"
        if depth < 0:
            return f"{place}: above the ground"
        if beyond := self.chunk.beyond(xyz):
            return f"{place}: {beyond}"
        return f"{place}: below the chunk, which is {(self.chunk.model.radius - self.chunk.radii[0]) / 1e3:g} km deep"


def in_corners(globe, xyz, low):
    """Return positions (n, 3), m, as the corners of a volume count: in a chunk of the Earth
    longitude within half a turn of that of `low`, latitude (degrees), and minus the depth (m).

    Parameters
    ----------
    globe : Globe or None
    xyz : (n, 3) array
        m.
    low : sequence of float
        The volume's lower corner.
    """
    if globe is None:
        return xyz
    longitude, latitude, depth = globe.chunk.whereabouts(xyz)
    longitude = low[0] + (longitude - low[0] + 180) % 360 - 180
    return np.stack([longitude, latitude, -depth], axis=-1)


def vectors(values, axes):
    """Components east, north, up at each station of vectors in the chunk's axes: (receiver, 3, ...)
    to the same.

    Parameters
    ----------
    values : (n, 3, ...) array
        Components x, y, z.
    axes : (n, 3, 3) array
        East, north, up as columns.
    """
    return np.einsum("rxc,rx...->rc...", axes, values)


def tensors(values, axes):
    """East-north-up components of symmetric tensors, as `vectors` does: (receiver, 6, ...) in the
    order of `conventions.TENSOR`.

    Parameters
    ----------
    values : (receiver, 6, ...) array
    axes : (receiver, 3, 3) array
        East, north and up at each receiver.
    """
    whole = np.empty((len(values), 3, 3, *np.shape(values)[2:]))
    for n, (a, b) in enumerate(TENSOR_AXES):
        whole[:, a, b] = whole[:, b, a] = values[:, n]
    turned = np.einsum("rxa,ryb,rxy...->rab...", axes, axes, whole, optimize=True)
    return np.stack([turned[:, a, b] for a, b in TENSOR_AXES], axis=1)


@dataclass(frozen=True, eq=False)
class Stations:
    """Where receivers are on Earth.

    Parameters
    ----------
    axes : (n, 3, 3) array or None
        East, north, up of each receiver in the axes of the model, as columns; None where these are
        the axes of the model.
    coordinates : list of (str, (n,) array, str)
        Name, values and unit: longitude, latitude, depth or elevation, and with a source distance,
        azimuth, back_azimuth.
    attributes : dict of str to float
        Longitude and latitude, degrees, and depth or elevation, m, of the source.
    """

    axes: np.ndarray | None
    coordinates: list
    attributes: dict

    def part(self, rows):
        """Return those of a slice of the receivers.

        Parameters
        ----------
        rows : slice
        """
        coordinates = [(name, values[rows], unit) for name, values, unit in self.coordinates]
        axes = None if self.axes is None else self.axes[rows]
        return Stations(axes, coordinates, self.attributes)


def of_source(earth, xyz) -> dict[str, float]:
    """Return attributes of a dataset that say where a source is on Earth: ``source_longitude`` and so on."""
    return {f"source_{name}": float(values[0]) for name, values, _ in earth.whereabouts(np.asarray(xyz, float)[None])}


def stations(earth, xyz, source=None, heights=None) -> Stations:
    """Return the `Stations` of receivers (n, 3) on a map, a `Globe` or `Local`, and from a source, m; with `heights`, depths
    below the ground and elevations of the ground, m, in place of what the map gives.
    """
    rows = earth.whereabouts(xyz, source)
    if heights is not None:
        depth, ground = heights
        rows[2:3] = [("elevation", ground - depth, "m"), ("depth", depth, "m")]
    return Stations(earth.axes(xyz), rows, {} if source is None else of_source(earth, source))


def flat(xyz, source):
    """Return the `Stations` of receivers of a model that does not lie anywhere: x east, y north.

    Parameters
    ----------
    xyz : (n, 3) array
        Their positions, m.
    source : (3,) array
        Position, m, from which distance and azimuth count.
    """
    distance, azimuth, back = bearings(*(xyz - np.asarray(source, float))[:, :2].T)
    return Stations(None, _path_rows(distance, "m", azimuth, back), {})


def local(dataset, stations):
    """Waveforms of a run with each receiver's own true east, north and up, and where the receivers
    are on Earth.

    Parameters
    ----------
    dataset : xarray.Dataset
        As `output.dataset.waveforms` makes it, components in the axes of the model. In the plane,
        components that it lacks are none.
    stations : Stations

    Returns
    -------
    xarray.Dataset
        With the coordinates and attributes of the stations.
    """
    out = dataset
    if stations.axes is not None and not np.allclose(stations.axes, np.eye(3), rtol=0, atol=EXACT):
        for dim, turn, labels in (("component", vectors, VECTOR), ("tensor", tensors, TENSOR)):
            out = turned(out, dim, turn, labels, stations.axes)
    out = out.assign_coords(coordinates(stations))
    out.attrs = dataset.attrs | stations.attributes
    if "longitude" in out.coords:
        out = out.assign_coords({CRS: ((), np.int32(0), WGS84)})
        for array in out.data_vars.values():
            array.attrs["grid_mapping"] = CRS
    return out


def coordinates(stations):
    """Coordinates of a dataset that say where its receivers are: dict of name to (dimension, values,
    attributes).

    Parameters
    ----------
    stations : Stations
    """
    return {
        name: ("receiver", values, {"units": unit, **WHEREABOUTS.get(name, {})})
        for name, values, unit in stations.coordinates
    }


def turned(dataset, dim, turn, labels, axes):
    """Return the dataset with all quantities along a dimension turned; components that a plane
    lacks are zero before, and left out after.

    Parameters
    ----------
    dataset : xarray.Dataset
    dim : str
    turn : callable
        `vectors` or `tensors`.
    labels : tuple of str
        Components along the dimension, before and after.
    axes : (n, 3, 3) array
        New axes at each receiver in the old ones, as columns.
    """
    if dim not in dataset.dims:
        return dataset
    attributes, full = dataset[dim].attrs, dataset.reindex({dim: list(labels)})
    full[dim].attrs = attributes
    names = [name for name, array in full.data_vars.items() if dim in array.dims]
    for name in names:
        rows = full[name].transpose("receiver", dim, ...)
        known = rows.notnull()
        new = rows.copy(data=turn(np.nan_to_num(rows.values), axes).astype(rows.dtype))
        has_channel = known.any([other for other in rows.dims if other != "receiver"])
        has_component = (known | (new != 0)).any([other for other in rows.dims if other != dim])
        full[name] = new.where(has_channel & has_component).transpose(*full[name].dims)
    out = full.dropna(dim, how="all", subset=names)
    return out if out.sizes[dim] else dataset


def _bearing(globe, start, end):
    """Distance at the Earth's centre and azimuth at the start, degrees, of positions that broadcast
    together; radial axes.
    """
    frame = globe.chunk.frame
    axes = frame.axes(*frame.degrees(start))
    unit = end / np.maximum(np.linalg.norm(end, axis=-1, keepdims=True), 1e-300)
    east, north, up = np.moveaxis((np.swapaxes(axes, -1, -2) @ unit[..., None])[..., 0], -1, 0)
    return np.degrees(np.arctan2(np.hypot(east, north), up)), np.degrees(np.arctan2(east, north)) % 360
