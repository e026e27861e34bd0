"""Positions of sources and receivers in both methods: by metres or on a map, in lines, grids, fibres and files of stations."""

import re
from types import SimpleNamespace

import numpy as np
import obspy
import pytest
from common import refused
from obspy.core.inventory import Channel, Inventory, Network, Station

import craton
from craton.errors import ScenarioError
from craton.io import sac
from craton.model.globe import prem
from craton.model.globe.chunk import chunk
from craton.scenario import Scenario, dumps, loads
from craton.survey import receivers, shots, source_files
from craton.survey.checks import problems
from craton.survey.geography import Local
from craton.survey.globe import Globe

LOCAL = Local(12.5, 47.25, 30.0)
AT = {"longitude": 12.53, "latitude": 47.27}
MIDDLE = {"longitude": 12.5, "latitude": 47.25}
PLAIN = {"origin": [-12000, -12000, -11000], "size": [24000, 24000, 12000], "spacing": 500}
TENSOR = np.array([[1.0, 0.3, 0.2], [0.3, -2.0, 0.5], [0.2, 0.5, 1.0]]) * 1e15
WAVELET = {"kind": "gaussian", "tau": 0.3}
BLAST = {"kind": "explosion", "at": [0, 0, -3000], "moment": 1e15, "wavelet": WAVELET}


def box(**tables):
    """Scenario of a rotated box of 24 km with topography of 300 m."""
    values = {
        "domain": PLAIN | {"geographic": MIDDLE | {"azimuth": 30}},
        "model": {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700, "topography": 300},
        "time": {"duration": 1},
        "source": [BLAST],
        "receivers": [{"name": "A", "at": AT}],
    }
    return Scenario(**(values | tables))


def at(longitude, latitude, z):
    """x, y, z of a place."""
    return [*map(float, LOCAL.xy(longitude, latitude)), z]


HALFWAY = [*(np.array(LOCAL.xy(12.53, 47.27)) / 2), 300]
GRID = {"longitude": [12.5, 12.53, 2], "latitude": [47.25, 47.27, 2], "z": 10}
ENTRIES = [  # an entry of receivers, its positions
    ({"at": AT}, [at(12.53, 47.27, 300)]),
    ({"at": AT | {"depth": "1 km"}}, [at(12.53, 47.27, -700)]),
    ({"at": AT | {"elevation": 120}}, [at(12.53, 47.27, 120)]),
    ({"line": {"from": AT, "to": MIDDLE, "count": 3}}, [at(12.53, 47.27, 300), HALFWAY, [0, 0, 300]]),
    ({"grid": GRID}, [at(x, y, 10) for y in (47.25, 47.27) for x in (12.5, 12.53)]),
]


def test_receivers_at_longitude_and_latitude():
    for entry, expected in ENTRIES:
        scenario = box(receivers=[{"name": "A"} | entry])
        assert receivers.build(scenario).xyz == pytest.approx(np.array(expected), abs=1e-3), entry
        assert loads(dumps(scenario)) == scenario


FDSN = "#Network | Station | Location | Channel | Latitude | Longitude | Elevation | Depth | Azimuth\n"
FILES = {
    "comma.csv": "network,station,longitude,latitude,depth\nGR,FUR,12.53,47.27,20\nBW,FUR,12.5,47.25,0\n",
    "blanks.csv": "name lon lat depth\nGR.FUR 12.53 47.27 20\nBW.FUR 12.5 47.25 0\n",
    "STATIONS": "FUR GR 47.27 12.53 565.0 20.0\nFUR BW 47.25 12.5 0.0 0.0\n",
    "fdsn.txt": FDSN + "GR|FUR||HHZ|47.27|12.53|565.0|20.0|0.0\nGR|FUR||HHN|47.27|12.53|565.0|20.0|0.0\nBW|FUR||HHZ|47.25|12.5|0|0|0\n",
}  # fmt: skip
EPOCHS = "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime\n"
ONE = {  # of a single station: its elevation
    "stations.txt": (300, EPOCHS + "GR|FUR|47.27|12.53|565.0|Fürstenfeldbruck|2006-12-16T00:00:00|\n"),
    "elevation.csv": (250, "station;name;lon;lat;elevation\nFUR;Bruck;12.53;47.27;0.25 km\n"),
}
HEADING = "#Network|Station|Latitude|Longitude\n"
WRONG_FILES = [
    ("a.csv", "name,longitude,depth\nA,12.5,0\n", "it has no column latitude"),
    ("a.csv", "name,longitude,latitude\nA,12.5,north\n", 'a.csv:2: "north" is not a number'),
    ("a.txt", HEADING + "GR|FUR|47.25\n", "3 columns under a heading of 4"),
    ("a.txt", HEADING + "GR|FUR|x|12.5\n", ":2:.*latitude"),
    ("a.txt", HEADING, "no stations"),
]


