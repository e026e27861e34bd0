"""StationXML: stations and channels, through ObsPy."""

import numpy as np

from craton.io.contents import Stations, unique_codes
from craton.io.fdsn import CODES, channel_code, components, origin_time, station_codes
from craton.io.obspy_files import has_obspy, read_with_obspy

ORIENTATION = {"E": (90.0, 0.0), "N": (0.0, 0.0), "Z": (0.0, -90.0), "H": (None, None)}
_METRES_PER_DEGREE = 111_194.93  # sphere of 6371 km


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
    return stations_of(read_with_obspy(path, "StationXML", "read_inventory"))


def stations_of(inventory):
    """Return the stations of an inventory of ObsPy.

    Parameters
    ----------
    inventory : obspy.Inventory

    Returns
    -------
    Stations
        As of `read`.

    Raises
    ------
    ValueError
        It has no stations.
    """
    stations = {}
    for network in inventory:
        for station in network:  # the first epoch of a station
            stations.setdefault((network.code, station.code), station)
    if not stations:
        raise ValueError("no stations")
    depth = [float(s.channels[0].depth or 0.0) if s.channels else 0.0 for s in stations.values()]
    longitude, latitude, elevation = (
        np.array([float(getattr(s, k)) for s in stations.values()])
        for k in ("longitude", "latitude", "elevation")
    )
    networks, codes = (list(column) for column in zip(*stations))
    return Stations(
        unique_codes(list(stations)),
        longitude,
        latitude,
        np.array(depth),
        coordinates="geographic",
        networks=networks,
        codes=codes,
        elevation=elevation,
    )


def write(dataset, path, network="XX"):
    """Write receivers and channels.

    Receivers of a local grid have no longitude and latitude: they are laid about 0 N, 0 E at
    111.195 km per degree, and each station's comment gives x, y, z in metres and the receiver's
    name.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`.
    path : path-like
    network : str
        FDSN network code.

    Returns
    -------
    bool
        False, with a warning in the log, where ObsPy is missing.
    """
    if not has_obspy(path):
        return False
    from obspy.core import inventory

    stations = [
        _station(dataset, row, code)
        for row, code in enumerate(station_codes(dataset.receiver.values))
    ]
    net = inventory.Network(network, stations, description="synthetic waveforms by craton")
    inventory.Inventory([net], source="craton", sender="craton").write(
        str(path), format="STATIONXML"
    )
    return True


def _station(dataset, row, code):
    """StationXML station of one receiver, with its channels."""
    from obspy.core import inventory

    point = dataset.isel(receiver=row)
    name, x, y, z = str(point.receiver.values), float(point.x), float(point.y), float(point.z)
    place = {"latitude": y / _METRES_PER_DEGREE, "longitude": x / _METRES_PER_DEGREE}
    if "longitude" in point.coords:
        place = {"latitude": float(point.latitude), "longitude": float(point.longitude)}
    if "depth" in point.coords:  # on a chunk of the Earth, whose axes begin at its centre
        z = -float(point.depth)
    channels = []
    for quantity, component, _ in components(dataset.isel(time=slice(0, 1))):
        channels.append(
            _channel(quantity, component, float(dataset.time.attrs["sampling_interval"]), place, z)
        )
    comment = inventory.Comment(
        f"receiver {name}: x = {x:g} m, y = {y:g} m, z = {z:g} m in the model's local coordinates"
    )
    return inventory.Station(
        code,
        **place,
        elevation=max(z, 0.0),
        channels=channels,
        site=inventory.Site(name=name),
        comments=[comment],
        creation_date=origin_time(dataset),
    )


def _channel(quantity, component, interval, place, z):
    """StationXML channel: sensitivity 1, since samples are in SI units."""
    from obspy.core import inventory

    location, code = channel_code(quantity, component, interval)
    azimuth, dip = ORIENTATION[code[2]]
    unit = CODES[quantity][2]
    response = inventory.Response(
        instrument_sensitivity=inventory.InstrumentSensitivity(1.0, 1.0, unit, unit)
    )
    return inventory.Channel(
        code,
        location,
        **place,
        elevation=z,
        depth=max(-z, 0.0),
        azimuth=azimuth,
        dip=dip,
        sample_rate=1.0 / interval,
        response=response,
        description=quantity.replace("_", " "),
    )
