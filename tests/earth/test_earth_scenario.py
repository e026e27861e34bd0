"""Scenarios on a chunk of the Earth: what they say, what is wrong with them, what a run leaves, what plans count."""

import math

import numpy as np
import pytest

import craton
from craton import report
from craton.backends.cpu import CPU
from craton.cli.plan import one_run
from craton.errors import ScenarioError
from craton.io.contents import moment_tensor
from craton.methods.spectral_element import counting
from craton.model.globe import earth_chunk, prem
from craton.model.mesh import numbering
from craton.scenario import dumps, load, loads, reads
from craton.survey import globe, source_files, sources

TEXT = """
title = "chunk"
method = "sem"
[domain]
chunk = { longitude = -67.25, latitude = -13.82, width = [10, 12], azimuth = 20, period = 100, bottom = "1000 km" }
[model]
kind = "prem"
[time]
duration = 60
start = -60
[[source]]
kind = "moment_tensor"
at = { longitude = -67.0, latitude = -13.5, depth = "150 km" }
tensor = { rr = 1e20, tt = -1e20, rp = 2e19 }
wavelet = { kind = "gaussian", tau = 20 }
[[receivers]]
name = "A"
at = { longitude = -65, latitude = -13 }
[[receivers]]
name = "L"
line = { from = { longitude = -65, latitude = -13 }, to = { longitude = -65, latitude = -15, depth = 100 }, count = 3 }
[output]
waveforms = ["displacement"]
"""


def changed(*pairs):
    text = TEXT
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    "pairs",
    [
        (),
        (('"1000 km"', '"cmb"'),),
        (("period = 100", 'elements = [8, 8], growth = ["100 km"], honour = [500_000], elliptic = true'),),
        (('kind = "prem"', 'kind = "prem"\ntransverse = true\nocean = true'),),
        (('kind = "prem"', 'kind = "ak135"'),),
        (
            (
                'kind = "prem"',
                'kind = "radial"\nfile = "x.nd"\nattenuation = { band = [0.001, 0.1] }\nperturbation = { file = "x.nc" }',
            ),
        ),
    ],
)
def test_written_and_read_again(pairs):
    scenario = loads(changed(*pairs))
    assert loads(dumps(scenario)) == scenario and not scenario.warnings


@pytest.mark.parametrize(
    "pairs, key, part",
    [
        ([("period = 100, ", "")], "domain.chunk.period", "neither period nor elements"),
        ([("period = 100", "period = 100, elements = [8, 8]")], "domain.chunk.elements", "are mutually exclusive"),
        ([("[10, 12]", "[10, 130]")], "domain.chunk.width.1", "at most 120"),
        ([("[10, 12]", "10")], "domain.chunk.width", "two numbers"),
        ([("[model]", "spacing = 100\n[model]")], "domain.spacing", "the chunk defines the domain"),
        (
            [('kind = "prem"', 'kind = "homogeneous"\nvp = 8000\nvs = 4500\nrho = 3300')],
            "model.kind",
            "is not a radial Earth model",
        ),
        ([('"1000 km"', '"core"')], "domain.chunk.bottom", "core"),
        (
            [("at = { longitude = -65, latitude = -13 }", "at = { x = 0, y = 0, depth = 0 }")],
            "receivers.0.at",
            "depth needs longitude and latitude",
        ),
        (
            [("at = { longitude = -65, latitude = -13 }", "grid = { x = [0, 1, 2], y = [0, 1, 2], z = 0 }")],
            "receivers.0",
            "a grid of receivers",
        ),
        (
            [("at = { longitude = -65, latitude = -13 }", "at = { longitude = -65, latitude = -103 }")],
            "receivers.0.at.latitude",
            "-90",
        ),
        (
            [("to = { longitude = -65, latitude = -15, depth = 100 }", "to = [0, 0, 1]")],
            "receivers.1.line.to",
            "one end",
        ),
        ([("rr = 1e20", "rr = 1e20, xx = 1")], "source.0.tensor.xx", "unknown key"),
    ],
)
def test_problems_in_words(pairs, key, part):
    problems = reads(changed(*pairs)).problems
    assert key in {p.key for p in problems} and part in " ".join(p.message for p in problems), problems


