"""StationXML: stations, through ObsPy."""
import numpy as np

from craton.io.obspy_files import read_with_obspy
from craton.io.records import Stations, unique_codes


def recognises(path):
    """Whether a file begins as XML does.

    Parameters
    ----------
    path : path-like
    """
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return file.read(4096).lstrip().startswith("<")


def read(path):
    """Read the stations of a file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Stations
        The epochs of a station are one; depths are those of its first channel, 0 without one.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        ObsPy is missing or does not understand it, or it has no stations.
    """
    inventory = read_with_obspy(path, "StationXML", "read_inventory")
    rows = [(network.code, station) for network in inventory for station in network]
    if not rows:
        raise ValueError("no stations")
    stations = {}
    for name, (_, station) in zip(unique_codes([(network, station.code) for network, station in rows]), rows):
        stations.setdefault(name, station)  # the first epoch of a station
    depth = [float(s.channels[0].depth or 0.0) if s.channels else 0.0 for s in stations.values()]
    longitude, latitude = (np.array([float(getattr(s, k)) for s in stations.values()]) for k in ("longitude", "latitude"))
    return Stations(list(stations), longitude, latitude, np.array(depth), coordinates="geographic")
