"""Checkpoints: a run that was interrupted goes on with the same bits; what cannot go on is refused in words; a kill leaves a whole one."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import cache, partial

import inversecase
import numpy as np
import pytest
import smallcase
from common import craton_command, manifest, misfit, needs_mpi
from damagecase import RESULTS, damage, interrupted, missed, small, stopping
from smallcase import opened, pictured, same_results

import craton
from craton.backends import cpu
from craton.cli import main
from craton.comm import launcher
from craton.driver import checkpoint, waves
from craton.driver.checkpoint import Checkpoints
from craton.driver.saved import latest
from craton.errors import ScenarioError

LOSSY = ('kind = "homogeneous"', 'kind = "homogeneous"\nqp = 60\nqs = 40\nattenuation = { band = [0.5, 5] }')
SEM = (LOSSY, ("spacing = 150", "spacing = 500"), ('method = "fd"', 'method = "sem"'))
A1 = ('others = "cpml"', 'others = "a1"\nwest = "periodic"\neast = "periodic"')
PML = ('others = "cpml"', 'others = "pml"'), ("cpml = { thickness = 5 }", "pml = { thickness = 1 }")
CASES = {
    "pictures": partial(pictured, domain_spacing=150),
    "no receivers": partial(small, run=["receivers=[]"]),
    "attenuation and A1": partial(small, LOSSY, A1),  # memory variables, past velocities; one rank can wrap around
    "plane": partial(inversecase.scenario, steps=60, source=inversecase.SHOTS),  # three shots side by side
    "elements": partial(small, *SEM),  # attenuation, whose memory lies in vectors of elements
    "elements in colours": partial(small, *SEM, *PML, run=['run.assembly="colour"']),  # sums in one order
    "16 bits": partial(small, run=["run.storage=half"]),  # and fields of a box around the source
}
# groups that are compared
GROUPS = dict.fromkeys(CASES, RESULTS) | {"pictures": same_results.__defaults__[0], "plane": (None,)}
GROUPS["no receivers"] = RESULTS[1:]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A function that gives the results of a run that was not interrupted; of grids they are the same on any number of ranks."""

    @cache
    def results(case, ranks):
        out = tmp_path_factory.mktemp("whole") / "out"
        craton.run(CASES[case](), out=out, progress=False, devices=ranks)
        return out

    return results


# --- the same bits ----------------------------------------------------------------------------------------------------------------------


RUNS = [("pictures", 1, 1), ("no receivers", 1, 1), ("attenuation and A1", 2, 1), ("elements", 1, 2)]
LONG = {
    "pictures": [(2, 2), (1, 3)],
    "attenuation and A1": [(1, 1), (2, 2), (3, 2)],
    "plane": [(1, 1), (2, 2)],
    "elements": [(1, 1), (2, 2)],
    "elements in colours": [(2, 1)],
    "16 bits": [(1, 1)],
}
RUNS += [pytest.param(case, *ranks, marks=pytest.mark.long) for case, pairs in LONG.items() for ranks in pairs]


@pytest.mark.parametrize("case, before, after", RUNS)
def test_goes_on_with_the_same_bits(case, before, after, tmp_path, whole):
    """On as many ranks or on others; one with pictures is interrupted once more before another picture was taken. Of elements
    whose forces are added in the order of the ranks the same up to rounding.
    """
    out = tmp_path / "out"
    message = interrupted(craton.run, CASES[case](), out=out, devices=before, stop=[30])
    first = latest(out).step
    assert "stopped by SIGTERM after step" in message and latest(out).ranks == before
    assert first == 31 if before == 1 else first >= 31
    if case == "pictures" and before == after == 1:
        interrupted(craton.resume, out, stop=[31])
        assert latest(out).step == 32 and len(list((out / "checkpoints").iterdir())) == 2
    result = craton.resume(out, progress=False, devices=after)
    assert result.report["steps_done"] == result.plan.steps
    if case == "elements" and before != after:
        assert misfit(opened(out).velocity, opened(whole(case, 1)).velocity) < 1e-5
    else:
        same_results(whole(case, after if case == "elements" else 1), out, GROUPS[case])
    about = manifest(out)
    assert about["state"] == "finished" and "resumed" in about and not (out / "checkpoints").exists()


