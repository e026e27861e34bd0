"""Surveys: shots over workers are those of single runs; restarts, lost workers and failing shots cost what they must; fibres."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest
import segyio
import xarray as xr
from common import refused
from smallcase import write

import craton
from craton import shots
from craton.backends import cpu
from craton.cli import main
from craton.comm import placement, workers
from craton.driver.recorder import Recorder
from craton.errors import ComputationError, ResourceError, ScenarioError
from craton.output.store import read_run
from craton.shots import runs
from craton.shots.task import COMPARED, KEPT, Task, run_shot
from craton.versions import versions

XS = (1200, 1500, 1800)
LINE = 'name = "S"\nshots = { from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = 3 }'
AT = "at = [1500, 1500, -1000]"
THREAD = ('device = "cpu"', 'device = "cpu"\nthreads = 1')
SHORT = ("duration = 1.0", "duration = 0.8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own with survey.toml, three shots in space."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, (AT, LINE), THREAD, SHORT, name="survey.toml")
    return tmp_path


@pytest.fixture
def counted(monkeypatch):
    """Names of the shots that this process runs."""
    names, inner = [], runs.run_shot
    monkeypatch.setattr(runs, "run_shot", lambda task: (names.append(task.name), inner(task))[1])
    return names


def alone(folder, x, duration=SHORT):
    """Waveforms of one shot that is run by itself."""
    path = write(folder, (AT, f"at = [{x}, 1500, -1000]"), THREAD, duration, name=f"one{x}.toml")
    return craton.run(craton.load(path), progress=False).dataset


def survey(scenario="survey.toml", out="out", **options):
    """The outcome of a survey in this process."""
    return craton.run_survey(scenario, out, **{"workers": 1, "progress": False} | options)


def stored(group=None):
    """What the folder of the survey holds."""
    return xr.open_zarr("out/result.zarr", group=group).load()


@pytest.mark.costly("the only survey over processes in the short tier")
def test_workers_give_what_single_runs_give(folder, capsys):
    """Two processes, three shots: bit for bit, with the coordinates of the single run."""
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "2"]) == 0
    text, err = capsys.readouterr()
    assert "done: 3 shots" in text and "velocity(shot, receiver, component, time)" in text and "3 of 3 shots" in err
    found = stored()
    assert list(found.shot.values) == ["S.1", "S.2", "S.3"]
    assert found.velocity.dims == ("shot", "receiver", "component", "time")
    for x, name in zip(XS, found.shot.values):
        one = alone(folder, x)
        np.testing.assert_array_equal(found.velocity.sel(shot=name).values, one.velocity.values)
        assert found.source_x.sel(shot=name) == x and found.source_z.sel(shot=name) == -1000
    for coordinate in ("receiver", "component", "time", "x", "y", "z"):
        np.testing.assert_array_equal(found[coordinate].values, one[coordinate].values)
    run = read_run("out")
    crew = {shot["worker"] for shot in run["shots"].values()}
    assert run["state"] == "finished" and len(crew) == 2 and not any(w.endswith(f":{os.getpid()}") for w in crew)
    assert len(list(Path("out/result.zarr/velocity").glob("[0-9].*"))) == 3  # a chunk for each shot
    assert craton.load("out/scenario.toml") == craton.load("survey.toml")


@pytest.mark.costly("surveys go on after an interruption")
def test_restart_runs_what_is_missing_and_another_survey_is_not_mixed_in(folder, counted):
    outcome = survey()
    assert counted == ["S.1", "S.2", "S.3"] and outcome.ran == 3
    before = outcome.dataset.load()
    assert survey().ran == 0 and len(counted) == 3
    other = craton.load("survey.toml", ["source.0.moment=2e14"])
    refused(ScenarioError, "holds a survey of another scenario", survey, other)
    assert read_run("out")["state"] == "finished"
    # the machine is no part of what is computed
    assert survey(craton.load("survey.toml", ["run.threads=2"])).ran == 0 and len(counted) == 3
    state = read_run("out")
    del state["shots"]["S.2"]
    state["shots"]["S.3"]["state"] = "failed"
    Path("out/run.json").write_text(json.dumps(state))
    assert survey().ran == 2 and counted[3:] == ["S.2", "S.3"]
    np.testing.assert_array_equal(before.velocity.values, outcome.dataset.velocity.values)


def test_a_failing_shot_is_told_at_the_end(folder, monkeypatch, capsys):
    """A value that is not finite appears in the second shot; the others are kept, and a second start runs that one alone."""
    sample, bad = Recorder.sample, craton.load("survey.toml").source[0].name + ".2"

    def poisoned(self, step):
        if step == 20 and any(bad in text for rows in self.plan.notes.values() for row in rows for text in row):
            self.program.grid("vy")[20, 11, 12] = np.nan
        sample(self, step)

    monkeypatch.setattr(Recorder, "sample", poisoned)
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "1"]) == 4
    err = capsys.readouterr().err
    assert "1 of 3 shots failed, 2 are kept in out" in err and "S.2: unstable at step" in err and "Traceback" not in err
    run = read_run("out")
    assert run["state"] == "failed"
    assert [run["shots"][n]["state"] for n in ("S.1", "S.2", "S.3")] == ["finished", "failed", "finished"]
    velocity = stored().velocity
    assert np.isnan(velocity.sel(shot="S.2")).all() and np.isfinite(velocity.sel(shot=["S.1", "S.3"])).all()
    monkeypatch.setattr(Recorder, "sample", sample)
    assert survey().ran == 1
    assert np.isfinite(stored().velocity).all()


@pytest.mark.long
def test_a_damaged_store_is_refused_and_can_be_replaced(folder):
    """Before any shot runs; the folder is free afterwards."""
    write(folder, (AT, LINE), THREAD, ("duration = 1.0", "duration = 0.1"), name="survey.toml")
    survey()
    Path("out/result.zarr/velocity/.zarray").unlink()
    refused(ScenarioError, "result.zarr is damaged: velocity/.zarray: ", survey)
    assert survey(force=True).ran == 3


@pytest.mark.long
def test_shot_of_a_killed_worker_is_run_again(folder):
    """The first worker that is at work dies; another one, or its successor, runs the shot."""
    long = ("duration = 1.0", "duration = 2")
    made = shots.prepare(craton.load(write(folder, (AT, LINE), THREAD, long, name="long.toml")))
    with workers.local([{}, {}]) as client:
        pids, got = client.run(os.getpid), []
        thread = threading.Thread(target=lambda: got.append(shots.run(made, "out", client=client, progress=False)))
        thread.start()
        address, (key, *_) = busy(client)
        os.kill(pids[address], signal.SIGKILL)
        thread.join(120)
        until = time.monotonic() + 20
        while any(client.run(lambda: len(KEPT)).values()):  # workers free the medium of their last shot
            assert time.monotonic() < until
            time.sleep(0.05)
    ((outcome,), (_, name)) = got, key
    run = read_run("out")
    assert outcome.ran == 3 and not outcome.failed and run["state"] == "finished" and name in outcome.names
    assert not run["shots"][name]["worker"].endswith(f":{pids[address]}")
    for x, shot in zip(XS, outcome.names):
        values = outcome.dataset.velocity.sel(shot=shot).values
        np.testing.assert_array_equal(values, alone(folder, x, long).velocity.values)


def busy(client):
    """(address, keys) of a worker that has begun a shot."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for address, keys in client.processing().items():
            if keys:
                return address, keys
        time.sleep(0.02)
    raise AssertionError("no worker took a shot")


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2])
def test_interrupted_and_restarted(folder, count):
    """Ctrl-C after the first of six shots: 75, what ended is readable and is not run again."""
    six = LINE.replace("count = 3", "count = 6")
    write(folder, (AT, six), THREAD, ("duration = 1.0", "duration = 2"), name="six.toml")
    words = [sys.executable, "-m", "craton", "survey", "six.toml", "-o", "out", "--workers", str(count)]
    running = subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # or ignored
    )
    end = time.monotonic() + 120
    while not read_run("out").get("shots"):
        assert running.poll() is None and time.monotonic() < end, running.stderr.read()
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, err = running.communicate(timeout=60)
    assert running.returncode == 75 and "Traceback" not in err and "the same command goes on" in err, err
    state = read_run("out")
    done = [name for name, shot in state["shots"].items() if shot["state"] == "finished"]
    assert state["state"] == "interrupted" and 1 <= len(done) < 6
    assert np.isfinite(stored().velocity.sel(shot=done)).all()
    outcome = survey("six.toml")
    assert outcome.ran == 6 - len(done) and np.isfinite(outcome.dataset.velocity).all()
    assert read_run("out")["state"] == "finished"


