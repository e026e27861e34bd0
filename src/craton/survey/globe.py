"""Sources and receivers of a chunk of the Earth: longitude, latitude and depth to its axes, and
what was recorded to each station's own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.conventions import TENSOR, VECTOR

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
        angle, part = (
            np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b),
            np.linspace(0, 1, count)[:, None],
        )
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
        place = (
            f"longitude {longitude:.6g}, latitude {latitude:.6g} deg, depth {depth / 1e3:.6g} km"
        )
        if depth < 0:
            return f"{place}: above the ground"
        if beyond := self.chunk.beyond(xyz):
            return f"{place}: {beyond}"
        return f"{place}: below the chunk, which is {(self.chunk.model.radius - self.chunk.radii[0]) / 1e3:g} km deep"


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
    axes : (n, 3, 3) array
        East, north, up of each receiver in the chunk's axes, as columns.
    coordinates : list of (str, (n,) array, str)
        Name, values and unit: longitude, latitude, depth, and with a source distance, azimuth,
        back_azimuth.
    attributes : dict of str to float
        Longitude and latitude, degrees, and depth, m, of the source.
    """

    axes: np.ndarray
    coordinates: list
    attributes: dict


def stations(globe, xyz, source=None):
    """Return the `Stations` of receivers.

    Parameters
    ----------
    globe : Globe
    xyz : (n, 3) array
        Their positions, m, in the chunk's axes.
    source : (3,) array, optional
        Position, m, from which distance and azimuth count.
    """
    names = ("source_longitude", "source_latitude", "source_depth")
    place = () if source is None else map(float, globe.chunk.whereabouts(np.asarray(source, float)))
    return Stations(globe.axes(xyz), _whereabouts(globe, xyz, source), dict(zip(names, place)))


def local(dataset, stations):
    """Waveforms of a run in a chunk with each receiver's own east, north and up, and where the
    receivers are on Earth.

    Parameters
    ----------
    dataset : xarray.Dataset
        As `output.dataset.waveforms` makes it, components in the chunk's axes.
    stations : Stations

    Returns
    -------
    xarray.Dataset
        With the coordinates and attributes of the stations.
    """
    out = dataset.copy()
    for name, array in dataset.data_vars.items():
        for dim, turn, labels in (("component", vectors, VECTOR), ("tensor", tensors, TENSOR)):
            if dim in array.dims and tuple(map(str, array[dim].values)) == labels:
                rows = array.transpose("receiver", dim, ...)
                out[name] = rows.copy(data=turn(rows.values, stations.axes)).transpose(*array.dims)
    out = out.assign_coords(
        {name: ("receiver", values, {"units": unit}) for name, values, unit in stations.coordinates}
    )
    out.attrs |= stations.attributes
    return out


def _whereabouts(globe, xyz, source):
    longitude, latitude, depth = globe.chunk.whereabouts(xyz)
    places = [
        ("longitude", longitude, "degrees_east"),
        ("latitude", latitude, "degrees_north"),
        ("depth", depth, "m"),
    ]
    if source is None:
        return places
    at = np.asarray(source, float)[None]
    (distance, azimuth), (_, back) = _bearing(globe, at, xyz), _bearing(globe, xyz, at)
    return [
        *places,
        ("distance", distance, "degree"),
        ("azimuth", azimuth, "degree"),
        ("back_azimuth", back, "degree"),
    ]


def _bearing(globe, start, end):
    """Distance at the Earth's centre and azimuth at the start, degrees, of positions that broadcast
    together; radial axes.
    """
    frame = globe.chunk.frame
    axes, unit = (
        frame.axes(*frame.degrees(start)),
        end / np.linalg.norm(end, axis=-1, keepdims=True),
    )
    east, north, up = np.moveaxis((np.swapaxes(axes, -1, -2) @ unit[..., None])[..., 0], -1, 0)
    return np.degrees(np.arctan2(np.hypot(east, north), up)), np.degrees(
        np.arctan2(east, north)
    ) % 360
