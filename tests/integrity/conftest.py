"""Runs that the tests of integrity copy and damage."""

import pytest
from damagecase import interrupted, small

import craton


@pytest.fixture(scope="session")
def left(tmp_path_factory):
    """A run that was interrupted twice, with two checkpoints, in `out`; the same run not interrupted in `whole`."""
    folder = tmp_path_factory.mktemp("left")
    craton.run(small(), out=folder / "whole", progress=False)
    interrupted(craton.run, small(), out=folder / "out", stop=[20])
    interrupted(craton.resume, folder / "out", stop=[40])
    return folder
