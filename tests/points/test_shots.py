"""Surveys: shots over workers are those of single runs; restarts, lost workers and failing shots cost only what they must."""

import json
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
from smallcase import write

import craton
from craton.cli import main
from craton.errors import ComputationError, ResourceError, ScenarioError
from craton.output.store import read_run

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
    from craton.shots import runs

    names, inner = [], runs.run_shot
    monkeypatch.setattr(runs, "run_shot", lambda task: (names.append(task.name), inner(task))[1])
    return names


def alone(folder, x, *changes):
    """Waveforms of one shot that is run by itself."""
    path = write(folder, (AT, f"at = [{x}, 1500, -1000]"), THREAD, *(changes or [SHORT]), name=f"one{x}.toml")
    return craton.run(craton.load(path), progress=False).dataset


def test_workers_give_what_single_runs_give(folder, capsys):
    """Two processes, three shots: bit for bit, with the coordinates of the single run."""
    pytest.importorskip("distributed")
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "2"]) == 0
    text, err = capsys.readouterr()
    assert "done: 3 shots" in text and "velocity(shot, receiver, component, time)" in text and "3 of 3 shots" in err
    import xarray as xr

    found = xr.open_zarr("out/result.zarr").load()
    assert list(found.shot.values) == ["S.1", "S.2", "S.3"] and found.velocity.dims == (
        "shot",
        "receiver",
        "component",
        "time",
    )
    for x, name in zip(XS, found.shot.values):
        one = alone(folder, x)
        np.testing.assert_array_equal(found.velocity.sel(shot=name).values, one.velocity.values)
        assert found.source_x.sel(shot=name) == x and found.source_z.sel(shot=name) == -1000
    for coordinate in ("receiver", "component", "time", "x", "y", "z"):
        np.testing.assert_array_equal(found[coordinate].values, one[coordinate].values)
    run = read_run("out")
    workers = {shot["worker"] for shot in run["shots"].values()}
    assert (
        run["state"] == "finished"
        and not any(worker.endswith(f":{os.getpid()}") for worker in workers)
        and len(workers) == 2
    )
    assert len(list(Path("out/result.zarr/velocity").glob("[0-9].*"))) == 3  # a chunk for each shot
    assert craton.load("out/scenario.toml") == craton.load("survey.toml")


def test_restart_runs_what_is_missing(folder, counted):
    outcome = craton.run_survey("survey.toml", "out", workers=1, progress=False)
    assert counted == ["S.1", "S.2", "S.3"] and outcome.ran == 3
    before = outcome.dataset.load()
    assert craton.run_survey("survey.toml", "out", workers=1, progress=False).ran == 0 and len(counted) == 3
    state = read_run("out")
    del state["shots"]["S.2"]
    state["shots"]["S.3"]["state"] = "failed"
    Path("out/run.json").write_text(json.dumps(state))
    assert craton.run_survey("survey.toml", "out", workers=1, progress=False).ran == 2 and counted[3:] == ["S.2", "S.3"]
    np.testing.assert_array_equal(before.velocity.values, outcome.dataset.velocity.values)
    assert craton.run_survey("survey.toml", "out", workers=1, force=True, progress=False).ran == 3


def test_another_survey_is_not_mixed_in(folder, counted):
    craton.run_survey("survey.toml", "out", workers=1, progress=False)
    other = craton.load("survey.toml", ["source.0.moment=2e14"])
    with pytest.raises(ScenarioError, match="holds a survey of another scenario"):
        craton.run_survey(other, "out", workers=1, progress=False)
    assert len(counted) == 3 and read_run("out")["state"] == "finished"
    elsewhere = craton.load("survey.toml", ["run.threads=2"])  # the machine is no part of what is computed
    assert craton.run_survey(elsewhere, "out", workers=1, progress=False).ran == 0


