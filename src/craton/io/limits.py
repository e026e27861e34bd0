"""Numbers of files within the limits of a scenario's keys: what no planet has is refused before
anything is made of it.
"""

import numpy as np

from craton.io.contents import FileError, FileSources
from craton.io.units import DIMENSIONS, LARGEST, SMALLEST
from craton.text import control, printable

MOST_POINTS = 1_000_000  # sources of a file, column by column
MOST_ROWS = 100_000  # and of one whose rows or blocks are read one by one
MOST_STATIONS = 1_000_000
LIMITS = {name: (largest, DIMENSIONS[name][0]) for name, largest in LARGEST.items()}  # and unit
LIMITS |= {"turn": (3600.0, "degrees"), "sample": (1e15, ""), "area": (5.2e14, "m2")}  # surface of the Earth
LIMITS |= {"slip": (1e4, "m"), "slip rate": (1e4, "m/s")}  # a hundred times what was ever observed
# Longitude and latitude in degrees or metres: callers know the limits of angles.
PLACE = dict.fromkeys(("longitude", "latitude", "depth"), "length")
SOURCE = PLACE | {"shift": "time", "width": "time", "moment": "moment", "force": "force"}
NOUNS = {"shift": "time shift", "width": "half duration", "moment": "moment, component", "force": "force, component"}
RUPTURE = PLACE | {"onset": "time", "interval": "time", "vs": "velocity", "density": "density"}
RUPTURE |= {"slip": "slip", "rates": "slip rate", "area": "area"} | dict.fromkeys(("strike", "dip", "rake"), "turn")
REMEDY = "Correct the number or its unit."


def check(contents, holds: str):
    """Refuse what a file holds beyond the limits: raise FileError that names the first number and the limit.

    `holds` is that of a `craton.io.Format`.
    """
    checks = {"source": _sources, "station": _stations, "mesh": _mesh, "wavelet": _wavelet, "radial model": _radial}
    if holds in checks:
        checks[holds](contents)


def refuse_many(count: int):
    """Refuse more point sources than one run can have, before they are read."""
    if count > MOST_POINTS:
        raise FileError(
            f"its {count:,} point sources are more than the {MOST_POINTS:,} that one run can have",
            "Write them as a rupture (SRF), or split the file.",
        )


def refuse_unlike(count: int, reason: str):
    """Refuse many sources that are to be read one by one, because one is not like the others."""
    if count > MOST_ROWS:
        raise FileError(
            f"{reason}: more than {MOST_ROWS:,} sources are read where all have the same entries, "
            "plain numbers without units",
            "Correct the line, write all sources in the same way, or split the file.",
        )


def within(name: str, values, dimension: str, missing=False):
    """Refuse numbers that are not finite or beyond a limit of `LIMITS`; with `missing`, nan stands for one that the file
    does not have.
    """
    (largest, unit), values = LIMITS[dimension], np.asarray(values, float)
    good = (np.abs(values) <= largest) | (missing & np.isnan(values))
    if not good.all():
        first = int(np.argmin(good.ravel()))
        if not np.isfinite(values.flat[first]):
            raise FileError(f"{name} {first + 1} is not finite", REMEDY)
        value = f"{values.flat[first]:.6g} {unit}".rstrip()
        limit = f"{largest:g} {unit}".rstrip()
        raise FileError(f"{name} {first + 1} is {value}: no more than {limit} is possible", REMEDY)


def _printable(noun, texts):
    """Refuse names with control characters."""
    texts = [str(text) for text in texts or () if text is not None]
    if character := control("".join(texts)):
        text = next(text for text in texts if control(text))
        words = f"the {noun} {printable(text)} has the control character {character}"
        raise FileError(words, "Write letters that a terminal and a file can show.")


def _sources(contents):
    if hasattr(contents, "rates"):
        for name, dimension in RUPTURE.items():
            noun = f"{'slip rate' if name == 'rates' else name} of the rupture, number"
            within(noun, getattr(contents, name), dimension, missing=name in ("vs", "density"))
        return
    refuse_many(len(contents))
    is_table = isinstance(contents, FileSources)
    _printable("name", contents.names if is_table else [source.name for source in contents])
    columns = {name: _column(contents, name) for name in (*SOURCE, "plane")}
    for name, dimension in SOURCE.items():
        within(NOUNS.get(name, name), columns[name], dimension)
    if (columns["width"] < 0).any():
        raise FileError(f"a half duration or frequency is {columns['width'].min():g}: below 0", REMEDY)
    planes = columns["plane"].reshape(-1, 4)
    within("strike, dip or rake", planes[:, :3], "turn")
    within("moment", planes[:, 3], "moment")
    sizes = np.append(np.abs(columns["moment"]).reshape(-1, 9).max(axis=1, initial=0), np.abs(planes[:, 3]))
    for noun, values, kind, unit in (
        ("half duration or frequency", columns["width"], "time", ""),
        ("moment", sizes, "moment", " N m"),
    ):
        if ((values > 0) & (values < SMALLEST[kind])).any():
            raise FileError(f"a {noun} is below {SMALLEST[kind]:g}{unit}, but not 0", REMEDY)


def _column(contents, name):
    """Return what sources of a file have under a name, as an array; empty without any."""
    if isinstance(contents, FileSources):
        values = getattr(contents, name)
        return np.empty(0) if values is None else values
    values = [getattr(source, name) for source in contents]
    return np.array([value for value in values if value is not None], float)


def _stations(contents):
    for noun, texts in (("name", contents.names), ("network", contents.networks), ("code", contents.codes)):
        _printable(noun, texts)
    if len(contents.names) > MOST_STATIONS:
        count = len(contents.names)
        raise FileError(
            f"its {count:,} receivers are more than the {MOST_STATIONS:,} that one run can have",
            "Write fewer, or split the file over runs.",
        )
    for name in ("x", "y", "depth"):
        within(name, getattr(contents, name), "length")
    if contents.elevation is not None:
        within("elevation", contents.elevation, "length", missing=True)


def _radial(table):
    within("radius", table.radius, "length")
    for name, values in table.columns.items():
        if name == "rho" or name.startswith("v"):
            within(f"{name}, row", values, "density" if name == "rho" else "velocity", missing=True)


def _mesh(parts):
    within("coordinate", parts.points, "length")


def _wavelet(contents):
    times, values = contents
    within("time", times, "time")
    within("sample", values, "sample")
