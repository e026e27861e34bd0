"""craton compare: which traces of data are compared with which of a run, and what is left out."""

import numpy as np
import pytest

import craton
from craton.cli import main
from craton.errors import ScenarioError
from craton.report.comparison import compare, paired

obspy = pytest.importorskip("obspy")

STATIONS = "AAA GE 47.26 12.52 0 0\nAAA IU 47.24 12.48 0 0\nBBB GE 47.25 12.52 0 0\n"


def scenario(stations, **changes):
    tables = {
        "domain": {
            "origin": [-3000, -3000, -5000],
            "size": [6000, 6000, 5000],
            "spacing": 300,
            "geographic": {"longitude": 12.5, "latitude": 47.25},
        },
        "model": {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700},
        "time": {"duration": 2.5, "start": -0.5},
        "boundaries": {"cpml": {"thickness": 3}},
        "source": [
            {
                "kind": "moment_tensor",
                "at": [0, 0, -2000],
                "strike": 30,
                "dip": 60,
                "rake": 40,
                "moment": 1e15,
                "wavelet": {"kind": "gaussian", "tau": 0.25, "delay": 0.6},
            }
        ],
        "receivers": [{"file": str(stations)}],
        "output": {"waveforms": ["velocity", "acceleration", "pressure"]},
    }
    return craton.Scenario(**tables | changes)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of a run with stations of one code in two networks, its dataset and stream."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "stations").write_text(STATIONS)
    result = craton.run(scenario(folder / "stations"), out=folder / "out", progress=False)
    return folder / "out", result.dataset.load(), result.stream()


def written(stream, path, form="MSEED"):
    obspy.Stream(stream).write(str(path), format=form)
    return path


def renamed(stream, band="H", instrument="H", quantity="X", **codes):
    """The traces of a quantity with codes as an observatory has them."""
    traces = []
    for trace in stream.select(channel=f"?{quantity}?", location="").copy():
        trace.stats.channel = band + instrument + trace.stats.channel[-1]
        trace.stats.update(codes)
        traces.append(trace)
    return traces


def test_stations_of_one_code_in_two_networks_are_two(made):
    out, _, _ = made
    pairs = compare(out, out / "waveforms.mseed")
    assert [(p.name, p.component) for p in pairs] == [
        (name, part) for name in ("GE.AAA", "IU.AAA", "GE.BBB") for part in "ENZ"
    ]
    assert max(p.misfit for p in pairs) < 1e-5
    assert {p.quantity for p in pairs} == {"velocity"}
    other = compare(out, out / "waveforms.mseed", quantity="pressure")
    assert len(other) == 3 and max(p.misfit for p in other) < 1e-5


def test_a_network_that_is_not_stated_matches_where_it_is_clear(made, tmp_path, caplog):
    out, _, stream = made
    data = renamed(stream.select(station="BBB"), network="")
    data += renamed(stream.select(station="AAA", network="IU"), network="")
    pairs = compare(out, written(data, tmp_path / "d"))
    assert {p.name for p in pairs} == {"GE.BBB"} and max(p.misfit for p in pairs) < 1e-5
    assert "several receivers have the codes: .AAA..HHE" in caplog.text
    with pytest.raises(ScenarioError, match="no station of OUT"):
        compare(out, written(renamed(stream, network="CH"), tmp_path / "d"))


def test_gaps_are_not_zeros(made, tmp_path):
    """A second without data in the middle leaves the rest as it is, by file, SAC and NaN."""
    out, _, stream = made
    pieces = []
    for trace in renamed(stream.select(station="BBB")):
        begin, end = trace.stats.starttime, trace.stats.endtime
        pieces += [trace.slice(begin, begin + 1.2), trace.slice(begin + 1.7, end)]
    pairs = compare(out, written(pieces, tmp_path / "d"))
    assert len(pairs) == 3 and max(p.misfit for p in pairs) < 1e-5
    assert all(np.diff(p.time).max() > 0.4 for p in pairs)
    time = np.arange(400) * 0.01
    pulse = np.exp(-(((time - 2.0) / 0.1) ** 2))
    holed = np.where((time > 2.05) & (time < 2.6), np.nan, np.interp(time - 0.02, time, pulse))
    pair = paired("R1", "Z", time, pulse, time, holed, align=0.05)
    assert pair.shift == pytest.approx(0.02, abs=2e-3) and pair.misfit < 0.02


def test_two_instruments_are_two_and_an_accelerometer_is_none_of_velocity(made, tmp_path, caplog):
    out, dataset, stream = made
    velocity = renamed(stream.select(station="BBB"))
    accelerations = stream.select(station="BBB", location="AC").copy()
    for trace in accelerations:
        trace.stats.update({"channel": "HN" + trace.stats.channel[-1], "location": ""})
    data = written([*velocity, *accelerations], tmp_path / "d")
    pairs = compare(out, data)
    assert [p.component for p in pairs] == ["HHE", "HHN", "HHZ"]
    assert max(p.misfit for p in pairs) < 1e-5
    assert "not velocity: GE.BBB..HNE" in caplog.text
    pairs = compare(out, data, quantity="acceleration")
    assert len(pairs) == 6  # who says what the data are is believed
    by_name = {p.component: p.misfit for p in pairs}
    assert by_name["HNZ"] < 1e-5 and by_name["HHZ"] > 0.5
    pairs = compare(out, written(accelerations, tmp_path / "d"))
    assert {p.quantity for p in pairs} == {"acceleration"} and pairs[0].misfit < 1e-5


