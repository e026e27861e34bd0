"""Text tables under a heading of column names: numbers, stations; separated by commas, semicolons,
tabs or blanks.
"""

import csv
import re

import numpy as np

from craton.io import long_table
from craton.io.contents import FileError, Stations, floats, unique_codes
from craton.io.keyed import lines_of, refuse_odd_table
from craton.io.long_table import SEPARATORS
from craton.units import UnitError, si

# Other names of the columns of stations, as FDSN text, ObsPy and tables of networks have them.
STATION_COLUMNS = {"station": "name", "lon": "longitude", "lat": "latitude", "burial": "depth"}
STATION_COLUMNS |= {"net": "network", "sta": "name", "elev": "elevation", "code": "name"}
TEXT_COLUMNS = ("name", "network")
NUMBER_COLUMNS = ("longitude", "latitude", "x", "y", "z", "depth", "elevation")
ANGLES = {"longitude": "angle", "latitude": "angle"}


def recognises(path):
    """Any text may be a table.

    Parameters
    ----------
    path : path-like
    """
    return True


def read(path):
    """Read columns of numbers.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    names : list of str
    column : callable
        Values of a name.

    Raises
    ------
    FileError
        Something that is no number, or rows of another length than the heading.
    """
    with open(path, encoding="utf-8-sig") as file:
        heading = _heading(file)
        separator = next((c for c in SEPARATORS if c in heading), None)
        if separator is None:  # a unit in brackets belongs to the name before it
            heading = re.sub(r"\s+(?=[\[(])|\s+(?=[^\[(]*[\])])", "", heading)
        names = [name.strip().strip('"') for name in heading.lstrip("#").split(separator)]
        try:
            rows = np.loadtxt(file, delimiter=separator, ndmin=2, comments="#")
        except ValueError as error:
            # NumPy counts rows (from 0 or 1) after the heading; it says which
            raise FileError(
                f"{path.name}: {str(error).splitlines()[0].rstrip('.')} (rows are counted below the heading)"
            ) from None
    if rows.size and rows.shape[1] != len(names):
        raise FileError(f"{path.name} has {rows.shape[1]} columns under a heading of {len(names)}")
    rows = rows.reshape(-1, len(names))
    return names, lambda name: rows[:, names.index(name)]


def _heading(file):
    """Return the first line that is no comment; where it holds numbers, the comment before it."""
    comment, start = "", 0
    while line := file.readline():
        if line.startswith("#"):
            comment = line
        elif line.strip():
            if not comment or line.lstrip()[0] not in "+-.0123456789":
                return line
            file.seek(start)
            return comment
        start = file.tell()
    return comment


def read_stations(path):
    """Read receivers: columns ``name, x, y`` and ``z`` (up) or ``depth``, or ``name, longitude,
    latitude`` and ``depth`` or ``elevation``, and perhaps ``network``, in any order; lengths may
    carry a unit.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Stations
        In the axes of the model, or on Earth: at the depth below the ground where the file has one
        (0 without both), else at the elevation. A column ``network`` goes before codes that stand
        twice.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A column is missing, or a row is wrong: says which.
    """
    if table := _long_table(path):
        return _stations(*table)
    lines = lines_of(path)
    if len(lines) < 2:
        raise ValueError("no receivers: the file needs a header with column names and at least one row")
    separator = max(SEPARATORS, key=lines[0][1].count)
    split = (
        (lambda line: next(csv.reader([line], delimiter=separator, skipinitialspace=True)))
        if separator in lines[0][1]
        else str.split
    )
    if separator in lines[0][1] and not any('"' in line for _, line in lines):
        heading, *rows = (line.split(separator) for _, line in lines)
    else:
        heading, *rows = (split(line) for _, line in lines)
    names = _renamed([name.strip().lower() for name in heading])
    columns = _columns(names)
    if separator in lines[0][1]:  # between blanks, names may have several words
        refuse_odd_table(lines, rows, names, columns, NUMBER_COLUMNS)
    return _stations(columns, *(_plain_columns(rows, columns) or _columns_by_row(lines[1:], rows, columns)))


