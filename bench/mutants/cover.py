"""Run the tests once, and keep which of them reach the line of each mutant: build/mutants/reach.json.

usage: python -m bench.mutants.cover [arguments of pytest, such as -n 2 -m "not long"]

Lines of Python by coverage.py, in the processes that tests start as well; lines of kernels by the texts that a test compiles or loads.
"""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "mutants"
MUTANTS = Path(__file__).with_name("mutants.json")
SETTINGS = """[run]
branch = False
parallel = True
data_file = {folder}/coverage
context = ${{CRATON_TEST-none}}
concurrency = thread,multiprocessing
patch = subprocess, _exit
include =
    {files}
"""
KERNELS = (".h", ".cu", ".cpp")


def mutants():
    """The mutants: list of dict."""
    return json.loads(MUTANTS.read_text())


class Watch:
    """Plugin of pytest: the context of coverage.py is the test that runs; texts that are loaded count for it."""

    def __init__(self, measured):
        self.measured, self.test = measured, ""
        self.lines = {m["before"] for m in mutants() if m["file"].endswith(KERNELS)}
        self.reached, self.known = defaultdict(set), {}
        self.seconds, self.long, self.failed = {}, [], set()

    def pytest_configure(self):
        """Look at every text of a kernel or a helper that is asked for, whether it is compiled or not."""
        from craton.core.operator import Operator
        from craton.host import compile as host

        source, library, helper = Operator.source, host.library, host.helper
        Operator.source = lambda op, *given, **named: self.note(source(op, *given, **named))
        host.library = lambda text, *given: library(self.note(text), *given)
        host.helper = lambda path: (self.note(path.read_text()), helper(path))[1]

    def note(self, text):
        """Count a text, and return it."""
        if text not in self.known:
            self.known[text] = self.lines & set(text.splitlines())
        self.reached[self.test] |= self.known[text]
        return text

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Switch the context."""
        self.test = os.environ["CRATON_TEST"] = item.nodeid
        self.measured.switch_context(item.nodeid)
        begin = time.perf_counter()
        yield
        self.seconds[item.nodeid] = time.perf_counter() - begin
        if item.get_closest_marker("long"):
            self.long.append(item.nodeid)

    def pytest_runtest_logreport(self, report):
        """Tests that fail or are skipped without a mutant find none."""
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        """Keep what was noted."""
        self.measured.stop()
        self.measured.save()
        if self.seconds:
            kept = {"seconds": {t: s for t, s in self.seconds.items() if t not in self.failed}, "long": self.long}
            kept["kernels"] = {test: sorted(lines) for test, lines in self.reached.items()}
            (FOLDER / f"kernels.{os.getpid()}.json").write_text(json.dumps(kept))


def pytest_configure(config):
    """Start coverage.py in the process that runs tests (`-p bench.mutants.cover`)."""
    import coverage

    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        measured = coverage.Coverage.current() or coverage.Coverage(config_file=os.environ["COVERAGE_RCFILE"])
        measured.start()
        watch = Watch(measured)
        config.pluginmanager.register(watch)
        watch.pytest_configure()


def reach():
    """{"reach": {number of a mutant: tests}, "seconds": {test: s}, "long": tests of the long tier} from what a run left."""
    from coverage import CoverageData

    seconds, long, by_line = {}, [], defaultdict(set)
    for path in FOLDER.glob("kernels.*.json"):
        kept = json.loads(path.read_text())
        seconds |= kept["seconds"]
        long += kept["long"]
        for test, lines in kept["kernels"].items():
            for line in lines:
                by_line[line].add(test)
    data = CoverageData(str(FOLDER / "coverage"))
    data.read()
    reached = {}
    for number, mutant in enumerate(mutants()):
        if mutant["file"].endswith(KERNELS):
            tests = by_line[mutant["before"]]
        else:
            contexts = data.contexts_by_lineno(str(ROOT / mutant["file"])).get(mutant["line"], ())
            tests = {
                context.split("|")[-1] for context in contexts
            }  # "none|TEST" in this process, "TEST" in those it starts
        reached[number] = sorted(tests & set(seconds), key=lambda test: seconds[test])
    return {"reach": reached, "seconds": seconds, "long": long}


def main(words):
    """Run pytest with this plugin, combine, write."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*"):
        path.unlink()
    files = "\n    ".join(sorted({str(ROOT / m["file"]) for m in mutants() if m["file"].endswith(".py")}))
    settings = FOLDER / "coveragerc"
    settings.write_text(SETTINGS.format(folder=FOLDER, files=files))
    env = {
        **os.environ,
        "COVERAGE_RCFILE": str(settings),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), *sys.path[1:]]),
    }
    subprocess.run([sys.executable, "-m", "pytest", "-p", "bench.mutants.cover", *words], cwd=ROOT, env=env)
    subprocess.run([sys.executable, "-m", "coverage", "combine", "-q", f"--rcfile={settings}"], cwd=ROOT, env=env)
    found = reach()
    (FOLDER / "reach.json").write_text(json.dumps(found))
    counts = sorted(len(tests) for tests in found["reach"].values())
    print(
        f"{len(found['seconds'])} tests; mutants that no test reaches: {counts.count(0)}; median of tests: {counts[len(counts) // 2]}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
