"""Whether what lies in OUT is as it was written: its run.json, the files and chunks of which that has checksums, the stores.

Chunks of stores and pictures bear checksums themselves; checkpoints and inputs have theirs in their own tables.
"""

import hashlib
import math
import os
import re
import zlib
from contextlib import contextmanager
from pathlib import Path

from craton.errors import CratonError
from craton.integrity import KEY, Damaged, check_file, digest_of_file, read_json, reading, unsealed

CHUNK_NAME = re.compile(r"\d{1,18}(\.\d{1,18})*")
METADATA = (".zgroup", ".zattrs", ".zarray", ".zmetadata")
CHECKSUM = 4  # bytes of CRC-32 before a chunk
BLOSC_HEADER = 16  # bytes: versions, flags, size of an element; then three sizes of 4 bytes
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
    damages = inspect_store(root, decode=False)[0] if root.exists() else []
    for damage in damages:
        remedy = "run the scenario anew"
        if CHUNK_NAME.fullmatch(damage.path.name):
            remedy += ", or remove this file and go on: what it held reads as nan then"
        raise Damaged(damage.path, damage.reason, remedy)


def inspect_store(root: Path, decode: bool = True):
    """Return what is damaged in a zarr store, and how many files there are: list of Damaged, int.

    Without `decode` only the lengths of chunks are compared with what their headers say, which finds those that were
    cut.
    """
    damages, count, arrays = inspect_metadata(root)
    for array in arrays:
        for path in sorted(array.folder.iterdir()):
            if CHUNK_NAME.fullmatch(path.name):
                count += 1
                try:
                    array.inspect(path, decode)
                except Damaged as damage:
                    damages.append(damage)
    return damages, count


def inspect_metadata(root: Path):
    """Return what is damaged in the metadata of a zarr store, how many files they are, and the arrays that they
    describe: list of Damaged, int, list of ArrayFiles. What is gathered in .zmetadata run.json has a checksum of.
    """
    damages, count, arrays = {}, 0, []
    for path in sorted(root.rglob(".z*")):
        if path.name in METADATA:
            count += 1
            try:
                fields = read_json(path)
                if path.name in (".zgroup", ".zarray") and fields.get("zarr_format") != 2:
                    raise Damaged(path, "it states no format that is known")
                if path.name == ".zarray":
                    arrays.append(ArrayFiles(path.parent))
                if path.name == ".zmetadata":
                    _refuse_missing(path.parent, fields.get("metadata"))
            except Damaged as damage:
                damages[damage.path] = damage
    if not (root / ".zgroup").exists():
        damages[root / ".zgroup"] = Damaged(root / ".zgroup", "it is missing")
    return [*damages.values()], count, arrays


def _refuse_missing(folder, gathered):
    """Refuse a store without a file whose contents were gathered in its .zmetadata."""
    if not isinstance(gathered, dict):
        raise Damaged(folder / ".zmetadata", "it holds no metadata")
    for name, entry in gathered.items():
        if entry and not (folder / name).exists():
            raise Damaged(folder / name, "it is missing")


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
            for damage in inspect_store(Path(root))[0]:
                raise damage from error
        raise


def chunks_of(folder: Path, axes: list[str]) -> dict[str, int]:
    """Return the lengths of the chunks of an array of a store along its last axes."""
    if not (folder / ".zarray").exists():
        raise Damaged(folder / ".zarray", "it is missing")
    chunks = ArrayFiles(folder).array.chunks
    return dict(zip(axes, chunks[len(chunks) - len(axes) :]))


