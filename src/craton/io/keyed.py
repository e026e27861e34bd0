"""Text files of SPECFEM3D with lines ``key: value``, and numbers and lines of text files."""

import difflib
import warnings
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from craton.io.contents import floats
from craton.io.limits import refuse_many, refuse_unlike

EVENT, FUNCTION = "event name", "source time function"  # may be missing; the first is text
HEAD = 1 << 20  # characters in which a first line is looked for
CHUNK = 1 << 25  # characters of lines that are read at a time
PLAIN = b"0123456789+-.eE\n"  # what numbers in lines of their own are made of
MISSPELT = 0.8  # likeness of a name to a known one, by difflib
ALIASES = {"latorutm": "latitude", "longorutm": "longitude", "hdur or f0": "hdurorf0", "f0": "hdurorf0"}


@dataclass
class Block:
    """The lines of one source: its title, and by key in small letters the numbers, texts and line
    numbers.
    """

    title: str
    line: int
    values: dict = field(default_factory=dict)
    texts: dict = field(default_factory=dict)
    lines: dict = field(default_factory=dict)


def lines_of(path):
    """Lines of a text file that are not empty and no comment.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    list of (int, str)
        Number of the line, from 1, and its text.
    """
    text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    lines = enumerate(text.splitlines(), 1)
    if "#" not in text:
        return [(n, line) for n, line in lines if line and not line.isspace()]
    return [(n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#")]


def refuse_odd_table(lines, rows, names, used, known):
    """Refuse a table with a used column that stands twice, a misspelt one, or a row that is longer
    than the heading.

    Parameters
    ----------
    lines : list of (int, str)
        As of `lines_of`: the heading and the rows.
    rows : list of list of str
        Cells below the heading.
    names : list of str
        Of the columns.
    used : collection of str
        Names of columns that are read of this table.
    known : collection of str
        Names of columns whose numbers are read where a table has them.

    Raises
    ------
    ValueError
    """
    refuse_unreadable(lines[0][0], names)
    if twice := next((name for name in used if names.count(name) > 1), None):
        raise ValueError(f"line {lines[0][0]}: the column {twice} stands twice")
    missing = [name for name in known if name not in names]
    for name in set(names).difference(known, used):
        if close := difflib.get_close_matches(name, missing, 1, MISSPELT):
            raise ValueError(f"line {lines[0][0]}: the column {name!r} is not known; did you mean {close[0]}?")
    for (n, _), cells in zip(lines[1:], rows):
        if len(cells) > len(names) and any(map(str.strip, cells[len(names) :])):
            raise ValueError(f"line {n} has {len(cells)} columns, the heading {len(names)}")


def refuse_unreadable(line, names):
    """Refuse names of columns with bytes that are no text: the column would be missing.

    Parameters
    ----------
    line : int
        Of the heading.
    names : list of str

    Raises
    ------
    ValueError
    """
    for name in names:
        if "\ufffd" in name:
            raise ValueError(f"line {line}: the column {name!r} is no UTF-8 text")


def first_line(path):
    """Return the first line of a text file that is not empty and no comment; empty without one.

    Parameters
    ----------
    path : path-like
    """
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        read = 0
        while read < HEAD and (line := file.readline(HEAD)):
            read += len(line)
            if line.strip() and not line.lstrip().startswith("#"):
                return line
    return ""


def blocks_of(path, keys, noun):
    """Blocks of ``key: value`` lines, each behind a title line and with all its keys.

    Parameters
    ----------
    path : path-like
    keys : sequence of str
        Those that a block must have, with numbers.
    noun : str
        Name of the format, for messages.

    Returns
    -------
    list of Block

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is wrong or missing: says which.
    """
    blocks = []
    for n, line in lines_of(path):
        key, value = _key(line, (*keys, EVENT, FUNCTION))
        if key is None:
            blocks.append(Block(line.strip(), n))
        elif not blocks:
            raise ValueError(f"line {n}: {line.strip()[:40]!r} is before the title line of a source")
        else:
            _take(blocks[-1], n, key, value)
    if not blocks:
        raise ValueError(f"line 1: the file is empty, so it is not a {noun}")
    for block in blocks:
        missing = [k for k in keys if k not in block.values]
        if len(missing) == len(keys):
            raise ValueError(
                f'line {block.line}: {block.title[:40]!r} is not a line of a {noun}, such as "{keys[0]}: 0"'
            )
        if missing:
            raise ValueError(f'line {block.line}: the source that starts here has no "{missing[0]}"')
    return blocks


def columns_of(path, keys):
    """Titles, texts and numbers of a file whose blocks all have the same lines in the same order,
    column by column: a million blocks in seconds, some 100,000 at a time. None of another file, and
    of one with a fault, which `blocks_of` reads and names.

    Parameters
    ----------
    path : path-like
    keys : sequence of str
        As of `blocks_of`.

    Returns
    -------
    titles : list of str
    texts : list of str
        Names of events; empty where the file has none.
    values : dict of str to ndarray, shape (n,)

    Raises
    ------
    FileError
        More sources than a run can have; or more than can be read one by one, with one that is not
        like the others.
    """
    layout, rest, parts, count = None, [], [], 0
    for text in _texts_of_lines(path):
        lines = rest + _without_comments(text)
        layout = layout or _layout(lines, keys)
        if layout is None:
            return None
        whole = len(lines) // len(layout) * len(layout)
        if not whole:
            rest = lines
            continue
        part = _columns(lines[:whole], layout)
        if part is None:
            refuse_unlike(_blocks(path), f"a source from number {count + 1:,} on is unlike the first")
            return None
        parts.append(part)
        rest, count = lines[whole:], count + whole // len(layout)
        refuse_many(count)
    if rest or not parts:
        return None
    titles, texts, values = zip(*parts)
    joined = {name: np.concatenate([part[name] for part in values]) for name in values[0]}
    return [*chain(*titles)], [*chain(*texts)], joined


def _texts_of_lines(path):
    """Texts of many whole lines each, one after another."""
    rest = ""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        while text := file.read(CHUNK):
            lines, end, last = (rest + text).rpartition("\n")
            yield lines
            rest = last
    yield rest


def _blocks(path):
    """Count the lines of a file that state a depth, as each block does."""
    return sum(text.lower().count("\ndepth") for text in _texts_of_lines(path))


def _without_comments(text):
    """Lines of a text that are neither empty nor comments."""
    lines = filter(str.strip, text.split("\n"))
    return [line for line in lines if not line.lstrip().startswith("#")] if "#" in text else [*lines]


def _layout(lines, keys):
    """(key, text up to the colon) of the lines of the first block, the title being None; None of a
    file that is to be read block by block.
    """
    names = (*keys, EVENT, FUNCTION)
    layout = [_key(line, names)[0] for line in lines[: len(names) + 2]]
    period = next((n for n, key in enumerate(layout) if n and key is None), len(layout))
    held = set(layout[1:period])
    odd = layout[0] is not None or FUNCTION in held
    if odd or len(held) != period - 1 or not set(keys) <= held:
        return None
    return [(key, line[: line.index(":") + 1] if key else "") for key, line in zip(layout[:period], lines)]


def _columns(lines, layout):
    """Titles, names of events and numbers of blocks of one layout; None where a line differs."""
    period, texts, values = len(layout), [""] * (len(lines) // len(layout)), {}
    for place, (name, head) in enumerate(layout[1:], 1):
        column = "\n" + "\n".join(lines[place::period])
        if column.count("\n" + head) != len(texts):
            return None
        column = column.replace("\n" + head + " ", "\n").replace("\n" + head, "\n")[1:]
        if name == EVENT:
            texts = [cell.strip() for cell in column.split("\n")]
            continue
        values[name] = _floats(column)
        if values[name] is None or not np.isfinite(values[name]).all():
            return None
    titles = [title.strip() for title in lines[::period]]
    names = tuple(name for name, _ in layout[1:])
    if any(_key(title, names)[0] for title in dict.fromkeys(titles) if ":" in title):
        return None
    return titles, texts, values


def _floats(column):
    """Numbers of the lines of a text, of which each is one, perhaps with words behind it or
    Fortran's exponent; None where one is not.
    """
    values = _plain_floats(column)
    if values is not None:
        return values
    texts = column.split("\n")
    try:
        return floats(texts)
    except ValueError:
        pass
    try:
        return floats([text.split()[0].lower().replace("d", "e") for text in texts])
    except (ValueError, IndexError):
        return None


def _plain_floats(column):
    """Numbers of the lines of a text without anything else; None of another text."""
    plain = column.isascii() and not column.encode().translate(None, PLAIN)
    if not plain or "\n\n" in column or column[:1] in ("", "\n") or column[-1] == "\n":
        return None
    try:
        with warnings.catch_warnings(action="error"):
            values = np.fromstring(column, sep=" ")
    except (DeprecationWarning, ValueError):  # such as 1-2
        return None
    return values if len(values) == column.count("\n") + 1 else None


def _key(line, keys):
    """(key, text behind it) of a line; (None, "") where it has none of the keys."""
    name, colon, rest = line.partition(":")
    name = " ".join(name.lower().split())
    name = ALIASES.get(name, name)
    return (name, rest.strip()) if colon and name in keys else (None, "")


def _take(block, n, key, value):
    if key in block.lines:
        raise ValueError(f'line {n}: "{key}" occurs twice, also in line {block.lines[key]}')
    block.lines[key] = n
    if key == EVENT:
        block.texts[key] = value
    else:
        block.values[key] = number(value.split()[0] if value else "", n, key)


def number(word, line, name):
    """Return a finite number, with Fortran's exponents (1.d10).

    Parameters
    ----------
    word : str
    line : int
    name : str
        What it is, for messages.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Says line and name.
    """
    try:
        value = float(floats([word.lower().replace("d", "e")])[0])
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(
            f"line {line}: {name} is {word!r}, not a number" if word else f"line {line}: {name} has no value"
        )
    return value