def test_many_ranks_need_the_user_s_word(single, capsys, monkeypatch):
    """Whatever a manifest says; nothing is started."""
    monkeypatch.setattr(cpu, "cores", lambda: 2)
    monkeypatch.setattr(launcher, "run", lambda ranks, words, **asked: (ranks, ""))
    box = [0, 1, 0, 1, 0, 7, 0, 0]
    for ranks, words in ((1200, ()), (9, ("--oversubscribe",)), (3, ())):
        changes = {"ranks": ranks, "subdomains": [box] * ranks, "fields": [None] * ranks}
        damage(latest(single).folder / "manifest.json", changes)
        assert main(["resume", str(single), *words]) == 2
        said = capsys.readouterr().err
        assert f"{ranks:,} ranks, but this computer has 2 cores" in said
    assert "add --oversubscribe" in said
    monkeypatch.setattr("craton.output.store.ended", lambda *what: None)
    assert main(["resume", str(single), "--oversubscribe"]) == 3
    assert main(["run", str(single / "scenario.toml"), "--ranks", "8"]) == 2


def test_every_so_often_and_after_a_failure(runs, tmp_path, monkeypatch):
    """Waveforms up to the last checkpoint are there while it runs; pictures taken after it are taken again."""
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="out of the blue"):
        stopping(patch, 40, error=RuntimeError("out of the blue"))
        craton.run(small(run=["run.checkpoint=5 ms"]), out=tmp_path / "out", progress=False)
    saved, done = latest(tmp_path / "out"), opened(tmp_path / "out")
    assert 1 <= saved.step < 41 and done.sizes["time"] == saved.step and np.isfinite(done.velocity).all()
    assert saved.record.shape == (saved.step, 12)
    craton.resume(tmp_path / "out", progress=False)
    same_results(runs / "whole", tmp_path / "out", RESULTS)


# --- a kill at any time -----------------------------------------------------------------------------------------------------------------


def test_the_old_one_stays_until_the_new_one_is_whole(single, monkeypatch):
    def fails(self, *arguments):
        raise OSError(28, "No space left on device")

    for where in ("write", "close"):
        with monkeypatch.context() as patch:
            patch.setattr(Checkpoints, where, fails)
            said = interrupted(craton.resume, single, stop=[45])
        assert "it cannot be resumed: could not write a checkpoint" in said and "No space left" in said
        assert latest(single).step == 41
    craton.resume(single, progress=False)


@pytest.mark.long
@pytest.mark.parametrize("duration, ranks", [(6, 1), pytest.param(10, 2, marks=needs_mpi)])
def test_processes_that_are_killed_or_stopped_go_on(duration, ranks, tmp_path):
    """SIGKILL of one process loses what came after the last checkpoint; the rest is there and goes on. Ctrl-C of two: exit code 75,
    what to type; `resume` starts as many ranks by itself and refuses far too many.
    """
    path, out = smallcase.write(tmp_path, ("duration = 1.0", f"duration = {duration}")), tmp_path / "out"
    more = ["--set", "run.checkpoint=50 ms"] if ranks == 1 else ["--ranks", "2"]
    words = [sys.executable, "-m", "craton", "run", "small.toml", "-o", "out", *more]
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    job = subprocess.Popen(words, cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def is_ready():
        if ranks == 1:
            return latest(out) and latest(out).step > 40
        return list(out.glob("result.zarr/snapshots/section/velocity/[0-9]*"))

    end = time.perf_counter() + 60
    try:
        while not is_ready():
            assert time.perf_counter() < end
            time.sleep(0.02)
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


def test_what_cannot_go_on_is_refused_in_words(single, tmp_path, capsys):
    """By Python and by the command line; the checkpoint stays."""

    def look(out, words):
        before = latest(out)
        with pytest.raises(ScenarioError) as error:
            craton.resume(out, progress=False)
        code = main(["resume", str(out)])
        said = capsys.readouterr().err
        return code == 2 and words.split()[-1] in said and latest(out) == before, str(error.value)

    assert not missed(REFUSED, single, tmp_path / "copy", lambda out: out, look)


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

    def killed(folder, **how):
        if folder.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.discard(step)
        assert not [*step.parent.glob("step_*")]
    checkpoint.remove(tmp_path)
    assert not [*tmp_path.iterdir()]
