"""Experiments on grids: increments of the forward run are stored, all or those of a segment that is run again from a checkpoint,
or the forward field is taken back in time from its last state and from what was kept beside absorbing layers.
"""

import math
from abc import abstractmethod

import numpy as np

from craton.backends.cpu import CPU
from craton.inverse.experiment import Experiment, Replay, Ring, march, rest
from craton.methods.waves.adjoint import HALF_STEPS
from craton.methods.waves.ranks import steps_of_rank
from craton.text import megabytes


class GridExperiment(Experiment):
    """A linearised scenario of finite differences on a machine; see `Experiment`.

    Parameters
    ----------
    storage : Storage
        Of what is stored.
    partition : tuple of Subdomain
        Of all ranks; empty on one.
    """

    def __init__(self, linear, machine, every, storage, partition=(), comm=None, everywhere=True):
        self.storage, self.partition = storage, partition
        super().__init__(linear, machine, every, comm, everywhere)

    @abstractmethod
    def program_bytes(self):
        """Bytes of the arrays of the forward and the transposed steps, without what is stored."""

    def lines(self):
        """See `Experiment.lines`."""
        held, points, d = self.program_bytes(), math.prod(self.linear.d.shape), self.linear.d
        numbers = held / points / np.dtype(d.precision).itemsize
        text = (
            f"{megabytes(held)}, {held / points:.1f} bytes per grid point ({numbers:.1f} {d.precision}): forward and "
            "back, without what is stored"
        )
        return [*self.storage.rows_on_grid(self.linear, self.every), ("memory of programs", text), *self.linear.held()]

    def host_bytes(self, start):
        """See `Experiment.host_bytes`."""
        machine = self.program_bytes() + self.storage.machine
        return self.storage.host + sum(v.nbytes for v in start) + machine * self.machine.shares_host_memory

    def _part_of(self, plan):
        """See `Experiment._part_of`."""
        local = plan if self.alone else steps_of_rank(plan, self.partition, self.comm.rank)[0]
        return local, self.state.fills()

    def _whole(self, values):
        """Return values of all points from those of the points of each rank: the array of the machine on one rank, else a host
        array, None on a rank that does not lead.
        """
        if self.alone:
            return values
        values = self.machine.to_host(values)
        out = np.zeros([max(part.box[n] for part in self.partition) for n in (1, 3, 5)])
        self._owned(out)[...] = values
        total = self._total(out)
        return total.astype(values.dtype) if self.leads else None

    def _owned(self, values):
        """Return the values (..., nz, ny, nx) of the points that this rank owns: a view."""
        if self.alone:
            return values
        box = self.partition[self.comm.rank].box
        return values[(..., *(slice(a, b) for a, b in zip(box[::2], box[1::2])))]

    def _shared(self, *names):
        """Return arrays of the forward program that another one takes over."""
        return {name: self.program.arrays[name] for name in names}

    # --- transposed ---------------------------------------------------------------------------

    def adjoint(self, derivative, illumination=False, by_sources=False):
        """See `Experiment.adjoint`."""
        if by_sources:
            self.state.refuse_by_sources()
        scale = float(np.abs(derivative).max(initial=0)) or 1.0
        program = self.back(illumination, by_sources)
        self._fill(program, "residual_series", derivative[::-1] / scale)
        light = self._run_back(program, illumination)
        taps = {name: scale * self._recorded(program, name)[::-1] for name in HALF_STEPS}
        sums = self._sums(program)
        if not self.leads:
            return {}
        out = {"cells": self._by_medium(sums, derivative, scale, taps, by_sources)}
        if by_sources:
            out |= {name: self.state.by_sources(name, values) for name, values in taps.items()}
        if illumination:
            light = light if isinstance(light, np.ndarray) else self.machine.to_host(light)
            out["illumination"] = light.astype(float) * (self.every / self.linear.d.dt)
        return out

    @abstractmethod
    def back(self, light=False, by_sources=False):
        """Return the transposed steps as a program at rest; `light`: with the illumination."""

    @abstractmethod
    def _run_back(self, program, illumination):
        """Run all transposed steps; return the sums of squared increments of velocities at all points, or None."""

    @abstractmethod
    def _sums(self, program):
        """Return the sums of the gradient, (nz, ny, nx) each, on the machine; of several ranks on the host."""

    def _by_medium(self, sums, derivative, scale, taps, by_sources):
        """Return dJ/d(rho, kappa, mu) from the sums and taps of a transposed run."""
        state = self.state
        extra = self.record[:, len(self.linear.channels) :]
        ratios = [
            float(derivative[:, dependence.column] @ extra[:, n]) for n, dependence in enumerate(state.of_receivers)
        ]
        for name, series, table in self._of_sources():
            first = state.units_of(name) if by_sources else 0
            ratios += [float(series[:, n] @ taps[name][:, first + n]) for n in range(len(table))]
        machine = self.machine if self.alone else CPU()
        return state.gradient(sums, ratios, machine, scale * self.every, self.storage.by_parameters)

    def _of_sources(self):
        """Return (tap, series (steps, dependences), dependences) of forces and of moments."""
        return [
            (name, self.linear.series[HALF_STEPS[name]][:, [each.column for each in table]], table)
            for name, table in self.state.of_sources.items()
            if table
        ]

    # --- perturbed ----------------------------------------------------------------------------

    def born(self, changes):
        """See `Experiment.born`."""
        state = self.state
        coefficients, ratios = state.perturbation(changes)
        program = self._perturbed()
        self._fill(program, "coefficients", self._owned(self.every * self._masked(coefficients)))
        at = len(state.of_receivers)
        for name, series, table in self._of_sources():
            self._fill(program, f"{name}_series", series * ratios[at : at + len(table)])
            at += len(table)
        self._scatter(program)
        samples = self._recorded(program)
        for n, dependence in enumerate(state.of_receivers):
            samples[:, dependence.column] += ratios[n] * self.record[:, len(self.linear.channels) + n]
        return samples

    @abstractmethod
    def _perturbed(self):
        """Return the perturbed steps as a program at rest."""

    @abstractmethod
    def _scatter(self, program):
        """Run the perturbed steps."""

    def _masked(self, coefficients):
        """Return coefficients of ``scatter``, 0 where gradients do not see the medium."""
        return coefficients


