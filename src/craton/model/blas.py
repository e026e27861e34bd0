"""BLAS kept to one thread while threads of our own call it: of two kinds of threads on the same
cores each waits for the other.
"""

from contextlib import contextmanager
from threading import Lock

LOCK = Lock()
BLOCKS = []  # one entry for each block that is open; the first holds the limits to set back


@contextmanager
def one_thread():
    """Within the block BLAS (OpenBLAS, MKL, BLIS) has one thread.

    Blocks may lie in one another and, in several threads, end in any order: the first to begin sets
    the limit, the last to end lifts it. OpenMP, which our own kernels use, keeps its threads.
    """
    from threadpoolctl import threadpool_limits

    with LOCK:
        BLOCKS.append(None if BLOCKS else threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with LOCK:
            limits = BLOCKS[0]
            BLOCKS.pop()
            if not BLOCKS:
                limits.restore_original_limits()
