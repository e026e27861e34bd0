"""The CPU machine: the same bits however the work is cut and with nan where nothing was promised, denormals, memory."""

import itertools
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import benchscript
import numpy as np
import pytest
from common import refused
from kernelcase import PRECISIONS, commit, inside
from layeredcase import BOUNDARIES, text

from craton.backends import backend
from craton.backends.base import interleaved
from craton.backends.cpu import CPU, SLABS_FROM, copy_in_slabs
from craton.core.grid import Layout
from craton.core.plan import Launch
from craton.core.subdomain import Neighbour, Subdomain, regions
from craton.driver import waves
from craton.errors import ScenarioError
from craton.host import compile as host
from craton.methods import METHODS
from craton.methods.finite_difference.equations import operators
from craton.scenario import loads

STEPS = 12


@cache
def plan(kind="free and absorbing", order=4, precision="float32"):
    """A small plan with every kind of source, receiver and some kinds of boundary."""
    return METHODS["fd"].plan(loads(text(kind, order, precision)), None, CPU(threads=1))


def march(program, steps=STEPS):
    """A few steps, neighbours' points first."""
    for step in range(steps):
        program.step(step)
    return program


def outcome(program, kinds=("wavefield", "boundary")):
    """The grid's points of every field, and memory variables, on the host; the block of fields holds padding too."""
    arrays = program.plan.arrays.items()
    return {name: program.host(name) for name, a in arrays if a.kind in kinds and a.data is None and name != "state"}


def committed(machine, kind="free and absorbing", order=4, precision="float32", changed=None):
    """The plan, or a changed one of the same scenario, on a machine."""
    return waves.commit(loads(text(kind, order, precision)), changed or plan(kind, order, precision), machine)


def marched(machine, *more):
    """Outcome of a few steps, record and step counter."""
    program = march(committed(machine, *more))
    return outcome(program) | {"record": program.host("record")[:STEPS], "step": program.host("step")}


@cache
def expected(*more):
    """What one thread with the usual tiles makes of a plan."""
    return marched(CPU(threads=1), *more)


def differing(values, reference):
    """Names of the arrays that are not equal in every bit."""
    assert set(values) == set(reference)
    return [name for name in reference if values[name].tobytes() != reference[name].tobytes()]


def same_bits(machine, *more):
    """What a machine makes of a plan is equal in every bit, and something happened."""
    reference = expected(*more)
    assert not differing(marched(machine, *more), reference)
    assert all(np.abs(reference[name]).max() > 0 for name in ("vx", "vy", "vz", "szz", "sxy", "record"))


# --- however the work is cut ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in BOUNDARIES if kind != "one-way"])
def test_tiles_threads_and_undefined_ghosts_change_no_bit(kind):
    """A point's value does not depend on the box that it is computed in, nor on what was never promised, which is nan."""
    for tile, threads in (((1, 1), 5), ((7, 1000), 3)):
        same_bits(CPU(threads=threads, tile=tile), kind)
    hostile = backend("hostile", threads=2)  # its tiles: 3 by 5
    arrays = committed(hostile, kind).arrays
    assert all(np.isnan(arrays[name]).any() for name in ("vx", "sxx", "syz", "record"))
    same_bits(hostile, kind)


def test_large_arrays_are_copied_by_threads():
    """Interleaved elements, in slabs that do not divide their number."""
    elements = np.random.default_rng(1).standard_normal((8 * 1001, 2, 90)).astype(np.float32)
    values = interleaved(elements, 8)
    for threads in (1, 3):
        target = np.zeros(values.shape, values.dtype)
        copy_in_slabs(target, values, threads)
        assert target.nbytes > SLABS_FROM and np.array_equal(target, values)


@pytest.mark.parametrize("openmp", [True, pytest.param(False, marks=pytest.mark.long)])
def test_thread_pool_changes_no_bit(openmp, monkeypatch):
    """Where OpenMP is not asked for, and with a compiler without it."""
    without = (host.compiler()[0], "-fopenmp-simd")
    monkeypatch.setattr(host, *(("has_openmp", lambda: False) if openmp else ("compiler", lambda: without)))
    for threads in (2, 5, 40) if openmp else (2,):
        machine = CPU(threads=threads)
        same_bits(machine)
        assert machine.pool is not None and "thread pool" in machine.describe()


@pytest.mark.long
@pytest.mark.parametrize("name, shape", [("lossy-layers", ["P-SV"]), ("sem-lossy-pml", [])])
def test_flags_of_the_package_give_the_same_bits(name, shape, monkeypatch, tmp_path):
    """The compiler as users have it, where conftest.py leaves out passes of GCC; differences, elements, layers and attenuation."""
    scenario = benchscript.load("long_runs").ROWS[name].scenario(tmp_path, *shape)
    planned = METHODS[scenario.method].plan(scenario, None, CPU(threads=1))

    def fields():
        return outcome(march(waves.commit(scenario, planned, CPU(threads=1)), 20), ("wavefield",))

    of_tests = fields()
    monkeypatch.delenv("CXX", raising=False)
    command = host.compiler.__wrapped__()
    assert not any(word.startswith(("-fno-", "-fira-")) for word in command)
    monkeypatch.setattr(host, "compiler", lambda: command)
    assert not differing(fields(), of_tests) and sum(values.any() for values in of_tests.values()) > 1


