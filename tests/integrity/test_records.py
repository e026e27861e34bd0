"""Waveforms of long and large runs: written as the run goes on, in blocks of receivers, from samples in a file; memory as planned."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import smallcase
from common import linux, manifest, refused
from damagecase import small
from paths import ROOT

import craton
from craton import lock
from craton.core import plan as limits
from craton.driver import records
from craton.errors import ResourceError

ALL = 'output.waveforms=["velocity", "displacement", "pressure"]'


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run whose waveforms were written once, in one block."""
    out, scenario = tmp_path_factory.mktemp("whole") / "out", small(run=[ALL, "time.duration=3", "snapshots=[]"])
    craton.run(scenario, out=out, progress=False)
    return scenario, out


def same_waveforms(results, expected):
    """Equal in names, coordinates, types and every bit of the values."""
    a, b = smallcase.opened(results), smallcase.opened(expected)
    assert a.sizes == b.sizes and list(a.variables) == list(b.variables)
    for name in a.variables:
        assert a[name].dtype == b[name].dtype and a[name].attrs == b[name].attrs
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


def test_blocks_of_receivers_and_samples_in_a_file(whole, tmp_path, monkeypatch):
    """Four receivers in two blocks, samples in a file without a name: the same store and files."""
    (scenario, out), blocks = whole, tmp_path / "out"
    monkeypatch.setattr(limits, "RECORD_BLOCK", 2 * 7 * 4 * craton.plan(scenario).steps)
    monkeypatch.setattr(limits, "RECORD_IN_MEMORY", 1000)
    monkeypatch.setattr("craton.io.miniseed.BLOCK_BYTES", 1000)
    result = craton.run(scenario, out=blocks, progress=False)
    assert isinstance(result.samples, np.memmap) and len(list(records.blocks(result))) == 2
    same_waveforms(blocks, out)
    assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in blocks.iterdir())
    obspy = pytest.importorskip("obspy")
    traces, expected = (obspy.read(folder / "waveforms.mseed").sort() for folder in (blocks, out))
    assert [t.id for t in traces] == [t.id for t in expected]
    assert all(np.array_equal(a.data, b.data) for a, b in zip(traces, expected))
    channels, expected = (obspy.read_inventory(folder / "stations.xml").get_contents() for folder in (blocks, out))
    assert channels["channels"] == expected["channels"]


def test_waveforms_are_there_while_the_run_goes_on(whole, tmp_path, monkeypatch):
    """Whoever opens the store sees series that grow and are parts of the final ones, also with consolidated metadata."""
    scenario, out = whole
    answers, seen, write = iter([False, True, True]), [], records.Waveforms.write
    monkeypatch.setattr(records.Waveforms, "due", lambda self: next(answers, False))

    def counted(self, samples):
        write(self, samples)
        # of one that goes on: what is on disk now, as another process would find it
        dataset = smallcase.opened(tmp_path / "out")
        seen.append((len(samples), dataset.sizes["time"], dataset.velocity.values))

    monkeypatch.setattr(records.Waveforms, "write", counted)
    craton.run(scenario, out=tmp_path / "out", progress=False)
    assert len(seen) == 2 and 0 < seen[0][0] < seen[1][0]
    final = smallcase.opened(out).velocity.values
    for recorded, written, values in seen:
        early = max(1, written // 2)  # what is later still changes by the correction of its end
        assert recorded == written
        assert np.abs(values[..., :early] - final[..., :early]).max() < 2e-2 * np.abs(final).max()
    same_waveforms(tmp_path / "out", out)


def test_waveforms_are_due_by_time_and_cost(monkeypatch):
    """At least every 30 s, less often only where writing takes more than a twentieth of the time."""
    clock = [0.0]
    monkeypatch.setattr(records.time, "perf_counter", lambda: clock[0])
    waveforms = records.Waveforms(None, None, None)
    for spent, interval in ((0.0, 30), (1.0, 30), (5.0, 100)):
        waveforms.written, waveforms.spent = clock[0], spent
        clock[0] += interval - 0.1
        assert not waveforms.due()
        clock[0] += 0.2
        assert waveforms.due()


def test_a_disk_without_room_for_the_samples_is_refused(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "RECORD_IN_MEMORY", 1000)
    reserve, out = os.posix_fallocate, tmp_path / "out"

    def full(descriptor, at, size):
        if size != lock.RESERVE_BYTES:
            raise OSError(28, os.strerror(28))
        reserve(descriptor, at, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    words = ["the record needs ", " GiB in ", ": No space left"]
    refused(ResourceError, words, craton.run, whole[0], out=out, progress=False)
    assert manifest(out)["state"] == "failed"


@linux
@pytest.mark.long
def test_memory_of_many_records_is_planned(tmp_path):
    """Within 5 % of what the command takes: 200 receivers of 3,200 steps on a small grid."""
    changes = ["domain.spacing=300", "boundaries={top='rigid', others='rigid'}", "snapshots=[]"]
    line = "receivers=[{{name='L', line={{from=[200, 1500, -100], to=[2800, 1500, -100], count={}}}}}]"
    words = [sys.executable, ROOT / "bench" / "peak_memory.py", smallcase.write(tmp_path), "out"]
    words += ["--set", *changes, "time.duration=150", line.format(200)]
    words += ["--warm", *changes, "time.duration=1", line.format(2)]
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    memory = json.loads(done.stdout.splitlines()[-1])
    assert abs(memory["measured"] / memory["planned"] - 1) < 0.05, memory
