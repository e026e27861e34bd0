"""What can be typed, and how a failure ends.

The work of each command is in a module of its own, imported when it is called.
"""

import os
import sys
import time
from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer

from craton.conventions import DEVICES
from craton.errors import CratonError, ScenarioError

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
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show version and commit."
        ),
    ] = False,
):
    """Forward modelling in geophysics on CPUs and GPUs, from one scenario file.

    To start: craton new, then plan and run.
    """


GRACE = 5  # s in which rank 0 may end an interrupted run


Device = StrEnum("Device", {name: name for name in DEVICES})


class Precision(StrEnum):
    """Reals of the wavefield."""

    float32 = "float32"
    float64 = "float64"


File = Annotated[str, typer.Argument(metavar="FILE.toml", help="The scenario.", show_default=False)]
Where = Annotated[
    Device | None,
    typer.Option(help="Machine, in place of what the scenario says; auto: a GPU if there is one."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one value of the scenario, e.g. source.0.wavelet.tau=0.2; may be repeated.",
    ),
]
Oversubscribe = Annotated[
    bool, typer.Option("--oversubscribe", help="Allow more ranks than this computer has cores.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback when something fails.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a finished run, or a file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]

# Where and how the shots of a survey, or of a gradient, run.
Anew = Annotated[bool, typer.Option("--force", help="Run all shots anew.")]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Processes that run a shot each; by default one for each GPU or four cores.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask scheduler (address, or its file .json) whose workers run the shots.",
    ),
]
Slurm = Annotated[bool, typer.Option("--slurm", help="Run the shots in Slurm jobs.")]
Pbs = Annotated[bool, typer.Option("--pbs", help="Run the shots in PBS jobs.")]
Jobs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Batch jobs; by default one.")]
JobOptions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Option of each job, e.g. cores=16, memory=60GB, queue=gpu; may be repeated.",
    ),
]
JobFile = Annotated[
    str | None,
    typer.Option("--job-file", metavar="FILE.yaml", help="Options of the jobs in a file."),
]

RanksOfShot = Annotated[
    int, typer.Option(min=1, metavar="N", help="GPUs, or groups of cores, for each shot.")
]


def call(module, **arguments):
    """Return the work of a command, function `command` of a module beside this one, to be done when
    the command line has been read.
    """

    def work():
        from craton.cli.log import show

        show()
        return import_module(f"craton.cli.{module}").command(**arguments)

    return work


@app.command()
def run(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Folder for the results; by default the file's name without .toml, here.",
        ),
    ] = None,
    device: Where = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Processes of this host that share the run, each with a GPU or some cores.",
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
        str,
        typer.Argument(
            metavar="OUT", help="Folder of a run that was interrupted.", show_default=False
        ),
    ],
    device: Where = None,
    ranks: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes; by default as many as the run had."),
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
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="Folder of a run or a survey.", show_default=False)
    ],
    debug: Debug = False,
):
    """Check that the files of a run are whole.

    Compares checkpoints, records and the copies of inputs with their checksums, and reads every
    chunk of the results. Ends with exit code 3 where something is damaged.
    """
    return call("inspect", out=out)


def shot_places(workers, scheduler, slurm, pbs, jobs):
    """Return where shots run, as `craton.cli.survey.command` takes it."""
    systems = [name for name, chosen in (("slurm", slurm), ("pbs", pbs)) if chosen]
    return {"workers": workers, "scheduler": scheduler, "systems": systems, "jobs": jobs}


