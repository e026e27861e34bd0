"""Ensembles of a scenario: from its [prisms] tables, with surfaces and files of prisms, to cells and lists of prisms;
what they are in words.
"""

from pathlib import Path

import numpy as np

from craton import io
from craton.errors import Problem, ScenarioError, refuse_all
from craton.io.units import LARGEST
from craton.model.ground import surfaces
from craton.model.prisms import ensembles as prisms
from craton.model.prisms import from_model as prisms_model
from craton.model.prisms.ensembles import SIDES, PrismList, edges_around, have_volume, refuse, refuse_wrong
from craton.model.prisms.morton import overlaps

ALIASES = {"density": ("density", "rho", "density_contrast")}
SHOWN = 5  # overlaps that are named


def build(tables):
    """Return the ensembles of a scenario's prisms tables, one for each: a list of Cells and PrismList.

    Raises
    ------
    ScenarioError
        With every problem found.
    """
    built, problems = [], []
    for i, table in enumerate(tables):
        at = key(tables, i)
        try:
            built.append(KINDS[table.kind](table))
            problems += [] if len(built[-1]) else [_empty(table, at)]
        except ValueError as error:
            problems.append(Problem(f"{at}.file" if getattr(table, "file", None) else at, str(error)))
        except ScenarioError as error:  # of the Earth model, with keys from its own scenario
            problems += [Problem(f"{at}.{p.key.removeprefix('prisms.')}", p.message, p.remedy) for p in error.problems]
    refuse_all(problems)
    return built


def key(tables, i):
    """Return the key of table i in the scenario."""
    return "prisms" if len(tables) == 1 else f"prisms.{i}"


def _empty(table, at):
    remedy = (
        "move the bodies into the grid; a cell belongs to the body that contains its centre"
        if getattr(table, "bodies", ())
        else "check the densities"
    )
    return Problem(at, "no prism has a density and a volume other than zero", remedy)


def _region(table):
    """West, east, south, north, bottom, top of a table with origin and size, m."""
    return np.stack([table.origin, np.add(table.origin, table.size)], axis=1).ravel()


def _layer(spec):
    density = spec.density
    if hasattr(density, "file"):
        density = surfaces.read(density.file, density.variable, dimension="density")
    return layer(spec.top, spec.bottom, density, spec.density_below, spec.missing)


def _listed(spec):
    if spec.file is not None:
        return table(spec.file, spec.density)
    rows = np.array(spec.rows, float).reshape(len(spec.rows), -1)
    density = rows[:, 6] if spec.density is None else np.full(len(rows), spec.density)
    return listed(rows[:, :6], density, "rows")


def _model(table):
    region = None if table.origin is None else _region(table)
    try:
        return prisms_model.of_anything(table.opened, region, table.shape, table.spacing, table.reference)
    except ScenarioError as error:
        if table.file is None:
            raise
        name = Path(table.file).name  # its keys are not those of this scenario
        raise ScenarioError(
            [Problem("prisms.file", f"{name}: {p.key}: {p.message}", p.remedy) for p in error.problems]
        ) from None


KINDS = {
    "grid": lambda t: prisms.cells(*prisms_model.axes_of(_region(t), t.shape, t.spacing), t.density, t.bodies),
    "rectilinear": lambda t: prisms.cells(t.x, t.y, t.z, t.density, t.bodies),
    "layer": _layer,
    "table": _listed,
    "file": lambda t: prisms_model.of_cells(t.file, t.reference),
    "model": _model,
}


# --- surfaces and files ---------------------------------------------------------------------------


