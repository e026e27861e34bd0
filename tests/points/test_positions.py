"""Positions of sources and receivers in both methods: by metres or on a map, in lines, grids, fibres and files of stations; records
in true east, north and up: the same event and stations in boxes whose y axis points elsewhere.
"""

import functools

import fdcase
import numpy as np
import obspy
import pytest
from common import edited, misfit
from fdcase import cases, ran
from obspy.core.inventory import Channel, Inventory, Network, Station
from obspy.geodetics import gps2dist_azimuth

import craton
from craton.errors import ScenarioError
from craton.io import seismograms
from craton.model.globe import prem
from craton.model.globe.chunk import chunk
from craton.report import traces
from craton.report.runs import Run, recorded_source
from craton.scenario import Scenario, dumps, loads
from craton.survey import receivers, shots, source_files
from craton.survey.checks import problems
from craton.survey.geography import Globe, Local

LOCAL = Local(12.5, 47.25, 30.0)
AT = {"longitude": 12.53, "latitude": 47.27}
MIDDLE = {"longitude": 12.5, "latitude": 47.25}
PLAIN = {"origin": [-12000, -12000, -11000], "size": [24000, 24000, 12000], "spacing": 500}
TENSOR = np.array([[1.0, 0.3, 0.2], [0.3, -2.0, 0.5], [0.2, 0.5, 1.0]]) * 1e15
WAVELET = {"kind": "gaussian", "tau": 0.3}
BLAST = {"kind": "explosion", "at": [0, 0, -3000], "moment": 1e15, "wavelet": WAVELET}
ROTATED = {  # a box of 24 km with topography of 300 m
    "domain": PLAIN | {"geographic": MIDDLE | {"azimuth": 30}},
    "model": {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700, "topography": 300},
    "time": {"duration": 1},
    "source": [BLAST],
    "receivers": [{"name": "A", "at": AT}],
}


def box(**tables):
    """Scenario of the rotated box."""
    return Scenario(**ROTATED | tables)


def at(longitude, latitude, z):
    """x, y, z of a place."""
    return [*map(float, LOCAL.xy(longitude, latitude)), z]


def fibre(along, gauge):
    """A table of receivers along a fibre."""
    return {"receivers": [{"name": "F", "das": {"along": along, "spacing": 500, "gauge": gauge}}]}


HALFWAY = [*(np.array(LOCAL.xy(12.53, 47.27)) / 2), 300]
GRID = {"longitude": [12.5, 12.53, 2], "latitude": [47.25, 47.27, 2], "z": 10}
ENTRIES = [  # an entry of receivers, its positions
    ({"at": AT}, [at(12.53, 47.27, 300)]),
    ({"at": AT | {"depth": "1 km"}}, [at(12.53, 47.27, -700)]),
    ({"at": AT | {"elevation": 120}}, [at(12.53, 47.27, 120)]),
    ({"line": {"from": AT, "to": MIDDLE, "count": 3}}, [at(12.53, 47.27, 300), HALFWAY, [0, 0, 300]]),
    ({"grid": GRID}, [at(x, y, 10) for y in (47.25, 47.27) for x in (12.5, 12.53)]),
]


