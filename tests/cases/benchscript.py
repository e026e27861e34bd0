"""Modules of bench/, imported as they are from the repository's root."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load(name):
    """`bench.NAME` as a module, such as "kill_ranks" or "cases.every"."""
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module(f"bench.{name}")
    finally:
        sys.path.remove(str(ROOT))
