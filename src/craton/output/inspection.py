"""Whether what lies in OUT is as it was written: run.json, scenario, chunks and metadata of the
stores.
"""

import math
import re
import struct
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.integrity import KEY, Damaged, read_json, unsealed

CHUNK_NAME = re.compile(r"\d{1,18}(\.\d{1,18})*")
METADATA = (".zgroup", ".zattrs", ".zarray", ".zmetadata")
CHECKSUM = 4  # bytes of CRC-32 before a chunk
BLOSC_HEADER = 16  # bytes: versions, flags, size of an element; then three sizes of 4 bytes
MOST_ELEMENTS = 1 << 50  # of an array
MOST_CHUNK_BYTES = 1 << 32


def inspect_run(out):
    """Return the state that run.json tells, in words.

    Parameters
    ----------
    out : path-like

    Raises
    ------
    Damaged
        It is not as it was written.
    FileNotFoundError
    """
    path = Path(out) / "run.json"
    fields = read_json(path)
    fields = unsealed(path) if KEY in fields or fields.get("format") else fields
    if not isinstance(fields.get("state"), str):
        raise Damaged(path, "it tells no state")
    return fields["state"]


def stores_of(out):
    """Return the zarr stores of a folder, at any depth: list of Path. Those that a kill left half
    written, whose names begin with a dot, are no results.

    Parameters
    ----------
    out : path-like
    """
    folders = (path for path in Path(out).rglob("*.zarr") if path.is_dir())
    return sorted(path for path in folders if not path.name.startswith("."))


def refuse_damaged_store(root, names):
    """Refuse to go on with a store to which snapshots are to be added, where a file of it is
    damaged; every chunk is compared with its header only.

    Parameters
    ----------
    root : Path
    names : list of str
        Series of snapshots.

    Raises
    ------
    Damaged
    """
    for name in names:
        if not (root / "snapshots" / name / ".zgroup").exists():
            raise Damaged(root / "snapshots" / name, "it is missing")
    damages = inspect_store(root, decode=False, consolidated=False)[0] if root.exists() else []
    for damage in damages:
        remedy = "run the scenario anew"
        if CHUNK_NAME.fullmatch(damage.path.name):
            remedy += ", or remove this file and go on: what it held reads as nan then"
        damage.args = (f"{damage}\n    {remedy}",)
        raise damage


def inspect_store(root, decode=True, consolidated=True):
    """Return what is damaged in a zarr store, and how many files there are: list of Damaged, int.

    Parameters
    ----------
    root : Path
    decode : bool
        Decompress every chunk; without, only its length is compared with what its header says,
        which finds chunks that were cut.
    consolidated : bool
        Compare gathered metadata with its sources: a kill may leave them apart.
    """
    damages, count, arrays = inspect_metadata(root, consolidated)
    for array in arrays:
        for path in sorted(array.folder.iterdir()):
            if CHUNK_NAME.fullmatch(path.name):
                count += 1
                try:
                    array.inspect(path, decode)
                except Damaged as damage:
                    damages.append(damage)
    # what was gathered disagrees with a file that is damaged: the file is named first
    return sorted(damages, key=lambda damage: damage.path.name == ".zmetadata"), count


def inspect_metadata(root, consolidated=True):
    """Return what is damaged in the metadata of a zarr store, how many files they are, and the
    arrays that they describe: list of Damaged, int, list of ArrayFiles.

    Parameters
    ----------
    root : Path
    consolidated : bool
        See `inspect_store`.
    """
    damages, count, arrays = [], 0, []
    for path in sorted(root.rglob(".z*")):
        if path.name in METADATA:
            count += 1
            try:
                fields = read_json(path)
                if path.name in (".zgroup", ".zarray") and fields.get("zarr_format") != 2:
                    raise Damaged(path, "it states no format that is known")
                if path.name == ".zarray":
                    arrays.append(ArrayFiles.described(path, fields))
                if path.name == ".zmetadata":
                    compare_consolidated(path, fields, consolidated)
            except Damaged as damage:
                damages.append(damage)
    if not (root / ".zgroup").exists():
        damages.append(Damaged(root / ".zgroup", "it is missing"))
    return sorted(damages, key=lambda damage: damage.path.name == ".zmetadata"), count, arrays


