"""Versions of installed packages, for the record of a run."""
from importlib.metadata import PackageNotFoundError, version


def versions(*names):
    """{name: version} of those packages that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # craton run from its sources, an extra that is not there
            continue
    return found
