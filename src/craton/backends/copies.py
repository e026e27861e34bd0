"""Copies between a machine's arrays and memory of the host, at once or beside its work: what waits
on the host while a machine with memory of its own works.

A copy belongs to a part, a number of the caller's: `wait` lets work wait for the last copy of one.
"""

import numpy as np


class DirectCopies:
    """Copies at once, on a machine whose arrays are the host's."""

    def memory(self, shape, dtype):
        """Memory of the host."""
        return np.empty(shape, dtype)

    def out(self, array, host, part):
        """Copy to the host."""
        host[...] = array

    def into(self, array, host, part):
        """Copy from the host."""
        array[...] = host

    def wait(self, part):
        """Return at once: copies are done."""


class PinnedCopies:
    """Copies between a GPU and pinned memory on a stream of their own."""

    def __init__(self, machine):
        self.machine, self.cupy = machine, machine.cupy
        self.stream = self.cupy.cuda.Stream(non_blocking=True)
        self.copied = {}

    def memory(self, shape, dtype):
        """Pinned memory of the host."""
        import cupyx

        return cupyx.empty_pinned(shape, dtype)

    def _after_work(self):
        """Let copies wait for the work that is queued."""
        event = self.machine.stream.record()
        self.stream.wait_event(event)

    def out(self, array, host, part):
        """Queue a copy to the host, behind the work so far."""
        self._after_work()
        with self.stream:
            array.get(out=host, stream=self.stream, blocking=False)
        self.copied[part] = self.stream.record()

    def into(self, array, host, part):
        """Queue a copy from the host, behind the work so far."""
        self._after_work()
        array.set(host, stream=self.stream)
        self.copied[part] = self.stream.record()

    def wait(self, part):
        """Let work wait for the last copy of a part of the ring."""
        if part in self.copied:
            self.machine.stream.wait_event(self.copied[part])
