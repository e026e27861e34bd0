"""craton greens: build a store of Green's functions, and take seismograms from it."""

from pathlib import Path

import typer

from craton.cli.check import checked, known, refuse_present, regular_file, whole
from craton.cli.command import File, ShotOptions, add, argument, flag, option, target
from craton.cli.survey import run_shots
from craton.errors import refuse
from craton.text import listed

KINDS = {"--cmt": "cmtsolution", "--srf": "srf", "--quakeml": "quakeml", "--csv": "csv"}
Names = {"kind": list[str] | None, "metavar": "NAME"}


def build(
    file: File,
    shots: ShotOptions,
    out: target("OUT", "Folder of the store; by default the file's name and -greens, here.") = None,
):
    """Run the forces at all stations, and keep their fields in the volume of [greens].

    The receivers of the scenario are the stations. Forces that are there already are not run again.
    """
    from craton import greens
    from craton.greens.store import prepare, words

    def planned(changed):
        return checked(file, changed, planner=prepare)[1]

    out = Path(out if out is not None else f"{Path(file).stem}-greens")
    survey, store = run_shots(shots, out, planned, greens.build, words)
    if not shots.quiet:
        count, runs = len(store.stations), len(survey.shots)
        print(f"done: {count} stations, {runs} runs\n  {out}", flush=True)


def query(
    store: argument("OUT", "Folder of craton greens build."),
    cmt: option("The earthquake, a CMTSOLUTION.", metavar="FILE") = None,
    srf: option("A rupture, SRF.", metavar="FILE") = None,
    quakeml: option("The earthquake, QuakeML.", metavar="FILE") = None,
    csv: option("Moment tensors, CSV.", metavar="FILE") = None,
    out: target("FILE", "File .nc or .mseed; by default seismograms.nc.") = None,
    station: option("A station; may be repeated.", **Names) = None,
    sampling: option("Interval, s.", kind=float | None, min=0, metavar="S") = None,
    quantity: option("velocity, displacement, acceleration, or pressure; may be repeated.", **Names) = None,
    mtuq: option("Write SAC files of Green's functions at its place for MTUQ there.", metavar="FOLDER") = None,
    force: flag("force", "Replace the files.") = False,
):
    """Write the seismograms of an earthquake; without a file, of the store's own sources."""
    from craton.io.seismograms import write_miniseed as write

    options = {"--cmt": cmt, "--srf": srf, "--quakeml": quakeml, "--csv": csv}
    files = {name: file for name, file in options.items() if file is not None}
    for name, file in files.items():
        regular_file(name, file)
    if len(files) > 1:
        refuse(next(iter(files)), f"{listed(files, 'and')} name several sources", "give one of them")
    source = [{"kind": KINDS[name], "file": str(Path(file).resolve())} for name, file in files.items()] or None
    if mtuq is not None:
        if out is not None or quantity:
            words = "Green's functions for MTUQ are displacements, in a folder of their own"
            refuse("--mtuq", words, "leave out -o and --quantity")
        for_mtuq(store, source, Path(mtuq), station, sampling, force)
        print(mtuq)
        return
    path = Path(out or "seismograms.nc")
    if path.suffix not in (".nc", ".mseed"):
        refuse("-o", f"{path} ends neither with .nc nor with .mseed", "name another file")
    refuse_present("-o", path, force)
    dataset = seismograms(store, source, station, sampling, quantity)
    with whole(path):
        if path.suffix == ".nc":
            dataset.to_netcdf(path)
        else:
            write(dataset, path)
    print(path)


def for_mtuq(store, source, folder, stations, sampling, force):
    """Write the Green's functions of the place of a source; see `query`."""
    from craton.greens import open as open_store
    from craton.greens.database import place_of
    from craton.io.libraries import has_obspy

    if any(folder.glob("*.sac")) and not force:
        refuse("--mtuq", f"{folder} holds SAC files", "name another folder, or add --force")
    if not has_obspy(folder):
        refuse("--mtuq", "ObsPy is not installed", "pip install obspy")
    database = open_store(store)
    database.write_mtuq(place_of(database, source), folder, sampling=sampling, stations=stations)


def seismograms(store, source, stations, sampling, quantities):
    """Return the seismograms of a source; see `query`."""
    import sys

    from craton.greens import open as open_store

    database = open_store(store)
    for name in quantities or ():
        known("--quantity", name, ("velocity", "displacement", "acceleration", "pressure"), "quantity")
    for warning in database.warnings(source):
        print(warning, file=sys.stderr)
    return database.seismograms(source, stations, sampling, None, quantities)


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Green's functions by reciprocity: build a store, take seismograms from it.",
)
add(app, build)
add(app, query)
