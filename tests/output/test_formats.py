"""The table of file formats: every row can do what it says; what is written, by `craton convert` too, is read back by others' readers."""

import inspect

import h5py
import numpy as np
import pytest
import xarray as xr
from common import refused, stored
from filecase import LINE, run_of

from craton import io
from craton.cli.app import main
from craton.errors import CratonError
from craton.io import segy, seismograms, vtkhdf
from craton.io.contents import FileError, UnknownFormat

obspy = pytest.importorskip("obspy")
segyio = pytest.importorskip("segyio")

# --- the table --------------------------------------------------------------------------------------------------------------------------

CONVERTED = [row for holds in ("gather", "seismograms", "snapshots", "peaks", "recording") for row in io.formats(holds)]
KNOWN = {"mesh": "Exodus (.e, .exo,", "raster": "ESRI ASCII grid (.asc)", "radial model": "TauP (.nd, .tvel)"}


def test_rows_name_readers_and_writers():
    """Of what `craton convert` writes, of the files of every run, and of what is read; no two claim a suffix."""
    for row in io.FORMATS:
        is_written = row in CONVERTED or row.file
        words = inspect.signature(row.function(row.write if is_written else row.read)).parameters
        assert ({"dataset", "path"} if is_written else set(row.options)) <= set(words), row
        assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in row.suffixes), row
        if row.recognises:
            assert callable(row.function(row.recognises)), row
    claimed = [(row.holds, suffix) for row in io.FORMATS for suffix in row.suffixes]
    assert len(set(claimed)) == len(claimed)


def test_files_are_known_by_what_they_begin_with(tmp_path):
    """One in no format is told which are known."""
    (tmp_path / "file.doc").write_text("text")
    for holds, known in KNOWN.items():
        with pytest.raises(UnknownFormat, match=f"{holds} files with the suffix .doc are not supported") as caught:
            io.read(tmp_path / "file.doc", holds)
        assert known in caught.value.remedy
        refused(FileError, "there is no file", io.read, tmp_path / "none.doc", holds)
    (tmp_path / "data").write_bytes(b"\x89HDF\r\n\x1a\n")
    assert [row.name for row in io.formats("gridded model") if row.matches(tmp_path / "data")] == ["netCDF or zarr"]
    for text, name in (("<?xml ?>", "StationXML"), ("A N 1 2 0 0\n", "STATIONS"), ("name,x,y,z\n", "CSV")):
        (tmp_path / "stations").write_text(text)
        assert next(row.name for row in io.formats("station") if row.matches(tmp_path / "stations")) == name


# --- SEG-Y and SU -----------------------------------------------------------------------------------------------------------------------


def gathers(samples=500, interval=0.002, start=0.1):
    """Three shots at four receivers, three components of random samples, and pressure."""
    values = np.random.default_rng(1).standard_normal((3, 4, 3, samples)).astype("f4")
    variables = {  # in the order of a store, which sorts them by name
        "pressure": (("shot", "receiver", "time"), 1e5 * values[:, :, 0]),
        "velocity": (("shot", "receiver", "component", "time"), values),
    }
    axes = {
        "time": ("time", start + interval * np.arange(samples), {"sampling_interval": interval}),
        "x": ("receiver", [0.0, 10.5, 20.0, -30.25]),
        "y": ("receiver", [0.0, 1.0, 2.0, 3.0]),
        "z": ("receiver", [0.0, -1.0, -2.0, 812.04]),
        "source_x": ("shot", [5.0, 6.0, 21.5]),
        "source_y": ("shot", [0.0, 0.0, 0.5]),
        "source_z": ("shot", [-10.0, -11.0, -12.25]),
    }
    axes |= {"shot": list("abc"), "receiver": list("ABCD"), "component": list("ENZ")}
    return xr.Dataset(variables, axes, {"title": "three shots"})


