"""The CUDA machine: kernels compiled by NVRTC through CuPy; a step of one rank is one graph,
replayed without the host.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from craton.backends.base import Program, Shared, Stage, allocate
from craton.backends.nvrtc import OPTIONS
from craton.core.operator import BOX
from craton.core.subdomain import regions
from craton.errors import ResourceError
from craton.host.kernel_cache import secure_cupy

# points of the slabs that neighbours wait for: whole cache lines along x, a block's rows along y
ALONG_X, THICK = 32, 4
# values along x of a thread of a variant, at most; all numbers of them divide it
MOST_PER_THREAD = 8
# threads along x, y, z of a plain body; a slab that is thin along x gets a narrower block
BLOCK = (32, 4, 2)


def available():
    """Return True where CuPy and a device are."""
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    # CuPy raises its own, the driver's or the loader's error where any of them is missing
    except Exception:
        return False


@cache
def properties(device):
    """Return what the driver says of a device: dict."""
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(device)


@cache
def function(text, name, device):
    """Return a kernel of a text, compiled and loaded once for each device: loading takes a
    millisecond even where CuPy has it compiled.
    """
    import cupy

    return cupy.RawModule(code=text, options=OPTIONS).get_function(name)


@dataclass
class CUDA:
    """One GPU.

    Parameters
    ----------
    variants : bool
        Use the variants for this machine; without, every operator runs its plain body.
    graph : bool
        Replay a step as a graph where no exchange needs the host.
    index : int, optional
        Which GPU of those that this process sees; by default the current one. It becomes the
        current one of the calling thread, which must be the one that works with this machine.
    """

    variants: bool = True
    graph: bool = True
    threads: int | None = None  # of the CPU machine; a GPU has its own
    name: str = "cuda"
    index: int | None = None
    shares_host_memory: ClassVar[bool] = False

    def __post_init__(self):
        if not available():
            raise ResourceError(
                "no CUDA device can be used: CuPy or the driver is missing.\n"
                "    pip install craton[cuda13] (driver 580 or newer) or craton[cuda12], or run with --device cpu"
            )
        import cupy

        secure_cupy()  # CuPy reads the variable whenever it compiles
        self.cupy = cupy
        if self.index is not None:
            cupy.cuda.Device(self.index).use()

    @cached_property
    def stream(self):
        """The stream of all work."""
        return self.cupy.cuda.Stream(non_blocking=True)

    @cached_property
    def width(self):
        """Points side by side that keep it busy."""
        return 2048 * properties(self.cupy.cuda.Device().id)["multiProcessorCount"]

    def describe(self):
        """One line: the device and CuPy."""
        return f"{properties(self.cupy.cuda.Device().id)['name'].decode()}, CuPy {self.cupy.__version__}"

    def memory(self):
        """Free and total bytes; what earlier runs of this process gave back to CuPy's pool is free."""
        free, total = self.cupy.cuda.runtime.memGetInfo()
        return free + self.cupy.get_default_memory_pool().free_bytes(), total

    def commit(self, plan, fills=None, arrays=None):
        """Allocate, compile, bind: the plan as a Program.

        Of a rank, points that neighbours wait for are one graph, the rest another.
        """
        with self.stream:
            arrays, subdomain = allocate(plan, self.array, fills, arrays, self.target), plan.subdomain
            thick = max(plan.layout.reach, THICK) if subdomain.neighbours else plan.layout.reach
            cut = [regions(p.launches, subdomain, thick, ALONG_X) for p in plan.phases]

            def region(launches):
                if not self.graph:
                    return self.region(self.bind(launches, arrays, plan))
                groups = side_by_side(launches, plan)
                return self.captured([[self.bind([launch], arrays, plan) for launch in group] for group in groups])

            if self.graph and not subdomain.neighbours:
                step = [launch for _, inner in cut for launch in inner]
                stages = [Stage("step", self.region([]), region(step))]
            else:
                stages = [
                    Stage(p.name, region(outer), region(inner), self.shared(p, arrays, plan))
                    for p, (outer, inner) in zip(plan.phases, cut)
                ]
        return Program(plan, self, stages, arrays)

    def shared(self, phase, arrays, plan):
        """Return the exchange after a phase as lists of calls for the exchange's stream; None where
        there is nothing to exchange.
        """
        if not phase.messages:
            return None
        return Shared(phase.messages, self.bind(phase.packing, arrays, plan), self.bind(phase.unpacking, arrays, plan))

    def array(self, spec):
        """One array with its initial values; one that is on the device already is taken as it is."""
        if isinstance(spec.data, self.cupy.ndarray):
            return spec.data
        if spec.data is None:
            return self.cupy.zeros(spec.shape, spec.dtype)
        return self.cupy.asarray(spec.on_host())

    def target(self, array):
        """Return what takes host values for an array of the device."""
        return Filled(array, self.cupy)

    def separate(self, array):
        """Return a host copy of an array with `lanes`: here elements lie one after another."""
        return array

    def asarray(self, array):
        """Return a host array on this machine."""
        return self.cupy.asarray(array)

    def fill(self, array, values):
        """Overwrite the first rows of an array of this machine with host values."""
        array[: len(values)].set(np.ascontiguousarray(values, array.dtype), stream=self.stream)

    def to_host(self, array):
        """Return a copy, when the work before it is done."""
        with self.stream:
            return self.cupy.asnumpy(array, stream=self.stream, blocking=True)

    @property
    def xp(self):
        """Module of its arrays."""
        return self.cupy

    def work(self):
        """Context in which array expressions run on it."""
        return self.stream

    def rfft2(self, array):
        """Fourier transform of real numbers over the last two axes."""
        return self.cupy.fft.rfft2(array)

    def irfft2(self, array, shape):
        """Its inverse, real numbers of a shape; what it is given may be lost."""
        return self.cupy.fft.irfft2(array, s=shape)

    def copies(self):
        """Return copies to and from pinned memory, on a stream of their own."""
        return PinnedCopies(self)

    def extremes(self, array):
        """Least and greatest value, nan if any is."""
        with self.stream:
            low, high = self.cupy.amin(array), self.cupy.amax(array)
            return float(low), float(high)

    def finish(self):
        """Wait for all work."""
        self.stream.synchronize()

    def copy_bandwidth(self, nbytes=1 << 32, repeats=9):
        """Bytes per second, read plus written, of a large copy on the device: median of several."""
        cupy = self.cupy
        with self.stream:
            source = cupy.random.random(nbytes // 8)
            target = cupy.empty_like(source)
            seconds = [self.timed(lambda: cupy.copyto(target, source)) for _ in range(repeats + 2)]
        return 2 * source.nbytes / float(np.median(seconds[2:]))

    def timed(self, work):
        """Seconds that the device needs for some work."""
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record(self.stream)
        work()
        end.record(self.stream)
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(begin, end) / 1e3

    def kernel(self, op, precision, box=None):
        """Compiled function of an operator, and its geometry: threads and points of a block.

        A slab across x has the plain one.
        """
        variant = op.variant(".cu", precision) if self.variants else None
        if variant and box and box[5] - box[4] <= ALONG_X:
            variant = None
        chosen = op.as_variant(variant) if variant else op
        loaded = function(chosen.source(precision), op.function, self.cupy.cuda.Device().id)
        return loaded, (variant.block, variant.span) if variant else None

    def bind(self, launches, arrays, plan):
        """Return a list of calls, one per launch, or one per colour of its elements."""
        turns = (launch.cut(launch.colours.order) if launch.colours else [launch] for launch in launches)
        return [self.call(part, arrays, plan) for parts in turns for part in parts]

    def call(self, launch, arrays, plan):
        """One kernel with all its arguments."""
        function, geometry = self.kernel(launch.op, plan.precision, launch.box)
        stated = launch.op.block and (launch.op.block, launch.op.span or launch.op.block)
        block, span = geometry or stated or plain_geometry(launch.box)
        grid = blocks(launch.box, span, aligned=geometry is not None)
        # of each array, from the element that kernels count from
        pointers = [arrays[a].reshape(-1)[plan.arrays[a].first :] if a else np.uintp(0) for a in launch.arrays]
        box = BOX.value(plan.precision, **dict(zip((n for n, _ in BOX.fields), launch.box)))
        arguments = (*pointers, box, launch.op.params.value(plan.precision, **launch.params))
        return lambda: function(grid, block, arguments)

    def single(self, launch, program):
        """Return a function that runs one launch of a program by itself."""
        calls = self.bind([launch], program.arrays, program.plan)

        def run():
            with self.stream:
                for call in calls:
                    call()

        return run

    def region(self, calls):
        """Return a function of the step that launches the calls."""

        def run(step):
            with self.stream:
                for call in calls:
                    call()

        return Queued(run, calls)

    def captured(self, groups):
        """Return a function of the step that replays calls as one graph.

        Parameters
        ----------
        groups : list of list of list of callable
            One group after another; the lists of calls of a group side by side.
        """
        calls = [call for group in groups for branch in group for call in branch]
        if not calls:
            return self.region([])
        for_warmth = self.cupy.zeros(1)  # loads what CuPy loads lazily, before the capture
        del for_warmth
        self.stream.synchronize()
        self.stream.begin_capture()
        try:
            for group in groups:
                self.queue(group)
        finally:
            graph = self.stream.end_capture()

        def run(step):
            graph.launch(self.stream)

        return Queued(run, calls)

    def queue(self, branches):
        """Queue lists of calls side by side, the first on the stream of all work, which then waits for the others."""
        first, *others = branches
        begin = self.stream.record()
        for stream, branch in zip(self.side_streams(len(others)), others):
            stream.wait_event(begin)
            with stream:
                for call in branch:
                    call()
        with self.stream:
            for call in first:
                call()
        for stream in self.side_streams(len(others)):
            self.stream.wait_event(stream.record())

    def side_streams(self, count):
        """Return so many streams besides that of all work."""
        while len(self.sides) < count:
            self.sides.append(self.cupy.cuda.Stream(non_blocking=True))
        return self.sides[:count]

    @cached_property
    def sides(self):
        """Streams of what runs beside `stream`."""
        return []


class PinnedCopies:
    """Copies between a GPU and pinned memory on a stream of their own, beside the work of the machine; see `Machine.copies`."""

    def __init__(self, machine):
        self.machine, self.cupy = machine, machine.cupy
        self.stream = self.cupy.cuda.Stream(non_blocking=True)
        self.copied = {}

    def memory(self, shape, dtype):
        """Pinned memory of the host."""
        import cupyx

        return cupyx.empty_pinned(shape, dtype)

    def _after_work(self):
        """Let copies wait for the work that is queued."""
        event = self.machine.stream.record()
        self.stream.wait_event(event)

    def out(self, array, host, part):
        """Queue a copy to the host, behind the work so far."""
        self._after_work()
        with self.stream:
            array.get(out=host, stream=self.stream, blocking=False)
        self.copied[part] = self.stream.record()

    def into(self, array, host, part):
        """Queue a copy from the host, behind the work so far."""
        self._after_work()
        array.set(host, stream=self.stream)
        self.copied[part] = self.stream.record()

    def wait(self, part):
        """Let work wait for the last copy of a part of the ring."""
        if part in self.copied:
            self.machine.stream.wait_event(self.copied[part])


@dataclass(frozen=True)
class Queued:
    """A Region of a device.

    Parameters
    ----------
    run : callable
        Function of the step that queues everything.
    calls : list of callable
        The kernels that it queues, one by one: an exchange may put them into a graph of its own,
        and a graph needs their arguments alive.
    """

    run: Any
    calls: list

    def __call__(self, step):
        """Run the launches of a step."""
        return self.run(step)


class Filled:
    """An array of the device that takes host values part by part, each brought over once along axes
    where it only repeats.
    """

    def __init__(self, array, cupy):
        self.array, self.cupy, self.shape = array, cupy, array.shape

    def __getitem__(self, index):
        return Filled(self.array[index], self.cupy)

    def __setitem__(self, index, values):
        if isinstance(values, Filled):
            self.array[index] = values.array
        elif np.ndim(values):
            self.array[index] = self.cupy.asarray(np.ascontiguousarray(values, self.array.dtype))
        else:
            self.array[index] = values


def plain_geometry(box):
    """Threads of a block for a plain body, one point each: no wider along x and no longer along y
    than the box needs.
    """
    width, rows = 8, 1
    while width < min(box[5] - box[4], BLOCK[0]):
        width *= 2
    while rows < min(box[3] - box[2], BLOCK[1] * (BLOCK[0] // width)):
        rows *= 2
    block = (width, rows, BLOCK[0] * BLOCK[1] * BLOCK[2] // (width * rows))
    return block, block


def blocks(box, span, aligned):
    """Blocks along x, y, z that cover a box; a variant starts at a multiple of its values per thread along x."""
    k0, k1, j0, j1, i0, i1 = box
    start = i0 - i0 % MOST_PER_THREAD if aligned else i0
    return tuple(-(-(b - a) // s) for (a, b), s in zip(((start, i1), (j0, j1), (k0, k1)), span))


# --- launches that may run side by side -----------------------------------------------------------


def side_by_side(launches, plan):
    """Return launches in groups: those of a group follow one another and do not depend on each
    other, so that any order of them, or all at once, gives the same bits.

    Parameters
    ----------
    launches : list of Launch
        In the order of the step.
    plan : StepPlan
        Of the arrays.

    Returns
    -------
    list of list of Launch
    """
    groups: list[list] = []
    for launch in launches:
        if groups and not any(dependent(launch, other, plan) for other in groups[-1]):
            groups[-1].append(launch)
        else:
            groups.append([launch])
    return groups


def dependent(a, b, plan):
    """Return True where one of two launches writes what the other one touches."""
    return any(
        _meet(a, b, reach)
        for writer, other in ((a, b), (b, a))
        for name, reach in _touched(other)
        for written in writer.arrays[: len(writer.op.writes)]
        if written and _same_memory(name, written, plan.arrays)
    )


def _touched(launch):
    """Names of the arrays of a launch, and how far from its box it touches each."""
    count = len(launch.op.writes)
    return [(name, 0 if n < count else launch.op.reach) for n, name in enumerate(launch.arrays) if name]


def _same_memory(a, b, arrays):
    """Return True where two arrays share memory: parts of one array do where they overlap."""
    if a == b or b == arrays[a].part_of or a == arrays[b].part_of:
        return True
    first, second = arrays[a], arrays[b]
    if not first.part_of or first.part_of != second.part_of:
        return False
    ends = [part.start + math.prod(part.shape) for part in (first, second)]
    return first.start < ends[1] and second.start < ends[0]


def _meet(a, b, reach):
    """Return True where boxes overlap, one grown by some points; launches that are not bound to the
    points of their box always do.
    """
    if not (_local(a) and _local(b)):
        return True
    ends = zip(a.box[::2], a.box[1::2], b.box[::2], b.box[1::2])
    return all(a0 < b1 + reach and b0 < a1 + reach for a0, a1, b0, b1 in ends)


def _local(launch):
    """Return True where a launch writes the points of its box and reads no further than its reach."""
    return launch.on_grid and launch.op.pointwise
