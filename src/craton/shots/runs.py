"""Many shots, one after another or over workers, into one result.zarr; what is there already is not
run again.
"""

import os
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from craton.errors import ComputationError, CratonError, Interrupted, ResourceError, ScenarioError, exit_code, refuse
from craton.output.arrays import open_dataset
from craton.shots.survey import prepare, scenario_of, single, together
from craton.shots.task import COMPARED, FOLDER, NEEDED, clear, forget, forget_beside, outcomes_in, run_shot
from craton.text import now


def run(survey, out, workers=None, client=None, force=False, progress=True, ranks=1):
    """Run the shots of a survey that are not in OUT yet.

    Parameters
    ----------
    survey : Survey
    out : path-like
        Directory of the survey.
    workers : int, optional
        Processes of this computer that run one shot each at a time; 1: this process. By default one
        for each GPU, or for every four cores.
    client : distributed.Client or callable, optional
        Of a Dask scheduler whose workers run the shots, one at a time each (``nthreads = 1``); they
        must see `out`. Or what opens one, ``with client() as opened``, when OUT has been laid out
        and shots are missing.
    force : bool
        Run all shots anew.
    progress : bool
        Show progress on standard error.
    ranks : int
        GPUs of the worker, or groups of its cores, that share each shot.

    Returns
    -------
    Outcome

    Raises
    ------
    ScenarioError, ResourceError
        Nothing was written; or no shot fits on the workers, or the Dask scheduler was lost.
    Interrupted, KeyboardInterrupt
        The shots that ended are in `out`; the same call goes on with the others.
    """
    from craton.output.shots import ShotStore, check_survey_out

    check_survey_out(out, survey, force)
    workers = checked_crew(survey, workers, ranks) if client is None else None
    store = ShotStore(out, survey, force)
    try:
        begin(store, survey)
        before = len(store.finished)
        tasks = tasks_of(store, survey, ranks)
        with ways(survey, workers, client, ranks, bool(tasks)) as outcomes, closing(outcomes(tasks)) as ended:
            run_all(store, ended, before, len(survey.shots), progress)
        failed = {name: shot for name, shot in store.shots.items() if shot["state"] != "finished"}
        if not failed:
            survey.conclude(store.path)
    except BaseException as failure:
        state = "interrupted" if isinstance(failure, KeyboardInterrupt | Interrupted) else "failed"
        with suppress(ScenarioError):  # a store that is damaged is what has failed
            adopt(store, survey)
        store.finish(state, reason=str(failure) or type(failure).__name__)
        clear(store.path, store.shots)
        raise
    store.finish("failed" if failed else "finished", **({"reason": reasons(failed)} if failed else {}))
    clear(store.path, store.shots)
    return Outcome(store.path, [s.name for s in survey.shots], len(tasks), failed)


@dataclass
class Outcome:
    """What a survey left.

    Parameters
    ----------
    out : Path
    names : list of str
        All shots.
    ran : int
        How many of them ran this time.
    failed : dict
        Name -> what run.json says of it.
    """

    out: Any
    names: list
    ran: int
    failed: dict

    @property
    def dataset(self):
        """result.zarr as an xarray.Dataset: velocity(shot, receiver, component, time) and the like,
        read when they are used.
        """
        return open_dataset(self.out / "result.zarr")

    def finished(self):
        """Itself; raises ComputationError, ResourceError or CratonError where shots failed."""
        if self.failed:
            codes = {shot["code"] for shot in self.failed.values()}
            kind = next((k for k in (ComputationError, ResourceError) if k.exit_code in codes), CratonError)
            complete = len(self.names) - len(self.failed)
            raise kind(
                f"{len(self.failed)} of {len(self.names)} shots failed, {complete} are kept in {self.out}:\n{reasons(self.failed)}"
            )
        return self


def reasons(failed):
    """Why shots failed, a line each; the first ten."""
    lines = [f"    {name}: {shot['reason']}" for name, shot in failed.items()]
    return "\n".join(lines[:10] + ([f"    and {len(lines) - 10} more, see run.json"] if len(lines) > 10 else []))


def checked_crew(survey, workers, ranks):
    """Workers on this computer: as asked, or as many as make sense; refused where they do not fit
    into its memory, or a shot has more ranks than there are GPUs or cores.
    """
    from craton.backends.cpu import host_memory
    from craton.comm import workers as dask
    from craton.comm.placement import cores, crew, gpus

    device, nbytes = survey.shots[0].scenario.run.device, survey.memory
    units, noun = (len(gpus(device)), "GPUs") if gpus(device) else (cores(), "cores")
    if ranks > units:
        refuse("--ranks", f"{ranks} ranks for each shot, but there are {units} {noun} here", f"use {units} or fewer")
    if workers is None:
        workers = crew(device, len(survey.shots), nbytes, ranks) if dask.available() else 1
    if workers > 1:
        dask.needed("--workers")
    free = host_memory()[0]
    if not gpus(device) and workers * nbytes > free:
        raise ResourceError(
            f"{workers} shots at a time need {workers * nbytes / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free; "
            "use fewer workers, a larger spacing or a smaller domain"
        )
    return workers


