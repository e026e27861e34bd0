"""Shared by the tests of points, Green's functions and injection: runs that are told to stop at some steps, examples."""

import importlib.util
import sys

from paths import ROOT

from craton.driver.recorder import Recorder


def stopping(monkeypatch, *steps):
    """Let runs be told to stop, as by a signal: the first that comes to the first step, then one at the second, ..."""
    sample, stops = Recorder.sample, [*steps]

    def stopping_sample(self, step):
        if stops and step == stops[0] and self.comm.rank == 0:
            stops.pop(0)
            self.stopped = "SIGTERM"
        sample(self, step)

    monkeypatch.setattr(Recorder, "sample", stopping_sample)


def example(name):
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # its dataclasses look there
    spec.loader.exec_module(module)
    return module
