"""Point sources in a text table or a pandas.DataFrame: one row each, under a heading of columns."""

import csv
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from craton.conventions import magnitude_to_moment
from craton.io import long_table
from craton.io.contents import FileSource, FileSources, floats, moment_tensor
from craton.io.keyed import lines_of, refuse_odd_table
from craton.io.limits import MOST_ROWS, refuse_many, refuse_unlike
from craton.units import UnitError, si

NAMES = {"lon": "longitude", "lat": "latitude", "mw": "magnitude", "m0": "moment"}
NAMES |= {"fe": "fx", "fn": "fy", "fu": "fz", "shift": "time_shift"}
GLOBAL_CMT = ("mrr", "mtt", "mpp", "mrt", "mrp", "mtp")
LOCAL = ("mxx", "myy", "mzz", "mxy", "mxz", "myz")  # east, north, up
FORCE = ("fx", "fy", "fz")
COUPLE = ("strike", "dip", "rake")
DIMENSIONS = dict.fromkeys(("longitude", "latitude", *COUPLE), "angle")
DIMENSIONS |= dict.fromkeys(("x", "y", "z", "depth"), "length")
DIMENSIONS |= dict.fromkeys((*GLOBAL_CMT, *LOCAL, "moment"), "moment")
DIMENSIONS |= dict.fromkeys(FORCE, "force") | dict.fromkeys(("time_shift", "half_duration"), "time")
DIMENSIONS |= {"magnitude": "ratio"}
TEXTS = ("name", "time")


def read(path):
    """Read the sources of a file.

    Parameters
    ----------
    path : path-like
        Columns ``longitude, latitude`` (degrees) or ``x, y`` (m); ``depth`` (m below z = 0) or
        ``z``; a mechanism: ``strike, dip, rake`` (degrees) with ``moment`` (N m) or ``magnitude``
        (Mw), or ``mrr mtt mpp mrt mrp mtp``, or ``mxx myy mzz mxy mxz myz`` (N m, east north up),
        or ``fx fy fz`` (N), or ``moment`` or ``magnitude`` alone (an explosion); perhaps
        ``half_duration`` and ``time_shift`` (s), ``time`` (ISO 8601, UTC) and ``name``. Numbers may
        carry a unit. The earliest time is the origin time; later events are shifted.

    Returns
    -------
    FileSources or list of FileSource

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A column is missing, or a row is wrong: says which.
    """
    table = long_table.opened(path)
    many = None if table is None else _by_long_column(table)
    if many is not None:
        return many
    lines = lines_of(path)
    if len(lines) < 2:
        raise ValueError("no sources: the file needs a heading of column names and rows")
    refuse_many(len(lines) - 1)
    separator = max(long_table.SEPARATORS, key=lines[0][1].count)
    if any('"' in line for _, line in lines):
        heading, *rows = (next(csv.reader([line], delimiter=separator, skipinitialspace=True)) for _, line in lines)
    else:
        heading, *rows = (line.rstrip("\n").split(separator) for _, line in lines)
    names = _names(heading)
    refuse_odd_table(lines, rows, names, (*DIMENSIONS, *TEXTS), DIMENSIONS)
    _check_columns(names)
    many = _by_column(names, rows)
    if many is not None:
        return many
    if len(rows) > MOST_ROWS:
        _refuse_unlike_row(lines, names, rows)
    tables = [dict(zip(names, cells)) for cells in rows]
    sources = [_source(n, table) for (n, _), table in zip(lines[1:], tables)]
    if "time" not in names:
        return sources
    times = [_time(n, table.get("time", "")) for (n, _), table in zip(lines[1:], tables)]
    origin = min(times)
    return [
        replace(source, origin=origin.isoformat(), shift=source.shift + (time - origin).total_seconds())
        for source, time in zip(sources, times)
    ]


def _names(heading):
    """Our names of the columns of a heading."""
    return [NAMES.get(name, name) for name in (cell.strip().lower() for cell in heading)]


def _by_long_column(table):
    """Return the sources of a long table as arrays; None of one that is to be read row by row."""
    refuse_many(table.rows)
    names = _names(table.heading)
    refuse_odd_table([(1, "")], [], names, (*DIMENSIONS, *TEXTS), DIMENSIONS)
    _check_columns(names)
    columns = {name: place for place, name in enumerate(names)}
    numbers = table.cells([n for n in names if n in DIMENSIONS], columns, float)
    texts = table.cells([n for n in names if n in TEXTS], columns, object)
    return None if numbers is None or texts is None else _of_columns(names, numbers, texts)


def _refuse_unlike_row(lines, names, rows):
    """Refuse a large table that cannot be read column by column; names the first row because of
    which.
    """
    for (n, _), cells in zip(lines[1:], rows):
        numbers = [cell for cell, name in zip(cells, names) if name in DIMENSIONS]
        try:
            plain = len(cells) == len(names) and np.isfinite(floats(numbers)).all()
        except ValueError:
            plain = False
        if not plain:
            _source(n, dict(zip(names, cells)))
            refuse_unlike(len(rows), f"line {n} has a unit, or not all entries")
    refuse_unlike(len(rows), "not all times and mechanisms can be read")


def _by_column(names, rows):
    """Return the sources of rows that hold plain numbers in all columns but ``name``, column by
    column; None of others, which are read one by one.
    """
    if len(set(names)) < len(names) or {len(row) for row in rows} != {len(names)}:
        return None
    columns = dict(zip(names, zip(*rows)))
    try:
        numbers = {n: floats(columns[n]) for n in names if n in DIMENSIONS}
    except ValueError:  # units, gaps, faults
        return None
    if not all(np.isfinite(column).all() for column in numbers.values()):
        return None
    texts = {n: [text.strip() for text in columns[n]] for n in TEXTS if n in columns}
    return _of_columns(names, numbers, texts)


