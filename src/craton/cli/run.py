"""craton run and resume: check everything, say what will be computed, compute it, say where it is."""

import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from craton.cli.check import checked
from craton.cli.command import (
    Debug,
    File,
    Force,
    OnRanks,
    Oversubscribe,
    Quiet,
    Set,
    Where,
    argument,
    changes,
    option,
    target,
)
from craton.driver.run import log_warnings
from craton.errors import ComputationError, CratonError, Ended, Interrupted, refuse

if TYPE_CHECKING:
    from craton.driver.job import Job

RESUMABLE, NOT_RESUMABLE = 75, 130  # exit codes of interruptions
MOST_RANKS_OF_A_CORE = 4


def run(
    file: File,
    out: target("OUT", "Folder for the results; by default the file's name without .toml, here.") = None,
    device: Where = None,
    ranks: option(
        "Processes of this host that share the run, each with a GPU or some cores.", kind=int | None, min=1, metavar="N"
    ) = None,
    oversubscribe: Oversubscribe = False,
    force: Force = False,
    overrides: Set = None,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Run a scenario.

    Waveforms, snapshots and a record of the run go to the folder OUT.
    """
    overrides = changes(overrides, device)
    out = Path(out if out is not None else Path(file).stem)
    chosen = [word for key in overrides for word in ("--set", key)]
    words = ["run", str(file), "-o", str(out), *chosen, *flags(force=force, quiet=quiet, debug=debug)]
    with ended_by_signal(), interruptions(out):
        return on_ranks(ranks, oversubscribe, words, out, partial(run_rank, file, overrides, out, force, quiet, ranks))


def flags(**chosen):
    """Return the options without a value that are chosen, as words."""
    return [f"--{name}" for name, is_chosen in chosen.items() if is_chosen]


def on_ranks(ranks, oversubscribe, words, out, work):
    """Do `work(comm)` on this rank, of those that a launcher has started; else start `craton` with these words on so many
    ranks and return their exit code.
    """
    from craton.comm import launcher
    from craton.comm import ranks as communicator

    if ranks is not None and ranks > 1 and not launcher.started():
        check_cores(ranks, oversubscribe)
        return together(ranks, words, out)
    comm = communicator()
    with on_all(comm, out):
        return work(comm)


def check_cores(ranks, oversubscribe):
    """Refuse ranks that would share cores, unless that was asked for, and far too many of them.

    Raises
    ------
    ScenarioError
    """
    from craton.backends.cpu import cores

    available = cores()
    limit = MOST_RANKS_OF_A_CORE * available
    message = f"{ranks:,} ranks, but this computer has {available} core{'s' * (available > 1)}"
    if ranks > limit:
        refuse("--ranks", message, f"use at most {limit} ranks, or more computers (mpiexec, srun)")
    if ranks > available and not oversubscribe:
        refuse("--ranks", message, f"use --ranks {available}, or add --oversubscribe")


@contextmanager
def interruptions(out):
    """Inside, an interruption ends with exit code 75 only where there is a checkpoint to go on
    from; otherwise with 130.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise Ended(error, code_of_interruption(out)) from error
    except CratonError as error:
        if error.exit_code != RESUMABLE:
            raise
        ended = Ended(error, code_of_interruption(out))
        raise (ended if error.agreed is None else ended.on_all_ranks()) from error


def code_of_interruption(out):
    """Return the exit code of a run that was interrupted."""
    from craton.driver.saved import latest

    return RESUMABLE if latest(out) else NOT_RESUMABLE


def together(ranks, words, out):
    """Start ranks, each of which runs this command line; their exit code."""
    from craton.comm import launcher
    from craton.driver.checkpoint import saving
    from craton.output.store import ended

    code, reason = launcher.run(ranks, words, busy=lambda: saving(out))
    if reason:
        hint = "\n    -> signal 9 that nobody sent: the system was short of memory; use fewer ranks"
        print(f"craton: {reason}{hint if 'signal 9' in reason else ''}", file=sys.stderr)
    if code in (RESUMABLE, NOT_RESUMABLE):
        ended(out, KeyboardInterrupt(reason))
    elif code not in (0, 2, 3):
        ended(out, RuntimeError(reason or "a rank failed"))
    return code_of_interruption(out) if code == RESUMABLE else code


def run_rank(file, overrides, out, force, quiet, ranks, comm):
    """Run on this rank; rank 0 writes and prints."""
    from craton.comm import agreed
    from craton.driver import run as driver
    from craton.driver.job import Job
    from craton.memory import give_back_freed

    give_back_freed()
    with agreed(comm):
        if ranks not in (None, comm.size):
            refuse("--ranks", f"{ranks} ranks, but mpiexec started {comm.size}", "leave out --ranks")
    with agreed(comm):
        planner, written_to = partial(driver.plan, comm=comm), out if comm.rank == 0 else None
        scenario, planned = checked(file, overrides, written_to, force, planner)
        planned = driver.plan_of_rank(scenario, planned, comm)
    machine = driver.choose_machine(scenario, planned, comm)
    reported(Job(scenario, planned, machine, comm, out, force, progress=comm.rank == 0 and not quiet))


def reported(job: "Job", note: str = "") -> None:
    """Run a job; where it shows its progress, say before what will be computed, and then what came of it."""
    from craton.comm import agreed
    from craton.driver.run import run_into
    from craton.driver.saved import latest
    from craton.memory import give_back_freed
    from craton.methods import METHODS

    give_back_freed()
    first, method, ranks = job.comm.rank == 0, METHODS[job.scenario.method], job.comm.size
    with agreed(job.comm):
        if first:
            log_warnings(job.plan)
        if job.progress:
            print(method.header(job.scenario, job.plan, job.machine, job.out), flush=True)
            print(f"  ranks   {ranks}\n" if ranks > 1 else "", note, sep="", end="", flush=True)
    try:
        result = run_into(job)
    except (ComputationError, Interrupted) as error:
        if first:
            print(f"kept: {', '.join(str(p) for p in written(job.out))}", file=sys.stderr)
        if first and isinstance(error, Interrupted) and latest(job.out):
            print(f"to go on from here: craton resume {job.out}", file=sys.stderr)
        raise
    if job.progress:
        print(method.summary(result, written(job.out)), flush=True)


@contextmanager
def on_all(comm, out):
    """Inside, an error of several ranks says so: `craton.cli.command` says it once and ends them all."""
    if comm.size == 1:
        yield
        return
    try:
        with interruptions(out):
            yield
    except CratonError as error:
        raise OnRanks(error, comm, error.agreed) from error
    except BaseException as error:
        raise OnRanks(error, comm) from error


@contextmanager
def ended_by_signal():
    """Inside, SIGTERM, SIGHUP and SIGUSR1 end the program like Ctrl-C also before and after the
    time loop, which has a gentler way of its own.
    """
    from craton.driver.observers.guard import handled

    def stop(number, frame):
        raise KeyboardInterrupt

    with handled(stop):
        yield


def written(out):
    """Return what a run left in its directory, in the order of interest."""
    from craton.io import formats

    names = ("result.zarr", *(row.file for row in formats("waveform")), "mesh.vtu", "scenario.toml", "run.json")
    return [out / name for name in names if (out / name).exists()]


def resume(
    out: argument("OUT", "Folder of a run that was interrupted."),
    device: Where = None,
    ranks: option("Processes; by default as many as the run had.", kind=int | None, min=1, metavar="N") = None,
    oversubscribe: Oversubscribe = False,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Go on with a run that was interrupted.

    It starts from the last checkpoint; results are those of a run that was not interrupted.
    """
    from craton.comm import launcher
    from craton.driver.run import resumable

    out = Path(out)
    words = ["resume", str(out), *(["--device", device] if device else []), *flags(quiet=quiet, debug=debug)]
    with ended_by_signal(), interruptions(out):
        if not launcher.started():
            saved = resumable(out)
            ranks = ranks or saved.ranks
        return on_ranks(ranks, oversubscribe, words, out, partial(resume_rank, out, device, quiet))


def resume_rank(out, device, quiet, comm):
    """Go on with the run on this rank; rank 0 writes and prints."""
    from craton.driver import run as driver
    from craton.driver.job import Job
    from craton.memory import give_back_freed

    give_back_freed()
    scenario, planned, saved = driver.restart(out, comm)
    machine = driver.choose_machine(scenario, planned, comm, device)
    job = Job(scenario, planned, machine, comm, out, progress=comm.rank == 0 and not quiet, saved=saved)
    reported(job, note=f"  from    step {saved.step:,}\n")
