"""Bits flipped in folders of results, one at a time: craton check, and what reads the folder, must notice each."""

import io
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from attack import folders
from craton.cli import main
from craton.cli.inspect import parts
from craton.comm.local import Alone
from craton.driver.saved import folders as checkpoints
from craton.driver.saved import last_whole
from craton.errors import CratonError

UNREAD = (".lock", ".log")  # ends of files that hold no result
RECORDS = ["plot", "out", "records"]
READERS = {  # command lines that read the files of a folder below which a flip must be noticed
    "result.zarr/velocity": ["convert", "out", "new.sgy"],
    "result.zarr/time": ["convert", "out", "new.sgy"],
    "result.zarr/snapshots/section": ["plot", "out", "snapshots"],
} | dict.fromkeys(("result.zarr/.", "scenario.toml", "run.json"), RECORDS)


def files_of(folder):
    """Files of a folder in which a bit may matter."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return [path for path in files if path.stat().st_size and not path.name.endswith(UNREAD)]


class Flip:
    """Inside, one bit of a file is turned.

    Parameters
    ----------
    path : Path
    random : Random
    """

    def __init__(self, path, random):
        self.path, self.contents = path, path.read_bytes()
        self.place = random.randrange(8 * len(self.contents))

    def __enter__(self):
        flipped = bytearray(self.contents)
        flipped[self.place // 8] ^= 1 << self.place % 8
        self.path.write_bytes(flipped)
        return self

    def __exit__(self, *error):
        self.path.write_bytes(self.contents)


def chosen(files, random):
    """A file: half of the time any of them, else one by its size."""
    sizes = [path.stat().st_size for path in files]
    return random.choice(files) if random.random() < 0.5 else random.choices(files, sizes)[0]


def noticed_by_check(out):
    """Whether craton check finds damage."""
    return any(damaged for _, damaged, _ in parts(out))


def noticed_by_resume(out):
    """Whether the last checkpoint is refused."""
    with redirect_stderr(io.StringIO()):
        try:
            return last_whole(out, Alone()).folder != checkpoints(out)[0]
        except CratonError:
            return True


def noticed_by(words, folder):
    """Whether a command that reads a folder ends in words, or says that something is damaged."""
    words, said = [str(folder / word) if word in ("out", "new.sgy") else word for word in words], io.StringIO()
    with redirect_stderr(said), redirect_stdout(said):
        code = main(words if words[0] != "convert" else [*words, "--force"])
    return (code in (2, 3) or "damaged" in said.getvalue()) and "Traceback" not in said.getvalue()


def reader_of(out, path):
    """Command line that reads a file of a finished run, or None."""
    name = str(path.relative_to(out))
    return next((words for start, words in READERS.items() if name.startswith(start)), None)


def trials(kinds, random):
    """Kind, file and function that must notice, without end: checkpoints, half as many folders, an eighth as many commands."""
    left, finished = kinds["killed"] / "out", kinds["finished"]
    last = sorted(left.glob("checkpoints/step_*"))[-1]
    read = [path for path in files_of(finished / "out") if reader_of(finished / "out", path)]
    while True:
        for number in range(8):
            yield "checkpoint", chosen(files_of(last), random), lambda: noticed_by_resume(left)
            if number % 2:
                kind = random.choice(["finished", "stopped", "survey"])
                out = kinds[kind] / "out"
                yield f"check, {kind}", chosen(files_of(out), random), lambda out=out: noticed_by_check(out)
        path = chosen(read, random)
        words = reader_of(finished / "out", path)
        yield f"craton {words[0]}", path, lambda words=words: noticed_by(words, finished)


def attack(asked):
    """Flip bits for some seconds: how many in each kind of place, and which were not noticed."""
    random, tried, failures = Random(asked.seed), Counter(), Counter()
    with TemporaryDirectory(prefix="flips") as place:
        kinds = folders.build(Path(place))
        flips = trials(kinds, random)
        # otherwise damage would be noticed wherever it is
        assert not any(noticed_by_check(folder / "out") for folder in kinds.values())
        assert not noticed_by_resume(kinds["killed"] / "out")
        assert not any(noticed_by(words, kinds["finished"]) for words in READERS.values())
        end = time.monotonic() + asked.seconds
        while tried["checkpoint"] < asked.most and time.monotonic() < end:
            kind, path, notices = next(flips)
            with Flip(path, random) as flip:
                noticed = notices()
            tried[kind] += 1
            if not noticed:
                failures[f"{kind}: {path.name}"] += 1
                print(f"not noticed: {kind}: {path.relative_to(place)}: bit {flip.place}", flush=True)
    return {"kind": "flips", "seed": asked.seed, "tried": tried.total(), "places": tried, "failures": failures}
