"""craton survey: check all shots, run those that are not there yet, say what there is."""

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

from craton.cli.check import checked, in_words, refuse, warn
from craton.cli.run import ended_by_signal
from craton.errors import Ended, Interrupted, ScenarioError
from craton.text import megabytes


def command(
    files,
    out=None,
    places=None,
    options=None,
    ranks=1,
    snapshots=False,
    device=None,
    force=False,
    overrides=(),
    quiet=False,
):
    """Run a survey into a directory.

    Parameters
    ----------
    files : list of str
        One scenario with shots, or several that share receivers and times.
    out : str, optional
        Directory; by default the first file's stem in the current directory.
    places : dict, optional
        Where shots run: the number of processes of this computer (``workers``), a Dask scheduler
        whose workers run them (``scheduler``, its address or file), or a batch system
        (``systems``, one name) with its number of ``jobs``.
    options : dict, optional
        ``words`` and ``file`` with the options of batch jobs.
    ranks : int
        GPUs, or groups of cores, that share each shot.
    snapshots : bool
        Keep the snapshots of each shot.
    device : str, optional
        In place of ``run.device``.
    force : bool
        Run all shots anew.
    overrides : sequence of str
        ``key.path=value`` each, for every file.
    quiet : bool
        No header, progress and summary.
    """
    places = {"workers": None, "scheduler": None, "systems": [], "jobs": None} | (places or {})
    job_options = checked_places(places, options or {"words": (), "file": None})
    out = Path(out if out is not None else Path(files[0]).stem)
    with ended_by_signal():
        overrides = (*overrides, *([f"run.device={device}"] if device else ()))
        survey = read(files, overrides, snapshots)
        warn(survey)
        outcome = run(survey, out, places, job_options, ranks, force, quiet)
    if not quiet and not outcome.failed:
        print(summary(outcome), flush=True)
    outcome.finished()


def checked_places(places, options):
    """Return the options of batch jobs, where there are some; refuse ranks of a launcher, and
    workers of two kinds.
    """
    from craton.comm import launcher
    from craton.comm import workers as dask

    if launcher.started():
        refuse(
            "mpiexec",
            "a survey gives each shot one GPU or some threads, not a group of ranks",
            "start craton survey without mpiexec; --ranks N gives each shot several GPUs",
        )
    asked = [f"--{name}" for name in ("workers", "scheduler") if places[name] is not None]
    asked += [f"--{name}" for name in places["systems"]]
    if len(asked) > 1:
        refuse(asked[0], f"{' and '.join(asked)} both say where shots run", "give one of them")
    unused = [f"--{name}" for name, value in (("jobs", places["jobs"]), *options.items()) if value]
    if unused and not places["systems"]:
        word = {"--words": "--job", "--file": "--job-file"}.get(unused[0], unused[0])
        refuse(word, "this is an option of batch jobs", "add --slurm or --pbs")
    if places["scheduler"] is not None:
        dask.needed("--scheduler")
    if not places["systems"]:
        return None
    from craton.comm.jobs import options_of

    return worded(options_of, places["systems"][0], options["file"], options["words"])


def read(files, overrides, snapshots):
    """Return the Survey of one file with shots, or of several files."""
    from craton import shots

    if len(files) == 1:
        return checked(files[0], overrides, planner=lambda s: shots.prepare(s, snapshots))[1]
    names = [Path(file).stem for file in files]
    twice = [file for file, name in zip(files, names) if names.count(name) > 1]
    if twice:
        refuse(
            "FILE", f"{' and '.join(twice)} would both be shot {Path(twice[0]).stem}", "give the files different names"
        )
    surveys = {
        name: checked(file, overrides, planner=lambda s, n=name: shots.single(n, s, snapshots))[1]
        for name, file in zip(names, files)
    }
    return worded(shots.together, surveys)


def run(survey, out, places, options, ranks, force, quiet):
    """Run the shots that are not there: Outcome."""
    from craton import shots
    from craton.output.shots import check_survey_out

    worded(check_survey_out, out, survey, force)
    if not quiet:
        print(header(survey, out), flush=True)
    with interruptible(out), client_of(survey, out, places, options, ranks) as client:
        arguments = (survey, out, places["workers"], client, force, not quiet, ranks)
        return worded(shots.run, *arguments)


@contextmanager
def interruptible(out):
    """Inside, an interruption says that the shots that ended are kept, and how to go on."""
    try:
        yield
    except (KeyboardInterrupt, Interrupted) as error:
        print(f"kept: the shots that ended are in {out}; the same command goes on", file=sys.stderr, flush=True)
        raise Ended(error, Interrupted.exit_code) from error


def client_of(survey, out, places, options, ranks):
    """Open a Dask client of a scheduler, or what opens one of batch jobs; nothing on this
    computer.
    """
    from craton.comm import workers as dask

    if places["scheduler"] is not None:
        return dask.remote(places["scheduler"])
    if not places["systems"]:
        return nullcontext()
    from craton.comm.jobs import batch

    gpus = survey.shots[0].scenario.run.device != "cpu"
    jobs = places["jobs"] or 1
    return nullcontext(partial(batch, places["systems"][0], jobs, options, out, ranks, gpus))


def worded(function, *arguments):
    """Return what a function gives; its problems in the words of the command line."""
    try:
        return function(*arguments)
    except ScenarioError as error:
        raise ScenarioError(error.problems, "\n".join(map(in_words, error.problems))) from error


def header(survey, out):
    """Return what will be computed, into what."""
    planned, names = survey.planned, [shot.name for shot in survey.shots]
    rows = [
        ("shots", f"{len(names)}: {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"),
        ("grid", f"{planned.grid.words()} for each"),
        ("steps", f"{planned.steps:,} of {planned.dt:.6g} s, to t = {planned.end:.4g} s"),
        ("memory", f"{megabytes(survey.memory)} for each shot that runs"),
        ("out", f"{os.fspath(out)}"),
    ]
    return "\n".join([survey.title or "Survey", *(f"  {label:<8}{text}" for label, text in rows)])


def summary(outcome):
    """Return what ran, and where everything is."""
    present = len(outcome.names) - outcome.ran
    ran = f"done: {outcome.ran} shots" + (f", {present} were there" if present else "")
    dataset = outcome.dataset
    variables = ", ".join(f"{name}({', '.join(map(str, v.dims))})" for name, v in dataset.data_vars.items())
    return f"{ran}\n  {outcome.out / 'result.zarr'}  {variables}\n  {outcome.out / 'run.json'}  state, time and worker of each shot"
