"""The command line: `commands` say what can be typed, a module per command does the work: its `command`
returns an exit code or nothing.
"""

from craton.cli.app import main

__all__ = ["main"]
