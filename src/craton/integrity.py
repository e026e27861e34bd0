"""Checksums of what is written, and checks of what is read back: JSON files that bear their own
checksum, files of arrays by SHA-256, limits before anything is parsed.
"""

import hashlib
import json
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path

from craton.errors import ResourceError

JSON_BYTES = 64 << 20  # of a JSON file that is read, at most: 100,000 ranks need 20 MB
KEY = "checksum"  # the last key of a sealed file


class Damaged(ResourceError):
    """A file is not as it was written."""

    def __init__(self, path: Path | str, reason: str, remedy: str = ""):
        self.path, self.reason = Path(path), reason
        super().__init__(f"{path} is damaged: {reason}" + f"\n    {remedy}" * bool(remedy))


@contextmanager
def reading(path):
    """Inside, a file that the system cannot read is a damaged one."""
    try:
        yield
    except OSError as error:
        raise Damaged(path, error.strerror or str(error)) from error


@contextmanager
def writing(noun, hint=""):
    """Inside, what the system cannot write is a ResourceError: `noun` could not be written, and why."""
    try:
        yield
    except OSError as error:
        raise ResourceError(f"could not write {noun}: {error.strerror or error}{hint}") from error


def sealed(fields):
    """Return a dict as JSON text with the checksum of all that stands before it.

    Parameters
    ----------
    fields : dict
        Of what JSON holds, finite numbers only.
    """
    fields = {key: value for key, value in fields.items() if key != KEY}
    text = json.dumps(fields, indent=1, allow_nan=False)
    return json.dumps(fields | {KEY: digest(text)}, indent=1, allow_nan=False) + "\n"


def digest(text):
    """Return the SHA-256 of a text, in hexadecimal digits.

    Parameters
    ----------
    text : str
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_json(path):
    """Return the object of a JSON file, whether it is sealed or not.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict

    Raises
    ------
    Damaged
        It is no JSON object, or longer than `JSON_BYTES`.
    FileNotFoundError
    """
    return _parsed(path, _text(path))


def unsealed(path):
    """Return the fields of a file that `sealed` wrote; every byte is checked.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        Without the checksum.

    Raises
    ------
    Damaged
        It is not as it was written.
    FileNotFoundError
    """
    text = _text(path)
    fields = _parsed(path, text)
    if KEY not in fields:
        raise Damaged(path, "it has no checksum")
    try:
        same = sealed(fields) == text
    except ValueError:  # a number that is not finite
        same = False
    if not same:
        raise Damaged(path, "its checksum does not match")
    return {key: value for key, value in fields.items() if key != KEY}


def _text(path):
    """Return the text of a regular file of bounded size: a pipe would wait for a writer."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise Damaged(path, "it is no file")
        with open(path, "rb") as file:
            contents = file.read(JSON_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Damaged(path, error.strerror or str(error)) from error
    if len(contents) > JSON_BYTES:
        raise Damaged(path, f"it is longer than {JSON_BYTES >> 20} MiB")
    try:
        return contents.decode()
    except ValueError as error:
        raise Damaged(path, "it is no text") from error


def _parsed(path, text):
    """Return a text as a JSON object."""
    try:
        fields = json.loads(text)
    except RecursionError as error:
        raise Damaged(path, "it is nested too deeply") from error
    except ValueError as error:
        raise Damaged(path, f"it is no JSON ({error})" if text else "it is empty") from error
    if not isinstance(fields, dict):
        raise Damaged(path, f"it holds no JSON object but a {type(fields).__name__}")
    return fields


def digest_of_file(path):
    """Return the SHA-256 of a file, in hexadecimal digits.

    Parameters
    ----------
    path : path-like
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_file(path, nbytes, expected):
    """Compare a file with its size and checksum.

    Parameters
    ----------
    path : path-like
    nbytes : int
    expected : str
        SHA-256 in hexadecimal digits.

    Raises
    ------
    Damaged
    """
    with reading(path):
        there = os.stat(path).st_size
        if there != nbytes:
            raise Damaged(path, f"it has {there:,} of {nbytes:,} bytes")
        if digest_of_file(path) != expected:
            raise Damaged(path, "its checksum does not match")


def replace_file(path, text):
    """Write a text file through a temporary one beside it: a reader sees the old or the new one.

    Parameters
    ----------
    path : path-like
    text : str

    Raises
    ------
    OSError
        Nothing is left of the temporary file.
    """
    path = Path(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def sync_folder(path):
    """Wait until the names in a folder are on disk, where the system can say so.

    Parameters
    ----------
    path : path-like
    """
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
