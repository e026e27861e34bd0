"""Stations of files: epochs, sensors, repeated ones, and those outside the domain."""

import re

import numpy as np
import pytest

import craton
from craton.driver.run import plan
from craton.errors import ScenarioError
from craton.io import sac
from craton.survey import geography, receivers

obspy = pytest.importorskip("obspy")
from obspy.core.inventory import Channel, Inventory, Network, Station  # noqa: E402

PLACE = {"longitude": 12.5, "latitude": 47.25}
MAP = geography.Local(12.5, 47.25)
ORIGIN = "2020-05-05T00:00:00"
FLAT = {"kind": "homogeneous", "vp": 4000, "vs": 2300, "rho": 2500}
HILL = FLAT | {"topography": {"x": [-3e3, 3e3], "y": [-3e3, 3e3], "z": [[300, 500], [400, 600]]}}


EXPLOSION = {
    "kind": "explosion",
    "at": [0, 0, -1500],
    "moment": 1e15,
    "wavelet": {"kind": "gaussian", "tau": 0.4, "delay": 0},
}


def scenario(*files, model=FLAT, method="fd", origin=None, top=0, source=EXPLOSION, **entry):
    size = {"spacing": 300} if method == "fd" else {"element_size": 1500}
    tables = {"boundaries": {"cpml": {"thickness": 3}}} if method == "fd" else {}
    return craton.Scenario(
        method=method,
        domain={"origin": [-3000, -3000, -6000], "size": [6000, 6000, 6000 + top]} | size | {"geographic": PLACE},
        model=model,
        time={"duration": 0.2} | ({} if origin is None else {"origin": origin}),
        source=[source],
        receivers=[{"file": str(file)} | entry for file in files],
        output={"waveforms": ["velocity", "displacement", "strain"]},
        **tables,
    )


def channel(code, location, longitude, latitude, depth=0.0, begin=None, end=None):
    dates = {"start_date": begin, "end_date": end}
    return Channel(code, location, latitude, longitude, 500, depth, azimuth=0, dip=0, **dates)


def station(code, longitude, latitude, *channels, begin=None, end=None):
    dates = {"start_date": begin, "end_date": end}
    return Station(code, latitude, longitude, 500, channels=[*channels], **dates)


def year(number):
    return obspy.UTCDateTime(number, 1, 1)


def written(path, *stations):
    Inventory([Network("GE", [*stations])]).write(str(path), "STATIONXML")
    return path


MOVED = [
    station("MOVED", 12.48, 47.24, begin=year(2000), end=year(2015)),
    station("MOVED", 12.51, 47.26, begin=year(2015)),
]
MOVED_TEXT = """#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime
GE|MOVED|47.24|12.48|600|Alm|2000-01-01T00:00:00|2015-01-01T00:00:00
GE|MOVED|47.26|12.51|650|Alm|2015-01-01T00:00:00.000000Z|
"""


@pytest.fixture(params=["xml", "text"])
def moved(request, tmp_path):
    """A station that moved in 2015."""
    if request.param == "xml":
        return written(tmp_path / "s.xml", *MOVED)
    (tmp_path / "s.txt").write_text(MOVED_TEXT)
    return tmp_path / "s.txt"


@pytest.mark.parametrize(
    "origin, place, words",
    [
        ("2010-05-05T00:00:00", (12.48, 47.24), ""),
        (ORIGIN, (12.51, 47.26), ""),
        (None, (12.51, 47.26), "the last epoch is taken: there is no origin time"),
        ("1999-05-05T00:00:00", (12.48, 47.24), "the nearest epoch is taken"),
    ],
)
def test_a_station_stands_where_it_stood_at_the_origin_time(moved, origin, place, words):
    found = receivers.build(scenario(moved, origin=origin))
    assert found.names == ["MOVED"]
    assert np.allclose(found.xyz[0], [*MAP.xy(*place), 0])
    assert len(found.warnings) == bool(words)
    assert words in "".join(found.warnings) and ("GE.MOVED" in "".join(found.warnings)) == bool(words)


def test_the_origin_time_may_be_that_of_the_event(moved, tmp_path):
    """Of a CMTSOLUTION in 2010."""
    lines = "PDE 2010 6 9 0 33 16.4 47.25 12.5 2.0 4.9 4.8 ALPS\nevent name: a\ntime shift: 0\n"
    lines += "half duration: 1\nlatitude: 47.25\nlongitude: 12.5\ndepth: 1.5\n"
    lines += "".join(
        f"M{name}: {value}e22\n" for name, value in zip(("rr", "tt", "pp", "rt", "rp", "tp"), (1, -1, 0, 0, 0, 0))
    )
    (tmp_path / "CMT").write_text(lines)
    event = {"kind": "cmtsolution", "file": str(tmp_path / "CMT")}
    found = receivers.build(scenario(moved, source=event))
    assert np.allclose(found.xyz[0], [*MAP.xy(12.48, 47.24), 0])


