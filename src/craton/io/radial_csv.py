"""Radial Earth models as CSV, whose first line names its columns."""

import numpy as np

from craton.io import text_table
from craton.io.contents import FileError, RadialTable, surface_radius

COLUMNS = ("vp", "vs", "vpv", "vph", "vsv", "vsh", "rho", "eta", "qkappa", "qmu", "qp", "qs")


def read(path):
    """Read a table.

    ``depth`` or ``radius`` (m, or km with the name ``depth_km``, ``radius_km``); ``vp``, ``vs`` or
    ``vpv, vph, vsv, vsh, eta`` (m/s, or km/s where all are below 100); ``rho`` (kg/m3, or g/cm3
    where all are below 100); perhaps ``qkappa, qmu`` or ``qp, qs``.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    RadialTable

    Raises
    ------
    FileError
        Columns that are missing or unknown, or not numbers.
    """
    headings, column = text_table.read(path)
    names = [heading.lower() for heading in headings]
    places = [n for n in names if n.removesuffix("_km") in ("depth", "radius")]
    unknown = [n for n in names if n not in (*places, *COLUMNS)]
    if (
        len(places) != 1
        or unknown
        or "rho" not in names
        or not ({"vp", "vs"} <= {*names} or {"vpv", "vsv"} <= {*names})
    ):
        fault = f"column {unknown[0]!r} is unknown" if unknown else f"its columns are {', '.join(names) or 'none'}"
        raise FileError(
            f"{path.name}: {fault}; give depth or radius (or depth_km, radius_km), vp, vs, rho, optionally qkappa, qmu"
        )
    columns = {name: column(heading) for name, heading in zip(names, headings)}
    place = columns.pop(places[0]) * (1e3 if places[0].endswith("_km") else 1.0)
    radius = place if places[0].startswith("radius") else surface_radius(place.max(initial=0)) - place
    return RadialTable(radius, {name: _si(name, values) for name, values in columns.items()})


def _si(name, values):
    in_thousands = (name.startswith("v") or name == "rho") and np.max(values, initial=0) < 100
    return 1e3 * values if in_thousands else values
