"""One run of a linearised scenario on a machine, forward, transposed and perturbed (Born), alone or shared by ranks; and what
the steps back need of the forward run, block of steps by block: run again from checkpoints, or moved between machine and host.
"""

from abc import ABC, abstractmethod

import numpy as np

from craton.comm import agreed
from craton.comm.halos import connect
from craton.comm.local import Alone
from craton.core.plan import STATE
from craton.errors import ComputationError
from craton.methods.protocol import Linear

BLOCKS = 3  # of a ring: one that is worked on, one beside it, one that is on its way


class Experiment(ABC):
    """A linearised scenario on a machine, with the medium that `run` was given last. Where several ranks share it, each has
    such an object, and all must call its methods.

    Parameters
    ----------
    linear : Linear
        The scenario.
    machine : Machine
    every : int
        Every how many steps fields are correlated; 1 is exact.
    comm : Comm, optional
    everywhere : bool
        Every rank has the whole gradient; otherwise only rank 0 does.

    Attributes
    ----------
    storage : Storage
        What is stored of the forward run, and where.
    spare : dict
        Large arrays that the next run takes over; experiments of one `Problem` share it on each rank.
    record : (steps, columns) array or None
        What the last run recorded; None without one.
    """

    def __init__(self, linear: Linear, machine, every=1, comm=None, everywhere=True):
        self.linear, self.machine, self.every = linear, machine, every
        self.comm, self.everywhere = comm or Alone(), everywhere
        self.steps, self.spare = linear.d.steps, {}
        self.forget()

    def forget(self):
        """Forget the last run; its memory stays for the next."""
        self.state = self.local = self.program = self.history = self.record = None
        self.others = {}

    @property
    def alone(self):
        """True on one rank."""
        return self.comm.size == 1

    @property
    def leads(self):
        """True on a rank that has the whole gradient."""
        return self.everywhere or self.comm.rank == 0

    @property
    def samples(self):
        """What the last run recorded, (steps, channels)."""
        return self.record[:, : len(self.linear.channels)]

    @abstractmethod
    def lines(self):
        """Return what is stored and what programs take, of all ranks, as (label, text) rows."""

    @abstractmethod
    def host_bytes(self, start):
        """Return the bytes of the host that the start, (rho, kappa, mu), programs and what is stored take."""

    # --- forward ------------------------------------------------------------------------------

    def run(self, cells):
        """Run a medium and return the samples, (steps, channels).

        Parameters
        ----------
        cells : (rho, kappa, mu)
            Of cells or nodes.

        Raises
        ------
        ComputationError
            The wavefield diverged.
        """
        return self.run_state(self.linear.at(cells))

    def run_state(self, state):
        """Run a medium by its `State`; see `run`."""
        self.forget()
        self.state, self.local = state, self._steps_of(state)
        self.program = self._commit(self._forward_plan(), self.spare)
        self.history = self._history_of(self.program)
        self._forwards()
        record = self._recorded(self.program)
        if not np.isfinite(record).all():
            raise ComputationError("the wavefield diverged: use a shorter time.step")
        self.record = record
        return self.samples

    def _steps_of(self, state):
        """Return what makes the plans of this rank: a `State`, or its part of one."""
        return state

    @abstractmethod
    def _forward_plan(self):
        """Return the plan of the forward steps, which store what the steps back need."""

    @abstractmethod
    def _history_of(self, program):
        """Return the `Ring` or `Replay` of forward steps, which are about to run."""

    def _forwards(self):
        """Run all forward steps."""
        for n, block in enumerate(self.history.blocks):
            self.history.begin(n)
            march(self.program, *block)
            self.history.end(n)
        self.machine.finish()

    # --- transposed and perturbed -------------------------------------------------------------

    @abstractmethod
    def adjoint(self, derivative, illumination=False, by_sources=False):
        """Return what the misfit changes by, by cells and by sources, from its derivative by the samples of `run`.

        Parameters
        ----------
        derivative : (steps, channels) array
        illumination : bool
            Also return the energy of the forward wavefield's accelerations.
        by_sources : bool
            Also return the derivatives by the sources.

        Returns
        -------
        dict
            ``cells``: dJ/d(rho, kappa, mu); where it was asked for ``force``, ``moment``: what
            `State.by_sources` returns; ``illumination``: of cells or nodes, (m/s2)2 s. Empty on a rank
            that does not lead.
        """

    @abstractmethod
    def born(self, changes):
        """Return by how much the samples change, to first order, with changes of (rho, kappa, mu)."""

    def _other(self, key, make):
        """Return another program at rest: ``make()`` returns its plan, and the arrays that it has in common with the forward
        one.
        """
        if key not in self.others:
            self.others[key] = self._commit(*make())
        rest(self.others[key])
        return self.others[key]

    def _backwards(self, program, begun=0, after=None):
        """Run all steps back of a program of which some have `begun`; ``after(first, last)`` is called for each block."""
        for n, (first, last) in reversed(list(enumerate(self.history.blocks))):
            self.history.fetch(n)
            march(program, begun + self.steps - last, begun + self.steps - first)
            if after:
                after(first, last)
        self.machine.finish()

    # --- of all ranks -------------------------------------------------------------------------

    def _total(self, values):
        """Return the sum of arrays of all ranks, None on a rank that does not lead."""
        return self.comm.reduce(values, None if self.everywhere else 0)

    def _commit(self, plan, arrays=None):
        """Return what of a plan this rank has on its machine, connected: Program; `arrays` are there already."""
        with agreed(self.comm):
            plan, fills = self._part_of(plan)
            program = self.machine.commit(plan, fills, arrays)
        connect(program, self.comm)
        return program

    def _part_of(self, plan):
        """Return the part of a plan that this rank has, and what fills its arrays; see `Machine.commit`."""
        return plan, None

    def _fill(self, program, name, values):
        """Fill an array of a program; one that this rank has no use for is not there."""
        if name in program.arrays:
            self.machine.fill(program.arrays[name], values.astype(program.plan.precision))

    def _recorded(self, program, name="record", extra=0):
        """Return a record of all ranks, (steps + extra, columns) host array in float64, on each; no columns where the plan has
        none of this name.
        """
        empty = np.zeros((self.steps + extra, 0), program.plan.precision)
        block = program.host(name) if name in program.arrays else empty
        if name in program.plan.gatherings:
            block = program.plan.gatherings[name].join_columns(self.comm.gather(block), program.backend)
        return block.astype(float)