# --- what makes a survey ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_several_files_with_other_models(folder, counted):
    """A shot for each file, on the time axis of the sampling; a file of shots gives several."""
    sampled = ('waveforms = ["velocity"]', 'waveforms = ["velocity"]\nsampling = 0.02')
    write(folder, sampled, SHORT, name="slow.toml")
    write(folder, sampled, SHORT, ("vp = 3000", "vp = 3300"), name="fast.toml")
    write(folder, sampled, SHORT, (AT, LINE), name="many.toml")
    assert main(["survey", "slow.toml", "fast.toml", "many.toml", "-o", "out", "--workers", "1", "-q"]) == 0
    found = stored()
    assert list(found.shot.values) == counted == ["slow", "fast", "many.S.1", "many.S.2", "many.S.3"]
    assert np.isfinite(found.velocity).all()
    single = craton.run(craton.load("fast.toml"), progress=False).dataset.velocity.values[..., : found.sizes["time"]]
    np.testing.assert_array_equal(found.velocity.sel(shot="fast").values, single)
    np.testing.assert_array_equal(found.velocity.sel(shot="many.S.2").values, found.velocity.sel(shot="slow").values)
    assert craton.load("out/scenarios/fast.toml") == craton.load("fast.toml")


def test_shots_begin_together(folder):
    """Wavelets of other lengths: all runs begin where the longest has to, so that they share the samples."""
    long, short = ({"kind": "gaussian", "tau": tau} for tau in (0.2, 0.1))
    entries = [
        {"kind": "explosion", "moment": 1e14, "shot": shot, "at": [x, 1500, -1000], "wavelet": wavelet}
        for shot, x, wavelet in (("a", 1500, short), ("b", 900, long), ("b", 950, short))
    ]
    base = craton.load("survey.toml").model_dump(by_alias=True, exclude_none=True)
    made = shots.prepare(craton.Scenario(**{**base, "source": entries}))
    assert [len(shot.scenario.source) for shot in made.shots] == [1, 2]
    (start,) = {shot.scenario.time.start for shot in made.shots}
    assert start == craton.plan(made.shots[1].scenario).start < -1.0
    np.testing.assert_allclose(made.shots[1].place(), [925, 1500, -1000])


