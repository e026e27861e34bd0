"""Options that several commands share, and how a command's work is deferred."""

import logging
import sys
from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer

from craton.conventions import DEVICES
from craton.text import printable

Device = StrEnum("Device", {name: name for name in DEVICES})


class Precision(StrEnum):
    """Reals of the wavefield."""

    float32 = "float32"
    float64 = "float64"


File = Annotated[str, typer.Argument(metavar="FILE.toml", help="The scenario.", show_default=False)]
Where = Annotated[
    Device | None, typer.Option(help="Machine, in place of what the scenario says; auto: a GPU if there is one.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one value of the scenario, e.g. source.0.wavelet.tau=0.2; may be repeated.",
    ),
]
Oversubscribe = Annotated[bool, typer.Option("--oversubscribe", help="Allow more ranks than this computer has cores.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback when something fails.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a finished run, or a file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]


def call(module, **arguments):
    """Return the work of a command, function `command` of a module beside this one, to be done when
    the command line has been read.
    """

    def work():
        show_messages()
        return import_module(f"craton.cli.{module}").command(**arguments)

    return work


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
