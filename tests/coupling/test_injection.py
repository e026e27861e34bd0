"""Injection of recorded waves, by finite differences and spectral elements: inside a box the total field, outside the scattered field."""

import functools
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import zarr
from common import tiers
from damagecase import stopping
from injectioncase import CASE, LAYERS, PLANE, PULSE, RUN, SPACE, apart, inject, leaves, off, ran, taking, untold

import craton
from craton.backends import backend
from craton.driver import waves
from craton.driver.run import plan
from craton.errors import Interrupted
from craton.methods.waves.coupling import recorded
from craton.output.recordings import open_recording
from craton.scenario import dumps

DOUBLE = RUN | {"precision": "float64"}
WATER = {"vp": 1500, "vs": 0, "rho": 1000}
# speeds between those of the layers: the same time step and absorbing layers
BODY = {"vp": 2600, "vs": 1350, "rho": 2500}
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
Q = [layer | {"qp": qp, "qs": qs} for layer, qp, qs in zip(LAYERS, (50, 110), (25, 49))]
VTI = [layer | THOMSEN for layer in LAYERS]
VTI_Q = [layer | THOMSEN for layer in Q]
SEA = [WATER | {"top": 0}, LAYERS[0] | {"top": -425}, LAYERS[1] | {"top": -810}]
LOSSY_SEA = [SEA[0], *(layer | {"qp": 60, "qs": 30} for layer in SEA[1:])]
SLOPE = {"x": [0, 1000, 1500, 2200, 3000], "z": [-90, -340, -290, -440, -440]}
SLOPING = {"topography": SLOPE, "water": {"level": -60, "vp": 1500, "rho": 1000}}
SH = {"domain": PLANE["domain"] | {"waves": "SH"}, "source": [PLANE["source"][0] | {"force": [1e9, 1e9, 0]}]}


def body(low, high, medium=BODY):
    """A box of another medium."""
    return {"shape": "box", "min": low, "max": high} | medium


def layered(layers=LAYERS, **more):
    """A model of layers."""
    return {"model": {"kind": "layers", "layers": layers} | more}


def lossy(storage, layers=Q, mechanisms=4, lowest=20, **more):
    """A model with attenuation."""
    table = {"band": [0.5, 10], "storage": storage, "mechanisms": mechanisms, "lowest_q": lowest}
    return layered(layers, attenuation=table, **more)


def box(bottom, top=0, inside=None):
    """A box between two elevations, with a receiver inside and one outside."""
    at = [1625, -140 if top == 0 else (bottom + top) / 2 + 15]
    receivers = [{"name": "in", "at": inside or at}, PLANE["receivers"][1]]
    return {"recording": [{"name": "box", "from": [1200, bottom], "to": [2000, top]}], "receivers": receivers}


ANOMALY, LAKE = body([1500, -1e3, -400], [1700, 2e3, -100]), body([1100, -1e3, -400], [1500, 2e3, -200], WATER)

# --- inside the full field, outside nothing ----------------------------------------------------------------------------

