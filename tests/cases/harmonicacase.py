"""Harmonica and choclo as they are, interpreted: numba would compile each field for seconds, and tests have few prisms."""

import pytest


def library(name):
    """The library, or a skipped test where it is not installed.

    Parameters
    ----------
    name : str
        ``"harmonica"``, ``"choclo"`` or ``"verde"``.
    """
    numba = pytest.importorskip("numba", reason="pip install craton[dev]")
    numba.config.DISABLE_JIT = True
    return pytest.importorskip(name, reason="pip install craton[dev]")
