"""MiniSEED and ObsPy streams of waveforms, with FDSN channel codes."""

from itertools import islice
from pathlib import Path

import numpy as np

from craton.io.fdsn import channel_code, components, sites, span
from craton.io.libraries import has_obspy, library

TOGETHER = 1000  # traces that ObsPy writes at a time: its start takes as long as ten of them
HEADER_BYTES = 128  # of a record at most
BLOCK_BYTES = 8 << 20  # of waveforms that are in memory at a time where a file is written


def stream(dataset, network="XX"):
    """Return the waveforms as an obspy.Stream, trace by receiver, quantity and component.

    Times count from ``dataset.attrs["origin_time"]`` (2000-01-01 unless stated). Beside what
    MiniSEED holds, ``trace.stats`` has ``coordinates`` (latitude, longitude, elevation, local_depth)
    and, where the source is known, ``distance`` (m), ``azimuth`` and ``back_azimuth`` (degrees), by
    which ObsPy sorts sections and rotates.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`.
    network : str
        Network code of receivers without one.

    Returns
    -------
    obspy.Stream
        Of several shots, ``trace.stats.shot`` is the name of each trace's shot.

    Raises
    ------
    ResourceError
        If ObsPy is not installed.
    """
    obspy = library("obspy", "an obspy.Stream")
    if "shot" in dataset.dims:
        return obspy.Stream(
            [_of_shot(trace, name) for name in dataset.shot.values for trace in stream(dataset.sel(shot=name), network)]
        )
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


def _of_shot(trace, name):
    trace.stats.shot = str(name)
    return trace


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


def write(dataset, path, network="XX"):
    """Write waveforms, floating point in SI units.

    Parameters
    ----------
    dataset, network
        As of `stream`.
    path : path-like

    Returns
    -------
    bool
        False, with a warning in the log, where ObsPy is missing; False where there is nothing to
        write.
    """
    if not has_obspy(path):
        return False
    if not dataset.sizes["time"]:
        return False
    import obspy

    has_shots = "shot" in dataset.dims
    traces = iter(stream(dataset, network)) if has_shots else _traces(dataset, network, bare=True)
    written = 0
    with open(path, "wb") as file:
        while part := list(islice(traces, TOGETHER)):
            obspy.Stream(part).write(file, format="MSEED", reclen=_record_bytes(part))
            written += len(part)
    if not written:
        Path(path).unlink()
    return written > 0


def _record_bytes(traces):
    """Bytes of a record that holds the longest of some traces whole, within the usual lengths."""
    needed = HEADER_BYTES + max(trace.data.nbytes for trace in traces)
    return min(max(1 << (needed - 1).bit_length(), 512), 4096)