@pytest.mark.parametrize("command", ["run", "survey"])
def test_each_kind_of_scenario_has_its_command(command, folder, capsys):
    write(folder, SHORT)
    name, other = {"run": ("survey.toml", "craton survey"), "survey": ("small.toml", "craton run")}[command]
    assert main([command, name, "-o", "out"]) == 2
    assert other in capsys.readouterr().err and not Path("out").exists()


def test_plan_is_that_of_one_shot(folder, capsys):
    assert main(["plan", "survey.toml"]) == 0
    text = capsys.readouterr().out
    assert "31 x 31 x 26" in text and "one of 3 runs" in text and "craton survey survey.toml" in text


BAD = [
    ("source.0.shots={from=[1200,1500,-1000],to=[9800,1500,-1000],count=3}", "source.0.shots: x = 5500 m is outside"),
    ("time.step=0.05", "time.step: step = 0.05 s is unstable"),
    ("receivers=[]", "receivers: a survey keeps waveforms"),
    ("source.0.moment=-1", "source.0.moment"),
]


def test_bad_surveys_are_refused(folder, capsys, monkeypatch):
    """Also files that do not go together, a group of ranks, and what does not fit."""
    for override, message in BAD:
        assert main(["survey", "survey.toml", "--set", override]) == 2, override
        err = capsys.readouterr().err
        assert message in err and "nothing was run, nothing was written" in err and not Path("survey").exists()
    write(folder, SHORT, name="a.toml")
    elsewhere = ("at = [2000, 1500, 0]", "at = [2100, 1500, 0]")
    write(folder, SHORT, elsewhere, ('"velocity"]\n\n[run]', '"velocity", "pressure"]\n\n[run]'), name="b.toml")
    assert main(["survey", "a.toml", "b.toml", "-o", "out"]) == 2
    err = capsys.readouterr().err
    assert "b: receivers: other receivers than a" in err and "b: output.waveforms" in err and not Path("out").exists()
    with monkeypatch.context() as patched:
        patched.setenv("PMI_SIZE", "2")
        assert main(["survey", "survey.toml", "-o", "out"]) == 2
        assert "not a group of ranks" in capsys.readouterr().err
    monkeypatch.setattr(cpu, "host_memory", lambda: (5_000_000, 10_000_000))
    refused(ResourceError, "2 shots at a time need", survey, workers=2)
    assert not Path("out").exists()


