"""Processes of a run and real signals: parents that are killed, ranks that stop or hang, forks, threads, launchers' variables."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import smallcase

import craton
from craton.backends.cpu import CPU
from craton.cli import main
from craton.comm import launcher, pulse, suspended
from craton.driver import checkpoint
from craton.driver.recorder import Recorder
from craton.driver.saved import latest
from craton.errors import ResourceError, ScenarioError
from craton.lock import start_of
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
        started.extend((pid, start_of(pid)) for pid in ranks_of(tmp_path / "out"))
        return process, ranks_of(tmp_path / "out")

    yield start
    for one in started:
        if isinstance(one, tuple):
            if alive(one[0]) and start_of(one[0]) == one[1]:  # numbers of processes come again
                os.kill(one[0], signal.SIGKILL)
        elif one.poll() is None:
            one.kill()
    for one in started:
        if not isinstance(one, tuple):
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
    assert time.monotonic() - begin < 5 and process.returncode == 130, said
    assert "interrupted twice" in said
    wait_for(lambda: not any(map(alive, ranks)), 5)


@linux
def test_a_stopped_launcher_is_noticed(monkeypatch):
    """Which no rank would: it and all that it started end, others do not."""
    monkeypatch.setattr(suspended, "LOOK", 0.2)
    monkeypatch.setattr(suspended, "MORE", 0.5)
    words, said = ["sh", "-c", "sleep 100 & sleep 100; true"], []
    launched, other = (subprocess.Popen(words, start_new_session=True) for _ in range(2))
    wait_for(lambda: len(suspended.descendants(launched.pid)) == 3)
    team = [pid for pid, _ in suspended.descendants(launched.pid)]
    watch = suspended.LauncherWatch(launched, lambda: 0.2, said.append)
    try:
        time.sleep(0.5)
        assert not said and all(map(alive, team))
        os.kill(team[1], signal.SIGSTOP)
        assert launched.wait(20) == -signal.SIGKILL
        wait_for(lambda: not any(map(alive, team)), 20)
        assert len(said) == 1 and f"process {team[1]}) was stopped" in said[0]
        assert len(suspended.descendants(other.pid)) == 3
    finally:
        watch.close()
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()


class Forked:
    """A command line in a fork of this process, each of whose steps takes 10 ms: signals come in its midst.

    Parameters
    ----------
    folder : Path
    words : sequence of str
    ignored : sequence of signal
        As nohup leaves them.
    """

    def __init__(self, folder, *words, ignored=()):
        self.out = folder / "out"
        self.pid = os.fork()
        if self.pid == 0:
            code = 99
            try:
                os.chdir(folder)
                quiet = os.open(os.devnull, os.O_RDWR)
                for number in (0, 1, 2):
                    os.dup2(quiet, number)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    handler = signal.SIG_IGN if number in ignored else signal.SIG_DFL
                    signal.signal(number, handler)
                self.slow()
                code = main([*words, "-q"])
            finally:
                os._exit(code)

    @staticmethod
    def slow():
        """Let steps and files of checkpoints take longer."""
        sample, write = Recorder.sample, checkpoint.write

        def pausing(self, step):
            time.sleep(0.01)
            sample(self, step)

        def waiting(*arguments):
            time.sleep(0.03)
            return write(*arguments)

        Recorder.sample, checkpoint.write = pausing, waiting

    def send(self, *numbers):
        """Signals, one after the other; the child is not waited for before, so the number is its own."""
        for number in numbers:
            os.kill(self.pid, number)

    def code(self, seconds=60):
        """Exit code, when it has ended; minus a signal's number."""
        status = []
        try:
            wait_for(lambda: status.extend(os.waitpid(self.pid, os.WNOHANG)) or any(status), seconds)
        except AssertionError:
            self.send(signal.SIGKILL)
            os.waitpid(self.pid, 0)
            raise
        return os.waitstatus_to_exitcode(status[-1])

    def marches(self):
        """Wait until it has taken a picture."""
        before = {path.stat().st_mtime_ns for path in self.frames()}
        wait_for(lambda: {p.stat().st_mtime_ns for p in self.frames()} - before)
        return self

    def frames(self):
        """Pictures in the store."""
        return list(self.out.glob("result.zarr/snapshots/section/velocity/[0-9]*"))