BOREHOLE = station(
    "KIK01",
    12.51,
    47.26,
    channel("HHZ", "00", 12.51, 47.26),
    channel("HHN", "00", 12.51, 47.26),
    channel("HHZ", "10", 12.51, 47.26, 200),
    channel("LDO", "30", 12.51, 47.261),
)
BOREHOLE_TEXT = """#Network|Station|Location|Channel|Latitude|Longitude|Elevation|Depth|StartTime|EndTime
GE|KIK01|00|HHZ|47.26|12.51|500|0||
GE|KIK01|00|HHN|47.26|12.51|500|0||
GE|KIK01|10|HHZ|47.26|12.51|500|200||
GE|KIK01|30|LDO|47.261|12.51|500|0||
GE|SURF|--|HHZ|47.24|12.49|500|0||
"""


@pytest.fixture(params=["xml", "text"])
def borehole(request, tmp_path):
    """A station with a seismometer at the ground and one 200 m below, and a barometer."""
    if request.param == "xml":
        surface = station("SURF", 12.49, 47.24, channel("HHZ", "", 12.49, 47.24))
        return written(tmp_path / "s.xml", BOREHOLE, surface)
    (tmp_path / "s.txt").write_text(BOREHOLE_TEXT)
    return tmp_path / "s.txt"


@pytest.mark.parametrize("method", ["fd", "sem"])
def test_every_sensor_is_a_receiver(borehole, method):
    planned = plan(scenario(borehole, method=method))
    found = planned.receivers
    assert list(found.names) == ["KIK01.00", "KIK01.10", "SURF"]
    assert list(found.codes) == ["KIK01", "KIK01", "SURF"]
    assert list(found.locations) == ["00", "10", ""]
    assert np.allclose(found.xyz[:, 2], [0, -200, 0]) and np.allclose(found.xyz[0, :2], found.xyz[1, :2])
    assert not found.warnings


def test_records_of_two_sensors_have_codes_of_their_own(borehole, tmp_path):
    """Every trace has an id of its own, which the StationXML has at the depth of the sensor."""
    result = craton.run(scenario(borehole), out=tmp_path / "out", progress=False)
    stream = obspy.read(str(tmp_path / "out" / "waveforms.mseed"))
    inventory = obspy.read_inventory(str(tmp_path / "out" / "stations.xml"))
    ids = [trace.id for trace in stream]
    assert len(ids) == 3 * (3 + 3 + 6) == len(set(ids))
    for location, depth in (("00", 0), ("10", 200), ("DI", 0), ("D2", 200), ("ZZ", 0), ("Z2", 200)):
        (trace,) = stream.select(station="KIK01", location=location, channel="??Z")
        date = trace.stats.starttime
        assert inventory.get_coordinates(trace.id, date)["local_depth"] == depth
    assert [s.code for n in inventory for s in n] == ["KIK01", "SURF"]
    assert stream.select(id="GE.SURF..*Z") and stream.select(id="GE.SURF.DI.*Z")
    sac.write(result.dataset, tmp_path / "sac")
    depths = {t.id: t.stats.sac.stdp for t in obspy.read(str(tmp_path / "sac" / "*.sac"))}
    assert set(depths) == set(ids)
    assert depths[next(i for i in ids if "KIK01.D2" in i)] == 200


def test_sensors_of_other_times_and_of_one_place_are_told(tmp_path):
    place = 12.51, 47.26
    inventory = written(
        tmp_path / "s.xml",
        station(
            "A",
            *place,
            channel("HHZ", "00", *place),
            channel("HNZ", "20", *place),
            channel("HHZ", "10", *place, 100, end=year(2005)),
            channel("BHZ", "00", *place, 5),
        ),
    )
    found = receivers.build(scenario(inventory, origin=ORIGIN))
    assert found.names == ["A"] and found.xyz[0, 2] == 0
    words = "\n".join(found.warnings)
    assert "left out: GE.A.10" in words and "GE.A (00, 20) (one receiver for them)" in words
    assert "channels of one location at different places: GE.A" in words


FILES = {
    "CSV": "name,network,longitude,latitude,depth\nB,GE,12.49,47.24,0\n" + 2 * "A,GE,12.51,47.26,0\n",
    "STATIONS": "B GE 47.24 12.49 0 0\n" + 2 * "A GE 47.26 12.51 0 0\n",
    "FDSN": "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime\n"
    "GE|B|47.24|12.49|0|b||\n" + 2 * "GE|A|47.26|12.51|0|a||\n",
}


