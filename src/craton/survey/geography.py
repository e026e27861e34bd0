"""Longitude and latitude to local metres: the transverse Mercator projection of the WGS84 ellipsoid about a scenario's reference point."""
import math
from dataclasses import dataclass

import numpy as np

SEMI_MAJOR, FLATTENING = 6_378_137.0, 1 / 298.257223563  # WGS84
N = FLATTENING / (2 - FLATTENING)
# Rectifying radius and Krueger's coefficients alpha_1 .. alpha_4 in n (Karney 2011, J. Geodesy 85, 475, eq. 14 and 35).
RECTIFYING = SEMI_MAJOR / (1 + N) * (1 + N**2 / 4 + N**4 / 64)
ALPHA = (
    N / 2 - 2 / 3 * N**2 + 5 / 16 * N**3 + 41 / 180 * N**4,
    13 / 48 * N**2 - 3 / 5 * N**3 + 557 / 1440 * N**4,
    61 / 240 * N**3 - 103 / 140 * N**4,
    49561 / 161280 * N**4,
)
WIDEST = 20.0  # degrees from the reference: farther off, a flat model is out of place


@dataclass(frozen=True)
class Local:
    """A local map: x = y = 0 at a reference point, y at an azimuth from north, scale 1 on the meridian of the reference.

    The same map as PROJ's ``+proj=tmerc +lon_0= +lat_0= +k=1 +ellps=WGS84``, to better than 1 mm within 1000 km, turned by the azimuth.
    Distances on it are too long by a factor 1 + e^2 / (2 R^2) at e metres east or west of the reference: 3e-5 at 50 km, 3e-4 at 160 km.

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

        Raises
        ------
        ValueError
            Not a place on Earth, or farther than 20 degrees from the reference.
        """
        east, north, _ = self._projected(longitude, latitude)
        c, s = math.cos(math.radians(self.azimuth)), math.sin(math.radians(self.azimuth))
        return c * east - s * north, s * east + c * north

    def turned(self, longitude, latitude):
        """Azimuth of +y against true north at a place, degrees clockwise: that of the map and the meridian convergence."""
        return self.azimuth + self._projected(longitude, latitude)[2]

    def _projected(self, longitude, latitude):
        """Easting and northing from the reference, metres, and convergence, degrees (Karney 2011, eq. 7-13, 23-25)."""
        longitude, latitude = (np.asarray(v, dtype=float) for v in (longitude, latitude))
        off = (longitude - self.longitude + 180.0) % 360.0 - 180.0
        bad = ~((np.abs(latitude) <= 90) & (np.abs(longitude) <= 360)) | (np.hypot(off * np.cos(np.radians(latitude)),
                                                                                   latitude - self.latitude) > WIDEST)  # fmt: skip
        if np.any(bad):
            first = np.flatnonzero(np.atleast_1d(bad))[0]
            at = ", ".join(f"{float(np.atleast_1d(v)[first]):g}" for v in (longitude, latitude))
            raise ValueError(f"longitude, latitude {at} deg is no place within {WIDEST:g} deg of the reference, "
                             f"{self.longitude:g}, {self.latitude:g} deg (domain.geographic)")  # fmt: skip
        xi, eta, convergence = _krueger(np.radians(off), np.radians(latitude))
        origin, _, _ = _krueger(0.0, math.radians(self.latitude))
        return RECTIFYING * eta, RECTIFYING * (xi - origin), np.degrees(convergence)


def _krueger(lam, phi):
    """Krueger's xi and eta and the convergence, radians, from longitude off the meridian and latitude, radians."""
    e = math.sqrt(FLATTENING * (2 - FLATTENING))
    tau = np.tan(phi)
    sigma = np.sinh(e * np.arctanh(e * tau / np.sqrt(1 + tau**2)))
    conformal = tau * np.sqrt(1 + sigma**2) - sigma * np.sqrt(1 + tau**2)
    xi1 = np.arctan2(conformal, np.cos(lam))
    eta1 = np.arcsinh(np.sin(lam) / np.hypot(conformal, np.cos(lam)))
    orders = [2 * (j + 1) for j in range(len(ALPHA))]
    terms = list(zip(ALPHA, orders))
    xi = xi1 + sum(a * np.sin(m * xi1) * np.cosh(m * eta1) for a, m in terms)
    eta = eta1 + sum(a * np.cos(m * xi1) * np.sinh(m * eta1) for a, m in terms)
    p = 1 + sum(m * a * np.cos(m * xi1) * np.cosh(m * eta1) for a, m in terms)
    q = sum(m * a * np.sin(m * xi1) * np.sinh(m * eta1) for a, m in terms)
    gamma = np.arctan2(conformal * np.tan(lam), np.sqrt(1 + conformal**2)) + np.arctan2(q, p)
    return xi, eta, gamma


@dataclass(frozen=True)
class Places:
    """How a file's positions become local ones.

    Parameters
    ----------
    local : Local or None
        None: the file's numbers are metres, x east and y north of the model's own origin.
    """

    local: Local | None
    deep = True  # its positions count from z = 0, not yet from the ground

    def xyz(self, longitude, latitude, depth=0.0):
        """Positions (..., 3), metres, z minus the depth."""
        return np.stack(np.broadcast_arrays(*self.xy(longitude, latitude), 0.0 - np.asarray(depth, float)), axis=-1)

    def xy(self, longitude, latitude):
        """x and y, metres."""
        if self.local is not None:
            return self.local.xy(longitude, latitude)
        return np.asarray(longitude, dtype=float), np.asarray(latitude, dtype=float)

    def rotation(self, longitude, latitude):
        """Matrices (..., 3, 3) from true east-north-up at a place to the model's axes (x, y, up)."""
        turned = np.zeros(np.shape(longitude)) if self.local is None else self.local.turned(longitude, latitude)
        c, s, zero = np.cos(np.radians(turned)), np.sin(np.radians(turned)), np.zeros(np.shape(longitude))
        return np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, zero + 1]]), (0, 1), (-2, -1))


def places(domain, coordinates):
    """The `Places` of a file in a domain; of a chunk of the Earth its `Globe`.

    Raises
    ------
    LookupError
        Geographic coordinates without ``domain.geographic``.
    """
    if coordinates == "metres":
        return Places(None)
    if getattr(domain, "globe", None) is not None:
        return domain.globe
    if domain.geographic is None:
        raise LookupError("its positions are longitude and latitude, but domain.geographic does not say where the model lies")
    return Places(Local(domain.geographic.longitude, domain.geographic.latitude, domain.geographic.azimuth))