def layer(top, bottom, density, density_below=None, missing="refuse"):
    """Prisms between two surfaces, one for each point of the surfaces' grid.

    Parameters
    ----------
    top, bottom : Surface, xarray.DataArray or float
        Elevations, m. At least one is a surface; the other is taken at its points. A prism is
        centred on each point and reaches half-way to the next ones.
    density : float, array_like of the surface's shape (y, x), or Surface
        kg/m3 where the top lies above the bottom; a Surface of densities is taken at the points.
    density_below : float, optional
        kg/m3 where the top lies below the bottom: between sea floor and sea level, density of water
        minus density of rock. 0 leaves these out.
    missing : str
        ``"refuse"``, or ``"drop"`` for no prisms where an elevation or a density is missing.

    Returns
    -------
    PrismList
        Prisms without height or density are left out.

    Raises
    ------
    ValueError
        Surfaces that cross without `density_below`, missing elevations, each with the first place.
    """
    top, bottom = surfaces.as_surface(top), surfaces.as_surface(bottom)
    grid = next((s for s in (top, bottom) if not isinstance(s, float)), None)
    if grid is None:
        raise ValueError(
            'top and bottom are both constant: give at least one as a surface, or use kind = "grid" for a slab'
        )
    high, low = (surfaces.elevations(s, grid) for s in (top, bottom))
    if isinstance(density, surfaces.Surface):
        density = surfaces.elevations(density, grid)
    density = np.broadcast_to(np.asarray(density, float), high.shape)
    absent = {"elevation": ~(np.isfinite(high) & np.isfinite(low)), "density": ~np.isfinite(density)}
    for noun, lost in absent.items():
        if lost.any() and missing != "drop":
            raise ValueError(
                f'{_count(lost)} have no {noun}, the first at {_place(grid, lost)}; fill them, or set missing = "drop"'
            )
    lost = absent["elevation"] | absent["density"]
    crossed = ~lost & (high < low)
    if crossed.any():
        if density_below is None:
            raise ValueError(
                f"the top is below the bottom at {_count(crossed)}, the first at {_place(grid, crossed)}; give density_below "
                "(of sea water: water minus rock, -1640 kg/m3), or 0 to leave these prisms out"
            )
        density = np.where(crossed, float(density_below), density)
    low, high = np.fmin(low, high), np.fmax(low, high)
    solid = ~lost & (high > low) & (density != 0)
    j, i = np.nonzero(solid)
    x, y = edges_around(grid.x, "x"), edges_around(grid.y, "y")
    return PrismList(
        np.stack([x[i], x[i + 1], y[j], y[j + 1], low[solid], high[solid]], axis=1), np.array(density[solid])
    )


def _count(which):
    return f"{which.sum()} of {which.size} points"


def _place(grid, which):
    j, i = np.argwhere(which)[0]
    return f"[{j}, {i}] (x {grid.x[i]:.10g}, y {grid.y[j]:.10g} m)"


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


# --- words ----------------------------------------------------------------------------------------


def overlap_problems(ensembles, tables):
    """Prisms that share volume, named by their number: list of Problem."""
    counts = np.cumsum([0, *map(len, ensembles)])
    all_prisms = np.concatenate([e.prisms for e in ensembles])
    pairs = overlaps(all_prisms, SHOWN + 1)

    def name(n):
        which = int(np.searchsorted(counts, n, side="right")) - 1
        row = int(n - counts[which])
        rows = ensembles[which].rows
        return f"{row if rows is None else int(rows[row])}" + (f" of {key(tables, which)}" if len(tables) > 1 else "")

    words = [f"{name(a)} and {name(b)}" for a, b in pairs[:SHOWN]]
    if not words:
        return []
    suffix = ", and more" if len(pairs) > SHOWN else ""
    return [
        Problem(
            "prisms",
            f"prisms overlap: {', '.join(words)}{suffix} (counted from 0)",
            "overlapping densities are added; if that is intended, set gravity.check_overlap = false",
        )
    ]


def warnings(ensembles, tables):
    """Return sentences about bodies that take no cell, and densities of files that look like another unit's."""
    notes = []
    for i, (ensemble, table) in enumerate(zip(ensembles, tables)):
        stated = isinstance(getattr(table, "density", None), float)  # the scenario has looked at it
        doubt = None if stated else prisms.doubtful(ensemble.density)
        notes += [f"{key(tables, i)}: {doubt}"] if doubt else []
        for n, body in enumerate(getattr(table, "bodies", ())):
            if not len(prisms.inside(ensemble.shape, (ensemble.x, ensemble.y, ensemble.z), body)):
                notes.append(
                    f"{key(tables, i)}.bodies.{n}: this {body.shape} contains no cell centre: it is outside the grid or smaller than a cell"
                )
    return notes


def describe(ensemble):
    """Return an ensemble (Cells or PrismList) in words."""
    return f"{ensemble.words}, density {ensemble.density.min():,.6g} to {ensemble.density.max():,.6g} kg/m3"
