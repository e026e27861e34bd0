"""Run, for each mutant, the tests that reach it, the short tier first: bench/results/mutants.json.

usage: python -m bench.mutants.find [--workers N] [--seconds S] [--only N ...] [--part K/N]

Needs build/mutants/reach.json of `python -m bench.mutants.cover`. A mutant is found where a test fails that passes without it, or does
not end. Each worker has a copy of the checkout; processes are ended with their group, memory is limited.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Lock

from bench.mutants.cover import FOLDER, ROOT, mutants
from craton.backends import backend
from craton.benchmark import provenance

RESULT = ROOT / "bench" / "results" / "mutants.json"
COPIED = ("src", "tests", "bench", "docs", "examples", "packaging", ".github")
MEMORY = 32 << 30  # bytes of addresses of a process
BATCH = 40  # tests that are begun together
SOUND, UNSOUND = set(), set()  # tests that pass in a copy without any mutant, and that do not


def limited():
    """A process group of its own with limited memory."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def copy_of_checkout(folder):
    """A copy of what tests look at."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder / path.name)
    return folder


def run_tests(folder, tests, seconds):
    """(status, first test that failed) of some tests in a copy: "passed", "failed", "no end" or "broken"."""
    report = folder / "failed"
    report.unlink(missing_ok=True)
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "bench.mutants.find", *tests]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "src"), *sys.path[1:]])}
    env |= {
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CRATON_FAILED": str(report),
    }
    process = subprocess.Popen(
        words, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limited
    )
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    failed = report.read_text().split("\n")[0] if report.exists() else ""
    if code is None:
        return "no end", failed or tests[0]
    return ("passed" if code == 0 else "failed", failed or (tests[0] if code else ""))


def pytest_runtest_logreport(report):
    """Note the first test that fails (`-p bench.mutants.find` in the processes of `run_tests`)."""
    if report.failed and "CRATON_FAILED" in os.environ:
        with open(os.environ["CRATON_FAILED"], "a") as file:
            file.write(report.nodeid + "\n")


def passes_alone(test, path, text, mutated, folder):
    """Whether a test passes in a copy without the mutant; one that does not is asked no more."""
    if test not in SOUND and test not in UNSOUND:
        path.write_text(text)
        (SOUND if run_tests(folder, [test], 300)[0] == "passed" else UNSOUND).add(test)
        path.write_text(mutated)
    return test in SOUND


def outcome(mutant, tests, seconds_of, folder, seconds):
    """What some tests say of a mutant: dict of found, by, tests and seconds."""
    path = folder / mutant["file"]
    text = path.read_text()
    lines = text.split("\n")
    if lines[mutant["line"] - 1] != mutant["before"]:
        raise SystemExit(f"{mutant['file']}:{mutant['line']} has changed: choose the mutants anew")
    lines[mutant["line"] - 1] = mutant["after"]
    tests = [test for test in tests if test not in UNSOUND]
    begin, said = time.monotonic(), {"found": False, "by": "", "tests": len(tests)}
    try:
        path.write_text("\n".join(lines))
        waiting = list(tests)
        while waiting and not said["found"]:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            expected = sum(seconds_of.get(test, 1.0) for test in batch)
            status, failed = run_tests(folder, batch, min(seconds, 60 + 6 * expected))
            if status != "passed" and not passes_alone(failed, path, text, "\n".join(lines), folder):
                waiting = [test for test in (*batch, *waiting) if test not in UNSOUND]
                continue
            said |= {"found": status != "passed", "by": failed, "how": status}
            if time.monotonic() - begin > seconds and waiting and not said["found"]:
                said["cut"] = len(waiting)  # tests that were not tried
                break
    finally:
        path.write_text(text)
    return said | {"seconds": round(time.monotonic() - begin, 1)}


def keep(path, rows):
    """Write what is known of the mutants; the counts."""
    short, long = ([row.get(tier, {}).get("found", False) for row in rows.values()] for tier in ("short", "long"))
    counts = {"tried": len(rows), "found by the short tier": sum(short), "found by the long tier alone": sum(long)}
    ordered = {key: rows[key] for key in sorted(rows, key=int)}
    path.write_text(json.dumps(provenance(backend("cpu")) | counts | {"mutants": ordered}, indent=1) + "\n")
    return counts


def main(words=None):
    """Try the mutants, write after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=600, help="of a mutant in a tier, at most")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of mutants")
    parser.add_argument("--part", default="0/1", help="K/N: every N-th mutant from K")
    parser.add_argument("--end", type=float, help="seconds after which no other mutant is begun")
    parser.add_argument("--tiers", nargs="+", default=["short", "long"])
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(words)
    known = json.loads((FOLDER / "reach.json").read_text())
    long = set(known["long"])
    part, parts = map(int, options.part.split("/"))
    every = mutants()
    chosen = options.only or list(range(part, len(every), parts))
    rows = json.loads(options.out.read_text())["mutants"] if options.out.exists() else {}
    begin, folders, writing = time.monotonic(), Queue(), Lock()
    with tempfile.TemporaryDirectory(prefix="mutants-") as above:
        for n in range(options.workers):
            folders.put(copy_of_checkout(Path(above) / str(n)))

        def attempt(number):
            if options.end and time.monotonic() - begin > options.end:
                return
            folder = folders.get()
            try:
                row = rows.get(str(number)) or {key: every[number][key] for key in ("file", "line", "kind")}
                tests = known["reach"].get(str(number), [])
                tiers = {"short": [t for t in tests if t not in long], "long": [t for t in tests if t in long]}
                for tier in options.tiers:
                    if tier not in row and not row.get("short", {}).get("found"):
                        row[tier] = outcome(every[number], tiers[tier], known["seconds"], folder, options.seconds)
                with writing:
                    rows[str(number)] = row
                    keep(options.out, rows)
                print(
                    number,
                    every[number]["file"],
                    every[number]["line"],
                    {t: row[t] for t in options.tiers if t in row},
                    flush=True,
                )
            finally:
                folders.put(folder)

        with ThreadPoolExecutor(options.workers) as pool:
            list(pool.map(attempt, chosen))
    print(keep(options.out, rows))


if __name__ == "__main__":
    main()
