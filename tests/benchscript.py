"""Scripts of bench/ as modules; they find each other as they do when they are run."""
import importlib
import sys
from pathlib import Path

BENCH = Path(__file__).parents[1] / "bench"


def load(name):
    """A script as a module."""
    sys.path.insert(0, str(BENCH))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCH))
