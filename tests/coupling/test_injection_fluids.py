"""Injection where the model has both fluid and solid: seas and lakes through the sides of the box."""

import numpy as np
import pytest
from injectioncase import LAYERS, RUN, injected, leaves, off, ran
from test_injected_wavefield import together
from test_injection import ANOMALY, PLANE, SPACE

import craton
from craton.driver.run import plan
from craton.errors import ScenarioError

EXACT = {"run": RUN | {"precision": "float64"}, "time": {"duration": 0.9}}
WATER = {"vp": 1500, "vs": 0, "rho": 1000}
SEA = [WATER | {"top": 0}, LAYERS[0] | {"top": -425}, LAYERS[1] | {"top": -810}]
UNDER_SEA = {"kind": "layers", "layers": SEA}
LOSSY = [SEA[0], *(layer | {"qp": 60, "qs": 30} for layer in SEA[1:])]
LAKE = {"shape": "box", "min": [1100, -1e3, -400], "max": [1500, 2e3, -200]} | WATER
SLOPE = {"x": [0, 1000, 1500, 2200, 3000], "z": [-90, -340, -290, -440, -440]}
SHORE = {"kind": "layers", "layers": LAYERS}


def box(bottom, top=0):
    """A box between two elevations, with a receiver inside and one outside."""
    receivers = [{"name": "in", "at": [1625, -140]}, {"name": "out", "at": [2300, -310]}]
    if top < 0:
        receivers[0]["at"][1] = (bottom + top) / 2 + 15
    sides = {"name": "box", "from": [1200, bottom], "to": [2000, top]}
    return {"recording": [sides], "receivers": receivers}


MEDIA = {
    "a floor above the lower side": {"model": UNDER_SEA} | box(-700),
    "a floor at the lower side, order 8, attenuation": {
        "model": {"kind": "layers", "layers": LOSSY, "attenuation": {"band": [0.5, 10]}},
        "run": EXACT["run"] | {"order": 8},
    }
    | box(-500),
    "a floor below the box": {"model": UNDER_SEA} | box(-350),
    "a floor at the upper side": {"model": UNDER_SEA} | box(-950, -450),
    "a lake through the side": {"model": SHORE | {"anomalies": [LAKE]}} | box(-700),
    "a floor that slopes": {"model": SHORE | {"topography": SLOPE, "water": {"level": -60, "vp": 1500, "rho": 1000}}}
    | box(-700),
    "SH": {
        "model": UNDER_SEA,
        "domain": PLANE["domain"] | {"waves": "SH"},
        "source": [PLANE["source"][0] | {"force": [1e9, 1e9, 0]}],
    }
    | box(-950, -500),
}


@pytest.mark.parametrize("name", MEDIA)
def test_it_is_exact_to_rounding_in_every_medium(name, tmp_path):
    changes = EXACT | MEDIA[name]
    full = ran(PLANE, tmp_path, **changes)
    changes = {key: value for key, value in changes.items() if key not in ("source", "recording")}
    run = injected(tmp_path, PLANE, **changes)
    assert off(run, full, "in") < 1e-12
    assert leaves(run, full) < 1e-12


def test_it_is_exact_in_space(tmp_path):
    changes = EXACT | {"model": UNDER_SEA, "time": {"duration": 0.7}}
    full = ran(SPACE, tmp_path, **changes)
    run = injected(tmp_path, SPACE, **changes)
    assert off(run, full, "in") < 1e-12
    assert leaves(run, full) < 1e-12


COAST = {"model": UNDER_SEA, "time": {"duration": 0.9}} | box(-700)


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """The incident field below a sea and where it is recorded."""
    out = tmp_path_factory.mktemp("plane")
    return ran(PLANE, out, **COAST), out


