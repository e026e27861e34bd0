"""How a failure ends: the text on standard error and the exit code."""

import sys
import time
from typing import TYPE_CHECKING

import typer

from craton.errors import CratonError, Ended, InputError, ScenarioError, exit_code
from craton.text import printable

if TYPE_CHECKING:
    from craton.comm import Comm  # which needs numpy: craton --help does not

UsageError = typer.BadParameter.__base__  # of the click that belongs to typer
GRACE = 5  # s in which rank 0 may end an interrupted run


class OnRanks(Exception):
    """An error of one of several ranks; `agreed` is the exit code of all where they have agreed on it."""

    def __init__(self, cause: BaseException, comm: "Comm", agreed: int | None = None):
        super().__init__(str(cause))
        self.cause, self.comm, self.agreed = cause, comm, agreed


def cause_of(error: BaseException) -> BaseException:
    """Return the error that another one wraps to say with which exit code it ends, and where."""
    return cause_of(error.cause) if isinstance(error, Ended | OnRanks) else error


def failed(error: BaseException, quiet: bool = False) -> int:
    """Say on standard error what went wrong, unless another rank does, and return the exit code for it."""
    code, text = outcome(error)
    sys.stdout.flush()
    if quiet:
        # launchers end all processes with the first: the one that says it shall be that
        time.sleep(1)
    elif text:
        print(printable(text), file=sys.stderr, flush=True)
    return code


def failed_together(error: OnRanks) -> int:
    """Do the same for one of several ranks: one of them says it, and all end.

    After an error on which they agreed they leave side by side; after any other the rest may be
    anywhere and is ended.
    """
    comm, (code, text) = error.comm, outcome(error.cause)
    interrupted = isinstance(cause_of(error), KeyboardInterrupt)
    if error.agreed is not None:
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


def outcome(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the text for an error."""
    if isinstance(error, SystemExit):
        return error.code, ""
    if isinstance(error, UsageError):
        return ScenarioError.exit_code, misuse(error)
    return exit_code(KeyboardInterrupt() if isinstance(error, typer.Abort) else error), words(cause_of(error))


def words(error: BaseException) -> str:
    """Return what went wrong, and what to change."""
    match error:
        case ScenarioError():
            count = len(error.problems)
            return f"{error}\n{count} problem{'s' if count > 1 else ''}; nothing was run, nothing was written."
        case CratonError():
            return f"craton: {error}"
        case KeyboardInterrupt() | typer.Abort():
            return "craton: interrupted"
        case MemoryError():
            reason = f": {error}" if str(error) else ""
            return f"craton: out of memory{reason}\n    -> use a larger spacing, a smaller domain or fewer snapshots"
        case InputError():
            return f"craton: {error}" + f"\n    -> {error.remedy}" * bool(error.remedy)
        case OSError() if error.filename is not None:
            return f"craton: {error.filename}: {error.strerror}\n    -> check the path, its disk and its permissions"
    bug = "this is a bug in craton, or a broken installation: --debug shows where"
    return f"craton: {type(error).__name__}: {error}\n    -> {bug}"


def misuse(error: UsageError) -> str:
    """Return a wrong command line in words; nothing where help was all that was wanted."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.format_message()
    command = error.ctx.command_path if error.ctx else "craton"
    message = " ".join(error.format_message().replace("Value error, ", "").split())
    return f"{command}: {message[:1].lower()}{message[1:].rstrip('.')}\n    -> {command} --help"
