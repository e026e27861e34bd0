"""Messages of craton on the command line: the logger "craton" on standard error."""

import logging
import sys

from craton.text import printable


class ToStandardError(logging.Handler):
    """Writes ``warning: ...`` and ``note: ...`` to what standard error is at that moment."""

    def emit(self, record):
        """Write one message."""
        word = "warning" if record.levelno >= logging.WARNING else "note"
        print(f"{word}: {printable(record.getMessage())}", file=sys.stderr, flush=True)


def show():
    """Show messages of the logger "craton" from now on."""
    logger = logging.getLogger("craton")
    if not any(isinstance(handler, ToStandardError) for handler in logger.handlers):
        logger.addHandler(ToStandardError())
    logger.setLevel(logging.INFO)
