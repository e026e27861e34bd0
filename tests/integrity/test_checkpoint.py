"""Checkpoints: a run that was interrupted goes on with the same bits; what cannot go on is refused in words; a kill leaves a whole one."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
import smallcase
from common import craton_command, manifest, needs_mpi
from damagecase import RESULTS, damage, interrupted, missed, small, stopping
from smallcase import opened, pictured, same_results

import craton
from craton.cli import main
from craton.driver import checkpoint, waves
from craton.driver.checkpoint import Checkpoints
from craton.driver.saved import latest
from craton.errors import ScenarioError
from craton.scenario import loads

LOSSY = ('kind = "homogeneous"', 'kind = "homogeneous"\nqp = 60\nqs = 40\nattenuation = { band = [0.5, 5] }')
SEM = (LOSSY, ("spacing = 100", "spacing = 500"), ('method = "fd"', 'method = "sem"'))
PLANE = (
    ("origin = [0, 0, -2500]", "origin = [0, -2500]"),
    ("size = [3000, 3000, 2500]", "size = [3000, 2500]"),
    ("at = [1500, 1500, -1000]", "shots = { from = [1000, -1000], to = [2000, -1000], count = 3 }"),
    ("at = [2000, 1500, 0]", "at = [2000, 0]"),
    ("from = [1000, 1500, 0], to = [1400, 1500, 0]", "from = [1000, 0], to = [1400, 0]"),
    ("plane = { y = 1500 }\n", ""),
)
A1 = ('others = "cpml"', 'others = "a1"\nwest = "periodic"\neast = "periodic"')
PML = ('others = "cpml"', 'others = "pml"'), ("cpml = { thickness = 5 }", "pml = { thickness = 1 }")
CASES = {
    "pictures": pictured,
    "attenuation and A1": partial(small, LOSSY, A1),  # memory variables, past velocities; one rank can wrap around
    "plane": partial(small, *PLANE),  # three shots side by side
    "elements": partial(small, *SEM),  # attenuation, whose memory lies in vectors of elements
    "elements in colours": partial(small, *SEM, *PML, run=['run.assembly="colour"']),  # sums in one order
    "16 bits": partial(small, run=["run.storage=half"]),  # and fields of a box around the source
}
# groups that are compared
GROUPS = dict.fromkeys(CASES, RESULTS) | {"pictures": same_results.__defaults__[0], "plane": (None,)}


def tiers(*runs, short):
    """Parameters of a test, of which all but some are long."""
    return [pytest.param(*run, marks=[] if run in short else pytest.mark.long) for run in runs]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A function that gives the results of a run that was not interrupted; of grids they are the same on any number of ranks."""
    folders = {}

    def results(case, ranks=1):
        if (case, ranks) not in folders:
            folders[case, ranks] = tmp_path_factory.mktemp("whole") / "out"
            craton.run(CASES[case](), out=folders[case, ranks], progress=False, devices=ranks)
        return folders[case, ranks]

    return results


@pytest.fixture
def copied(left, tmp_path):
    """A copy of an interrupted run with its last checkpoint only."""
    out = shutil.copytree(left / "out", tmp_path / "out")
    shutil.rmtree(out / "checkpoints" / "step_000000021")
    return out


# --- the same bits ----------------------------------------------------------------------------------------------------------------------


RUNS = [
    (case, ranks)
    for case in CASES
    if case != "elements in colours"
    for ranks in (1, 2)
    if (case, ranks) != ("16 bits", 2)
]


@pytest.mark.parametrize("case, ranks", tiers(*RUNS, short=[("pictures", 1)]))
def test_goes_on_with_the_same_bits(case, ranks, tmp_path, whole):
    """Interrupted twice, the second time before another picture was taken."""
    make, out = CASES[case], tmp_path / "out"
    reference = whole(case, ranks if "elements" in case else 1)
    assert "stopped by SIGTERM after step" in interrupted(craton.run, make(), out=out, devices=ranks, stop=[30])
    first = latest(out).step
    assert (first == 31 if ranks == 1 else first >= 31) and latest(out).ranks == ranks
    if ranks == 1:
        interrupted(craton.resume, out, stop=[31])
        assert latest(out).step == 32 and len(list((out / "checkpoints").iterdir())) == 2
    result = craton.resume(out, progress=False, devices=ranks)
    assert result.report["steps_done"] == result.plan.steps
    same_results(reference, out, GROUPS[case])
    told = manifest(out)
    assert told["state"] == "finished" and "resumed" in told and not (out / "checkpoints").exists()


