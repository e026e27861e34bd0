"""Waveforms for seismologists: ObsPy streams, MiniSEED and StationXML, with FDSN channel codes."""
import logging
import re

import numpy as np

from craton.errors import ResourceError
from craton.output.dataset import ORIGIN_TIME

log = logging.getLogger("craton")

# Band letters of the FDSN table by the lowest sampling rate, Hz (broad-band letters: synthetics have no corner period).
BANDS = ((1000, "F"), (250, "C"), (80, "H"), (10, "B"), (1.000001, "M"), (0.999, "L"), (0.1, "V"), (0.01, "U"), (0, "R"))
# Quantity -> (source letter, location code, unit in StationXML). X = synthetic, as SPECFEM and Instaseis write it. None: the tensor
# component is the location code, since a channel code has one letter for it only.
CODES = {
    "velocity": ("X", "", "M/S"),
    "displacement": ("X", "DI", "M"),
    "pressure": ("D", "", "PA"),
    "strain": ("S", None, "M/M"),
    "strain_rate": ("X", None, "1/S"),
    "rotation_rate": ("J", "", "RAD/S"),
}
ORIENTATION = {"E": (90.0, 0.0), "N": (0.0, 0.0), "Z": (0.0, -90.0), "H": (None, None)}
_METRES_PER_DEGREE = 111_194.93  # sphere of 6371 km
_MISSING = "ObsPy is not installed, so %s was not written; install it with: pip install 'craton[seis]'"


def band_code(interval):
    """Letter of the FDSN band code for a sampling interval in seconds."""
    rate = 1.0 / interval
    return next(letter for lowest, letter in BANDS if rate >= lowest * (1 - 1e-9))


def channel_code(quantity, component, interval):
    """Location and channel code, ``("", "HXE")``, of one component (``None`` for pressure) sampled every `interval` seconds."""
    source, location, _ = CODES[quantity]
    letter = component[0] if component else "H"
    return (component if location is None else location), band_code(interval) + source + letter


def station_codes(names):
    """Station codes that MiniSEED can hold: the names themselves where they fit, else a letter and a number.

    Parameters
    ----------
    names : sequence of str
        Receiver names.

    Returns
    -------
    list of str
        Unique codes of one to five capital letters and digits, in the order of `names`.
    """
    codes = [re.sub(r"[^A-Z0-9]", "", str(name).upper()) for name in names]
    if len(set(codes)) == len(codes) and all(1 <= len(code) <= 5 for code in codes):
        return codes
    letter = codes[0][:1] if codes[0][:1].isalpha() else "R"
    return [f"{letter}{_base36(n + 1):0>4}" for n in range(len(codes))]


def stream(dataset, network="XX"):
    """Return the waveforms as an obspy.Stream, trace by receiver, quantity and component.

    Times count from ``dataset.attrs["origin_time"]`` (2000-01-01 unless stated).

    Raises
    ------
    ResourceError
        If ObsPy is not installed.
    """
    try:
        import obspy
    except ImportError as error:
        raise ResourceError("an obspy.Stream needs ObsPy; install it with: pip install 'craton[seis]'") from error
    interval = float(dataset.time.attrs["sampling_interval"])
    begin = obspy.UTCDateTime(dataset.attrs.get("origin_time", ORIGIN_TIME)) + (float(dataset.time[0]) if dataset.sizes["time"] else 0.0)
    traces = []
    for station, quantity, component, values in _rows(dataset):
        location, channel = channel_code(quantity, component, interval)
        header = {"network": network, "station": station, "location": location, "channel": channel, "delta": interval, "starttime": begin}
        traces.append(obspy.Trace(np.array(values, order="C"), header))
    return obspy.Stream(traces)


def write_mseed(dataset, path, network="XX"):
    """Write the waveforms as MiniSEED (floating point, SI units). Returns False, and logs it, where ObsPy is missing."""
    try:
        import obspy  # noqa: F401
    except ImportError:
        log.warning(_MISSING, path)
        return False
    traces = stream(dataset, network)
    if not len(traces) or not dataset.sizes["time"]:
        return False
    traces.write(str(path), format="MSEED")
    return True


def write_stationxml(dataset, path, network="XX"):
    """Write receivers and channels as StationXML. Returns False, and logs it, where ObsPy is missing.

    Receivers of a local grid have no longitude and latitude: they are laid about 0 N, 0 E at 111.195 km per degree, and each station's
    comment gives x, y, z in metres and the receiver's name.
    """
    try:
        from obspy.core import inventory
    except ImportError:
        log.warning(_MISSING, path)
        return False
    stations = [_station(dataset, row, code) for row, code in enumerate(station_codes(dataset.receiver.values))]
    net = inventory.Network(network, stations, description="synthetic waveforms by craton")
    inventory.Inventory([net], source="craton", sender="craton").write(str(path), format="STATIONXML")
    return True


def _base36(number):
    """Return `number` in digits and capital letters."""
    return np.base_repr(number, 36)


def _components(dataset):
    """(quantity, component or None, values (receiver, time)) of everything in the dataset."""
    for quantity in (name for name in dataset.data_vars if name in CODES):
        array = dataset[quantity]
        dim = next((d for d in ("component", "tensor") if d in array.dims), None)
        for component in array[dim].values if dim else [None]:
            yield quantity, component, (array.sel({dim: component}) if dim else array).values


def _rows(dataset):
    """(station code, quantity, component, values (time,)) by receiver."""
    columns = list(_components(dataset))
    for row, code in enumerate(station_codes(dataset.receiver.values) if dataset.sizes["receiver"] else []):
        for quantity, component, values in columns:
            if not np.isnan(values[row]).all():
                yield code, quantity, component, values[row]


def _station(dataset, row, code):
    """StationXML station of one receiver, with its channels."""
    from obspy.core import inventory

    point = dataset.isel(receiver=row)
    name, x, y, z = str(point.receiver.values), float(point.x), float(point.y), float(point.z)
    place = {"latitude": y / _METRES_PER_DEGREE, "longitude": x / _METRES_PER_DEGREE}
    if "longitude" in point.coords:  # on a chunk of the Earth, whose axes begin at its centre
        place, z = {"latitude": float(point.latitude), "longitude": float(point.longitude)}, -float(point.depth)
    channels = []
    for quantity, component, _ in _components(dataset.isel(time=slice(0, 1))):
        channels.append(_channel(quantity, component, float(dataset.time.attrs["sampling_interval"]), place, z))
    comment = inventory.Comment(f"receiver {name}: x = {x:g} m, y = {y:g} m, z = {z:g} m in the model's local coordinates")
    return inventory.Station(
        code, **place, elevation=max(z, 0.0), channels=channels, site=inventory.Site(name=name), comments=[comment],
        creation_date=_origin(dataset),
    )


def _channel(quantity, component, interval, place, z):
    """StationXML channel: sensitivity 1, since samples are in SI units."""
    from obspy.core import inventory

    location, code = channel_code(quantity, component, interval)
    azimuth, dip = ORIENTATION[code[2]]
    unit = CODES[quantity][2]
    response = inventory.Response(instrument_sensitivity=inventory.InstrumentSensitivity(1.0, 1.0, unit, unit))
    return inventory.Channel(
        code, location, **place, elevation=z, depth=max(-z, 0.0), azimuth=azimuth, dip=dip, sample_rate=1.0 / interval,
        response=response, description=quantity.replace("_", " "),
    )


def _origin(dataset):
    """Origin time of the dataset as UTCDateTime."""
    import obspy

    return obspy.UTCDateTime(dataset.attrs.get("origin_time", ORIGIN_TIME))
