"""Text files of SPECFEM3D with lines ``key: value`` in blocks, one for each source, column by column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from craton.io.contents import floats
from craton.io.limits import refuse_many

EVENT, FUNCTION = "event name", "source time function"  # may be missing; the first is text
CHUNK = 1 << 23  # characters of lines that are read at a time
ALIASES = {"latorutm": "latitude", "longorutm": "longitude", "hdur or f0": "hdurorf0", "f0": "hdurorf0"}
TITLE, EMPTY = 0, -1  # kinds of lines; those with the key n - 1 are of kind n


@dataclass(eq=False)
class Blocks:
    """Sources of a file: their title lines, the texts and numbers of each key (nan where an optional one is missing),
    and the numbers of all lines (0 where one is missing).
    """

    titles: list[str]
    starts: np.ndarray
    texts: list[str]
    values: dict[str, np.ndarray]
    lines: dict[str, np.ndarray]

    def __len__(self):
        return len(self.titles)


class _Kinds(dict):
    """Kinds of lines by their texts up to the colon."""

    def __init__(self, keys):
        self.keys_of_file = keys

    def __missing__(self, head):
        name = " ".join(head.lower().split())
        name = ALIASES.get(name, name)
        if name in self.keys_of_file:
            self[head] = 1 + self.keys_of_file.index(name)
            return self[head]
        return EMPTY if not name or name.startswith("#") else TITLE


def blocks_of(path, keys: Sequence[str], noun: str) -> Blocks:
    """Read the blocks of a file: a title line, then lines with all of `keys` in any order; a million in seconds, some
    20,000 at a time.

    `noun` names the format. Raises ValueError that says which line is wrong or missing, FileError for more sources than
    a run can have.
    """
    names = (*keys, EVENT, FUNCTION)
    kind_of, parts, count, first, lines, more = _Kinds(names), [], 0, 1, [], True
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        while more:
            more = file.readlines(CHUNK)
            lines, kinds, words = lines + more, [], []
            for line in lines:
                head, _, rest = line.partition(":")
                kinds.append(kind_of[head])
                words.append(rest)
            kinds = np.array(kinds, np.int8)
            titles = np.flatnonzero(kinds == TITLE)
            end = len(lines) if not more else titles[-1] if len(titles) else 0  # the last block may go on
            if end:
                parts.append(_blocks(lines[:end], kinds[:end], words[:end], first, names, len(keys), noun))
                count += len(parts[-1])
                refuse_many(count)
            first, lines = first + end, lines[end:]
    if not count:
        raise ValueError(f"line 1: the file is empty, so it is not a {noun}")
    joined = [
        {key: np.concatenate([getattr(p, name)[key] for p in parts]) for key in names} for name in ("values", "lines")
    ]
    texts = ([text for part in parts for text in getattr(part, name)] for name in ("titles", "texts"))
    titles, events = texts
    return Blocks(titles, np.concatenate([part.starts for part in parts]), events, *joined)


def _blocks(lines_of_file, kinds, words, first, names, needed, noun):
    """Return the `Blocks` of lines from a line number on, of their kinds and the words behind their colons."""
    number = first + np.arange(len(lines_of_file))
    block = np.cumsum(kinds == TITLE) - 1
    starts = number[kinds == TITLE]
    titles = [lines_of_file[n].strip() for n in np.flatnonzero(kinds == TITLE)]
    stray = (block < 0) & (kinds != EMPTY)
    if stray.any():
        n = int(stray.argmax())
        raise ValueError(f"line {first + n}: {lines_of_file[n].strip()[:40]!r} is before the title line of a source")
    words = np.array(words, object)
    lines, values, texts = {}, {}, [""] * len(titles)
    for kind, name in enumerate(names, 1):
        found = kinds == kind
        places, at = block[found], number[found]
        twice = np.flatnonzero(np.diff(places) == 0)
        if len(twice):
            raise ValueError(f'line {at[twice[0] + 1]}: "{name}" occurs twice, also in line {at[twice[0]]}')
        lines[name], values[name] = np.zeros(len(titles), int), np.full(len(titles), np.nan)
        lines[name][places] = at
        if name == EVENT:
            for place, text in zip(places, words[found]):
                texts[place] = text.strip()
        else:
            values[name][places] = _numbers(words[found].tolist(), at, name)
    missing = np.array([lines[name] == 0 for name in names[:needed]])
    if missing.any():
        n = int(missing.any(axis=0).argmax())
        if missing[:, n].all():
            raise ValueError(f'line {starts[n]}: {titles[n][:40]!r} is not a line of a {noun}, such as "{names[0]}: 0"')
        raise ValueError(f'line {starts[n]}: the source that starts here has no "{names[missing[:, n].argmax()]}"')
    return Blocks(titles, starts, texts, values, lines)


def _numbers(texts, lines, name):
    """Return the finite numbers that texts begin with, perhaps with words behind them or Fortran's exponents (1.d10)."""
    try:
        values = floats(texts)
        if np.isfinite(values).all():
            return values
    except ValueError:
        pass
    return np.array([number((text.split() or [""])[0], line, name) for line, text in zip(lines, texts)])


def number(word: str, line: int, name: str) -> float:
    """Return a finite number, with Fortran's exponents (1.d10); what is none is named with its line."""
    try:
        value = float(floats([word.lower().replace("d", "e")])[0])
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(
            f"line {line}: {name} is {word!r}, not a number" if word else f"line {line}: {name} has no value"
        )
    return value