def test_sequences_of_systemd_and_kubernetes(tmp_path):
    """TERM and HUP at once, then a grace: 75. TERM and a grace that ends in the midst of a checkpoint: the one before stays.
    HUP under nohup: it goes on. In the end every bit is there."""
    changes = (
        ("every = 0.25", "every = 0.02"),
        ('device = "cpu"', 'device = "cpu"\nthreads = 1'),
        ("duration = 1.0", "duration = 1.5"),
    )
    file = smallcase.write(tmp_path, *changes)
    craton.run(craton.load(file), out=tmp_path / "whole", progress=False, warn=False)
    out = tmp_path / "out"

    systemd = Forked(tmp_path, "run", "small.toml", "-o", "out").marches()
    systemd.send(signal.SIGTERM, signal.SIGCONT, signal.SIGHUP)
    assert systemd.code(20) == 75 and read_run(out)["state"] == "interrupted"
    first = latest(out).step

    kubernetes = Forked(tmp_path, "resume", "out").marches()
    kubernetes.send(signal.SIGTERM)
    wait_for(lambda: checkpoint.saving(out), 20)
    kubernetes.send(signal.SIGKILL)
    assert kubernetes.code(20) == -signal.SIGKILL and read_run(out)["state"] == "running"
    assert latest(out).step == first and checkpoint.saving(out)

    terminal = Forked(tmp_path, "resume", "out").marches()
    terminal.send(signal.SIGHUP)
    assert terminal.code(20) == 75 and latest(out).step > first

    nohup = Forked(tmp_path, "resume", "out", ignored=[signal.SIGHUP]).marches()
    nohup.send(signal.SIGHUP)
    assert nohup.code() == 0 and read_run(out)["state"] == "finished"
    smallcase.same_results(tmp_path / "whole", out, (None, "snapshots/section"))


@pytest.mark.parametrize("rank, size", [("first", "4"), ("4", "4"), ("-1", "4"), ("0", "9" * 30)])
def test_variables_that_are_no_rank_are_refused(rank, size, monkeypatch):
    for _, of_size, of_rank in launcher.LAUNCHERS:
        monkeypatch.delenv(of_size, raising=False)
        monkeypatch.delenv(of_rank, raising=False)
    monkeypatch.setenv("PMI_SIZE", size)
    monkeypatch.setenv("PMI_RANK", rank)
    with pytest.raises(ScenarioError, match="PMI_RANK = .* is not a rank of PMI_SIZE"):
        launcher.launch()


@linux
def test_a_rank_that_hangs_in_a_step_ends_itself(monkeypatch, capsys):
    """Far longer than its other steps and the patience; waiting, writing and the first step are not judged."""
    killed, clock = [], [0.0]
    monkeypatch.setattr(pulse.os, "kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(pulse.threading.Thread, "start", lambda self: None)
    monkeypatch.setattr(pulse.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(pulse, "DRAIN", 0)
    monkeypatch.setattr(pulse, "GRACE", 0)
    sign = pulse.Pulse(np.zeros(1, pulse.ROW), 0, 3, "here", patience=10)

    def after(seconds):
        clock[0] += seconds
        sign.check_own_step()
        return len(killed)

    sign.work()
    assert after(1000) == 0  # the first step has none to compare with
    sign.rest(1)
    assert after(1000) == 0  # writing
    sign.longest = 2.0
    sign.work()
    assert after(39) == 0  # longer than the patience, shorter than 20 steps
    assert after(2) > 0 and set(killed) == {os.getpid()}
    assert "rank 3 on here" in (said := capsys.readouterr().err) and "hangs in step 2" in said
    sign.leave()


@linux
def test_only_the_process_of_a_row_is_killed(monkeypatch):
    """Not the group of this one for a row that is not written yet, nor a process that has the number of one that ended."""
    killed = []
    monkeypatch.setattr(pulse.os, "kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(pulse.threading.Thread, "start", lambda self: None)
    sign = pulse.Pulse(np.zeros(3, pulse.ROW), 0, 0, "here")
    sign.page[2] = sign.page[0]
    sign.page["begun"][2] -= 1
    for row in (1, 2):
        sign.kill(row)
    assert killed == []
    sign.kill(0)
    assert killed == [os.getpid()]
    sign.leave()


@linux
def test_a_fork_after_threads_runs_and_threads_side_by_side_give_the_same_bits(tmp_path):
    """A child of a process that ran with OpenMP threads runs as well; eight threads at once write eight folders alike."""
    scenario = smallcase.pictured(run_threads=2, time_duration=0.3)
    reference = craton.run(scenario, out=tmp_path / "alone", progress=False)
    child = os.fork()
    if child == 0:  # whatever happens, it must not go on as a second pytest
        code = 2
        try:
            again = craton.run(scenario, progress=False).samples
            code = int(not np.array_equal(reference.samples, again))
        finally:
            os._exit(code)
    status = []
    try:
        wait_for(lambda: status.extend(os.waitpid(child, os.WNOHANG)) or status[-2], 60)
    finally:
        if not any(status):
            os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(status[-1]) == 0
    with ThreadPoolExecutor(8) as pool:
        outs = [tmp_path / f"thread {n}" for n in range(8)]
        list(pool.map(lambda out: craton.run(scenario, out=out, progress=False), outs))
    for out in outs:
        smallcase.same_results(tmp_path / "alone", out)


@pytest.mark.parametrize("threads", [0, 2**12 + 1, 2**32 + 1])
def test_numbers_of_threads_have_limits(threads, monkeypatch):
    with pytest.raises(ScenarioError, match="run.threads.*out of range"):
        smallcase.pictured(run_threads=threads)
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    with pytest.raises(ResourceError, match="OMP_NUM_THREADS"):
        CPU()


def test_nested_numbers_of_threads_are_read(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert CPU().threads == 3
