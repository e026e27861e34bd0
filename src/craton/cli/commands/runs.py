"""Commands that prepare, run and check one scenario."""

from typing import Annotated

import typer

from craton.cli.commands.options import Debug, File, Force, Oversubscribe, Quiet, Set, Where, call

app = typer.Typer()


@app.command()
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the file, .toml is added; or of an example.")
    ] = "scenario",
    examples: Annotated[bool, typer.Option("--list", help="Print the names of the examples.")] = False,
    force: Force = False,
    debug: Debug = False,
):
    """Write a small scenario to start from.

    It is commented and runs in under a minute. Where NAME is that of an example, such as
    two-layers, the example is written with the files that it needs.
    """
    return call("new", name=name, force=force, listing=examples)


@app.command()
def plan(
    file: File,
    device: Where = None,
    ranks: Annotated[int | None, typer.Option(min=1, metavar="N", help="Show how N ranks would share the run.")] = None,
    overrides: Set = None,
    debug: Debug = False,
):
    """Show what a run would do.

    Algorithm, grid, time step, points per wavelength, sources, memory, phases, time. Writes
    nothing.
    """
    return call("plan", file=file, device=device and device.value, overrides=overrides or (), ranks=ranks)


@app.command()
def run(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", metavar="OUT", help="Folder for the results; by default the file's name without .toml, here."
        ),
    ] = None,
    device: Where = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Processes of this host that share the run, each with a GPU or some cores."
        ),
    ] = None,
    oversubscribe: Oversubscribe = False,
    force: Force = False,
    overrides: Set = None,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Run a scenario.

    Waveforms, snapshots and a record of the run go to the folder OUT.
    """
    how = {
        "out": out,
        "device": device and device.value,
        "ranks": ranks,
        "force": force,
        "overrides": overrides or (),
        "quiet": quiet,
    }
    how |= {"debug": debug, "oversubscribe": oversubscribe}
    return call("run", file=file, **how)


@app.command()
def resume(
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="Folder of a run that was interrupted.", show_default=False)
    ],
    device: Where = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes; by default as many as the run had.")
    ] = None,
    oversubscribe: Oversubscribe = False,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Go on with a run that was interrupted.

    It starts from the last checkpoint; results are those of a run that was not interrupted.
    """
    how = {"ranks": ranks, "quiet": quiet, "debug": debug, "oversubscribe": oversubscribe}
    return call("resume", out=out, device=device and device.value, **how)


@app.command()
def check(
    out: Annotated[str, typer.Argument(metavar="OUT", help="Folder of a run or a survey.", show_default=False)],
    debug: Debug = False,
):
    """Check that the files of a run are whole.

    Compares checkpoints, records and the copies of inputs with their checksums, and reads every
    chunk of the results. Ends with exit code 3 where something is damaged.
    """
    return call("inspect", out=out)
