"""Surveys: shots over workers are those of single runs; restarts and failing shots cost what they must; fibres."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
import segyio
import smallcase
from common import edited, refused, stored

import craton
from craton import shots
from craton.backends import cpu
from craton.cli import main
from craton.comm import placement, workers
from craton.driver.observers.guard import Guard
from craton.errors import ComputationError, ResourceError, ScenarioError
from craton.output.store import read_run
from craton.scenario import dumps
from craton.shots import runs
from craton.shots.task import COMPARED, KEPT, Task, run_shot
from craton.versions import versions

XS = (300, 400, 500)
SOURCE = {"name": "S", "kind": "explosion", "moment": 1e9, "wavelet": {"kind": "gaussian", "tau": 0.03}}
RECEIVER = {"name": "R", "at": [600, -40]}
SURVEY = {  # in the plane
    "domain": {"origin": [0, -600], "size": [1200, 600], "spacing": 20},
    "model": {"kind": "homogeneous", "vp": 3000, "vs": 1700, "rho": 2200},
    "time": {"duration": 0.3, "start": -0.15},
    "source": [SOURCE | {"shots": [[x, -40] for x in XS]}],
    "receivers": [RECEIVER],
    "run": {"device": "cpu", "threads": 1},
}
NAMES = ["S.1", "S.2", "S.3"]


def fibres(gauge=40):
    """A receiver and a fibre."""
    along = [[250, -100], [650, -100], [900, -300]]
    return [RECEIVER, {"name": "F", "das": {"along": along, "spacing": 40, "gauge": gauge}}]


def write(name, *places, **changes):
    """Write the survey with other tables: shots at places, or a single source at one of them."""
    if places:
        changes["source"] = [SOURCE | ({"shots": [*places]} if len(places) > 1 else {"at": places[0]})]
    Path(name).write_text(dumps(craton.Scenario(**edited(SURVEY, **changes))))
    return name


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of its own with survey.toml, three shots."""
    monkeypatch.chdir(tmp_path)
    write("survey.toml")
    return tmp_path


def alone(x, **changes):
    """The result of one shot that is run by itself."""
    return craton.run(craton.load(write("alone.toml", [x, -40], **changes)), progress=False)


def survey(scenario="survey.toml", out="out", **options):
    """The outcome of a survey in this process."""
    return craton.run_survey(scenario, out, **{"workers": 1, "progress": False} | options)


@pytest.mark.costly("the only survey over processes in the short tier")
def test_workers_give_what_single_runs_give(capsys):
    """Two processes, three shots: bit for bit, with the coordinates of the single run."""
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "2"]) == 0
    text, err = capsys.readouterr()
    assert "done: 3 shots" in text and "velocity(shot, receiver, component, time)" in text and "3 of 3 shots" in err
    dataset = stored("out")
    assert list(dataset.shot.values) == NAMES
    for x, name in zip(XS, NAMES):
        single = alone(x).dataset
        np.testing.assert_array_equal(dataset.velocity.sel(shot=name).values, single.velocity.values)
        assert dataset.source_x.sel(shot=name) == x and dataset.source_z.sel(shot=name) == -40
    for coordinate in ("receiver", "component", "time", "x", "z"):
        np.testing.assert_array_equal(dataset[coordinate].values, single[coordinate].values)
    run = read_run("out")
    crew = {shot["worker"] for shot in run["shots"].values()}
    assert run["state"] == "finished" and len(crew) == 2 and not any(w.endswith(f":{os.getpid()}") for w in crew)
    assert len(list(Path("out/result.zarr/velocity").glob("[0-9].*"))) == 3  # a chunk for each shot
    assert craton.load("out/scenario.toml") == craton.load("survey.toml")