def test_segyio_reads_the_geometry_back(tmp_path):
    data = gathers()
    with segyio.open(segy.write_gathers(data, tmp_path / "line.sgy"), ignore_geometry=True) as file:
        assert np.array_equal(file.trace.raw[:].reshape(3, 4, 3, 500), data.velocity.values)
        assert file.samples[0] == 100 and file.samples[1] - file.samples[0] == 2
        fields = {name: value for name, value in vars(segyio.TraceField).items() if isinstance(value, int)}
        columns = {name: file.attributes(field)[:].reshape(3, 4, 3) for name, field in fields.items()}
        assert file.bin[segyio.BinField.SEGYRevision] == 1 and file.bin[segyio.BinField.Format] == 5
        assert "three shots" in bytes(file.text[0]).decode("cp037", "ignore") or b"three shots" in bytes(file.text[0])
    assert (columns["SourceGroupScalar"] == -100).all() and (columns["ElevationScalar"] == -100).all()
    for name, axis in (("GroupX", "x"), ("GroupY", "y"), ("ReceiverGroupElevation", "z")):
        assert np.array_equal(columns[name][0, :, 0] / 100, data[axis].values)
    for name, axis, sign in (("SourceX", "x", 1), ("SourceY", "y", 1), ("SourceDepth", "z", -1)):
        assert np.array_equal(sign * columns[name][:, 0, 0] / 100, data[f"source_{axis}"].values)
    assert np.array_equal(columns["FieldRecord"][:, 0, 0], [1, 2, 3])
    assert np.array_equal(columns["TraceNumber"][0, :, 0], [1, 2, 3, 4])
    assert np.array_equal(columns["TraceIdentificationCode"][0, 0], [14, 13, 12])
    assert np.array_equal(columns["offset"][0, :, 0], [-5, 6, 15, -35])
    assert np.array_equal(columns["TRACE_SEQUENCE_FILE"].ravel(), 1 + np.arange(36))


def test_obspy_reads_the_gathers_back(tmp_path):
    data = gathers()
    for kind in ("segy", "su"):
        path = segy.write_gathers(data, tmp_path / f"line.{kind}", quantity="pressure")
        stream = obspy.read(str(path), format=kind.upper(), unpack_trace_headers=True)
        assert len(stream) == 12 and all(trace.stats.delta == pytest.approx(0.002) for trace in stream)
        assert np.array_equal([trace.data for trace in stream], data.pressure.values.reshape(12, -1))
        header = stream[7].stats[kind].trace_header
        assert (header.group_coordinate_x, header.source_coordinate_x) == (-3025, 600)
        assert header.trace_identification_code == 11
    # one experiment has its source in the attributes, or none
    data = data.isel(shot=0).drop_vars(["source_x", "source_y", "source_z"])
    place = {"source_x": 5.0, "source_y": 0.0, "source_z": -10.0}
    for attributes, expected in (({}, (0, 0)), (place, (500, 1000))):
        path = segy.write_gathers(data.assign_attrs(attributes), tmp_path / "one.su", component="Z")
        stream = obspy.read(str(path), format="SU", unpack_trace_headers=True)
        header = stream[1].stats.su.trace_header
        assert len(stream) == 4 and (header.source_coordinate_x, header.source_depth_below_surface) == expected


# --- VTKHDF -----------------------------------------------------------------------------------------------------------------------------


def series(**change):
    """Frames of a volume: a vector, a tensor and a number."""
    random, dims = np.random.default_rng(2), ("time", "z", "y", "x")
    axes = {"time": [0.0, 0.25, 0.75], "z": -300.0 + 100 * np.arange(4), "y": 50.0 * np.arange(5)}
    axes |= {"x": 1000 + 20.0 * np.arange(6), "component": list("ENZ")} | change
    axes["tensor"] = ["EE", "NN", "ZZ", "EN", "EZ", "NZ"]
    values = {
        "pressure": (dims, random.random((3, 4, 5, 6), np.float32)),
        "velocity": (("time", "component", *dims[1:]), random.random((3, 3, 4, 5, 6), np.float32)),
        "strain": (("time", "tensor", *dims[1:]), random.random((3, 6, 4, 5, 6), np.float32)),
    }
    return xr.Dataset(values, axes)


def root_of(file, kind):
    """The group of a VTKHDF file, whose type VTK reads as text of a fixed length."""
    root = file["VTKHDF"]
    assert root.attrs.get_id("Type").dtype.kind == "S" and root.attrs["Type"] == kind.encode()
    assert list(root.attrs["Version"]) == [2, 2]
    return root


def frames(path):
    """(time, numbers of points, corner, far corner, {name: values}) of each step, as VTK's description of the format has it."""
    with h5py.File(path) as file:
        root = root_of(file, "ImageData")
        extent = root.attrs["WholeExtent"].reshape(3, 2)
        assert (extent[:, 0] == 0).all()
        far = root.attrs["Origin"] + root.attrs["Direction"].reshape(3, 3) @ (root.attrs["Spacing"] * extent[:, 1])
        steps, fields = root["Steps"], root["PointData"]
        assert len(steps["Values"]) == steps.attrs["NSteps"] and fields.keys() == steps["PointDataOffsets"].keys()
        for n, time in enumerate(steps["Values"]):
            values = {name: fields[name][offsets[n]] for name, offsets in steps["PointDataOffsets"].items()}
            # VTK reads flat images from arrays of one dimension less
            counts = tuple(extent[:, 1] + 1) if extent[2, 1] else tuple(extent[:2, 1] + 1)
            assert all(array.shape[: len(counts)] == counts[::-1] for array in values.values())
            yield time, counts, tuple(root.attrs["Origin"]), tuple(far), values


