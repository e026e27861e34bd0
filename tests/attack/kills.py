"""Runs whose processes are killed at random: all must end, nothing may stay, and what is resumed must have every bit."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from smallcase import changed

from attack.processes import MARK, family, send
from attack.server import Server

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGSTOP")
ENDED = 60  # s within which all must have ended: 10 s of patience, graces, and the rest of a run
ENDED_SURVEY = 150  # s: Dask starts a stopped worker again after 60 s, the shots that are left run
SUSPENDED = 1  # s that a stopped command or scheduler waits before it is continued
# Dask of its own gives up a stopped worker after five minutes
SETTINGS = {"OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "60 s"}
THREAD = ("[run]\n", '[run]\nthreads = 1\ncheckpoint = "0.7 s"\npatience = "10 s"\n')
LONG = ("duration = 1.0", "duration = 3")
LINE = 'name = "S"\nshots = { from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = 6 }'
ELEMENTS = (
    ('method = "fd"', 'method = "sem"'),
    ("spacing = 100", "element_size = 300"),
    ("cpml = { thickness = 5 }\n", ""),
    ('others = "cpml"', 'others = "stacey"'),
)
SURVEY = changed(LONG, THREAD, ("at = [1500, 1500, -1000]", LINE))
WAVES = changed(LONG, THREAD)
SPECTRAL = changed(LONG, THREAD, *ELEMENTS)
GRAVITY = """\
title = "Small"
method = "gravity"
[gravity]
fields = ["g_z", "g_ez"]
method = "direct"
[prisms]
kind = "grid"
origin = [0, 0, -400]
size = [1000, 1000, 400]
shape = [30, 30, 10]
density = 300
[points]
kind = "grid"
x = [0, 1000, 70]
y = [0, 1000, 70]
z = 10
[run]
device = "cpu"
threads = 1
patience = "10 s"
"""


@dataclass(frozen=True)
class Case:
    """A scenario and how it is run.

    Parameters
    ----------
    text : str
    ranks : int
    kind : str
        run, survey, or cluster: a survey on a Dask scheduler with two workers.
    """

    text: str
    ranks: int = 1
    kind: str = "run"

    @property
    def words(self):
        """Command line."""
        if self.kind == "survey":
            return ["survey", "small.toml", "-o", "out", "--workers", "2", "-q"]
        if self.kind == "cluster":
            return ["survey", "small.toml", "-o", "out", "--scheduler", "scheduler.json", "-q"]
        return ["run", "small.toml", "-o", "out", "-q", *self.parallel]

    @property
    def parallel(self):
        """Words for ranks."""
        ranks = ["--ranks", str(self.ranks)] if self.ranks > 1 else []
        return [*ranks, *(["--oversubscribe"] if self.ranks > 2 else [])]

    def goes_on(self, out):
        """Command line that goes on with what is left."""
        if self.kind != "run":
            return ["survey", "small.toml", "-o", "out", "--workers", "1", "-q"]
        if any(out.glob("checkpoints/step_*")):
            return ["resume", "out", "-q", *(["--oversubscribe"] if self.ranks > 2 else [])]
        return ["run", "small.toml", "-o", "out", "-q", *self.parallel]

    @property
    def limit(self):
        """Seconds within which all must have ended."""
        return ENDED if self.kind == "run" else ENDED_SURVEY


CASES = {
    "fd": Case(WAVES),
    "fd, 2 ranks": Case(WAVES, 2),
    "fd, 3 ranks": Case(WAVES, 3),
    "fd, 4 ranks": Case(WAVES, 4),
    "sem": Case(SPECTRAL),
    "sem, 2 ranks": Case(SPECTRAL, 2),
    "sem, 3 ranks": Case(SPECTRAL, 3),
    "gravity": Case(GRAVITY),
    "gravity, 2 ranks": Case(GRAVITY, 2),
    "gravity, 4 ranks": Case(GRAVITY, 4),
    "survey": Case(SURVEY, kind="survey"),
    "survey on a scheduler": Case(SURVEY, kind="cluster"),
}


class Attempt:
    """One case in a folder; all its processes bear marks.

    Parameters
    ----------
    case : Case
    folder : Path
    mark : str
    """

    def __init__(self, case, folder, mark):
        self.case, self.folder, self.out, self.mark = case, folder, folder / "out", mark
        self.cluster_mark, self.cluster = f"{mark}-cluster", []
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "small.toml").write_text(case.text)

    def __enter__(self):
        if self.case.kind == "cluster":
            self.start_cluster()
        began = time.monotonic()
        self.command = self.started([sys.executable, "-P", "-m", "craton", *self.case.words])
        wait_until(lambda: self.command.poll() is not None or self.has_begun(), 60)
        self.wait = time.monotonic() - began
        return self

    def __exit__(self, *error):
        for mark in (self.mark, self.cluster_mark):
            for process in family(mark):
                send(process, signal.SIGKILL)
        for child in (self.command, *self.cluster):
            child.wait(30)

    def started(self, words, mark=None):
        """Start a process."""
        environment = os.environ | {MARK: mark or self.mark} | SETTINGS
        with open(self.folder / "said.txt", "a") as said:
            return subprocess.Popen(
                words,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def start_cluster(self):
        """Start a scheduler and two workers, as a user does."""
        dask = [sys.executable, "-P", "-m", "dask"]
        place = ["--scheduler-file", "scheduler.json"]
        alone = ["--no-dashboard", "--host", "127.0.0.1"]
        words = [*dask, "scheduler", *place, *alone, "--port", "0"]
        self.cluster = [self.started(words, self.cluster_mark)]
        wait_until((self.folder / "scheduler.json").exists, 60)
        words = [*dask, "worker", *place, *alone, "--no-nanny", "--nthreads", "1"]
        self.cluster += [self.started(words, self.cluster_mark) for _ in range(2)]

    def has_begun(self):
        """Whether the run computes."""
        if self.case.kind != "run":
            return any(self.out.glob("shots/*.log"))
        return (self.out / "run.json").exists()

    def processes(self):
        """Living processes by what they are: name -> list of Process."""
        kinds = {}
        for process in (*family(self.mark), *family(self.cluster_mark)):
            kinds.setdefault(self.kind_of(process), []).append(process)
        kinds.pop("tracker", None)  # of multiprocessing: it only removes shared memory
        return kinds

    def kind_of(self, process):
        """What a process is."""
        if process.pid == self.command.pid:
            return "parent"
        for kind, word in (
            ("proxy", "hydra_pmi_proxy"),
            ("mpiexec", "mpiexec"),
            ("scheduler", "dask scheduler"),
            ("tracker", "resource_tracker"),
            ("rank", "mpi4py"),
        ):
            if word in process.line:
                return kind
        return "worker"

    def kill(self, random, duration):
        """Send one signal to one process at a random moment: kind and signal, or None where all had ended."""
        time.sleep(random.uniform(0, 0.9 * duration))
        kinds = self.processes()
        if self.command.poll() is not None or "parent" not in kinds:
            return None
        kind = random.choice(sorted(kinds))
        process, name = random.choice(kinds[kind]), random.choice(SIGNALS)
        if not send(process, getattr(signal, name)):
            return None
        if name == "SIGSTOP" and kind in ("parent", "scheduler"):
            # what was suspended goes on where it was; all others are noticed and ended
            time.sleep(SUSPENDED)
            send(process, signal.SIGCONT)
        return kind, name

    def failures(self, kind):
        """What has not ended in time, after a process of a kind was signalled."""
        began = time.monotonic()
        wait_until(lambda: self.command.poll() is not None and not family(self.mark), self.case.limit)
        left = family(self.mark)
        self.seconds = time.monotonic() - began
        wrong = [f"{len(left)} processes left after {self.case.limit} s"] if left else []
        # a cluster is its user's: it stays, unless its scheduler is gone
        if kind == "scheduler" and self.cluster[0].poll() is not None:
            wait_until(lambda: not family(self.cluster_mark), ENDED)
            wrong += ["workers outlive their scheduler"] if family(self.cluster_mark) else []
        return wrong


def wait_until(condition, seconds):
    """Wait for a condition, so many seconds at most."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.03)


