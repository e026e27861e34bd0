"""Irregular lists of prisms, and lists of points, from csv, netCDF and parquet tables."""

from pathlib import Path

import numpy as np

from craton.model.prisms.ensembles import SIDES, PrismList

ALIASES = {"density": ("density", "rho", "density_contrast")}


def table(file, density=None):
    """A PrismList from a table with the columns west, east, south, north, bottom, top (m) and density (kg/m3).

    Parameters
    ----------
    file : path-like
        .csv or .txt (a heading, then rows; separated by commas, semicolons or blanks), .nc or .zarr (variables of one dimension),
        .parquet (where pyarrow is installed).
    density : float, optional
        For all prisms, where the table has no such column.

    Raises
    ------
    ValueError
        Missing columns, values that are not finite, reversed bounds: with the number of the prism, from 0.
    """
    columns = read(file, (*SIDES, "density"), optional=("density",) if density is not None else ())
    if "density" not in columns:
        columns["density"] = np.full(len(columns["west"]), float(density))
    return listed(np.stack([columns[name] for name in SIDES], axis=1), columns["density"], Path(file).name)


def listed(prisms, density, name="the list"):
    """A PrismList from arrays, checked; prisms without density or volume are left out."""
    prisms, density = np.asarray(prisms, float).reshape(-1, 6), np.asarray(density, float)
    _refuse(~np.isfinite(prisms).all(axis=1) | ~np.isfinite(density), name, lambda n: f"is not finite: {prisms[n].tolist()}, {density[n]}")
    for low, high in ((0, 1), (2, 3), (4, 5)):
        _refuse(prisms[:, low] > prisms[:, high], name, lambda n, a=low, b=high: _reversed(prisms[n], a, b))
    kept = (density != 0) & (prisms[:, ::2] < prisms[:, 1::2]).all(axis=1)
    return PrismList(prisms[kept], density[kept], np.flatnonzero(kept))


def _reversed(prism, low, high):
    return f"is reversed: {SIDES[low]} = {prism[low]:.10g} > {SIDES[high]} = {prism[high]:.10g}"


def _refuse(bad, name, words):
    if bad.any():
        n = int(np.argmax(bad))
        raise ValueError(f"{name}: prism {n} {words(n)}" + (f" ({bad.sum()} such prisms)" if bad.sum() > 1 else ""))


def read(file, names, optional=()):
    """Columns of a table by name, lower case: dict of (M,) float64 arrays.

    Raises
    ------
    ValueError
        No such file, unreadable, a column missing, a value that is not a number (with its row).
    """
    path = Path(file)
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    reader = {".parquet": _parquet, ".nc": _dataset, ".zarr": _dataset}.get(path.suffix.lower(), _text)
    there, column = reader(path)
    known = {str(name).strip().lower(): name for name in there}
    found = {name: next((known[a] for a in ALIASES.get(name, (name,)) if a in known), None) for name in names}
    missing = [name for name, key in found.items() if key is None and name not in optional]
    if missing:
        raise ValueError(f"{path.name} has no column {', '.join(missing)}; its columns are {', '.join(map(str, there)) or 'none'}")
    columns = {name: np.ascontiguousarray(column(key), float) for name, key in found.items() if key is not None}
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError(f"{path.name}: the columns have different lengths")
    return columns


def _text(path):
    with open(path, encoding="utf-8-sig") as file:
        heading = file.readline()
        separator = next((c for c in ",;\t" if c in heading), None)
        names = [name.strip().strip('"') for name in heading.lstrip("#").split(separator)]
        try:
            rows = np.loadtxt(file, delimiter=separator, ndmin=2, comments="#")
        except ValueError as error:
            # NumPy counts rows (from 0 or 1) after the heading; it says which
            raise ValueError(f"{path.name}: {str(error).splitlines()[0].rstrip('.')} (rows are counted below the heading)") from None
    if rows.size and rows.shape[1] != len(names):
        raise ValueError(f"{path.name} has {rows.shape[1]} columns under a heading of {len(names)}")
    rows = rows.reshape(-1, len(names))
    return names, lambda key: rows[:, names.index(key)]


def _parquet(path):
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError(f"{path.name}: parquet needs pyarrow (pip install pyarrow); csv and netCDF do not") from None
    loaded = pyarrow.parquet.read_table(path)
    return loaded.column_names, lambda key: loaded[key].to_numpy()


def _dataset(path):
    import xarray

    try:
        kind = {"engine": "zarr", "consolidated": False} if path.is_dir() else {}
        with xarray.open_dataset(path, decode_times=False, **kind) as dataset:
            dataset.load()
    except Exception as error:  # each engine has its own kinds of failure; all mean the same to the user
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(f"cannot read {path}: {reason[:150]}") from error
    flat = [name for name, variable in dataset.variables.items() if variable.ndim == 1]
    return flat, lambda key: _si(dataset[key], str(key))


def _si(variable, name):
    """Values in SI by the units attribute; none means SI already."""
    from craton.tables.units import UnitError, si

    unit = str(variable.attrs.get("units", "")).strip()
    if not unit:
        return variable.values
    try:
        return variable.values * si(f"1 {unit}", "density" if name.lower() in ALIASES["density"] else "length")
    except UnitError as error:
        raise ValueError(f"the units of {name}, {unit!r}, cannot be read: {error}") from None
