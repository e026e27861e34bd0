"""BLAS kept to one thread while threads of our own call it: of two kinds of threads on the same
cores each waits for the other.
"""

import sys
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock

LOCK = Lock()
BLOCKS = []  # one entry for each block that is open; the first holds the limits to set back


@lru_cache(1)
def controller(modules):
    """Return what sets the threads of the libraries that are loaded, looked for anew when the number of imported
    modules has changed: that takes milliseconds.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread():
    """Within the block BLAS (OpenBLAS, MKL, BLIS) has one thread.

    Blocks may lie in one another and, in several threads, end in any order: the first to begin sets
    the limit, the last to end lifts it. OpenMP, which our own kernels use, keeps its threads.
    """
    with LOCK:
        limits = None if BLOCKS else controller(len(sys.modules)).limit(limits=1, user_api="blas")
        BLOCKS.append(limits)
    try:
        yield
    finally:
        with LOCK:
            limits = BLOCKS[0]
            BLOCKS.pop()
            if not BLOCKS:
                limits.restore_original_limits()
