"""One shot on whatever worker: run it, write its waveforms, report."""

import gc
import os
import socket
import time
from dataclasses import dataclass

from craton.errors import CratonError, Interrupted, ResourceError

# packages that workers must have in the versions of the one who asks
COMPARED = ("craton", "numpy")


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
    """

    name: str
    number: int
    text: str
    zarr: str
    versions: dict


def run_shot(task):
    """Run a shot and write its waveforms; what run.json says of it: dict with its name, state,
    worker, and reason where it failed.
    """
    began, report = time.perf_counter(), {"worker": f"{socket.gethostname()}:{os.getpid()}"}
    try:
        report |= written(task)
    except Interrupted:
        raise
    except CratonError as error:
        report |= {"state": "failed", "reason": str(error), "code": error.exit_code}
    except MemoryError as error:
        report |= {"state": "failed", "reason": f"out of memory: {error}", "code": 3}
    # one shot's misfortune is not that of the others; its name and reason are reported
    except Exception as error:
        report |= {"state": "failed", "reason": f"{type(error).__name__}: {error}", "code": 1}
    gc.collect()  # a program and its arrays refer to each other: the next shot needs their memory
    return report | {"seconds": round(time.perf_counter() - began, 3)}


def written(task):
    """Run a shot and write its waveforms; its state and device."""
    from craton import api
    from craton.output.shots import write_shot
    from craton.scenario import loads
    from craton.versions import versions

    here = versions(*COMPARED)
    if here != task.versions:
        raise ResourceError(
            f"worker {socket.gethostname()} has {here}, the survey was started with {task.versions}"
        )
    scenario = loads(task.text).model_copy(update={"snapshots": ()})  # a survey keeps waveforms
    result = api.run(scenario, progress=False, warn=False)
    write_shot(task.zarr, task.number, result.dataset)
    return {"state": "finished", "device": result.report["device"]}
