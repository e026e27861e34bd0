"""Runs whose processes are killed at random: all must end, nothing may stay, and what is resumed must have every bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from smallcase import write

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGSTOP")
PATIENCE = 5  # s of run.patience: a rank that is stopped is noticed
ENDED = 60  # s within which everything must have ended
THREAD = ("[run]\n", '[run]\nthreads = 1\ncheckpoint = "0.2 s"\npatience = "5 s"\n')
LONG = ("duration = 1.0", "duration = 8")
LINE = 'name = "S"\nshots = { from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = 6 }'
ELEMENTS = (
    ('method = "fd"', 'method = "sem"'),
    ("spacing = 100", "element_size = 300"),
    ("cpml = { thickness = 5 }\n", ""),
    ('others = "cpml"', 'others = "stacey"'),
)
SURVEY = (LONG, THREAD, ("at = [1500, 1500, -1000]", LINE))
CASES = {
    "fd": (1, (LONG, THREAD)),
    "fd, 2 ranks": (2, (LONG, THREAD)),
    "fd, 4 ranks": (4, (LONG, THREAD)),
    "sem": (1, (LONG, THREAD, *ELEMENTS)),
    "sem, 2 ranks": (2, (LONG, THREAD, *ELEMENTS)),
    "survey": (1, SURVEY),
}


def words_of(name, goes_on=False):
    """Command line of a case, or of what goes on with it."""
    ranks = CASES[name][0]
    if name == "survey":
        return ["survey", "small.toml", "-o", "out", "--workers", "2", "-q"]
    if goes_on:
        return ["resume", "out", "-q", *(["--oversubscribe"] if ranks > 2 else [])]
    more = ["--ranks", str(ranks)] if ranks > 1 else []
    return [
        "run",
        "small.toml",
        "-o",
        "out",
        "-q",
        *more,
        *(["--oversubscribe"] if ranks > 2 else []),
    ]


def started(folder, words, mark):
    """Start a command line whose descendants are known by a variable of their environment."""
    environment = os.environ | {"ATTACK": mark, "OMP_NUM_THREADS": "1"}
    with open(folder / "said.txt", "a") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "craton", *words],
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=said,
        )


def alive(mark):
    """Processes of a mark: pid -> command line; those that have ended and wait for their parent are left out."""
    processes = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"ATTACK={mark}\0".encode() in (entry / "environ").read_bytes() + b"\0"
            if marked and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                processes[int(entry.name)] = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                )
        except OSError:
            continue
    return processes


def kind_of(pid, parent, line):
    """What a process is."""
    if pid == parent:
        return "parent"
    return "mpiexec" if "mpiexec" in line or "hydra" in line else "rank or worker"


def kill(folder, name, random, mark):
    """One run and one signal: description, failures."""
    running = started(folder, words_of(name), mark)
    begun = folder / "out" / "run.json"
    while not begun.exists() and running.poll() is None:
        time.sleep(0.02)
    time.sleep(random.uniform(0, 3))
    processes = alive(mark)
    if running.poll() is not None or not processes:
        return f"{name}: had ended", []
    pid, which = random.choice(sorted(processes)), random.choice(SIGNALS)
    words = f"{name}: {which} to {kind_of(pid, running.pid, processes[pid])}"
    try:
        os.kill(pid, getattr(signal, which))
    except ProcessLookupError:
        return f"{words}: had ended", []
    stopped = which == "SIGSTOP"
    if stopped and pid == running.pid and CASES[name][0] == 1:
        time.sleep(1)
        os.kill(
            pid, signal.SIGCONT
        )  # a process alone that is stopped waits; it goes on where it was
    end = time.monotonic() + ENDED
    while alive(mark) and time.monotonic() < end:
        running.poll()
        time.sleep(0.05)
    left = alive(mark)
    for orphan in left:
        os.kill(orphan, signal.SIGKILL)
    running.wait()
    return words, [f"{len(left)} processes left after {ENDED} s"] if left else []


def result(folder):
    """Waveforms of a folder, or None."""
    import xarray as xr

    with xr.open_zarr(folder / "out" / "result.zarr", chunks=None) as store:
        return store.velocity.values


def readable(folder):
    """Failures of what lies in OUT after a kill."""
    import xarray as xr

    try:
        if (folder / "out" / "run.json").exists():
            json.loads((folder / "out" / "run.json").read_text())
        if (folder / "out" / "result.zarr" / ".zmetadata").exists():
            with xr.open_zarr(folder / "out" / "result.zarr", chunks=None) as store:
                store.load()
    except Exception as error:
        return [f"OUT is not readable: {type(error).__name__}: {error}"[:200]]
    return []


def goes_on(folder, name, mark):
    """Go on with a run until it is finished: failures."""
    state = json.loads((folder / "out" / "run.json").read_text()).get("state")
    if state == "finished":
        return []
    left = name == "survey" or any((folder / "out").glob("checkpoints/*"))
    running = started(folder, words_of(name, left) + ([] if left else ["--force"]), mark)
    return [f"went on with exit code {running.returncode}"] if running.wait(200) else []


def attack(seconds, most, seed):
    """Kill for some seconds: counts of victims and of failures."""
    most, end, tried = min(most, 200), time.monotonic() + seconds, 0
    references, victims, failures = {}, Counter(), {}
    with TemporaryDirectory(prefix="kills") as place:
        while tried < most and time.monotonic() < end:
            random, mark = Random(f"{seed} {tried}"), f"{os.getpid()}-{tried}"
            name, folder = random.choice(sorted(CASES)), Path(place) / "one"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write(folder, *CASES[name][1])
            if name not in references:
                assert started(folder, words_of(name), mark).wait(300) == 0, (
                    folder / "said.txt"
                ).read_text()
                references[name] = result(folder)
                shutil.rmtree(folder / "out")
            words, wrong = kill(folder, name, random, mark)
            wrong = [*wrong, *readable(folder)] or goes_on(folder, name, mark)
            if not wrong and not np.array_equal(result(folder), references[name]):
                wrong = ["the result has other bits"]
            tried += 1
            victims[words] += 1
            for failure in wrong:
                failures[f"{words}: {failure}"] = failures.get(f"{words}: {failure}", 0) + 1
                said = (folder / "said.txt").read_text().strip().splitlines()[-2:]
                print(
                    f"{words}: {failure}: seed {seed} number {tried - 1}: {' / '.join(said)[:300]}",
                    flush=True,
                )
    return {"tried": tried, "victims": dict(victims), "failures": failures}
