"""Ranks: sums, messages, agreed errors; as threads and as processes of mpiexec; and how they end when one of them fails."""

import importlib.util
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

from craton.comm import Elsewhere, agree, agreed, broadcast, launcher, mpi, placement, ranks
from craton.comm.local import Alone, spawn
from craton.errors import ResourceError, ScenarioError
from craton.host import compile as host

SIZES = (1, 2, 3, 4, 8)
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'craton[mpi]'"
)


# --- threads ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_threads_sum_and_tell(size):
    """Integers in float64: sums are exact whatever their order."""

    def work(comm):
        mine = np.arange(5.0) * 10**comm.rank
        everywhere, on_last = comm.reduce(mine), comm.reduce(mine, root=size - 1)
        mine[:] = -1  # what was reduced belongs to the rank again
        comm.barrier()
        return everywhere, on_last, comm.gather({"rank": comm.rank}), broadcast(comm, comm.rank + 7)

    total = np.arange(5.0) * sum(10**rank for rank in range(size))
    for rank, (everywhere, on_last, told, first) in enumerate(spawn(size, work)):
        assert np.array_equal(everywhere, total) and told == [{"rank": n} for n in range(size)] and first == 7
        assert np.array_equal(on_last, total) if rank == size - 1 else on_last is None


@pytest.mark.parametrize("size", (2, 3, 8))
def test_a_thread_that_fails_leaves_nobody_waiting(size):
    left = []

    def work(comm):
        if comm.rank == size - 1:
            raise ZeroDivisionError("a sad day")
        try:
            comm.reduce(np.ones(3))
        finally:
            left.append(comm.rank)

    begin = time.perf_counter()
    with pytest.raises(ZeroDivisionError, match="a sad day"):
        spawn(size, work)
    assert time.perf_counter() - begin < 5 and sorted(left) == list(range(size - 1))


def test_an_error_of_one_becomes_one_of_all():
    found = {}

    def work(comm):
        try:
            with agreed(comm):
                if comm.rank == 2:
                    raise ResourceError("the disk is full")
        except Exception as error:
            found[comm.rank] = error
        agree(comm)  # and nobody is out of step
        return comm.gather(comm.rank)

    assert spawn(3, work) == [[0, 1, 2]] * 3
    assert type(found[2]) is ResourceError and isinstance(found[0], Elsewhere) and isinstance(found[1], Elsewhere)
    assert re.fullmatch(r"rank 2 on \S+: the disk is full", str(found[0])) and found[0].exit_code == 3
    assert [found[rank].agreed for rank in range(3)] == [3, 3, 3]


def test_alone_raises_its_own():
    with pytest.raises(KeyError):
        agree(Alone(), KeyError("x"))
    agree(Alone())


# --- where a rank computes --------------------------------------------------------------------------------------------------------------


def places(monkeypatch, bound, hosts=None):
    """Places of ranks whose processes may use the given cores."""
    cores = threading.local()
    monkeypatch.setattr(placement.os, "sched_getaffinity", lambda pid: cores.mine, raising=False)

    def work(comm):
        cores.mine = set(bound[comm.rank])
        if hosts:
            comm = SimpleNamespace(rank=comm.rank, size=comm.size, gather=comm.gather, host=hosts[comm.rank])
        return placement.place(comm)

    return [(p.number, p.ranks, p.threads) for p in spawn(len(bound), work)]


def test_cores_are_divided_among_those_that_share_them(monkeypatch):
    assert places(monkeypatch, [range(8)] * 3) == [(0, 3, 2), (1, 3, 2), (2, 3, 2)]
    assert places(monkeypatch, [range(2)] * 3) == [(0, 3, 1), (1, 3, 1), (2, 3, 1)]
    assert places(monkeypatch, [range(4), range(4, 8)]) == [
        (0, 2, 4),
        (1, 2, 4),
    ]  # a launcher that binds has divided them already
    assert places(monkeypatch, [range(8)] * 4, hosts="aabb") == [(0, 2, 4), (1, 2, 4), (0, 2, 4), (1, 2, 4)]


def test_threads_of_the_machine(monkeypatch):
    here = placement.Place(0, 2, 3)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    two = SimpleNamespace(rank=0, size=2)
    assert placement.machine("cpu", two, here).threads == 3
    assert placement.machine("cpu", two, here, threads=5).threads == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert placement.machine("cpu", two, here).threads == 4


def test_ranks_that_want_one_library_compile_it_once(monkeypatch, tmp_path):
    monkeypatch.setenv("CRATON_CACHE", str(tmp_path / "cache"))
    compiled, real = [], host._compile
    monkeypatch.setattr(host, "_compile", lambda *a: (compiled.append(1), time.sleep(0.2), real(*a)))
    text = 'extern "C" int answer() { return 42; }\n'
    assert spawn(4, lambda comm: host.library(text).answer()) == [42] * 4
    assert len(compiled) == 1 and not list((tmp_path / "cache").glob("*.lock"))