def test_receivers_and_a_fibre_at_longitude_and_latitude():
    for entry, expected in ENTRIES:
        case = box(receivers=[{"name": "A"} | entry])
        assert receivers.build(case).xyz == pytest.approx(np.array(expected), abs=1e-3), entry
        assert loads(dumps(case)) == case
    fibres = receivers.build(box(**fibre([AT, MIDDLE | {"depth": 100}], 100))).fibres
    assert len(fibres) == int((np.hypot(*LOCAL.xy(12.53, 47.27)) - 100) // 500) + 1


FDSN = "#Network | Station | Location | Channel | Latitude | Longitude | Elevation | Depth | Azimuth\n"
EPOCHS = "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime\n"
TWO, ONE = ["GR.FUR", "BW.FUR"], ["FUR"]
FILES = [  # name, text, names of stations, elevation of the first
    ("a.csv", "network,station,longitude,latitude,depth\nGR,FUR,12.53,47.27,20\nBW,FUR,12.5,47.25,0\n", TWO, 280),
    ("b.csv", "name lon lat depth\nGR.FUR 12.53 47.27 20\nBW.FUR 12.5 47.25 0\n", TWO, 280),
    ("STATIONS", "FUR GR 47.27 12.53 565.0 20.0\nFUR BW 47.25 12.5 0.0 0.0\n", TWO, 280),
    ("c.txt", FDSN + 2 * "GR|FUR||HHZ|47.27|12.53|565.0|20.0|0.0\n" + "BW|FUR||HHZ|47.25|12.5|0|0|0\n", TWO, 280),
    ("d.txt", EPOCHS + "GR|FUR|47.27|12.53|565.0|Fürstenfeldbruck|2006-12-16T00:00:00|\n", ONE, 300),
    ("e.csv", "station;name;lon;lat;elevation\nFUR;Bruck;12.53;47.27;0.25 km\n", ONE, 250),
]
WRONG_FILES = [
    ("a.csv", "name,longitude,depth\nA,12.5,0\n", "it has no column latitude"),
    ("a.txt", "#Network|Station|Latitude|Longitude\nGR|FUR|x|12.5\n", ":2:.*latitude"),
    ("a.txt", "#Network|Station|Latitude|Longitude\n", "no stations"),
]


def test_files_of_stations_name_and_place_receivers_or_are_refused_with_their_line(tmp_path):
    """Also text of stations without channels, and elevations of a table."""

    def of(name, text):
        (tmp_path / name).write_text(text)
        return box(receivers=[{"file": str(tmp_path / name)}])

    for name, text, stations, z in FILES:
        built = receivers.build(of(name, text))
        assert built.names == stations, name
        expected = [at(12.53, 47.27, z), [0, 0, 300]][: len(stations)]
        assert built.xyz == pytest.approx(np.array(expected), abs=1e-3), name
    for name, text, message in WRONG_FILES:
        with pytest.raises(ScenarioError, match=message):
            craton.plan(of(name, text))


def test_mechanisms_at_longitude_and_latitude_are_in_true_axes():
    tensor = dict(zip(("xx", "yy", "zz", "xy", "xz", "yz"), TENSOR[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]))
    source = {"kind": "moment_tensor", "tensor": tensor, "wavelet": WAVELET}
    by_place, by_metres = (
        source_files.build_all(box(source=[source | {"at": place}]))[0]
        for place in (AT | {"depth": 3000}, {"x": 2000, "y": 1000, "depth": 3000})
    )
    assert by_place.xyz == pytest.approx(at(12.53, 47.27, -2700), abs=1e-3)
    assert by_metres.moment == pytest.approx(TENSOR)
    axes = LOCAL.axes(np.array([by_place.xyz]))[0]
    assert axes.T @ by_place.moment @ axes == pytest.approx(TENSOR, abs=1e3)
    assert abs(by_place.moment - TENSOR).max() > 1e14


def test_shots_along_longitude_and_latitude_keep_their_force_when_they_are_alone():
    line = {"from": AT | {"depth": 10}, "to": MIDDLE | {"depth": 10}, "count": 2}
    case = box(source=[{"kind": "force", "shots": line, "force": [1e9, 0, 0], "wavelet": WAVELET}])
    together = source_files.build_all(case)
    for shared, shot in zip(together, shots.split(case), strict=True):
        (alone,) = source_files.build_all(shot.scenario)
        assert shared.force == pytest.approx(alone.force, abs=1) and shared.xyz == pytest.approx(alone.xyz, abs=1e-6)
    assert together[0].force[1] == pytest.approx(1e9 * np.sin(np.radians(30)), rel=2e-3)


def test_a_plan_says_where_sources_and_receivers_are_on_earth_and_in_the_box():
    source = {"kind": "moment_tensor", "at": AT | {"depth": 3000}, "strike": 30, "dip": 60, "rake": 90}
    text = str(craton.plan(box(source=[source | {"magnitude": 4, "wavelet": WAVELET}])))
    x, y = map(float, LOCAL.xy(12.53, 47.27))
    assert f"({x:g}, {y:g}, -2700) m, longitude 12.53, latitude 47.27: double couple" in text
    assert "strike/dip/rake 30/60/90" in text
    assert f"longitude 12.53, latitude 47.27: ({x:.6g}, {y:.6g}, 300) m" in text


def receiver(**where):
    """A table of a single receiver or grid."""
    return {"receivers": [{"name": "A"} | where]}


PLACES = "domain.geographic gives"
WRONG = [  # changes of the box, words of the message
    ({"domain": PLAIN}, f"add geographic|{PLACES}"),
    ({"domain": PLAIN} | receiver(grid=GRID), PLACES),
    (receiver(grid={"longitude": [12.5, 12.53, 2], "z": 10}), 'missing: "latitude" is required'),
    (receiver(at=AT | {"depth": 0, "elevation": 0}), "depth and elevation are mutually exclusive"),
    (receiver(at=AT | {"longitude": 92}), r"receivers.0.at: .* no place within 20 deg"),
    ({"source": [BLAST | {"at": AT | {"latitude": 7}}]}, r"source.0.at: .* no place within 20 deg"),
    (fibre([AT, MIDDLE], 10000), "gauge length, 10000 m, is longer than the fibre"),
    (fibre([AT, [0, 0, 0]], 5), "longitude and latitude for all"),
    (receiver(at=[[1, -2, 0], [3]]), r"receivers.0.at.positions.1: \[3\] is not a list"),
    (receiver(at=[]), "is not a list of three numbers"),
    (receiver(at=[[1, -2, 0], AT]), "others have x and y"),
    (receiver(at=[[1, -2, 0], [3, 0, -90000]]), '"A2": z = -90000 m is outside'),
]


def test_places_that_the_box_cannot_hold_are_refused():
    for changes, words in WRONG:
        with pytest.raises(ScenarioError, match=words):
            craton.plan(box(**changes))


# --- many positions in an entry ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method, axes, fine", [("fd", (0, 2), {"spacing": 20}), ("sem", (0, 1, 2), {"element_size": 200})]
)
def test_many_positions_are_one_entry_for_each(method, axes, fine):
    """Of receivers one at each, of a source together, as entries one by one: bit for bit."""
    pairs = [(300, 200, -100), (500, 200, -250)], [(600, 150, -20), (700, 150, -30)], [(0, 0, -600), (1200, 400, 600)]
    places, stations, (origin, size) = ([[row[n] for n in axes] for row in pair] for pair in pairs)
    blast, domain = BLAST | {"wavelet": {"kind": "gaussian", "tau": 0.05}}, {"origin": origin, "size": size} | fine
    base = {"method": method, "domain": domain, "model": FLAT, "time": {"duration": 0.15}}
    deep = dict(zip("xy", stations[1][:-1])) | {"depth": 30}
    together = Scenario(**base, source=[blast | {"at": places}], receivers=[{"name": "R", "at": [stations[0], deep]}])
    sources = [blast | {"at": place, "name": f"source 1.{n}"} for n, place in enumerate(places, 1)]
    entries = [{"name": f"R{n}", "at": place} for n, place in enumerate(stations, 1)]
    apart = Scenario(**base, source=sources, receivers=entries)
    assert loads(dumps(together)) == together
    assert [s.name for s in source_files.build_all(together)] == ["source 1.1", "source 1.2"]
    joint, single = map(ran, (together, apart))
    assert list(joint.receiver.values) == ["R1", "R2"] and float(abs(joint.velocity).max()) > 0
    assert np.array_equal(joint.velocity.values, single.velocity.values)


