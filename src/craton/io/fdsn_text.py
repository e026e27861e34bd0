"""Stations as the web service fdsnws-station gives them with format=text: columns between bars."""

from pathlib import Path

from craton.io.contents import sensors
from craton.io.fdsn import is_seismic, seconds
from craton.io.keyed import number, refuse_unreadable

NEEDED = ("network", "station", "latitude", "longitude")


def recognises(path):
    """Whether a file begins with a heading of columns between bars.

    Parameters
    ----------
    path : path-like
    """
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        heading = _columns(file.readline(1 << 16))
    return {"latitude", "longitude"} <= set(heading)


def read(path):
    """Read stations, at level=station or level=channel.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Stations
        A row for each sensor and epoch. Depths are those of channels, 0 at level=station;
        elevations place nothing, as those of StationXML.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is wrong: says which.
    """
    lines = Path(path).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    columns = _columns(lines[0])
    refuse_unreadable(1, columns)
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise ValueError(f"line 1: it has no column {', '.join(missing)}")
    rows = [_row(n, line, columns) for n, line in enumerate(lines[1:], 2) if line.strip() and not line.startswith("#")]
    if not rows:
        raise ValueError("line 1: no stations")
    seismic = {row[:2] for channel, row in rows if is_seismic(channel)}
    return sensors(row for row in rows if is_seismic(row[0]) or row[1][:2] not in seismic)


def _columns(heading):
    """Names of the columns in small letters."""
    if not heading.startswith("#") or "|" not in heading:
        return []
    return [name.strip().lower() for name in heading.lstrip("#").split("|")]


def _row(n, line, columns):
    """Channel code of a line, and what it holds as a row of `craton.io.contents.sensors`."""
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) < len(columns):
        raise ValueError(f"line {n}: {len(cells)} columns under a heading of {len(columns)}")
    if any(cells[len(columns) :]):
        raise ValueError(f"line {n}: {len(cells)} columns under a heading of {len(columns)}")
    row = dict(zip(columns, cells))
    numbers = {
        name: number(row[name], n, name) for name in ("longitude", "latitude", "depth", "elevation") if row.get(name)
    }
    missing = {"longitude", "latitude"} - set(numbers)
    if missing or not row["station"]:
        raise ValueError(f"line {n}: no {', '.join(sorted(missing)) or 'station'}")
    location = row.get("location", "").strip("-")
    place = (numbers["longitude"], numbers["latitude"], numbers.get("depth", 0.0))
    epoch = (_time(row.get(name), n, name) for name in ("starttime", "endtime"))
    elevation = numbers.get("elevation", 0.0)
    codes = row["network"], row["station"], location
    return row.get("channel", ""), (*codes, *place, elevation, *epoch)


def _time(text, n, name):
    """Return a date as seconds since 1970; None where there is none."""
    if not text:
        return None
    try:
        return seconds(text)
    except ValueError:
        raise ValueError(f"line {n}: the {name} is no date: {text[:40]!r}") from None
