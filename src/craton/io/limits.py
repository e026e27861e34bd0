"""Numbers of files within the limits of a scenario's keys: what no planet has is refused before
anything is made of it.
"""

import numpy as np

from craton.io.contents import FileError, FileSources
from craton.text import control, printable
from craton.units import DIMENSIONS, LARGEST, SMALLEST

MOST_POINTS = 1_000_000  # sources of a file, column by column
MOST_ROWS = 100_000  # and of one whose rows or blocks are read one by one
MOST_STATIONS = 1_000_000
TURNS = 3600.0  # degrees of an angle
LARGEST_SAMPLE = 1e15  # of a wavelet, whatever its unit
LARGEST_SLIP = 1e4  # m, and m/s of its rate: a hundred times what was ever observed
LARGEST_AREA = 5.2e14  # m2, surface of the Earth
PLACES = ("longitude", "latitude")  # degrees, or metres: callers know the limits of angles
RUPTURE = dict.fromkeys((*PLACES, "depth"), "length")
RUPTURE |= {"onset": "time", "interval": "time", "vs": "velocity"}
RUPTURE |= {"density": "density"}
REMEDY = "Correct the number or its unit."


def check(contents, holds):
    """Refuse what a file holds beyond the limits.

    Parameters
    ----------
    contents : object
        Of a reader.
    holds : str
        As of `craton.io.Format`.

    Raises
    ------
    FileError
        Names the first number that is too large or not finite, and the limit.
    """
    checks = {"source": _sources, "station": _stations, "mesh": _mesh, "wavelet": _wavelet}
    checks["radial model"] = _radial
    if holds in checks:
        checks[holds](contents)


def refuse_many(count):
    """Refuse more point sources than one run can have, before they are read.

    Parameters
    ----------
    count : int

    Raises
    ------
    FileError
    """
    if count > MOST_POINTS:
        raise FileError(
            f"its {count:,} point sources are more than the {MOST_POINTS:,} that one run can have",
            "Write them as a rupture (SRF), or split the file.",
        )


def refuse_unlike(count, reason):
    """Refuse many sources that are to be read one by one.

    Parameters
    ----------
    count : int
    reason : str
        Which row or block is not like the others.

    Raises
    ------
    FileError
    """
    if count > MOST_ROWS:
        raise FileError(
            f"{reason}: more than {MOST_ROWS:,} sources are read where all have the same entries, "
            "plain numbers without units",
            "Correct the line, write all sources in the same way, or split the file.",
        )


def within(name, values, dimension, missing=False):
    """Refuse numbers that are not finite or beyond the limit of their dimension.

    Parameters
    ----------
    name : str
        What they are, for the message.
    values : array_like
    dimension : str
        A key of `craton.units.LARGEST`.
    missing : bool
        NaN stands for a number that the file does not have.
    """
    _within(name, values, LARGEST[dimension], DIMENSIONS[dimension][0], missing)


def _within(name, values, largest, unit, missing=False):
    values = np.asarray(values, float)
    good = np.abs(values) <= largest
    if missing:
        good |= np.isnan(values)
    if not good.all():
        first = int(np.argmin(good.ravel()))
        if not np.isfinite(values.flat[first]):
            raise FileError(f"{name} {first + 1} is not finite", REMEDY)
        value = f"{values.flat[first]:.6g} {unit}".rstrip()
        limit = f"{largest:g} {unit}".rstrip()
        raise FileError(f"{name} {first + 1} is {value}: no more than {limit} is possible", REMEDY)


def _printable(noun, texts):
    """Refuse names with control characters."""
    for text in texts or ():
        if text is not None and (found := control(str(text))):
            words = f"the {noun} {printable(str(text))} has the control character {found}"
            raise FileError(words, "Write letters that a terminal and a file can show.")


def _sources(contents):
    if hasattr(contents, "rates"):
        _rupture(contents)
        return
    refuse_many(len(contents))
    is_table = isinstance(contents, FileSources)
    _printable("name", contents.names if is_table else [source.name for source in contents])
    kinds = dict.fromkeys((*PLACES, "depth"), "length") | {"shift": "time", "width": "time"}
    for name, dimension in kinds.items():
        values = _column(contents, name)
        within({"shift": "time shift", "width": "half duration"}.get(name, name), values, dimension)
    widths = _column(contents, "width")
    if (widths < 0).any():
        raise FileError(f"a half duration or frequency is {widths.min():g}: below 0", REMEDY)
    if ((widths > 0) & (widths < SMALLEST["time"])).any():
        least = f"{SMALLEST['time']:g}"
        raise FileError(f"a half duration or frequency is below {least}, but not 0", REMEDY)
    planes = _column(contents, "plane").reshape(-1, 4)
    tensors, sizes = _column(contents, "moment").reshape(-1, 9), planes[:, 3]
    within("moment, component", tensors.reshape(-1, 3, 3), "moment")
    within("moment", sizes, "moment")
    least = SMALLEST["moment"]
    sizes = np.append(np.abs(tensors).max(axis=1, initial=0), np.abs(sizes))
    if ((sizes > 0) & (sizes < least)).any():
        raise FileError(f"a moment is below {least:g} N m, but not 0", REMEDY)
    _within("strike, dip or rake", planes[:, :3], TURNS, "degrees")
    within("force, component", _column(contents, "force"), "force")


def _column(contents, name):
    """Return what sources of a file have under a name, as an array; empty without any."""
    if isinstance(contents, FileSources):
        values = getattr(contents, name)
        return np.empty(0) if values is None else values
    values = [getattr(source, name) for source in contents]
    return np.array([value for value in values if value is not None], float)


def _rupture(contents):
    for name in ("longitude", "latitude"):  # or metres
        within(f"{name} of the rupture, number", getattr(contents, name), "length")
    for name, dimension in RUPTURE.items():
        missing = name in ("vs", "density")
        within(f"{name} of the rupture, number", getattr(contents, name), dimension, missing)
    _within("slip of the rupture, number", contents.slip, LARGEST_SLIP, "m")
    _within("slip rate of the rupture, number", contents.rates, LARGEST_SLIP, "m/s")
    _within("area of the rupture, number", contents.area, LARGEST_AREA, "m2")
    for name in ("strike", "dip", "rake"):
        _within(f"{name} of the rupture, number", getattr(contents, name), TURNS, "degrees")


def _stations(contents):
    _printable("name", contents.names)
    for noun in ("network", "code"):
        _printable(noun, getattr(contents, f"{noun}s"))
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
        if name == "rho":
            within(f"{name}, row", values, "density", missing=True)
        elif name.startswith("v"):
            within(f"{name}, row", values, "velocity", missing=True)


def _mesh(parts):
    within("coordinate", parts.points, "length")


def _wavelet(contents):
    times, values = contents
    within("time", times, "time")
    _within("sample", values, LARGEST_SAMPLE, "")
