"""A progress bar in a notebook: one output of the cell, replaced as a run goes on."""

import html
import sys
import time

EVERY = 0.2  # s between two versions of the bar


def displayer():
    """Return IPython's `display` where a notebook's kernel runs this program, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:  # a terminal, or no shell at all
        return None
    from IPython.display import display

    return display


class NotebookBar:
    """A bar with a text.

    Parameters
    ----------
    display : callable
        IPython's.
    title : str
    total : int
        Steps, or whatever is counted.
    """

    def __init__(self, display, title, total):
        self.title, self.total, self.shown = title, max(total, 1), time.perf_counter()
        self.handle = display(self.bundle(0, ""), raw=True, display_id=True)

    def bundle(self, done, text):
        """Return the bar in the forms that a notebook may show: dict.

        Parameters
        ----------
        done : int
        text : str
            Rate and time left.
        """
        share = f"{100 * done // self.total} %"
        bar = f'<progress value="{done}" max="{self.total}" style="vertical-align: middle"></progress>'
        words = html.escape(self.title), html.escape(text)
        return {
            "text/plain": f"{self.title} {share} {text}".rstrip(),
            "text/html": f"<span>{words[0]} {bar} {share} {words[1]}</span>",
        }

    def show(self, done, text):
        """Show that `done` of the total are done, and a text; not more often than the eye can see.

        Parameters
        ----------
        done : int
        text : str
        """
        now = time.perf_counter()
        if now - self.shown >= EVERY or done >= self.total:
            self.handle.update(self.bundle(done, text), raw=True)
            self.shown = now
