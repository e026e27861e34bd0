"""Inputs are regular files, or folders of them, that hold as much as their headings state: what has
no end, waits for a writer or unpacks to more than its bytes can is refused before it is opened.

The HDF5 library (netCDF 4 and Exodus among its files) loops for ever on some damaged files, and dies of others, so that
another process, `hdf5_probe`, looks through each first.
"""

import math
import os
import signal
import stat
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from craton.io.contents import FileError, errors_of_libraries

KINDS = {stat.S_ISCHR: "device", stat.S_ISBLK: "device", stat.S_ISFIFO: "pipe"}
KINDS |= {stat.S_ISSOCK: "socket", stat.S_ISDIR: "folder"}
CODECS = 50_000  # times at most that those of zarr shorten: bzip2 46,000, zstandard 32,768
REMEDY = "Give the path of a file."
MAGIC = b"\x89HDF"
PROBE = Path(__file__).with_name("hdf5_probe.py")
SECONDS = 3  # of CPU; a million chunks are counted in 0.3
PATIENCE = 60  # s: a slow disk takes time, but no CPU
MEMORY = 1 << 30  # bytes
TIMES = 2064  # twice what DEFLATE shortens at most: netCDF's dimensions have sizes without values
SWOLLEN = 9  # exit code of the probe
OUT_OF_TIME = -getattr(signal, "SIGXCPU", 0)
DAMAGED = "The file is damaged: fetch or write it anew, or repair it with h5repack."


def check(path, folders: bool = False, most: int | None = None):
    """Raise FileError for what is no regular file of at most so many bytes, and for HDF5 that cannot be read or holds
    less than its headings state; links count as what they lead to. With `folders` a folder of regular files does as well.
    """
    path = Path(path)
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(f"there is no file {path}", f"Looked for {path.absolute()}.") from None
    except (OSError, ValueError) as error:
        words = f"cannot read {path}: {getattr(error, 'strerror', error)}"
        raise FileError(words, "Check the path and its permissions.") from None
    if folders and stat.S_ISDIR(status.st_mode):
        for file, mode, _ in _members(path):
            _refuse_kind(file, mode)
        return
    _refuse_kind(path, status.st_mode)
    if not status.st_size and not _is_empty(path):
        raise FileError(f"{path} states no length: it is made up while it is read", REMEDY)
    if most is not None and status.st_size > most:
        raise FileError(f"{path} has {status.st_size:,} bytes: files up to {most:,} are read", "Split the file.")
    refuse_endless(path)


def refuse_swollen(folder):
    """Refuse a folder of zarr that has too few bytes for the values that its headings state, or an odd heading."""
    import zarr

    with errors_of_libraries(folder):
        root = zarr.open_group(folder, mode="r", use_consolidated=False)
        sizes = {name: _bytes_of(item) for name, item in root.members(max_depth=None)}
    stated, held = sum(sizes.values()), 0
    for _, _, size in _members(folder):
        held += size
        if held * CODECS >= stated:
            return
    words = f"{folder} has {held:,} bytes: too few for the {stated:,} bytes of values in its headings"
    raise FileError(words, "It is damaged, or values were never written: write it anew.")


def _bytes_of(item):
    """Bytes of an array of zarr, or of a chunk of it where that is larger; 0 of a group."""
    if not hasattr(item, "chunks"):
        return 0
    return max(item.nbytes, math.prod(item.chunks) * item.dtype.itemsize)


def _members(folder):
    """Yield path, mode and bytes of everything below a folder that is no folder itself."""
    waiting, known = [folder], {os.path.realpath(folder)}
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    place = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                    waiting += [place] * (place not in known)
                    known |= {place} if entry.is_symlink() else set()  # links may lead round
                    continue
                try:
                    status = entry.stat()
                except OSError as error:
                    raise FileError(f"cannot read {entry.path}: {error.strerror}", REMEDY) from None
                yield entry.path, status.st_mode, status.st_size


def _is_empty(path):
    """Whether a file without a length holds nothing; those of /proc do, or cannot be read."""
    try:
        with open(path, "rb") as file:
            return not file.read(1)
    except OSError:
        return False


def _refuse_kind(path, mode):
    """Refuse a mode that is not that of a regular file."""
    if not stat.S_ISREG(mode):
        kind = next((word for is_kind, word in KINDS.items() if is_kind(mode)), "special file")
        raise FileError(f"{path} is a {kind}, not a file", REMEDY)


# --- HDF5 -----------------------------------------------------------------------------------------


def refuse_endless(path):
    """Refuse an HDF5 file on which the library does not come to an end, or dies, or that is too short for the values that its
    headings state. A file is looked through once in a process, in 0.2 s of CPU, or less where it is of another format.
    """
    if path.is_dir() or find_spec("h5py") is None:
        return
    with open(path, "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return
        status = os.fstat(file.fileno())
    if reason := fault(str(path.resolve()), status.st_size, status.st_mtime_ns):
        raise FileError(f"cannot read {path}: {reason}", DAMAGED)


@lru_cache(maxsize=4096)
def fault(path, size, changed):
    """Return what is wrong with a version of an HDF5 file, in words; None where its metadata can be read."""
    words = [sys.executable, str(PROBE), path, str(SECONDS), str(MEMORY), str(TIMES * size)]
    try:
        environment = os.environ | {"PYTHONSAFEPATH": "1"}
        code = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=PATIENCE
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
