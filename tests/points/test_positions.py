"""Positions by longitude and latitude in a box: inline, in lines, grids, fibres and files."""

from types import SimpleNamespace

import numpy as np
import pytest

import craton
from craton.errors import ScenarioError
from craton.scenario import Scenario, dumps, loads
from craton.survey import receivers, shots, source_files
from craton.survey.geography import Local

LOCAL = Local(12.5, 47.25, 30.0)
AT = {"longitude": 12.53, "latitude": 47.27}
TENSOR = np.array([[1.0, 0.3, 0.2], [0.3, -2.0, 0.5], [0.2, 0.5, 1.0]]) * 1e15
WAVELET = {"kind": "gaussian", "tau": 0.3}


def box(**tables):
    """Scenario of a rotated box of 24 km with topography of 300 m."""
    values = {
        "domain": {
            "origin": [-12000, -12000, -11000],
            "size": [24000, 24000, 12000],
            "spacing": 500,
            "geographic": {"longitude": 12.5, "latitude": 47.25, "azimuth": 30},
        },
        "model": {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700, "topography": 300},
        "time": {"duration": 1},
        "source": [{"kind": "explosion", "at": [0, 0, -3000], "moment": 1e15, "wavelet": WAVELET}],
        "receivers": [{"name": "A", "at": AT}],
    }
    return Scenario(**(values | tables))


def at(longitude, latitude, z):
    """x, y, z of a place."""
    return [*map(float, LOCAL.xy(longitude, latitude)), z]


@pytest.mark.parametrize(
    "entry, expected",
    [
        ({"name": "A", "at": AT}, [at(12.53, 47.27, 300)]),
        ({"name": "A", "at": AT | {"depth": "1 km"}}, [at(12.53, 47.27, -700)]),
        ({"name": "A", "at": AT | {"elevation": 120}}, [at(12.53, 47.27, 120)]),
        (
            {"name": "L", "line": {"from": AT, "to": {"longitude": 12.5, "latitude": 47.25}, "count": 3}},
            [at(12.53, 47.27, 300), [*(np.array(LOCAL.xy(12.53, 47.27)) / 2), 300], [0, 0, 300]],
        ),
        (
            {"name": "G", "grid": {"longitude": [12.5, 12.53, 2], "latitude": [47.25, 47.27, 2], "z": 10}},
            [at(x, y, 10) for y in (47.25, 47.27) for x in (12.5, 12.53)],
        ),
    ],
    ids=["ground", "depth", "elevation", "line", "grid"],
)
def test_receivers_at_longitude_and_latitude(entry, expected):
    scenario = box(receivers=[entry])
    assert receivers.build(scenario).xyz == pytest.approx(np.array(expected), abs=1e-3)
    assert loads(dumps(scenario)) == scenario


