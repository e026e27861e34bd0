"""The fields of a store: files of series, mapped into memory, and weighted sums of these series."""

import os
import struct
import zlib

import numpy as np

from craton.backends import backend
from craton.integrity import Damaged, reading
from craton.methods.waves.greens import sum_plan
from craton.model.media.cells import in_parallel

FOLDER = "values"
CHECK = 4  # bytes of the checksum behind the values, as of numcodecs.CRC32
SHARE = 0.5  # of a machine's free memory that fields of several forces may take
BLOCK = 1 << 22  # bytes that are written at a time
LEVELS = 32766  # of values in 16 bits; one more may come from what was rounded off before
ROOM = 1 << 14  # rows of a sum for which there is room at first


def packing():
    """Return the codecs of the fields, keywords of `zarr.Group.create_array`: values as they are in
    memory, so that they can be mapped, and a checksum behind them.
    """
    from numcodecs import CRC32

    return {"filters": None, "compressors": [CRC32(location="end")]}


def write(path, number, blocks, factor, dtype):
    """Write the field of one force: one chunk of the array ``values(shot, place, time)``.

    Parameters
    ----------
    path : path-like
        The array's folder.
    number : int
        Of the shot.
    blocks : list of (places, samples) arrays
        One after another in time.
    factor : (places,) array
        By which values are multiplied.
    dtype : dtype
        float32, or int16: to whole numbers.
    """
    places = len(blocks[0])
    width = max(1, BLOCK // (4 * sum(block.shape[1] for block in blocks)))
    chunk, check = os.path.join(path, f"{number}.0.0"), 0
    with open(f"{chunk}.part", "wb") as file:
        for begin in range(0, places, width):
            part = slice(begin, begin + width)
            values = np.concatenate([block[part] for block in blocks], axis=1)
            values *= factor[part, None]
            if np.dtype(dtype).kind == "i":
                round_whole(values)
            data = memoryview(np.ascontiguousarray(values, dtype)).cast("B")
            check = zlib.crc32(data, check)
            file.write(data)
        file.write(struct.pack("<I", check))
    os.replace(f"{chunk}.part", chunk)


def round_whole(values):
    """Round series, (places, samples), in place, to whole numbers; what is rounded off a value is
    added to the next one, see `craton.greens.store.Pictures`.
    """
    left = np.zeros(len(values))
    for n in range(values.shape[1]):
        exact = values[:, n] + left
        values[:, n] = np.rint(exact)
        left = exact - values[:, n]


class Fields:
    """Fields of all forces of a store, on a machine.

    Parameters
    ----------
    group : zarr.Group
        Of the store, with ``values(shot, place, time)`` and ``scale(shot, place)``.
    folder : path-like
        Of the group.
    device : str
        ``"cpu"``, ``"cuda"`` or ``"auto"``.
    threads : int, optional
        Of a CPU.

    Raises
    ------
    ValueError
        The values are not laid out as `packing` has them.
    Damaged
        A file has another size; where it is first used, another checksum.
    """

    def __init__(self, group, folder, device="cpu", threads=None):
        values = group["values"]
        self.count, self.places, self.samples = values.shape
        self.dtype = np.dtype(values.dtype)
        mapped = tuple(values.chunks) == (1, self.places, self.samples) and not values.filters
        if not mapped or "scale" not in group:
            raise ValueError("its values cannot be mapped; it was built by an earlier version")
        self.mapped = [self._map(os.path.join(folder, FOLDER), n) for n in range(self.count)]
        scale = np.asarray(group["scale"][:])
        self.magnitude = scale.max(axis=0)
        self.scale = scale if self.dtype.kind == "i" else None
        self.machine = backend(device, **({"threads": threads} if device == "cpu" else {}))
        self._programs, self._room, self._sound = {}, ROOM, set()

    def _map(self, folder, number):
        """Map the field of a force: (places, samples)."""
        path = os.path.join(folder, f"{number}.0.0")
        expected = self.places * self.samples * self.dtype.itemsize + CHECK
        with reading(path):
            present = os.path.getsize(path)
        if present != expected:
            raise Damaged(path, f"it has {present:,} of {expected:,} bytes")
        return np.memmap(path, self.dtype, "r", shape=(self.places, self.samples))

    def _compare(self, number):
        """Compare the field of a force, all of it, with its checksum; once."""
        values = self.mapped[number]
        stated = np.fromfile(values.filename, "<u4", 1, offset=values.nbytes)[0]
        if zlib.crc32(values) != stated:
            remedy = "remove it and build the store again: what is there is not run again"
            raise Damaged(values.filename, f"its checksum does not match\n    -> {remedy}")
        self._sound.add(number)

    def groups(self, columns):
        """Return columns in groups whose fields the machine holds at a time: list of lists; all
        of them where it computes in the host's memory.

        Parameters
        ----------
        columns : list of int
            Numbers of forces.
        """
        if self.machine.shares_host_memory:
            return [columns]
        free, _ = self.machine.memory()
        width = max(1, int(SHARE * free / (self.mapped[0].nbytes + 4 * self.places)))
        return [columns[n : n + width] for n in range(0, len(columns), width)]

    def sums(self, columns, slots, rows, spared):
        """Return weighted sums of series, (n, columns, samples) of the machine's arrays; they hold
        until the next call.

        Parameters
        ----------
        columns : list of int
            Numbers of forces.
        slots : int
            Sums for which there is room at a time; n is not larger.
        rows : tuple
            Where the rows of each sum begin, (n + 1,), their places and weights.
        spared : float
            Share of a sum, by magnitude, that may be left out.
        """
        in_parallel(self._compare, set(columns) - self._sound)
        first, row, heavy = lightened(*rows, self.magnitude, spared)
        if len(row) > slots * self._room:
            self._room = -(-len(row) // slots)
            self._programs.clear()
        key = tuple(columns), slots
        if key not in self._programs:
            if not self.machine.shares_host_memory:
                self._programs.clear()  # what they hold of the fields goes first
            self._programs[key] = self._program(columns, slots)
        program = self._programs[key]
        filled = np.concatenate([first, np.full(slots + 1 - len(first), first[-1], np.int32)])
        for name, values in (("row", row), ("first", filled), ("weight", heavy)):
            self.machine.fill(program.arrays[name], values)
        program.step(0)
        return program.arrays["sums"][: len(rows[0]) - 1]

    def _program(self, columns, slots):
        """Return the program that sums the series of some columns."""
        planned = sum_plan(columns, self.places, self.samples, self.dtype.name, slots, slots * self._room)
        ready = {f"values_{n}": self.machine.asarray(self.mapped[n]) for n in columns}
        if self.scale is not None:
            ready |= {f"scale_{n}": self.machine.asarray(self.scale[n]) for n in columns}
        return self.machine.commit(planned, arrays=ready)


def lightened(first, row, weight, magnitude, spared):
    """Return rows without those that give the least, and without zeros.

    Parameters
    ----------
    first : (n + 1,) array
        Where the rows of each sum begin.
    row, weight : arrays
        Place and weight of each row.
    magnitude : (places,) array
        Of what is stored: a row gives at most that times its weight.
    spared : float
        Share of the sum of magnitudes that those left out may have.

    Returns
    -------
    first : (n + 1,) int32 array
    row, weight : arrays
    """
    size = np.abs(weight) * magnitude[row]
    exponent, heavy = np.frexp(size)[1], size > 0
    for begin, end in zip(first, first[1:]):
        sizes, exponents, some = size[begin:end], exponent[begin:end], heavy[begin:end]
        if not some.any():
            continue
        low = exponents[some].min()
        shares = np.cumsum(np.bincount(exponents[some] - low, sizes[some]))
        some &= exponents >= low + np.searchsorted(shares, spared * shares[-1], "right")
    counts = np.append(0, np.cumsum(heavy))[first]
    return counts.astype(np.int32), row[heavy].astype(np.int64), weight[heavy].astype(np.float32)