def test_without_dask(folder, monkeypatch, capsys):
    monkeypatch.setattr(workers, "available", lambda: False)
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "2"]) == 2
    assert "pip install 'craton[survey]'" in capsys.readouterr().err and not Path("out").exists()
    assert main(["survey", "survey.toml", "-o", "out", "-q"]) == 0 and read_run("out")["state"] == "finished"


# --- workers ----------------------------------------------------------------------------------------------------------------


def test_gpus_are_dealt_out(monkeypatch):
    monkeypatch.setattr(placement, "devices", lambda: 2)
    monkeypatch.setattr(placement, "cores", lambda: 12)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    dealt = placement.environments("auto", 3)
    assert [env["CUDA_VISIBLE_DEVICES"] for env in dealt] == ["3", "5", "3"] and dealt[0]["OMP_NUM_THREADS"] == "4"
    assert placement.crew("auto", 10, 1) == 2 and placement.crew("auto", 1, 1) == 1
    assert placement.crew("cpu", 10, 1) == 3 and placement.crew("cpu", 10, 1 << 60) == 1
    assert "CUDA_VISIBLE_DEVICES" not in placement.environments("cpu", 2)[0]


@pytest.mark.long
def test_workers_have_their_environment_and_log_nothing(capfd):
    """A survey that is stopped ends in one message: tracebacks of Dask's own threads are not shown, whichever of them is cut off."""

    def speak(names):
        print("here", file=sys.stderr, flush=True)
        for name in names:
            logging.getLogger(name).error("Failed to communicate with scheduler during heartbeat.")

    given = [{"CUDA_VISIBLE_DEVICES": gpu, "OMP_NUM_THREADS": count} for gpu, count in (("7", "3"), ("1", "2"))]
    with workers.local(given) as client:
        found = client.run(lambda: (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["OMP_NUM_THREADS"]))
        parts = [f"distributed.{part}" for part in ("worker", "core", "nanny")]
        client.submit(speak, (*parts, "tornado.application", "asyncio")).result()
        speak(("distributed.scheduler", "asyncio"))
    assert sorted(found.values()) == [("1", "2"), ("7", "3")]
    said = capfd.readouterr().err
    assert said.count("here") == 2 and "heartbeat" not in said


def test_exit_code_is_of_what_failed():
    for code, kind in ((4, ComputationError), (3, ResourceError)):
        failed = {"a": {"code": 1, "reason": "odd"}, "b": {"code": code, "reason": "bad"}}
        outcome = shots.Outcome(Path("out"), ["a", "b", "c"], 3, failed)
        refused(kind, "2 of 3 shots failed, 1 are kept", outcome.finished)


def test_task_reports_what_went_wrong(folder):
    text = Path("survey.toml").read_text().replace(LINE, AT)
    stranger = run_shot(Task("a", 0, text, "out/result.zarr", {"craton": "0"}))
    assert (stranger["state"], stranger["code"]) == ("failed", 3) and "survey was started with" in stranger["reason"]
    blind = run_shot(Task("a", 0, text, str(folder / "nowhere" / "result.zarr"), versions(*COMPARED)))
    assert blind["code"] == 3 and "is not seen here" in blind["reason"]
    odd = run_shot(types.SimpleNamespace(name="a", versions=versions(*COMPARED), text=None))
    assert odd["code"] == 1 and "Error" in odd["reason"]


# --- fibres -----------------------------------------------------------------------------------------------------------------

FIBRES = """
domain = { origin = [0, -600], size = [1200, 600], spacing = 20 }
model = { kind = "homogeneous", vp = 3000, vs = 1700, rho = 2200 }
time = { duration = 0.3, start = -0.15 }
[[source]]
kind = "explosion"
AT
moment = 1e9
wavelet = { kind = "gaussian", tau = 0.03 }
[[receivers]]
name = "F"
das = { along = [[250, -100], [650, -100], [900, -300]], spacing = 40, gauge = 40 }
[output]
sampling = 0.004
"""
TWO = "shots = [[300, -40], [500, -40]]"
ONE = "at = [300, -40]"
POINT = '[[receivers]]\nname = "R"\nat = [600, -40]\n[output]'


