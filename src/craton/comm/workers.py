"""Workers for tasks that do not know of each other, through Dask: on this computer, or wherever a
Dask scheduler has some.
"""

import logging
import os
import signal
import threading
from contextlib import contextmanager
from importlib.util import find_spec

from craton.errors import Problem, ResourceError, ScenarioError

INSTALL = "pip install 'craton[survey]' (dask and distributed)"
# tracebacks of Dask's own threads help nobody: what failed reaches the caller through its task
SILENT = logging.CRITICAL


def available():
    """Whether Dask is installed."""
    return find_spec("distributed") is not None


def needed(key):
    """Refuse what needs Dask where it is missing; `key` is the word that asked for it."""
    if not available():
        raise ScenarioError(
            [
                Problem(
                    key,
                    "more than one worker needs Dask, which is not installed",
                    f"{INSTALL}, or --workers 1",
                )
            ]
        )


@contextmanager
def local(environments):
    """Open a Dask client with one process of this computer per environment; a process that dies is
    started again.

    Parameters
    ----------
    environments : list of dict
        Variables of each process, as `craton.comm.placement.environments` deals them out.
    """
    import dask
    from distributed import Client, Nanny, Scheduler, SpecCluster

    address = {
        "protocol": "tcp",
        "host": "127.0.0.1",
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",
    }
    process = {
        "nthreads": 1,
        "memory_limit": 0,
        "host": "127.0.0.1",
        "dashboard_address": None,
        "silence_logs": SILENT,
    }
    workers = {
        n: {"cls": Nanny, "options": {**process, "env": env}} for n, env in enumerate(environments)
    }
    # saturation 1: a worker is given its next task when it is free, so that none waits behind a
    # long one
    spawned = dask.config.get("distributed.nanny.pre-spawn-environ") | {
        "DASK_LOGGING__ASYNCIO": "critical"
    }
    settings = {
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.comm.timeouts.connect": "30s",
    }
    with (
        silent("asyncio"),
        dask.config.set(settings | {"distributed.nanny.pre-spawn-environ": spawned}),
    ):
        with deaf():
            cluster = SpecCluster(
                workers,
                {"cls": Scheduler, "options": address},
                silence_logs=SILENT,
                name=f"craton-{os.getpid()}",
            )
        with cluster, Client(cluster) as client:
            yield client


@contextmanager
def silent(name):
    """Silence a logger inside."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(SILENT)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def deaf():
    """Ignore Ctrl-C, which a terminal sends to all processes, inside and in processes that begin
    inside.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def remote(address):
    """Open a Dask client of a scheduler that runs: its address, or the file that it wrote with
    ``--scheduler-file``.
    """
    from distributed import Client

    where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        client = Client(**where, timeout="15s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ResourceError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        yield client


def outcomes(client, function, tasks):
    """(task, what the function returned or the exception that it ended with) of each task, as they
    end.

    Dask runs a task again whose worker was lost, up to `distributed.scheduler.allowed-failures`
    times.

    Parameters
    ----------
    client : distributed.Client
    function : callable
    tasks : dict
        Key -> argument.
    """
    from distributed import as_completed

    futures = {
        client.submit(function, task, key=f"{key}-{os.getpid()}-{id(tasks)}", pure=False): task
        for key, task in tasks.items()
    }
    try:
        for future in as_completed(list(futures)):
            yield futures.pop(future), _outcome(future)
            future.release()
    finally:
        if futures and client.status == "running":
            client.cancel(list(futures))


def _outcome(future):
    """Return result or exception of a task that ended."""
    from distributed import KilledWorker

    if future.status == "finished":
        return future.result()
    error = future.exception() if future.status == "error" else None
    if isinstance(error, KilledWorker):
        return ResourceError(
            "its worker was lost each time that it ran, perhaps short of memory: use fewer workers"
        )
    return error or ResourceError("the Dask scheduler was lost")