@app.command()
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
            "-o",
            "--out",
            metavar="OUT",
            help="Folder for the results; by default the first file's name, here.",
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    slurm: Slurm = False,
    pbs: Pbs = False,
    jobs: Jobs = None,
    job: JobOptions = None,
    job_file: JobFile = None,
    ranks: RanksOfShot = 1,
    snapshots: Annotated[
        bool, typer.Option("--snapshots", help="Keep the snapshots of each shot, in OUT/shots.")
    ] = False,
    device: Where = None,
    force: Anew = False,
    overrides: Set = None,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Run many shots, one on each GPU or on some cores.

    All go to one result.zarr in the folder OUT. Shots that are there already are not run again.
    craton survey status OUT says how far a survey is.
    """
    if files[0] == "status" and len(files) == 2:
        return call("survey_status", out=files[1])
    places = shot_places(workers, scheduler, slurm, pbs, jobs)
    options = {"words": job or (), "file": job_file}
    how = {"ranks": ranks, "snapshots": snapshots, "force": force, "quiet": quiet}
    how |= {"device": device and device.value, "overrides": overrides or ()}
    return call("survey", files=files, out=out, places=places, options=options, **how)


@app.command()
def gradient(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Folder for the results; by default the file's name and -gradient, here.",
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    slurm: Slurm = False,
    pbs: Pbs = False,
    jobs: Jobs = None,
    job: JobOptions = None,
    job_file: JobFile = None,
    ranks: RanksOfShot = 1,
    device: Where = None,
    force: Anew = False,
    overrides: Set = None,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Compute the gradient of a misfit over all shots.

    The scenario names observed data in [gradient]. The sum over all shots, illumination and the
    misfit of each shot go to gradient.zarr in the folder OUT. Shots that are there already are not
    run again.
    """
    places = shot_places(workers, scheduler, slurm, pbs, jobs)
    options = {"words": job or (), "file": job_file}
    how = {"ranks": ranks, "force": force, "quiet": quiet, "overrides": overrides or ()}
    how |= {"device": device and device.value}
    return call("gradient", file=file, out=out, places=places, options=options, **how)


greens = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Green's functions by reciprocity: build a store, take seismograms from it.",
)
app.add_typer(greens, name="greens")


@greens.command("build")
def build_greens(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Folder of the store; by default the file's name and -greens, here.",
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    slurm: Slurm = False,
    pbs: Pbs = False,
    jobs: Jobs = None,
    job: JobOptions = None,
    job_file: JobFile = None,
    device: Where = None,
    force: Anew = False,
    overrides: Set = None,
    quiet: Quiet = False,
    debug: Debug = False,
):
    """Run the forces at all stations, and keep their fields in the volume of [greens].

    The receivers of the scenario are the stations. Forces that are there already are not run again.
    """
    places = shot_places(workers, scheduler, slurm, pbs, jobs)
    options = {"words": job or (), "file": job_file}
    how = {"force": force, "quiet": quiet, "overrides": overrides or ()}
    how |= {"device": device and device.value}
    return call("greens", verb="build", file=file, out=out, places=places, options=options, **how)


def _file_of(words):
    return Annotated[str | None, typer.Option(metavar="FILE", help=words)]


@greens.command("query")
def query_greens(
    store: Annotated[
        str,
        typer.Argument(metavar="OUT", help="Folder of craton greens build.", show_default=False),
    ],
    cmt: _file_of("The earthquake, a CMTSOLUTION.") = None,
    srf: _file_of("A rupture, SRF.") = None,
    quakeml: _file_of("The earthquake, QuakeML.") = None,
    csv: _file_of("Moment tensors, CSV.") = None,
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="File .nc or .mseed; by default seismograms.nc."
        ),
    ] = None,
    station: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A station; may be repeated.")
    ] = None,
    sampling: Annotated[float | None, typer.Option(min=0, metavar="S", help="Interval, s.")] = None,
    quantity: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="velocity, displacement, acceleration; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    debug: Debug = False,
):
    """Write the seismograms of an earthquake; without a file, of the store's own sources."""
    sources = {"cmt": cmt, "srf": srf, "quakeml": quakeml, "csv": csv}
    how = {"stations": station, "sampling": sampling, "quantities": quantity or (), "force": force}
    return call("greens", verb="query", store=store, sources=sources, out=out, **how)


@app.command()
def plan(
    file: File,
    device: Where = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Show how N ranks would share the run.")
    ] = None,
    overrides: Set = None,
    debug: Debug = False,
):
    """Show what a run would do.

    Algorithm, grid, time step, points per wavelength, sources, memory, phases, time. Writes
    nothing.
    """
    return call(
        "plan", file=file, device=device and device.value, overrides=overrides or (), ranks=ranks
    )


@app.command()
def new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the file, .toml is added; or of an example."),
    ] = "scenario",
    examples: Annotated[
        bool, typer.Option("--list", help="Print the names of the examples.")
    ] = False,
    force: Force = False,
    debug: Debug = False,
):
    """Write a small scenario to start from.

    It is commented and runs in under a minute. Where NAME is that of an example, such as
    two-layers, the example is written with the files that it needs.
    """
    return call("new", name=name, force=force, listing=examples)


