"""Distances and azimuths between places: on a flat map, and on the ellipsoid WGS84."""

import numpy as np


def bearings(east, north):
    """Distance, and azimuth there and back, degrees clockwise from north, of places east and north
    of a source on a flat map.

    Parameters
    ----------
    east, north : array_like
        m. A place at the source lies east of it.

    Returns
    -------
    distance, azimuth, back_azimuth : ndarray
    """
    distance = np.hypot(east, north)
    azimuth = np.where(distance > 0, np.degrees(np.arctan2(east, north)), 90.0) % 360
    return distance, azimuth, (azimuth + 180) % 360


def geodesic(start, ends):
    """Azimuth at the start and back azimuth at each end, degrees, and length, m, of geodesics of
    WGS84: three arrays (n,).

    Parameters
    ----------
    start : (float, float)
        Longitude and latitude, degrees.
    ends : ((n,) array, (n,) array)
        The same.
    """
    import pyproj

    longitude, latitude = (np.asarray(degrees, float) for degrees in ends)
    starts = (np.full(longitude.shape, float(degrees)) for degrees in start)
    azimuth, back, distance = pyproj.Geod(ellps="WGS84").inv(*starts, longitude, latitude)
    return np.asarray(azimuth) % 360, np.asarray(back) % 360, np.asarray(distance)
