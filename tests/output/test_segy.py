"""SEG-Y and SU: what is written is read back by segyio and ObsPy, exactly."""

import numpy as np
import pytest
import xarray as xr

from craton.errors import CratonError
from craton.io import segy

obspy = pytest.importorskip("obspy")
segyio = pytest.importorskip("segyio")
X, Y, Z = (0.0, 10.5, 20.0, -30.25), (0.0, 1.0, 2.0, 3.0), (0.0, -1.0, -2.0, 812.04)


def gathers(samples=500, interval=0.002, start=0.1):
    """Three shots at four receivers, three components of random samples, and pressure."""
    random = np.random.default_rng(1)
    time = ("time", start + interval * np.arange(samples), {"sampling_interval": interval})
    shots = {
        "source_x": ("shot", [5.0, 6.0, 21.5]),
        "source_y": ("shot", [0.0, 0.0, 0.5]),
        "source_z": ("shot", [-10.0, -11.0, -12.25]),
    }
    values = random.standard_normal((3, 4, 3, samples)).astype("f4")
    variables = {
        "velocity": (("shot", "receiver", "component", "time"), values),
        "pressure": (("shot", "receiver", "time"), 1e5 * values[:, :, 0]),
    }
    places = {axis: ("receiver", list(column)) for axis, column in zip("xyz", (X, Y, Z))}
    names = {"shot": list("abc"), "receiver": list("ABCD"), "component": list("ENZ"), "time": time}
    return xr.Dataset(variables, names | places | shots, {"title": "three shots"})


def test_segyio_reads_the_geometry_back(tmp_path):
    data = gathers()
    path = segy.write_gathers(data, tmp_path / "line.sgy")
    field = segyio.TraceField
    with segyio.open(path, ignore_geometry=True) as file:
        assert np.array_equal(file.trace.raw[:].reshape(3, 4, 3, 500), data.velocity.values)
        assert file.samples[0] == 100 and file.samples[1] - file.samples[0] == 2
        columns = {
            name: file.attributes(getattr(field, name))[:].reshape(3, 4, 3)
            for name in (
                "SourceX",
                "SourceY",
                "SourceDepth",
                "GroupX",
                "GroupY",
                "ReceiverGroupElevation",
                "FieldRecord",
                "TraceNumber",
                "TraceIdentificationCode",
                "SourceGroupScalar",
                "ElevationScalar",
                "offset",
                "TRACE_SEQUENCE_FILE",
            )
        }
        assert file.bin[segyio.BinField.SEGYRevision] == 1 and file.bin[segyio.BinField.Format] == 5
        assert "three shots" in bytes(file.text[0]).decode("cp037", "ignore") or b"three shots" in bytes(file.text[0])
    assert (columns["SourceGroupScalar"] == -100).all() and (columns["ElevationScalar"] == -100).all()
    for name, axis in (("GroupX", "x"), ("GroupY", "y"), ("ReceiverGroupElevation", "z")):
        assert np.array_equal(columns[name][0, :, 0] / 100, data[axis].values)
    for name, axis, sign in (("SourceX", "x", 1), ("SourceY", "y", 1), ("SourceDepth", "z", -1)):
        assert np.array_equal(sign * columns[name][:, 0, 0] / 100, data[f"source_{axis}"].values)
    assert np.array_equal(columns["FieldRecord"][:, 0, 0], [1, 2, 3]) and np.array_equal(
        columns["TraceNumber"][0, :, 0], [1, 2, 3, 4]
    )
    assert np.array_equal(columns["TraceIdentificationCode"][0, 0], [14, 13, 12])
    assert np.array_equal(columns["offset"][0, :, 0], [-5, 6, 15, -35])
    assert np.array_equal(columns["TRACE_SEQUENCE_FILE"].ravel(), 1 + np.arange(36))


@pytest.mark.parametrize("name, kind", [("line.segy", "SEGY"), ("line.su", "SU")])
def test_obspy_reads_the_gathers_back(tmp_path, name, kind):
    data = gathers()
    path = segy.write_gathers(data, tmp_path / name, quantity="pressure")
    stream = obspy.read(str(path), format=kind, unpack_trace_headers=True)
    assert len(stream) == 12 and all(trace.stats.delta == pytest.approx(0.002) for trace in stream)
    assert np.array_equal([trace.data for trace in stream], data.pressure.values.reshape(12, -1))
    header = stream[7].stats[kind.lower().replace("segy", "segy")].trace_header
    assert (header.group_coordinate_x, header.source_coordinate_x, header.trace_identification_code) == (-3025, 600, 11)


def test_one_experiment_has_its_source_in_the_attributes(tmp_path):
    data = gathers().isel(shot=0).drop_vars(["source_x", "source_y", "source_z"])
    path = segy.write_gathers(data, tmp_path / "none.su", component="Z")
    bare = obspy.read(str(path), format="SU", unpack_trace_headers=True)[1].stats.su.trace_header
    assert len(obspy.read(str(path), format="SU")) == 4 and bare.source_coordinate_x == 0
    data.attrs |= {"source_x": 5.0, "source_y": 0.0, "source_z": -10.0}
    path = segy.write_gathers(data, tmp_path / "one.su", component="Z")
    header = obspy.read(str(path), format="SU", unpack_trace_headers=True)[1].stats.su.trace_header
    assert (header.source_coordinate_x, header.source_depth_below_surface) == (500, 1000)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"interval": 0.0020004}, "whole microseconds"),
        ({"interval": 0.05}, "whole microseconds"),
        ({"samples": 40_000}, "32,767"),
    ],
)
def test_what_the_headers_cannot_hold_is_refused(tmp_path, change, words):
    with pytest.raises(CratonError, match=words):
        segy.write_gathers(gathers(**change), tmp_path / "line.sgy")
    assert not list(tmp_path.iterdir())


def test_wrong_names_are_refused(tmp_path):
    for options, words in (({"quantity": "strain"}, "velocity, pressure"), ({"component": "R"}, "E, N, Z")):
        with pytest.raises(CratonError, match=words):
            segy.write_gathers(gathers(), tmp_path / "line.sgy", **options)
    with pytest.raises(CratonError, match=".sgy, .segy, .su"):
        segy.write_gathers(gathers(), tmp_path / "line.dat")
