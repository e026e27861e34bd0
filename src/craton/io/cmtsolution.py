"""CMTSOLUTION: moment tensors as Global CMT and SPECFEM give them, in dyn cm; FORCESOLUTION: point forces of SPECFEM3D
Cartesian. Both have lines ``key: value`` in blocks, one for each source.
"""

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from craton.io.contents import FileSource, FileSources, moment_tensor
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
        raise ValueError(
            f"line {blocks.lines['half duration'][n]}: half duration {v['half duration'][n]:g} s is negative"
        )
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
        # Files of before this key existed mean a Ricker wavelet of peak frequency f0.
        function = v[FUNCTION][n] if blocks.lines[FUNCTION][n] else 1
        if function not in range(len(FUNCTIONS)):
            raise ValueError(
                f"line {blocks.lines[FUNCTION][n]}: source time function {function:g} is unknown, it is 0 to 4"
            )
        place = v["longitude"][n], v["latitude"][n], 1e3 * v["depth"][n]
        force, wavelet = size * vector / np.linalg.norm(vector), FUNCTIONS[int(function)]
        sources.append(
            FileSource(*place, v["time shift"][n], v["hdurorf0"][n], force=force, wavelet=wavelet, name=title)
        )
    return sources


@dataclass(eq=False)
class Blocks:
    """Sources of a file: their title lines and the numbers of these, the texts of `EVENT`; and by key the numbers (nan
    where an optional one is missing) and their lines (0 where one is missing).
    """

    titles: list[str]
    starts: list[int]
    texts: list[str]
    values: dict[str, np.ndarray]
    lines: dict[str, np.ndarray]


def blocks_of(path, keys: Sequence[str], noun: str) -> Blocks:
    """Read the blocks of a file: a title line, then lines with all of `keys` in any order.

    `noun` names the format. Raises ValueError that says which line is wrong or missing, FileError for more sources than
    a run can have.
    """
    names = (*keys, EVENT, FUNCTION)
    titles, starts, texts, spelt = [], [], [], {}
    values, lines = {name: array("d") for name in names}, {name: array("q") for name in names}
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for n, line in enumerate(file, 1):
            head, _, rest = line.partition(":")
            name = spelt.get(head)
            if name is None:
                name = " ".join(head.lower().split())
                name = ALIASES.get(name, name)
            if name in lines:
                spelt[head] = name
            else:
                if name and not name.startswith("#"):
                    titles.append(line.strip())
                    starts.append(n)
                    texts.append("")
                    refuse_many(len(titles))
                    for key in names:
                        values[key].append(np.nan)
                        lines[key].append(0)
                continue
            if not titles:
                raise ValueError(f"line {n}: {line.strip()[:40]!r} is before the title line of a source")
            if lines[name][-1]:
                raise ValueError(f'line {n}: "{name}" occurs twice, also in line {lines[name][-1]}')
            lines[name][-1] = n
            if name == EVENT:
                texts[-1] = rest.strip()
            else:
                values[name][-1] = number(rest, n, name)
    if not titles:
        raise ValueError(f"line 1: the file is empty, so it is not a {noun}")
    blocks = Blocks(titles, starts, texts, *({n: np.array(c) for n, c in part.items()} for part in (values, lines)))
    missing = np.array([blocks.lines[name] == 0 for name in keys])
    if missing.any():
        n = int(missing.any(axis=0).argmax())
        if missing[:, n].all():
            raise ValueError(f'line {starts[n]}: {titles[n][:40]!r} is not a line of a {noun}, such as "{keys[0]}: 0"')
        raise ValueError(f'line {starts[n]}: the source that starts here has no "{keys[missing[:, n].argmax()]}"')
    return blocks


def number(text: str, line: int, name: str) -> float:
    """Return the finite number that a text begins with, perhaps with Fortran's exponent (1.d10) and words behind it; what is
    none is named with its line.
    """
    word = (text.split() or [""])[0]
    try:
        value = float(word.lower().replace("d", "e").replace("_", "none"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(
            f"line {line}: {name} is {word!r}, not a number" if word else f"line {line}: {name} has no value"
        )
    return value
