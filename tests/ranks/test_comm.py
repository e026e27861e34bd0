"""Ranks without the waves: sums, messages, agreed errors, places, launchers; as threads and as processes of mpiexec."""

import io
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from common import craton_command, linux, needs_mpi, refused
from smallcase import pictured
from talkcase import talk

from craton.backends.cpu import CPU
from craton.comm import Elsewhere, agree, agreed, launcher, mpi, placement, pulse, ranks
from craton.comm.local import Alone, spawn
from craton.errors import ResourceError, ScenarioError
from craton.host import compile as host

# --- threads ----------------------------------------------------------------------------------------------------------------------------


def test_threads_sum_and_tell():
    for size in (1, 2, 3, 8):
        spawn(size, talk)


@pytest.mark.parametrize("size", [2, 8])
def test_a_thread_that_fails_leaves_nobody_waiting(size):
    released = []

    def work(comm):
        if comm.rank == size - 1:
            raise ZeroDivisionError("a sad day")
        try:
            comm.reduce(np.ones(3))
        finally:
            released.append(comm.rank)

    begin = time.perf_counter()
    refused(ZeroDivisionError, "a sad day", spawn, size, work)
    assert time.perf_counter() - begin < 5 and sorted(released) == list(range(size - 1))


def test_an_error_of_one_becomes_one_of_all():
    errors = {}

    def work(comm):
        try:
            with agreed(comm):
                if comm.rank == 2:
                    raise ResourceError("the disk is full")
        except Exception as error:
            errors[comm.rank] = error
        agree(comm)  # and nobody is out of step
        return comm.gather(comm.rank)

    assert spawn(3, work) == [[0, 1, 2]] * 3
    assert [type(errors[rank]) for rank in range(3)] == [Elsewhere, Elsewhere, ResourceError]
    assert re.fullmatch(r"rank 2 on \S+: the disk is full", str(errors[0])) and errors[0].exit_code == 3
    assert [errors[rank].agreed for rank in range(3)] == [3, 3, 3]
    refused(KeyError, "x", agree, Alone(), KeyError("x"))
    agree(Alone())


# --- where a rank computes --------------------------------------------------------------------------------------------------------------


def test_cores_are_divided_among_those_that_share_them(monkeypatch):
    cores = threading.local()
    monkeypatch.setattr(placement.os, "sched_getaffinity", lambda pid: cores.mine, raising=False)

    def places(bound, hosts=None):
        """Number, ranks of the host and threads, of ranks whose processes may use the given cores."""

        def work(comm):
            cores.mine = set(bound[comm.rank])
            if hosts:
                comm = SimpleNamespace(rank=comm.rank, size=comm.size, gather=comm.gather, host=hosts[comm.rank])
            return placement.place(comm)

        return [(p.number, p.ranks, p.threads) for p in spawn(len(bound), work)]

    assert places([range(8)] * 3) == [(0, 3, 2), (1, 3, 2), (2, 3, 2)]
    assert places([range(2)] * 3) == [(0, 3, 1), (1, 3, 1), (2, 3, 1)]
    assert places([range(4), range(4, 8)]) == [(0, 2, 4), (1, 2, 4)]  # a launcher that binds has divided them already
    assert places([range(8)] * 4, hosts="aabb") == [(0, 2, 4), (1, 2, 4), (0, 2, 4), (1, 2, 4)]


def test_threads_of_the_machine(monkeypatch):
    two, here = SimpleNamespace(rank=0, size=2), placement.Place(0, 2, 3)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [placement.machine("cpu", two, here, threads=asked).threads for asked in (None, 5)] == [3, 5]
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert placement.machine("cpu", two, here, threads=None).threads == 4
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert CPU().threads == 3
    for threads in (0, 2**12 + 1, 2**32 + 1):
        refused(ScenarioError, ("run.threads", "out of range"), pictured, run_threads=threads)
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        refused(ResourceError, "OMP_NUM_THREADS", CPU)