# --- stations: epochs, sensors, repeated ones, and those outside the domain ----------------------------------------------

MAP = Local(12.5, 47.25)
ORIGIN = "2020-05-05T00:00:00"
FLAT = {"kind": "homogeneous", "vp": 4000, "vs": 2300, "rho": 2500}
HILL = FLAT | {"topography": {"x": [-3e3, 3e3], "y": [-3e3, 3e3], "z": [[300, 500], [400, 600]]}}
SMALL = {  # a box of 6 km on a map
    "domain": {"origin": [-3000, -3000, -6000], "size": [6000, 6000, 6000], "geographic": MIDDLE, "spacing": 300},
    "model": FLAT,
    "time": {"duration": 0.2},
    "source": [BLAST | {"at": [0, 0, -1500], "wavelet": {"kind": "gaussian", "tau": 0.4, "delay": 0}}],
    "output": {"waveforms": ["velocity", "displacement", "strain"]},
    "boundaries": {"cpml": {"thickness": 4}},
}


def scenario(*files, outside="refuse", **changes):
    """Stations of files in the small box."""
    entries = [{"file": str(file), "outside": outside} for file in files]
    return Scenario(**edited(SMALL, receivers=entries, **changes))


def channel(code, location, latitude=47.26, depth=0.0, longitude=12.51, end=None):
    """A channel of an inventory."""
    return Channel(code, location, latitude, longitude, 500, depth, azimuth=0, dip=0, end_date=end)


