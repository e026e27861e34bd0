"""Injection where the medium has attenuation: memory variables cross the sides of the box with the field."""

import numpy as np
import pytest
from injectioncase import LAYERS, RUN, injected, leaves, off, ran
from test_injected_wavefield import together
from test_injection import ANOMALY, PLANE, SPACE

import craton
from craton.backends import backend
from craton.driver import waves
from craton.driver.recorder import Recorder
from craton.driver.run import plan
from craton.errors import Interrupted, ScenarioError
from craton.output.recordings import open_recording
from craton.validation.absorbing import advance

Q = [layer | {"qp": qp, "qs": qs} for layer, qp, qs in zip(LAYERS, (50, 110), (25, 49))]
VTI = [layer | {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1} for layer in Q]
SHORT = {"time": {"duration": 0.9}}
EXACT = {"run": RUN | {"precision": "float64"}}


def lossy(storage, layers=Q, mechanisms=4, lowest=20, **changes):
    """A model with attenuation."""
    table = {"band": [0.5, 10], "storage": storage, "mechanisms": mechanisms, "lowest_q": lowest}
    return {"kind": "layers", "layers": layers, "attenuation": table} | changes


MEDIA = {
    "P-SV": {"model": lossy("coarse")},
    "SH": {
        "domain": PLANE["domain"] | {"waves": "SH"},
        "source": [PLANE["source"][0] | {"force": [1e9, 1e9, 0]}],
        "model": lossy("mixed"),
    },
    "transversely isotropic": {"model": lossy("mixed", VTI)},
    "topography": {"model": lossy("full", mechanisms=2, topography=-100.0)},
    "below the surface": {
        "model": lossy("coarse"),
        "recording": [{"name": "box", "from": [1200, -900], "to": [2000, -450]}],
        "receivers": [{"name": "in", "at": [1625, -675]}, {"name": "out", "at": [2300, -310]}],
    },
}


@pytest.mark.parametrize("name", MEDIA)
def test_it_is_exact_to_rounding_in_every_medium(name, tmp_path):
    changes = SHORT | EXACT | MEDIA[name]
    full = ran(PLANE, tmp_path, **changes)
    changes = {key: value for key, value in changes.items() if key not in ("source", "recording")}
    run = injected(tmp_path, PLANE, **changes)
    assert off(run, full, "in") < 1e-12
    assert leaves(run, full) < 1e-12


def test_it_is_exact_in_space(tmp_path):
    changes = {"time": {"duration": 0.8}, "model": lossy("mixed", VTI)} | EXACT
    full = ran(SPACE, tmp_path, **changes)
    run = injected(tmp_path, SPACE, **changes)
    assert off(run, full, "in") < 1e-12
    assert leaves(run, full) < 1e-12


# mechanisms for the soil of the second run, too
LOW = SHORT | {"model": lossy("coarse")}
SOIL = ANOMALY | {"qp": 45, "qs": 20}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """The incident field in the plane and where it is recorded."""
    out = tmp_path_factory.mktemp("plane")
    return ran(PLANE, out, **LOW), out


def test_a_small_domain_with_soil_of_lower_q_is_one_of_the_whole_region(plane):
    full, out = plane
    domain = PLANE["domain"] | {"origin": [600, -1200], "size": [2100, 1200]}
    small = injected(out, PLANE, **LOW | {"domain": domain})
    assert off(small, full, "in") < 1e-6
    assert leaves(small, full) < 1e-6
    whole = ran(PLANE, None, SOIL, **LOW)
    with_soil = injected(out, PLANE, SOIL, **LOW)
    assert off(with_soil, whole, "in") < 1e-6
    assert leaves(with_soil, full) > 1e-2


def test_ranks_and_runs_that_go_on_record_and_inject_the_same_bits(plane, tmp_path, monkeypatch):
    _, out = plane
    tables = PLANE | LOW | {"run": RUN}
    craton.run(craton.Scenario(**tables), out=tmp_path / "ranks", progress=False, devices=2)
    values = [open_recording(path, "box").values[...] for path in (out, tmp_path / "ranks")]
    assert np.array_equal(*values)
    tables |= {"source": [], "recording": [], "injection": [{"recorded": str(out), "name": "box"}]}
    whole = craton.run(craton.Scenario(**tables), progress=False)
    ranks = craton.run(craton.Scenario(**tables), progress=False, devices=2)
    assert np.array_equal(ranks.samples, whole.samples)
    sample = Recorder.sample

    def told(self, step):
        self.stopped = "SIGTERM" if step == 60 else self.stopped
        sample(self, step)

    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        patched.setattr(Recorder, "sample", told)
        craton.run(craton.Scenario(**tables), out=tmp_path / "stopped", progress=False)
    resumed = craton.resume(tmp_path / "stopped", progress=False)
    assert np.array_equal(resumed.samples, whole.samples)


