"""Checkpoints: a run that was interrupted goes on with the same bits; what cannot go on is refused in words; a kill leaves a whole one."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import smallcase
from common import needs_mpi
from smallcase import opened, pictured, same_results

import craton
from craton.cli import main
from craton.driver import checkpoint, waves
from craton.driver.checkpoint import Checkpoints
from craton.driver.recorder import Recorder
from craton.driver.saved import latest
from craton.errors import Interrupted, ResourceError, ScenarioError
from craton.integrity import sealed
from craton.scenario import loads

LOSSY = 'kind = "homogeneous"\nqp = 60\nqs = 40\nattenuation = { band = [0.5, 5] }'


def lossy():
    """Memory variables, and A1, which keeps past velocities; one rank can wrap around."""
    text = smallcase.changed(
        ('kind = "homogeneous"', LOSSY), ('others = "cpml"', 'others = "a1"\nwest = "periodic"\neast = "periodic"')
    )
    return loads(text, ("run.threads=1",))


def plane():
    """Three shots side by side."""
    return loads(
        smallcase.changed(
            ("origin = [0, 0, -2500]", "origin = [0, -2500]"),
            ("size = [3000, 3000, 2500]", "size = [3000, 2500]"),
            ("at = [1500, 1500, -1000]", "shots = { from = [1000, -1000], to = [2000, -1000], count = 3 }"),
            ("at = [2000, 1500, 0]", "at = [2000, 0]"),
            ("from = [1000, 1500, 0], to = [1400, 1500, 0]", "from = [1000, 0], to = [1400, 0]"),
            ("plane = { y = 1500 }\n", ""),
        ),
        ("run.threads=1",),
    )


def elements():
    """Spectral elements with attenuation, whose memory lies in vectors of elements."""
    text = smallcase.changed(
        ('kind = "homogeneous"', LOSSY), ("spacing = 100", "spacing = 500"), ('method = "fd"', 'method = "sem"')
    )
    return loads(text, ("run.threads=1",))


def in_half():
    """Fields in 16 bits, and those of a box around the source."""
    return loads(smallcase.TEXT, ("run.threads=1", "run.storage=half"))


CASES = {
    "pictures": (pictured, smallcase.same_results.__defaults__[0]),
    "attenuation and A1": (lossy, (None, "snapshots/section")),
    "plane": (plane, (None,)),
    "spectral elements": (elements, (None, "snapshots/section")),
    "16 bits": (in_half, (None, "snapshots/section")),
}
RUNS = [(case, ranks) for case in CASES for ranks in (1, 2) if (case, ranks) != ("16 bits", 2)]


@pytest.fixture
def stopping(monkeypatch):
    """A function that lets runs be told to stop, or fail, at these steps, one after another."""
    steps, sample = [], Recorder.sample

    def stop_at(*some, error=None):
        steps[:] = some

        def told(self, step):
            if steps and step == steps[0] and self.comm.rank == 0:
                steps.pop(0)
                if error:
                    raise error
                self.stopped = "SIGTERM"
            sample(self, step)

        monkeypatch.setattr(Recorder, "sample", told)

    return stop_at


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A function that gives the results of a run that was not interrupted; of grids they are the same on any number of ranks."""
    folders = {}

    def results(make, ranks=1):
        if (make, ranks) not in folders:
            folders[make, ranks] = tmp_path_factory.mktemp("whole") / "out"
            craton.run(make(), out=folders[make, ranks], progress=False, devices=ranks)
        return folders[make, ranks]

    return results


def interrupted(work, *arguments, **options):
    """What a run that is told to stop says."""
    with pytest.raises(Interrupted) as error:
        work(*arguments, progress=False, **options)
    return str(error.value)


# --- the same bits ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case, ranks", RUNS)
def test_goes_on_with_the_same_bits(case, ranks, tmp_path, stopping, whole):
    """Interrupted twice, the second time before another picture was taken."""
    make, groups = CASES[case]
    reference = whole(make, ranks if make is elements else 1)
    stopping(30, 31)
    said = interrupted(craton.run, make(), out=tmp_path / "out", devices=ranks)
    assert "stopped by SIGTERM after step" in said
    first = latest(tmp_path / "out").step
    assert (first == 31 if ranks == 1 else first >= 31) and latest(tmp_path / "out").ranks == ranks
    if ranks == 1:
        interrupted(craton.resume, tmp_path / "out")
        assert latest(tmp_path / "out").step == 32 and len(list((tmp_path / "out" / "checkpoints").iterdir())) == 2
    result = craton.resume(tmp_path / "out", progress=False, devices=ranks)
    assert result.report["steps_done"] == result.plan.steps
    same_results(reference, tmp_path / "out", groups)
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told["state"] == "finished" and "resumed" in told and not (tmp_path / "out" / "checkpoints").exists()


def in_colours():
    """Spectral elements with PML, whose sums do not depend on the order."""
    text = smallcase.changed(
        ('kind = "homogeneous"', LOSSY),
        ("spacing = 100", "spacing = 500"),
        ('method = "fd"', 'method = "sem"'),
        ('others = "cpml"', 'others = "pml"'),
        ("cpml = { thickness = 5 }", "pml = { thickness = 1 }"),
    )
    return loads(text, ("run.threads=1", 'run.assembly="colour"'))


