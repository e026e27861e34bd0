"""craton survey: check all shots, run those that are not there yet, say what there is."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path

from craton.cli.check import checked, in_words, refuse, warn
from craton.cli.run import ended_by_signal
from craton.errors import Interrupted, ScenarioError
from craton.text import megabytes


def command(
    files,
    out=None,
    workers=None,
    scheduler=None,
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
    workers : int, optional
        Processes of this computer.
    scheduler : str, optional
        Address or file of a Dask scheduler whose workers run the shots.
    device : str, optional
        In place of ``run.device``.
    force : bool
        Run all shots anew.
    overrides : sequence of str
        ``key.path=value`` each, for every file.
    quiet : bool
        No header, progress and summary.
    """
    alone(workers, scheduler)
    out = Path(out if out is not None else Path(files[0]).stem)
    with ended_by_signal():
        survey = read(files, (*overrides, *([f"run.device={device}"] if device else ())))
        warn(survey)
        outcome = run(survey, out, workers, scheduler, force, quiet)
    if not quiet and not outcome.failed:
        print(summary(outcome), flush=True)
    outcome.finished()


def alone(workers, scheduler):
    """Refuse ranks, and workers of two kinds."""
    from craton.comm import launcher
    from craton.comm import workers as dask

    if launcher.started():
        refuse(
            "mpiexec",
            "a survey gives each shot one GPU or some threads, not a group of ranks",
            "start craton survey without mpiexec",
        )
    if scheduler is not None:
        dask.needed("--scheduler")
        if workers is not None:
            refuse(
                "--workers",
                "the scheduler has its own workers",
                "leave out --workers or --scheduler",
            )


def read(files, overrides):
    """Return the Survey of one file with shots, or of several files."""
    from craton import shots

    if len(files) == 1:
        return checked(files[0], overrides, planner=shots.prepare)[1]
    names = [Path(file).stem for file in files]
    twice = [file for file, name in zip(files, names) if names.count(name) > 1]
    if twice:
        refuse(
            "FILE",
            f"{' and '.join(twice)} would both be shot {Path(twice[0]).stem}",
            "give the files different names",
        )
    surveys = {
        name: checked(file, overrides, planner=lambda s, n=name: shots.single(n, s))[1]
        for name, file in zip(names, files)
    }
    return worded(shots.together, surveys)


def run(survey, out, workers, scheduler, force, quiet):
    """Run the shots that are not there: Outcome."""
    from craton import shots
    from craton.comm import workers as dask
    from craton.output.shots import check_survey_out

    worded(check_survey_out, out, survey.digest, force)
    if not quiet:
        print(header(survey, out), flush=True)
    try:
        with dask.remote(scheduler) if scheduler else nullcontext() as client:
            return worded(shots.run, survey, out, workers, client, force, not quiet)
    except (KeyboardInterrupt, Interrupted):
        print(
            f"kept: the shots that ended are in {out}; the same command goes on",
            file=sys.stderr,
            flush=True,
        )
        raise


def worded(function, *arguments):
    """Return what a function gives; its problems in the words of the command line."""
    try:
        return function(*arguments)
    except ScenarioError as error:
        error.args = ("\n".join(map(in_words, error.problems)),)
        raise


def header(survey, out):
    """Return what will be computed, into what."""
    planned, names = survey.planned, [shot.name for shot in survey.shots]
    rows = [
        ("shots", f"{len(names)}: {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"),
        ("grid", f"{planned.grid.words()} for each"),
        ("steps", f"{planned.steps:,} of {planned.dt:.6g} s, to t = {planned.end:.4g} s"),
        ("memory", f"{megabytes(planned.nbytes)} for each shot that runs"),
        ("out", f"{os.fspath(out)}"),
    ]
    return "\n".join([survey.title or "Survey", *(f"  {label:<8}{text}" for label, text in rows)])


def summary(outcome):
    """Return what ran, and where everything is."""
    present = len(outcome.names) - outcome.ran
    ran = f"done: {outcome.ran} shots" + (f", {present} were there" if present else "")
    dataset = outcome.dataset
    variables = ", ".join(
        f"{name}({', '.join(map(str, v.dims))})" for name, v in dataset.data_vars.items()
    )
    return f"{ran}\n  {outcome.out / 'result.zarr'}  {variables}\n  {outcome.out / 'run.json'}  state, time and worker of each shot"
