"""Commands about this computer, the kernels, keys and validation."""

from typing import Annotated

import typer

from craton.cli.commands.options import Debug, Precision, Where, call

app = typer.Typer()


@app.command()
def info(debug: Debug = False):
    """Show versions, compiler, memory and GPU.

    Where something is missing it says what to install.
    """
    return call("info")


@app.command()
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to measure: fd, sem, nakata, gravity.")] = "fd",
    device: Where = None,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE.json", help="Keep the figures as JSON.")
    ] = None,
    debug: Debug = False,
):
    """Measure the speed of this machine.

    Copy bandwidth first; then point-steps per second of plain and boundary-laden cases (fd),
    elements per second of cubes and irregular elements, isotropic, anisotropic, with attenuation
    and water (sem), or prism-point pairs per second and whole calls on the case of seven spheres
    (gravity, under a minute).
    """
    return call("bench", name=name, device=device.value if device else "auto", out=out)


@app.command()
def validate(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A case, or fd: all of them.", show_default=False)
    ] = None,
    device: Where = None,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE.json", help="Keep the misfits as JSON.")
    ] = None,
    figure: Annotated[
        str | None, typer.Option("--figure", metavar="FILE.png", help="Draw seismograms and misfits.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Larger runs, for a GPU.")] = False,
    debug: Debug = False,
):
    """Compare runs with solutions from elsewhere.

    Ends with exit code 4 where a case is not within its limit.
    """
    return call("validate", name=name, device=device.value if device else "auto", out=out, figure=figure, full=full)


@app.command()
def kernels(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An operator; all are listed without it.", show_default=False)
    ] = None,
    order: Annotated[int, typer.Option(help="Order in space of the finite differences: 2, 4, ... 16.")] = 4,
    precision: Annotated[Precision, typer.Option(help="Reals of the kernels.")] = Precision.float32,
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="sm_NN", help="Compile for a GPU architecture (needs no GPU) and show registers and spills."
        ),
    ] = None,
    debug: Debug = False,
):
    """List the operators, or show the text of one.

    With NAME: the complete C++ that is compiled for each machine, with the flags.
    """
    return call("kernels", name=name, order=order, precision=precision.value, arch=arch)


@app.command()
def schema(
    method: Annotated[str | None, typer.Option(metavar="NAME", help="One method; by default all.")] = None,
    out: Annotated[str | None, typer.Option("-o", "--out", metavar="FILE.json", help="Write it into a file.")] = None,
    debug: Debug = False,
):
    """Print all keys of a scenario as JSON Schema.

    Editors complete and check scenario files by it: a first line "#:schema scenario.json" does in
    those that use Taplo.
    """
    return call("schema", method=method, out=out)
