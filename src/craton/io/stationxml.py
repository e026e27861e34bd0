"""StationXML: stations and channels, through ObsPy."""

import io

from craton.io.contents import sensors
from craton.io.fdsn import CODES, channel_code, components, is_seismic, orientation, sites, span
from craton.io.obspy_files import has_obspy, read_with_obspy

BLOCK = 500  # stations whose objects, 50 kB each, are in memory together where a file is written


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
        A row for each sensor and epoch of a station.

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
    return sensors(
        row for network in inventory for station in network for row in _rows(network, station)
    )


def _rows(network, station):
    """Channels and rows for `sensors` of a station: of its seismic channels; its own where it has
    none.
    """
    own = station.start_date, station.end_date
    channels = [c for c in station.channels if is_seismic(c.code)]
    for place in channels or [station]:
        begin = max(filter(None, (own[0], place.start_date)), default=None)
        end = min(filter(None, (own[1], place.end_date)), default=None)
        codes = network.code, station.code, getattr(place, "location_code", "")
        numbers = place.longitude, place.latitude, getattr(place, "depth", 0.0), station.elevation
        epoch = (None if time is None else time.timestamp for time in (begin, end))
        channel = "" if place is station else place.code
        yield channel, (*codes, *(float(value or 0.0) for value in numbers), *epoch)


def inventory(dataset, network="XX"):
    """Return the receivers and channels of waveforms as an obspy.Inventory.

    Receivers of a box that lies nowhere are laid about 0 N, 0 E at 111.195 km per degree; each
    station's comment gives x, y, z in metres and the receiver's name. Channels last as long as the
    record. Their response is flat with a sensitivity of 1: a sample is the quantity in SI units.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`; of one shot.
    network : str
        Code of receivers without network.

    Returns
    -------
    obspy.Inventory
    """
    return _inventory(dataset, sites(dataset, network))


def _inventory(dataset, places):
    """Return the inventory of some sites of a dataset."""
    from obspy.core import inventory as library

    names = [(quantity, part) for quantity, part, _ in components(dataset.isel(time=slice(0, 0)))]
    interval, dates = float(dataset.time.attrs["sampling_interval"]), span(dataset)
    stations = {}
    for site in places:
        channels = [_channel(*name, interval, site, dates) for name in names]
        of_network = stations.setdefault(site.network, {})
        if site.station in of_network:
            of_network[site.station].channels.extend(channels)
        else:
            of_network[site.station] = _station(site, channels, dates)
    networks = [
        library.Network(
            code, [*rows.values()], description="synthetic waveforms by craton", start_date=dates[0]
        )
        for code, rows in stations.items()
    ]
    return library.Inventory(networks, source="craton", sender="craton")


def write(dataset, path, network="XX"):
    """Write receivers and channels, as `inventory` has them.

    Parameters
    ----------
    dataset, network
        As of `inventory`.
    path : path-like

    Returns
    -------
    bool
        False, with a warning in the log, where ObsPy is missing.
    """
    if not has_obspy(path):
        return False
    stations = sites(dataset, network)
    with open(path, "wb") as file:
        for first in range(0, max(len(stations), 1), BLOCK):
            places = stations[first : first + BLOCK]
            head, networks, tail = _parts(_inventory(dataset, places))
            file.write(networks if first else head + networks)
        file.write(tail)
    return True


def _parts(stations):
    """Return the text of an inventory: what comes before its networks, they, what comes behind."""
    text = io.BytesIO()
    stations.write(text, format="STATIONXML")
    head, begin, rest = text.getvalue().partition(b"  <Network ")
    networks, end, tail = rest.rpartition(b"</Network>\n")
    return head, begin + networks + end, tail if end else rest


def _station(site, channels, dates):
    """StationXML station of one receiver."""
    from obspy.core import inventory as library

    x, y, z = site.xyz
    comment = library.Comment(
        f"receiver {site.name}: x = {x:g} m, y = {y:g} m, z = {z:g} m in the model's local coordinates"
    )
    return library.Station(
        site.station,
        site.latitude,
        site.longitude,
        site.ground,
        channels=channels,
        site=library.Site(name=site.name),
        comments=[comment],
        creation_date=dates[0],
        start_date=dates[0],
        end_date=dates[1],
    )


def _channel(quantity, component, interval, site, dates):
    """StationXML channel of one component."""
    from obspy.core import inventory as library

    location, code = channel_code(quantity, component, interval, site)
    azimuth, dip = orientation(component, site)
    return library.Channel(
        code,
        location,
        site.latitude,
        site.longitude,
        site.elevation,
        site.depth,
        azimuth=azimuth,
        dip=dip,
        sample_rate=1.0 / interval,
        start_date=dates[0],
        end_date=dates[1],
        response=_response(CODES[quantity][2]),
        description=quantity.replace("_", " "),
    )


def _response(unit):
    """Response of 1 count per unit at all frequencies."""
    from obspy.core.inventory import InstrumentSensitivity, Response
    from obspy.core.inventory.response import PolesZerosResponseStage

    form = "LAPLACE (RADIANS/SECOND)"
    stage = PolesZerosResponseStage(1, 1.0, 1.0, unit, "COUNTS", form, 1.0, [], [])
    sensitivity = InstrumentSensitivity(1.0, 1.0, unit, "COUNTS")
    return Response(instrument_sensitivity=sensitivity, response_stages=[stage])
