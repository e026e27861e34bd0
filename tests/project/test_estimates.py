"""What `craton plan` says a run will take: within a factor of 1.5 of what it takes, for grids and elements."""

import json
import time
from dataclasses import replace
from pathlib import Path

import benchscript
import pytest

import craton
from craton.backends import backend
from craton.driver import trial
from craton.methods import METHODS

RECORDED = Path(__file__).parents[2] / "bench" / "results" / "estimates_cpu.json"


def test_recorded_estimates_hold():
    """Of `python -m bench estimates`: orders, degrees, precisions, rheologies."""
    rows = json.loads(RECORDED.read_text())["steps"]
    kinds = {row["case"].split(",")[0] for row in rows}
    assert kinds == {"fd", "sem"} and len(rows) >= 14
    for row in rows:
        assert 1 / 1.5 < row["foretold"] / row["measured"] < 1.5, row


@pytest.mark.parametrize(("method", "file"), [("fd", "fd_h200"), ("sem", "sem_bench_h200")])
def test_what_is_assumed_of_gpus_holds_for_large_cases(method, file):
    """Steps are not timed there; the share of the copy bandwidth is that of recorded runs within the same factor."""
    rows = json.loads(RECORDED.with_name(f"{file}.json").read_text())["cases"]
    reached = [row["fraction_of_copy_bandwidth"] for row in rows if row["points"] > 2e7]
    assert len(reached) > 3
    assert all(1 / 1.5 < METHODS[method].reached / share < 1.5 for share in reached)


@pytest.mark.parametrize("method", ["fd", "sem"])
def test_a_trial_foretells_the_loop(method):
    """CPU seconds of one thread, since other work may hold the cores; the best of three attempts, since it disturbs caches as well."""
    estimates, machine = benchscript.load("cases.estimates"), backend("cpu", threads=1)
    if method == "fd":
        scenario = estimates.cube(48, "free", "cpml")
        plan = craton.plan(scenario)
    else:
        box = estimates.Box("a few elements", (6, 6, 6), estimates.LOSS)
        scenario, plan = box.scenario(), box.plan(machine)
    ratios = []
    for _ in range(3):
        foretold = trial.step_seconds(plan, machine, time.process_time)
        measured = estimates.loop_seconds(scenario, plan, machine, repeats=3)
        ratios.append(foretold / measured)
        if 1 / 1.5 < ratios[-1] < 1.5:
            break
    assert 1 / 1.5 < ratios[-1] < 1.5, ratios


@pytest.mark.parametrize("steps", [1, 2])
def test_a_trial_takes_no_more_steps_than_the_run(steps):
    plan = replace(craton.plan(benchscript.load("cases.estimates").cube(26)), steps=steps)
    assert trial.step_seconds(plan, backend("cpu", threads=1)) > 0


def test_large_grids_are_timed_on_a_part(monkeypatch):
    """`craton plan` takes the memory of a part of a large grid; seconds are those of the whole."""
    from smallcase import TEXT

    from craton.backends.cpu import CPU
    from craton.driver import run, trial, waves
    from craton.scenario import loads

    scenario = loads(TEXT)
    planned, timed = run.plan(scenario), []
    monkeypatch.setattr(trial, "LARGEST", planned.nbytes // 3)
    seconds = trial.step_seconds
    monkeypatch.setattr(trial, "step_seconds", lambda plan, machine: (timed.append(plan), 1e-9 * plan.points)[1])
    assert waves.trial(scenario, planned, CPU(threads=1)) == pytest.approx(1e-9 * planned.points)
    (part,) = timed
    assert part.nbytes < planned.nbytes / 2 and not part.subdomain.neighbours
    assert seconds(part, CPU(threads=1)) > 0
