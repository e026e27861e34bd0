"""Waveforms in the words of the FDSN: codes of channels and stations, their places on Earth and
from the source, dates, and the way through a dataset in this order.
"""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from craton.conventions import ORIGIN_TIME
from craton.text import in_ascii

# Band letters of the FDSN table and their lowest sampling rates, Hz (broad-band letters: synthetics have no corner period).
BANDS = dict(zip("FCHBMLVUR", (1000, 250, 80, 10, 1.000001, 0.999, 0.1, 0.01, 0)))
# Quantity -> (source letter, location code, unit in StationXML). X = synthetic, as SPECFEM and
# Instaseis write it. None: the tensor component is the location code, since a channel code has one
# letter for it only.
CODES = {
    "velocity": ("X", "", "M/S"),
    "displacement": ("X", "DI", "M"),
    "acceleration": ("X", "AC", "M/S**2"),
    "pressure": ("D", "", "PA"),
    "strain": ("S", None, "M/M"),
    "strain_rate": ("X", None, "1/S"),
    "rotation_rate": ("J", "", "RAD/S"),
}


# Azimuth and dip, degrees; of R and T the azimuth behind the back azimuth.
ORIENTATION = {"E": (90.0, 0.0), "N": (0.0, 0.0), "Z": (0.0, -90.0)}
RADIAL = {"R": 180.0, "T": 270.0}
SEISMIC = "HLGNPSVJX"  # instruments, second letter of a channel code
HYDROPHONE = "DH"  # second and third letter; other pressures are those of the air
METRES_PER_DEGREE = 111_194.93  # sphere of 6371 km


@dataclass(frozen=True, eq=False)
class Site:
    """A receiver on Earth, and as seen from the source.

    Parameters
    ----------
    network, station : str
        Codes.
    name : str
        Of the receiver in the dataset.
    latitude, longitude : float
        Degrees.
    ground, depth : float
        Elevation of the ground, and depth of the receiver below it, m.
    xyz : tuple of float
        Position in the model, m.
    distance : float or None
        From the source along the surface, m; None, as azimuths are, where there is no source.
    azimuth, back_azimuth : float or None
        At the source and at the receiver, degrees clockwise from north.
    location : str
        Code, where the station has several receivers.
    sensor : int
        Which of the receivers of its station it is, from 1.
    """

    network: str
    station: str
    name: str
    latitude: float
    longitude: float
    ground: float
    depth: float
    xyz: tuple
    distance: float | None = None
    azimuth: float | None = None
    back_azimuth: float | None = None
    location: str = ""
    sensor: int = 1

    @property
    def elevation(self):
        """Elevation of the receiver, m."""
        return self.ground - self.depth


def sites(dataset, network="XX"):
    """Return the `Site` of each receiver of a dataset of one shot (`craton.output.dataset.waveforms`); `network` is the code
    where the dataset has none. Those of a box that lies nowhere are laid about 0 N, 0 E at 111.195 km per degree.
    """
    columns = {name: c.values for name, c in dataset.coords.items() if c.dims == ("receiver",)}
    names = [str(name) for name in columns["receiver"]]
    networks = network_codes(columns.get("network", [network] * len(names)))
    codes = _codes(networks, [str(code) for code in columns.get("station", names)])
    locations = [str(code) for code in columns.get("location", [""] * len(names))]
    count, sensors = Counter(), []
    for pair in zip(networks, codes):
        count[pair] += 1
        sensors.append(count[pair])
    of_each = _places(columns) | _paths(dataset, columns)
    rows = zip(*(np.asarray(values, float).tolist() for values in of_each.values()))
    xyz = zip(*(np.asarray(columns[axis], float).tolist() for axis in "xyz"))
    return [
        Site(*words, xyz=place, location=location, sensor=sensor, **dict(zip(of_each, row)))
        for words, place, location, sensor, row in zip(zip(networks, codes, names), xyz, locations, sensors, rows)
    ]


def sites_of_traces(dataset, network="XX"):
    """Return the `Site` of each trace of a dataset: dict from ``network.station.location.channel``."""
    interval = float(dataset.time.attrs["sampling_interval"])
    names = [(quantity, part) for quantity, part, _ in components(dataset.isel(time=slice(0, 0)))]
    return {
        ".".join((site.network, site.station, *channel_code(*name, interval, site))): site
        for site in sites(dataset, network)
        for name in names
    }