FILES = {
    "comma.csv": "network,station,longitude,latitude,depth\nGR,FUR,12.53,47.27,20\nBW,FUR,12.5,47.25,0\n",
    "blanks.csv": "name lon lat depth\nGR.FUR 12.53 47.27 20\nBW.FUR 12.5 47.25 0\n",
    "STATIONS": "FUR GR 47.27 12.53 565.0 20.0\nFUR BW 47.25 12.5 0.0 0.0\n",
    "fdsn.txt": "#Network | Station | Location | Channel | Latitude | Longitude | Elevation | Depth | Azimuth\n"
    "GR|FUR||HHZ|47.27|12.53|565.0|20.0|0.0\nGR|FUR||HHN|47.27|12.53|565.0|20.0|0.0\nBW|FUR||HHZ|47.25|12.5|0|0|0\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_stations_name_and_place_the_same_receivers(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    built = receivers.build(box(receivers=[{"file": str(tmp_path / name)}]))
    assert built.names == ["GR.FUR", "BW.FUR"]
    assert built.xyz == pytest.approx(np.array([at(12.53, 47.27, 280), [0, 0, 300]]), abs=1e-3)


def test_text_of_stations_without_channels_and_elevations_of_a_table(tmp_path):
    (tmp_path / "stations.txt").write_text(
        "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime\n"
        "GR|FUR|47.27|12.53|565.0|Fürstenfeldbruck|2006-12-16T00:00:00|\n"
    )
    (tmp_path / "elevation.csv").write_text("station;name;lon;lat;elevation\nFUR;Bruck;12.53;47.27;0.25 km\n")
    for name, z in (("stations.txt", 300), ("elevation.csv", 250)):
        built = receivers.build(box(receivers=[{"file": str(tmp_path / name)}]))
        assert built.names == ["FUR"]
        assert built.xyz == pytest.approx(np.array([at(12.53, 47.27, z)]), abs=1e-3)


def test_a_fibre_along_longitude_and_latitude():
    along = [AT, {"longitude": 12.5, "latitude": 47.25, "depth": 100}]
    scenario = box(receivers=[{"name": "F", "das": {"along": along, "spacing": 500, "gauge": 100}}])
    fibres = receivers.build(scenario).fibres
    length = np.hypot(*LOCAL.xy(12.53, 47.27))
    assert len(fibres) == int((length - 100) // 500) + 1
    with pytest.raises(ScenarioError, match="gauge length, 10000 m, is longer than the fibre"):
        box(receivers=[{"name": "F", "das": {"along": along, "spacing": 500, "gauge": 10000}}])
    with pytest.raises(ScenarioError, match="longitude and latitude for all"):
        box(receivers=[{"name": "F", "das": {"along": [AT, [0, 0, 0]], "spacing": 5, "gauge": 5}}])


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
    line = {"from": AT | {"depth": 10}, "to": {"longitude": 12.5, "latitude": 47.25, "depth": 10}, "count": 2}
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


def test_places_that_the_box_cannot_hold_are_refused():
    plain = {"origin": [-12000, -12000, -11000], "size": [24000, 24000, 12000], "spacing": 500}
    with pytest.raises(ScenarioError, match="add geographic|domain.geographic gives"):
        box(domain=plain)
    grid = {"longitude": [12.5, 12.53, 2], "latitude": [47.25, 47.27, 2], "z": 10}
    with pytest.raises(ScenarioError, match="domain.geographic gives"):
        box(domain=plain, receivers=[{"name": "G", "grid": grid}])
    with pytest.raises(ScenarioError, match='missing: "latitude" is required'):
        box(receivers=[{"name": "G", "grid": {"longitude": [12.5, 12.53, 2], "z": 10}}])
    with pytest.raises(ScenarioError, match="depth and elevation are mutually exclusive"):
        box(receivers=[{"name": "A", "at": AT | {"depth": 0, "elevation": 0}}])
    with pytest.raises(ScenarioError, match=r"receivers.0.at: .* no place within 20 deg"):
        craton.plan(box(receivers=[{"name": "A", "at": AT | {"longitude": 92}}]))
    with pytest.raises(ScenarioError, match="x = .* is outside the domain"):
        craton.plan(box(receivers=[{"name": "A", "at": AT | {"longitude": 13}}]))
    source = {"kind": "explosion", "at": AT | {"latitude": 7}, "moment": 1e15, "wavelet": WAVELET}
    with pytest.raises(ScenarioError, match=r"source.0.at: .* no place within 20 deg"):
        craton.plan(box(source=[source]))


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.csv", "name,longitude,depth\nA,12.5,0\n", "it has no column latitude"),
        ("a.csv", "name,longitude,latitude\nA,12.5,north\n", 'a.csv:2: "north" is not a number'),
        ("a.txt", "#Network|Station|Latitude|Longitude\nGR|FUR|47.25\n", "3 columns under a heading of 4"),
        ("a.txt", "#Network|Station|Latitude|Longitude\nGR|FUR|x|12.5\n", ":2:.*latitude"),
        ("a.txt", "#Network|Station|Latitude|Longitude\n", "no stations"),
    ],
)
def test_wrong_files_of_stations_are_refused_with_their_line(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ScenarioError, match=message):
        craton.plan(box(receivers=[{"file": str(tmp_path / name)}]))