def test_a_failing_shot_is_told_and_a_restart_runs_what_is_missing(monkeypatch, capsys):
    """A value that is not finite appears in the second shot; the others are kept. Another survey is not mixed in."""
    names, run, due = [], runs.run_shot, Guard.due
    monkeypatch.setattr(runs, "run_shot", lambda task: (names.append(task.name), run(task))[1])

    def poisoned(self, step):
        program = self.growth.program
        if step == 21 and any("S.2" in text for rows in program.plan.notes.values() for row in rows for text in row):
            field = program.grid("vx")
            field[tuple(n // 2 for n in field.shape)] = np.nan
        return due(self, step)

    with monkeypatch.context() as patched:
        patched.setattr(Guard, "due", poisoned)
        assert main(["survey", "survey.toml", "-o", "out", "--workers", "1"]) == 4
    err = capsys.readouterr().err
    assert "1 of 3 shots failed, 2 are kept in out" in err and "S.2: unstable at step" in err and "Traceback" not in err
    state = read_run("out")
    assert state["state"] == "failed" and names == NAMES
    assert [state["shots"][name]["state"] for name in NAMES] == ["finished", "failed", "finished"]
    before = stored("out").velocity
    assert np.isnan(before.sel(shot="S.2")).all() and np.isfinite(before.sel(shot=["S.1", "S.3"])).all()
    del state["shots"]["S.3"]
    Path("out/run.json").write_text(json.dumps(state))
    # workers of others run what is missing, and free the medium of their last shot
    cleanups, client = [], types.SimpleNamespace(run=lambda function, **options: cleanups.append(function))
    with monkeypatch.context() as patched:
        patched.setattr(workers, "outcomes", lambda _, run, tasks: ((task, run(task)) for task in tasks.values()))
        assert survey(client=client).ran == 2 and names[3:] == ["S.2", "S.3"] and len(KEPT) == 1
    asyncio.run(cleanups[0]())
    assert not KEPT
    velocity = stored("out").velocity
    assert np.isfinite(velocity).all()
    np.testing.assert_array_equal(velocity.values[::2], before.values[::2])
    refused(ScenarioError, "a survey of another scenario", survey, craton.load("survey.toml", ["source.0.moment=2e9"]))
    # the machine is no part of what is computed
    for others in ([], ["run.threads=2"]):
        assert survey(craton.load("survey.toml", others)).ran == 0 and len(names) == 5
    assert read_run("out")["state"] == "finished"


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2])
def test_interrupted_and_restarted(count):
    """Ctrl-C after the first of six shots: 75, what ended is readable and is not run again."""
    write("six.toml", *([x, -40] for x in range(200, 800, 100)), time__duration=20)
    words = [sys.executable, "-m", "craton", "survey", "six.toml", "-o", "out", "--workers", str(count)]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    # SIGINT may be ignored here
    running = subprocess.Popen(words, **pipes, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
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
    assert np.isfinite(stored("out").velocity.sel(shot=done)).all()
    outcome = survey("six.toml")
    assert outcome.ran == 6 - len(done) and np.isfinite(outcome.dataset.velocity).all()
    assert read_run("out")["state"] == "finished"


# --- what makes a survey ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_several_files_with_other_models(capsys):
    """A shot for each file, on the time axis of the sampling; a file of shots gives several. A damaged store is refused, and replaced."""
    write("slow.toml", [400, -40], output__sampling=0.004)
    write("fast.toml", [400, -40], output__sampling=0.004, model__vp=3300)
    write("many.toml", output__sampling=0.004)
    command = ["survey", "slow.toml", "fast.toml", "many.toml", "-o", "out", "--workers", "1", "-q"]
    assert main(command) == 0
    velocity = stored("out").velocity
    assert list(velocity.shot.values) == ["slow", "fast", *(f"many.{name}" for name in NAMES)]
    assert np.isfinite(velocity).all()
    single = craton.run(craton.load("fast.toml"), progress=False).dataset.velocity.values
    np.testing.assert_array_equal(velocity.sel(shot="fast").values, single[..., : velocity.sizes["time"]])
    np.testing.assert_array_equal(velocity.sel(shot="many.S.2").values, velocity.sel(shot="slow").values)
    assert craton.load("out/scenarios/fast.toml") == craton.load("fast.toml")
    Path("out/result.zarr/velocity/.zarray").unlink()
    assert main(command) == 2
    assert "result.zarr is damaged: velocity/.zarray: " in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    np.testing.assert_array_equal(velocity.values, stored("out").velocity.values)


def test_shots_begin_together():
    """Wavelets of other lengths: all runs begin where the longest has to, so that they share the samples."""
    long, short = ({"wavelet": {"kind": "gaussian", "tau": tau}} for tau in (0.2, 0.1))
    rows = (("a", 500, short), ("b", 900, long), ("b", 950, short))
    entries = [SOURCE | {"name": None, "shot": shot, "at": [x, -40]} | wavelet for shot, x, wavelet in rows]
    prepared = shots.prepare(craton.Scenario(**edited(SURVEY, source=entries, time__start=None)))
    assert [len(shot.scenario.source) for shot in prepared.shots] == [1, 2]
    (start,) = {shot.scenario.time.start for shot in prepared.shots}
    assert start == craton.plan(prepared.shots[1].scenario).start < -1.0
    np.testing.assert_allclose(prepared.shots[1].place()[[0, -1]], [925, -40])


def test_space_is_asked_for_all_waveforms():
    """In double precision, and of quantities that follow from one that is recorded."""
    write("more.toml", run__precision="float64", output={"waveforms": ["velocity", "displacement"]})
    data = survey("more.toml").dataset
    prepared = shots.prepare(craton.load("more.toml"))
    assert prepared.nbytes_kept == data.velocity.nbytes + data.displacement.nbytes and data.velocity.dtype == float


def test_each_kind_of_scenario_has_its_command(tmp_path, capsys):
    """In the plane many shots may be one run, in space not; a plan is that of one shot."""
    place = "at = [1500, 1500, -1000]"
    smallcase.write(tmp_path, (place, f"shots = {{ from ={place[4:]}, to = [1800, 1500, -1000], count = 3 }}"))
    write("single.toml", [400, -40])
    for command, name, words in (("run", "small.toml", "craton survey"), ("survey", "single.toml", "craton run")):
        assert main([command, name, "-o", "out"]) == 2
        assert words in capsys.readouterr().err and not Path("out").exists()
    assert main(["plan", "small.toml"]) == 0
    text = capsys.readouterr().out
    assert "31 x 31 x 26" in text and "one of 3 runs" in text and "craton survey small.toml" in text


def test_bad_surveys_are_refused(capsys, monkeypatch):
    """Also files that do not go together, a group of ranks, and what does not fit."""
    for override, message in (
        ("source.0.shots={from=[300,-40],to=[9800,-40],count=3}", "source.0.shots: x = 5050 m is outside"),
        ("time.step=0.05", "time.step: step = 0.05 s is unstable"),
        ("receivers=[]", "receivers: a survey keeps waveforms"),
    ):
        assert main(["survey", "survey.toml", "--set", override]) == 2, override
        err = capsys.readouterr().err
        assert message in err and "nothing was run, nothing was written" in err and not Path("survey").exists()
    write("a.toml", [400, -40])
    write("b.toml", [400, -40], receivers=[RECEIVER | {"at": [700, -40]}], output__waveforms=["velocity", "pressure"])
    assert main(["survey", "a.toml", "b.toml", "-o", "out"]) == 2
    err = capsys.readouterr().err
    assert "b: receivers: other receivers than a" in err and "b: output.waveforms" in err
    with monkeypatch.context() as patched:
        patched.setenv("PMI_SIZE", "2")
        assert main(["survey", "survey.toml", "-o", "out"]) == 2
    assert "not a group of ranks" in capsys.readouterr().err
    monkeypatch.setattr(cpu, "host_memory", lambda: (300_000, 10_000_000))
    refused(ResourceError, "2 shots at a time need", survey, workers=2)
    assert not Path("out").exists()


def test_without_dask(monkeypatch, capsys):
    """Shots run in this process, and are those of one run in the plane, which may have all of them."""
    monkeypatch.setattr(workers, "available", lambda: False)
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "2"]) == 2
    assert "pip install 'craton[survey]'" in capsys.readouterr().err and not Path("out").exists()
    assert main(["survey", "survey.toml", "-o", "out", "-q"]) == 0 and read_run("out")["state"] == "finished"
    together = craton.run(craton.load("survey.toml"), progress=False).dataset
    assert list(together.shot.values) == NAMES
    np.testing.assert_array_equal(together.velocity.values, stored("out").velocity.values)


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

    environments = [{"CUDA_VISIBLE_DEVICES": gpu, "OMP_NUM_THREADS": count} for gpu, count in (("7", "3"), ("1", "2"))]
    with workers.local(environments) as client:
        seen = client.run(lambda: (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["OMP_NUM_THREADS"]))
        parts = [f"distributed.{part}" for part in ("worker", "core", "nanny")]
        client.submit(speak, (*parts, "tornado.application", "asyncio")).result()
        speak(("distributed.scheduler", "asyncio"))
    assert sorted(seen.values()) == [("1", "2"), ("7", "3")]
    err = capfd.readouterr().err
    assert err.count("here") == 2 and "heartbeat" not in err


