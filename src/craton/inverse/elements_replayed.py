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
    linear, machine, every, memory, division
        As there; `memory` holds the fields of steps, and on the host checkpoints, from which segments
        of steps are run again.
    reason : str
        Why steps are not taken back.
    """

    replayed = True

    def __init__(self, linear, machine, every=1, memory=None, division=None, reason="asked for"):
        super().__init__(linear, machine, every, memory, division)
        self.reason = reason

    def lines(self):
        """See `ElementExperiment.lines`."""
        slots = self._slots()
        held, count = slots * self.total[0], math.ceil(self.steps / slots)
        again = "of all steps" if count == 1 else f"of {count} segments, which run again from checkpoints"
        return [
            ("storage", f"checkpoints: the field at all points, {again} ({self.reason})"),
            ("on the machine", megabytes(held)),
            ("in the host's memory", megabytes(self._waiting_bytes(slots))),
        ]

    def forget(self):
        """See `ElementExperiment.forget`."""
        super().forget()
        self.checkpoints, self.held = [], None

    # --- forward ------------------------------------------------------------------------------

    def _slots(self):
        """Return of how many steps the machine holds the field at a time.

        Raises
        ------
        ResourceError
            Not even checkpoints fit.
        """
        return slots_for(self.steps, *self.largest, self.memory, 1)

    def _plan_forward(self, steps, slots):
        """See `ElementExperiment._plan_forward`."""
        return steps.forward(slots, replayed=True)

    def _waiting_bytes(self, slots):
        """See `ElementExperiment._waiting_bytes`: of checkpoints."""
        count = math.ceil(self.steps / slots)
        return count * self.total[1] if count > 1 else 0

    def _begin(self, program, first):
        """See `ElementExperiment._begin`."""
        if len(self.segments) > 1:
            self.checkpoints.append(snapshot(program))

    def _end(self, program, last):
        """See `ElementExperiment._end`."""
        self.held = len(self.segments) - 1

    # --- back ---------------------------------------------------------------------------------

    def _plan_back(self, steps, slots, **options):
        """See `ElementExperiment._plan_back`."""
        return steps.transposed(slots, self.every, **options)

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