FD = {  # changes of PLANE or SPACE for both runs
    "in space": {"time": {"duration": 0.8}},
    "SH": SH,
    "acoustic": {
        "model": {"kind": "homogeneous", **WATER},
        "source": [{"kind": "explosion", "at": [600, -800], "moment": 1e12, "wavelet": PULSE}],
        "domain": PLANE["domain"] | {"waves": "acoustic"},
    },
    "VTI": layered(VTI),
    "Holberg's weights": {"run": {"order": 8, "weights": "holberg"}},
    "just deep enough": box(-250, inside=[1625, -60]),
    "below the surface": box(-900, -450, [1625, -675]),
    "attenuation SH": SH | lossy("mixed"),
    "attenuation VTI": lossy("mixed", VTI_Q),
    "attenuation topography": lossy("full", mechanisms=2, topography=-100.0),
    "attenuation VTI topography": lossy("full", VTI_Q, mechanisms=2, topography=-100.0),
    "attenuation below the surface": lossy("coarse") | box(-900, -450, [1625, -675]),
    "attenuation VTI in space": lossy("mixed", VTI_Q) | {"time": {"duration": 0.8}},
    "a floor above the lower side": layered(SEA) | box(-700),
    "a floor at the lower side, order 8": lossy("coarse", LOSSY_SEA) | {"run": {"order": 8}} | box(-500),
    "a floor below the box": layered(SEA) | box(-350),
    "a floor at the upper side": layered(SEA) | box(-950, -450),
    "a lake through the side": layered(anomalies=[LAKE]) | box(-700),
    "a floor that slopes": layered(**SLOPING) | box(-700),
    "a floor SH": SH | layered(SEA) | box(-950, -500),
    "a floor in space": layered(SEA) | {"time": {"duration": 0.7}},
}
SMALL = {
    "time": {"duration": 0.5},
    "run": DOUBLE | {"degree": 3},
    "receivers": [{"name": "in", "at": [1500, 1050, -200]}, CASE["receivers"][1]],
}
CASE_LAYERS = CASE["model"]["layers"]
BAND = {"band": [0.3, 6], "mechanisms": 3}
LOSSY = layered([CASE_LAYERS[0] | {"qp": 40, "qs": 25}, CASE_LAYERS[1] | {"qp": 90, "qs": 50}], attenuation=BAND)
GROUND = {"x": [0, 1200, 1600, 2800], "z": [-50, 0, -90, -40]}
SEABED = {"x": [0, 1200, 1600, 2800], "z": [-400, -350, -480, -390]}
LAND = LOSSY["model"] | {"topography": SEABED, "water": {"level": 0}}
WET = {
    "model": {"kind": "layers", "layers": [SEA[0], LAYERS[0] | {"top": -400}, LAYERS[1] | {"top": -800}]},
    "time": {"duration": 0.6},
    "run": DOUBLE | {"degree": 3},
    "output": {"waveforms": ["velocity", "pressure"]},
}


def wet(low, high, *inside, **more):
    """A box of water or rock or both, and receivers in both: inside those that are named."""
    places = {"rock": [1500, 1050, -500], "water": [1500, 1050, -200]}
    receivers = [{"name": f"in {name}", "at": places[name]} for name in inside]
    receivers += [{"name": "out rock", "at": [2500, 900, -710]}, {"name": "out water", "at": [2500, 900, -210]}]
    sides = {"name": "box", "from": [1100, 300, low], "to": [2100, 1700, high]}
    return WET | {"recording": [sides], "receivers": receivers} | more


SINGLE = {"run": RUN | {"degree": 3}}
BENT = layered([layer | THOMSEN for layer in CASE_LAYERS], topography=GROUND)
NARROW = CASE["domain"] | {"origin": [400, 0, -1600], "size": [2400, 2000, 1600]}
SEM = {  # changes of CASE for both runs, those of the second, ranks that record and inject, bound
    "bent anisotropic elements of a small domain": (SMALL | BENT, {"domain": NARROW}, (1, 1), 1e-11),
    "ranks": (SMALL, {}, (2, 3), 1e-11),
    "attenuation": (SMALL | LOSSY, {}, (1, 2), 1e-11),
    "attenuation float32": (SMALL | LOSSY | SINGLE, {}, (1, 1), 2e-6),
    "rock and water": (wet(-900, 0, "rock", "water"), {}, (1, 1), 1e-11),
    "attenuation below a sea floor with relief": (wet(-900, 0, "rock", "water", model=LAND), {}, (1, 1), 1e-11),
    "rock alone": (wet(-900, -400, "rock"), {}, (1, 2), 1e-11),
    "water alone": (wet(-400, 0, "water"), {}, (1, 2), 1e-11),
}
SHORT = ("in space", "acoustic", "attenuation VTI topography")


def cases():
    """Of differences in float64, few of them in float32 first; of elements."""
    for name, changes in FD.items():
        base = SPACE if "space" in name else PLANE
        for precision, bound in (("float64", 1e-12), ("float32", 1e-6)):
            run = RUN | {"precision": precision} | changes.get("run", {})
            row = (base, {"time": {"duration": 0.9}} | changes | {"run": run}, {}, (1, 1), bound)
            if precision == "float64":
                yield pytest.param(*row, id=f"fd {name} float64", marks=pytest.mark.long)
            elif name in SHORT:
                yield pytest.param(*row, id=f"fd {name} float32")
    for name, row in SEM.items():
        yield pytest.param(CASE, *row, id=f"sem {name}", marks=pytest.mark.long)


