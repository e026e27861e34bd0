"""Command lines of craton, each in a fork of a process that has imported and planned before: bounded in memory, time and files."""

import gc
import os
import pkgutil
import re
import resource
import signal
import traceback
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from tempfile import TemporaryFile
from unittest.mock import patch

import craton
from craton.cli import main

SLOW = 10  # s of CPU of a command line; a slower one is a failure, and is ended after twice as long
LONGEST = 12 * SLOW  # s after which it is ended whatever it does
MEMORY = 2 << 30  # bytes resident, or asked for and refused; more is a failure
# bytes of a child's own memory, with that of the process it is a fork of; s of CPU; bytes of a file; of a core
LIMITS = {"DATA": 3 << 30, "CPU": 2 * SLOW, "FSIZE": 1 << 30, "CORE": 0}
GOOD = (0, 2, 3, 4, 75)  # exit codes that are answers
WARNING = re.compile(r"\b[A-Z]\w*Warning: ")  # as Python prints those of libraries
SAID = 1 << 24  # bytes of output that are looked at


@dataclass(frozen=True)
class Answer:
    """How a command line ended.

    Parameters
    ----------
    code : int
        Exit code; minus the number of a signal.
    measures : dict
        Seconds of CPU, and MiB resident at the most.
    text, error : str
        Standard output and standard error.
    """

    code: int
    measures: dict
    text: str
    error: str

    @property
    def failures(self):
        """What is wrong with the answer: list of str."""
        large = self.measures["MiB"] > MEMORY >> 20 or "out of memory" in self.error or "MemoryError" in self.error
        kinds = {
            f"signal {-self.code}": self.code < 0,
            f"exit {self.code}": self.code > 0 and self.code not in GOOD,
            "traceback": "Traceback (most recent" in self.error,
            "warning of a library": WARNING.search(self.error),
            f"over {SLOW} s": self.measures["s"] > SLOW,
            "over 2 GB": large,
            "accepted nonsense": self.code == 0 and {"nan", "inf", "-inf"} & {*self.text.split()},
        }
        return [kind for kind, is_so in kinds.items() if is_so]


class Server(ProcessPoolExecutor):
    """The process that has imported craton; asked from here."""

    def __init__(self):
        super().__init__(1, get_context("spawn"), import_all)
        with patch.dict(os.environ, OMP_NUM_THREADS="1"):
            self.submit(int).result()  # now it begins

    def ask(self, words, folder):
        """Answer to a command line in a folder."""
        return self.submit(bounded, words, folder).result()

    def warm(self, words, folder):
        """Work a sound command line in the process itself, whose forks then find modules imported and
        kernels loaded; the exit code.
        """
        return self.submit(unbounded, words, folder).result()


def import_all():
    """Import what command lines may need."""
    libraries = ("scipy.interpolate", "xarray", "h5netcdf", "h5py", "zarr", "pyproj", "rich.progress", "obspy")
    modules = [m.name for m in pkgutil.walk_packages(craton.__path__, "craton.") if "__main__" not in m.name]
    for name in (*modules, *libraries):
        with suppress(ImportError):
            import_module(name)


def unbounded(words, folder):
    """Exit code of a command line worked in this process."""
    os.chdir(folder)
    with open(os.devnull, "w") as null, redirect_stdout(null), redirect_stderr(null):
        code = main(words)
    gc.collect()
    gc.freeze()  # what stands is not looked at again: forks do not copy its pages
    return code


def bounded(words, folder):
    """Answer to a command line that runs in a child, which is ended with all that it started."""
    with TemporaryFile() as text, TemporaryFile() as error:
        child = os.fork()
        if not child:
            work(words, folder, text, error)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it has left behind
        _, status, usage = os.wait4(child, 0)
        said = [os.pread(file.fileno(), SAID, 0).decode(errors="replace") for file in (text, error)]
    measures = {"s": round(usage.ru_utime + usage.ru_stime, 3), "MiB": usage.ru_maxrss >> 10}
    return Answer(os.waitstatus_to_exitcode(status), measures, *said)


def work(words, folder, text, error):
    """Run a command line in this child and end it."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.alarm(LONGEST)
        os.chdir(folder)
        os.dup2(text.fileno(), 1)
        os.dup2(error.fileno(), 2)
        for name, most in LIMITS.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        code = main(words)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
