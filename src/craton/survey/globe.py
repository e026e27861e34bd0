"""Sources and receivers of a chunk of the Earth: longitude, latitude and depth to its axes, and
what was recorded to each station's own.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.conventions import TENSOR, VECTOR
from craton.io.fdsn import bearings, geodesic
from craton.survey import geography

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
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # axes of conventions.TENSOR


@dataclass(frozen=True, eq=False)
class Globe:
    """The map from a file's positions to those of a chunk; used as `geography.Places` is.

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
        places = [
            ("longitude", longitude, "degrees_east"),
            ("latitude", latitude, "degrees_north"),
            ("depth", depth, "m"),
        ]
        if source is None:
            return places
        at = np.asarray(source, float)[None]
        (distance, azimuth), (_, back) = _bearing(self, at, xyz), _bearing(self, xyz, at)
        if self.chunk.figure is not None:
            start = self.chunk.frame.degrees(np.asarray(source, float))
            azimuth, back, _ = geodesic(start, (longitude, latitude))
        return [
            *places,
            ("distance", distance, "degree"),
            ("azimuth", azimuth, "degree"),
            ("back_azimuth", back, "degree"),
        ]

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
    for n, (a, b) in enumerate(PAIRS):
        whole[:, a, b] = whole[:, b, a] = values[:, n]
    turned = np.einsum("rxa,ryb,rxy...->rab...", axes, axes, whole, optimize=True)
    return np.stack([turned[:, a, b] for a, b in PAIRS], axis=1)


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


def stations(earth, xyz, source=None) -> Stations:
    """Return the `Stations` of receivers (n, 3) on a map, a Globe or `geography.Local`, and from a source, m."""
    attributes = {} if source is None else of_source(earth, source)
    return Stations(earth.axes(xyz), earth.whereabouts(xyz, source), attributes)


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
    rows = [("distance", distance, "m"), ("azimuth", azimuth, "degree"), ("back_azimuth", back, "degree")]
    return Stations(None, rows, {})


def with_heights(stations, depth, ground):
    """Return `Stations` with the depth of each receiver below the ground and its elevation, m.

    Parameters
    ----------
    stations : Stations
    depth : (n,) array
        Below the ground of the model, m.
    ground : (n,) array
        Elevation of the ground, m.
    """
    rest = [row for row in stations.coordinates if row[0] not in ("depth", "elevation")]
    heights = [("elevation", ground - depth, "m"), ("depth", depth, "m")]
    return replace(stations, coordinates=[*rest[:2], *heights, *rest[2:]])


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
        out = out.assign_coords({CRS: ((), np.int32(0), geography.WGS84)})
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
    for name, array in full.data_vars.items():
        if dim in array.dims:
            rows = array.transpose("receiver", dim, ...)
            # receivers without a channel
            silent = np.isnan(rows.values).all(axis=tuple(range(1, rows.ndim)))
            values = turn(np.nan_to_num(rows.values), axes).astype(rows.dtype)
            lacking = np.isnan(rows.values).all(axis=(0, *range(2, rows.ndim))) & ~values.any(
                axis=(0, *range(2, rows.ndim))
            )
            values[:, lacking] = np.nan
            values[silent] = np.nan
            full[name] = rows.copy(data=values).transpose(*array.dims)
    arrays = [array for array in full.data_vars.values() if dim in array.dims]
    known = np.any(
        [np.isfinite(array.transpose(dim, ...).values).any(axis=tuple(range(1, array.ndim))) for array in arrays],
        axis=0,
    )
    return full.isel({dim: np.flatnonzero(known)}) if known.any() else dataset


def _bearing(globe, start, end):
    """Distance at the Earth's centre and azimuth at the start, degrees, of positions that broadcast
    together; radial axes.
    """
    frame = globe.chunk.frame
    axes, unit = (
        frame.axes(*frame.degrees(start)),
        end / np.maximum(np.linalg.norm(end, axis=-1, keepdims=True), 1e-300),
    )
    east, north, up = np.moveaxis((np.swapaxes(axes, -1, -2) @ unit[..., None])[..., 0], -1, 0)
    return np.degrees(np.arctan2(np.hypot(east, north), up)), np.degrees(np.arctan2(east, north)) % 360