@pytest.mark.parametrize(
    "pairs, key, part",
    [
        ([("latitude = -13.5, depth", "latitude = -25.5, depth")], "source.0.at", "from the centre along xi and eta"),
        ([('depth = "150 km"', 'depth = "1050 km"')], "source.0.at", "below the chunk, which is 1000 km deep"),
        ([("latitude = -13 }\n[[rec", "latitude = -13, depth = -10 }\n[[rec")], "receivers.0.at", "above the ground"),
        ([('"1000 km"', '"6400 km"')], "domain.chunk", "is not between the surface and the bottom"),
        ([("period = 100", "elements = [9, 9], growth = [100_000]")], "domain.chunk", "must be multiples of 2"),
        ([('kind = "prem"', 'kind = "radial"\nfile = "none.nd"')], "model.file", "no file"),
        ([('kind = "prem"', 'kind = "prem"\nperturbation = { file = "none.nc" }')], "model.perturbation.file", ""),
    ],
)
def test_problems_of_places_and_files(pairs, key, part):
    with pytest.raises(ScenarioError) as caught:
        craton.plan(loads(changed(*pairs)))
    assert key in {p.key for p in caught.value.problems} and part in str(caught.value.problems[0].message), (
        caught.value.problems
    )


def test_places_and_radial_models_belong_to_a_chunk():
    box = changed(("chunk = {", "origin = [0, 0, -1000]\nsize = [1000, 1000, 1000]\nspacing = 100\n#"))
    for text in (box, box.replace('"sem"', '"fd"')):
        keys = {p.key for p in reads(text).problems}
        assert "model.kind" in keys
    flat = box.replace('kind = "prem"', 'kind = "homogeneous"\nvp = 8000\nvs = 4500\nrho = 3300')
    for text in (flat, flat.replace('"sem"', '"fd"')):
        assert {p.key for p in reads(text).problems} >= {"source.0.at", "receivers.0.at", "receivers.1.line.from"}


def test_tensor_of_the_catalogue():
    entry = loads(TEXT).source[0]
    assert np.array_equal(sources.moment_tensor(entry), moment_tensor([1e20, -1e20, 0, 0, 2e19, 0]))


def test_core_is_free_below_the_mantle():
    assert loads(changed(('"1000 km"', '"cmb"'))).face("bottom") == "free" and loads(TEXT).face("bottom") == "stacey"
    asked = loads(changed(('"1000 km"', '"cmb"')) + '[boundaries]\nbottom = "rigid"\n')
    assert asked.face("bottom") == "rigid" and asked.face("west") == "stacey"


def test_run_leaves_places_and_components(tmp_path):
    """East, north and up at each station: those of a run turned by hand; the files say where stations are."""
    scenario = loads(TEXT)
    data = craton.run(scenario, device="cpu", out=tmp_path / "out", progress=False).dataset
    assert np.allclose(data.longitude, -65) and np.allclose(data.latitude, [-13, -13, -14, -15], atol=2e-3)
    assert np.allclose(data.depth, [0, 0, 50, 100], atol=1e-6) and data.attrs["source_depth"] == pytest.approx(150e3)
    assert (abs(data.displacement).max("time") > 0).all() and np.isfinite(data.displacement).all()
    made = earth_chunk.chunk_of(scenario)
    place = made.place(-67.0, -13.5, 150e3)
    axes = made.axes(-67.0, -13.5)
    m = axes @ moment_tensor([1e20, -1e20, 0, 0, 2e19, 0]) @ axes.T
    again = craton.plan(scenario).receivers
    assert again.stations.attributes == pytest.approx(
        {"source_longitude": -67, "source_latitude": -13.5, "source_depth": 150e3}
    )
    assert np.allclose(again.xyz[0], made.place(-65, -13))
    (own,) = source_files.build_all(scenario.model_copy(update={"domain": scenario.domain.on(globe.Globe(made))}))
    assert np.allclose(own.xyz, place)
    assert np.allclose(own.moment, m)
    pytest.importorskip("matplotlib")
    assert (
        report.FIGURES["section"](tmp_path / "out").stat().st_size > 10_000 and (tmp_path / "out" / "map.png").exists()
    )
    if craton.versions.versions("obspy"):
        from obspy import read_inventory

        station = read_inventory(str(tmp_path / "out" / "stations.xml"))[0][0]
        assert station.latitude == pytest.approx(-13) and station.longitude == pytest.approx(-65)


