"""craton compare: which traces of data are compared with which of a run, and what is left out."""

import numpy as np
import pytest
from common import edited, refused
from filecase import bare

import craton
from craton.cli import main
from craton.errors import ScenarioError
from craton.report.comparison import compare, paired

obspy = pytest.importorskip("obspy")
inv = pytest.importorskip("obspy.core.inventory")
SACTrace = pytest.importorskip("obspy.io.sac").SACTrace

STATIONS = "AAA GE 47.26 12.52 0 0\nAAA IU 47.24 12.48 0 0\nBBB GE 47.25 12.52 0 0\n"
BASE = {
    "domain": {"origin": [-3000, -3000, -5000], "size": [6000, 6000, 5000], "spacing": 300},
    "model": {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700},
    "time": {"duration": 2.5, "start": -0.5},
    "boundaries": {"cpml": {"thickness": 3}},
    "source": [{"kind": "moment_tensor", "at": [0, 0, -2000], "strike": 30, "dip": 60, "rake": 40, "moment": 1e15}],
    "output": {"waveforms": ["velocity", "acceleration", "pressure"]},
}
BASE["domain"]["geographic"] = {"longitude": 12.5, "latitude": 47.25}
BASE["source"][0]["wavelet"] = {"kind": "gaussian", "tau": 0.25, "delay": 0.6}


def run(stations, out, **changes):
    scenario = craton.Scenario(**edited(BASE, receivers=[{"file": str(stations)}], **changes))
    return craton.run(scenario, out=out, progress=False)