@pytest.fixture
def in_plane(tmp_path, monkeypatch):
    """Writes a scenario of sources and fibres; its path."""
    monkeypatch.chdir(tmp_path)

    def made(at, more="[output]", gauge=40, name="s.toml"):
        text = FIBRES.replace("AT", at).replace("[output]", more).replace("gauge = 40", f"gauge = {gauge}")
        Path(name).write_text(text)
        return name

    return made


@pytest.mark.long
def test_a_survey_keeps_what_fibres_and_receivers_of_each_shot_recorded_and_goes_on(in_plane, capsys):
    """Shots that are there are not run again, and one whose chunks are gone is."""
    assert main(["survey", in_plane(TWO, POINT), "-o", "out"]) == 0
    fibres, waves = stored("fibres"), stored().velocity
    assert fibres.strain_rate.dims == ("shot", "channel", "time") and float(abs(fibres.strain_rate).max()) > 0
    assert list(fibres.source_x.values) == [300, 500]
    for n, x in enumerate((300, 500)):
        single = craton.run(craton.load(in_plane(f"at = [{x}, -40]", POINT, name="one.toml")), progress=False)
        assert np.array_equal(fibres.strain_rate[n], single.fibres.strain_rate)
        assert np.array_equal(fibres.x, single.fibres.x) and np.array_equal(waves[n], single.dataset.velocity)
    capsys.readouterr()
    assert main(["survey", "s.toml", "-o", "out"]) == 0
    assert "finished:" not in capsys.readouterr().out
    (chunk,) = Path("out/result.zarr/fibres/strain_rate").glob("1.*")
    chunk.unlink()
    assert main(["survey", "s.toml", "-o", "out"]) == 0
    assert np.array_equal(fibres.strain_rate, stored("fibres").strain_rate)
    assert main(["check", "out"]) == 0


@pytest.mark.long
@pytest.mark.parametrize("command", [pytest.param("run", marks=pytest.mark.long), "survey"])
def test_fibres_become_segy(command, in_plane):
    """A trace for each channel, with its place and that of its source."""
    at, count = (TWO, 2) if command == "survey" else (ONE, 1)
    assert main([command, in_plane(at, POINT), "-o", "out"]) == 0
    assert main(["convert", "out", "f.sgy", "--quantity", "fibre_strain_rate"]) == 0
    data = stored("fibres")
    with segyio.open("f.sgy", ignore_geometry=True) as file:
        traces, fields = file.trace.raw[:], segyio.TraceField
        assert np.array_equal(traces, data.strain_rate.values.reshape(traces.shape))
        assert np.allclose(file.attributes(fields.GroupX)[:] / 100, np.tile(data.x, count), atol=0.01)
        assert list(file.attributes(fields.SourceX)[:: data.sizes["channel"]] / 100) == [300, 500][:count]
    assert main(["convert", "out", "v.sgy"]) == 0
    with segyio.open("v.sgy", ignore_geometry=True) as file:
        assert file.tracecount == 2 * count  # of the receiver: velocity


def test_fibres_alone_need_no_quantity_and_no_other_formats_or_fibres(in_plane, capsys):
    """Nor do scenarios with other fibres make a survey, and one run has not many shots and fibres."""
    assert main(["run", in_plane(ONE), "-o", "out"]) == 0
    assert main(["convert", "out", "f.su"]) == 0
    assert main(["convert", "out", "f.mseed"]) == 2
    assert "SEG-Y or SU" in capsys.readouterr().err
    assert main(["survey", in_plane(ONE), in_plane(ONE, gauge=80, name="t.toml"), "-o", "other"]) == 2
    assert "other receivers" in capsys.readouterr().err
    many = craton.load(in_plane(TWO))
    refused(ScenarioError, "use craton survey", craton.plan, many)
    refused(ScenarioError, "fibres", craton.Problem, many)


def test_shots_of_a_plane_one_by_one(in_plane):
    """In the plane all shots may make one run; a survey of them gives the same."""
    text = FIBRES.replace("AT", TWO).replace(
        "das = { along = [[250, -100], [650, -100], [900, -300]], spacing = 40, gauge = 40 }", "at = [600, 0]"
    )
    Path("p.toml").write_text(text.replace("sampling = 0.004", ""))
    together = craton.run(craton.load("p.toml"), progress=False).dataset
    np.testing.assert_array_equal(together.velocity.values, survey("p.toml").dataset.velocity.values)
