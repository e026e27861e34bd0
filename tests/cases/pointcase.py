"""Shared by the tests of points, Green's functions and injection: examples."""

import importlib.util
import sys

from paths import ROOT


def example(name):
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # its dataclasses look there
    spec.loader.exec_module(module)
    return module
