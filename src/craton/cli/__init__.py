"""The command line: a module per command has its function, whose parameters are the options; `app` lists them."""

from craton.cli.app import main

__all__ = ["main"]
