"""What goes in comes out: stations and an event in files of ObsPy, through runs, back into ObsPy; objects of xarray, pandas and ObsPy
in place of files, and the run folder that keeps them.
"""

import numpy as np
import pandas
import pytest
import xarray as xr
from common import misfit, refused
from filecase import inventory, quake
from paths import DATA

import craton
from craton.cli.app import main
from craton.errors import CratonError, ScenarioError
from craton.io import cmtsolution, fdsn, objects, quakeml, stationxml
from craton.io.contents import moment_tensor
from craton.output import inputs
from craton.output.ground_motion import rotated
from craton.scenario import Scenario, dumps, loads
from craton.shots.survey import on_earth
from craton.survey import geography, receivers, source_files
from craton.survey.event import origin_time
from craton.survey.shots import Shot

obspy = pytest.importorskip("obspy")
sac_reftime = pytest.importorskip("obspy.io.sac.util").get_sac_reftime
geodetics = pytest.importorskip("obspy.geodetics")

LONGITUDE, LATITUDE, DEPTH = 12.53, 47.26, 2500.0
ORIGIN = "2021-03-04T05:06:07.891234"
SHIFT = 0.25  # s: of the centroid after the origin time
SIX = (1.0e15, -2.0e15, 1.2e15, 1.5e15, -0.7e15, 2.2e15)  # rr tt pp rt rp tp, N m
# Longitude, latitude, elevation
NEAR = {
    "GE": {"AAA": (12.55, 47.27, 850.0), "BBB": (12.49, 47.24, 1210.0), "WET": (12.56, 47.23, 300.0)},
    "IU": {"AAA": (12.47, 47.27, 640.0), "CCC": (12.5, 47.22, 0.0)},
}
FAR = {
    "GE": {"KARP": (27.16, 35.55, 524.0), "SNAA": (-2.84, -71.67, 846.0), "DAG": (-18.66, 76.77, 23.0)},
    "IU": {"ANMO": (-106.46, 34.95, 1820.0), "CTAO": (146.25, -20.09, 357.0), "WET": (178.9, -41.3, 7.0)},
    "G": {"KIP": (-158.01, 21.42, 70.0), "SPB": (-47.43, -23.59, 85.0), "WUS": (79.22, 41.2, 1457.0)},
}
ALL = {code: NEAR.get(code, {}) | FAR[code] for code in FAR}
BOX = """
title = "box"
domain.origin = [-9000, -9000, -8800]
domain.size = [18000, 18000, 8800]
domain.spacing = 400
domain.geographic = { longitude = 12.5, latitude = 47.25 }
model = { kind = "homogeneous", vp = 5000, vs = 2900, rho = 2700 }
time = { duration = 4 }
boundaries = { cpml = { thickness = 5 } }
source = [{ kind = "quakeml", file = "event.xml" }]
receivers = [{ file = "near.xml" }]
output.waveforms = ["velocity", "acceleration"]
"""
GLOBE = """
method = "sem"
domain = { chunk = { chunks = 6, elements = [6, 6], bottom = "300 km", elliptic = true } }
model = { kind = "prem" }
time = { duration = 1, step = 0.2, start = 0 }
boundaries = { bottom = "stacey" }
source = [{ kind = "quakeml", file = "event.xml" }]
receivers = [{ file = "all.xml" }]
output = { waveforms = ["velocity", "acceleration"] }
"""
TURNED = ("domain.geographic.azimuth=35", "output.sampling=0.05")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of ObsPy."""
    path = tmp_path_factory.mktemp("round")
    quake(LONGITUDE, LATITUDE, DEPTH, SIX, ORIGIN, SHIFT).write(str(path / "event.xml"), format="QUAKEML")
    for name, networks in (("near", NEAR), ("all", ALL)):
        inventory(networks).write(str(path / f"{name}.xml"), format="STATIONXML")
    return path


@pytest.fixture(scope="module")
def turned(folder):
    """Result of a box whose axes are turned, kept in a folder."""
    return craton.run(loads(BOX, TURNED, file=folder / "s.toml"), device="cpu", out=folder / "out", progress=False)


def metres_apart(place, longitude=LONGITUDE, latitude=LATITUDE):
    """Distance, azimuth and back azimuth of a place with longitude and latitude, by attributes or keys."""
    return geodetics.gps2dist_azimuth(latitude, longitude, place["latitude"], place["longitude"])


def check_event(event):
    """Its origin, centroid, mechanism and magnitude are those of the file."""
    hypocentre, source = event.preferred_origin(), quakeml.source_of(event)
    assert abs(hypocentre.time - obspy.UTCDateTime(ORIGIN)) < 1e-5
    assert metres_apart(hypocentre)[0] < 1 and hypocentre.depth == pytest.approx(DEPTH, abs=1)
    six = [getattr(event.focal_mechanisms[0].moment_tensor.tensor, k) for k in quakeml.COMPONENTS]
    assert np.allclose(six, SIX, rtol=1e-6, atol=1e9)
    assert source.shift == pytest.approx(SHIFT, abs=1e-3) and source.width == pytest.approx(1.2, rel=1e-3)
    moment = np.linalg.norm(source.moment) / np.sqrt(2)
    assert event.preferred_magnitude().mag == pytest.approx((np.log10(moment) - 9.1) / 1.5)
    assert event.event_descriptions[0].text == "Alps"


def check_traces(stream, metadata, stations, first):
    """Codes, coordinates, start times and azimuths of the traces; responses take no part in them."""
    assert {(t.stats.network, t.stats.station) for t in stream} == {(net, s) for net in stations for s in stations[net]}
    for trace in stream:
        stats = trace.stats
        longitude, latitude, height = stations[stats.network][stats.station]
        for place in (stats.coordinates, metadata.get_coordinates(trace.id, stats.starttime)):
            assert metres_apart(place, longitude, latitude)[0] < 1
            assert place["elevation"] == pytest.approx(height, abs=1)
        distance, *angles = metres_apart({"longitude": longitude, "latitude": latitude})
        assert stats.distance == pytest.approx(distance, abs=1)
        for angle, expected in zip((stats.azimuth, stats.back_azimuth), angles):
            assert abs((angle - expected + 180) % 360 - 180) < 0.1
        assert abs(stats.starttime - (obspy.UTCDateTime(ORIGIN) + first)) < 0.01 * stats.delta


def test_a_rotated_box(turned, folder):
    """Also a flat response is removed without a trace."""
    stations, stream = turned.inventory(), turned.stream()
    check_event(turned.event())
    check_traces(stream, stations, NEAR, float(turned.dataset.time[0]))
    for location, output in (("", "VEL"), ("AC", "ACC")):
        (raw,) = stream.select(station="BBB", location=location, component="N")
        trace = raw.copy().remove_response(stations, output=output, zero_mean=False, taper=False)
        assert np.allclose(trace.data, raw.data, atol=1e-3 * np.abs(raw.data).max())
    assert "GE.AAA" in str(stations) and "IU.AAA" in str(stations)
    assert {str(name) for name in turned.dataset.receiver.values} >= {"GE.AAA", "IU.AAA"}
    straight = craton.run(loads(BOX, TURNED[1:], file=folder / "s.toml"), device="cpu", progress=False)
    for quantity, expected in straight.dataset.data_vars.items():
        for component in "ENZ":
            records = (values.sel(component=component) for values in (turned.dataset[quantity], expected))
            assert misfit(*records) < 5e-3, (quantity, component)


def check_sac(read, trace):
    """A trace of a SAC file: samples, codes, and all that its header says of places and times."""
    sac, stats = read.stats.sac, trace.stats
    place = stats.coordinates
    assert np.array_equal(read.data, trace.data) and read.id == trace.id
    assert abs(read.stats.starttime - stats.starttime) < 1e-3 * stats.delta
    assert (sac.stla, sac.stlo) == pytest.approx((place.latitude, place.longitude), abs=1e-5)
    assert sac.stel - sac.stdp == pytest.approx(place.elevation)
    assert (sac.evla, sac.evlo, sac.evdp) == pytest.approx((LATITUDE, LONGITUDE, DEPTH / 1e3))
    assert sac.dist == pytest.approx(stats.distance / 1e3, rel=1e-5)
    assert (sac.az, sac.baz) == pytest.approx((stats.azimuth, stats.back_azimuth), abs=1e-3)
    assert sac.gcarc == pytest.approx(geodetics.kilometers2degrees(sac.dist), rel=5e-3)
    assert (sac.cmpaz, sac.cmpinc) == {"E": (90, 90), "N": (0, 90), "Z": (0, 0)}[sac.kcmpnm[-1]]
    assert (sac.kstnm, sac.knetwk, sac.kcmpnm) == (stats.station, stats.network, stats.channel)
    assert abs(sac_reftime(sac) + float(sac.o) - obspy.UTCDateTime(ORIGIN)) < 1e-5


def test_files_of_a_run(turned, folder):
    """Those of OUT, SAC and ASDF."""
    out = folder / "out"
    traces = obspy.read(str(out / "waveforms.mseed"))
    check_event(obspy.read_events(str(out / "event.quakeml"))[0])
    for trace, expected in zip(traces.sort(), turned.stream().sort()):
        assert trace.id == expected.id and trace.stats.starttime == expected.stats.starttime
        assert np.array_equal(trace.data, expected.data)
        trace.stats.update({k: expected.stats[k] for k in ("coordinates", "distance", "azimuth", "back_azimuth")})
    check_traces(traces, obspy.read_inventory(str(out / "stations.xml")), NEAR, float(turned.dataset.time[0]))
    assert main(["convert", str(out), str(folder / "w.sac")]) == 0
    for trace in traces:
        check_sac(obspy.read(str(folder / "w.sac" / f"{trace.id}.sac"))[0], trace)
    assert main(["convert", str(out), str(folder / "w.asdf")]) == 0
    with pytest.importorskip("pyasdf").ASDFDataSet(str(folder / "w.asdf"), mode="r", mpi=False) as file:
        check_event(file.events[0])
        assert file.waveforms.list() == ["GE.AAA", "GE.BBB", "GE.WET", "IU.AAA", "IU.CCC"]
        station, expected = file.waveforms["IU.AAA"], turned.stream().select(network="IU", station="AAA")
        assert len(station.synthetic) == len(expected) == 6
        assert all(np.array_equal(station.synthetic.select(id=trace.id)[0].data, trace.data) for trace in expected)
        assert station.StationXML[0].code == "IU" and station.coordinates["elevation_in_m"] == 640


def test_the_whole_earth(folder):
    """A run that ends at once."""
    result = craton.run(loads(GLOBE, file=folder / "s.toml"), device="cpu", progress=False)
    check_event(result.event())
    check_traces(result.stream(), result.inventory(), ALL, float(result.dataset.time[0]))
    velocity, acceleration = (result.dataset[name].values for name in ("velocity", "acceleration"))
    assert misfit(acceleration[..., 1:-1], ((velocity[..., 2:] - velocity[..., :-2]) / (2 * result.plan.dt))) < 0.1


def test_radial_and_transverse(turned, folder):
    """Of the dataset, of ObsPy's traces and of files; a box that lies nowhere knows its own east."""
    radial = turned.rotate("RT")
    assert list(radial.component.values) == ["R", "T", "Z"]
    assert main(["convert", str(folder / "out"), str(folder / "r.mseed"), "--rotate"]) == 0
    files = obspy.read(str(folder / "r.mseed"))
    for trace in turned.stream().rotate("NE->RT"):
        quantity = "acceleration" if trace.stats.location else "velocity"
        name = f"{trace.stats.network}.{trace.stats.station}"
        expected = radial[quantity].sel(receiver=name, component=trace.stats.channel[-1]).values
        assert np.allclose(trace.data, expected, atol=1e-5 * np.abs(expected).max())
        assert np.array_equal(files.select(id=trace.id)[0].data, expected)
    refused(CratonError, "already", rotated, radial)
    channel = stationxml.inventory(radial)[0][0].select(channel="*T")[0]
    assert channel.azimuth == pytest.approx((float(radial.back_azimuth[0]) + 270) % 360) and channel.dip == 0


