"""Text tables under a heading of column names, separated by commas, semicolons, tabs or blanks: columns of numbers with
units and of texts; columns of plain numbers, in Parquet as well; samples of a wavelet.
"""

import csv
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from craton.io.contents import FileError, MissingLibrary, floats
from craton.io.libraries import library
from craton.io.units import UnitError, si

SEPARATORS = ",;\t"
BLOCK = 20_000  # rows that are read at a time
FORTRAN = re.compile(r"([\d.])[dD]([-+]?\d+)$")  # an exponent
MISSPELT = 0.8  # likeness of a name to a known one, by difflib


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a table by name: numbers in SI units, nan where a cell is empty; texts; and the line of each row."""

    numbers: dict[str, np.ndarray]
    texts: dict[str, list[str]]
    lines: Sequence[int]


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
    at, first = first_line(path)
    if not heading and separator is None:
        separator = max(SEPARATORS, key=first.count)
        separator = separator if separator in first else None
    names = renamed([*heading] or _cells(first, separator))
    used = [name for name in names if name in dimensions or name in texts]
    _refuse_odd_heading(1 if heading else at, names, used, dimensions)
    needed = required(names)
    least = max((names.index(name) + 1 for name in needed), default=1)
    kinds = [(str(place), float if name in dimensions else object) for place, name in enumerate(names)]
    parts, lines, rows = {name: [] for name in used}, [], iter_lines(path)
    for _ in range(not heading):
        next(rows, None)
    while block := list(islice(rows, BLOCK)):
        lines += [n for n, _ in block]
        refuse_many(len(lines))
        table = _plain([line for _, line in block], separator, kinds)
        if table is None:
            table = np.array([_row(*line, names, least, separator, dimensions) for line in block], kinds)
        for name in used:
            values = table[str(names.index(name))]
            if name in dimensions:
                empty = np.isnan(values)
            else:
                values = [text.strip() for text in values]
                empty = np.array([not text for text in values])
            if name in needed and empty.any():
                raise ValueError(f"line {block[empty.argmax()][0]}: the {name} is empty")
            parts[name].append(values)
    return Columns(
        {name: np.concatenate([[], *blocks]) for name, blocks in parts.items() if name in dimensions},
        {name: [*chain(*blocks)] for name, blocks in parts.items() if name not in dimensions},
        lines,
    )


def _plain(lines, separator, kinds):
    """Return rows of finite numbers without units and of texts without quotes; None where one is not so."""
    if separator != "|" and any('"' in line for line in lines):
        return None
    try:
        table = np.loadtxt(lines, kinds, comments=None, delimiter=separator, ndmin=1)
    except ValueError:
        return None
    return table if all(np.isfinite(table[name]).all() for name, kind in kinds if kind is float) else None


def _row(line, text, names, least, separator, dimensions):
    """Return the cells of a row under all names: numbers in SI units, and texts; refuse too few or too many."""
    cells = _cells(text, separator)
    if len(cells) < least or separator and any(map(str.strip, cells[len(names) :])):
        raise ValueError(f"line {line}: {len(cells)} columns, not {len(names)}: {' '.join(names)}")
    cells += [""] * (len(names) - len(cells))
    return tuple(
        _in_si(line, name, cell.strip(), dimensions[name]) if name in dimensions else cell
        for name, cell in zip(names, cells)
    )


def _cells(line, separator):
    if separator == "|" or '"' not in line:
        return line.split(separator)
    if separator is None:
        line, separator = " ".join(line.split()), " "
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True))


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


def iter_lines(path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file that are not empty and no comment, with their numbers from 1."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for n, line in enumerate(file, 1):
            text = line.strip()
            if text and text[0] != "#":
                yield n, line.rstrip("\n")


def first_line(path) -> tuple[int, str]:
    """Return number and text of the first line of `iter_lines`; 1 and "" without one."""
    return next(iter_lines(path), (1, ""))


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


def read_parquet(path: Path):
    """Read a Parquet table through pyarrow, as `read` does."""
    table = library("pyarrow.parquet", f"{path.name}: parquet", MissingLibrary).read_table(path)
    return table.column_names, lambda name: table[name].to_numpy()


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
