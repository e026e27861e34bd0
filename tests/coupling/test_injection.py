"""Injection of recorded waves: inside a box the total field, outside the scattered field."""

import shutil

import numpy as np
import pytest
import zarr
from injectioncase import LAYERS, RUN, injected, leaves, off, ran

import craton
from craton.driver.recorder import Recorder
from craton.driver.run import plan
from craton.errors import Interrupted, ScenarioError
from craton.output.recordings import open_recording

WAVELET = {"kind": "gaussian", "tau": 0.08}
PLANE = {
    "domain": {"origin": [0, -1500], "size": [3000, 1500], "spacing": 50, "waves": "P-SV"},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 1.5},
    "boundaries": {"top": "free", "cpml": {"thickness": 6, "frequency": 3.0}},
    "source": [{"kind": "force", "at": [600, -800], "force": [1e9, 2e9], "wavelet": WAVELET}],
    "recording": [{"name": "box", "from": [1200, -700], "to": [2000, 0]}],
    "receivers": [{"name": "in", "at": [1625, -210]}, {"name": "out", "at": [2300, -310]}],
}
# speeds between those of the layers: the same time step and absorbing layers
ANOMALY = {"shape": "box", "min": [1500, -1000, -400], "max": [1700, 2000, -100], "vp": 2600, "vs": 1350, "rho": 2500}
SPACE = {
    "domain": {"origin": [0, 0, -1600], "size": [2600, 2100, 1600], "spacing": 100},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 1.1},
    "boundaries": {"top": "free", "cpml": {"thickness": 3, "frequency": 3.0}},
    "source": [{"kind": "force", "at": [450, 800, -600], "force": [1e12, 3e12, 2e12], "wavelet": WAVELET}],
    "recording": [{"name": "box", "from": [900, 600, -900], "to": [1800, 1500, 0]}],
    "receivers": [{"name": "in", "at": [1350, 1050, -50]}, {"name": "out", "at": [2250, 900, -310]}],
}
SPACE_ANOMALY = ANOMALY | {"min": [1200, 800, -500], "max": [1600, 1200, -100]}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """The incident field in the plane and where it is recorded."""
    out = tmp_path_factory.mktemp("plane")
    return ran(PLANE, out), out


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """The same in space."""
    out = tmp_path_factory.mktemp("space")
    return ran(SPACE, out), out


@pytest.mark.parametrize("case", ["plane", "space"])
def test_the_box_holds_the_full_field_and_nothing_leaves_it(case, request):
    full, out = request.getfixturevalue(case)
    base, anomaly = {"plane": (PLANE, ANOMALY), "space": (SPACE, SPACE_ANOMALY)}[case]
    run = injected(out, base)
    assert off(run, full, "in") < 1e-6
    assert leaves(run, full) < 1e-6
    with_anomaly, run = ran(base, None, anomaly), injected(out, base, anomaly)
    assert off(run, with_anomaly, "in") < 1e-6
    assert off(run, with_anomaly, "out", less=full) < 1e-5  # of the scattered field, a tenth of all
    assert leaves(run, full) > 1e-2


MEDIA = {
    "across the plane": {
        "domain": PLANE["domain"] | {"waves": "SH"},
        "source": [PLANE["source"][0] | {"force": [1e9, 1e9, 0]}],
    },
    "acoustic": {
        "model": {"kind": "homogeneous", "vp": 2000, "vs": 0, "rho": 1000},
        "source": [{"kind": "explosion", "at": [600, -800], "moment": 1e12, "wavelet": WAVELET}],
        "domain": PLANE["domain"] | {"waves": "acoustic"},
    },
    "transversely isotropic": {
        "model": PLANE["model"]
        | {"layers": [layer | {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1} for layer in LAYERS]}
    },
    "Holberg's weights": {"run": RUN | {"order": 8, "weights": "holberg", "precision": "float64"}},
    "topography": {"model": PLANE["model"] | {"topography": -100.0}},
    "just deep enough": {
        "recording": [{"name": "box", "from": [1200, -250], "to": [2000, 0]}],
        "receivers": [{"name": "in", "at": [1625, -60]}, {"name": "out", "at": [2300, -310]}],
    },
    "below the surface": {
        "recording": [{"name": "box", "from": [1200, -900], "to": [2000, -450]}],
        "receivers": [{"name": "in", "at": [1625, -675]}, {"name": "out", "at": [2300, -310]}],
    },
}


@pytest.mark.parametrize("name", MEDIA)
def test_it_is_exact_to_rounding_in_every_medium(name, tmp_path):
    changes = {"run": RUN | {"precision": "float64"}, "time": {"duration": 0.9}} | MEDIA[name]
    full = ran(PLANE, tmp_path, **changes)
    changes = {key: value for key, value in changes.items() if key not in ("source", "recording")}
    run = injected(tmp_path, PLANE, **changes)
    assert off(run, full, "in") < 1e-12
    assert leaves(run, full) < 1e-12


