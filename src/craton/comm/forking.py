"""How processes of a survey on this computer begin: as copies of one that has imported what a shot
needs, with no module of the working folder or of other users.
"""

import multiprocessing
import os
import signal
import sys
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from tempfile import TemporaryDirectory

# a worker that is killed leaves a semaphore of numcodecs, which is removed at the end: no news
QUIET = "ignore:resource_tracker"


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
