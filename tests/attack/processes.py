"""Processes that an attack has started: known by a mark in their environment, signalled as these processes only."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

MARK = "ATTACK"  # variable of the environment


@dataclass(frozen=True, order=True)
class Process:
    """A process of a family.

    Parameters
    ----------
    pid : int
    start : int
        Ticks after boot at which it began: with the pid it names no later process.
    line : str
        Command line.
    mark : str
    """

    pid: int
    start: int
    line: str
    mark: str


def family(mark):
    """Living processes of a mark; those that have ended and wait for their parent are left out."""
    return sorted(filter(None, (marked(int(p.name), mark) for p in Path("/proc").glob("[0-9]*"))))


def marked(pid, mark):
    """The process of a number if it lives and bears a mark, else None."""
    entry = Path("/proc", str(pid))
    try:
        words = (entry / "stat").read_text().rpartition(")")[2].split()
        if f"{MARK}={mark}".encode() not in (entry / "environ").read_bytes().split(b"\0"):
            return None
        line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    return None if words[0] in "ZX" else Process(pid, int(words[19]), line, mark)


def send(process, number):
    """Signal a process; a later one with its number gets nothing.

    Returns
    -------
    bool
        True where the process was there.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:  # the descriptor stays with the process that is compared here
        if marked(process.pid, process.mark) != process:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True
