"""Rows that the machine samples at every step: fetched before their ring is full, and written as the run goes on."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from craton.backends.base import Program
from craton.comm import Comm, agreed
from craton.core import plan as plan_limits
from craton.driver.job import Job
from craton.driver.march import Observer
from craton.driver.result import Result
from craton.errors import ResourceError
from craton.output.arrays import open_dataset

INTERVAL = 30.0  # s between two times at which waveforms are written
COST = 20  # the interval is at least that many times what the last writing took


@dataclass
class Drain(Observer):
    """Fetches the rows of a ring (slots, columns) of all ranks; `write(first, rows)` takes them on rank 0.

    `source` says its slots and precision, and how the columns of the ranks are joined: a plan, or a
    `craton.core.snapshots.Recording`. `fetched` counts the rows that were fetched, `steps` all that there will be.
    """

    array: str
    source: Any
    comm: Comm
    steps: int
    fetched: int
    write: Callable[[int, np.ndarray], None]

    def __post_init__(self):
        self.next = min(self.fetched + self.source.slots, self.steps)

    def due(self, step: int) -> bool:
        """Return True where the ring is full, and after the last step."""
        return step >= self.next

    def see(self, step: int, program: Program) -> None:
        """Fetch all rows up to a step; all ranks must call it after the same step."""
        first, source = self.fetched, self.source
        if step == first:
            return
        rows = np.empty((step - first, 0), source.precision)
        if self.array in program.arrays:
            rows = program.host(self.array)[np.arange(first, step) % source.slots]
        blocks = self.comm.collect(rows)
        if blocks:
            joined = source.gathering.join_columns(blocks, program.backend) if source.gathering else blocks[0]
            self.write(first, joined)
        self.fetched, self.next = step, min(step + source.slots, self.steps)


class Record(Drain):
    """Samples of all channels, (steps, channels) on rank 0, (steps, 0) on the others."""

    def __init__(self, job: Job, program: Program):
        plan = program.plan
        super().__init__("record", plan, job.comm, plan.steps, job.begun, self.put)
        columns = len(plan.channels) if job.comm.rank == 0 else 0
        self.channels, self.samples = len(plan.channels), space(job.out, (plan.steps, columns), plan.precision)
        self.next = self.next if self.channels else plan.steps + 1
        if columns and job.saved:
            self.samples[: job.begun] = job.saved.record

    def see(self, step: int, program: Program) -> None:
        """Fetch the samples up to a step; all ranks must call it after the same step."""
        if self.channels:
            super().see(step, program)

    def put(self, first: int, rows: np.ndarray) -> None:
        """Take the samples of some steps."""
        self.samples[first : first + len(rows)] = rows


def space(out: Path | str | None, shape: tuple[int, int], dtype: str) -> np.ndarray:
    """Return an array for samples: in memory; a large one of a run with a folder in a file there that has no name and is
    gone when the process ends.
    """
    nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if out is None or nbytes <= plan_limits.RECORD_IN_MEMORY:
        return np.empty(shape, dtype)
    try:
        with tempfile.TemporaryFile(dir=out) as file:
            # a hole would end the process (SIGBUS) where the disk fills up later
            reserve = getattr(os, "posix_fallocate", lambda fd, at, n: os.truncate(fd, n))
            reserve(file.fileno(), 0, nbytes)
            return np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:
        reason = error.strerror or error
        raise ResourceError(f"the record needs {nbytes / 2**30:.1f} GiB in {out}: {reason}") from error


def recordings(job: Job, program: Program, path: Path) -> list[Drain]:
    """Return what writes the recordings for other runs into a store, OUT/result.zarr."""
    from craton.output.recordings import RecordingWriter

    plan, writer = program.plan, RecordingWriter(path)
    for recording in plan.recordings if job.comm.rank == 0 else ():
        writer.declare(recording, again=job.begun > 0)
    return [
        Drain(one.array, one, job.comm, plan.steps, job.begun, partial(writer.write, one.name))
        for one in plan.recordings
    ]


class Waveforms(Observer):
    """Writes the waveforms now and then, by the clock of rank 0, which alone has a store."""

    every = INTERVAL

    def __init__(self, job: Job, record: Record, store: Any):
        self.job, self.record, self.store = job, record, store
        self.written, self.spent = time.perf_counter(), 0.0

    def due(self, step: int) -> bool:
        """Return True where the time for another writing has come."""
        waited = time.perf_counter() - self.written
        return self.record.channels > 0 and waited >= max(INTERVAL, COST * self.spent)

    def see(self, step: int, program: Program) -> None:
        """Write what was recorded up to a step; all ranks must call it after the same step."""
        self.record.see(step, program)
        with agreed(self.job.comm):
            self.write(step)

    def write(self, step: int) -> None:
        """Write what was fetched up to a step, where this is rank 0."""
        if self.store is None:
            return
        begin, about = time.perf_counter(), {"device": self.job.machine.describe()}
        samples = self.record.samples[:step]
        write_records(Result(self.job.scenario, self.job.plan, samples, about, self.store.path), self.store)
        self.written = time.perf_counter()
        self.spent = self.written - begin


# --- records in the store, receivers in blocks: memory does not grow with their number ------------


def write_records(result, store):
    """Write waveforms and fibres to the store."""
    from craton.output.dataset import TimeAxis

    plan = result.plan
    samples = len(TimeAxis.of(plan, result.scenario.output).times)
    if plan.receivers.fibres is not None and len(result.samples):
        store.write_fibres(of_fibres(result).fibres, samples)
    if len(plan.receivers) and len(result.samples):
        store.write_waveforms((part.dataset for part in blocks(result, samples)), samples)


def of_fibres(result):
    """Return a result with the channels of fibres only, where it has others in blocks."""
    if result.samples.nbytes <= plan_limits.RECORD_BLOCK:
        return result
    fibres = [n for n, channel in enumerate(result.plan.channels) if channel.terms]
    return result.part(result.plan.receivers, fibres)


def blocks(result, samples=0):
    """Yield results of some receivers each, which together are the whole one: itself where it is
    small, or has several shots.

    Parameters
    ----------
    result : Result
    samples : int, optional
        Times that are written; where they or the quantities are more than were recorded, blocks are
        smaller.
    """
    receivers, channels = result.plan.receivers, result.plan.channels
    recorded = len({channel.quantity for channel in channels})
    steps, written = max(len(result.samples), 1), len(result.scenario.output.waveforms)
    wider = max(1.0, samples / steps) * max(1.0, written / max(recorded, 1))
    per_receiver = int(wider * result.samples.nbytes) // max(len(receivers), 1)
    count = max(1, plan_limits.RECORD_BLOCK // max(per_receiver, 1))
    if count >= len(receivers) or result.plan.shots:
        yield result
        return
    block = np.array([-1 if channel.terms else channel.receiver // count for channel in channels])
    for n, first in enumerate(range(0, len(receivers), count)):
        named = receivers.part(slice(first, first + count))
        yield result.part(named, np.flatnonzero(block == n), first)


def opened(result, store):
    """Return the waveforms as a dataset: that of a small result, else the one in the store, whose
    values are read when they are used.

    Parameters
    ----------
    result : Result
    store : Store
    """
    if result.samples.nbytes <= plan_limits.RECORD_BLOCK:
        return result.dataset
    return open_dataset(store.zarr)
