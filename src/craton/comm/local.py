"""Ranks of one process: one alone, or several as threads, for tests and for the GPUs of one host."""

import queue
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from craton.comm.base import Elsewhere
from craton.comm.pulse import Unwatched
from craton.errors import CratonError, own_errors

PAUSE = 0.2  # s between two looks whether the others are still there


class Alone:
    """A rank without others: nothing to wait for, nothing to exchange."""

    rank, size = 0, 1
    pulse = Unwatched()

    @property
    def host(self):
        """Name of this computer."""
        return socket.gethostname()

    def reduce(self, array, root=None):
        """Return the array itself."""
        return array

    def gather(self, value):
        """Return the value alone."""
        return [value]

    def barrier(self):
        """Nobody to wait for."""

    def abort(self, code):
        """End this process."""
        raise SystemExit(code)

    def close(self):
        """Nothing to give back."""

    def collect(self, array):
        """Return the array alone."""
        return [array]


class Left(CratonError):
    """A rank stops because another one, for which it waits, has ended."""


class Team:
    """What threads that are ranks share: a place for each one's value, and where they meet."""

    def __init__(self, size):
        self.size, self.slots, self.boxes = size, [None] * size, {}
        self.here, self.meetings, self.left, self.changed = 0, 0, False, threading.Condition()

    def meet(self):
        """Wait for all ranks; raises Left where one has ended and will not come.

        Who has met is not concerned by what follows.
        """
        with self.changed:
            meeting, self.here = self.meetings, self.here + 1
            if self.here == self.size:
                self.here, self.meetings = 0, meeting + 1
                self.changed.notify_all()
            self.changed.wait_for(lambda: self.meetings > meeting or self.left)
            if self.meetings == meeting:
                raise Left("another rank has ended")

    def box(self, source, to, tag):
        """Return the queue of a kind of message."""
        return self.boxes.setdefault((source, to, tag), queue.SimpleQueue())

    def wait(self, box):
        """Return what is next in a queue; raises Left where a rank has ended and nothing comes."""
        while True:
            try:
                return box.get(timeout=PAUSE)
            except queue.Empty:
                if self.left and box.empty():
                    raise Left("another rank has ended") from None

    def leave(self):
        """Note that a rank has ended."""
        with self.changed:
            self.left = True
            self.changed.notify_all()


class Member(Alone):
    """One rank of a team of threads."""

    def __init__(self, team, rank):
        self.team, self.rank, self.size = team, rank, team.size

    def shared(self, value, use):
        """Return what `use` makes of the values of all ranks while none of them can change."""
        self.team.slots[self.rank] = value
        self.barrier()
        out = use(self.team.slots)
        self.barrier()
        return out

    def reduce(self, array, root=None):
        """Sum in the order of the ranks: the same at every one."""
        return self.shared(array, lambda parts: summed(parts) if root in (None, self.rank) else None)

    def gather(self, value):
        """Return the values of all ranks: the very objects."""
        return self.shared(value, list)

    def collect(self, array):
        """Return the arrays of all ranks, at rank 0; None elsewhere."""
        return self.shared(array, lambda parts: [part.copy() for part in parts] if self.rank == 0 else None)

    def link(self, sends, takes):
        """Buffers that go to ranks and come from them again and again: Mailboxes."""
        return Mailboxes(self.team, self.rank, sends, takes)

    def barrier(self):
        """Wait for all ranks; raises Left when one has ended."""
        self.team.meet()

    def abort(self, code):
        """Let no rank wait any more."""
        self.team.leave()


class Mailboxes:
    """Messages between threads: a queue for each sender, receiver and tag; see `Comm.link`."""

    def __init__(self, team, rank, sends, takes):
        self.team = team
        self.sends = [(team.box(rank, to, tag), buffer) for to, tag, buffer in sends]
        self.takes = [(team.box(source, rank, tag), buffer) for source, tag, buffer in takes]

    def start(self):
        """Send what the buffers hold now."""
        for box, buffer in self.sends:
            box.put(np.array(buffer))

    def finish(self):
        """Wait until all have come."""
        for box, buffer in self.takes:
            buffer[...] = self.team.wait(box)


def summed(parts):
    """Return a new array, the sum of some."""
    out = parts[0].copy()
    for part in parts[1:]:
        out += part
    return out


class Threads:
    """Ranks of this process that keep their threads: for work that comes one piece after another.

    Parameters
    ----------
    size : int
        Number of ranks.
    """

    def __init__(self, size):
        self.team = Team(size)
        self.pools = [ThreadPoolExecutor(1, f"rank {rank}") for rank in range(size)]

    def run(self, work):
        """Return what ``work(comm)`` returns on each rank: list.

        Raises
        ------
        BaseException
            The error of the first rank that failed by itself; these ranks are of no more use.
        """

        def run_rank(rank):
            try:
                with own_errors():
                    return work(Member(self.team, rank))
            except BaseException:
                self.team.leave()
                raise

        futures = [pool.submit(run_rank, rank) for rank, pool in enumerate(self.pools)]
        try:
            failures = {rank: future.exception() for rank, future in enumerate(futures)}
        except KeyboardInterrupt:
            self.team.leave()
            raise
        if errors := {rank: error for rank, error in failures.items() if error is not None}:
            # that of a rank which failed by itself, before those of ranks that waited for it
            raise min(errors.items(), key=lambda item: (isinstance(item[1], Left | Elsewhere), item[0]))[1]
        return [future.result() for future in futures]


def spawn(size, work):
    """Run ``work(comm)`` as `size` ranks, threads of this process.

    Returns
    -------
    list
        What each rank returned.

    Raises
    ------
    BaseException
        The error of the first rank that failed by itself; no rank is left waiting for it.
    """
    if size < 1:
        raise ValueError(f"devices = {size}: there must be at least one")
    ranks = Threads(size)

    def once(comm):
        try:
            return work(comm)
        finally:
            ranks.team.leave()

    return ranks.run(once)
