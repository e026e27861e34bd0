"""What looks at the wavefield while it marches: drains the record, takes snapshots, guards against
explosion, reports progress.
"""

import signal
import time

import numpy as np

from craton.comm import agreed
from craton.comm.local import Alone
from craton.core.rolling import Rings
from craton.driver import records
from craton.driver.growth import Growth
from craton.driver.snapshots import Camera, Collected, tiling
from craton.errors import ComputationError, Interrupted

GUARD_EVERY = 50  # steps between looks at the wavefield, at most
# Ctrl-C, batch systems (SIGUSR1 by sbatch --signal), a terminal that closes
STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]
# s; ranks get signals from their launcher as well, which ends them itself at a second Ctrl-C
REPEAT, REPEAT_OF_RANKS = 0.3, 2.0
LISTEN = 1.0  # s between two times at which ranks tell each other whether to stop, about


class Recorder:
    """Sees a program after every step.

    Parameters
    ----------
    program : Program
    snapshots : object with put(name, time, arrays, copy), optional
        Takes the pictures of `plan.snapshots`.
    progress : callable, optional
        Called with the number of steps done whenever the machine has caught up.
    comm : Comm, optional
        Ranks that run together: all stop after the same step, and rank 0 has what all recorded.
    checkpoints : Checkpoints, optional
        Where the state is kept.
    begun : int
        Steps that were done before.
    before : ndarray, optional
        Samples of these steps, (begun, channels), on rank 0.
    waveforms : craton.driver.records.Waveforms, optional
        On rank 0 of a run with a folder: where samples wait, and how they are written.
    tapes : craton.driver.recordings.Tapes, optional
        Take the recordings for other runs.
    pictures : callable, optional
        ``pictures(series)`` gives the function that makes a picture of a `SnapshotSeries` from a
        dict of host arrays (`craton.methods.protocol.Method.picture_maker`).
    chunks : dict of str to dict, optional
        Of a run that goes on, chunks of the series in the store: points along each axis.
    """

    def __init__(
        self,
        program,
        snapshots=None,
        progress=None,
        comm=None,
        checkpoints=None,
        begun=0,
        before=None,
        pictures=None,
        chunks=None,
        waveforms=None,
        tapes=None,
    ):
        self.tapes, self.rings = tapes, Rings(program, begun)
        self.growth = Growth(program, begun)
        self.program, self.plan, self.snapshots, self.progress = (program, program.plan, snapshots, progress)
        self.comm, self.gathering, self.pictures = comm or Alone(), self.plan.gathering, pictures
        columns = len(self.plan.channels) if self.comm.rank == 0 else 0
        space = waveforms.space if waveforms else np.empty
        self.samples = space((self.plan.steps, columns), self.plan.precision)
        self.checkpoints, self.chunks, self.waveforms = checkpoints, chunks, waveforms
        self.begun = self.done = self.drained = self.guarded = begun
        if before is not None:
            self.samples[:begun] = before
        self.pause = GUARD_EVERY if self.patience == np.inf else 2
        self.stopped = None
        self.clock = {"start": time.perf_counter(), "processor": time.process_time()}
        self.schedule = {}
        for number, series in enumerate(self.plan.snapshots if snapshots else ()):
            camera = self.camera(series, number)
            for step, time_of_picture in zip(series.steps, series.times):
                self.schedule.setdefault(int(step), []).append((series, camera, float(time_of_picture)))

    def camera(self, series, number):
        """Return what takes the pictures of a series: a function that gives a picture, and the
        region of the series that it is.
        """
        if not series.lattice or self.comm.size == 1:
            return Collected(self.program, self.comm, series, self.pictures(series)).take, None
        chunk = (self.chunks or {}).get(series.name)
        tiles = tiling(series, self.plan.partition, chunk=chunk)
        region = tiles.region(self.comm.rank)
        camera = Camera(self.program, self.comm, number, tiles, self.pictures)
        return camera.take, tuple(slice(*limits) for limits in (region or {}).values())

    def sample(self, step):
        """Look at the state after `step`."""
        self.done = step + 1
        self.comm.pulse.rest(self.done)
        for series, camera, time_of_picture in self.schedule.get(step, ()):
            self.take(series, camera, time_of_picture)
        if self.done == self.begun + 1:
            self.program.backend.finish()
            self.clock["first step"] = time.perf_counter()
        self.rings.fill(self.done)
        if self.tapes:
            self.tapes.sample(self.done)
        if self.done - self.drained == self.plan.slots or self.done == self.plan.steps:
            self.drain()
        if self.done - self.guarded >= self.pause or self.done == self.plan.steps:
            self.guard()
            if self.progress:
                self.progress(self.done)
        if self.stopped and self.comm.size == 1:
            raise Interrupted(self.interruption(self.stopped))
        self.comm.pulse.work()

    def drain(self):
        """Fetch the record of the steps since the last time."""
        if self.plan.channels and self.done > self.drained:
            steps = slice(self.drained, self.done)
            block = np.empty((self.done - self.drained, 0), self.plan.precision)
            if "record" in self.program.arrays:
                block = self.program.host("record")[np.arange(self.drained, self.done) % self.plan.slots]
            blocks = self.comm.collect(block)
            if blocks:
                self.samples[steps] = (
                    self.gathering.join_columns(blocks, self.program.backend) if self.gathering else blocks[0]
                )
        self.drained = self.done

    def take(self, series, camera, time_of_picture):
        """Hand the writer a picture, or its part that this rank makes."""
        picture, region = camera
        values = picture()
        named = None if values is None else {series.quantity: values}
        self.snapshots.put(series.name, time_of_picture, named, copy=False, region=region)

    def guard(self):
        """Stop where the wavefield is not finite or beyond what the sources can have done, where
        its energy rises after they have ended, or where a rank was told to.

        Raises
        ------
        ComputationError, Interrupted
            On all ranks after the same step; with the place and the likely reason.
        """
        pace = (time.perf_counter() - self.clock.get("first step", self.clock["start"])) / max(
            self.done - self.begun - 1, 1
        )
        due = bool(self.checkpoints and self.checkpoints.due())
        late = bool(self.waveforms and self.plan.channels and self.waveforms.due())
        looked = self.growth.due(self.done)
        energy = self.growth.energy() if looked else 0.0
        told = self.comm.gather((self.trouble(), self.stopped, pace, due, late, energy))
        self.guarded = self.done
        self.pause = max(1, int(min(GUARD_EVERY, self.patience / max(told[0][2], 1e-9))))
        trouble = next((text for text, *_ in told if text), None)
        if looked and not trouble and self.growth.grows(self.done, sum(one[-1] for one in told)):
            places = self.comm.gather(largest(self.program))
            trouble = growing(self.plan, self.done, self.growth.since, max(places)[1])
        signal_name = next((name for _, name, *_ in told if name), None)
        if trouble or (signal_name and self.comm.size > 1):
            error = ComputationError(trouble) if trouble else Interrupted(self.interruption(signal_name))
            if self.comm.size > 1:
                error.agreed = error.exit_code
            raise error
        if told[0][3] and self.done < self.plan.steps:
            self.keep()
        elif told[0][4] and self.done < self.plan.steps:
            self.write_waveforms()

    def keep(self):
        """Write a checkpoint, where there is a place for it; all ranks after the same step."""
        self.drain()
        if self.tapes:
            self.tapes.drain(self.done)
        if self.checkpoints:
            self.checkpoints.save(self.done, self.recorded)

    def write_waveforms(self):
        """Write the waveforms so far; all ranks after the same step."""
        self.drain()
        with agreed(self.comm):
            if self.waveforms:
                self.waveforms.write(self.recorded)

    @property
    def patience(self):
        """Seconds until ranks talk again, or until it is looked whether a checkpoint or the writing
        of waveforms is due.
        """
        if not self.checkpoints:
            return LISTEN if self.comm.size > 1 else np.inf
        every = min(self.checkpoints.every or np.inf, records.INTERVAL)
        return min(LISTEN if self.comm.size > 1 else np.inf, every / 20)

    def trouble(self):
        """Return what is wrong with the wavefield, in words, or None."""
        for name in self.plan.watched:
            # ghosts and padding too: one contiguous pass
            low, high = self.program.backend.extremes(self.program.arrays[name])
            if not max(-low, high) <= self.plan.limit * self.plan.scale:
                return explosion(self.program, name, self.done)
        return None

    def interruption(self, name):
        """Return what a signal did, in words."""
        return f"stopped by {name} after step {self.done} of {self.plan.steps}"

    @property
    def recorded(self):
        """Samples of the steps done: (steps, channels); on ranks other than 0 without channels."""
        return self.samples[: self.drained]


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


def under_nohup(number):
    """Return True for the signal of a terminal that closes, where it is to be ignored."""
    return signal.Signals(number).name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN


class Signals:
    """While inside, Ctrl-C and the signals of `STOPPING` let the step at hand end and the recorder
    stop the run; a second one stops at once.

    Systems that end a job may send several signals to every process: what comes within `repeat`
    seconds of the first is the same request.
    """

    def __init__(self, recorder):
        self.recorder, self.first = recorder, 0.0
        self.repeat = REPEAT_OF_RANKS if recorder.comm.size > 1 else REPEAT

    def __enter__(self):
        self.before = {}
        for number in STOPPING:
            try:
                if not under_nohup(number):
                    self.before[number] = signal.signal(number, self.note)
            except ValueError:  # not the main thread: the caller's business
                break

    def note(self, number, frame):
        """Remember the signal; the recorder acts on it."""
        if not self.recorder.stopped:
            self.first, self.recorder.stopped = time.monotonic(), signal.Signals(number).name
        elif time.monotonic() - self.first > self.repeat:
            raise KeyboardInterrupt

    def __exit__(self, *exception):
        for number, handler in self.before.items():
            signal.signal(number, handler)
