"""Manifests of checkpoints: read back with their checksum, format and the limits of every value."""

import re

from craton.driver.checkpoint import FORMAT, MANIFEST, RECORD
from craton.errors import Problem, ScenarioError
from craton.integrity import KEY, Damaged, read_json, unsealed

MOST_STEPS = 10**10
MOST_RANKS = 10**6
NAME = re.compile(r"record\.npy|rank_\d{1,7}/\w{1,100}\.npy")
SHA256 = re.compile(r"[0-9a-f]{64}")


def read_manifest(folder):
    """Return the manifest of a checkpoint: checksum, format and limits of its values are checked.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict

    Raises
    ------
    Damaged
        It is not as it was written.
    ScenarioError
        Another version of craton wrote it.
    """
    path = folder / MANIFEST
    try:
        fields = read_json(path)
    except FileNotFoundError as error:
        raise Damaged(path, "it is missing") from error
    sealed_fields = unsealed(path) if KEY in fields else fields
    number = sealed_fields.get("format", 1 if KEY not in fields and "step" in fields else None)
    if is_integer(number, 1, 1000) and number != FORMAT:
        raise ScenarioError(
            [
                Problem(
                    "OUT",
                    f"the checkpoint has format {number}, this version of craton reads format {FORMAT}",
                    "go on with the version that wrote it, or run scenario.toml anew",
                )
            ]
        )
    if KEY not in fields:
        raise Damaged(path, "it has no checksum")
    wrong = wrong_values(sealed_fields)
    if wrong:
        raise Damaged(path, f"its {', '.join(wrong)} cannot be right")
    if f"step_{sealed_fields['step']:09d}" != folder.name:
        raise Damaged(path, f"it is of step {sealed_fields['step']}, its folder is {folder.name}")
    return sealed_fields


def wrong_values(fields):
    """Return the keys of a manifest whose values are missing, of another type or beyond limits.

    Parameters
    ----------
    fields : dict
    """
    steps, ranks = fields.get("steps"), fields.get("ranks")
    rules = {
        "steps": is_integer(steps, 1, MOST_STEPS),
        "step": is_integer(fields.get("step"), 1, steps if is_integer(steps, 1, MOST_STEPS) else 0),
        "dt": is_number(fields.get("dt")) and fields["dt"] > 0,
        "start": is_number(fields.get("start")),
        "precision": fields.get("precision") in ("float32", "float64"),
        "ranks": is_integer(ranks, 1, MOST_RANKS),
        "subdomains": are_fingerprints(fields.get("subdomains"), ranks),
        "fields": are_places(fields.get("fields"), ranks),
        "scenario": is_text(fields.get("scenario"), SHA256),
        "versions": isinstance(fields.get("versions"), dict)
        and all(isinstance(version, str) for version in fields["versions"].values()),
        "files": are_files(fields.get("files"), ranks),
    }
    return [key for key, right in rules.items() if not right]


def is_integer(value, low, high):
    """Return True for a whole number within limits, both included."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_number(value):
    """Return True for a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def is_text(value, pattern):
    """Return True for a text that fits a pattern."""
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def are_fingerprints(rows, ranks):
    """Return True for lists of integers, one for each rank."""
    return (
        isinstance(rows, list)
        and len(rows) == ranks
        and all(isinstance(row, list) and len(row) == 8 for row in rows)
        and all(is_integer(value, -(1 << 63), 1 << 63) for row in rows for value in row)
    )


def are_places(rows, ranks):
    """Return True for nothing, or first element and shape of each field, for each rank."""
    if not isinstance(rows, list) or len(rows) != ranks:
        return False
    places = [place for row in rows if isinstance(row, dict) for place in row.values()]
    return all(row is None or isinstance(row, dict) for row in rows) and all(
        isinstance(place, list) and 2 <= len(place) <= 3 and all(is_integer(value, 0, 1 << 50) for value in place)
        for place in places
    )


def are_files(files, ranks):
    """Return True for a record and files of ranks below `ranks`, each with size and checksum; a
    name leads nowhere else.
    """
    if not isinstance(files, dict) or RECORD not in files:
        return False
    for name, file in files.items():
        if not is_text(name, NAME) or not isinstance(file, dict):
            return False
        if name != RECORD and int(name[5:].split("/")[0]) >= ranks:
            return False
        if not is_integer(file.get("bytes"), 1, 1 << 60) or not is_text(file.get("sha256"), SHA256):
            return False
    return True
