"""craton greens: build a store of Green's functions, and take seismograms from it."""

from pathlib import Path

from craton.cli import survey as surveys
from craton.cli.check import checked, refuse, refuse_present, regular_file, warn, whole
from craton.cli.run import ended_by_signal
from craton.text import listed

KINDS = {"cmt": "cmtsolution", "srf": "srf", "quakeml": "quakeml", "csv": "csv"}


def build(file, out=None, places=None, options=None, device=None, force=False, overrides=(), quiet=False):
    """Compute Green's functions into a directory.

    Parameters
    ----------
    file : str
        Scenario with the table greens.
    out : str, optional
        Directory; by default the file's stem and -greens in the current directory.
    places, options, device, force, overrides, quiet
        See `craton.cli.survey.command`.
    """
    from craton.greens.store import prepare, words
    from craton.output.shots import check_survey_out

    job_options = surveys.checked_places(places, options)
    out = Path(out if out is not None else f"{Path(file).stem}-greens")
    with ended_by_signal():
        overrides = (*overrides, *([f"run.device={device}"] if device else ()))
        survey = checked(file, overrides, planner=prepare)[1]
        warn(survey)
        surveys.worded(check_survey_out, out, survey, force)
        if not quiet:
            print(f"{surveys.header(survey, out)}\n{words(survey)}", flush=True)
        store = run(survey, out, places, job_options, force, quiet)
    if not quiet:
        count, forces = len(store.stations), len(survey.shots)
        print(f"done: {count} stations, {forces} forces\n  {out}", flush=True)


def run(survey, out, places, options, force, quiet):
    """Run the forces that are not there: Database."""
    from craton.greens import build as build_store

    with surveys.interruptible(out), surveys.client_of(survey, out, places, options, 1) as client:
        arguments = (survey, out, places["workers"], client, force, not quiet)
        return surveys.worded(build_store, *arguments)


def query(store, sources, out=None, stations=None, sampling=None, quantities=(), mtuq=None, force=False):
    """Write the seismograms of a source.

    Parameters
    ----------
    store : str
        Folder of `build`.
    sources : dict
        A file by kind, keys of `KINDS`; without one the sources of the store's scenario.
    out : str, optional
        NetCDF file (.nc) or MiniSEED file (.mseed) to be written; by default seismograms.nc.
    stations : list of str, optional
    sampling : float, optional
        s.
    quantities : sequence of str
    mtuq : str, optional
        Folder to which Green's functions of the source's place are written for MTUQ, in place of
        seismograms.
    force : bool
        Replace the file.
    """
    from craton.io.miniseed import write

    for name in (name for name, file in sources.items() if file is not None):
        regular_file(f"--{name}", sources[name])
    files = {KINDS[name]: file for name, file in sources.items() if file is not None}
    if len(files) > 1:
        refuse("--cmt", f"{listed(files, 'and')} are two sources", "give one of them")
    if mtuq is not None:
        if out is not None or quantities:
            words = "Green's functions for MTUQ are displacements, in a folder of their own"
            refuse("--mtuq", words, "leave out -o and --quantity")
        surveys.worded(for_mtuq, store, files, Path(mtuq), stations, sampling, force)
        print(mtuq)
        return
    path = Path(out or "seismograms.nc")
    if path.suffix not in (".nc", ".mseed"):
        refuse("-o", f"{path} ends neither with .nc nor with .mseed", "name another file")
    refuse_present("-o", path, force)
    dataset = surveys.worded(seismograms, store, files, stations, sampling, quantities)
    with whole(path):
        if path.suffix == ".nc":
            dataset.to_netcdf(path)
        else:
            write(dataset, path)
    print(path)


def sources_of(files):
    """Return files of sources as tables of a scenario; None of none."""
    tables = [{"kind": kind, "file": str(Path(file).resolve())} for kind, file in files.items()]
    return tables or None


def for_mtuq(store, files, folder, stations, sampling, force):
    """Write the Green's functions of the place of a file's source; see `query`."""
    from craton.greens import open as open_store
    from craton.greens.mtuq import place_of, write_mtuq
    from craton.io.libraries import has_obspy

    if any(folder.glob("*.sac")) and not force:
        refuse("--mtuq", f"{folder} holds SAC files", "name another folder, or add --force")
    if not has_obspy(folder):
        refuse("--mtuq", "ObsPy is not installed", "pip install obspy")
    database = open_store(store)
    at = place_of(database, sources_of(files))
    write_mtuq(database, at, folder, sampling=sampling, stations=stations)


def seismograms(store, files, stations, sampling, quantities):
    """Return the seismograms of a file of sources; see `query`."""
    import sys

    from craton.greens import open as open_store

    database = open_store(store)
    source = sources_of(files)
    names = tuple(quantities) or ("velocity",)
    unknown = set(names) - {"velocity", "displacement", "acceleration"}
    if unknown:
        remedy = "choose velocity, displacement or acceleration"
        refuse("--quantity", f'there is no "{unknown.pop()}" of a store', remedy)
    for warning in database.warnings(source):
        print(warning, file=sys.stderr)
    return database.seismograms(source, stations, sampling, None, names)


def command(verb, **arguments):
    """Do what ``craton greens VERB`` says; arguments as of that function."""
    {"build": build, "query": query}[verb](**arguments)