def compare_consolidated(path, fields, exactly=True):
    """Compare consolidated metadata with the files that they were gathered from.

    Parameters
    ----------
    path : Path
    fields : dict
    exactly : bool
        False where a kill may have left them apart: lengths and attributes may differ then.

    Raises
    ------
    Damaged
    """
    gathered = fields.get("metadata")
    if not isinstance(gathered, dict):
        raise Damaged(path, "it holds no metadata")
    for name, entry in gathered.items():
        source = path.parent / name
        if source.name not in METADATA or ".." in name or not isinstance(entry, dict):
            raise Damaged(path, f"it tells of {source}")
        try:
            document = read_json(source)
        except (FileNotFoundError, NotADirectoryError):
            if source.name == ".zattrs" and not entry:
                continue
            raise Damaged(source, "it is missing") from None
        except Damaged:
            continue  # it is told by itself
        if compared(document, source.name, exactly) != compared(entry, source.name, exactly):
            raise Damaged(path, f"it does not agree with {source}")


def compared(entry, name, exactly):
    """Return the part of metadata that must agree with its consolidated copy.

    Parameters
    ----------
    entry : dict
    name : str
        Of the file.
    exactly : bool
        See `compare_consolidated`.
    """
    # zarr-python 3 repeats consolidated metadata in groups
    ignored = {"consolidated_metadata"} | ({"shape"} if not exactly else set())
    if name == ".zattrs" and not exactly:
        return entry.get("_ARRAY_DIMENSIONS")
    return {key: value for key, value in entry.items() if key not in ignored}


@contextmanager
def named_damage(root):
    """Inside, what a library raises on a damaged file of a zarr store becomes the error that names
    the file.

    Parameters
    ----------
    root : path-like or None
        The store, or a group of it; another file, or None, changes nothing.

    Raises
    ------
    Damaged
    """
    try:
        yield
    except (CratonError, MemoryError):
        raise
    except Exception as error:  # libraries raise what they like
        if root is not None and (Path(root) / ".zgroup").exists():
            for damage in inspect_store(Path(root), consolidated=False)[0]:
                raise damage from error
        raise


def compare_checksum(path, contents, at_end=False):
    """Raise Damaged where a chunk does not have the checksum that it begins or ends with."""
    values = memoryview(contents)
    stated, values = (values[-CHECKSUM:], values[:-CHECKSUM]) if at_end else (values[:CHECKSUM], values[CHECKSUM:])
    if zlib.crc32(values) != int.from_bytes(stated, "little"):
        raise Damaged(path, "its checksum does not match")


def chunks_of(folder, axes):
    """Return the lengths of the chunks of an array of a store along its last axes: dict.

    Parameters
    ----------
    folder : Path
    axes : list of str

    Raises
    ------
    Damaged
    """
    try:
        array = ArrayFiles.described(folder / ".zarray", read_json(folder / ".zarray"))
    except FileNotFoundError as error:
        raise Damaged(folder / ".zarray", "it is missing") from error
    return dict(zip(axes, array.chunks[len(array.chunks) - len(axes) :]))