def test_frames_of_a_volume_and_of_a_plane(tmp_path):
    data = series()
    read = list(frames(vtkhdf.write_snapshots(data, tmp_path / "wave.vtkhdf")))
    assert len(read) == 3
    for n, (time, counts, *corners, values) in enumerate(read):
        assert time == data.time[n] and counts == (6, 5, 4) and corners == [(1000, 0, -300), (1100, 200, 0)]
        assert np.array_equal(values["pressure"], data.pressure[n])
        assert np.array_equal(np.moveaxis(values["velocity"], -1, 0), data.velocity[n])
        assert np.array_equal(values["strain_EZ"], data.strain.sel(tensor="EZ")[n])
        assert set(values) == {"pressure", "velocity", *(f"strain_{name}" for name in data.tensor.values)}
    _, counts, *corners, values = list(frames(vtkhdf.write_snapshots(data.isel(y=2), tmp_path / "plane.vtkhdf")))[1]
    assert counts == (6, 4) and corners == [(1000, 100, -300), (1100, 100, 0)]
    assert np.array_equal(values["pressure"], data.pressure[1, :, 2])


@pytest.mark.long
def test_vtk_reads_the_frames(tmp_path):
    for data, south, north in ((series(), 0, 200), (series().isel(y=2), 100, 100)):
        image = pytest.importorskip("pyvista").read(str(vtkhdf.write_snapshots(data, tmp_path / "wave.vtkhdf")))
        assert np.allclose(image.bounds, [1000, 1100, south, north, -300, 0])
        assert np.array_equal(np.asarray(image["pressure"]), data.pressure[0].values.ravel())


# --- what cannot be written -------------------------------------------------------------------------------------------------------------


