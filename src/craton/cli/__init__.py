"""The command line: a function for each command, whose parameters are the options, in a module with others of its subject; `app`
lists them.
"""

from craton.cli.app import main

__all__ = ["main"]
