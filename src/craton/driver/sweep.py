"""The tile loop of every sum over sources: load, run the phases, store; nothing of size sources times points is ever kept."""
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.text import interactions


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
        """A runner whose interactions count `factor` times in the reports of this one."""
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
        for phase in program.phases:
            phase.outer(0)
            phase.inner(0)
        done += tile.work
        if tile.store is not None:
            totals = machine.to_host(program.arrays[plan.total]).reshape(len(out), -1)
            out[:, tile.store] = totals[:, : np.arange(out.shape[1])[tile.store].size]
        if report:
            machine.finish()
            report(done)
    out *= plan.scale[:, None]
    return out


@contextmanager
def progress_of_sweep(total, title="gravity", quiet=False):
    """A function to be called with the number of interactions done; a bar on a terminal, else a line every tenth after two seconds."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]}"),
               TimeRemainingColumn(), TextColumn("left"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task, began = bar.add_task(title, total=total, rate=""), time.perf_counter()
        yield lambda done: bar.update(task, completed=done, rate=interactions(done, time.perf_counter() - began))


def _lines(total):
    began, shown = time.perf_counter(), [0]

    def report(done):
        spent = time.perf_counter() - began
        if spent > 2 and done * 10 // total > shown[0]:
            shown[0] = done * 10 // total
            left = spent / done * (total - done)
            print(f"{100 * done // total} % done, {interactions(done, spent)}, {left:.0f} s left", file=sys.stderr, flush=True)

    return report
