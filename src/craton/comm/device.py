"""Halos in device memory: packed, exchanged and unpacked on a stream of their own, while the inside
is computed; the host never waits.
"""

import time
from dataclasses import replace

import numpy as np

from craton.comm import nccl


def on_device(program, comm, say=None, overlap=True):
    """Return the Exchange of a program on a GPU: by NCCL where every rank has it and a GPU of its
    own, else through pinned host memory.

    Parameters
    ----------
    program : Program
    comm : Comm
    say : callable, optional
        Is told why NCCL is not used.
    overlap : bool
        False: wait for halos before the inside is computed, to see what hiding them is worth.
    """
    machine = program.backend
    cupy = machine.cupy
    device = cupy.cuda.Device()
    mine = (comm.host, device.pci_bus_id, nccl.available())
    devices = comm.gather(mine)
    side = stream_of_high_priority(cupy)
    problem = "CuPy has no NCCL" if not all(has_nccl for *_, has_nccl in devices) else None
    if problem is None and len({entry[:2] for entry in devices}) < comm.size:
        problem = "ranks share a GPU"
    if problem:
        if say:
            say(f"{problem}: halos go through host memory")
        return Pinned(program, comm, side, overlap)
    return Direct(program, nccl.Nccl(comm, side), side, overlap)


def stream_of_high_priority(cupy):
    """Return a stream whose kernels go before those that wait on others: halos are short and others
    wait for them.
    """
    try:
        return cupy.cuda.Stream(non_blocking=True, priority=-5)
    except TypeError:  # an older CuPy
        return cupy.cuda.Stream(non_blocking=True)


class Beside:
    """What exchanges on a stream beside the machine's have in common: events order the two.

    Parameters
    ----------
    program : Program
    side : cupy.cuda.Stream
    overlap : bool
    """

    def __init__(self, program, side, overlap):
        self.machine, self.arrays, self.side, self.overlap = (program.backend, program.arrays, side, overlap)
        self.cupy, self.waited, self.timing, self.pairs = program.backend.cupy, 0.0, False, []
        self.events = {id(s.shared): [self.event(), self.event()] for s in program.phases if s.shared}

    def event(self, timing=False):
        """Return a new event."""
        return self.cupy.cuda.Event(disable_timing=not timing)

    def start(self, shared):
        """Queue packing and all that follows behind the work done so far."""
        if not shared:
            return
        ready, done = self.events[id(shared)]
        ready.record(self.machine.stream)
        self.side.wait_event(ready)
        self.queue(shared)
        done.record(self.side)
        if not self.overlap:
            self.machine.stream.wait_event(done)

    def finish(self, shared):
        """Work queued from now on waits for the ghosts."""
        if not shared:
            return
        self.complete(shared)
        main, ready = self.machine.stream, self.events[id(shared)][1]
        if not self.timing:
            main.wait_event(ready)
            return
        begin, end = self.event(True), self.event(True)
        begin.record(main)
        main.wait_event(ready)
        end.record(main)
        self.pairs.append((begin, end))

    def queue(self, shared):
        """Queue packing, transport and unpacking on the side stream."""
        raise NotImplementedError

    def complete(self, shared):
        """Do what the host still has to do: nothing."""

    def seconds_waited(self):
        """Time that the machine's stream has waited for halos since `timing` was set, s."""
        self.machine.finish()
        spent = sum(self.cupy.cuda.get_elapsed_time(*pair) for pair in self.pairs) / 1e3
        self.pairs = []
        return spent

    def run(self, calls):
        """Launch on the side stream."""
        with self.side:
            for call in calls:
                call()


class Direct(Beside):
    """Device to device by NCCL, one group a phase."""

    name = "NCCL"

    def __init__(self, program, group, side, overlap):
        super().__init__(program, side, overlap)
        self.group = group
        self.messages = {
            id(s.shared): [(m.rank, self.arrays[m.out], self.arrays[m.into]) for m in s.shared.messages]
            for s in program.phases
            if s.shared
        }

    def queue(self, shared):
        """Pack, exchange, unpack."""
        self.run(shared.pack)
        self.group.exchange(self.messages[id(shared)])
        self.run(shared.unpack)


class Pinned(Beside):
    """Through pinned host memory and the transport of the ranks; the host waits for the copies."""

    name = "pinned host buffers"

    def __init__(self, program, comm, side, overlap):
        super().__init__(program, side, overlap)
        self.links, self.hosts, self.open = {}, {}, False
        for n, stage in enumerate(program.phases):
            if stage.shared:
                sends = [(m.rank, n, self.pinned(self.arrays[m.out])) for m in stage.shared.messages]
                takes = [(m.rank, n, self.pinned(self.arrays[m.into])) for m in stage.shared.messages]
                self.hosts[id(stage.shared)] = sends, takes
                self.links[id(stage.shared)] = comm.link(sends, takes)

    def pinned(self, array):
        """Return a host array in pinned memory like one of the device."""
        memory = self.cupy.cuda.alloc_pinned_memory(array.nbytes)
        return np.frombuffer(memory, array.dtype, array.size)

    def queue(self, shared):
        """Pack and copy to the host."""
        self.run(shared.pack)
        for m, (_, _, buffer) in zip(shared.messages, self.hosts[id(shared)][0]):
            self.arrays[m.out].get(stream=self.side, out=buffer, blocking=False)
        self.open = True
        if not self.overlap:
            self.complete(shared)

    def complete(self, shared):
        """Exchange the host's buffers, copy to the device and unpack; once."""
        if not self.open:
            return
        self.open = False
        begin = time.perf_counter()
        self.side.synchronize()
        self.links[id(shared)].start()
        self.links[id(shared)].finish()
        self.waited += time.perf_counter() - begin
        for m, (_, _, buffer) in zip(shared.messages, self.hosts[id(shared)][1]):
            self.arrays[m.into].set(buffer, stream=self.side)
        self.run(shared.unpack)
        self.events[id(shared)][1].record(self.side)


def one_graph(program):
    """Make a step of a program one graph, its exchange by NCCL in it: the host launches once a
    step.

    Events that order the streams become edges of the graph. Not the default: a step's launches are
    hidden behind kernels unless a GPU has fewer than some ten million points.
    """
    machine, side = program.backend, program.exchange.side
    machine.finish()
    side.synchronize()
    with machine.stream:
        machine.stream.begin_capture()
        try:
            for stage in program.phases:
                queue(stage.outer)
                program.exchange.start(stage.shared)
                queue(stage.inner)
                program.exchange.finish(stage.shared)
        finally:
            graph = machine.stream.end_capture()
    whole = replace(
        program.phases[0],
        name="step",
        outer=machine.region([]),
        inner=lambda step: graph.launch(machine.stream),
        shared=None,
    )
    return replace(program, phases=[whole])


def queue(region):
    """Launch the kernels of a captured region, one by one."""
    for call in region.calls:
        call()
