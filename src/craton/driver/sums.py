"""Sums over sources, driven: which algorithm, whether it fits, the computation over ranks, what is kept of it."""

import logging
import time
from dataclasses import replace
from typing import Any

import numpy as np

from craton.backends import cpu
from craton.backends.base import Machine
from craton.comm import agreed, broadcast
from craton.comm.local import Alone
from craton.comm.placement import machine as machine_of
from craton.comm.placement import place
from craton.driver.job import Job
from craton.driver.progress import progress_of_sweep
from craton.driver.result import Result
from craton.errors import ResourceError
from craton.methods import gravity
from craton.methods.gravity import accuracy, speed
from craton.methods.gravity.fields import undefined as undefined_in
from craton.methods.gravity.operators import LANES
from craton.methods.gravity.tiles import Runner
from craton.model.prisms.morton import morton_order
from craton.output import store as stores
from craton.versions import versions


def trial(scenario, planned, machine):
    """Return nothing: there are no time steps to measure."""


def check_memory(planned, machine, ranks=1):
    """Refuse what does not fit: prisms, points and fields into this host's memory, once for each of
    its ranks; a tile into the machine's.

    Parameters
    ----------
    planned : GravityPlan
    machine : backend
    ranks : int
        On this host.
    """
    (free, _), (host, _) = machine.memory(), cpu.host_memory()
    for needed, there, what, where in (
        (planned.nbytes * ranks, host, f"prisms and points{f' on {ranks} ranks' if ranks > 1 else ''}", "on this host"),
        (planned.tile_nbytes, free, "a tile of prisms and points", f"on {machine.describe()}"),
    ):
        if needed > there:
            raise ResourceError(
                f"{what} need {needed / 2**30:.2f} GiB, {there / 2**30:.2f} GiB are free {where}.\n"
                "    take larger cells, or fewer points at a time"
            )


def check_disk(job: Job) -> None:
    """Refuse a directory that cannot be written to or has too little space."""
    stores.check_out(job.out, job.force)
    stores.check_space(job.out, 8 * len(job.plan.problem.fields) * job.plan.problem.points.shape[1])


def prepare(job: Job) -> Machine:
    """Return the machine; refuse an algorithm that was asked for and does not apply."""
    if job.comm.rank == 0:
        gravity.chosen(job.plan, job.machine)
    return job.machine


def facts(plan):
    """Return what run.json says of a plan."""
    return {"precision": plan.precision, "nbytes": plan.nbytes}


def compute(job: Job, machine: Machine, store: Any = None) -> Result:
    """Compute the fields of a plan and return the Result, the same on every rank."""
    plan = job.plan
    values, report = solve(plan.problem, machine, plan.method, progress=job.progress, comm=job.comm)
    undefined = {name: int(n) for name, n in zip(plan.problem.fields, np.isnan(values).sum(axis=1)) if n}
    if job.comm.rank == 0 and (words := undefined_in(plan.problem.fields, plan.problem.points, values)):
        logging.getLogger("craton").warning(words)
        if store:
            store.update(warnings=[*plan.warnings, words])
    report |= {"prisms": len(plan.problem.prisms), "points": plan.problem.points.shape[1], "undefined": undefined}
    report["pairs_per_second"] = report["pairs"] / max(report["seconds"], 1e-9)
    report["versions"] = versions()
    return Result(job.scenario, plan, values, report)


def keep(result, store, progress=False):
    """Write the fields."""
    store.write_waveforms(result.dataset)


def solve(problem, device="auto", method="auto", threads=None, progress=False, comm=None):
    """Solve a checked Problem: (fields, points) in the fields' units, and a report; the same on
    every rank.

    Parameters
    ----------
    problem : Problem
    device : str or backend
    method, threads, progress
        As in `craton.gravity.forward`.
    comm : Comm, optional
        Ranks that share the work.
    """
    comm = comm or Alone()
    machine, here = device, place(comm)
    if isinstance(device, str):
        with agreed(comm):
            machine = machine_of(device, comm, here, threads)
    begin, decision = time.perf_counter(), decide(problem, machine, method, comm)
    values, error = summed(problem, decision["method"], machine, comm, progress)
    spent = time.perf_counter() - begin
    return values, {
        **decision,
        "error": error,
        "device": machine.describe(),
        "ranks": comm.size,
        "precision": problem.precision,
        "seconds": spent,
        "pairs": problem.pairs,
    }


