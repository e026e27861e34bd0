"""Damaged inputs and damaged folders of runs, each given to a command line of craton: it must be refused or read, in bounds."""

import json
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
        for name, (folder, toml, _) in corpus.build(place / "warm", chosen.only).items():
            assert server.warm(["plan", toml], folder) == 0, f"the sound {name} is not read"
        self.cases = corpus.build(place / "corpus", chosen.only)

    def trial(self, random):
        """What was damaged, the answer, what is wrong with it, and the damaged bytes."""
        name = corpus.chosen(self.cases, random)
        folder, toml, file = self.cases[name]
        path = folder / random.choice((file, file, toml))
        if path.is_dir():
            path = random.choice(sorted(p for p in path.rglob("*") if p.is_file()))
        sound, wrong = path.read_bytes(), []
        data, wounds = wounded(sound, random)
        path.write_bytes(data)
        try:
            answer = self.server.ask(["plan", toml], folder)
            if answer.code == 0 and data != sound and NOT_YET not in answer.text:
                wrong = [f"accepted nonsense: {fault}" for fault in faults(name, self.cases[name], path)]
                if self.keep:
                    self.list_accepted([name, path.name, wounds], sound.split(b"\n"), data.split(b"\n"))
        finally:
            path.write_bytes(sound)
        return f"{name}: {path.name}", answer, wrong, data

    def list_accepted(self, words, before, after):
        """Append what an accepted input has in other lines than the sound one."""
        changed = [set(before) - set(after), set(after) - set(before)]
        words += [repr(b" | ".join(sorted(lines))[:200])[2:-1] for lines in changed]
        with open(self.keep / "accepted.jsonl", "a") as file:
            print(json.dumps(words), file=file)


class Folders:
    """Trials of damaged folders of runs: parameters as of `Inputs`. Seed and number give the same folder again."""

    def __init__(self, server, place, chosen):
        self.server, self.place, self.kinds = server, place, folders.build(place / "folders")

    def trial(self, random):
        """What was damaged, the answer, nothing more that is wrong with it, nothing to keep."""
        kind = random.choice(sorted(self.kinds))
        copied = folders.copy(self.kinds, kind, self.place / "copy")
        file = damage_folder(copied / "out", random)
        words = random.choice(folders.COMMANDS[kind])
        return f"{kind}: {file}: craton {' '.join(words)}", self.server.ask(words, copied), [], b""


def attack(chosen):
    """Attack for some seconds or so many trials: counts of answers and of failures."""
    with TemporaryDirectory(prefix="attack") as place, Server() as server:
        return attacked(chosen, Path(place), server)


def attacked(chosen, place, server):
    """The same in a folder, by a server that is there."""
    codes, cases, failures, tried, slowest, largest = Counter(), Counter(), Counter(), 0, 0, 0
    if chosen.keep:
        Path(chosen.keep).mkdir(parents=True, exist_ok=True)
    work = {"inputs": Inputs, "folders": Folders}[chosen.kind](server, place, chosen)
    end = time.monotonic() + chosen.seconds
    while time.monotonic() < end and tried < chosen.most:
        what, answer, wrong, data = work.trial(Random(f"{chosen.kind} {chosen.seed} {tried}"))
        wrong = [*answer.failures, *wrong]
        if wrong:
            last = [line for line in answer.error.strip().splitlines() if line.strip()][-2:]
            number = f"{chosen.kind} seed {chosen.seed} number {tried}"
            print(f"{', '.join(wrong)}: {number}: {what}: {' / '.join(last)[:300]}", flush=True)
            if chosen.keep and data:
                Path(chosen.keep, number.replace(" ", "_")).write_bytes(data)
        codes[str(answer.code)] += 1
        cases[f"{what.split(':')[0]}: {answer.code}"] += 1
        failures.update(wrong)
        slowest, largest, tried = max(slowest, answer.seconds), max(largest, answer.nbytes >> 20), tried + 1
    counts = {"kind": chosen.kind, "seed": chosen.seed, "tried": tried, "codes": codes}
    counts |= {"cases": dict(sorted(cases.items())), "failures": failures}
    return counts | {"slowest, s": slowest, "largest, MiB": largest}
