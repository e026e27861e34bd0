"""The command line: what each command prints, writes and returns, and how a run ends that is stopped or explodes."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import types
from functools import partialmethod
from importlib import metadata
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from common import manifest, stored
from kernelcase import needs_nvrtc
from paths import ROOT
from smallcase import TEXT, changed, write

import craton
from craton import benchmark
from craton.backends.cpu import CPU
from craton.cli import main
from craton.driver import run as driver
from craton.driver import waves
from craton.driver.observers.guard import Guard
from craton.host.compile import compiler
from craton.methods import METHODS
from craton.methods.finite_difference import bench as fd_bench
from craton.methods.gravity import bench as gravity_bench
from craton.methods.spectral_element import bench as sem_bench
from craton.scenario import loads

COMMANDS = "run resume survey plan new plot convert schema info kernels bench validate"
EXAMPLES = ROOT / "examples"
START = """
import os, sys, time
def look(word, *names):
    print(word, *(name for name in names if name in sys.modules), flush=True)
def end(self, step):
    look("MODULES", "xarray", "obspy", "matplotlib", "scipy.optimize", "pandas")
    os._exit(0)
from craton.cli import main
main(["--help"])
look(f"HELP {time.process_time()}", "numpy", "pydantic", "scipy", "xarray", "zarr", "obspy", "matplotlib", "cupy")
from craton.driver.observers.guard import Guard
Guard.due = end
main(["run", "small.toml", "-q"])
"""


@pytest.fixture(autouse=True)
def small(tmp_path):
    """The folder in which commands run has small.toml."""
    write(tmp_path)


def at_step(monkeypatch, number, act):
    """Let something happen to the program of a run after a step."""
    due = Guard.due

    def acted(self, step):
        if step == number + 1:
            act(self.growth.program)
        return due(self, step)

    monkeypatch.setattr(Guard, "due", acted)


# --- starting ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.costly("a process of its own, whose imports are looked at: they creep in with any change")
def test_help_and_the_first_step_need_no_heavy_import(cli):
    """Half a second of CPU time is asked of help; a loaded machine makes times long, so what is imported is looked at as well.
    What only reading, drawing and exporting need is imported after the first step, or never.
    """
    run = subprocess.run([sys.executable, "-c", START], text=True, capture_output=True, check=True)
    text, seconds, at_step = re.split(r"^HELP|^MODULES", run.stdout, flags=re.MULTILINE)
    assert all(re.search(rf"\b{name}\b", text) for name in COMMANDS.split())
    assert float(seconds) < 0.5 and at_step == "\n"  # and nothing behind it


def test_dask_stays_out_of_commands_that_only_read_results(monkeypatch):
    """Though it is installed: xarray would import it, which takes half a second."""
    for command in ("report", "plan"):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["craton", command, "--help"])
            patch.setitem(sys.modules, "dask", "put back afterwards")
            del sys.modules["dask"]
            assert main() == 0 and (sys.modules.get("dask", "missing") is None) == (command == "report")


def test_words_are_completed(cli, monkeypatch):
    assert "Usage: craton plan" in cli("plan --help")[0] and "--set" in cli("plan --help")[0]
    assert "Usage: craton" in "".join(cli("", code=2))
    for name, words in (("COMP_WORDS", "craton pl"), ("COMP_CWORD", "1"), ("_TYPER_COMPLETE_ARGS", "craton pl")):
        monkeypatch.setenv(name, words)
    for shell in ("bash", "zsh"):
        monkeypatch.setenv("_CRATON_COMPLETE", f"complete_{shell}")
        proposed = cli("")[0]
        assert "plan" in proposed and "plot" in proposed and "bench" not in proposed


def test_module_is_the_command_and_its_reader_may_go_away():
    """As in `craton schema | head -1`, whose text is longer than what a pipe holds."""
    words = [sys.executable, "-m", "craton", "schema"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.read(1) == b"{"
        running.stdout.close()
        error = running.stderr.read()
        assert running.wait() == 0 and error == b""


# --- run --------------------------------------------------------------------------------------------------------------------------------


def test_run_writes_what_it_says(cli):
    pytest.importorskip("obspy")
    out, err = cli("run small.toml")
    for words in ("31 x 31 x 26 = 0.02 million points", "CPU", "MiB"):
        assert words in out
    assert re.search(r"steps +85 of 0\.0156", out) and re.search(r"done: 85 steps, [\d.]+ [MG]point-steps/s", out)
    assert "step 85 of 85" in err
    listed = {line.split()[0] for line in out.splitlines() if line.startswith("  small/")}
    names = ["event.quakeml", "result.zarr", "run.json", "scenario.toml", "stations.xml", "waveforms.mseed"]
    assert listed == {f"small/{p.name}" for p in Path("small").iterdir()} == {f"small/{name}" for name in names}
    assert manifest("small")["state"] == "finished"
    assert stored("small").velocity.sizes == {"receiver": 4, "component": 3, "time": 64}
    assert craton.load("small/scenario.toml") == craton.load("small.toml")


def test_run_quietly(cli):
    """Warnings alone are printed; without receivers or snapshots, that nothing is recorded."""
    out, err = cli("run small.toml -q --set time.start=0.9")
    assert out == "" and err and all(line.startswith("warning: ") for line in err.splitlines())
    right = "--set time.duration=2 --set model.vp=3000 --set model.vs=1700"
    assert cli(f"run small.toml -o right -q {right}") == ("", "")
    Path("small.toml").write_text(TEXT[: TEXT.index("[[receivers]]")] + TEXT[TEXT.index("[output]") :])
    assert "nothing is recorded" in cli("run small.toml --force")[1] and manifest("small")["state"] == "finished"


def test_values_of_the_command_line_are_kept_and_a_finished_run_is_replaced_only_by_force(cli, monkeypatch):
    """And without ObsPy a run says what it could not write."""
    changes = "--set run.device=auto --device cpu --set source.0.wavelet.tau=0.1"
    words = f"run small.toml -o out {changes} --set", "time.duration=0.25 s"
    with monkeypatch.context() as patch:
        for name in ("obspy", "obspy.core"):
            patch.setitem(sys.modules, name, None)  # as if not installed
        out, err = cli(*words)
    assert "waveforms.mseed" not in out and "result.zarr" in out and manifest("out")["state"] == "finished"
    assert "out/waveforms.mseed was not written" in err and "craton[seis]" in err
    run, before = craton.load("out/scenario.toml"), Path("out/run.json").read_bytes()
    assert (run.time.duration, run.source[0].wavelet.tau, run.run.device) == (0.25, 0.1, "cpu")
    assert stored("out").time[-1] < 0.27
    err = cli(*words, code=2)[1]
    assert "out holds a finished run" in err and "--force" in err and Path("out/run.json").read_bytes() == before
    cli(*words, "--force")
    assert Path("out/run.json").read_bytes() != before


# --- how a run ends otherwise -----------------------------------------------------------------------------------------------------------

LONG = "run small.toml -o out --set time.duration=10"


@pytest.mark.parametrize("value", [np.nan, -1e30])
def test_explosion_is_stopped_within_200_steps_and_what_was_recorded_is_kept(value, cli, monkeypatch):
    """One bad value appears at one point after step 73."""
    at_step(monkeypatch, 73, lambda program: program.grid("vy").__setitem__((20, 11, 12), value))
    _, err = cli(LONG, code=4)
    words = r"unstable at step \d+ of \d+ \(t = .* s\): v[xyz] = .* m/s at x = \d+, y = \d+, z = -?\d+ m"
    assert re.search(f"craton: {words}", err) and "try a smaller time.step" in err and "kept: out/result.zarr" in err
    run, waves = manifest("out"), stored("out")
    assert run["state"] == "failed" and "unstable" in run["reason"] and 73 < run["steps_done"] <= 73 + 200
    velocity = waves.velocity.isel(time=slice(0, 73))
    assert waves.sizes["time"] == run["steps_done"] and np.isfinite(velocity).all() and np.abs(velocity).max() > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_signal_between_steps_ends_cleanly(number, cli, monkeypatch):
    at_step(monkeypatch, 73, lambda program: os.kill(os.getpid(), number))
    _, err = cli(LONG, code=75)
    assert f"stopped by {number.name} after step" in err and "kept: out/result.zarr" in err
    run, waves = manifest("out"), stored("out")
    assert run["state"] == "interrupted" and 73 <= run["steps_done"] < 200
    assert waves.sizes["time"] == run["steps_done"] and np.isfinite(waves.velocity).all()
    assert float(np.diff(waves.time).max()) == pytest.approx(0.015669, rel=1e-6)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_ends_before_the_first_step(cli, monkeypatch):
    monkeypatch.setattr(waves, "check_memory", lambda *a: os.kill(os.getpid(), signal.SIGTERM))
    assert "interrupted" in cli("run small.toml -o out", code=130)[1] and not Path("out").exists()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    for error, code in ((MemoryError(), 3), (RuntimeError("quite unexpected"), 1), (KeyboardInterrupt(), 130)):
        monkeypatch.setattr(driver, "plan", Mock(side_effect=error))
        _, err = cli("plan small.toml", code=code)
        assert len(err.splitlines()) <= 2 and str(error) in err
        cli("plan small.toml --debug", code=code)


# --- plan, new, plot, info --------------------------------------------------------------------------------------------------------------


def test_plan_says_all_and_writes_nothing(cli, tmp_path):
    out, err = cli("plan small.toml --set", 'source.0.wavelet={ kind = "ricker", frequency = 8 }')
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]
    words = "stability limit", "f95", "phase velocity", "Mw", "wavefield", "memory traffic", "velocity"
    assert "31 x 31 x 26" in out and all(word in out for word in words)
    assert re.search(r"about ([\d.e+]+) (s|min|h) for (\d+) steps", out) and "by a few steps timed now" in out
    assert "points per wavelength" in err and "use a spacing of" in err


def test_estimate_follows_from_traffic():
    """Where steps are not timed, as on a GPU."""
    machine = types.SimpleNamespace(describe=lambda: "a machine", copy_bandwidth=lambda nbytes: 1e9)
    planned = craton.plan(loads(TEXT))
    traffic = planned.steps * sum(planned.traffic.values()) / 1e9
    for method, reached in (("fd", 0.8), ("sem", 0.52)):
        text = METHODS[method].estimate(planned, machine)
        assert f"about {traffic / reached:.2g} s for 85 steps" in text
        assert re.search(rf"copies 1\.0 GB/s.*\n.*steps reach {reached:.0%} of that", text)


def test_new_scenario_is_small_and_sound(cli):
    assert "craton run valley.toml" in cli("new valley")[0]
    planned = craton.plan(craton.load("valley.toml"))
    # under a minute at 10 Mpoint-steps/s, a tenth of what two cores do
    assert planned.warnings == [] and planned.grid.size * planned.steps < 60 * 10e6
    small = "--set time.duration=0.2 --set domain.spacing=200 --set boundaries.cpml.thickness=5"
    assert "next: craton plot valley" in cli(f"run valley.toml {small}")[0]
    before = Path("valley.toml").read_text()
    cli("new valley", code=2)
    assert Path("valley.toml").read_text() == before
    cli("new valley --force")


def test_examples_are_at_hand(cli, tmp_path):
    out, _ = cli("new --list")
    assert "two-layers " in out and "Two layers, strike-slip point source" in out
    assert len(out.splitlines()) == len(list(EXAMPLES.glob("*.toml"))) + 1
    for words in ("new two-layers", "new From_Files", "new from-files"):
        cli(words)
    assert Path("two-layers.toml").read_bytes() == (EXAMPLES / "two_layers.toml").read_bytes()
    assert craton.load("from-files.toml").source[0].file == str(tmp_path / "files" / "rupture.srf")
    assert Path("files/STATIONS").read_bytes() == (EXAMPLES / "files" / "STATIONS").read_bytes()
    Path("files/STATIONS").write_text("mine")
    assert "STATIONS is already there" in cli("new from_files", code=2)[1] and not Path("from_files.toml").exists()
    for name in ("", " ", ".toml"):
        assert "is not a name for a file" in cli("new", name, code=2)[1]


def test_info_names_everything_and_says_what_to_install(cli, monkeypatch):
    rows = dict(line.split(None, 1) for line in cli("info")[0].splitlines())
    names = "craton python numpy zarr obspy matplotlib processor memory compiler kernels GPU NVRTC"
    assert set(names.split()) <= set(rows) and rows["numpy"] == np.__version__ and "GiB" in rows["memory"]
    monkeypatch.setattr(metadata, "version", Mock(side_effect=metadata.PackageNotFoundError))
    out, _ = cli("info")
    assert "pip install 'craton[seis]'" in out and "pip install 'craton[plot]'" in out


# --- kernels ----------------------------------------------------------------------------------------------------------------------------


def test_kernels_lists_every_operator_of_a_plan(cli):
    listed = {line.split()[0] for line in cli("kernels")[0].splitlines()[1:]}
    sides = 'others = "sponge"\nwest = "periodic"\neast = "periodic"\nsouth = "rigid"\nbottom = "cpml"'
    for text in (TEXT, changed(('others = "cpml"', sides + "\nsponge = { thickness = 5 }"))):
        assert set(craton.plan(loads(text)).operators) <= listed
    assert {"attract", "attract_clusters", "attract_nodes", "gather", "collect"} <= listed


def test_kernel_text_is_what_the_compiler_gets(cli):
    """The text printed compiles as it is, with the flags printed; of gravity, terms of nodes are in double whatever is asked."""
    out, _ = cli("kernels velocity --order 2 --precision float64")
    assert "typedef double real;" in out and "#define R 1" in out
    head, text = out[: out.index("\n// velocity, float64, for ", 3)].split("\n", 1)
    flags = head.split("body: ")[1].split()
    assert flags[0] == compiler()[0]
    done = subprocess.run([*flags, "-", "-o", os.devnull, "-fsyntax-only"], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    for name, asked, bits in (("attract", 32, 32), ("attract", 64, 64), ("attract_nodes", 32, 64)):
        out, _ = cli(f"kernels {name} --precision float{asked}")
        real = {32: "float", 64: "double"}[bits]
        assert f"typedef {real} real;" in out and f"// {name}, float{bits}, for cuda" in out


def test_kernels_for_an_architecture(cli):
    needs_nvrtc()
    assert re.match(r"velocity, plain, sm_80: \d+ registers, 0 bytes spilled", cli("kernels velocity --arch sm_80")[0])
    assert "does not compile" in cli("kernels rigid --arch sm_7", code=1)[0]


# --- bench, validate --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def measured(cli, monkeypatch):
    """What `craton bench METHOD` prints and keeps, in a hurry."""
    copied = CPU.copy_bandwidth
    monkeypatch.setattr(CPU, "copy_bandwidth", lambda self: copied(self, 1 << 20))
    monkeypatch.setattr(benchmark, "SECONDS", 0.01)

    def call(method):
        out, _ = cli(f"bench {method} --device cpu -o speed.json")
        figures = json.loads(Path("speed.json").read_text())
        assert "copy" in out and figures["copy_bandwidth"] > 0 and figures["bench"] == method
        return out, figures["cases"]

    return call


def test_bench_measures(measured, monkeypatch):
    monkeypatch.setattr(fd_bench, "cases", lambda name, device: [fd_bench.case_of(fd_bench.cube(32))])
    out, (case,) = measured("fd")
    assert "Mpoint-steps/s" in out and case["points"] == 32**3 and case["point_steps_per_second"] > 0


@pytest.mark.costly("the only measurement of elements")
def test_bench_measures_elements(measured, monkeypatch):
    """Three of the cases at few elements: their rates and memory."""
    monkeypatch.setattr(sem_bench, "SIZES", {"cpu": (2, 2, 8)})
    brief = partialmethod(sem_bench.Box.scenario, time={"duration": 20})
    monkeypatch.setattr(sem_bench.Box, "scenario", brief)
    every = sem_bench.cases("cpu")
    monkeypatch.setattr(sem_bench, "cases", lambda device: [every[1], every[2], every[8]])
    out, cases = measured("sem")
    assert out.count("M elements/s") == 3
    operators = {"solid_corners_varying"}, {"solid_box"}, {"fluid_corners", "to_fluid", "stacey", "fluid_stacey"}
    for names, case in zip(operators, cases, strict=True):
        assert case["elements"] == 32 and case["elements_per_second"] > 0 and case["bytes_per_element"] > 1000
        assert names < set(case["operators"])


@pytest.mark.long
def test_bench_measures_gravity(measured, monkeypatch):
    """The cases of the CPU at few points and prisms: rates, whole calls, the method that auto took, and its error."""
    monkeypatch.setattr(gravity_bench, "CELLS", (70, 70, 10))
    monkeypatch.setattr(gravity_bench, "GRID", (12, 8))
    monkeypatch.setattr(gravity_bench, "SIZES", {"cpu": (200, (6, 4), (3, 2))})
    monkeypatch.setattr(gravity_bench, "seven_spheres", gravity_bench.seven_spheres.__wrapped__)
    out, cases = measured("gravity")
    rates, calls = cases[:4], cases[4:]
    assert out.count("Mpairs/s") == 8
    assert [case["precision"] for case in rates] == ["float64", "float64", "float32", "float32"]
    for case in rates:
        assert case["pairs"] == 200 * 24 and not case["whole_call"]
        assert min(case["pairs_per_second"], case["records_seconds"]) > 0
    assert [case["points"] for case in calls] == [6, 6, 96, 96]
    assert calls[0]["method"] == "direct" and calls[0]["prisms"] > 400
    for case in calls:
        assert case["lowest"] <= case["pairs_per_second"] <= case["highest"] and case["stated_error"]["g_z"] > 0


def test_validate_tells_failure_and_keeps_rows_and_figure(cli, monkeypatch):
    shared = {"what": "waves", "limit": 0.1}
    rows = [{"case": "one", **shared, "misfit": 0.004, "passed": True, "curves": (np.arange(9.0),) * 3}]
    rows += [{"case": "two", **shared, "misfit": 0.2, "passed": False}]
    importlib.import_module("craton.validation.figure")  # found by its name, also where its package is not one
    module = types.SimpleNamespace(CASES={"one": None, "two": None}, GROUPS={"fd": ("one", "two")})
    module.validate = lambda name, device, full: (row for row in rows if name in (None, "fd", row["case"]))
    monkeypatch.setitem(sys.modules, "craton.validation", module)
    monkeypatch.setattr(craton, "validation", module, raising=False)
    for words, code, message in (("", 4, "1 of 2 within"), ("one", 0, "1 of 1 within"), ("two", 4, "0.2")):
        assert message in cli(f"validate {words}", code=code)[0]
    _, err = cli("validate ones", code=2)
    assert 'NAME: there is no case "ones"; did you mean "one"?' in err and "write one of fd, one or two" in err
    pytest.importorskip("matplotlib")
    cli("validate fd -o rows.json --figure rows.png", code=4)
    written = json.loads(Path("rows.json").read_text())
    assert [set(row) for row in written["validation"]] == [{"case", "what", "misfit", "limit", "passed"}] * 2
    assert written["device"] and Path("rows.png").read_bytes().startswith(b"\x89PNG")
    for option, place, code in (
        ("-o", "no/rows.json", 3),
        ("--figure", "rows.nope", 2),
        ("--figure", "no/rows.png", 3),
    ):
        _, err = cli(f"validate one {option} {place}", code=code)
        assert place in err and option in err