def test_a_failing_shot_is_told_at_the_end(folder, monkeypatch, capsys):
    """A value that is not finite appears in the second shot; the others are kept, and a second start runs that one alone."""
    from craton.driver.recorder import Recorder

    sample, bad = Recorder.sample, craton.load("survey.toml").source[0].name + ".2"

    def poisoned(self, step):
        if step == 20 and any(bad in text for rows in self.plan.notes.values() for row in rows for text in row):
            self.program.grid("vy")[20, 11, 12] = np.nan
        sample(self, step)

    monkeypatch.setattr(Recorder, "sample", poisoned)
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "1"]) == 4
    text, err = capsys.readouterr()
    assert "1 of 3 shots failed, 2 are kept in out" in err and "S.2: unstable at step" in err and "Traceback" not in err
    run = read_run("out")
    assert run["state"] == "failed" and [run["shots"][n]["state"] for n in ("S.1", "S.2", "S.3")] == [
        "finished",
        "failed",
        "finished",
    ]
    import xarray as xr

    velocity = xr.open_zarr("out/result.zarr").velocity.load()
    assert np.isnan(velocity.sel(shot="S.2")).all() and np.isfinite(velocity.sel(shot=["S.1", "S.3"])).all()
    monkeypatch.setattr(Recorder, "sample", sample)
    assert craton.run_survey("survey.toml", "out", workers=1, progress=False).ran == 1
    assert np.isfinite(xr.open_zarr("out/result.zarr").velocity).all()


def test_a_damaged_store_is_refused_and_can_be_replaced(folder):
    """Before any shot runs; the folder is free afterwards."""
    short = ("duration = 1.0", "duration = 0.1")
    write(folder, (AT, LINE), THREAD, short, name="survey.toml")
    craton.run_survey("survey.toml", "out", workers=1, progress=False)
    Path("out/result.zarr/velocity/.zarray").unlink()
    with pytest.raises(ScenarioError, match="result.zarr is damaged: velocity/.zarray: "):
        craton.run_survey("survey.toml", "out", workers=1, progress=False)
    assert craton.run_survey("survey.toml", "out", workers=1, progress=False, force=True).ran == 3


def media():
    """How many media this process has kept for its next shot."""
    from craton.shots.task import KEPT

    return len(KEPT)


def test_shot_of_a_killed_worker_is_run_again(folder):
    """The first worker that is at work dies; another one, or its successor, runs the shot."""
    pytest.importorskip("distributed")
    from craton import shots
    from craton.comm.workers import local

    long = ("duration = 1.0", "duration = 2")
    survey = shots.prepare(craton.load(write(folder, (AT, LINE), THREAD, long, name="long.toml")))
    with local([{}, {}]) as client:
        pids, got = client.run(os.getpid), []
        thread = threading.Thread(target=lambda: got.append(shots.run(survey, "out", client=client, progress=False)))
        thread.start()
        address, (key, *_) = busy(client)
        os.kill(pids[address], signal.SIGKILL)
        thread.join(120)
        until = time.monotonic() + 20
        while any(client.run(media).values()):  # workers free the medium of their last shot
            assert time.monotonic() < until
            time.sleep(0.05)
    ((outcome,), (_, name)) = got, key
    run = read_run("out")
    assert outcome.ran == 3 and not outcome.failed and run["state"] == "finished" and name in outcome.names
    assert not run["shots"][name]["worker"].endswith(f":{pids[address]}")
    for x, shot in zip(XS, outcome.names):
        np.testing.assert_array_equal(
            outcome.dataset.velocity.sel(shot=shot).values, alone(folder, x, long).velocity.values
        )