NOWHERE = """
domain = { origin = [-2000, -2000, -2000], size = [4000, 4000, 4000], spacing = 200 }
boundaries = { top = "cpml", cpml = { thickness = 4 } }
model = { kind = "homogeneous", vp = 4000, vs = 2300, rho = 2500 }
time = { duration = 0.8, origin = 2020-02-29T23:59:59+01:00 }
source = [{ kind = "explosion", moment = 1e14, at = [0, 0, 0], wavelet = { kind = "gaussian", tau = 0.12 } }]
receivers = [{ name = "R", at = [600, -600, 0] }]
output = { waveforms = ["displacement", "strain"] }
"""


def test_rotation_in_a_box_that_lies_nowhere():
    """The radial motion of an explosion is all that it has, in space and in the plane, for each shot."""
    result = craton.run(loads(NOWHERE), device="cpu", progress=False)
    turned = result.rotate().isel(receiver=0)
    radial, transverse = (turned.displacement.sel(component=c).values for c in "RT")
    assert radial.max() > 50 * np.abs(transverse).max() and result.dataset.azimuth == 135
    along, across = (np.abs(turned.strain.sel(tensor=name)).max() for name in ("RR", "RT"))
    assert along > 50 * across
    stats, origin = result.stream()[0].stats, obspy.UTCDateTime("2020-02-29T22:59:59")
    assert stats.back_azimuth == pytest.approx(315) and result.event().origins[0].time == origin
    assert stats.starttime == origin + float(result.dataset.time[0])
    plane = result.dataset.isel(tensor=0, drop=True).sel(component=["E", "Z"])
    places = {f"source_{axis}": ("shot", values) for axis, values in zip("xyz", ([0.0, 1000], [-600.0] * 2, [0.0] * 2))}
    shots = xr.concat([plane, plane], "shot").assign_coords(shot=["a", "b"], **places)
    shots.attrs = {k: v for k, v in plane.attrs.items() if not k.startswith("source_")}
    shots = rotated(shots.drop_vars(["distance", "azimuth", "back_azimuth"]))
    assert list(shots.component.values) == ["R", "Z"]
    east, radial = plane.displacement.sel(component="E"), shots.displacement.sel(component="R")
    assert np.allclose(radial.transpose("shot", ...), [east, -east])