@app.command()
def plot(
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Folder of a run; or a scenario, for its model.", show_default=False
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Figures: overview, records, radial, gathers, section, snapshots, map, model, "
            "peaks, maps, profiles, spectra, spectrogram, motion, fk, dispersion, kernels.",
            show_default=False,
        ),
    ] = None,
    component: Annotated[
        str | None, typer.Option(help="Component: section, spectrogram, fk, dispersion.")
    ] = None,
    station: Annotated[str | None, typer.Option(help="Receiver: spectrogram, motion.")] = None,
    by: Annotated[
        str | None, typer.Option(help="Section over distance, azimuth, offset or number.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Section by the peak of each station, trace, or all.")
    ] = None,
    reduce: Annotated[
        float | None,
        typer.Option(min=0.001, metavar="KM/S", help="Section with times reduced by a velocity."),
    ] = None,
    gain: Annotated[
        float | None, typer.Option(min=0.001, help="Of amplitudes: section, gathers.")
    ] = None,
    db: Annotated[
        float | None, typer.Option(min=1, help="Range of spectra, spectrogram, fk, dB.")
    ] = None,
    debug: Debug = False,
):
    """Draw a run: PNG files in its folder.

    Of a scenario file the model as it will be computed, before anything runs.
    """
    options = {"component": component, "station": station, "by": by, "scale": scale}
    options |= {"reduce": reduce, "gain": gain, "db": db}
    return call("plot", out=out, names=names or (), **options)


@app.command()
def report(
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Folder of a run, a survey or a gradient.", show_default=False
        ),
    ],
    file: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", metavar="FILE.html", help="Page to write; by default OUT/report.html."
        ),
    ] = None,
    debug: Debug = False,
):
    """Write a page about a run that opens in a browser, without a network.

    What was run, map, model, seismograms to zoom and pick, wavefield, gravity fields, kernels,
    time, and files with their checksums.
    """
    return call("report", out=out, file=file)


@app.command()
def compare(
    out: Annotated[str, typer.Argument(metavar="OUT", help="Folder of a run.", show_default=False)],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Observed seismograms (MiniSEED, SAC, ...), or the folder of another run.",
            show_default=False,
        ),
    ],
    band: Annotated[
        tuple[float, float] | None, typer.Option(metavar="LOW HIGH", help="Pass band of both, Hz.")
    ] = None,
    align: Annotated[
        float, typer.Option(min=0, metavar="S", help="Move observed traces by up to S seconds.")
    ] = 0.0,
    file: Annotated[
        str | None,
        typer.Option("-o", "--out", metavar="FILE.png", help="By default OUT/compare.png."),
    ] = None,
    debug: Debug = False,
):
    """Compare the seismograms of a run with data.

    Traces of the same station and component, filtered and aligned: misfit, correlation, time shift
    and ratio of amplitudes of each, and a figure. Data are in the unit of the run's waveforms.
    """
    return call("compare", out=out, data=data, band=band, align=align, file=file)


@app.command()
def film(
    out: Annotated[str, typer.Argument(metavar="OUT", help="Folder of a run.", show_default=False)],
    file: Annotated[
        str | None,
        typer.Option("-o", "--out", metavar="FILE", help="Film: .mp4 or .gif; OUT/film.mp4."),
    ] = None,
    series: Annotated[
        str | None, typer.Option(help="Series of snapshots; by default the first one.")
    ] = None,
    component: Annotated[
        str | None, typer.Option(help="Component; by default the one with most to see.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Frames per second; by default the film lasts 12 s.")
    ] = None,
    force: Force = False,
    debug: Debug = False,
):
    """Write snapshots as a film.

    All frames have one colour scale; the model, the relief or the Earth lies underneath.
    """
    how = {"series": series, "component": component, "rate": rate, "force": force}
    return call("film", out=out, file=file, **how)


@app.command()
def convert(
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="Folder of a run or a survey.", show_default=False)
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="File to write: .sgy, .su, .mseed, .xml, .quakeml, .sac, .asdf, .vtkhdf, .tif, .nc.",
            show_default=False,
        ),
    ],
    quantity: Annotated[
        str | None, typer.Option(help="Quantity of gathers; by default the first one.")
    ] = None,
    component: Annotated[
        str | None, typer.Option(help="Component of gathers; by default all.")
    ] = None,
    shot: Annotated[str | None, typer.Option(help="One shot; by default all.")] = None,
    series: Annotated[
        str | None, typer.Option(help="Snapshots or map of peaks; by default the first one.")
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Radial and transverse for east and north.")
    ] = False,
    force: Force = False,
    debug: Debug = False,
):
    """Write what a run recorded for another program.

    Shot gathers as SEG-Y or SU, waveforms as MiniSEED, SAC (a folder) or ASDF, stations as
    StationXML, the event as QuakeML, snapshots as VTKHDF (ParaView), maps of peaks as GeoTIFF
    or netCDF.
    """
    return call(
        "convert",
        out=out,
        file=file,
        quantity=quantity,
        component=component,
        shot=shot,
        series=series,
        rotate=rotate,
        force=force,
    )


