"""Processes of a run and real signals: parents that are killed, ranks that stop or hang, forks, threads side by side."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import psutil
import pytest
import smallcase
from common import linux, needs_mpi

import craton
from craton.cli import main
from craton.comm import launcher
from craton.driver import checkpoint
from craton.driver.observers.guard import Guard
from craton.driver.saved import latest
from craton.output.store import read_run

SECTION = "result.zarr/snapshots/section/velocity/[0-9]*"


def alive(process):
    """Whether a process is there and is no zombie; a later one with its number is another."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, seconds=60):
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, "it took too long"
        time.sleep(0.05)
    return time.monotonic() - begin


@pytest.fixture
def job(tmp_path):
    """A function that starts a long run on two ranks and gives it and them when it is in its time loop; what is left is ended."""
    started, out = [], tmp_path / "out"

    def start(*words):
        smallcase.write(tmp_path, ("duration = 1.0", "duration = 400.0"))
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-P", "-m", "craton", "run", "small.toml", "-o", "out", "--ranks", "2", *words]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        run = psutil.Popen(command, cwd=tmp_path, env=environment, **pipes)
        started.append(run)
        wait_for(lambda: run.poll() is not None or list(out.glob(SECTION)))
        assert run.poll() is None, run.stderr.read()
        ranks = [psutil.Process(rank["pid"]) for rank in read_run(out)["ranks"]]
        started.extend(ranks)
        return run, ranks

    yield start
    for process in reversed(started):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    for run in started[:1]:
        run.communicate()


@needs_mpi
@linux
@pytest.mark.long
def test_ranks_end_with_their_parent(job, tmp_path):
    """SIGKILL of the parent ends mpiexec and all ranks; a module beside the scenario is not imported."""
    (tmp_path / "bisect.py").write_text("raise SystemExit('a file of the working folder ran')\n")
    run, ranks = job()
    processes = [*run.children(), *ranks]
    assert len(processes) == 3 and all(map(alive, processes))
    run.kill()
    assert wait_for(lambda: not any(map(alive, processes))) < 10


@needs_mpi
@linux
@pytest.mark.long
def test_a_stopped_rank_is_named_and_ends_the_run(job, tmp_path):
    run, ranks = job("--set", "run.patience=2")
    ranks[1].suspend()
    begin = time.monotonic()
    _, message = run.communicate(timeout=60)
    assert time.monotonic() - begin < 15 and run.returncode == 1, message
    assert "rank 1 on " in message and "gave no sign of life for 2 s after step" in message, message
    assert message.count("no sign of life") == 1
    record = read_run(tmp_path / "out")
    assert record["state"] == "failed" and "no sign of life" in record["reason"]
    assert not any(map(alive, ranks))


@needs_mpi
@pytest.mark.long
def test_signals_of_a_batch_system_leave_a_checkpoint(job, tmp_path):
    """SIGTERM to every process at once, as systemd and Slurm send it; then a second request."""
    run, ranks = job()
    for process in (*ranks, *run.children(), run):
        process.terminate()
    _, message = run.communicate(timeout=60)
    assert run.returncode == 75 and "craton resume out" in message, message
    assert latest(tmp_path / "out").step > 0 and read_run(tmp_path / "out")["state"] == "interrupted"


@needs_mpi
@pytest.mark.long
def test_a_second_interruption_ends_at_once(job):
    """Also where the ranks cannot answer."""
    run, ranks = job()
    for process in ranks:
        process.suspend()
    run.send_signal(signal.SIGINT)
    time.sleep(2 * launcher.REPEAT)
    begin = time.monotonic()
    run.send_signal(signal.SIGINT)
    _, message = run.communicate(timeout=60)
    assert time.monotonic() - begin < 5 and run.returncode == 130, message
    assert "interrupted twice" in message
    wait_for(lambda: not any(map(alive, ranks)), 5)


def forked(work):
    """A fork of this process that does some work, whose exit code it takes."""
    process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(work()), daemon=True)
    process.start()
    return process


def exit_code(process, seconds=60):
    """Exit code of a fork when it has ended, which it must; minus a signal's number."""
    process.join(seconds)
    ended = not process.is_alive()
    process.kill()
    assert ended, "it took too long"
    return process.exitcode


@pytest.mark.long
def test_sequences_of_systemd_and_kubernetes(tmp_path):
    """TERM and HUP at once, then a grace: 75. TERM and a grace that ends in the midst of a checkpoint: the one before stays.
    HUP under nohup: it goes on. In the end every bit is there. Slow steps and files of checkpoints: signals come in their midst."""
    out = tmp_path / "out"

    def slowed(function, seconds):
        return lambda *arguments: (time.sleep(seconds), function(*arguments))[1]

    def pictures():
        return {path.stat().st_mtime_ns for path in out.glob(SECTION)}

    def start(*words, ignored=()):
        """A fork of a command that has taken a picture."""

        def work():
            os.chdir(tmp_path)
            quiet = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(quiet, number)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
            Guard.due, checkpoint.write = slowed(Guard.due, 0.01), slowed(checkpoint.write, 0.03)
            return main([*words, "-q"])

        before, process = pictures(), forked(work)
        wait_for(lambda: pictures() - before)
        return process

    threads, longer = ('device = "cpu"', 'device = "cpu"\nthreads = 1'), ("duration = 1.0", "duration = 1.5")
    file = smallcase.write(tmp_path, ("every = 0.25", "every = 0.02"), threads, longer)
    craton.run(craton.load(file), out=tmp_path / "whole", progress=False, warn=False)

    systemd = start("run", "small.toml", "-o", "out")
    for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGHUP):
        os.kill(systemd.pid, number)
    assert exit_code(systemd, 20) == 75 and read_run(out)["state"] == "interrupted"
    first = latest(out).step

    kubernetes = start("resume", "out")
    os.kill(kubernetes.pid, signal.SIGTERM)
    wait_for(lambda: checkpoint.saving(out), 20)
    os.kill(kubernetes.pid, signal.SIGKILL)
    assert exit_code(kubernetes, 20) == -signal.SIGKILL and read_run(out)["state"] == "running"
    assert latest(out).step == first and checkpoint.saving(out)

    terminal = start("resume", "out")
    os.kill(terminal.pid, signal.SIGHUP)
    assert exit_code(terminal, 20) == 75 and latest(out).step > first

    nohup = start("resume", "out", ignored=[signal.SIGHUP])
    os.kill(nohup.pid, signal.SIGHUP)
    assert exit_code(nohup) == 0 and read_run(out)["state"] == "finished"
    smallcase.same_results(tmp_path / "whole", out, (None, "snapshots/section"))


@linux
@pytest.mark.long
def test_a_fork_after_threads_runs_and_threads_side_by_side_give_the_same_bits(tmp_path):
    """A child of a process that ran with OpenMP threads runs as well; four threads at once write four folders alike."""
    scenario = smallcase.pictured(run_threads=2, time_duration=0.3)
    reference = craton.run(scenario, out=tmp_path / "alone", progress=False)
    child = forked(lambda: int(not np.array_equal(reference.samples, craton.run(scenario, progress=False).samples)))
    assert exit_code(child) == 0
    outs = [tmp_path / f"thread {n}" for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda out: craton.run(scenario, out=out, progress=False), outs))
    for out in outs:
        smallcase.same_results(tmp_path / "alone", out)
