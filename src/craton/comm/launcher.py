"""MPI launchers: which one started this process, whether its library belongs to it, and how to
start one.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from craton.comm.pulse import LAUNCHER
from craton.errors import Problem, ResourceError, ScenarioError
from craton.text import shown

# (family, variable with the number of processes, variable with the number of this one). Slurm sets
# the step's variables for what srun starts; SLURM_NTASKS alone also stands in the batch script,
# which is one process.
LAUNCHERS = (
    ("Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("MVAPICH", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("MPICH", "PMI_SIZE", "PMI_RANK"),
    ("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
INSTALL = "pip install 'craton[mpi]' (mpi4py and the mpich wheel with its mpiexec)"
PATIENCE = 8  # s for ranks to end after a signal
REPEAT = 0.5  # s: systems that end a job send more than one signal; later ones are a second Ctrl-C
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
SILENT_RANK = re.compile("craton: rank .*; all ranks end")
# What Hydra, MPICH's launcher, says around the message of the rank that failed.
CHATTER = (
    "=====",
    "=   ",
    "YOUR APPLICATION TERMINATED",
    "This typically refers",
    "Please see the FAQ",
    "Abort(",
    "[mpiexec@",
    "[proxy",
)


class LauncherError(ScenarioError):
    """A launcher or its library is wrong, on all ranks: it is `quiet` on those that leave the message to the first."""

    def __init__(self, message: str, remedy: str, quiet: bool = False):
        super().__init__([Problem("mpiexec", message, remedy)])
        self.quiet = quiet


@dataclass(frozen=True)
class Launch:
    """How this process was started.

    Parameters
    ----------
    family : str
        Of the launcher.
    size, rank : int
        Processes that it started, and which of them this is.
    """

    family: str
    size: int
    rank: int


def launch():
    """Return the Launch of this process, or None where no launcher's variables are set.

    Raises
    ------
    ScenarioError
        They are no such numbers.
    """
    for family, size, rank in LAUNCHERS:
        count, number = os.environ.get(size, ""), os.environ.get(rank) or "0"
        if count.isdecimal():
            if len(count) < 10 and number.isdecimal() and (int(number) < int(count) or not int(count)):
                return Launch(family, int(count), int(number))
            remedy = f"start craton by an MPI launcher, or unset {size} and {rank}"
            raise LauncherError(f"{rank} = {shown(number)} is not a rank of {size} = {shown(count)}", remedy)
    return None


def started():
    """Return True where an MPI launcher started this process, or the caller has begun MPI."""
    launched = launch()
    module = sys.modules.get("mpi4py.MPI")
    begun = module and module.Is_initialized() and module.COMM_WORLD.size > 1
    return bool((launched and launched.size > 1) or begun)


def check_library(version, size=None):
    """Refuse a library that cannot begin under this launcher, which would end the program without a word that
    helps; once it has begun, refuse processes that began one by one although the launcher started several.

    Parameters
    ----------
    version : str
        What the library says that it is.
    size : int, optional
        Processes that it sees.
    """
    launched = launch()
    stranger = size == 1 or (launched and launched.family == "Open MPI" and "Open MPI" not in version)
    if launched and launched.size > 1 and stranger:
        library = " ".join(version.split()[:3])
        refuse(
            f"{launched.family} started {launched.size} processes, but with the MPI library here ({library}) they do not "
            "find each other: each would run alone and write over the others",
            "use `craton run --ranks N`, or the mpiexec that belongs to the library "
            f"(of this environment: {mpiexec(default='none')})",
        )


def refuse(message, remedy):
    """Raise what is wrong with the launcher or the library; every process finds the same, the first
    one says it.
    """
    launched = launch()
    raise LauncherError(message, remedy, quiet=bool(launched and launched.rank))


def mpiexec(default=None):
    """Path of the environment's own mpiexec, else of the first on PATH.

    Raises
    ------
    ResourceError
        If there is none and no default.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    path = str(beside) if beside.exists() else shutil.which("mpiexec") or default
    if path is None:
        raise ResourceError(f"several ranks need mpiexec\n    {INSTALL}")
    return path


def command(ranks, words):
    """Return the command line that runs `craton` with these words on so many ranks; nothing is
    imported from the working folder (-P).
    """
    if find_spec("mpi4py") is None:
        raise ResourceError(f"several ranks need mpi4py\n    {INSTALL}")
    python = (sys.executable, "-P", "-m", "mpi4py", "-m", "craton")
    return [mpiexec(), "-n", str(ranks), *python, *words]


