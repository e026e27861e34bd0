"""Rings of a program that are filled as the run goes: rows of incident waves, a block ahead."""


class Rings:
    """Fills the rings of a program (`craton.core.rolling`).

    Parameters
    ----------
    program : Program
    begun : int
        Steps that were done before.
    """

    def __init__(self, program, begun=0):
        self.program = program
        # a rank without places that take them has no ring
        self.series = {name: s for name, s in program.rolling.items() if name in program.arrays}
        for name, series in self.series.items():
            self._fill(name, begun - begun % series.slots)

    def fill(self, done):
        """Put the rows of the next steps in place of those that are done, where a block ends.

        Parameters
        ----------
        done : int
            Steps.
        """
        for name, series in self.series.items():
            if done % series.slots == 0 and done < self.program.plan.steps:
                self._fill(name, done)

    def _fill(self, name, first):
        series = self.series[name]
        last = min(first + series.slots, self.program.plan.steps)
        self.program.backend.fill(self.program.arrays[name], series.read(first, last))
