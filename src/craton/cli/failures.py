"""How a failure ends: the text on standard error and the exit code."""

import errno
import sys
import time

import typer

from craton.errors import CratonError, ResourceError, ScenarioError
from craton.text import printable

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
GRACE = 5  # s in which rank 0 may end an interrupted run


def failed(error):
    """Say on standard error what went wrong; the exit code for it."""
    code, text = outcome(error)
    sys.stdout.flush()
    if getattr(error, "quiet", False):
        # launchers end all processes with the first: the one that says it shall be that
        time.sleep(1)
    elif text:
        print(printable(text), file=sys.stderr, flush=True)
    return code


def failed_together(error, comm):
    """Return the same for one of several ranks: one of them says it, and all end.

    After an error on which they agreed they leave side by side; after any other the rest may be
    anywhere and is ended.
    """
    code, text = outcome(error)
    interrupted = isinstance(error, KeyboardInterrupt)
    if getattr(error, "agreed", None) is not None:
        if comm.rank == 0:
            print(printable(text), file=sys.stderr, flush=True)
        comm.barrier()
        return error.agreed
    if interrupted:
        time.sleep(GRACE if comm.rank else 0)  # rank 0 closes the books
    else:
        # where several fail alike, the first one says it and ends the others
        time.sleep(min(0.5 * comm.rank, 3))
    where = "craton: " if interrupted and comm.rank == 0 else f"craton: rank {comm.rank} on {comm.host}: "
    print(where + printable(text.removeprefix("craton: ")), file=sys.stderr, flush=True)
    comm.abort(code)
    return code


def outcome(error):
    """Exit code and text for an exception."""
    if isinstance(error, SystemExit):
        return error.code, ""
    if isinstance(error, ScenarioError):
        count = len(error.problems)
        return (
            error.exit_code,
            f"{error}\n{count} problem{'s' if count > 1 else ''}; nothing was run, nothing was written.",
        )
    if isinstance(error, CratonError):
        return error.exit_code, f"craton: {error}"
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return getattr(error, "exit_code", 130), "craton: interrupted"
    if isinstance(error, MemoryError):
        reason = f": {error}" if str(error) else ""
        return (3, f"craton: out of memory{reason}\n    -> use a larger spacing, a smaller domain or fewer snapshots")
    if hasattr(error, "format_message"):  # a wrong command line
        return 2, misuse(error)
    if isinstance(error, ValueError) and hasattr(error, "remedy"):  # of a file or a unit
        return 2, f"craton: {error}" + f"\n    -> {error.remedy}" * bool(error.remedy)
    if isinstance(error, OSError) and error.filename is not None:
        code = ResourceError.exit_code if error.errno in FULL else ScenarioError.exit_code
        return (
            code,
            f"craton: {error.filename}: {error.strerror}\n    -> check the path, its disk and its permissions",
        )
    return (
        1,
        f"craton: {type(error).__name__}: {error}\n    -> this is a bug in craton, or a broken installation: --debug shows where",
    )


def misuse(error):
    """Return a wrong command line in words; nothing where help was all that was wanted."""
    command = error.ctx.command_path if getattr(error, "ctx", None) else "craton"
    message = " ".join(error.format_message().replace("Value error, ", "").split())
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.format_message()
    return f"{command}: {message[:1].lower()}{message[1:].rstrip('.')}\n    -> {command} --help"