@pytest.mark.parametrize("base, changes, second, ranks, bound", [*cases()])
def test_it_is_exact_to_rounding_in_every_medium(base, changes, second, ranks, bound, tmp_path):
    """Also of boxes with one side of a sea floor only: displacement and pressure couple to what is missing. Without what mechanisms
    take, of shear and of bulk, 4e-3 of the peak were off.
    """
    full = ran(base, tmp_path, ranks=ranks[0], **changes)
    run = inject(tmp_path, base, ranks=ranks[1], **changes | second)
    assert base is not CASE or np.isfinite(run.plan.limit)
    assert max(off(run, full, "in"), leaves(run, full)) < bound


# --- a recording for many runs -------------------------------------------------------------------------------------------

POINTS = {"name": "box", "from": [1150, 850, -700], "to": [1650, 1350, 0], "sampling": 250, "thickness": 250}
LOW = {"time": {"duration": 0.9}} | lossy("coarse")
WET_Q = [SEA[0], Q[0] | {"top": -425}, Q[1] | {"top": -810}]
SHORE = wet(-900, 0, "rock", "water", run=RUN, model=LAND, domain=CASE["domain"] | {"size": [2400, 1600, 1600]})
SHORE["recording"] = [{"name": "box", "from": [1210, 410, -900], "to": [1590, 1190, 0]}]
SHORE["receivers"] = [entry | {"at": [min(entry["at"][0], 2200), *entry["at"][1:]]} for entry in SHORE["receivers"]]
RECORDED = {
    "plane": PLANE,
    "space": SPACE,
    "attenuation": PLANE | LOW,
    "sea": PLANE | LOW | layered(SEA) | box(-700),
    "lossy sea": PLANE | LOW | lossy("coarse", WET_Q) | box(-700),
    "elements": CASE,
    "lossy sea in elements": CASE | SHORE,
    "elements at points": CASE | SMALL | SINGLE | {"recording": [POINTS]},
}
RANKS = {"lossy sea in elements": 2}  # that record and inject


@pytest.fixture(scope="module")
def incident(tmp_path_factory):
    """By name: the incident field, where it is recorded, the tables of its run."""

    @functools.cache
    def of(name):
        out = tmp_path_factory.mktemp("recorded")
        return ran(RECORDED[name], out, ranks=RANKS.get(name)), out, RECORDED[name]

    return of


WRECK = body([1400, -1e3, -165], [1560, 2e3, -10])
SOFT = {"qp": 45, "qs": 20}


def around(x, z):
    """A small domain of the plane."""
    return {"domain": PLANE["domain"] | {"origin": [x, z], "size": [2100, -z]}}


BODIES = {  # changes of a run without bodies, a body, bounds: inside, outside, of the scattered field, of what leaves
    "plane": (around(600, -1250), ANOMALY, 1e-6, 1e-6, 1e-5, 1e-2),  # scattered is a tenth of all
    "space": ({}, body([1200, 800, -500], [1600, 1200, -100]), 1e-6, 1e-6, 1e-5, 1e-2),
    "attenuation": (around(600, -1200), ANOMALY | SOFT, 1e-6, 1e-6, 1e-4, 1e-2),
    "sea": (around(600, -1200), WRECK, 1e-6, 1e-6, 1e-3, 5e-3),
    "lossy sea": (around(600, -1200), WRECK | SOFT, 1e-6, 1e-6, 1e-3, 5e-3),
    # scattered is a thirtieth; in float32 a run rounds by 0.7 to 1.7e-6 itself
    "lossy sea in elements": (None, body([1300, 900, -800], [1500, 1100, -500]), 1e-5, None, 1e-4, 5e-2),
    "elements": ({}, body([1200, 800, -800], [1600, 1200, -400]), 2e-6, 1e-6, 1e-4, 1e-2),
}


