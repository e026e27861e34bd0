"""Scenarios on a chunk of the Earth and on the whole: what they say, what is wrong with them, what a run leaves, what plans count."""

import json
import math

import benchscript
import numpy as np
import pytest
from common import misfit, refused
from earthcase import PREM, RADIUS, SIMPLE, TEXT, WHOLE, changed, emc_file
from paths import ROOT

import craton
from craton import report
from craton.backends.cpu import CPU
from craton.cli.plan import one_run
from craton.core import elements
from craton.errors import ScenarioError
from craton.io.contents import moment_tensor
from craton.methods.spectral_element.mesh import counting
from craton.model.globe import earth_chunk
from craton.model.mesh import numbering
from craton.report.runs import Run
from craton.scenario import dumps, loads, reads
from craton.survey import geography, source_files, sources

PLAIN = 'kind = "prem"'
FLAT = (PLAIN, 'kind = "homogeneous"\nvp = 8000\nvs = 4500\nrho = 3300')
FD = ('"sem"', '"fd"')
BOX = ("chunk = {", "origin = [0, 0, -1000]\nsize = [1000, 1000, 1000]\nspacing = 100\n#")

COARSE = ("period = 100", "elements = [4, 4], growth = []")
DEEP = ('"1000 km"', '"cmb"')
RADIAL = 'kind = "radial"\nfile = "x.nd"\nattenuation = { band = [0.001, 0.1] }\nperturbation = { file = "x.nc" }'
AT, TO = "at = { longitude = -65, latitude = -13 }", "to = { longitude = -65, latitude = -15, depth = 100 }"
SIX, TWO, MANTLE = "chunks = 6,", "chunks = 2, longitude = 20, latitude = 30,", ('"centre"', '"cmb"')


def test_written_and_read_again():
    for text, *pairs in (
        (TEXT, DEEP),
        (TEXT, ("period = 100", 'elements = [8, 8], growth = ["100 km"], honour = [500_000], elliptic = true')),
        (TEXT, (PLAIN, PLAIN + "\ntransverse = true\nocean = true")),
        (TEXT, (PLAIN, 'kind = "ak135"')),
        (TEXT, (PLAIN, RADIAL)),
        (WHOLE, (SIX, TWO), MANTLE),
        (WHOLE, ('"centre" }', '"3000 km", growth = [], elliptic = true, azimuth = 10 }')),
        *([(ROOT / "examples" / f"{name}.toml").read_text()] for name in ("earth_chunk", "bolivia_1994", "globe")),
    ):
        scenario = loads(changed(*pairs, text=text))
        assert loads(dumps(scenario)) == scenario and not scenario.warnings, pairs