def test_files_of_stations_name_and_place_receivers_or_are_refused_with_their_line(tmp_path):
    """Text of stations without channels, and elevations of a table."""

    def of(name, text):
        (tmp_path / name).write_text(text)
        return box(receivers=[{"file": str(tmp_path / name)}])

    for name, text in FILES.items():
        built = receivers.build(of(name, text))
        assert built.names == ["GR.FUR", "BW.FUR"], name
        assert built.xyz == pytest.approx(np.array([at(12.53, 47.27, 280), [0, 0, 300]]), abs=1e-3), name
    for name, (z, text) in ONE.items():
        built = receivers.build(of(name, text))
        assert built.names == ["FUR"], name
        assert built.xyz == pytest.approx(np.array([at(12.53, 47.27, z)]), abs=1e-3), name
    for name, text, message in WRONG_FILES:
        with pytest.raises(ScenarioError, match=message):
            craton.plan(of(name, text))


def test_a_fibre_along_longitude_and_latitude():
    along = [AT, MIDDLE | {"depth": 100}]
    fibres = receivers.build(
        box(receivers=[{"name": "F", "das": {"along": along, "spacing": 500, "gauge": 100}}])
    ).fibres
    assert len(fibres) == int((np.hypot(*LOCAL.xy(12.53, 47.27)) - 100) // 500) + 1


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
    scenario = box(source=[{"kind": "force", "shots": line, "force": [1e9, 0, 0], "wavelet": WAVELET}])
    together = source_files.build_all(scenario)
    alone = [source_files.build_all(shot.scenario)[0] for shot in shots.split(scenario)]
    for one, other in zip(together, alone, strict=True):
        assert one.force == pytest.approx(other.force, abs=1)
        assert one.xyz == pytest.approx(other.xyz, abs=1e-6)
    assert together[0].force[1] == pytest.approx(1e9 * np.sin(np.radians(30)), rel=2e-3)


def test_a_plan_says_where_sources_and_receivers_are_on_earth_and_in_the_box():
    source = {"kind": "moment_tensor", "at": AT | {"depth": 3000}, "strike": 30, "dip": 60, "rake": 90}
    text = str(craton.plan(box(source=[source | {"magnitude": 4, "wavelet": WAVELET}])))
    x, y = map(float, LOCAL.xy(12.53, 47.27))
    assert f"({x:g}, {y:g}, -2700) m, longitude 12.53, latitude 47.27: double couple" in text
    assert "strike/dip/rake 30/60/90" in text
    assert f"longitude 12.53, latitude 47.27: ({x:.6g}, {y:.6g}, 300) m" in text


def fibre(along, gauge):
    """A table of receivers along a fibre."""
    return {"receivers": [{"name": "F", "das": {"along": along, "spacing": 500, "gauge": gauge}}]}


def one(**where):
    """A table of a single receiver or grid."""
    return {"receivers": [{"name": "A"} | where]}


PLACES = "domain.geographic gives"
WRONG = [  # changes of the box, words of the message
    ({"domain": PLAIN}, f"add geographic|{PLACES}"),
    ({"domain": PLAIN} | one(grid=GRID), PLACES),
    (one(grid={"longitude": [12.5, 12.53, 2], "z": 10}), 'missing: "latitude" is required'),
    (one(at=AT | {"depth": 0, "elevation": 0}), "depth and elevation are mutually exclusive"),
    (one(at=AT | {"longitude": 92}), r"receivers.0.at: .* no place within 20 deg"),
    (one(at=AT | {"longitude": 13}), "x = .* is outside the domain"),
    ({"source": [BLAST | {"at": AT | {"latitude": 7}}]}, r"source.0.at: .* no place within 20 deg"),
    (fibre([AT, MIDDLE], 10000), "gauge length, 10000 m, is longer than the fibre"),
    (fibre([AT, [0, 0, 0]], 5), "longitude and latitude for all"),
]


def test_places_that_the_box_cannot_hold_are_refused():
    for changes, words in WRONG:
        with pytest.raises(ScenarioError, match=words):
            craton.plan(box(**changes))


def test_elevations_of_a_file_are_refused_in_a_chunk_of_the_earth(tmp_path):
    class Ground:
        deep = False  # positions of a chunk already count from its ground

        def off_map(self, longitude, latitude):
            return np.zeros(len(longitude), bool)

        def xyz(self, longitude, latitude, depth):
            return np.stack([longitude, latitude, -depth], axis=-1)

    there = SimpleNamespace(globe=Ground())
    (tmp_path / "a.csv").write_text("name,longitude,latitude,elevation\nA,12.5,47.25,100\n")
    entry = SimpleNamespace(file=str(tmp_path / "a.csv"), coordinates="geographic")
    refused(ValueError, "in a chunk of the Earth positions count from the ground", receivers.read_file, entry, there)
    (tmp_path / "a.csv").write_text("name,longitude,latitude,depth\nA,12.5,47.25,100\n")
    names, xyz, deep, _ = receivers.read_file(entry, there)
    assert names == ["A"] and xyz.tolist() == [[12.5, 47.25, -100]] and not deep


# --- many positions in an entry ---------------------------------------------------------------------------------------------

MANY = {
    "fd": ({"origin": [0, -600], "size": [1200, 600], "spacing": 20}, [0, 2]),
    "sem": ({"origin": [0, 0, -600], "size": [1200, 400, 600], "element_size": 200}, [0, 1, 2]),
}


def surveyed(method, source, stations):
    """A scenario of explosions, in the plane by differences, in space by elements."""
    blast = {"kind": "explosion", "moment": 1e9, "wavelet": {"kind": "gaussian", "tau": 0.05}}
    return Scenario(
        method=method,
        domain=MANY[method][0],
        model={"kind": "homogeneous", "vp": 1500, "vs": 800, "rho": 1800},
        time={"duration": 0.3},
        source=[blast | entry for entry in source],
        receivers=stations,
    )


@pytest.mark.parametrize("method", MANY)
def test_many_positions_are_one_entry_for_each(method):
    """Of receivers one at each, of a source together, as entries one by one: bit for bit."""
    pick = MANY[method][1]
    sources = [[[x, 200, z][n] for n in pick] for x, z in ((300, -100), (500, -250))]
    stations = np.array([[[x, 150, z][n] for n in pick] for x, z in ((600, -20), (700, -30))])
    together = surveyed(method, [{"at": sources}], [{"name": "R", "at": stations}])
    apart = surveyed(
        method,
        [{"at": where, "name": f"source 1.{n}"} for n, where in enumerate(sources, 1)],
        [{"name": f"R{n}", "at": where} for n, where in enumerate(stations.tolist(), 1)],
    )
    assert loads(dumps(together)) == together
    one, other = (craton.run(s, progress=False).dataset for s in (together, apart))
    assert list(one.receiver.values) == ["R1", "R2"] and float(abs(one.velocity).max()) > 0
    assert np.array_equal(one.velocity.values, other.velocity.values)


def test_shots_may_be_a_list_of_positions():
    """Each is the run of its source alone."""
    places, stations = (
        [[300, -100], [500, -250], [420, -50]],
        [{"name": "R", "at": [[600, -20], {"x": 700, "depth": 30}]}],
    )
    together = craton.run(surveyed("fd", [{"shots": places}], stations), progress=False).dataset
    assert list(together.shot.values) == ["source 1.1", "source 1.2", "source 1.3"]
    alone = craton.run(surveyed("fd", [{"at": places[1]}], stations), progress=False).dataset
    assert np.array_equal(together.velocity[1].values, alone.velocity.values)


def test_many_positions_that_are_wrong_are_named():
    for places, words in (
        ([[1, -2], [3]], r"receivers.0.at.positions.1: \[3\] is not a list"),
        ([], "is not a list of three numbers"),
        ([[1, -2], {"longitude": 3, "latitude": 3}], "others have x and y"),
        ([[1, -2], [3, -9000]], '"R2": z = -9000 m is outside'),
    ):
        with pytest.raises(ScenarioError, match=words):
            craton.plan(surveyed("fd", [{"at": [300, -100]}], [{"name": "R", "at": places}]))


# --- stations: epochs, sensors, repeated ones, and those outside the domain ----------------------------------------------

MAP = Local(12.5, 47.25)
ORIGIN = "2020-05-05T00:00:00"
FLAT = {"kind": "homogeneous", "vp": 4000, "vs": 2300, "rho": 2500}
HILL = FLAT | {"topography": {"x": [-3e3, 3e3], "y": [-3e3, 3e3], "z": [[300, 500], [400, 600]]}}


def scenario(*files, model=FLAT, method="fd", origin=None, source=None, **entry):
    """Stations of files in a box of 6 km on a map."""
    size, top = {"spacing": 300} if method == "fd" else {"element_size": 1500}, 1500 if model is HILL else 0
    tables = {"boundaries": {"cpml": {"thickness": 3}}} if method == "fd" else {}
    blast = BLAST | {"at": [0, 0, -1500], "wavelet": {"kind": "gaussian", "tau": 0.4, "delay": 0}}
    return Scenario(
        method=method,
        domain={"origin": [-3000, -3000, -6000], "size": [6000, 6000, 6000 + top], "geographic": MIDDLE} | size,
        model=model,
        time={"duration": 0.2} | ({} if origin is None else {"origin": origin}),
        source=[source or blast],
        receivers=[{"file": str(file)} | entry for file in files],
        output={"waveforms": ["velocity", "displacement", "strain"]},
        **tables,
    )


def channel(code, location, latitude=47.26, depth=0.0, longitude=12.51, end=None):
    """A channel of an inventory."""
    return Channel(code, location, latitude, longitude, 500, depth, azimuth=0, dip=0, end_date=end)


def station(code, longitude, latitude, *channels, begin=None, end=None):
    """A station of an inventory; begin and end are years."""
    dates = (None if year is None else obspy.UTCDateTime(year, 1, 1) for year in (begin, end))
    begin, end = dates
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
    "latitude: 47.25\nlongitude: 12.5\ndepth: 1.5\nMrr: 1e22\nMtt: -1e22\nMpp: 0e22\nMrt: 0e22\nMrp: 0e22\nMtp: 0e22\n"
)


