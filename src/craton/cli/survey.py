"""craton survey and craton gradient: check all shots, run those that are not there yet, say what there is and how far it is."""

import os
import sys
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from craton.cli.check import checked
from craton.cli.command import File, RanksOfShot, ShotOptions, argument, changes, flag, target
from craton.cli.run import ended_by_signal
from craton.driver.run import log_warnings
from craton.errors import Ended, Interrupted, refuse
from craton.text import duration, megabytes, text_sections


def survey(
    files: argument("FILE.toml...", "A scenario with shots, or several scenarios; or: status OUT.", list[str]),
    shots: ShotOptions,
    out: target("OUT", "Folder for the results; by default the first file's name, here.") = None,
    ranks: RanksOfShot = 1,
    snapshots: flag("snapshots", "Keep the snapshots of each shot, in OUT/shots.") = False,
):
    """Run many shots, one on each GPU or on some cores.

    All go to one result.zarr in the folder OUT. Shots that are there already are not run again.
    craton survey status OUT says how far a survey is.
    """
    from craton.shots import run

    if files[0] == "status" and len(files) == 2:
        return status(files[1])
    out = Path(out if out is not None else Path(files[0]).stem)
    prepare = partial(read, files, snapshots)
    outcome = run_shots(shots, out, prepare, partial(run, ranks=ranks), ranks=ranks)[1]
    if not shots.quiet and not outcome.failed:
        print(summary(outcome), flush=True)
    outcome.finished()
    return None


def run_shots(shots, out, prepare, run, words=None, ranks=1):
    """Check all shots, say what will be computed, and run those that are not there.

    Parameters
    ----------
    shots : ShotOptions
    out : Path
    prepare : callable
        Makes the survey, with the changes of the scenario that the command line asks for.
    run : callable
        Runs it, called as `craton.shots.run`.
    words : callable, optional
        What else is to be said of the survey.
    ranks : int
        GPUs, or groups of cores, that share each shot.

    Returns
    -------
    survey : Survey
    outcome : object
        What `run` returns.
    """
    from craton.output.shots import check_survey_out

    client = client_maker(shots)
    with ended_by_signal():
        survey = prepare(changes(shots.overrides, shots.device))
        log_warnings(survey)
        check_survey_out(out, survey, shots.force)
        if not shots.quiet:
            print(header(survey, out), *([words(survey)] if words else []), sep="\n", flush=True)
        with interruptible(out), client(survey, out, ranks) as opened:
            return survey, run(survey, out, shots.workers, opened, shots.force, not shots.quiet)


def client_maker(shots):
    """Return what opens a Dask client of a scheduler, or what opens one of batch jobs, for a survey; nothing on this
    computer. Refuse ranks of a launcher, workers of two kinds, and options that belong to others.
    """
    from craton.comm import launcher
    from craton.comm import workers as dask

    if launcher.started():
        words = "a survey gives each shot one GPU or some threads, not a group of ranks"
        refuse("mpiexec", words, "start craton survey without mpiexec; --ranks N gives each shot several GPUs")
    asked = [name for name in ("workers", "scheduler", "slurm", "pbs") if vars(shots)[name]]
    if len(asked) > 1:
        words = " and ".join(f"--{name}" for name in asked)
        refuse(f"--{asked[0]}", f"{words} both say where shots run", "give one of them")
    of_jobs = {"--jobs": shots.jobs, "--job": shots.job, "--job-file": shots.job_file}
    unused = [name for name, value in of_jobs.items() if value]
    systems = {"slurm", "pbs"} & set(asked)
    if unused and not systems:
        refuse(unused[0], "this is an option of batch jobs", "add --slurm or --pbs")
    if shots.scheduler is not None:
        dask.needed("--scheduler")
        return lambda survey, out, ranks: dask.remote(shots.scheduler)
    if not systems:
        return lambda survey, out, ranks: nullcontext()
    from craton.comm.jobs import batch, options_of

    system = systems.pop()
    options = options_of(system, shots.job_file, shots.job or ())

    def jobs(survey, out, ranks):
        gpus = survey.shots[0].scenario.run.device != "cpu"
        return nullcontext(partial(batch, system, shots.jobs or 1, options, out, ranks, gpus))

    return jobs


def read(files, snapshots, overrides):
    """Return the Survey of one file with shots, or of several files."""
    from craton import shots

    if len(files) == 1:
        return checked(files[0], overrides, planner=lambda s: shots.prepare(s, snapshots))[1]
    names = [Path(file).stem for file in files]
    twice = [file for file, name in zip(files, names) if names.count(name) > 1]
    if twice:
        words = f"{' and '.join(twice)} would both be shot {Path(twice[0]).stem}"
        refuse("FILE", words, "give the files different names")
    surveys = {
        name: checked(file, overrides, planner=lambda s, n=name: shots.single(n, s, snapshots))[1]
        for name, file in zip(names, files)
    }
    return shots.together(surveys)


