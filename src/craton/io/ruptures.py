"""Finite faults: the Standard Rupture Format (R. Graves, SCEC), versions 1.0 and 2.0, many subfaults with their slip rates;
FSP, slip and times of each subfault, as the USGS and the SRCMOD database give them (Mai & Thingbaijam 2014, Seismol. Res.
Lett. 85, 1348; equake-rc.info/SRCMOD/fileformats/fsp).
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from craton.io.contents import floats
from craton.io.text_table import iter_lines

AREA, SLIP, SPEED, DENSITY = 1e-4, 1e-2, 1e-2, 1e3  # cm2, cm and cm/s, cm/s, g/cm3 in SI units
WORDS = {"1.0": (8, 7), "2.0": (10, 7)}  # numbers in the two heading lines of a subfault


@dataclass(frozen=True, eq=False)
class Rupture:
    """The subfaults of a file, arrays over them, SI units.

    Parameters
    ----------
    longitude, latitude, depth : ndarray (n,)
        Degrees (or metres, as the file has them); m.
    strike, dip, rake : ndarray (n,)
        Degrees, Aki & Richards.
    area : ndarray (n,)
        m2.
    onset, interval : ndarray (n,)
        Time of the first sample of the slip rates, and their interval, s.
    vs, density : ndarray (n,)
        m/s, kg/m3; nan where the file does not say.
    slip : ndarray (n, 3)
        Total slip as the heading states it, m: along rake, at 90 degrees to it, normal to the
        fault.
    first : ndarray (3 n + 1,)
        Where the samples of component c of subfault i begin in `rates`: entry 3 i + c.
    rates : ndarray
        Slip rates, m/s, float32.
    """

    longitude: np.ndarray
    latitude: np.ndarray
    depth: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    rake: np.ndarray
    area: np.ndarray
    onset: np.ndarray
    interval: np.ndarray
    vs: np.ndarray
    density: np.ndarray
    slip: np.ndarray
    first: np.ndarray
    rates: np.ndarray


def read_srf(path) -> Rupture:
    """Read the rupture of an SRF file. Raises ValueError that says which line is not what the format has there."""
    lines = _Lines(path)
    version = _version(lines)
    headings, rates = [], []
    while (words := lines.next()) is not None:
        if words[0] == "PLANE":
            for _ in range(2 * lines.count(words, "planes")):
                lines.numbers(1, "the heading of a plane")
        elif words[0] == "POINTS":
            for _ in range(lines.count(words, "subfaults")):
                heading, samples = _subfault(lines, version)
                headings.append(heading)
                rates += samples
        else:
            raise ValueError(
                f"line {lines.at}: {' '.join(words)[:40]!r} where PLANE or POINTS and a number are expected"
            )
    if not headings:
        raise ValueError(f"line {lines.at}: the file ends without a subfault")
    return _of_headings(np.array(headings), rates)


def _version(lines):
    words = lines.next()
    if words is None or words[0].lower() not in WORDS:
        raise ValueError(
            f"line {max(lines.at, 1)}: an SRF file starts with its version, 1.0 or 2.0, not {' '.join(words or [])[:40]!r}"
        )
    return words[0]


def _subfault(lines, version):
    """Return the 17 numbers of a subfault's heading, and its three arrays of samples."""
    place, mechanism = (lines.numbers(n, "a subfault's heading") for n in WORDS[version])
    at = lines.at
    lon, lat, depth, strike, dip, area, onset, interval, *medium = place
    vs, density = [v if v > 0 else np.nan for v in medium] or (np.nan, np.nan)
    rake, slip1, n1, slip2, n2, slip3, n3 = mechanism
    counts = (n1, n2, n3)
    if any(n < 0 or n != int(n) for n in counts):
        raise ValueError(f"line {at}: {counts} are not valid numbers of samples")
    if area <= 0 or (interval <= 0 and any(counts)):
        raise ValueError(f"line {at - 1}: area {area:g} cm2 and interval {interval:g} s must be positive")
    samples = lines.samples(int(sum(counts)))
    parts = np.split(samples, np.cumsum(counts).astype(int)[:2])
    return (lon, lat, depth, strike, dip, area, onset, interval, vs, density, rake, slip1, slip2, slip3), parts


