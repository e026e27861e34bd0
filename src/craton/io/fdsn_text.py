"""Stations as the web service fdsnws-station gives them with format=text: columns between bars."""

from pathlib import Path

import numpy as np

from craton.io.contents import Stations, unique_codes
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
        The rows of a station are one: the first. Its depth is that of the channel, 0 at
        level=station; elevations place nothing, as those of StationXML.

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
    stations = {}
    for n, line in enumerate(lines[1:], 2):
        if line.strip() and not line.startswith("#"):
            row = _row(n, line, columns)
            stations.setdefault((row["network"], row["station"]), row)
    if not stations:
        raise ValueError("line 1: no stations")
    longitude, latitude, depth, elevation = (
        np.array([row.get(name, 0.0) for row in stations.values()])
        for name in ("longitude", "latitude", "depth", "elevation")
    )
    networks, codes = (list(column) for column in zip(*stations))
    return Stations(
        unique_codes([*stations]),
        longitude,
        latitude,
        depth,
        coordinates="geographic",
        networks=networks,
        codes=codes,
        elevation=elevation,
    )


def _columns(heading):
    """Names of the columns in small letters."""
    if not heading.startswith("#") or "|" not in heading:
        return []
    return [name.strip().lower() for name in heading.lstrip("#").split("|")]


def _row(n, line, columns):
    """Codes and numbers of a line by column."""
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) < len(columns):
        raise ValueError(f"line {n}: {len(cells)} columns under a heading of {len(columns)}")
    if any(cells[len(columns) :]):
        raise ValueError(f"line {n}: {len(cells)} columns under a heading of {len(columns)}")
    row = dict(zip(columns, cells))
    numbers = {
        name: number(row[name], n, name)
        for name in ("longitude", "latitude", "depth", "elevation")
        if row.get(name)
    }
    missing = {"longitude", "latitude"} - set(numbers)
    if missing or not row["station"]:
        raise ValueError(f"line {n}: no {', '.join(sorted(missing)) or 'station'}")
    return {"network": row["network"], "station": row["station"], **numbers}