OTHER_RANKS = {
    "pictures, 1 to 3": (pictured, 1, 3, CASES["pictures"][1]),
    "attenuation and A1, 3 to 2": (lossy, 3, 2, (None, "snapshots/section")),
    "elements, 2 to 1": (in_colours, 2, 1, (None, "snapshots/section")),
}


@pytest.mark.parametrize("case", OTHER_RANKS)
def test_goes_on_with_the_same_bits_on_another_number_of_ranks(case, tmp_path, stopping, whole):
    make, before, after, groups = OTHER_RANKS[case]
    stopping(30)
    interrupted(craton.run, make(), out=tmp_path / "out", devices=before)
    craton.resume(tmp_path / "out", progress=False, devices=after)
    same_results(whole(make), tmp_path / "out", groups)


def test_sums_in_another_order_differ_by_rounding(tmp_path, stopping, whole):
    """Elements whose forces are added in the order of the ranks."""
    stopping(30)
    interrupted(craton.run, elements(), out=tmp_path / "out")
    craton.resume(tmp_path / "out", progress=False, devices=2)
    one, other = (opened(out).velocity.values for out in (whole(elements), tmp_path / "out"))
    assert np.linalg.norm(one - other) < 1e-5 * np.linalg.norm(one)


def test_many_ranks_need_the_user_s_word(copied, capsys, monkeypatch):
    """Whatever a manifest says; nothing is started."""
    from craton.backends import cpu
    from craton.comm import launcher

    monkeypatch.setattr(cpu, "cores", lambda: 2)
    monkeypatch.setattr(launcher, "run", lambda ranks, words, **asked: (ranks, ""))
    box = [0, 1, 0, 1, 0, 7, 0, 0]
    for ranks, words, code in ((5000, (), 2), (9, ("--oversubscribe",), 2), (3, (), 2)):
        manifest(copied, ranks=ranks, subdomains=[box] * ranks, fields=[None] * ranks)
        assert main(["resume", str(copied), *words]) == code
        said = capsys.readouterr().err
        assert f"{ranks:,} ranks, but this computer has 2 cores" in said
    assert "add --oversubscribe" in said
    monkeypatch.setattr("craton.output.store.ended", lambda *what: None)
    assert main(["resume", str(copied), "--oversubscribe"]) == 3
    assert main(["run", str(copied / "scenario.toml"), "--ranks", "8"]) == 2


def test_every_so_often_and_after_a_failure(tmp_path, stopping):
    """Waveforms up to the last checkpoint are there while it runs; pictures taken after it are taken again."""
    craton.run(pictured(), out=tmp_path / "whole", progress=False)
    stopping(47, error=RuntimeError("out of the blue"))
    with pytest.raises(RuntimeError, match="out of the blue"):
        craton.run(pictured(run_checkpoint='"20 ms"'), out=tmp_path / "out", progress=False)
    saved = latest(tmp_path / "out")
    done = opened(tmp_path / "out")
    assert 1 <= saved.step < 48 and done.sizes["time"] == saved.step and np.isfinite(done.velocity).all()
    assert saved.record.shape == (saved.step, 12)
    craton.resume(tmp_path / "out", progress=False)
    same_results(tmp_path / "whole", tmp_path / "out")


def test_a_run_without_receivers(tmp_path, stopping):
    text = smallcase.TEXT
    text = text[: text.index("[[receivers]]")] + text[text.index("[[snapshots]]") :]
    craton.run(loads(text), out=tmp_path / "whole", progress=False)
    stopping(20)
    interrupted(craton.run, loads(text), out=tmp_path / "out")
    craton.resume(tmp_path / "out", progress=False)
    same_results(tmp_path / "whole", tmp_path / "out", ("snapshots/section",))


# --- a kill at any time -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["write", "close"])
def test_the_old_one_stays_until_the_new_one_is_whole(where, tmp_path, stopping, monkeypatch):
    stopping(20)
    interrupted(craton.run, pictured(), out=tmp_path / "out")
    right = getattr(Checkpoints, where)

    def fails(self, *arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Checkpoints, where, fails)
    stopping(40)
    said = interrupted(craton.resume, tmp_path / "out")
    assert "it cannot be resumed: could not write a checkpoint" in said and "No space left" in said
    assert latest(tmp_path / "out").step == 21
    monkeypatch.setattr(Checkpoints, where, right)
    stopping()
    craton.resume(tmp_path / "out", progress=False)


