"""bench/: cases make scenarios, launch every operator, see differences and go on after failures; recorded estimates hold.

Estimates are what `craton plan` says a run will take: within a factor of 1.5 of what it takes, for grids and elements.
"""

import json
import time
from dataclasses import replace

import benchscript
import numpy as np
import pytest
from paths import ROOT
from smallcase import TEXT

import craton
from craton.backends import backend
from craton.backends.cpu import CPU
from craton.driver import run, waves
from craton.driver import run as driver
from craton.methods import METHODS
from craton.methods.finite_difference import catalogue
from craton.methods.waves.ranks import plan_of_rank
from craton.scenario import loads

RECORDED = ROOT / "bench" / "results" / "estimates_cpu.json"
ONE_THREAD = ["--device", "cpu", "--threads", "1"]
harness, every, parity = (benchscript.load(name) for name in ("harness", "cases.every", "cases.parity"))


def test_every_module_has_parts():
    for name in harness.NAMES:
        module = benchscript.load(f"cases.{name}")
        assert module.PARTS and all(map(callable, module.PARTS.values())), name
        assert "usage" in module.__doc__ or "--set" in module.__doc__, name


def test_every_case_makes_a_scenario():
    groups = [harness.scenarios(name) for name in ("fd", "plane", "layers_large")]
    groups += [parity.layers(), parity.rheology(), parity.full(), parity.earth_force()]
    titles = [name for group in groups for name in group]
    assert len(titles) == len(set(titles)) == 32 + 6 + 2 + 12 + 12 + 2 + 1
    assert all(make().receivers for group in groups for make in group.values())


def test_cases_are_tables_with_changes():
    group = {
        "base": {"model": {"kind": "a"}, "run": {"order": 4}, "source": [1]},
        "models": {"soft": {"kind": "b", "q": {"p": 1}}},
        "cases": {"x": {"run": {"order": 2}}, "y": {"model": "soft", "source+": [2]}},
        "axes": [{"32": {"run": {"bits": 32}}, "64": {"model": {"like": "soft", "q": {"s": 2}}}}],
    }
    cases = harness.expanded(group)
    assert list(cases) == ["x, 32", "x, 64", "y, 32", "y, 64"]
    assert cases["x, 32"]["run"] == {"order": 2, "bits": 32} and cases["x, 32"]["model"] == {"kind": "a"}
    assert cases["y, 32"]["source"] == [1, 2] and cases["y, 32"]["model"]["kind"] == "b"
    assert cases["x, 64"]["model"] == {"kind": "b", "q": {"p": 1, "s": 2}}


@pytest.mark.long
def test_small_runs_and_what_is_written(tmp_path, capsys):
    """One case of both methods alone, and one that is compared; a part that is not there ends with its name."""
    out, only = tmp_path / "small.json", ["--only", "fd, VTI, float32", "sem, sea, float64"]
    assert harness.main(["parity", "layers", "--small", "--out", str(out), *only, *ONE_THREAD]) == 0
    results = json.loads(out.read_text())
    assert [row["case"] for row in results["layers"]] == only[1:] and results["device"] and results["commit"]
    assert "2 of 2 rows passed" in capsys.readouterr().out
    assert harness.main(["parity", "plane", "--only", "SH, order 2", "--out", str(out), *ONE_THREAD]) == 0
    (row,) = json.loads(out.read_text())["plane"]
    assert row["largest"] == row["worst_waveform"] == 0 and row["limit"] == 1e-12 and row["peak"] > 0
    with pytest.raises(SystemExit, match="parity has no part planes"):
        harness.main(["parity", "planes", *ONE_THREAD])


def test_a_case_that_fails_is_told(monkeypatch, capsys):
    monkeypatch.setattr(parity, "few_steps", None)
    assert harness.main(["parity", "plane", "--small", "--device", "cpu"]) == 1
    assert "0 of 6 rows passed" in capsys.readouterr().out


def test_kernels_of_elements_are_checked_on_any_machine():
    """Here the CPU against itself: what `bench elements` compares on a GPU."""
    elements = benchscript.load("cases.elements")
    for precision, bound in (("float64", 1e-15), ("float32", 1e-6)):
        row = elements.compare(CPU(threads=1), elements.kind_of(2, {}), precision)
        assert row["passed"] and max(row["force"], row["memory"]) < bound


@pytest.mark.long
@pytest.mark.parametrize(
    "waves, never", [(None, set()), ("P-SV", {"window", "pack", "unpack"}), ("SH", {"window", "pack_2", "unpack_2"})]
)
def test_every_operator_is_launched(waves, never):
    """Those of attenuation with each of their storages. Never: counts of fields that a dimension does not have, and no point of a
    fault in SH.
    """
    launched = set()
    for name, (make, how) in every.cases().items():
        if next((w for w in ("P-SV", "SH") if name.startswith(w)), None) == waves:
            plan = driver.plan(make())
            launched |= set((plan_of_rank(plan, 0, 2, how) if isinstance(how, tuple) else plan).operators)
            lossy = [op.name for op in plan.operators.values() if dict(op.defines).get("ATTENUATION")]
            launched |= {f"{op}_{name.split()[-1]}" for op in lossy}
    assert set(catalogue.operators(4, waves)) - launched <= never


