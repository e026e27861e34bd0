"""bench/: every case makes a scenario, every module has parts, and what runs on a GPU under compute-sanitizer runs on a CPU."""

import json

import benchscript
import pytest

from craton.backends.cpu import CPU

harness = benchscript.load("harness")


@pytest.mark.parametrize("name", harness.NAMES)
def test_every_module_has_parts(name):
    module = benchscript.load(f"cases.{name}")
    assert module.PARTS and all(map(callable, module.PARTS.values()))
    assert "usage" in module.__doc__ or "--set" in module.__doc__


def test_every_case_makes_a_scenario():
    parity = benchscript.load("cases.parity")
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
    made = harness.expanded(group)
    assert list(made) == ["x, 32", "x, 64", "y, 32", "y, 64"]
    assert made["x, 32"]["run"] == {"order": 2, "bits": 32} and made["x, 32"]["model"] == {"kind": "a"}
    assert made["y, 32"]["source"] == [1, 2] and made["y, 32"]["model"]["kind"] == "b"
    assert made["x, 64"]["model"] == {"kind": "b", "q": {"p": 1, "s": 2}}


def test_small_runs_and_what_is_written(tmp_path, capsys):
    """One case of both methods alone, and one that is compared; a part that is not there ends with its name."""
    out, words = tmp_path / "small.json", ["--device", "cpu", "--threads", "1"]
    only = ["--only", "fd, VTI, float32", "sem, sea, float64"]
    assert harness.main(["parity", "layers", "--small", "--out", str(out), *only, *words]) == 0
    kept = json.loads(out.read_text())
    assert [row["case"] for row in kept["layers"]] == only[1:] and kept["device"] and kept["commit"]
    assert "2 of 2 rows passed" in capsys.readouterr().out
    assert harness.main(["parity", "plane", "--only", "SH, order 2", "--out", str(out), *words]) == 0
    (row,) = json.loads(out.read_text())["plane"]
    assert row["largest"] == row["worst_waveform"] == 0 and row["limit"] == 1e-12 and row["peak"] > 0
    with pytest.raises(SystemExit, match="parity has no part planes"):
        harness.main(["parity", "planes", *words])


def test_a_case_that_fails_is_told(monkeypatch, capsys):
    parity = benchscript.load("cases.parity")
    monkeypatch.setattr(parity, "few_steps", None)
    assert harness.main(["parity", "plane", "--small", "--device", "cpu"]) == 1
    assert "0 of 6 rows passed" in capsys.readouterr().out


def test_figures_of_differences():
    assert harness.difference([1.0, 3.0], [1.0, 2.0]) == {"largest": 0.5, "l2": pytest.approx(0.2**0.5)}
    assert harness.difference([0.0], [0.0]) == {"largest": 0.0, "l2": 0.0}


def test_kernels_of_elements_are_checked_on_any_machine():
    """Here the CPU against itself: what `bench elements` compares on a GPU."""
    elements = benchscript.load("cases.elements")
    kind = elements.kind_of(2, {})
    for precision in ("float64", "float32"):
        row = elements.compare(CPU(threads=1), kind, precision)
        assert row["passed"] and max(row["force"], row["memory"]) < (1e-6 if precision == "float32" else 1e-15)
