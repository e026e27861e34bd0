"""Guards a run: against a wavefield that diverges or grows, and for signals and clocks, on which ranks must agree."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from craton.backends.base import Program
from craton.driver.job import Job
from craton.driver.march import Observer
from craton.errors import ComputationError, Interrupted

GUARD_EVERY = 50  # steps between looks at the wavefield, at most
# Ctrl-C, batch systems (SIGUSR1 by sbatch --signal), a terminal that closes
STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]
# s; ranks get signals from their launcher as well, which ends them itself at a second Ctrl-C
REPEAT, REPEAT_OF_RANKS = 0.3, 2.0
LISTEN = 1.0  # s between two times at which ranks tell each other whether to stop, about
# steps between looks, of runs of fewer points and of larger ones, where a look by one thread takes
# as long as a step by many
EVERY, SELDOM, LARGE = 200, 1000, 1 << 20
RISE = 10.0  # of energy: what water and rock, or motion and stress, exchange is less
# looks of a period, whose greatest energy counts, at least; and its part of the time since the
# sources ended: slow waves that stand have energy in motion twice in each of their periods
LOOKS, PART = 3, 0.25
# of the greatest energy of the run, in squares of the relative rounding error; and at least
ROUNDING, FLOOR = 100.0, 1e-8
CHUNK = {True: 1 << 16, False: 1 << 22}  # values that a machine squares at a time: in its cache


class Clock(Observer):
    """Counts the steps and takes the time of the first one, which may compile."""

    def __init__(self, job: Job):
        self.begun = self.done = job.begun
        self.start, self.processor, self.first = time.perf_counter(), time.process_time(), 0.0

    def due(self, step: int) -> bool:
        """Count a step; return True after the first one."""
        self.done = step
        return not self.first

    def see(self, step: int, program: Program) -> None:
        """Take the time when the machine has caught up."""
        program.backend.finish()
        self.first = time.perf_counter()

    @property
    def pace(self) -> float:
        """Seconds of a step since the first one."""
        return (time.perf_counter() - (self.first or self.start)) / max(self.done - self.begun - 1, 1)


class Report(NamedTuple):
    """What a rank tells the others when it looks."""

    trouble: str | None  # what is wrong with the wavefield
    signal: str  # name of the one that it has received, or empty
    energy: float
    pace: float  # s a step
    late: int | None  # number of the first of `timed` that is due by its clock


class Guard(Observer):
    """Looks at the wavefield of all ranks after some steps, and ends the run where it is not finite or beyond what the
    sources can have done, where its energy rises after they have ended, or where a rank was told to stop.

    What is due by a clock, `timed`, sees the program after these looks where the clock of rank 0 says so: the first one
    that is due. On one rank a signal ends the run after the step at hand.
    """

    def __init__(self, job: Job, program: Program, clock: Clock, stop: "Stop", timed: Sequence[Observer] = ()):
        self.comm, self.clock, self.stop, self.timed = job.comm, clock, stop, timed
        self.steps, self.looked, self.growth = program.plan.steps, job.begun, Growth(program, job.begun)
        # seconds until ranks talk again, or until clocks are asked
        self.patience = min([LISTEN if job.comm.size > 1 else np.inf, *(one.every / 20 for one in timed)])
        self.next = min(self.looked + (GUARD_EVERY if self.patience == np.inf else 2), self.steps)

    def due(self, step: int) -> bool:
        """Return True after some steps, after the last one, and on one rank after a signal."""
        return step >= self.next or (self.stop.name != "" and self.comm.size == 1)

    def see(self, step: int, program: Program) -> None:
        """Look; raise ComputationError or Interrupted on all ranks after the same step, with the place and the reason."""
        pace, has_energy = self.clock.pace, self.growth.due(step)
        reports = self.comm.gather(
            Report(
                trouble(program, step),
                self.stop.name,
                self.growth.energy() if has_energy else 0.0,
                pace,
                next((n for n, one in enumerate(self.timed) if one.due(step)), None),
            )
        )
        self.looked, first = step, reports[0]
        pause = max(1, int(min(GUARD_EVERY, self.patience / max(first.pace, 1e-9))))
        self.next = min(step + pause, self.steps)
        reason = next((report.trouble for report in reports if report.trouble), None)
        if has_energy and not reason and self.growth.grows(step, sum(report.energy for report in reports)):
            places = self.comm.gather(largest(program))
            reason = growing(program.plan, step, self.growth.since, max(places)[1])
        if reason:
            raise ComputationError(reason).on_all_ranks()
        told = next((report.signal for report in reports if report.signal), None)
        if told:
            raise Interrupted(f"stopped by {told} after step {step} of {self.steps}").on_all_ranks()
        if first.late is not None and step < self.steps:
            self.timed[first.late].see(step, program)


def trouble(program: Program, step: int) -> str | None:
    """Return what is wrong with the wavefield of this rank, in words."""
    plan = program.plan
    for name in plan.watched:
        # ghosts and padding too: one contiguous pass
        low, high = program.backend.extremes(program.arrays[name])
        if not max(-low, high) <= plan.limit * plan.scale:
            return explosion(program, name, step)
    return None


# the likely reason of both
REMEDY = "strong contrasts at an absorbing layer: try sponge there, or a thicker layer"


def explosion(program, name, step):
    """Describe where a field diverged."""
    plan = program.plan
    return (
        f"unstable at step {step} of {plan.steps} (t = {plan.start + step * plan.dt:.4g} s): "
        f"{place_of(program, name)[1]}.\n"
        f"    dt = {plan.dt:.4g} s: try a smaller time.step; {REMEDY}"
    )


def growing(plan, step, since, place):
    """Describe since when and where a wavefield has grown."""
    now, least, quiet = (f"{t:.4g}" for t in (*(plan.start + n * plan.dt for n in (step, since)), plan.quiet))
    return (
        f"unstable: the energy grows, tenfold from step {since} (t = {least} s) to step {step} of "
        f"{plan.steps} (t = {now} s), although the sources ended at {quiet} s; largest: {place}.\n"
        f"    {REMEDY}"
    )


def largest(program):
    """Return the largest absolute value of the watched fields of a rank, and where it is in words."""
    return max(place_of(program, name) for name in program.plan.watched)


def place_of(program, name):
    """Return the largest absolute value of a field, infinite where it is not finite, and in words
    its value and place.
    """
    plan = program.plan
    field = program.host(name) / np.float32(plan.scale)
    size = np.where(np.isfinite(field), np.abs(field), np.inf)
    at = np.unravel_index(np.argmax(size), field.shape)
    where, edge = plan.grid.place(at)
    place = "at an edge of the grid" if edge else "inside the grid"
    return float(size[at]), f"{name} = {field[at]:.3g} {plan.unit} at {where} m, {place}"


class Growth:
    """Looks at the kinetic energy of a rank's part of the wavefield.

    Parameters
    ----------
    program : Program
    begun : int
        Steps that were done before.

    Attributes
    ----------
    since : int
        Step at the end of the period of least energy, once there was one.
    """

    def __init__(self, program, begun=0):
        self.program, plan = program, program.plan
        steps = (plan.quiet - plan.start) / plan.dt
        self.first = max(int(np.ceil(min(steps, plan.steps))), begun)
        self.looking = self.first < plan.steps and 0 < plan.limit < np.inf
        self.every = EVERY if plan.totals.points < LARGE else SELDOM
        self.next, self.turn = begun + self.every, self.first + LOOKS * self.every
        self.least, self.since, self.level, self.greatest = np.inf, None, 0.0, 0.0
        held = [plan.arrays[name].dtype for name, _ in plan.kinetic if name in plan.arrays]
        eps = max((float(np.finfo(dtype).eps) for dtype in held), default=0.0)
        self.floor = max(ROUNDING * eps**2, FLOOR)

    def due(self, done):
        """Return whether it is time to look after so many steps; the same on all ranks."""
        return self.looking and done >= self.next

    def energy(self):
        """Return twice the kinetic energy of this rank, over the square of what has diverged and
        over the density where that does not matter.
        """
        plan, machine = self.program.plan, self.program.backend
        scale, chunk = 1 / (plan.limit * plan.scale), CHUNK[machine.shares_host_memory]
        with machine.work():
            return float(sum(squares(machine.xp, field, inverse, scale, chunk) for field, inverse in self.fields()))

    def fields(self):
        """Yield the fields of this rank that hold kinetic energy, on a grid without what surrounds
        its points, and their inverse masses.

        Between faces of A1 the edges around a grid grow, which nothing reads.
        """
        program, arrays = self.program, self.program.arrays
        for name, inverse in program.plan.kinetic:
            if name in arrays:
                yield (arrays[name], arrays[inverse]) if inverse else (program.grid(name), None)

    def grows(self, done, energy):
        """Return whether the energy of all ranks has risen beyond doubt since its least."""
        self.next, self.greatest = done + self.every, max(self.greatest, energy)
        if done <= self.first:
            return False
        if energy > max(RISE * self.least, self.floor * self.greatest):
            return True
        self.level = max(self.level, energy)
        if done >= self.turn:
            if self.level < self.least:
                self.least, self.since = self.level, done
            self.turn = done + max(LOOKS * self.every, int(PART * (done - self.first)))
            self.level = 0.0
        return False


def squares(xp, field, inverse, scale, chunk):
    """Sum of the squares of a field times `scale`, over an inverse mass where there is one.

    Parameters
    ----------
    xp : module
        numpy, or what stands for it on the machine.
    field : array
        Of any shape; with an inverse mass (points,) or (points, components).
    inverse : array or None
        (points,), 0 where there is no mass.
    scale : float
    chunk : int
        Values at a time.
    """
    dtype = xp.result_type(field.dtype, xp.float32)
    total = xp.zeros((), xp.float64)
    rows = max(1, chunk * len(field) // max(field.size, 1))
    for n in range(0, len(field), rows):
        part = field[n : n + rows].astype(dtype) * dtype.type(scale)
        if inverse is not None:
            here = inverse[n : n + rows].reshape(-1, *[1] * (field.ndim - 1))
            part = xp.where(here > 0, part / xp.sqrt(xp.where(here > 0, here, 1)), 0)
        total += (part * part).sum()
    return total


def under_nohup(number: int) -> bool:
    """Return True for the signal of a terminal that closes, where it is to be ignored."""
    return signal.Signals(number).name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN


@contextmanager
def handled(handler: Callable) -> Iterator[None]:
    """Inside, the signals of `STOPPING` call a handler; in another thread than the main one they are the caller's."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in STOPPING if is_main and not under_nohup(number)}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class Stop:
    """Handles signals that ask a run to stop: remembers the first one, whose `name` the guard looks at; a second one stops
    at once.

    Systems that end a job may send several signals to every process: what comes within `repeat` seconds of the first is
    the same request.
    """

    def __init__(self, repeat: float = REPEAT):
        self.name, self.first, self.repeat = "", 0.0, repeat

    def __call__(self, number: int, frame: object) -> None:
        """Remember the first signal; end this process at a second one."""
        if not self.name:
            self.first, self.name = time.monotonic(), signal.Signals(number).name
        elif time.monotonic() - self.first > self.repeat:
            raise KeyboardInterrupt
