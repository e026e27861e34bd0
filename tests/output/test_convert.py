"""craton convert: a run with three shots and snapshots, written for other programs."""

import numpy as np
import pytest
import xarray as xr

from craton.cli.app import main

SCENARIO = """
title = "three shots"
[domain]
origin = [0, -600]
size = [1000, 600]
spacing = 20
waves = "P-SV"
[model]
kind = "homogeneous"
vp = 2000
vs = 1100
rho = 2000
[time]
duration = 0.3
step = 0.004
[[source]]
kind = "explosion"
moment = 1e10
wavelet = { kind = "gaussian", tau = 0.02 }
shots = { from = [300, -100], to = [700, -100], count = 3 }
[[receivers]]
name = "R"
line = { from = [200, 0], to = [800, 0], count = 4 }
[[snapshots]]
name = "wave"
quantity = "velocity"
every = 0.1
[output]
waveforms = ["velocity"]
sampling = 0.004
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Folder of a run."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "s.toml").write_text(SCENARIO)
    assert main(["run", str(folder / "s.toml"), "-o", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


def test_gathers(out, tmp_path):
    segyio = pytest.importorskip("segyio")
    assert main(["convert", str(out), str(tmp_path / "g.sgy"), "--component", "Z"]) == 0
    data = xr.open_zarr(out / "result.zarr")
    with segyio.open(tmp_path / "g.sgy", ignore_geometry=True) as file:
        assert np.array_equal(file.trace.raw[:], data.velocity.sel(component="Z").values.reshape(12, -1))
        assert np.array_equal(file.attributes(segyio.TraceField.GroupX)[:4] / 100, data.x.values)


def test_waveforms_and_stations(out, tmp_path):
    obspy = pytest.importorskip("obspy")
    data = xr.open_zarr(out / "result.zarr").sel(shot="source 1.2")
    for name in ("w.mseed", "s.xml"):
        assert main(["convert", str(out), str(tmp_path / name), "--shot", "source 1.2"]) == 0
    assert len(obspy.read_inventory(str(tmp_path / "s.xml"))[0]) == 4
    traces = obspy.read(str(tmp_path / "w.mseed"))
    assert len(traces) == 8 and traces[0].stats.delta == pytest.approx(0.004)
    for trace in traces:
        expected = data.velocity.sel(receiver=trace.stats.station, component=trace.stats.channel[-1])
        assert np.array_equal(trace.data, expected.values)


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """Folder of a run of one shot that recorded pressure, velocity and strain."""
    folder = tmp_path_factory.mktemp("four")
    text = SCENARIO.replace("shots = { from = [300, -100], to = [700, -100], count = 3 }", "at = [300, -100]")
    text = text.replace('["velocity"]', '["pressure", "velocity", "strain"]')
    (folder / "s.toml").write_text(text)
    assert main(["run", str(folder / "s.toml"), "-o", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


@pytest.mark.parametrize(
    "words, quantity, components",
    [
        (["--quantity", "velocity", "--component", "Z"], "velocity", "Z"),
        (["--quantity", "velocity"], "velocity", "EZ"),
        (["--component", "Z"], "velocity", "Z"),
        (["--quantity", "pressure"], "pressure", "H"),
        (["--component", "EZ"], "strain", "E"),
    ],
)
def test_the_component_and_quantity_that_are_asked_for_are_written(four, tmp_path, words, quantity, components):
    obspy = pytest.importorskip("obspy")
    assert main(["convert", str(four), str(tmp_path / "w.mseed"), *words]) == 0
    traces = obspy.read(str(tmp_path / "w.mseed"))
    assert {t.stats.channel[1] for t in traces} == {{"v": "X", "p": "D", "s": "S"}[quantity[0]]}
    assert sorted({t.stats.channel[-1] for t in traces}) == sorted(components)
    assert len(traces) == 4 * len(components)
    data = xr.open_zarr(four / "result.zarr")[quantity]
    if words[-1] in ("Z", "EZ"):
        data = data.sel({data.dims[1]: words[-1]})
        assert np.array_equal([t.data for t in traces], data.values)


@pytest.mark.parametrize(
    "words, says",
    [
        (["x.sgy", "--component", "Z"], "pressure has no components"),
        (["x.sgy", "--component", "Z"], "--quantity velocity --component Z"),
        (["x.sgy", "--component", "Q"], "pressure has no components"),
        (["x.sgy", "--quantity", "velocity", "--component", "Q"], "no component Q"),
        (["x.mseed", "--component", "Q"], "no quantity has a component Q"),
        (["x.mseed", "--quantity", "velocty"], 'did you mean "velocity"'),
        (["x.vtkhdf", "--component", "Z"], "--component: VTKHDF files of snapshots do not take it"),
        (["x.mseed", "--series", "wave"], "--series: MiniSEED files of waveform do not take it"),
    ],
)
def test_what_cannot_be_written_ends_with_2(four, tmp_path, words, says, capsys):
    assert main(["convert", str(four), str(tmp_path / words[0]), *words[1:]]) == 2
    assert says in capsys.readouterr().err and not (tmp_path / words[0]).exists()


def test_shots_have_their_sources(out, tmp_path):
    """Positions over shot in the dataset, and with them offsets in SEG-Y."""
    segyio = pytest.importorskip("segyio")
    data = xr.open_zarr(out / "result.zarr")
    assert np.array_equal(data.source_x, [300, 500, 700]) and np.array_equal(data.source_z, [-100] * 3)
    assert main(["convert", str(out), str(tmp_path / "g.sgy"), "--component", "Z"]) == 0
    with segyio.open(tmp_path / "g.sgy", ignore_geometry=True) as file:
        offsets = file.attributes(segyio.TraceField.offset)[:].reshape(3, 4)
        assert np.array_equal(file.attributes(segyio.TraceField.SourceX)[::4] / 100, data.source_x)
    assert np.array_equal(offsets, data.x.values - data.source_x.values[:, None])


def test_streams_of_shots(out):
    pytest.importorskip("obspy")
    from craton.io.miniseed import stream

    traces = stream(xr.open_zarr(out / "result.zarr"))
    assert len(traces) == 3 * 4 * 2 and [t.stats.shot for t in traces[::8]] == [
        "source 1.1",
        "source 1.2",
        "source 1.3",
    ]


def test_snapshots(out, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    assert main(["convert", str(out), str(tmp_path / "w.vtkhdf"), "--series", "wave"]) == 0
    image = pyvista.read(str(tmp_path / "w.vtkhdf"))
    assert image.dimensions == (51, 31, 1) and any("velocity" in name for name in image.point_data)


@pytest.mark.parametrize(
    "words, says",
    [
        (("OUT", "x.foo"), "no format ends in .foo"),
        (("elsewhere", "x.sgy"), "holds no run"),
        (("OUT", "there.sgy"), "is there already"),
        (("OUT", "x.vtkhdf", "--series", "none"), "there are wave"),
        (("OUT", "x.sgy", "--component", "R"), "its are"),
        (("OUT", "x.mseed"), "cannot tell the 3 shots"),
        (("OUT", "x.sgy", "--shot", "7"), "there are source 1.1, source 1.2 and source 1.3"),
    ],
)
def test_mistakes_are_named(out, tmp_path, capsys, words, says):
    (tmp_path / "there.sgy").write_text("")
    folder = str(out) if words[0] == "OUT" else words[0]
    assert main(["convert", folder, str(tmp_path / words[1]), *words[2:]]) != 0
    assert says in capsys.readouterr().err
    assert not [path for path in tmp_path.iterdir() if path.name != "there.sgy"]