def test_what_formats_cannot_hold_is_refused(tmp_path):
    for dataset, name, words, options in (
        (gathers(interval=0.0020004), "a.sgy", "whole microseconds", {}),
        (gathers(interval=0.05), "a.sgy", "whole microseconds", {}),
        (gathers(samples=40_000), "a.sgy", "32,767", {}),
        (gathers(start=-40.0), "a.sgy", "at -40 s", {}),
        (gathers(), "a.sgy", "velocity, pressure", {"quantity": "strain"}),
        (gathers(), "a.sgy", "E, N, Z", {"component": "R"}),
        (gathers(), "a.dat", ".sgy, .segy, .su", {}),
        (series(x=[0.0, 1, 2, 3, 4, 6]), "a.vtkhdf", "along x are 1 to 2 m apart", {}),
        (series().isel(time=slice(0)), "a.vtkhdf", "no snapshots", {}),
        (series(), "a.vtk", "ends in .vtkhdf", {}),
    ):
        write = segy.write_gathers if "shot" in dataset.dims else vtkhdf.write_snapshots
        refused(CratonError, words, write, dataset, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


# --- craton convert ---------------------------------------------------------------------------------------------------------------------

SMALL = LINE.replace("[1300, 0], count = 12", "[800, 0], count = 4").replace("duration = 0.8", "duration = 0.3")
SMALL += 'snapshots = [{ name = "wave", quantity = "velocity", every = 0.1 }]'


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """OUT of a run of three shots."""
    shots = "shots = { from = [300, -100], to = [700, -100], count = 3 }"
    return run_of(SMALL.replace("at = [300, -10]", shots), tmp_path_factory.mktemp("shots"))


@pytest.fixture(scope="module")
def shot(tmp_path_factory):
    """OUT of a run of one shot that recorded pressure, velocity and strain."""
    return run_of(SMALL.replace('["velocity"]', '["pressure", "velocity", "strain"]'), tmp_path_factory.mktemp("shot"))


def test_gathers_have_their_sources_and_shots_their_waveforms_and_stations(survey, tmp_path):
    """Positions over shot in the dataset, and with them offsets in SEG-Y; traces of ObsPy have their shots."""
    data = stored(survey)
    assert np.array_equal(data.source_x, [300, 500, 700]) and np.array_equal(data.source_z, [-100] * 3)
    shot = "--shot", "source 1.2"
    for name, *words in (("g.sgy", "--component", "Z"), ("w.mseed", *shot), ("s.xml", *shot)):
        assert main(["convert", str(survey), str(tmp_path / name), *words]) == 0
    with segyio.open(tmp_path / "g.sgy", ignore_geometry=True) as file:
        assert np.array_equal(file.trace.raw[:], data.velocity.sel(component="Z").values.reshape(12, -1))
        fields = segyio.TraceField.GroupX, segyio.TraceField.SourceX, segyio.TraceField.offset
        x, source_x, offset = (file.attributes(field)[:].reshape(3, 4) for field in fields)
    assert np.array_equal(x[0] / 100, data.x) and np.array_equal(source_x[:, 0] / 100, data.source_x)
    assert np.array_equal(offset, data.x.values - data.source_x.values[:, None])
    assert [t.stats.shot for t in seismograms.stream(data)] == [
        f"source 1.{n}" for n in (1, 2, 3) for _ in range(4 * 2)
    ]
    assert len(obspy.read_inventory(str(tmp_path / "s.xml"))[0]) == 4
    traces = obspy.read(str(tmp_path / "w.mseed"))
    assert len(traces) == 8 and traces[0].stats.delta == pytest.approx(0.01)
    for trace in traces:
        place = {"shot": "source 1.2", "receiver": trace.stats.station, "component": trace.stats.channel[-1]}
        assert np.array_equal(trace.data, data.velocity.sel(place).values)


def test_snapshots(shot, tmp_path):
    assert main(["convert", str(shot), str(tmp_path / "w.vtkhdf"), "--series", "wave"]) == 0
    data = stored(shot, "snapshots/wave").velocity
    for n, (time, counts, *corners, values) in enumerate(frames(tmp_path / "w.vtkhdf")):
        assert time == data.time[n] and counts == (76, 31) and corners == [(0, 0, -600), (1500, 0, 0)]
        assert all(np.array_equal(values[f"velocity_{c}"], data[n].sel(component=c)) for c in data.component.values)
    assert n + 1 == len(data.time) > 2


def test_the_component_and_quantity_that_are_asked_for_are_written(shot, tmp_path):
    for words, quantity, components, letter in (
        (["--quantity", "velocity", "--component", "Z"], "velocity", "Z", "X"),
        (["--quantity", "velocity"], "velocity", "EZ", "X"),
        (["--component", "Z"], "velocity", "Z", "X"),
        (["--quantity", "pressure"], "pressure", "H", "D"),
        (["--component", "EZ"], "strain", "E", "S"),
    ):
        path = tmp_path / f"{'-'.join(words)}.mseed"
        assert main(["convert", str(shot), str(path), *words]) == 0
        traces = obspy.read(str(path))
        channels = [t.stats.channel[1:] for t in traces]
        assert sorted(channels) == sorted([letter + component for component in components for _ in range(4)])
        if words[-1] in ("Z", "EZ"):
            data = stored(shot)[quantity]
            data = data.sel({data.dims[1]: words[-1]})
            assert np.array_equal([t.data for t in traces], data.values)


def test_mistakes_are_named(survey, shot, tmp_path, capsys):
    (tmp_path / "there.sgy").write_text("")
    for out, words, message, code in (
        (shot, "x.sgy --quantity pressure --component Z", "pressure has no components", 2),
        (shot, "x.sgy --quantity pressure --component Z", "--quantity velocity --component Z", 2),
        (shot, "x.sgy --quantity velocity --component Q", "no component Q", 2),
        (shot, "x.mseed --component Q", "no quantity has a component Q", 2),
        (shot, "x.mseed --quantity velocty", 'did you mean "velocity"', 2),
        (shot, "x.vtkhdf --component Z", "--component: VTKHDF files of snapshots do not take it", 2),
        (shot, "x.mseed --series wave", "--series: MiniSEED files of waveform do not take it", 2),
        (survey, "x.foo", "no format ends in .foo", None),
        ("elsewhere", "x.sgy", "there is no folder", None),
        (survey, "there.sgy", "is there already", None),
        (shot, "x.vtkhdf --series none", "there are wave", None),
        (survey, "x.sgy --component R", "its are", None),
        (survey, "x.mseed", "cannot tell the 3 shots", None),
        (survey, "x.sgy --shot 7", "there are source 1.1, source 1.2 and source 1.3", None),
    ):
        name, *options = words.split()
        ended = main(["convert", str(out), str(tmp_path / name), *options])
        assert ended == (code or ended) != 0 and message in capsys.readouterr().err, words
    assert [path.name for path in tmp_path.iterdir()] == ["there.sgy"]