def test_elevations_of_a_file_are_refused_in_a_chunk_of_the_earth(tmp_path):
    class Ground:
        deep = False  # positions of a chunk already count from its ground

        def off_map(self, longitude, latitude):
            return np.zeros(len(longitude), bool)

        def xyz(self, longitude, latitude, depth):
            return np.stack([longitude, latitude, -depth], axis=-1)

    chunk = SimpleNamespace(globe=Ground())
    (tmp_path / "a.csv").write_text("name,longitude,latitude,elevation\nA,12.5,47.25,100\n")
    entry = SimpleNamespace(file=str(tmp_path / "a.csv"), coordinates="geographic")
    with pytest.raises(ValueError, match="in a chunk of the Earth positions count from the ground"):
        receivers.read_file(entry, chunk)
    (tmp_path / "a.csv").write_text("name,longitude,latitude,depth\nA,12.5,47.25,100\n")
    names, xyz, deep, _ = receivers.read_file(entry, chunk)
    assert names == ["A"] and xyz.tolist() == [[12.5, 47.25, -100]] and not deep


MANY = {
    "fd": ({"origin": [0, -600], "size": [1200, 600], "spacing": 20}, [0, 2]),
    "sem": ({"origin": [0, 0, -600], "size": [1200, 400, 600], "element_size": 200}, [0, 1, 2]),
}


def surveyed(method, source, receivers):
    """A scenario of explosions, in the plane by differences, in space by elements."""
    return Scenario(
        method=method,
        domain=MANY[method][0],
        model={"kind": "homogeneous", "vp": 1500, "vs": 800, "rho": 1800},
        time={"duration": 0.3},
        source=[
            {"kind": "explosion", "moment": 1e9, "wavelet": {"kind": "gaussian", "tau": 0.05}} | one for one in source
        ],
        receivers=receivers,
    )


@pytest.mark.parametrize("method", MANY)
def test_many_positions_are_one_entry_for_each(method):
    """Of receivers one at each, of a source together, as entries one by one: bit for bit."""
    pick = MANY[method][1]
    sources_at = [[[x, 200, z][n] for n in pick] for x, z in ((300, -100), (500, -250))]
    at = np.array([[[x, 150, z][n] for n in pick] for x, z in ((600, -20), (700, -30))])
    together = surveyed(method, [{"at": sources_at}], [{"name": "R", "at": at}])
    apart = surveyed(
        method,
        [{"at": where, "name": f"source 1.{n}"} for n, where in enumerate(sources_at, 1)],
        [{"name": f"R{n}", "at": where} for n, where in enumerate(at.tolist(), 1)],
    )
    assert loads(dumps(together)) == together
    one, other = (craton.run(s, progress=False).dataset for s in (together, apart))
    assert list(one.receiver.values) == ["R1", "R2"] and float(abs(one.velocity).max()) > 0
    assert np.array_equal(one.velocity.values, other.velocity.values)


def test_shots_may_be_a_list_of_positions():
    """Each is the run of its source alone."""
    places = [[300, -100], [500, -250], [420, -50]]
    receivers_at = [{"name": "R", "at": [[600, -20], {"x": 700, "depth": 30}]}]
    shots = craton.run(surveyed("fd", [{"shots": places}], receivers_at), progress=False).dataset
    assert list(shots.shot.values) == ["source 1.1", "source 1.2", "source 1.3"]
    alone = craton.run(surveyed("fd", [{"at": places[1]}], receivers_at), progress=False).dataset
    assert np.array_equal(shots.velocity[1].values, alone.velocity.values)


@pytest.mark.parametrize(
    "at, words",
    [
        ([[1, -2], [3]], r"receivers.0.at.positions.1: \[3\] is not a list"),
        ([], "is not a list of three numbers"),
        ([[1, -2], {"longitude": 3, "latitude": 3}], "others have x and y"),
        ([[1, -2], [3, -9000]], '"R2": z = -9000 m is outside'),
    ],
)
def test_many_positions_that_are_wrong_are_named(at, words):
    with pytest.raises(ScenarioError, match=words):
        craton.plan(surveyed("fd", [{"at": [300, -100]}], [{"name": "R", "at": at}]))