class StoredGrid(GridExperiment):
    """Increments of all steps are stored, or of a segment that is run again from a checkpoint; see `GridExperiment`."""

    def program_bytes(self):
        """See `GridExperiment.program_bytes`."""
        state, slots = self.linear.at(self.linear.cells), self.storage.slots
        forward, back = state.forward(slots, self.every), state.adjoint(slots, self.every)
        return nbytes_of(forward, ("store",)) + nbytes_of(back, ("store", "material"))

    def _forward_plan(self):
        """See `Experiment._forward_plan`."""
        return self.state.forward(self.storage.slots, self.every)

    def _history_of(self, program):
        """See `Experiment._history_of`."""
        self.spare |= {"store": program.arrays["store"]}
        return Replay(program, self.storage.slots * self.every, self.steps)

    def back(self, light=False, by_sources=False):
        """See `GridExperiment.back`; the illumination is that of what is stored."""
        slots, shared = self.storage.slots, self._shared("material", "store")
        return self._other(("back", by_sources), lambda: (self.state.adjoint(slots, self.every, by_sources), shared))

    def _run_back(self, program, illumination):
        """See `GridExperiment._run_back`."""
        light = 0.0

        def add_energy(first, last):
            nonlocal light
            light = light + self._energy((last - first - 1) // self.every + 1)

        self._backwards(program, after=add_energy if illumination else None)
        return self._whole(light) if illumination else None

    def _energy(self, slots):
        """Sum of the squared increments of velocities over the stored steps, on the machine."""
        xp, total = self.machine.xp, 0.0
        with self.machine.work():
            for slot in self.program.arrays["store"][:slots]:
                velocities = slot[: len(self.linear.d.velocity)]
                total = total + (velocities.astype(xp.float64) ** 2).sum(0)
        return total

    def _sums(self, program):
        """See `GridExperiment._sums`."""
        sums = program.arrays["sums"]
        return sums if self.alone else [self._whole(values) for values in sums]

    def _perturbed(self):
        """See `GridExperiment._perturbed`."""
        slots, shared = self.storage.slots, self._shared("material", "store")
        return self._other("born", lambda: (self.state.born(slots, self.every), shared))

    def _scatter(self, program):
        """See `GridExperiment._scatter`."""
        for n, block in enumerate(self.history.blocks):
            self.history.fetch(n)
            march(program, *block)


class ReversedGrid(GridExperiment):
    """The forward field is taken back in time: gradients in little memory; see `GridExperiment`.

    The medium of absorbing layers, that of their inner edge, is held: derivatives are those by the
    medium outside.
    """

    def _margin(self):
        """Return what is kept beside absorbing layers, and of how many steps the machine has it."""
        return self.storage.margin, self.storage.slots

    def program_bytes(self):
        """See `GridExperiment.program_bytes`; with the sums of `craton.gradient`."""
        state = self.linear.at(self.linear.cells)
        forward, back = state.forward(0, margin=self._margin()), self._back_plan(state, True, False)
        shared = {"history", "history_source", "material", "back"}
        shared |= {name for name, array in back.arrays.items() if array.kind == "boundary"}
        return nbytes_of(forward, ("history",)) + nbytes_of(back, shared)

    def _forward_plan(self):
        """See `Experiment._forward_plan`."""
        return self.state.forward(0, margin=self._margin())

    def _history_of(self, program):
        """See `Experiment._history_of`."""
        array = program.arrays["history"]
        ring = Ring(self.machine, [array], self.storage.slots, self.steps, self.spare.get("ring"))
        self.spare |= {"history": array, "ring": ring}
        return ring

    def _forwards(self):
        """See `Experiment._forwards`."""
        super()._forwards()
        self.spent = False  # True where the forward field was taken back

    # --- transposed ---------------------------------------------------------------------------

    def _back_plan(self, state, light, by_sources):
        """Return the plan of the steps back."""
        return state.backward(*self._margin(), self.every, by_sources, light, self.storage.by_parameters)

    def back(self, light=False, by_sources=False):
        """See `GridExperiment.back`; memory variables, which the forward steps left as they are, begin anew."""
        if self.spent:
            rest(self.program)
            self._forwards()

        def make():
            plan = self._back_plan(self.state, light, by_sources)
            memories = [  # of layers, which begin anew whenever forward steps or steps back are run
                name
                for name, array in plan.arrays.items()
                if array.kind == "boundary" and array.data is None and name in self.program.arrays
            ]
            shared = self._shared("material", "history", "history_source", *memories)
            return plan, shared | {"back": self.program.arrays["state"]}

        return self._other(("back", light, by_sources), make)

    def _run_back(self, program, illumination):
        """See `GridExperiment._run_back`."""
        self.spent = True
        self._backwards(program)
        if not illumination:
            return None
        last = max(int(name[4:]) for name in program.arrays if name.startswith("sum_"))
        return self._whole(program.grid(f"sum_{last}"))

    def _sums(self, program):
        """See `GridExperiment._sums`."""
        by_parameters = self.storage.by_parameters
        sums = [self._whole(program.grid(f"sum_{n}")) for n in range(self.linear.sums(by_parameters))]
        with self.machine.work():
            for n, (k0, k1, j0, j1, i0, i1) in self.linear.unsummed(by_parameters) if self.leads else ():
                sums[n][k0:k1, j0:j1, i0:i1] = 0
        return sums

    # --- perturbed ----------------------------------------------------------------------------

    def _perturbed(self):
        """See `GridExperiment._perturbed`."""
        return self._other("born", lambda: (self.state.born(1, self.every), self._shared("material")))

    def _scatter(self, program):
        """See `GridExperiment._scatter`; beside the steps of the medium."""
        shared = {"store": program.arrays["store"]} | self._shared("material")
        beside = self._other("beside", lambda: (self.state.forward(1, self.every), shared))
        for n in range(self.steps):
            march(beside, n, n + 1)
            march(program, n, n + 1)

    def _masked(self, coefficients):
        """See `GridExperiment._masked`: outside absorbing layers."""
        return coefficients * self.linear.outside_layers()


def nbytes_of(plan, without):
    """Return the bytes of the arrays of a plan but for some."""
    return sum(array.nbytes for name, array in plan.arrays.items() if name not in without)
