"""Launchers that are stopped (SIGSTOP): ranks watch each other (`craton.comm.pulse`), but neither
mpiexec nor its proxies; who started them does.
"""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from craton.lock import start_of

LOOK = 1.0  # s between looks
MORE = 5.0  # s beyond the patience: a stopped rank is named by the others, with its step


class LauncherWatch:
    """Looks after a launcher and all that it started until it has ended, and ends them where one
    of them is stopped for too long.

    Parameters
    ----------
    process : subprocess.Popen
    patience : callable
        Gives seconds; is asked when a process is stopped.
    tell : callable
        Is given what happened, in words, before the processes are ended.
    """

    def __init__(self, process, patience, tell):
        self.process, self.patience, self.tell = process, patience, tell
        self.over = threading.Event()
        threading.Thread(target=self._watch, name="launcher", daemon=True).start()

    def close(self):
        """End the watch."""
        self.over.set()

    def _watch(self):
        """Look from time to time; the time begins anew where this process itself stood still."""
        since: dict = {}
        looked = time.monotonic()
        while not self.over.wait(LOOK):
            now = time.monotonic()
            if now - looked > 3 * LOOK:
                since = {}
            looked = now
            team = descendants(self.process.pid)
            since = {member: since.get(member, now) for member in team if is_stopped(member[0])}
            begin, member = min(((begin, pid) for (pid, _), begin in since.items()), default=(now, 0))
            if now - begin <= MORE:
                continue
            limit = self.patience() + MORE
            if now - begin > limit:
                self._end(member, limit, team)
                break

    def _end(self, pid, seconds, team):
        """Say which process is stopped, and end all."""
        name = "mpiexec" if pid == self.process.pid else "a process of mpiexec"
        self.tell(f"{name} (process {pid}) was stopped for {seconds:.0f} s; all ranks end")
        for member, start in team:
            if start_of(member) == start:  # numbers of processes come again
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(member, signal.SIGKILL)


def descendants(pid):
    """Return a process and all below it: list of number and start time; only itself where the
    system does not say.

    Parameters
    ----------
    pid : int
    """
    team, waiting = [], [pid]
    while waiting:
        member = waiting.pop()
        start = start_of(member)
        if start is not None:
            team.append((member, start))
            with suppress(OSError, ValueError):
                text = Path(f"/proc/{member}/task/{member}/children").read_text()
                waiting += map(int, text.split())
    return team


def is_stopped(pid):
    """Return True where a process was stopped by a signal.

    Parameters
    ----------
    pid : int
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False
