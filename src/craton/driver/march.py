"""The time loop of every time-domain solver, and what may watch it."""

from collections.abc import Sequence
from typing import Protocol

from craton.backends.base import Program
from craton.comm.pulse import Unwatched

UNWATCHED = Unwatched()  # this process alone gives no signs of life


class Observer(Protocol):
    """What the time loop asks after every step; a class that inherits from it writes only what it needs.

    Each rank asks observers of its own, which see the part of the wavefield that this rank computes
    (``program.host(name)``), and must not wait for other ranks. An error that one raises ends the run; of a `CratonError`
    on one rank, what was recorded is written.

    Examples
    --------
    >>> class Largest(craton.Observer):
    ...     values = []
    ...     def due(self, step):
    ...         return step % 10 == 0
    ...     def see(self, step, program):
    ...         self.values.append(abs(program.host("vx")).max())
    >>> largest = Largest()
    >>> result = craton.run(craton.load("two_layers.toml"), observers=[largest], progress=False)
    >>> len(largest.values) == result.plan.steps // 10
    True
    """

    def due(self, step: int) -> bool:
        """Return True where it is to see the state after `step` steps; asked after every step, so it is quick."""
        return True

    def see(self, step: int, program: Program) -> None:
        """Look at the state after `step` steps, at the time ``program.plan.start + step * program.plan.dt``."""

    def close(self) -> None:
        """End; called once when the time loop has ended, also by an error."""


def march(
    program: Program, observers: Sequence[Observer], steps: int, first: int = 0, pulse: Unwatched = UNWATCHED
) -> None:
    """Run the time steps from `first` up to `steps`; after each the observers that are due see the program, in their order.

    `pulse` gives signs of life to the other ranks of this host. An observer may raise to end the run.
    """
    asked = [(observer.due, observer.see) for observer in observers]
    for done in range(first + 1, steps + 1):
        program.step(done - 1)
        pulse.rest(done)
        for due, see in asked:
            if due(done):
                see(done, program)
        pulse.work()
