"""How an experiment is divided among ranks: each has the steps of its box of the grid, records and
sums are those of the whole.
"""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from craton.backends.base import Program
from craton.comm import agreed
from craton.comm.halos import exchange
from craton.comm.local import Alone
from craton.methods.shared.ranks import steps_of_rank


@dataclass
class RankProgram(Program):
    """A program with its neighbours.

    Parameters
    ----------
    exchange : Exchange
        Of halos.
    gatherings : dict of str to Gathering
        What makes whole records of those of all ranks; empty on one rank.
    """

    exchange: Any = field(default_factory=Alone)
    gatherings: dict = field(default_factory=dict)


def on_one_rank(program):
    """Return a program of a rank without neighbours as a RankProgram."""
    return with_neighbours(program, Alone(), {})


def with_neighbours(program, halos, gatherings):
    """Return a program as a RankProgram; parameters as there."""
    of_program = {part.name: getattr(program, part.name) for part in fields(Program)}
    return RankProgram(**of_program, exchange=halos, gatherings=gatherings)


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
        """Return a plan on the machine of this rank: RankProgram. Of all ranks.

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
        if self.alone:
            return on_one_rank(machine.commit(plan, state.fills(plan), arrays))
        with agreed(self.comm):
            local, gatherings = steps_of_rank(plan, self.partition, self.comm.rank)
            program = machine.commit(local, state.fills(local), arrays)
        return with_neighbours(program, exchange(program, self.comm), gatherings)

    def record(self, program, name, steps):
        """Return a record of all ranks, (steps, columns) host array, on each; no columns where the
        plan has none of this name. Of all ranks.

        Parameters
        ----------
        program : RankProgram
        name : str
            Of the array.
        steps : int
        """
        empty = np.zeros((steps, 0), program.plan.precision)
        block = program.host(name) if name in program.arrays else empty
        if name not in program.gatherings:
            return block
        return program.gatherings[name].join_columns(self.comm.gather(block), program.backend)

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
