"""Gravity over ranks and in little memory: the same fields for any number of ranks, one voice, an end for all; memory as foretold."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import smallcase
from common import difference, linux, manifest, needs_mpi, peak, refused, stored
from gravitycase import FIELDS, SMALL, ensemble, forward, greatest, mesh, small

import craton
from craton import gravity
from craton.backends import cpu
from craton.backends.cpu import CPU
from craton.cli import main
from craton.comm import launcher
from craton.comm.local import Alone, spawn
from craton.driver import progress, sums
from craton.driver.sums import solve
from craton.errors import ResourceError
from craton.lock import start_of
from craton.methods.gravity import ALGORITHMS, Speed, chosen, far, fft, lattice, memory, vertex
from craton.methods.gravity.problem import problem
from craton.methods.gravity.tiles import Runner
from craton.model.prisms import ensembles
from craton.scenario import loads

long = pytest.mark.long
DIRECT = ("[gravity]", '[gravity]\nmethod = "direct"')


def cells(nx=9, ny=7, nz=5):
    """Regular cells of 100 m with a density of their own, some empty; points on a grid of the same spacing above them."""
    prisms, density = mesh(*(100.0 * np.arange(n + 1) for n in (nx, ny)), 100.0 * np.arange(-nz, 1), 100, 0.2, 4)
    x, y = np.meshgrid(100.0 * np.arange(-2, 11), 100.0 * np.arange(-3, 9))
    return prisms, density, (x, y, np.full(x.shape, 30.0))


def asked(precision="float64", rtol=None, **options):
    return problem(*cells(**options), FIELDS, precision, rtol)


def together(size, problem, method, **options):
    """What every rank of a team gets: [(values, report)]."""
    return spawn(size, lambda comm: solve(problem, "cpu", method, threads=1, comm=comm, **options))


# --- shares -----------------------------------------------------------------------------------------------------------------------------


def test_balanced_remainder_rule():
    for count, size in ((251_946, 4), (7, 3), (3, 8), (0, 2), (16, 4)):
        parts = [sums.balanced(count, rank, size) for rank in range(size)]
        lengths = [part.stop - part.start for part in parts]
        assert parts[0].start == 0 and parts[-1].stop == count
        assert all(a.stop == b.start for a, b in zip(parts, parts[1:]))
        assert lengths == sorted(lengths, reverse=True) and max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("way", [way for ways in sums.SHARES.values() for way in ways], ids=lambda way: way.__name__)
def test_every_pair_is_in_one_share(way):
    whole = asked()
    row = {tuple(prism): n for n, prism in enumerate(whole.prisms)}
    for size in (3, 8):
        times, count = np.zeros((len(whole.prisms), whole.points.shape[1]), int), 0
        for rank in range(size):
            share, places = way(whole, rank, size)
            rows = [row[tuple(prism)] for prism in share.prisms]
            assert np.array_equal(share.points, whole.points[:, places])
            assert np.array_equal(share.density, whole.density[rows])
            times[np.ix_(rows, np.arange(times.shape[1])[places])] += 1
            count += share.pairs
        assert (times == 1).all() and count == whole.pairs


def test_layers_stay_whole():
    bottoms = [set(sums.some_layers(asked(), rank, 3)[0].prisms[:, 4]) for rank in range(3)]
    assert [len(b) for b in bottoms] == [2, 2, 1] and len(set.union(*bottoms)) == 5


def test_the_tree_is_split_by_points_where_these_are_many():
    """Half of a tree costs nearly as much at every point; but half of it grows in half the time."""
    few, rates = asked(), Speed(pairs=7e7, flops=3e10)
    many = replace(few, prisms=np.tile(few.prisms, (50, 1)), density=np.tile(few.density, 50))
    assert isinstance(sums.share(replace(many, points=many.points[:, :2]), "far", rates, 1, 2)[1], slice)
    assert len(sums.share(replace(many, points=np.tile(many.points, (1, 200))), "far", rates, 1, 2)[1]) > 0


# --- threads ----------------------------------------------------------------------------------------------------------------------------


SIZES = [("float64", None, (3,)), ("float32", None, (2,))]  # of teams
MORE = [("float64", None, (2, 8)), ("float64", 1e-9, (4,)), ("float32", None, (3, 8))]


@pytest.mark.parametrize("method", ALGORITHMS)
@pytest.mark.parametrize("cases", [SIZES, pytest.param(MORE, marks=long)], ids=["some", "more"])
def test_ranks_change_nothing_but_rounding(method, cases):
    """Double: sums in another order. Single: closed form and series round every term to 6e-8, and a share has an origin of its own.

    `far` may err by rtol of the sum of magnitudes in either number of ranks.
    """
    for precision, rtol, sizes in cases:
        whole = asked(precision, rtol)
        alone, _ = solve(whole, "cpu", method, threads=1)
        allowed = {"float64": 2e-9 if method == "far" else 1e-12, "float32": 2e-6}[precision]
        for size in sizes:
            (values, _), *others = every = together(size, whole, method)
            assert all(np.array_equal(again, values) for again, _ in others)
            assert (greatest(values, alone) < allowed).all(), (precision, size, greatest(values, alone))
            assert {(report["method"], report["ranks"]) for _, report in every} == {(method, size)}


def test_all_take_the_method_of_the_whole():
    """A small share alone would be done otherwise."""
    whole = asked(nx=30, ny=30, nz=8)
    chosen = solve(whole, "cpu", threads=1)[1]["method"]
    assert {report["method"] for _, report in together(8, whole, "auto")} == {chosen}


def test_more_ranks_than_work():
    prisms, _, (x, y, z) = cells(nx=2, ny=2, nz=1)
    little = problem(prisms[:3], [100.0, 200, 300], (x[:1, :2], y[:1, :2], z[:1, :2]), FIELDS)
    alone, _ = solve(little, "cpu", "direct", threads=1)
    for method in ALGORITHMS:
        assert (greatest(together(8, little, method)[0][0], alone)[[3]] < 1e-8).all(), method


def test_points_on_edges_are_undefined_for_every_number_of_ranks():
    prisms, density, _ = cells()
    x, y = np.meshgrid(np.linspace(-50, 850, 19), [0.0, 50.0, 100.0])
    alone, shared = (
        gravity.forward(prisms, density, (x, y, 0 * x), FIELDS, "cpu", method="direct", threads=1, devices=n)
        for n in (None, 3)
    )
    assert np.isnan(alone["g_ee"]).any() and np.array_equal(np.isnan(alone["g_ee"]), np.isnan(shared["g_ee"]))
    assert not np.isnan(shared["g_z"]).any() and shared.report["ranks"] == 3


@pytest.mark.parametrize("method", ALGORITHMS)
def test_stated_error_is_that_of_the_whole(method):
    """As for one rank: the true error is less than twice what is stated. Errors of ranks add up: up to N times as much is stated."""
    whole = asked("float32")
    exact, _ = solve(replace(whole, precision="float64"), "cpu", "direct", threads=1)
    alone = solve(whole, "cpu", method, threads=1)[1]["error"]
    for size in (3, 8):
        values, report = together(size, whole, method)[0]
        errors = dict(zip(whole.fields, np.abs(values - exact).max(axis=1)))
        for name in ("g_z", "g_zz"):
            stated = report["error"][name]
            assert errors[name] < 2 * stated and 0.3 * alone[name] < stated < 2 * size * alone[name], name


def test_bad_input_is_refused_on_every_rank():
    prisms, *others = cells()
    prisms[5, 0] = np.nan
    wrong = partial(gravity.forward, prisms, *others)
    assert len(spawn(3, lambda comm: refused(ValueError, "prism 5 is not finite", wrong, comm=comm))) == 3
    refused(ValueError, "does not apply", gravity.forward, *ensemble(300), device="cpu", method="fft", devices=2)
    refused(ValueError, "either comm or devices", gravity.forward, *cells(), device="cpu", comm=Alone(), devices=2)
    refused(ValueError, "devices = 0: there must be at least one", gravity.forward, *cells(), device="cpu", devices=0)


def test_progress_is_shown_once(capfd, monkeypatch):
    def lines(_, total, *more):
        return nullcontext(lambda done, text: print(f"{done} of {total}", file=sys.stderr))

    monkeypatch.setattr(progress, "_bar", lines)
    together(3, asked(), "direct", progress=True)
    shown = capfd.readouterr().err.splitlines()
    mine = -(-asked().pairs // 3 // 156) * 156  # of rank 0: 84 or 85 of the prisms, at 156 points
    assert shown and all(re.fullmatch(r"\d+ of \d+", line) for line in shown) and shown[-1] == f"{mine} of {mine}"


def test_a_scenario_over_threads(tmp_path):
    """`craton.run` of a team: rank 0 writes, every rank has the result."""
    scenario = loads(small(DIRECT))
    alone = craton.run(scenario, progress=False).dataset
    for result in spawn(3, lambda comm: craton.run(scenario, out=tmp_path / "out", progress=False, comm=comm)):
        assert all(difference(result.dataset[name], alone[name]) < 1e-12 for name in ("g_z", "g_ez"))
    state = manifest(tmp_path / "out")
    assert state["state"] == "finished" and len(state["ranks"]) == 3


# --- little memory ----------------------------------------------------------------------------------------------------------------------


@dataclass
class Small(CPU):
    """A machine of its own memory, as a GPU has."""

    nbytes: int = 1 << 20

    def memory(self):
        return self.nbytes, self.nbytes


def test_trees_are_as_large_as_fits(monkeypatch):
    """8,192 prisms where there is room for 2,000: five trees, within rtol of one: of the sum of magnitudes, of one sign."""
    prisms, density, points = ensemble(8192, side=(1, 6))
    points[2] = np.abs(points[2])  # above all prisms
    trees, real = [], far.plan
    monkeypatch.setattr(far, "plan", lambda asked, some, *more: trees.append(len(some)) or real(asked, some, *more))
    values = far.solve(problem(prisms, density, points, FIELDS), Runner(Small(threads=1, nbytes=4000 * far.NEEDED)))
    assert trees == [2000, 2000, 2000, 2000, 192]
    assert greatest(values, forward(prisms, density, points))[3] < 5e-8


def test_methods_that_need_all_prisms_at_once_say_so():
    machine = Small(threads=1, nbytes=30_000)
    values, report = solve(asked(), machine)
    assert report["method"] in ("direct", "far") and set(report["estimates"]) == {"direct", "far"}
    assert (greatest(values, solve(asked(), "cpu", "direct", threads=1)[0]) < 1e-8).all()
    for method in ("vertex", "fft"):
        refused(ValueError, "GiB at once", solve, asked(), machine, method)


def test_a_machine_needs_room_for_a_tile_only(monkeypatch):
    """Many points on a machine with less memory than they take on the host."""
    axes = ("x = [0, 1000, 4]", "x = [0, 1000, 2000]"), ("y = [0, 1000, 3]", "y = [0, 1000, 2000]")
    plan = craton.plan(loads(small(DIRECT, *axes)))
    assert plan.problem.points.shape == (3, 4_000_000) and plan.tile_nbytes < 0.3 * plan.nbytes
    machine, tiny = (Small(threads=1, nbytes=int(n)) for n in (0.4 * plan.nbytes, plan.tile_nbytes // 2))
    sums.check_memory(plan, machine)
    refused(ResourceError, "a tile of prisms and points need", sums.check_memory, plan, tiny)
    monkeypatch.setattr(cpu, "host_memory", lambda: (3 * plan.nbytes, 4 * plan.nbytes))
    sums.check_memory(plan, machine, ranks=3)
    words = ["prisms and points on 4 ranks need ", " free on this host"]
    refused(ResourceError, words, sums.check_memory, plan, machine, ranks=4)


BALL = {"shape": "sphere", "center": [2000, 2000, -500], "radius": 300, "density": 300}


def under_points(method, prisms, points, **options):
    """Cells that a body fills in part, under a grid of points over their middles."""
    (nx, nz), middle = prisms, 2000 / prisms[0]
    cells = {"origin": [0, 0, -1000], "size": [4000, 4000, 1000], "shape": [nx, nx, nz], "density": 100}
    axis = [middle, 4000 - middle, points]
    return craton.Scenario(
        method="gravity",
        gravity={"method": method} | options,
        prisms={"kind": "grid", "bodies": [BALL]} | cells,
        points={"kind": "grid", "x": axis, "y": axis, "z": 60},
        run={"device": "cpu", "threads": 1},
    )


ALL = {"fields": "all"}
FORETOLD = [
    ("fft", (64, 1), 64, ALL),
    ("far", (28, 6), 8, ALL),
    ("direct", (2, 1), 300, {}),
    ("vertex", (100, 20), 10, ALL),
]
MORE_FORETOLD = [
    ("fft", (130, 1), 130, ALL),
    ("far", (60, 8), 20, {}),
    ("far", (40, 6), 10, {"rtol": 1e-12}),
    ("vertex", (120, 20), 10, {}),
]


@pytest.mark.parametrize("cases", [FORETOLD, pytest.param(MORE_FORETOLD, marks=long)], ids=["small", "large"])
def test_memory_of_gravity(cases):
    """Within 10 %, of the method that is taken."""
    for method, prisms, points, keys in cases:
        scenario, machine = under_points(method, prisms, points, **keys), CPU(threads=1)
        plan = craton.plan(scenario)
        assert chosen(plan, machine)[0].method == method
        whole, arrays = memory.process_bytes(plan, method, machine)
        text = dict(memory.rows(plan, method, machine))["process on a CPU"]
        assert f"about {whole / 2**20:,.0f} MiB at most" in text, method
        del plan
        measured = peak(lambda: craton.run(scenario, progress=False, warn=False))  # noqa: B023
        assert abs(measured / arrays - 1) < 0.1, (method, measured / 2**20, arrays / 2**20)


def test_blocks_change_nothing(monkeypatch):
    """Nodes, cells, layers and masses found block by block are those found at once."""
    scenario, machine, answers = under_points("auto", (20, 5), 20, fields=["g_z"]), CPU(threads=1), []
    for _ in range(2):
        whole = craton.plan(scenario).problem
        nodes, grid = vertex.nodes(whole, machine), fft.columns(whole, machine)
        order = np.lexsort(nodes.at.T)
        answers.append((nodes.at[order], nodes.coefficient[order], grid.x.cell, grid.y.cell, grid.layer, grid.layers))
        answers[-1] += (ensembles.mass(whole)[0],)
        monkeypatch.setattr(lattice, "BLOCK", 300)
        monkeypatch.setattr(ensembles, "BLOCK", 300)
    for whole, blocks in zip(*answers):
        assert np.allclose(whole, blocks, rtol=1e-12, atol=1e-9) and np.asarray(whole).dtype == np.asarray(blocks).dtype


# --- the command line -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def process(place, *words, ranks=0):
    """A Python command when it has ended; `ranks`: started by mpiexec."""
    start = [launcher.mpiexec(), "-n", str(ranks)] if ranks else []
    return subprocess.run([*start, sys.executable, *words], cwd=place, text=True, capture_output=True, timeout=100)


@needs_mpi
@long
def test_ranks_of_the_command_line(place):
    """Two ranks, started by mpiexec or by craton: one result, one voice, a record of who took part."""
    alone = craton.run(loads(SMALL), progress=False).dataset
    for ranks, words in ((2, ()), (0, ("--ranks", "2"))):
        out = place / f"out{ranks}"
        done = process(place, "-m", "craton", "run", "small.toml", "-o", out.name, *words, ranks=ranks)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("done:") == done.stdout.count("next: craton plot") == 1 and not done.stderr
        state, fields = manifest(out), stored(out)
        assert state["state"] == "finished" and [r["rank"] for r in state["ranks"]] == [0, 1]
        assert len({r["pid"] for r in state["ranks"]}) == 2
        assert all(difference(fields[name], alone[name]) < 1e-12 for name in ("g_z", "g_ez"))


@needs_mpi
@long
def test_what_is_wrong_is_said_once(place, monkeypatch):
    (place / "wave.toml").write_text(smallcase.TEXT)
    for words, message in (
        (("wave.toml", "--set", "run.grid=[3,1,1]"), "3 x 1 x 1 parts are not 2"),
        (("small.toml", "--set", "points.zz=1"), 'unknown key "zz"'),
    ):
        done = process(place, "-m", "craton", "run", *words, "--ranks", "2", "-o", "out")
        assert done.returncode == 2 and done.stderr.count(message) == 1, done.stderr
        assert "nothing was written" in done.stderr and "Abort" not in done.stderr + done.stdout
        assert not (place / "out").exists()
    monkeypatch.chdir(place)
    assert main(["run", "small.toml", "--ranks", "0"]) == 2
    done = process(place, "-m", "craton", "run", "small.toml", "--ranks", "3", ranks=2)
    assert done.returncode == 2 and done.stderr.count("3 ranks, but mpiexec started 2") == 1


FAULT = """
    import os, signal, sys, time
    import numpy as np
    from mpi4py import MPI
    import craton.gravity
    import craton.methods.gravity.direct as direct
    from craton.cli import main
    prisms = np.array([[0, 100, 0, 100, -100, 0], [100, 250, 0, 100, -300, 0], [0, 100, 100, 200, -50, 0]])
    points = (*np.meshgrid(np.linspace(-100, 300, 9), np.linspace(-100, 300, 7)), np.full((7, 9), 20.0))
    asked = prisms, [300, -200, 500], points, ("g_z",), "cpu"
    fields, alone = craton.gravity.forward(*asked, comm=MPI.COMM_WORLD), craton.gravity.forward(*asked)
    assert fields["g_z"].shape == (7, 9) and fields.report["ranks"] == 2 and alone.report["ranks"] == 1
    assert abs(fields["g_z"] - alone["g_z"]).max() < 1e-12 * abs(alone["g_z"]).max()
    def solve(problem, runner):
        if MPI.COMM_WORLD.rank == 1:
            {act}
        time.sleep(60)
    direct.solve = solve
    sys.exit(main(["run", "small.toml", "-o", "out", "-q", "--set", "gravity.method=direct"]))
    """
LACK = "out of memory: Unable to allocate 5 TiB"


@needs_mpi
@pytest.mark.parametrize(
    "act, code, words",
    [
        ("raise RuntimeError('a sad day')", 1, "rank 1 on {host}: RuntimeError: a sad day"),
        pytest.param("raise MemoryError('Unable to allocate 5 TiB')", 3, f"rank 1 on {{host}}: {LACK}", marks=long),
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", 9, "", marks=long),
    ],
)
def test_ranks_share_plain_arrays_and_one_that_fails_ends_all(place, act, code, words, monkeypatch):
    """In a script of mpiexec. MPICH's launcher ends with the number of the signal that killed a rank."""
    (place / "fault.py").write_text(textwrap.dedent(FAULT.format(act=act)))
    begin = time.perf_counter()
    done = process(place, "fault.py", ranks=2)
    assert done.returncode == code and time.perf_counter() - begin < 10
    assert done.stderr.count("craton: ") == bool(words) and words.format(host=Alone().host) in done.stderr, done.stderr
    state = manifest(place / "out")
    assert state["state"] == ("failed" if words else "running")
    assert not words or state["reason"].startswith(f"rank 1 on {Alone().host}: ")
    monkeypatch.chdir(place)  # what was left stands in nobody's way once the ranks have ended,
    while code := main(["run", "small.toml", "-o", "out"]):  # for which mpiexec does not wait
        assert code == 2 and time.perf_counter() - begin < 20
        time.sleep(0.1)


