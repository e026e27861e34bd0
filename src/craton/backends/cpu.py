"""The CPU machine: kernels compiled by the host's C++ compiler, run tile by tile on threads; and one with bad intentions,
for tests: nan wherever nothing was promised, so that stray reads and missing exchanges show.
"""

import ctypes
import os
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np

from craton import memory
from craton.backends.base import Program, Shared, Stage, aligned, allocate, interleaved, separate
from craton.core.deferred import Part
from craton.core.operator import BOX
from craton.core.plan import LANES, Phase
from craton.core.subdomain import regions
from craton.errors import ResourceError
from craton.host import compile as host

TILE = (8, 16)  # planes and rows; measured in bench/NOTES.md
SLABS_FROM = 4 << 20  # bytes of an array that threads copy together
VECTOR = 8  # points along x: slabs that neighbours wait for are a multiple of it thick
EVERYTHING = 1 << 30
MOST_THREADS = 1 << 12
OMP_PAUSE_HARD = 2  # <omp.h>
PAUSES: list = []  # the function that ends OpenMP's threads, once it is called before forks
KERNELS: dict[str, list] = {}  # sets of kernels of one text that were compiled, by its digest
BOUNDS = tuple(name for name, _ in BOX.fields)
ITEM = np.dtype(
    [("kernel", np.uintp), ("arrays", np.uintp), ("params", np.uintp), *((n, np.int32) for n in BOUNDS)], align=True
)
# of one field's plane in a block where two phases share a pass: some sixty of these fill 2 MiB of
# cache
BLOCK_BYTES = 24 << 10


