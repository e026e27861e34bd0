"""Versions of installed packages, for the record of a run."""

from importlib.metadata import PackageNotFoundError, version

# with every run and benchmark
RECORDED = ("craton", "numpy", "mpi4py", "cupy-cuda13x", "cupy-cuda12x")


def versions(*names):
    """{name: version} of those packages that are installed; without names, of those that are
    recorded with every run.
    """
    found = {}
    for name in names or RECORDED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # craton run from its sources, an extra that is not there
            continue
    return found
