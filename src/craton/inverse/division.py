"""How an experiment is divided among ranks: each has the steps of its box of the grid, or of its elements of the
mesh; records and sums are those of the whole.
"""

import numpy as np

from craton.comm import Together, agreed
from craton.comm.halos import connect
from craton.comm.local import Alone
from craton.memory import array_bytes
from craton.methods.waves.ranks.ranks import steps_of_rank


class Ranks:
    """Ranks that share an experiment; all of them must call what is said to be of all.

    Parameters
    ----------
    comm : Comm
    everywhere : bool
        Every rank has the whole sums; otherwise only rank 0 does.
    """

    def __init__(self, comm=None, everywhere=True):
        self.comm, self.everywhere = comm or Alone(), everywhere

    @property
    def alone(self):
        """True on one rank."""
        return self.comm.size == 1

    @property
    def leads(self):
        """True on a rank that has the whole sums."""
        return self.everywhere or self.comm.rank == 0

    def total(self, values):
        """Return the sum of arrays of all ranks, None on a rank that does not lead. Of all ranks."""
        return self.comm.reduce(values, None if self.everywhere else 0)

    def commit(self, machine, plan, fills=None, arrays=None):
        """Return a plan of this rank on its machine, connected: Program. Of all ranks; see `Machine.commit`."""
        with agreed(self.comm):
            program = machine.commit(plan, fills, arrays)
        connect(program, self.comm)
        return program

    def record(self, program, name, steps):
        """Return a record of all ranks, (steps, columns) host array in float64, on each; no columns where
        the plan has none of this name. Of all ranks.
        """
        empty = np.zeros((steps, 0), program.plan.precision)
        block = program.host(name) if name in program.arrays else empty
        if name in program.plan.gatherings:
            block = program.plan.gatherings[name].join_columns(self.comm.gather(block), program.backend)
        return block.astype(float)


class Division(Ranks):
    """Ranks that share an experiment on a grid.

    Parameters
    ----------
    comm, everywhere
        See `Ranks`.
    partition : tuple of Subdomain
        Of all ranks; empty on one.
    """

    def __init__(self, comm=None, partition=(), everywhere=True):
        super().__init__(comm, everywhere)
        self.partition = partition

    def commit_state(self, machine, state, plan, arrays=None):
        """Return what of a plan on the whole grid this rank has, on its machine, connected: Program. Of all ranks.

        Parameters
        ----------
        machine : Machine
        state : State
            What `Linearised.at` returns.
        plan : StepPlan
        arrays : dict, optional
            See `Machine.commit`.
        """
        with agreed(self.comm):
            local = plan if self.alone else steps_of_rank(plan, self.partition, self.comm.rank)[0]
            fills = state.fills(local)
        return self.commit(machine, local, fills, arrays)

    def whole(self, machine, values):
        """Return values of all points from those of the points of each rank: the array itself on one
        rank, else a host array, None on a rank that does not lead. Of all ranks.

        Parameters
        ----------
        machine : Machine
        values : (nz, ny, nx) array of the machine
        """
        if self.alone:
            return values
        values, shape = machine.to_host(values), [max(part.box[n] for part in self.partition) for n in (1, 3, 5)]
        out = np.zeros(shape)
        self.owned(out)[...] = values
        total = self.total(out)
        return total.astype(values.dtype) if self.leads else None

    def owned(self, values):
        """Return the values (..., nz, ny, nx) of the points that this rank owns: a view."""
        if self.alone:
            return values
        box = self.partition[self.comm.rank].box
        return values[(..., *(slice(a, b) for a, b in zip(box[::2], box[1::2])))]


class ElementDivision(Ranks):
    """Ranks that share an experiment of spectral elements; all of them must make it.

    Parameters
    ----------
    linear : craton.methods.spectral_element.adjoint.linearised.Linearised
    comm, everywhere
        See `Ranks`.

    Attributes
    ----------
    held : int
        Bytes of the arrays of mesh and medium that all ranks have beside those of `linear`.
    """

    def __init__(self, linear, comm=None, everywhere=True):
        super().__init__(comm, everywhere)
        self.elements, self.held = linear, 0
        if not self.alone:
            self.elements = linear.of_rank(Together(self.comm))
            here = array_bytes(self.elements, linear) - array_bytes(linear)
            self.held = sum(self.comm.gather(here))

    def steps(self, state):
        """Return the `Steps` of a medium, a `State`, on this rank. Of all ranks."""
        return state if self.alone else self.elements.steps(state)

    def kept_bytes(self, replayed):
        """Return the bytes of what is saved of a step and of a checkpoint: the most of a rank, and of
        all ranks, (2, 2). Of all ranks.

        Parameters
        ----------
        replayed : bool
            See `linearised_steps.saves`.
        """
        of_ranks = np.array(self.comm.gather(self.elements.kept_bytes(replayed)))
        return np.array([of_ranks.max(axis=0), of_ranks.sum(axis=0)])

    def sums(self, program):
        """Return the `Sums` of steps back of the whole mesh; None on a rank that does not lead. Of all ranks."""
        sums = self.elements.collected(program)
        if self.alone:
            return sums
        sums = self.elements.parts(sums).each(self.total)
        return sums if self.leads else None

    def light(self, program):
        """Return the sums of squared accelerations of the solid's points of the whole mesh, (points,);
        None on a rank that does not lead. Of all ranks.
        """
        light = self.elements.light(program)
        return light if self.alone else self.total(self.elements.of_points(light))
