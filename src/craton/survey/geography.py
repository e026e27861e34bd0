"""Longitude and latitude to local metres: the transverse Mercator projection of the WGS84 ellipsoid
about a scenario's reference point.
"""

import math
from dataclasses import dataclass

import numpy as np

from craton.errors import ResourceError
from craton.io.fdsn import geodesic

WGS84 = {  # grid mapping of CF
    "grid_mapping_name": "latitude_longitude",
    "geographic_crs_name": "WGS 84",
    "horizontal_datum_name": "World Geodetic System 1984",
    "semi_major_axis": 6378137.0,
    "inverse_flattening": 298.257223563,
    "longitude_of_prime_meridian": 0.0,
}
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
        places = [
            ("longitude", longitude, "degrees_east"),
            ("latitude", latitude, "degrees_north"),
            ("elevation", xyz[:, 2], "m"),
        ]
        if source is None:
            return places
        azimuth, back, distance = geodesic(self.degrees(source[0], source[1]), (longitude, latitude))
        return [*places, ("distance", distance, "m"), ("azimuth", azimuth, "degree"), ("back_azimuth", back, "degree")]

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

    Raises
    ------
    ResourceError
        pyproj is not installed.
    """
    try:
        import pyproj
    except ImportError:
        raise ResourceError(
            "positions in longitude and latitude need pyproj; install it with: pip install pyproj"
        ) from None
    return pyproj.Proj(proj="tmerc", algo="poder_engsager", lon_0=0, lat_0=latitude, k=1, ellps="WGS84")


def local_of(domain):
    """Return the `Local` map of a domain; None where it does not say where it lies.

    Parameters
    ----------
    domain : domain of a scenario
    """
    geographic = getattr(domain, "geographic", None)
    if geographic is None:
        return None
    return (Profile if domain.planar else Local)(geographic.longitude, geographic.latitude, geographic.azimuth)


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
