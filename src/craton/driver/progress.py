"""Progress of a run or a survey: a bar in a notebook or on a terminal, elsewhere lines on standard error."""

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from craton.backends.base import Program
from craton.driver.march import Observer
from craton.text import duration, interactions, rate

PATIENCE = 2.0  # s: sums that take less show no lines
EVERY = 0.2  # s between two versions of a bar in a notebook
Report = AbstractContextManager[Callable[[int], None] | None]


def progress_bar(steps: int, points: int, title: str = "", quiet: bool = False, begun: int = 0) -> Report:
    """Open a function that takes the number of steps done, `begun` of them before; None where it is to be quiet.

    Without a bar it prints a line every tenth of the run.
    """
    if quiet:
        return nullcontext()
    return _progress(steps, title or "time steps", lambda done, seconds: rate(done * points, seconds), "steps", begun)


def progress_of_sweep(pairs: int, title: str = "gravity", quiet: bool = False) -> Report:
    """Open a function that takes the number of interactions done; without a bar it prints a line every tenth, after two
    seconds.
    """
    return nullcontext() if quiet else _progress(pairs, title, interactions, "", 0)


@contextmanager
def _progress(total: int, title: str, words: Callable, unit: str, begun: int) -> Iterator[Callable[[int], None]]:
    """Open a function that shows how much is done: `words(done, seconds)` is the rate; without a unit, parts of the total
    are shown.
    """
    started, shown = time.perf_counter(), begun * 10 // total
    with _bar(title, total, begun, unit) as show:

        def report(done):
            nonlocal shown
            seconds, tenth = time.perf_counter() - started, done * 10 // total
            left = seconds / max(done - begun, 1) * (total - done)
            text = f"{words(done - begun, seconds)}, {duration(left)} left"
            if show:
                show(done, text)
            elif tenth > shown and (unit or seconds > PATIENCE):
                shown = tenth
                part = f"step {done} of {total}" if unit else f"{100 * done // total} % done"
                print(f"{part}, {text}", file=sys.stderr, flush=True)

        yield report


class Progress(Observer):
    """Shows the steps done whenever the guard has looked: the machine has caught up then."""

    def __init__(self, report: Callable[[int], None], guard: Any):
        self.report, self.guard = report, guard

    def due(self, step: int) -> bool:
        """Return True where the guard has just looked."""
        return self.guard.looked == step

    def see(self, step: int, program: Program) -> None:
        """Show the number of steps."""
        self.report(step)


@contextmanager
def task_bar(total: int, before: int, noun: str, quiet: bool = False) -> Iterator[Callable[[str, str], None] | None]:
    """Open a function that takes the name of each task that has ended, and how; `before` of the `total` had ended before.
    None where it is to be quiet.
    """
    if quiet:
        yield None
        return
    started, done = time.perf_counter(), before
    with _bar(noun, total, before, noun) as show:

        def report(name, state):
            nonlocal done
            done += 1
            if show:
                return show(done, f"{done} of {total} {noun}, {name} {state}")
            left = (time.perf_counter() - started) / (done - before) * (total - done)
            line = f"{name} {state}: {done} of {total} {noun}, {duration(left)} left"
            return print(line, file=sys.stderr, flush=True)

        yield report


@contextmanager
def _bar(title: str, total: int, done: int, unit: str) -> Iterator[Callable[[int, str], None] | None]:
    """Open a function that shows a bar with a text, in a notebook or on a terminal; None elsewhere."""
    if display := displayer():
        yield NotebookBar(display, title, total).show
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn

        counted = (MofNCompleteColumn(), TextColumn(unit)) if unit else (TaskProgressColumn(),)
        columns = (TextColumn("{task.description}"), BarColumn(), *counted, TextColumn("{task.fields[text]}"))
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(title, total=total, completed=done, text="")
            yield lambda done, text: bar.update(task, completed=done, text=text)
    else:
        yield None


def displayer() -> Callable | None:
    """Return IPython's `display` where a notebook's kernel runs this program, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:  # a terminal, or no shell at all
        return None
    from IPython.display import display

    return display


class NotebookBar:
    """A bar with a text, one output of a cell that is replaced; `display` is IPython's."""

    def __init__(self, display: Callable, title: str, total: int):
        self.title, self.total, self.shown = title, max(total, 1), time.perf_counter()
        self.handle = display(self.bundle(0, ""), raw=True, display_id=True)

    def bundle(self, done: int, text: str) -> dict[str, str]:
        """Return the bar in the forms that a notebook may show."""
        share = f"{100 * done // self.total} %"
        bar = f'<progress value="{done}" max="{self.total}" style="vertical-align: middle"></progress>'
        words = html.escape(self.title), html.escape(text)
        return {
            "text/plain": f"{self.title} {share} {text}".rstrip(),
            "text/html": f"<span>{words[0]} {bar} {share} {words[1]}</span>",
        }

    def show(self, done: int, text: str) -> None:
        """Show that `done` of the total are done, and a text; not more often than the eye can see."""
        now = time.perf_counter()
        if now - self.shown >= EVERY or done >= self.total:
            self.handle.update(self.bundle(done, text), raw=True)
            self.shown = now
