"""Halos and shared points of a program between ranks: packed on the machine, sent by what the ranks have, unpacked or added."""
import time

TAGS = 8  # of one phase


def tag(phase, face, coming=False):
    """Number of a message: of its phase, axis and direction of travel. What comes from behind a face travels towards the other one.

    Of the messages of shared points there is one each way.
    """
    if face is None:
        return TAGS * phase + TAGS - 1
    axis, side = face
    return TAGS * phase + 2 * "xyz".index(axis) + (1 - side if coming else side)


class OnHost:
    """Exchange of buffers in host memory.

    Parameters
    ----------
    program : Program
        Of a rank's plan.
    comm : Comm
    """

    name = "host buffers"

    def __init__(self, program, comm):
        self.links, self.waited = {}, 0.0
        for n, stage in enumerate(program.phases):
            if stage.shared:
                sends = [(m.rank, tag(n, m.face), program.arrays[m.out]) for m in stage.shared.messages]
                takes = [(m.rank, tag(n, m.face, coming=True), program.arrays[m.into]) for m in stage.shared.messages]
                self.links[id(stage.shared)] = comm.link(sends, takes)

    def start(self, shared):
        """Pack and send."""
        if shared:
            shared.pack(0)
            self.links[id(shared)].start()

    def finish(self, shared):
        """Wait and unpack."""
        if shared:
            begin = time.perf_counter()
            self.links[id(shared)].finish()
            self.waited += time.perf_counter() - begin
            shared.unpack(0)


def exchange(program, comm, say=None):
    """The Exchange of a program of one of several ranks, ghosts filled; all must call it. `say` is told what is slower than it could be."""
    if hasattr(program.backend, "stream"):
        from craton.comm.device import on_device

        found = on_device(program, comm, say)
    else:
        found = OnHost(program, comm)
    fill(program, found)
    return found


def fill(program, exchange):
    """Fill all ghosts from what neighbours have now. What neighbours add within a step is nothing between steps."""
    for stage in program.phases:
        if stage.shared and all(m.face is None for m in stage.shared.messages):
            continue
        exchange.start(stage.shared)
        exchange.finish(stage.shared)
