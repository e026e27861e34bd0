"""A walk through the metadata of an HDF5 file, in a process of its own: ``python hdf5_probe.py FILE
SECONDS MEMORY MOST``. It ends with code 9 where datasets have more than MOST bytes.

On a damaged file the library may loop for ever or end the process; `craton.io.hdf5` starts this
and watches. Nothing of craton is imported: the process begins in 0.2 s.
"""

import math
import sys

SMALL, CHUNKS = 1 << 20, 1000  # bytes of values that are read, and in how many chunks


def _bounded(seconds, nbytes):
    """Let the system end this process after some CPU time, and refuse it more memory."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limits = {"RLIMIT_CPU": seconds, "RLIMIT_CORE": 0, "RLIMIT_DATA": nbytes}
    for name, most in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (soft, hard))


def _walk(group, seen):
    """Touch all objects below a group, each once: attributes, dimension scales, lists of chunks.

    Parameters
    ----------
    group : h5py.Group
    seen : dict of tuple to int
        Bytes of objects by file number and address.
    """
    _attributes(group)
    for name in group:
        item = _readable(group.get, name)
        if item is None:
            continue
        info = _readable(_address, item)
        if info is None or info in seen:
            continue
        seen[info] = 0
        if hasattr(item, "keys"):
            _readable(_walk, item, seen)
        elif hasattr(item, "dims"):
            seen[info] = _readable(_bytes_of, item) or 0
            _dataset(item)


def _bytes_of(dataset):
    """Bytes of a dataset, or of a chunk of it where that is larger."""
    size = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
    return max(dataset.nbytes, size)


def _address(item):
    """Where an object lies: it has several names perhaps."""
    import h5py

    info = h5py.h5o.get_info(item.id)
    return info.fileno, info.addr


def _attributes(item):
    """Read all attributes."""
    for name in _readable(list, item.attrs) or ():
        _readable(item.attrs.get, name)


def _dataset(item):
    """Read what describes a dataset, and values of a small one."""
    _attributes(item)
    for dimension in item.dims:
        _readable(len, dimension)
    chunks = 0 if item.chunks is None else _readable(item.id.get_num_chunks)
    if item.nbytes <= SMALL and (chunks or 0) <= CHUNKS:
        _readable(item.__getitem__, ())


def _readable(work, *arguments):
    """Return what a function returns; None where it fails: the reader meets that again."""
    try:
        return work(*arguments)
    except Exception:
        return None


if __name__ == "__main__":
    _bounded(int(sys.argv[2]), int(sys.argv[3]))
    import h5py

    file = _readable(h5py.File, sys.argv[1], "r")
    if file is not None:
        seen = {}
        _readable(_walk, file, seen)
        sys.exit(9 if sum(seen.values()) > int(sys.argv[4]) else 0)
