"""Memory of this computer that this process may still take, and bytes of arrays that are held."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

LARGE = 1 << 20  # bytes of memory that goes back to the system when it is freed
M_MMAP_THRESHOLD = -3  # of <malloc.h>


def give_back_freed():
    """Give what has been freed back to the system, and from now on large arrays as soon as they are
    freed, where the C library is that of GNU: it would keep those of up to 32 MiB in the heap of
    each thread, and a run would take more than its plan says. For programs of our own, not for a
    library in another's.
    """
    import ctypes

    library = ctypes.CDLL(None) if os.name == "posix" else None
    if hasattr(library, "mallopt"):
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.malloc_trim(0)


def available():
    """Bytes that can be taken without swapping, and within the limits of the process (``ulimit -d``
    and ``-v``, as batch systems set them); None where the computer does not say.

    Returns
    -------
    int or None
    """
    info = Path("/proc/meminfo")
    free = _sizes(info).get("MemAvailable") if info.exists() else _free_pages()
    left = [free] if free is not None else []
    return min(left + _left_of_limits(), default=None)


LOCK = threading.Lock()
ALLOWED = []  # bytes that each reader may take now: ranks that are threads read at the same time
OWN = []  # soft and hard limit of the process, as the first reader found them


@contextmanager
def limited(nbytes):
    """Inside, whatever takes so much more memory than the process has now gets a MemoryError; where
    the computer knows such limits. Readers in several threads may take what all of them are
    allowed; the last restores the limit that the first found.

    Parameters
    ----------
    nbytes : int
    """
    if resource is None or not Path("/proc/self/status").exists():
        yield
        return
    with LOCK:
        if not ALLOWED:
            OWN[:] = resource.getrlimit(resource.RLIMIT_DATA)
        ALLOWED.append(nbytes)
        _limit_data()
    try:
        yield
    finally:
        with LOCK:
            ALLOWED.remove(nbytes)
            _limit_data()


def _limit_data():
    """Limit the process's data to what it has now and what all readers may take; without readers,
    restore its own limit.
    """
    soft, hard = OWN
    most = _sizes(Path("/proc/self/status"))["VmData"] + sum(ALLOWED)
    limits = [most] + [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits) if ALLOWED else soft, hard))


def array_bytes(*roots):
    """Bytes of all NumPy arrays in memory that are reachable from some values through lists,
    tuples, dicts and objects of craton; each once, views by the array that they show.

    Parameters
    ----------
    *roots
        Values to begin with.

    Returns
    -------
    int
    """
    known, waiting, total = set(), list(roots), 0
    while waiting:
        value = waiting.pop()
        if isinstance(value, np.ndarray):
            value = _owner(value)
        if value is None or id(value) in known:
            continue
        known.add(id(value))
        if isinstance(value, np.ndarray):
            total += 0 if isinstance(value, np.memmap) else value.nbytes
        else:
            waiting += _parts(value)
    return total


def _owner(array):
    """Return the array whose memory an array shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _parts(value):
    """Return what a list, tuple, dict or object of craton holds; nothing of lists of plain values."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return [] if value and isinstance(value[0], (str, int, float)) else list(value)
    of_craton = type(value).__module__.startswith("craton.")
    return list(getattr(value, "__dict__", {}).values()) if of_craton else []


def _sizes(path):
    """Bytes by name of a file of Linux with lines ``name: number kB``."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {w[0].rstrip(":"): int(w[1]) * 1024 for w in lines if w[2:] == ["kB"]}


def _free_pages():
    """Bytes of pages that are free."""
    if not hasattr(os, "sysconf") or "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _left_of_limits():
    """Bytes that are left of each limit of the process that is set."""
    status = Path("/proc/self/status")
    if resource is None or not status.exists():
        return []
    limits = {"VmData": resource.RLIMIT_DATA, "VmSize": resource.RLIMIT_AS}
    most = {name: resource.getrlimit(kind)[0] for name, kind in limits.items()}
    finite = {name: size for name, size in most.items() if size != resource.RLIM_INFINITY}
    taken = _sizes(status) if finite else {}
    return [max(size - taken.get(name, 0), 0) for name, size in finite.items()]