OTHERS = [("pictures", 1, 3), ("attenuation and A1", 3, 2), ("elements in colours", 2, 1)]
SHORT = [("attenuation and A1", 2, 1), ("elements", 1, 2)]


@pytest.mark.parametrize("case, before, after", tiers(*OTHERS, *SHORT, short=SHORT))
def test_goes_on_on_another_number_of_ranks(case, before, after, tmp_path, whole):
    """With the same bits; of elements whose forces are added in the order of the ranks, up to rounding."""
    make, out = CASES[case], tmp_path / "out"
    interrupted(craton.run, make(), out=out, devices=before, stop=[30])
    craton.resume(out, progress=False, devices=after)
    if case == "elements":
        one, other = (opened(folder).velocity.values for folder in (whole(case), out))
        assert np.linalg.norm(one - other) < 1e-5 * np.linalg.norm(one)
    else:
        same_results(whole(case), out, GROUPS[case])


def test_many_ranks_need_the_user_s_word(copied, capsys, monkeypatch):
    """Whatever a manifest says; nothing is started."""
    from craton.backends import cpu
    from craton.comm import launcher

    monkeypatch.setattr(cpu, "cores", lambda: 2)
    monkeypatch.setattr(launcher, "run", lambda ranks, words, **asked: (ranks, ""))
    box = [0, 1, 0, 1, 0, 7, 0, 0]
    for ranks, words, code in ((5000, (), 2), (9, ("--oversubscribe",), 2), (3, (), 2)):
        changes = {"ranks": ranks, "subdomains": [box] * ranks, "fields": [None] * ranks}
        damage(latest(copied).folder / "manifest.json", changes)
        assert main(["resume", str(copied), *words]) == code
        said = capsys.readouterr().err
        assert f"{ranks:,} ranks, but this computer has 2 cores" in said
    assert "add --oversubscribe" in said
    monkeypatch.setattr("craton.output.store.ended", lambda *what: None)
    assert main(["resume", str(copied), "--oversubscribe"]) == 3
    assert main(["run", str(copied / "scenario.toml"), "--ranks", "8"]) == 2


def test_every_so_often_and_after_a_failure(left, tmp_path, monkeypatch):
    """Waveforms up to the last checkpoint are there while it runs; pictures taken after it are taken again."""
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="out of the blue"):
        stopping(patch, 47, error=RuntimeError("out of the blue"))
        craton.run(small(run=["run.checkpoint=20 ms"]), out=tmp_path / "out", progress=False)
    saved, done = latest(tmp_path / "out"), opened(tmp_path / "out")
    assert 1 <= saved.step < 48 and done.sizes["time"] == saved.step and np.isfinite(done.velocity).all()
    assert saved.record.shape == (saved.step, 12)
    craton.resume(tmp_path / "out", progress=False)
    same_results(left / "whole", tmp_path / "out", RESULTS)


def test_a_run_without_receivers(tmp_path):
    text = smallcase.TEXT
    scenario = loads(text[: text.index("[[receivers]]")] + text[text.index("[[snapshots]]") :])
    craton.run(scenario, out=tmp_path / "whole", progress=False)
    interrupted(craton.run, scenario, out=tmp_path / "out", stop=[20])
    craton.resume(tmp_path / "out", progress=False)
    same_results(tmp_path / "whole", tmp_path / "out", RESULTS[1:])


# --- a kill at any time -----------------------------------------------------------------------------------------------------------------


def test_the_old_one_stays_until_the_new_one_is_whole(copied, monkeypatch):
    def fails(self, *arguments):
        raise OSError(28, "No space left on device")

    for where in ("write", "close"):
        with monkeypatch.context() as patch:
            patch.setattr(Checkpoints, where, fails)
            said = interrupted(craton.resume, copied, stop=[45])
        assert "it cannot be resumed: could not write a checkpoint" in said and "No space left" in said
        assert latest(copied).step == 41
    craton.resume(copied, progress=False)


