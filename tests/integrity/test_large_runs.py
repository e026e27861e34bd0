"""Long and large runs: waveforms are written as the run goes on, in blocks of receivers, from samples in a file; memory is as planned."""

import json
import os
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import benchscript
import numpy as np
import pytest
import smallcase
from common import linux, manifest, peak, refused
from damagecase import small
from paths import ROOT

import craton
from craton import lock
from craton.core import plan as limits
from craton.driver.observers import record as records
from craton.driver.observers.record import Waveforms, time
from craton.errors import ResourceError
from craton.memory import array_bytes
from craton.methods.spectral_element import build

memory = benchscript.load("cases.memory")
QUANTITIES = 'output.waveforms=["velocity", "displacement", "pressure"]'
SCENARIO = small(run=[QUANTITIES, "time.duration=3", "snapshots=[]"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run whose waveforms were written once, in one block."""
    out = tmp_path_factory.mktemp("whole") / "out"
    craton.run(SCENARIO, out=out, progress=False)
    return out


def same_waveforms(results, expected):
    """Equal in names, coordinates, types and every bit of the values."""
    a, b = smallcase.opened(results), smallcase.opened(expected)
    assert a.sizes == b.sizes and list(a.variables) == list(b.variables)
    for name in a.variables:
        assert a[name].dtype == b[name].dtype and a[name].attrs == b[name].attrs
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


def test_blocks_of_receivers_and_samples_in_a_file(whole, tmp_path, monkeypatch):
    """Four receivers in two blocks, samples in a file without a name: the same store and files."""
    blocks = tmp_path / "out"
    monkeypatch.setattr(limits, "RECORD_BLOCK", 2 * 7 * 4 * craton.plan(SCENARIO).steps)
    monkeypatch.setattr(limits, "RECORD_IN_MEMORY", 1000)
    monkeypatch.setattr("craton.io.seismograms.BLOCK_BYTES", 1000)
    result = craton.run(SCENARIO, out=blocks, progress=False)
    assert isinstance(result.samples, np.memmap) and len(list(records.blocks(result))) == 2
    same_waveforms(blocks, whole)
    assert sorted(p.name for p in whole.iterdir()) == sorted(p.name for p in blocks.iterdir())
    obspy = pytest.importorskip("obspy")
    traces, expected = (obspy.read(folder / "waveforms.mseed").sort() for folder in (blocks, whole))
    assert [t.id for t in traces] == [t.id for t in expected]
    assert all(np.array_equal(a.data, b.data) for a, b in zip(traces, expected))
    channels, expected = (obspy.read_inventory(folder / "stations.xml").get_contents() for folder in (blocks, whole))
    assert channels["channels"] == expected["channels"]


def test_waveforms_are_there_while_the_run_goes_on(whole, tmp_path, monkeypatch):
    """Whoever opens the store sees series that grow and are parts of the final ones, also with consolidated metadata."""
    answers, recorded, series, write = iter([False, True, True]), [], [], Waveforms.write
    monkeypatch.setattr(Waveforms, "due", lambda self, step: next(answers, False))

    def noted(self, step):
        write(self, step)
        # of one that goes on: what is on disk now, as another process would find it
        recorded.append(step)
        series.append(smallcase.opened(tmp_path / "out").velocity.values)

    monkeypatch.setattr(Waveforms, "write", noted)
    craton.run(SCENARIO, out=tmp_path / "out", progress=False)
    assert len(series) == 2 and 0 < recorded[0] < recorded[1]
    assert recorded == [values.shape[-1] for values in series]
    final = smallcase.opened(whole).velocity.values
    for values in series:
        early = max(1, values.shape[-1] // 2)  # what is later still changes by the correction of its end
        assert np.abs(values[..., :early] - final[..., :early]).max() < 2e-2 * np.abs(final).max()
    same_waveforms(tmp_path / "out", whole)


def test_waveforms_are_due_by_time_and_cost(monkeypatch):
    """At least every 30 s, less often only where writing takes more than a twentieth of the time."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    waveforms = Waveforms(None, SimpleNamespace(channels=1), None)
    for spent, interval in ((0.0, 30), (1.0, 30), (5.0, 100)):
        waveforms.written, waveforms.spent = clock[0], spent
        clock[0] += interval - 0.1
        assert not waveforms.due(1)
        clock[0] += 0.2
        assert waveforms.due(1)


def test_a_disk_without_room_for_the_samples_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "RECORD_IN_MEMORY", 1000)
    reserve, out = os.posix_fallocate, tmp_path / "out"

    def full(descriptor, at, size):
        if size != lock.RESERVE_BYTES:
            raise OSError(28, os.strerror(28))
        reserve(descriptor, at, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    words = ["the record needs ", " GiB in ", ": No space left"]
    refused(ResourceError, words, craton.run, SCENARIO, out=out, progress=False)
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
    nbytes = json.loads(done.stdout.splitlines()[-1])
    assert abs(nbytes["measured"] / nbytes["planned"] - 1) < 0.05, nbytes


# --- memory that a plan foretells, beside the peak of the arrays that making it and running it allocate --------------------------------


def test_arrays_are_counted_once():
    """Views by what they show, arrays in two places once, other libraries' objects and plain lists not at all."""
    a, b = np.zeros(1000), np.zeros(10, np.float32)
    Holder = type("Holder", (SimpleNamespace,), {"__module__": "craton.test"})  # an object of craton
    assert array_bytes(a[:10], {"a": a[::2]}, (b, [b])) == 8040
    assert array_bytes(Holder(values={"deep": [Holder(values=a), None, 3]}), Holder(values=b)) == 8040
    assert array_bytes(["names", a], [1.0, 2.0], np.zeros(0), tracemalloc) == 0


LONG = [pytest.param(name, 160, marks=pytest.mark.long) for name in ("box", "attenuation")]


@pytest.mark.parametrize("name, size", [("layer", 240), *LONG])
def test_memory_of_elements(name, size):
    """Within 10 %: of the plan, whose peak is the search for the stable step, and of the whole run."""
    tables = memory.elements(size, loss=memory.LOSS if name == "attenuation" else None)
    tables["boundaries"] = {"top": "free", "others": "pml" if name == "layer" else "stacey"}
    tables |= {"time": {"duration": 0.05, "start": 0.0}, "run": {"device": "cpu", "threads": 1}}
    scenario = craton.Scenario(**tables)
    plan = craton.plan(scenario)
    assert abs(peak(lambda: craton.plan(scenario)) / plan.planning - 1) < 0.1
    measured = peak(lambda: craton.run(scenario, progress=False, warn=False))
    assert abs(measured / plan.host_memory[0] - 1) < 0.1
    assert (plan.host_memory[0] > plan.planning) == (name != "box")
    words = dict(plan.notes["Memory"])
    assert words["making this plan"] == f"{plan.planning / 2**20:,.1f} MiB at most"
    assert f"about {plan.host_memory[0] / 2**20 + 160:,.0f} MiB" in words["process on a CPU"]


def test_what_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    """Meshes by the number of their elements, from that on which cannot fit; the search for the stable step."""
    scenario = craton.Scenario(**memory.elements(400))
    with monkeypatch.context() as patch:
        patch.setattr(build, "available", lambda: 500_000)
        refused(ResourceError, "has 144 elements, and 127 fit", craton.plan, scenario)
        fine = craton.Scenario(**memory.elements(1.6))
        refused(ResourceError, "has 2,250,000,000 elements", craton.plan, fine)
    monkeypatch.setattr("craton.backends.cpu.host_memory", lambda: (1000, 1000))
    refused(ResourceError, "stable step of 144 elements needs 0.0 GiB", craton.plan, scenario)