def environment():
    """Variables of ranks: this host only, whatever batch system is around; modules from nowhere but
    the installation and the named folders of $PYTHONPATH.
    """
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    return os.environ | {
        "HYDRA_LAUNCHER": "fork",
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(folders),
        LAUNCHER: str(os.getpid()),
    }


def end_with_parent():
    """Return a function which, called in a process, makes the kernel end that process when its
    parent has ended, however that ended (Linux).
    """
    try:
        prctl = ctypes.CDLL(None).prctl
    except (AttributeError, OSError, TypeError):
        return lambda: None
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run(ranks, words, busy=lambda: False):
    """Run `craton` with these words on so many ranks of this host.

    Ctrl-C goes to the launcher once, which passes it on to every rank; a second one ends all at
    once. Ranks that do not end soon are killed, but for as long as `busy` says that they are
    writing what must not be lost. They end as well when this process is killed.

    Returns
    -------
    int, str
        Exit code, and what ended the ranks where they could not say it themselves.
    """
    process = subprocess.Popen(
        command(ranks, words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment(),
        start_new_session=True,
        preexec_fn=end_with_parent(),
    )
    talk = Talk()
    pipes = ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
    readers = [threading.Thread(target=talk.forward, args=pipe, daemon=True) for pipe in pipes]
    for reader in readers:
        reader.start()
    code, interruptions = _wait(process, busy)
    for reader in readers:
        reader.join(1)
    return talk.outcome(code, interruptions)


def _wait(process, busy):
    """Exit code of the launcher, and how often it was interrupted: the first Ctrl-C becomes the launcher's
    signal, which is sent again where ranks do not end; a second one kills at once.
    """
    interruptions, first = 0, 0.0
    while True:
        try:
            return process.wait(1 if interruptions else None), interruptions
        except subprocess.TimeoutExpired:
            late = time.monotonic() - first - PATIENCE
            if late > 0 and not busy():
                process.send_signal(signal.SIGINT if late < 2 else signal.SIGKILL)
        except KeyboardInterrupt:
            if not interruptions:
                interruptions, first = 1, time.monotonic()
                process.send_signal(signal.SIGINT)
            elif time.monotonic() - first > REPEAT:
                interruptions = 2
                process.kill()


@dataclass
class Talk:
    """What comes out of a launcher.

    Parameters
    ----------
    killed : str
        The signal that ended a rank, as the launcher has it.
    host : str
        Where, in words.
    aborted : int or None
        Exit code with which a rank itself ended all others.
    silent : str
        What a rank says of one that is stopped or hangs.
    """

    killed: str = ""
    host: str = ""
    aborted: int | None = None
    silent: str = ""

    def outcome(self, code, interruptions):
        """Return exit code and reason from the launcher's code and the number of Ctrl-C."""
        if interruptions > 1:
            return 75, "interrupted twice; the ranks were killed"
        if interruptions and code not in (0, 75, 130):
            late = f"interrupted; the ranks did not end within {PATIENCE} s and were killed"
            return 75, "interrupted" if self.aborted == 75 else late
        if self.silent:
            return 1, self.silent
        if self.aborted is not None:
            return self.aborted, ""
        if self.killed:
            ended = f"a rank{self.host} was ended from outside: {self.killed}"
            return 1, f"{ended}; all ranks were stopped"
        return code, ""

    def forward(self, source, to):
        """Pass on what ranks say; take out and note what the launcher itself says."""
        waiting = ""  # an empty line is the launcher's where its own words follow
        for line in source:
            if line.startswith(CHATTER):
                self.note(line)
                waiting = ""
            elif SILENT_RANK.match(line):
                self.silent = line.strip().removeprefix("craton: ")
            elif line.strip():
                print(waiting + line, end="", file=to, flush=True)
                waiting = ""
            else:
                waiting += line

    def note(self, line):
        """Learn from a line of the launcher's own."""
        if line.startswith("=   PID") and " AT " in line:
            self.host = " on " + line.split(" AT ")[1].strip()
        if line.startswith("YOUR APPLICATION TERMINATED") and "signal" in line:
            self.killed = line.split(":", 1)[1].strip()
        if line.startswith("Abort("):
            self.aborted = int(line[6 : line.index(")")])
