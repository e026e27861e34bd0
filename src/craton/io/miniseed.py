"""MiniSEED and ObsPy streams of waveforms, with FDSN channel codes."""

import numpy as np

from craton.errors import ResourceError
from craton.io.fdsn import channel_code, components, origin_time, station_codes
from craton.io.obspy_files import has_obspy


def stream(dataset, network="XX"):
    """Return the waveforms as an obspy.Stream, trace by receiver, quantity and component.

    Times count from ``dataset.attrs["origin_time"]`` (2000-01-01 unless stated).

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`.
    network : str
        FDSN network code.

    Returns
    -------
    obspy.Stream

    Raises
    ------
    ResourceError
        If ObsPy is not installed.
    """
    try:
        import obspy
    except ImportError as error:
        raise ResourceError(
            "an obspy.Stream needs ObsPy; install it with: pip install 'craton[seis]'"
        ) from error
    interval = float(dataset.time.attrs["sampling_interval"])
    begin = origin_time(dataset) + (float(dataset.time[0]) if dataset.sizes["time"] else 0.0)
    traces = []
    for station, quantity, component, values in _rows(dataset):
        location, channel = channel_code(quantity, component, interval)
        header = {
            "network": network,
            "station": station,
            "location": location,
            "channel": channel,
            "delta": interval,
            "starttime": begin,
        }
        traces.append(obspy.Trace(np.array(values, order="C"), header))
    return obspy.Stream(traces)


def _rows(dataset):
    """(station code, quantity, component, values (time,)) by receiver."""
    columns = list(components(dataset))
    for row, code in enumerate(
        station_codes(dataset.receiver.values) if dataset.sizes["receiver"] else []
    ):
        for quantity, component, values in columns:
            if not np.isnan(values[row]).all():
                yield code, quantity, component, values[row]


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
    traces = stream(dataset, network)
    if not len(traces) or not dataset.sizes["time"]:
        return False
    traces.write(str(path), format="MSEED")
    return True
