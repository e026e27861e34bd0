"""One shot on whatever worker: do what its task says, write the result, report; and the two small files of each shot in
OUT/shots: its log while it is under way, its outcome when it has ended.
"""

import faulthandler
import gc
import json
import os
import re
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from craton.comm.workers import ATTEMPTS
from craton.errors import CratonError, Interrupted, ResourceError
from craton.integrity import writing
from craton.text import now

FOLDER = "shots"
STATES = ("finished", "failed")
LARGEST = 1 << 20  # bytes of an outcome that is read; a longer file is not from here
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


class ShotLog:
    """The two files of one shot.

    Parameters
    ----------
    out : path-like
        Folder of the survey.
    number : int
        Place of the shot along the axis of shots.
    name : str
    """

    def __init__(self, out, number, name):
        # without characters that are special in names of files
        stem = f"{number:05d}-{re.sub(r'[^A-Za-z0-9_.]+', '_', name)[:60]}"
        self.name, self.folder = name, Path(out) / FOLDER
        self.path, self.outcome = self.folder / f"{stem}.log", self.folder / f"{stem}.json"
        self.run = self.folder / stem  # folder with its snapshots, where they are kept

    def begin(self, start):
        """Note that the shot begins here; how many times it has begun since this start of the
        survey: int.

        Parameters
        ----------
        start : str
            Says which start of the survey it is.

        Raises
        ------
        ResourceError
            OUT cannot be seen or written from here.
        """
        from craton.output.shots import shared_folder

        with writing(f"to {self.folder}"), shared_folder(self.folder.parent):
            self.outcome.unlink(missing_ok=True)
            with open(self.path, "a+", encoding="utf-8", errors="replace") as file:
                file.seek(0)
                attempt = 1 + sum(line.endswith(f" of {start}\n") for line in file)
                file.write(f"{now()} on {socket.gethostname()}:{os.getpid()} attempt {attempt} of {start}\n")
        return attempt

    def finished(self, start):
        """Return the outcome of the shot where it has finished in a start of the survey, else None.

        Parameters
        ----------
        start : str
            As of `begin`.
        """
        outcome = _outcome_in(self.outcome)
        same = outcome is not None and (outcome["name"], outcome.get("start")) == (self.name, start)
        if not same or outcome["state"] != STATES[0]:
            return None
        return {key: value for key, value in outcome.items() if key not in ("name", "ended")}

    def write(self, text):
        """Append to the log."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(text.rstrip("\n") + "\n")

    @contextmanager
    def signals(self):
        """Inside, a signal that ends the process (segmentation fault, bus error) leaves in the log
        where it was.
        """
        if faulthandler.is_enabled():
            yield
            return
        with open(self.path, "a", encoding="utf-8") as file:
            faulthandler.enable(file)
            try:
                yield
            finally:
                faulthandler.disable()

    def end(self, report):
        """Write how the shot ended; the log goes where all is well."""
        aside = self.outcome.with_name(f".{self.outcome.name}.{os.getpid()}")
        aside.write_text(json.dumps({"name": self.name, **report, "ended": now()}) + "\n", encoding="utf-8")
        os.replace(aside, self.outcome)
        if report["state"] == "finished":
            self.path.unlink(missing_ok=True)


def outcomes_in(out):
    """Return the outcomes that stand in OUT/shots, by name: dict of dict; files that are damaged are left out."""
    return {outcome.pop("name"): outcome for _, outcome in _outcomes(out)}


def clear(out, noted):
    """Remove the outcomes of shots that run.json has by now, of their names; workers that have lost the survey may still
    write others.
    """
    for path, outcome in _outcomes(out):
        if outcome["name"] in noted:
            path.unlink(missing_ok=True)


def _outcomes(out):
    """Yield the files of outcomes in OUT/shots, and what they hold."""
    for path in sorted((Path(out) / FOLDER).glob("[0-9]*.json")):
        if (outcome := _outcome_in(path)) is not None:
            yield path, outcome


def _outcome_in(path):
    """Return the outcome that a file holds, or None."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        outcome = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(outcome, dict) or not isinstance(outcome.get("name"), str):
        return None
    return outcome if outcome.get("state") in STATES else None


def running_in(out, start):
    """Return the shots that have begun in a start of the survey and not ended.

    Parameters
    ----------
    out : path-like
    start : str
        As of `ShotLog.begin`.

    Returns
    -------
    list of (str, str, str, int)
        File of the log, time of beginning, worker, attempt.
    """
    pattern = re.compile(rf"(\S+) on (\S+) attempt (\d+) of {re.escape(start)}")
    shots = []
    for path in sorted((Path(out) / FOLDER).glob("[0-9]*.log")):
        with open(path, encoding="utf-8", errors="replace") as file:
            begun = [match for match in map(pattern.fullmatch, map(str.rstrip, file)) if match]
        if begun and not path.with_suffix(".json").exists():
            time, worker, attempt = begun[-1].groups()
            shots.append((path.name, time, worker, int(attempt)))
    return shots


# --- what a worker does ---------------------------------------------------------------------------------------------


def record(task, log, snapshots=False):
    """Run the shot of a task and write its waveforms; return its state, device, and seconds of its time loop. Its
    snapshots, where they are asked for, go to a folder beside its log.
    """
    from craton.driver import run as driver
    from craton.driver.simulation import MediumRuns
    from craton.output.shots import write_shot
    from craton.scenario import dumps, loads

    scenario = loads(task.text)
    if snapshots or task.ranks > 1:
        forget()
        folder = {"out": log.run, "force": True} if snapshots else {}
        result = driver.run(scenario, progress=False, warn=False, devices=task.ranks, **folder)
    else:
        key = task.start, dumps(scenario.model_copy(update={"source": (), "receivers": ()}))
        with reused(key, lambda: MediumRuns(scenario)) as runs:
            result = runs.compute(scenario)
    write_shot(task.zarr, task.number, result.dataset, result.fibres)
    seconds = result.report["seconds"]
    return {
        "state": "finished",
        "device": result.report["device"],
        "loop": round(seconds["first step"] + seconds["steady"], 4),
        "processor": round(seconds["processor"], 4),
    }


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
    work : callable
        Runs the shot of the task and writes what it leaves; from the task and its `ShotLog` to what run.json says of it.
    """

    name: str
    number: int
    text: str
    zarr: str
    versions: dict
    start: str = ""
    ranks: int = 1
    work: Callable = record


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
            report |= task.work(task, log) if attempt <= ATTEMPTS else set_aside(attempt - 1, log)
    except Interrupted:
        raise
    except CratonError as error:
        report |= {"state": "failed", "reason": str(error), "code": error.exit_code}
    except MemoryError as error:
        report |= {"state": "failed", "reason": f"out of memory: {error}", "code": 3}
    # one shot's misfortune is not that of the others; its name and reason are reported
    except Exception as error:
        report |= {"state": "failed", "reason": f"{type(error).__name__}: {error}", "code": 1}
        if log is not None and log.path.exists():
            log.write(traceback.format_exc())
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


@contextmanager
def reused(key, make):
    """Give what the last shot of this process left under the same key, else what `make` returns. It is taken out while it
    is at work: another thread of this process makes its own.
    """
    value = KEPT.pop(key, None)
    if value is None:
        forget()
        value = make()
    yield value
    KEPT[key] = value


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