@pytest.mark.long
def test_same_machine_agrees_in_every_bit_and_alone_it_compares_nothing(tmp_path, monkeypatch, capsys):
    """Names are given by their beginnings; several ranks of one machine against one, sums of series of both storages. Alone, as for
    compute-sanitizer: one machine, finite numbers.
    """
    out = tmp_path / "every.json"
    words = ["--device", "hostile", "--threads", "1", "--steps", "4", "--only", "cpml", "SH cpml", "sums of"]
    assert harness.main(["every", *words, "--out", str(out)]) == 0
    rows = json.loads(out.read_text())["cases"]
    assert len(rows) == 10 and all(row["passed"] and row["worst"] == 0 for row in rows)
    assert rows[0]["l2"].keys() >= {"velocities", "stresses", "recorded pressure"}
    assert min(rows[0]["peaks"].values()) > 0 and all(row["steps"] == 4 for row in rows[:8])
    assert [row["operators"] for row in rows[8:]] == [["sum_series"], ["sum_series_16"]]
    assert "10 of 10 rows passed" in capsys.readouterr().out
    monkeypatch.setattr(every, "difference", None)
    only = ["--only", "topography", "Q paired, resumed"]
    assert harness.main(["every", *ONE_THREAD, "--steps", "2", "--alone", *only]) == 0
    assert "peak" in capsys.readouterr().out


def test_a_difference_fails_and_the_rest_goes_on(monkeypatch, capsys):
    right, calls = every.outcome, []

    def wrong(scenario, plan, machine, steps):
        fields, record = right(scenario, plan, machine, steps)
        calls.append(machine)
        if len(calls) == 1:
            fields["szz"] = fields["szz"] + np.float32(1e-3) * np.abs(fields["szz"]).max()
        if len(calls) == 3:
            raise RuntimeError("no such kernel")
        return fields, record

    monkeypatch.setattr(every, "outcome", wrong)
    only = ["--only", "P-SV rigid", "P-SV cpml", "P-SV sponge"]
    assert harness.main(["every", *ONE_THREAD, "--steps", "2", *only]) == 1
    printed = capsys.readouterr().out
    assert all(
        words in printed for words in ("(stresses)", "FAILED: RuntimeError: no such kernel", "2 of 4 rows passed")
    )


def test_recorded_estimates_hold():
    """Of `python -m bench estimates`: orders, degrees, precisions, rheologies."""
    rows = json.loads(RECORDED.read_text())["steps"]
    assert {row["case"].split(",")[0] for row in rows} == {"fd", "sem"} and len(rows) >= 14
    for row in rows:
        assert 1 / 1.5 < row["foretold"] / row["measured"] < 1.5, row


@pytest.mark.parametrize(("method", "file"), [("fd", "fd_h200"), ("sem", "sem_bench_h200")])
def test_what_is_assumed_of_gpus_holds_for_large_cases(method, file):
    """Steps are not timed there; the share of the copy bandwidth is that of recorded runs within the same factor."""
    rows = json.loads(RECORDED.with_name(f"{file}.json").read_text())["cases"]
    reached = [row["fraction_of_copy_bandwidth"] for row in rows if row["points"] > 2e7]
    assert len(reached) > 3
    assert all(1 / 1.5 < METHODS[method].reached / share < 1.5 for share in reached)


@pytest.mark.long
@pytest.mark.parametrize("method", ["fd", "sem"])
def test_a_trial_foretells_the_loop(method):
    """CPU seconds of one thread, since other work may hold the cores; the best of three attempts, since it disturbs caches as well."""
    estimates, machine = benchscript.load("cases.estimates"), backend("cpu", threads=1)
    box = estimates.Box("a few elements", (6, 6, 6), estimates.LOSS)
    scenario = estimates.cube(48, "free", "cpml") if method == "fd" else box.scenario()
    plan, ratios = craton.plan(scenario) if method == "fd" else box.plan(machine), [0]
    while not 1 / 1.5 < ratios[-1] < 1.5 and len(ratios) <= 3:
        foretold = waves.step_seconds(plan, machine, time.process_time)
        ratios.append(foretold / estimates.loop_seconds(scenario, plan, machine, repeats=3))
    assert 1 / 1.5 < ratios[-1] < 1.5, ratios


def test_large_grids_are_timed_on_a_part_and_no_more_steps_than_the_run_takes(monkeypatch):
    """`craton plan` takes the memory of a part of a large grid; seconds are those of the whole."""
    scenario, machine, seconds, timed = loads(TEXT), CPU(threads=1), waves.step_seconds, []
    planned = run.plan(scenario)
    monkeypatch.setattr(waves, "TRIAL_BYTES", planned.nbytes // 3)
    monkeypatch.setattr(waves, "step_seconds", lambda plan, machine: (timed.append(plan), 1e-9 * plan.points)[1])
    assert waves.trial(scenario, planned, machine) == pytest.approx(1e-9 * planned.points)
    (part,) = timed
    assert part.nbytes < planned.nbytes / 2 and not part.subdomain.neighbours
    assert all(seconds(replace(part, steps=steps), machine) > 0 for steps in (1, 2, part.steps))
