"""Experiments of spectral elements: the forward field is marched back from its end beside the transposed one, with the saved
velocities of absorbing points; where absorbing layers or attenuation remember, the field of all steps or of a segment is stored.
"""

import numpy as np

from craton.comm import Together
from craton.inverse.experiment import Experiment, Replay, Ring, march
from craton.inverse.storage import SHARE, of_elements
from craton.memory import array_bytes

STORES = ("store", "fluid_store")


class ElementExperiment(Experiment):
    """A linearised scenario of spectral elements on a machine; see `Experiment`.

    Parameters
    ----------
    memory : float, optional
        Bytes of this rank for what is stored; by default 0.6 of what is free.
    storage : str
        ``"boundaries"``, ``"checkpoints"`` or ``"auto"``.
    """

    def __init__(self, linear, machine, every=1, memory=None, storage="auto", comm=None, everywhere=True):
        linear.refuse_machine(machine)
        super().__init__(linear, machine, every, comm, everywhere)
        # elements of this rank; bytes of mesh and medium that all ranks have beside those of `linear`
        self.elements, self.copied_bytes = linear, 0
        if not self.alone:
            self.elements = linear.of_rank(Together(self.comm))
            here = array_bytes(self.elements, linear) - array_bytes(linear)
            self.copied_bytes = sum(self.comm.gather(here))
        memory = SHARE * machine.memory()[0] if memory is None else memory
        self.storage = of_elements(linear, self._kept_bytes, memory, storage)

    def _kept_bytes(self, replayed):
        """Return the bytes of what is stored of a step and of a checkpoint: the most of a rank, and of all ranks, (2, 2)."""
        of_ranks = np.array(self.comm.gather(self.elements.kept_bytes(replayed)))
        return np.array([of_ranks.max(axis=0), of_ranks.sum(axis=0)])

    @property
    def _replayed(self):
        """True where the field is stored, and not marched back."""
        return self.storage.kind == "checkpoints"

    def lines(self):
        """See `Experiment.lines`."""
        return self.storage.rows(self.every)

    def host_bytes(self, start):
        """See `Experiment.host_bytes`; with mesh and medium, of each rank that of the start and that of a run."""
        state = self.linear.at(self.linear.cells)
        held = array_bytes(self.linear, state, start) + self.storage.host + 2 * self.copied_bytes
        if not self.machine.shares_host_memory:
            return held
        forward, back = self._forward_plan(state).arrays, self._back_plan(state, True, False).arrays
        programs = [a for name, a in back.items() if not _taken_over(name, a, forward)]
        return held + sum(a.nbytes for a in (*forward.values(), *programs))

    # --- forward ------------------------------------------------------------------------------

    def _steps_of(self, state):
        """See `Experiment._steps_of`."""
        return state if self.alone else self.elements.steps(state)

    def _forward_plan(self, steps=None):
        """See `Experiment._forward_plan`."""
        return (steps or self.local).forward(self.storage.slots, self._replayed)

    def _history_of(self, program):
        """See `Experiment._history_of`."""
        if self._replayed:
            return Replay(program, self.storage.slots, self.steps)
        arrays = [program.arrays[name] for name in STORES if name in program.arrays]
        return Ring(self.machine, arrays, self.storage.slots, self.steps)

    # --- transposed ---------------------------------------------------------------------------

    def _back_plan(self, steps, light, by_sources):
        """Return the plan of the steps back of a `Steps`."""
        return steps.back(self.storage.slots, self.every, light, by_sources, self._replayed)

    def back(self, light=False, by_sources=False):
        """Return the steps back as a program at rest, with mesh, medium and stored fields of the forward one; `light`: with the
        illumination.
        """

        def make():
            plan, forward = self._back_plan(self.local, light, by_sources), self.program.plan.arrays
            shared = [name for name, array in plan.arrays.items() if _taken_over(name, array, forward)]
            return plan, {name: self.program.arrays[name] for name in shared}

        return self._other((light, by_sources), make)

    def adjoint(self, derivative, illumination=False, by_sources=False):
        """See `Experiment.adjoint`."""
        linear, state, dt = self.linear, self.state, self.linear.d.dt
        program = self.back(illumination, by_sources)
        series = state.residual_series(derivative)
        scale = self._scale(series)
        self._fill(program, "residual_series", scale * series[:, self.local.recorded])
        self.history.fetch(len(self.history.blocks) - 1)
        self._take_end(program)
        march(program, 0, 1)
        self._backwards(program, begun=1)
        taps = dt / scale * self._recorded(program, "taps", extra=1)[1:][::-1]
        sums = self._sums(program)
        if not self.leads:
            return {}
        units = len(state.units) if by_sources else 0
        of_receivers = {n: float(derivative[:, n] @ self.record[:, n]) for n in state.of_receivers}
        of_sources = {n: float(taps[:, units + m] @ linear.histories[:, n]) for m, n in enumerate(state.of_sources)}
        out = {"cells": state.gradient(linear.sums(sums, -self.every / scale), of_receivers, of_sources)}
        if by_sources:
            count = state.units_of("force")
            out["force"] = state.by_sources("force", taps[:, :count])
            out["moment"] = state.by_sources("moment", taps[:, count:units])
        return out | ({"illumination": linear.illumination(sums.light)} if illumination else {})

    def _scale(self, series):
        """Return a factor of residuals such that the transposed field is near 1, which float32
        holds: the law of motion has the masses of points.
        """
        d, largest = self.linear.d, float(np.abs(series).max(initial=0.0)) or 1.0
        mass = d.statistics.mass[0] if d.state.solid else d.statistics.mass[1]
        return float(np.median(mass)) / (d.dt**2 * largest)

    def _take_end(self, program):
        """Begin with the last state of the forward run."""
        with self.machine.work():
            for name, (into, components) in self.linear.ends.items():
                if name in self.local.d.state.fields:
                    field = self.program.arrays[name].reshape((-1, components))
                    program.arrays[into][:, :components] = field

    def _sums(self, program):
        """Return the `Sums` of steps back of the whole mesh; None on a rank that does not lead."""
        sums = self.elements.collected(program)
        if self.alone:
            return sums
        sums = self.elements.parts(sums).each(self._total)
        return sums if self.leads else None

    # --- perturbed ----------------------------------------------------------------------------

    def born(self, changes):
        """See `Experiment.born`."""
        perturbation = self.state.perturbation(changes)
        program = self._commit(self.local.born(perturbation))
        march(program, 0, self.steps)
        samples = self._recorded(program)
        for n, relative in perturbation[1].items():
            samples[:, n] += relative * self.record[:, n]
        return samples


def _taken_over(name, array, forward):
    """Return True where steps back take an array of their plan from the forward program."""
    return array.kind == "store" or (array.data is not None and forward.get(name) is array)
