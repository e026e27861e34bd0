"""Films that are made while a run goes on: a process of their own draws the frames that are on
disk, again when they have doubled, and all of them at the end.
"""

import logging
import os
import subprocess
import sys
from pathlib import Path

FOLDER = "films"
FIRST = 1 / 8  # of all frames, after which a film is made for the first time
FEWEST = 16  # frames of a film that is made before the end
PATIENT = 10  # niceness of the process


class Films:
    """Films of the series of a run whose snapshots have the key ``film``.

    Parameters
    ----------
    out : path-like
        The directory OUT.
    endings : dict of str to str
        ``"mp4"`` or ``"gif"`` by the name of a series.
    frames : dict of str to int
        Frames that each series will have.
    """

    def __init__(self, out, endings, frames):
        self.out, self.endings = Path(out), endings
        self.counts = dict.fromkeys(endings, 0)
        self.due = {name: max(FEWEST, int(FIRST * frames[name])) for name in endings}
        self.at_work: dict = {}

    def taken(self, name, count):
        """Begin a film where the frames have doubled since the last one, which is ready.

        Parameters
        ----------
        name : str
            Of a series.
        count : int
            Frames that were taken.
        """
        if name not in self.endings:
            return
        self.counts[name] = count
        busy = name in self.at_work and self.at_work[name].poll() is None
        if count >= self.due[name] and not busy:
            self.due[name] = 2 * count
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

    def stop(self):
        """End the processes at work, of a run that fails."""
        for process in self.at_work.values():
            if process.poll() is None:
                process.terminate()
            process.communicate()
        self.at_work.clear()


def be_patient():
    """Let the run go first."""
    os.nice(PATIENT)


def films_of(scenario, planned, out):
    """Return the `Films` that a scenario asks for, or None.

    Parameters
    ----------
    scenario : Scenario
    planned : Plan
    out : path-like
    """
    endings = {spec.name: spec.film for spec in scenario.snapshots if spec.film}
    if not endings:
        return None
    return Films(out, endings, {f.name: len(f.steps) for f in planned.snapshots})
