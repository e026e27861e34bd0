"""What a store of Green's functions costs is told before; a build that ends early goes on; disks that are too small are refused."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from test_greens import PLANE, scenario

from craton import greens
from craton.cli.app import main
from craton.errors import ResourceError
from craton.greens import store
from craton.scenario import dumps

SHORT = PLANE | {"time": {"duration": 0.4}}
AT = (1000, -400)


def test_a_build_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    """Forces that are there are kept as they are; half a file of a killed process is none."""
    valley = scenario(SHORT, AT, tau=0.1)
    whole = greens.build(valley, tmp_path / "whole", workers=1, progress=False)
    ran, perform = [], store.GreensTask.perform

    def interrupted(self, log):
        if ran:
            raise KeyboardInterrupt
        ran.append(self.name)
        return perform(self, log)

    monkeypatch.setattr(store.GreensTask, "perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        greens.build(valley, tmp_path / "part", workers=1, progress=False)
    values = tmp_path / "part" / "result.zarr" / "values"
    kept = os.stat(values / "0.0.0").st_mtime_ns
    (values / "1.0.0.part").write_bytes(b"half")
    monkeypatch.setattr(store.GreensTask, "perform", perform)
    part = greens.build(valley, tmp_path / "part", workers=1, progress=False)
    assert os.stat(values / "0.0.0").st_mtime_ns == kept
    quake = list(valley.source)
    expected = whole.seismograms(quake).velocity.values
    np.testing.assert_array_equal(part.seismograms(quake).velocity.values, expected)


def test_plans_and_builds_say_what_a_point_takes(tmp_path, capsys):
    """As many bytes as the files then have."""
    path = tmp_path / "valley.toml"
    path.write_text(dumps(scenario(SHORT, AT, tau=0.1)))
    assert main(["plan", str(path)]) == 0
    told = capsys.readouterr().out
    assert "Green's functions: about" in told
    assert main(["greens", "build", str(path), "-o", str(tmp_path / "out"), "--workers", "1"]) == 0
    said = next(line for line in told.splitlines() if "points of the grid" in line)
    words = said.replace(",", "").replace(";", "").split()
    files = (tmp_path / "out" / "result.zarr" / "values").glob("[0-9]*")
    points, nbytes = int(words[1]), int(words[-4])
    assert points * nbytes == sum(file.stat().st_size - 4 for file in files)
    assert said in capsys.readouterr().out


def test_a_disk_that_is_too_small_is_refused(tmp_path, monkeypatch):
    """Before anything runs, and with what helps."""
    free = SimpleNamespace(free=1000)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: free)
    with pytest.raises(ResourceError, match="16 bits"):
        greens.build(scenario(SHORT, AT, tau=0.1), tmp_path / "out", workers=1, progress=False)
    assert not (tmp_path / "out").exists()
