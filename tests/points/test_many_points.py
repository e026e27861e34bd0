"""Many receivers and catalogues: rows of point tables made together are those made one by one, to the last bit; tables of many rows are
read fast; files of many moment tensors give what as many single sources give (a million in seconds: bench/NOTES.md; 20,000 here).
"""

import time
from dataclasses import replace
from types import SimpleNamespace

import fdcase
import numpy as np
import obspy
import pytest
import smallcase
import xarray as xr
from common import difference, refused
from obspy.io.stationxml.core import validate_stationxml

import craton
from craton import io
from craton.driver import waves
from craton.driver.observers import record as records
from craton.errors import ScenarioError
from craton.greens.synthesis import parts_of
from craton.io import limits, seismograms, stationxml
from craton.io.contents import FileError
from craton.io.stations import read_table
from craton.methods import METHODS
from craton.methods.finite_difference import build, points
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.space import GridSpace
from craton.methods.waves import receivers as channel_rows
from craton.methods.waves import sources as slip_windows
from craton.methods.waves import tables
from craton.model.media import readers
from craton.scenario import loads
from craton.survey import leapfrog, source_arrays, source_files
from craton.survey.channels import Channels
from craton.survey.receivers import Receivers

ALL = 'output.waveforms=["velocity", "pressure", "strain_rate", "rotation_rate"]'
SOURCE, RECEIVERS, PICTURES, OUTPUT = (
    smallcase.TEXT.index(f"{name}]") for name in ("[[source]", "[[receivers]", "[[snapshots]", "[output")
)
BETWEEN, SHOTS = smallcase.TEXT[RECEIVERS:OUTPUT], smallcase.TEXT[PICTURES:OUTPUT]


def receivers_of(path, xyz):
    """A file of receivers; its entry of the scenario."""
    rows = [f"R{n},{x:.4f},{y:.4f},{z:.4f}\n" for n, (x, y, z) in enumerate(xyz)]
    path.write_text("name,x,y,z\n" + "".join(rows))
    return f'[[receivers]]\nfile = "{path}"\n\n'


def test_rows_made_together_are_those_made_one_by_one(tmp_path, monkeypatch):
    """Of receivers on points, between them, on the surface and at the edges of the grid; also when they are made later."""
    xyz = np.random.default_rng(3).uniform(0, 1, (18, 3)) * [3000, 3000, -2500]
    xyz[:7, 2] = 0
    xyz[6:10] = xyz[6:10].round(-2)
    xyz[10:15, 0] = xyz[10:15, 0].round(-1) / 20
    expected, together = {}, channel_rows.rows_of_channels

    def both(of_grid, channels, receivers):
        single = [together(of_grid, [channel], receivers)[0] for channel in channels]
        rows = tables.stacked_rows([(index, weight) for _, index, weight in single])
        expected.update(zip(("sample_first", "sample_source", "sample_weight"), rows, strict=True))
        return together(of_grid, channels, receivers)

    monkeypatch.setattr(channel_rows, "rows_of_channels", both)
    space = smallcase.TEXT.replace(BETWEEN, receivers_of(tmp_path / "r.csv", xyz))
    plane = smallcase.TEXT.replace(BETWEEN, receivers_of(tmp_path / "p.csv", xyz * [1, 0, 1]))
    for old, new in (("[0, 0, -2500]", "[0, -2500]"), ("[3000, 3000, 2500]", "[3000, 2500]"), ("1500, 1500,", "1500,")):
        plane = plane.replace(old, new)
    for text, count, *more in ((space, 13), (plane, 7), (space, 13, "boundaries.top=cpml", "run.order=8")):
        arrays = craton.plan(loads(text, ("run.precision=float64", ALL, *more))).arrays
        assert len(expected["sample_first"]) == len(xyz) * count + 1
        for name, values in expected.items():
            rows = arrays[name].on_host()
            assert arrays[name].shape == values.shape and rows.tobytes() == values.astype(rows.dtype).tobytes(), name
        assert isinstance(arrays["sample_source"].data, np.ndarray) == (tables.LATER > 0)
        monkeypatch.setattr(tables, "LATER", 0 if text is plane else tables.LATER)


