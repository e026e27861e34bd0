"""Places on and in the Earth in a chunk's own axes: its frame, geographic and geocentric latitude,
the flattened figure, mechanisms.

The axes (x, y, z) of a chunk have their origin at the Earth's centre; z points to the chunk's
centre, x east and y north there. At the chunk's centre they are east, north, up; anywhere else
`Frame.axes` gives east, north and up.
"""

from dataclasses import dataclass

import numpy as np

FLATTENING = 1 / 298.257223563  # WGS84
STEPS = 2000  # of radius in Clairaut's equation


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
        return np.degrees(np.arctan2(earth[..., 1], earth[..., 0])), geographic(
            latitude
        ) if self.geographic else latitude

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


def geocentric(latitude, flattening=FLATTENING):
    """Geocentric latitude of a place on the ellipsoid, degrees, from its geographic latitude: tan = (1 - f)^2 tan.

    `latitude` in degrees.
    """
    latitude = np.asarray(latitude, float)
    lat = np.radians(latitude)
    return latitude + np.degrees(
        np.arctan2(
            ((1 - flattening) ** 2 - 1) * np.sin(lat) * np.cos(lat),
            np.cos(lat) ** 2 + (1 - flattening) ** 2 * np.sin(lat) ** 2,
        )
    )


def geographic(latitude, flattening=FLATTENING):
    """Geographic latitude, degrees, of a place on the ellipsoid from its geocentric latitude; inverse of `geocentric`.

    `latitude` in degrees.
    """
    lat = np.radians(np.asarray(latitude, float))
    return np.degrees(np.arctan2(np.sin(lat), (1 - flattening) ** 2 * np.cos(lat)))


def turned(tensor, axes):
    """Return a tensor (3, 3) in east, north, up in a chunk's axes: A M A^T.

    `tensor` (3, 3); `axes` (3, 3): east, north, up as columns.
    """
    return axes @ np.asarray(tensor, float) @ np.swapaxes(axes, -1, -2)


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