@pytest.fixture(scope="module")
def calculated(tmp_path_factory):
    """Folder of a run with stations of one code in two networks, its dataset and stream."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "stations").write_text(STATIONS)
    result = run(folder / "stations", folder / "out")
    return folder / "out", result.dataset.load(), result.stream()


def written(stream, path):
    obspy.Stream(stream).write(str(path), format="MSEED")
    return path


def observed(stream, instrument="HH", **codes):
    """The traces of velocity, or of acceleration by an accelerometer, HN, with codes as an observatory has them."""
    traces = list(stream.select(channel="?X?", location={"HH": "", "HN": "AC"}[instrument]).copy())
    for trace in traces:
        trace.stats.update({"channel": instrument + trace.stats.channel[-1], "location": ""} | codes)
    return traces


def fit(out, data, number, **options):
    """The pairs of a run with data, so many, all of which fit."""
    pairs = compare(out, data, **options)
    assert len(pairs) == number and max(p.misfit for p in pairs) < 1e-5
    return pairs


def test_stations_of_one_code_in_two_networks_are_two(calculated):
    out, _, _ = calculated
    pairs = fit(out, out / "waveforms.mseed", 9)
    expected = [(name, part) for name in ("GE.AAA", "IU.AAA", "GE.BBB") for part in "ENZ"]
    assert [(p.name, p.component) for p in pairs] == expected and {p.quantity for p in pairs} == {"velocity"}
    fit(out, out / "waveforms.mseed", 3, quantity="pressure")


def test_a_network_that_is_not_stated_matches_where_it_is_clear(calculated, tmp_path, caplog):
    out, _, stream = calculated
    data = observed(stream.select(station="BBB"), network="")
    data += observed(stream.select(station="AAA", network="IU"), network="")
    assert {p.name for p in fit(out, written(data, tmp_path / "d"), 3)} == {"GE.BBB"}
    assert "several receivers have the codes: .AAA..HHE" in caplog.text
    refused(ScenarioError, "no station of OUT", compare, out, written(observed(stream, network="CH"), tmp_path / "d"))


def test_gaps_are_not_zeros(calculated, tmp_path):
    """A second without data in the middle leaves the rest as it is, by file, SAC and NaN."""
    out, _, stream = calculated
    pieces = []
    for trace in observed(stream.select(station="BBB")):
        begin, end = trace.stats.starttime, trace.stats.endtime
        pieces += [trace.slice(begin, begin + 1.2), trace.slice(begin + 1.7, end)]
    assert all(np.diff(p.time).max() > 0.4 for p in fit(out, written(pieces, tmp_path / "d"), 3))
    time = np.arange(400) * 0.01
    pulse = np.exp(-(((time - 2.0) / 0.1) ** 2))
    holed = np.where((time > 2.05) & (time < 2.6), np.nan, np.interp(time - 0.02, time, pulse))
    pair = paired("R1", "Z", time, pulse, time, holed, align=0.05)
    assert pair.shift == pytest.approx(0.02, abs=2e-3) and pair.misfit < 0.02


def test_two_instruments_are_two_and_an_accelerometer_is_none_of_velocity(calculated, tmp_path, caplog):
    out, _, stream = calculated
    accelerations = observed(stream.select(station="BBB"), "HN")
    data = written([*observed(stream.select(station="BBB")), *accelerations], tmp_path / "d")
    assert [p.component for p in fit(out, data, 3)] == ["HHE", "HHN", "HHZ"]
    assert "not velocity: GE.BBB..HNE" in caplog.text
    pairs = {p.component: p.misfit for p in compare(out, data, quantity="acceleration")}
    assert len(pairs) == 6  # who says what the data are is believed
    assert pairs["HNZ"] < 1e-5 and pairs["HHZ"] > 0.5
    pairs = fit(out, written(accelerations, tmp_path / "d"), 3)
    assert {p.quantity for p in pairs} == {"acceleration"}


def test_shift_ratio_and_misfit_are_measured(calculated, tmp_path, capsys, monkeypatch):
    """Of data that are late by 0.09 s and twice as large; with a figure."""
    out, _, stream = calculated
    data = observed(stream.select(station="BBB"))
    for trace in data:
        trace.data = 2 * trace.data
        trace.stats.starttime += 0.09
    monkeypatch.setattr("craton.report.figures.figure", bare)
    words = ["--band", "0.1", "5", "--align", "0.2", "-o", str(tmp_path / "c.png")]
    assert main(["compare", str(out), str(written(data, tmp_path / "d")), *words]) == 0
    assert "3 traces" in capsys.readouterr().out and (tmp_path / "c.png").stat().st_size > 10_000
    for pair in compare(out, tmp_path / "d", (0.1, 5.0), 0.2):
        assert pair.shift == pytest.approx(0.09, abs=1e-3) and pair.correlation > 0.99
        assert pair.ratio == pytest.approx(0.5, rel=0.02) and pair.misfit == pytest.approx(0.5, rel=0.05)


def test_displacement_is_not_compared_with_velocity(calculated, tmp_path):
    out, _, stream = calculated
    run(out.parent / "stations", tmp_path / "u", output__waveforms=["displacement"])
    for data in (tmp_path / "u", tmp_path / "u" / "waveforms.mseed"):
        refused(ScenarioError, "DATA holds displacement, OUT velocity", compare, out, data)
        assert main(["compare", str(out), str(data)]) == 2
    (trace,) = observed(stream.select(station="BBB", channel="*Z"))
    sac = SACTrace.from_obspy_trace(trace)
    for sac.idep in ("idisp", "ivel"):
        sac.write(str(tmp_path / f"{sac.idep}.sac"))
    refused(ScenarioError, "holds displacement", compare, out, tmp_path / "idisp.sac")
    fit(out, tmp_path / "ivel.sac", 1)


def test_components_1_and_2_are_turned_by_their_azimuths_or_refused(calculated, tmp_path, caplog):
    """Against hand-turned records; the directions are those of an inventory, or of SAC headers. Radial and transverse are those of
    the source.
    """
    out, dataset, stream = calculated
    pairs = compare(
        out, written(obspy.Stream(observed(stream.select(station="BBB"))).rotate("NE->RT"), tmp_path / "rt")
    )
    assert len(pairs) == 3 and max(p.misfit for p in pairs) < 1e-4
    east, north, up = (dataset.velocity.sel(receiver="GE.BBB", component=c).values for c in "ENZ")
    turn = np.radians(25)
    turned = {"1": np.cos(turn) * north + np.sin(turn) * east, "2": np.cos(turn) * east - np.sin(turn) * north, "Z": up}
    directions = {"1": (25, 0), "2": (115, 0), "Z": (0, -90)}  # azimuth, dip
    data = observed(stream.select(station="BBB"))
    for trace, part in zip(data, turned):
        trace.stats.update({"channel": f"HH{part}", "location": "00"})
        trace.data = turned[part].astype(np.float32)
    file = written(data, tmp_path / "d")
    assert [p.component for p in compare(out, file)] == ["00.HHZ"]
    assert "the direction is not known" in caplog.text and "GE.BBB.00.HH1" in caplog.text
    refused(ScenarioError, "give --inventory FILE", compare, out, written(data[:2], tmp_path / "two"))
    place = 47.25, 12.52, 0
    channels = [inv.Channel(f"HH{p}", "00", *place, 0, azimuth=a, dip=d) for p, (a, d) in directions.items()]
    inventory = inv.Inventory([inv.Network("GE", [inv.Station("BBB", *place, channels=channels)])])
    inventory.write(str(tmp_path / "s.xml"), "STATIONXML")
    assert [p.component for p in fit(out, file, 3, inventory=tmp_path / "s.xml")] == ["00.HH1", "00.HH2", "00.HHZ"]
    (tmp_path / "folder").mkdir()
    for trace, (azimuth, dip) in zip(data, directions.values()):
        sac = SACTrace.from_obspy_trace(trace)
        sac.cmpaz, sac.cmpinc = azimuth, dip + 90
        sac.write(str(tmp_path / "folder" / f"{trace.id}.sac"))
    (tmp_path / "folder" / "README").write_text("not a seismogram")
    for path in (tmp_path / "folder", tmp_path / "folder" / "*.sac"):
        fit(out, path, 3)
    assert "passed over: README" in caplog.text


def test_numbered_codes_of_craton_are_known(tmp_path):
    """Names that MiniSEED cannot hold are numbered in the file."""
    names = ["upper slope", "lower slope"]
    (tmp_path / "s.csv").write_text(f"name,x,y,z\n{names[0]},0,800,0\n{names[1]},500,800,0\n")
    run(tmp_path / "s.csv", tmp_path / "out")
    file = tmp_path / "out" / "waveforms.mseed"
    assert {t.stats.station for t in obspy.read(str(file))}.isdisjoint(names)
    assert [p.name for p in fit(tmp_path / "out", file, 6)] == [names[0]] * 3 + [names[1]] * 3


def test_wrong_input_ends_with_2(calculated, capsys):
    options = "--band 1 5000", "--band 5 1", "-o a.exe", "--quantity strain", "--inventory OUT/run.json"
    waveforms = [f"OUT OUT/waveforms.mseed {words}" for words in options]
    for words in (*waveforms, "OUT nothing-*.sac", "OUT OUT/run.json", "OUT/inputs OUT"):
        assert main(["compare", *words.replace("OUT", str(calculated[0])).split()]) == 2, words
        message = capsys.readouterr().err
        assert "bug" not in message and ("half the sampling rate" in message) == ("band" in words)
