"""python -m attack inputs|folders|flips|soak|survey|kills: an attack for some seconds, with what failed and how to see it again."""

import argparse
import json
import re
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from attack import corpus, folders
from attack.accepted import changes
from attack.mutate import damage_folder, wounded
from attack.record import Record, recorder
from attack.server import Answer, Server

CASES = {}
NOT_YET = "not yet: "  # what a plan says of a gradient that would be refused


@dataclass(frozen=True)
class Trial:
    """A damaged input and its answer: name of the case, file in it, wounds, command line, the file before and after, and
    what an accepted one says that the sound one does not.
    """

    case: str
    file: str
    wounds: list
    words: list
    answer: Answer
    before: bytes = b""
    after: bytes = b""
    changes: list = field(default_factory=list)

    @property
    def failures(self):
        """What is wrong with the answer: list of str."""
        nonsense = any(change.fault for change in self.changes)
        return [*self.answer.failures, *(["accepted nonsense"] if nonsense else [])]


def attack_inputs(server, place, random, only=""):
    """Trial of one damaged input, of cases in whose names a regular expression is found."""
    cases = {n: case for n, case in place_cases(server, place).items() if re.search(only, n)}
    name = corpus.chosen(cases, random)
    folder, toml, file = cases[name]
    path = folder / random.choice((file, file, toml))
    if path.is_dir():
        path = random.choice(sorted(p for p in path.rglob("*") if p.is_file()))
    sound = path.read_bytes()
    data, wounds = wounded(sound, random)
    words, changed = ["plan", toml], []
    path.write_bytes(data)
    try:
        answer = server.ask(words, folder)
        if answer.code == 0 and data != sound and NOT_YET not in answer.text:
            changed = changes(name, cases[name], path, sound)
    finally:
        path.write_bytes(sound)
    return Trial(name, path.name, wounds, words, answer, sound, data, changed)


def place_cases(server, place):
    """The corpus in a folder, built once; planned once in the server, from another folder."""
    if place not in CASES:
        for folder, toml, _ in corpus.build(place / "warm").values():
            server.warm(["plan", toml], folder)
        CASES[place] = corpus.build(place / "corpus")
    return CASES[place]


def attack_folders(server, place, random):
    """Trial of one damaged run folder."""
    if ("folders", place) not in CASES:
        CASES["folders", place] = folders.build(place / "folders")
    kinds = CASES["folders", place]
    kind = random.choice(sorted(kinds))
    copied = folders.copy(kinds, kind, place / "copy")
    file = damage_folder(copied / "out", random)
    words = random.choice(folders.commands(kind))
    return Trial(kind, file, [], words, server.ask(words, copied))


def attack(kind, seconds, most, seed, keep, record=None, only=""):
    """Attack for some seconds or so many inputs: counts of answers and of failures; reproducers go into a folder."""
    counted, end = Record(kind, seed), time.monotonic() + seconds
    inputs = partial(attack_inputs, only=only)
    work = {"inputs": inputs, "folders": attack_folders}[kind]
    try:
        with TemporaryDirectory(prefix="attack") as place, Server() as server:
            while time.monotonic() < end and counted.tried < most:
                random = Random(f"{kind} {seed} {counted.tried}")
                trial = work(server, Path(place), random)
                if trial.failures:
                    report(keep, kind, seed, counted.tried, trial)
                elif trial.answer.code == 0 and keep and trial.after:
                    counted.keep_accepted(keep, trial)
                counted.add(trial)
    finally:  # also of a batch that ends early
        if record:
            counted.save(Path(record))
    return counted.summary()


def report(keep, kind, seed, number, trial):
    """Print a failure, and keep its input."""
    last = [line for line in trial.answer.error.strip().splitlines() if line.strip()][-2:]
    last += [f"{change.part}: {change.fault}" for change in trial.changes if change.fault]
    failures = ", ".join(trial.failures)
    print(
        f"{failures}: {kind} seed {seed} number {number}: {trial.case}: {trial.file}: "
        f"craton {' '.join(trial.words)}: {' / '.join(last)[:300]}",
        flush=True,
    )
    if keep and trial.after:
        folder = Path(keep)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{kind}_{seed}_{number}").write_bytes(trial.after)


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("kind", choices=("inputs", "folders", "flips", "soak", "survey", "kills"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="folder for inputs that fail, and for a list of accepted ones")
    parser.add_argument("--only", default="", help="inputs and kills: regular expression for names of cases")
    parser.add_argument("--record", help="JSON file that counts are added to")
    chosen = parser.parse_args()
    if chosen.kind in ("inputs", "folders"):
        result = attack(chosen.kind, chosen.seconds, chosen.most, chosen.seed, chosen.keep, chosen.record, chosen.only)
    else:
        from importlib import import_module

        note = recorder(chosen.record) if chosen.record else lambda counts: None
        options = {"note": note, "only": chosen.only} if chosen.kind == "kills" else {}
        result = import_module(f"attack.{chosen.kind}").attack(chosen.seconds, chosen.most, chosen.seed, **options)
        note(result)
    print(json.dumps(result, indent=1))
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