ENDS = '[boundaries]\nbottom = "stacey"\nwest = "free"\n[model]'
FOCUS, PLACE, END = "source.0.at", "receivers.0.at", "receivers.1.line.from"
UNREADABLE = [  # text, edits, key, words
    (TEXT, [("period = 100, ", "")], "domain.chunk.period", "neither period nor elements"),
    (TEXT, [("period = 100", "period = 100, elements = [8, 8]")], "domain.chunk.elements", "are mutually exclusive"),
    (TEXT, [("[10, 12]", "[10, 130]")], "domain.chunk.width.1", "at most 120"),
    (TEXT, [("[10, 12]", "10")], "domain.chunk.width", "two numbers"),
    (TEXT, [("[model]", "spacing = 100\n[model]")], "domain.spacing", "the chunk defines the domain"),
    (TEXT, [FLAT], "model.kind", "is not a radial Earth model"),
    (TEXT, [('"1000 km"', '"core"')], "domain.chunk.bottom", "core"),
    (TEXT, [(AT, "at = { x = 0, y = 0, depth = 0 }")], "receivers.0.at", "depth needs longitude and latitude"),
    (TEXT, [(AT, "grid = { x = [0, 1, 2], y = [0, 1, 2], z = 0 }")], "receivers.0", "a grid of receivers"),
    (TEXT, [(AT, AT.replace("-13", "-103"))], "receivers.0.at.latitude", "-90"),
    (TEXT, [(TO, "to = [0, 0, 1]")], "receivers.1.line.to", "one end"),
    (TEXT, [("rr = 1e20", "rr = 1e20, xx = 1")], "source.0.tensor.xx", "unknown key"),
    *((TEXT, [BOX, *more], "model.kind", "") for more in ([], [FD])),
    *((TEXT, [BOX, FLAT, *more], key, "") for key in (FOCUS, PLACE, END) for more in ([], [FD])),
    (WHOLE, [(SIX, "chunks = 4,")], "domain.chunk.chunks", "4"),
    (WHOLE, [(SIX, "chunks = 6, width = [90, 90],")], "domain.chunk.width", "90 degrees wide"),
    (WHOLE, [(SIX, "chunks = 3, longitude = 3, latitude = 3,")], "domain.chunk.bottom", "all six"),
    (WHOLE, [(SIX, "chunks = 2,"), MANTLE], "domain.chunk.longitude", "missing"),
    (WHOLE, [(SIX, "longitude = 1, latitude = 3,"), MANTLE], "domain.chunk.width", "missing"),
    (WHOLE, [("[8, 8]", "[8, 10]")], "domain.chunk.elements", "need the same number of elements"),
    (WHOLE, [("[model]", ENDS)], "boundaries.bottom", "no face bottom"),
]
UNPLANNED = [
    (TEXT, [("latitude = -13.5, depth", "latitude = -25.5, depth")], "source.0.at", "from the centre along xi and eta"),
    (TEXT, [('depth = "150 km"', 'depth = "1050 km"')], "source.0.at", "below the chunk, which is 1000 km deep"),
    (TEXT, [(AT, AT.replace("-13", "-13, depth = -10"))], "receivers.0.at", "above the ground"),
    (TEXT, [('"1000 km"', '"6400 km"')], "domain.chunk", "is not between the surface and the bottom"),
    (TEXT, [("period = 100", "elements = [9, 9], growth = [100_000]")], "domain.chunk", "must be multiples of 2"),
    (TEXT, [(PLAIN, 'kind = "radial"\nfile = "none.nd"')], "model.file", "no file"),
    (TEXT, [(PLAIN, PLAIN + '\nperturbation = { file = "none.nc" }')], "model.perturbation.file", ""),
    (WHOLE, [("[8, 8]", "[10, 10], growth = [100_000]")], "domain.chunk", "must be multiples of 4"),
    (WHOLE, [(SIX, TWO), MANTLE], "source.0.at", "none of the 2 chunks"),
    (WHOLE, [MANTLE], "receivers.1.at", "below the chunk"),
]


def test_problems_in_words():
    for text, pairs, key, words in UNREADABLE:
        problems = reads(changed(*pairs, text=text)).problems
        assert any(p.key == key and words in p.message for p in problems), (key, words, problems)
    for text, pairs, key, words in UNPLANNED:
        with pytest.raises(ScenarioError) as caught:
            craton.plan(loads(changed(*pairs, text=text)))
        problems = caught.value.problems
        assert key in {p.key for p in problems} and words in str(problems[0].message), (key, words, problems)


def test_core_is_free_below_the_mantle():
    free, asked = loads(changed(DEEP)), loads(changed(DEEP) + '[boundaries]\nbottom = "rigid"\n')
    assert free.face("bottom") == "free" and loads(TEXT).face("bottom") == "stacey"
    assert asked.face("bottom") == "rigid" and asked.face("west") == "stacey"


# --- runs -------------------------------------------------------------------------------------------------------------------------------


def test_run_has_places_and_components():
    """East, north and up at each station; two ranks as one, with the source on a corner of four elements in the middle, which both have."""
    scenario = loads(changed(COARSE, ("longitude = -67.0, latitude = -13.5", "longitude = -67.25, latitude = -13.82")))
    alone, shared = (craton.run(scenario, device="cpu", progress=False, devices=n) for n in (1, 2))
    data = alone.dataset
    assert misfit(shared.dataset.displacement, data.displacement) < 5e-6
    assert np.allclose(data.longitude, -65) and np.allclose(data.latitude, [-13, -13, -14, -15], atol=2e-3)
    assert np.allclose(data.depth, [0, 0, 50, 100], atol=1e-6) and data.attrs["source_depth"] == pytest.approx(150e3)
    assert (abs(data.displacement).max("time") > 0).all() and np.isfinite(data.displacement).all()
    assert "perturbation" not in dict(alone.plan.notes["Chunk"])