@pytest.mark.parametrize("form", MOVED)
def test_a_station_stands_where_it_stood_at_the_origin_time(form, tmp_path):
    """That of the scenario, or of the event of a CMTSOLUTION."""
    moved, before, after = written(tmp_path / "s", *MOVED[form]), (12.48, 47.24), (12.51, 47.26)
    (tmp_path / "CMT").write_text(CMT)
    event = {"kind": "cmtsolution", "file": str(tmp_path / "CMT")}
    for origin, source, place, words in (
        ("2010-05-05T00:00:00", None, before, ""),
        (ORIGIN, None, after, ""),
        (None, None, after, "the last epoch is taken: there is no origin time"),
        ("1999-05-05T00:00:00", None, before, "the nearest epoch is taken"),
        (None, event, before, ""),
    ):
        found = receivers.build(scenario(moved, origin=origin, source=source))
        assert found.names == ["MOVED"]
        assert np.allclose(found.xyz[0], [*MAP.xy(*place), 0]), (origin, source)
        assert len(found.warnings) == bool(words)
        assert words in "".join(found.warnings) and ("GE.MOVED" in "".join(found.warnings)) == bool(words)


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


@pytest.mark.parametrize("method, form", [("fd", "xml"), ("sem", "text")])
def test_every_sensor_is_a_receiver(method, form, tmp_path):
    found = craton.plan(scenario(written(tmp_path / "s", *BOREHOLE[form]), method=method)).receivers
    assert list(found.names) == ["KIK01.00", "KIK01.10", "SURF"]
    assert list(found.codes) == ["KIK01", "KIK01", "SURF"]
    assert list(found.locations) == ["00", "10", ""]
    assert np.allclose(found.xyz[:, 2], [0, -200, 0]) and np.allclose(found.xyz[0, :2], found.xyz[1, :2])
    assert not found.warnings


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
    sac.write(result.dataset, tmp_path / "sac")
    depths = {t.id: t.stats.sac.stdp for t in obspy.read(str(tmp_path / "sac" / "*.sac"))}
    assert set(depths) == set(ids)
    assert depths[next(i for i in ids if "KIK01.D2" in i)] == 200


