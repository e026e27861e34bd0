"""SAC: a folder with a file for each trace, its headers with station, event, distance, azimuths and
orientation.
"""

from pathlib import Path

import numpy as np

from craton.errors import ResourceError
from craton.io.fdsn import METRES_PER_DEGREE, orientation, sites_of_traces, source_place
from craton.io.libraries import has_obspy
from craton.io.miniseed import stream
from craton.text import in_ascii

KILOMETRE = 1000.0
FLATTENING = 1 / 298.257223563  # WGS84
NAME_LENGTH = 16
RESOLUTION = 1000  # SAC's reference time has whole milliseconds: microseconds of one


def write(dataset, path, network="XX", ending=None):
    """Write waveforms into the folder `path`: NETWORK.STATION.LOCATION.CHANNEL.sac.

    The reference time is the origin time (but for less than a millisecond, which is in header o).
    Distances are km, those of the headers az, baz, dist and gcarc are the dataset's own; evdp is in
    km, stel and stdp in m.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`; of one shot.
    path : path-like
    network : str
        Network code of receivers without one.
    ending : str, optional
        Of the files' names in place of the channel, with ``{channel}`` for its last letter.

    Returns
    -------
    bool
        False, with a warning in the log, where ObsPy is missing.

    Raises
    ------
    ResourceError
        The folder or a file cannot be written.
    """
    if not has_obspy(path):
        return False
    path, rows = Path(path), sites_of_traces(dataset, network)
    event = headers_of_event(dataset)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for trace in stream(dataset, network):
            site = rows[trace.id]
            headers = event | headers_of_site(site, dataset) | headers_of_trace(trace, site)
            start, channel = trace.id.rpartition(".")[::2]
            name = channel if ending is None else ending.format(channel=channel[-1])
            _write_trace(trace, headers, dataset, path / f"{start}.{name}.sac")
    except OSError as error:
        raise ResourceError(f"cannot write {path}: {error.strerror or error}") from error
    return True


def headers_of_event(dataset):
    """Headers of the event: place, magnitude and name; none where the source is not known.

    Parameters
    ----------
    dataset : xarray.Dataset
    """
    from craton.io.quakeml import event

    place = source_place(dataset)
    if place is None:
        return {}
    name = in_ascii(str(dataset.attrs.get("source_name", "")))
    magnitude = event(dataset).preferred_magnitude()
    return {
        "evla": place[0],
        "evlo": place[1],
        "evdp": place[2] / KILOMETRE,
        **({} if magnitude is None else {"mag": magnitude.mag}),
        **({"kevnm": name[:NAME_LENGTH]} if name else {}),
    }


def headers_of_site(site, dataset):
    """Headers of the station: place, and where the source is known distance and azimuths.

    Parameters
    ----------
    site : craton.io.fdsn.Site
    dataset : xarray.Dataset
    """
    place = {"stla": site.latitude, "stlo": site.longitude, "stel": site.ground, "stdp": site.depth}
    if site.distance is None:
        return place
    return place | {
        "dist": site.distance / KILOMETRE,
        "az": site.azimuth,
        "baz": site.back_azimuth,
        "gcarc": angle_from_source(site, dataset),
        "lcalda": False,  # these are not to be computed anew
    }


def angle_from_source(site, dataset):
    """Angle between source and station at the Earth's centre, degrees; in a box that lies nowhere
    the distance on a sphere of 6371 km.

    Parameters
    ----------
    site : craton.io.fdsn.Site
    dataset : xarray.Dataset
    """
    if "longitude" not in dataset.coords:
        return site.distance / METRES_PER_DEGREE
    latitude, longitude, _ = source_place(dataset)
    a, b = (_direction(*place) for place in ((latitude, longitude), (site.latitude, site.longitude)))
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)))


def _direction(latitude, longitude):
    """Return the unit vector from the Earth's centre to a place in geographic degrees."""
    latitude, longitude = np.radians([latitude, longitude])
    latitude = np.arctan2((1 - FLATTENING) ** 2 * np.sin(latitude), np.cos(latitude))
    return np.array([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])


def headers_of_trace(trace, site):
    """Headers of the component: azimuth, and inclination from up.

    Parameters
    ----------
    trace : obspy.Trace
    site : craton.io.fdsn.Site
    """
    azimuth, dip = orientation(trace.stats.channel[-1], site)
    return {} if azimuth is None else {"cmpaz": azimuth, "cmpinc": dip + 90.0}


def _write_trace(trace, headers, dataset, path):
    from obspy.io.sac import SACTrace

    from craton.io.fdsn import origin_time

    origin = origin_time(dataset)
    reference = origin - origin.microsecond % RESOLUTION * 1e-6
    file = SACTrace.from_obspy_trace(trace)
    file.reftime = reference
    for name, value in headers.items():
        setattr(file, name, value)
    file.o = origin - reference
    file.iztype = "io"
    file.write(str(path))
