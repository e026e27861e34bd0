"""Commands that run many shots: surveys, gradients, stores of Green's functions."""

from functools import wraps
from inspect import Signature, signature
from typing import Annotated

import typer

from craton.cli.commands.options import Debug, File, Quiet, Set, Where, call

app = typer.Typer()

Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Processes that run a shot each; by default one for each GPU or four cores."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler (address, or its file .json) whose workers run the shots."),
]
Jobs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Batch jobs; by default one.")]
JobOptions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="Option of each job, e.g. cores=16, memory=60GB, queue=gpu; may be repeated."
    ),
]
JobFile = Annotated[str | None, typer.Option("--job-file", metavar="FILE.yaml", help="Options of the jobs in a file.")]
RanksOfShot = Annotated[int, typer.Option(min=1, metavar="N", help="GPUs, or groups of cores, for each shot.")]


def shot_arguments(
    workers: Workers = None,
    scheduler: Scheduler = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="Run the shots in Slurm jobs.")] = False,
    pbs: Annotated[bool, typer.Option("--pbs", help="Run the shots in PBS jobs.")] = False,
    jobs: Jobs = None,
    job: JobOptions = None,
    job_file: JobFile = None,
    device: Where = None,
    force: Annotated[bool, typer.Option("--force", help="Run all shots anew.")] = False,
    overrides: Set = None,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Return where and how shots run, as `craton.cli.survey.command` takes it."""
    systems = [name for name, chosen in (("slurm", slurm), ("pbs", pbs)) if chosen]
    return {
        "places": {"workers": workers, "scheduler": scheduler, "systems": systems, "jobs": jobs},
        "options": {"words": job or (), "file": job_file},
        "device": device and device.value,
        "force": force,
        "overrides": overrides or (),
        "quiet": quiet,
    }


def runs_shots(command):
    """Give a command the options of `shot_arguments`, which it takes as the argument ``shots``."""
    shared = signature(shot_arguments).parameters
    special = [p for p in signature(command).parameters.values() if p.name != "shots"]

    @wraps(command)
    def extended(**given):
        shots = shot_arguments(**{name: given.pop(name) for name in shared})
        return command(**given, shots=shots)

    parameters = [*special, *shared.values()]
    extended.__signature__ = Signature(parameters)
    extended.__annotations__ = {p.name: p.annotation for p in parameters}
    return extended


@app.command()
@runs_shots
def survey(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE.toml...",
            help="A scenario with shots, or several scenarios; or: status OUT.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", metavar="OUT", help="Folder for the results; by default the first file's name, here."
        ),
    ] = None,
    ranks: RanksOfShot = 1,
    snapshots: Annotated[
        bool, typer.Option("--snapshots", help="Keep the snapshots of each shot, in OUT/shots.")
    ] = False,
    shots=None,
):
    """Run many shots, one on each GPU or on some cores.

    All go to one result.zarr in the folder OUT. Shots that are there already are not run again.
    craton survey status OUT says how far a survey is.
    """
    if files[0] == "status" and len(files) == 2:
        return call("survey_status", out=files[1])
    return call("survey", files=files, out=out, ranks=ranks, snapshots=snapshots, **shots)


@app.command()
@runs_shots
def gradient(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", metavar="OUT", help="Folder for the results; by default the file's name and -gradient, here."
        ),
    ] = None,
    ranks: RanksOfShot = 1,
    shots=None,
):
    """Compute the gradient of a misfit over all shots.

    The scenario names observed data in [gradient]. The sum over all shots, illumination and the
    misfit of each shot go to gradient.zarr in the folder OUT. Shots that are there already are not
    run again.
    """
    return call("gradient", file=file, out=out, ranks=ranks, **shots)


greens = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Green's functions by reciprocity: build a store, take seismograms from it.",
)
app.add_typer(greens, name="greens")


@greens.command("build")
@runs_shots
def build_greens(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", metavar="OUT", help="Folder of the store; by default the file's name and -greens, here."
        ),
    ] = None,
    shots=None,
):
    """Run the forces at all stations, and keep their fields in the volume of [greens].

    The receivers of the scenario are the stations. Forces that are there already are not run again.
    """
    return call("greens", verb="build", file=file, out=out, **shots)


def _file_of(words):
    return Annotated[str | None, typer.Option(metavar="FILE", help=words)]


@greens.command("query")
def query_greens(
    store: Annotated[str, typer.Argument(metavar="OUT", help="Folder of craton greens build.", show_default=False)],
    cmt: _file_of("The earthquake, a CMTSOLUTION.") = None,
    srf: _file_of("A rupture, SRF.") = None,
    quakeml: _file_of("The earthquake, QuakeML.") = None,
    csv: _file_of("Moment tensors, CSV.") = None,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE", help="File .nc or .mseed; by default seismograms.nc.")
    ] = None,
    station: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A station; may be repeated.")] = None,
    sampling: Annotated[float | None, typer.Option(min=0, metavar="S", help="Interval, s.")] = None,
    quantity: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="velocity, displacement, acceleration; may be repeated.")
    ] = None,
    mtuq: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Write SAC files of Green's functions at its place for MTUQ there."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files.")] = False,
    debug: Debug = False,
):
    """Write the seismograms of an earthquake; without a file, of the store's own sources."""
    sources = {"cmt": cmt, "srf": srf, "quakeml": quakeml, "csv": csv}
    how = {"stations": station, "sampling": sampling, "quantities": quantity or ()}
    how |= {"mtuq": mtuq, "force": force}
    return call("greens", verb="query", store=store, sources=sources, out=out, **how)
