"""Two tiers and their bars; a compiler in less of a hurry to optimise; files that need not outlive a power cut.

`make test` leaves out what is marked `long`; there a test takes at most three CPU seconds, or says why in a mark `costly(reason)`.
"""

import gc
import os
import shlex
import shutil
import subprocess
import time

import pytest

BARS = {"not long": ("make test", 360), "": ("make test-all", 1500)}  # s on two cores, by the argument of -m
MOST = 3.0  # CPU seconds of a test of the short tier, those of the processes that it starts included

# Passes of GCC's -O3 that take two fifths of the time of the suite's compilations, and no bit changes without them (test_machines.py:
# `test_flags_of_the_package_give_the_same_bits`). $CXX takes them to every process. Vectors stay: what a kernel claims of its
# arrays is tried, and without them small runs take longer than compilations gain.
LEFT_OUT = "unswitch-loops tree-partial-pre predictive-commoning gcse-after-reload split-loops split-paths ipa-cp-clone"
LEFT_OUT += " loop-unroll-and-jam loop-interchange version-loops-for-strides gcse tree-pre tree-vrp tree-ccp tree-dominator-opts"
LEFT_OUT += " thread-jumps schedule-insns2 ivopts"
# Registers are given out function by function, not loop by loop: a tenth of the time of compilations, 2 % more of the kernels'.
QUICKER = ("-fira-region=one",)


def pytest_configure(config):
    """Let kernels be compiled in less time, where $CXX is not set and the compiler is GCC.

    Nor does a test wait for a disk: what is written is read again by processes of the same machine. Thousands of files cost 10 ms
    each; processes that tests start wait as users' do.
    """
    config.pluginmanager.register(Times(), "times")
    gc.disable()  # till modules are imported: pytest_collection_finish
    os.fsync = lambda handle: None
    compiler = next(filter(None, map(shutil.which, ("c++", "g++"))), None)
    if compiler and "CXX" not in os.environ:
        told = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        if "Free Software Foundation" in told:
            os.environ["CXX"] = shlex.join([compiler, *(f"-fno-{name}" for name in LEFT_OUT.split()), *QUICKER])


@pytest.fixture(autouse=True)
def sound_hdf5(request, monkeypatch):
    """Tests write their HDF5 files themselves: no process looks through each first, 0.25 CPU s, but where that is tested."""
    if request.path.stem not in ("test_input_limits", "test_regular_files", "test_attack"):
        monkeypatch.setattr("craton.io.regular.fault", lambda *file: None)


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command line in a folder of its own, which must end with a code: standard output, standard error."""
    from craton.cli import main

    monkeypatch.chdir(tmp_path)

    def call(words, *more, code=0):
        capsys.readouterr()
        ended = main([*words.split(), *more])
        out, err = capsys.readouterr()
        assert ended == code and ("Traceback" in err) == ("--debug" in words and code != 130), err
        return out, err

    return call


def pytest_collection_finish():
    """What modules and the collection hold stays: it is not looked at each time that garbage is collected, half a second long. Nor is
    it collected as often as Python does: that took a third of the collection's time and a twentieth of the tests'.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


class Times:
    """CPU seconds of each test, and what is said of them at the end."""

    def __init__(self):
        self.begin, self.costly = time.monotonic(), []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        """Note the CPU seconds of this process and of those that have ended, and whether they are accounted for."""
        before = sum(os.times()[:4])
        yield
        known = item.get_closest_marker("long") or item.get_closest_marker("costly")
        item.user_properties.append(("cpu seconds", 0.0 if known else sum(os.times()[:4]) - before))

    def pytest_runtest_logreport(self, report):
        """Keep those that are too many."""
        seconds = dict(report.user_properties).get("cpu seconds", 0.0)
        if report.when == "call" and seconds > MOST:
            self.costly.append((seconds, report.nodeid))

    def pytest_terminal_summary(self, terminalreporter, config):
        """The bar of the tier, and tests of the short tier that take long without a reason."""
        for seconds, test in sorted(self.costly, reverse=True):
            terminalreporter.write_line(
                f"{seconds:.1f} CPU s, more than {MOST:g}: mark it long, or costly(reason): {test}"
            )
        ended = terminalreporter.stats.get("passed") and config.args_source.name != "ARGS"
        if ended and config.option.markexpr in BARS:
            name, bar = BARS[config.option.markexpr]
            terminalreporter.write_line(
                f"{name}: {time.monotonic() - self.begin:.0f} s; the bar on two cores is {bar} s"
            )
