"""The CPU machine: kernels compiled by the host's C++ compiler, run tile by tile on threads."""
import ctypes
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

from craton.backends import compile as host
from craton.backends.base import Program, Stage, aligned
from craton.plan.operator import BOX
from craton.plan.partition import Part, regions

RUNNER = Path(__file__).parent / "runner.cpp"
ITEM = np.dtype([("kernel", np.uintp), ("arrays", np.uintp), ("params", np.uintp), *((n, np.int32) for n, _ in BOX.fields)], align=True)
TILE = (8, 16)  # planes and rows; measured in bench/NOTES.md


@dataclass
class CPU:
    """Threads of this host.

    Parameters
    ----------
    threads : int, optional
        Number of threads; by default $OMP_NUM_THREADS, else one per core that this process may use.
    tile : tuple of int
        Planes and rows of a tile.
    """

    threads: int | None = None
    tile: tuple = TILE
    name: str = "cpu"
    pool: ThreadPoolExecutor | None = field(default=None, repr=False)

    def __post_init__(self):
        self.threads = self.threads or int(os.environ.get("OMP_NUM_THREADS", 0)) or cores()

    @property
    def width(self):
        """Points side by side that keep it busy."""
        return 256 * self.threads

    def describe(self):
        """One line: cores, threads and compiler."""
        return f"CPU, {self.threads} threads{'' if host.has_openmp() else ' (thread pool)'}, {Path(host.compiler()[0]).name}"

    def memory(self):
        """Free and total bytes."""
        page = os.sysconf("SC_PAGE_SIZE")
        return available(page), page * os.sysconf("SC_PHYS_PAGES")

    def commit(self, plan, part=None):
        """Allocate, compile, bind: the plan as a Program."""
        compiled = self.compile(plan.operators.values(), plan.precision)
        arrays = self.allocate(plan)
        part = part or Part.whole(plan.layout.shape)
        stages = []
        for phase in plan.phases:
            outer, inner = (self.bind(some, compiled, arrays, plan) for some in regions(phase.launches, part, plan.layout.reach))
            stages.append(Stage(phase.name, outer, inner, phase.shared))
        return Program(plan, self, stages, arrays)

    def compile(self, operators, precision):
        """Entry address of each operator."""
        sources = {op.name: host.with_entries(op.source(precision)) for op in operators}
        built = host.libraries({*sources.values(), RUNNER.read_text()})
        self.run_tiles = built[RUNNER.read_text()].run_tiles
        return {op.name: ctypes.cast(built[sources[op.name]][f"call_{op.function}"], ctypes.c_void_p).value for op in operators}

    def allocate(self, plan):
        """The plan's arrays in host memory; parts are views."""
        arrays = {name: self.array(spec) for name, spec in plan.arrays.items() if not spec.part_of}
        for name, spec in plan.arrays.items():
            if spec.part_of:
                flat = arrays[spec.part_of].reshape(-1)
                arrays[name] = flat[spec.start : spec.start + int(np.prod(spec.shape, dtype=np.int64))].reshape(spec.shape)
                if spec.data is not None:
                    spec.data(arrays[name])
        return arrays

    def array(self, spec):
        """One array with its initial values."""
        out = aligned(spec.shape, spec.dtype)
        if spec.data is None:
            out[...] = 0
        else:
            out[...] = spec.on_host()
        return out

    def asarray(self, array):
        """A host array on this machine."""
        return np.asarray(array)

    def fill(self, array, values):
        """Overwrite the first rows of an array of this machine with host values."""
        array[: len(values)] = values

    def to_host(self, array):
        """A copy."""
        return np.array(array)

    def extremes(self, array):
        """Least and greatest value, nan if any is."""
        return float(array.min()), float(array.max())

    def finish(self):
        """Work is done when a call returns."""

    def copy_bandwidth(self, nbytes=1 << 28, repeats=5):
        """Bytes per second, read plus written, of the best of several large copies by all threads."""
        source, target = (aligned((nbytes // 8,), np.float64) for _ in range(2))
        source[...], target[...] = 1.0, 0.0
        cuts = np.linspace(0, source.size, self.threads + 1).astype(int)
        slabs = [slice(a, b) for a, b in zip(cuts, cuts[1:])]

        def once(pool):
            begin = time.perf_counter()
            list(pool.map(lambda part: np.copyto(target[part], source[part]), slabs))
            return time.perf_counter() - begin

        with ThreadPoolExecutor(self.threads) as pool:
            return 2 * source.nbytes / min(once(pool) for _ in range(repeats))

    def single(self, launch, program):
        """A function that runs one launch of a program by itself."""
        plan = program.plan
        return self.call([launch], self.compile([launch.op], plan.precision), program.arrays, plan)

    def timed(self, work):
        """Seconds that some work takes."""
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    def bind(self, launches, compiled, arrays, plan):
        """A function of the step that runs the launches: neighbours in the list that are pointwise go tile by tile together."""
        calls = []
        for together, group in groupby(launches, key=lambda one: one.op.pointwise):
            group = list(group)
            calls += [self.call(some, compiled, arrays, plan) for some in ([group] if together else [[one] for one in group])]

        def run(step):
            for call in calls:
                call()

        return run

    def call(self, launches, compiled, arrays, plan):
        """One call of the runner for launches that may share tiles."""
        items, keep = np.zeros(len(launches), ITEM), []
        for item, launch in zip(items, launches):
            pointers = np.array([address(arrays[a], plan.arrays[a].first) for a in launch.arrays], np.uintp)
            params = launch.op.params.value(plan.precision, **launch.params)
            keep += [pointers, params]
            item["kernel"], item["arrays"], item["params"] = compiled[launch.op.name], pointers.ctypes.data, params.ctypes.data
            for name, bound in zip(BOX.dtype("float32").names, launch.box):
                item[name] = bound
        hull = np.array([f(item[n] for item in items) for n, f in zip(BOX.dtype("float32").names, (min, max) * 3)], np.int32)
        wide = launches[0].op.pointwise
        tile = (launches[0].op.grain or self.tile) if wide else (1 << 30, 1 << 30)
        return self.threaded(items, hull, tile, keep)

    def threaded(self, items, hull, tile, keep):
        """The call itself: OpenMP inside the runner, or slabs over a thread pool where the compiler has none."""
        at, count, threads = ctypes.c_void_p(items.ctypes.data), len(items), self.threads
        if threads == 1 or host.has_openmp() or tile[0] >= hull[1] - hull[0]:
            box = ctypes.c_void_p(hull.ctypes.data)

            def call():
                self.run_tiles(at, count, box, *tile, threads)

            call.keep = (keep, items, hull)
            return call
        cuts = np.linspace(hull[0], hull[1], threads + 1).astype(np.int32)
        slabs = [np.array([a, b, *hull[2:]], np.int32) for a, b in zip(cuts, cuts[1:]) if a < b]
        self.pool = self.pool or ThreadPoolExecutor(threads)

        def call():
            list(self.pool.map(lambda box: self.run_tiles(at, count, ctypes.c_void_p(box.ctypes.data), *tile, 1), slabs))

        call.keep = (keep, items, slabs)
        return call


def address(array, first):
    """Address of element `first` of an array."""
    return array.ctypes.data + first * array.itemsize


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available(page):
    """Bytes that can be taken without swapping."""
    info = Path("/proc/meminfo")
    if info.exists():
        found = next((line for line in info.read_text().splitlines() if line.startswith("MemAvailable")), None)
        if found:
            return int(found.split()[1]) * 1024
    return page * os.sysconf("SC_AVPHYS_PAGES") if hasattr(os, "sysconf") else 0