def begin(store, survey):
    """Scenarios and an empty result.zarr, where they are not there already; what ended since."""
    from craton.output import inputs as files
    from craton.output.store import check_space
    from craton.versions import versions

    planned = survey.planned
    (store.path / FOLDER).mkdir(exist_ok=True)
    if store.laid_out:
        adopt(store, survey)
        return
    check_space(store.path, survey.nbytes_kept)
    inputs = files.Inputs(*survey.scenarios.values())
    store.store.update(inputs=inputs.keep(store.path))
    folder = files.FOLDER if len(survey.scenarios) == 1 else f"../{files.FOLDER}"
    texts = {name: inputs.text(scenario, folder) for name, scenario in survey.scenarios.items()}
    store.write_scenarios(texts)
    about = {"title": survey.title, "precision": planned.precision}
    about |= {"scenario": texts["scenario"]} if "scenario" in survey.scenarios else {}
    survey.lay_out(store.zarr, about)
    store.store.update(precision=planned.precision, points=planned.points, steps=planned.steps, versions=versions())


def adopt(store, survey):
    """Take over the outcomes that workers have written and nobody has noted yet."""
    if (store.zarr / ".zmetadata").exists():
        numbers = {shot.name: n for n, shot in enumerate(survey.shots)}
        store.adopt(outcomes_in(store.path), numbers)


def tasks_of(store, survey, ranks):
    """Tasks of the shots that are not finished, by name."""
    from craton.versions import versions

    zarr, here, start = os.path.abspath(store.zarr), versions(*COMPARED), f"{now()}/{uuid4().hex}"
    store.store.update(start=start, total=len(survey.shots))
    finished = store.finished
    return {
        shot.name: survey.task(n, zarr, here, start, ranks)
        for n, shot in enumerate(survey.shots)
        if shot.name not in finished
    }


@contextmanager
def ways(survey, workers, client, ranks, needed):
    """Open a function that runs tasks: on a client's workers, on new ones, or here; no workers are
    started where none are needed.
    """
    from craton.comm import workers as dask
    from craton.comm.placement import environments

    if not needed:
        yield lambda tasks: (pair for pair in ())
    elif client is not None:
        with client() if callable(client) else nullcontext(client) as opened:
            yield partial(dask.outcomes, opened, run_shot)
            with suppress(OSError):  # workers of others live on
                opened.run(forget_beside, wait=False, on_error="ignore")
    elif workers > 1:
        device = survey.shots[0].scenario.run.device
        with dask.local(environments(device, workers, ranks), NEEDED) as workers_here:
            yield partial(dask.outcomes, workers_here, run_shot)
    else:
        try:
            yield lambda tasks: ((task, run_shot(task)) for task in tasks.values())
        finally:
            forget()


def run_all(store, outcomes, before, total, progress):
    """Note how each shot ends, and show how many have; an end for all where the first ones do not
    fit on their workers.
    """
    from craton.driver.progress import task_bar

    with task_bar(total, before, "shots", quiet=not progress) as report:
        for task, outcome in outcomes:
            if isinstance(outcome, Exception):
                outcome = failure_of(store, task, outcome)
            short = outcome.get("code") == ResourceError.exit_code and not outcome.get("aside")
            if short and not store.finished:
                raise ResourceError(f"shot {task.name}: {outcome['reason']}")
            store.note(task.name, **outcome)
            if report:
                report(task.name, outcome["state"])


def failure_of(store, task, error):
    """Return the outcome of a shot that ended with an error outside of `run_shot`."""
    from craton.comm.workers import LostWorker
    from craton.shots.task import ShotLog

    outcome = {"state": "failed", "reason": str(error), "code": exit_code(error)}
    if isinstance(error, LostWorker):
        log = ShotLog(store.path, task.number, task.name)
        outcome |= {"reason": f"{error}, see {log.path}", "aside": True}
    return outcome


def run_survey(scenarios, out, workers=None, client=None, force=False, progress=True, ranks=1, snapshots=False):
    """Run a survey; `craton survey` in Python.

    Parameters
    ----------
    scenarios : Scenario, path-like, or dict
        One with shots, or names with scenarios (or files) that share receivers and times.
    out, workers, client, force, progress, ranks
        See `run`.
    snapshots : bool
        Keep the snapshots of each shot, in a run folder of its own in OUT/shots.

    Returns
    -------
    Outcome
        With `.dataset`.

    Raises
    ------
    CratonError
        See `run`; ComputationError at the end where shots failed, the others are in `out`.
    """
    if isinstance(scenarios, dict):
        survey = together({n: single(n, scenario_of(source), snapshots) for n, source in scenarios.items()})
    else:
        survey = prepare(scenario_of(scenarios), snapshots)
    return run(survey, out, workers, client, force, progress, ranks).finished()
