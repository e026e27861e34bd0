"""Stations in text: STATIONS of SPECFEM; what the web service fdsnws-station gives with format=text; tables with a
heading.
"""

import numpy as np

from craton.io.contents import Stations, sensors, unique_codes
from craton.io.fdsn import is_seismic, seconds
from craton.io.text_table import columns, first_line

DIMENSIONS = {"longitude": "angle", "latitude": "angle"}
DIMENSIONS |= dict.fromkeys(("x", "y", "z", "depth", "elevation"), "length")
# Other names of the columns of a table, as FDSN text, ObsPy and networks have them.
NAMES = {"station": "name", "lon": "longitude", "lat": "latitude", "burial": "depth"}
NAMES |= {"net": "network", "sta": "name", "elev": "elevation", "code": "name"}
CODES = {"name", "station", "sta", "code"}  # one of which, and one of these, stands in the heading of a table
PLACES = {"x", "longitude", "lon"}
SPECFEM = ("station", "network", "latitude", "longitude", "elevation", "burial")


def is_specfem(path) -> bool:
    """Whether a file has columns without commas, and no heading with name and x or longitude."""
    _, line = first_line(path)
    words = line.lower().split()
    is_heading = all(set(words) & names for names in (CODES, PLACES))
    return len(words) >= 4 and not any(c in line for c in ",;") and not is_heading


def read_specfem(path) -> Stations:
    """Read a STATIONS file: at their burial below the surface; elevations are those of the ground."""
    dimensions = DIMENSIONS | {"burial": "length"}
    table = columns(path, dimensions, ("station", "network"), list, lambda names: SPECFEM, SPECFEM)
    if not table.lines:
        raise ValueError("line 1: no stations")
    codes, networks = table.texts["station"], table.texts["network"]
    longitude, latitude, elevation, depth = (
        table.numbers[name] for name in ("longitude", "latitude", "elevation", "burial")
    )
    names = unique_codes(list(zip(networks, codes)))
    return Stations(names, longitude, latitude, depth, networks=networks, codes=codes, elevation=elevation)


def is_fdsn(path) -> bool:
    """Whether a file begins with a heading of columns between bars."""
    return {"latitude", "longitude"} <= set(_fdsn_heading(path))


def read_fdsn(path) -> Stations:
    """Read a row for each sensor and epoch, at level=station or level=channel. Depths are those of channels, 0 at
    level=station; elevations place nothing, as those of StationXML.
    """

    def required(names):
        missing = [name for name in ("network", "station", "latitude", "longitude") if name not in names]
        if missing:
            raise ValueError(f"line 1: it has no column {', '.join(missing)}")
        return "station", "latitude", "longitude"

    heading = _fdsn_heading(path)
    texts = ("network", "station", "location", "channel", "starttime", "endtime")
    table = columns(path, DIMENSIONS, texts, list, required, heading, "|")
    count = len(table.lines)
    numbers = [
        np.nan_to_num(table.numbers.get(n, np.zeros(count))) for n in ("longitude", "latitude", "depth", "elevation")
    ]
    network, station, location, channels, *epochs = (table.texts.get(name, [""] * count) for name in texts)
    epochs = [[_time(*row, name) for row in zip(table.lines, column)] for name, column in zip(texts[4:], epochs)]
    location = [code.strip("-") for code in location]
    rows = list(zip(channels, zip(network, station, location, *(column.tolist() for column in numbers), *epochs)))
    seismic = {row[:2] for channel, row in rows if is_seismic(channel)}
    return sensors(row for row in rows if is_seismic(row[0]) or row[1][:2] not in seismic)


def _fdsn_heading(path):
    """Return the names of the columns in small letters; none where the first line is no heading between bars."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        heading = file.readline(1 << 16)
    is_heading = heading.startswith("#") and "|" in heading
    return [name.strip().lower() for name in heading.lstrip("#").split("|")] if is_heading else []


def _time(line, text, name):
    """Return a date as seconds since 1970; None where there is none."""
    try:
        return seconds(text) if text else None
    except ValueError:
        raise ValueError(f"line {line}: the {name} is no date: {text[:40]!r}") from None


def read_table(path) -> Stations:
    """Read receivers: columns ``name, x, y`` and ``z`` (up) or ``depth``, or ``name, longitude, latitude`` and ``depth``
    or ``elevation``, and perhaps ``network``, in any order; lengths may carry a unit.

    They lie in the axes of the model, or on Earth at the depth below the ground where the file has one (0 without
    both), else at the elevation. A column ``network`` goes before codes that stand twice.
    """
    table = columns(path, DIMENSIONS, ("name", "network"), _renamed, _required)
    if not table.lines:
        raise ValueError("no receivers: the file needs a header with column names and at least one row")
    codes, values = table.texts["name"], table.numbers
    networks = table.texts.get("network", [""] * len(codes))
    on_earth = "longitude" in values
    x, y = ("longitude", "latitude") if on_earth else ("x", "y")
    elevation = values.get("elevation") if on_earth else None
    height = elevation if on_earth else values.get("z")
    is_deep = "depth" in values or height is None
    depth = values.get("depth", np.zeros(len(codes))) if is_deep else -height
    names, coordinates = unique_codes(list(zip(networks, codes))), "geographic" if on_earth else "model"
    ground = elevation if is_deep else None
    return Stations(names, values[x], values[y], depth, is_deep, coordinates, networks, codes, ground)


def _renamed(heading):
    """Return our names of the columns of a table, "" of those that place nothing."""
    heading = [name.strip().lower() for name in heading]
    if {"station", "sta", "code"} & set(heading):  # beside a station's code, its name is that of a site
        heading = ["site" if name == "name" else name for name in heading]
    names = [NAMES.get(name, name) for name in heading]
    other = {"x", "y", "z"} if {"longitude", "latitude"} & set(names) else {"elevation"}
    return ["" if name in other else name for name in names]


def _required(names):
    """Return the columns that each row must have."""
    on_earth = bool({"longitude", "latitude"} & set(names))
    needed = ("name", "longitude", "latitude") if on_earth else ("name", "x", "y")
    missing = [name for name in needed if name not in names]
    if missing or not on_earth and ("z" in names) == ("depth" in names):
        fault = f"no column {', '.join(missing)}" if missing else "not exactly one of the columns z and depth"
        raise ValueError(f"it has {fault}; its columns are {', '.join(filter(None, names))}")
    return [name for name in names if name in (*needed, "z", "depth", "elevation")]