WRONG = {  # changes of the run, the key that is told, words of the message
    "no attenuation": ({"model": PLANE["model"]}, "injection.0.recorded", "this run has no attenuation"),
    "other storage": ({"model": lossy("full")}, "injection.0.recorded", "with coarse storage"),
    "mechanisms for a lower Q": (
        {"model": lossy("coarse", lowest=15)},
        "injection.0.recorded",
        "fitted down to Q = 20, those of this run down to 15",
    ),
    "other Q": ({"model": lossy("coarse", [Q[0], Q[1] | {"qs": 60}])}, "injection.0", "instead of"),
    "other classes of points": (
        {"domain": PLANE["domain"] | {"origin": [50, -1500]}, "model": lossy("coarse")},
        "injection.0.recorded",
        "odd number of points apart along x",
    ),
}


def test_a_hostile_machine_injects_the_same_bits(plane, monkeypatch):
    """All incident values in memory, as nothing fills rings here."""
    _, out = plane
    monkeypatch.setattr("craton.driver.waves.with_rings", lambda plan: plan)
    injection = [{"recorded": str(out), "name": "box"}]
    tables = PLANE | LOW | {"source": [], "recording": [], "injection": injection, "run": RUN}
    scenario, records = craton.Scenario(**tables), []
    for name in ("cpu", "hostile"):
        program = waves.commit(scenario, plan(scenario), backend(name, threads=1))
        for step in range(80):
            advance(program, step)
        records.append(program.host("record")[:80])
    assert np.abs(records[0]).max() > 0
    assert np.array_equal(*records)


def test_plane_waves_have_no_response_with_attenuation():
    sides = {"from": [1200, -700], "to": [2000, 0]}
    wave = {"wave": "P", "incidence": 20, "wavelet": {"kind": "ricker", "frequency": 2}}
    tables = PLANE | LOW | {"source": [], "recording": [], "injection": [wave | sides]}
    with pytest.raises(ScenarioError, match="the exact response is one of elastic layers"):
        plan(craton.Scenario(**tables))


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told_before_anything_runs(name, plane):
    _, out = plane
    changes, key, words = WRONG[name]
    injection = [{"recorded": str(out), "name": "box"}]
    tables = PLANE | SHORT | {"source": [], "recording": [], "injection": injection} | changes
    with pytest.raises(ScenarioError) as raised:
        plan(craton.Scenario(**tables))
    told = {p.key: p.message for p in raised.value.problems}
    assert key in told, told
    assert words in told[key], told


def test_a_recording_at_points_is_injected_on_another_grid(tmp_path):
    source = PLANE["source"][0] | {"wavelet": {"kind": "gaussian", "tau": 0.14}}
    model = lossy("coarse", [Q[0], Q[1] | {"top": -400}])
    tables = PLANE | {"source": [source], "run": RUN | {"order": 8}, "model": model}
    # one step for both, so that kernels are compiled once: the constants of mechanisms depend on it
    tables |= {"domain": PLANE["domain"] | {"spacing": 40}}
    tables |= {"time": {"duration": 1.4, "step": 0.004}}
    tables["recording"] = [PLANE["recording"][0] | {"sampling": 60}]
    full = craton.run(craton.Scenario(**tables), out=tmp_path, progress=False)
    tables |= {"domain": PLANE["domain"] | {"spacing": 30}, "source": [], "recording": []}
    tables |= {"injection": [{"recorded": str(tmp_path), "name": "box"}]}
    result = craton.run(craton.Scenario(**tables), progress=False)
    values, expected = together(result, full)
    difference = values[:, 0] - expected[:, 0]
    assert np.linalg.norm(difference) < 0.01 * np.linalg.norm(expected[:, 0])
    assert np.abs(values[:, 1]).max() < 0.01 * np.abs(expected[:, 1]).max()
    tables["model"] = tables["model"] | {"attenuation": None}
    with pytest.raises(ScenarioError, match="qp = 0 instead of"):
        plan(craton.Scenario(**tables))