def result(folder):
    """Values of a folder's result, by name."""
    import xarray as xr

    with xr.open_zarr(folder / "out" / "result.zarr", chunks=None) as store:
        return {name: values.values for name, values in store.data_vars.items()}


def unreadable(folder):
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


def gone_on(attempt, server):
    """Check what is left and go on with it until it is finished: failures."""
    if not (attempt.out / "run.json").exists():
        return []
    answer = server.ask(["check", "out"], attempt.folder)
    if answer.code:
        return [f"craton check: exit code {answer.code}: {(answer.text + answer.error)[-200:]}"]
    if json.loads((attempt.out / "run.json").read_text()).get("state") == "finished":
        return []
    answer = server.ask(attempt.case.goes_on(attempt.out), attempt.folder)
    return [f"went on: exit code {answer.code}: {answer.error[-200:]}"] if answer.code else []


def different(values, reference):
    """Failures of a result that should have the bits of another one."""
    same = values.keys() == reference.keys() and all(
        np.array_equal(values[name], reference[name], equal_nan=True) for name in values
    )
    return [] if same else ["the result has other bits"]


def reference_of(case, folder, mark):
    """Result of a run that nobody disturbs, and its duration from the first sign on, s."""
    with Attempt(case, folder, mark) as attempt:
        began = time.monotonic()
        code = attempt.command.wait(300)
        assert code == 0, (folder / "said.txt").read_text()
        return result(folder), time.monotonic() - began


