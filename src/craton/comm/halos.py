"""Halos and shared points of a program between ranks: packed on the machine, sent in host memory or from
GPU to GPU, unpacked or added.

A GPU packs, sends and unpacks on a stream beside that of the kernels, ordered by events: the inner points are
computed meanwhile.
"""

import time

import numpy as np


class Links:
    """The messages of a program through host memory, by phase: `Comm.link`.

    Parameters
    ----------
    program : Program
    comm : Comm
    host : callable
        Gives the host buffer of an array of the machine.
    """

    def __init__(self, program, comm, host):
        self.buffers, self.links, self.waited = {}, {}, 0.0
        for n, stage in enumerate(program.phases):
            if stage.shared:
                sends = [(m.rank, n, host(program.arrays[m.out])) for m in stage.shared.messages]
                takes = [(m.rank, n, host(program.arrays[m.into])) for m in stage.shared.messages]
                self.buffers[id(stage.shared)] = sends, takes
                self.links[id(stage.shared)] = comm.link(sends, takes)

    def send(self, shared):
        """Send what the buffers of a phase hold now."""
        self.links[id(shared)].start()

    def wait(self, shared):
        """Wait until all buffers of a phase have come."""
        begin = time.perf_counter()
        self.links[id(shared)].finish()
        self.waited += time.perf_counter() - begin


class OnHost(Links):
    """Exchange of a program whose machine computes in host memory."""

    name = "host buffers"

    def __init__(self, program, comm):
        super().__init__(program, comm, lambda array: array)

    def start(self, shared):
        """Pack and send."""
        if shared:
            shared.pack(0)
            self.send(shared)

    def finish(self, shared):
        """Wait and unpack."""
        if shared:
            self.wait(shared)
            shared.unpack(0)


class OnDevice:
    """Exchange of a program on a GPU by NCCL: one group a phase; the host never waits.

    Parameters
    ----------
    program : Program
    comm : Comm
        Carries the identity of the group.

    Raises
    ------
    cupy.cuda.nccl.NcclError
        Two ranks have one GPU, or the GPUs cannot reach each other.
    """

    name = "NCCL"

    def __init__(self, program, comm):
        self.machine, self.arrays, self.cupy = program.backend, program.arrays, program.backend.cupy
        # halos are short and others wait for them: their kernels go first
        self.side = self.cupy.cuda.Stream(non_blocking=True, priority=-5)
        new = self.cupy.cuda.Event
        shared = [stage.shared for stage in program.phases if stage.shared]
        self.events = {id(s): (new(disable_timing=True), new(disable_timing=True)) for s in shared}
        self.connect(program, comm)

    def connect(self, program, comm):
        """Make the transport."""
        from cupy.cuda import nccl

        self.nccl = nccl
        self.types = {np.dtype(np.float32): nccl.NCCL_FLOAT32, np.dtype(np.float64): nccl.NCCL_FLOAT64}
        self.types[np.dtype(np.int64)] = nccl.NCCL_INT64
        identity = comm.gather(nccl.get_unique_id() if comm.rank == 0 else None)[0]
        self.group = nccl.NcclCommunicator(comm.size, identity, comm.rank)

    waited = property(lambda self: 0.0)  # s: the host never waits for messages

    def start(self, shared):
        """Queue packing and all that follows behind the work done so far."""
        if shared:
            ready, done = self.events[id(shared)]
            ready.record(self.machine.stream)
            self.side.wait_event(ready)
            self.run(shared.pack)
            self.send(shared)
            done.record(self.side)

    def finish(self, shared):
        """Let work that is queued from now on wait for the ghosts."""
        if shared:
            self.complete(shared)
            self.machine.stream.wait_event(self.events[id(shared)][1])

    def send(self, shared):
        """Queue the exchange and unpacking."""
        self.nccl.groupStart()
        try:
            for m in shared.messages:
                out, into, stream = self.arrays[m.out], self.arrays[m.into], self.side.ptr
                self.group.send(out.data.ptr, out.size, self.types[out.dtype], m.rank, stream)
                self.group.recv(into.data.ptr, into.size, self.types[into.dtype], m.rank, stream)
        finally:
            self.nccl.groupEnd()
        self.run(shared.unpack)

    def complete(self, shared):
        """Do what the host still has to do: nothing."""

    def run(self, calls):
        """Launch on the side stream."""
        with self.side:
            for call in calls:
                call()

    def close(self):
        """Give the communicator back, when what is queued is done; every rank must call it."""
        self.side.synchronize()
        self.group.destroy()


class Pinned(OnDevice):
    """The same through pinned host memory and the transport of the ranks; the host waits for the copies."""

    name = "pinned host buffers"

    def connect(self, program, comm):
        """Make the transport."""
        self.links = Links(program, comm, self.pinned)

    @property
    def waited(self):
        """Time that the host has waited for messages, s."""
        return self.links.waited

    def pinned(self, array):
        """Return a host array in pinned memory like one of the device."""
        return np.frombuffer(self.cupy.cuda.alloc_pinned_memory(array.nbytes), array.dtype, array.size)

    def send(self, shared):
        """Queue the copies to the host."""
        for m, (_, _, buffer) in zip(shared.messages, self.links.buffers[id(shared)][0]):
            self.arrays[m.out].get(stream=self.side, out=buffer, blocking=False)

    def complete(self, shared):
        """Exchange the host's buffers, copy to the device and unpack."""
        self.side.synchronize()
        self.links.send(shared)
        self.links.wait(shared)
        for m, (_, _, buffer) in zip(shared.messages, self.links.buffers[id(shared)][1]):
            self.arrays[m.into].set(buffer, stream=self.side)
        self.run(shared.unpack)
        self.events[id(shared)][1].record(self.side)

    def close(self):
        """Nothing to give back."""


def has_nccl():
    """Return True where CuPy has NCCL."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return False
    return bool(nccl.available)


def on_device(program, comm, say=None):
    """Return the exchange of a program on a GPU: by NCCL where every rank has it and a GPU of its own, else
    through pinned host memory.

    Parameters
    ----------
    program : Program
    comm : Comm
    say : callable, optional
        Is told why NCCL is not used.
    """
    hosts, devices, have = zip(*comm.gather((comm.host, program.backend.cupy.cuda.Device().pci_bus_id, has_nccl())))
    problem = "" if all(have) else "CuPy has no NCCL"
    if not problem and len({*zip(hosts, devices)}) < comm.size:
        problem = "ranks share a GPU"
    if problem and say:
        say(f"{problem}: halos go through host memory")
    return Pinned(program, comm) if problem else OnDevice(program, comm)


def connect(program, comm, say=None):
    """Let a program exchange what it shares with other ranks, and fill its ghosts; all ranks must call.

    `say` is told what is slow.
    """
    if comm.size > 1:
        on_host = program.backend.shares_host_memory
        program.exchange = OnHost(program, comm) if on_host else on_device(program, comm, say)
        fill(program)


def fill(program):
    """Fill all ghosts from what neighbours have now.

    What neighbours add within a step is nothing between steps.
    """
    for phase, stage in zip(program.plan.phases, program.phases):
        if phase.halos:
            program.exchange.start(stage.shared)
            program.exchange.finish(stage.shared)
