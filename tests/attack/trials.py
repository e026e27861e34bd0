"""Trials one after another, for some seconds: each is drawn from its seed and number alone, so that these give it again."""

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from attack.server import Server


@dataclass
class Outcome:
    """What came of a trial.

    Parameters
    ----------
    case : str
        Under which it is counted.
    about : str
        What was damaged or killed.
    wrong : list of str
    said : str
        Its last lines stand in the message of a failure.
    measures : dict
        Numbers of which the largest is told.
    data : bytes
        What to keep of a failure.
    """

    case: str
    about: str
    wrong: list
    said: str
    measures: dict = field(default_factory=dict)
    data: bytes = b""


def attack(chosen):
    """Attack for some seconds or so many trials: counts of cases and of failures."""
    with TemporaryDirectory(prefix="attack") as place, Server() as server:
        return attacked(chosen, Path(place), server)


def attacked(chosen, place, server):
    """The same in a folder, by a server that is there; `Trials` of the module of a kind has a method `trial(random)`."""
    cases, failures, largest, number = Counter(), Counter(), {}, 0
    trials = import_module(f"attack.{chosen.kind}").Trials(server, place, chosen)
    end = time.monotonic() + chosen.seconds
    while time.monotonic() < end and number < chosen.most:
        name = f"{chosen.kind} seed {chosen.seed} number {number}"
        outcome = trials.trial(Random(name))
        number += 1
        cases[outcome.case] += 1
        failures.update(outcome.wrong)
        largest |= {key: max(value, largest.get(key, 0)) for key, value in outcome.measures.items()}
        if outcome.wrong:
            last = " / ".join([line for line in outcome.said.splitlines() if line.strip()][-2:])[:300]
            print(f"{', '.join(outcome.wrong)}: {name}: {outcome.case}: {outcome.about}: {last}", file=sys.stderr)
            if chosen.keep and outcome.data:
                chosen.keep.mkdir(parents=True, exist_ok=True)
                (chosen.keep / name.replace(" ", "_")).write_bytes(outcome.data)
    counts = {"seed": chosen.seed, "tried": number, "cases": dict(sorted(cases.items()))}
    return counts | {"largest": largest, "failures": failures}
