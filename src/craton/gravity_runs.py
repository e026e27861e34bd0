"""Gravity scenarios: which method, whether it fits, the run, its result and what it leaves on disk."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import Problem, ResourceError, ScenarioError


@dataclass
class GravityResult:
    """What a gravity run leaves.

    Parameters
    ----------
    scenario : GravityScenario
    plan : GravityPlan
    values : ndarray
        (fields, points), in the fields' units.
    report : dict
        Method and why, device, seconds, pairs, estimated error of each field.
    out : Path or None
        The OUT directory, if there is one.
    """

    scenario: Any
    plan: Any
    values: np.ndarray
    report: dict
    out: Path | None = None
    _dataset: Any = field(default=None, repr=False)

    @property
    def dataset(self):
        """The fields as an xarray.Dataset: g_z(y, x) and the like, or over (point)."""
        if self._dataset is None:
            from craton.output.potential import fields
            from craton.scenario import dumps

            named = dict(zip(self.plan.problem.fields, self.values))
            attributes = {"title": self.plan.title or None, "scenario": dumps(self.scenario), "precision": self.plan.precision}
            attributes |= {"device": self.report["device"], "method": self.report["method"]}
            self._dataset = fields(
                {name: named[name] for name in self.scenario.gravity.fields}, self.plan.points, attributes, self.report["error"]
            )
        return self._dataset


def choose(planned, machine):
    """Estimate of the method that will be taken, and of all methods, the best first.

    Raises
    ------
    ScenarioError
        The method asked for does not apply.
    """
    from craton.gravity import choose

    found = choose(planned.problem, machine)
    taken = found[0] if planned.method == "auto" else next((e for e in found if e.method == planned.method), None)
    if taken is None or (not taken.applies and planned.problem.pairs):
        why = taken.why if taken else "it is not there"
        raise ScenarioError([Problem("gravity.method", f'"{planned.method}" does not apply: {why}', 'write method = "auto"')])
    return taken, found


def check_memory(planned, machine):
    """Refuse what does not fit into the memory of this host and the machine."""
    free, _ = machine.memory()
    if planned.nbytes > free:
        needed, there = planned.nbytes / 2**30, free / 2**30
        raise ResourceError(
            f"prisms and points need {needed:.1f} GiB, {there:.1f} GiB are free on {machine.describe()}.\n"
            "    take larger cells, or fewer points at a time"
        )


def run(scenario, planned, machine, progress=True):
    """Compute the fields of a plan: GravityResult."""
    from craton.gravity import solve
    from craton.versions import versions

    taken, _ = choose(planned, machine)
    values, report = solve(planned.problem, machine, taken.method, progress=progress)
    undefined = {name: int(np.isnan(row).sum()) for name, row in zip(planned.problem.fields, values) if np.isnan(row).any()}
    report |= {"prisms": len(planned.problem.prisms), "points": planned.problem.points.shape[1], "undefined": undefined}
    report["pairs_per_second"] = report["pairs"] / max(report["seconds"], 1e-9)
    report["versions"] = versions()
    return GravityResult(scenario, planned, values, report)


def run_into(scenario, planned, machine, out, force=False, progress=True):
    """Run with an OUT directory: fields in result.zarr, state in run.json."""
    from craton.output.store import Store, check_out, check_space
    from craton.scenario import dumps

    check_out(out, force)
    check_space(out, 8 * len(planned.problem.fields) * planned.problem.points.shape[1])
    choose(planned, machine)
    store = Store(out, force)
    try:
        store.write_scenario(dumps(scenario))
        store.update(device=machine.describe(), precision=planned.precision, nbytes=planned.nbytes)
        result = run(scenario, planned, machine, progress)
        store.write_waveforms(result.dataset)
    except BaseException as failure:
        store.finish("interrupted" if isinstance(failure, KeyboardInterrupt) else "failed", reason=str(failure) or type(failure).__name__)
        raise
    result.out = store.path
    store.finish(**result.report)
    return result
