"""Sound folders of runs, to be damaged: an interrupted run, a finished one, a survey."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from smallcase import write

LINE = 'name = "S"\nshots = { from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = 2 }'
THREAD = ('device = "cpu"', 'device = "cpu"\nthreads = 1\ncheckpoint = "0.05 s"')
COMMANDS = {
    "interrupted": (
        ["resume", "out", "-q"],
        ["resume", "out", "-q"],
        ["resume", "out", "-q"],
        ["check", "out"],
    ),
    "finished": (
        ["convert", "out", "g.sgy"],
        ["plot", "out", "records"],
        ["resume", "out"],
        ["check", "out"],
    ),
    "stopped": (["resume", "out", "-q"], ["check", "out"], ["plot", "out", "records"]),
    "survey": (
        ["survey", "status", "out"],
        ["survey", "survey.toml", "-o", "out", "--workers", "1", "-q"],
    ),
}


def commands(kind):
    """Command lines that read a folder, as far as this craton has them."""
    from craton.cli.app import app

    names = {command.callback.__name__ for command in app.registered_commands}
    return [words for words in COMMANDS[kind] if words[0] in names]


def build(folder):
    """Write the folders: kind -> path."""
    kinds = {kind: folder / kind for kind in COMMANDS}
    for path in kinds.values():
        path.mkdir(parents=True)
    write(kinds["finished"], ("duration = 1.0", "duration = 0.3"), THREAD)
    craton(kinds["finished"], "run", "small.toml", "-o", "out", "-q").wait()
    short = (("duration = 1.0", "duration = 0.3"), ("at = [1500, 1500, -1000]", LINE))
    write(kinds["survey"], *short, name="survey.toml")
    craton(kinds["survey"], "survey", "survey.toml", "-o", "out", "-q").wait()
    interrupted(kinds["interrupted"], signal.SIGKILL)
    interrupted(kinds["stopped"], signal.SIGTERM)
    return kinds


def craton(folder, *words, **options):
    """Start a command line in a folder."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options
    return subprocess.Popen([sys.executable, "-m", "craton", *words], cwd=folder, **quiet)


def interrupted(folder, number):
    """A run that got a signal after some checkpoints."""
    write(folder, ("duration = 1.0", "duration = 6"), THREAD)
    running = craton(folder, "run", "small.toml", "-o", "out", "-q")
    end = time.monotonic() + 60
    while (
        not list(Path(folder, "out").glob("checkpoints/step_*/manifest.json"))
        and time.monotonic() < end
    ):
        assert running.poll() is None, "the run ended before its first checkpoint"
        time.sleep(0.01)
    time.sleep(0.3)
    running.send_signal(number)  # it is not waited for before: the number is still its own
    running.wait()


def copy(kinds, kind, place):
    """A copy of a folder to damage."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kinds[kind], place)
    return place