def test_a_table_of_many_rows(tmp_path, monkeypatch):
    """As fast as its columns, and the same where some have units; also in blocks of rows."""
    path, rng, heading = tmp_path / "many.csv", np.random.default_rng(1), "name,x,y,depth\n"
    rows = [f"R{n}, {x:.3f} ,{y:.3f},{z:.3f}\n" for n, (x, y, z) in enumerate(rng.random((20_000, 3)))]
    path.write_text(heading + "".join(rows))
    begin = time.process_time()
    fast = read_table(path)
    assert time.process_time() - begin < 0.5
    rows[7] = rows[7].replace(" ,", " m,")
    path.write_text(heading + "".join(rows))
    monkeypatch.setattr("craton.io.text_table.BLOCK", 7_000)
    slow = read_table(path)
    for column in ("names", "codes", "networks"):
        assert getattr(fast, column) == getattr(slow, column)
    for column in ("x", "y", "depth"):
        assert getattr(fast, column).tobytes() == getattr(slow, column).tobytes()
    for row, message, end in (
        ("R3,1,2\n", "line 5: 3 columns", None),
        ("R3,1,2\n", "line 5: 3 columns", 9),
        ("R3,1,2,nan\n", "line 5", 9),
        (",1,2,3\n", "line 5", 9),
    ):
        path.write_text(heading + "".join([*rows[:3], row, *rows[4:end]]))
        with pytest.raises(ValueError, match=message):
            read_table(path)


def test_hydrophones_of_many_shots_read_the_model_once(monkeypatch):
    """Hydrophones between points over a Dataset whose speeds vary along x and z; weights are those of the whole grid."""
    x, z = np.arange(0, 1001, 50.0), np.arange(-300, 1, 20.0)
    vs = 500 + 0.1 * x - z[:, None, None] + np.zeros((len(z), 2, 1))
    values = {"vp": 1900 + 0 * vs, "vs": vs, "rho": 2000 + 0 * vs}
    ground = xr.Dataset({n: (("z", "y", "x"), v) for n, v in values.items()}, {"x": x, "y": [-1.0, 1], "z": z})
    shots, line = ({"from": [a, -95], "to": [b, -95], "count": n} for a, b, n in ((200, 800, 5), (303, 707, 15)))
    source = {"kind": "explosion", "shots": shots, "moment": 1e9, "wavelet": fdcase.ricker(5)}
    tables = {"run": {"precision": "float64"}, "output": {"waveforms": ["pressure"]}}
    tables["receivers"] = [{"name": "H", "line": line | {"from": [303, -104]}}]
    case = fdcase.box([1000, 300], 10, ground, source, 0.1, **tables)
    opened, read = [], []
    open_file, read_block = readers.open_file, readers.Source.read
    monkeypatch.setattr(readers, "open_file", lambda *a, **k: opened.append(1) or open_file(*a, **k))
    monkeypatch.setattr(readers.Source, "read", lambda *a: read.append(1) or read_block(*a))
    many = craton.plan(case).arrays
    assert len(opened) <= 12 and len(read) < 14 + 8  # of two shots and two receivers: 12 and 14
    monkeypatch.setattr(material, "TILES", (1 << 20, 1 << 20))  # the whole grid at once
    whole = craton.plan(case).arrays
    for name in ("sample_source", "sample_weight"):
        assert many[name].data.tobytes() == whole[name].data.tobytes()


