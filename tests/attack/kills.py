"""Runs whose processes are killed at random: all must end, nothing may stay, and what is resumed must have every bit."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import gravitycase
import psutil
from common import manifest, stored
from refusals import SEM
from smallcase import changed

from attack.folders import RESUME, shots
from attack.trials import Outcome

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGSTOP")
# s within which all must have ended: 10 s of patience, graces, and the rest of a run; of a survey, where Dask starts a
# stopped worker again after 60 s, the shots that are left
ENDED, ENDED_SURVEY = 60, 150
SUSPENDED = 1  # s that a stopped command or scheduler waits before it is continued
# Dask of its own gives up a stopped worker after five minutes
SETTINGS = {"OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "60 s"}
MARK = "ATTACK"  # variable of the environment of all that is started
OFTEN = '[run]\nthreads = 1\ncheckpoint = "0.7 s"\npatience = "10 s"\n'
LONG = (("duration = 1.0", "duration = 3"), ("[run]\n", OFTEN))
GRAVITY = changed(
    ("[gravity]", '[gravity]\nmethod = "direct"'),
    ("[10, 10, 4]", "[30, 30, 10]"),
    ("[0, 1000, 4]", "[0, 1000, 70]"),
    ("[0, 1000, 3]", "[0, 1000, 70]"),
    ("[run]", '[run]\nthreads = 1\npatience = "10 s"'),
    text=gravitycase.SMALL,
)
RUN, SURVEY = (["craton", command, "small.toml", "-o", "out", "-q"] for command in ("run", "survey"))
CASES = {}  # a scenario, the words of its command line, those that go on with what is left
for method, text, most in (("fd", changed(*LONG), 4), ("sem", changed(*LONG, text=SEM), 3), ("gravity", GRAVITY, 4)):
    CASES[method] = text, RUN, RESUME
    for ranks in range(2, most + 1):
        together = [*RUN, "--ranks", str(ranks), "--oversubscribe"]
        CASES[f"{method}, {ranks} ranks"] = text, together, [*RESUME, "--oversubscribe"]
for words in (["--workers", "2"], ["--scheduler", "scheduler.json"]):
    CASES[f"survey on {words[0][2:]}"] = changed(*LONG, shots(6)), [*SURVEY, *words], [*SURVEY[1:], "--workers", "1"]


def wait_until(condition, seconds):
    """Wait for a condition, so many seconds at most."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.03)


def family(mark):
    """Living processes of a mark, by pid; those that have ended and wait for their parent are left out."""
    living = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


