"""Seismograms to compare with a run: of files of ObsPy or of another run, each with its codes, what
it measures and along which direction.
"""

import glob
import logging
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from craton.conventions import ORIGIN_TIME, TENSOR
from craton.errors import refuse
from craton.io import regular
from craton.io.contents import warnings_of_libraries
from craton.io.fdsn import CODES, channel_code, orientation, sites
from craton.io.libraries import library
from craton.output.dataset import component_dim
from craton.report import figures
from craton.text import first_of

MOTION = ("velocity", "displacement", "acceleration")
UNSTATED = ("", "XX")  # network codes that match any other
SAC_QUANTITIES = {6: "displacement", 7: "velocity", 8: "acceleration"}  # of the header idep
ACCELEROMETERS = ("N", "G")  # second letter of a channel code, of gravimeters, too
PRESSURE = ("D",)


@dataclass(frozen=True, eq=False)
class Seismogram:
    """One trace: its codes, of a run with its component as channel; samples (n,) at times in s after the origin time,
    NaN in gaps; what it measures, as far as that is stated, and azimuth and dip of its direction, degrees, where a
    header or an inventory states them. The quantity is `guessed` where it is that of the instrument in the channel
    code, from which the data may have been converted.
    """

    network: str
    station: str
    location: str
    channel: str
    times: np.ndarray
    samples: np.ndarray
    quantity: str | None = None
    azimuth: float | None = None
    dip: float | None = None
    guessed: bool = False

    def may_be(self, quantity, stated=False):
        """Return whether it may measure a quantity; a guess of ours does not count where it is `stated` by the user."""
        if self.quantity is None or stated and self.guessed:
            return quantity in MOTION and self.channel[1:2] not in PRESSURE
        return self.quantity == quantity

    @property
    def name(self):
        """Codes with dots between them."""
        return ".".join((self.network, self.station, self.location, self.channel))


def tell(words):
    """Say in the log what is not compared."""
    logging.getLogger("craton").warning("%s", words)


def of_run(waves, quantity):
    """Return the seismograms of one quantity of a run: list."""
    array = waves[quantity].load()
    time, parts = array.time.values, figures.components(array)
    return [
        Seismogram(*codes, part, time, values[n], quantity)
        for part, values in parts.items()
        for n, codes in enumerate(codes_of(waves))
    ]


def codes_of(waves):
    """Return network, station and location of each receiver, its name where it has no code of a station: list of three
    str each.
    """
    none = [""] * waves.sizes["receiver"]
    others = {"network": none, "station": waves.receiver.values, "location": none}
    columns = (waves[name].values if name in waves.coords else values for name, values in others.items())
    return [tuple(map(str, row)) for row in zip(*columns)]


def files_of(data):
    """Return the files that a path, a folder or a pattern names: list of Path."""
    path = Path(data)
    if path.is_dir():
        paths = sorted(p for p in path.iterdir() if p.is_file())
    elif path.exists():
        paths = [path] if path.is_file() else []
    else:
        paths = sorted(Path(p) for p in glob.glob(str(data)) if Path(p).is_file())
    if not paths:
        remedy = "name a file of seismograms, a folder or a pattern of files, or the OUT of a run"
        refuse("DATA", f"there is no file {data}", remedy)
    return paths


def of_files(data, origin_time, inputs=(), inventory=None):
    """Return the seismograms of a file, folder or pattern that ObsPy reads, in times after an origin time (UTC): list.
    `inputs` may be StationXML with the directions of channels, as the .xml files among the data; a stated inventory
    counts before them.
    """
    obspy = library("obspy", "reading seismograms")
    stream, unread = obspy.Stream(), []
    for path in files_of(data):
        try:
            with warnings_of_libraries(path):
                regular.check(path)
                stream += obspy.read(str(path))
        except Exception as error:  # each of its readers raises errors of its own
            unread.append((path, error))
    beside = [path for path, _ in unread if path.suffix == ".xml"]
    inventories = _inventories([*beside, *inputs], inventory)
    if not stream:
        path, error = unread[0]
        refuse("DATA", f"{path} cannot be read as seismograms: {error}", "name another file")
    others = [path.name for path, _ in unread if path.suffix != ".xml"]
    if others:
        tell(f"{data}: no seismograms, passed over: {first_of(others)}")
    try:
        stream.merge(method=1)
    except Exception as error:
        refuse("DATA", f"{data}: {error}", "give traces of one id the same sampling rate")
    origin = obspy.UTCDateTime(origin_time)
    return [_of_trace(trace, origin, inventories) for trace in stream]


def _inventories(paths, stated):
    """Return the inventories of those files that can be read, and the stated one: list."""
    import obspy

    inventories = []
    for path in [*([stated] if stated else []), *paths]:
        try:
            regular.check(path)
            inventories.append(obspy.read_inventory(str(path)))
        except Exception as error:  # each of its readers raises errors of its own
            if path is stated:
                refuse("--inventory", f"{path} cannot be read: {error}", "name a StationXML file")
    return inventories


