"""StationXML: stations and channels, through ObsPy."""

import io
import re
from collections import namedtuple
from dataclasses import replace
from xml.sax.saxutils import escape

from craton.io.contents import sensors
from craton.io.fdsn import CODES, RADIAL, channel_code, components, is_seismic, orientation, sites, span
from craton.io.libraries import has_obspy, read_with_obspy

PLACE = ("latitude", "longitude", "ground", "depth", "elevation")
# A receiver whose codes and numbers no other part of a file has.
MARKS = {
    "network": "marknetwork",
    "station": "markstation",
    "name": "markname",
    "latitude": 11.069753,
    "longitude": 12.069753,
    "ground": 13.069753,
    "depth": 5.031867,
    "back_azimuth": 40.069753,
    "xyz": (21.0697, 22.0697, 23.0697),
}


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
    return sensors(row for network in inventory for station in network for row in _rows(network, station))


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
        library.Network(code, [*rows.values()], description="synthetic waveforms by craton", start_date=dates[0])
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
    networks, made, code = {}, {}, ""
    for site in sites(dataset, network):
        networks.setdefault(site.network, {}).setdefault(site.station, []).append(site)
    with open(path, "w", encoding="utf-8") as file:
        for group in (group for stations in networks.values() for group in stations.values()):
            parts = [_made(made, dataset, site) for site in group]
            if group[0].network != code:
                file.write(parts[0].network_end if code else parts[0].head)
                code = group[0].network
                file.write(parts[0].network.format(code))
            file.write(parts[0].station.format_map(_values(group[0])))
            file.writelines(p.channels.format_map(_values(s)) for p, s in zip(parts, group))
            file.write(parts[0].station_end)
        file.write(parts[0].network_end + parts[0].end if code else _text(dataset, []))
    return True


# Parts of a file as ObsPy writes it, with names in braces where receivers differ: its objects and
# elements of a station take 50 kB, and fifty times the time of a text.
_Parts = namedtuple("_Parts", "head network station channels station_end network_end end")


def _made(made, dataset, site):
    """Return the parts of a receiver from those that were made."""
    key = site.location, site.sensor, site.back_azimuth is None
    if key not in made:
        mark = replace(site, **(MARKS if site.back_azimuth is not None else MARKS | {"back_azimuth": None}))
        names = {text: name for name, text in _values(mark).items()}
        found = re.compile("|".join(sorted(map(re.escape, names), key=len, reverse=True)))
        text = _text(dataset, [mark]).replace("{", "{{").replace("}", "}}")
        text = found.sub(lambda text: f"{{{names[text[0]]}}}", text).replace(mark.network, "{}")
        ends = ("  <Network ", "    <Station ", "      <Channel ", "    </Station>", "  </Network>", "</FDSN")
        places = [0, *(text.index(end) for end in ends), len(text)]
        made[key] = _Parts(*(text[a:b] for a, b in zip(places, places[1:])))
    return made[key]


def _values(site):
    """Return the texts by which receivers differ."""
    values = {name: str(float(getattr(site, name))) for name in PLACE}
    values |= {axis: f"{value:g}" for axis, value in zip("xyz", site.xyz)}
    values |= {"station": site.station, "name": escape(site.name)}
    for letter in RADIAL if site.back_azimuth is not None else ():
        values[letter] = str(orientation(letter, site)[0])
    return values


def _text(dataset, places):
    """Return the StationXML of some receivers as ObsPy writes it."""
    text = io.BytesIO()
    _inventory(dataset, places).write(text, format="STATIONXML")
    return text.getvalue().decode()


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
