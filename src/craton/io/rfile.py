"""rfile of SW4: material and topography on blocks of regular grids, of which deeper ones may be
coarser (SW4 User's Guide, appendix on rfiles).

x of the file points at its azimuth from north, y to the right of it, z down. Here columns of an
array run along the file's y and rows along its x: at azimuth 0 east and north.
"""

import math
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton.io.contents import FileError

HEADING = [("magic", "i4"), ("precision", "i4"), ("attenuation", "i4"), ("azimuth", "f8")]
HEADING += [("longitude", "f8"), ("latitude", "f8"), ("length", "i4")]
BLOCK = [("hh", "f8"), ("hv", "f8"), ("z0", "f8")]
BLOCK += [(name, "i4") for name in ("nc", "ni", "nj", "nk")]
FIELDS = ("rho", "vp", "vs", "qp", "qs")
NOTHING = -999.0  # a value where there is air or water


@dataclass(frozen=True, eq=False)
class Block:
    """A block of a file.

    Parameters
    ----------
    hh, hv, z0 : float
        Horizontal and vertical spacing and depth of its top, m.
    values : (ni, nj, nk, nc) array
        Mapped from the file.
    """

    hh: float
    hv: float
    z0: float
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Rfile:
    """A file: where it lies on Earth, its topography and its blocks of material, from the top down.

    Parameters
    ----------
    azimuth, longitude, latitude : float
        Degrees.
    projection : str
        Of PROJ; empty where the file has none.
    ground : Block
    blocks : list of Block
    """

    azimuth: float
    longitude: float
    latitude: float
    projection: str
    ground: Block
    blocks: list

    def system(self):
        """Attributes of a dataset that say where its x and y are on Earth: dict."""
        if not self.projection:
            return {}
        return {"crs_wkt": self.projection, "crs_azimuth": self.azimuth, "crs_origin": (self.longitude, self.latitude)}


def read_blocks(path):
    """Read the heading of a file and map its blocks.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Rfile

    Raises
    ------
    FileError
        The file is no rfile, or shorter than its heading says.
    """
    path = Path(path)
    with open(path, "rb") as file:
        order = {b"\1\0\0\0": "<", b"\0\0\0\1": ">"}.get(file.read(4))
        file.seek(0)
        if order is None:
            raise FileError(f"{path.name} is no rfile: it does not begin with the number 1")
        heading = _record(file, HEADING, order, path)
        if heading["precision"] not in (4, 8) or not 0 <= heading["length"] < 10_000:
            raise FileError(f"{path.name} is no rfile: its heading makes no sense")
        projection = file.read(int(heading["length"])).decode("utf-8", "replace").strip("\0 \n")
        count = int(_record(file, [("blocks", "i4")], order, path)["blocks"])
        records = [_record(file, BLOCK, order, path) for _ in range(count)]
        offset = file.tell()
    kind, blocks = np.dtype(f"{order}f{heading['precision']}"), []
    for record in records:
        shape = tuple(int(record[name]) for name in ("ni", "nj", "nk", "nc"))
        values = _mapped(path, kind, offset, shape)
        offset += values.nbytes
        blocks.append(Block(float(record["hh"]), float(record["hv"]), float(record["z0"]), values))
    if len(blocks) < 2 or blocks[0].values.shape[3] != 1:
        raise FileError(f"{path.name} has {len(blocks)} blocks; topography and material are needed")
    if (held := path.stat().st_size) > offset:
        raise FileError(f"{path.name} has {held:,} bytes, its heading announces {offset:,}")
    azimuth, longitude, latitude = (float(heading[n]) for n in ("azimuth", "longitude", "latitude"))
    return Rfile(azimuth, longitude, latitude, projection, blocks[0], blocks[1:])


def _record(file, fields, order, path):
    kind = np.dtype([(name, order + form) for name, form in fields])
    data = file.read(kind.itemsize)
    if len(data) < kind.itemsize:
        raise FileError(f"{path.name} ends within its heading")
    return np.frombuffer(data, kind)[0]


def _mapped(path, kind, offset, shape):
    needed, held = offset + kind.itemsize * math.prod(shape), path.stat().st_size
    if min(shape) < 1 or needed > held:
        raise FileError(f"{path.name} has {held} bytes, its heading announces at least {needed}")
    return np.memmap(path, kind, "r", offset, shape)


@contextmanager
def opened(path):
    """Open the material of a file; its values are read when they are used.

    Parameters
    ----------
    path : pathlib.Path

    Yields
    ------
    xarray.Dataset
        rho, vp, vs, and qp, qs where the file has them, over z, y, x (m, z up). Horizontally it has
        the spacing of the finest block; coarser blocks are bilinear. Air and water have the values
        of the rock below them, as in SW4.

    Raises
    ------
    FileError
        The file is no rfile.
    """
    from xarray import Dataset, Variable
    from xarray.core.indexing import LazilyIndexedArray

    rfile = read_blocks(path)
    levels = _levels(rfile.blocks)
    step = min(block.hh for block in rfile.blocks)
    finest = next(block for block in rfile.blocks if block.hh == step)
    ni, nj = finest.values.shape[:2]
    array = _lazy_class()
    fields = {
        name: Variable(("z", "y", "x"), LazilyIndexedArray(array(rfile.blocks, levels, step, n, (ni, nj))))
        for n, name in enumerate(FIELDS[: finest.values.shape[3]])
    }
    axes = {"z": [-depth for *_, depth in levels], "y": step * np.arange(ni), "x": step * np.arange(nj)}
    yield Dataset(fields, axes, rfile.system())


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
    """Return the class of arrays that read planes of blocks when they are used; xarray is imported
    late.
    """
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
            planes = [
                plane_at(self.blocks, *self.levels[k][:2], self.component, rows * self.step, columns * self.step)
                for k in z
            ]
            return np.stack(planes)[squeezed]

    return Planes


def plane_at(blocks, number, level, component, x, y):
    """Values of a level at points along the file's x and y: (len(x), len(y)) array, bilinear.

    Parameters
    ----------
    blocks : list of Block
    number, level : int
        Of the block and of the level in it.
    component : int
        Of `FIELDS`.
    x, y : (nx,), (ny,) arrays
        m from the origin of the file.
    """
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
    """Read the elevations of the ground.

    Parameters
    ----------
    path : pathlib.Path
    variable : str, optional
        Not used: the file holds one.
    part : callable, optional
        From the array to what of it is to be read.

    Returns
    -------
    xarray.DataArray
        Over y and x, m, up.

    Raises
    ------
    FileError
        The file is no rfile.
    """
    from xarray import DataArray

    rfile = read_blocks(path)
    ground = rfile.ground
    z = np.array(ground.values[:, :, 0, 0], float)
    axes = {"y": ground.hh * np.arange(z.shape[0]), "x": ground.hh * np.arange(z.shape[1])}
    array = DataArray(z, axes, ("y", "x"), attrs=rfile.system())
    return part(array) if part else array