def test_origin_times(folder):
    """Of two files, t = 0 is the first one's, with a warning; time.origin ends it; each shot of a survey has its own."""
    for value in ('"yesterday"', "2020", '"2020-13-01"'):
        with pytest.raises(ScenarioError, match="time.origin: .* is not a date and time"):
            loads(BOX.replace("duration = 4", f"duration = 4, origin = {value}"))
    cmt = (DATA / "sources" / "CMTSOLUTION").read_text().replace("-13.8200", "47.26").replace("-67.2500", "12.5")
    (folder / "CMT").write_text(cmt.replace("647.1000", "3"))
    text = BOX.replace('"event.xml" }', '"event.xml" }, { kind = "cmtsolution", file = "CMT" }')
    later = "time.origin=2001-02-03"
    plan, fixed = (craton.plan(loads(text, more, file=folder / "s.toml")) for more in ((), [later]))
    (note,) = [warning for warning in plan.warnings if "origin time" in warning]
    assert "source.1" in note and "1994-06-09T00:33:16.4" in note and plan.receivers.event["origin_time"] == ORIGIN
    assert not [warning for warning in fixed.warnings if "origin time" in warning]
    assert fixed.receivers.event["origin_time"] == "2001-02-03T00:00:00"
    first, second = (loads(BOX, more, file=folder / "s.toml") for more in (TURNED, (*TURNED, later)))
    attributes, coordinates = on_earth([Shot("a", first), Shot("b", second)])
    dims, times, _ = coordinates["origin_time"]
    assert not attributes and dims == "shot" and list(times) == [ORIGIN, "2001-02-03T00:00:00"]
    assert coordinates["source_longitude"][1] == pytest.approx(LONGITUDE, abs=1e-6)
    assert coordinates["source_elevation"][1] == pytest.approx(-DEPTH)
    data = xr.Dataset(coords=coordinates | {"shot": ["a", "b"]}).sel(shot="b")
    assert fdsn.origin_time(data) == obspy.UTCDateTime(2001, 2, 3)


