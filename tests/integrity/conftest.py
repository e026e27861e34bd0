"""Runs that the tests of integrity copy and damage."""

import shutil

import pytest
from damagecase import interrupted, small

import craton


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A run that was interrupted twice, with two checkpoints, in `out`; the same run not interrupted in `whole`."""
    folder = tmp_path_factory.mktemp("runs")
    craton.run(small(), out=folder / "whole", progress=False)
    interrupted(craton.run, small(), out=folder / "out", stop=[20])
    interrupted(craton.resume, folder / "out", stop=[40])
    return folder


@pytest.fixture
def out(runs, tmp_path):
    """A copy of the interrupted run."""
    return shutil.copytree(runs / "out", tmp_path / "out")


@pytest.fixture
def single(out):
    """A copy of it with the last checkpoint only."""
    shutil.rmtree(out / "checkpoints" / "step_000000021")
    return out