def test_attenuation_states_speeds_where_mechanisms_are_fitted():
    """PREM's speeds hold at 1 s; at 100 s they are lower by ln(100) / (pi Q)."""
    scenario = loads(changed(('kind = "prem"', 'kind = "prem"\nattenuation = { band = [0.001, 0.1] }')))
    made = earth_chunk.chunk_of(scenario)
    sampler, frequency = earth_chunk.sampler(scenario, made)
    assert frequency == pytest.approx(0.01)
    r = 6371e3 - 300e3
    own = sampler.at(np.array([[[0.0], [0.0], [r]]]))
    vp, vs, _ = prem.prem().speeds(r)
    loss = prem.prem().inverse_q(r)
    assert (
        own["vs"][0, 0] == pytest.approx(vs * (1 + math.log(0.01) / math.pi * loss[1])) and own["vs"][0, 0] < 0.995 * vs
    )
    assert own["vp"][0, 0] == pytest.approx(vp * (1 + math.log(0.01) / math.pi * loss[0]))
    assert craton.plan(scenario).nbytes > 1.5 * craton.plan(loads(TEXT)).nbytes


# --- counts -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        (("period = 100", "period = 45"),),
        (('"1000 km"', '"3200 km"'), ("period = 100", 'elements = [8, 8], growth = ["300 km"]')),
    ],
)
def test_counts_agree_with_the_plan(more):
    """Elements and points exactly, the step within 3 % (it is that of some columns), bytes within 15 % (padding and faces)."""
    scenario = loads(changed(*more))
    found, plan = counting.count(scenario, CPU(threads=1)), craton.plan(scenario)
    assert found.elements == plan.grid.elements
    assert found.step == pytest.approx(plan.dt, rel=0.03)
    assert found.nbytes == pytest.approx(plan.nbytes, rel=0.15)
    assert found.points == pytest.approx(plan.points, rel=0.02)  # points between solid and fluid are two
    if len(more) == 1:
        assert found.points == plan.points and found.shared == 0


def test_counts_of_slices():
    """What ranks hold, and what they share, as their meshes say it."""
    from craton.core import elements

    scenario = loads(changed(("period = 100", "elements = [16, 16], growth = [300_000]")))
    found = counting.count(scenario, CPU(threads=1), 4)
    assert found.grid == (2, 2)
    made = earth_chunk.chunk_of(scenario)
    whole = made.part()
    points = numbering.number(whole.mesh.elements, 4).points
    piece = elements.pieces(points, made.slice_of(whole, 2, 2))[0]
    assert found.elements == len(piece.elements) and found.outer >= piece.outer
    assert found.shared == sum(len(numbers) for rank, numbers in piece.shared.items() if rank in (1, 2))
    with pytest.raises(ScenarioError, match="cannot be divided evenly"):
        counting.count(scenario, CPU(threads=1), 1000)


def test_counts_of_very_many_ranks():
    """The issue's chunk for 1 s on 10,000 GPUs has a billion elements; its mesh is not built."""
    text = changed(("width = [10, 12]", "width = [60, 60]"), ("period = 100", "period = 1"), ('"1000 km"', '"cmb"'))
    found = one_run(loads(text), ranks=10_000)
    assert found.chunk.size > 1e9 and found.ranks == 10_000 and found.elements * 10_000 >= found.chunk.size
    assert 0 < found.seconds[1] <= found.seconds[0] < 2 * found.seconds[1]
    assert "shortest period" in str(found) and "10,000 in 100 x 100 slices" in str(found)


