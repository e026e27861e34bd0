"""Pictures of the wavefield over ranks: who makes which part, and what the others have of it."""
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from craton.core.layout import rounded
from craton.core.partition import clip

TAG = 1 << 10  # above those of halos
CHUNK_BYTES = 16 << 20


@dataclass(frozen=True)
class Tiling:
    """One series of pictures cut into tiles of one size, whole chunks of a store each: one for every rank that has a part.

    Parameters
    ----------
    tile, chunk : dict of str to int
        Points of the picture along each of its axes.
    """

    frames: Any
    parts: Any
    tile: dict
    chunk: dict

    def region(self, rank):
        """First and last + 1 point of the picture along each of its axes that a rank makes; None where it makes none."""
        part, out = self.parts[rank], {}
        for n, axis in enumerate("zyx"):
            where = self.frames.lattice.get(axis)
            if isinstance(where, int):
                low, high = part.range(axis)
                if not low <= where < high:
                    return None
            elif where is not None:
                first = part.place[n] * self.tile[axis]
                out[axis] = (first, min(first + self.tile[axis], len(range(*where))))
                if first >= out[axis][1]:
                    return None
        return out

    def share(self, rank):
        """Frames of the part that a rank makes, or None."""
        region = self.region(rank)
        if region is None:
            return None
        ranges = {}
        for axis, (a, b) in region.items():
            _, n, stride = self.frames.lattice[axis]
            ranges[axis] = (a * stride, min(b * stride, n))
        return self.frames.within(ranges)

    def need(self, rank):
        """Box of points of the grid that a rank needs for its part, or None."""
        share = self.share(rank)
        return share and box_of(next(iter(share.reads.values())))


def tiling(frames, parts, itemsize=4):
    """The Tiling of a series: tiles as even as whole chunks allow."""
    axes = {axis: len(range(*where)) for axis, where in frames.lattice.items() if not isinstance(where, int)}
    tile = {axis: ceil(n / parts[0].ranks["zyx".index(axis)]) for axis, n in axes.items()}
    chunk = dict(tile)
    for axis in chunk:
        others = prod(n for a, n in chunk.items() if a != axis) * itemsize
        chunk[axis] = max(1, min(chunk[axis], CHUNK_BYTES // others))
        tile[axis] = rounded(tile[axis], chunk[axis])
    return Tiling(frames, parts, tile, chunk)


def box_of(slices):
    """Slices along (z, y, x) as a box."""
    return tuple(v for s in slices for v in (s.start, s.stop))


def slices_of(box, low=(0, 0, 0)):
    """A box as slices, counted from a point."""
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
    """

    def __init__(self, program, comm, number, tiles):
        self.program, self.tiles, self.share = program, tiles, tiles.share(comm.rank)
        self.own, fields = tiles.parts[comm.rank].box, len(tiles.frames.reads)
        needs = [tiles.need(rank) for rank in range(comm.size)]
        self.need, dtype = needs[comm.rank], program.plan.precision
        others = [rank for rank in range(comm.size) if rank != comm.rank]
        self.goes = {rank: common for rank in others if needs[rank] and (common := clip(needs[rank], self.own))}
        self.comes = {rank: common for rank in others if self.need and (common := clip(self.need, tiles.parts[rank].box))}
        self.out, self.into = (
            {rank: np.empty((fields, *(b - a for a, b in zip(box[::2], box[1::2]))), dtype) for rank, box in boxes.items()}
            for boxes in (self.goes, self.comes)
        )
        self.link = comm.link([(rank, TAG + number, buffer) for rank, buffer in self.out.items()],
                              [(rank, TAG + number, buffer) for rank, buffer in self.into.items()])  # fmt: skip

    def take(self):
        """The part of the picture that this rank makes, or None; all ranks must call it."""
        names, low = tuple(self.tiles.frames.reads), self.own[::2]
        for rank, box in self.goes.items():
            for target, name in zip(self.out[rank], names):
                target[...] = self.program.host(name, slices_of(box, low))
        self.link.start()
        arrays = {}
        if self.share:
            shape = tuple(b - a for a, b in zip(self.need[::2], self.need[1::2]))
            mine = clip(self.need, self.own)
            for name in names:
                arrays[name] = np.empty(shape, self.program.plan.precision)
                if mine:
                    arrays[name][slices_of(mine, self.need[::2])] = self.program.host(name, slices_of(mine, low))
        self.link.finish()
        for rank, box in self.comes.items():
            for name, values in zip(names, self.into[rank]):
                arrays[name][slices_of(box, self.need[::2])] = values
        return self.share.combine(arrays) if self.share else None


class Collected:
    """Puts the pictures of a series together on rank 0, of which every rank makes some points (`Frames.where`).

    Parameters
    ----------
    program : Program
    comm : Comm
    frames : Frames
        Of this rank.
    """

    def __init__(self, program, comm, frames):
        self.program, self.comm, self.frames = program, comm, frames
        self.where = comm.gather(frames.where)

    def take(self):
        """The picture on rank 0, None on the others; all ranks must call it."""
        made = self.frames.combine({name: self.program.host(name, index) for name, index in self.frames.reads.items()})
        lead = len(self.frames.components) if len(self.frames.components) > 1 else 1
        blocks = self.comm.collect(np.ascontiguousarray(made.reshape(lead, -1)[:, self.frames.where]))
        if blocks is None:
            return None
        out = np.full((lead, made.size // lead), np.nan, made.dtype)
        for where, values in zip(self.where, blocks):
            out[:, where] = values
        return out.reshape(made.shape)