@pytest.mark.costly("fluid, attenuation and elements in one")
@pytest.mark.parametrize("name", tiers(BODIES, "plane", "lossy sea in elements"))
def test_the_box_holds_the_full_field_and_only_what_bodies_scatter_leaves_it(name, incident):
    """Around the box a small domain may be, and in it another body."""
    (full, out, base), (domain, anomaly, inside, outside, scattered, least) = incident(name), BODIES[name]
    if domain is not None:
        run = inject(out, base | domain)
        assert off(run, full, "in") < inside
        assert leaves(run, full) < outside
    whole, run = ran(base, None, anomaly), inject(out, base, anomaly, ranks=RANKS.get(name))
    assert off(run, whole, "in") < inside
    assert off(run, whole, "out", less=full) < scattered
    assert leaves(run, full) > least


def test_a_box_that_ends_above_the_ground_ends_at_it():
    corners = [PLANE["recording"][0] | {"to": [2000, z]} for z in (0, 300)]
    at_ground, above = (plan(craton.Scenario(**PLANE | {"recording": [one]})).recordings[0] for one in corners)
    assert above.about == at_ground.about and above.places == at_ground.places


def test_recordings_of_any_two_names_keep_arrays_of_their_own():
    """The ring of "x_source" was the table of what "x" records: both were wrong."""
    tables = [[PLANE["recording"][0] | {"name": name} for name in ("x", other)] for other in ("y", "x_source")]
    plans = [plan(craton.Scenario(**PLANE | {"recording": pair})) for pair in tables]
    assert len(plans[0].arrays) == len(plans[1].arrays)


def test_a_recording_alone_has_the_steps_that_the_correction_of_its_end_takes():
    extra = [craton.plan(craton.Scenario(**PLANE | {"receivers": at})).extra for at in (PLANE["receivers"], [])]
    assert extra[0] == extra[1] > 0


def test_the_band_of_a_run_is_that_of_the_highest_of_its_waves():
    waves_in = [SimpleNamespace(band=7.0), SimpleNamespace(band=3.0)]
    assert [recorded.band_with(5.0, sources, waves_in) for sources in (["one"], [])] == [7.0, 7.0]
    assert recorded.band_with(9.0, ["one"], waves_in) == 9.0 and recorded.band_with(np.inf, [], []) == np.inf


def test_a_run_may_begin_with_the_first_stress_that_was_recorded():
    """Which it takes a step later: the row before its start."""
    values = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], np.float32)  # of a velocity and a stress
    source = SimpleNamespace(
        path="", name="", values=values, columns=lambda places, low, high: values[low:high, places]
    )
    wave = SimpleNamespace(recorded=source, shift=lambda start: 2.0, key="injection.0", about={"start": 0.0})
    d = SimpleNamespace(start=2.0, steps=2, precision="float32")
    taken = recorded.values_of(d, wave, np.arange(2), [False, True])
    assert taken.shape == (2, 2) and taken.read.largest.tolist() == [1, 1]


def test_a_recording_is_sought_beside_the_scenario(tmp_path):
    file = tmp_path / "basin.toml"
    file.write_text(dumps(craton.Scenario(**PLANE | taking(tmp_path / "regional"))).replace(f"{tmp_path}/", ""))
    assert craton.load(file).injection[0].recorded == str(tmp_path / "regional")


def same_recording(*folders):
    """Whether two folders have the same recording to the last bit."""
    return np.array_equal(*(open_recording(folder, "box").values[...] for folder in folders))


@pytest.mark.parametrize("name", tiers(("attenuation", "sea", "lossy sea"), "lossy sea"))
def test_ranks_record_and_inject_the_same_bits(name, incident, tmp_path):
    _, out, base = incident(name)
    ran(base, tmp_path, ranks=2)
    assert same_recording(out, tmp_path)
    assert np.array_equal(inject(out, base, ranks=1).samples, inject(tmp_path, base, ranks=2).samples)