@pytest.mark.parametrize("form", FILES)
def test_equal_stations_are_one_with_a_word(form, tmp_path):
    (tmp_path / "s").write_text(FILES[form])
    found = receivers.build(scenario(tmp_path / "s", origin=ORIGIN))
    assert found.names == ["B", "A"]
    assert np.allclose(found.xyz[1], [*MAP.xy(12.51, 47.26), 0])
    (word,) = found.warnings
    assert "more than once at the same place: GE.A" in word


def test_equal_stations_of_two_files_are_one_with_a_word(tmp_path):
    (tmp_path / "s").write_text(FILES["STATIONS"])
    written(tmp_path / "t", station("A", 12.51, 47.26), station("C", 12.5, 47.25))
    found = receivers.build(scenario(tmp_path / "s", tmp_path / "t", origin=ORIGIN))
    assert found.names == ["B", "A", "C"] and len(found.warnings) == 2


def test_one_name_at_two_places_is_refused(tmp_path):
    (tmp_path / "s").write_text("A GE 47.26 12.51 0 0\nA GE 47.25 12.51 0 0\n")
    with pytest.raises(ScenarioError, match='"A" is already taken'):
        plan(scenario(tmp_path / "s"))


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


@pytest.mark.parametrize("method", ["fd", "sem"])
@pytest.mark.parametrize("model", [FLAT, HILL], ids=["flat", "hill"])
def test_stations_outside_are_named_at_once_or_skipped(method, model, tmp_path):
    """Each by the coordinate that is outside, also where the ground is not known there."""
    (tmp_path / "s").write_text(OUTSIDE)
    top = 1500 if model is HILL else 0
    with pytest.raises(ScenarioError) as raised:
        plan(scenario(tmp_path / "s", model=model, method=method, top=top))
    (problem,) = raised.value.problems
    for name, words in WORDS.items():
        assert f'"{name}": {words}' in problem.message
    assert '"IN"' not in problem.message and "nan" not in problem.message
    assert 'outside = "skip"' in problem.remedy
    planned = plan(scenario(tmp_path / "s", model=model, method=method, top=top, outside="skip"))
    assert list(planned.receivers.names) == ["IN"]
    rows = [text for key, text in planned.notes["Receivers"] if key == "skipped"]
    assert [row.partition(":")[0] for row in rows] == list(WORDS)


def test_nothing_is_recorded_where_all_stations_are_outside(tmp_path):
    (tmp_path / "s").write_text(OUTSIDE.partition("\n")[2])
    with pytest.raises(ScenarioError, match="all 5 receivers of .* are outside"):
        plan(scenario(tmp_path / "s", outside="skip"))


def test_stations_in_the_air_are_skipped(tmp_path):
    (tmp_path / "s.csv").write_text("name,x,y,z\nA,0,0,0\nB,0,0,1400\nC,100,0,10\n")
    s = scenario(tmp_path / "s.csv", model=HILL, top=1500, outside="skip")
    found = receivers.build(s)
    assert found.names == ["A", "C"] and re.match("B: z = 1400 m is in the air", found.skipped[0])


def test_stations_outside_of_a_chunk_are_skipped(tmp_path):
    from craton.model.globe import prem
    from craton.model.globe.chunk import chunk
    from craton.survey.checks import problems
    from craton.survey.globe import Globe

    there = Globe(chunk(prem.prem(), (12.5, 47.25), (20, 16), 1500e3, elements=(8, 8), growth=()))
    (tmp_path / "s").write_text(OUTSIDE.replace("DEEP XX 47.25 12.5 0 9000", "DEEP XX 47 12 0 2e6"))
    s = craton.Scenario(
        method="sem",
        domain={
            "chunk": {"longitude": 12.5, "latitude": 47.25, "width": [20, 16], "elements": [8, 8], "bottom": 1500e3}
        },
        model={"kind": "prem"},
        time={"duration": 100},
        source=[EXPLOSION | {"at": {"longitude": 12, "latitude": 47, "depth": 10e3}}],
        receivers=[{"file": str(tmp_path / "s")}],
    )
    s = s.model_copy(update={"domain": s.domain.on(there)})
    (problem,) = problems(s)
    assert '"DEEP": ' in problem.message and '"AFAR": ' in problem.message
    skipping = s.receivers[0].model_copy(update={"outside": "skip"})
    s = s.model_copy(update={"receivers": (skipping,)})
    found = receivers.build(s)
    assert not problems(s) and found.names == ["IN", "NORTH", "WEST", "SOUTH"]
    assert len(found.skipped) == 2
