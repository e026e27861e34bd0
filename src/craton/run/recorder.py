"""What looks at the wavefield while it marches: drains the record, takes snapshots, guards against explosion, reports progress."""
import signal
import time

import numpy as np

from craton.errors import ComputationError, Interrupted

GUARD_EVERY = 50  # steps between looks at the wavefield


class Recorder:
    """Sees a program after every step.

    Parameters
    ----------
    program : Program
    snapshots : object with put(name, time, arrays, copy), optional
        Takes the pictures of `plan.frames`.
    progress : callable, optional
        Called with the number of steps done whenever the machine has caught up.
    """

    def __init__(self, program, snapshots=None, progress=None):
        self.program, self.plan, self.snapshots, self.progress = program, program.plan, snapshots, progress
        self.samples = np.empty((self.plan.steps, len(self.plan.channels)), self.plan.precision)
        self.done = self.drained = 0
        self.stopped = None
        self.clock = {"start": time.perf_counter()}
        self.frames = {}
        for f in self.plan.frames if snapshots else ():
            for step, at in zip(f.steps, f.times):
                self.frames.setdefault(int(step), []).append((f, float(at)))

    def sample(self, step):
        """Look at the state after `step`."""
        self.done = step + 1
        for frames, at in self.frames.get(step, ()):
            self.take(frames, at)
        if self.done == 1:
            self.program.backend.finish()
            self.clock["first step"] = time.perf_counter()
        if self.done - self.drained == self.plan.slots or self.done == self.plan.steps:
            self.drain()
        if self.done % GUARD_EVERY == 0 or self.done == self.plan.steps:
            self.guard()
            if self.progress:
                self.progress(self.done)
        if self.stopped:
            raise Interrupted(f"stopped by {self.stopped} after step {self.done} of {self.plan.steps}")

    def drain(self):
        """Fetch the record of the steps since the last time."""
        if self.plan.channels and self.done > self.drained:
            ring = self.program.host("record")
            slots = np.arange(self.drained, self.done) % self.plan.slots
            self.samples[self.drained : self.done] = ring[slots]
        self.drained = self.done

    def take(self, frames, at):
        """Hand the fields that a picture needs to the writer, which makes the picture."""
        arrays = {name: self.program.host(name, index) for name, index in frames.reads.items()}
        self.snapshots.put(frames.name, at, {frames.quantity: frames.combine(arrays)}, copy=False)

    def guard(self):
        """Stop where the wavefield is not finite or beyond what the sources can have done.

        Raises
        ------
        ComputationError
            With the step, the place and the likely reason.
        """
        for name in self.plan.watched:
            low, high = self.program.backend.extremes(self.program.arrays[name])  # ghosts and padding too: one contiguous pass
            if not max(-low, high) <= self.plan.limit:
                raise ComputationError(explosion(self.program, name, self.done))

    @property
    def recorded(self):
        """Samples of the steps done: (steps, channels)."""
        return self.samples[: self.drained]


def explosion(program, name, step):
    """Where a field exploded, in words."""
    plan = program.plan
    field = program.host(name)
    at = np.unravel_index(np.argmax(np.where(np.isfinite(field), np.abs(field), np.inf)), field.shape)
    there = [(a, n, total) for a, n, total in zip("xyz", reversed(at), reversed(field.shape)) if a != "y" or not plan.grid.planar]
    where = ", ".join(f"{axis} = {plan.grid.axis(axis)[n]:g}" for axis, n, _ in there)
    edge = [min(n, total - 1 - n) for _, n, total in there]
    place = "at an edge of the grid" if min(edge) < 12 else "inside the grid"
    return (f"unstable at step {step} of {plan.steps} (t = {plan.start + step * plan.dt:.4g} s): {name} = {field[at]:.3g} m/s at "
            f"{where} m, {place}.\n"
            f"    dt = {plan.dt:.4g} s: try a smaller time.step; "
            "strong contrasts at an absorbing layer: try sponge there, or a thicker layer")  # fmt: skip


class Signals:
    """While inside, SIGTERM and Ctrl-C let the step at hand end and the recorder stop the run; a second Ctrl-C stops at once."""

    def __init__(self, recorder):
        self.recorder = recorder

    def __enter__(self):
        self.before = {}
        for one in (signal.SIGTERM, signal.SIGINT):
            try:
                self.before[one] = signal.signal(one, self.note)
            except ValueError:  # not the main thread: the caller's business
                break

    def note(self, number, frame):
        """Remember the signal; the recorder acts on it."""
        if self.recorder.stopped:
            raise KeyboardInterrupt
        self.recorder.stopped = signal.Signals(number).name

    def __exit__(self, *exception):
        for one, handler in self.before.items():
            signal.signal(one, handler)
