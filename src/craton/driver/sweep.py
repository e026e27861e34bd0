"""The tile loop of every sum over sources: load, run the phases, store; nothing of size sources
times points is ever kept.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Runner:
    """What a method needs to run plans: a machine and where to report progress.

    Parameters
    ----------
    machine : backend
    report : callable, optional
        Called with the interactions done so far in this solve.
    """

    machine: Any
    report: Any = None
    done: int = 0

    def sweep(self, plan):
        """Run a SweepPlan; (fields, points)."""
        before, report = self.done, self.report
        out = sweep(self.machine.commit(plan), report and (lambda done: report(before + done)))
        self.done += plan.work
        return out

    def scaled(self, factor):
        """Return a runner whose interactions count `factor` times in the reports of this one."""
        before, report = self.done, self.report
        return Runner(self.machine, report and (lambda done: report(int(before + done * factor))))


def sweep(program, report=None):
    """Run all tiles of a plan on its machine.

    Parameters
    ----------
    program : Program
        A SweepPlan on a machine.
    report : callable, optional
        Called with the number of interactions done after every tile.

    Returns
    -------
    ndarray
        (fields, points), float64.
    """
    plan, machine = program.plan, program.backend
    out, done = np.empty(plan.count), 0
    for tile in plan.tiles:
        for name, values in tile.load().items():
            machine.fill(program.arrays[name], values)
        program.step(0)
        done += tile.work
        if tile.store is not None:
            totals = machine.to_host(program.arrays[plan.total]).reshape(len(out), -1)
            out[:, tile.store] = totals[:, : np.arange(out.shape[1])[tile.store].size]
        if report:
            machine.finish()
            report(done)
    out *= plan.scale[:, None]
    return out