@pytest.mark.parametrize("name", tiers(("plane", "attenuation", "sea"), "plane"))
def test_both_runs_go_on_after_an_interruption_with_the_same_bits(name, incident, tmp_path, monkeypatch):
    _, out, base = incident(name)
    whole = inject(out, base)
    stopping(monkeypatch, 77, 130)
    with pytest.raises(Interrupted):
        ran(base, tmp_path / "recording")
    with pytest.raises(Interrupted):
        craton.resume(tmp_path / "recording", progress=False)
    craton.resume(tmp_path / "recording", progress=False)
    assert same_recording(out, tmp_path / "recording")
    stopping(monkeypatch, 100)
    with pytest.raises(Interrupted):
        ran(base, tmp_path / "injection", **taking(out))
    assert np.array_equal(craton.resume(tmp_path / "injection", progress=False).samples, whole.samples)


def test_a_recording_is_read_in_blocks_of_steps_with_the_same_bits(incident, monkeypatch):
    """Blocks of 2 and 7 steps, and a last one that is not full, against all steps in memory."""
    _, out, base = incident("plane")
    results = {}
    for slots in (2, 7, 10**6):
        monkeypatch.setattr("craton.core.snapshots.MOST_SLOTS", slots)
        results[slots] = inject(out, base | around(600, -1250))
    monkeypatch.setattr("craton.driver.waves.with_rings", lambda plan: plan)
    monkeypatch.setattr("craton.driver.waves.rolling_series", lambda plan: {})
    whole = inject(out, base | around(600, -1250))
    assert all(np.array_equal(result.samples, whole.samples) for result in results.values())
    series, blocks = whole.plan.arrays["injection0_series"], results[7].plan
    row = series.shape[1] * 4
    assert blocks.arrays["injection0_series"].nbytes == 7 * row
    words = dict(blocks.notes["Sources"])["injection"]
    assert f"{7 * row / 2**20:,.1f} MiB of {len(series.data) * row / 2**20:,.1f} MiB" in words
    assert blocks.nbytes < results[10**6].plan.nbytes - 100 * row


def test_a_hostile_machine_injects_the_same_bits(incident, monkeypatch):
    """All incident values in memory, as nothing fills rings here."""
    _, out, base = incident("lossy sea")
    monkeypatch.setattr("craton.driver.waves.with_rings", lambda plan: plan)
    scenario, records = craton.Scenario(**base | taking(out) | {"run": RUN}), []
    for name in ("cpu", "hostile"):
        program = waves.commit(scenario, plan(scenario), backend(name, threads=1))
        for step in range(80):
            program.step(step)
        records.append(program.host("record")[:80])
    assert np.abs(records[0]).max() > 0
    assert np.array_equal(*records)


@pytest.mark.long
def test_layers_made_for_the_same_speeds_leave_no_difference(tmp_path):
    """A body slower than all before it changes the layers of its run; speeds that are given hold them, and the plan says so."""
    slow, cpml = ANOMALY | {"vp": 1400, "vs": 700}, PLANE["boundaries"]["cpml"]
    for speeds, bound in (({"vp": [1400, 3000], "vs": [700, 1700]}, 1e-5), ({}, 1.0)):
        base = PLANE | {"boundaries": {"top": "free", "cpml": cpml | speeds}}
        out = tmp_path / str(len(speeds))
        full, run = ran(base, out), inject(out, base, slow)
        scattered = off(run, ran(base, None, slow), "out", less=full)
        warned = any("same vp and vs in boundaries.cpml" in text for text in run.plan.warnings)
        assert scattered < bound and warned == (not speeds)
    assert scattered > 1e-3  # what the layers make of it
    notes = str(dict(run.plan.notes["Elastic waves"]))
    assert "made for waves of 700 .. 3000, vp 1400 .. 3000, vs 700 .. 1700 m/s" in notes


# --- recordings at points --------------------------------------------------------------------------------------------------

LONG_PULSE = {"kind": "gaussian", "tau": 0.14}
FLAT_Q = lossy("coarse", [Q[0], Q[1] | {"top": -400}])
BLAST = FD["acoustic"]["source"][0] | {"wavelet": LONG_PULSE}
AT_POINTS = {  # changes of both runs, bound
    "elastic": (layered([LAYERS[0], LAYERS[1] | {"top": -400}]), 0.01),
    # one step for both, so that kernels are compiled once: the constants of mechanisms depend on it
    "attenuation": (FLAT_Q | {"run": RUN | {"order": 8}, "time": {"duration": 1.4, "step": 0.004}}, 0.01),
    "acoustic": (FD["acoustic"] | {"source": [BLAST], "time": {"duration": 1.1}}, 1e-3),
}


