"""One run of a scenario of spectral elements whose steps cannot be taken back, because absorbing layers
or attenuation remember: its field is saved step by step, all steps or segments that are run again.
"""

import math

from craton.inverse.elements import ElementExperiment
from craton.inverse.experiment import march, restore, slots_for, snapshot
from craton.text import megabytes


class ReplayedElements(ElementExperiment):
    """A linearised scenario of spectral elements on a machine; see `ElementExperiment`.

    Parameters
    ----------
    linear, machine, every, memory
        As there; `memory` holds the fields of steps, and on the host checkpoints, from which segments
        of steps are run again.
    reason : str
        Why steps are not taken back.
    """

    def __init__(self, linear, machine, every=1, memory=None, reason="asked for"):
        super().__init__(linear, machine, every, memory)
        self.reason = reason

    def lines(self):
        """See `ElementExperiment.lines`."""
        state = self.linear.at(self.linear.cells)
        self.slots = self._slots(state)
        held, count = self.slots * self._bytes(state)[0], len(self.segments)
        again = (
            "of all steps"
            if count == 1
            else f"of {count} segments, which run again from checkpoints"
        )
        waiting = count * self._bytes(state)[1] if count > 1 else 0
        return [
            ("storage", f"checkpoints: the field at all points, {again} ({self.reason})"),
            ("on the machine", megabytes(held)),
            ("in the host's memory", megabytes(waiting)),
        ]

    def forget(self):
        """See `ElementExperiment.forget`."""
        super().forget()
        self.checkpoints, self.held = [], None

    # --- forward ------------------------------------------------------------------------------

    def _bytes(self, state):
        """Bytes of what is saved of a step, and of a checkpoint."""
        plan = state.forward(1, replayed=True)
        saved = sum(a.nbytes for a in plan.arrays.values() if a.kind == "store")
        return saved, plan.state_bytes

    def _slots(self, state):
        """Return of how many steps the machine holds the field at a time.

        Raises
        ------
        ResourceError
            Not even checkpoints fit.
        """
        return slots_for(self.steps, *self._bytes(state), self.memory, 1)

    def _plan_forward(self, state, slots):
        """See `ElementExperiment._plan_forward`."""
        return state.forward(slots, replayed=True)

    def _waiting_bytes(self, state, slots):
        """See `ElementExperiment._waiting_bytes`: of checkpoints."""
        count = math.ceil(self.steps / slots)
        return count * self._bytes(state)[1] if count > 1 else 0

    def _begin(self, program, first):
        """See `ElementExperiment._begin`."""
        if len(self.segments) > 1:
            self.checkpoints.append(snapshot(program))

    def _end(self, program, last):
        """See `ElementExperiment._end`."""
        self.held = len(self.segments) - 1

    # --- back ---------------------------------------------------------------------------------

    def _plan_back(self, state, slots, **options):
        """See `ElementExperiment._plan_back`."""
        return state.transposed(slots, self.every, **options)

    def _load(self, program, n):
        """Have the steps of a segment, which is run again where the last one is another."""
        if n != self.held:
            restore(self.program, self.checkpoints[n])
            march(self.program, *self.segments[n])
            self.held = n

    def _end_state(self, program):
        """See `ElementExperiment._end_state`."""
        self._load(program, len(self.segments) - 1)
        super()._end_state(program)
