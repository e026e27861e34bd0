"""Where a rank computes: its GPU, its share of the cores. Settled before the first kernel."""

import os
from dataclasses import dataclass

from craton.backends import backend
from craton.backends.cpu import cores
from craton.comm.local import Alone
from craton.errors import ResourceError
from craton.host.compile import compiler

CORES_OF_A_TASK = 4  # where tasks run side by side on the CPU and nobody says how many


@dataclass(frozen=True)
class Place:
    """A rank on its host.

    Parameters
    ----------
    number, ranks : int
        Which of how many ranks on this host it is.
    threads : int
        Cores that it may use, shared fairly with ranks that may use the same ones.
    """

    number: int
    ranks: int
    threads: int


def place(comm):
    """Return the Place of a rank; all ranks must ask.

    Launchers that bind a rank to cores of its own are respected: cores are divided only among ranks
    that share them.
    """
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(cores()))
    here = [(rank, bound) for rank, (host, bound) in enumerate(comm.gather((comm.host, mine))) if host == comm.host]
    sharing = sum(bool(mine & bound) for _, bound in here)
    return Place([rank for rank, _ in here].index(comm.rank), len(here), max(len(mine) // sharing, 1))


def machine(device, comm, here, threads=None):
    """Return the machine of a rank: GPUs dealt out in turn, or cores divided by ranks.

    Parameters
    ----------
    device : str
        As in a scenario.
    comm : Comm
    here : Place
    threads : int, optional
        Of each rank, in place of its share of the cores; $OMP_NUM_THREADS comes before the share as
        well.

    Raises
    ------
    ResourceError
        The device is not there.
    """
    if device in ("auto", "cuda") and devices():
        return backend("cuda", threads=threads, index=here.number % devices() if comm.size > 1 else None)
    if comm.size > 1 and threads is None and "OMP_NUM_THREADS" not in os.environ:
        threads = here.threads
    return backend("cpu" if device == "auto" else device, threads=threads)


def planner(comm=None, threads=None):
    """Return the machine on which a rank applies operators while it makes its plan: the CPU; a GPU
    where there is no C++ compiler.

    All ranks must ask.
    """
    comm = comm or Alone()
    here = place(comm)
    try:
        compiler()
        return machine("cpu", comm, here, threads)
    except ResourceError:
        if not devices():
            raise
        return machine("cuda", comm, here, threads)


def devices():
    """Return number of GPUs that this process sees."""
    from craton.backends.cuda import available

    if not available():
        return 0
    import cupy

    return cupy.cuda.runtime.getDeviceCount()


def gpus(device):
    """Names of the GPUs that this process may use, as its environment has them; none where the
    device is the CPU.
    """
    if device == "cpu" or not devices():
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return visible.split(",")[: devices()] if visible else [str(n) for n in range(devices())]


def crew(device, tasks, nbytes, ranks=1):
    """How many tasks to run at once on this computer: one for each GPU, or for every few cores as
    far as memory goes; of several ranks each, one for as many GPUs or so many times the cores.

    Parameters
    ----------
    device : str
        As in a scenario.
    tasks : int
        That there are.
    nbytes : int
        Memory of one.
    ranks : int
        Of each task.
    """
    from craton.backends.cpu import host_memory

    on_cores = cores() // (CORES_OF_A_TASK * ranks)
    room = len(gpus(device)) // ranks or min(on_cores, host_memory()[0] // max(nbytes, 1))
    return max(1, min(tasks, room))


def environments(device, count, ranks=1):
    """Return the environment of each of some processes of this computer: its GPUs, as many as it
    has ranks, and its share of the cores; list of dict.

    More processes than there are GPUs share them in turn.
    """
    names = gpus(device)
    share = str(max(cores() // (count * ranks), 1))
    threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", share)}
    if not names:
        return [threads] * count
    groups = max(len(names) // ranks, 1)
    dealt = [names[n % groups * ranks :][:ranks] for n in range(count)]
    return [threads | {"CUDA_VISIBLE_DEVICES": ",".join(chosen)} for chosen in dealt]