class ArrayFiles:
    """Chunks of an array of a zarr store, format 2.

    Parameters
    ----------
    folder : Path
    shape, chunks : tuple of int
    dtype : numpy dtype
    codecs : list of dict
        Configurations of filters and compressor, in the order in which they encode.
    """

    def __init__(self, folder, shape, chunks, dtype, codecs):
        self.folder, self.shape, self.chunks, self.dtype = folder, shape, chunks, dtype
        self.codecs = codecs
        self.nbytes = math.prod(chunks) * dtype.itemsize

    @classmethod
    def described(cls, path, fields):
        """Return the array that a .zarray describes; its numbers are checked.

        Parameters
        ----------
        path : Path
        fields : dict

        Raises
        ------
        Damaged
        """
        shape, chunks = fields.get("shape"), fields.get("chunks")
        rows = [row for row in (shape, chunks) if isinstance(row, list)]
        lengths = [n for row in rows for n in row]
        if len(rows) < 2 or len(shape) != len(chunks) or len(shape) > 32:
            raise Damaged(path, "its shape and chunks cannot be right")
        if not all(type(n) is int and 0 <= n <= MOST_ELEMENTS for n in lengths) or 0 in chunks:
            raise Damaged(path, "its shape and chunks cannot be right")
        try:
            dtype = np.dtype(fields.get("dtype"))
        except (TypeError, ValueError, SyntaxError) as error:
            raise Damaged(path, "its dtype cannot be right") from error
        filters = fields.get("filters") or []
        if not isinstance(filters, list):
            raise Damaged(path, "its filters cannot be right")
        codecs = [*filters, fields.get("compressor")]
        codecs = [codec for codec in codecs if codec is not None]
        if not all(isinstance(codec, dict) and isinstance(codec.get("id"), str) for codec in codecs):
            raise Damaged(path, "its compressor cannot be right")
        array = cls(path.parent, tuple(shape), tuple(chunks), dtype, codecs)
        if not isinstance(fields.get("dtype"), str) or array.nbytes > MOST_CHUNK_BYTES:
            raise Damaged(path, "its chunks cannot be right")
        return array

    def inspect(self, path, decode):
        """Raise Damaged where a chunk is.

        Parameters
        ----------
        path : Path
        decode : bool
        """
        index = [int(n) for n in path.name.split(".")]
        limits = [-(-n // chunk) for n, chunk in zip(self.shape, self.chunks)] or [1]
        if len(index) != len(limits) or any(n >= limit for n, limit in zip(index, limits)):
            return  # a chunk of a series that was shortened is not read
        try:
            length = path.stat().st_size
            if [codec["id"] for codec in self.codecs[-2:]] == ["blosc", "crc32"]:
                self.compare_header(path, length, CHECKSUM)
            elif self.codecs and self.codecs[-1]["id"] == "blosc":
                self.compare_header(path, length)
            elif not self.codecs and length != self.nbytes:
                raise Damaged(path, f"it has {length:,} of {self.nbytes:,} bytes")
            if decode and self.codecs:
                self.decode(path)
        except OSError as error:
            raise Damaged(path, error.strerror or str(error)) from error

    def compare_header(self, path, length, begin=0):
        """Compare the length of a file with what its header, which begins at a byte, says."""
        with open(path, "rb") as file:
            file.seek(begin)
            header = file.read(BLOSC_HEADER)
        if len(header) < BLOSC_HEADER:
            raise Damaged(path, f"it has {length:,} bytes, fewer than its header")
        nbytes, _, compressed = struct.unpack("<III", header[4:])
        if begin + compressed != length:
            raise Damaged(path, f"it has {length:,} of {begin + compressed:,} bytes")
        if self.codecs[0]["id"] == "blosc" and self.dtype != object and nbytes != self.nbytes:
            raise Damaged(path, f"it holds {nbytes:,} bytes, not {self.nbytes:,}")

    def decode(self, path):
        """Decompress a chunk."""
        from numcodecs import get_codec

        try:
            values = path.read_bytes()
            for codec in reversed(self.codecs):
                if codec["id"] == "crc32":
                    compare_checksum(path, values, codec.get("location") == "end")
                values = get_codec(dict(codec)).decode(values)
        except Damaged:
            raise
        except Exception as error:  # codecs raise what they like
            raise Damaged(path, f"it cannot be decompressed ({error})") from error
        if self.dtype != object and np.asarray(memoryview(values)).nbytes != self.nbytes:
            raise Damaged(path, f"it does not hold {self.nbytes:,} bytes")