@pytest.mark.parametrize("order, precision", [(2, "float64"), pytest.param(8, "float32", marks=pytest.mark.long)])
def test_other_orders_and_precisions(order, precision):
    same_bits(CPU(threads=3, tile=(2, 3)), "rigid above", order, precision)


@pytest.mark.parametrize("missing", ["vx", "sxx"])
def test_hostile_machine_shows_a_missing_exchange(missing):
    whole, phases = plan("periodic sides"), []
    for phase in whole.phases:
        launches = tuple(n for n in phase.launches if n.op.name != "wrap" or missing not in n.arrays)
        phases.append(replace(phase, launches=launches))
    program = march(committed(backend("hostile"), "periodic sides", changed=replace(whole, phases=tuple(phases))))
    assert np.isnan(program.host("vy")).any()


# --- regions ----------------------------------------------------------------------------------------------------------------------------


def points_of(box):
    """Slices of a box."""
    return tuple(slice(a, b) for a, b in zip(box[::2], box[1::2]))


def test_regions_cover_every_point_once():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shape, thickness = tuple(int(n) for n in rng.integers(1, 14, 3)), int(rng.integers(1, 5))
        neighbours = tuple(Neighbour(1, face) for face in itertools.product("xyz", (0, 1)) if rng.random() < 0.5)
        part = Subdomain((0, shape[0], 0, shape[1], 0, shape[2]), neighbours)
        corners = [sorted(int(v) for v in rng.integers(0, n + 1, 2)) for n in shape]
        launch = Launch(operators.rigid(), ("vx",), tuple(v for pair in corners for v in pair), {})
        outer, inner = regions((launch,), part, thickness)
        seen, near = np.zeros(shape, int), np.zeros(shape, bool)
        for region in (*outer, *inner):
            assert region.points > 0 or not part.neighbours
            seen[points_of(region.box)] += 1
        seen[points_of(launch.box)] -= 1
        assert not seen.any(), seed
        for axis, side in part.faces:
            n = "zyx".index(axis)
            face = slice(max(shape[n] - thickness, 0), None) if side else slice(0, thickness)
            np.moveaxis(near, n, 0)[face] = True
        assert not any(near[points_of(region.box)].any() for region in inner), seed
        assert all(near[points_of(region.box)].all() for region in outer), seed


# --- memory -----------------------------------------------------------------------------------------------------------------------------


def test_size_of_a_plan_is_what_is_allocated():
    p, fills = plan(), METHODS["fd"].fills(loads(text()), plan())
    tracemalloc.start()
    try:
        arrays = CPU(threads=1).allocate(p, fills)
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    own = [name for name, a in p.arrays.items() if not a.part_of]
    assert sum(arrays[name].nbytes for name in own) == p.nbytes == sum(p.bytes_by_kind.values())
    assert 0 <= allocated - p.nbytes <= 4096 * len(p.arrays)  # alignment: 128 bytes each; Python's objects around them
    assert all(arrays[name].ctypes.data % 128 == 0 for name in own)


# --- denormals --------------------------------------------------------------------------------------------------------------------------


def halved(value, precision, threads):
    """Fields that a sponge with the factor 1/2 leaves of a value."""
    layout, box = Layout((16, 20, 5), 1), (0, 16, 0, 20, 0, 5)
    arrays = {name: np.full(layout.padded, value, precision) for name in "fgh"}
    params = {"row": layout.row, "plane": layout.plane, "sheet": layout.plane, "top": 15, "dt_h": 0}
    params |= {"k0": 0, "j0": 0, "i0": 0, "nk": 16, "nj": 20, "ni": 5}
    launch, profile = Launch(operators.sponge(0), (*arrays, "profile"), box, params), np.full(5, 0.5, precision)
    machine = CPU(threads=threads, tile=(2, 3))
    after, step = commit([launch], arrays | {"profile": profile}, layout, precision, machine)
    step()
    return after["g"][inside(layout, box)]


def keeps_denormals():
    """True where this thread's arithmetic has denormal numbers, in NumPy and in plain Python."""
    tiny = np.full(64, np.finfo(np.float32).tiny)
    return bool((tiny * np.float32(0.5) > 0).all()) and sys.float_info.min / 2 > 0


@pytest.mark.parametrize("openmp", [True, False])
def test_denormals_are_flushed_in_kernels_only(openmp, monkeypatch):
    if not openmp:
        monkeypatch.setattr(host, "has_openmp", lambda: False)
    assert keeps_denormals()
    for precision, threads in itertools.product(PRECISIONS, (1, 2)):
        tiny = np.finfo(precision).tiny
        # the result would be denormal, the operand is, neither
        for value, expected in ((tiny, 0), (tiny / 2, 0), (4 * tiny, 2 * tiny)):
            assert (halved(value, precision, threads) == expected).all(), (precision, threads, value)
        assert keeps_denormals()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(keeps_denormals).result()


def test_a_device_that_does_not_exist_is_told():
    refused(ScenarioError, ("no device 'gpu'", "use auto, cpu, cuda"), backend, "gpu")
