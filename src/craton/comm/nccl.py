"""Ranks with a GPU each, through NCCL: arrays stay in device memory; small messages go by the
transport underneath.
"""

import numpy as np


def available():
    """Return True where CuPy has NCCL."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return False
    return bool(nccl.available)


class Nccl:
    """One rank of a group of GPUs.

    Parameters
    ----------
    under : Comm
        Ranks that are there already (threads, MPI): one for each GPU. It carries small messages and
        sums of host arrays.
    stream : cupy.cuda.Stream
        Where communication is queued: that of the machine, or one beside it.

    Raises
    ------
    cupy.cuda.nccl.NcclError
        Two ranks have one GPU, or the GPUs cannot reach each other.
    """

    def __init__(self, under, stream):
        import cupy
        from cupy.cuda import nccl

        self.cupy, self.nccl, self.under, self.stream = cupy, nccl, under, stream
        self.rank, self.size, self.host = under.rank, under.size, under.host
        self.types = {
            np.dtype(np.float32): nccl.NCCL_FLOAT32,
            np.dtype(np.float64): nccl.NCCL_FLOAT64,
            np.dtype(np.int64): nccl.NCCL_INT64,
        }
        identity = under.gather(nccl.get_unique_id() if under.rank == 0 else None)[0]
        self.communicator = nccl.NcclCommunicator(self.size, identity, self.rank)

    def reduce(self, array, root=None):
        """Sum over the ranks; of an array of the device, queued on the stream; of a host array, by
        the transport underneath.
        """
        if not isinstance(array, self.cupy.ndarray):
            return self.under.reduce(array, root)
        array = self.cupy.ascontiguousarray(array)
        out = self.cupy.empty_like(array)
        kind, stream = self.types[array.dtype], self.stream.ptr
        if root is None:
            self.communicator.allReduce(array.data.ptr, out.data.ptr, array.size, kind, self.nccl.NCCL_SUM, stream)
        else:
            self.communicator.reduce(array.data.ptr, out.data.ptr, array.size, kind, self.nccl.NCCL_SUM, root, stream)
        return out if root in (None, self.rank) else None

    def exchange(self, messages):
        """Send and receive in one group, queued on the stream.

        Parameters
        ----------
        messages : sequence of (int, cupy.ndarray, cupy.ndarray)
            For each neighbour its rank, the contiguous buffer to send, and the buffer to fill.
        """
        self.nccl.groupStart()
        try:
            for rank, out, into in messages:
                self.communicator.send(out.data.ptr, out.size, self.types[out.dtype], rank, self.stream.ptr)
                self.communicator.recv(into.data.ptr, into.size, self.types[into.dtype], rank, self.stream.ptr)
        finally:
            self.nccl.groupEnd()

    def gather(self, value):
        """Small objects of all ranks."""
        return self.under.gather(value)

    def barrier(self):
        """Wait for all ranks, and for this rank's queue before."""
        self.stream.synchronize()
        self.under.barrier()

    def abort(self, code):
        """End all ranks."""
        self.communicator.abort()
        self.under.abort(code)

    def close(self):
        """Give the communicator back, when what is queued is done; every rank must call it."""
        self.stream.synchronize()
        self.communicator.destroy()
