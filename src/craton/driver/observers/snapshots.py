"""Snapshots: which rank makes which part of a picture, what the others have of it, and when it is taken."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np

from craton.backends.base import Program
from craton.comm import Comm, agreed, broadcast
from craton.core.grid import rounded
from craton.core.subdomain import clip
from craton.driver.job import Job
from craton.driver.march import Observer
from craton.methods import METHODS

TAG = 1 << 10  # above those of halos
CHUNK_BYTES = 16 << 20


@dataclass(frozen=True)
class Tiling:
    """One series of pictures cut into tiles of one size, whole chunks of a store each: one for every rank of the
    partition that has a part. `tile` and `chunk` are points of the picture along each of its axes.
    """

    series: Any
    partition: Any
    tile: dict
    chunk: dict

    def region(self, rank):
        """First and last + 1 point of the picture along each of its axes that a rank makes; None
        where it makes none.
        """
        subdomain, out = self.partition[rank], {}
        for n, axis in enumerate("zyx"):
            where = self.series.lattice.get(axis)
            if isinstance(where, int):
                low, high = subdomain.range(axis)
                if not low <= where < high:
                    return None
            elif where is not None:
                first = subdomain.place[n] * self.tile[axis]
                out[axis] = (first, min(first + self.tile[axis], len(range(*where))))
                if first >= out[axis][1]:
                    return None
        return out

    def share(self, rank):
        """Return the series of the part that a rank makes, or None."""
        region = self.region(rank)
        if region is None:
            return None
        ranges = {}
        for axis, (a, b) in region.items():
            _, n, stride = self.series.lattice[axis]
            ranges[axis] = (a * stride, min(b * stride, n))
        return self.series.within(ranges)

    def need(self, rank):
        """Box of points of the grid that a rank needs for its part, or None."""
        share = self.share(rank)
        return share and box_of(next(iter(share.reads.values())))


def tiling(series: Any, partition: Any, chunk: dict[str, int] | None = None) -> Tiling:
    """Return the Tiling of a series: tiles as even as whole chunks allow; `chunk` says the points of a chunk along each
    axis in a store that other ranks have laid out.
    """
    axes = {axis: len(range(*where)) for axis, where in series.lattice.items() if not isinstance(where, int)}
    tile = {axis: ceil(n / partition[0].ranks["zyx".index(axis)]) for axis, n in axes.items()}
    if chunk is None:
        chunk = dict(tile)
        for axis in chunk:
            others = prod(n for a, n in chunk.items() if a != axis) * 4  # float32
            chunk[axis] = max(1, min(chunk[axis], CHUNK_BYTES // others))
    tile = {axis: rounded(n, chunk[axis]) for axis, n in tile.items()}
    return Tiling(series, partition, tile, chunk)


def box_of(slices):
    """Slices along (z, y, x) as a box."""
    return tuple(v for s in slices for v in (s.start, s.stop))


def slices_of(box, low=(0, 0, 0)):
    """Return a box as slices, counted from a point."""
    return tuple(slice(a - o, b - o) for a, b, o in zip(box[::2], box[1::2], low))


class Tile:
    """Makes one rank's part of a series of a grid from its own points and those that other ranks send; `number` is that
    of the series, alike on all ranks.
    """

    def __init__(self, program: Program, comm: Comm, number: int, tiles: Tiling, pictures: Callable):
        self.program, self.tiles, self.share = program, tiles, tiles.share(comm.rank)
        self.region = tuple(slice(*limits) for limits in (tiles.region(comm.rank) or {}).values())
        self.picture = pictures(self.share) if self.share else None
        self.box, fields = tiles.partition[comm.rank].box, len(tiles.series.reads)
        needs = [tiles.need(rank) for rank in range(comm.size)]
        self.need, dtype = needs[comm.rank], program.plan.precision
        others = [rank for rank in range(comm.size) if rank != comm.rank]
        self.goes = {rank: common for rank in others if needs[rank] and (common := clip(needs[rank], self.box))}
        self.comes = {
            rank: common for rank in others if self.need and (common := clip(self.need, tiles.partition[rank].box))
        }
        self.out, self.into = (
            {
                rank: np.empty((fields, *(b - a for a, b in zip(box[::2], box[1::2]))), dtype)
                for rank, box in boxes.items()
            }
            for boxes in (self.goes, self.comes)
        )
        self.link = comm.link(
            [(rank, TAG + number, buffer) for rank, buffer in self.out.items()],
            [(rank, TAG + number, buffer) for rank, buffer in self.into.items()],
        )

    def take(self):
        """Return the part of the picture that this rank makes, or None; all ranks must call it."""
        names, low = tuple(self.tiles.series.reads), self.box[::2]
        for rank, box in self.goes.items():
            for target, name in zip(self.out[rank], names):
                target[...] = self.program.host(name, slices_of(box, low))
        self.link.start()
        arrays = {}
        if self.share:
            shape = tuple(b - a for a, b in zip(self.need[::2], self.need[1::2]))
            common = clip(self.need, self.box)
            for name in names:
                arrays[name] = np.empty(shape, self.program.plan.precision)
                if common:
                    arrays[name][slices_of(common, self.need[::2])] = self.program.host(name, slices_of(common, low))
        self.link.finish()
        for rank, box in self.comes.items():
            for name, values in zip(names, self.into[rank]):
                arrays[name][slices_of(box, self.need[::2])] = values
        return self.picture(arrays) if self.share else None


class Collected:
    """Makes the pictures of a series on rank 0, to which every rank gives the points that it has; on one rank all of them.

    `picture` makes one from a dict of host arrays, nan at points that the rank does not have.
    """

    region = None

    def __init__(self, program: Program, comm: Comm, series: Any, picture: Callable):
        self.program, self.comm, self.series, self.picture = program, comm, series, picture
        self.where = comm.gather(series.where) if comm.size > 1 else None

    def take(self):
        """Return the picture on rank 0, None on the others; all ranks must call it."""
        picture = self.picture({name: self.program.host(name, index) for name, index in self.series.reads.items()})
        if self.where is None:
            return picture
        lead = max(len(self.series.components), 1)
        blocks = self.comm.collect(np.ascontiguousarray(picture.reshape(lead, -1)[:, self.series.where]))
        if blocks is None:
            return None
        out = np.full((lead, picture.size // lead), np.nan, picture.dtype)
        for where, values in zip(self.where, blocks):
            out[:, where] = values
        return out.reshape(picture.shape)


class Snapshots(Observer):
    """Takes the pictures of a plan and hands them to a writer, `craton.output.snapshots.SnapshotWriter` or one with its
    `put`; all ranks must make one.
    """

    def __init__(self, job: Job, program: Program, writer: Any):
        self.job, self.series, self.writer = job, program.plan.snapshots, writer
        plan, comm, pictures = program.plan, job.comm, METHODS[job.scenario.method].picture_maker
        chunks = stored_chunks(job) if job.saved else {}
        self.tilings = {
            one.name: tiling(one, plan.partition, chunk=chunks.get(one.name))
            for one in self.series
            if plan.partition and one.lattice
        }
        self.chunks = chunks | {name: tiles.chunk for name, tiles in self.tilings.items()}
        self.schedule: dict[int, list] = {}
        for number, one in enumerate(self.series):
            if comm.size > 1 and one.name in self.tilings:
                maker = Tile(program, comm, number, self.tilings[one.name], pictures)
            else:
                maker = Collected(program, comm, one, pictures(one))
            for step, time in zip(one.steps, one.times):
                self.schedule.setdefault(int(step) + 1, []).append((one, maker, float(time)))

    def due(self, step: int) -> bool:
        """Return True after a step of which there are pictures."""
        return step in self.schedule

    def see(self, step: int, program: Program) -> None:
        """Hand the writer the pictures of a step, or the parts that this rank makes."""
        for one, maker, time in self.schedule[step]:
            values = maker.take()
            named = None if values is None else {one.quantity: values}
            self.writer.put(one.name, time, named, region=maker.region)

    def declare(self) -> None:
        """Name all series to the writer of this rank; those of a run that goes on are there."""
        for one in self.series:
            self.writer.add_series(
                one.name,
                {one.quantity: one.components},
                one.coords,
                one.times,
                attributes=self.job.plan.receivers.event,
                chunk=self.chunks.get(one.name),
                create=self.job.comm.rank == 0,
                done=int((one.steps < self.job.begun).sum()) if self.job.saved else None,
            )

    def lay_out(self) -> None:
        """Name all series to the writers of all ranks, rank 0 first: it creates them, the others find them."""
        for first in (True, False):
            with agreed(self.job.comm):
                if (self.job.comm.rank == 0) == first:
                    self.declare()
                    self.writer.settle()

    def finish(self) -> None:
        """Wait until all ranks have written; then rank 0 cuts off the frames that never came."""
        with agreed(self.job.comm):
            if self.job.comm.rank:
                self.writer.close(last=False)
        if self.job.comm.rank == 0:
            self.writer.close()


def stored_chunks(job: Job) -> dict[str, dict[str, int]]:
    """Return the chunks of all series of the store that rank 0 sees: points along each axis, by name."""
    from craton.output.inspection import chunks_of
    from craton.output.store import RESULT

    chunks = {}
    with agreed(job.comm):
        if job.comm.rank == 0:
            for one in job.plan.snapshots:
                axes = [axis for axis, values in one.coords.items() if np.ndim(values)]
                chunks[one.name] = chunks_of(Path(job.out) / RESULT / "snapshots" / one.name / one.quantity, axes)
    return broadcast(job.comm, chunks)
