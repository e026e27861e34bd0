"""Progress of a run on standard error: steps, rate, time left."""

import sys
import time
from contextlib import contextmanager

from craton.driver.notebook import NotebookBar, displayer
from craton.text import interactions, rate

PATIENCE = 2.0  # s: sums that take less show no lines


@contextmanager
def progress_bar(steps, points, title="", quiet=False, begun=0):
    """Open a function to be called with the number of steps done, `begun` of them before.

    On a terminal a bar; elsewhere one line every tenth of the run.
    """
    with _progress(
        steps, title or "time steps", lambda done, seconds: rate(done * points, seconds), "steps", begun, quiet
    ) as report:
        yield report


@contextmanager
def progress_of_sweep(pairs, title="gravity", quiet=False):
    """Open a function to be called with the number of interactions done: a bar, or a line every
    tenth after two seconds.
    """
    with _progress(pairs, title, interactions, "", 0, quiet) as report:
        yield report


@contextmanager
def _progress(total, title, words, unit, begun, quiet):
    """Open a progress bar or its lines: `words(done, seconds)` is the rate; without a unit, parts
    of the total are shown.
    """
    if quiet:
        yield None
    elif display := displayer():
        yield _notebook_bar(display, total, title, words, begun)
    elif sys.stderr.isatty():
        yield from _bar(total, title, words, unit, begun)
    else:
        yield _lines(total, words, unit, begun)


def _bar(total, title, words, unit, begun):
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    done_columns = (MofNCompleteColumn(), TextColumn(unit)) if unit else (TaskProgressColumn(),)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        *done_columns,
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task, started = (bar.add_task(title, total=total, completed=begun, rate=""), time.perf_counter())
        yield lambda done: bar.update(task, completed=done, rate=words(done - begun, time.perf_counter() - started))


def _notebook_bar(display, total, title, words, begun):
    bar, started = NotebookBar(display, title, total), time.perf_counter()

    def report(done):
        seconds = time.perf_counter() - started
        left = seconds / max(done - begun, 1) * (total - done)
        bar.show(done, f"{words(done - begun, seconds)}, {left:.0f} s left")

    return report


def _notebook_tasks(display, total, done, noun):
    bar, ended = NotebookBar(display, noun, total), [done]

    def report(name, state):
        ended[0] += 1
        bar.show(ended[0], f"{ended[0]} of {total} {noun}, {name} {state}")

    return report


def _lines(total, words, unit, begun):
    started, shown = time.perf_counter(), [begun * 10 // total]

    def report(done):
        seconds = time.perf_counter() - started
        if done * 10 // total > shown[0] and (unit or seconds > PATIENCE):
            shown[0] = done * 10 // total
            left = seconds / (done - begun) * (total - done)
            part = f"step {done} of {total}" if unit else f"{100 * done // total} % done"
            print(f"{part}, {words(done - begun, seconds)}, {left:.0f} s left", file=sys.stderr, flush=True)

    return report


@contextmanager
def task_bar(total, done, noun, quiet=False):
    """Open a function to be called with the name of each task that has ended, and how.

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
    elif display := displayer():
        yield _notebook_tasks(display, total, done, noun)
    elif sys.stderr.isatty():
        yield from _task_bar(total, done, noun)
    else:
        yield _task_lines(total, done, noun)


def _task_bar(total, done, noun):
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
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
