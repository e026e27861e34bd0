"""Inputs are regular files, or folders of them, that hold as much as their headings state: what has
no end, waits for a writer or unpacks to more than its bytes can is refused before it is opened.
"""

import math
import os
import stat
from pathlib import Path

from craton.io.contents import FileError, errors_of_libraries
from craton.io.hdf5 import refuse_endless

KINDS = {stat.S_ISCHR: "device", stat.S_ISBLK: "device", stat.S_ISFIFO: "pipe"}
KINDS |= {stat.S_ISSOCK: "socket", stat.S_ISDIR: "folder"}
CODECS = 50_000  # times at most that those of zarr shorten: bzip2 46,000, zstandard 32,768
REMEDY = "Give the path of a file."


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
        words = f"{path} has {status.st_size:,} bytes: files up to {most:,} are read"
        raise FileError(words, "Split the file.")
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
