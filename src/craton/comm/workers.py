"""Workers for tasks that do not know of each other, through Dask: on this computer, or wherever a Dask scheduler has some;
how their processes begin, with no module of the working folder or of other users, and how they end.
"""

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import islice
from multiprocessing import forkserver
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from craton.errors import ResourceError, refuse

INSTALL = "pip install 'craton[survey]' (dask, distributed and cryptography)"
# tracebacks of Dask's own threads help nobody: what failed reaches the caller through its task
SILENT = logging.CRITICAL
ATTEMPTS = 3  # workers that a task may lose before it is set aside
WINDOW = 256  # tasks at a scheduler at one time, beside twice as many as there are threads
BATCH = 64  # tasks that are sent together when so many have ended
LOST = ("lost", "pending")  # a worker died with the result: Dask runs the task again
ANSWER = 5  # s in which a scheduler must answer
REFILL = 3  # s between looks at workers that are gone
LOOK = 0.2  # s between looks at whether a task has ended
LOOPBACK = "127.0.0.1"
# a worker that is killed leaves a semaphore of numcodecs, which is removed at the end: no news
QUIET = "ignore:resource_tracker"
SETTINGS = {
    # a worker is given its next task when it is free, so that none waits behind a long one, and
    # none is blamed for the death of a worker that had not begun it
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.allowed-failures": ATTEMPTS - 1,
    # a worker that is stopped or hangs is started again
    "distributed.scheduler.worker-ttl": "60 s",
    "distributed.comm.timeouts.connect": "30s",
    # a process that is started again on a busy computer is not given up before it can answer
    "distributed.deploy.lost-worker-timeout": "60 s",
    # the cores are for the kernels: no samples of call stacks, few looks at the process itself
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1 s",
    "distributed.admin.tick.limit": "60 s",
    "distributed.admin.system-monitor.interval": "10 s",
    # there are no results to be moved, and no tasks that wait at a worker
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    # no pages and no interface over HTTP
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


class LostWorker(ResourceError):
    """A task cost every worker that tried it."""


def available():
    """Whether Dask is installed, and what its encryption needs."""
    return find_spec("distributed") is not None and find_spec("cryptography") is not None


def needed(key):
    """Refuse what needs Dask where it is missing; `key` is the word that asked for it."""
    if not available():
        refuse(key, "more than one worker needs Dask, which is not installed", f"{INSTALL}, or --workers 1")


@contextmanager
def local(environments, needed=()):
    """Open a Dask client with one process of this computer per environment; a process that dies is
    started again.

    Every port is on the loopback interface and takes TLS with a certificate that lives in the
    memory of these processes: other users of the computer cannot speak to them.

    Parameters
    ----------
    environments : list of dict
        Variables of each process, as `craton.comm.placement.environments` deals them out.
    needed : iterable of str
        Modules that tasks import: new processes have them when they begin.
    """
    import dask
    from distributed import Client, Nanny, Scheduler, Security, SpecCluster

    ignore_broken_pipes()
    spawned = dask.config.get("distributed.nanny.pre-spawn-environ") | {"DASK_LOGGING__ASYNCIO": "critical"}
    with (
        silent("asyncio"),
        safe_start(),
        private_folder(),
        start_method(needed) as method,
        dask.config.set(SETTINGS | method | {"distributed.nanny.pre-spawn-environ": spawned}),
    ):
        shared = {"protocol": "tls", "host": LOOPBACK, "security": Security.temporary()}
        address = {"dashboard": False, "dashboard_address": f"{LOOPBACK}:0"}
        process = shared | {"nthreads": 1, "memory_limit": 0, "dashboard_address": None, "silence_logs": SILENT}
        workers = {
            n: {"cls": Nanny, "options": {**process, "env": {**os.environ, **spawned, **env}}}
            for n, env in enumerate(environments)
        }
        with deaf():
            cluster = SpecCluster(
                workers,
                {"cls": Scheduler, "options": shared | address},
                silence_logs=SILENT,
                name=f"craton-{os.getpid()}",
                security=shared["security"],
            )
        with cluster, refilled(cluster), Client(cluster) as client:
            yield client


@contextmanager
def refilled(cluster):
    """Inside, workers that are gone for good are asked for again: Dask itself gives up one that
    does not start, or whose job has ended, and would wait for ever where it was the last.

    Parameters
    ----------
    cluster : distributed.SpecCluster
    """
    from distributed.core import Status
    from tornado.ioloop import PeriodicCallback

    async def refill():
        for name, worker in list(cluster.workers.items()):
            if worker.status in (Status.closed, Status.failed):
                del cluster.workers[name]
        with suppress(OSError, RuntimeError):  # the next time, perhaps
            await cluster._correct_state()

    callback = PeriodicCallback(refill, 1000 * REFILL)
    cluster.loop.add_callback(callback.start)
    try:
        yield
    finally:
        cluster.loop.add_callback(callback.stop)


def ignore_broken_pipes():
    """Ignore SIGPIPE, as Python does from its start, where a library has changed that behind its back
    (`gmsh.initialize` does): else a worker that hangs up ends this process without a word.
    """
    broken = getattr(signal, "SIGPIPE", None)  # Windows has none
    alone = threading.current_thread() is threading.main_thread()
    if broken and alone and signal.getsignal(broken) == signal.SIG_IGN:
        signal.signal(broken, signal.SIG_IGN)


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

    Raises
    ------
    ResourceError
        No scheduler answers there, which is known after five seconds at most.
    """
    from distributed import Client

    ignore_broken_pipes()
    address = address_of(address)
    try:
        knock(address)
        # not Dask's default client: one that cannot start would stay it, and every later use of Dask in this process fail
        client = Client(address, timeout=f"{ANSWER}s", set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        reason = str(error) or type(error).__name__
        raise ResourceError(f"no Dask scheduler answers at {address}: {reason}") from error
    # its tracebacks say nothing that `outcomes` does not say of a lost scheduler
    with silent("distributed.client"), client:
        prepare_workers(client, address)
        yield client


def prepare_workers(client, address):
    """Make workers that lose their scheduler end their shot first: `shot_worker`."""
    try:
        client.register_plugin(shot_worker())
    # whatever a worker without craton answers
    except Exception as error:
        reason = f"the workers of {address} cannot import this craton"
        raise ResourceError(f"{reason}: {type(error).__name__}: {error}") from error


def address_of(text):
    """Return the address of a scheduler: `text`, or what stands in the file of that name.

    Raises
    ------
    ResourceError
        The file is missing, or no scheduler wrote it.
    """
    if not text.endswith(".json"):
        return text
    try:
        address = json.loads(Path(text).read_text(encoding="utf-8"))["address"]
    except OSError as error:
        reason = error.strerror or str(error)
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = "it is not the file of a Dask scheduler"
    else:
        if isinstance(address, str):
            return address
        reason = "its address is no text"
    raise ResourceError(f"--scheduler {text}: {reason}; dask scheduler --scheduler-file writes this file")


def knock(address):
    """Open and close a connection to the port of a scheduler; OSError at once where none listens."""
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(address)
    if scheme in ("tcp", "tls"):
        socket.create_connection(parse_host_port(place, 8786), ANSWER).close()


def outcomes(client, function, tasks):
    """(task, what the function returned or the exception that it ended with) of each task, as they
    end.

    Dask runs a task again whose worker was lost, up to `distributed.scheduler.allowed-failures`
    times. A scheduler has some hundred tasks at a time.

    Parameters
    ----------
    client : distributed.Client
    function : callable
    tasks : dict
        Key -> argument.

    Raises
    ------
    ResourceError
        The scheduler was lost.
    """
    from distributed import as_completed

    # tasks of one name are one group, which Dask holds back until a worker is free
    group, waiting = f"shot-{uuid4().hex}", iter(tasks.items())
    futures: dict = {}
    ended = as_completed()

    def submit(count):
        batch = list(islice(waiting, count))
        keys = [(group, name) for name, _ in batch]
        begun = client.map(function, [task for _, task in batch], key=keys, pure=False)
        futures.update(zip(begun, (task for _, task in batch)))
        ended.update(begun)

    submit(WINDOW + 2 * sum(client.nthreads().values()))
    try:
        count = 0
        for future in ended:
            if future.status in LOST:
                ended.add(future)
                continue
            yield futures.pop(future), _outcome(future)
            future.release()
            count += 1
            if count % BATCH == 0:
                submit(BATCH)
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
        return LostWorker(f"set aside: its worker was lost each of the {ATTEMPTS} times that it ran")
    if error is None:
        raise ResourceError(
            "the Dask scheduler was lost; its workers end the shots that they run, "
            "and the same command goes on with the others"
        )
    return error


# --- how processes of this computer begin, and how workers of a cluster end -----------------------


@contextmanager
def safe_start():
    """Inside, no new process of Python looks for modules in the working folder."""
    warnings = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), QUIET)))
    variables = {"PYTHONSAFEPATH": "1", "PYTHONWARNINGS": warnings}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextmanager
def private_folder():
    """Make a folder that only this user enters, for Dask's files, inside: Dask looks for modules in
    it, and by default it is ``/tmp/dask-scratch-space``, which any user may have made.
    """
    import dask

    with (
        TemporaryDirectory(prefix="craton-dask-", ignore_cleanup_errors=True) as folder,
        dask.config.set({"temporary-directory": folder}),
    ):
        yield folder


@contextmanager
def start_method(needed=()):
    """Inside, workers can begin as Dask's setting says that this yields: dict. On Linux they are
    copies of a process of one thread that has imported everything, and begin in a tenth of the
    time; elsewhere a new interpreter each, which is Dask's default.

    Parameters
    ----------
    needed : iterable of str
        Modules that tasks import, beside those of craton that this process has imported; they
        start no threads.
    """
    import dask
    from distributed.utils import get_mp_context

    if not sys.platform.startswith("linux"):
        yield {}
        return
    method = {"distributed.worker.multiprocessing-method": "forkserver"}
    ours = [name for name in sys.modules if name.startswith("craton.") and "__main__" not in name]
    with dask.config.set(method):
        get_mp_context()  # Dask names modules once, which the next line adds to
    multiprocessing.get_context("forkserver").set_forkserver_preload(["distributed", *ours, *needed])
    before = server_pid()
    try:
        yield method
    finally:
        if before is None:
            end_server()


def server_pid():
    """Process that is copied, where it runs: int or None."""
    return getattr(forkserver._forkserver, "_forkserver_pid", None)


def end_server():
    """End the process that is copied: the next one has the environment and the files of its time."""
    pid = server_pid()
    if pid is not None:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
            getattr(forkserver._forkserver, "_stop", lambda: None)()


def shot_worker(gpus=0):
    """Return the plugin of a worker that runs one task at a time: distributed.WorkerPlugin.

    Parameters
    ----------
    gpus : int
        That a task uses. Where a batch job has several workers and GPUs, they are dealt out in
        turn; 0: workers keep what the batch system gave them.
    """
    from distributed import WorkerPlugin

    class ShotWorker(WorkerPlugin):
        """Takes its GPUs when it begins, and ends its task before it ends."""

        name = "craton-shot-worker"

        def setup(self, worker):
            """Leave this process its GPUs, before any library looks for them."""
            visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
            chosen = gpus_of(visible, place_in_job(worker.name), gpus)
            if chosen:
                os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(chosen)

        async def teardown(self, worker):
            """Wait for the task that runs: it writes its result itself, and nobody would run it
            again.
            """
            while worker.active_threads:
                await asyncio.sleep(LOOK)

    return ShotWorker()


def place_in_job(name):
    """Return the number of a worker among those of its batch job, which dask worker appends to the
    name: ``craton-3-1`` is the second one of job 3.

    Parameters
    ----------
    name : object
        Name of a worker.
    """
    *job, number = str(name).rsplit("-", 2)
    return int(number) if len(job) == 2 and number.isdecimal() else 0


def gpus_of(visible, place, count):
    """Return the GPUs of one worker of a job: list of str; empty where there is nothing to choose.

    Parameters
    ----------
    visible : list of str
        GPUs of the job.
    place : int
        Of the worker among those of the job.
    count : int
        GPUs for each worker.
    """
    if not count or len(visible) <= count:
        return []
    groups = len(visible) // count
    first = place % groups * count
    return visible[first : first + count]
