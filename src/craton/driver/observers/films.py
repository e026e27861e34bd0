"""Films that are made while a run goes on: a process of their own draws the frames that are on
disk, again when they have doubled, and all of them at the end.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from craton.backends.base import Program
from craton.driver.job import Job
from craton.driver.march import Observer

FOLDER = "films"
FIRST = 1 / 8  # of all frames, after which a film is made for the first time
FEWEST = 16  # frames of a film that is made before the end
PATIENT = 10  # niceness of the process


class Films(Observer):
    """Makes a film of each series of snapshots that has the key ``film``, on rank 0; it sees a step after `Snapshots`.

    `endings` are ``"mp4"`` or ``"gif"`` by the name of a series.
    """

    def __init__(self, out: Path | str, endings: dict[str, str], series: Sequence[Any]):
        self.out, self.endings, self.counts = Path(out), endings, dict.fromkeys(endings, 0)
        self.schedule: dict[int, list[tuple[str, int]]] = {}
        filmed = [one for one in series if one.name in endings]
        for one in filmed:
            for n, step in enumerate(one.steps):
                self.schedule.setdefault(int(step) + 1, []).append((one.name, n + 1))
        self.next = {one.name: max(FEWEST, int(FIRST * len(one.steps))) for one in filmed}
        self.at_work: dict = {}

    def due(self, step: int) -> bool:
        """Return True after a step of which there are pictures."""
        return step in self.schedule

    def see(self, step: int, program: Program) -> None:
        """Begin a film where the frames have doubled since the last one, which is ready."""
        for name, count in self.schedule[step]:
            self.counts[name] = count
            busy = name in self.at_work and self.at_work[name].poll() is None
            if count >= self.next[name] and not busy:
                self.next[name] = 2 * count
                self.begin(name)

    def begin(self, name):
        """Start the process that draws the frames so far."""
        self.end(name)
        (self.out / FOLDER).mkdir(exist_ok=True)
        file = self.out / FOLDER / f"{name}.{self.endings[name]}"
        words = ["film", str(self.out), "-o", str(file), "--series", name, "--force"]
        self.at_work[name] = subprocess.Popen(
            [sys.executable, "-m", "craton", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            preexec_fn=be_patient if hasattr(os, "nice") else None,
        )

    def end(self, name):
        """Wait for the process of a film, and say what went wrong."""
        process = self.at_work.pop(name, None)
        if process is None:
            return
        _, said = process.communicate()
        if process.returncode:
            reason = (said.strip().splitlines() or ["unknown"])[-1]
            logging.getLogger("craton").warning("the film of %s was not made: %s", name, reason)

    def finish(self):
        """Make all films of all frames; the frames must be on disk."""
        for name, count in self.counts.items():
            if count:
                self.begin(name)
        for name in self.counts:
            self.end(name)

    def close(self) -> None:
        """End the processes at work, of a run that fails."""
        for process in self.at_work.values():
            if process.poll() is None:
                process.terminate()
            process.communicate()
        self.at_work.clear()


def be_patient():
    """Let the run go first."""
    os.nice(PATIENT)


def films_of(job: Job) -> list[Films]:
    """Return the `Films` that a scenario asks for, on rank 0."""
    endings = {spec.name: spec.film for spec in job.scenario.snapshots if spec.film}
    return [Films(job.out, endings, job.plan.snapshots)] if endings and job.comm.rank == 0 else []
