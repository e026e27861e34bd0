"""Halos and shared points of a program between ranks: packed on the machine, sent by what the ranks
have, unpacked or added.
"""

import time


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
                sends = [(m.rank, n, program.arrays[m.out]) for m in stage.shared.messages]
                takes = [(m.rank, n, program.arrays[m.into]) for m in stage.shared.messages]
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


def connect(program, comm, say=None, overlap=True):
    """Let a program exchange what it shares with other ranks, and fill its ghosts; all ranks must call.

    `say` is told what is slow. Without `overlap` a device waits for its neighbours before it computes inner points.
    """
    if comm.size == 1:
        return
    if program.backend.shares_host_memory:
        program.exchange = OnHost(program, comm)
    else:
        from craton.comm.device import on_device

        program.exchange = on_device(program, comm, say, overlap)
    fill(program)


def fill(program):
    """Fill all ghosts from what neighbours have now.

    What neighbours add within a step is nothing between steps.
    """
    for phase, stage in zip(program.plan.phases, program.phases):
        if phase.halos:
            program.exchange.start(stage.shared)
            program.exchange.finish(stage.shared)
