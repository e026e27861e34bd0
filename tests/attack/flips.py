"""Bits flipped in folders of results, one at a time: craton check, and what reads the folder, must notice each."""

from attack import folders

UNREAD = (".lock", ".log")  # ends of names of files that hold no result
RECORDS = ["plot", "out", "records"]
# kind of folder, command line, beginning of the files that it reads: a flip there must be noticed
READERS = [
    *[(kind, ["check", "out"], "") for kind in ("killed", "finished", "stopped", "survey")],
    ("killed", folders.RESUME, "checkpoints/step_000000021"),
    ("finished", ["convert", "out", "new.sgy"], "result.zarr/velocity"),
    ("finished", ["convert", "out", "new.sgy"], "result.zarr/time"),
    ("finished", ["plot", "out", "snapshots"], "result.zarr/snapshots/section"),
    *[("finished", RECORDS, start) for start in ("result.zarr/.", "scenario.toml", "run.json")],
]


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

    def turn(self):
        """Turn the bit for good."""
        flipped = bytearray(self.contents)
        flipped[self.place // 8] ^= 1 << self.place % 8
        self.path.write_bytes(flipped)
        return self

    __enter__ = turn

    def __exit__(self, *error):
        self.path.write_bytes(self.contents)


class Trials(folders.Trials):
    """Trials of flipped bits: parameters as of those of inputs."""

    def __init__(self, server, place, chosen):
        super().__init__(server, place, chosen)
        for kind, words, _ in READERS:  # otherwise damage would be noticed wherever it is
            assert not noticed(server.ask(words, self.copied(kind))), (kind, words)

    def trial(self, random):
        """A command on a copy of a folder: half of the time any file that it reads is flipped, else one by its size."""
        kind, words, start = random.choice(READERS)
        folder = self.copied(kind)
        files = [path for path in sorted((folder / "out").rglob("*")) if holds_results(path, f"{folder}/out/{start}")]
        path = random.choices(files, random.choice((None, [path.stat().st_size for path in files])))[0]
        flip = Flip(path, random).turn()
        answer = self.server.ask(words, folder)
        wrong = [] if noticed(answer) else [f"not noticed: {path.name}"]
        return self.outcome(kind, f"{path.relative_to(folder)}: bit {flip.place}", words, answer, wrong)


def holds_results(path, start):
    """Whether a path begins so and is a file in which a bit may matter."""
    return str(path).startswith(start) and path.is_file() and path.stat().st_size and not path.name.endswith(UNREAD)


def noticed(answer):
    """Whether a command refuses a folder, or says that something is damaged."""
    return answer.code in (2, 3) or "damaged" in answer.text + answer.error