def test_the_same_code_in_two_networks_of_two_files(folder):
    """CSV with a network column beside an inline receiver."""
    (folder / "s.csv").write_text("name, network, x, y, z\nA, N1, 0, 0, 0\nB, N1, 100, 0, 0\n")
    text = BOX.replace('{ file = "near.xml" }', '{ name = "A", at = [0, 100, 0] }, { file = "s.csv" }')
    built = receivers.build(loads(text, file=folder / "s.toml"))
    assert built.names == ["XX.A", "N1.A", "B"] and built.codes == ["A", "A", "B"]
    assert built.networks == ["XX", "N1", "N1"]


def test_first_lines_of_cmtsolutions(tmp_path):
    """With letters glued to the year, without date, and with a date that is none."""
    rest = (DATA / "sources" / "CMTSOLUTION").read_text().split("\n", 1)[1]

    def read(first):
        (tmp_path / "C").write_text(f"{first}\n{rest}")
        return cmtsolution.read(tmp_path / "C")[0].origin

    assert read("PDEW2015  9 16 22 54 32.90 -31.5700  -71.6700") == "2015-09-16T22:54:32.900000"
    assert read(" PDE 1999 12 31 23 59 60.00  0 0 0") == "2000-01-01T00:00:00" and read("my own source") is None
    refused(ValueError, "line 1: the origin time is no date", read, " PDE 1999 13 31 23 59 60.00  0 0 0")


