"""A history of all steps that the machine holds in part: blocks of steps come and go between a ring
of three blocks and the host's memory while the machine works.
"""

BLOCKS = 3  # of a ring: one that is worked on, one beside it, one that is on its way


class Ring:
    """Blocks of steps of a history.

    Parameters
    ----------
    machine : Machine
    array : array of the machine, (slots, ...)
        Step n is in slot n % slots: all steps, or three blocks of them.
    steps : int
    before : Ring, optional
        An earlier one of the same size, whose memory is taken over.
    """

    def __init__(self, machine, array, steps, before=None):
        self.array, slots = array, len(array)
        self.whole = slots >= steps
        self.length = steps if self.whole else slots // BLOCKS
        self.blocks = [(n, min(n + self.length, steps)) for n in range(0, steps, self.length)]
        self.there = {}  # number of the block in each part of the ring
        if not self.whole:
            self.copies = machine.copies()
            shape = (steps, *array.shape[1:])
            if before is not None and not before.whole and before.host.shape == shape:
                self.host = before.host
            else:
                self.host = self.copies.memory(shape, array.dtype)

    def _part(self, n):
        """Rows of block n in the ring and on the host."""
        first, last = self.blocks[n]
        at = n % BLOCKS * self.length
        return slice(at, at + last - first), slice(first, last)

    def begin(self, n):
        """Make room for block n, which is to be computed."""
        if not self.whole:
            self.copies.wait(n % BLOCKS)
            self.there[n % BLOCKS] = n

    def end(self, n):
        """Copy block n, which has been computed, to the host."""
        if not self.whole:
            here, there = self._part(n)
            self.copies.out(self.array[here], self.host[there], n % BLOCKS)

    def fetch(self, n):
        """Have block n, and block n - 1 on its way."""
        if self.whole:
            return
        for block in (n, n - 1):
            if block >= 0 and self.there.get(block % BLOCKS) != block:
                here, there = self._part(block)
                self.copies.into(self.array[here], self.host[there], block % BLOCKS)
                self.there[block % BLOCKS] = block
        self.copies.wait(n % BLOCKS)

    def release(self, n):
        """Say that the steps of block n are done."""
        if not self.whole:
            self.copies.done()