def test_displacement_is_not_compared_with_velocity(made, tmp_path):
    out, _, stream = made
    changes = {"output": {"waveforms": ["displacement"]}}
    stations = out.parent / "stations"
    craton.run(scenario(stations, **changes), out=tmp_path / "u", progress=False)
    for data in (tmp_path / "u", tmp_path / "u" / "waveforms.mseed"):
        with pytest.raises(ScenarioError, match="DATA holds displacement, OUT velocity"):
            compare(out, data)
        assert main(["compare", str(out), str(data)]) == 2
    from obspy.io.sac import SACTrace

    (trace,) = renamed(stream.select(station="BBB", channel="*Z"))
    for code, fits in (("idisp", False), ("ivel", True)):
        sac = SACTrace.from_obspy_trace(trace)
        sac.idep = code
        sac.write(str(tmp_path / "z.sac"))
        if fits:
            assert compare(out, tmp_path / "z.sac")[0].misfit < 1e-5
        else:
            with pytest.raises(ScenarioError, match="holds displacement"):
                compare(out, tmp_path / "z.sac")


def test_components_1_and_2_are_turned_by_their_azimuths_or_refused(made, tmp_path, caplog):
    """Against hand-turned records; the directions are those of an inventory, or of SAC headers."""
    from obspy.core.inventory import Channel, Inventory, Network, Station
    from obspy.io.sac import SACTrace

    out, dataset, stream = made
    east, north, up = (dataset.velocity.sel(receiver="GE.BBB", component=c).values for c in "ENZ")
    turn = np.radians(25)
    turned = {"1": np.cos(turn) * north + np.sin(turn) * east, "2": np.cos(turn) * east - np.sin(turn) * north, "Z": up}
    data = renamed(stream.select(station="BBB"))
    for trace, part in zip(data, turned):
        trace.stats.update({"channel": f"HH{part}", "location": "00"})
        trace.data = turned[part].astype(np.float32)
    file = written(data, tmp_path / "d")
    assert [p.component for p in compare(out, file)] == ["00.HHZ"]
    assert "the direction is not known" in caplog.text and "GE.BBB.00.HH1" in caplog.text
    with pytest.raises(ScenarioError, match="give --inventory FILE"):
        compare(out, written(data[:2], tmp_path / "two"))
    channels = [
        Channel(f"HH{part}", "00", 47.25, 12.52, 0, 0, azimuth=azimuth, dip=dip)
        for part, azimuth, dip in (("1", 25, 0), ("2", 115, 0), ("Z", 0, -90))
    ]
    inventory = Inventory([Network("GE", [Station("BBB", 47.25, 12.52, 0, channels=channels)])])
    inventory.write(str(tmp_path / "s.xml"), "STATIONXML")
    pairs = compare(out, file, inventory=tmp_path / "s.xml")
    assert [p.component for p in pairs] == ["00.HH1", "00.HH2", "00.HHZ"]
    assert max(p.misfit for p in pairs) < 1e-5
    (tmp_path / "folder").mkdir()
    for trace, azimuth, inclination in zip(data, (25, 115, 0), (90, 90, 0)):
        sac = SACTrace.from_obspy_trace(trace)
        sac.cmpaz, sac.cmpinc = azimuth, inclination
        sac.write(str(tmp_path / "folder" / f"{trace.id}.sac"))
    (tmp_path / "folder" / "README").write_text("not a seismogram")
    for path in (tmp_path / "folder", tmp_path / "folder" / "*.sac"):
        assert max(p.misfit for p in compare(out, path)) < 1e-5
        assert len(compare(out, path)) == 3
    assert "passed over: README" in caplog.text


def test_radial_and_transverse_are_those_of_the_source(made, tmp_path):
    out, _, stream = made
    rotated = stream.select(station="BBB", location="").select(channel="?X?").copy()
    rotated.rotate("NE->RT")
    pairs = compare(out, written(rotated, tmp_path / "d"))
    assert [p.component[-1] for p in pairs] == ["T", "R", "Z"] or len(pairs) == 3
    assert max(p.misfit for p in pairs) < 1e-4


def test_numbered_codes_of_craton_are_known(tmp_path):
    """Names that MiniSEED cannot hold are numbered in the file."""
    names = ["upper slope", "lower slope"]
    (tmp_path / "s.csv").write_text(
        "name,x,y,z\n" + "".join(f"{name},{500 * n},800,0\n" for n, name in enumerate(names))
    )
    craton.run(scenario(tmp_path / "s.csv"), out=tmp_path / "out", progress=False)
    codes = {t.stats.station for t in obspy.read(str(tmp_path / "out" / "waveforms.mseed"))}
    assert codes.isdisjoint(names)
    pairs = compare(tmp_path / "out", tmp_path / "out" / "waveforms.mseed")
    assert [p.name for p in pairs] == [name for name in names for _ in range(3)]
    assert max(p.misfit for p in pairs) < 1e-5


@pytest.mark.parametrize(
    "words",
    [
        ["OUT", "nothing-*.sac"],
        ["OUT", "OUT/run.json"],
        ["OUT", "OUT/waveforms.mseed", "--band", "1", "5000"],
        ["OUT", "OUT/waveforms.mseed", "--quantity", "strain"],
        ["OUT", "OUT/waveforms.mseed", "--inventory", "OUT/run.json"],
        ["OUT/inputs", "OUT"],
    ],
)
def test_wrong_input_ends_with_2(made, words, capsys):
    assert main(["compare", *(word.replace("OUT", str(made[0])) for word in words)]) == 2
    assert "bug" not in capsys.readouterr().err