def test_a_rupture_has_a_hypocentre_and_a_centroid():
    """Where it starts, and the mean by moment; both are in the event."""
    text = BOX.replace("longitude = 12.5, latitude = 47.25", "longitude = -118.2, latitude = 34.1, azimuth = 10")
    text = text.replace('file = "near.xml"', 'name = "R", line = { from = [0, 0, 0], to = [9, 0, 0], count = 2 }')
    file = DATA / "sources" / "rupture_v1.srf"
    scenario = loads(text.replace("quakeml", "srf").replace("event.xml", str(file)))
    about = craton.plan(scenario).receivers
    speeds = (5000.0, 2900.0, 2700.0)
    (rupture,) = source_files.build_all(scenario, lambda xyz: tuple(np.full(len(xyz), value) for value in speeds))
    assert about.source == pytest.approx(rupture.points[np.argmin(rupture.onset)])
    for name, value in geography.of_source(geography.local_of(scenario.domain), rupture.xyz).items():
        assert about.event[name.replace("source", "centroid")] == pytest.approx(value)
    moment = moment_tensor(about.event["source_moment_tensor"])
    assert np.linalg.norm(moment) == pytest.approx(np.linalg.norm(rupture.moment), rel=1e-5)


# --- objects in place of files ----------------------------------------------------------------------------------------------------------

AXIS = np.linspace(-8000.0, 8000.0, 5)
MEDIUM = {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2600}
WAVELET = {"kind": "gaussian", "tau": 0.4}
STATIONS = inventory({"GR": {"FUR": (12.51, 47.26, 500.0)}, "BW": {"FUR": (12.49, 47.24, 500.0)}})


