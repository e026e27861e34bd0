"""Damaged inputs and damaged folders of runs, each given to a command line of craton: it must be refused or read, in bounds."""

import json
import re
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from attack import corpus, folders
from attack.accepted import faults
from attack.mutate import damage_folder, wounded
from attack.server import Server

NOT_YET = "not yet: "  # what a plan says of a gradient that would be refused


class Inputs:
    """Trials of damaged inputs; the corpus is planned once in the server, from another folder.

    Parameters
    ----------
    server : Server
    place : Path
    chosen : argparse.Namespace
    """

    def __init__(self, server, place, chosen):
        self.server, self.keep = server, chosen.keep and Path(chosen.keep)
        for folder, toml, _ in corpus.build(place / "warm").values():
            server.warm(["plan", toml], folder)
        cases = corpus.build(place / "corpus").items()
        self.cases = {name: case for name, case in cases if re.search(chosen.only, name)}

    def trial(self, random):
        """What was damaged, the answer, and what is wrong with it."""
        name = corpus.chosen(self.cases, random)
        folder, toml, file = self.cases[name]
        path = folder / random.choice((file, file, toml))
        if path.is_dir():
            path = random.choice(sorted(p for p in path.rglob("*") if p.is_file()))
        sound = path.read_bytes()
        self.data, wounds = wounded(sound, random)
        wrong = []
        path.write_bytes(self.data)
        try:
            answer = self.server.ask(["plan", toml], folder)
            if answer.code == 0 and self.data != sound and NOT_YET not in answer.text:
                wrong = faults(name, self.cases[name], path)
                self.list_accepted(name, path.name, wounds, sound)
        finally:
            path.write_bytes(sound)
        return f"{name}: {path.name}", answer, [f"accepted nonsense: {fault}" for fault in wrong]

    def list_accepted(self, name, file, wounds, sound):
        """Append what an accepted input has in other words than the sound one."""
        before, after = (set(text.split(b"\n")) for text in (sound, self.data))
        changed = [repr(b" | ".join(sorted(part))[:200])[2:-1] for part in (before - after, after - before)]
        if self.keep:
            self.keep.mkdir(parents=True, exist_ok=True)
            with open(self.keep / "accepted.jsonl", "a") as listed:
                print(json.dumps([name, file, wounds, *changed]), file=listed)

    def keep_failed(self, name):
        """Keep the input that has failed."""
        if self.keep:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / name).write_bytes(self.data)


class Folders:
    """Trials of damaged folders of runs: parameters as of `Inputs`."""

    def __init__(self, server, place, chosen):
        self.server, self.place, self.kinds = server, place, folders.build(place / "folders")

    def trial(self, random):
        """What was damaged, the answer, and what is wrong with it."""
        kind = random.choice(sorted(self.kinds))
        copied = folders.copy(self.kinds, kind, self.place / "copy")
        file = damage_folder(copied / "out", random)
        words = random.choice(folders.COMMANDS[kind])
        return f"{kind}: {file}: craton {' '.join(words)}", self.server.ask(words, copied), []

    def keep_failed(self, name):
        """Seed and number give the same folder again."""


def attack(chosen):
    """Attack for some seconds or so many trials: counts of answers and of failures."""
    codes, cases, failures, tried, slowest, largest = Counter(), Counter(), Counter(), 0, 0, 0
    with TemporaryDirectory(prefix="attack") as place, Server() as server:
        work = {"inputs": Inputs, "folders": Folders}[chosen.kind](server, Path(place), chosen)
        end = time.monotonic() + chosen.seconds
        while time.monotonic() < end and tried < chosen.most:
            what, answer, wrong = work.trial(Random(f"{chosen.kind} {chosen.seed} {tried}"))
            wrong = [*answer.failures, *wrong]
            if wrong:
                last = [line for line in answer.error.strip().splitlines() if line.strip()][-2:]
                place_of = f"{chosen.kind} seed {chosen.seed} number {tried}"
                print(f"{', '.join(wrong)}: {place_of}: {what}: {' / '.join(last)[:300]}", flush=True)
                work.keep_failed(place_of.replace(" ", "_"))
            codes[str(answer.code)] += 1
            cases[f"{what.split(':')[0]}: {answer.code}"] += 1
            failures.update(wrong)
            slowest, largest, tried = max(slowest, answer.seconds), max(largest, answer.nbytes >> 20), tried + 1
    counts = {
        "kind": chosen.kind,
        "seed": chosen.seed,
        "tried": tried,
        "codes": codes,
        "cases": dict(sorted(cases.items())),
    }
    return counts | {"failures": failures, "slowest, s": slowest, "largest, MiB": largest}