def _of_columns(names, numbers, texts):
    """Return `FileSources` of columns of numbers and of texts; None where a time or a mechanism
    cannot be read, which is told row by row.
    """
    on_earth = {"longitude", "latitude"} <= set(numbers)
    x, y = ("longitude", "latitude") if on_earth else ("x", "y")
    depth = numbers["depth"] if "depth" in numbers else -numbers["z"]
    nothing = np.zeros(len(depth))
    shift, width = (numbers.get(name, nothing) for name in ("time_shift", "half_duration"))
    origins = None
    try:
        mechanisms = _mechanisms(numbers, _mechanism(names))
        if "time" in texts:
            shift, origins = _shifted(shift, texts["time"])
    except ValueError:
        return None
    return FileSources(
        *(numbers[x], numbers[y], depth, shift, width),
        names=texts.get("name"),
        origins=origins,
        coordinates="geographic" if on_earth else "metres",
        **mechanisms,
    )


def _shifted(shift, texts):
    """Return time shifts from the earliest of the times of events, and that as the origin of all."""
    times = [_time(0, text) for text in texts]
    origin = min(times)
    later = [(time - origin).total_seconds() for time in times]
    return shift + np.array(later), [origin.isoformat()] * len(times)


def _mechanisms(numbers, columns):
    """Return what `FileSources` holds of mechanisms, by name."""
    values = np.array([numbers[name] for name in columns])
    if columns == FORCE:
        return {"force": values.T}
    if columns == GLOBAL_CMT:
        return {"moment": np.moveaxis(moment_tensor(values), -1, 0)}
    if columns == LOCAL:
        xx, yy, zz, xy, xz, yz = values
        tensors = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return {"moment": np.moveaxis(tensors, -1, 0)}
    sizes = values[-1]
    if columns[-1] == "magnitude":
        sizes = np.array([magnitude_to_moment(magnitude) for magnitude in sizes.tolist()])
    if len(columns) == 1:
        return {"moment": sizes[:, None, None] * np.eye(3)}
    return {"plane": np.column_stack([*values[:3], sizes])}


def _time(line, text):
    """Time of an event, UTC without saying so."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"line {line}: time is {text.strip()!r}, not like 2020-01-31T12:00:00") from None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _check_columns(names):
    held = f"; its columns are {', '.join(names)}"
    if not any({a, b} <= set(names) for a, b in (("longitude", "latitude"), ("x", "y"))):
        raise ValueError(f"it needs the columns longitude and latitude, or x and y{held}")
    if ("depth" in names) == ("z" in names):
        raise ValueError(f"it needs exactly one of the columns depth and z{held}")
    if _mechanism(names) is None:
        raise ValueError(
            "it needs a mechanism: strike, dip, rake with moment or magnitude; the six of a moment "
            f"tensor (mrr ... or mxx ...); fx, fy, fz; or moment of an explosion{held}"
        )
    angles = [name for name in COUPLE if name in names]
    if angles and len(_mechanism(names)) == 1:
        missing = ", ".join(name for name in COUPLE if name not in names)
        raise ValueError(f"it has {', '.join(angles)}, but no column {missing}{held}")


def _mechanism(names):
    """Columns of the mechanism that a file has."""
    size = next(((name,) for name in ("moment", "magnitude") if name in names), None)
    kinds = [GLOBAL_CMT, LOCAL, FORCE, *([COUPLE + size, size] if size else [])]
    return next((columns for columns in kinds if set(columns) <= set(names)), None)


def _source(line, cells):
    """One row; its numbers in SI."""
    texts = {name: text.strip() for name, text in cells.items()}
    try:
        row = {name: _number(texts[name], name) for name in DIMENSIONS if texts.get(name)}
        on_earth = "longitude" in row and "latitude" in row
        x, y = ("longitude", "latitude") if on_earth else ("x", "y")
        place = row[x], row[y], row["depth"] if "depth" in texts else -row["z"]
        return FileSource(
            *place,
            row.get("time_shift", 0.0),
            row.get("half_duration", 0.0),
            name=texts.get("name", ""),
            coordinates="geographic" if on_earth else "metres",
            **_moment_or_force(row, _mechanism(row)),
        )
    except KeyError as error:
        raise ValueError(f"line {line}: no {error.args[0]}") from None
    except (UnitError, ValueError) as error:
        raise ValueError(f"line {line}: {error}") from None


def _moment_or_force(row, columns):
    if columns is None or len(columns) == 1 and set(COUPLE) & set(row):
        raise ValueError("the mechanism is not complete")
    values = [row[name] for name in columns]
    if columns == FORCE:
        return {"force": np.array(values)}
    if columns == GLOBAL_CMT:
        return {"moment": moment_tensor(values)}
    if columns == LOCAL:
        xx, yy, zz, xy, xz, yz = values
        return {"moment": np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])}
    size = magnitude_to_moment(values[-1]) if columns[-1] == "magnitude" else values[-1]
    if len(columns) == 1:
        return {"moment": size * np.eye(3)}
    return {"plane": (*values[:3], size)}


def _number(text, name):
    if "_" in text:
        raise ValueError(f"{name}: {text!r} is not a number")
    try:
        value = float(text)
    except ValueError:
        value = text
    try:
        return si(value, DIMENSIONS[name])
    except UnitError as error:
        raise ValueError(f"{name}: {error}") from None
