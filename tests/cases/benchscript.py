"""Modules of bench/ and docs/, imported as they are from the repository's root and from their folder."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load(name, folder=None):
    """`bench.NAME` as a module, such as "kill_ranks" or "cases.every"; with a folder the module NAME in it."""
    place = str(folder or ROOT)
    sys.path.insert(0, place)
    try:
        return importlib.import_module(name if folder else f"bench.{name}")
    finally:
        sys.path.remove(place)