def process(folder, *words):
    """`craton` as a process."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-m", "craton", *words]
    return subprocess.Popen(words, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(ready, patience=60):
    """Until something is true."""
    end = time.perf_counter() + patience
    while not ready():
        assert time.perf_counter() < end
        time.sleep(0.02)


@pytest.mark.long
@pytest.mark.parametrize("duration, ranks", [(6, 1), pytest.param(10, 2, marks=needs_mpi)])
def test_processes_that_are_killed_or_stopped_go_on(duration, ranks, tmp_path):
    """SIGKILL of one process loses what came after the last checkpoint; the rest is there and goes on. Ctrl-C of two: exit code 75,
    what to type; `resume` starts as many ranks by itself and refuses far too many.
    """
    path, out = smallcase.write(tmp_path, ("duration = 1.0", f"duration = {duration}")), tmp_path / "out"
    every = ["--set", "run.checkpoint=50 ms"] if ranks == 1 else ["--ranks", "2"]
    job = process(tmp_path, "run", "small.toml", "-o", "out", *every)
    try:
        if ranks == 1:
            wait_for(lambda: latest(out) and latest(out).step > 40)
        else:
            wait_for(lambda: list(out.glob("result.zarr/snapshots/section/velocity/[0-9]*")))
    finally:
        job.send_signal(signal.SIGKILL if ranks == 1 else signal.SIGTERM)
        _, err = job.communicate(timeout=60)
    steps = latest(out).step
    assert latest(out).ranks == ranks and steps > 0 and opened(out).sizes["time"] >= steps
    if ranks == 2:
        assert job.returncode == 75 and "craton resume out" in err, err
        assert "9,999 ranks, but" in craton_command("resume", "out", "--ranks", "9999", folder=tmp_path, code=2).stderr
    done = craton_command("resume", "out", folder=tmp_path)
    assert "ranks, but" not in done.stderr
    assert int(done.stdout.split("from    step ")[1].split()[0].replace(",", "")) >= steps
    craton.run(craton.load(path), out=tmp_path / "whole", progress=False)
    same_results(tmp_path / "whole", out, RESULTS)


# --- what cannot go on ------------------------------------------------------------------------------------------------------------------

RUNNING = json.dumps({"state": "running", "pid": os.getppid(), "host": os.uname().nodename})
LAST = "checkpoints/step_000000041/manifest.json"
REFUSED = [
    ("scenario.toml", ("3000.0", "3001.0"), "not the scenario that the checkpoint was written with"),
    (LAST, {"versions": {"craton": "0.0.1"}}, "written by craton 0.0.1"),
    (LAST, {"format": 1}, "has format 1, this version of craton reads format 3"),
    (LAST, {"subdomains": [[0, 1, 0, 1, 0, 7, 0, 0]]}, "its subdomains would be others"),
    (LAST, {"dt": 0.1}, "its dt would be others"),
    ("run.json", None, "there is no run in"),
    ("run.json", b'{"state": "finished"}', "there is nothing to go on with"),
    ("", checkpoint.remove, "has left no checkpoint"),
    ("run.json", RUNNING.encode(), "is being written by process"),
]


def test_what_cannot_go_on_is_refused_in_words(copied, tmp_path, capsys):
    """By Python and by the command line; the checkpoint stays."""

    def look(out, words):
        before = latest(out)
        with pytest.raises(ScenarioError) as error:
            craton.resume(out, progress=False)
        code = main(["resume", str(out)])
        said = capsys.readouterr().err
        return code == 2 and words.split()[-1] in said and latest(out) == before, str(error.value)

    assert not missed(REFUSED, copied, tmp_path / "copy", lambda out: out, look)


def test_room_for_two_is_asked_for(tmp_path, monkeypatch):
    asked, scenario = [], small()
    monkeypatch.setattr("craton.output.store.check_space", lambda path, nbytes: asked.append(nbytes))
    plan = craton.plan(scenario)
    for every in (None, 600):
        asking = scenario.model_copy(update={"run": scenario.run.model_copy(update={"checkpoint": every})})
        waves.check_disk(asking, plan, tmp_path / "out", False)
    # two are retained while a third is written
    assert asked[1] - asked[0] == 3 * sum(plan.arrays[name].nbytes for name in plan.changing) > 0


def test_a_kill_while_checkpoints_are_removed_leaves_none_that_is_damaged(tmp_path, monkeypatch):
    step = tmp_path / checkpoint.FOLDER / "step_000000213"
    (step / "rank_2").mkdir(parents=True)

    class Killed(BaseException):
        pass

    def killed(folder, **how):
        if folder.exists():
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.shutil, "rmtree", killed)
        with pytest.raises(Killed):
            checkpoint.discard(step)
        assert not [*step.parent.glob("step_*")]
    checkpoint.remove(tmp_path)
    assert not [*tmp_path.iterdir()]
