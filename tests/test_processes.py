"""Processes of a run and real signals: parents that are killed, ranks that are stopped or hang, forks, launchers' variables, working folders."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import smallcase
from craton.comm import launcher
from craton.driver.checkpoint import latest
from craton.errors import ScenarioError
from craton.output.store import read_run

needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed")
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="signs of Linux")
LONG = ("duration = 1.0", "duration = 400.0")


def ranks_of(out):
    """Pids of the ranks of a run, by run.json."""
    return [rank["pid"] for rank in read_run(out).get("ranks", ())]


def alive(pid):
    """Whether a process is there and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_for(condition, seconds=60):
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, "it took too long"
        time.sleep(0.05)
    return time.monotonic() - begin


@pytest.fixture
def job(tmp_path):
    """A long run on two ranks that is in its time loop; whatever is left of it is ended."""
    started = []

    def start(*words, ranks=2):
        smallcase.write(tmp_path, LONG)
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        words = ("run", "small.toml", "-o", "out", "--ranks", str(ranks), *words)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "craton", *words],
            cwd=tmp_path,
            env=environment,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        pictures = "result.zarr/snapshots/section/velocity/[0-9]*"
        wait_for(lambda: process.poll() is not None or list((tmp_path / "out").glob(pictures)))
        assert process.poll() is None, process.stderr.read()
        started.extend(ranks_of(tmp_path / "out"))
        return process, ranks_of(tmp_path / "out")

    yield start
    for one in started:
        if isinstance(one, int):
            if alive(one):
                os.kill(one, signal.SIGKILL)
        elif one.poll() is None:
            one.kill()
    for one in started:
        if not isinstance(one, int):
            one.communicate()


def launcher_of(parent):
    """Pid of the mpiexec that a process has started."""
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])


@needs_mpi
@linux
def test_ranks_end_with_their_parent(job, tmp_path):
    """SIGKILL of the parent ends mpiexec and all ranks; a module beside the scenario is not imported."""
    (tmp_path / "bisect.py").write_text("raise SystemExit('a file of the working folder ran')\n")
    process, ranks = job()
    mpiexec = launcher_of(process.pid)
    assert len(ranks) == 2 and all(map(alive, [mpiexec, *ranks]))
    process.kill()
    assert wait_for(lambda: not any(map(alive, [mpiexec, *ranks]))) < 10


@needs_mpi
@linux
def test_a_stopped_rank_is_named_and_ends_the_run(job, tmp_path):
    process, ranks = job("--set", "run.patience=2")
    os.kill(ranks[1], signal.SIGSTOP)
    begin = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - begin < 15 and process.returncode == 1, said
    reason = "rank 1 on "
    assert reason in said and "gave no sign of life for 2 s after step" in said, said
    assert said.count("no sign of life") == 1
    run = read_run(tmp_path / "out")
    assert run["state"] == "failed" and "no sign of life" in run["reason"]
    assert not any(map(alive, ranks))


@needs_mpi
def test_signals_of_a_batch_system_leave_a_checkpoint(job, tmp_path):
    """SIGTERM to every process at once, as systemd and Slurm send it; then a second request."""
    process, ranks = job()
    for pid in (*ranks, launcher_of(process.pid), process.pid):
        os.kill(pid, signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 75 and "craton resume out" in said, said
    assert latest(tmp_path / "out").step > 0
    assert read_run(tmp_path / "out")["state"] == "interrupted"


@needs_mpi
def test_a_second_interruption_ends_at_once(job):
    """Also where the ranks cannot answer."""
    process, ranks = job()
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    time.sleep(2 * launcher.REPEAT)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - begin < 5 and process.returncode == 75, said
    assert "interrupted twice" in said
    wait_for(lambda: not any(map(alive, ranks)), 5)


@pytest.mark.parametrize("rank, size", [("first", "4"), ("4", "4"), ("-1", "4"), ("0", "9" * 30)])
def test_variables_that_are_no_rank_are_refused(rank, size, monkeypatch):
    for _, of_size, of_rank in launcher.LAUNCHERS:
        monkeypatch.delenv(of_size, raising=False)
        monkeypatch.delenv(of_rank, raising=False)
    monkeypatch.setenv("PMI_SIZE", size)
    monkeypatch.setenv("PMI_RANK", rank)
    with pytest.raises(ScenarioError, match="PMI_RANK = .* is not a rank of PMI_SIZE"):
        launcher.launch()