def recorded(count, source=True):
    """Waveforms of many receivers, with names that XML and formats escape."""
    rng = np.random.default_rng(2)
    labels = {axis: ("receiver", rng.uniform(-1e5, 1e5, count)) for axis in "xyz"}
    labels |= {"receiver": [f"R{n} <&> Ü{{0}}" for n in range(count)], "component": list("ZRT" if source else "ENZ")}
    labels |= {"network": ("receiver", ["AB", "C"] * (count // 2))}
    labels |= {"time": ("time", 0.02 * np.arange(180), {"sampling_interval": 0.02})}
    velocity = rng.normal(size=(count, 3, 180)).astype(np.float32)
    about = {"origin_time": "2020-01-01T00:00:00"} | ({f"source_{axis}": 10.0 for axis in "xyz"} if source else {})
    return xr.Dataset({"velocity": (("receiver", "component", "time"), velocity)}, labels, about)


def test_files_of_many_receivers_are_those_of_obspy_and_take_little_time(tmp_path):
    """Stations written as text are valid for ObsPy and have the channels of the traces; traces written together are those of its
    stream; also of no receivers. Those of 20,000 take some 5 s; the objects of ObsPy and traces one by one took 37 s. For each
    receiver, stations must take a third of what ObsPy's objects take, traces no more than both of its.
    """
    for source in (True, False):
        dataset = recorded(40, source)
        stationxml.write(dataset, tmp_path / "s.xml")
        assert validate_stationxml(tmp_path / "s.xml") == (True, ())
        seismograms.write_miniseed(dataset, tmp_path / "w.mseed")
        traces, expected = obspy.read(tmp_path / "w.mseed"), seismograms.stream(dataset)
        assert [trace.id for trace in traces] == [trace.id for trace in expected] and len(traces) == 120
        stations = obspy.read_inventory(tmp_path / "s.xml").get_contents()
        assert sorted(stations["channels"]) == sorted(trace.id for trace in traces)
        assert any("R7 <&> Ü{0}" in name for name in stations["stations"])
        for a, b in zip(traces, expected):
            assert np.array_equal(a.data, b.data)
            assert a.stats.starttime == b.stats.starttime and a.stats.delta == 0.02
    stationxml.write(dataset.isel(receiver=slice(0, 0)), tmp_path / "s.xml")
    assert "</FDSNStationXML>" in (tmp_path / "s.xml").read_text()

    def seconds(act, *arguments):
        begin = time.process_time()
        act(*arguments)
        return time.process_time() - begin

    few, many = recorded(200), recorded(1000)
    of_obspy = seconds(lambda: stationxml.inventory(few).write(tmp_path / "o.xml", format="STATIONXML"))
    assert seconds(stationxml.write, many, tmp_path / "s.xml") < 5 * of_obspy / 3
    of_obspy += seconds(lambda: seismograms.stream(few).write(tmp_path / "o.mseed", format="MSEED"))
    assert seconds(seismograms.write_miniseed, many, tmp_path / "w.mseed") < 5 * of_obspy
    assert (tmp_path / "w.mseed").stat().st_size == 3000 * 1024


def test_estimate_and_run_say_that_many_receivers_are_written(tmp_path, capsys, monkeypatch):
    few, many = (SimpleNamespace(steps=100, points=1000, channels=range(count)) for count in (30, 60_000))
    estimates = [METHODS["fd"].estimate(plan, SimpleNamespace(describe=lambda: "CPU"), 0.01) for plan in (few, many)]
    assert "to write" not in estimates[0] and "and about 12 s to write the 60,000 channels" in estimates[1]
    monkeypatch.setattr(waves, "MANY", 4)
    case = loads(smallcase.TEXT, ("time.duration=0.02",))
    craton.run(case, out=tmp_path / "out", warn=False)
    err = capsys.readouterr().err
    assert all(f"4 receivers: writing {name}\n" in err for name in ("result.zarr", "waveforms.mseed", "stations.xml"))
    craton.run(case, out=tmp_path / "quiet", warn=False, progress=False)
    assert "writing" not in capsys.readouterr().err


def test_blocks_count_what_is_written(monkeypatch):
    """Three quantities from the channels of one: blocks of a third; all channels once."""
    monkeypatch.setattr("craton.core.plan.RECORD_BLOCK", 1200)
    output = SimpleNamespace(waveforms=("velocity", "displacement", "acceleration"))
    receivers, channels = Receivers(list("ABCDEFGHIJ"), np.zeros((10, 3))), Channels(10, (("velocity", tuple("ENZ")),))
    result = SimpleNamespace(
        samples=np.zeros((20, 30), np.float32),
        plan=SimpleNamespace(receivers=receivers, channels=channels, shots=()),
        scenario=SimpleNamespace(output=output),
        part=lambda named, columns, first: (len(named), first, list(columns)),
    )
    assert list(records.blocks(result, 20)) == [(1, n, [3 * n, 3 * n + 1, 3 * n + 2]) for n in range(10)]
    output.waveforms = ("velocity",)
    assert [block[:2] for block in records.blocks(result, 20)] == [(5, 0), (5, 5)]
    assert len(list(records.blocks(result, 40))) == 5


# --- catalogues -------------------------------------------------------------------------------------------------------------

HEADING = "name,x,y,depth,strike,dip,rake,moment,half_duration,time_shift\n"
EXACT = ("run.precision=float64", "time.duration=2.8")
COARSE = (("spacing = 100", "spacing = 125"),)
ELEMENTS = (
    ('method = "fd"', 'method = "sem"'),
    ("spacing = 100", "element_size = 500"),
    ('others = "cpml"\ncpml = { thickness = 5 }', 'others = "stacey"'),
)
BLOCK = """event {0}
event name: E{0}
time shift: {1}
half duration: 0.3
latorUTM: 1500.25
longorUTM: {2}
depth: 1.125
Mrr: 1.1e21
Mtt: -2.5e21
Mpp: {1}e21
Mrt: 0.125e21
Mrp: 1d20
Mtp: 3e19
"""


def table(count):
    """A catalogue: between points and on them, close to the surface, of vertical planes."""
    rng = np.random.default_rng(1)
    xyz = rng.uniform([700, 700, 150], [2300, 2300, 1700], (count, 3))
    xyz[::3] = xyz[::3].round(-2)
    columns = [*xyz.T, rng.uniform(0, 360, count), rng.choice([90, 45, 71.5], count)]
    columns += [rng.uniform(-180, 180, count), 10 ** rng.uniform(12, 13, count)]
    columns += [rng.choice([0.3, 0.41], count), rng.choice([0.7, 0.83], count)]
    rows = np.column_stack(columns).tolist()
    return HEADING + "".join(f"E{n},{','.join(map(repr, row))}\n" for n, row in enumerate(rows))


def scenario(path, *changes, kind="csv", more="", overrides=EXACT):
    """The small scenario with the sources of a file."""
    text = smallcase.changed(*changes).replace(SHOTS, "")
    entry = f'[[source]]\nkind = "{kind}"\nfile = "{path}"\n{more}\n'
    return loads(text.replace(smallcase.TEXT[SOURCE:RECEIVERS], entry), overrides)


def blocks_of(count):
    """Events of a CMTSOLUTION."""
    return "".join(BLOCK.format(n, 1 + n / 1e5, 1000 + n / 20) for n in range(count))


@pytest.fixture
def any_count(monkeypatch):
    """Files of any length are catalogues where the test says so."""
    return lambda as_arrays: monkeypatch.setattr(source_arrays, "MANY", 0 if as_arrays else 10**9)


RICKER = 'wavelet = { kind = "ricker", frequency = 2, delay = 0.6 }'
EQUAL = {"fd": (COARSE, "", 1e-6), "fd of one wavelet": (COARSE, RICKER, 5e-6), "sem": (ELEMENTS, "", 1e-5)}


@pytest.mark.parametrize("changes, wavelet, worst", EQUAL.values(), ids=EQUAL)
def test_as_many_single_sources(changes, wavelet, worst, any_count, tmp_path, monkeypatch):
    """Records, and what is said of the event. What is left is how records end, which goes with the band of the sources: 1e-4 where
    waves still pass then. Elements share none of the moments among neighbours.
    """
    monkeypatch.setattr("craton.methods.spectral_element.sources.MOST", 0)
    (tmp_path / "c.csv").write_text(table(30))
    results = []
    for as_arrays in (False, True):
        any_count(as_arrays)
        results.append(craton.run(scenario(tmp_path / "c.csv", *changes, more=wavelet)).dataset)
    single, together = results
    assert difference(together.velocity, single.velocity) < worst
    for name in ("source_moment_tensor", "centroid_time", "half_duration", "centroid_x"):
        if (expected := single.attrs.get(name)) is not None:
            assert np.allclose(together.attrs[name], expected, 1e-3, 1e-4 * np.abs(expected).max()), name


def test_windows_of_late_wavelets_hold_what_the_correction_moves_forward(any_count, tmp_path):
    """After 300 s 4 Hz act 1.5 s before the wavelet, and all frequencies are spread; windows were off by 5 % of the peak at their ends."""
    any_count(True)
    (tmp_path / "c.csv").write_text(table(5))
    (catalogue,) = source_files.build_all(scenario(tmp_path / "c.csv"))
    late = replace(catalogue, shift=catalogue.shift + 300)
    d = SimpleNamespace(dt=0.008, start=0.0, steps=40_000, precision="float64")
    ends = slip_windows.window_limits(d, late)
    windows = np.split(slip_windows.catalogue_windows(d, late, *ends), np.cumsum(ends[1] - ends[0])[:-1])
    series = leapfrog.for_leapfrog(late.series(np.arange(len(windows)), 0.5 * d.dt, d.dt, d.steps), d.dt, 0.5)
    for begin, end, window, whole in zip(*ends, windows, series.T, strict=True):
        assert np.abs(np.pad(window, (begin, d.steps - end)) - whole).max() < 1e-7 * np.abs(whole).max()


@pytest.mark.parametrize("top", ["free", "cpml"])
def test_rows_are_counted_before_they_are_made(top, any_count, tmp_path, monkeypatch):
    """Those of finite faults, which are sorted whole; in blocks of few sources, to the last bit."""
    any_count(True)
    monkeypatch.setattr(points, "BLOCK", 7)
    (tmp_path / "c.csv").write_text(table(40))
    case = scenario(tmp_path / "c.csv", overrides=(f'boundaries.top="{top}"',))
    sources = source_files.build_all(case)
    d = build.discretise(case, build.grid_of(case), sources)
    arrays, _, _ = slip_windows.sources(GridSpace(d), sources)
    rows = GridSpace(d).moment_blocks(sources[0].points, sources[0].tensors)
    index, weight, source = (np.concatenate(part) for part in zip(*rows))
    expected = tables.table_of(index, weight, sources[0].histories[2][source])
    for name, values in zip(("target", "first", "column", "weight"), expected, strict=True):
        rows = arrays[f"catalogue_{name}"].on_host()
        assert arrays[f"catalogue_{name}"].shape == values.shape and np.array_equal(rows, values.astype(rows.dtype))


def test_channels_by_their_numbers_are_those_in_turn():
    every = Channels(3, [("velocity", tuple("ENZ")), ("pressure", ("P",)), ("rotation_rate", tuple("ENZ"))], shots=2)
    assert [every[n] for n in range(len(every))] == list(every) and every[-1] == list(every)[-1]


def test_a_sum_of_zeros_keeps_one_point():
    index, weight = np.array([[3, 4], [5, 6]]), np.array([[0.0, 0.0], [0.0, 2.0]])
    rows = tables.Rows.without_zeros(np.arange(2), index, weight)
    assert (rows.counts.tolist(), rows.index.tolist(), rows.weight.tolist()) == ([1, 1], [3, 6], [0, 2])


def test_no_traction_is_read_on_a_free_surface():
    case = loads(smallcase.TEXT)
    space = GridSpace(build.discretise(case, build.grid_of(case), source_files.build_all(case)))
    assert space.d.free
    (places,) = space.locate(np.array([[1040.0, 1130.0, space.d.grid.bounds("z")[1]]]))
    read = {name: [*space.read("stress", name, places, np.arange(1))] for name in ("EE", "EN", "EZ", "NZ", "ZZ")}
    assert [name for name, parts in read.items() if sum(part.counts.sum() for part in parts)] == ["EE", "EN"]


@pytest.mark.parametrize("kind", ["csv", "cmtsolution"])
def test_twenty_thousand_in_little_time(kind, tmp_path):
    """0.4 to 0.9 s beside other work; as single sources 20,000 took minutes."""
    (tmp_path / "c").write_text({"csv": table, "cmtsolution": blocks_of}[kind](20_000))
    more = 'coordinates = "metres"' if kind == "cmtsolution" else ""
    begin = time.process_time()
    plan = craton.plan(scenario(tmp_path / "c", kind=kind, more=more, overrides=()))
    assert time.process_time() - begin < 4
    assert plan.bytes_by_kind["points"] < 150 << 20


def test_blocks_with_their_lines_in_another_order(tmp_path):
    path, text = tmp_path / "c", blocks_of(50)
    path.write_text(text)
    whole = io.read(path, "source", "cmtsolution")
    changed = "latorUTM: 1500.25\nlongorUTM: 1002.45\n", "# a comment\n\nlongorUTM: 1002.45 m\nlatorUTM: 1500.25\n"
    path.write_text(smallcase.changed(changed, text=text))
    mixed = io.read(path, "source", "cmtsolution")
    for a, b in zip(whole, mixed, strict=True):
        assert (a.longitude, a.shift, a.name, a.moment.tobytes()) == (b.longitude, b.shift, b.name, b.moment.tobytes())


def test_many_with_a_fault_or_unlike_the_others_are_refused(tmp_path, monkeypatch):
    """The latter would be made one by one."""
    monkeypatch.setattr(limits, "MOST_ROWS", 20)
    strike = table(50).splitlines()[8].split(",")[4]
    for kind, text, old, new, message in (
        ("csv", table(50), f",{strike},", ",,", "line 9 has not all entries: more than 20"),
        ("csv", table(50), "E7,", "E7,x", "line 9: x: "),
        ("cmtsolution", blocks_of(50), "longorUTM: 1000.35", "longorUTM: x", "line 97: longitude is 'x'"),
    ):
        (tmp_path / "c").write_text(text.replace(old, new))
        with pytest.raises((FileError, ValueError), match=message):
            io.read(tmp_path / "c", "source", kind)


def test_a_source_of_no_duration_in_a_catalogue_needs_a_wavelet(any_count, tmp_path):
    any_count(True)
    rows = [line.split(",") for line in table(5).splitlines()]
    rows[3][8] = "0"
    (tmp_path / "c.csv").write_text("\n".join(map(",".join, rows)))
    refused(ScenarioError, "source 3 has no duration", source_files.build_all, scenario(tmp_path / "c.csv"))
    assert len(source_files.build_all(scenario(tmp_path / "c.csv", more=RICKER))) == 1


def test_single_sources_of_a_catalogue(any_count, tmp_path):
    """As the file's sources are by themselves; Green's functions take them so."""
    (tmp_path / "c.csv").write_text(table(5))
    any_count(True)
    (catalogue,) = source_files.build_all(scenario(tmp_path / "c.csv"))
    any_count(False)
    alone, times = source_files.build_all(scenario(tmp_path / "c.csv")), np.linspace(0, 2, 9)
    for a, b in zip(parts_of(catalogue), alone, strict=True):
        assert (a.name, a.xyz) == (b.name, b.xyz)
        assert np.allclose(a.moment, b.moment, 1e-12, 1e-3)
        assert np.allclose(a.wavelet(times), b.wavelet(times), 1e-12, 1e-12)