def _codes(networks, names):
    """Station codes that are unique in each network and that MiniSEED can hold."""
    different = {}
    for network, name in zip(networks, names):
        different.setdefault(network, {})[name] = None
    coded = {network: dict(zip(of_network, station_codes(of_network))) for network, of_network in different.items()}
    return [coded[network][name] for network, name in zip(networks, names)]


def _places(columns):
    """Return latitude, longitude, elevation of the ground and depth of all receivers."""
    if "longitude" not in columns:
        x, y, z = (np.asarray(columns[axis], float) for axis in "xyz")
        on_earth = {"latitude": y / METRES_PER_DEGREE, "longitude": x / METRES_PER_DEGREE}
        return on_earth | {"ground": np.maximum(z, 0.0), "depth": np.maximum(-z, 0.0)}
    depth = columns.get("depth", np.zeros(len(columns["longitude"])))
    ground = columns.get("elevation", -depth) + depth
    return {"latitude": columns["latitude"], "longitude": columns["longitude"], "ground": ground, "depth": depth}


def _paths(dataset, columns):
    """Distance, m, azimuth and back azimuth, degrees, of all receivers; none without a source."""
    if "back_azimuth" in columns and dataset.distance.attrs.get("units") == "m":
        return {name: columns[name] for name in ("distance", "azimuth", "back_azimuth")}
    on_earth = "longitude" in columns
    start = _degrees_of_source(dataset) if on_earth else _metres_of_source(dataset)
    if start is None:
        return {}
    names = ("distance", "azimuth", "back_azimuth")
    if on_earth:
        ends = columns["longitude"], columns["latitude"]
        azimuth, back, distance = geodesic((start[1], start[0]), ends)
        paths = dict(zip(names, (distance, azimuth, back)))
        return paths | {n: columns[n] for n in ("azimuth", "back_azimuth") if n in columns}
    return dict(zip(names, bearings(columns["x"] - start[0], columns["y"] - start[1])))


def source_place(dataset, point="source"):
    """Return latitude and longitude, degrees, and depth, m, of the source of a dataset of one shot, or of its ``"centroid"``
    where that is elsewhere; None where it does not say them. In a box that lies nowhere they are about 0 N, 0 E, as `sites`.
    """
    if "longitude" in dataset.coords:
        return _degrees_of_source(dataset, point)
    metres = _metres_of_source(dataset, point)
    if metres is None:
        return None
    return metres[1] / METRES_PER_DEGREE, metres[0] / METRES_PER_DEGREE, -metres[2]


def _degrees_of_source(dataset, point="source"):
    """Latitude, longitude, degrees, and depth, m, that a dataset states; or None."""
    place = [_stated(dataset, f"{point}_{name}") for name in ("latitude", "longitude", "depth")]
    elevation = _stated(dataset, f"{point}_elevation")
    if place[2] is None and elevation is not None:
        place[2] = 0.0 - elevation
    return None if None in place else tuple(place)


def _metres_of_source(dataset, point="source"):
    """x, y, z, m, that a dataset states; or None."""
    place = [_stated(dataset, f"{point}_{axis}") for axis in "xyz"]
    return None if None in place else tuple(place)


def _stated(dataset, name):
    """Return a number that is a coordinate or an attribute of a dataset; None where it is neither,
    or not finite.
    """
    value = float(dataset.coords.get(name, dataset.attrs.get(name, np.nan)))
    return value if np.isfinite(value) else None


def orientation(component, site):
    """Return azimuth and dip of a component, degrees; None where it has none.

    It is ``"E"``, ``"N"``, ``"Z"``, ``"R"`` away from the source, ``"T"`` to the right of it as seen from above; or two
    letters of a tensor, of which the first counts; or None.
    """
    letter = component[0] if component else ""
    if letter in ORIENTATION:
        return ORIENTATION[letter]
    if letter not in RADIAL or site.back_azimuth is None:
        return None, None
    return (site.back_azimuth + RADIAL[letter]) % 360, 0.0


def span(dataset):
    """Return the times of the first and last sample of a dataset: two obspy.UTCDateTime."""
    times = dataset.time.values if dataset.sizes["time"] else np.zeros(1)
    return tuple(origin_time(dataset) + float(seconds) for seconds in times[[0, -1]])