def attack(seconds, most, seed, only="", note=lambda counts: None):
    """Kill for some seconds: counts of victims and of failures.

    Parameters
    ----------
    seconds : float
    most : int
        Kills.
    seed : int
    only : str
        Cases in whose names this regular expression is found.
    note : callable
        Is given the counts after each kill.
    """
    end, number, counts = time.monotonic() + seconds, 0, Counts(seed)
    names = [name for name in sorted(CASES) if re.search(only, name)]
    with TemporaryDirectory(prefix="kills") as place, Server() as server:
        folder, references = Path(place) / "one", {}
        while counts.tried < most and time.monotonic() < end:
            random, mark = Random(f"{seed} {number}"), f"{os.getpid()}-{seed}-{number}"
            name = random.choices(names, [1 / CASES[name].ranks for name in names])[0]
            if name not in references:
                references[name] = reference_of(CASES[name], folder, f"{mark}-reference")
            victim, seconds_to_end, wrong = attempt(CASES[name], folder, mark, random, references[name], server)
            if victim:
                counts.add(name, victim, seconds_to_end, wrong)
                note(counts.table)
            for failure in wrong:
                report(folder, f"{name}: {victim}: {failure}: seed {seed} number {number}")
            number += 1
    return counts.table


def attempt(case, folder, mark, random, reference, server):
    """Kill once and go on with what is left: the signal and its victim, seconds until all had ended, failures."""
    values, duration = reference
    with Attempt(case, folder, mark) as running:
        victim = running.kill(random, duration)
        if victim is None:
            return None, 0.0, []
        wrong = running.failures(victim[0])
    wrong = [*wrong, *unreadable(folder)] or gone_on(running, server)
    if not wrong and (running.out / "run.json").exists():
        wrong = different(result(folder), values)
    return " to ".join(victim[::-1]), running.seconds, wrong


class Counts:
    """What was killed, and what came of it.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed):
        self.seed, self.tried, self.slowest, self.load = seed, 0, {}, 0.0
        self.cases, self.victims, self.failures = Counter(), Counter(), Counter()

    def add(self, name, victim, seconds, wrong):
        """Count a kill."""
        self.tried += 1
        self.load = max(self.load, round(os.getloadavg()[0], 1))
        self.cases[name] += 1
        self.victims[victim] += 1
        self.slowest[victim] = max(round(seconds, 1), self.slowest.get(victim, 0))
        self.failures.update(f"{name}: {victim}: {failure}" for failure in wrong)

    @property
    def table(self):
        """Counts as JSON has them."""
        counts = {name: dict(sorted(getattr(self, name).items())) for name in ("cases", "victims")}
        return {
            "kind": "kills",
            "seed": self.seed,
            "tried": self.tried,
            **counts,
            "largest load": self.load,
            "slowest end, s": dict(sorted(self.slowest.items())),
            "failures": dict(self.failures),
        }


def report(folder, words):
    """Print a failure with the last words of the processes."""
    said = (folder / "said.txt").read_text().strip().splitlines()[-2:]
    print(f"{words}: {' / '.join(said)[:300]}", flush=True)