def test_plan_has_places_and_a_turned_mechanism():
    scenario = loads(changed(COARSE))
    chunk = earth_chunk.chunk_of(scenario)
    elliptic = ("azimuth = 20", "azimuth = 20, elliptic = true")
    assert chunk.spherical and not earth_chunk.chunk_of(loads(changed(COARSE, elliptic))).spherical
    transverse = earth_chunk.chunk_of(loads(changed(COARSE, (PLAIN, PLAIN + "\ntransverse = true"))))
    assert transverse.model.anisotropic and not chunk.model.anisotropic
    axes, m = chunk.axes(-67.0, -13.5), moment_tensor([1e20, -1e20, 0, 0, 2e19, 0])
    assert np.array_equal(sources.mechanism(scenario.source[0])[0], m)
    plan, focus = craton.plan(scenario), {"source_longitude": -67, "source_latitude": -13.5, "source_depth": 150e3}
    assert plan.receivers.stations.attributes == pytest.approx(focus)
    assert np.allclose(plan.receivers.xyz[0], chunk.place(-65, -13))
    domain = scenario.domain.on(geography.Globe(chunk))
    (source,) = source_files.build_all(scenario.model_copy(update={"domain": domain}))
    assert np.allclose(source.xyz, chunk.place(-67.0, -13.5, 150e3))
    assert np.allclose(source.moment, axes @ m @ axes.T)
    # PREM's speeds hold at 1 s; at 100 s, where mechanisms are fitted, they are lower by ln(100) / (pi Q)
    lossy, r = loads(changed(COARSE, (PLAIN, PLAIN + "\nattenuation = { band = [0.001, 0.1] }"))), RADIUS - 300e3
    sampler, frequency = earth_chunk.sampler(lossy, chunk)
    assert frequency == pytest.approx(0.01)
    medium = sampler.at(np.array([[[0.0], [0.0], [r]]]))
    for name, speed, loss in zip(("vp", "vs"), PREM.speeds(r), PREM.medium(r)[3:]):
        assert medium[name][0, 0] == pytest.approx(speed * (1 + math.log(0.01) / math.pi * loss)), name
    assert medium["vs"][0, 0] < 0.995 * PREM.speeds(r)[1]
    assert craton.plan(lossy).nbytes > 1.5 * plan.nbytes


@pytest.mark.long
def test_run_leaves_a_map_and_stations(tmp_path):
    pytest.importorskip("matplotlib")
    obspy = pytest.importorskip("obspy")
    (tmp_path / "simple.nd").write_text(SIMPLE)
    scenario = loads(changed(COARSE, (PLAIN, f'kind = "radial"\nfile = "{tmp_path / "simple.nd"}"')))
    craton.run(scenario, device="cpu", out=tmp_path / "out", progress=False)
    assert report.plot(Run(tmp_path / "out"), "section").stat().st_size > 10_000
    assert report.plot(Run(tmp_path / "out"), "map").exists()
    station = obspy.read_inventory(str(tmp_path / "out" / "stations.xml"))[0][0]
    assert (station.latitude, station.longitude) == pytest.approx((-13, -65))


def test_a_perturbation_says_what_it_covers_and_its_extremes(tmp_path):
    """Above 500 of 1000 km, shells of (6371^3 - 5871^3) / (6371^3 - 5371^3), and east of the middle alone: half of that."""
    share, values = (6371**3 - 5871**3) / (6371**3 - 5371**3) / 2, np.full((2, 2, 2), 1.5)
    values[0, 0, 0] = -2.5
    over = emc_file(tmp_path / "over.nc", [0, 500], [-30, 0], [-67.25, -50.0], dvs=(values, "%"))
    scenario = loads(changed(COARSE, (PLAIN, f'{PLAIN}\nperturbation = {{ file = "{over}" }}')))
    sampler, _ = earth_chunk.sampler(scenario, earth_chunk.chunk_of(scenario))
    places = sampler.chunk.place([-62.9375, -70.0], [-15.0, -15.0], 250e3).T[None]  # a quarter from the first corner
    assert sampler.at(places)["vs"][0] == pytest.approx(PREM.speeds(RADIUS - 250e3)[1] * np.array([1.0075, 1]))
    note = dict(craton.plan(scenario).notes["Chunk"])["perturbation"]
    assert note.startswith("over.nc covers ") and "dvs -2.5 .. 1.5 %" in note
    assert float(note.split()[2].rstrip("%")) == pytest.approx(100 * share, abs=2.5)


def test_picture_of_the_surface():
    """A hemisphere from above: pi / 4 of the raster's square; the corners beside it are not on the mesh (ten points a side)."""
    snapshots = '[[snapshots]]\nname = "top"\nquantity = "velocity"\nplane = { surface = true }\nevery = 5\n'
    (series,) = craton.plan(loads(changed(("[8, 8]", "[4, 4]"), text=WHOLE) + snapshots)).snapshots
    size = len(series.coords["x"]) * len(series.coords["y"])
    assert len(series.where) / size == pytest.approx(np.pi / 4, abs=0.1)


# --- counts -----------------------------------------------------------------------------------------------------------------------------

FINE = ("[8, 8]", "[16, 16]"), ('"centre" }', '"cmb", growth = [100_000] }'), ("6371 km", "600 km")
FLUID = ('"1000 km"', '"3200 km"'), ("period = 100", 'elements = [8, 8], growth = ["300 km"]')


