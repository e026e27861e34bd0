"""The command line: all commands, and how one is carried out.

Modules of commands import what they need when they are called.
"""

import os
import sys
from functools import cache
from typing import Annotated

import typer

from craton.cli import greens
from craton.cli.command import OnRanks, add, cause_of, failed, failed_together
from craton.cli.convert import convert
from craton.cli.inspect import check
from craton.cli.installation import bench, info, kernels, validate
from craton.cli.pictures import compare, film, plot, report
from craton.cli.plan import plan
from craton.cli.run import resume, run
from craton.cli.scenarios import new, schema
from craton.cli.survey import gradient, survey
from craton.errors import CratonError

LOOKING = ("report", "plot", "film")  # commands that only read results

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: no boxes, half the start-up time
)


def _version(asked):
    if asked:
        from craton.versions import described_version

        print("craton", described_version())
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show version and commit.")
    ] = False,
):
    """Forward modelling in geophysics on CPUs and GPUs, from one scenario file.

    To start: craton new, then plan and run.
    """


running, looking = typer.Typer(), typer.Typer()
for function in (new, plan, run, resume, check, survey, gradient):
    add(running, function)
running.add_typer(greens.app, name="greens")  # which is listed after the commands beside it
for function in (plot, report, film, compare, convert, info, bench, validate, kernels, schema):
    add(looking, function)
for part in (running, looking):
    app.add_typer(part)


@cache
def command():
    """Return the command line; it is built once, also in a process that runs several commands."""
    return typer.main.get_command(app)


def main(arguments=None):
    """Run a command line.

    Parameters
    ----------
    arguments : list of str, optional
        Words after ``craton``; by default those of the process.

    Returns
    -------
    int
        Exit code: 0 done, 2 wrong input, 3 does not fit, 4 the computation failed, 75 interrupted
        and can go on, 130 interrupted,
        1 anything else.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal of ASCII shows "?" for what it has not
    if arguments is None and sys.argv[1:2] and sys.argv[1] in LOOKING:
        # results are read without dask, which xarray imports where it is installed: half a second
        sys.modules.setdefault("dask", None)
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        work = command().main(arguments, prog_name="craton", standalone_mode=False)
        code = work() if callable(work) else work  # help and completion end with a code at once
        sys.stdout.flush()
        return code or 0
    except BrokenPipeError:  # craton kernels | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still in the buffer goes nowhere
        return 0
    except BaseException as error:
        if "--debug" in arguments and not isinstance(cause_of(error), SystemExit | KeyboardInterrupt):
            import traceback

            traceback.print_exc()
        match error:
            case OnRanks():
                return failed_together(error)
            case CratonError():
                return failed(error, error.quiet)
        return failed(error)