def _of_headings(headings, rates):
    """Return the `Rupture` of what `_subfault` gives of each, a row of headings, and of all samples."""
    first = np.cumsum([0, *(len(r) for r in rates)])
    lon, lat, depth, strike, dip, area, onset, interval, vs, density, rake = headings[:, :11].T
    medium, slip = (SPEED * vs, DENSITY * density), SLIP * headings[:, 11:14]
    samples = np.float32(SPEED) * np.concatenate(rates)
    return Rupture(
        lon, lat, 1e3 * depth, strike, dip, rake, AREA * area, onset, interval, *medium, slip, first, samples
    )


class _Lines:
    """The lines of a file that are not empty and no comment, with the number of the last one read."""

    def __init__(self, path):
        self.rows, self.at = iter_lines(path), 0

    def line(self):
        """Return the next line, or None at the end."""
        self.at, line = next(self.rows, (self.at, None))
        return line

    def next(self):
        """Return the words of the next line, or None at the end."""
        line = self.line()
        return None if line is None else line.split()

    def array(self, noun):
        """Return the next line as numbers."""
        line = self.line()
        if line is None:
            raise ValueError(f"line {self.at}: the file ends where {noun} is expected")
        try:
            return floats(line.split())
        except ValueError:
            raise ValueError(f"line {self.at}: {line.strip()[:40]!r} is not {noun}") from None

    def numbers(self, least, noun):
        """Return the first so many numbers of the next line, which may have more, all finite."""
        values = self.array(noun)
        if len(values) < least or not np.isfinite(values).all():
            raise ValueError(f"line {self.at}: {len(values)} numbers, {noun} has {least}, all finite")
        return values[:least].tolist()

    def count(self, words, noun):
        """Return the number behind PLANE or POINTS."""
        if len(words) < 2 or not words[1].isdecimal():
            raise ValueError(f"line {self.at}: {words[0]} must be followed by the number of {noun}")
        return int(words[1])

    def samples(self, count):
        """Return the next so many samples, over any number of lines."""
        parts, have = [], 0
        while have < count:
            parts.append(self.array(f"{count} samples of slip rate ({have} read)").astype(np.float32))
            have += len(parts[-1])
        if have > count or not all(np.isfinite(p).all() for p in parts):
            fault = (
                f"{have} samples of slip rate, but the header announces {count}"
                if have > count
                else "a slip rate that is not finite"
            )
            raise ValueError(f"line {self.at}: {fault}")
        return np.concatenate(parts) if parts else np.empty(0, np.float32)


# --- FSP ------------------------------------------------------------------------------------------

KEY = re.compile(r"(\w+)\s*=\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)")
WINDOW = re.compile(r"(RK)?TW\d+", re.IGNORECASE)
UNKNOWN = (-99.0, 999.0)  # "varies over the fault" and "not known"
NEEDED = ("LAT", "LON", "Z", "SLIP")
SAMPLES = 24  # of the slip rate over a rise time
EARTH = 6_371_000.0  # m, for shifts of half a subfault
USUAL_DENSITY = 2700.0  # kg/m3, where only the moment of subfaults is known: it cancels out


@dataclass
class Segment:
    """A plane of a fault: its keys of the heading and the rows of its subfaults."""

    keys: dict
    columns: list = field(default_factory=list)
    rows: list = field(default_factory=list)


