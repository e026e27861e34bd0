"""craton resume: go on with a run that was interrupted."""

from pathlib import Path

from craton.cli.options import Debug, Oversubscribe, Quiet, Where, argument, option
from craton.cli.run import check_cores, ended_by_signal, interruptions, on_all, reported, together


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
    from craton.comm import ranks as communicator
    from craton.driver.run import resumable

    out = Path(out)
    with ended_by_signal(), interruptions(out):
        if not launcher.started():
            saved = resumable(out)
            ranks = ranks or saved.ranks
            if ranks > 1:
                check_cores(ranks, oversubscribe)
                options = (("--quiet", quiet), ("--debug", debug))
                words = [
                    "resume",
                    str(out),
                    *(["--device", device] if device else []),
                    *(name for name, is_set in options if is_set),
                ]
                return together(ranks, words, out)
        comm = communicator()
        with on_all(comm, out):
            resume_rank(out, device, quiet, comm)
    return None


def resume_rank(out, device, quiet, comm):
    """Run on this rank; rank 0 writes and prints."""
    from craton.driver import run as driver
    from craton.driver.job import Job
    from craton.memory import give_back_freed

    give_back_freed()
    scenario, planned, saved = driver.restart(out, comm)
    machine = driver.choose_machine(scenario, planned, comm, device)
    job = Job(scenario, planned, machine, comm, out, progress=comm.rank == 0 and not quiet, saved=saved)
    reported(job, note=f"  from    step {saved.step:,}\n")
