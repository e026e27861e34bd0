"""What commands share: options, how a function becomes a command, how a failure ends it."""

import logging
import sys
import time
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated

import typer

from craton.conventions import DEVICES
from craton.errors import CratonError, Ended, InputError, ScenarioError, exit_code
from craton.text import printable

if TYPE_CHECKING:
    from craton.comm import Comm  # which needs numpy: craton --help does not

UsageError = typer.BadParameter.__base__  # of the click that belongs to typer
GRACE = 5  # s in which rank 0 may end an interrupted run


def argument(metavar: str, words: str, kind: type = str, show_default: bool = False):
    """Return the annotation of a word without a name: what it stands for, and its help."""
    return Annotated[kind, typer.Argument(metavar=metavar, help=words, show_default=show_default)]


def option(words: str, *names: str, kind=str | None, **settings):
    """Return the annotation of an option that may be left out; without names it is called as its parameter."""
    return Annotated[kind, typer.Option(*names, help=words, **settings)]


def target(metavar: str, words: str):
    """Return the annotation of the option that says where to write."""
    return option(words, "-o", "--out", metavar=metavar)


def flag(name: str, words: str):
    """Return the annotation of an option without a value."""
    return option(words, f"--{name}", kind=bool)


Device = StrEnum("Device", list(DEVICES))
File = argument("FILE.toml", "The scenario.")
Where = option("Machine, in place of what the scenario says; auto: a GPU if there is one.", kind=Device | None)
Set = option(
    "Change one value of the scenario, e.g. source.0.wavelet.tau=0.2; may be repeated.",
    "--set",
    kind=list[str] | None,
    metavar="KEY=VALUE",
)
Oversubscribe = flag("oversubscribe", "Allow more ranks than this computer has cores.")
Debug = flag("debug", "Show the traceback when something fails.")
Force = flag("force", "Replace a finished run, or a file.")
Quiet = option("Print warnings and errors only.", "--quiet", "-q", kind=bool)
RanksOfShot = option("GPUs, or groups of cores, for each shot.", kind=int, min=1, metavar="N")


@dataclass(frozen=True)
class ShotOptions:
    """Where and how a command runs its shots."""

    workers: option(
        "Processes that run a shot each; by default one for each GPU or four cores.",
        kind=int | None,
        min=1,
        metavar="N",
    ) = None
    scheduler: option(
        "A Dask scheduler (address, or its file .json) whose workers run the shots.", metavar="ADDRESS"
    ) = None
    slurm: flag("slurm", "Run the shots in Slurm jobs.") = False
    pbs: flag("pbs", "Run the shots in PBS jobs.") = False
    jobs: option("Batch jobs; by default one.", kind=int | None, min=1, metavar="N") = None
    job: option(
        "Option of each job, e.g. cores=16, memory=60GB, queue=gpu; may be repeated.",
        kind=list[str] | None,
        metavar="KEY=VALUE",
    ) = None
    job_file: option("Options of the jobs in a file.", "--job-file", metavar="FILE.yaml") = None
    device: Where = None
    force: flag("force", "Run all shots anew.") = False
    overrides: Set = None
    quiet: Quiet = False


def changes(overrides: list[str] | None, device: str | None) -> list[str]:
    """Return the values of a scenario that the command line changes, ``key.path=value`` each."""
    return [*(overrides or ()), *([f"run.device={device}"] if device else ())]


def add(group: typer.Typer, function, name: str | None = None):
    """Add a function to a group as a command, with --debug. A parameter `shots` stands for the options of ShotOptions.

    The command line only gathers the arguments, and `craton.cli.app.main` calls the function afterwards: typer would
    replace the exceptions of interruptions.
    """
    taken = dict(signature(function).parameters)
    shared = dict(signature(ShotOptions).parameters) if taken.pop("shots", None) else {}
    debug = Parameter("debug", Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation=Debug)
    parameters = list({**taken, **shared, "debug": debug}.values())

    @wraps(function)
    def gathered(**arguments):
        if shared:
            arguments["shots"] = ShotOptions(**{field.name: arguments.pop(field.name) for field in fields(ShotOptions)})
        if "debug" not in taken:
            del arguments["debug"]

        def work():
            show_messages()
            return function(**arguments)

        return work

    gathered.__signature__ = Signature(parameters)
    gathered.__annotations__ = {p.name: p.annotation for p in parameters}
    group.command(name)(gathered)


class ToStandardError(logging.Handler):
    """Writes ``warning: ...`` and ``note: ...`` to what standard error is at that moment."""

    def emit(self, record):
        """Write one message."""
        word = "warning" if record.levelno >= logging.WARNING else "note"
        print(f"{word}: {printable(record.getMessage())}", file=sys.stderr, flush=True)


def show_messages():
    """Show messages of the logger "craton" from now on."""
    logger = logging.getLogger("craton")
    if not any(isinstance(handler, ToStandardError) for handler in logger.handlers):
        logger.addHandler(ToStandardError())
    logger.setLevel(logging.INFO)


# --- failures ------------------------------------------------------------------------------------------


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