def station(code, longitude, latitude, *channels, begin=None, end=None):
    """A station of an inventory; begin and end are years."""
    begin, end = (None if year is None else obspy.UTCDateTime(year, 1, 1) for year in (begin, end))
    return Station(code, latitude, longitude, 500, channels=[*channels], start_date=begin, end_date=end)


def written(path, *stations):
    """A file of stations: StationXML, or a text."""
    if isinstance(stations[0], str):
        path.write_text(stations[0])
    else:
        Inventory([Network("GE", [*stations])]).write(str(path), "STATIONXML")
    return path


MOVED = {  # in 2015
    "xml": [station("MOVED", 12.48, 47.24, begin=2000, end=2015), station("MOVED", 12.51, 47.26, begin=2015)],
    "text": [
        EPOCHS + "GE|MOVED|47.24|12.48|600|Alm|2000-01-01T00:00:00|2015-01-01T00:00:00\n"
        "GE|MOVED|47.26|12.51|650|Alm|2015-01-01T00:00:00.000000Z|\n"
    ],
}
CMT = (
    "PDE 2010 6 9 0 33 16.4 47.25 12.5 2.0 4.9 4.8 ALPS\nevent name: a\ntime shift: 0\nhalf duration: 1\n"
    "latitude: 47.25\nlongitude: 12.5\ndepth: 2\nMrr: 1e22\nMtt: -2e22\nMpp: 1e22\nMrt: 1.5e22\nMrp: -0.7e22\nMtp: 2.2e22\n"
)


@pytest.mark.parametrize("form", MOVED)
def test_a_station_stands_where_it_stood_at_the_origin_time(form, tmp_path):
    """That of the scenario, or of the event of a CMTSOLUTION."""
    moved, before, after = written(tmp_path / "s", *MOVED[form]), (12.48, 47.24), (12.51, 47.26)
    (tmp_path / "CMT").write_text(CMT)
    event = {"source": [{"kind": "cmtsolution", "file": str(tmp_path / "CMT")}]}
    for changes, place, words in (
        ({"time__origin": "2010-05-05T00:00:00"}, before, ""),
        ({"time__origin": ORIGIN}, after, ""),
        ({}, after, "the last epoch is taken: there is no origin time"),
        ({"time__origin": "1999-05-05T00:00:00"}, before, "the nearest epoch is taken"),
        (event, before, ""),
    ):
        built = receivers.build(scenario(moved, **changes))
        assert built.names == ["MOVED"]
        assert np.allclose(built.xyz[0], [*MAP.xy(*place), 0]), changes
        assert len(built.warnings) == bool(words)
        assert words in "".join(built.warnings) and ("GE.MOVED" in "".join(built.warnings)) == bool(words)


DEEP = [channel("HHZ", "00"), channel("HHN", "00"), channel("HHZ", "10", depth=200), channel("LDO", "30", 47.261)]
SURFACE = station("SURF", 12.49, 47.24, channel("HHZ", "", 47.24, longitude=12.49))
BOREHOLE = {  # a station with a seismometer at the ground and one 200 m below, and a barometer
    "xml": [station("KIK01", 12.51, 47.26, *DEEP), SURFACE],
    "text": [
        "#Network|Station|Location|Channel|Latitude|Longitude|Elevation|Depth|StartTime|EndTime\n"
        "GE|KIK01|00|HHZ|47.26|12.51|500|0||\nGE|KIK01|00|HHN|47.26|12.51|500|0||\nGE|KIK01|10|HHZ|47.26|12.51|500|200||\n"
        "GE|KIK01|30|LDO|47.261|12.51|500|0||\nGE|SURF|--|HHZ|47.24|12.49|500|0||\n"
    ],
}


