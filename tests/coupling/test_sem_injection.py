"""Injection of recorded waves into spectral elements: the domain reduction method, exact for the discrete scheme."""

import numpy as np
import pytest
from injectioncase import LAYERS, RUN, injected, leaves, off, ran

import craton
from craton.driver.run import plan
from craton.errors import ScenarioError
from craton.output.recordings import open_recording

CASE = {
    "method": "sem",
    "domain": {"origin": [0, 0, -1600], "size": [2800, 2000, 1600], "element_size": 400},
    "model": {"kind": "layers", "layers": [LAYERS[0], LAYERS[1] | {"top": -800}]},
    "time": {"duration": 1.0},
    "source": [
        {
            "kind": "force",
            "at": [300, 800, -600],
            "force": [1e12, 3e12, 2e12],
            "wavelet": {"kind": "gaussian", "tau": 0.15},
        }
    ],
    "recording": [{"name": "box", "from": [1100, 300, -900], "to": [2100, 1700, 0]}],
    "receivers": [{"name": "in", "at": [1500, 1050, 0]}, {"name": "out", "at": [2500, 900, -310]}],
}
ANOMALY = {"shape": "box", "min": [1200, 800, -800], "max": [1600, 1200, -400], "vp": 2600, "vs": 1350, "rho": 2500}
DOUBLE = RUN | {"precision": "float64"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The incident field and where it is recorded."""
    out = tmp_path_factory.mktemp("elements")
    return ran(CASE, out), out


def test_the_box_holds_the_full_field_and_nothing_leaves_it(recorded):
    """To rounding: in float32 a run differs from that in float64 by 0.7 to 1.7e-6 itself."""
    full, out = recorded
    run = injected(out, CASE)
    assert off(run, full, "in") < 2e-6
    assert leaves(run, full) < 1e-6
    with_anomaly, run = ran(CASE, None, ANOMALY), injected(out, CASE, ANOMALY)
    assert off(run, with_anomaly, "in") < 2e-6
    assert off(run, with_anomaly, "out", less=full) < 1e-4  # of the scattered field, a thirtieth
    assert leaves(run, full) > 1e-2


def test_an_injected_run_rounds_as_any_other(recorded):
    """Against float64 the injected run in float32 is as near as that of the whole region, 1.4e-6 and 1.7e-6."""
    full, out = recorded
    double = ran(CASE, run=DOUBLE, time=CASE["time"] | {"step": full.plan.dt})
    assert off(injected(out, CASE), double, "in") < 1.1 * off(full, double, "in")


def test_it_is_exact_to_rounding_in_bent_anisotropic_elements_of_a_small_domain(tmp_path):
    layers = [layer | {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1} for layer in CASE["model"]["layers"]]
    ground = {"x": [0, 1200, 1600, 2800], "z": [-50, 0, -90, -40]}
    model = {"kind": "layers", "layers": layers, "topography": ground}
    receivers = [{"name": "in", "at": [1500, 1050, -200]}, CASE["receivers"][1]]
    changes = {"model": model, "run": DOUBLE | {"degree": 3}, "time": {"duration": 0.5}}
    changes["receivers"] = receivers
    full = ran(CASE, tmp_path, **changes)
    domain = {"origin": [400, 0, -1600], "size": [2400, 2000, 1600], "element_size": 400}
    run = injected(tmp_path, CASE, domain=domain, **changes)
    assert off(run, full, "in") < 1e-11
    assert leaves(run, full) < 1e-11


WRONG = {  # changes of the run, the key that is told, words of the message
    "other elements": ({"domain": CASE["domain"] | {"element_size": 500}}, "injection.0.recorded", "has no point at"),
    "other degree": ({"run": RUN | {"degree": 3}, "time": {"duration": 0.5}}, "injection.0.recorded", "of degree 4"),
    "other medium": (
        {"model": {"kind": "homogeneous", "vp": 2500, "vs": 1400, "rho": 2000}},
        "injection.0",
        "instead of",
    ),
    "colours": ({"run": RUN | {"assembly": "colour"}}, "injection", "colour"),
    "finite differences": (
        {"method": "fd", "domain": {"origin": [0, 0, -1600], "size": [2800, 2000, 1600], "spacing": 50}},
        "injection.0.recorded",
        'method = "sem"',
    ),
    "at a boundary": (
        {"recording": [{"name": "b", "from": [0, 300, -900], "to": [1000, 1700, 0]}]},
        "recording.0",
        "reaches the boundary",
    ),
    "no element": (
        {"recording": [{"name": "b", "from": [810, 300, -900], "to": [850, 310, 0]}]},
        "recording.0",
        "no element",
    ),
    "longer": ({"time": {"duration": 1.3}}, "injection.0.recorded", "it ends at"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told_before_anything_runs(name, recorded):
    _, out = recorded
    changes, key, words = WRONG[name]
    injection = [{"recorded": str(out), "name": "box"}]
    tables = CASE | {"source": [], "recording": [], "injection": injection, "run": RUN} | changes
    with pytest.raises(ScenarioError) as raised:
        plan(craton.Scenario(**tables))
    told = {p.key: p.message for p in raised.value.problems}
    assert key in told, told
    assert words in told[key], told


def test_receivers_in_the_elements_around_the_box_are_told(recorded):
    _, out = recorded
    receivers = [{"name": "side", "at": [900, 900, 0]}, {"name": "in", "at": [1500, 1000, 0]}]
    injection = [{"recorded": str(out), "name": "box"}]
    planned = plan(
        craton.Scenario(**CASE | {"source": [], "recording": [], "injection": injection, "receivers": receivers})
    )
    assert any("total and the scattered field: side" in words for words in planned.warnings)
    near = [CASE["source"][0] | {"at": [900, 900, -300]}]
    planned = plan(craton.Scenario(**CASE | {"source": near}))
    assert any("in the box of recording.0" in words for words in planned.warnings)
    assert "MiB on disk" in dict(planned.notes["Memory"])["recording box"]


def at_places(out):
    """Values (steps, places) and labels of a recording, places in the order of their positions and fields."""
    recording = open_recording(out, "box")
    labels = recording.labels
    keys = [labels["field"], *(np.rint(labels[axis] * 1e3) for axis in "xyz")]
    order = np.lexsort(keys)
    return recording.values[...][:, order], {name: v[order] for name, v in labels.items()}


SMALL = CASE | {
    "time": {"duration": 0.5},
    "run": DOUBLE | {"degree": 3},
    "receivers": [{"name": "in", "at": [1500, 1050, -200]}, CASE["receivers"][1]],
}


def over_ranks(ranks, case, out=None, **changes):
    """The result of a run of a case over ranks of this process."""
    return craton.run(craton.Scenario(**case | changes), out=out, progress=False, devices=ranks)


def test_ranks_record_and_inject_the_same(tmp_path):
    """To rounding, forces of elements being added in another order; three ranks inject what two have recorded."""
    full = over_ranks(1, SMALL, tmp_path / "1")
    assert off(over_ranks(2, SMALL, tmp_path / "2"), full, "in") < 1e-12
    (values, labels), (of_ranks, labels_of_ranks) = (at_places(tmp_path / n) for n in "12")
    assert np.abs(of_ranks - values).max() < 1e-12 * np.abs(values).max()
    for name in ("x", "y", "z", "vp", "vs", "rho"):
        assert np.allclose(labels_of_ranks[name], labels[name], rtol=1e-12)
    injection = [{"recorded": str(tmp_path / "2"), "name": "box"}]
    run = over_ranks(3, SMALL | {"source": [], "recording": [], "injection": injection})
    assert off(run, full, "in") < 1e-11
    assert leaves(run, full) < 1e-11


def test_ranks_record_the_same_at_points(tmp_path):
    """Any ranks, the order of one; two ranks inject them."""
    sampled = {"name": "box", "from": [1150, 850, -700], "to": [1650, 1350, 0], "sampling": 250}
    for ranks in (1, 2):
        out = tmp_path / str(ranks)
        over_ranks(ranks, SMALL, out, recording=[sampled | {"thickness": 250, "azimuth": 10}])
    one, two = (open_recording(tmp_path / n, "box") for n in "12")
    assert np.abs(two.values[...] - one.values[...]).max() < 1e-12 * np.abs(one.values[...]).max()
    assert all(np.allclose(two.labels[name], one.labels[name]) for name in ("x", "z", "vs"))
    assert np.array_equal(two.labels["field"], one.labels["field"])
    wave = {"wave": "SV", "from": [1100, 300, -900], "to": [2100, 1700, 0], "incidence": 20}
    wave |= {"wavelet": {"kind": "ricker", "frequency": 2.0}}
    wave |= {"at": [1500, 1000, -900]}
    changes = {"source": [], "recording": [], "injection": [wave], "time": {"duration": 0.3}}
    runs = [over_ranks(ranks, SMALL, **changes) for ranks in (1, 2)]
    assert off(*runs, "in") < 1e-11


LOSSY = SMALL | {
    "model": {
        "kind": "layers",
        "layers": [
            CASE["model"]["layers"][0] | {"qp": 40, "qs": 25},
            CASE["model"]["layers"][1] | {"qp": 90, "qs": 50},
        ],
        "attenuation": {"band": [0.3, 6], "mechanisms": 3},
    }
}


@pytest.mark.parametrize("precision, bound", [("float64", 1e-11), ("float32", 2e-6)])
def test_attenuation_is_exact_to_rounding(precision, bound, tmp_path):
    """Forces have what the mechanisms take, of shear and of bulk: without, 4e-3 of the peak were off."""
    case = LOSSY | {"run": SMALL["run"] | {"precision": precision}}
    full = over_ranks(1, case, tmp_path)
    injection = [{"recorded": str(tmp_path), "name": "box"}]
    case |= {"source": [], "recording": [], "injection": injection}
    run = over_ranks(2 if precision == "float64" else 1, case)
    assert off(run, full, "in") < bound
    assert leaves(run, full) < bound
    if precision == "float32":
        return
    top, rock = LOSSY["model"]["layers"]
    told = (
        ("layers", [top | {"qs": 30}, rock], "fitted down to Q = 30"),
        ("layers", [top, rock | {"qs": 60}], "inverse_qs = 0.0"),
        ("attenuation", None, "the recording has attenuation and the other has none"),
    )
    for key, value, words in told:
        with pytest.raises(ScenarioError) as raised:
            plan(craton.Scenario(**case | {"model": LOSSY["model"] | {key: value}}))
        assert words in raised.value.problems[0].message


SEA = SMALL | {
    "model": {
        "kind": "layers",
        "layers": [
            {"top": 0, "vp": 1500, "vs": 0, "rho": 1000},
            *(layer | {"top": top} for layer, top in zip(LAYERS, (-400, -800))),
        ],
    },
    "time": {"duration": 0.6},
    "receivers": [
        {"name": "rock", "at": [1500, 1050, -500]},
        {"name": "water", "at": [1500, 1050, -200]},
        {"name": "rock outside", "at": [2500, 900, -710]},
        {"name": "water outside", "at": [2500, 900, -210]},
    ],
    "output": {"waveforms": ["velocity", "pressure"]},
}
BELOW = LOSSY["model"] | {
    "topography": {"x": [0, 1200, 1600, 2800], "z": [-400, -350, -480, -390]},
    "water": {"level": 0},
}
BOXES = {  # corners along z, changes, receivers inside
    "through both": ((-900, 0), {}, ("rock", "water")),
    "through both, of rock with attenuation below a sea floor with relief": (
        (-900, 0),
        {"model": BELOW},
        ("rock", "water"),
    ),
    "of rock alone": ((-900, -400), {}, ("rock",)),
    "of water alone": ((-400, 0), {}, ("water",)),
    "through both in float32": ((-900, 0), {"run": RUN | {"degree": 3}}, ("rock", "water")),
}


@pytest.mark.parametrize("name", BOXES)
def test_fluid_and_solid_are_exact_to_rounding(name, tmp_path):
    """Also where the box has one side of the sea floor only: displacement and pressure couple to what is missing."""
    (low, high), changes, inside = BOXES[name]
    box = {"name": "box", "from": [1100, 300, low], "to": [2100, 1700, high]}
    case = SEA | changes | {"recording": [box]}
    full = over_ranks(1, case, tmp_path)
    injection = [{"recorded": str(tmp_path), "name": "box"}]
    case |= {"source": [], "recording": [], "injection": injection}
    run = over_ranks(2 if "alone" in name else 1, case)
    assert np.isfinite(run.plan.limit)
    for quantity in ("velocity", "pressure"):
        values, reference = (r.dataset[quantity] for r in (run, full))
        for receiver in full.dataset.receiver.values:
            a, b = (v.sel(receiver=receiver).values for v in (values, reference))
            rest = a - b if receiver in inside else a
            assert np.abs(rest).max() < (2e-6 if "float32" in name else 1e-11) * np.abs(b).max()
    if name == "of water alone":
        with pytest.raises(ScenarioError, match="potential, of fluid or solid elements"):
            plan(craton.Scenario(**case | {"model": CASE["model"]}))
        waves = tmp_path / "points"
        sampled = {"name": "box", "from": [1150, 850, -700], "to": [1650, 1350, 0], "sampling": 250}
        over_ranks(1, SMALL, waves, recording=[sampled | {"thickness": 250}])
        injection = [{"recorded": str(waves), "name": "box"}]
        with pytest.raises(ScenarioError, match="not injected yet where the box reaches fluid"):
            plan(craton.Scenario(**case | {"injection": injection}))


EARTH = {
    "method": "sem",
    "domain": {"chunk": {"longitude": 10, "latitude": 20, "bottom": "400 km"}},
    "model": {"kind": "prem"},
    "time": {"duration": 50},
    "source": [
        {
            "kind": "moment_tensor",
            "at": {"longitude": 8, "latitude": 20, "depth": "100 km"},
            "tensor": {"rr": 1e20, "tt": -1e20, "rp": 2e19},
            "wavelet": {"kind": "gaussian", "tau": 5},
        }
    ],
    "recording": [
        {
            "name": "box",
            "longitude": 11.0,
            "latitude": 20.0,
            "azimuth": 20,
            "from": [-120_000, -120_000, -200_000],
            "to": [120_000, 120_000, 0],
        }
    ],
    "receivers": [
        {"name": "in", "at": {"longitude": 11, "latitude": 20, "depth": "30 km"}},
        {"name": "out", "at": {"longitude": 14, "latitude": 20}},
    ],
    "run": DOUBLE | {"degree": 3},
}


def chunk_of(width):
    """The chunk, elements of a degree."""
    extent = {"width": [width, 6], "elements": [width, 6], "growth": []}
    return {"chunk": EARTH["domain"]["chunk"] | extent}


def test_a_box_in_a_chunk_of_the_earth_is_exact_to_rounding(tmp_path):
    """Two ranks inject into a narrower chunk; it records between longitudes, not between x and y."""
    case = EARTH | {"domain": chunk_of(10)}
    full = over_ranks(1, case, tmp_path)
    changes = {"source": [], "recording": [], "injection": [{"recorded": str(tmp_path), "name": "box"}]}
    run = over_ranks(2, case | changes, domain=chunk_of(8))
    assert off(run, full, "in") < 1e-11
    assert leaves(run, full) < 1e-11
    (box,) = case["recording"]
    in_metres = {key: box[key] for key in ("name", "from", "to")}
    large = {"origin": [0, 0, -1.6e6], "size": [2.8e6, 2e6, 1.6e6], "element_size": 4e5}
    rock = {"kind": "homogeneous", "vp": 6000, "vs": 3500, "rho": 2700}
    grid = {"origin": [0, 0, -1600], "size": [2800, 2000, 1600], "spacing": 50}
    told = {
        "box by x and y": case | {"recording": [in_metres]},
        "recorded in a chunk of the Earth": CASE | changes | {"domain": large, "model": rock},
        "by longitude outside a": CASE | {"recording": [box]},
        "longitude outside": CASE | {"recording": [box], "method": "fd", "domain": grid},
    }
    for words, tables in told.items():
        with pytest.raises(ScenarioError, match=words):
            plan(craton.Scenario(**tables))
