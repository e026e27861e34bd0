"""python -m attack inputs|folders|soak|survey|kills: an attack for some seconds, with what failed and how to see it again."""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from attack import corpus, folders
from attack.mutate import damage_folder, damaged
from attack.server import Server


def attack_inputs(server, place, random):
    """One damaged input: name, command line, folder, answer."""
    cases = place_cases(place)
    name = random.choice(sorted(cases))
    folder, toml, file = cases[name]
    file = random.choice((file, file, toml))
    path = folder / file
    if path.is_dir():
        path = random.choice(sorted(p for p in path.rglob("*") if p.is_file()))
    sound = path.read_bytes()
    path.write_bytes(damaged(sound, random))
    try:
        words = ["plan", toml]
        return f"{name}: {path.name}", words, folder, server.ask(words, folder), path.read_bytes()
    finally:
        path.write_bytes(sound)


CASES = {}


def place_cases(place):
    """The corpus in a folder, built once."""
    if place not in CASES:
        CASES[place] = corpus.build(place / "corpus")
    return CASES[place]


def attack_folders(server, place, random):
    """One damaged run folder: name, command line, folder, answer."""
    if ("folders", place) not in CASES:
        CASES["folders", place] = folders.build(place / "folders")
    kinds = CASES["folders", place]
    kind = random.choice(sorted(kinds))
    copied = folders.copy(kinds, kind, place / "copy")
    file = damage_folder(copied / "out", random)
    words = random.choice(folders.commands(kind))
    return f"{kind}: {file}", words, copied, server.ask(words, copied), b""


def attack(kind, seconds, most, seed, keep):
    """Attack for some seconds or so many inputs: counts of answers and of failures; reproducers go into a folder."""
    answers, failures, end, tried = Counter(), Counter(), time.monotonic() + seconds, 0
    work = {"inputs": attack_inputs, "folders": attack_folders}[kind]
    with TemporaryDirectory(prefix="attack") as place, Server() as server:
        while time.monotonic() < end and tried < most:
            random = Random(f"{kind} {seed} {tried}")
            name, words, _, answer, data = work(server, Path(place), random)
            tried += 1
            answers[answer.code] += 1
            for failure in answer.failures:
                failures[failure] += 1
                report(keep, kind, seed, tried - 1, name, words, answer, data)
    return {
        "kind": kind,
        "seed": seed,
        "tried": tried,
        "answers": dict(answers),
        "failures": dict(failures),
    }


def report(keep, kind, seed, number, name, words, answer, data):
    """Print a failure, and keep its input."""
    last = [line for line in answer.error.strip().splitlines() if line.strip()][-2:]
    found = ", ".join(answer.failures)
    print(
        f"{found}: {kind} seed {seed} number {number}: {name}: craton {' '.join(words)}: {' / '.join(last)[:300]}",
        flush=True,
    )
    if keep and data:
        folder = Path(keep)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{kind}_{seed}_{number}").write_bytes(data)


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("kind", choices=("inputs", "folders", "soak", "survey", "kills"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="folder for inputs that fail")
    chosen = parser.parse_args()
    if chosen.kind in ("inputs", "folders"):
        result = attack(chosen.kind, chosen.seconds, chosen.most, chosen.seed, chosen.keep)
    else:
        from importlib import import_module

        result = import_module(f"attack.{chosen.kind}").attack(
            chosen.seconds, chosen.most, chosen.seed
        )
    print(json.dumps(result, indent=1))
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