SMALL = [  # text, edits, greatest differences of step and points
    (TEXT, [("period = 100", "period = 60")], 0.03, 0),
    (TEXT, FLUID, 0.03, 0.02),
    (WHOLE, [("[8, 8]", "[4, 4]")], 0.05, 0.06),
]
LARGE = [(WHOLE, FINE, 0.05, 0.06)]


@pytest.mark.parametrize("cases", [SMALL, pytest.param(LARGE, marks=pytest.mark.long)], ids=["small", "large"])
def test_counts_agree_with_the_plan(cases):
    """Elements exactly, points where none is fluid (between solid and fluid they are two), the step within 3 or 5 % (it is that of some
    columns), bytes within 15 % (padding and faces).
    """
    for text, pairs, step, points in cases:
        scenario = loads(changed(*pairs, text=text))
        count, plan = counting.count(scenario, CPU(threads=1)), craton.plan(scenario)
        assert count.elements == plan.grid.elements and count.shared == 0, pairs
        assert count.step == pytest.approx(plan.dt, rel=step) and count.nbytes == pytest.approx(plan.nbytes, rel=0.15)
        assert count.points == pytest.approx(plan.points, rel=points), pairs
        if text == WHOLE:
            assert f"{count.chunk.all_chunks} chunks" in str(plan)
            assert pairs is FINE or "4 x 4 x 4 about the centre" in str(plan)


def test_counts_of_slices():
    """What ranks hold, and what they share, as their meshes say it."""
    scenario = loads(changed(("period = 100", "elements = [16, 16], growth = [300_000]")))
    count, chunk = counting.count(scenario, CPU(threads=1), 4), earth_chunk.chunk_of(scenario)
    whole = chunk.part()
    numbered, owner = numbering.number(whole.mesh.elements, 4), chunk.slice_of(whole, 2, 2)
    points = numbered.points.reshape(len(owner), -1)
    shared = elements.shared_points(points, numbered.count, owner, 0)
    outer = np.isin(points, np.concatenate([*shared.values()])).any(axis=1) & (owner == 0)
    assert count.grid == (2, 2) and count.elements == (owner == 0).sum() and count.outer >= outer.sum()
    assert count.shared == sum(len(numbers) for rank, numbers in shared.items() if rank in (1, 2))
    refused(ScenarioError, "cannot be divided evenly", counting.count, scenario, CPU(threads=1), 1000)


@pytest.mark.long
def test_counts_of_large_meshes():
    """A chunk for 1 s on 10,000 GPUs has a billion elements, the whole for 42 s half a million: no mesh is built; ranks share it evenly."""
    scenario = loads(changed(("width = [10, 12]", "width = [60, 60]"), ("period = 100", "period = 1"), DEEP))
    many = one_run(scenario, ranks=10_000)
    assert many.chunk.size > 1e9 and many.ranks == 10_000 and many.elements * 10_000 >= many.chunk.size
    assert 0 < many.seconds[1] <= many.seconds[0] < 2 * many.seconds[1]
    assert "shortest period" in str(many) and "10,000 in 100 x 100 slices" in str(many)
    scenario = loads(changed(("elements = [8, 8]", "period = 42"), text=WHOLE))
    alone, shared = one_run(scenario), one_run(scenario, ranks=384)
    assert alone.chunk.size > 5e5 and alone.elements == alone.chunk.size
    assert alone.shared == 0 and "6 chunks" in str(alone)
    assert shared.elements * 384 >= alone.chunk.size and 0 < shared.shared < shared.points
    assert "384 in equal parts" in str(shared) and shared.seconds[0] >= shared.seconds[1] > 0
    refused(ScenarioError, "cannot be divided evenly", one_run, scenario, ranks=10_000_000)


@pytest.mark.long
def test_benchmark_of_the_earth(tmp_path):
    """bench/cases/parity.py on one machine: no difference, results on disk; the table of travel times is that of TauP."""
    words = ["parity", "earth", "--device", "cpu", "--steps", "10", "--out", str(tmp_path / "x.json")]
    assert benchscript.load("harness").main(words) == 0
    (row,) = json.loads((tmp_path / "x.json").read_text())["machines"]
    physics = benchscript.load("cases.physics")
    assert row["passed"] and row["largest"] == 0 and 3000 < row["cpu"]["elements"] < 6000
    arrivals = json.loads(physics.TABLE.read_text())["arrivals"]
    assert {a["phase"] for a in arrivals if a["gap"] > physics.APART * 5} == {"P", "PcP", "S", "ScS"}
