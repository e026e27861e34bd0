"""Thousands of runs in one process: memory, descriptors and threads must not grow; eight runs at once give the bits of one."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import gravitycase
import psutil
from smallcase import changed, opened

import craton
from attack.survey import survey_of
from craton.scenario import loads

SIDE_BY_SIDE, ROUNDS, MOST = 8, 50, 5000
LIMITS = {"bytes": 20 << 20, "descriptors": 0, "threads": 0}  # of what grows from the 10th part on


def usage(runs):
    """Resident bytes, descriptors and threads of this process after some runs."""
    gc.collect()
    this = psutil.Process()
    return {"runs": runs, "bytes": this.memory_info().rss, "descriptors": this.num_fds(), "threads": this.num_threads()}


def attack(chosen):
    """Run small scenarios of two methods in turn; growth from the 10th part on."""
    wave, gravity = survey_of(2, 10).shots[0].scenario, loads(gravitycase.SMALL)
    most, end, done, history = min(chosen.most, MOST), time.monotonic() + chosen.seconds, 0, []
    while done < most and time.monotonic() < end:
        craton.run(wave if done % 2 else gravity, progress=False, warn=False)
        done += 1
        if done in (most // 10, 100) or done % 500 == 0:
            history.append(usage(done))
    history.append(usage(done))
    grown = {key: history[-1][key] - history[0][key] for key in LIMITS}
    failures = {key: grown[key] for key, limit in LIMITS.items() if grown[key] > limit}
    rounds = min(ROUNDS, most)
    if different := side_by_side(wave, rounds):
        failures["runs side by side that differ"] = different
    counts = {"tried": done, "runs side by side": SIDE_BY_SIDE * rounds, "history": history}
    return counts | {"failures": failures}


def side_by_side(scenario, rounds):
    """How many of eight runs at once, in memory and into folders in turn, give other bits than one alone."""
    pictured, different = loads(changed(("duration = 1.0", "duration = 0.5")), ("run.threads=1",)), 0
    with TemporaryDirectory(prefix="soak") as place, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        cases = [(scenario, None), (pictured, Path(place))]
        alone = [bits_of(case, folder and folder / "alone") for case, folder in cases]
        for number in range(rounds):
            case, folder = cases[number % 2]
            outs = [folder and folder / f"{number}.{n}" for n in range(SIDE_BY_SIDE)]
            different += sum(bits != alone[number % 2] for bits in pool.map(bits_of, [case] * SIDE_BY_SIDE, outs))
    return different


def bits_of(scenario, out):
    """Bytes of the waveforms of a run, and of the pictures where it has a folder."""
    dataset = craton.run(scenario, progress=False, warn=False, **({"out": out} if out else {})).dataset
    pictures = [opened(out, "snapshots/section")] if out else []
    return [variable.values.tobytes() for group in (dataset, *pictures) for variable in group.data_vars.values()]
