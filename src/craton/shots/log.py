"""Two small files for each shot in OUT/shots, written where it runs: its log while it is under way,
its outcome when it has ended.
"""

import faulthandler
import json
import os
import re
import socket
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from craton.integrity import writing

FOLDER = "shots"
STATES = ("finished", "failed")
LARGEST = 1 << 20  # bytes of an outcome that is read; a longer file is not from here


def stem_of(number, name):
    """Return the name of a shot's files: its number, and its name without characters that are
    special in names of files.
    """
    return f"{number:05d}-{re.sub(r'[^A-Za-z0-9_.]+', '_', name)[:60]}"


class ShotLog:
    """The two files of one shot.

    Parameters
    ----------
    out : path-like
        Folder of the survey.
    number : int
        Place of the shot along the axis of shots.
    name : str
    """

    def __init__(self, out, number, name):
        stem = stem_of(number, name)
        self.name, self.folder = name, Path(out) / FOLDER
        self.path, self.outcome = self.folder / f"{stem}.log", self.folder / f"{stem}.json"
        self.run = self.folder / stem  # folder with its snapshots, where they are kept

    def begin(self, start):
        """Note that the shot begins here; how many times it has begun since this start of the
        survey: int.

        Parameters
        ----------
        start : str
            Says which start of the survey it is.

        Raises
        ------
        ResourceError
            OUT cannot be seen or written from here.
        """
        from craton.output.shots import shared_folder

        with writing(f"to {self.folder}"), shared_folder(self.folder.parent):
            self.outcome.unlink(missing_ok=True)
            with open(self.path, "a+", encoding="utf-8", errors="replace") as file:
                file.seek(0)
                attempt = 1 + sum(line.endswith(f" of {start}\n") for line in file)
                file.write(f"{now()} on {socket.gethostname()}:{os.getpid()} attempt {attempt} of {start}\n")
        return attempt

    def finished(self, start):
        """Return the outcome of the shot where it has finished in a start of the survey, else None.

        Parameters
        ----------
        start : str
            As of `begin`.
        """
        outcome = _outcome_in(self.outcome)
        same = outcome is not None and (outcome["name"], outcome.get("start")) == (self.name, start)
        if not same or outcome["state"] != STATES[0]:
            return None
        return {key: value for key, value in outcome.items() if key not in ("name", "ended")}

    def write(self, text):
        """Append to the log."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(text.rstrip("\n") + "\n")

    @contextmanager
    def signals(self):
        """Inside, a signal that ends the process (segmentation fault, bus error) leaves in the log
        where it was.
        """
        if faulthandler.is_enabled():
            yield
            return
        with open(self.path, "a", encoding="utf-8") as file:
            faulthandler.enable(file)
            try:
                yield
            finally:
                faulthandler.disable()

    def end(self, report):
        """Write how the shot ended; the log goes where all is well."""
        aside = self.outcome.with_name(f".{self.outcome.name}.{os.getpid()}")
        aside.write_text(json.dumps({"name": self.name, **report, "ended": now()}) + "\n", encoding="utf-8")
        os.replace(aside, self.outcome)
        if report["state"] == "finished":
            self.path.unlink(missing_ok=True)


def now():
    """Return the time in UTC, as in run.json."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def outcomes_in(out):
    """Return the outcomes that stand in OUT/shots, by name: dict of dict; files that are damaged
    are left out.

    Parameters
    ----------
    out : path-like
    """
    shots = {}
    for path in sorted((Path(out) / FOLDER).glob("[0-9]*.json")):
        outcome = _outcome_in(path)
        if outcome is not None:
            shots[outcome.pop("name")] = outcome
    return shots


def clear(out, noted):
    """Remove the outcomes of shots that run.json has by now; workers that have lost the survey may
    still write others.

    Parameters
    ----------
    out : path-like
    noted : iterable of str
        Names of the shots.
    """
    for path in (Path(out) / FOLDER).glob("[0-9]*.json"):
        outcome = _outcome_in(path)
        if outcome is not None and outcome["name"] in noted:
            path.unlink(missing_ok=True)


def _outcome_in(path):
    """Return the outcome that a file holds, or None."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        outcome = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(outcome, dict) or not isinstance(outcome.get("name"), str):
        return None
    return outcome if outcome.get("state") in STATES else None


def running_in(out, start):
    """Return the shots that have begun in a start of the survey and not ended.

    Parameters
    ----------
    out : path-like
    start : str
        As of `ShotLog.begin`.

    Returns
    -------
    list of (str, str, str, int)
        File of the log, time of beginning, worker, attempt.
    """
    pattern = re.compile(rf"(\S+) on (\S+) attempt (\d+) of {re.escape(start)}")
    shots = []
    for path in sorted((Path(out) / FOLDER).glob("[0-9]*.log")):
        with open(path, encoding="utf-8", errors="replace") as file:
            begun = [match for match in map(pattern.fullmatch, map(str.rstrip, file)) if match]
        if begun and not path.with_suffix(".json").exists():
            time, worker, attempt = begun[-1].groups()
            shots.append((path.name, time, worker, int(attempt)))
    return shots
