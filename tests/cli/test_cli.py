"""The command line: what each command prints, writes and returns, and how a run ends that is stopped or explodes."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
from smallcase import write

import craton
from craton.cli import main

COMMANDS = (
    "run",
    "resume",
    "survey",
    "plan",
    "new",
    "plot",
    "convert",
    "schema",
    "info",
    "kernels",
    "bench",
    "validate",
)
EXAMPLES = Path(__file__).parents[2] / "examples"
HEAVY = ("numpy", "pydantic", "scipy", "xarray", "zarr", "obspy", "matplotlib", "cupy")


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command line in a folder of its own: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        capsys.readouterr()
        code = main([str(w) for w in words])
        return code, *capsys.readouterr()

    return call


def process(*words, cwd=None, **options):
    """The program in a process of its own, when it has ended."""
    return subprocess.run([sys.executable, "-m", "craton", *words], cwd=cwd, text=True, capture_output=True, **options)


def told(out):
    """What run.json says."""
    return json.loads((Path(out) / "run.json").read_text())


def recorded(out):
    """The waveforms in OUT."""
    import xarray

    return xarray.open_zarr(Path(out) / "result.zarr").load()


# --- starting ---------------------------------------------------------------------------------------------------------------------------


def test_help_answers_at_once():
    """Half a second of CPU time is asked; a loaded machine makes times long, so what is imported is looked at as well."""
    code = "import sys, time\nfrom craton.cli import main\nmain(['--help'])\n"
    code += f"print(time.process_time(), *(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    *text, last = done.stdout.splitlines()
    seconds, *heavy = last.split()
    assert not heavy
    assert float(seconds) < 0.5
    assert all(re.search(rf"\b{name}\b", "\n".join(text)) for name in COMMANDS)


@pytest.mark.parametrize("command", ["report", "plan"])
def test_dask_stays_out_of_commands_that_only_read_results(command):
    """Though it is installed: xarray would import it, which takes half a second."""
    code = f"import sys\nsys.argv = ['craton', '{command}', '--help']\nfrom craton.cli import main\nmain()\n"
    code += "from importlib.util import find_spec\nprint(find_spec('dask') is None)"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.stdout.split()[-1] == str(command == "report")


def test_first_step_needs_no_heavy_import(tmp_path):
    """Warm start: what only reading, drawing and exporting need is imported after the first step, or never."""
    write(tmp_path)
    code = """
import sys
from craton.driver.recorder import Recorder
sample = Recorder.sample
def spy(self, step):
    if step == 0:
        print(*(m for m in ("xarray", "obspy", "matplotlib", "scipy.optimize", "pandas") if m in sys.modules), "looked", file=sys.stderr)
    sample(self, step)
