"""Versions of installed packages and the commit of craton, for the record of a run."""

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parent

# with every run and benchmark
RECORDED = ("craton", "numpy", "mpi4py", "cupy-cuda13x", "cupy-cuda12x")


def versions(*names):
    """{name: version} of those packages that are installed; without names, of those that are
    recorded with every run.
    """
    installed = {name: _version(name) for name in names or RECORDED}
    return {name: number for name, number in installed.items() if number}


@cache
def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:  # craton run from its sources, an extra that is not there
        return ""


@cache
def source_commit():
    """Return the commit of this craton: str, or None where nobody knows it.

    It stands in the file COMMIT, of the package in a wheel (`setup.py` writes it) and at the root of
    a copied source tree; in a clone git says it, with ``-dirty`` where files have changed since.
    """
    root = PACKAGE.parents[1]
    for path in (PACKAGE / "COMMIT", root / "COMMIT"):
        if path.is_file():
            return path.read_text(encoding="utf-8").strip() or None
    if not (root / ".git").exists():  # installed: the repository around it is another one
        return None
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def described_version():
    """Return version and commit of craton in words: ``"0.1.0, commit 8f686bf"``."""
    number, commit = _version("craton"), source_commit()
    return ", ".join(([number] if number else []) + ([f"commit {commit}"] if commit else []))
