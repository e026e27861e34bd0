"""Progress of a run on standard error: steps, rate, time left."""
import sys
import time
from contextlib import contextmanager

from craton.text import rate


@contextmanager
def progress_bar(steps, points, title="", quiet=False, begun=0):
    """A function to be called with the number of steps done, `begun` of them before.

    On a terminal a bar; elsewhere one line every tenth of the run.
    """
    if quiet:
        yield None
    elif sys.stderr.isatty():
        yield from _bar(steps, points, title, begun)
    else:
        yield _lines(steps, points, begun)


def _bar(steps, points, title, begun):
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"), TextColumn("{task.fields[rate]}"),
               TimeRemainingColumn(), TextColumn("left"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task, started = bar.add_task(title or "time steps", total=steps, completed=begun, rate=""), time.perf_counter()
        yield lambda done: bar.update(task, completed=done, rate=rate((done - begun) * points, time.perf_counter() - started))


def _lines(steps, points, begun):
    started, shown = time.perf_counter(), [begun * 10 // steps]

    def report(done):
        if done * 10 // steps > shown[0] or done == steps:
            shown[0] = done * 10 // steps
            spent = time.perf_counter() - started
            left = spent / (done - begun) * (steps - done)
            print(f"step {done} of {steps}, {rate((done - begun) * points, spent)}, {left:.0f} s left", file=sys.stderr, flush=True)

    return report


@contextmanager
def task_bar(total, done, noun, quiet=False):
    """A function to be called with the name of each task that has ended, and how.

    Parameters
    ----------
    total, done : int
        Tasks that there are, and that had ended before.
    noun : str
        What they are: ``"shots"``.
    quiet : bool
        Show nothing, and give None.
    """
    if quiet:
        yield None
    elif sys.stderr.isatty():
        yield from _task_bar(total, done, noun)
    else:
        yield _task_lines(total, done, noun)


def _task_bar(total, done, noun):
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("so far,"),
               TimeRemainingColumn(), TextColumn("left"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600) as bar:
        task = bar.add_task(noun, total=total, completed=done)
        yield lambda name, state: bar.advance(task)


def _task_lines(total, done, noun):
    started, ended = time.perf_counter(), [0]

    def report(name, state):
        ended[0] += 1
        left = (time.perf_counter() - started) / ended[0] * (total - done - ended[0])
        print(f"{name} {state}: {done + ended[0]} of {total} {noun}, {left:.0f} s left", file=sys.stderr, flush=True)

    return report