Recorder.sample = spy
from craton.cli import main
sys.exit(main(["run", "small.toml", "--quiet"]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert "looked" in done.stderr.splitlines(), done.stderr


def test_module_is_the_command():
    done = process("plan", "--help")
    assert done.returncode == 0 and "Usage: craton plan" in done.stdout and "--set" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell):
    words = {
        "COMP_WORDS": "craton pl",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "craton pl",
        "_CRATON_COMPLETE": f"complete_{shell}",
    }
    done = process(env=os.environ | words)
    assert done.returncode == 0 and "plan" in done.stdout and "plot" in done.stdout and "bench" not in done.stdout


def test_nothing_said_shows_help(cli):
    code, out, err = cli()
    assert code == 2 and "Usage: craton" in out + err


def test_reader_that_goes_away():
    """As in `craton kernels velocity | head`."""
    with subprocess.Popen(
        [sys.executable, "-m", "craton", "kernels", "velocity"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stdout.close()
        error = running.stderr.read()
        assert running.wait() == 0 and error == b""


# --- run --------------------------------------------------------------------------------------------------------------------------------


def test_run_writes_what_it_says(cli, tmp_path):
    pytest.importorskip("obspy")
    write(tmp_path)
    code, out, err = cli("run", "small.toml")
    assert code == 0
    assert (
        "31 x 31 x 26 = 0.02 million points" in out
        and "CPU" in out
        and re.search(r"steps +85 of 0\.0156", out)
        and "MiB" in out
    )
    assert re.search(r"done: 85 steps, [\d.]+ [MG]point-steps/s", out)
    assert "step 85 of 85" in err
    said = {line.split()[0] for line in out.splitlines() if line.startswith("  small/")}
    there = {f"small/{p.name}" for p in (tmp_path / "small").iterdir()}
    assert (
        said
        == there
        == {
            f"small/{n}"
            for n in ("event.quakeml", "result.zarr", "run.json", "scenario.toml", "stations.xml", "waveforms.mseed")
        }
    )
    assert told("small")["state"] == "finished" and recorded("small").velocity.sizes == {
        "receiver": 4,
        "component": 3,
        "time": 64,
    }
    assert craton.load("small/scenario.toml") == craton.load("small.toml")


def test_run_says_what_could_not_be_written(tmp_path):
    write(tmp_path, ("duration = 1.0", "duration = 0.3"))
    missing = "import sys; sys.modules['obspy'] = None"  # as if not installed
    code = f"{missing}\nfrom craton.cli import main\nsys.exit(main(['run', 'small.toml']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0 and told(tmp_path / "small")["state"] == "finished"
    assert "waveforms.mseed" not in done.stdout and "result.zarr" in done.stdout
    assert "small/waveforms.mseed was not written" in done.stderr and "craton[seis]" in done.stderr


def test_run_quietly(cli, tmp_path):
    write(tmp_path)
    code, out, err = cli("run", "small.toml", "-q", "--set", "time.start=0.9")
    assert code == 0 and out == ""
    assert err and all(line.startswith("warning: ") for line in err.splitlines())
    assert cli(
        "run",
        "small.toml",
        "-o",
        "right",
        "-q",
        "--set",
        "time.duration=2",
        "--set",
        "model.vp=3000",
        "--set",
        "model.vs=1700",
    )[1:] == ("", "")


def test_run_without_receivers_or_snapshots(cli, tmp_path):
    path = write(tmp_path)
    text = path.read_text()
    start, end = text.index("[[receivers]]"), text.index("[output]")
    path.write_text(text[:start] + text[end:])
    code, out, err = cli("run", "small.toml")
    assert code == 0 and "nothing is recorded" in err and told("small")["state"] == "finished"


def test_finished_run_is_replaced_only_by_force(cli, tmp_path):
    write(tmp_path)
    short = ("--set", "time.duration=0.3")
    assert cli("run", "small.toml", "-o", "out", *short)[0] == 0
    before = (tmp_path / "out" / "run.json").read_bytes()
    code, out, err = cli("run", "small.toml", "-o", "out", *short)
    assert (
        code == 2
        and "out holds a finished run" in err
        and "--force" in err
        and (tmp_path / "out" / "run.json").read_bytes() == before
    )
    assert cli("run", "small.toml", "-o", "out", "--force", *short)[0] == 0
    assert (tmp_path / "out" / "run.json").read_bytes() != before


def test_values_set_on_the_command_line_are_kept(cli, tmp_path):
    write(tmp_path, ('device = "cpu"', 'device = "auto"'))
    words = ("--set", "time.duration=0.25 s", "--set", "source.0.wavelet.tau=0.1", "--device", "cpu")
    assert cli("run", "small.toml", "-o", "out", *words)[0] == 0
    kept = craton.load("out/scenario.toml")
    assert (kept.time.duration, kept.source[0].wavelet.tau, kept.run.device) == (0.25, 0.1, "cpu")
    assert recorded("out").time[-1] < 0.27


# --- how a run ends otherwise -----------------------------------------------------------------------------------------------------------


def test_explosion_is_stopped_and_what_was_recorded_is_kept(cli, tmp_path, monkeypatch):
    """A step a third beyond the limit, which the plan would refuse if it were asked for."""
    from craton.methods.shared import timing

    monkeypatch.setattr(timing, "COURANT", 1.3)
    write(tmp_path, ("duration = 1.0", "duration = 10"))
    code, out, err = cli("run", "small.toml", "-o", "out")
    assert code == 4 and "Traceback" not in err
    assert re.search(
        r"craton: unstable at step \d+ of \d+ \(t = .* s\): v[xyz] = .* m/s at x = \d+, y = \d+, z = -?\d+ m", err
    )
    assert "try a smaller time.step" in err and "kept: out/result.zarr" in err
    run = told("out")
    assert run["state"] == "failed" and "unstable" in run["reason"] and 0 < run["steps_done"] <= 200
    assert recorded("out").sizes["time"] == run["steps_done"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_guard_stops_within_200_steps(bad, cli, tmp_path, monkeypatch):
    """One bad value appears at one point after step 73."""
    from craton.driver.recorder import Recorder

    sample = Recorder.sample

    def poisoned(self, step):
        if step == 73:
            self.program.grid("vy")[20, 11, 12] = bad
        sample(self, step)

    monkeypatch.setattr(Recorder, "sample", poisoned)
    write(tmp_path, ("duration = 1.0", "duration = 10"))
    code, out, err = cli("run", "small.toml", "-o", "out")
    run = told("out")
    assert code == 4 and "unstable" in run["reason"] and 73 < run["steps_done"] <= 73 + 200
    waves = recorded("out").velocity.isel(time=slice(0, 73))
    assert np.isfinite(waves).all() and float(np.abs(waves).max()) > 0


def started(folder, *words):
    """A long run in a process of its own that has done its first steps."""
    write(folder, ("duration = 1.0", "duration = 2000"))
    running = subprocess.Popen(
        [sys.executable, "-m", "craton", "run", "small.toml", "-o", "out", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 120  # of compiling on a loaded machine
    while not list((folder / "out").glob("result.zarr/snapshots/section/velocity/[0-9]*")):
        assert running.poll() is None and time.monotonic() < end, running.stderr.read()
        time.sleep(0.05)
    return running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_signal_ends_cleanly(number, tmp_path):
    running = started(tmp_path)
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 75, err
    assert "Traceback" not in err and f"stopped by {number.name} after step" in err and "kept: out/result.zarr" in err
    run = told(tmp_path / "out")
    assert run["state"] == "interrupted" and 0 < run["steps_done"] < 100_000
    waves = recorded(tmp_path / "out")
    assert waves.sizes["time"] == run["steps_done"] and np.isfinite(waves.velocity).all()
    assert float(np.diff(waves.time).max()) == pytest.approx(0.015669, rel=1e-6)


def test_signal_before_the_first_step(cli, tmp_path, monkeypatch):
    from craton.driver import waves

    monkeypatch.setattr(waves, "check_memory", lambda *a: os.kill(os.getpid(), signal.SIGTERM))
    write(tmp_path)
    code, out, err = cli("run", "small.toml", "-o", "out")
    assert code == 130 and "interrupted" in err and "Traceback" not in err and not (tmp_path / "out").exists()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize(
    "error, code",
    [(MemoryError(), 3), (RuntimeError("quite unexpected"), 1), (KeyboardInterrupt(), 130)],
    ids=lambda v: str(v)[:12],
)
def test_other_ends(error, code, cli, tmp_path, monkeypatch):
    from craton import api

    def fails(*arguments):
        raise error

    monkeypatch.setattr(api, "plan", fails)
    write(tmp_path)
    got, out, err = cli("plan", "small.toml")
    assert got == code and "Traceback" not in err and len(err.splitlines()) <= 2 and str(error) in err
    debugged = cli("plan", "small.toml", "--debug")
    assert debugged[0] == code and ("Traceback" in debugged[2]) == (code != 130)


# --- other commands ---------------------------------------------------------------------------------------------------------------------


def test_plan_says_all_and_writes_nothing(cli, tmp_path):
    write(
        tmp_path,
        ('wavelet = { kind = "gaussian", tau = 0.12, delay = 0.6 }', 'wavelet = { kind = "ricker", frequency = 8 }'),
    )
    code, out, err = cli("plan", "small.toml")
    assert code == 0 and [p.name for p in tmp_path.iterdir()] == ["small.toml"]
    for word in (
        "31 x 31 x 26",
        "stability limit",
        "f95",
        "phase velocity",
        "Mw",
        "wavefield",
        "memory traffic",
        "velocity",
    ):
        assert word in out, word
    about = re.search(r"about ([\d.e+]+) (s|min|h) for (\d+) steps", out)
    assert about and "by a few steps timed now" in out
    assert "points per wavelength" in err and "use a spacing of" in err


def test_estimate_follows_from_traffic(tmp_path):
    """Where steps are not timed, as on a GPU."""
    from craton.methods import METHODS

    class Machine:
        def describe(self):
            return "a machine"

        def copy_bandwidth(self, nbytes):
            return 1e9

    planned = craton.plan(craton.load(write(tmp_path)))
    traffic = planned.steps * sum(planned.traffic.values()) / 1e9
    for method, reached in (("fd", 0.8), ("sem", 0.52)):
        text = METHODS[method].estimate(planned, Machine())
        assert f"about {traffic / reached:.2g} s for 85 steps" in text
        assert re.search(rf"copies 1\.0 GB/s.*\n.*steps reach {reached:.0%} of that", text)


def test_new_scenario_is_small_and_sound(cli, tmp_path):
    code, out, _ = cli("new", "valley")
    assert code == 0 and "craton run valley.toml" in out
    planned = craton.plan(craton.load("valley.toml"))
    assert planned.warnings == []
    # under a minute at 10 Mpoint-steps/s, a tenth of what two cores do
    assert planned.grid.size * planned.steps < 60 * 10e6
    code, out, _ = cli(
        "run",
        "valley.toml",
        "--set",
        "time.duration=0.2",
        "--set",
        "domain.spacing=200",
        "--set",
        "boundaries.cpml.thickness=5",
    )
    assert code == 0 and "next: craton plot valley" in out
    before = (tmp_path / "valley.toml").read_text()
    assert cli("new", "valley")[0] == 2 and (tmp_path / "valley.toml").read_text() == before
    assert cli("new", "valley", "--force")[0] == 0


def test_examples_are_at_hand(cli, tmp_path):
    code, out, _ = cli("new", "--list")
    assert code == 0 and "two-layers " in out and "Two layers, strike-slip point source" in out
    assert len(out.splitlines()) == len(list(EXAMPLES.glob("*.toml"))) + 1
    assert cli("new", "two-layers")[0] == 0
    assert Path("two-layers.toml").read_bytes() == (EXAMPLES / "two_layers.toml").read_bytes()
    assert cli("new", "From_Files")[0] == 0 and cli("new", "from-files")[0] == 0
    assert craton.load("from-files.toml").source[0].file == str(tmp_path / "files" / "rupture.srf")
    assert Path("files/STATIONS").read_bytes() == (EXAMPLES / "files" / "STATIONS").read_bytes()
    Path("files/STATIONS").write_text("mine")
    code, _, err = cli("new", "from_files")
    assert code == 2 and "STATIONS is already there" in err and not Path("from_files.toml").exists()
    for name in ("", " ", ".toml"):
        code, _, err = cli("new", name)
        assert code == 2 and "is not a name for a file" in err


def test_plot_draws(cli, tmp_path):
    pytest.importorskip("matplotlib")
    write(tmp_path)
    assert cli("run", "small.toml", "-q")[0] == 0
    code, out, _ = cli("plot", "small", "overview", "records")
    assert code == 0
    paths = [Path(line) for line in out.splitlines()]
    assert [p.name for p in paths] == ["overview.png", "records.png"] and all(
        p.read_bytes().startswith(b"\x89PNG") for p in paths
    )


def test_info_names_everything(cli, monkeypatch):
    code, out, _ = cli("info")
    rows = dict(line.split(None, 1) for line in out.splitlines())
    assert code == 0 and {
        "craton",
        "python",
        "numpy",
        "zarr",
        "obspy",
        "matplotlib",
        "processor",
        "memory",
        "compiler",
        "kernels",
        "GPU",
        "NVRTC",
    } <= set(rows)
    assert rows["numpy"] == np.__version__ and "GiB" in rows["memory"]


def test_info_says_what_to_install(cli, monkeypatch):
    from importlib import metadata

    from craton.cli import info

    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(info, "version", version)
    _, out, _ = cli("info")
    assert "pip install 'craton[seis]'" in out and "pip install 'craton[plot]'" in out


def test_kernels_lists_every_operator_of_a_plan(cli, tmp_path):
    code, out, _ = cli("kernels")
    listed = {line.split()[0] for line in out.splitlines()[1:]}
    assert code == 0
    changes = (
        'others = "cpml"',
        'others = "sponge"\nwest = "periodic"\neast = "periodic"\nsouth = "rigid"\nbottom = "cpml"\nsponge = { thickness = 5 }',
    )
    for some in ((), (changes,)):
        assert set(craton.plan(craton.load(write(tmp_path, *some))).operators) <= listed
    assert {"attract", "attract_clusters", "attract_nodes", "gather", "collect"} <= listed


def test_kernel_text_of_gravity(cli):
    """In the precision that it runs in: terms of nodes in double whatever is asked."""
    for name, asked, real in (
        ("attract", "float32", "float"),
        ("attract", "float64", "double"),
        ("attract_nodes", "float32", "double"),
    ):
        code, out, _ = cli("kernels", name, "--precision", asked)
        assert (
            code == 0
            and f"typedef {real} real;" in out
            and f"// {name}, float{'32' if real == 'float' else '64'}, for cuda" in out
        )


def test_kernel_text_is_what_the_compiler_gets(cli):
    """The text printed compiles as it is, with the flags printed."""
    from craton.host.compile import compiler

    code, out, _ = cli("kernels", "velocity", "--order", "2", "--precision", "float64")
    assert code == 0 and "typedef double real;" in out and "#define R 1" in out
    first = out[: out.index("\n// velocity, float64, for ", 3)]
    head, text = first.split("\n", 1)
    flags = head.split("body: ")[1].split()
    assert flags[0] == compiler()[0]
    done = subprocess.run([*flags, "-", "-o", os.devnull, "-fsyntax-only"], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_kernels_for_an_architecture(cli):
    from craton.backends import nvrtc
    from craton.errors import ResourceError

    try:
        nvrtc.library()
    except ResourceError as reason:
        pytest.skip(str(reason))
    code, out, _ = cli("kernels", "velocity", "--arch", "sm_80")
    assert code == 0 and re.match(r"velocity, plain, sm_80: \d+ registers, 0 bytes spilled", out)
    code, out, _ = cli("kernels", "rigid", "--arch", "sm_7")
    assert code == 1 and "does not compile" in out


def test_bench_measures(cli, tmp_path, monkeypatch):
    from craton import benchmark
    from craton.methods.finite_difference import bench

    monkeypatch.setattr(bench, "cases", lambda name, device: [bench.case_of(bench.cube(32))])
    monkeypatch.setattr(benchmark, "SECONDS", 0.01)
    code, out, _ = cli("bench", "fd", "--device", "cpu", "-o", "speed.json")
    assert code == 0 and "copy" in out and "Mpoint-steps/s" in out
    kept = json.loads((tmp_path / "speed.json").read_text())
    assert (
        kept["cases"][0]["points"] == 32**3
        and kept["cases"][0]["point_steps_per_second"] > 0
        and kept["copy_bandwidth"] > 0
    )


def test_bench_measures_elements(cli, tmp_path, monkeypatch):
    """Three of the cases at few elements: their rates and memory."""
    from craton import benchmark
    from craton.methods.spectral_element import bench

    monkeypatch.setattr(bench, "SIZES", {"cpu": (4, 4, 8)})
    monkeypatch.setattr(benchmark, "SECONDS", 0.01)
    every = bench.cases("cpu")
    monkeypatch.setattr(bench, "cases", lambda device: [every[1], every[2], every[8]])
    code, out, err = cli("bench", "sem", "--device", "cpu", "-o", "speed.json")
    assert code == 0 and out.count("M elements/s") == 3, err
    kept = json.loads((tmp_path / "speed.json").read_text())["cases"]
    assert all(
        case["elements"] >= 128 and case["elements_per_second"] > 0 and case["bytes_per_element"] > 1000
        for case in kept
    )
    assert {"solid_corners_varying"} < set(kept[0]["operators"]) and {"solid_box"} < set(kept[1]["operators"])
    assert {"fluid_corners", "to_fluid", "stacey", "fluid_stacey"} < set(kept[2]["operators"])


def test_bench_measures_gravity(cli, tmp_path, monkeypatch):
    """The cases of the CPU at few points and prisms: rates, whole calls, the method that auto took, and its error."""
    from craton.methods.gravity import bench

    monkeypatch.setattr(bench, "CELLS", (70, 70, 10))
    monkeypatch.setattr(bench, "GRID", (12, 8))
    monkeypatch.setattr(bench, "SIZES", {"cpu": (200, (6, 4), (3, 2))})
    bench.seven_spheres.cache_clear()
    code, out, err = cli("bench", "gravity", "--device", "cpu", "-o", "speed.json")
    bench.seven_spheres.cache_clear()
    assert code == 0 and "copy" in out and out.count("Mpairs/s") == 8, err
    kept = json.loads((tmp_path / "speed.json").read_text())
    rates, calls = kept["cases"][:4], kept["cases"][4:]
    assert [case["precision"] for case in rates] == ["float64", "float64", "float32", "float32"] and kept[
        "bench"
    ] == "gravity"
    assert all(case["pairs"] == 200 * 24 and case["pairs_per_second"] > 0 and not case["whole_call"] for case in rates)
    assert all(case["records_seconds"] > 0 for case in rates)
    assert (
        [case["points"] for case in calls] == [6, 6, 96, 96]
        and calls[0]["method"] == "direct"
        and calls[0]["prisms"] > 400
    )
    assert all(
        case["lowest"] <= case["pairs_per_second"] <= case["highest"] and case["stated_error"]["g_z"] > 0
        for case in calls
    )


def test_seven_spheres_of_the_benchmark_are_the_example():
    from craton.methods.gravity import bench

    prisms, density = bench.seven_spheres()
    example = craton.plan(craton.load(Path(__file__).parents[2] / "examples" / "seven_spheres.toml")).problem
    assert np.array_equal(prisms, example.prisms) and np.array_equal(density, example.density)
    assert len(density) == bench.LARGE[0]


@pytest.fixture
def cases(monkeypatch):
    """Rows that a validation is to give back."""
    shared = {"what": "waves", "limit": 0.1}
    rows = [
        {"case": "one", **shared, "misfit": 0.004, "passed": True},
        {"case": "two", **shared, "misfit": 0.2, "passed": False},
    ]
    rows[0]["curves"] = (np.arange(9.0), np.arange(9.0), np.arange(9.0))
    importlib.import_module("craton.validation.figure")  # found by its name, also where its package is not one
    module = types.ModuleType("craton.validation")
    module.CASES = {"one": None, "two": None}
    module.GROUPS = {"fd": ("one", "two")}
    module.validate = lambda name, device, full: (row for row in rows if name in (None, "fd", row["case"]))
    monkeypatch.setitem(sys.modules, "craton.validation", module)
    monkeypatch.setattr(craton, "validation", module, raising=False)


@pytest.mark.parametrize(
    "words, code, words_out", [((), 4, "1 of 2 within"), (("one",), 0, "1 of 1 within"), (("two",), 4, "0.2")]
)
def test_validate_tells_failure(words, code, words_out, cli, cases):
    got, out, _ = cli("validate", *words)
    assert got == code and words_out in out


def test_validate_knows_its_cases(cli, cases):
    code, _, err = cli("validate", "ones")
    assert (
        code == 2
        and 'NAME: there is no case "ones"; did you mean "one"?' in err
        and "write one of fd, one or two" in err
    )


def test_validate_keeps_rows_and_figure(cli, cases):
    pytest.importorskip("matplotlib")
    assert cli("validate", "fd", "-o", "rows.json", "--figure", "rows.png")[0] == 4
    kept = json.loads(Path("rows.json").read_text())
    assert [set(row) for row in kept["validation"]] == [{"case", "what", "misfit", "limit", "passed"}] * 2 and kept[
        "device"
    ]
    assert Path("rows.png").read_bytes().startswith(b"\x89PNG")
    for words, place in ((("-o", "no/rows.json"), "no/rows.json"), (("--figure", "rows.nope"), "rows.nope")):
        code, _, err = cli("validate", "one", *words)
        assert code == 3 and f"cannot write {place}" in err and words[0] in err