def process(folder, *words):
    """`craton` as a process."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "craton", *words],
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(ready, patience=60):
    """Until something is true."""
    end = time.perf_counter() + patience
    while not ready():
        assert time.perf_counter() < end
        time.sleep(0.02)


def test_killed_outright_and_resumed(tmp_path, monkeypatch, capsys):
    """SIGKILL loses what came after the last checkpoint; the rest is there and goes on."""
    smallcase.write(tmp_path, ("duration = 1.0", "duration = 6.0"))
    job = process(tmp_path, "run", "small.toml", "-o", "out", "--set", "run.checkpoint=50 ms")
    try:
        wait_for(lambda: latest(tmp_path / "out") and latest(tmp_path / "out").step > 40)
    finally:
        job.kill()
        job.communicate()
    steps = latest(tmp_path / "out").step
    assert opened(tmp_path / "out").sizes["time"] >= steps
    monkeypatch.chdir(tmp_path)
    assert main(["resume", "out"]) == 0
    out = capsys.readouterr().out
    assert f"from    step {latest_step(out):,}" in out and latest_step(out) >= steps
    craton.run(
        loads((tmp_path / "small.toml").read_text(), ("time.duration=6",)), out=tmp_path / "whole", progress=False
    )
    same_results(tmp_path / "whole", tmp_path / "out", (None, "snapshots/section"))


def latest_step(out):
    """The step that `craton resume` says it goes on from."""
    return int(out.split("from    step ")[1].split()[0].replace(",", ""))


@needs_mpi
def test_processes_that_are_stopped_go_on(tmp_path, monkeypatch, capsys):
    """Ctrl-C, exit code 75, what to type; `resume` starts as many ranks by itself and refuses far too many."""
    smallcase.write(tmp_path, ("duration = 1.0", "duration = 10.0"))
    job = process(tmp_path, "run", "small.toml", "-o", "out", "--ranks", "2")
    wait_for(lambda: list((tmp_path / "out").glob("result.zarr/snapshots/section/velocity/[0-9]*")))
    job.send_signal(signal.SIGTERM)
    _, err = job.communicate(timeout=60)
    assert job.returncode == 75 and "craton resume out" in err, err
    saved = latest(tmp_path / "out")
    assert saved.ranks == 2 and saved.step > 0
    monkeypatch.chdir(tmp_path)
    assert main(["resume", "out", "--ranks", "9999"]) == 2
    assert "9,999 ranks, but" in capsys.readouterr().err
    done = process(tmp_path, "resume", "out")
    _, err = done.communicate(timeout=120)
    assert done.returncode == 0 and "ranks, but" not in err, err
    craton.run(loads((tmp_path / "small.toml").read_text()), out=tmp_path / "whole", progress=False)
    same_results(tmp_path / "whole", tmp_path / "out", (None, "snapshots/section"))


# --- what cannot go on ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """A run that was interrupted on one rank."""
    out, sample = tmp_path_factory.mktemp("left") / "out", Recorder.sample

    def told(self, step):
        self.stopped = "SIGTERM" if step == 9 else None
        sample(self, step)

    Recorder.sample = told
    try:
        interrupted(craton.run, pictured(), out=out)
    finally:
        Recorder.sample = sample
    return out


@pytest.fixture
def copied(left, tmp_path):
    """A copy of it."""
    import shutil

    return shutil.copytree(left, tmp_path / "out")


def manifest(out, **changes):
    """Change the manifest of a checkpoint."""
    path = latest(out).folder / "manifest.json"
    path.write_text(sealed(json.loads(path.read_text()) | changes))


RUNNING = {"state": "running", "pid": os.getppid(), "host": os.uname().nodename}
REFUSED = {
    "another scenario": (
        lambda out: (out / "scenario.toml").write_text((out / "scenario.toml").read_text().replace("3000.0", "3001.0")),
        "not the scenario that the checkpoint was written with",
    ),
    "another version": (lambda out: manifest(out, versions={"craton": "0.0.1"}), "written by craton 0.0.1"),
    "another format": (lambda out: manifest(out, format=1), "has format 1, this version of craton reads format 3"),
    "other elements": (
        lambda out: manifest(out, subdomains=[[0, 1, 0, 1, 0, 7, 0, 0]]),
        "its subdomains would be others",
    ),
    "other steps": (lambda out: manifest(out, dt=0.1), "its dt would be others"),
    "nothing there": (lambda out: (out / "run.json").unlink(), "there is no run in"),
    "finished": (lambda out: (out / "run.json").write_text('{"state": "finished"}'), "there is nothing to go on with"),
    "no checkpoint": (lambda out: checkpoint.remove(out), "has left no checkpoint"),
    "goes on": (lambda out: (out / "run.json").write_text(json.dumps(RUNNING)), "is being written by process"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_words(case, copied, capsys):
    """By Python and by the command line; the checkpoint stays."""
    change, words = REFUSED[case]
    change(copied)
    before = latest(copied)
    with pytest.raises(ScenarioError, match=words):
        craton.resume(copied, progress=False)
    assert main(["resume", str(copied)]) == 2
    said = capsys.readouterr().err
    assert words.split()[-1] in said and "Traceback" not in said
    assert latest(copied) == before


def test_a_damaged_one_is_refused(copied):
    path = latest(copied).folder / "rank_0" / "state.npy"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ResourceError, match="every checkpoint is damaged.*state.npy.* 1,000 of"):
        craton.resume(copied, progress=False)


def test_room_for_two_is_asked_for(tmp_path, monkeypatch):
    from craton.output import store

    asked = []
    monkeypatch.setattr(store, "check_space", lambda path, nbytes: asked.append(nbytes))
    scenario = pictured()
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