class Attempt:
    """One case in a folder; all its processes bear marks, and have ended at its end.

    Parameters
    ----------
    case : tuple
        Of CASES.
    folder : Path
    mark : str
    """

    def __init__(self, case, folder, mark):
        (text, self.words, self.on), self.folder, self.out = case, folder, folder / "out"
        self.mark, self.cluster_mark, self.cluster = mark, f"{mark}-cluster", []
        self.is_survey = self.words[1] == "survey"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "small.toml").write_text(text)

    def __enter__(self):
        if "--scheduler" in self.words:  # a cluster of a scheduler and two workers, as a user starts it
            place = ["--scheduler-file", "scheduler.json", "--no-dashboard", "--host", "127.0.0.1"]
            self.cluster = [self.started(["dask", "scheduler", *place, "--port", "0"], self.cluster_mark)]
            wait_until((self.folder / "scheduler.json").exists, 60)
            words = ["dask", "worker", *place, "--no-nanny", "--nthreads", "1"]
            self.cluster += [self.started(words, self.cluster_mark) for _ in range(2)]
        self.command = self.started(self.words, self.mark)
        sign = "shots/*.log" if self.is_survey else "run.json"
        wait_until(lambda: self.command.poll() is not None or any(self.out.glob(sign)), 60)
        return self

    def __exit__(self, *error):
        for process in family(self.mark) + family(self.cluster_mark):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for child in (self.command, *self.cluster):
            child.wait(30)

    def started(self, words, mark):
        """Start a module in a process."""
        with open(self.folder / "said.txt", "a") as said:
            options = {"cwd": self.folder, "env": os.environ | {MARK: mark} | SETTINGS, "stdin": subprocess.DEVNULL}
            options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
            return subprocess.Popen([sys.executable, "-P", "-m", *words], stdout=said, stderr=said, **options)

    def processes(self):
        """Living processes by what they are: name -> list of Process."""
        words = {"proxy": "hydra_pmi_proxy", "mpiexec": "mpiexec", "scheduler": "dask scheduler", "rank": "mpi4py"}
        words["tracker"] = "resource_tracker"  # of multiprocessing: it only removes shared memory
        kinds = {}
        for process in family(self.mark) + family(self.cluster_mark):
            line = " ".join(process.cmdline()) if process.is_running() else ""
            kind = next((kind for kind, word in words.items() if word in line), "worker")
            kinds.setdefault("parent" if process.pid == self.command.pid else kind, []).append(process)
        kinds.pop("tracker", None)
        return kinds

    def kill(self, random, duration):
        """Send one signal to one process at a random moment: kind and signal, or None where all had ended."""
        time.sleep(random.uniform(0, 0.9 * duration))
        with suppress(psutil.NoSuchProcess):
            kinds = self.processes()
            if self.command.poll() is None and "parent" in kinds:
                kind, name = random.choice(sorted(kinds)), random.choice(SIGNALS)
                process = random.choice(kinds[kind])
                process.send_signal(getattr(signal, name))
                if name == "SIGSTOP" and kind in ("parent", "scheduler", "mpiexec", "proxy"):
                    # what was suspended goes on where it was; all others are noticed and ended
                    time.sleep(SUSPENDED)
                    process.resume()
                return kind, name
        return None

    def outlives(self, kind):
        """What has not ended in time, after a process of a kind was signalled."""
        limit = ENDED_SURVEY if self.is_survey else ENDED
        wait_until(lambda: self.command.poll() is not None and not family(self.mark), limit)
        wrong = [f"{len(family(self.mark))} processes left after {limit} s"] if family(self.mark) else []
        # a cluster is its user's: it stays, unless its scheduler is gone
        if kind == "scheduler" and self.cluster[0].poll() is not None:
            wait_until(lambda: not family(self.cluster_mark), ENDED)
            wrong += ["workers outlive their scheduler"] if family(self.cluster_mark) else []
        return wrong

    def continued(self, server, expected):
        """Check what is left and go on with it until it is finished, with the bits of an undisturbed run: failures."""
        if not (self.out / "run.json").exists():
            return []
        answer = server.ask(["check", "out"], self.folder)
        if answer.code == 0 and manifest(self.out).get("state") != "finished":
            can_go_on = self.is_survey or any(self.out.glob("checkpoints/step_*"))
            answer = server.ask(self.on if can_go_on else self.words[1:], self.folder)
        if answer.code:
            return [f"checked and went on: exit code {answer.code}: {(answer.text + answer.error)[-200:]}"]
        return [] if stored(self.out).equals(expected) else ["the result has other bits"]


class Trials:
    """Trials of killed processes: parameters as of those of inputs."""

    def __init__(self, server, place, chosen):
        self.server, self.folder, self.undisturbed = server, place / "run", {}
        self.names = [name for name in CASES if re.search(chosen.only, name)]

    def trial(self, random):
        """Kill one process of a case, or suspend it, and go on with what is left."""
        name, mark = random.choice(self.names), f"{os.getpid()}-{random.random()}"
        if name not in self.undisturbed:
            with Attempt(CASES[name], self.folder, f"{mark}-undisturbed") as attempt:
                began = time.monotonic()
                assert attempt.command.wait(300) == 0, (self.folder / "said.txt").read_text()
                self.undisturbed[name] = stored(attempt.out), time.monotonic() - began
        expected, duration = self.undisturbed[name]
        with Attempt(CASES[name], self.folder, mark) as attempt:
            victim, began = attempt.kill(random, duration), time.monotonic()
            wrong = attempt.outlives(victim[0]) if victim else []
            ended = round(time.monotonic() - began, 1)
        wrong = wrong or attempt.continued(self.server, expected)
        words = " to ".join(victim[::-1]) if victim else "ended before"
        said = (self.folder / "said.txt").read_text()
        return Outcome(f"{name}: {words}", words, wrong, said, {f"s until the end, {words}": ended})
