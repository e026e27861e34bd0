"""Guard of HDF5 files, netCDF 4 and Exodus among them: the library loops for ever on some damaged
files, and dies of others, so that another process looks through each first.
"""

import os
import signal
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from craton.io.contents import FileError

MAGIC = b"\x89HDF"
PROBE = Path(__file__).with_name("hdf5_probe.py")
SECONDS = 3  # of CPU; a million chunks are counted in 0.3
PATIENCE = 60  # s: a slow disk takes time, but no CPU
MEMORY = 1 << 30  # bytes
TIMES = 2064  # twice what DEFLATE shortens at most: netCDF's dimensions have sizes without values
SWOLLEN = 9  # exit code of the probe
OUT_OF_TIME = -getattr(signal, "SIGXCPU", 0)
REMEDY = "The file is damaged: fetch or write it anew, or repair it with h5repack."


def refuse_endless(path):
    """Refuse an HDF5 file on which the library does not come to an end, or dies, or that is too short
    for the values that its headings state. A file is looked through once in a process, in 0.2 s of
    CPU, or less where it is of another format.

    Parameters
    ----------
    path : pathlib.Path
        Of any format; folders pass.

    Raises
    ------
    FileError
    """
    if path.is_dir() or find_spec("h5py") is None:
        return
    with open(path, "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return
        status = os.fstat(file.fileno())
    if reason := fault(str(path.resolve()), status.st_size, status.st_mtime_ns):
        raise FileError(f"cannot read {path}: {reason}", REMEDY)


@lru_cache(maxsize=4096)
def fault(path, size, changed):
    """Return what is wrong with an HDF5 file, in words; None where its metadata can be read.

    Parameters
    ----------
    path : str
    size, changed : int
        Bytes, and ns of the last change: which version of the file.
    """
    words = [sys.executable, str(PROBE), path, str(SECONDS), str(MEMORY), str(TIMES * size)]
    try:
        code = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONSAFEPATH": "1"},
            timeout=PATIENCE,
        ).returncode
    except subprocess.TimeoutExpired:
        return f"its metadata could not be read in {PATIENCE} s"
    except OSError:  # no process to be had here: the file is read as it is
        return None
    if code == OUT_OF_TIME < 0:
        return f"the HDF5 library comes to no end with its metadata in {SECONDS} s of CPU"
    if code == SWOLLEN:
        return f"its {size:,} bytes are too few for the values that its headings state"
    if code < 0:
        return f"the HDF5 library ends with signal {-code} on its metadata"
    return None
