"""CMTSOLUTION: moment tensors as Global CMT and SPECFEM give them, in dyn cm; FORCESOLUTION: point forces of SPECFEM3D
Cartesian. Both have lines ``key: value`` in blocks, one for each source.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from operator import itemgetter

import numpy as np

from craton.io.contents import FileSource, FileSources, floats, moment_tensor
from craton.io.limits import refuse_many

EVENT, FUNCTION = "event name", "source time function"  # may be missing; the first is text
ALIASES = {"latorutm": "latitude", "longorutm": "longitude", "hdur or f0": "hdurorf0", "f0": "hdurorf0"}
DYNE_CM = 1e-7  # N m
PLACE = ("latitude", "longitude", "depth")
MOMENTS = ("mrr", "mtt", "mpp", "mrt", "mrp", "mtp")
# Letters of the catalogue, perhaps glued to the year; year month day hour minute seconds.
DATE = re.compile(r"\D*(\d{4})" + r"\s+(\d{1,2})" * 4 + r"\s+(\d{1,2}(?:\.\d*)?)(?:\s|$)")
# first line of the Global CMT: a catalogue of hypocentres and a year
CATALOGUE = re.compile(r"\s*(PDE[A-Z]?|ISC|SWE[A-Z]?|REB|MLI)\s*\d{4}\s")
DIRECTION = ("component dir vect source e", "component dir vect source n", "component dir vect source z_up")
FORCE = ("time shift", "hdurorf0", *PLACE, "factor force source", *DIRECTION)
BATCH = 200  # sources that are read at a time
RICKER = "1"  # of a `FUNCTION`: files of before this key existed mean a Ricker wavelet of peak frequency f0
# source time functions of forces by their number
FUNCTIONS = ("gaussian", "ricker", "2, a step", "3, monochromatic", "4, the Gaussian of Meschede et al.")


def read(path, convention: str = "rtp") -> FileSources:
    """Read every source of a CMTSOLUTION; `convention` names the axes of the six moments, as of `moment_tensor`."""
    blocks = blocks_of(path, ("time shift", "half duration", *PLACE, *MOMENTS), "CMTSOLUTION")
    v = blocks.values
    moments = DYNE_CM * np.array([v[key] for key in MOMENTS])
    if not (some := moments.any(axis=0)).all():
        raise ValueError(f"line {blocks.starts[some.argmin()]}: all components of the moment tensor are zero")
    if (negative := v["half duration"] < 0).any():
        n = negative.argmax()
        line = _line_of(path, blocks.starts[n], "half duration")
        raise ValueError(f"line {line}: half duration {v['half duration'][n]:g} s is negative")
    origins = {}
    for line, title in zip(blocks.starts, blocks.titles):
        if title not in origins:
            origins[title] = origin_of(title, line)
    return FileSources(
        *(v["longitude"], v["latitude"], 1e3 * v["depth"], v["time shift"], v["half duration"]),
        np.moveaxis(moment_tensor(moments, convention), -1, 0),
        names=blocks.texts,
        origins=[origins[title] for title in blocks.titles],
    )


def origin_of(title: str, line: int = 1) -> str | None:
    """Return the origin time that the first line of a block states, ISO 8601; None without a date."""
    match = DATE.match(title)
    if match is None and CATALOGUE.match(title):
        raise ValueError(f"line {line}: the origin time is no date: {title[:60]!r}")
    if match is None:
        return None
    *date, seconds = match.groups()
    try:
        origin = datetime(*map(int, date)) + timedelta(seconds=float(seconds))
    except ValueError as error:
        raise ValueError(f"line {line}: the origin time is no date: {error}") from None
    return origin.isoformat()


def read_forces(path) -> list[FileSource]:
    """Read every source of a FORCESOLUTION."""
    blocks = blocks_of(path, FORCE, "FORCESOLUTION")
    v, sources = blocks.values, []
    for n, (title, line) in enumerate(zip(blocks.titles, blocks.starts)):
        vector, size = np.array([v[key][n] for key in DIRECTION]), v["factor force source"][n]
        if not vector.any() or not size:
            raise ValueError(f"line {line}: the force is zero")
        function = v[FUNCTION][n]
        if function not in range(len(FUNCTIONS)):
            line = _line_of(path, line, FUNCTION)
            raise ValueError(f"line {line}: source time function {function:g} is unknown, it is 0 to 4")
        place = v["longitude"][n], v["latitude"][n], 1e3 * v["depth"][n]
        force, wavelet = size * vector / np.linalg.norm(vector), FUNCTIONS[int(function)]
        sources.append(
            FileSource(*place, v["time shift"][n], v["hdurorf0"][n], force=force, wavelet=wavelet, name=title)
        )
    return sources


@dataclass(eq=False)
class Blocks:
    """Sources of a file: their title lines and the numbers of these, the texts of `EVENT`, and the numbers by key."""

    titles: list[str]
    starts: list[int]
    texts: list[str]
    values: dict[str, np.ndarray]


def blocks_of(path, keys: Sequence[str], noun: str) -> Blocks:
    """Read the blocks of a file: a title line, then lines with all of `keys` in any order.

    `noun` names the format. Raises ValueError that says which line is wrong or missing, FileError for more sources than
    a run can have.
    """
    titles, starts, texts, values = [], [], [], {name: [] for name in (*keys, FUNCTION)}
    blocks, needed, of_keys = _iter_blocks(path, (*keys, EVENT, FUNCTION)), {*keys}, itemgetter(*values)
    while batch := list(islice(blocks, BATCH)):
        for title, start, entries in batch:
            if not needed <= entries.keys():
                missing = [key for key in keys if key not in entries]
                fault = f'the source that starts here has no "{missing[0]}"'
                if len(missing) == len(keys):
                    fault = f'{title[:40]!r} is not a line of a {noun}, such as "{keys[0]}: 0"'
                raise ValueError(f"line {start}: {fault}")
            titles.append(title)
            starts.append(start)
            texts.append(entries.get(EVENT, "").strip())
            entries.setdefault(FUNCTION, RICKER)
        refuse_many(len(titles))
        columns = zip(*[of_keys(entries) for _, _, entries in batch])
        for name, column in zip(values, columns):
            values[name].append(_numbers(path, starts[-len(batch) :], name, column))
    if not titles:
        raise ValueError(f"line 1: the file is empty, so it is not a {noun}")
    return Blocks(titles, starts, texts, {name: np.concatenate(parts) for name, parts in values.items()})


def _iter_blocks(path, keys):
    """Yield each block: its title, the line of that, and by key the text behind the colon."""
    spelt, title, start, entries = {}, None, 0, {}
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for n, line in enumerate(file, 1):
            head, _, rest = line.partition(":")
            key = spelt.get(head)
            if key is None:
                key = _key(head)
                if not key or key.startswith("#"):
                    continue
                if key not in keys:
                    if title is not None:
                        yield title, start, entries
                    title, start, entries = line.strip(), n, {}
                    continue
                spelt[head] = key
            if title is None:
                raise ValueError(f"line {n}: {line.strip()[:40]!r} is before the title line of a source")
            if key in entries:
                raise ValueError(f'line {n}: "{key}" occurs twice, also in line {_line_of(path, start, key)}')
            entries[key] = rest
    if title is not None:
        yield title, start, entries


def _key(head):
    """Return our name of a key."""
    name = " ".join(head.lower().split())
    return ALIASES.get(name, name)


def _line_of(path, start, key):
    """Return the number of the first line with a key behind a line."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return next(n for n, line in enumerate(file, 1) if n > start and _key(line.partition(":")[0]) == key)


def _numbers(path, starts, name, texts):
    """Return the numbers of a key in blocks that begin at some lines: plain ones at once, others one by one."""
    try:
        values = floats(texts)
        if np.isfinite(values).all():
            return values
    except ValueError:
        pass
    return np.array([_number(path, start, name, text) for start, text in zip(starts, texts)])


def _number(path, start, name, text):
    """Return the finite number that a text begins with, perhaps with Fortran's exponent (1.d10) and words behind it; what is
    none is named with its line.
    """
    word = (text.split() or [""])[0]
    try:
        value = float(word.lower().replace("d", "e").replace("_", "none"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        fault = f"is {word!r}, not a number" if word else "has no value"
        raise ValueError(f"line {_line_of(path, start, name)}: {name} {fault}")
    return value
