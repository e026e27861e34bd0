"""The run, once for all methods, for Python, command line, resumed runs and surveys: plan, machine,
computation, what is kept.
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from craton.driver.result import Result
from craton.errors import CratonError, Interrupted, ResourceError, own_errors, refuse
from craton.methods import METHODS

if TYPE_CHECKING:
    from craton.driver.job import Job


def method_of(scenario):
    """Return the method of a scenario; refuse what is none."""
    try:
        return METHODS[scenario.method]
    except AttributeError:
        remedy = "make one by craton.Scenario(**tables), or read a file by craton.load(path)"
        refuse("scenario", f"a {type(scenario).__name__} is no Scenario", remedy)


def plan(scenario, comm=None, reuse=None):
    """Return the discretised problem of a scenario: prints as `craton plan`; `.nbytes`, `.steps`,
    `.phases`.

    Parameters
    ----------
    scenario : Scenario
    comm : Comm, optional
        Ranks that will share the run, all of which must ask: where each can plan its own subdomain,
        the plan is that of this rank.
    reuse : craton.methods.protocol.Reuse, optional
        See `Method.plan`.

    Raises
    ------
    ScenarioError
        With every problem found.

    Examples
    --------
    >>> plan = craton.plan(craton.load("two_layers.toml"))
    >>> plan.grid.shape, plan.dt > 0, plan.nbytes > 0
    ((24, 33, 39), True, True)
    """
    from craton.comm import Together
    from craton.comm.placement import planner

    method = method_of(scenario)
    team = Together(comm) if comm is not None and comm.size > 1 and method.plans_by_rank else None
    machine = planner(comm, scenario.run.threads) if method.tries_operators(scenario) else None
    return method.plan(scenario, team, machine, reuse)


def log_warnings(planned):
    """Log what can be computed but is probably not meant, under the name "craton"."""
    import logging

    for text in planned.warnings:
        logging.getLogger("craton").warning(text)


def plan_of_rank(scenario, planned, comm):
    """Return the plan of this rank from what `plan` gave.

    Raises
    ------
    ScenarioError
        The domain cannot be cut into so many parts.
    """
    method = METHODS[scenario.method]
    if comm.size == 1 or method.plans_by_rank:
        return planned
    return method.subdomain(scenario, planned, comm.rank, comm.size)


def drive(scenario):
    """Return the module that computes plans of a method: `craton.driver.waves` or
    `craton.driver.sums`.
    """
    from craton.driver import sums, waves

    return {"march": waves, "sweep": sums}[METHODS[scenario.method].drive]


def choose_machine(scenario, planned, comm, device=None):
    """Return the machine of this rank, on which the plan fits; all ranks must ask.

    Raises
    ------
    ResourceError
        On every rank, if it does not fit on one, or a machine is not there.
    """
    from craton.comm import agreed
    from craton.comm.placement import machine, place

    here = place(comm)
    if comm.size > 1:
        comm.pulse.patience = scenario.run.patience
    with agreed(comm):
        chosen = machine(device or scenario.run.device, comm, here, scenario.run.threads)
        drive(scenario).check_memory(planned, chosen, here.ranks if comm.size > 1 else 1)
    return chosen


@own_errors()
def run(scenario, device=None, out=None, force=False, progress=True, comm=None, devices=None, warn=True, observers=()):
    """Run a scenario.

    Parameters
    ----------
    scenario : Scenario
    device : str, optional
        ``"auto"``, ``"cpu"`` or the name of another machine; by default what the scenario says.
    out : path-like, optional
        Directory to keep the run in; without, nothing is written and snapshots are in memory.
    force : bool
        Replace a finished run in `out`.
    progress : bool
        Show progress on standard error.
    comm : mpi4py communicator or craton.comm.Comm, optional
        Ranks that share the run; all must call with the same scenario. By default this process
        alone.
    devices : int, optional
        GPUs of this computer that share the run, without MPI; on a CPU groups of its cores.
    warn : bool
        Log under the name "craton" what can be computed but is probably not meant.
    observers : sequence of Observer
        Watch the time loop of this rank: see `craton.Observer`. With `devices` all ranks, threads of this process, call
        the same ones.

    Returns
    -------
    Result
        Of several ranks, rank 0 has the waveforms.

    Raises
    ------
    ScenarioError
        The scenario is wrong; nothing was written.
    ResourceError
        It does not fit, or there is nothing to run it on; nothing was written.
    ComputationError, Interrupted
        It failed or was stopped; what was recorded is in `out`.
    """
    from craton.comm import agreed, of_caller
    from craton.comm.local import spawn
    from craton.driver.job import Job

    comm = of_caller(comm, devices)
    if devices not in (None, 1):
        on_rank = partial(run, scenario, device, out, force, progress, warn=warn, observers=observers)
        return spawn(devices, on_rank)[0]
    with agreed(comm):
        planned = plan_of_rank(scenario, plan(scenario, comm), comm)
    machine = choose_machine(scenario, planned, comm, device)
    if warn and comm.rank == 0:
        log_warnings(planned)
    job = Job(scenario, planned, machine, comm, out, force, progress and comm.rank == 0, observers=observers)
    if out is not None:
        return run_into(job)
    with agreed(comm):
        program = drive(scenario).prepare(job)
    return drive(scenario).compute(job, program).finished()


def run_into(job: "Job") -> Result:
    """Run with an OUT directory: snapshots as it goes, waveforms or fields at the end, whatever the end is. Rank 0 keeps
    the books.
    """
    from craton.comm import agreed

    comm, out, kind, store = job.comm, job.out, drive(job.scenario), None
    with agreed(comm):
        if comm.rank == 0:
            kind.check_disk(job)
        program = kind.prepare(job)
    with agreed(comm):
        if comm.rank == 0:
            store = reopen_store(out, job.saved) if job.saved else open_store(job)
    about = {"device": job.machine.describe(), "nbytes": job.plan.nbytes}
    team = comm.gather({"rank": comm.rank, "host": comm.host, "pid": os.getpid(), **about})
    try:
        if store:
            store.update(ranks=team)
        result = kind.compute(job, program, store)
        result.out = Path(out)
        if store:
            kind.keep(result, store, job.progress)
            close_store(store, result)
    except BaseException as failure:
        if store:
            store.lock.give_space()
        note_end(out, failure, f"rank {comm.rank} on {comm.host}: " if comm.size > 1 else "")
        raise
    finally:
        if store:
            store.release()
    return result.finished()


def note_end(out, failure, who):
    """Write into run.json why a run has ended; where even that cannot be written, say so."""
    from craton.output.store import ended

    try:
        ended(out, failure, who)
    except ResourceError as error:
        print(f"note: run.json does not say how the run ended: {error}", file=sys.stderr)


def open_store(job: "Job") -> Any:
    """Return the Store of a run that can begin."""
    from craton.output.inputs import Inputs
    from craton.output.store import Store

    store, inputs = Store(job.out, job.force), Inputs(job.scenario)
    try:
        store.update(inputs=inputs.keep(store.path))
        store.write_scenario(inputs.text(job.scenario))
        about = {"device": job.machine.describe(), "plan": str(job.plan), "warnings": job.plan.warnings}
        store.update(**about, **drive(job.scenario).facts(job.plan))
    except BaseException as failure:
        store.finish("failed", reason=str(failure) or type(failure).__name__)
        raise
    return store


def reopen_store(out, saved):
    """Return the Store of a run that goes on from a checkpoint; later ones, which are damaged, are
    set aside.
    """
    from craton.output.store import FINISHED, Store, read_run

    def unchanged():
        if read_run(out).get("state") == FINISHED or not saved.folder.exists():
            remedy = "look into OUT, and type the command again where there is something left to do"
            refuse("OUT", f"another process has gone on with the run in {out}", remedy)

    store = Store.again(out, unchanged)
    try:
        for folder in saved.newer():
            folder.rename(folder.with_name(f"damaged_{folder.name}"))
    except OSError as error:
        store.finish("failed", reason=str(error))
        raise ResourceError(f"cannot write to {out}: {error.strerror or error}") from error
    return store


def close_store(store, result):
    """Note how a run ended; a finished one needs no checkpoint any more."""
    from craton.driver.checkpoint import remove

    state = {type(None): "finished", Interrupted: "interrupted"}.get(type(result.error), "failed")
    report = {name: value for name, value in result.report.items() if name != "ranks"}
    report |= {"reason": str(result.error)} if result.error else {}
    store.lock.give_space()
    store.update(state=state, **report)
    if state == "finished":
        remove(store.path)
    store.finish(state)


def resumable(out):
    """Return the checkpoint from which a run can go on: `craton.driver.saved.Saved`.

    Raises
    ------
    ScenarioError
        There is no run, it is finished or goes on, or it has left no checkpoint.
    """
    from craton.driver.saved import folders, last_manifest
    from craton.output.store import check_alone, read_run

    out = Path(out)
    state = read_run(out)
    if not (out / "run.json").exists():
        refuse("OUT", f"there is no run in {out}", "name the directory that `craton run` wrote to")
    check_alone(out)
    if state.get("state") == "finished":
        refuse("OUT", f"the run in {out} is finished: there is nothing to go on with", "")
    if not folders(out):
        remedy = f'run {out / "scenario.toml"} anew; run.checkpoint = "10 min" writes one every ten minutes'
        refuse("OUT", f"the run in {out} has left no checkpoint", remedy)
    return last_manifest(out)


@own_errors()
def resume(out, device=None, progress=True, comm=None, devices=None, observers=()):
    """Go on with a run that was interrupted, from its last checkpoint; on a CPU every bit is that
    of a run that was not.

    Parameters
    ----------
    out : path-like
        The directory of the run.
    device, progress, comm, devices, observers
        See `run`; as many ranks or devices as before.

    Returns
    -------
    Result

    Raises
    ------
    ScenarioError
        There is nothing to go on with, or not with so many ranks, this scenario or this version.
    ResourceError, ComputationError, Interrupted
        See `run`.
    """
    from craton.comm import of_caller
    from craton.comm.local import spawn
    from craton.driver.job import Job

    comm = of_caller(comm, devices)
    if devices not in (None, 1):
        return spawn(devices, partial(resume, out, device, progress, observers=observers))[0]
    scenario, planned, saved = restart(out, comm)
    machine, progress = choose_machine(scenario, planned, comm, device), progress and comm.rank == 0
    return run_into(Job(scenario, planned, machine, comm, out, progress=progress, saved=saved, observers=observers))


def restart(out, comm):
    """Scenario, plan of this rank and checkpoint of a run that can go on; all ranks must ask."""
    from craton.comm import agreed
    from craton.driver.saved import last_whole
    from craton.output.inputs import Inputs
    from craton.output.inspection import refuse_damaged_store
    from craton.output.store import RESULT
    from craton.scenario import load

    with agreed(comm):
        if comm.rank == 0:
            resumable(out)
    saved = last_whole(out, comm)
    with agreed(comm):
        scenario = load(Path(out) / "scenario.toml")
        saved.check_scenario(Inputs(scenario).text(scenario))
        if comm.rank == 0:
            saved.check_inputs()
            tell_damage(out)
        whole = plan(scenario, comm)
        planned = plan_of_rank(scenario, whole, comm)
        saved = saved.for_plan(scenario, whole, planned)
        if comm.rank == 0:
            refuse_damaged_store(Path(out) / RESULT, [f.name for f in planned.snapshots])
    return scenario, planned, saved


def tell_damage(out):
    """Say on standard error that run.json is damaged: it is written anew."""
    from craton.output.inspection import inspect_run

    try:
        inspect_run(out)
    except CratonError as damage:
        print(f"note: {damage}: it is written anew", file=sys.stderr, flush=True)