def band_code(interval):
    """Return the letter of the FDSN band code of a sampling interval, s."""
    rate = 1.0 / interval
    return next(letter for letter, lowest in BANDS.items() if rate >= lowest * (1 - 1e-9))


def channel_code(quantity, component, interval, site=None):
    """Return location and channel code of one component of a key of `CODES`, as ``("", "HXE")``; None is that of pressure.

    The location is that of the sensor where the quantity needs none. Where it does, it is the quantity's (``DI``, ``EZ``);
    of further receivers of a station its first letter, of tensors the second, which the channel does not have, and the
    number of the receiver (``D2``, ``Z2``).
    """
    source, location, _ = CODES[quantity]
    letter = component[0] if component else "H"
    channel = band_code(interval) + source + letter
    if site is not None and location == "":
        return site.location, channel
    if site is None or site.sensor == 1:
        return component if location is None else location, channel
    return (location or component[1])[0] + np.base_repr(site.sensor, 36), channel


def seconds(date):
    """Return a date of ISO 8601, UTC without an offset, as seconds since 1970; raise ValueError of what is none."""
    parsed = datetime.fromisoformat(date)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def is_seismic(channel) -> bool:
    """Whether a channel is one of a seismometer, accelerometer, hydrophone or strainmeter, not of weather or of the state of a
    station; so are channels without a code.
    """
    return not channel or channel[1:2] in SEISMIC or channel[1:3] == HYDROPHONE


def station_codes(names) -> list[str]:
    """Return station codes that MiniSEED can hold, unique and of one to five capital letters and digits: the names themselves
    where they fit, else a letter and a number.
    """
    codes = [re.sub(r"[^A-Z0-9]", "", in_ascii(str(name)).upper()) for name in names]
    if len(set(codes)) == len(codes) and all(1 <= len(code) <= 5 for code in codes):
        return codes
    letter = codes[0][:1] if codes[0][:1].isalpha() else "R"
    return [f"{letter}{np.base_repr(n + 1, 36):0>4}" for n in range(len(codes))]


def network_codes(names) -> list[str]:
    """Return network codes of receivers in capital letters and digits, 1 to 8, different where names are."""
    different = list(dict.fromkeys(map(str, names)))
    codes = [re.sub(r"[^A-Z0-9]", "", in_ascii(name).upper())[:8] or "XX" for name in different]
    if len(set(codes)) < len(codes):
        codes = [f"X{np.base_repr(n, 36)}" for n in range(len(codes))]
    coded = dict(zip(different, codes))
    return [coded[str(name)] for name in names]


def components(dataset):
    """Yield quantity, component or None, and values (receivers, times) of everything in a dataset."""
    for quantity in (name for name in dataset.data_vars if name in CODES):
        array = dataset[quantity]
        dim = next((d for d in ("component", "tensor") if d in array.dims), None)
        for component in array[dim].values if dim else [None]:
            yield quantity, component, (array.sel({dim: component}) if dim else array).values


def origin_time(dataset):
    """Return the origin time of a dataset, an obspy.UTCDateTime."""
    import obspy

    stated = dataset.coords.get("origin_time", dataset.attrs.get("origin_time", ORIGIN_TIME))
    return obspy.UTCDateTime(str(getattr(stated, "values", stated)))


# --- distances and azimuths -----------------------------------------------------------------------


def bearings(east, north):
    """Return distance, and azimuth there and back, degrees clockwise from north, of places east and north (m) of a source on
    a flat map; a place at the source lies east of it.
    """
    distance = np.hypot(east, north)
    azimuth = np.where(distance > 0, np.degrees(np.arctan2(east, north)), 90.0) % 360
    return distance, azimuth, (azimuth + 180) % 360


def geodesic(start, ends):
    """Return azimuth at the start and back azimuth at each end, degrees, and length, m, of geodesics of WGS84: three arrays
    (n,). The start is a longitude and a latitude, degrees, the ends arrays (n,) of them.
    """
    import pyproj

    longitude, latitude = (np.asarray(degrees, float) for degrees in ends)
    starts = (np.full(longitude.shape, float(degrees)) for degrees in start)
    azimuth, back, distance = pyproj.Geod(ellps="WGS84").inv(*starts, longitude, latitude)
    return np.asarray(azimuth) % 360, np.asarray(back) % 360, np.asarray(distance)
