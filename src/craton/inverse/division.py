"""How an experiment is divided among ranks: each has the steps of its box of the grid, records and
sums are those of the whole.
"""

import numpy as np

from craton.comm import agreed
from craton.comm.halos import connect
from craton.comm.local import Alone
from craton.methods.waves.ranks.ranks import steps_of_rank


class Ranks:
    """Ranks that share an experiment.

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
        """Return the sum of arrays of all ranks, None on a rank that does not lead; all ranks must
        call.
        """
        return self.comm.reduce(values, None if self.everywhere else 0)


class Division(Ranks):
    """Ranks that share an experiment on a grid; all of them must call what is said to be of all.

    Parameters
    ----------
    comm : Comm
    partition : tuple of Subdomain
        Of all ranks; empty on one.
    everywhere : bool
        See `Ranks`.
    """

    def __init__(self, comm=None, partition=(), everywhere=True):
        super().__init__(comm, everywhere)
        self.partition = partition

    def commit(self, machine, state, plan, arrays=None):
        """Return a plan on the machine of this rank, connected: Program. Of all ranks.

        Parameters
        ----------
        machine : Machine
        state : State
            What `Linearised.at` returns.
        plan : StepPlan
            On the whole grid.
        arrays : dict, optional
            See `Machine.commit`.
        """
        with agreed(self.comm):
            local = plan if self.alone else steps_of_rank(plan, self.partition, self.comm.rank)[0]
            program = machine.commit(local, state.fills(local), arrays)
        connect(program, self.comm)
        return program

    def record(self, program, name, steps):
        """Return a record of all ranks, (steps, columns) host array, on each; no columns where the
        plan has none of this name. Of all ranks.

        Parameters
        ----------
        program : Program
        name : str
            Of the array.
        steps : int
        """
        empty = np.zeros((steps, 0), program.plan.precision)
        block = program.host(name) if name in program.arrays else empty
        gatherings = program.plan.gatherings
        if name not in gatherings:
            return block
        return gatherings[name].join_columns(self.comm.gather(block), program.backend)

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
        values = machine.to_host(values)
        shape = [max(part.box[n] for part in self.partition) for n in (1, 3, 5)]
        out = np.zeros(shape)
        out[self._box()] = values
        total = self.total(out)
        return total.astype(values.dtype) if self.leads else None

    def owned(self, values):
        """Return the values (..., nz, ny, nx) of the points that this rank owns."""
        return values if self.alone else values[(..., *self._box())]

    def _box(self):
        """Slices of the points that this rank owns."""
        box = self.partition[self.comm.rank].box
        return tuple(slice(a, b) for a, b in zip(box[::2], box[1::2]))
