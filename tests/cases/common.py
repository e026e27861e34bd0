"""What tests of every part share: a scenario from tables, an expected error, relative differences, what a machine may lack."""

import copy
import json
import os
import re
import subprocess
import sys
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'craton[mpi]'")
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


def edited(tables, **changes):
    """A deep copy of nested tables with dotted keys replaced: edited(BASE, run__order=4, source=[...]); None removes one."""
    made = copy.deepcopy(tables)
    for key, value in changes.items():
        *above, last = key.split("__")
        place = made
        for name in above:
            place = place.setdefault(name, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return made


def refused(error, words, function, *arguments, **options):
    """The message of the error that a call must end with; each of the words (a text or several) stands in it."""
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    for word in [words] if isinstance(words, str) else words:
        assert word in message, message
    return message


def difference(values, expected):
    """Greatest absolute difference as a share of the greatest expected value."""
    values, expected = np.asarray(values, float), np.asarray(expected, float)
    assert values.shape == expected.shape and np.isfinite(expected).all() and np.abs(expected).max() > 0
    return np.abs(values - expected).max() / np.abs(expected).max()


def misfit(values, expected):
    """Norm of the difference over the norm of what is expected (relative L2)."""
    values, expected = np.asarray(values, float), np.asarray(expected, float)
    assert values.shape == expected.shape and np.abs(expected).max() > 0
    return np.linalg.norm(values - expected) / np.linalg.norm(expected)


def tiers(names, *short):
    """Parameters of which all but a few are `long`."""
    return [name if name in short else pytest.param(name, marks=pytest.mark.long) for name in names]


def manifest(out):
    """What run.json of a folder says."""
    return json.loads((Path(out) / "run.json").read_text())


def stored(out, group=None):
    """A group of the result in a folder, read into memory."""
    import xarray

    return xarray.open_zarr(Path(out) / "result.zarr", group=group).load()


def craton_command(*words, folder=None, timeout=300, code=0, **environment):
    """Run `craton WORDS` in a process; CompletedProcess with texts, whose exit code must be `code` (None: any)."""
    done = subprocess.run(
        [sys.executable, "-m", "craton", *map(str, words)],
        cwd=folder,
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        timeout=timeout,
    )
    assert code is None or done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def plain(text):
    """A text without the escape codes of a terminal and with single spaces."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).split())


def peak(work):
    """Most bytes that were allocated during some work beyond those before, the second time that it is done."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