@pytest.mark.parametrize("name", tiers(AT_POINTS, "elastic"))
def test_a_recording_at_points_is_injected_on_another_grid(name, tmp_path):
    changes, bound = AT_POINTS[name]
    source = PLANE["source"][0] | {"wavelet": LONG_PULSE}
    base = PLANE | {"source": [source], "time": {"duration": 1.4}} | changes
    coarse, fine = (base | {"domain": base["domain"] | {"spacing": spacing}} for spacing in (40, 30))
    full = ran(coarse, tmp_path, recording=[PLANE["recording"][0] | {"sampling": 60}])
    assert max(apart(inject(tmp_path, fine), full)) < bound
    model, taken = base["model"], fine | taking(tmp_path)
    if name == "attenuation":
        assert untold((taken | {"model": model | {"attenuation": None}}, "", "qp = 0 instead of")) == []
    if name == "elastic":  # waves that are interpolated do not cross a floor
        ponds = (body([x, -1e3, -100], [1700, 2e3, 0], WATER) for x in (1100, 1500))
        pond, pool = ({"model": model | {"anomalies": [water]}} for water in ponds)
        assert untold((taken | pond, "", "do not pass fluid at the sides")) == []
        plan(craton.Scenario(**taken | pool))


@pytest.mark.long
def test_ranks_record_the_same_at_points(tmp_path):
    """Any ranks, the order of one; two ranks inject them, and a plane wave."""
    for ranks in (1, 2):
        ran(CASE, tmp_path / str(ranks), ranks=ranks, **SMALL | {"recording": [POINTS | {"azimuth": 10}]})
    single, double = (open_recording(tmp_path / n, "box") for n in "12")
    assert np.abs(double.values[...] - single.values[...]).max() < 1e-12 * np.abs(single.values[...]).max()
    assert all(np.allclose(double.labels[name], single.labels[name]) for name in ("x", "z", "vs"))
    assert np.array_equal(double.labels["field"], single.labels["field"])
    wave = {"wave": "SV", "from": [1100, 300, -900], "to": [2100, 1700, 0], "incidence": 20}
    wave |= {"wavelet": {"kind": "ricker", "frequency": 2.0}, "at": [1500, 1000, -900]}
    changes = {"source": [], "injection": [wave], "time": {"duration": 0.3}}
    assert off(*(ran(CASE, ranks=ranks, **SMALL | changes) for ranks in (1, 2)), "in") < 1e-11


# --- in words ----------------------------------------------------------------------------------------------------------------


def test_the_plan_states_what_recordings_and_injections_take(incident):
    _, out, base = incident("plane")
    notes = plan(craton.Scenario(**base, run=RUN)).notes
    steps, places = open_recording(out, "box").values.shape
    words = dict(notes["Memory"])["recording box"]
    assert f"{places:,} places x {steps:,} steps" in words
    assert f"{4 * places * steps / 2**20:,.1f} MiB on disk" in words
    notes = plan(craton.Scenario(**base | taking(out))).notes
    assert f"{places:,} incident values a step" in dict(notes["Sources"])["injection"]


def test_receivers_and_sources_next_to_the_sides_are_told(incident):
    for name, beside, inside, source in (
        ("plane", [1150, -300], [1600, -300], [1100, -600]),
        ("lossy sea in elements", [900, 900, 0], [1500, 1000, 0], [1300, 900, -700]),
    ):
        _, out, base = incident(name)
        receivers = [{"name": "side", "at": beside}, {"name": "in", "at": inside}]
        warnings = plan(craton.Scenario(**base | taking(out) | {"receivers": receivers})).warnings
        assert any("total and the scattered field: side" in text for text in warnings)
        assert not any("recording" in text for text in warnings)
        planned = plan(craton.Scenario(**base | {"source": [base["source"][0] | {"at": source}]}))
        assert any('in the box of the recording "box"' in text for text in planned.warnings)
        assert "MiB on disk" in dict(planned.notes["Memory"])["recording box"]