def _of_trace(trace, origin, inventories):
    """Return a trace of ObsPy, NaN in its gaps."""
    stats, sac = trace.stats, trace.stats.get("sac", {})
    samples = np.ma.filled(np.ma.asarray(trace.data).astype(float), np.nan)
    quantity = SAC_QUANTITIES.get(int(sac.get("idep", 0)))
    accelerometer = quantity is None and stats.channel[1:2] in ACCELEROMETERS
    codes = stats.network, stats.station, stats.location, stats.channel
    return Seismogram(
        *codes,
        trace.times() + float(stats.starttime - origin),
        samples,
        "acceleration" if accelerometer else quantity,
        *_direction(trace, sac, inventories),
        accelerometer,
    )


def _direction(trace, sac, inventories):
    """Return azimuth and dip of a trace, degrees, by inventory or SAC header; None, None without."""
    for inventory in inventories:
        try:
            stated = inventory.get_orientation(trace.id, trace.stats.starttime)
        except Exception:  # it has no class of its own for what is not there
            continue
        if None not in (stated["azimuth"], stated["dip"]):
            return float(stated["azimuth"]), float(stated["dip"])
    azimuth, inclination = sac.get("cmpaz"), sac.get("cmpinc")
    if azimuth is None or inclination is None:
        return None, None
    return float(azimuth), float(inclination) - 90.0


class Receivers:
    """Receivers of a run of one shot by the codes that seismograms have."""

    def __init__(self, waves):
        self.waves = waves
        self.names = [str(name) for name in waves.receiver.values]
        self.codes = codes_of(waves)
        self.sites = sites(waves)
        self.parts = {
            name: figures.components(array.load()) for name, array in waves.data_vars.items() if name in CODES
        }
        self.rows = {}
        for n, (site, (_, station, _)) in enumerate(zip(self.sites, self.codes)):
            for code in {station, site.station, self.names[n]}:
                self.rows.setdefault(code, []).append(n)

    def find(self, trace):
        """Return numbers of the receivers whose codes are those of a seismogram, and the seismogram with what its
        channel code says.
        """
        rows = [n for n in self.rows.get(trace.station, ()) if self._same_network(n, trace)]
        exact = [n for n in rows if self.codes[n][0] == trace.network]
        rows = exact or rows
        key = trace.location, trace.channel[1:]
        written = [n for n in rows if key in _written(self.sites[n].location, self.sites[n].sensor)]
        if written:
            site = self.sites[written[0]]
            quantity, part = _written(site.location, site.sensor)[key]
            return written, replace(trace, quantity=quantity, channel=part or "", guessed=False)
        locations = ("", trace.location)
        return [n for n in rows if self.codes[n][2] in locations], trace

    def _same_network(self, n, trace):
        mine = self.codes[n][0]
        return mine == trace.network or mine in UNSTATED or trace.network in UNSTATED

    def along(self, n, quantity, trace):
        """Return what a receiver records of a quantity along the direction of a seismogram: samples; None where the
        direction is not known, or not recorded.
        """
        parts, dim = self.parts[quantity], component_dim(self.waves[quantity])
        parts = {name: values[n] for name, values in parts.items()}
        if dim is None:
            return next(iter(parts.values()))
        azimuth, dip, letter = trace.azimuth, trace.dip, trace.channel[-1:]
        if trace.channel in parts or azimuth is None and letter in parts:
            return parts.get(trace.channel, parts.get(letter))
        if azimuth is None:
            azimuth, dip = orientation(letter, self.sites[n])
        if azimuth is None or dim != "component":
            return None
        a, d = np.radians([azimuth, dip])
        factors = {"E": np.sin(a) * np.cos(d), "N": np.cos(a) * np.cos(d), "Z": -np.sin(d)}
        factors = {part: factor for part, factor in factors.items() if abs(factor) > 1e-9}
        if not set(factors) <= set(parts):
            return None
        return sum(factor * parts[part] for part, factor in factors.items())


@cache
def _written(location, sensor):
    """Return what craton writes of a receiver: dict from location and channel, without its band, to quantity and
    component.
    """
    site = SimpleNamespace(location=location, sensor=sensor)
    along = {None: (*TENSOR, "RR", "TT", "RT", "RZ", "TZ"), "D": (None,)}
    codes = {}
    for quantity, (letter, code, _) in CODES.items():
        for part in along.get(None if code is None else letter, "ENZRT"):
            where, channel = channel_code(quantity, part, 1.0, site)
            codes[where, channel[1:]] = quantity, part
    return codes


def origin_of(waves):
    """Return the origin time of a run's waveforms, UTC."""
    stated = waves.coords.get("origin_time", waves.attrs.get("origin_time", ORIGIN_TIME))
    return str(getattr(stated, "values", stated))