# --- examples, benchmark, ranks ---------------------------------------------------------------------------------------------------------


def test_examples_of_chunks_load_and_plan():
    from pathlib import Path

    coarse = {
        "bolivia_1994": ["domain.chunk.elements=[8, 8]"],
        "globe": ["domain.chunk.elements=[4, 4]", "domain.chunk.growth=[]"],
    }
    for name in ("earth_chunk", *coarse):
        scenario = load(Path(__file__).parents[2] / "examples" / f"{name}.toml")
        assert loads(dumps(scenario)) == scenario and not scenario.warnings
        found = one_run(scenario)
        assert found.points > 1e5
        more = coarse.get(name, ["domain.chunk.period=150", "source.0.wavelet.tau=50"])
        short = load(
            Path(__file__).parents[2] / "examples" / f"{name}.toml", [*more, "time.start=-60", "time.duration=60"]
        )
        data = craton.run(short, device="cpu", progress=False).dataset
        assert np.isfinite(data.displacement).all() and abs(data.displacement).max() > 0


def test_benchmark_of_the_earth(tmp_path):
    """bench/cases/parity.py on one machine: no difference, results on disk; the table of travel times is that of TauP."""
    import json

    import benchscript

    words = ["parity", "earth", "--device", "cpu", "--steps", "20", "--out", str(tmp_path / "x.json")]
    assert benchscript.load("harness").main(words) == 0
    (row,) = json.loads((tmp_path / "x.json").read_text())["machines"]
    bench = benchscript.load("cases.physics")
    assert row["passed"] and row["largest"] == 0 and 3000 < row["cpu"]["elements"] < 6000
    kept = json.loads(bench.TABLE.read_text())["arrivals"]
    assert {a["phase"] for a in kept if a["gap"] > bench.APART * 5} == {"P", "PcP", "S", "ScS"}


def test_ranks_share_a_chunk():
    """Two ranks as one, with the source on a corner of four elements in the middle, which both have."""
    text = changed(
        ("period = 100", "elements = [8, 8]"),
        ("longitude = -67.0, latitude = -13.5", "longitude = -67.25, latitude = -13.82"),
    )
    one, two = (
        craton.run(loads(text), device="cpu", progress=False, devices=n).dataset.displacement.values for n in (1, 2)
    )
    assert np.linalg.norm(one - two) < 5e-6 * np.linalg.norm(one)


def test_a_perturbation_says_what_it_covers_and_its_extremes(tmp_path):
    """Above 500 of 1000 km, shells of (6371^3 - 5871^3) / (6371^3 - 5371^3); half of it east of the middle."""
    import xarray

    depth = ("depth", [0.0, 500.0], {"units": "km", "positive": "down"})
    shell = (6371**3 - 5871**3) / (6371**3 - 5371**3)
    for longitudes, share in (([-90.0, -50.0], shell), ([-67.25, -50.0], shell / 2)):
        axes = {"depth": depth, "latitude": [-30.0, 0.0], "longitude": longitudes}
        values = np.full((2, 2, 2), 1.5)
        values[0, 0, 0] = -2.5
        fields = {"dvs": (("depth", "latitude", "longitude"), values, {"units": "%"})}
        xarray.Dataset(fields, axes).to_netcdf(tmp_path / "over.nc")
        over = f'kind = "prem"\nperturbation = {{ file = "{tmp_path / "over.nc"}" }}'
        rows = dict(craton.plan(loads(changed(('kind = "prem"', over)))).notes["Chunk"])
        found = rows["perturbation"]
        assert found.startswith("over.nc covers ") and "dvs -2.5 .. 1.5 %" in found
        assert float(found.split()[2].rstrip("%")) == pytest.approx(100 * share, abs=2.5)
    assert "perturbation" not in dict(craton.plan(loads(TEXT)).notes["Chunk"])
