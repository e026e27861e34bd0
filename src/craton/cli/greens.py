"""craton greens: build a store of Green's functions, and take seismograms from it."""

from pathlib import Path

from craton.cli import survey as surveys
from craton.cli.check import checked, refuse, warn
from craton.cli.run import ended_by_signal
from craton.text import listed

KINDS = {"cmt": "cmtsolution", "srf": "srf", "quakeml": "quakeml", "csv": "csv"}


def build(
    file, out=None, places=None, options=None, device=None, force=False, overrides=(), quiet=False
):
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
        surveys.worded(check_survey_out, out, survey.digest, force)
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


def query(store, sources, out=None, stations=None, sampling=None, quantities=(), force=False):
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
    force : bool
        Replace the file.
    """
    from craton.io.miniseed import write

    path = Path(out or "seismograms.nc")
    if path.suffix not in (".nc", ".mseed"):
        refuse("-o", f"{path} ends neither with .nc nor with .mseed", "name another file")
    if path.exists() and not force:
        refuse("-o", f"{path} is there already", "name another file, or add --force")
    files = {KINDS[name]: file for name, file in sources.items() if file is not None}
    if len(files) > 1:
        refuse("--cmt", f"{listed(files, 'and')} are two sources", "give one of them")
    dataset = surveys.worded(seismograms, store, files, stations, sampling, quantities)
    if path.suffix == ".nc":
        dataset.to_netcdf(path)
    else:
        write(dataset, path)
    print(path)


def seismograms(store, files, stations, sampling, quantities):
    """Return the seismograms of a file of sources; see `query`."""
    import sys

    from craton.greens import open as open_store

    database = open_store(store)
    source = [{"kind": kind, "file": str(Path(file).resolve())} for kind, file in files.items()]
    names = tuple(quantities) or ("velocity",)
    unknown = set(names) - {"velocity", "displacement", "acceleration"}
    if unknown:
        remedy = "choose velocity, displacement or acceleration"
        refuse("--quantity", f'there is no "{unknown.pop()}" of a store', remedy)
    for warning in database.warnings(source or None):
        print(warning, file=sys.stderr)
    return database.seismograms(source or None, stations, sampling, None, names)


def command(verb, **arguments):
    """Do what ``craton greens VERB`` says; arguments as of that function."""
    {"build": build, "query": query}[verb](**arguments)
