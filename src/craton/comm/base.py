"""What runs ask of communication: ranks that sum, tell each other small things and agree on errors;
and the exchange of shared points.
"""

from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from craton.errors import CratonError, Ended, exit_code


class Exchange(Protocol):
    """Halos of one rank.

    `start` may return before anything has moved; after `finish`, ghosts are valid.
    """

    def start(self, shared):
        """Send what neighbours need of these arrays."""

    def finish(self, shared):
        """Wait until the ghosts of these arrays are filled."""


class Comm(Protocol):
    """One rank among `size`. Every rank must call the collectives (reduce, gather, barrier) in the
    same order.

    Parameters
    ----------
    rank, size : int
    host : str
        Name of the computer that this rank runs on.
    """

    rank: int
    size: int
    host: str

    def reduce(self, array, root=None):
        """Sum of an array of float64 over the ranks, at every rank or at rank `root` only (None
        elsewhere).
        """

    def gather(self, value) -> list[Any]:
        """Small objects of all ranks, in their order, at every rank."""

    def collect(self, array) -> list[Any] | None:
        """Arrays of one type, of all ranks, at rank 0; None elsewhere.

        Their first axis is alike, others may differ.
        """

    def link(self, sends, takes):
        """Messages that go again and again: (rank, tag, contiguous host buffer) each; `start`
        sends, `finish` waits for what comes.
        """

    def barrier(self):
        """Wait for all ranks."""

    def abort(self, code):
        """End all ranks at once; does not wait for any of them."""

    def close(self):
        """Give back what the transport holds."""


class Elsewhere(CratonError):
    """An error of another rank, on which all have agreed."""

    def __init__(self, rank, host, exit_code, text):
        super().__init__(f"rank {rank} on {host}: {text}")
        self.exit_code = exit_code


def broadcast(comm, value):
    """Return the small object of rank 0, at every rank."""
    return comm.gather(value if comm.rank == 0 else None)[0]


def agree(comm, error=None):
    """Raise at every rank if any has an error: its own, else that of the first rank which has one.

    To be called before a collective that a failed rank would never reach. Errors that are raised
    here carry the exit code of all ranks as ``agreed``; one that is not craton's own is the cause of an `Ended`.
    """
    if comm.size == 1:
        if error is not None:
            raise error
        return
    reports = comm.gather(
        None if error is None else (comm.rank, comm.host, exit_code(error), str(error) or type(error).__name__)
    )
    first = next((report for report in reports if report), None)
    if first is None:
        return
    if error is None:
        raise Elsewhere(*first).on_all_ranks()
    if isinstance(error, CratonError):
        raise error.on_all_ranks(first[2])
    raise Ended(error, exit_code(error)).on_all_ranks(first[2]) from error


@contextmanager
def agreed(comm):
    """Inside, an error of any rank becomes one of all when all have left: for work that is short on
    every rank.

    One on which all have agreed before passes through.
    """
    error: Exception | None = None
    try:
        yield
    except CratonError as failure:
        if comm.size > 1 and failure.agreed is not None:
            raise
        error = failure
    except Exception as failure:
        error = failure
    agree(comm, error)


class Together:
    """Ranks that build a plan together, each its part: what a builder may ask of the others.

    Parameters
    ----------
    comm : Comm
    """

    def __init__(self, comm):
        self.comm, self.rank, self.size = comm, comm.rank, comm.size

    def every(self, work):
        """Return what `work()` gives on every rank, in their order; an error of one of them is
        raised at all.
        """
        with agreed(self.comm):
            value = work()
        return self.comm.gather(value)

    def swap(self, arrays):
        """Return what other ranks send for what goes to them: contiguous host arrays of one size
        both ways, by rank.
        """
        agree(self.comm)
        takes = {rank: np.empty_like(array) for rank, array in arrays.items()}
        link = self.comm.link(
            [(rank, 0, array) for rank, array in arrays.items()], [(rank, 0, array) for rank, array in takes.items()]
        )
        link.start()
        link.finish()
        return takes
