"""rfile of SW4: material and topography on blocks of regular grids, of which deeper ones may be
coarser (SW4 User's Guide, appendix on rfiles).

x of the file points at its azimuth from north, y to the right of it, z down. Here columns of an
array run along the file's y and rows along its x: at azimuth 0 east and north.
"""

import math
from typing import NamedTuple

import numpy as np

from craton.io.contents import FileError

HEADING = [("magic", "i4"), ("precision", "i4"), ("attenuation", "i4"), ("azimuth", "f8")]
HEADING += [("longitude", "f8"), ("latitude", "f8"), ("length", "i4")]
BLOCK = [("hh", "f8"), ("hv", "f8"), ("z0", "f8")]
BLOCK += [(name, "i4") for name in ("nc", "ni", "nj", "nk")]
COUNTS = ("ni", "nj", "nk", "nc")  # axes of a block's values
FIELDS = ("rho", "vp", "vs", "qp", "qs")
NOTHING = -999.0  # a value where there is air or water


class Block(NamedTuple):
    """A block of a file: horizontal and vertical spacing and depth of its top, m; values (ni, nj, nk, nc), mapped."""

    hh: float
    hv: float
    z0: float
    values: np.ndarray


def read_blocks(path):
    """Read the heading of a file and map its blocks: topography, then material from the top down. Return them, and the
    attributes of a dataset that say where its x and y are on Earth.
    """
    data = np.memmap(path, np.uint8, "r")
    order = {b"\1\0\0\0": "<", b"\0\0\0\1": ">"}.get(data[:4].tobytes())
    if order is None:
        raise FileError(f"{path.name} is no rfile: it does not begin with the number 1")
    offset = 0

    def take(kind, shape=()):
        """Return the next values of a type."""
        nonlocal offset
        start, offset = offset, offset + kind.itemsize * math.prod(shape)
        if min(shape, default=1) < 1 or offset > len(data):
            raise FileError(f"{path.name} has {len(data):,} bytes, its heading announces at least {offset:,}")
        return data[start:offset].view(kind).reshape(shape)

    def record(fields):
        return take(np.dtype([(name, order + form) for name, form in fields]))

    heading = record(HEADING)
    if heading["precision"] not in (4, 8) or not 0 <= heading["length"] < 10_000:
        raise FileError(f"{path.name} is no rfile: its heading makes no sense")
    projection = take(np.dtype(f"S{heading['length']}")) if heading["length"] else b""
    records = [record(BLOCK) for _ in range(record([("blocks", "i4")])["blocks"])]
    kind = np.dtype(f"{order}f{heading['precision']}")
    blocks = [
        Block(*(float(row[name]) for name in Block._fields[:3]), take(kind, tuple(int(row[n]) for n in COUNTS)))
        for row in records
    ]
    if len(blocks) < 2 or blocks[0].values.shape[3] != 1:
        raise FileError(f"{path.name} has {len(blocks)} blocks; topography and material are needed")
    if len(data) > offset:
        raise FileError(f"{path.name} has {len(data):,} bytes, its heading announces {offset:,}")
    system = bytes(projection).decode("utf-8", "replace").strip("\0 \n")
    if not system:
        return blocks, {}
    azimuth, *origin = (float(heading[name]) for name in ("azimuth", "longitude", "latitude"))
    return blocks, {"crs_wkt": system, "crs_azimuth": azimuth, "crs_origin": tuple(origin)}


def read(path):
    """Open the material of a file as a Dataset: rho, vp, vs, and qp, qs where the file has them, over z, y, x (m, z up), which are read
    when they are used.

    Horizontally it has the spacing of the finest block; coarser blocks are bilinear. Air and water have the values of the
    rock below them, as in SW4.
    """
    from xarray import Dataset, Variable
    from xarray.core.indexing import LazilyIndexedArray

    (_, *blocks), system = read_blocks(path)
    planes = _lazy_class()
    levels = _levels(blocks)
    finest = min(blocks, key=lambda block: block.hh)
    ni, nj, _, count = finest.values.shape
    axes = {"z": [-depth for *_, depth in levels], "y": finest.hh * np.arange(ni), "x": finest.hh * np.arange(nj)}
    fields = {
        name: Variable(("z", "y", "x"), LazilyIndexedArray(planes(blocks, levels, finest.hh, n, (ni, nj))))
        for n, name in enumerate(FIELDS[:count])
    }
    return Dataset(fields, axes, system)


