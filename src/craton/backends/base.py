"""What every machine offers: commit a plan, run its phases, show its arrays. A backend is one file
beside this one.

`Machine` is the contract between a backend and the rest of craton: nothing outside `backends/` asks
a machine for more, apart from the exchange between GPUs, which needs a `DeviceMachine`. Of a plan,
a machine reads what `craton.core.plan.StepPlan` has. docs/developer/add_a_backend.md shows how to
write one.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from craton.core.plan import StepPlan


class Machine(Protocol):
    """A machine that runs plans.

    All arrays that a machine returns or takes are its own, unless a verb says "host array"
    (numpy.ndarray). Work may be queued: it is done after `finish`, or when its values are asked for
    (`to_host`, `extremes`).

    Parameters
    ----------
    name : str
        Its row in `craton.backends.BACKENDS`.
    threads : int or None
        Threads of the host that it uses; None where they are not its concern.
    shares_host_memory : bool
        True where its arrays lie in the memory of the host: all ranks of a computer then share that
        memory, arrays can be given to MPI as they are, and large temporary arrays should be cut
        into slabs that fit a cache. False where the machine has memory of its own, as a GPU.
    width : int
        Points or elements side by side that keep it busy: sums over sources are cut into pieces of
        at least this. It must not depend on the number of threads, so that sums do not.
    """

    name: str
    threads: int | None
    shares_host_memory: ClassVar[bool]

    @property
    def width(self) -> int:
        """Points or elements side by side that keep it busy."""
        raise NotImplementedError

    @property
    def xp(self) -> Any:
        """Module with the array functions of NumPy for arrays of this machine: numpy or cupy."""

    def describe(self) -> str:
        """One line for people: the device, its threads or its driver."""

    def memory(self) -> tuple[int, int]:
        """Free and total bytes of the memory in which its arrays lie."""

    def commit(self, plan: StepPlan, fills=None, arrays=None) -> "Program":
        """Allocate, compile and bind a plan.

        Parameters
        ----------
        plan : StepPlan
        fills : dict of str to callable, optional
            Fills the arrays of the plan that are `filled`, all those of a block at once:
            ``fills[block](arrays, box)`` writes the values of a box of the whole grid into zeroed
            arrays, given by name, part by part. An array that stands alone is a block of its own.
        arrays : dict of str to array, optional
            Arrays of an earlier program on this machine that have the values which the plan asks
            for: they are neither allocated nor filled again.

        Returns
        -------
        Program

        Raises
        ------
        MemoryError
            The arrays do not fit.
        KeyError
            Nothing fills an array that is to be filled.
        ResourceError
            There is no compiler, or it fails.
        """

    def single(self, launch, program) -> Callable[[], None]:
        """Return a function without arguments that runs one launch by itself: for benchmarks, and
        for operators applied by builders.

        Parameters
        ----------
        launch : Launch
        program : Program
            Whose arrays it works on; only its `plan` and `arrays` are read.
        """

    def separate(self, array) -> Any:
        """Return a host copy of an array whose Array has `lanes`, its elements one after another
        whatever the machine interleaves.

        Parameters
        ----------
        array : ndarray
            Host copy of the array as the machine keeps it.
        """

    def asarray(self, array) -> Any:
        """Return an array of this machine with the values of a host array; may be the same memory.

        Parameters
        ----------
        array : array_like
            On the host.
        """

    def fill(self, array, values) -> None:
        """Overwrite the first rows of an array.

        Parameters
        ----------
        array : array of this machine
        values : ndarray
            Host array with at most as many rows.
        """

    def to_host(self, array) -> np.ndarray:
        """Return a copy on the host, when the work queued before it is done.

        Parameters
        ----------
        array : array of this machine
        """

    def work(self) -> AbstractContextManager:
        """Context in which expressions of `xp` run in order with the launches."""

    def rfft2(self, array) -> Any:
        """Discrete Fourier transform of real numbers over the last two axes, not scaled, as
        `numpy.fft.rfft2`.

        Parameters
        ----------
        array : array of this machine, shape (..., ny, nx)
        """

    def irfft2(self, array, shape) -> Any:
        """Inverse of `rfft2`; the argument may be overwritten.

        Parameters
        ----------
        array : array of this machine, shape (..., ny, nx // 2 + 1)
        shape : tuple of int
            (ny, nx) of the result.
        """

    def copies(self) -> Any:
        """Return what copies between its arrays and the host's memory beside its work: `memory`, `out`, `into`, `wait` and
        `done`. A copy belongs to a part, a number of the caller's; `wait` lets work wait for the last copy of one.
        """

    def extremes(self, array) -> tuple[float, float]:
        """Least and greatest value of an array; nan if any value is nan.

        Parameters
        ----------
        array : array of this machine
        """

    def finish(self) -> None:
        """Wait until all queued work is done."""

    def copy_bandwidth(self, nbytes=..., repeats=...) -> float:
        """Bytes per second, read plus written, of a large copy in its memory: the figure that
        speeds are compared with.

        Parameters
        ----------
        nbytes : int
            Size of the copied array.
        repeats : int
            Number of copies that are timed.
        """

    def timed(self, work) -> float:
        """Seconds that the machine needs for `work()`.

        Parameters
        ----------
        work : callable
            Without arguments; queues or does the work.
        """


class DeviceMachine(Machine, Protocol):
    """A machine with memory of its own (`shares_host_memory` False): what `craton.comm.halos`
    needs to exchange on a second stream.

    Parameters
    ----------
    cupy : module
        CuPy, or a module with its streams, events and pinned memory.
    """

    cupy: Any

    @property
    def stream(self) -> Any:
        """The stream on which all its work is queued."""

    def region(self, calls) -> "Region":
        """Return launches as a region that queues them one by one.

        Parameters
        ----------
        calls : list of callable
            Functions without arguments, each of which queues a kernel on the current stream.
        """


class Region(Protocol):
    """Part of a phase that is run at once: a function of the step.

    A device's region also lists the `calls` that it makes.
    """

    def __call__(self, step: int) -> Any:
        """Run the launches of a step."""


@dataclass(frozen=True)
class Shared:
    """What neighbours exchange after a phase.

    Parameters
    ----------
    messages : tuple of Message
    pack, unpack : callable or list of callable
        What fills and empties the buffers of the messages, in the form in which the exchange of the
        machine takes it: functions of the step in host memory (`comm.halos.OnHost`), lists of calls
        for a stream of their own on a device (`OnDevice`).
    """

    messages: tuple
    pack: Any
    unpack: Any


@dataclass(frozen=True)
class Stage:
    """One phase on a machine.

    Parameters
    ----------
    name : str
    outer, inner : Region
        The points or elements that neighbours wait for, and the rest.
    shared : Shared or None
        What is exchanged between the two.
    """

    name: str
    outer: Region
    inner: Region
    shared: Shared | None = None


@dataclass
class Program:
    """A plan on a machine: what the time loop runs.

    Parameters
    ----------
    plan : StepPlan
    backend : Machine
    phases : list of Stage
        One time step, in order.
    arrays : dict
        The plan's arrays on the machine, padding included.
    seconds : float
        Time that the commit took.
    rolling : dict of str to Rolling
        Series whose rings are filled as the run goes.
    exchange : Exchange or None
        Passes what ranks share between phases (`craton.comm.halos.connect`); None on one rank.
    """

    plan: StepPlan
    backend: Machine
    phases: list
    arrays: dict
    seconds: float = 0.0
    rolling: dict = field(default_factory=dict)
    exchange: Any = None

    def step(self, number: int) -> None:
        """Run one time step, or one pass of a plan that has no time. Ranks exchange what they share while the points
        that no neighbour waits for are computed.
        """
        for phase in self.phases:
            phase.outer(number)
            if self.exchange is not None:
                self.exchange.start(phase.shared)
            phase.inner(number)
            if self.exchange is not None:
                self.exchange.finish(phase.shared)

    def grid(self, name):
        """Return the grid's points of a field, as an array of the machine.

        Parameters
        ----------
        name : str
            Of an array with a `window`.
        """
        return self.arrays[name][self.plan.arrays[name].window]

    def host(self, name, index=...):
        """Return a copy on the host of part of an array; of a field, its grid's points.

        Parameters
        ----------
        name : str
        index : index expression
            Which part, counted in the grid's points of a field, in elements of an array with
            `lanes`.
        """
        spec = self.plan.arrays[name]
        if spec.lanes:
            return self.backend.separate(self.backend.to_host(self.arrays[name]))[index]
        array = self.grid(name) if spec.window else self.arrays[name]
        return self.backend.to_host(array[index])


def allocate(plan, array, fills=None, ready=None, target=lambda values: values):
    """Return the arrays of a plan on a machine by name; parts of others are views.

    `array(spec)` makes one with its initial values; `fills` and `ready`, arrays that have their values, are the `fills` and
    `arrays` of `Machine.commit`; `target(array)` takes host values for an array of the machine.
    """
    ready, arrays = ready or {}, {}
    for name, spec in plan.arrays.items():
        if not spec.part_of:
            arrays[name] = ready[name] if name in ready else array(spec)
    blocks: dict[str, dict] = {}
    for name, spec in plan.arrays.items():
        if spec.part_of:
            size = int(np.prod(spec.shape, dtype=np.int64))
            arrays[name] = arrays[spec.part_of].reshape(-1)[spec.start : spec.start + size].reshape(spec.shape)
        block = spec.part_of or name
        if spec.filled and block not in ready:
            blocks.setdefault(block, {})[name] = target(arrays[name])
    for block, filled in blocks.items():
        if block not in (fills or {}):
            raise KeyError(", ".join(filled))
        fills[block](filled, plan.subdomain.box)
    return arrays


def aligned(shape, dtype, alignment=128):
    """Return an uninitialised host array whose data start on an aligned address.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy dtype
    alignment : int
        Bytes.
    """
    dtype = np.dtype(dtype)
    raw = np.empty(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + raw.size - alignment].view(dtype).reshape(shape)


def interleaved(array, lanes):
    """Elements (n, ...) side by side: (n / lanes, ..., lanes).

    Parameters
    ----------
    array : ndarray, shape (n, ...)
    lanes : int

    Raises
    ------
    ValueError
        n is no multiple of `lanes`.
    """
    if len(array) % lanes:
        raise ValueError(
            f"{len(array)} elements are no multiple of {lanes}: fill up with elements that add nothing to the dummy point"
        )
    return np.moveaxis(array.reshape(-1, lanes, *array.shape[1:]), 1, -1)


def separate(array):
    """Undo `interleaved`.

    Parameters
    ----------
    array : ndarray, shape (n / lanes, ..., lanes)

    Returns
    -------
    ndarray, shape (n, ...)
    """
    return np.ascontiguousarray(np.moveaxis(array, -1, 1)).reshape(-1, *array.shape[1:-1])


def as_lanes(array, shape, lanes):
    """Return elements as another machine has them: side by side, or one after another.

    Parameters
    ----------
    array : ndarray
    shape : tuple of int
        Of the array of that machine.
    lanes : int
    """
    if array.shape == tuple(shape):
        return array
    apart = separate(array) if array.ndim > 2 and array.shape[-1] == lanes else array
    if apart.shape == tuple(shape):
        return apart
    return interleaved(apart, lanes) if len(apart) % lanes == 0 else array
