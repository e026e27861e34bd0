"""One run of a scenario whose wavefield is marched back from its end: spectral elements, whose law
of motion can be reversed where absorbing points have their velocities saved.
"""

import numpy as np

from craton.errors import ComputationError, ResourceError
from craton.inverse.division import on_one_rank
from craton.inverse.experiment import SHARE, march, rest
from craton.memory import array_bytes
from craton.text import megabytes

STORES = ("store", "fluid_store")


class ElementExperiment:
    """A linearised scenario on a machine, with the medium that `run` was given last: the counterpart
    of `craton.inverse.experiment.Experiment`.

    Parameters
    ----------
    linear : craton.methods.spectral_element.linearised.Linearised
    machine : Machine
    every : int
        Every how many steps fields are correlated; 1 is exact.
    memory : float, optional
        Bytes for the velocities of absorbing points; by default 0.6 of what is free. Where those of
        all steps do not fit, they go to the memory of the host, segment by segment.
    """

    def __init__(self, linear, machine, every=1, memory=None):
        linear.refuse_machine(machine)
        self.linear, self.machine, self.every = linear, machine, every
        self.steps = linear.d.steps
        self.memory = SHARE * machine.memory()[0] if memory is None else memory
        self.big: dict = {}
        self.forget()

    def lines(self):
        """Return what is stored, as (label, text) rows."""
        state = self.linear.at(self.linear.cells)
        slots, of_step = self._slots(state), self._step_bytes(state)
        return [
            ("storage", "velocities of absorbing points; the field is marched back"),
            ("on the machine", megabytes(of_step * slots)),
            ("in the host's memory", megabytes(self._waiting_bytes(state, slots))),
        ]

    def host_bytes(self, start):
        """See `Experiment.host_bytes`; with mesh and medium."""
        state = self.linear.at(self.linear.cells)
        slots = self._slots(state)
        held = array_bytes(self.linear, state, start) + self._waiting_bytes(state, slots)
        if not self.machine.shares_host_memory:
            return held
        forward = self._plan_forward(state, slots).arrays
        back = self._plan_back(state, slots, light=True, by_sources=False).arrays
        programs = [a for n, a in back.items() if not _taken_over(n, a, forward)]
        return held + sum(a.nbytes for a in (*forward.values(), *programs))

    def _waiting_bytes(self, state, slots):
        """Bytes of what is stored beyond the machine."""
        return self._step_bytes(state) * self.steps if slots < self.steps else 0

    def _step_bytes(self, state):
        """Bytes of the velocities of absorbing points of a step."""
        return sum(a.nbytes for n, a in state.forward(1).arrays.items() if n in STORES)

    @property
    def samples(self):
        """What the last run recorded, (steps, channels)."""
        return self.record

    def forget(self):
        """Forget the last run."""
        self.state = self.program = self.record = None
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
        self.forget()
        state = self.linear.at(cells)
        self.slots = self._slots(state) if store else 0
        program = self._forward(state)
        for first, last in self.segments:
            if store:
                self._begin(program, first)
            march(program, first, last)
            if store:
                self._end(program, last)
        self.state, self.program = state, program if store else None
        self.record = program.host("record").astype(float)
        if not np.isfinite(self.record).all():
            raise ComputationError("the wavefield diverged: use a shorter time.step")
        return self.samples

    def _forward(self, state):
        """Return the forward steps as a program."""
        return on_one_rank(self.machine.commit(self._plan_forward(state, self.slots)))

    def _plan_forward(self, state, slots):
        """Return the plan of the forward steps."""
        return state.forward(slots)

    def _begin(self, program, first):
        """Prepare for the forward steps of a segment."""

    def _end(self, program, last):
        """Keep what the forward steps of a segment saved, but for the last segment."""
        if last < self.steps:
            self.saved.append(self._stores(program))

    def _slots(self, state):
        """Return how many steps the machine's memory holds the velocities of absorbing points of.

        Raises
        ------
        ResourceError
            Not even those of one step fit.
        """
        step_bytes = self._step_bytes(state)
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
        return {
            name: self.machine.to_host(program.arrays[name])
            for name in STORES
            if name in program.arrays
        }

    # --- back ---------------------------------------------------------------------------------

    def adjoint(self, derivative, illumination=False, by_sources=False):
        """Return what the misfit changes by, by nodes and by sources, from its derivative by the
        samples of `run`; see `Experiment.adjoint`.

        Parameters
        ----------
        derivative : (steps, channels) array
        illumination : bool
        by_sources : bool
        """
        state, d = self.state, self.linear.d
        program = self._reversal(light=illumination, by_sources=by_sources)
        series = self.linear.residual_series(derivative, state.orders)
        scale = self._scale(series)
        self.machine.fill(program.arrays["residual_series"], (scale * series).astype(d.precision))
        self._end_state(program)
        march(program, 0, 1)
        for n, (first, last) in reversed(list(enumerate(self.segments))):
            self._load(program, n)
            march(program, self.steps - last + 1, self.steps - first + 1)
        return self._collected(program, derivative, scale, illumination, by_sources)

    def _reversal(self, **options):
        """Return the steps back as a program at rest; its mesh, medium and saved velocities are
        those of the forward one.
        """
        key = tuple(options.values())
        if key not in self.others:
            plan, forward = self._plan_back(self.state, self.slots, **options), self.program
            shared = {
                name: forward.arrays[name]
                for name, array in plan.arrays.items()
                if _taken_over(name, array, forward.plan.arrays)
            }
            self.others[key] = on_one_rank(self.machine.commit(plan, arrays=shared))
        else:
            rest(self.others[key])
        return self.others[key]

    def _plan_back(self, state, slots, **options):
        """Return the plan of the steps back."""
        return state.reversal(slots, self.every, **options)

    def _scale(self, series):
        """Return a factor of residuals such that the transposed field is near 1, which float32
        holds: the law of motion has the masses of points.
        """
        d, largest = self.linear.d, float(np.abs(series).max(initial=0.0)) or 1.0
        mass = d.statistics.mass[0] if d.state.solid else d.statistics.mass[1]
        return float(np.median(mass)) / (d.dt**2 * largest)

    def _end_state(self, program):
        """Begin with the last state of the forward run."""
        d, forward = self.linear.d, self.program.arrays
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
        state, d = self.state, self.linear.d
        factor = -self.every / scale
        sums = self.linear.sums(program.host, program.plan.arrays, factor)
        taps = np.zeros((self.steps, 0))
        if "taps" in program.arrays:
            taps = d.dt / scale * program.host("taps").astype(float)[1:][::-1]
        units = len(state.units) if by_sources else 0
        of_receivers = {n: float(derivative[:, n] @ self.record[:, n]) for n in state.of_receivers}
        of_sources = {
            n: float(taps[:, units + m] @ self.linear.histories[:, n])
            for m, n in enumerate(state.of_sources)
        }
        out = {"cells": state.gradient(sums, of_receivers, of_sources)}
        if by_sources:
            count = state.units_of("force")
            out["force"] = state.by_sources("force", taps[:, :count])
            out["moment"] = state.by_sources("moment", taps[:, count:units])
        if illumination:
            out["illumination"] = self.linear.illumination(program.host)
        return out

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
        program = on_one_rank(self.machine.commit(state.born(perturbation)))
        march(program, 0, self.steps)
        samples = program.host("record").astype(float)
        for n, relative in perturbation[1].items():
            samples[:, n] += relative * self.record[:, n]
        return samples


def _taken_over(name, array, forward):
    """Return True where steps back take an array of their plan from the forward program."""
    return array.kind == "store" or (array.data is not None and forward.get(name) is array)
