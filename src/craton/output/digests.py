"""Sizes and checksums, in run.json, of the files of OUT that have none of their own: scenarios,
waveforms for other programs, metadata of stores; and how many chunks each array has, and which.

Chunks of stores and pictures bear checksums themselves; checkpoints and inputs have theirs in their
own tables.
"""

import hashlib
import os
import re
import zlib
from pathlib import Path

from craton.integrity import Damaged, check_file, digest_of_file, reading
from craton.output.inspection import CHECKSUM, CHUNK_NAME, METADATA

FILES = "files"  # key of run.json: name -> [bytes, SHA-256 in hexadecimal digits]
ARRAYS = "chunks"  # key of run.json: folder of an array -> number of its chunks, and their seal
SCENARIOS = ("scenario.toml", "scenarios")  # written once: a run that goes on leaves them
# what bears or lists checksums itself, or no results
ELSEWHERE = ("run.json", "checkpoints", "inputs", "shots", "jobs", "report.html")
SHA256 = re.compile(r"[0-9a-f]{64}")
PNG_BEGIN = b"\x89PNG\r\n\x1a\n"


def digests_of(out, names):
    """Return what run.json says of the files that are in OUT now.

    Parameters
    ----------
    out : path-like
    names : sequence of str
        Files and folders of OUT that a run writes.

    Returns
    -------
    dict
        ``files`` and ``chunks``.
    """
    out, files, arrays = Path(out), {}, {}
    for name in sorted(set(names) - set(ELSEWHERE)):
        for folder, _, inside in os.walk(out / name):
            _note_folder(out, Path(folder), inside, files, arrays)
        if (out / name).is_file() and not name.endswith(".png"):
            files[name] = row_of(out / name)
    return {FILES: files, ARRAYS: arrays}


def _note_folder(out, folder, inside, files, arrays):
    """Note the files of a folder; chunks of an array are only counted."""
    is_array = ".zarray" in inside
    for file in sorted(inside):
        if not is_array or file in METADATA:
            files[str((folder / file).relative_to(out))] = row_of(folder / file)
    if is_array:
        names = list(filter(CHUNK_NAME.fullmatch, inside))
        arrays[str(folder.relative_to(out))] = [len(names), seal(folder, names)]


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