def read_fsp(path, subfaults="center") -> Rupture:
    """Read the rupture of an FSP file, whose coordinates mark the ``"center"`` of each subfault, or its ``"top"``, the middle
    of its upper edge. Raises ValueError that says what the file lacks, or which line is wrong.

    The slip rate of a subfault is slip (1 - cos(2 pi t / T)) / T over its rise time T, from its rupture time on. Its modulus
    is that of its moment (SF_MOMENT), else of the velocity and density structure in the heading, else not known.
    """
    heading, layers, segments = _parsed(path)
    if not segments:
        raise ValueError("no subfaults: the file needs rows below a line with LAT and LON")
    parts = [_subfaults(segment, heading, layers, subfaults) for segment in segments]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return _rupture(whole)


def _parsed(path):
    """Keys of the heading, rows of its layers (depth, vs, density in SI), and the segments."""
    heading, layers, segments, columns, keys, in_layers = {}, [], [], [], {}, False
    text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    for n, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith("%"):
            if not columns:
                raise ValueError(f"line {n}: numbers before a line with LAT and LON")
            if segments[-1].rows == [] and keys:
                segments[-1].keys |= keys
            segments[-1].rows.append(_row(n, line, columns))
            continue
        words = line.replace("%", " ").split()
        in_layers = _is_layers(words, in_layers)
        if {"LAT", "LON"} <= {word.partition("==")[0] for word in words} and not KEY.search(line):
            columns = [word.partition("==")[0] for word in words]
            segments.append(Segment(dict(keys), columns))
            keys = {}
        elif in_layers and _numbers(words):
            layers.append(_numbers(words))
        else:
            stated = {name.upper(): float(value) for name, value in KEY.findall(line)}
            if "SEGMENT" in line.upper() and "STRIKE" in stated:
                keys = {}
            (keys if segments or "STRIKE" in stated or keys else heading).update(stated)
    return heading, _structure(layers), [s for s in segments if s.rows]


def _is_layers(words, before):
    """Whether the rows of the velocity and density structure go on or begin."""
    if "DEPTH" in words and "DENS" in words:
        return True
    return before and (not words or bool(_numbers(words)) or words[0].startswith("["))


def _numbers(words):
    try:
        return floats(words).tolist()
    except ValueError:
        return []


def _structure(rows):
    """Depth of the top of layers (m), vs (m/s), density (kg/m3)."""
    rows = [row for row in rows if len(row) >= 4]
    return np.array([[1e3 * d, 1e3 * vs, 1e3 * rho] for d, _, vs, rho, *_ in rows]).reshape(-1, 3)


def _row(n, line, columns):
    try:
        values = floats(line.split()).tolist()
    except ValueError:
        raise ValueError(f"line {n}: not all of {line.strip()[:40]!r} are numbers") from None
    if len(values) != len(columns):
        raise ValueError(f"line {n}: {len(values)} numbers under {len(columns)} columns")
    return values


def _subfaults(segment, heading, layers, mark):
    """Arrays over the subfaults of a segment, SI, without those that do not slip."""
    missing = [name for name in NEEDED if name not in segment.columns]
    if missing:
        raise ValueError(f"no column {', '.join(missing)}; the columns are {' '.join(segment.columns)}")
    table = dict(zip(segment.columns, np.array(segment.rows, float).T))
    table = {name: values[table["SLIP"] != 0] for name, values in table.items()}
    keys = heading | segment.keys
    strike, dip = (_key(keys, *names) for names in (("STRIKE", "STRK"), ("DIP",)))
    length, width = (1e3 * _key(keys, *names) for names in (("DX", "INDX"), ("DZ", "INDZ")))
    count = len(table["SLIP"])
    rake = table["RAKE"] if "RAKE" in table else np.full(count, _key(keys, "RAKE"))
    places = np.array([table["LON"], table["LAT"], 1e3 * table["Z"]])
    if mark == "top":
        places = _down_dip(places, strike, dip, width / 2)
    vs, density = _moduli(table, places[2], length * width, layers)
    return {
        "longitude": places[0],
        "latitude": places[1],
        "depth": places[2],
        "strike": np.full(count, strike),
        "dip": np.full(count, dip),
        "rake": rake,
        "area": np.full(count, length * width),
        "start": _starts(table, keys),
        "rise": _rises(table, keys),
        "slip": table["SLIP"],
        "vs": vs,
        "density": density,
    }


