"""craton resume: go on with a run that was interrupted."""

from pathlib import Path

from craton.cli.run import check_cores, ended_by_signal, interruptions, on_all, reported, together
from craton.driver.job import Job


def command(out, device=None, ranks=None, quiet=False, debug=False, oversubscribe=False):
    """Go on from the last checkpoint of a run.

    Parameters
    ----------
    out : str
        The directory of the run.
    device : str, optional
        In place of ``run.device``.
    ranks : int, optional
        By default as many as it had.
    quiet : bool
        No header, progress and summary.
    debug : bool
        Ranks that are started show tracebacks.
    oversubscribe : bool
        More ranks than cores may be started.
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
    from craton.memory import give_back_freed

    give_back_freed()
    scenario, planned, saved = driver.restart(out, comm)
    machine = driver.choose_machine(scenario, planned, comm, device)
    job = Job(scenario, planned, machine, comm, out, progress=comm.rank == 0 and not quiet, saved=saved)
    reported(job, note=f"  from    step {saved.step:,}\n")