def test_sensors_of_other_times_and_of_one_place_are_told(tmp_path):
    ended = channel("HHZ", "10", depth=100, end=obspy.UTCDateTime(2005, 1, 1))
    sensors = [channel("HHZ", "00"), channel("HNZ", "20"), ended, channel("BHZ", "00", depth=5)]
    inventory = written(tmp_path / "s.xml", station("A", 12.51, 47.26, *sensors))
    found = receivers.build(scenario(inventory, origin=ORIGIN))
    assert found.names == ["A"] and found.xyz[0, 2] == 0
    words = "\n".join(found.warnings)
    assert "left out: GE.A.10" in words and "GE.A (00, 20) (one receiver for them)" in words
    assert "channels of one location at different places: GE.A" in words


REPEATED = [  # CSV, STATIONS, FDSN's text
    "name,network,longitude,latitude,depth\nB,GE,12.49,47.24,0\n" + 2 * "A,GE,12.51,47.26,0\n",
    EPOCHS + "GE|B|47.24|12.49|0|b||\n" + 2 * "GE|A|47.26|12.51|0|a||\n",
    "B GE 47.24 12.49 0 0\n" + 2 * "A GE 47.26 12.51 0 0\n",
]


def test_equal_stations_are_one_with_a_word(tmp_path):
    """Of one file, and of two; one name at two places is refused."""
    for text in REPEATED:
        (tmp_path / "s").write_text(text)
        found = receivers.build(scenario(tmp_path / "s", origin=ORIGIN))
        assert found.names == ["B", "A"]
        assert np.allclose(found.xyz[1], [*MAP.xy(12.51, 47.26), 0])
        (word,) = found.warnings
        assert "more than once at the same place: GE.A" in word
    written(tmp_path / "t", station("A", 12.51, 47.26), station("C", 12.5, 47.25))
    found = receivers.build(scenario(tmp_path / "s", tmp_path / "t", origin=ORIGIN))
    assert found.names == ["B", "A", "C"] and len(found.warnings) == 2
    (tmp_path / "s").write_text("A GE 47.26 12.51 0 0\nA GE 47.25 12.51 0 0\n")
    refused(ScenarioError, '"A" is already taken', craton.plan, scenario(tmp_path / "s"))


