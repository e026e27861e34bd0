"""The files that a scenario names, kept beside its results: OUT/inputs, with their checksums.

A run folder then says by itself what was computed: it can be moved, plotted, resumed and run again
when the files that the scenario was written for are gone.
"""

import hashlib
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from craton.errors import ResourceError
from craton.io import objects
from craton.tables.document import dumps, named_files, tables_as_toml, tables_of

FOLDER = "inputs"
LIMIT = 256 << 20  # bytes: a larger file (or folder) is not copied, its checksum is noted


@dataclass(frozen=True)
class Input:
    """A file or folder that a scenario names.

    Parameters
    ----------
    key : str
        Key of the scenario that names it first.
    path : str
        Where it was found, absolute.
    name : str
        Its name in OUT/inputs; empty where it is too large to be copied.
    tables : dict or None
        What it holds, where it is a scenario itself, with absolute paths.
    """

    key: str
    path: str
    name: str
    tables: dict | None = None


class Inputs:
    """The files that one or several scenarios name.

    Names are those of the files, numbered where two files of different folders share one. Scenarios
    that already refer to copies in OUT/inputs keep their names.

    Parameters
    ----------
    *scenarios : Scenario
    limit : int, optional
        Bytes above which a file is not copied.
    """

    def __init__(self, *scenarios, limit=None):
        self.limit, self.by_path = LIMIT if limit is None else limit, {}
        for scenario in scenarios:
            self._add(tables_of(scenario))

    def _add(self, tables, prefix=""):
        for table, key, dotted in named_files(tables):
            path = table[key]
            if path in self.by_path or key in ("observed", "recorded"):  # as large as results: they stay there
                continue
            nested = _scenario_tables(path)
            temporary = objects.is_temporary(path)  # it goes with this process: no size is too large
            copied = nested is not None or temporary or _size(path) <= self.limit
            name = self._free_name(Path(path).name) if copied else ""
            self.by_path[path] = Input(prefix + dotted, path, name, nested)
            if nested is not None:
                self._add(nested, f"{prefix}{dotted}: ")

    def _free_name(self, name):
        taken = {item.name for item in self.by_path.values()}
        return next(text for text in (name, *(f"{n}_{name}" for n in range(2, len(taken) + 3))) if text not in taken)

    def files(self, folder):
        """Return what stands in place of each absolute path: dict.

        Parameters
        ----------
        folder : str
            OUT/inputs as seen from the folder of the scenario: ``"inputs"``; ``""`` in it.
        """
        return {
            item.path: f"{folder}/{item.name}" if folder else item.name for item in self.by_path.values() if item.name
        }

    def text(self, scenario, folder=FOLDER):
        """Return a scenario as TOML that refers to the copies: str.

        Parameters
        ----------
        scenario : Scenario
        folder : str
            As of `files`.
        """
        return dumps(scenario, self.files(folder))

    def keep(self, out):
        """Copy the files to OUT/inputs and return what run.json says of them: list of dict.

        Other files in OUT/inputs, of an earlier run, are removed.

        Parameters
        ----------
        out : path-like

        Raises
        ------
        ResourceError
            A file cannot be read or written.
        """
        folder = Path(out) / FOLDER
        aside = folder.with_name(f".{FOLDER}")
        try:
            _remove(aside)
            for item in self.by_path.values():
                self._copy(item, aside)
            records = [_record(item, aside) for item in self.by_path.values()]
            _remove(folder)
            if aside.exists():
                aside.rename(folder)
        except OSError as error:
            raise ResourceError(f"could not copy the files of the scenario to {folder}: {error}") from error
        return records

    def _copy(self, item, folder):
        if not item.name:
            return
        folder.mkdir(exist_ok=True)
        if item.tables is not None:
            files, tables = self.files(""), item.tables
            for table, key, _ in named_files(tables):
                table[key] = files.get(table[key], table[key])
            (folder / item.name).write_text(tables_as_toml(tables), encoding="utf-8")
        elif Path(item.path).is_dir():
            shutil.copytree(item.path, folder / item.name)
        else:
            shutil.copyfile(item.path, folder / item.name)


def changed(out, records):
    """Yield the inputs of a run that are gone or are not what they were, in words.

    Parameters
    ----------
    out : path-like
    records : list of dict
        As run.json has them: what `Inputs.keep` returned.

    Yields
    ------
    str
    """
    for entry in records:
        path = Path(out) / entry["file"] if entry["file"] else Path(entry["from"])
        if not path.exists():
            yield f"{path} ({entry['key']}) is gone"
        elif checksum(path) != entry["sha256"]:
            yield f"{path} ({entry['key']}) has changed since the run began"


def checksum(path):
    """Return the SHA-256 of a file, or of the names and contents of a folder, hexadecimal.

    Parameters
    ----------
    path : path-like
    """
    path, digest = Path(path), hashlib.sha256()
    for file in _members(path):
        if path.is_dir():
            digest.update(f"{file.relative_to(path).as_posix()}\0".encode())
        with open(file, "rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()


def _record(item, folder):
    path = folder / item.name if item.name else Path(item.path)
    return {
        "key": item.key,
        "from": item.path,
        "file": f"{FOLDER}/{item.name}" if item.name else None,
        "bytes": _size(path),
        "sha256": checksum(path),
    }


def _members(path):
    """Files of a folder in a fixed order; the file itself."""
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _size(path):
    """Bytes of a file or folder; 0 where it is gone."""
    path = Path(path)
    return sum(os.path.getsize(file) for file in _members(path)) if path.exists() else 0


def _scenario_tables(path):
    """Tables of a file that is a scenario itself, with absolute paths; None of any other file."""
    if not path.endswith(".toml"):
        return None
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return None
    for table, key, _ in named_files(tables):
        table[key] = os.path.join(os.path.dirname(path), os.path.expanduser(table[key]))
    return tables


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path)
