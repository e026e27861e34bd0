"""Text tables under a heading of column names: numbers, stations; separated by commas, semicolons, tabs or blanks."""
import csv

import numpy as np

from craton.io.keyed import lines_of
from craton.io.records import Stations
from craton.units import si

SEPARATORS = ",;\t"


def recognises(path):
    """Any text may be a table.

    Parameters
    ----------
    path : path-like
    """
    return True


def read_stations(path):
    """Read receivers: columns ``name, x, y`` and ``z`` (up) or ``depth``, in any order; lengths may carry a unit.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Stations
        In the axes of the model.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A column is missing, or a row is wrong: says which.
    """
    lines = lines_of(path)
    if len(lines) < 2:
        raise ValueError("no receivers: the file needs a header with column names and at least one row")
    separator = max(SEPARATORS, key=lines[0][1].count)
    heading, *rows = (next(csv.reader([line], delimiter=separator, skipinitialspace=True)) for _, line in lines)
    columns = _columns([name.strip().lower() for name in heading])
    names, x, y, height = zip(*(_station(n, cells, columns) for (n, _), cells in zip(lines[1:], rows)))
    deep = "depth" in columns
    return Stations(list(names), np.array(x), np.array(y), np.array(height) * (1 if deep else -1), deep, "model")


def _columns(heading):
    """Place of name, x, y and the height in a row, by name."""
    missing = [c for c in ("name", "x", "y") if c not in heading]
    if missing or ("z" in heading) == ("depth" in heading):
        fault = ("it has no column " + ", ".join(missing)) if missing else "it needs exactly one of the columns z and depth"
        raise ValueError(f"{fault}; its columns are {', '.join(heading)}")
    return {c: heading.index(c) for c in ("name", "x", "y", "z" if "z" in heading else "depth")}


def _station(number, cells, columns):
    try:
        name, *lengths = (cells[place].strip() for place in columns.values())
        if not name:
            raise ValueError("the name is empty")
        return name, *(_metres(text) for text in lengths)
    except IndexError:
        raise ValueError(f"line {number} has {len(cells)} columns, fewer than the header") from None
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def _metres(text):
    try:
        value = float(text)
    except ValueError:
        value = text
    return si(value, "length")
