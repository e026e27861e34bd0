"""CMTSOLUTION: moment tensors as Global CMT and SPECFEM give them, in dyn cm; FORCESOLUTION: point forces of SPECFEM3D
Cartesian.
"""

import re
from datetime import datetime, timedelta

import numpy as np

from craton.io.contents import FileSource, FileSources, moment_tensor
from craton.io.keyed import FUNCTION, blocks_of

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
