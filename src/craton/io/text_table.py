"""Text tables under a heading of column names, separated by commas, semicolons, tabs or blanks: columns of numbers with
units and of texts; columns of plain numbers; samples of a wavelet.
"""

import csv
import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np

from craton.io.contents import FileError, floats
from craton.units import UnitError, si

SEPARATORS = ",;\t"
HEAD = 1 << 20  # characters in which a first line is looked for
FORTRAN = re.compile(r"([\d.])[dD]([-+]?\d+)$")  # an exponent
MISSPELT = 0.8  # likeness of a name to a known one, by difflib


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a table by name: numbers in SI units, nan where a cell is empty; texts; and the line of each row."""

    numbers: dict[str, np.ndarray]
    texts: dict[str, list[str]]
    lines: Sequence[int]


def recognises(path):
    """Any text may be a table."""
    return True


def columns(
    path,
    dimensions: dict[str, str],
    texts: Sequence[str],
    renamed: Callable[[list[str]], list[str]],
    required: Callable[[list[str]], Sequence[str]],
    heading: Sequence[str] = (),
    separator: str | None = None,
    refuse_many: Callable[[int], None] = lambda rows: None,
) -> Columns:
    """Read the columns with the names of `dimensions` (numbers that may carry a unit) and `texts`.

    `renamed` returns our names of the columns of a heading; `required` those of them that may not be empty, and raises
    ValueError where one is missing. A file without a heading, or with one that begins with "#", is read with the `heading` given.
    Raises ValueError that says which line is wrong; `refuse_many` may refuse the number of rows before they are read.
    """
    data = Path(path).read_bytes()
    at, first = first_line(path)
    if not heading and separator is None:
        separator = max(SEPARATORS, key=first.count)
        separator = separator if separator in first else None
    names = renamed([*heading] or _cells(first, separator))
    used = {name: place for place, name in enumerate(names) if name in dimensions or name in texts}
    _refuse_odd_heading(1 if heading else at, names, used, dimensions)
    needed = required(names)
    skipped = at - 1 if heading else at
    rows = data.count(b"\n") + (not data.endswith(b"\n")) - skipped
    refuse_many(rows)
    table = _plain_columns(data, skipped, rows, separator, names, used, dimensions)
    if table is None or not all("" not in table.texts[name] for name in needed if name in table.texts):
        lines = lines_of(path)[0 if heading else 1 :]
        table = _columns_by_row(lines, separator, names, used, needed, dimensions)
    return table


def _plain_columns(data, skipped, rows, separator, names, used, dimensions):
    """Return the columns of a table without comments, units and empty cells: a million rows in seconds. None of others."""
    kinds = [float if name in dimensions else object for name in names]
    try:
        with TextIOWrapper(BytesIO(data), encoding="utf-8-sig", errors="replace") as file:
            dtype = np.dtype({"names": [*map(str, range(len(names)))], "formats": kinds})
            quote = None if separator == "|" else '"'
            table = np.loadtxt(file, dtype, None, separator, skiprows=skipped, ndmin=1, quotechar=quote)
    except ValueError:
        return None
    values = {name: table[str(place)].copy() for name, place in used.items() if name in dimensions}
    if b"#" in data or len(table) != rows or not all(np.isfinite(column).all() for column in values.values()):
        return None
    texts = {name: [*map(str.strip, table[str(place)])] for name, place in used.items() if name not in dimensions}
    return Columns(values, texts, range(skipped + 1, skipped + 1 + rows))


def _columns_by_row(lines, separator, names, used, needed, dimensions):
    """Return the columns of any table, or say which line is wrong."""
    rows = [_cells(line, separator) for _, line in lines]
    least = max((used[name] for name in needed), default=0)
    for (n, _), cells in zip(lines, rows):
        if len(cells) <= least or separator and any(map(str.strip, cells[len(names) :])):
            raise ValueError(f"line {n}: {len(cells)} columns, not {len(names)}: {' '.join(names)}")
    table = Columns({}, {}, [n for n, _ in lines])
    for name, place in used.items():
        column = [cells[place].strip() if place < len(cells) else "" for cells in rows]
        if name in needed and "" in column:
            raise ValueError(f"line {lines[column.index('')][0]}: the {name} is empty")
        if name in dimensions:
            values = [_in_si(n, name, text, dimensions[name]) for n, text in zip(table.lines, column)]
            table.numbers[name] = np.array(values, float)
        else:
            table.texts[name] = column
    return table


def _cells(line, separator):
    if separator is None:
        return line.split()
    quoting = csv.QUOTE_NONE if separator == "|" else csv.QUOTE_MINIMAL
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True, quoting=quoting))


def _in_si(line, name, text, dimension):
    """Return a cell as a number in SI units, nan where it is empty; Fortran's exponents (1.d10) are understood."""
    if not text:
        return np.nan
    try:
        if "_" in text:
            raise UnitError(f"{text!r} is not a number")
        try:
            value = float(FORTRAN.sub(r"\1e\2", text))
        except ValueError:
            value = text
        return si(value, dimension)
    except UnitError as error:
        raise ValueError(f"line {line}: {name}: {error}") from None


def _refuse_odd_heading(line, names, used, known):
    """Refuse columns that stand twice, are misspelt, or whose names are no text: they would be missing."""
    for name in names:
        if "\ufffd" in name:
            raise ValueError(f"line {line}: the column {name!r} is no UTF-8 text")
        if name in used and names.count(name) > 1:
            raise ValueError(f"line {line}: the column {name} stands twice")
        close = name not in used and difflib.get_close_matches(name, set(known) - set(names), 1, MISSPELT)
        if close:
            raise ValueError(f"line {line}: the column {name!r} is not known; did you mean {close[0]}?")


def lines_of(path) -> list[tuple[int, str]]:
    """Return the lines of a text file that are not empty and no comment, with their numbers from 1."""
    text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    lines = enumerate(text.splitlines(), 1)
    return [(n, line) for n, line in lines if line and not line.isspace() and not line.lstrip().startswith("#")]


def first_line(path) -> tuple[int, str]:
    """Return number and text of the first line of a text file that is not empty and no comment; 1 and "" without one."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        read = n = 0
        while read < HEAD and (line := file.readline(HEAD)):
            read, n = read + len(line), n + 1
            if line.strip() and not line.lstrip().startswith("#"):
                return n, line.rstrip("\n")
    return 1, ""


def read(path: Path):
    """Read columns of numbers: their names, and a function that returns the values of a name.

    Raises FileError for something that is no number, or rows of another length than the heading.
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


def read_samples(path: Path) -> tuple[list[float], list[float]]:
    """Read times (s) and values in two columns, separated by blanks, commas or semicolons; "#" and "%" start a comment.

    A first line that is not two numbers is a heading; a later one raises ValueError that says which.
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