CHUNK = {"longitude": 10, "latitude": 20, "bottom": "400 km", "growth": []}
QUAKE = {"kind": "moment_tensor", "at": {"longitude": 8, "latitude": 20, "depth": "100 km"}}
QUAKE |= {"tensor": {"rr": 1e20, "tt": -1e20, "rp": 2e19}, "wavelet": {"kind": "gaussian", "tau": 5}}
TURNED = {"name": "box", "from": [-120_000, -120_000, -200_000], "to": [120_000, 120_000, 0]}
TURNED |= {"longitude": 11.0, "latitude": 20.0, "azimuth": 20}
EARTH = {
    "method": "sem",
    "model": {"kind": "prem"},
    "time": {"duration": 50},
    "source": [QUAKE],
    "recording": [TURNED],
    "receivers": [
        {"name": "in", "at": {"longitude": 11, "latitude": 20, "depth": "30 km"}},
        {"name": "out", "at": {"longitude": 14, "latitude": 20}},
    ],
}
GRID = PLANE["domain"]
HARDER = {"kind": "layers", "layers": [LAYERS[0] | {"rho": 2100}, LAYERS[1]]}
POCKET = body([1100, -1e3, -1100], [1500, 2e3, -830], WATER)
FASTER = {"kind": "homogeneous", "vp": 6000, "vs": 3000, "rho": 2500}
RECORDING, AGAINST = "recording.0", "injection.0.recorded"
CUBES = {"method": "fd", "domain": {"origin": [0, 0, -1600], "size": [2800, 2000, 1600], "spacing": 50}}
CUBES |= {"model": CASE["model"], "source": CASE["source"]}


def one_box(low, high):
    """A recording of another box."""
    return {"recording": [{"name": "b", "from": low, "to": high}]}


WAVE = {"wave": "P", "incidence": 20, "from": [1200, -700], "to": [2000, 0], "wavelet": PULSE}
TOP, BOTTOM = LAND["layers"]


def land(*layers, **more):
    """The model of the shore with other layers."""
    return {"model": LAND | {"layers": list(layers) or LAND["layers"]} | more}


# a recording, which is "." there: changes of the run that takes it, the key that is told, words of the message
WRONG = {
    "plane": [
        ({"injection": [{"recorded": "nowhere", "name": "box"}]}, AGAINST, "there is no run in"),
        ({"injection": [{"recorded": ".", "name": "valley"}]}, AGAINST, "there are box"),
        ({"domain": GRID | {"spacing": 60}}, AGAINST, "a spacing of 50 m"),
        ({"domain": GRID | {"origin": [20, -1500]}}, AGAINST, "points of this grid"),
        ({"time": {"duration": 1.5, "step": 0.005}}, AGAINST, "steps of 0.00"),
        ({"model": FASTER}, "time.step", "unstable"),
        ({"time": {"duration": 1.7}}, AGAINST, "it ends at"),
        ({"time": {"duration": 1.5, "start": -0.101}}, "time.start", "whole number"),
        ({"time": {"duration": 1.5, "start": "LATE"}}, "time.start", "waves have come"),
        ({"model": HARDER}, "injection.0", "vp = 2813.53 instead of 2804.67"),
        ({"run": RUN | {"order": 2}}, AGAINST, "this run has run.order 2"),
        ({"boundaries": {"top": "cpml"}}, AGAINST, "open at a free surface"),
        (lossy("coarse") | {"time": {"duration": 1.0}}, AGAINST, "recorded with no attenuation"),
        ({"domain": GRID | {"origin": [1100, -1500]}}, "injection.0", "too close to a boundary along x"),
        ({"injection": []}, "source", "is required"),
        (one_box([100, -700], [800, 0]), RECORDING, "too close"),
        (one_box([1200, -200], [2000, 0]), RECORDING, "differences below the free surface"),
        (one_box([900, -700], [910, 0]), RECORDING, "two points wide"),
        (one_box([900, 0], [800, -5]), "recording.0.to", "before it begins"),
    ],
    "lossy sea": [
        (layered(SEA), AGAINST, "this run has no attenuation"),
        (lossy("full", WET_Q), AGAINST, "with coarse storage"),
        (lossy("coarse", WET_Q, lowest=15), AGAINST, "lowest_q 20; this run has lowest_q 15"),
        (lossy("coarse", [*WET_Q[:2], WET_Q[2] | {"qs": 60}]), "injection.0", "instead of"),
        ({"domain": GRID | {"origin": [50, -1500]}}, AGAINST, "odd number of points apart along x"),
        (LOW | {"injection": [WAVE]}, "injection.0", "the exact response is one of elastic layers"),
        # a pocket of fluid below the box: differences at its side end where those of the recording do not
        (lossy("coarse", WET_Q, anomalies=[POCKET]), "", "contacts of fluid and solid are elsewhere"),
    ],
    "lossy sea in elements": [
        ({"domain": SHORE["domain"] | {"element_size": 380}}, AGAINST, "it has no potential at"),
        (land(TOP | {"vp": 2100}, BOTTOM), "injection.0", "instead of"),
        ({"run": RUN | {"assembly": "colour"}}, "injection.0", "colour"),
        (CUBES, AGAINST, 'method = "sem"'),
        (one_box([0, 300, -900], [1000, 1700, 0]), RECORDING, "reaches the boundary"),
        (one_box([810, 300, -900], [850, 310, 0]), RECORDING, "no element"),
        ({"time": {"duration": 1.3}}, AGAINST, "it ends at"),
        (land(TOP | {"qs": 30}, BOTTOM), "", "lowest_q 30"),
        (land(TOP, BOTTOM | {"qs": 60}), "", "qs = "),
        (land(attenuation=None), "", "this run has no attenuation"),
        ({"recording": [TURNED]}, RECORDING, "by longitude outside a"),
        (CUBES | {"recording": [TURNED], "injection": []}, "", "longitude outside"),
        ({"model": LOSSY["model"]}, "", "it has no u"),
    ],
    "elements": [({"run": RUN | {"degree": 3}, "time": {"duration": 0.5}}, AGAINST, "degree 4")],
    "elements at points": [(wet(-400, 0, "water") | SINGLE, "", "do not pass fluid at the sides")],
}