def busy(client):
    """(address, keys) of a worker that has begun a shot."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for address, keys in client.processing().items():
            if keys:
                return address, keys
        time.sleep(0.02)
    raise AssertionError("no worker took a shot")


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_and_restarted(folder, workers):
    """Ctrl-C after the first of six shots: 75, what ended is readable and is not run again."""
    pytest.importorskip("distributed")
    line = LINE.replace("count = 3", "count = 6")
    write(folder, (AT, line), THREAD, ("duration = 1.0", "duration = 2"), name="six.toml")
    words = [sys.executable, "-m", "craton", "survey", "six.toml", "-o", "out", "--workers", str(workers)]
    running = subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip (or ignored)
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
    import xarray as xr

    velocity = xr.open_zarr("out/result.zarr").velocity.load()
    assert np.isfinite(velocity.sel(shot=done)).all()
    outcome = craton.run_survey("six.toml", "out", workers=1, progress=False)
    assert (
        outcome.ran == 6 - len(done)
        and np.isfinite(outcome.dataset.velocity).all()
        and read_run("out")["state"] == "finished"
    )


# --- what makes a survey ----------------------------------------------------------------------------------------------------------------


def test_several_files_with_other_models(folder, counted):
    """A shot for each file, on the time axis of the sampling; a file of shots gives several."""
    sampled = ('waveforms = ["velocity"]', 'waveforms = ["velocity"]\nsampling = 0.02')
    write(folder, sampled, SHORT, name="slow.toml")
    write(folder, sampled, SHORT, ("vp = 3000", "vp = 3300"), name="fast.toml")
    write(folder, sampled, SHORT, (AT, LINE), name="many.toml")
    assert main(["survey", "slow.toml", "fast.toml", "many.toml", "-o", "out", "--workers", "1", "-q"]) == 0
    import xarray as xr

    found = xr.open_zarr("out/result.zarr").load()
    assert list(found.shot.values) == counted == ["slow", "fast", "many.S.1", "many.S.2", "many.S.3"]
    assert np.isfinite(found.velocity).all()
    single = craton.run(craton.load("fast.toml"), progress=False).dataset
    np.testing.assert_array_equal(
        found.velocity.sel(shot="fast").values, single.velocity.values[..., : found.sizes["time"]]
    )
    np.testing.assert_array_equal(found.velocity.sel(shot="many.S.2").values, found.velocity.sel(shot="slow").values)
    assert craton.load("out/scenarios/fast.toml") == craton.load("fast.toml")


def test_shots_begin_together(folder):
    """Wavelets of other lengths: all runs begin where the longest has to, so that they share the samples."""
    from craton import shots

    source = {"kind": "explosion", "moment": 1e14}
    long, short = ({"kind": "gaussian", "tau": tau} for tau in (0.2, 0.1))
    base = craton.load("survey.toml")
    entries = [
        {**source, "shot": "a", "at": [1500, 1500, -1000], "wavelet": short},
        {**source, "shot": "b", "at": [900, 1500, -1000], "wavelet": long},
        {**source, "shot": "b", "at": [950, 1500, -1000], "wavelet": short},
    ]
    survey = shots.prepare(craton.Scenario(**{**base.model_dump(by_alias=True, exclude_none=True), "source": entries}))
    assert [len(shot.scenario.source) for shot in survey.shots] == [1, 2]
    (start,) = {shot.scenario.time.start for shot in survey.shots}
    assert start == craton.plan(survey.shots[1].scenario).start < -1.0
    np.testing.assert_allclose(survey.shots[1].place(), [925, 1500, -1000])


def test_shots_of_a_plane_one_by_one(tmp_path):
    """In the plane all shots may make one run; a survey of them gives the same."""
    scenario = craton.Scenario(
        domain={"origin": [0, -500], "size": [700, 500], "spacing": 10},
        model={"kind": "homogeneous", "vp": 2000, "vs": 1000, "rho": 2000},
        time={"duration": 0.3},
        run={"threads": 1, "device": "cpu"},
        receivers=[{"name": "A", "at": [500, 0]}],
        source=[
            {
                "kind": "force",
                "name": "S",
                "shots": {"from": [200, -30], "to": [400, -30], "count": 2},
                "force": [0, -1e6],
                "wavelet": {"kind": "ricker", "frequency": 12},
            }
        ],
    )
    together = craton.run(scenario, progress=False).dataset
    apart = craton.run_survey(scenario, tmp_path / "out", workers=1, progress=False).dataset
    np.testing.assert_array_equal(together.velocity.values, apart.velocity.values)


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


BAD = {
    "a shot outside": (
        ["source.0.shots={from=[1200,1500,-1000],to=[9800,1500,-1000],count=3}"],
        "source.0.shots: x = 5500 m is outside",
    ),
    "a step too long": (["time.step=0.05"], "time.step: step = 0.05 s is unstable"),
    "no receivers": (["receivers=[]"], "receivers: a survey keeps waveforms"),
    "a negative moment": (["source.0.moment=-1"], "source.0.moment"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_survey_is_refused(name, folder, capsys):
    overrides, message = BAD[name]
    assert main(["survey", "survey.toml", *(word for o in overrides for word in ("--set", o))]) == 2
    err = capsys.readouterr().err
    assert message in err and "nothing was run, nothing was written" in err and not Path("survey").exists()


def test_files_that_do_not_go_together(folder, capsys):
    write(folder, SHORT, name="a.toml")
    more = [
        ("at = [2000, 1500, 0]", "at = [2100, 1500, 0]"),
        ('"velocity"]\n\n[run]', '"velocity", "pressure"]\n\n[run]'),
    ]
    write(folder, SHORT, *more, name="b.toml")
    assert main(["survey", "a.toml", "b.toml", "-o", "out"]) == 2
    err = capsys.readouterr().err
    assert "b: receivers: other receivers than a" in err and "b: output.waveforms" in err and not Path("out").exists()


def test_without_dask(folder, monkeypatch, capsys):
    from craton.comm import workers

    monkeypatch.setattr(workers, "available", lambda: False)
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "2"]) == 2
    assert "pip install 'craton[survey]'" in capsys.readouterr().err and not Path("out").exists()
    assert main(["survey", "survey.toml", "-o", "out", "-q"]) == 0 and read_run("out")["state"] == "finished"


def test_ranks_are_refused(folder, monkeypatch, capsys):
    monkeypatch.setenv("PMI_SIZE", "2")
    assert main(["survey", "survey.toml", "-o", "out"]) == 2
    assert "not a group of ranks" in capsys.readouterr().err


def test_what_does_not_fit_is_said_before(folder, monkeypatch):
    from craton.backends import cpu

    monkeypatch.setattr(cpu, "host_memory", lambda: (5_000_000, 10_000_000))
    pytest.importorskip("distributed")
    with pytest.raises(ResourceError, match="2 shots at a time need"):
        craton.run_survey("survey.toml", "out", workers=2, progress=False)
    assert not Path("out").exists()


# --- workers ----------------------------------------------------------------------------------------------------------------------------


def test_gpus_are_dealt_out(monkeypatch):
    from craton.comm import placement

    monkeypatch.setattr(placement, "devices", lambda: 2)
    monkeypatch.setattr(placement, "cores", lambda: 12)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    dealt = placement.environments("auto", 3)
    assert [env["CUDA_VISIBLE_DEVICES"] for env in dealt] == ["3", "5", "3"] and dealt[0]["OMP_NUM_THREADS"] == "4"
    assert placement.crew("auto", 10, 1) == 2 and placement.crew("auto", 1, 1) == 1
    assert placement.crew("cpu", 10, 1) == 3 and placement.crew("cpu", 10, 1 << 60) == 1
    assert "CUDA_VISIBLE_DEVICES" not in placement.environments("cpu", 2)[0]


def test_workers_have_their_environment():
    pytest.importorskip("distributed")
    from craton.comm.workers import local

    with local(
        [{"CUDA_VISIBLE_DEVICES": "7", "OMP_NUM_THREADS": "3"}, {"CUDA_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": "2"}]
    ) as client:
        found = client.run(lambda: (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["OMP_NUM_THREADS"]))
    assert sorted(found.values()) == [("1", "2"), ("7", "3")]


@pytest.mark.parametrize(
    "error, kind", [({"code": 4}, ComputationError), ({"code": 3}, ResourceError)], ids=["unstable", "does not fit"]
)
def test_exit_code_is_of_what_failed(error, kind):
    from craton.shots import Outcome

    failed = {"a": {"code": 1, "reason": "odd"}, "b": {**error, "reason": "bad"}}
    with pytest.raises(kind, match="2 of 3 shots failed, 1 are kept"):
        Outcome(Path("out"), ["a", "b", "c"], 3, failed).finished()


def test_task_reports_what_went_wrong(folder):
    from craton.shots.task import COMPARED, Task, run_shot
    from craton.versions import versions

    text = Path("survey.toml").read_text().replace(LINE, AT)
    stranger = run_shot(Task("a", 0, text, "out/result.zarr", {"craton": "0"}))
    assert (stranger["state"], stranger["code"]) == ("failed", 3) and "survey was started with" in stranger["reason"]
    blind = run_shot(Task("a", 0, text, str(folder / "nowhere" / "result.zarr"), versions(*COMPARED)))
    assert blind["code"] == 3 and "is not seen here" in blind["reason"]
    odd = run_shot(types.SimpleNamespace(name="a", versions=versions(*COMPARED), text=None))
    assert odd["code"] == 1 and "Error" in odd["reason"]


def test_workers_log_nothing(capfd):
    """A survey that is stopped ends in one message: tracebacks of Dask's own threads are not shown, whichever of them is cut off."""
    pytest.importorskip("distributed")
    from craton.comm import workers

    def speak(names):
        import logging

        print("here", file=sys.stderr, flush=True)
        for name in names:
            logging.getLogger(name).error("Failed to communicate with scheduler during heartbeat.")

    with workers.local([{}]) as client:
        client.submit(
            speak, ("distributed.worker", "distributed.core", "distributed.nanny", "tornado.application", "asyncio")
        ).result()
        speak(("distributed.scheduler", "asyncio"))
    said = capfd.readouterr().err
    assert said.count("here") == 2 and "heartbeat" not in said
