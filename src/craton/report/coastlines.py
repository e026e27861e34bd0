"""Coastlines of the world, 1:110 million.

Natural Earth (naturalearthdata.com), public domain: the countries of `naturalearth_lowres` in the
wheel of geopandas 0.14.4, united to land, rounded to 0.01 degree, 5,141 points.
"""

from functools import lru_cache
from importlib.resources import files

import numpy as np

SOURCE = "coastlines: Natural Earth, 1:110 million"


@lru_cache(1)
def land():
    """Return the rings of all land, closed: tuple of (n, 2) arrays of longitude and latitude, degrees."""
    with (files("craton.report") / "coastlines.npz").open("rb") as file, np.load(file) as data:
        points, starts = data["points"] / 100.0, data["starts"]
    return tuple(points[a:b] for a, b in zip(starts, starts[1:]))


def shores():
    """Return the coastlines as lines, longitude and latitude in degrees (n, 2), NaN between them: the rings without the
    edges of the map at 180 degrees and at the South Pole.
    """
    lines = []
    for ring in land():
        artificial = (np.abs(ring[:, 0]) > 179.9) | (ring[:, 1] < -89.9)
        line = np.where((artificial & np.roll(artificial, 1))[:, None], np.nan, ring)
        lines += [line, [[np.nan, np.nan]]]
    return np.concatenate(lines)