@pytest.mark.parametrize("form", BOREHOLE)
def test_every_sensor_is_a_receiver(form, tmp_path):
    built = receivers.build(scenario(written(tmp_path / "s", *BOREHOLE[form])))
    assert built.names == ["KIK01.00", "KIK01.10", "SURF"] and built.codes == ["KIK01", "KIK01", "SURF"]
    assert built.locations == ["00", "10", ""] and not built.warnings
    assert np.allclose(built.xyz[:, 2], [0, -200, 0]) and np.allclose(built.xyz[0, :2], built.xyz[1, :2])


def test_records_of_two_sensors_have_codes_of_their_own(tmp_path):
    """Every trace has an id of its own, which the StationXML has at the depth of the sensor."""
    borehole = written(tmp_path / "s", *BOREHOLE["xml"])
    result = craton.run(scenario(borehole), out=tmp_path / "out", progress=False)
    stream = obspy.read(str(tmp_path / "out" / "waveforms.mseed"))
    inventory = obspy.read_inventory(str(tmp_path / "out" / "stations.xml"))
    ids = [trace.id for trace in stream]
    assert len(ids) == 3 * (3 + 3 + 6) == len(set(ids))
    for location, depth in (("00", 0), ("10", 200), ("DI", 0), ("D2", 200), ("ZZ", 0), ("Z2", 200)):
        (trace,) = stream.select(station="KIK01", location=location, channel="??Z")
        assert inventory.get_coordinates(trace.id, trace.stats.starttime)["local_depth"] == depth
    assert [s.code for n in inventory for s in n] == ["KIK01", "SURF"]
    assert stream.select(id="GE.SURF..*Z") and stream.select(id="GE.SURF.DI.*Z")
    seismograms.write_sac(result.dataset, tmp_path / "sac")
    depths = {t.id: t.stats.sac.stdp for t in obspy.read(str(tmp_path / "sac" / "*.sac"))}
    assert set(depths) == set(ids)
    assert depths[next(i for i in ids if "KIK01.D2" in i)] == 200


def test_sensors_of_other_times_and_of_one_place_are_told(tmp_path):
    ended = channel("HHZ", "10", depth=100, end=obspy.UTCDateTime(2005, 1, 1))
    sensors = [channel("HHZ", "00"), channel("HNZ", "20"), ended, channel("BHZ", "00", depth=5)]
    inventory = written(tmp_path / "s.xml", station("A", 12.51, 47.26, *sensors))
    built = receivers.build(scenario(inventory, time__origin=ORIGIN))
    assert built.names == ["A"] and built.xyz[0, 2] == 0
    words = "\n".join(built.warnings)
    assert "left out: GE.A.10" in words and "GE.A (00, 20) (one receiver for them)" in words
    assert "channels of one location at different places: GE.A" in words


REPEATED = [  # CSV, FDSN's text, STATIONS
    "name,network,longitude,latitude,depth\nB,GE,12.49,47.24,0\n" + 2 * "A,GE,12.51,47.26,0\n",
    EPOCHS + "GE|B|47.24|12.49|0|b||\n" + 2 * "GE|A|47.26|12.51|0|a||\n",
    "B GE 47.24 12.49 0 0\n" + 2 * "A GE 47.26 12.51 0 0\n",
]


def test_equal_stations_are_one_with_a_word(tmp_path):
    """Of one file, and of two."""
    for text in REPEATED:
        built = receivers.build(scenario(written(tmp_path / "s", text), time__origin=ORIGIN))
        assert built.names == ["B", "A"] and np.allclose(built.xyz[1], [*MAP.xy(12.51, 47.26), 0])
        (word,) = built.warnings
        assert "more than once at the same place: GE.A" in word
    more = written(tmp_path / "t", station("A", 12.51, 47.26), station("C", 12.5, 47.25))
    built = receivers.build(scenario(tmp_path / "s", more, time__origin=ORIGIN))
    assert built.names == ["B", "A", "C"] and len(built.warnings) == 2


INSIDE = "IN XX 47.26 12.51 0 0\n"
OUTSIDE = {  # stations: places, words of the refusal
    "NORTH": ("47.40 12.51 0 0", "y = 16676"),
    "WEST": ("47.25 12.3 0 0", "x = -15140"),
    "SOUTH": ("47.1 12.5 0 0", "y = -16676"),
    "DEEP": ("47.25 12.5 0 9000", "z = -"),
    "AFAR": ("-30 100 0 0", "its place is more than 20 deg from the reference"),
}
AROUND_BOX = "".join(f"{name} XX {place}\n" for name, (place, _) in OUTSIDE.items())


