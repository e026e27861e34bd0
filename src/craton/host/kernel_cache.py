"""The cache of compiled kernels: a folder of this user alone, entries that bear the checksum of
their contents, one process that compiles each, a bound on the size.
"""

import hashlib
import os
import random
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from craton.errors import ResourceError, ScenarioError
from craton.host.trust import private_folder, trusted_bytes
from craton.lock import Held, acquire

REMEDY = (
    "set CRATON_CACHE to a folder of yours that no other user can write to, on a disk from which programs may be run"
)
LIMIT_BYTES = 1 << 30  # of all entries: the oldest go first
IN_USE = 24 * 3600  # s since it was last used in which an entry is not removed
PATIENCE = 300  # s that a process waits for another one that compiles the same text
DIGITS = 24  # of the digest of text, flags and compiler; and of the checksum


def folder():
    """Return the folder of compiled kernels, $CRATON_CACHE or the user's cache folder: Path."""
    chosen = os.environ.get("CRATON_CACHE")
    if chosen:
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "craton"
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"craton-{os.geteuid()}"


def checked_folder():
    """Return the folder, created if need be, when nobody else can have written there.

    Raises
    ------
    ResourceError
        Another user could put a library there, or it cannot be used: the latter with exit code 2
        where $CRATON_CACHE names it.
    """
    with _chosen():
        return private_folder(folder(), REMEDY)


class WrongFolder(ResourceError):
    """The folder that $CRATON_CACHE names cannot be used."""

    exit_code = ScenarioError.exit_code


@contextmanager
def _chosen():
    """Inside, a folder that cannot be used is wrong input where $CRATON_CACHE names it."""
    try:
        yield
    except ResourceError as error:
        if os.environ.get("CRATON_CACHE") and isinstance(error.__cause__, OSError):
            raise WrongFolder(str(error)) from error
        raise


def secure_cupy():
    """Let CuPy keep its compiled kernels in a folder of this user alone, and refuse the one that
    $CUPY_CACHE_DIR names where another user can write to it.

    Raises
    ------
    ResourceError
    """
    chosen = os.environ.get("CUPY_CACHE_DIR")
    remedy = "set CUPY_CACHE_DIR to a folder of yours that no other user can write to, or unset it"
    place = private_folder(chosen, remedy) if chosen else private_folder(folder() / "cupy", REMEDY)
    os.environ["CUPY_CACHE_DIR"] = str(place)


def checksum(digest, contents):
    """Return the checksum of an entry: of its contents and of what they were compiled from.

    Parameters
    ----------
    digest : str
    contents : bytes
    """
    return hashlib.sha256(digest.encode() + contents).hexdigest()[:DIGITS]


def find(place, digest):
    """Return the whole entry of a digest, or None; damaged ones are removed, and a note says so.

    Parameters
    ----------
    place : Path
        See `checked_folder`.
    digest : str
    """
    with os.scandir(place) as entries:
        names = sorted(e.name for e in entries if e.name.startswith(digest + "-"))
    for name in names:
        path = place / name
        try:
            contents = trusted_bytes(path)
        except FileNotFoundError:
            continue  # another process has removed it
        except OSError as error:
            remove(path, error.strerror or str(error))
            continue
        if name != f"{digest}-{checksum(digest, contents)}.so":
            remove(path, "its checksum does not match")
            continue
        _note_use(path)
        return path
    return None


def keep(place, digest, temporary):
    """Move a library that was compiled into the cache, at once; return its path.

    Parameters
    ----------
    place : Path
    digest : str
    temporary : path-like
        Its file, in the same folder.
    """
    contents = Path(temporary).read_bytes()
    path = place / f"{digest}-{checksum(digest, contents)}.so"
    os.chmod(temporary, 0o700)
    _sync(temporary)
    os.replace(temporary, path)
    evict(place)
    return path


def remove(path, reason):
    """Remove an entry, and say why on standard error.

    Parameters
    ----------
    path : Path
    reason : str
    """
    print(f"note: a compiled kernel was damaged and is compiled anew: {path}: {reason}", file=sys.stderr, flush=True)
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            path.rename(path.with_name(f"damaged-{time.time_ns()}"))  # its contents are not ours
        else:
            path.unlink()


def evict(place, limit_bytes=None):
    """Remove the entries that were not used for the longest time, until the others fit the limit.

    Entries that were used within a day stay: a process, perhaps on another computer, may still read
    them.

    Parameters
    ----------
    place : Path
    limit_bytes : int, optional
        By default `LIMIT_BYTES`.
    """
    limit_bytes = LIMIT_BYTES if limit_bytes is None else limit_bytes
    entries, now = [], time.time()
    with os.scandir(place) as listed:
        for entry in listed:
            with suppress(OSError):
                if entry.name.endswith((".so", ".tmp")):
                    state = entry.stat(follow_symlinks=False)
                    entries.append((state.st_mtime, state.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for used, size, path in sorted(entries):
        if total <= limit_bytes or now - used < IN_USE:
            break
        with suppress(OSError):
            os.unlink(path)
        total -= size


@contextmanager
def alone(place, digest):
    """Inside, no other process compiles the same text, on this computer or on the same file system.

    After `PATIENCE` seconds, or where nothing can be locked, it goes on without the lock.

    Parameters
    ----------
    place : Path
    digest : str
    """
    path, end, pause, lock = place / f"{digest}.lock", time.monotonic() + PATIENCE, 0.02, None
    while lock is None and time.monotonic() < end:
        try:
            lock = acquire(path)
        except Held:
            time.sleep(pause * random.uniform(0.5, 1.5))  # thousands must not ask in step
            pause = min(2 * pause, 2.0)
        except OSError:
            break
    try:
        yield
    finally:
        if lock:
            lock.release()


def temporary_file(place):
    """Create an empty file beside the entries, for the compiler to write to; return its path.

    Raises
    ------
    ResourceError
        It cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=place, suffix=".tmp")
    except OSError as error:
        words = f"cannot write compiled kernels to {place}: {error.strerror}\n    {REMEDY}"
        with _chosen():
            raise ResourceError(words) from error
    os.close(handle)
    return name


def _note_use(path):
    """Note that an entry is used, once an hour: for `evict`."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > 3600:
            os.utime(path)


def _sync(path):
    """Wait until a file is on disk: its name must not survive a power failure without its contents."""
    with suppress(OSError), open(path, "rb") as file:
        os.fsync(file.fileno())