def crust(vs=2900.0):
    """Model of a speed that grows along x."""
    speed = np.broadcast_to(vs + 0.02 * AXIS, (6, 5, 5))
    values = {"vp": 1.7 * speed, "vs": speed, "rho": 0.9 * speed}
    axes = {"x": AXIS, "y": AXIS, "z": np.linspace(-10000.0, 0.0, 6)}
    return xr.Dataset({k: (("z", "y", "x"), v) for k, v in values.items()}, axes)


def event(depth=4000.0):
    return quake(12.5, 47.25, depth, (1e15, -2e15, 1e15, 3e14, 0, 0))


def tables(**changes):
    """Tables of a box with objects."""
    domain = {"origin": [-8000, -8000, -10000], "size": [16000, 16000, 10000], "spacing": 500}
    domain["geographic"] = {"longitude": 12.5, "latitude": 47.25}
    values = {"domain": domain, "boundaries": {"others": "sponge", "sponge": {"thickness": 4}}, "time": {"duration": 1}}
    return values | {"model": crust(), "source": event(), "receivers": STATIONS} | changes


def of_table(columns):
    """The scenario whose sources are the rows of a table."""
    source = {"file": pandas.DataFrame(columns), "wavelet": WAVELET}
    return Scenario(**tables(source=source, model=MEDIUM, receivers=[]))


@pytest.fixture(scope="module")
def scenario():
    """Scenario with an object in each place."""
    return Scenario(**tables())


def test_a_run_of_objects_keeps_them_as_standard_files(scenario, tmp_path):
    craton.run(scenario, out=tmp_path / "out", progress=False, device="cpu")
    assert 'file = "inputs/model.nc"' in (tmp_path / "out" / "scenario.toml").read_text()
    again = craton.load(tmp_path / "out" / "scenario.toml")
    assert again.source[0].kind == "quakeml"
    with xr.open_dataset(again.model.file) as dataset:
        assert dataset.equals(crust())
    assert len(obspy.read_inventory(again.receivers[0].file).get_contents()["stations"]) == 2
    assert obspy.read_events(again.source[0].file)[0].origins[0].depth == 4000
    built = receivers.build(again)
    assert built.names == ["GR.FUR", "BW.FUR"]
    assert built.xyz[0, :2] == pytest.approx(geography.Local(12.5, 47.25).xy(12.51, 47.26))
    (source,) = source_files.build_all(again)
    assert source.xyz[2] == -4000 and source.moment[2, 2] == 1e15


def test_equal_objects_give_equal_scenarios_and_others_do_not(scenario):
    values = tables(source=scenario.source, receivers=scenario.receivers)
    assert Scenario(**values) == scenario
    faster = Scenario(**(values | {"model": crust(3000.0)}))
    assert faster.model.file != scenario.model.file and faster != scenario and objects.is_temporary(scenario.model.file)
    assert inputs.Inputs(scenario, limit=0).files("inputs")[scenario.model.file] == "inputs/model.nc"


def test_objects_replace_tables_of_a_file_and_stand_beside_other_keys(scenario, tmp_path):
    (tmp_path / "box.toml").write_text(dumps(scenario))
    table = pandas.DataFrame({"x": [0.0], "y": [100.0], "z": [-50.0]}, index=pandas.Index(["A"], name="name"))
    ground = xr.DataArray(np.full((3, 3), 0.0), {"x": AXIS[::2], "y": AXIS[::2]}, ("y", "x"))
    others = {"receivers": [table, {"name": "B", "at": [0, 0, 0]}]}
    others["source"] = {"file": event(3000.0), "wavelet": WAVELET}
    others["model"] = {"file": crust(), "attenuation": {"band": [0.1, 1]}, "topography": ground}
    changed = craton.load(tmp_path / "box.toml", ["time.duration=2"], **others)
    assert (changed.time.duration, changed.model.topography.z[0][0]) == (2, 0) and changed.model.attenuation is not None
    others["model"]["topography"] = {"file": ground.to_dataset(name="z")}
    assert craton.load(tmp_path / "box.toml", **others).model.topography.file.endswith(".nc")
    assert changed.source[0].kind == "quakeml" and changed.source[0].wavelet.tau == 0.4
    built = receivers.build(changed)
    assert built.names == ["A", "B"] and built.xyz[0].tolist() == [0, 100, -50]