def test_a_small_domain_with_a_wreck_is_one_of_the_whole_region(plane):
    full, out = plane
    changes = {key: value for key, value in COAST.items() if key != "recording"}
    domain = PLANE["domain"] | {"origin": [600, -1200], "size": [2100, 1200]}
    small = injected(out, PLANE, **changes | {"domain": domain})
    assert off(small, full, "in") < 1e-6
    assert leaves(small, full) < 1e-6
    wreck = ANOMALY | {"min": [1400, -1e3, -165], "max": [1560, 2e3, -10]}
    whole, run = ran(PLANE, None, wreck, **changes), injected(out, PLANE, wreck, **changes)
    assert off(run, whole, "in") < 1e-6
    assert leaves(run, full) > 5e-3


def test_ranks_inject_the_same(plane):
    _, out = plane
    tables = PLANE | COAST | {"source": [], "recording": [], "run": RUN}
    scenario = craton.Scenario(**tables | {"injection": [{"recorded": str(out), "name": "box"}]})
    one, two = (craton.run(scenario, progress=False, devices=n) for n in (None, 2))
    assert np.array_equal(one.samples, two.samples)


def test_another_floor_at_the_sides_is_told(plane):
    """A pocket of fluid below the box: differences at its side end where those of the recording do not."""
    _, out = plane
    pocket = LAKE | {"min": [1100, -1e3, -1100], "max": [1500, 2e3, -830]}
    tables = PLANE | COAST | {"model": UNDER_SEA | {"anomalies": [pocket]}, "recording": []}
    injection = [{"recorded": str(out), "name": "box"}]
    with pytest.raises(ScenarioError, match="contacts of fluid and solid are elsewhere"):
        plan(craton.Scenario(**tables | {"source": [], "injection": injection}))


def test_waves_that_are_interpolated_do_not_cross_a_floor(tmp_path):
    source = PLANE["source"][0] | {"wavelet": {"kind": "gaussian", "tau": 0.14}}
    model = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000}
    rock = PLANE | {"model": model, "source": [source]}
    recording = [PLANE["recording"][0] | {"sampling": 60}]
    ran(rock, tmp_path, recording=recording, time={"duration": 0.9})
    pond = WATER | {"shape": "box", "min": [1100, -1e3, -100], "max": [1700, 2e3, 0]}
    injection = [{"recorded": str(tmp_path), "name": "box"}]
    tables = rock | {"source": [], "recording": [], "injection": injection}
    tables |= {"model": rock["model"] | {"anomalies": [pond]}, "time": {"duration": 0.8}}
    with pytest.raises(ScenarioError, match="fluid and solid meet at the sides"):
        plan(craton.Scenario(**tables))
    tables["model"] = rock["model"] | {"anomalies": [pond | {"min": [1400, -1e3, -100]}]}
    assert plan(craton.Scenario(**tables))


def test_a_recording_at_points_of_acoustic_waves_is_injected_on_another_grid(tmp_path):
    wavelet = {"kind": "gaussian", "tau": 0.14}
    source = {"kind": "explosion", "at": [600, -800], "moment": 1e12, "wavelet": wavelet}
    water = {"kind": "homogeneous", "vp": 1500, "vs": 0, "rho": 1000}
    tables = PLANE | {"source": [source], "model": water, "time": {"duration": 1.1}, "run": RUN}
    tables |= {"domain": PLANE["domain"] | {"spacing": 40, "waves": "acoustic"}}
    tables["recording"] = [PLANE["recording"][0] | {"sampling": 60}]
    full = craton.run(craton.Scenario(**tables), out=tmp_path, progress=False)
    tables |= {"domain": tables["domain"] | {"spacing": 30}, "source": [], "recording": []}
    tables |= {"injection": [{"recorded": str(tmp_path), "name": "box"}]}
    result = craton.run(craton.Scenario(**tables), progress=False)
    values, expected = together(result, full)
    assert np.linalg.norm(values[:, 0] - expected[:, 0]) < 1e-3 * np.linalg.norm(expected[:, 0])
    assert np.abs(values[:, 1]).max() < 1e-3 * np.abs(expected[:, 1]).max()
