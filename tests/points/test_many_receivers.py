"""Many receivers: rows of point tables made together are those made one by one, to the last bit; tables of many rows are read fast."""

import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
import smallcase
import xarray as xr

import craton
from craton.core import plan as plan_limits
from craton.driver import records, waves
from craton.io import miniseed, stationxml
from craton.io.text_table import read_stations
from craton.methods import METHODS
from craton.methods.finite_difference import material, receiver_points
from craton.methods.shared.tables import stacked_rows
from craton.model.media import readers
from craton.scenario import loads
from craton.survey.channels import Channels

ALL = 'output.waveforms=["velocity", "pressure", "strain_rate", "rotation_rate"]'
PLANE = (("origin = [0, 0, -2500]", "origin = [0, -2500]"), ("size = [3000, 3000, 2500]", "size = [3000, 2500]"))
BETWEEN = smallcase.TEXT[
    smallcase.TEXT.index("[[receivers]]") : smallcase.TEXT.index("[output]")
]  # receivers and snapshots


def scattered(folder, count, planar=False):
    """A file of receivers on points, between them, on the surface and at the edges of the grid; its entry of the scenario."""
    rng = np.random.default_rng(3)
    xyz = rng.uniform(0, 1, (count, 3)) * [3000, 3000, -2500]
    xyz[: count // 4, 2] = 0
    xyz[count // 5 : count // 3] = xyz[count // 5 : count // 3].round(-2)
    xyz[count // 3 : count // 2, 0] = xyz[count // 3 : count // 2, 0].round(-1) / 20
    if planar:
        xyz[:, 1] = 0
    rows = [f"R{n},{x:.4f},{y:.4f},{z:.4f}\n" for n, (x, y, z) in enumerate(xyz)]
    (folder / "receivers.csv").write_text("name,x,y,z\n" + "".join(rows))
    return f'[[receivers]]\nfile = "{folder / "receivers.csv"}"\n\n'


@pytest.mark.parametrize(
    "more, planar", [((ALL,), False), ((ALL, "boundaries.top=cpml", "run.order=8"), False), ((ALL,), True)]
)
def test_rows_made_together_are_those_made_one_by_one(more, planar, tmp_path, monkeypatch):
    compared, together = [], receiver_points.rows_of

    def both(d, channels, receivers, later):
        single = [receiver_points.channel_rows(d, c, receivers.xyz[c.receiver]) for c in channels]
        expected = stacked_rows([tuple(map(np.concatenate, zip(*rows))) for rows in single])
        first, source, weight = together(d, channels, receivers)
        assert np.array_equal(first, expected[0]) and np.array_equal(source, expected[1])
        assert weight.tobytes() == expected[2].astype(d.precision).tobytes()
        compared.append(len(channels))
        return first, source, weight

    monkeypatch.setattr(receiver_points, "rows_of", both)
    text = smallcase.changed(*PLANE).replace("1500, 1500, -1000", "1500, -1000") if planar else None
    text = (text or smallcase.TEXT).replace(BETWEEN, scattered(tmp_path, 60, planar))
    craton.plan(loads(text, ("run.precision=float64", *more)))
    assert compared == [60 * (7 if planar else 13)]


def test_a_table_of_many_rows(tmp_path):
    """As fast as its columns, and the same as row by row; what has units or faults is read row by row."""
    path, rng = tmp_path / "many.csv", np.random.default_rng(1)
    rows = [f"R{n}, {x:.3f} ,{y:.3f},{z:.3f}\n" for n, (x, y, z) in enumerate(rng.random((20_000, 3)))]
    path.write_text("name,x,y,depth\n" + "".join(rows))
    begin = time.process_time()
    fast = read_stations(path)
    assert time.process_time() - begin < 0.5
    rows[7] = rows[7].replace(" ,", " m,")
    path.write_text("name,x,y,depth\n" + "".join(rows))
    slow = read_stations(path)
    for column in ("names", "codes", "networks"):
        assert getattr(fast, column) == getattr(slow, column)
    for column in ("x", "y", "depth"):
        assert getattr(fast, column).tobytes() == getattr(slow, column).tobytes()
    path.write_text("name,x,y,depth\n" + "".join([*rows[:3], "R3,1,2\n", *rows[4:]]))
    with pytest.raises(ValueError, match="line 5 has 3"):
        read_stations(path)
    for bad, message in (("R3,1,2\n", "line 5 has 3"), ("R3,1,2,nan\n", "line 5"), (",1,2,3\n", "line 5")):
        path.write_text("name,x,y,depth\n" + "".join([*rows[:3], bad, *rows[4:9]]))
        with pytest.raises(ValueError, match=message):
            read_stations(path)


def hydrophones(shots, count):
    """A survey of hydrophones between points over a model of a Dataset whose speeds vary along x and z."""
    x, z = np.arange(0, 2001, 50.0), np.arange(-600, 1, 20.0)
    vs = 500 + 0.1 * x - z[:, None, None] + np.zeros((len(z), 2, 1))
    values = {"vp": 1900 + 0 * vs, "vs": vs, "rho": 2000 + 0 * vs}
    model = xr.Dataset({name: (("z", "y", "x"), v) for name, v in values.items()}, {"x": x, "y": [-1.0, 1.0], "z": z})
    wavelet = {"kind": "ricker", "frequency": 5}
    along = {"from": [200, -95], "to": [1800, -95], "count": shots}
    return craton.Scenario(
        domain={"origin": [0, -600], "size": [2000, 600], "spacing": 10},
        model=model,
        time={"duration": 0.1},
        run={"precision": "float64"},
        source=[{"kind": "explosion", "shots": along, "moment": 1e9, "wavelet": wavelet}],
        receivers=[{"name": "H", "line": {"from": [303, -104], "to": [1707, -95], "count": count}}],
        output={"waveforms": ["pressure"]},
    )


def test_hydrophones_of_many_shots_read_the_model_once(monkeypatch):
    """More shots and receivers open the file no more often and read few blocks more; weights are those of the whole grid."""
    opened, read = [], []
    open_file, read_block = readers.open_file, readers.Source.read
    monkeypatch.setattr(readers, "open_file", lambda *a, **k: opened.append(1) or open_file(*a, **k))
    monkeypatch.setattr(readers.Source, "read", lambda *a: read.append(1) or read_block(*a))
    craton.plan(hydrophones(2, 2))
    once, blocks = len(opened), len(read)
    many = craton.plan(hydrophones(6, 40))
    assert len(opened) == 2 * once and len(read) < 2 * blocks + 8

    monkeypatch.setattr(material, "TILES", (1 << 20, 1 << 20))  # the whole grid at once
    whole = craton.plan(hydrophones(6, 40))
    for name in ("sample_source", "sample_weight"):
        assert many.arrays[name].data.tobytes() == whole.arrays[name].data.tobytes()


def recorded(count, samples=180, source=True):
    """Waveforms of many receivers, with names that XML and formats escape."""
    rng = np.random.default_rng(2)
    xyz = {axis: ("receiver", rng.uniform(-1e5, 1e5, count)) for axis in "xyz"}
    names = [f"R{n} <&> Ü{{0}}" for n in range(count)]
    codes = {"network": ("receiver", ["AB", "C"] * (count // 2))}
    time = ("time", 0.02 * np.arange(samples), {"sampling_interval": 0.02})
    values = rng.normal(size=(count, 3, samples)).astype(np.float32)
    where = {f"source_{axis}": 10.0 for axis in "xyz"} if source else {}
    return xr.Dataset(
        {"velocity": (("receiver", "component", "time"), values)},
        {"receiver": names, "component": list("ZRT" if source else "ENZ"), "time": time, **xyz, **codes},
        {"origin_time": "2020-01-01T00:00:00", **where},
    )


@pytest.mark.parametrize("source", [True, False])
def test_files_of_many_receivers_are_those_of_obspy(source, tmp_path):
    """What is written as text, and traces together, is what ObsPy's own objects hold."""
    obspy = pytest.importorskip("obspy")
    dataset = recorded(40, source=source)
    stationxml.write(dataset, tmp_path / "s.xml")
    stationxml.inventory(dataset).write(tmp_path / "o.xml", format="STATIONXML")
    made, expected = (
        re.sub("<Created>.*</Created>", "", (tmp_path / name).read_text("utf-8")) for name in ("s.xml", "o.xml")
    )
    assert made == expected and "R7 &lt;&amp;&gt; Ü{0}" in made
    miniseed.write(dataset, tmp_path / "w.mseed")
    read, own = obspy.read(tmp_path / "w.mseed"), miniseed.stream(dataset)
    assert [trace.id for trace in read] == [trace.id for trace in own] and len(read) == 120
    for one, other in zip(read, own):
        assert np.array_equal(one.data, other.data)
        assert one.stats.starttime == other.stats.starttime and one.stats.delta == 0.02


def test_files_of_no_receivers(tmp_path):
    pytest.importorskip("obspy")
    stationxml.write(recorded(2).isel(receiver=slice(0, 0)), tmp_path / "s.xml")
    assert "</FDSNStationXML>" in (tmp_path / "s.xml").read_text()


def test_files_of_many_receivers_take_little_time(tmp_path):
    """Of 20,000 some 5 s; the objects of ObsPy and traces one by one took 37 s."""
    pytest.importorskip("obspy")
    dataset = recorded(2000)
    stationxml.write(dataset.isel(receiver=slice(0, 2)), tmp_path / "s.xml")
    begin = time.process_time()
    stationxml.write(dataset, tmp_path / "s.xml")
    assert time.process_time() - begin < 0.4
    miniseed.write(dataset, tmp_path / "w.mseed")
    assert time.process_time() - begin < 1.5
    assert (tmp_path / "w.mseed").stat().st_size == 6000 * 1024


def test_a_line_says_which_file_of_many_receivers_is_written(tmp_path, capsys, monkeypatch):
    pytest.importorskip("obspy")
    monkeypatch.setattr(waves, "MANY", 4)
    case = loads(smallcase.changed(("duration = 1.0", "duration = 0.1")))
    craton.run(case, out=tmp_path / "out", warn=False)
    said = capsys.readouterr().err
    for name in ("result.zarr", "waveforms.mseed", "stations.xml"):
        assert f"4 receivers: writing {name}\n" in said
    craton.run(case, out=tmp_path / "quiet", warn=False, progress=False)
    assert "writing" not in capsys.readouterr().err


def test_the_estimate_counts_what_is_written():
    machine = SimpleNamespace(describe=lambda: "CPU")
    few, many = (SimpleNamespace(steps=100, points=1000, channels=range(count)) for count in (30, 60_000))
    assert "to write" not in METHODS["fd"].estimate(few, machine, 0.01)
    assert "and about 12 s to write the 60,000 channels" in METHODS["fd"].estimate(many, machine, 0.01)


def test_blocks_count_what_is_written(monkeypatch):
    """Three quantities from the channels of one: blocks of a third; all channels once."""
    monkeypatch.setattr(plan_limits, "RECORD_BLOCK", 1200)
    output = SimpleNamespace(waveforms=("velocity", "displacement", "acceleration"))
    channels = Channels(10, (("velocity", ("E", "N", "Z")),))

    class Named(list):
        def part(self, first, last):
            return self[first:last]

    parts = []
    result = SimpleNamespace(
        samples=np.zeros((20, 30), np.float32),
        plan=SimpleNamespace(receivers=Named(range(10)), channels=channels, shots=()),
        scenario=SimpleNamespace(output=output),
        part=lambda named, columns, first: parts.append((len(named), first, list(columns))),
    )
    assert len(list(records.blocks(result, 20))) == 10
    assert [columns for *_, columns in parts] == [[3 * n, 3 * n + 1, 3 * n + 2] for n in range(10)]
    parts.clear()
    output.waveforms = ("velocity",)
    assert len(list(records.blocks(result, 20))) == 2 and parts[1][:2] == (5, 5)
    assert len(list(records.blocks(result, 40))) == 5