@pytest.mark.parametrize("name", tiers(WRONG, "plane", "lossy sea"))
def test_what_does_not_fit_is_told_before_anything_runs(name, incident, monkeypatch):
    full, out, base = incident(name)
    monkeypatch.chdir(out)
    rows = []
    for changes, key, words in WRONG[name]:
        tables = {"run": RUN} | base | taking(out) | changes
        if tables["time"].get("start") == "LATE":
            tables["time"] = tables["time"] | {"start": full.plan.start + 200 * full.plan.dt}
        rows.append((tables, key, words))
    assert untold(*rows) == []


def test_a_recording_that_was_stopped_is_told(incident, tmp_path):
    _, out, base = incident("plane")
    shutil.copytree(out / "result.zarr", tmp_path / "result.zarr")
    root = zarr.open_group(open_recording(tmp_path, "box").path, mode="r+", zarr_format=2)
    root["recordings/box/values"][-3:] = np.nan
    assert untold((base | taking(tmp_path), "", "not complete")) == []


@pytest.mark.long
def test_a_box_in_a_chunk_of_the_earth_is_exact_to_rounding(tmp_path):
    """Two ranks inject into a narrower chunk; it records between longitudes, not between x and y."""
    wide, narrow = (EARTH | {"domain": {"chunk": CHUNK | {"width": [w, 6], "elements": [w, 6]}}} for w in (10, 8))
    full = ran(wide, tmp_path, run=SMALL["run"])
    run = inject(tmp_path, narrow, ranks=2, run=SMALL["run"])
    assert max(off(run, full, "in"), leaves(run, full)) < 1e-11
    large = {"origin": [0, 0, -1.6e6], "size": [2.8e6, 2e6, 1.6e6], "element_size": 4e5}
    rock = {"kind": "homogeneous", "vp": 6000, "vs": 3500, "rho": 2700}
    elsewhere = CASE | taking(tmp_path) | {"domain": large, "model": rock}
    in_metres = wide | {"recording": [{key: TURNED[key] for key in ("name", "from", "to")}]}
    rows = ((elsewhere, "", "recorded in a chunk of the Earth"), (in_metres, "", "box by x and y"))
    assert untold(*rows) == []
