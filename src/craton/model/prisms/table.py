"""Irregular lists of prisms, and lists of points, from csv, netCDF and parquet tables."""

from pathlib import Path

import numpy as np

from craton import io
from craton.model.prisms.ensembles import SIDES, PrismList, have_volume, refuse, refuse_wrong
from craton.units import LARGEST

ALIASES = {"density": ("density", "rho", "density_contrast")}


def table(file, density=None):
    """Return a PrismList from a table with the columns west, east, south, north, bottom, top (m)
    and density (kg/m3).

    Parameters
    ----------
    file : path-like
        .csv or .txt (a heading, then rows; separated by commas, semicolons or blanks), .nc or .zarr
        (variables of one dimension), .parquet (where pyarrow is installed).
    density : float, optional
        For all prisms, where the table has no such column.

    Raises
    ------
    ValueError
        Missing columns, values that are not finite, reversed bounds: with the number of the prism,
        from 0.
    """
    columns = read(file, (*SIDES, "density"), optional=("density",) if density is not None else ())
    if "density" not in columns:
        columns["density"] = np.full(len(columns["west"]), float(density))
    return listed(np.stack([columns[name] for name in SIDES], axis=1), columns["density"], Path(file).name)


def listed(prisms, density, name="the list"):
    """Return a PrismList from arrays, checked; prisms without density or volume are left out.

    Parameters
    ----------
    prisms : (M, 6) array
        West, east, south, north, bottom, top, m.
    density : (M,) array
        kg/m3.
    name : str
        For messages.
    """
    prisms, density = np.asarray(prisms, float).reshape(-1, 6), np.asarray(density, float)
    refuse_wrong(prisms, density, f"{name}: ")
    refuse(
        (np.abs(prisms) > LARGEST["length"]).any(axis=1) | (np.abs(density) > LARGEST["density"]),
        f"{name}: ",
        lambda n: (
            f"is out of range: {prisms[n].tolist()} m, {density[n]} kg/m3; no more than "
            f"{LARGEST['length']:g} m and {LARGEST['density']:g} kg/m3 are possible"
        ),
    )
    has_mass = (density != 0) & have_volume(prisms)
    return PrismList(prisms[has_mass], density[has_mass], np.flatnonzero(has_mass))


def read(file, names, optional=()):
    """Columns of a table by name, lower case: dict of (M,) float64 arrays.

    Parameters
    ----------
    file : path-like
    names : sequence of str
    optional : sequence of str
        Names that may be missing.

    Raises
    ------
    ValueError
        No such file, unreadable, a column missing, a value that is not a number (with its row).
    """
    path = Path(file)
    headings, column = io.read(path, "table")
    known = {str(name).strip().lower(): name for name in headings}
    keys = {name: next((known[a] for a in ALIASES.get(name, (name,)) if a in known), None) for name in names}
    missing = [name for name, key in keys.items() if key is None and name not in optional]
    if missing:
        raise ValueError(
            f"{path.name} has no column {', '.join(missing)}; its columns are {', '.join(map(str, headings)) or 'none'}"
        )
    columns = {name: np.ascontiguousarray(column(key), float) for name, key in keys.items() if key is not None}
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError(f"{path.name}: the columns have different lengths")
    return columns
