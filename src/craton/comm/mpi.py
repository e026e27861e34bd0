"""Ranks that are processes, through mpi4py: host buffers; waiting never keeps a signal from being seen."""

import os
import pickle
import socket
import sys
import time

import numpy as np

from craton.comm import launcher

SPIN = 2e-4  # s of asking without a pause, then
PAUSE = 2e-3  # s between two questions


def load():
    """mpi4py's MPI module, begun.

    Raises
    ------
    ScenarioError
        The library cannot be loaded, or does not belong to the launcher.
    """
    launcher.check_installed()
    os.environ.setdefault("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1")  # the rank that fails has said why
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py says RuntimeError where it finds no library
        launcher.refuse(f"mpi4py cannot load an MPI library: {' '.join(str(error).split())}", launcher.INSTALL)
    version = MPI.Get_library_version()
    launcher.check_library(version)
    if not MPI.Is_initialized():
        MPI.Init_thread()
    launcher.check_size(MPI.COMM_WORLD.size, version)
    return MPI


def world():
    """All processes of the launcher."""
    return Mpi(load().COMM_WORLD)


class Mpi:
    """One rank of an mpi4py communicator.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm
        It is duplicated: messages of the caller's own cannot meet those of craton.
    """

    def __init__(self, communicator):
        self.communicator = communicator.Dup()
        self.rank, self.size, self.host = communicator.rank, communicator.size, socket.gethostname()
        if self.size > 1:
            end_all_when_one_fails(self)

    def reduce(self, array, root=None):
        """Sum over the ranks, at every one or at `root`."""
        array = np.ascontiguousarray(array, np.float64)
        out = np.empty_like(array) if root in (None, self.rank) else None
        if root is None:
            self.wait(self.communicator.Iallreduce(array, out))
        else:
            self.wait(self.communicator.Ireduce(array, out, root=root))
        return out

    def gather(self, value):
        """Small objects of all ranks, pickled."""
        mine = np.frombuffer(pickle.dumps(value), np.uint8)
        sizes = np.empty(self.size, np.int64)
        self.wait(self.communicator.Iallgather(np.array([mine.size]), sizes))
        every = np.empty(sizes.sum(), np.uint8)
        self.wait(self.communicator.Iallgatherv(mine, (every, sizes)))
        return [pickle.loads(part.tobytes()) for part in np.split(every, np.cumsum(sizes)[:-1])]

    def barrier(self):
        """Wait for all ranks."""
        self.wait(self.communicator.Ibarrier())

    def wait(self, request):
        """Until a request is done: Ctrl-C is seen, and a rank that waits for long takes no core from others."""
        begin = time.perf_counter()
        while not request.Test():
            time.sleep(0 if time.perf_counter() - begin < SPIN else PAUSE)

    def abort(self, code):
        """End all ranks."""
        sys.stdout.flush()
        sys.stderr.flush()
        self.communicator.Abort(code)

    def close(self):
        """Free the duplicate; every rank must call it."""
        self.communicator.Free()


def end_all_when_one_fails(comm):
    """From now on an exception that nobody catches ends all ranks instead of leaving the others waiting for ever."""
    if getattr(sys.excepthook, "ends_all", False):
        return
    before = sys.excepthook

    def hook(kind, error, trace):
        time.sleep(min(0.05 * comm.rank, 2))  # where several fail alike, one says it
        before(kind, error, trace)
        print(f"rank {comm.rank} on {comm.host}: {kind.__name__}: {error}; all ranks end", file=sys.stderr)
        comm.abort(1)

    hook.ends_all = True
    sys.excepthook = hook