@app.command()
def schema(
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="One method; by default all.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE.json", help="Write it into a file.")
    ] = None,
    debug: Debug = False,
):
    """Print all keys of a scenario as JSON Schema.

    Editors complete and check scenario files by it: a first line "#:schema scenario.json" does in
    those that use Taplo.
    """
    return call("schema", method=method, out=out)


@app.command()
def info(debug: Debug = False):
    """Show versions, compiler, memory and GPU.

    Where something is missing it says what to install.
    """
    return call("info")


@app.command()
def kernels(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="An operator; all are listed without it.", show_default=False
        ),
    ] = None,
    order: Annotated[
        int, typer.Option(help="Order in space of the finite differences: 2, 4, ... 16.")
    ] = 4,
    precision: Annotated[Precision, typer.Option(help="Reals of the kernels.")] = Precision.float32,
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="sm_NN",
            help="Compile for a GPU architecture (needs no GPU) and show registers and spills.",
        ),
    ] = None,
    debug: Debug = False,
):
    """List the operators, or show the text of one.

    With NAME: the complete C++ that is compiled for each machine, with the flags.
    """
    return call("kernels", name=name, order=order, precision=precision.value, arch=arch)


@app.command()
def bench(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What to measure: fd, sem, nakata, gravity.")
    ] = "fd",
    device: Where = None,
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", metavar="FILE.json", help="Keep the figures as JSON."),
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
        str | None,
        typer.Argument(metavar="NAME", help="A case, or fd: all of them.", show_default=False),
    ] = None,
    device: Where = None,
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", metavar="FILE.json", help="Keep the misfits as JSON."),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option("--figure", metavar="FILE.png", help="Draw seismograms and misfits."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Larger runs, for a GPU.")] = False,
    debug: Debug = False,
):
    """Compare runs with solutions from elsewhere.

    Ends with exit code 4 where a case is not within its limit.
    """
    return call(
        "validate",
        name=name,
        device=device.value if device else "auto",
        out=out,
        figure=figure,
        full=full,
    )


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
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        work = typer.main.get_command(app).main(
            arguments, prog_name="craton", standalone_mode=False
        )
        code = work() if callable(work) else work  # help and completion end with a code at once
        sys.stdout.flush()
        return code or 0
    except BrokenPipeError:  # craton kernels | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still in the buffer goes nowhere
        return 0
    except BaseException as error:
        if "--debug" in arguments and not isinstance(error, SystemExit | KeyboardInterrupt):
            import traceback

            traceback.print_exc()
        return failed_together(error, error.comm) if hasattr(error, "comm") else failed(error)


def failed(error):
    """Say on standard error what went wrong; the exit code for it."""
    code, text = outcome(error)
    sys.stdout.flush()
    if getattr(error, "quiet", False):
        # launchers end all processes with the first: the one that says it shall be that
        time.sleep(1)
    elif text:
        print(text, file=sys.stderr, flush=True)
    return code


def failed_together(error, comm):
    """Return the same for one of several ranks: one of them says it, and all end.

    After an error on which they agreed they leave side by side; after any other the rest may be
    anywhere and is ended.
    """
    code, text = outcome(error)
    interrupted = isinstance(error, KeyboardInterrupt)
    if hasattr(error, "agreed"):
        if comm.rank == 0:
            print(text, file=sys.stderr, flush=True)
        comm.barrier()
        return error.agreed
    if interrupted:
        time.sleep(GRACE if comm.rank else 0)  # rank 0 closes the books
    else:
        # where several fail alike, the first one says it and ends the others
        time.sleep(min(0.5 * comm.rank, 3))
    where = (
        "craton: "
        if interrupted and comm.rank == 0
        else f"craton: rank {comm.rank} on {comm.host}: "
    )
    print(where + text.removeprefix("craton: "), file=sys.stderr, flush=True)
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
        return (
            3,
            f"craton: out of memory{reason}\n    -> use a larger spacing, a smaller domain or fewer snapshots",
        )
    if hasattr(error, "format_message"):  # a wrong command line
        return 2, misuse(error)
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