def _stations(columns, texts, values):
    """Return `Stations` from the texts and SI numbers of each column."""
    codes = texts["name"]
    networks = texts.get("network", [""] * len(codes))
    on_earth = "longitude" in columns
    x, y = ("longitude", "latitude") if on_earth else ("x", "y")
    deep = "depth" in columns or not {"z", "elevation"} & set(columns)
    elevation = values.get("elevation")
    height = values.get("z", elevation)
    depth = values.get("depth", np.zeros(len(codes))) if deep else -height
    where = "geographic" if on_earth else "model"
    return Stations(
        unique_codes(list(zip(networks, codes))),
        values[x],
        values[y],
        depth,
        deep,
        where,
        networks,
        codes,
        elevation if deep else None,
    )


def _long_table(path):
    """Columns, texts and SI numbers of a long table of plain cells; None of others, which are to be
    read row by row, with a message for each fault.
    """
    table = long_table.opened(path)
    if table is None:
        return None
    names = _renamed([name.strip().lower() for name in table.heading])
    columns = _columns(names)
    refuse_odd_table([(1, "")], [], names, columns, NUMBER_COLUMNS)
    texts = table.cells([c for c in columns if c in TEXT_COLUMNS], columns, object)
    values = table.cells([c for c in columns if c not in TEXT_COLUMNS], columns, float)
    if texts is None or values is None or not all(texts["name"]):
        return None
    return columns, texts, values


def _renamed(heading):
    """Our names of the columns; beside a station's code, its name is that of a site."""
    if {"station", "sta", "code"} & set(heading):
        heading = ["site" if name == "name" else name for name in heading]
    return [STATION_COLUMNS.get(name, name) for name in heading]


def _columns(heading):
    """Place of name, position and height in a row, by name."""
    on_earth = {"longitude", "latitude"} & set(heading)
    needed = ("name", "longitude", "latitude") if on_earth else ("name", "x", "y")
    missing = [c for c in needed if c not in heading]
    if missing or not on_earth and ("z" in heading) == ("depth" in heading):
        fault = (
            ("it has no column " + ", ".join(missing)) if missing else "it needs exactly one of the columns z and depth"
        )
        raise ValueError(f"{fault}; its columns are {', '.join(heading)}")
    heights = ("depth", "elevation", "network") if on_earth else ("z", "depth", "network")
    return {c: heading.index(c) for c in (*needed, *heights) if c in heading}


def _plain_columns(rows, columns):
    """Texts and SI numbers by column, of rows without units and faults; None of others, which are
    to be read one by one.
    """
    if min(map(len, rows)) <= max(columns.values()):
        return None
    columns_of = {name: [cells[place] for cells in rows] for name, place in columns.items()}
    texts = {c: [t.strip() for t in columns_of[c]] for c in TEXT_COLUMNS if c in columns}
    try:
        values = {c: floats(columns_of[c]) for c in columns if c not in texts}
    except ValueError:
        return None
    if not all(texts["name"]) or not all(np.isfinite(column).all() for column in values.values()):
        return None
    return texts, values


def _columns_by_row(lines, rows, columns):
    """Return the same from rows that may carry units; says which line is wrong."""
    table = [_station(n, cells, columns) for (n, _), cells in zip(lines, rows)]
    texts = {c: [row[c] for row in table] for c in TEXT_COLUMNS if c in columns}
    return texts, {c: np.array([row[c] for row in table]) for c in columns if c not in texts}


def _station(number, cells, columns):
    """Values of a row by column."""
    try:
        row = {name: cells[place].strip() for name, place in columns.items()}
        if not row["name"]:
            raise ValueError("the name is empty")
        return {
            name: text if name in TEXT_COLUMNS else _in_si(text, ANGLES.get(name, "length"))
            for name, text in row.items()
        }
    except IndexError:
        raise ValueError(f"line {number} has {len(cells)} columns, fewer than the header") from None
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def _in_si(text, dimension):
    if "_" in text:
        raise UnitError(f"{text!r} is not a number")
    try:
        value = float(text)
    except ValueError:
        value = text
    return si(value, dimension)


def read_samples(path):
    """Read times and values in two columns, separated by blanks, commas or semicolons; ``#`` and
    ``%`` start a comment.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    times, values : list of float
        Times in s.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is not two numbers (a heading as the first line is passed over); says which.
    """
    rows, heading = [], True
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        words = line.split("#")[0].split("%")[0].replace(",", " ").replace(";", " ").split()
        if not words:
            continue
        try:
            time, value = floats(words).tolist()
            rows.append((time, value))
        except ValueError:
            if not heading:
                raise ValueError(f"line {number} is not a time and a value: {line.strip()[:40]!r}") from None
        heading = False
    return [time for time, _ in rows], [value for _, value in rows]
