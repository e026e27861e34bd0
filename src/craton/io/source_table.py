"""Point sources in a text table or a pandas.DataFrame: one row each, under a heading of columns."""

from datetime import UTC, datetime

import numpy as np

from craton.conventions import magnitude_to_moment
from craton.io.contents import FileSources, moment_tensor
from craton.io.limits import refuse_many, refuse_unlike
from craton.io.text_table import columns

NAMES = {"lon": "longitude", "lat": "latitude", "mw": "magnitude", "m0": "moment"}
NAMES |= {"fe": "fx", "fn": "fy", "fu": "fz", "shift": "time_shift"}
GLOBAL_CMT = ("mrr", "mtt", "mpp", "mrt", "mrp", "mtp")
LOCAL = ("mxx", "myy", "mzz", "mxy", "mxz", "myz")  # east, north, up
FORCE = ("fx", "fy", "fz")
COUPLE = ("strike", "dip", "rake")
DIMENSIONS = dict.fromkeys(("longitude", "latitude", *COUPLE), "angle")
DIMENSIONS |= dict.fromkeys(("x", "y", "z", "depth"), "length")
DIMENSIONS |= dict.fromkeys((*GLOBAL_CMT, *LOCAL, "moment"), "moment")
DIMENSIONS |= dict.fromkeys(FORCE, "force") | dict.fromkeys(("time_shift", "half_duration"), "time")
DIMENSIONS |= {"magnitude": "ratio"}


def read(path):
    """Read the sources of a file: `FileSources`, or a list of `FileSource` where cells are empty.

    Columns ``longitude, latitude`` (degrees) or ``x, y`` (m); ``depth`` (m below z = 0) or ``z``; a mechanism:
    ``strike, dip, rake`` (degrees) with ``moment`` (N m) or ``magnitude`` (Mw), or ``mrr mtt mpp mrt mrp mtp``, or ``mxx
    myy mzz mxy mxz myz`` (N m, east north up), or ``fx fy fz`` (N), or ``moment`` or ``magnitude`` alone (an explosion);
    perhaps ``half_duration`` and ``time_shift`` (s), ``time`` (ISO 8601, UTC) and ``name``. Numbers may carry a unit. The
    earliest time is the origin time; later events are shifted.
    """
    table = columns(path, DIMENSIONS, ("name", "time"), _renamed, _required, refuse_many=refuse_many)
    numbers, lines, names = table.numbers, table.lines, table.texts.get("name")
    if not len(lines):
        raise ValueError("no sources: the file needs a heading of column names and rows")
    origin = None
    if "time" in table.texts:
        times = [_time(*row) for row in zip(lines, table.texts["time"])]
        origin = min(times).isoformat()
        later = np.array([(time - min(times)).total_seconds() for time in times])
        numbers = numbers | {"time_shift": np.nan_to_num(numbers.get("time_shift", 0.0)) + later}
    empty = np.isnan([*numbers.values()]).any(axis=0)
    if not empty.any():
        return _sources(numbers, lines, names, origin)
    refuse_unlike(len(lines), f"line {lines[int(empty.argmax())]} has not all entries")
    rows = [
        {name: column[n : n + 1] for name, column in numbers.items() if column[n] == column[n]}
        for n in range(len(lines))
    ]
    for line, row in zip(lines, rows):
        mechanism = _mechanism(row)
        if mechanism is None or len(mechanism) == 1 and _begun(numbers):
            raise ValueError(f"line {line}: the mechanism is not complete; explosions stand in a file of their own")
    return [_sources(row, lines[n : n + 1], names and names[n : n + 1], origin)[0] for n, row in enumerate(rows)]


def _renamed(heading):
    """Return our names of the columns of a heading."""
    return [NAMES.get(name, name) for name in (cell.strip().lower() for cell in heading)]


def _required(names):
    """Return the columns that no row may leave empty."""
    place = next((pair for pair in (("longitude", "latitude"), ("x", "y")) if {*pair} <= set(names)), None)
    heights = [name for name in ("depth", "z") if name in names]
    mechanism = _mechanism(names)
    fault = ""
    if place is None:
        fault = "needs the columns longitude and latitude, or x and y"
    elif len(heights) != 1:
        fault = "needs exactly one of the columns depth and z"
    elif mechanism is None:
        fault = (
            "needs a mechanism: strike, dip, rake with moment or magnitude; the six of a moment tensor (mrr ... or "
            "mxx ...); fx, fy, fz; or moment of an explosion"
        )
    elif len(mechanism) == 1 and (begun := _begun(names)):
        absent = [name for name in begun if name not in names]
        fault = f"has {', '.join(name for name in begun if name in names)}, but no column {', '.join(absent)}"
    if fault:
        raise ValueError(f"it {fault}; its columns are {', '.join(names)}")
    return *place, *heights


def _mechanism(names):
    """Return the columns of the mechanism that a table or a row has."""
    size = next(((name,) for name in ("moment", "magnitude") if name in names), None)
    kinds = [GLOBAL_CMT, LOCAL, FORCE, *([COUPLE + size, size] if size else [])]
    return next((columns for columns in kinds if set(columns) <= set(names)), None)


def _begun(names):
    """Return the columns of a mechanism some of which a table or a row has; None where it has none."""
    return next((columns for columns in (GLOBAL_CMT, LOCAL, FORCE, COUPLE) if set(columns) & set(names)), None)


def _sources(numbers, lines, names, origin):
    """Return `FileSources` of columns without empty cells."""
    on_earth = {"longitude", "latitude"} <= set(numbers)
    x, y = ("longitude", "latitude") if on_earth else ("x", "y")
    depth = numbers["depth"] if "depth" in numbers else -numbers["z"]
    shift, width = (numbers.get(name, np.zeros(len(lines))) for name in ("time_shift", "half_duration"))
    return FileSources(
        *(numbers[x], numbers[y], depth, shift, width),
        names=names,
        origins=None if origin is None else [origin] * len(lines),
        coordinates="geographic" if on_earth else "metres",
        **_moments_or_forces(numbers, lines),
    )


def _moments_or_forces(numbers, lines):
    """Return what `FileSources` holds of mechanisms, by name."""
    names = _mechanism(numbers)
    values = np.array([numbers[name] for name in names])
    if names == FORCE:
        return {"force": values.T}
    if names == GLOBAL_CMT:
        return {"moment": np.moveaxis(moment_tensor(values), -1, 0)}
    if names == LOCAL:
        xx, yy, zz, xy, xz, yz = values
        return {"moment": np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)}
    sizes = values[-1]
    if names[-1] == "magnitude":
        sizes = np.array([_moment_of(*row) for row in zip(lines, sizes.tolist())])
    if len(names) == 1:
        return {"moment": sizes[:, None, None] * np.eye(3)}
    return {"plane": np.column_stack([*values[:3], sizes])}


def _moment_of(line, magnitude):
    try:
        return magnitude_to_moment(magnitude)
    except ValueError as error:
        raise ValueError(f"line {line}: {error}") from None


def _time(line, text):
    """Return the time of an event, UTC without saying so."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"line {line}: time is {text!r}, not like 2020-01-31T12:00:00") from None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