class Replay:
    """Blocks of steps whose increments or fields a program stores: each but the last is run again from a checkpoint in the
    host's memory.
    """

    def __init__(self, program, length, steps):
        self.program, self.blocks = program, blocks_of(steps, length)
        self.checkpoints, self.there = [], None

    def begin(self, n):
        """Save the state before block n, which is to be computed."""
        if len(self.blocks) > 1:
            self.checkpoints.append(snapshot(self.program))

    def end(self, n):
        """Note that block n is there."""
        self.there = n

    def fetch(self, n):
        """Have block n."""
        if self.there != n:
            restore(self.program, self.checkpoints[n])
            march(self.program, *self.blocks[n])
            self.there = n


class Ring:
    """Blocks of steps of arrays (slots, ...) of a machine, step n in slot n % slots: all steps, or three blocks that come and go
    between the machine and the host's memory while the machine works. `before`: an earlier one, whose memory is taken over.
    """

    def __init__(self, machine, arrays, slots, steps, before=None):
        self.arrays, self.whole = arrays, slots >= steps
        self.length = steps if self.whole else slots // BLOCKS
        self.blocks, self.host = blocks_of(steps, self.length), []
        self.there = {}  # number of the block in each part of the ring
        if not self.whole:
            self.copies = machine.copies()
            shapes = [(steps, *array.shape[1:]) for array in arrays]
            if before is not None and [values.shape for values in before.host] == shapes:
                self.host = before.host
            else:
                self.host = [self.copies.memory(shape, array.dtype) for shape, array in zip(shapes, arrays)]

    def _parts(self, n):
        """Rows of block n in the ring and on the host, of each array."""
        (first, last), at = self.blocks[n], n % BLOCKS * self.length
        return [(array[at : at + last - first], host[first:last]) for array, host in zip(self.arrays, self.host)]

    def begin(self, n):
        """Make room for block n, which is to be computed."""
        if not self.whole:
            self.copies.wait(n % BLOCKS)
            self.there[n % BLOCKS] = n

    def end(self, n):
        """Copy block n, which has been computed, to the host."""
        for array, host in self._parts(n):
            self.copies.out(array, host, n % BLOCKS)

    def fetch(self, n):
        """Have block n, and block n - 1 on its way."""
        if self.whole:
            return
        for block in (n, n - 1):
            if block >= 0 and self.there.get(block % BLOCKS) != block:
                for array, host in self._parts(block):
                    self.copies.into(array, host, block % BLOCKS)
                self.there[block % BLOCKS] = block
        self.copies.wait(n % BLOCKS)


def blocks_of(steps, length):
    """Return (first, last + 1) of each block of steps."""
    return [(n, min(n + length, steps)) for n in range(0, steps, length)]


def march(program, first, last):
    """Run steps first to last - 1 of a program."""
    for step in range(first, last):
        program.step(step)


def changing(program):
    """Names of the arrays of a program that its steps change, but for the store and the records."""
    return [
        name
        for name, spec in program.plan.arrays.items()
        if spec.data is None and not spec.part_of and (spec.kind in (*STATE, "sums") or name == "step")
    ]


def snapshot(program):
    """Return copies of what a program's steps change, on the host."""
    return {name: program.backend.to_host(program.arrays[name]) for name in changing(program)}


def restore(program, saved):
    """Put copies back."""
    for name, values in saved.items():
        program.backend.fill(program.arrays[name], values)


def rest(program):
    """Set what a program's steps change to zero."""
    with program.backend.work():
        for name in changing(program):
            program.arrays[name][...] = 0