def test_ranks_that_want_one_library_compile_it_once(monkeypatch, tmp_path):
    monkeypatch.setenv("CRATON_CACHE", str(tmp_path / "cache"))
    compiled, real = [], host._compile
    monkeypatch.setattr(host, "_compile", lambda *a: (compiled.append(1), time.sleep(0.2), real(*a)))
    text = 'extern "C" int answer() { return 42; }\n'
    assert spawn(4, lambda comm: host.library(text).answer()) == [42] * 4
    assert len(compiled) == 1 and not list((tmp_path / "cache").glob("*.lock"))


def test_a_plan_without_a_compiler_needs_a_gpu(monkeypatch):
    def nothing():
        raise ResourceError("no C++ compiler found")

    monkeypatch.setattr(placement, "compiler", nothing)
    monkeypatch.setattr(placement, "devices", lambda: 0)
    refused(ResourceError, "no C", placement.planner)


# --- signs of life ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def killed(monkeypatch):
    """Processes that were sent a signal; none is."""
    pids = []
    monkeypatch.setattr(pulse.os, "kill", lambda pid, number: pids.append(pid))
    monkeypatch.setattr(pulse.threading.Thread, "start", lambda self: None)
    return pids


@linux
def test_a_rank_that_hangs_in_a_step_ends_itself(killed, monkeypatch, capsys):
    """Far longer than its other steps and the patience; waiting, writing and the first step are not judged."""
    clock = [0.0]
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
def test_only_the_process_of_a_row_is_killed(killed):
    """Not the group of this one for a row that is not written yet, nor a process that has the number of one that ended."""
    sign = pulse.Pulse(np.zeros(3, pulse.ROW), 0, 0, "here")
    sign.page[2] = sign.page[0]
    sign.page["begun"][2] -= 1
    sign.kill(1)
    sign.kill(2)
    assert killed == []
    sign.kill(0)
    assert killed == [os.getpid()]
    sign.leave()


# --- launchers --------------------------------------------------------------------------------------------------------------------------


VARIABLES = {  # number of processes, and which of them this is: of Open MPI, MPICH, MVAPICH and srun
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE": "PMI_RANK",
    "MV2_COMM_WORLD_SIZE": "MV2_COMM_WORLD_RANK",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
}


def test_variables_of_launchers(monkeypatch):
    """Slurm gives a batch script the number of tasks that the job may have; only what srun starts is several processes."""

    def started_by(**variables):
        for _, *names in launcher.LAUNCHERS:
            for name in names:
                monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    for size, rank in VARIABLES.items():
        started_by(**{size: "4", rank: "1"})
        assert (launcher.launch().size, launcher.launch().rank) == (4, 1)
    started_by(SLURM_NTASKS="4", SLURM_PROCID="0")
    assert launcher.launch() is None and isinstance(ranks(), Alone)
    for rank, size in (("first", "4"), ("4", "4"), ("-1", "4"), ("0", "9" * 30)):
        started_by(PMI_SIZE=size, PMI_RANK=rank)
        refused(ScenarioError, ("PMI_RANK = ", " is not a rank of PMI_SIZE"), launcher.launch)
    started_by(PMI_SIZE="4")
    for module in (launcher, mpi):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    refused(ScenarioError, ("mpi4py is not installed", "craton[mpi]"), ranks)
    refused(ResourceError, "craton[mpi]", launcher.command, 2, ["run"])


@needs_mpi
@pytest.mark.parametrize("variable", ["PMI_SIZE", pytest.param("OMPI_COMM_WORLD_SIZE", marks=pytest.mark.long)])
def test_launcher_and_library_that_do_not_belong_together(variable, tmp_path):
    """Each process believes that it is alone: refused by all, said by the first, nothing written."""
    ranks_of_four = ({variable: "4", VARIABLES[variable]: rank} for rank in "01")
    first, second = (craton_command("run", "any.toml", folder=tmp_path, code=2, **more) for more in ranks_of_four)
    assert "started 4 processes" in first.stderr and "craton run --ranks" in first.stderr, first.stderr
    assert "Traceback" not in first.stderr and not second.stderr and not list(tmp_path.iterdir())


