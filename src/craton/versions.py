"""Versions of installed packages, for the record of a run."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

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