def test_a_table_of_sources_gives_every_mechanism():
    columns = {"longitude": [12.5, 12.51], "latitude": [47.25, 47.25], "depth": ["2 km", "2500"]}
    columns |= {"magnitude": [4.0, 4.2], "half_duration": [1.0, 2.0], "time_shift": [0.0, 0.5]}
    rows = pandas.DataFrame(columns)
    first, second = source_files.build_all(Scenario(**tables(source=rows)))
    assert (first.name, second.name) == ("source 1.1", "source 1.2")
    assert first.moment == pytest.approx(np.eye(3) * 10 ** (1.5 * 4.0 + 9.1), rel=0.02)
    assert second.xyz[2] == -2500 and second.wavelet.delay == 0.5
    rows = rows.assign(strike=30, dip=60, rake=90)
    moment = source_files.build_all(Scenario(**tables(source=rows)))[0].moment
    assert np.trace(moment) == pytest.approx(0, abs=1e9) and moment[2, 2] > 1e15
    metres = {"x": [10.0], "y": [20.0], "z": [-30.0]}
    (force,) = source_files.build_all(of_table(metres | {"fx": [1.0], "fy": [2.0], "fz": [3.0]}))
    assert force.xyz == (10, 20, -30) and force.force.tolist() == [1, 2, 3]
    six = {"mrr": [1e15], "mtt": [2e15], "mpp": [3e15], "mrt": [4e14], "mrp": [5e14], "mtp": [6e14]}
    (source,) = source_files.build_all(of_table(metres | six))
    assert source.moment[2, 2] == 1e15 and source.moment[0, 2] == 5e14 and source.moment[1, 2] == -4e14
    # times are the origin time and shifts
    times = ["2020-01-01T00:00:02.5", "2020-01-01T01:00:00+01:00"]
    two = {"x": 0.0, "y": 0.0, "z": [-1.0, -2.0], "moment": 1.0, "time": times, "time_shift": [0, 1]}
    scenario = of_table(two)
    assert origin_time(scenario) == "2020-01-01T00:00:00"
    assert [s.wavelet.delay for s in source_files.build_all(scenario)] == [2.5, 1.0]


def test_a_simulation_takes_objects_as_well(scenario):
    simulation = craton.Simulation(scenario, device="cpu")
    table = pandas.DataFrame({"longitude": [12.5], "latitude": [47.25]}, index=["TOP"])
    changed = simulation.changed(event(3000.0), table, WAVELET)
    assert changed.source[0].wavelet.tau == 0.4 and changed.model == scenario.model
    assert source_files.build_all(changed)[0].xyz[2] == -3000 and receivers.build(changed).names == ["TOP"]
    refused(ScenarioError, "xarray Dataset cannot stand here", simulation.changed, source=crust())


def test_wrong_objects_and_tables_are_refused():
    place = {"x": [1], "y": [1], "z": [-1]}
    for columns, message in (
        ({"longitude": [1], "depth": [1], "moment": [1]}, "needs the columns longitude and latitude"),
        (place | {"depth": [1], "moment": [1]}, "exactly one of the columns"),
        (place | {"strike": [1]}, "it needs a mechanism"),
        (place | {"moment": [1], "time": ["noon"]}, ":2: time is 'noon', not like"),
        (place | {"x": ["here"], "moment": [1]}, ":2: x: "),
    ):
        refused(ScenarioError, message, lambda columns=columns: craton.plan(of_table(columns)))
    with pytest.raises(ScenarioError) as caught:
        Scenario(**tables(model=STATIONS, receivers=crust(), time={"duration": -1}))
    assert [problem.key for problem in caught.value.problems] == ["model", "receivers.0", "time.duration"]
    unwritable = tables(model=crust().assign_attrs(note={"a": object()}))
    refused(ScenarioError, "model.file: this Dataset cannot be written as .nc", Scenario, **unwritable)
