"""Text files of SPECFEM3D with lines ``key: value``, and numbers and lines of text files."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

EVENT, FUNCTION = "event name", "source time function"  # may be missing; the first is text
ALIASES = {
    "latorutm": "latitude",
    "longorutm": "longitude",
    "hdur or f0": "hdurorf0",
    "f0": "hdurorf0",
}


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
    lines = Path(path).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    return [
        (n, line)
        for n, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


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
            raise ValueError(
                f"line {n}: {line.strip()[:40]!r} is before the title line of a source"
            )
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
            raise ValueError(
                f'line {block.line}: the source that starts here has no "{missing[0]}"'
            )
    return blocks


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
        value = float(word.lower().replace("d", "e"))
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(
            f"line {line}: {name} is {word!r}, not a number"
            if word
            else f"line {line}: {name} has no value"
        )
    return value
