"""Command lines of craton, each in a fork of a process that has imported and planned before: bounded in memory, time and files."""

import gc
import json
import os
import pkgutil
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import typer.main

import craton
from craton.cli import main

SLOW = 10  # s of CPU of a command line; a slower one is a failure, and is ended after twice as long
MEMORY = 2 << 30  # bytes resident, or asked for and refused; more is a failure
# bytes of a child's own memory, with that of the process it is a fork of; s of CPU; bytes of a file; of a core
LIMITS = {"DATA": 3 << 30, "CPU": 2 * SLOW, "FSIZE": 1 << 30, "CORE": 0}
GOOD = (0, 2, 3, 4, 75)  # exit codes that are answers
WARNING = re.compile(r"\b[A-Z]\w*Warning: ")  # as Python prints those of libraries
TAIL = 3000  # characters of output that are returned


@dataclass(frozen=True)
class Answer:
    """How a command line ended.

    Parameters
    ----------
    code : int
        Exit code; minus the number of a signal.
    seconds : float
        Of CPU.
    nbytes : int
        Most that was resident.
    text, error : str
        Ends of standard output and standard error.
    """

    code: int
    seconds: float
    nbytes: int
    text: str
    error: str

    @property
    def failures(self):
        """What is wrong with the answer: list of str."""
        nonsense = self.code == 0 and {"nan", "inf", "-inf"} & {*self.text.split()}
        large = self.nbytes > MEMORY or "out of memory" in self.error or "MemoryError" in self.error
        kinds = {
            f"signal {-self.code}": self.code < 0,
            f"exit {self.code}": self.code > 0 and self.code not in GOOD,
            "traceback": "Traceback (most recent" in self.error,
            "warning of a library": WARNING.search(self.error),
            f"over {SLOW} s": self.seconds > SLOW,
            "over 2 GB": large,
            "accepted nonsense": nonsense,
        }
        return [kind for kind, is_so in kinds.items() if is_so]


class Server:
    """The process that has imported craton; asked from here."""

    def __enter__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        place = {"env": os.environ | {"OMP_NUM_THREADS": "1"}, "cwd": Path(__file__).parents[1]}
        self.process = subprocess.Popen([sys.executable, "-m", "attack.server"], **pipes, **place)
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait(60)

    def ask(self, words, folder):
        """Answer to a command line in a folder."""
        return Answer(**self._asked(words, folder, False))

    def warm(self, words, folder):
        """Work a sound command line in the process itself, whose forks then find modules imported and
        kernels loaded; the exit code.
        """
        return self._asked(words, folder, True)

    def _asked(self, *question):
        print(json.dumps(question, default=str), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def serve():
    """Answer command lines from standard input until it ends."""
    libraries = ("scipy.interpolate", "xarray", "h5netcdf", "h5py", "zarr", "pyproj", "rich.progress", "obspy")
    modules = [m.name for m in pkgutil.walk_packages(craton.__path__, "craton.") if "__main__" not in m.name]
    for name in (*modules, *libraries):
        with suppress(ImportError):
            import_module(name)
    typer.main.get_command = lru_cache(typer.main.get_command)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        words, folder, in_process = json.loads(line)
        print(json.dumps((warmed if in_process else bounded)(words, folder)), file=answers, flush=True)


def warmed(words, folder):
    """Exit code of a command line worked in this process."""
    os.chdir(folder)
    with open(os.devnull, "w") as null, redirect_stdout(null), redirect_stderr(null):
        code = main(words)
    gc.collect()
    gc.freeze()  # what stands is not looked at again: forks do not copy its pages
    return code


def bounded(words, folder):
    """Fields of the Answer to a command line that runs in a child, which is killed with all that it started after a while."""
    with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as error:
        began, done = time.monotonic(), 0
        child = os.fork()
        if not child:
            work(words, folder, text, error)
        while not done:
            done, status, usage = os.wait4(child, os.WNOHANG)
            if not done and time.monotonic() - began > 12 * SLOW:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.002)
        ends = [(file.seek(0), file.read())[1].decode(errors="replace") for file in (text, error)]
    answer = {"code": os.waitstatus_to_exitcode(status), "nbytes": usage.ru_maxrss * 1024}
    answer |= {"seconds": round(usage.ru_utime + usage.ru_stime, 3), "error": ends[1][-TAIL:]}
    return answer | {"text": ends[0][:TAIL] + ends[0][-TAIL:]}


def work(words, folder, text, error):
    """Run a command line in this child and end it."""
    code = 1
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, file in enumerate((null, text.fileno(), error.fileno())):
            os.dup2(file, number)
        for name, most in LIMITS.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        code = main(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
