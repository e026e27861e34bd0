"""bench/cases/every.py: its cases launch every operator there is, its measure sees a difference, and it goes on after a failure."""

import json

import benchscript
import numpy as np
import pytest

from craton import api
from craton.methods.finite_difference import catalogue
from craton.methods.shared.ranks import plan_of_rank

# Launched by no scenario: counts of fields that a dimension does not have, no point of a fault in SH.
NEVER = {"P-SV": {"window", "pack", "unpack"}, "SH": {"window", "pack_2", "unpack_2"}}


@pytest.fixture(scope="module")
def every():
    """The cases as a module."""
    return benchscript.load("cases.every")


def launched(every, waves):
    """Names of the operators that the cases of some waves launch, those of attenuation with their storage."""
    found = set()
    for name, (make, how) in every.cases().items():
        if next((w for w in ("P-SV", "SH") if name.startswith(w)), None) == waves:
            plan = api.plan(make())
            found |= set((plan_of_rank(plan, 0, 2, how) if isinstance(how, tuple) else plan).operators)
            lossy = [op.name for op in plan.operators.values() if dict(op.defines).get("ATTENUATION")]
            found |= {f"{op}_{name.split()[-1]}" for op in lossy}
    return found


def run(*words):
    """Exit code of `python -m bench every`."""
    return benchscript.load("harness").main(["every", *words])


@pytest.mark.parametrize("waves", [None, "P-SV", "SH"])
def test_every_operator_is_launched(every, waves):
    assert set(catalogue.operators(4, waves)) - launched(every, waves) <= NEVER.get(waves, set())


def test_same_machine_agrees_in_every_bit(every, tmp_path, capsys):
    """Names are given by their beginnings; several ranks of one machine against one, and results are on disk."""
    out = tmp_path / "every.json"
    words = ["--device", "hostile", "--threads", "1", "--steps", "4", "--only", "cpml", "SH cpml", "--out", str(out)]
    assert run(*words) == 0
    rows = json.loads(out.read_text())["cases"]
    assert len(rows) == 8 and all(row["passed"] and row["worst"] == 0 and row["steps"] == 4 for row in rows)
    assert (
        rows[0]["l2"].keys() >= {"velocities", "stresses", "recorded pressure"} and min(rows[0]["peaks"].values()) > 0
    )
    assert "8 of 8 rows passed" in capsys.readouterr().out


def test_a_difference_fails_and_the_rest_goes_on(every, monkeypatch, capsys):
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
    words = ["--device", "cpu", "--threads", "1", "--steps", "2", "--only", "P-SV rigid", "P-SV cpml", "P-SV sponge"]
    assert run(*words) == 1
    said = capsys.readouterr().out
    assert "(stresses)" in said and "FAILED: RuntimeError: no such kernel" in said and "2 of 4 rows passed" in said


def test_alone_it_compares_nothing(every, monkeypatch, capsys):
    """As for compute-sanitizer: one machine, finite numbers."""
    monkeypatch.setattr(every, "difference", None)
    words = [
        "--device",
        "cpu",
        "--threads",
        "1",
        "--steps",
        "2",
        "--alone",
        "--only",
        "topography",
        "Q paired, resumed",
    ]
    assert run(*words) == 0
    assert "peak" in capsys.readouterr().out


def test_sums_of_series_are_compared(tmp_path):
    """Both storages; one machine against itself."""
    out = tmp_path / "sums.json"
    assert run("--device", "cpu", "--threads", "1", "--only", "sums of", "--out", str(out)) == 0
    rows = json.loads(out.read_text())["cases"]
    assert [row["operators"] for row in rows] == [["sum_series"], ["sum_series_16"]]
    assert all(row["passed"] and row["worst"] == 0 for row in rows)
