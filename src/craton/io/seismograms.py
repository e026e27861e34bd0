"""Waveforms as ObsPy streams and in their files: MiniSEED; SAC, a folder with a file for each trace; ASDF (Krischer et al.
2016), event, stations and waveforms in one HDF5 file, through pyasdf.
"""

from itertools import islice
from pathlib import Path

import numpy as np

from craton.errors import ResourceError
from craton.io.fdsn import (
    METRES_PER_DEGREE,
    channel_code,
    components,
    orientation,
    origin_time,
    sites,
    sites_of_traces,
    source_place,
    span,
)
from craton.io.libraries import has_obspy, library, written
from craton.io.quakeml import event
from craton.io.stationxml import inventory
from craton.text import in_ascii

TOGETHER = 1000  # traces that ObsPy writes at a time: its start takes as long as ten of them
HEADER_BYTES = 128  # of a record at most
BLOCK_BYTES = 8 << 20  # of waveforms that are in memory at a time where a file is written


def stream(dataset, network="XX"):
    """Return the waveforms as an obspy.Stream, trace by receiver, quantity and component.

    Times count from ``dataset.attrs["origin_time"]`` (2000-01-01 unless stated). Beside what MiniSEED holds, ``trace.stats``
    has ``coordinates`` (latitude, longitude, elevation, local_depth) and, where the source is known, ``distance`` (m),
    ``azimuth`` and ``back_azimuth`` (degrees), by which ObsPy sorts sections and rotates; of several shots ``shot``, the name
    of the trace's. `network` is the code of receivers without one. Raises ResourceError where ObsPy is not installed.
    """
    obspy = library("obspy", "an obspy.Stream")
    if "shot" in dataset.dims:
        shots = {str(name): stream(dataset.sel(shot=name), network) for name in dataset.shot.values}
        for name, traces in shots.items():
            for trace in traces:
                trace.stats.shot = name
        return sum(shots.values(), obspy.Stream())
    return obspy.Stream(list(_traces(dataset, network)))


def _traces(dataset, network, bare=False):
    """Traces one after another, receivers some at a time; bare ones say nothing of their place."""
    import obspy

    interval = float(dataset.time.attrs["sampling_interval"])
    begin, _ = span(dataset)
    for site, quantity, component, values in _rows(dataset, network):
        location, channel = channel_code(quantity, component, interval, site)
        header = {
            "network": site.network,
            "station": site.station,
            "location": location,
            "channel": channel,
            "delta": interval,
            "starttime": begin,
            **({} if bare else _geometry(site)),
        }
        # A type read from zarr says "<", which ObsPy takes for the other byte order.
        native = np.empty(values.shape, values.dtype.newbyteorder("="))
        native[...] = values
        yield obspy.Trace(native, header)


def _geometry(site):
    """Entries of trace.stats that say where a trace was recorded."""
    from obspy.core import AttribDict

    place = {
        "latitude": site.latitude,
        "longitude": site.longitude,
        "elevation": site.elevation,
        "local_depth": site.depth,
    }
    path = {name: getattr(site, name) for name in ("distance", "azimuth", "back_azimuth")}
    known = {name: value for name, value in path.items() if value is not None}
    return {"coordinates": AttribDict(place), **known}


def _rows(dataset, network):
    """(site, quantity, component, values (time,)) by receiver."""
    named = sites(dataset, network)
    count = _receivers_in_memory(dataset)
    for first in range(0, len(named), count):
        columns = list(components(dataset.isel(receiver=slice(first, first + count))))
        for row, site in enumerate(named[first : first + count]):
            for quantity, component, values in columns:
                if not np.isnan(values[row]).all():
                    yield site, quantity, component, values[row]


