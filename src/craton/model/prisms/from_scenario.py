"""Ensembles of a scenario: from its [prisms] tables to cells and lists of prisms, and what they are
in words.
"""

from pathlib import Path

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.model.ground import surfaces
from craton.model.prisms import ensembles as prisms
from craton.model.prisms import from_model as prisms_model
from craton.model.prisms import layer as prisms_layer
from craton.model.prisms import overlap as prisms_overlap
from craton.model.prisms import table as prisms_table

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
    if problems:
        raise ScenarioError(problems)
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


def _layer(table):
    density = table.density
    if hasattr(density, "file"):
        density = surfaces.read(density.file, density.variable, dimension="density")
    return prisms_layer.layer(table.top, table.bottom, density, table.density_below, table.missing)


def _table(table):
    if table.file is not None:
        return prisms_table.table(table.file, table.density)
    rows = np.array(table.rows, float).reshape(len(table.rows), -1)
    density = rows[:, 6] if table.density is None else np.full(len(rows), table.density)
    return prisms_table.listed(rows[:, :6], density, "rows")


def _model(table):
    region = None if table.origin is None else _region(table)
    try:
        return prisms_model.of_anything(table.model or table.file, region, table.shape, table.spacing, table.reference)
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
    "table": _table,
    "file": lambda t: prisms_model.of_cells(t.file, t.reference),
    "model": _model,
}


def overlap_problems(ensembles, tables):
    """Prisms that share volume, named by their number: list of Problem."""
    counts = np.cumsum([0, *map(len, ensembles)])
    all_prisms = np.concatenate([e.prisms for e in ensembles])
    pairs = prisms_overlap.overlaps(all_prisms, SHOWN + 1)

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
