"""Progress of a run on standard error: steps, rate, time left."""
import sys
import time
from contextlib import contextmanager


@contextmanager
def progress_bar(steps, points, title="", quiet=False):
    """A function to be called with the number of steps done.

    On a terminal a bar; elsewhere one line every tenth of the run.
    """
    if quiet:
        yield None
    elif sys.stderr.isatty():
        yield from _bar(steps, points, title)
    else:
        yield _lines(steps, points)


def _bar(steps, points, title):
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"), TextColumn("{task.fields[rate]}"),
               TimeRemainingColumn(), TextColumn("left"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task, started = bar.add_task(title or "time steps", total=steps, rate=""), time.perf_counter()
        yield lambda done: bar.update(task, completed=done, rate=rate(done * points, time.perf_counter() - started))


def _lines(steps, points):
    started, shown = time.perf_counter(), [0]

    def report(done):
        if done * 10 // steps > shown[0] or done == steps:
            shown[0] = done * 10 // steps
            spent = time.perf_counter() - started
            left = spent / done * (steps - done)
            print(f"step {done} of {steps}, {rate(done * points, spent)}, {left:.0f} s left", file=sys.stderr, flush=True)

    return report


def rate(point_steps, seconds):
    """Points times steps per second, in words."""
    value = point_steps / max(seconds, 1e-9)
    return f"{value / 1e9:.2f} Gpoint-steps/s" if value >= 1e9 else f"{value / 1e6:.1f} Mpoint-steps/s"
