"""One shot on whatever worker: do what its task says, write the result, report."""

import gc
import os
import socket
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from craton.comm.workers import ATTEMPTS
from craton.errors import CratonError, Interrupted, ResourceError
from craton.shots.log import ShotLog

# packages that workers must have in the versions of the one who asks
COMPARED = ("craton", "numpy")
# what a shot imports beyond what the survey has imported when its workers begin
NEEDED = (
    "craton.driver.simulation",
    "craton.driver.waves",
    "craton.output.shots",
    "craton.shots.task",
    "scipy.fft",
    "xarray",
    "zarr",
)
# plan, material and kernels of the last shot of this process, by start of the survey and scenario
# without sources and receivers: one at most
KEPT: dict = {}


@dataclass(frozen=True)
class Task:
    """What a worker needs to run a shot.

    Parameters
    ----------
    name : str
    number : int
        Its place along the axis of shots.
    text : str
        The scenario.
    zarr : str
        The store.
    versions : dict
        Of packages, where the survey was started.
    start : str
        Says which start of the survey it is: attempts are counted anew in each.
    ranks : int
        GPUs, or groups of cores, of the worker that share the shot.
    snapshots : bool
        Keep the snapshots of the scenario, in a folder of the shot.
    """

    name: str
    number: int
    text: str
    zarr: str
    versions: dict
    start: str = ""
    ranks: int = 1
    snapshots: bool = False

    def perform(self, log):
        """Run the shot and write its waveforms; return its state, device, and seconds of its time loop.

        Parameters
        ----------
        log : ShotLog
        """
        from craton.output.shots import write_shot
        from craton.scenario import loads

        result = computed(self, loads(self.text), log)
        write_shot(self.zarr, self.number, result.dataset, result.fibres)
        seconds = result.report["seconds"]
        return {
            "state": "finished",
            "device": result.report["device"],
            "loop": round(seconds["first step"] + seconds["steady"], 4),
            "processor": round(seconds["processor"], 4),
        }


def run_shot(task):
    """Do what a task says; what run.json says of it: dict with its name, state,
    worker, and reason where it failed.
    """
    gc.freeze()  # what is there before stays: only what the shot leaves is looked at below
    began, report = time.perf_counter(), {"worker": f"{socket.gethostname()}:{os.getpid()}"}
    log = None
    try:
        check_versions(task)
        log = ShotLog(Path(task.zarr).parent, task.number, task.name)
        outcome = log.finished(task.start)
        if outcome is not None:  # its worker was lost after it, before anybody heard of it
            gc.unfreeze()
            return outcome
        attempt = log.begin(task.start)
        report |= {"start": task.start} | ({"attempts": attempt} if attempt > 1 else {})
        with log.signals():
            report |= task.perform(log) if attempt <= ATTEMPTS else set_aside(attempt - 1, log)
    except Interrupted:
        raise
    except CratonError as error:
        report |= {"state": "failed", "reason": str(error), "code": error.exit_code}
    except MemoryError as error:
        report |= {"state": "failed", "reason": f"out of memory: {error}", "code": 3}
    # one shot's misfortune is not that of the others; its name and reason are reported
    except Exception as error:
        report |= {"state": "failed", "reason": f"{type(error).__name__}: {error}", "code": 1}
        keep_traceback(log)
    gc.collect()  # a program and its arrays refer to each other: the next shot needs their memory
    gc.unfreeze()
    report |= {"seconds": round(time.perf_counter() - began, 3)}
    return closed(log, report)


def check_versions(task):
    """Refuse a shot of a survey that was started with other versions than are here."""
    from craton.versions import versions

    here = versions(*COMPARED)
    if here != task.versions:
        raise ResourceError(f"worker {socket.gethostname()} has {here}, the survey was started with {task.versions}")


def computed(task, scenario, log):
    """Run a shot: Result; of one rank with plan and material of the shot before, where these are
    its own.
    """
    from craton.driver import run as driver
    from craton.driver.simulation import MediumRuns
    from craton.scenario import dumps

    if task.snapshots or task.ranks > 1:
        forget()
        scenario = scenario if task.snapshots else scenario.model_copy(update={"snapshots": (), "peaks": ()})
        folder = {"out": log.run, "force": True} if task.snapshots else {}
        return driver.run(scenario, progress=False, warn=False, devices=task.ranks, **folder)
    scenario = scenario.model_copy(update={"snapshots": (), "peaks": ()})
    key = task.start, dumps(scenario.model_copy(update={"source": (), "receivers": ()}))
    # taken out while it is at work: another thread of this process makes its own
    runs = KEPT.pop(key, None)
    if runs is None:
        forget()
        runs = MediumRuns(scenario)
    result = runs.compute(scenario)
    KEPT[key] = runs
    return result


def forget():
    """Free what this process has of the medium of its last shot."""
    KEPT.clear()
    gc.collect()


async def forget_beside():
    """Free the same on a worker that nobody waits for: Dask takes only a coroutine for that."""
    forget()


def set_aside(lost, log):
    """Return the outcome of a shot that has cost as many workers as it may."""
    reason = f"set aside: its worker was lost each of the {lost} times that it ran, see {log.path}"
    return {"state": "failed", "reason": reason, "code": ResourceError.exit_code, "aside": True}


def keep_traceback(log):
    """Append the error that is being handled to the log, where one can be written."""
    if log is not None and log.path.exists():
        log.write(traceback.format_exc())


def closed(log, report):
    """Return the report, which is also written beside the log where a log was begun."""
    if log is None or not log.path.exists():
        return report
    try:
        log.end(report)
    except OSError as error:
        reason = f"could not write to {log.folder}: {error.strerror or error}"
        return report | {"state": "failed", "reason": reason, "code": ResourceError.exit_code}
    return report