@pytest.mark.parametrize("method, model", cases([("fd", HILL), ("sem", FLAT)], ("fd", FLAT), ("sem", HILL)))
def test_stations_outside_are_named_at_once_or_skipped(method, model, tmp_path):
    """Each by the coordinate that is outside, also where the ground is not known there."""
    changes = {"model": model, "domain__size": [6000, 6000, 6000 if model is FLAT else 7500]}
    if method == "sem":
        changes |= {"method": "sem", "domain__spacing": None, "domain__element_size": 1500, "boundaries": {}}
    stations = written(tmp_path / "s", INSIDE + AROUND_BOX)
    with pytest.raises(ScenarioError) as raised:
        craton.plan(scenario(stations, **changes))
    (problem,) = raised.value.problems
    assert all(f'"{name}": {words}' in problem.message for name, (_, words) in OUTSIDE.items()), problem.message
    assert '"IN"' not in problem.message and "nan" not in problem.message
    assert 'outside = "skip"' in problem.remedy
    planned = craton.plan(scenario(stations, outside="skip", **changes))
    assert list(planned.receivers.names) == ["IN"]
    rows = [text for key, text in planned.notes["Receivers"] if key == "skipped"]
    assert [row.partition(":")[0] for row in rows] == list(OUTSIDE)


def test_nothing_is_recorded_where_all_stations_are_outside_and_none_in_the_air(tmp_path):
    nowhere = written(tmp_path / "s", AROUND_BOX)
    with pytest.raises(ScenarioError, match="all 5 receivers of .* are outside"):
        craton.plan(scenario(nowhere, outside="skip"))
    high = written(tmp_path / "s.csv", "name,x,y,z\nA,0,0,0\nB,0,0,1400\nC,100,0,10\n")
    built = receivers.build(scenario(high, outside="skip", model=HILL, domain__size=[6000, 6000, 7500]))
    assert built.names == ["A", "C"] and built.skipped[0].startswith("B: z = 1400 m is in the air")


def test_stations_outside_of_a_chunk_are_skipped_and_elevations_refused(tmp_path):
    """Positions of a chunk already count from its ground."""
    there = Globe(chunk(prem.prem(), (12.5, 47.25), (20, 16), 1500e3, elements=(8, 8), growth=()))
    written(tmp_path / "s", INSIDE + AROUND_BOX.replace("47.25 12.5 0 9000", "47 12 0 2e6"))
    written(tmp_path / "high.csv", "name,longitude,latitude,elevation\nA,12.5,47.25,100\n")

    def case(name, outside):
        domain = {"chunk": MIDDLE | {"width": [20, 16], "elements": [8, 8], "bottom": 1500e3}}
        blast = [BLAST | {"at": {"longitude": 12, "latitude": 47, "depth": 10e3}}]
        earth = {"method": "sem", "domain": domain, "model": {"kind": "prem"}, "source": blast, "boundaries": {}}
        s = scenario(tmp_path / name, outside=outside, time__duration=100, **earth)
        return s.model_copy(update={"domain": s.domain.on(there)})

    (problem,) = problems(case("s", "refuse"))
    assert '"DEEP": ' in problem.message and '"AFAR": ' in problem.message
    built = receivers.build(case("s", "skip"))
    assert not problems(case("s", "skip")) and built.names == ["IN", "NORTH", "WEST", "SOUTH"]
    assert len(built.skipped) == 2
    (problem,) = problems(case("high.csv", "skip"))
    assert "in a chunk of the Earth positions count from the ground" in problem.message


# --- records in true east, north and up ---------------------------------------------------------------------------------------

