"""NumPy's BLAS kept to one thread while threads of our own call it: of two kinds of threads on the same cores each waits for the other."""
import ctypes
import sys
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock

NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")
LOCK, INSIDE = Lock(), []  # one entry for each block that is open; the first holds what to set back


@lru_cache(1)
def libraries():
    """(get, set) the number of threads of each OpenBLAS that this process has loaded; none where that cannot be told."""
    if sys.platform != "linux":
        return []
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "openblas" in line}
    found = []
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        for name in NAMES:
            if hasattr(library, name.format("set")) and hasattr(library, name.format("get")):
                found.append((getattr(library, name.format("get")), getattr(library, name.format("set"))))
                break
    return found


@contextmanager
def one_thread():
    """Within the block BLAS has one thread; blocks may lie in one another and in several threads."""
    with LOCK:
        INSIDE.append(() if INSIDE else tuple(get() for get, _ in libraries()))
        if len(INSIDE) == 1:
            _set([1] * len(libraries()))
    try:
        yield
    finally:
        with LOCK:
            before = INSIDE[0]
            INSIDE.pop()
            if not INSIDE:
                _set(before)


def _set(counts):
    for (_, change), count in zip(libraries(), counts):
        change(int(count))