@dataclass
class CPU:
    """Threads of this host.

    Parameters
    ----------
    threads : int, optional
        Number of threads; by default $OMP_NUM_THREADS, else one per core that this process may use.
    tile : tuple of int
        Planes and rows of a tile.
    block : int
        Rows of a block where two phases share a pass; by default as many as the cache holds well.
    fuse : bool
        Let two phases share a pass where they can.
    """

    threads: int | None = None
    tile: tuple = TILE
    block: int | None = None
    fuse: bool = True
    name: str = "cpu"
    shares_host_memory: ClassVar[bool] = True
    pool: ThreadPoolExecutor | None = field(default=None, repr=False)

    def __post_init__(self):
        self.threads = self.threads or threads_asked_for() or cores()

    @property
    def width(self):
        """Points side by side that keep it busy; the same for any number of threads, so that sums
        do not depend on it.
        """
        return 8192

    def describe(self):
        """One line: cores, threads and compiler."""
        return f"CPU, {self.threads} threads{'' if host.has_openmp() else ' (thread pool)'}, {Path(host.compiler()[0]).name}"

    def memory(self):
        """Free and total bytes."""
        return host_memory()

    def commit(self, plan, fills=None, arrays=None):
        """Allocate, compile, bind: the plan as a Program."""
        compiled = self.compile(plan.operators.values(), plan.precision)
        arrays, subdomain = self.allocate(plan, fills, arrays), plan.subdomain
        if self.fuse and plan.layout.reach and not subdomain.neighbours and (host.has_openmp() or self.threads == 1):
            return Program(plan, self, self.fused(plan, compiled, arrays), arrays)
        stages = []
        for phase in plan.phases:
            cut = regions(phase.launches, subdomain, plan.layout.reach, VECTOR)
            groups = (*cut, phase.packing, phase.unpacking)
            outer, inner, *exchange = (self.bind(group, compiled, arrays, plan) for group in groups)
            shared = Shared(phase.messages, *exchange) if phase.messages else None
            stages.append(Stage(phase.name, outer, inner, shared))
        return Program(plan, self, stages, arrays)

    def fused(self, plan, compiled, arrays):
        """Stages of a rank without neighbours: two phases in one pass through memory wherever
        nothing has to come between them.
        """
        stages, waiting = [], list(plan.phases)
        nothing = self.bind((), compiled, arrays, plan)
        while waiting:
            phase = waiting.pop(0)
            parts = skewable(phase.launches, waiting[0].launches, plan.layout.reach) if waiting else None
            if parts:
                phase = Phase(f"{phase.name} and {waiting[0].name}", (), ())
                run = self.one_pass(parts, compiled, arrays, plan)
                waiting.pop(0)
            else:
                run = self.bind(phase.launches, compiled, arrays, plan)
            stages.append(Stage(phase.name, nothing, run))
        return stages

    def one_pass(self, parts, compiled, arrays, plan):
        """Return a function of the step: what comes before, both lists of launches in one pass, what comes after."""
        before, first, second, after = parts
        reach, launches = plan.layout.reach, (*first, *second)
        first, second = (bound(group, compiled, arrays, plan) for group in (first, second))
        both = hull([first.hull, second.hull])
        begin, end = (self.bind(group, compiled, arrays, plan) for group in (before, after))
        row_bytes = int(both[5] - both[4]) * np.dtype(plan.precision).itemsize
        rows = self.block or max(8, min(64, BLOCK_BYTES // row_bytes))
        last = max(late(launches, reach, int(both[1])), int(both[0]))

        run_skewed, box = self.runner.run_skewed, ctypes.c_void_p(both.ctypes.data)
        arguments = *first.arguments, *second.arguments, box, reach, last, rows, self.threads
        pointed_to = first, second, both

        def run(step, alive=pointed_to):
            begin(step)
            run_skewed(*arguments)
            end(step)

        return run

    def compile(self, operators, precision):
        """Entry address of each operator; those that differ in their kernel only share a text."""
        operators, functions = list(operators), defaultdict(set)
        for op in operators:
            functions[op.source(precision, kernels=())].add(op.function)
        sources = {}
        for op in operators:
            text_alone = op.source(precision, kernels=())
            kernels = compiled_kernels(text_alone, functions[text_alone])
            sources[op.name] = host.with_entries(op.source(precision, kernels))
        runner = host.RUNNER.read_text()
        built = host.libraries({*sources.values(), runner})
        self.runner = built[runner]
        end_threads_before_forks(self.runner)
        return {
            op.name: ctypes.cast(built[sources[op.name]][f"call_{op.function}"], ctypes.c_void_p).value
            for op in operators
        }

    def allocate(self, plan, fills=None, ready=None):
        """Return the plan's arrays in host memory, those of `ready` as they are; parts are views."""
        return allocate(plan, self.array, fills, ready)

    def array(self, spec):
        """One array with its initial values, elements interleaved; values that are made now are taken as they are."""
        if isinstance(spec.data, Part):
            return spec.on_host()
        shape = (spec.shape[0] // LANES, *spec.shape[1:], LANES) if spec.lanes else spec.shape
        out = aligned(shape, spec.dtype)
        if spec.data is None:
            out[...] = 0
        else:
            values = interleaved(spec.on_host(), LANES) if spec.lanes else spec.on_host()
            copy_in_slabs(out, values, self.threads or 1)
        return out

    def separate(self, array):
        """Return a host copy of an array with `lanes`, elements one after another again."""
        return separate(array)

    def asarray(self, array):
        """Return a host array on this machine."""
        return np.asarray(array)

    def fill(self, array, values):
        """Overwrite the first rows of an array of this machine with host values."""
        array[: len(values)] = values

    def to_host(self, array):
        """Return a copy."""
        return np.array(array)

    @property
    def xp(self):
        """Module of its arrays."""
        return np

    def work(self):
        """Context in which array expressions run on it."""
        return nullcontext()

    def rfft2(self, array):
        """Fourier transform of real numbers over the last two axes."""
        from scipy.fft import rfft2

        return rfft2(array, workers=self.threads)

    def irfft2(self, array, shape):
        """Its inverse, real numbers of a shape; what it is given may be lost."""
        from scipy.fft import irfft2

        return irfft2(array, s=shape, workers=self.threads, overwrite_x=True)

    def copies(self):
        """Return copies within the memory of the host, made at once."""
        return DirectCopies()

    def extremes(self, array):
        """Least and greatest value, nan if any is."""
        return float(array.min()), float(array.max())

    def finish(self):
        """Work is done when a call returns."""

    def copy_bandwidth(self, nbytes=1 << 28, repeats=5):
        """Bytes per second, read plus written, of the best of several large copies by all threads."""
        source, target = (aligned((nbytes // 8,), np.float64) for _ in range(2))
        source[...], target[...] = 1.0, 0.0
        cuts = np.linspace(0, source.size, (self.threads or 1) + 1).astype(int)
        slabs = [slice(a, b) for a, b in zip(cuts, cuts[1:])]

        def once(pool):
            begin = time.perf_counter()
            list(pool.map(lambda part: np.copyto(target[part], source[part]), slabs))
            return time.perf_counter() - begin

        with ThreadPoolExecutor(self.threads) as pool:
            return 2 * source.nbytes / min(once(pool) for _ in range(repeats))

    def single(self, launch, program):
        """Return a function that runs one launch of a program by itself."""
        plan = program.plan
        run = self.bind([launch], self.compile([launch.op], plan.precision), program.arrays, plan)
        return lambda: run(0)

    def timed(self, work):
        """Seconds that some work takes."""
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    def bind(self, launches, compiled, arrays, plan):
        """Return a function of the step that runs the launches: neighbours in the list that are
        pointwise go tile by tile together.
        """
        calls: list = []
        turns: list = []
        for launch in launches:
            check_groups(launch, plan)
            turns += launch.cut(launch.colours.runs) if launch.colours else [launch]
        for together, members in groupby(turns, key=lambda launch: launch.op.pointwise):
            group = list(members)
            batches = [group] if together else [[launch] for launch in group]
            calls += [self.call(batch, compiled, arrays, plan) for batch in batches]

        def run(step):
            for call in calls:
                call()

        return run

    def call(self, launches, compiled, arrays, plan):
        """One call of the runner for launches that may share tiles: OpenMP inside it, or slabs over
        a thread pool where there is none.
        """
        work, threads = bound(launches, compiled, arrays, plan), self.threads
        tile, hull = self.tile_of(launches[0].op), work.hull
        axis = 4 if tile[2] < EVERYTHING else 0  # along which slabs are cut
        if threads == 1 or host.has_openmp() or tile[axis // 2] >= hull[axis + 1] - hull[axis]:
            run_tiles, arguments = (self.runner.run_tiles, (*work.arguments, work.hull_address, *tile, threads))
            return lambda alive=work: run_tiles(*arguments)
        self.pool = self.pool or ThreadPoolExecutor(threads)

        def slab(box):
            self.runner.run_tiles(*work.arguments, ctypes.c_void_p(box.ctypes.data), *tile, 1)

        return lambda: list(self.pool.map(slab, slabs(hull, axis, tile[axis // 2], threads)))

    def tile_of(self, op):
        """Planes, rows and points that a thread takes at a time; what is not pointwise runs whole,
        unless its grain has a third number.
        """
        if len(op.grain) == 3:
            return op.grain
        return (*(op.grain or self.tile), EVERYTHING) if op.pointwise else 3 * (EVERYTHING,)


class DirectCopies:
    """Copies at once, on a machine whose arrays are the host's; see `Machine.copies`."""

    def memory(self, shape, dtype):
        """Memory of the host."""
        return np.empty(shape, dtype)

    def out(self, array, host, part):
        """Copy to the host."""
        host[...] = array

    def into(self, array, host, part):
        """Copy from the host."""
        array[...] = host

    def wait(self, part):
        """Return at once: copies are done."""


def copy_in_slabs(target, values, threads):
    """Copy values to a target of their shape; of large ones each thread copies a slab: most of the
    time goes into memory that is touched for the first time.
    """
    if threads == 1 or target.nbytes < SLABS_FROM:
        target[...] = values
        return
    cuts = np.linspace(0, len(target), threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda a, b: np.copyto(target[a:b], values[a:b]), cuts, cuts[1:]))


def compiled_kernels(text_alone, kernels):
    """Return the kernels to compile as one text so that some of them can be launched: the smallest
    set with all of them that this process has compiled already, else these alone.

    Parameters
    ----------
    text_alone : str
        Text that the kernels share, without them.
    kernels : set of str
    """
    asked_for = KERNELS.setdefault(host.digest_of(text_alone, host.compiler()), [])
    covering = [earlier for earlier in asked_for if earlier >= kernels]
    if not covering:
        asked_for.append(frozenset(kernels))
    return min(covering, key=len, default=kernels)


def slabs(hull, axis, unit, count):
    """At most `count` boxes, cut along an axis (0: planes, 4: points along x) after whole units:
    there elements share no points.
    """
    step = unit if axis else 1
    units = -(-int(hull[axis + 1] - hull[axis]) // step)
    cuts = hull[axis] + step * np.linspace(0, units, count + 1).astype(np.int32)
    boxes = np.repeat(hull[None], count, 0)
    boxes[:, axis], boxes[:, axis + 1] = cuts[:-1], np.minimum(cuts[1:], hull[axis + 1])
    return list(boxes[boxes[:, axis] < boxes[:, axis + 1]])


def check_groups(launch, plan):
    """Refuse a launch whose box holds parts of groups of elements.

    Raises
    ------
    ValueError
        A limit of the box or of its turns lies within a group of LANES elements.
    """
    if any(plan.arrays[name].lanes for name in launch.arrays if name):
        elements = (launch.params[name] for name in launch.op.params.of_role("element"))
        limits = (*launch.box[4:], *(launch.colours.runs if launch.colours else ()), *elements)
        wrong = [n for n in limits if n % LANES]
        if wrong:
            raise ValueError(
                f"{launch.op.name}: element {wrong[0]} is within a group of {LANES}: fill runs up to whole groups"
            )


def threads_asked_for():
    """Return the first number of $OMP_NUM_THREADS; 0 where it is not set.

    Raises
    ------
    ResourceError
        It is no number from 1 to MOST_THREADS.
    """
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if text and not (text.isdecimal() and len(text) < 6 and 0 < int(text) <= MOST_THREADS):
        raise ResourceError(
            f"OMP_NUM_THREADS = {text[:40]} is not a number of threads from 1 to {MOST_THREADS}: "
            "unset it, or set it to the number of cores"
        )
    return int(text or 0)


def end_threads_before_forks(library):
    """End the threads of OpenMP whenever this process forks: a child would wait for ever for
    threads that it does not have. They start again with the next launch, in both processes.

    Parameters
    ----------
    library : ctypes.CDLL
        Linked with OpenMP, whose `omp_pause_resource_all` (OpenMP 5.0) ends the threads.
    """
    pause = getattr(library, "omp_pause_resource_all", None)
    if pause is not None and hasattr(os, "register_at_fork") and not PAUSES:
        PAUSES.append(pause)
        os.register_at_fork(before=lambda: pause(OMP_PAUSE_HARD))


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def host_memory():
    """Free and total bytes of this computer; free ones within the limits of this process."""
    page = os.sysconf("SC_PAGE_SIZE")
    return memory.available() or 0, page * os.sysconf("SC_PHYS_PAGES")


# --- launches as the runner takes them (runner.cpp) -----------------------------------------------


@dataclass
class Work:
    """A list of launches for the runner.

    Parameters
    ----------
    items : ndarray
        One entry per launch.
    hull : ndarray
        The box that holds all of them.
    keep : list
        What the entries point to.

    Attributes
    ----------
    arguments : tuple
        Address and number of the entries, as the runner takes them.
    hull_address : ctypes.c_void_p
        Address of the hull.
    """

    items: np.ndarray
    hull: np.ndarray
    keep: list

    def __post_init__(self):
        # made once: a launch of a small grid takes no longer than making them
        self.arguments = ctypes.c_void_p(self.items.ctypes.data), len(self.items)
        self.hull_address = ctypes.c_void_p(self.hull.ctypes.data)


def bound(launches, compiled, arrays, plan):
    """Return launches with the addresses of their kernels, arrays and scalars."""
    items, keep = np.zeros(len(launches), ITEM), []
    for item, launch in zip(items, launches):
        pointers = np.array([address(arrays[a], plan.arrays[a].first) if a else 0 for a in launch.arrays], np.uintp)
        params = launch.op.params.value(plan.precision, **launch.params)
        keep += [pointers, params]
        item["kernel"] = compiled[launch.op.name]
        item["arrays"], item["params"] = pointers.ctypes.data, params.ctypes.data
        for name, limit in zip(BOUNDS, launch.box):
            item[name] = limit
    return Work(items, hull([launch.box for launch in launches]), keep)


def hull(boxes):
    """Return the smallest box that holds all boxes."""
    return np.array([f(values) for f, values in zip((min, max) * 3, zip(*boxes))], np.int32)


def address(array, first):
    """Address of element `first` of an array."""
    return array.ctypes.data + first * array.itemsize


def skewable(before, after, reach):
    """Split two phases that can share one pass: what runs before it, both lists of it, what runs
    after; None where they cannot.

    Nothing but pointwise launches may stand between the first of the one phase and the last of the
    other, and those that reach further than `reach` must lie at the top.
    """
    first = [n for n, launch in enumerate(before) if launch.op.pointwise]
    second = [n for n, launch in enumerate(after) if launch.op.pointwise]
    if not first or not second or first != list(range(first[0], len(before))) or second != list(range(len(second))):
        return None
    parts = before[: first[0]], before[first[0] :], after[: len(second)], after[len(second) :]
    together = (*parts[1], *parts[2])
    top = hull([launch.box for launch in together])[1]
    return parts if all(launch.box[1] == top for launch in together if launch.op.reach > reach) else None


def late(launches, reach, top):
    """First plane that launches with a longer reach than `reach` read; `top` where there are none."""
    return min([top, *(launch.box[0] - launch.op.reach for launch in launches if launch.op.reach > reach)])


# --- a machine for tests ----------------------------------------------------------------------------


@dataclass
class Hostile(CPU):
    """The CPU machine, with nan outside what a plan declares as defined, and small odd tiles."""

    tile: tuple = (3, 5)
    name: str = "hostile"

    def allocate(self, plan, fills=None, ready=None):
        """Arrays with nan in padding and in ghosts that something must fill before they are read."""
        arrays = super().allocate(plan, fills, ready)
        for name, spec in plan.arrays.items():
            if spec.part_of and spec.defined:
                values = arrays[name][spec.defined].copy()
                arrays[name][...] = np.nan
                arrays[name][spec.defined] = values
        return arrays

    def array(self, spec):
        """One array; where it is whole and only written, nan."""
        out = super().array(spec)
        if spec.kind in ("record", "halos"):
            out[...] = worst(out.dtype)
        return out

    def commit(self, plan, fills=None, arrays=None):
        """Return the plan as a Program whose buffers hold nan again as soon as they are emptied."""
        program = super().commit(plan, fills, arrays)
        program.phases = [replace(stage, shared=forgetful(stage.shared, program.arrays)) for stage in program.phases]
        return program


def forgetful(shared, arrays):
    """Return what neighbours exchange after a phase, with nan in all buffers behind it."""
    if shared is None:
        return None

    def unpack(step):
        shared.unpack(step)
        for m in shared.messages:
            arrays[m.out][...] = arrays[m.into][...] = worst(arrays[m.out].dtype)

    return replace(shared, unpack=unpack)


def worst(dtype):
    """Return what shows in every sum: nan, or the largest number where there is none."""
    return np.nan if dtype.kind == "f" else np.iinfo(dtype).max