def test_exit_codes_and_reasons_of_what_went_wrong(folder):
    for code, kind in ((4, ComputationError), (3, ResourceError)):
        failed = {"a": {"code": 1, "reason": "odd"}, "b": {"code": code, "reason": "bad"}}
        outcome = shots.Outcome(Path("out"), ["a", "b", "c"], 3, failed)
        refused(kind, "2 of 3 shots failed, 1 are kept", outcome.finished)
    text = Path(write("single.toml", [400, -40])).read_text()
    for shot, code, words in (
        (Task("a", 0, text, "out/result.zarr", {"craton": "0"}), 3, "survey was started with"),
        (Task("a", 0, text, str(folder / "nowhere" / "result.zarr"), versions(*COMPARED)), 3, "is not seen here"),
        (types.SimpleNamespace(name="a", versions=versions(*COMPARED), text=None), 1, "Error"),
    ):
        report = run_shot(shot)
        assert (report["state"], report["code"]) == ("failed", code) and words in report["reason"]


# --- fibres -----------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_survey_keeps_what_fibres_and_receivers_of_each_shot_recorded_and_goes_on(capsys):
    """Shots that are there are not run again, and one whose chunks are gone is. SEG-Y of a survey and of a run has a trace for each
    channel, with its place and that of its source, and one for each component.
    """
    command = ["survey", write("fibres.toml", [300, -40], [400, -40], receivers=fibres()), "-o", "out"]
    assert main(command) == 0
    data, velocity = stored("out", "fibres"), stored("out").velocity
    assert data.strain_rate.dims == ("shot", "channel", "time") and float(abs(data.strain_rate).max()) > 0
    assert list(data.source_x.values) == [300, 400]
    for n, x in enumerate((300, 400)):
        single = alone(x, receivers=fibres())
        assert np.array_equal(data.strain_rate[n], single.fibres.strain_rate)
        assert np.array_equal(data.x, single.fibres.x) and np.array_equal(velocity[n], single.dataset.velocity)
    assert main(["run", "alone.toml", "-o", "single"]) == 0
    for out, sources in (("out", [300, 400]), ("single", [400])):
        assert main(["convert", out, f"{out}.sgy", "--quantity", "fibre_strain_rate"]) == 0
        with segyio.open(f"{out}.sgy", ignore_geometry=True) as file:
            traces, fields = file.trace.raw[:], segyio.TraceField
            assert np.array_equal(traces, stored(out, "fibres").strain_rate.values.reshape(traces.shape))
            assert np.allclose(file.attributes(fields.GroupX)[:] / 100, np.tile(data.x, len(sources)), atol=0.01)
            assert list(file.attributes(fields.SourceX)[:: data.sizes["channel"]] / 100) == sources
        assert main(["convert", out, f"{out}-v.sgy"]) == 0
        with segyio.open(f"{out}-v.sgy", ignore_geometry=True) as file:
            assert file.tracecount == 2 * len(sources)  # of the receiver: velocity
    capsys.readouterr()
    assert main(command) == 0
    assert "finished:" not in capsys.readouterr().out
    (chunk,) = Path("out/result.zarr/fibres/strain_rate").glob("1.*")
    chunk.unlink()
    assert main(command) == 0
    assert np.array_equal(data.strain_rate, stored("out", "fibres").strain_rate)
    assert main(["check", "out"]) == 0


def test_fibres_alone_need_no_quantity_and_no_other_formats_or_fibres(capsys):
    """Nor do scenarios with other fibres make a survey, and one run has not many shots and fibres."""
    assert main(["run", write("s.toml", [300, -40], receivers=fibres()[1:]), "-o", "out"]) == 0
    assert main(["convert", "out", "f.su"]) == 0
    assert main(["convert", "out", "f.mseed"]) == 2
    assert "SEG-Y or SU" in capsys.readouterr().err
    assert main(["survey", "s.toml", write("t.toml", [300, -40], receivers=fibres(80)[1:]), "-o", "other"]) == 2
    assert "other receivers" in capsys.readouterr().err
    many = craton.load(write("many.toml", receivers=fibres()))
    refused(ScenarioError, "use craton survey", craton.plan, many)
    refused(ScenarioError, "fibres", craton.Problem, many)
