"""Ranks that work together: sums, small messages, agreed errors, exchange of shared points; no
physics.

`ranks()` is the communicator of a command line; `ranks(comm)` accepts a caller's own.
"""

from craton.comm.base import Comm, Elsewhere, Exchange, Together, agree, agreed, broadcast


def ranks(comm=None):
    """Return a communicator.

    Parameters
    ----------
    comm : Comm or mpi4py communicator, optional
        Without one: all processes that an MPI launcher has started, or this process alone.

    Raises
    ------
    ScenarioError
        A launcher started several processes that cannot see each other.
    """
    if hasattr(comm, "gather") and hasattr(comm, "host"):
        return comm
    from craton.comm import launcher

    if comm is None and not launcher.started():
        from craton.comm.local import Alone

        return Alone()
    from craton.comm import mpi

    return mpi.world() if comm is None else mpi.Mpi(comm)


def of_caller(comm=None, devices=None):
    """Return the communicator that a caller of Python gave, or this process alone; `devices` beside it are refused."""
    from craton.comm.local import Alone

    if comm is not None and devices is not None:
        raise ValueError("give either comm or devices: a rank has one device")
    return Alone() if comm is None else ranks(comm)


__all__ = ["Comm", "Elsewhere", "Exchange", "Together", "agree", "agreed", "broadcast", "of_caller", "ranks"]