def decide(problem, machine, method, comm):
    """Return the method that all ranks take, why, and what each would cost one rank: rank 0 looks
    at the whole problem.
    """
    decision = None
    with agreed(comm):
        if comm.rank == 0:
            chosen, best = gravity.choose(problem, machine, method)
            decision = {
                "method": chosen.method,
                "why": chosen.why,
                "estimates": {e.method: e.seconds for e in best if e.applies},
            }
    return broadcast(comm, decision)


def summed(problem, name, machine, comm, progress):
    """Fields (fields, points) of a problem by a method, the sum of what the ranks find for their
    shares of it; and their errors.
    """
    rates = broadcast(comm, replace(speed(machine, problem.fields, problem.precision), machine=None))
    mine, places = share(problem, name, rates, comm.rank, comm.size)
    values, error = np.zeros((len(problem.fields), problem.points.shape[1])), {}
    if mine.pairs:
        if comm.size > 1 and not gravity.algorithm(name).estimate(mine, replace(rates, machine=machine)).applies:
            # a few prisms left over, without the whole ensemble's regularity
            name = gravity.choose(mine, machine)[0].method
        with progress_of_sweep(mine.pairs, f"gravity, {name}", quiet=not progress or comm.rank > 0) as report:
            attraction = gravity.algorithm(name).solve(mine, Runner(machine, report))
        error = accuracy.stated(mine, attraction, name, Runner(machine))
        values[:, places] = attraction
    return comm.reduce(values), combined(comm.gather(error), sum if isinstance(places, slice) else max)


def combined(errors, of_all):
    """Errors of the fields from those of the ranks: their sum where ranks have prisms, the greatest
    where they have points.
    """
    return {field: of_all(one[field] for one in errors if one) for field in next(filter(None, errors), {})}


# --- shares of ranks --------------------------------------------------------------------------------------------------


def balanced(count, rank, size):
    """Part of a rank: all alike, the first ``count % size`` ranks one more (Couder-Castaneda et al. 2013)."""
    each, rest = divmod(count, size)
    begin = rank * each + min(rank, rest)
    return slice(begin, begin + each + (rank < rest))


def some_prisms(problem, rank, size):
    """Consecutive prisms."""
    part = balanced(len(problem.prisms), rank, size)
    return replace(problem, prisms=problem.prisms[part], density=problem.density[part]), slice(None)


def some_layers(problem, rank, size):
    """Whole layers of prisms: each of them costs `fft` its transforms, however many prisms are in
    it.
    """
    bottom, layer = np.unique(problem.prisms[:, 4], return_inverse=True)
    part = balanced(len(bottom), rank, size)
    chosen = (layer >= part.start) & (layer < part.stop)
    return replace(problem, prisms=problem.prisms[chosen], density=problem.density[chosen]), slice(None)


def some_points(problem, rank, size):
    """Return groups of points that lie together, dealt out in turn: every rank gets as many near
    the masses.
    """
    order = morton_order(problem.points)
    group = np.arange(len(order)) // LANES
    chosen = np.sort(order[group % size == rank])
    return replace(problem, points=np.ascontiguousarray(problem.points[:, chosen])), chosen


# vertex: prisms apart from each other would lose nodes in common. far: a tree of half the prisms
# costs nearly as much at every point, but half as much to grow.
SHARES = {"direct": (some_prisms,), "far": (some_prisms, some_points), "vertex": (some_points,), "fft": (some_layers,)}


def share(problem, method, speed, rank, size):
    """Return a rank's Problem, and the points of the whole one that its results belong to.

    Where a method can be split in several ways, the one that costs least; all ranks must give the
    same `speed`.
    """
    if size == 1:
        return problem, slice(None)
    ways = SHARES[method]
    if len(ways) > 1:
        ways = sorted(ways, key=lambda way: gravity.algorithm(method).estimate(way(problem, 0, size)[0], speed).seconds)
    return ways[0](problem, rank, size)