class ArrayFiles:
    """Chunks of an array of a zarr store, format 2, in a folder."""

    def __init__(self, folder: Path):
        import zarr

        self.folder = folder
        if (folder / ".zattrs").exists():
            read_json(folder / ".zattrs")  # zarr reads both
        try:
            self.array = zarr.open_array(folder, mode="r", zarr_format=2)
        except Exception as error:  # zarr raises what Python raises on odd values
            raise Damaged(folder / ".zarray", "its shape, chunks, dtype or codecs cannot be right") from error
        self.codecs = [*(self.array.filters or ()), *(self.array.compressors or ())]
        self.nbytes = math.prod(self.array.chunks) * self.array.dtype.itemsize
        if self.nbytes > MOST_CHUNK_BYTES:
            raise Damaged(folder / ".zarray", "its chunks cannot be right")

    def inspect(self, path: Path, decode: bool):
        """Raise Damaged where a chunk is: by its length and, with `decode`, by its checksum, or where it has none by
        its contents.
        """
        index = [int(n) for n in path.name.split(".")]
        limits = [-(-n // chunk) for n, chunk in zip(self.array.shape, self.array.chunks)] or [1]
        if len(index) != len(limits) or any(n >= limit for n, limit in zip(index, limits)):
            return  # a chunk of a series that was shortened is not read
        names = [codec.codec_id for codec in self.codecs]
        with reading(path):
            if "blosc" in names[-2:]:
                self.compare_header(path, CHECKSUM if names[-1] == "crc32" else 0)
            if decode:
                self.decode(path)

    def compare_header(self, path: Path, begin: int):
        """Compare the length of a file with what its header, which begins at a byte, says."""
        length = path.stat().st_size
        with open(path, "rb") as file:
            file.seek(begin)
            header = file.read(BLOSC_HEADER)
        if len(header) < BLOSC_HEADER:
            raise Damaged(path, f"it has {length:,} bytes, fewer than its header")
        compressed = int.from_bytes(header[-4:], "little")
        if begin + compressed != length:
            raise Damaged(path, f"it has {length:,} of {begin + compressed:,} bytes")

    def decode(self, path: Path):
        """Compare the checksum of a chunk, or decompress one that has none."""
        values = path.read_bytes()
        for codec in reversed(self.codecs):
            is_checksum = codec.codec_id == "crc32"
            try:
                values = codec.decode(values)
            except Exception as error:  # codecs raise what they like
                reason = "its checksum does not match" if is_checksum else f"it cannot be decompressed ({error})"
                raise Damaged(path, reason) from error
            if is_checksum:
                return
        if self.array.dtype != object and memoryview(values).nbytes != self.nbytes:
            raise Damaged(path, f"it does not hold {self.nbytes:,} bytes")


# --- sizes and checksums in run.json ----------------------------------------------------------------------------------

FILES = "files"  # key of run.json: name -> [bytes, SHA-256 in hexadecimal digits]
ARRAYS = "chunks"  # key of run.json: folder of an array -> number of its chunks, and their seal
SCENARIOS = ("scenario.toml", "scenarios")  # written once: a run that goes on leaves them
# what bears or lists checksums itself, or no results
ELSEWHERE = ("run.json", "checkpoints", "inputs", "shots", "jobs", "report.html")
SHA256 = re.compile(r"[0-9a-f]{64}")
PNG_BEGIN = b"\x89PNG\r\n\x1a\n"


def digests_of(out, names):
    """Return what run.json says of the files that are in OUT now, below files and folders of some names: dict of ``files``
    and ``chunks``, which are only counted.
    """
    out, files, arrays = Path(out), {}, {}
    for name in sorted(set(names) - set(ELSEWHERE)):
        for place, _, inside in os.walk(out / name):
            folder, is_array = Path(place), ".zarray" in inside
            for file in sorted(inside):
                if not is_array or file in METADATA:
                    files[str((folder / file).relative_to(out))] = row_of(folder / file)
            if is_array:
                chunks = list(filter(CHUNK_NAME.fullmatch, inside))
                arrays[str(folder.relative_to(out))] = [len(chunks), seal(folder, chunks)]
        if (out / name).is_file() and not name.endswith(".png"):
            files[name] = row_of(out / name)
    return {FILES: files, ARRAYS: arrays}


def seal(folder, names):
    """Return the SHA-256 of the names of chunks with the first and last bytes of each, one of which
    are its checksum: chunks that were exchanged have another one.

    Parameters
    ----------
    folder : Path
    names : list of str
    """
    total = hashlib.sha256()
    for name in sorted(names):
        with open(folder / name, "rb") as file:
            begin = file.read(CHECKSUM)
            file.seek(max(0, os.fstat(file.fileno()).st_size - CHECKSUM))
            total.update(f"{name}\0".encode() + begin + file.read(CHECKSUM))
    return total.hexdigest()


def row_of(path):
    """Return size and checksum of a file: list of int and str."""
    return [os.stat(path).st_size, digest_of_file(path)]


def scenarios_of(files):
    """Return the rows of scenarios, which a run that goes on does not write again.

    Parameters
    ----------
    files : dict
        Of run.json.
    """
    return {name: row for name, row in files.items() if name.split("/")[0] in SCENARIOS}


def rows_of(run):
    """Return the checksums of files and the numbers of chunks, with their seals, that a run.json
    states: two dicts of rows of two; what no run has written is left out.

    Parameters
    ----------
    run : dict
    """
    files, arrays = run.get(FILES), run.get(ARRAYS)
    files = files if isinstance(files, dict) else {}
    arrays = arrays if isinstance(arrays, dict) else {}
    return tuple(
        {name: row for name, row in rows.items() if _is_inside(name) and _is_row(row)} for rows in (files, arrays)
    )


def _is_inside(name):
    """Return True for the name of a file that does not lead out of its folder."""
    return not os.path.isabs(name) and ".." not in Path(name).parts and "\0" not in name


def _is_row(row):
    """Return True for a number and a checksum."""
    return (
        isinstance(row, list)
        and len(row) == 2
        and type(row[0]) is int
        and isinstance(row[1], str)
        and SHA256.fullmatch(row[1]) is not None
    )


def check_files(out, files):
    """Compare files of OUT with their sizes and checksums.

    Parameters
    ----------
    out : path-like
    files : dict
        Of `rows_of`.

    Raises
    ------
    Damaged
        Of the first one that is not as it was.
    """
    for name, (nbytes, expected) in files.items():
        check_file(Path(out) / name, nbytes, expected)


def check_chunks(out, arrays, sealed=True):
    """Compare the numbers of chunks of arrays of OUT, and their seals.

    Parameters
    ----------
    out : path-like
    arrays : dict
        Of `rows_of`.
    sealed : bool
        Compare the seals, for which each chunk is opened.

    Raises
    ------
    Damaged
    """
    for name, (count, stated) in arrays.items():
        folder = Path(out) / name
        with reading(folder):
            present = list(filter(CHUNK_NAME.fullmatch, os.listdir(folder)))
            if len(present) < count:
                raise Damaged(folder, f"it has {len(present):,} of {count:,} chunks")
            if sealed and len(present) == count and seal(folder, present) != stated:
                raise Damaged(folder, "its chunks are not those that were written, or exchanged")


def check_picture(path):
    """Compare the parts of a PNG file with the checksums that they bear.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    Damaged
    """
    with reading(path):
        contents = Path(path).read_bytes()
    place = len(PNG_BEGIN)
    if contents[:place] != PNG_BEGIN:
        raise Damaged(path, "it is no PNG file")
    while place < len(contents):
        end = place + 8 + int.from_bytes(contents[place : place + 4])
        stated = contents[end : end + 4]
        if len(stated) < 4 or zlib.crc32(contents[place + 4 : end]) != int.from_bytes(stated):
            raise Damaged(path, "its checksum does not match")
        place = end + 4
    if contents[-8:-4] != b"IEND":
        raise Damaged(path, "its end is missing")