def test_a_small_domain_around_the_box_gives_the_same(plane):
    full, out = plane
    domain = PLANE["domain"] | {"origin": [600, -1250], "size": [2100, 1250]}
    run = injected(out, PLANE, domain=domain)
    assert off(run, full, "in") < 1e-6
    assert leaves(run, full) < 1e-6


def test_ranks_record_and_inject_the_same(plane, tmp_path):
    full, out = plane
    scenario = craton.Scenario(**PLANE, run=RUN)
    craton.run(scenario, out=tmp_path, progress=False, devices=2)
    values = [open_recording(path, "box").values[...] for path in (out, tmp_path)]
    assert np.array_equal(*values)
    injection = [{"recorded": str(tmp_path), "name": "box"}]
    tables = PLANE | {"source": [], "recording": [], "injection": injection, "run": RUN}
    run = craton.run(craton.Scenario(**tables), progress=False, devices=2)
    assert np.array_equal(run.samples, injected(out, PLANE).samples)


def test_the_plan_states_what_recordings_and_injections_take(plane):
    _, out = plane
    notes = plan(craton.Scenario(**PLANE, run=RUN)).notes
    recorded = open_recording(out, "box")
    steps, places = recorded.values.shape
    words = dict(notes["Memory"])["recording box"]
    assert f"{places:,} places x {steps:,} steps" in words
    assert f"{4 * places * steps / 2**20:,.1f} MiB on disk" in words
    injection = [{"recorded": str(out), "name": "box"}]
    notes = plan(craton.Scenario(**PLANE | {"source": [], "injection": injection})).notes
    assert f"{places:,} incident values a step" in dict(notes["Sources"])["injection"]


def test_a_recording_is_read_in_blocks_of_steps_with_the_same_bits(plane, monkeypatch):
    """Blocks of 2 and 7 steps, and a last one that is not full, against all steps in memory."""
    _, out = plane
    injection = [{"recorded": str(out), "name": "box"}]
    tables = PLANE | {"source": [], "recording": [], "injection": injection, "run": RUN}
    results, words = {}, {}
    for slots in (2, 7, 10**6):
        monkeypatch.setattr("craton.core.recording.MOST_SLOTS", slots)
        result = craton.run(craton.Scenario(**tables), progress=False)
        results[slots], words[slots] = result, dict(result.plan.notes["Sources"])["injection"]
    monkeypatch.setattr("craton.driver.waves.with_rings", lambda plan: plan)
    monkeypatch.setattr("craton.driver.waves.rolling_series", lambda plan: {})
    whole = craton.run(craton.Scenario(**tables), progress=False)
    for result in results.values():
        assert np.array_equal(result.samples, whole.samples)
    series = whole.plan.arrays["injection0_series"]
    row = series.shape[1] * 4
    assert results[7].plan.arrays["injection0_series"].nbytes == 7 * row
    assert f"{7 * row / 2**20:,.1f} MiB of {len(series.data) * row / 2**20:,.1f} MiB" in words[7]
    assert results[7].plan.nbytes < results[10**6].plan.nbytes - 100 * row


