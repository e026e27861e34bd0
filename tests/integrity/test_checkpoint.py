"""Checkpoints: a run that was interrupted goes on with the same bits; what cannot go on is refused in words; a kill leaves a whole one."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import inversecase
import numpy as np
import pytest
import smallcase
from common import craton_command, manifest, misfit, needs_mpi, refused
from damagecase import RESULTS, damage, interrupted, missed, small, stopping
from smallcase import opened, pictured, same_results

import craton
from craton.backends import cpu
from craton.cli import main
from craton.comm import launcher
from craton.driver import checkpoint, waves
from craton.driver.checkpoint import Checkpoints
from craton.driver.job import Job
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


# --- the same bits ----------------------------------------------------------------------------------------------------------------------


RUNS = [("pictures", 1, 1), ("no receivers", 1, 1), ("attenuation and A1", 2, 1), ("elements", 1, 2)]
LONG = [("pictures", 1, 3), ("attenuation and A1", 3, 2), ("plane", 2, 2), ("elements", 2, 2)]
LONG += [("elements in colours", 2, 1), ("16 bits", 1, 1)]


@pytest.mark.parametrize("case, before, after", [*RUNS, *(pytest.param(*run, marks=pytest.mark.long) for run in LONG)])
def test_goes_on_with_the_same_bits(case, before, after, tmp_path):
    """On as many ranks or on others; one with pictures is interrupted once more before another picture was taken. Of elements
    whose forces are added in the order of the ranks the same up to rounding. Of grids the same on any number of ranks.
    """
    out, whole = tmp_path / "out", tmp_path / "whole"
    message = interrupted(craton.run, CASES[case](), out=out, devices=before, stop=[30])
    first = latest(out).step
    assert "stopped by SIGTERM after step" in message and latest(out).ranks == before
    assert first == 31 if before == 1 else first >= 31
    if case == "pictures" and before == after == 1:
        interrupted(craton.resume, out, stop=[31])
        assert latest(out).step == 32 and len(list((out / "checkpoints").iterdir())) == 2
    result = craton.resume(out, progress=False, devices=after)
    assert result.report["steps_done"] == result.plan.steps
    is_summed_anew = case == "elements" and before != after
    ranks = after if case == "elements" and not is_summed_anew else 1
    craton.run(CASES[case](), out=whole, progress=False, devices=ranks)
    if is_summed_anew:
        assert misfit(opened(out).velocity, opened(whole).velocity) < 1e-5
    else:
        same_results(whole, out, GROUPS[case])
    assert manifest(out)["state"] == "finished" and "resumed" in manifest(out) and not (out / "checkpoints").exists()


def test_many_ranks_need_the_user_s_word(single, capsys, monkeypatch):
    """Whatever a manifest says; nothing is started."""
    monkeypatch.setattr(cpu, "cores", lambda: 2)
    monkeypatch.setattr(launcher, "run", lambda ranks, words, **options: (ranks, ""))
    for ranks, words in ((1200, ()), (9, ("--oversubscribe",)), (3, ())):
        changes = {"ranks": ranks, "subdomains": [[0, 1, 0, 1, 0, 7, 0, 0]] * ranks, "fields": [None] * ranks}
        damage(latest(single).folder / "manifest.json", changes)
        assert main(["resume", str(single), *words]) == 2
        message = capsys.readouterr().err
        assert f"{ranks:,} ranks, but this computer has 2 cores" in message
    assert "add --oversubscribe" in message
    monkeypatch.setattr("craton.output.store.ended", lambda *what: None)
    assert main(["resume", str(single), "--oversubscribe"]) == 3
    assert main(["run", str(single / "scenario.toml"), "--ranks", "8"]) == 2


def test_every_so_often_and_after_a_failure(runs, tmp_path, monkeypatch):
    """Waveforms up to the last checkpoint are there while it runs; pictures taken after it are taken again."""
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="out of the blue"):
        stopping(patch, 40, error=RuntimeError("out of the blue"))
        craton.run(small(run=["run.checkpoint=5 ms"]), out=tmp_path / "out", progress=False)
    saved, waveforms = latest(tmp_path / "out"), opened(tmp_path / "out")
    assert 1 <= saved.step < 41 and waveforms.sizes["time"] == saved.step and np.isfinite(waveforms.velocity).all()
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
            message = interrupted(craton.resume, single, stop=[45])
        assert "it cannot be resumed: could not write a checkpoint" in message and "No space left" in message
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

    end, first_picture = time.perf_counter() + 60, "result.zarr/snapshots/section/velocity/[0-9]*"
    try:
        while not (latest(out) and latest(out).step > 40 if ranks == 1 else list(out.glob(first_picture))):
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

RUNNING = b'{"host": "elsewhere", "boot": "x", "pid": 7}'
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
    (".lock", RUNNING, "is being written by process 7 on elsewhere"),
]


def test_what_cannot_go_on_is_refused_in_words(single, tmp_path, capsys):
    """By Python and by the command line; the checkpoint stays."""

    def look(out, words):
        before = latest(out)
        with pytest.raises(ScenarioError) as error:
            craton.resume(out, progress=False)
        code = main(["resume", str(out)])
        is_printed = words.split()[-1] in capsys.readouterr().err
        return code == 2 and is_printed and latest(out) == before, str(error.value)

    assert not missed(REFUSED, single, tmp_path / "copy", lambda out: out, look)


def test_room_for_two_is_asked_for(tmp_path, monkeypatch):
    needed, plan = [], craton.plan(small())
    monkeypatch.setattr("craton.output.store.check_space", lambda path, nbytes: needed.append(nbytes))
    for scenario in (small(), small(run=["run.checkpoint=600"])):
        waves.check_disk(Job(scenario, plan, None, out=tmp_path / "out"))
    # two are retained while a third is written
    assert needed[1] - needed[0] == 3 * sum(plan.arrays[name].nbytes for name in plan.changing) > 0


def test_a_kill_while_checkpoints_are_removed_leaves_none_that_is_damaged(tmp_path, monkeypatch):
    step = tmp_path / checkpoint.FOLDER / "step_000000213"
    (step / "rank_2").mkdir(parents=True)

    def killed(folder, **how):
        if folder.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.shutil, "rmtree", killed)
        refused(KeyboardInterrupt, "", checkpoint.discard, step)
        assert not [*step.parent.glob("step_*")]
    checkpoint.remove(tmp_path)
    assert not [*tmp_path.iterdir()]