def test_ranks_of_other_versions_are_refused():
    def work(comm):
        with pytest.raises(ScenarioError, match=r"rank 0 on \S+ has craton 1, rank 2 on \S+ has craton 2") as caught:
            mpi.check_versions(comm, {"craton": "2" if comm.rank == 2 else "1"})
        return caught.value.agreed

    assert spawn(3, work) == [2, 2, 2]
    spawn(3, lambda comm: mpi.check_versions(comm, {"craton": "1"}))


BANNER = """\
craton: rank 1 on node7: RuntimeError: a sad day

Abort(4) on node 1 (rank 1 in comm 0):
10 % done

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 16042 RUNNING AT node7
=   EXIT CODE: 9
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""


def test_the_launcher_s_own_talk_is_taken_out():
    talk, out = launcher.Talk(), io.StringIO()
    talk.forward(io.StringIO(BANNER), out)
    assert out.getvalue() == "craton: rank 1 on node7: RuntimeError: a sad day\n10 % done\n"
    assert (talk.killed, talk.host, talk.aborted) == ("Killed (signal 9)", " on node7", 4)


# --- processes --------------------------------------------------------------------------------------------------------------------------


def mpiexec(size, script, folder):
    """A script on so many ranks, when it has ended."""
    (folder / "script.py").write_text(textwrap.dedent(script))
    command = [launcher.mpiexec(), "-n", str(size), sys.executable, "script.py"]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=60)


TALK = """
    from mpi4py import MPI
    from craton.comm import ranks
    from talkcase import talk
    comm = ranks()
    talk(comm)
    odd = comm.rank % 2
    half = ranks(MPI.COMM_WORLD.Split(odd))
    assert half.gather(comm.rank) == list(range(odd, comm.size, 2)) and ranks(half) is half
    assert half.size == (comm.size + 1 - odd) // 2
    if comm.rank == 0:
        print("size", comm.size)
    comm.close() if comm.size > 1 else None
    """


@needs_mpi
@pytest.mark.parametrize("size", [3, pytest.param(1, marks=pytest.mark.long)])
def test_processes_sum_and_tell(size, tmp_path, monkeypatch):
    """Also by a communicator of the caller."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    done = mpiexec(size, TALK, tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["size", str(size)]), done.stderr


ONE_FAILS = """
    import os, signal
    import numpy as np
    from craton.comm import ranks
    comm = ranks()
    if comm.rank == 1:
        {act}
    comm.reduce(np.ones(3))
    comm.barrier()
    """
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@needs_mpi
@pytest.mark.parametrize("act", ["raise RuntimeError('a sad day')", pytest.param(KILL, marks=pytest.mark.long)])
def test_a_process_that_fails_leaves_nobody_waiting(act, tmp_path):
    begin = time.perf_counter()
    done = mpiexec(3, ONE_FAILS.format(act=act), tmp_path)
    assert done.returncode != 0 and time.perf_counter() - begin < 10
    if "raise" in act:
        words = r"^rank 1 on \S+: RuntimeError: a sad day; all ranks end$"
        assert len(re.findall(words, done.stderr, re.MULTILINE)) == 1
        assert done.returncode == 1 and done.stderr.count("Traceback") == 1


WAITS = """
    import os, signal, threading, time
    from craton.comm import ranks
    comm = ranks()
    if comm.rank == 0:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            comm.barrier()
        except KeyboardInterrupt:
            print("seen", flush=True)
            comm.abort(75)
    time.sleep(30)
    """


@needs_mpi
def test_a_waiting_process_sees_a_signal(tmp_path):
    """In a library's own blocking call it would not."""
    done = mpiexec(2, WAITS, tmp_path)
    assert (done.returncode, done.stdout.split()) == (75, ["seen"])
