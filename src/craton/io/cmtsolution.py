"""CMTSOLUTION: moment tensors as Global CMT and SPECFEM give them, in dyn cm."""

import re
from datetime import datetime, timedelta

import numpy as np

from craton.io.contents import FileSource, FileSources, moment_tensor
from craton.io.keyed import EVENT, Block, blocks_of, columns_of

DYNE_CM = 1e-7  # N m
MOMENTS = ("mrr", "mtt", "mpp", "mrt", "mrp", "mtp")
# Letters of the catalogue, perhaps glued to the year; year month day hour minute seconds.
DATE = re.compile(r"\D*(\d{4})" + r"\s+(\d{1,2})" * 4 + r"\s+(\d{1,2}(?:\.\d*)?)(?:\s|$)")
# first line of the Global CMT: a catalogue of hypocentres and a year
CATALOGUE = re.compile(r"\s*(PDE[A-Z]?|ISC|SWE[A-Z]?|REB|MLI)\s*\d{4}\s")
# what any first line with a date, or any of a catalogue, has
DATED = re.compile(r"\d{4}\s+\d{1,2}\s+\d|\n" + CATALOGUE.pattern)
KEYS = ("time shift", "half duration", "latitude", "longitude", "depth", *MOMENTS)


def read(path, convention="rtp"):
    """Read every source of a file.

    Parameters
    ----------
    path : path-like
    convention : str
        Axes of the six moments, as of `craton.io.contents.moment_tensor`.

    Returns
    -------
    FileSources or list of FileSource

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is wrong or missing: says which.
    """
    many = _by_column(path, convention)
    if many is not None:
        return many
    return [_source(block, convention) for block in blocks_of(path, KEYS, "CMTSOLUTION")]


def _by_column(path, convention):
    """Return the sources of a file of blocks that are all alike, or None, also where one is wrong."""
    columns = columns_of(path, KEYS)
    if columns is None:
        return None
    titles, names, v = columns
    moments = DYNE_CM * np.array([v[k] for k in MOMENTS])
    if not moments.any(axis=0).all() or (v["half duration"] < 0).any():
        return None
    try:
        origins = _origins(titles)
    except ValueError:
        return None
    return FileSources(
        *(v["longitude"], v["latitude"], 1e3 * v["depth"], v["time shift"], v["half duration"]),
        np.moveaxis(moment_tensor(moments, convention), -1, 0),
        names=names,
        origins=origins,
    )


def _origins(titles):
    """Return `origin_of` of many first lines: list; a million without dates at once."""
    if not DATED.search("\n" + "\n".join(titles)):
        return [None] * len(titles)
    origins = {title: origin_of(Block(title, 1)) for title in dict.fromkeys(titles)}
    return [origins[title] for title in titles]


def _source(block, convention):
    v = block.values
    moments = DYNE_CM * np.array([v[k] for k in MOMENTS])
    if not moments.any():
        raise ValueError(f"line {block.line}: all components of the moment tensor are zero")
    if v["half duration"] < 0:
        raise ValueError(f"line {block.lines['half duration']}: half duration {v['half duration']:g} s is negative")
    place = v["longitude"], v["latitude"], 1e3 * v["depth"]
    moment, name = moment_tensor(moments, convention), block.texts.get(EVENT, "")
    origin = origin_of(block)
    return FileSource(*place, v["time shift"], v["half duration"], moment, name=name, origin=origin)


def origin_of(block):
    """Return the origin time that the first line of a block states, ISO 8601; None without a date.

    Parameters
    ----------
    block : craton.io.keyed.Block

    Raises
    ------
    ValueError
        There is no such date or time.
    """
    match = DATE.match(block.title)
    if match is None and CATALOGUE.match(block.title):
        raise ValueError(f"line {block.line}: the origin time is no date: {block.title[:60]!r}")
    if match is None:
        return None
    *date, seconds = match.groups()
    try:
        origin = datetime(*map(int, date)) + timedelta(seconds=float(seconds))
    except ValueError as error:
        raise ValueError(f"line {block.line}: the origin time is no date: {error}") from None
    return origin.isoformat()