# --- launchers --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_launcher(monkeypatch):
    for _, size, rank in launcher.LAUNCHERS:
        monkeypatch.delenv(size, raising=False)
        monkeypatch.delenv(rank, raising=False)
    return monkeypatch


def test_a_batch_script_is_one_process(no_launcher):
    """Slurm gives the script the number of tasks that the job may have; only what srun starts is several processes."""
    no_launcher.setenv("SLURM_NTASKS", "4")
    no_launcher.setenv("SLURM_PROCID", "0")
    assert launcher.launch() is None and isinstance(ranks(), Alone)


def test_processes_without_mpi4py_are_refused(no_launcher):
    no_launcher.setenv("PMI_SIZE", "4")
    no_launcher.setattr(launcher, "find_spec", lambda name: None)
    with pytest.raises(ScenarioError, match=r"mpi4py is not installed(.|\n)*craton\[mpi\]"):
        ranks()
    with pytest.raises(ResourceError, match=r"craton\[mpi\]"):
        launcher.command(2, ["run"])


@needs_mpi
@pytest.mark.parametrize(
    "variables", [{"OMPI_COMM_WORLD_SIZE": "4"}, {"PMI_SIZE": "4"}, {"SLURM_STEP_NUM_TASKS": "4"}], ids=str
)
def test_launcher_and_library_that_do_not_belong_together(no_launcher, variables, tmp_path):
    """Each process believes that it is alone: refused by all, said by the first, nothing written."""
    names = {size: rank for _, size, rank in launcher.LAUNCHERS}
    for number, says in (("0", True), ("1", False)):
        more = variables | {names[name]: number for name in variables}
        done = subprocess.run(
            [sys.executable, "-m", "craton", "run", "any.toml"],
            cwd=tmp_path,
            env={**os.environ, **more},
            text=True,
            capture_output=True,
        )
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert ("started 4 processes" in done.stderr and "craton run --ranks" in done.stderr) == says, done.stderr
        assert says or not done.stderr
    assert not list(tmp_path.iterdir())


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


def mpiexec(size, script, tmp_path, **options):
    """A script on so many ranks, when it has ended."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    command = [launcher.mpiexec(), "-n", str(size), sys.executable, str(path)]
    return subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=60, **options)


@needs_mpi
@pytest.mark.parametrize("size", (1, 2, 3))
def test_processes_sum_and_tell(size, tmp_path):
    script = """
        import numpy as np
        from craton.comm import Elsewhere, agreed, broadcast, ranks
        comm = ranks()
        mine = np.arange(5.0) * 10**comm.rank
        total = np.arange(5.0) * sum(10**rank for rank in range(comm.size))
        on_last = comm.reduce(mine, root=comm.size - 1)
        assert np.array_equal(comm.reduce(mine), total)
        assert np.array_equal(on_last, total) if comm.rank == comm.size - 1 else on_last is None
        assert comm.gather("x" * comm.rank) == ["x" * n for n in range(comm.size)] and broadcast(comm, comm.rank + 7) == 7
        try:
            with agreed(comm):
                if comm.rank == comm.size - 1:
                    raise KeyError("of the last")
        except (KeyError, Elsewhere) as error:
            assert "of the last" in str(error) and isinstance(error, KeyError) == (comm.rank == comm.size - 1)
        comm.barrier()
        if comm.rank == 0:
            print("size", comm.size)
        comm.close() if comm.size > 1 else None
        """
    done = mpiexec(size, script, tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["size", str(size)]), done.stderr


@needs_mpi
def test_a_communicator_of_the_caller(tmp_path):
    script = """
        from mpi4py import MPI
        from craton.comm import ranks
        half = ranks(MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2))
        assert half.size == (2 if MPI.COMM_WORLD.rank % 2 == 0 else 1)
        assert half.gather(MPI.COMM_WORLD.rank) == ([0, 2] if MPI.COMM_WORLD.rank % 2 == 0 else [1])
        assert ranks(half) is half
        """
    done = mpiexec(3, script, tmp_path)
    assert done.returncode == 0, done.stderr


ONE_FAILS = """
    import os, signal, sys
    import numpy as np
    from craton.comm import ranks
    comm = ranks()
    if comm.rank == 1:
        {act}
    comm.reduce(np.ones(3))
    comm.barrier()
    """


@needs_mpi
@pytest.mark.parametrize("act", ["raise RuntimeError('a sad day')", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_process_that_fails_leaves_nobody_waiting(act, tmp_path):
    begin = time.perf_counter()
    done = mpiexec(3, ONE_FAILS.format(act=act), tmp_path)
    assert done.returncode != 0 and time.perf_counter() - begin < 10
    if "raise" in act:
        assert (
            len(re.findall(r"^rank 1 on \S+: RuntimeError: a sad day; all ranks end$", done.stderr, re.MULTILINE)) == 1
        )
        assert done.returncode == 1 and done.stderr.count("Traceback") == 1


@needs_mpi
def test_a_waiting_process_sees_a_signal(tmp_path):
    """In a library's own blocking call it would not."""
    script = """
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
    done = mpiexec(2, script, tmp_path)
    assert (done.returncode, done.stdout.split()) == (75, ["seen"])