OUTSIDE = """IN XX 47.26 12.51 0 0
NORTH XX 47.40 12.51 0 0
WEST XX 47.25 12.3 0 0
SOUTH XX 47.1 12.5 0 0
DEEP XX 47.25 12.5 0 9000
AFAR XX -30 100 0 0
"""
WORDS = {
    "NORTH": "y = 16676",
    "WEST": "x = -15140",
    "SOUTH": "y = -16676",
    "DEEP": "z = -",
    "AFAR": "its place is more than 20 deg from the reference",
}


@pytest.mark.parametrize(
    "method, model",
    [("fd", HILL), ("sem", FLAT), *(pytest.param(*p, marks=pytest.mark.long) for p in (("fd", FLAT), ("sem", HILL)))],
)
def test_stations_outside_are_named_at_once_or_skipped(method, model, tmp_path):
    """Each by the coordinate that is outside, also where the ground is not known there."""
    (tmp_path / "s").write_text(OUTSIDE)
    with pytest.raises(ScenarioError) as raised:
        craton.plan(scenario(tmp_path / "s", model=model, method=method))
    (problem,) = raised.value.problems
    assert all(f'"{name}": {words}' in problem.message for name, words in WORDS.items()), problem.message
    assert '"IN"' not in problem.message and "nan" not in problem.message
    assert 'outside = "skip"' in problem.remedy
    planned = craton.plan(scenario(tmp_path / "s", model=model, method=method, outside="skip"))
    assert list(planned.receivers.names) == ["IN"]
    rows = [text for key, text in planned.notes["Receivers"] if key == "skipped"]
    assert [row.partition(":")[0] for row in rows] == list(WORDS)


def test_nothing_is_recorded_where_all_stations_are_outside_and_none_in_the_air(tmp_path):
    (tmp_path / "s").write_text(OUTSIDE.partition("\n")[2])
    with pytest.raises(ScenarioError, match="all 5 receivers of .* are outside"):
        craton.plan(scenario(tmp_path / "s", outside="skip"))
    (tmp_path / "s.csv").write_text("name,x,y,z\nA,0,0,0\nB,0,0,1400\nC,100,0,10\n")
    found = receivers.build(scenario(tmp_path / "s.csv", model=HILL, outside="skip"))
    assert found.names == ["A", "C"] and re.match("B: z = 1400 m is in the air", found.skipped[0])


def test_stations_outside_of_a_chunk_are_skipped(tmp_path):
    there = Globe(chunk(prem.prem(), (12.5, 47.25), (20, 16), 1500e3, elements=(8, 8), growth=()))
    (tmp_path / "s").write_text(OUTSIDE.replace("DEEP XX 47.25 12.5 0 9000", "DEEP XX 47 12 0 2e6"))
    s = Scenario(
        method="sem",
        domain={"chunk": MIDDLE | {"width": [20, 16], "elements": [8, 8], "bottom": 1500e3}},
        model={"kind": "prem"},
        time={"duration": 100},
        source=[BLAST | {"at": {"longitude": 12, "latitude": 47, "depth": 10e3}}],
        receivers=[{"file": str(tmp_path / "s")}],
    )
    s = s.model_copy(update={"domain": s.domain.on(there)})
    (problem,) = problems(s)
    assert '"DEEP": ' in problem.message and '"AFAR": ' in problem.message
    s = s.model_copy(update={"receivers": (s.receivers[0].model_copy(update={"outside": "skip"}),)})
    found = receivers.build(s)
    assert not problems(s) and found.names == ["IN", "NORTH", "WEST", "SOUTH"]
    assert len(found.skipped) == 2
