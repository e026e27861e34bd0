"""Signs of life of the ranks of a host: a stopped or hung rank is named, with its step, and ends,
whereupon its launcher ends all others.

Ranks share a page of memory, one row each. A thread of every rank counts on in its row and watches
the rows of the others. A rank is stopped where neither its row nor its processor time has moved for
`patience` seconds: a thread that waits for Python's lock in a long call is busy, not stopped. A rank
is hung where one of its steps takes longer than `patience` and than HUNG times its longest step.
Only computation counts: waiting for others, planning, and writing have no limit.
"""

import atexit
import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

PATIENCE = 60.0  # s
HUNG = 20  # longest steps so far
LOOKS = 8  # at the other rows within the patience, at least
DRAIN = 0.2  # s for launchers to read what was said last: an end is quicker than their pipes
GRACE = 10.0  # s for the launcher to end what the first rank leaves
LAUNCHER = "CRATON_LAUNCHER"  # process that started the ranks of this host and ends with them
# `begun` is when the process began: with the pid it names no other one
COLUMNS = ("pid", "begun", "rank", "beats", "step", "left", "ending")
ROW = np.dtype([(name, np.int64) for name in COLUMNS])


class Unwatched:
    """A rank that nobody watches: no signs of life are asked for."""

    patience = PATIENCE

    def rest(self, step=None):
        """Note that computation of a step ends here."""

    def work(self):
        """Note that computation of a step begins here."""


class Pulse(Unwatched):
    """Signs of life of one rank, and its watch over the others of its host.

    Parameters
    ----------
    page : ndarray of ROW, shape (ranks of this host,)
        Shared memory.
    row : int
        Of this rank.
    rank : int
    host : str
    patience : float
        Seconds.
    """

    def __init__(self, page, row, rank, host, patience=PATIENCE):
        self.page, self.row, self.host, self.patience = page, row, host, patience
        self.since, self.longest, self.end = None, 0.0, threading.Event()
        self.looked = time.monotonic()
        self.launcher = int(os.environ.get(LAUNCHER) or 0)
        page[row] = (os.getpid(), _times(os.getpid())[1], rank, 1, -1, 0, 0)
        atexit.register(self.leave)
        threading.Thread(target=self.watch, daemon=True, name="pulse").start()

    def rest(self, step=None):
        """Note that computation of a step ends or pauses here: the rank waits, or writes.

        Parameters
        ----------
        step : int, optional
            Steps that are done, where one ends.
        """
        if step is not None:
            self.page["step"][self.row] = step
            if self.since is not None:
                self.longest = max(self.longest, time.monotonic() - self.since)
        self.since = None

    def work(self):
        """Note that computation of a step begins or goes on here."""
        self.since = time.monotonic()

    def leave(self):
        """Ask for no more signs of life: the process ends."""
        self.page["left"][self.row] = 1
        self.end.set()

    def watch(self):
        """Count on, and look at the others and at the launcher until this rank leaves."""
        before: dict = {}
        while not self.end.wait(min(1.0, self.patience / LOOKS)):
            self.page["beats"][self.row] += 1
            if self.launcher and not _exists(self.launcher):
                os.kill(os.getpid(), signal.SIGKILL)
            self.check_own_step()
            before = self.check_others(before)

    def check_own_step(self):
        """End this rank where its step takes too long."""
        since, step = self.since, int(self.page["step"][self.row])
        if since is None or step < 1:  # the first step of all has no other to compare with
            return
        spent, limit = time.monotonic() - since, max(self.patience, HUNG * self.longest)
        if spent > limit and self.since == since:
            self.stop_rank(self.row, f"hangs in step {step + 1} for {spent:.0f} s")

    def check_others(self, before):
        """End a rank that has not moved for too long. After this rank itself has stood still, as all
        do where a batch system suspends a job, the time of the others begins anew.

        Parameters
        ----------
        before : dict
            For each row what it showed, and when that last changed.

        Returns
        -------
        dict
            The same after this look.
        """
        now = time.monotonic()
        if now - self.looked > self.patience / 2:
            before = {}
        self.looked, signs = now, {}
        for row, values in enumerate(self.page.copy()):
            if values["left"] or not values["pid"]:
                continue
            shown = (int(values["beats"]), _times(int(values["pid"]))[0])
            same = row in before and before[row][0] == shown
            signs[row] = before[row] if same else (shown, now)
        silent = [row for row, (_, changed) in signs.items() if now - changed > self.patience]
        awake = [row for row in signs if row not in silent]
        if silent and awake and min(awake) == self.row:
            self.stop_rank(silent[0], f"gave no sign of life for {self.patience:g} s")
        return signs

    def stop_rank(self, row, reason):
        """Say which rank is at fault and end it; the launcher ends the others, or they themselves
        after a while.
        """
        values = self.page[row].copy()
        if self.page["ending"].any():
            return
        self.page["ending"][row] = 1
        after = f" after step {values['step']}" if values["step"] >= 0 else ""
        print(
            f"craton: rank {values['rank']} on {self.host} (process {values['pid']}) {reason}{after}; all ranks end",
            file=sys.stderr,
            flush=True,
        )
        time.sleep(DRAIN)
        self.kill(row)
        self.end.wait(GRACE)
        for other in range(len(self.page)):
            if other != self.row:
                self.kill(other)
        self.kill(self.row)

    def kill(self, row):
        """End the process of a row, if it is still that process."""
        pid, begun = int(self.page["pid"][row]), int(self.page["begun"][row])
        if pid > 0 and _times(pid)[1] == begun:  # 0, of a row not written yet, is the whole group
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def begin_pulse(comm):
    """Return the Pulse of this rank; all ranks must ask."""
    hosts = comm.gather(comm.host)
    team = [rank for rank, host in enumerate(hosts) if host == comm.host]
    path = _make_page(len(team)) if comm.rank == team[0] else None
    paths = comm.gather(path)
    page = np.memmap(paths[team[0]], ROW, "r+")
    comm.barrier()
    if path:
        Path(path).unlink()
    return Pulse(page, team.index(comm.rank), comm.rank, comm.host)


def _make_page(rows):
    """Path of a new file of the host's memory, readable by this user only, with a row for each
    rank.
    """
    memory = Path("/dev/shm")
    folder = memory if os.access(memory, os.W_OK) else None
    handle, name = tempfile.mkstemp(prefix="craton-", dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(bytes(rows * ROW.itemsize))
    return name


def _times(pid):
    """Ticks of the processor that a process has used, and the tick at which it began; zeros where
    the system does not say.
    """
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return int(words[11]) + int(words[12]), int(words[19])


def _exists(pid):
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
