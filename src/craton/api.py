"""craton in Python: load a scenario, plan it, run it; the command line calls the same functions."""
from importlib import import_module

from craton.errors import Problem, ScenarioError
from craton.wave_runs import Result

__all__ = ["Result", "check_ranks", "load", "plan", "resume", "run", "runs"]

# What runs a method: a module with check_memory, run and run_into.
RUNS = {"fd": "craton.wave_runs", "sem": "craton.wave_runs", "gravity": "craton.gravity_runs"}


def runs(scenario):
    """The module that runs a scenario, by its method; imported when it is needed."""
    return import_module(RUNS[scenario.method])


def check_ranks(scenario, comm):
    """Refuse several ranks where a method has only one.

    Raises
    ------
    ScenarioError
    """
    if comm.size > 1 and scenario.method not in getattr(runs(scenario), "MANY_RANKS", ()):
        message = f'{comm.size} ranks, but "{scenario.method}" runs on one rank for now'
        raise ScenarioError([Problem("method", message, "leave out --ranks and mpiexec")])


def shared(scenario, planned, comm):
    """The plan of this rank, where a method cuts plans for ranks; else the plan itself."""
    how = runs(scenario)
    return how.share(scenario, planned, comm) if hasattr(how, "share") else planned


def load(path, overrides=()):
    """A scenario from a TOML file; see `craton.scenario.load`."""
    from craton.scenario import load

    return load(path, overrides)


def plan(scenario, comm=None):
    """The discretised problem of a scenario: prints as `craton plan`; `.nbytes`, `.steps`, `.phases`.

    Parameters
    ----------
    scenario : Scenario
    comm : Comm, optional
        Ranks that will share the run, all of which must ask: where each can build its own part, the plan is that of this rank.

    Raises
    ------
    ScenarioError
        With every problem found.
    """
    from craton.comm import Together
    from craton.comm.placement import planner
    from craton.methods import TRYING, build

    apart = comm is not None and comm.size > 1 and scenario.method in getattr(runs(scenario), "BUILT_APART", ())
    machine = planner(comm, scenario.run.threads) if scenario.method in TRYING else None
    return build(scenario, Together(comm) if apart else None, machine)


def run(scenario, device=None, out=None, force=False, progress=True, comm=None, devices=None):
    """Run a scenario.

    Parameters
    ----------
    scenario : Scenario
    device : str, optional
        ``"auto"``, ``"cpu"`` or ``"cuda"``; by default what the scenario says.
    out : path-like, optional
        Directory to keep the run in (DESIGN section 6); without, nothing is written and snapshots are not taken.
    force : bool
        Replace a finished run in `out`.
    progress : bool
        Show progress on standard error.
    comm : mpi4py communicator or craton.comm.Comm, optional
        Ranks that share the run; all must call with the same scenario. By default this process alone.
    devices : int, optional
        GPUs of this computer that share the run, without MPI; on a CPU groups of its cores.

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
    from craton.comm import agreed, ranks
    from craton.comm.local import Alone, spawn

    if devices is not None and devices > 1 and comm is None:
        return spawn(devices, lambda member: run(scenario, device, out, force, progress and member.rank == 0, member))[0]
    comm = Alone() if comm is None else ranks(comm)
    with agreed(comm):
        check_ranks(scenario, comm)
        planned = shared(scenario, plan(scenario, comm), comm)
    machine = fitting(scenario, planned, comm, device)
    how = runs(scenario)
    more = {"comm": comm} if comm.size > 1 else {}
    if out is None:
        return how.run(scenario, planned, machine, progress, **more)
    return how.run_into(scenario, planned, machine, out, force, progress, **more)


def resume(out, device=None, progress=True, comm=None, devices=None):
    """Go on with a run that was interrupted, from its last checkpoint; on a CPU every bit is that of a run that was not.

    Parameters
    ----------
    out : path-like
        The directory of the run.
    device, progress, comm, devices
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
    from craton.comm import ranks
    from craton.comm.local import Alone, spawn

    if devices is not None and devices > 1 and comm is None:
        return spawn(devices, lambda member: resume(out, device, progress and member.rank == 0, member))[0]
    comm = Alone() if comm is None else ranks(comm)
    scenario, planned, saved = again(out, comm)
    return runs(scenario).run_into(scenario, planned, fitting(scenario, planned, comm, device), out, False, progress, comm, saved)


def again(out, comm):
    """Scenario, plan of this rank and checkpoint of a run that can go on; all ranks must ask."""
    from pathlib import Path

    from craton.comm import agreed
    from craton.scenario import dumps
    from craton.wave_runs import resumable

    with agreed(comm):
        saved = resumable(out)
        scenario = load(Path(out) / "scenario.toml")
        saved.check_ranks(comm.size)
        saved.check_scenario(dumps(scenario))
        planned = shared(scenario, plan(scenario, comm), comm)
        saved.check_plan(planned)
    return scenario, planned, saved


def fitting(scenario, planned, comm, device=None):
    """The machine of this rank, on which the plan fits; all ranks must ask.

    Raises
    ------
    ResourceError
        On every rank, if it does not fit on one, or a machine is not there.
    """
    from craton.comm import agreed
    from craton.comm.placement import machine, place

    here = place(comm)
    with agreed(comm):
        found = machine(device or scenario.run.device, comm, here, scenario.run.threads)
        runs(scenario).check_memory(planned, found, **({"ranks": here.ranks} if comm.size > 1 else {}))
    return found
