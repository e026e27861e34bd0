"""Pictures of the wavefield over ranks: who makes which part, and what the others have of it."""

from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from craton.core.layout import rounded
from craton.core.subdomain import clip

TAG = 1 << 10  # above those of halos
CHUNK_BYTES = 16 << 20


@dataclass(frozen=True)
class Tiling:
    """One series of pictures cut into tiles of one size, whole chunks of a store each: one for
    every rank that has a part.

    Parameters
    ----------
    series : SnapshotSeries
    partition : sequence of Subdomain
        Of all ranks.
    tile, chunk : dict of str to int
        Points of the picture along each of its axes.
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


def tiling(series, partition, itemsize=4, chunk=None):
    """Return the Tiling of a series: tiles as even as whole chunks allow.

    Parameters
    ----------
    series : SnapshotSeries
    partition : sequence of Subdomain
    itemsize : int
        Bytes of a number in the store.
    chunk : dict of str to int, optional
        Points of a chunk along each axis, in a store that other ranks have laid out.
    """
    axes = {axis: len(range(*where)) for axis, where in series.lattice.items() if not isinstance(where, int)}
    tile = {axis: ceil(n / partition[0].ranks["zyx".index(axis)]) for axis, n in axes.items()}
    if chunk is None:
        chunk = dict(tile)
        for axis in chunk:
            others = prod(n for a, n in chunk.items() if a != axis) * itemsize
            chunk[axis] = max(1, min(chunk[axis], CHUNK_BYTES // others))
    tile = {axis: rounded(n, chunk[axis]) for axis, n in tile.items()}
    return Tiling(series, partition, tile, chunk)


def box_of(slices):
    """Slices along (z, y, x) as a box."""
    return tuple(v for s in slices for v in (s.start, s.stop))


def slices_of(box, low=(0, 0, 0)):
    """Return a box as slices, counted from a point."""
    return tuple(slice(a - o, b - o) for a, b, o in zip(box[::2], box[1::2], low))


class Camera:
    """Makes one rank's part of a series.

    Parameters
    ----------
    program : Program
    comm : Comm
    number : int
        Of the series, alike on all ranks.
    tiles : Tiling
    pictures : callable
        See `craton.driver.recorder.Recorder`.
    """

    def __init__(self, program, comm, number, tiles, pictures):
        self.program, self.tiles, self.share = program, tiles, tiles.share(comm.rank)
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
    """Takes the pictures of a series on rank 0, to which every rank gives the points that it has;
    on one rank all of them.

    Parameters
    ----------
    program : Program
    comm : Comm
    series : SnapshotSeries
        Of this rank.
    picture : callable
        Makes a picture from a dict of host arrays, nan at points that the rank does not have.
    """

    def __init__(self, program, comm, series, picture):
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