def _key(keys, *names):
    """Value of the first of some keys that is known."""
    value = next((keys[n] for n in names if keys.get(n, UNKNOWN[0]) not in UNKNOWN), None)
    if value is None:
        raise ValueError(f"the heading states no {' or '.join(names)}")
    return value


def _down_dip(places, strike, dip, distance):
    """Longitude, latitude, depth moved down the dip of a plane, on a sphere."""
    along, down = distance * np.cos(np.radians(dip)), distance * np.sin(np.radians(dip))
    azimuth = np.radians(strike + 90)
    north, east = along * np.cos(azimuth), along * np.sin(azimuth)
    longitude, latitude, depth = places
    east_degrees = np.degrees(east / (EARTH * np.cos(np.radians(latitude))))
    return np.array([longitude + east_degrees, latitude + np.degrees(north / EARTH), depth + down])


def _starts(table, keys):
    """Rupture times, s: those of the file, or by its mean speed from the hypocentre."""
    if "TRUP" in table:
        return table["TRUP"]
    if not {"X", "Y"} <= set(table):
        raise ValueError("no column TRUP, the rupture time")
    try:
        speed, depth = _key(keys, "AVVR"), _key(keys, "DEP")
        if speed <= 0:
            raise ValueError("a speed of 0 says that the file has none")
    except ValueError:
        raise ValueError("no column TRUP, and no mean rupture speed avVr in the heading") from None
    return np.sqrt(table["X"] ** 2 + table["Y"] ** 2 + (table["Z"] - depth) ** 2) / speed


def _rises(table, keys):
    """Rise times, s: those of the file, or their mean."""
    if "RISE" in table:
        rise = table["RISE"]
    elif windows := [name for name in table if WINDOW.fullmatch(name)]:
        raise ValueError(f"slip in time windows ({', '.join(windows[:2])} ...) is not supported without a column RISE")
    else:
        try:
            rise = np.full(len(table["SLIP"]), _key(keys, "AVTR"))
        except ValueError:
            raise ValueError("no column RISE, and no mean rise time avTr in the heading") from None
    if len(rise) and rise.min() <= 0:
        raise ValueError(f"a rise time is {rise.min():g} s: it must be positive where there is slip")
    return rise


def _moduli(table, depth, area, layers):
    """Speed and density, whose modulus is that of the moments or of the layers; nan without both."""
    density, vs = np.full((2, len(depth)), np.nan)
    if len(layers):
        row = np.maximum(np.searchsorted(layers[:, 0], depth, side="right") - 1, 0)
        vs, density = layers[row, 1], layers[row, 2]
    if "SF_MOMENT" in table:
        density = np.where(np.isfinite(density), density, USUAL_DENSITY)
        vs = np.sqrt(table["SF_MOMENT"] / (area * np.abs(table["SLIP"]) * density))
    return vs, density


def _rupture(whole):
    """Rupture whose slip rates are sampled over each rise time; the sum of the samples is exact."""
    count, slip, rise = len(whole["slip"]), whole["slip"], whole["rise"]
    phase = np.arange(1, SAMPLES) / SAMPLES
    rates = (slip / rise)[:, None] * (1 - np.cos(2 * np.pi * phase))
    samples = np.zeros((count, 3), int)
    samples[:, 0] = SAMPLES - 1
    names = ("longitude", "latitude", "depth", "strike", "dip", "rake", "area", "vs", "density")
    return Rupture(
        **{name: whole[name] for name in names},
        onset=whole["start"] + rise / SAMPLES,
        interval=rise / SAMPLES,
        slip=np.stack([slip, 0 * slip, 0 * slip], axis=1),
        first=np.concatenate([[0], np.cumsum(samples.ravel())]),
        rates=rates.ravel().astype(np.float32),
    )
