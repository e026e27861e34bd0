"""Ranks that are processes, through mpi4py: host buffers; waiting never keeps a signal from being
seen.
"""

import os
import pickle
import socket
import sys
import time
from importlib.util import find_spec

import numpy as np

from craton.comm import launcher
from craton.comm.pulse import DRAIN, Unwatched, begin_pulse
from craton.versions import versions

SPIN = 2e-4  # s of asking without a pause, then
PAUSE = 2e-3  # s between two questions
# s: the same for halos, which are waited for in every step
EXCHANGE_SPIN, EXCHANGE_PAUSE = 5e-3, 2e-4


def load():
    """mpi4py's MPI module, begun.

    Raises
    ------
    ScenarioError
        The library cannot be loaded, or does not belong to the launcher.
    """
    if find_spec("mpi4py") is None:  # the processes would know nothing of each other
        launcher.refuse("mpi4py is not installed", launcher.INSTALL)
    # the rank that fails has said why
    os.environ.setdefault("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1")
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    try:
        from mpi4py import MPI
    # mpi4py says RuntimeError where it finds no library
    except (ImportError, RuntimeError) as error:
        launcher.refuse(f"mpi4py cannot load an MPI library: {' '.join(str(error).split())}", launcher.INSTALL)
    version = MPI.Get_library_version()
    launcher.check_library(version)
    if launcher.LAUNCHER in os.environ:
        launcher.end_with_parent()()
    if not MPI.Is_initialized():
        MPI.Init_thread()
    launcher.check_library(version, MPI.COMM_WORLD.size)
    return MPI


def world():
    """All processes of the launcher.

    Raises
    ------
    ScenarioError
        As `load`; or they are not of one version.
    """
    comm = Mpi(load().COMM_WORLD)
    check_versions(comm, versions("craton", "numpy", "mpi4py"))
    if comm.size > 1:
        comm.pulse = begin_pulse(comm)
    return comm


def check_versions(comm, of_this_rank):
    """Refuse ranks that run other versions of what they compute with; `of_this_rank`: version by
    name.
    """
    every = comm.gather((comm.host, of_this_rank))
    other = next(((rank, host, used) for rank, (host, used) in enumerate(every) if used != every[0][1]), None)
    if other:
        rank, host, used = other
        words = [", ".join(f"{name} {version}" for name, version in entry.items()) for entry in (every[0][1], used)]
        message = f"rank 0 on {every[0][0]} has {words[0]}, rank {rank} on {host} has {words[1]}"
        raise launcher.LauncherError(message, "start all ranks in one environment", quiet=comm.rank > 0).on_all_ranks()


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
        self.pulse = Unwatched()
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

    def collect(self, array):
        """Return the arrays of all ranks, at rank 0; None elsewhere."""
        mine = np.ascontiguousarray(array)
        shapes = self.gather(mine.shape)
        counts = [mine.itemsize * int(np.prod(shape)) for shape in shapes]
        every = np.empty(sum(counts) if self.rank == 0 else 0, np.uint8)
        sent = mine.view(np.uint8).ravel() if mine.size else np.empty(0, np.uint8)
        self.wait(self.communicator.Igatherv(sent, (every, counts) if self.rank == 0 else None))
        if self.rank:
            return None
        pieces = np.split(every, np.cumsum(counts)[:-1])
        return [piece.view(mine.dtype).reshape(shape) for piece, shape in zip(pieces, shapes)]

    def link(self, sends, takes):
        """Return persistent requests for buffers that go to ranks and come from them again and
        again: Requests.
        """
        return Requests(self, sends, takes)

    def barrier(self):
        """Wait for all ranks."""
        self.wait(self.communicator.Ibarrier())

    def wait(self, request):
        """Until a request is done: Ctrl-C is seen, and a rank that waits for long takes no core
        from others.
        """
        begin = time.perf_counter()
        while not request.Test():
            time.sleep(0 if time.perf_counter() - begin < SPIN else PAUSE)

    def abort(self, code):
        """End all ranks."""
        from mpi4py import MPI

        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(DRAIN)
        MPI.COMM_WORLD.Abort(code)  # of another communicator MPICH loses the exit code

    def close(self):
        """Free the duplicate; every rank must call it."""
        self.communicator.Free()


class Requests:
    """Messages set up once; see `Comm.link`."""

    def __init__(self, comm, sends, takes):
        from mpi4py import MPI

        self.comm, self.all, self.start_all = comm, MPI.Request.Testall, MPI.Prequest.Startall
        self.requests = [comm.communicator.Recv_init(buffer, source, tag) for source, tag, buffer in takes]
        self.requests += [comm.communicator.Send_init(buffer, to, tag) for to, tag, buffer in sends]

    def start(self):
        """Send what the buffers hold now."""
        self.start_all(self.requests)

    def finish(self):
        """Wait until all have come and gone."""
        if self.all(self.requests):
            return
        self.comm.pulse.rest()
        begin = time.perf_counter()
        while not self.all(self.requests):
            time.sleep(0 if time.perf_counter() - begin < EXCHANGE_SPIN else EXCHANGE_PAUSE)
        self.comm.pulse.work()


def end_all_when_one_fails(comm):
    """From now on an exception that nobody catches ends all ranks instead of leaving the others
    waiting for ever.
    """
    before = sys.excepthook

    def end_all(kind, error, trace):
        """Print the exception, then end all ranks."""
        time.sleep(min(0.5 * comm.rank, 3))  # where several fail alike, one says it
        before(kind, error, trace)
        print(f"rank {comm.rank} on {comm.host}: {kind.__name__}: {error}; all ranks end", file=sys.stderr)
        comm.abort(1)

    if before.__name__ != end_all.__name__:
        sys.excepthook = end_all