@contextmanager
def interruptible(out):
    """Inside, an interruption says that the shots that ended are kept, and how to go on."""
    try:
        yield
    except (KeyboardInterrupt, Interrupted) as error:
        print(f"kept: the shots that ended are in {out}; the same command goes on", file=sys.stderr, flush=True)
        raise Ended(error, Interrupted.exit_code) from error


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
    return text_sections({survey.title or "Survey": rows})


def summary(outcome):
    """Return what ran, and where everything is."""
    present = len(outcome.names) - outcome.ran
    ran = f"done: {outcome.ran} shots" + (f", {present} were there" if present else "")
    dataset = outcome.dataset
    variables = ", ".join(f"{name}({', '.join(map(str, v.dims))})" for name, v in dataset.data_vars.items())
    return f"{ran}\n  {outcome.out / 'result.zarr'}  {variables}\n  {outcome.out / 'run.json'}  state, time and worker of each shot"


SHOWN = 10  # shots of each kind that are listed


def status(out):
    """Print the state of a survey, its rate, the shots under way and those that failed."""
    from craton.output.shots import sound_outcomes
    from craton.output.store import read_run
    from craton.shots.task import outcomes_in, running_in

    state = read_run(out)
    if not isinstance(state.get("survey"), str):
        refuse("OUT", f"there is no survey in {out}", "name the folder of craton survey")
    shots = {**sound_outcomes(state.get("shots")), **outcomes_in(out)}
    under_way = running_in(out, str(state.get("start", "")))
    print("\n".join(lines(out, state, shots, under_way)))


def lines(out, state, shots, under_way):
    """Return the lines of the report: list of str.

    Parameters
    ----------
    out : str
    state : dict
        Of run.json.
    shots : dict
        Outcome of each shot that ended, by name.
    under_way : list of tuple
        Of `craton.shots.task.running_in`.
    """
    failed = {name: shot for name, shot in shots.items() if shot["state"] != "finished"}
    total = state.get("total")
    total = total if isinstance(total, int) else len(shots)
    done, left = len(shots) - len(failed), max(total - len(shots), 0)
    rows = [
        f"{out}: {state.get('state')}, started {state.get('resumed') or state.get('started')}",
        f"  shots    {total:,}: {done:,} finished, {len(failed):,} failed, {left:,} to run",
    ]
    if state.get("state") == "running":
        rows += [f"  rate     {text}" for text in pace(state, shots, left)]
        rows += rows_of_list("running", [under_way_words(*shot) for shot in under_way])
    rows += rows_of_list("failed", [f"{name}: {shot.get('reason')}" for name, shot in failed.items()])
    return rows


def rows_of_list(label, texts):
    """Rows of a list, the first ones where it is long."""
    more = [f"and {len(texts) - SHOWN:,} more"] if len(texts) > SHOWN else []
    return [f"  {label:<8} {text}" for text in [*texts[:SHOWN], *more]]


def under_way_words(file, begun, worker, attempt):
    """Return a shot under way in words."""
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"{Path(file).stem} on {worker} for {duration(since(begun))}{again}"


def pace(state, shots, left):
    """Shots per hour of this start and the time left, in words; nothing before the first one."""
    began = state.get("resumed") or state.get("started")
    ended = sum(shot.get("start") == state.get("start") for shot in shots.values())
    seconds = since(began)
    if not ended or not seconds:
        return []
    rate = ended / seconds
    return [f"{3600 * rate:,.0f} shots an hour, {duration(left / rate)} left"]


def since(text):
    """Seconds since a time of run.json; 0 where it is none."""
    try:
        return max((datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0


# --- craton gradient --------------------------------------------------------------------------------------------------


def gradient(
    file: File,
    shots: ShotOptions,
    out: target("OUT", "Folder for the results; by default the file's name and -gradient, here.") = None,
    ranks: RanksOfShot = 1,
):
    """Compute the gradient of a misfit over all shots.

    The scenario names observed data in [gradient]. The sum over all shots, illumination and the
    misfit of each shot go to gradient.zarr in the folder OUT. Shots that are there already are not
    run again.
    """
    from craton.inverse.survey import RESULT, prepare, run_gradient, words

    def planned(changed):
        return checked(file, changed, planner=partial(prepare, ranks=ranks))[1]

    out = Path(out if out is not None else f"{Path(file).stem}-gradient")
    dataset = run_shots(shots, out, planned, partial(run_gradient, ranks=ranks), words, ranks)[1]
    if not shots.quiet:
        names = ", ".join(map(str, dataset.data_vars))
        print(f"done: misfit {dataset.attrs['misfit']:.6g}\n  {out / RESULT}  {names}", flush=True)