LOSSY = PLANE["model"] | {
    "layers": [layer | {"qp": 60, "qs": 30} for layer in LAYERS],
    "attenuation": {"band": [0.5, 10]},
}
LONGER = {"duration": 1.7}
HARDER = [LAYERS[0] | {"rho": 2100}, LAYERS[1]]
WRONG = {  # changes of the run, the key that is told, words of the message
    "no folder": (
        {"injection": [{"recorded": "nowhere", "name": "box"}]},
        "injection.0.recorded",
        "there is no run in",
    ),
    "no such recording": (
        {"injection": [{"recorded": "OUT", "name": "valley"}]},
        "injection.0.recorded",
        "there are box",
    ),
    "other spacing": ({"domain": PLANE["domain"] | {"spacing": 60}}, "injection.0.recorded", "a spacing of 50 m"),
    "other points": (
        {"domain": PLANE["domain"] | {"origin": [20, -1500]}},
        "injection.0.recorded",
        "points of this grid",
    ),
    "other step": ({"time": {"duration": 1.5, "step": 0.005}}, "injection.0.recorded", "steps of 0.00"),
    "unstable step": ({"model": {"kind": "homogeneous", "vp": 6000, "vs": 3000, "rho": 2500}}, "time.step", "unstable"),
    "longer": ({"time": LONGER}, "injection.0.recorded", "it ends at"),
    "between steps": ({"time": {"duration": 1.5, "start": -0.101}}, "time.start", "whole number"),
    "waves have come": ({"time": {"duration": 1.5, "start": "LATE"}}, "time.start", "waves have come"),
    "other medium": ({"model": {"kind": "layers", "layers": HARDER}}, "injection.0", "vp = 2813.53 instead of 2804.67"),
    "other order": ({"run": RUN | {"order": 2}}, "injection.0.recorded", "this run has run.order 2"),
    "no free surface": ({"boundaries": {"top": "cpml"}}, "injection.0.recorded", "open at a free surface"),
    "attenuation": (
        {"model": LOSSY, "time": {"duration": 1.0}},
        "injection.0.recorded",
        "recorded with no attenuation",
    ),
    "outside": (
        {"domain": PLANE["domain"] | {"origin": [1100, -1500]}},
        "injection.0",
        "too close to a boundary along x",
    ),
    "nothing at all": ({"injection": []}, "source", "is required"),
    "too near an edge": (
        {"recording": [{"name": "b", "from": [100, -700], "to": [800, 0]}]},
        "recording.0",
        "too close",
    ),
    "a side below the free surface": (
        {"recording": [{"name": "b", "from": [1200, -200], "to": [2000, 0]}]},
        "recording.0",
        "among the differences below the free surface",
    ),
    "no width": ({"recording": [{"name": "b", "from": [900, -700], "to": [910, 0]}]}, "recording.0", "two points wide"),
    "ends before it begins": (
        {"recording": [{"name": "b", "from": [900, 0], "to": [800, -5]}]},
        "recording.0.to",
        "before it begins",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told_before_anything_runs(name, plane):
    full, out = plane
    changes, key, words = WRONG[name]
    injection = [{"recorded": str(out), "name": "box"}]
    tables = PLANE | {"source": [], "recording": [], "injection": injection, "run": RUN} | changes
    for entry in tables["injection"]:
        entry["recorded"] = entry["recorded"].replace("OUT", str(out))
    if tables["time"].get("start") == "LATE":
        tables["time"] = tables["time"] | {"start": full.plan.start + 200 * full.plan.dt}
    with pytest.raises(ScenarioError) as raised:
        plan(craton.Scenario(**tables))
    told = {p.key: p.message for p in raised.value.problems}
    assert key in told, told
    assert words in told[key], told


def test_a_recording_that_was_stopped_is_told(plane, tmp_path):
    _, out = plane
    shutil.copytree(out / "result.zarr", tmp_path / "result.zarr")
    recorded = open_recording(tmp_path, "box")
    root = zarr.open_group(recorded.path, mode="r+", zarr_format=2)
    root["recordings/box/values"][-3:] = np.nan
    injection = [{"recorded": str(tmp_path), "name": "box"}]
    with pytest.raises(ScenarioError, match="not complete"):
        plan(craton.Scenario(**PLANE | {"source": [], "injection": injection}))


def test_receivers_and_sources_next_to_the_sides_are_told(plane):
    _, out = plane
    injection = [{"recorded": str(out), "name": "box"}]
    receivers = [{"name": "side", "at": [1150, -300]}, {"name": "in", "at": [1600, -300]}]
    told = plan(craton.Scenario(**PLANE | {"injection": injection, "receivers": receivers})).warnings
    assert any("mix the total and the scattered field: side" in words for words in told)
    assert not any("recording" in words for words in told)
    near = [PLANE["source"][0] | {"at": [1100, -600]}]
    told = plan(craton.Scenario(**PLANE | {"source": near})).warnings
    assert any('in the box of the recording "box"' in words for words in told)


def test_both_runs_go_on_after_an_interruption_with_the_same_bits(plane, tmp_path, monkeypatch):
    _, out = plane
    sample, stops = Recorder.sample, [130, 77]

    def told(self, step):
        if stops and step == stops[-1]:
            stops.pop()
            self.stopped = "SIGTERM"
        sample(self, step)

    monkeypatch.setattr(Recorder, "sample", told)
    with pytest.raises(Interrupted):
        ran(PLANE, tmp_path / "recording")
    with pytest.raises(Interrupted):
        craton.resume(tmp_path / "recording", progress=False)
    craton.resume(tmp_path / "recording", progress=False)
    values = [open_recording(path, "box").values[...] for path in (out, tmp_path / "recording")]
    assert np.array_equal(*values)
    stops.append(100)
    injection = [{"recorded": str(out), "name": "box"}]
    tables = PLANE | {"source": [], "recording": [], "injection": injection, "run": RUN}
    with pytest.raises(Interrupted):
        craton.run(craton.Scenario(**tables), out=tmp_path / "injection", progress=False)
    run = craton.resume(tmp_path / "injection", progress=False)
    assert np.array_equal(run.samples, injected(out, PLANE).samples)


def test_layers_made_for_the_same_speeds_leave_no_difference(tmp_path):
    """A body slower than all before it changes the layers of its run; speeds that are given hold them, and the plan says so."""
    slow = ANOMALY | {"vp": 1400, "vs": 700}
    speeds = {"vp": [1400, 3000], "vs": [700, 1700]}
    cpml = PLANE["boundaries"]["cpml"]
    for more, bound in ((speeds, 1e-5), ({}, 1.0)):
        base = PLANE | {"boundaries": {"top": "free", "cpml": cpml | more}}
        out = tmp_path / str(len(more))
        full, run, whole = ran(base, out), injected(out, base, slow), ran(base, None, slow)
        told = [w for w in run.plan.warnings if "same vp and vs in boundaries.cpml" in w]
        assert off(run, whole, "out", less=full) < bound and bool(told) == (not more)
    assert off(run, whole, "out", less=full) > 1e-3  # what the layers make of it
    assert "made for waves of 700 .. 3000, vp 1400 .. 3000, vs 700 .. 1700 m/s" in str(
        dict(run.plan.notes["Elastic waves"])
    )
