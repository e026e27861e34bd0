"""Gravity scenarios: which method, whether it fits, the run, its result and what it leaves on disk."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import Problem, ResourceError, ScenarioError

MANY_RANKS = ("gravity",)  # prisms or points are shared by ranks


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


def check_memory(planned, machine, ranks=1):
    """Refuse what does not fit: prisms, points and fields into this host's memory, once for each of its ranks; a tile into the machine's.

    Parameters
    ----------
    planned : GravityPlan
    machine : backend
    ranks : int
        On this host.
    """
    from craton.backends.cpu import host_memory

    (free, _), (host, _) = machine.memory(), host_memory()
    for needed, there, what, where in (
        (planned.nbytes * ranks, host, f"prisms and points{f' on {ranks} ranks' if ranks > 1 else ''}", "on this host"),
        (planned.tile_nbytes, free, "a tile of prisms and points", f"on {machine.describe()}"),
    ):
        if needed > there:
            raise ResourceError(f"{what} need {needed / 2**30:.2f} GiB, {there / 2**30:.2f} GiB are free {where}.\n"
                                "    take larger cells, or fewer points at a time")  # fmt: skip


def run(scenario, planned, machine, progress=True, comm=None):
    """Compute the fields of a plan: GravityResult, the same on every rank."""
    from craton.comm import agreed, ranks
    from craton.gravity import solve
    from craton.versions import versions

    comm = ranks(comm)
    with agreed(comm):
        if comm.rank == 0:
            choose(planned, machine)
    values, report = solve(planned.problem, machine, planned.method, progress=progress, comm=comm)
    undefined = {name: int(np.isnan(row).sum()) for name, row in zip(planned.problem.fields, values) if np.isnan(row).any()}
    report |= {"prisms": len(planned.problem.prisms), "points": planned.problem.points.shape[1], "undefined": undefined}
    report["pairs_per_second"] = report["pairs"] / max(report["seconds"], 1e-9)
    report["versions"] = versions()
    return GravityResult(scenario, planned, values, report)


def run_into(scenario, planned, machine, out, force=False, progress=True, comm=None):
    """Run with an OUT directory: fields in result.zarr, state in run.json. Rank 0 writes; a rank that fails leaves its reason."""
    from craton.comm import agreed, ranks
    from craton.output.store import ended

    comm, store = ranks(comm), None
    with agreed(comm):
        if comm.rank == 0:
            store = begun(scenario, planned, machine, out, force)
    team = comm.gather({"rank": comm.rank, "host": comm.host, "pid": os.getpid(), "device": machine.describe()})
    try:
        if store:
            store.update(ranks=team)
        result = run(scenario, planned, machine, progress, comm)
        if store:
            store.write_waveforms(result.dataset)
            store.finish(**{name: value for name, value in result.report.items() if name not in ("device", "ranks")})
    except BaseException as failure:
        ended(out, failure, f"rank {comm.rank} on {comm.host}: " if comm.size > 1 else "")
        raise
    result.out = Path(out)
    return result


def begun(scenario, planned, machine, out, force):
    """The Store of a run that can begin."""
    from craton.output.store import Store, check_out, check_space
    from craton.scenario import dumps

    check_out(out, force)
    check_space(out, 8 * len(planned.problem.fields) * planned.problem.points.shape[1])
    choose(planned, machine)
    store = Store(out, force)
    try:
        store.write_scenario(dumps(scenario))
        store.update(device=machine.describe(), precision=planned.precision, nbytes=planned.nbytes)
    except BaseException as failure:
        store.finish("failed", reason=str(failure) or type(failure).__name__)
        raise
    return store
