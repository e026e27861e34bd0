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
import xarray as xr
from smallcase import changed

from attack.processes import MARK, family, send
from attack.server import Server

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGSTOP")
# s within which all must have ended: 10 s of patience, graces, and the rest of a run; of a survey, where Dask starts a
# stopped worker again after 60 s, the shots that are left
ENDED, ENDED_SURVEY = 60, 150
SUSPENDED = 1  # s that a stopped command or scheduler waits before it is continued
# Dask of its own gives up a stopped worker after five minutes
SETTINGS = {"OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "60 s"}
OFTEN = '[run]\nthreads = 1\ncheckpoint = "0.7 s"\npatience = "10 s"\n'
LONG = (("duration = 1.0", "duration = 3"), ("[run]\n", OFTEN))
LINE = 'name = "S"\nshots = { from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = 6 }'
ELEMENTS = (
    ('method = "fd"', 'method = "sem"'),
    ("spacing = 100", "element_size = 300"),
    ("cpml = { thickness = 5 }\n", ""),
    ('others = "cpml"', 'others = "stacey"'),
)
GRAVITY = """\
title = "Small"
method = "gravity"
gravity = { fields = ["g_z", "g_ez"], method = "direct" }
prisms = { kind = "grid", origin = [0, 0, -400], size = [1000, 1000, 400], shape = [30, 30, 10], density = 300 }
points = { kind = "grid", x = [0, 1000, 70], y = [0, 1000, 70], z = 10 }
run = { device = "cpu", threads = 1, patience = "10 s" }
"""
SURVEY = ["survey", "small.toml", "-o", "out", "-q"]


@dataclass(frozen=True)
class Case:
    """A scenario, the words of its command line, and those that go on with what is left: on ranks, or as a survey."""

    text: str
    ranks: int = 1
    survey: tuple = ()  # or where its shots run

    @property
    def words(self):
        """Command line."""
        ranks = ["--ranks", str(self.ranks), "--oversubscribe"] if self.ranks > 1 else []
        return [*SURVEY, *self.survey] if self.survey else ["run", "small.toml", "-o", "out", "-q", *ranks]

    def goes_on(self, out):
        """Command line that goes on with what is left."""
        if self.survey:
            return [*SURVEY, "--workers", "1"]
        crowded = ["--oversubscribe"] if self.ranks > 1 else []
        return ["resume", "out", "-q", *crowded] if any(out.glob("checkpoints/step_*")) else self.words


CASES = {
    f"{name}, {ranks} ranks" if ranks > 1 else name: Case(text, ranks)
    for name, text, most in (("fd", changed(*LONG), 4), ("sem", changed(*LONG, *ELEMENTS), 3), ("gravity", GRAVITY, 4))
    for ranks in range(1, most + 1)
} | {
    f"survey on {words[0][2:]}": Case(changed(*LONG, ("at = [1500, 1500, -1000]", LINE)), survey=words)
    for words in (("--workers", "2"), ("--scheduler", "scheduler.json"))  # of Dask, with two workers
}


def wait_until(condition, seconds):
    """Wait for a condition, so many seconds at most."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.03)


class Attempt:
    """One case in a folder; all its processes bear marks, and have ended at its end.

    Parameters
    ----------
    case : Case
    folder : Path
    mark : str
    """

    def __init__(self, case, folder, mark):
        self.case, self.folder, self.out, self.mark = case, folder, folder / "out", mark
        self.cluster_mark, self.cluster, self.command = f"{mark}-cluster", [], None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "small.toml").write_text(case.text)

    def __enter__(self):
        if "--scheduler" in self.case.survey:
            self.start_cluster()
        self.command = self.started(["craton", *self.case.words], self.mark)
        sign = "shots/*.log" if self.case.survey else "run.json"
        wait_until(lambda: self.command.poll() is not None or any(self.out.glob(sign)), 60)
        return self

    def __exit__(self, *error):
        for mark in (self.mark, self.cluster_mark):
            for process in family(mark):
                send(process, signal.SIGKILL)
        for child in (self.command, *self.cluster):
            child.wait(30)

    def started(self, words, mark):
        """Start a module in a process."""
        with open(self.folder / "said.txt", "a") as said:
            options = {"cwd": self.folder, "env": os.environ | {MARK: mark} | SETTINGS, "stdin": subprocess.DEVNULL}
            options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
            return subprocess.Popen([sys.executable, "-P", "-m", *words], stdout=said, stderr=said, **options)

    def start_cluster(self):
        """Start a scheduler and two workers, as a user does."""
        place = ["--scheduler-file", "scheduler.json", "--no-dashboard", "--host", "127.0.0.1"]
        self.cluster = [self.started(["dask", "scheduler", *place, "--port", "0"], self.cluster_mark)]
        wait_until((self.folder / "scheduler.json").exists, 60)
        words = ["dask", "worker", *place, "--no-nanny", "--nthreads", "1"]
        self.cluster += [self.started(words, self.cluster_mark) for _ in range(2)]

    def processes(self):
        """Living processes by what they are: name -> list of Process."""
        words = {"proxy": "hydra_pmi_proxy", "mpiexec": "mpiexec", "scheduler": "dask scheduler", "rank": "mpi4py"}
        words["tracker"] = "resource_tracker"  # of multiprocessing: it only removes shared memory
        kinds = {}
        for process in (*family(self.mark), *family(self.cluster_mark)):
            line = " ".join(process.cmdline()) if process.is_running() else ""
            kind = next((kind for kind, word in words.items() if word in line), "worker")
            kinds.setdefault("parent" if process.pid == self.command.pid else kind, []).append(process)
        kinds.pop("tracker", None)
        return kinds

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

    def left(self, kind):
        """What has not ended in time, after a process of a kind was signalled."""
        limit = ENDED_SURVEY if self.case.survey else ENDED
        wait_until(lambda: self.command.poll() is not None and not family(self.mark), limit)
        wrong = [f"{len(family(self.mark))} processes left after {limit} s"] if family(self.mark) else []
        # a cluster is its user's: it stays, unless its scheduler is gone
        if kind == "scheduler" and self.cluster[0].poll() is not None:
            wait_until(lambda: not family(self.cluster_mark), ENDED)
            wrong += ["workers outlive their scheduler"] if family(self.cluster_mark) else []
        return wrong

    def result(self):
        """Values of the result, by name."""
        with xr.open_zarr(self.out / "result.zarr", chunks=None) as store:
            return {name: values.values for name, values in store.data_vars.items()}

    def unreadable(self):
        """Failures of what lies in OUT after a kill."""
        try:
            if (self.out / "run.json").exists():
                json.loads((self.out / "run.json").read_text())
            if (self.out / "result.zarr" / ".zmetadata").exists():
                self.result()
        except Exception as error:
            return [f"OUT is not readable: {type(error).__name__}: {error}"[:200]]
        return []

    def gone_on(self, server, expected):
        """Check what is left and go on with it until it is finished, with the bits of an undisturbed run: failures."""
        if not (self.out / "run.json").exists():
            return []
        answer = server.ask(["check", "out"], self.folder)
        if answer.code == 0 and json.loads((self.out / "run.json").read_text()).get("state") != "finished":
            answer = server.ask(self.case.goes_on(self.out), self.folder)
        if answer.code:
            return [f"checked and went on: exit code {answer.code}: {(answer.text + answer.error)[-200:]}"]
        values = self.result()
        same = values.keys() == expected.keys()
        same = same and all(np.array_equal(values[name], expected[name], equal_nan=True) for name in values)
        return [] if same else ["the result has other bits"]


def reference_of(case, folder, mark):
    """Result of a run that nobody disturbs, and its duration from the first sign on, s."""
    with Attempt(case, folder, mark) as attempt:
        began = time.monotonic()
        assert attempt.command.wait(300) == 0, (folder / "said.txt").read_text()
        return attempt.result(), time.monotonic() - began


def attack(chosen):
    """Kill for some seconds, or so many times: counts of victims and of failures."""
    cases, victims, failures, slowest, number = Counter(), Counter(), Counter(), {}, 0
    end, names = time.monotonic() + chosen.seconds, [name for name in sorted(CASES) if re.search(chosen.only, name)]
    with TemporaryDirectory(prefix="kills") as place, Server() as server:
        folder, references = Path(place) / "one", {}
        while cases.total() < chosen.most and time.monotonic() < end:
            random, mark = Random(f"{chosen.seed} {number}"), f"{os.getpid()}-{chosen.seed}-{number}"
            name = random.choices(names, [1 / CASES[name].ranks for name in names])[0]
            if name not in references:
                references[name] = reference_of(CASES[name], folder, f"{mark}-reference")
            with Attempt(CASES[name], folder, mark) as running:
                victim = running.kill(random, references[name][1])
                began = time.monotonic()
                wrong = running.left(victim[0]) if victim else []
            if victim:
                words = " to ".join(victim[::-1])
                cases[name] += 1
                victims[words] += 1
                slowest[words] = max(round(time.monotonic() - began, 1), slowest.get(words, 0))
                wrong = [*wrong, *running.unreadable()] or running.gone_on(server, references[name][0])
                failures.update(f"{name}: {words}: {failure}" for failure in wrong)
                for failure in wrong:
                    said = " / ".join((folder / "said.txt").read_text().strip().splitlines()[-2:])[:300]
                    print(f"{name}: {words}: {failure}: seed {chosen.seed} number {number}: {said}", flush=True)
            number += 1
    tables = {"cases": cases, "victims": victims, "slowest end, s": slowest, "failures": failures}
    counts = {"kind": "kills", "seed": chosen.seed, "tried": cases.total(), "load": os.getloadavg()[0]}
    return counts | {table: dict(sorted(rows.items())) for table, rows in tables.items()}