def _receivers_in_memory(dataset):
    """Return the number of receivers that are read at a time: whole chunks of the store."""
    size = sum(array.nbytes for array in dataset.data_vars.values())
    count = max(1, BLOCK_BYTES // max(size // max(dataset.sizes["receiver"], 1), 1))
    chunks = [array.encoding.get("chunks") or (1,) for array in dataset.data_vars.values()]
    chunk = max((lengths[0] for lengths in chunks), default=1)
    return count // chunk * chunk or count


def write_miniseed(dataset, path, network="XX"):
    """Write waveforms as MiniSEED, floating point in SI units; False, with a warning in the log, where ObsPy is missing, and
    False where there is nothing to write.
    """
    if not has_obspy(path) or not dataset.sizes["time"]:
        return False
    import obspy

    has_shots = "shot" in dataset.dims
    traces = iter(stream(dataset, network)) if has_shots else _traces(dataset, network, bare=True)
    count = 0
    with open(path, "wb") as file:
        while part := list(islice(traces, TOGETHER)):
            obspy.Stream(part).write(file, format="MSEED", reclen=_record_bytes(part))
            count += len(part)
    if not count:
        Path(path).unlink()
    return count > 0


def _record_bytes(traces):
    """Bytes of a record that holds the longest of some traces whole, within the usual lengths."""
    needed = HEADER_BYTES + max(trace.data.nbytes for trace in traces)
    return min(max(1 << (needed - 1).bit_length(), 512), 4096)


# --- SAC ------------------------------------------------------------------------------------------

KILOMETRE = 1000.0
FLATTENING = 1 / 298.257223563  # WGS84
NAME_LENGTH = 16
RESOLUTION = 1000  # SAC's reference time has whole milliseconds: microseconds of one


def write_sac(dataset, path, network="XX", ending=None):
    """Write waveforms of one shot into the folder `path`: NETWORK.STATION.LOCATION.CHANNEL.sac; False, with a warning in the
    log, where ObsPy is missing.

    The reference time is the origin time (but for less than a millisecond, which is in header o). Distances are km, those
    of the headers az, baz, dist and gcarc are the dataset's own; evdp is in km, stel and stdp in m. `ending` of the files'
    names stands in place of the channel, with ``{channel}`` for its last letter.
    """
    if not has_obspy(path):
        return False
    path, rows = Path(path), sites_of_traces(dataset, network)
    event = _headers_of_event(dataset)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for trace in stream(dataset, network):
            site = rows[trace.id]
            headers = event | _headers_of_site(site, dataset) | headers_of_trace(trace, site)
            start, channel = trace.id.rpartition(".")[::2]
            name = channel if ending is None else ending.format(channel=channel[-1])
            _write_trace(trace, headers, dataset, path / f"{start}.{name}.sac")
    except OSError as error:
        raise ResourceError(f"cannot write {path}: {error.strerror or error}") from error
    return True


def _headers_of_event(dataset):
    """Return the headers of the event: place, magnitude and name; none where the source is not known."""
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


def _headers_of_site(site, dataset):
    """Return the headers of the station: place, and where the source is known distance and azimuths."""
    place = {"stla": site.latitude, "stlo": site.longitude, "stel": site.ground, "stdp": site.depth}
    if site.distance is None:
        return place
    return place | {
        "dist": site.distance / KILOMETRE,
        "az": site.azimuth,
        "baz": site.back_azimuth,
        "gcarc": _angle_from_source(site, dataset),
        "lcalda": False,  # these are not to be computed anew
    }


def _angle_from_source(site, dataset):
    """Return the angle between source and station at the Earth's centre, degrees; in a box that lies nowhere the distance on
    a sphere of 6371 km.
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
    """Return the headers of the component: azimuth, and inclination from up."""
    azimuth, dip = orientation(trace.stats.channel[-1], site)
    return {} if azimuth is None else {"cmpaz": azimuth, "cmpinc": dip + 90.0}


def _write_trace(trace, headers, dataset, path):
    from obspy.io.sac import SACTrace

    origin = origin_time(dataset)
    reference = origin - origin.microsecond % RESOLUTION * 1e-6
    file = SACTrace.from_obspy_trace(trace)
    file.reftime = reference
    for name, value in headers.items():
        setattr(file, name, value)
    file.o = origin - reference
    file.iztype = "io"
    file.write(str(path))


# --- ASDF -----------------------------------------------------------------------------------------

TAG = "synthetic"  # of the waveforms in the file


def write_asdf(dataset, path, network: str = "XX") -> bool:
    """Write event, StationXML of every station and waveforms with the tag ``synthetic`` of one shot; return True."""
    pyasdf = library("pyasdf", f"writing {Path(path).name}")
    with written(path) as partial:
        partial.unlink(missing_ok=True)
        with pyasdf.ASDFDataSet(str(partial), mode="w", mpi=False) as file:
            quake = event(dataset) if source_place(dataset) is not None else None
            if quake is not None:
                file.add_quakeml(quake)
            file.add_stationxml(inventory(dataset, network))
            about = {} if quake is None else {"event_id": quake}
            file.add_waveforms(stream(dataset, network), tag=TAG, **about)
    return True