AROUND = {"A": (12.515, 47.258), "B": (12.483, 47.240), "C": (12.505, 47.235)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """By azimuth of the box: datasets of an event and stations of files."""
    folder = tmp_path_factory.mktemp("north")
    cmt = written(folder / "CMTSOLUTION", CMT)
    stations = written(folder / "s", "".join(f"{n} XX {lat} {lon} 0 100\n" for n, (lon, lat) in AROUND.items()))
    event = {"kind": "cmtsolution", "file": str(cmt), "wavelet": {"kind": "gaussian", "tau": 0.4, "delay": 0}}
    changes = {"title": "box", "source": [event], "time": {"duration": 2.2, "start": -1.1}, "domain__spacing": 200}
    changes |= {"output": {"waveforms": ["velocity", "strain_rate"]}, "run": {"device": "cpu", "threads": 1}}

    @functools.cache
    def of(azimuth):
        turned = scenario(stations, **changes, domain__geographic=MIDDLE | {"azimuth": azimuth})
        return ran(turned)

    return of


@pytest.mark.parametrize("azimuth, limit", [(30, 0.03), (90, 1e-3)])
def test_components_are_true_east_north_up(azimuth, limit, runs):
    """By 90 degrees the grid falls on itself; by 30 positions lie elsewhere between its points."""
    for quantity in ("velocity", "strain_rate")[: 1 + (azimuth == 90)]:
        expected, values = runs(0)[quantity].values, runs(azimuth)[quantity].values
        assert misfit(values, expected) < limit, quantity
        assert misfit(values[:, ::-1], expected) > 0.5  # the test sees components that are exchanged


def test_places_are_those_of_the_files(runs):
    for name, place in AROUND.items():
        for dataset in (runs(0), runs(90)):
            seen = dataset.sel(receiver=name)
            assert (float(seen.longitude), float(seen.latitude)) == pytest.approx(place, abs=1e-9)
            assert float(seen.elevation) == -100
            assert dataset.attrs["source_longitude"] == pytest.approx(12.5, abs=1e-9)
            assert dataset.attrs["source_z"] == pytest.approx(-2000)
        distance, *azimuths = gps2dist_azimuth(47.25, 12.5, *place[::-1])
        assert float(seen.distance) == pytest.approx(distance, abs=0.01) and seen.distance.attrs["units"] == "m"
        assert (float(seen.azimuth), float(seen.back_azimuth)) == pytest.approx(tuple(azimuths), abs=1e-4)


def test_the_map_is_inverted_also_over_the_date_line():
    x, y = np.random.default_rng(4).uniform(-3e5, 3e5, (2, 50))
    for local in (Local(12.5, 47.25, 37.0), Local(179.5, -16.0)):
        assert np.allclose(local.xy(*local.degrees(x, y)), (x, y), atol=1e-6)


@pytest.mark.parametrize("waves, force, alone", [("P-SV", [1e9, 1e9], "E"), ("SH", [0, 1e9, 0], "N")])
def test_motion_of_a_plane_is_turned(waves, force, alone):
    """A profile at an azimuth moves east and north; one from west to east has the components of its plane alone."""
    domain, push = {"spacing": 50, "waves": waves}, fdcase.force([0, -500], force, fdcase.ricker(5))
    at, origin = [[800, 0]], [-2000, -2000]
    boxes = (domain | {"geographic": MIDDLE | {"azimuth": azimuth}} for azimuth in (0, 60))
    flat, turned = (ran(fdcase.box([4000, 2000], box, FLAT, push, 0.8, at, origin)).velocity for box in boxes)
    motion = flat.sel(component=alone).values
    assert list(flat.component.values) == (["E", "Z"] if waves == "P-SV" else ["N"])
    assert list(turned.component.values) == (["E", "N", "Z"] if waves == "P-SV" else ["E", "N"])
    c, s = (0.5, -np.sqrt(0.75)) if waves == "P-SV" else (np.sqrt(0.75), 0.5)
    for component, share in (("E", c), ("N", s)):  # the meridian convergence is small here
        assert np.allclose(turned.sel(component=component), share * motion, atol=1e-3 * np.abs(motion).max())


def test_sections_count_from_a_source_that_stands_in_a_file(runs, tmp_path):
    """Distances of the record section are those from the event, also when its file is gone."""
    dataset = runs(90).isel(tensor=0, drop=True)
    assert recorded_source(dataset) == [tuple(dataset.attrs[f"source_{axis}"] for axis in "xyz")]
    run = Run(tmp_path)  # no scenario there
    run.every_shot = dataset
    assert run.title == "box" and len(run.sources) == 1
    distance, unit = traces.distances(dataset.velocity, run.origin)
    assert unit == "km" and np.allclose(1000 * distance, dataset.distance, rtol=1e-3)
    assert not np.allclose(traces.distances(dataset.velocity)[0], distance)