def _levels(blocks):
    """(block, level in it, depth) from the top down; where blocks meet, that of the lower one."""
    tops = [block.z0 for block in blocks[1:]] + [np.inf]
    return [
        (n, k, block.z0 + k * block.hv)
        for n, (block, top) in enumerate(zip(blocks, tops))
        for k in range(block.values.shape[2])
        if block.z0 + k * block.hv < top - 1e-6 * block.hv
    ]


def _lazy_class():
    """Return the class of arrays that read planes of blocks when they are used; xarray is imported late."""
    from xarray.backends import BackendArray
    from xarray.core.indexing import IndexingSupport, explicit_indexing_adapter

    class Planes(BackendArray):
        """One property of all blocks, at the points of the finest one."""

        def __init__(self, blocks, levels, step, component, count):
            self.blocks, self.levels, self.step, self.component = blocks, levels, step, component
            self.shape, self.dtype = (len(levels), *count), np.dtype(float)

        def __getitem__(self, key):
            return explicit_indexing_adapter(key, self.shape, IndexingSupport.OUTER, self._read)

        def _read(self, key):
            squeezed = tuple(0 if np.ndim(k) == 0 and not isinstance(k, slice) else slice(None) for k in key)
            z, rows, columns = (np.atleast_1d(np.arange(n)[k]) for n, k in zip(self.shape, key))
            places = rows * self.step, columns * self.step
            return np.stack([_plane_at(self.blocks, *self.levels[k][:2], self.component, *places) for k in z])[squeezed]

    return Planes


def _plane_at(blocks, number, level, component, x, y):
    """Return one of `FIELDS` in a level of a block at points along the file's x and y (m): (len(x), len(y)), bilinear."""
    block = blocks[number]
    count = block.values.shape[:2]
    (i, p, u), (j, q, v) = (_stencil(places / block.hh, n) for places, n in zip((x, y), count))
    rows, columns = np.unique(np.concatenate([i, p])), np.unique(np.concatenate([j, q]))
    plane = _filled(blocks, number, level, component, rows, columns)
    i, p, j, q = (np.searchsorted(a, b) for a, b in ((rows, i), (rows, p), (columns, j), (columns, q)))
    low = plane[i] * (1 - u)[:, None] + plane[p] * u[:, None]
    return low[:, j] * (1 - v) + low[:, q] * v


def _stencil(places, count):
    before = np.clip(np.floor(places + 1e-9).astype(int), 0, count - 1)
    after = np.minimum(before + 1, count - 1)
    return before, after, np.clip(places - before, 0.0, 1.0)


def _filled(blocks, number, level, component, rows, columns):
    """Part of a plane with air and water replaced by the next rock below."""
    values = blocks[number].values
    plane = np.full((len(rows), len(columns)), NOTHING)
    for k in range(level, values.shape[2]):
        empty = plane == NOTHING
        if not empty.any():
            return plane
        part = np.asarray(values[np.ix_(rows, columns, [k], [component, 2])], float)[:, :, 0]
        solid = empty & (part[..., 1] != NOTHING)
        plane[solid] = part[..., 0][solid]
    if (plane == NOTHING).any() and number + 1 < len(blocks):
        ratio = blocks[number].hh / blocks[number + 1].hh
        limits = blocks[number + 1].values.shape[:2]
        nearest = [
            np.minimum((index * ratio + 0.5).astype(int), limit - 1) for index, limit in zip((rows, columns), limits)
        ]
        places, inverse = zip(*(np.unique(index, return_inverse=True) for index in nearest))
        below = _filled(blocks, number + 1, 0, component, *places)[np.ix_(*inverse)]
        plane = np.where(plane == NOTHING, below, plane)
    return np.where(plane == NOTHING, np.nan, plane)


def read_topography(path, variable=None, part=None):
    """Read the elevations of the ground over y and x, m, up: all, or what `part` takes of the array."""
    from xarray import DataArray

    (ground, *_), system = read_blocks(path)
    z = np.array(ground.values[:, :, 0, 0], float)
    axes = {"y": ground.hh * np.arange(z.shape[0]), "x": ground.hh * np.arange(z.shape[1])}
    array = DataArray(z, axes, ("y", "x"), attrs=system)
    return part(array) if part else array