@pytest.fixture
def running(place):
    """A run of minutes on two ranks that has begun: the process of `craton run`, its ranks' numbers. Single precision: short tiles."""
    edits = [("bodies", "# bodies"), ("shape = [10, 10, 4]", "shape = [100, 100, 40]\ndensity = 300"), DIRECT]
    edits += [(f"[0, 1000, {n}]", "[0, 1000, 900]") for n in (4, 3)] + [("[run]", '[run]\nprecision = "float32"')]
    (place / "long.toml").write_text(small(*edits))
    command = [sys.executable, "-m", "craton", "run", "long.toml", "-o", "out", "--ranks", "2", "--oversubscribe", "-q"]
    pipes = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    heard = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731 (or ignored)
    begun = subprocess.Popen(command, cwd=place, preexec_fn=heard, **pipes)
    for _ in range(600):
        time.sleep(0.1)
        if (place / "out" / "run.json").exists() and "ranks" in manifest(place / "out"):
            break
        assert begun.poll() is None, begun.stderr.read()
    ranks = [rank["pid"] for rank in manifest(place / "out")["ranks"]]
    started = {pid: start_of(pid) for pid in ranks}
    yield begun, ranks
    begun.kill()
    begun.wait()
    for pid in ranks:  # a launcher that was killed leaves them; numbers of processes come again
        if started[pid] is not None and start_of(pid) == started[pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def gone(pid):
    """Whether a process has ended (a zombie has)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


HOW = [(signal.SIGINT, 130, "interrupted", "interrupted"), (signal.SIGTERM, 130, "interrupted", "interrupted")]
HOW += [(signal.SIGKILL, 1, "was ended from outside: Killed (signal 9)", "failed")]


@needs_mpi
@linux
@long
@pytest.mark.parametrize("number, code, words, state", HOW, ids=["Ctrl-C", "SIGTERM", "a killed rank"])
def test_a_signal_ends_all_ranks(running, place, number, code, words, state):
    """Of the command, or the death of one rank."""
    process, ranks = running
    killed = number == signal.SIGKILL
    time.sleep(0.5)
    os.kill(ranks[1] if killed else process.pid, number)
    _, message = process.communicate(timeout=10 if killed else 45)  # 10 s alone; the suite runs two tests at a time
    assert process.returncode == code and message.count(words) == 1 and "BAD TERMINATION" not in message, message
    time.sleep(0.5)
    assert all(map(gone, ranks)) and manifest(place / "out")["state"] == state
