"""Options that several commands share, and how a function becomes a command."""

import logging
import sys
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated

import typer

from craton.conventions import DEVICES
from craton.text import printable


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
    own = dict(signature(function).parameters)
    shared = dict(signature(ShotOptions).parameters) if own.pop("shots", None) else {}
    debug = Parameter("debug", Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation=Debug)
    parameters = list({**own, **shared, "debug": debug}.values())

    @wraps(function)
    def gathered(**given):
        if shared:
            given["shots"] = ShotOptions(**{field.name: given.pop(field.name) for field in fields(ShotOptions)})
        if "debug" not in own:
            del given["debug"]

        def work():
            show_messages()
            return function(**given)

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
