"""One run of a scenario whose wavefield is marched back from its end: spectral elements, whose law
of motion can be reversed where absorbing points have their velocities saved.
"""

import numpy as np

from craton.errors import ComputationError, ResourceError
from craton.inverse.division import ElementDivision
from craton.inverse.experiment import SHARE, march, rest
from craton.memory import array_bytes
from craton.text import megabytes

STORES = ("store", "fluid_store")


class ElementExperiment:
    """A linearised scenario on a machine, with the medium that `run` was given last: the counterpart
    of `craton.inverse.experiment.Experiment`.

    Parameters
    ----------
    linear : craton.methods.spectral_element.adjoint.linearised.Linearised
    machine : Machine
    every : int
        Every how many steps fields are correlated; 1 is exact.
    memory : float, optional
        Bytes for the velocities of absorbing points; by default 0.6 of what is free. Where those of
        all steps do not fit, they go to the memory of the host, segment by segment.
    division : ElementDivision, optional
        Of several ranks, each of which has such an object; all must call its methods. Then `memory`
        is that of a rank.
    """

    replayed = False

    def __init__(self, linear, machine, every=1, memory=None, division=None):
        linear.refuse_machine(machine)
        self.linear, self.machine, self.every = linear, machine, every
        self.division = division or ElementDivision(linear)
        self.steps = linear.d.steps
        self.memory = SHARE * machine.memory()[0] if memory is None else memory
        self.largest, self.total = self.division.kept_bytes(self.replayed)
        self.big: dict = {}
        self.forget()

    def lines(self):
        """Return what is stored, by all ranks, as (label, text) rows."""
        slots = self._slots()
        return [
            ("storage", "velocities of absorbing points; the field is marched back"),
            ("on the machine", megabytes(self.total[0] * slots)),
            ("in the host's memory", megabytes(self._waiting_bytes(slots))),
        ]

    def host_bytes(self, start):
        """See `Experiment.host_bytes`; with mesh and medium."""
        state, slots = self.linear.at(self.linear.cells), self._slots()
        held = array_bytes(self.linear, state, start) + self._waiting_bytes(slots)
        held += 2 * self.division.held  # with the medium of the start, and with that of a run
        if not self.machine.shares_host_memory:
            return held
        forward = self._plan_forward(state, slots).arrays
        back = self._plan_back(state, slots, light=True, by_sources=False).arrays
        programs = [a for n, a in back.items() if not _taken_over(n, a, forward)]
        return held + sum(a.nbytes for a in (*forward.values(), *programs))

    def _waiting_bytes(self, slots):
        """Bytes of what is stored beyond the machine, by all ranks."""
        return self.total[0] * self.steps if slots < self.steps else 0

    @property
    def samples(self):
        """What the last run recorded, (steps, channels)."""
        return self.record

    def forget(self):
        """Forget the last run."""
        self.state = self.local = self.program = self.record = None
        self.others, self.saved = {}, []

    # --- forward ------------------------------------------------------------------------------

    def run(self, cells, store=True):
        """Run a medium; return the samples, (steps, channels).

        Parameters
        ----------
        cells : (rho, kappa, mu)
            (ne, n^3) each.
        store : bool
            Save what `adjoint` needs.

        Raises
        ------
        ComputationError
            The wavefield diverged.
        """
        return self.run_state(self.linear.at(cells), store)

    def run_state(self, state, store=True):
        """Run a medium by its `State`; see `run`."""
        self.forget()
        self.slots = self._slots() if store else 0
        local = self.division.steps(state)
        program = self.division.commit(self.machine, self._plan_forward(local, self.slots))
        for first, last in self.segments:
            if store:
                self._begin(program, first)
            march(program, first, last)
            if store:
                self._end(program, last)
        self.state, self.local, self.program = state, local, program if store else None
        self.record = self._recorded(program)
        if not np.isfinite(self.record).all():
            raise ComputationError("the wavefield diverged: use a shorter time.step")
        return self.samples

    def _recorded(self, program):
        """Return the record of all channels, (steps, channels)."""
        return self.division.record(program, "record", self.steps)

    def _plan_forward(self, steps, slots):
        """Return the plan of the forward steps of a `Steps`."""
        return steps.forward(slots)

    def _begin(self, program, first):
        """Prepare for the forward steps of a segment."""

    def _end(self, program, last):
        """Keep what the forward steps of a segment saved, but for the last segment."""
        if last < self.steps:
            self.saved.append(self._stores(program))

    def _slots(self):
        """Return how many steps the machine's memory holds the velocities of absorbing points of.

        Raises
        ------
        ResourceError
            Not even those of one step fit.
        """
        step_bytes = self.largest[0]
        slots = self.steps if not step_bytes else min(self.steps, int(self.memory // step_bytes))
        if slots < 1:
            raise ResourceError(
                f"the gradient needs {step_bytes / 2**20:.4g} MiB for the absorbing points of a step, "
                f"{self.memory / 2**20:.4g} MiB are at hand: use more memory"
            )
        return slots

    @property
    def segments(self):
        """(first, last + 1) step of each segment, whose velocities the machine holds at a time."""
        length = self.slots or self.steps
        return [(n, min(n + length, self.steps)) for n in range(0, self.steps, length)]

    def _stores(self, program):
        """Return copies of saved velocities on the host."""
        return {name: self.machine.to_host(program.arrays[name]) for name in STORES if name in program.arrays}

    # --- back ---------------------------------------------------------------------------------

    def adjoint(self, derivative, illumination=False, by_sources=False):
        """Return what the misfit changes by, by nodes and by sources, from its derivative by the
        samples of `run`; see `Experiment.adjoint`.

        Parameters
        ----------
        derivative : (steps, channels) array
        illumination : bool
        by_sources : bool

        Returns
        -------
        dict
            Empty on a rank that does not lead.
        """
        program = self._reversal(light=illumination, by_sources=by_sources)
        series = self.linear.residual_series(derivative, self.state.orders)
        scale = self._scale(series)
        self._fill_residual(program, scale * series)
        self._end_state(program)
        march(program, 0, 1)
        for n, (first, last) in reversed(list(enumerate(self.segments))):
            self._load(program, n)
            march(program, self.steps - last + 1, self.steps - first + 1)
        return self._collected(program, derivative, scale, illumination, by_sources)

    def _fill_residual(self, program, series):
        """Fill what the channels of this rank inject; without any there is no such array."""
        if "residual_series" in program.arrays:
            values = series[:, self.local.recorded].astype(program.plan.precision)
            self.machine.fill(program.arrays["residual_series"], values)

    def _reversal(self, **options):
        """Return the steps back as a program at rest; its mesh, medium and saved velocities are
        those of the forward one.
        """
        key = tuple(options.values())
        if key not in self.others:
            plan, forward = self._plan_back(self.local, self.slots, **options), self.program
            shared = {
                name: forward.arrays[name]
                for name, array in plan.arrays.items()
                if _taken_over(name, array, forward.plan.arrays)
            }
            self.others[key] = self.division.commit(self.machine, plan, arrays=shared)
        else:
            rest(self.others[key])
        return self.others[key]

    def _plan_back(self, steps, slots, **options):
        """Return the plan of the steps back of a `Steps`."""
        return steps.reversal(slots, self.every, **options)

    def _scale(self, series):
        """Return a factor of residuals such that the transposed field is near 1, which float32
        holds: the law of motion has the masses of points.
        """
        d, largest = self.linear.d, float(np.abs(series).max(initial=0.0)) or 1.0
        mass = d.statistics.mass[0] if d.state.solid else d.statistics.mass[1]
        return float(np.median(mass)) / (d.dt**2 * largest)

    def _end_state(self, program):
        """Begin with the last state of the forward run."""
        d, forward = self.local.d, self.program.arrays
        with self.machine.work():
            for name, (into, components) in self.linear.ends.items():
                if name in d.state.fields:
                    shape = (-1, components)
                    target = program.arrays[into]
                    target[:, :components] = forward[name].reshape(shape)

    def _load(self, program, n):
        """Make the stores hold a segment; the machine still has the last one after `run`."""
        last = len(self.segments) - 1
        if last == 0:
            return
        if n == last == len(self.saved):
            self.saved.append(self._stores(self.program))
        for name, values in self.saved[n].items():
            self.machine.fill(program.arrays[name], values)

    def _collected(self, program, derivative, scale, illumination, by_sources):
        """Return what the sums of a reversed run say; see `adjoint`."""
        state, taps = self.state, self._taps(program, scale)
        collected = self.division.sums(program)
        light = self.division.light(program) if illumination else None
        if not self.division.leads:
            return {}
        sums = self.linear.sums(collected, -self.every / scale)
        units = len(state.units) if by_sources else 0
        of_receivers = {n: float(derivative[:, n] @ self.record[:, n]) for n in state.of_receivers}
        of_sources = {
            n: float(taps[:, units + m] @ self.linear.histories[:, n]) for m, n in enumerate(state.of_sources)
        }
        out = {"cells": state.gradient(sums, of_receivers, of_sources)}
        if by_sources:
            count = state.units_of("force")
            out["force"] = state.by_sources("force", taps[:, :count])
            out["moment"] = state.by_sources("moment", taps[:, count:units])
        if illumination:
            out["illumination"] = self.linear.illumination(light)
        return out

    def _taps(self, program, scale):
        """Return what a reversed run sampled in the places of sources, (steps, columns), first step
        first.
        """
        sampled = self.division.record(program, "taps", self.steps + 1)
        return self.linear.d.dt / scale * sampled[1:][::-1]

    # --- perturbed ----------------------------------------------------------------------------

    def born(self, changes):
        """Return by how much the samples change where the medium does, to first order.

        Parameters
        ----------
        changes : (rho, kappa, mu)
            (ne, n^3) each.
        """
        state = self.state
        perturbation = state.perturbation(changes)
        program = self.division.commit(self.machine, self.local.born(perturbation))
        march(program, 0, self.steps)
        samples = self._recorded(program)
        for n, relative in perturbation[1].items():
            samples[:, n] += relative * self.record[:, n]
        return samples


def _taken_over(name, array, forward):
    """Return True where steps back take an array of their plan from the forward program."""
    return array.kind == "store" or (array.data is not None and forward.get(name) is array)
