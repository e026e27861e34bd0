"""How an experiment of spectral elements is divided among ranks: each has the steps of its elements,
records and sums are those of the whole mesh.
"""

import numpy as np

from craton.comm import Together, agreed
from craton.comm.halos import connect
from craton.inverse.division import Ranks
from craton.memory import array_bytes


class ElementDivision(Ranks):
    """Ranks that share an experiment; all of them must make it, and call what is said to be of all.

    Parameters
    ----------
    linear : craton.methods.spectral_element.adjoint.linearised.Linearised
    comm : Comm
    everywhere : bool
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
        """Return the steps of a medium on this rank: `Steps`. Of all ranks.

        Parameters
        ----------
        state : State
            What `Linearised.at` returns.
        """
        return state if self.alone else self.elements.steps(state)

    def commit(self, machine, plan, arrays=None):
        """Return a plan of `steps` on the machine of this rank, connected: Program. Of all ranks.

        Parameters
        ----------
        machine : Machine
        plan : StepPlan
        arrays : dict, optional
            See `Machine.commit`.
        """
        with agreed(self.comm):
            program = machine.commit(plan, arrays=arrays)
        connect(program, self.comm)
        return program

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

    def record(self, program, name, rows, columns):
        """Return a record of all ranks, (rows, columns) host array in float64, on each. Of all ranks.

        Parameters
        ----------
        program : Program
        name : str
            Of the array.
        rows : int
        columns : (columns of this rank, number of all columns)
            What `Steps.columns` returns.
        """
        here, count = columns
        block = program.host(name) if name in program.arrays else np.zeros((rows, 0))
        out = np.zeros((rows, count))
        for numbers, values in self.comm.gather((here, block)):
            out[:, numbers] += values
        return out

    def sums(self, program):
        """Return the `Sums` of steps back of the whole mesh; None on a rank that does not lead. Of
        all ranks.

        Parameters
        ----------
        program : Program
        """
        sums = self.elements.collected(program)
        if self.alone:
            return sums
        sums = self.elements.parts(sums).each(self.total)
        return sums if self.leads else None

    def light(self, program):
        """Return the sums of squared accelerations of the solid's points of the whole mesh, (points,);
        None on a rank that does not lead. Of all ranks.

        Parameters
        ----------
        program : Program
        """
        light = self.elements.light(program)
        return light if self.alone else self.total(self.elements.of_points(light))
