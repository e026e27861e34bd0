"""From a gravity scenario to its plan: prisms, points, the checked Problem, and what `craton plan`
prints of it.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from craton.errors import Problem, ScenarioError, refuse_all
from craton.methods.gravity import direct
from craton.methods.gravity.operators import LANES, record
from craton.methods.gravity.problem import problem
from craton.model.ground.surfaces import as_surface
from craton.model.prisms import ensembles as prisms
from craton.model.prisms import from_scenario as prisms_scenario
from craton.survey import points
from craton.text import html_sections, text_sections


@dataclass
class GravityPlan:
    """What a gravity run computes, as data.

    Parameters
    ----------
    title : str
    problem : methods.gravity.problem.Problem
        Prisms, density, points, fields, precision, rtol.
    points : survey.points.Points
        The points with their layout.
    ensembles : list
        One for each prisms table.
    method : str
        As asked for: ``"auto"`` or a name.
    solver : str
        Name of the solver that built it.
    notes : dict of str to list of (str, str)
        What `craton plan` prints, by section.
    warnings : list of str
        What can be computed but is probably not meant.
    """

    snapshots: ClassVar[tuple] = ()
    rank: ClassVar[int] = 0

    title: str
    problem: Any
    points: Any
    ensembles: list
    method: str = "auto"
    solver: str = "gravity"
    notes: dict = field(default_factory=dict)
    warnings: list = field(default_factory=list)

    @property
    def precision(self):
        """``"float32"`` or ``"float64"``."""
        return self.problem.precision

    @property
    def nbytes(self):
        """Bytes on the host of one rank: prisms, density, points as given and in working order,
        results with their sum, a tile.
        """
        p = self.problem
        inputs = p.prisms.nbytes + p.density.nbytes + 2 * p.points.nbytes
        results = 24 * p.points.shape[1] * len(p.fields)
        return inputs + results + self.tile_nbytes

    @property
    def tile_nbytes(self):
        """Bytes of what is on the machine at a time where prisms and points are streamed: more is
        used where there is more.
        """
        p = self.problem
        points = min(direct.POINTS, p.points.shape[1] + LANES)
        prism = 56 + record(p.precision, p.precision == "float32") * np.dtype(p.precision).itemsize
        return min(direct.PRISMS, len(p.prisms)) * prism + points * (32 + 16 * len(p.fields))

    def __repr__(self):
        prisms, points = len(self.problem.prisms), self.problem.points.shape[1]
        return (
            f"<GravityPlan of {self.title!r}: {', '.join(self.problem.fields)} of {prisms:,} prisms at {points:,} "
            "points; print it for all>"
        )

    def _repr_html_(self):
        return html_sections(repr(self).strip("<>"), self.notes)

    def __str__(self):
        return text_sections(self.notes)


def build(scenario):
    """Return the plan of a gravity scenario.

    Raises
    ------
    ScenarioError
        With every problem of prisms and points found.
    """
    problems, ensembles, laid = [], [], None
    try:
        ensembles = prisms_scenario.build(scenario.prisms)
        if scenario.gravity.check_overlap:
            problems += prisms_scenario.overlap_problems(ensembles, scenario.prisms)
    except ScenarioError as error:
        problems += error.problems
    try:
        laid = points.build(scenario.points, as_surface, prisms_scenario.read)
    except ValueError as error:
        problems.append(Problem("points", str(error)))
    refuse_all(problems)
    asked = scenario.gravity
    whole = prisms.union(ensembles)
    task = problem(whole.prisms, whole.density, laid.xyz, asked.fields, scenario.run.precision, asked.rtol)
    plan = GravityPlan(scenario.title, task, laid, ensembles, asked.method)
    plan.notes = sections(plan, scenario)
    plan.warnings = [*scenario.warnings, *prisms_scenario.warnings(ensembles, scenario.prisms)]
    return plan


def sections(plan, scenario):
    """Return what `craton plan` prints."""
    task, rtol = plan.problem, scenario.gravity.rtol
    several = len(plan.ensembles) > 1
    ensembles = [
        (f"prisms {i}" if several else "prisms", prisms_scenario.describe(e)) for i, e in enumerate(plan.ensembles)
    ]
    box = extent(task.prisms[:, ::2].min(axis=0), task.prisms[:, 1::2].max(axis=0))
    xyz, pairs = task.points, f"{len(task.prisms):,} prisms x {task.points.shape[1]:,} points = {task.pairs:,}"
    return {
        plan.title or "Gravity": [
            ("method", f"{plan.method}, {task.precision}" + (f", rtol {rtol:g}" if rtol else "")),
            ("fields", ", ".join(task.fields)),
        ],
        "Prisms": [*ensembles, ("extent", box), ("mass", weight(task))],
        "Points": [
            ("layout", plan.points.words),
            ("extent", extent(xyz.min(axis=1), xyz.max(axis=1)) if xyz.size else "no points"),
        ],
        "Work": [("pairs", f"{pairs}, {len(task.fields)} fields each")],
    }


def weight(problem):
    """Mass and its centre; excess and missing mass where densities are contrasts of both signs."""
    (more, less), centre = prisms.mass(problem)
    if centre is None:
        return f"{more + less:.6g} kg: excess {more:.6g}, missing {-less:.6g}"
    return f"{more + less:.6g} kg, centre ({', '.join(f'{c:,.0f}' for c in centre)}) m"


def extent(low, high):
    """Return a box in words."""
    sides = [f"{a} {p:,.0f} .. {q:,.0f}" if q > p else f"{a} {p:,.10g}" for a, p, q in zip("xyz", low, high)]
    return "  ".join(sides) + "  m"
