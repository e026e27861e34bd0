"""Objects of xarray, pandas and ObsPy in place of files, and the run folder that keeps them."""

import numpy as np
import pandas
import pytest
import xarray
from common import refused
from filecase import inventory, quake

import craton
from craton.errors import ScenarioError
from craton.io import objects
from craton.output import inputs
from craton.scenario import Scenario, dumps
from craton.survey import receivers, source_files
from craton.survey.event import origin_time
from craton.survey.geography import Local

obspy = pytest.importorskip("obspy")

AXIS = np.linspace(-8000.0, 8000.0, 5)
MEDIUM = {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2600}
WAVELET = {"kind": "gaussian", "tau": 0.4}
STATIONS = inventory({"GR": {"FUR": (12.51, 47.26, 500.0)}, "BW": {"FUR": (12.49, 47.24, 500.0)}})


def crust(vs=2900.0):
    """Model of a speed that grows along x."""
    speed = np.broadcast_to(vs + 0.02 * AXIS, (6, 5, 5))
    values = {"vp": 1.7 * speed, "vs": speed, "rho": 0.9 * speed}
    axes = {"x": AXIS, "y": AXIS, "z": np.linspace(-10000.0, 0.0, 6)}
    return xarray.Dataset({k: (("z", "y", "x"), v) for k, v in values.items()}, axes)


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
    with xarray.open_dataset(again.model.file) as dataset:
        assert dataset.equals(crust())
    assert len(obspy.read_inventory(again.receivers[0].file).get_contents()["stations"]) == 2
    assert obspy.read_events(again.source[0].file)[0].origins[0].depth == 4000
    built = receivers.build(again)
    assert built.names == ["GR.FUR", "BW.FUR"]
    assert built.xyz[0, :2] == pytest.approx(Local(12.5, 47.25).xy(12.51, 47.26))
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
    ground = xarray.DataArray(np.full((3, 3), 0.0), {"x": AXIS[::2], "y": AXIS[::2]}, ("y", "x"))
    others = {"receivers": [table, {"name": "B", "at": [0, 0, 0]}]}
    others["source"] = {"file": event(3000.0), "wavelet": WAVELET}
    others["model"] = {"file": crust(), "attenuation": {"band": [0.1, 1]}, "topography": ground}
    changed = craton.load(tmp_path / "box.toml", ["time.duration=2"], **others)
    assert changed.time.duration == 2
    assert changed.model.attenuation is not None and changed.model.topography.z[0][0] == 0
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
        (place | {"moment": [np.nan]}, ":2: the mechanism is not complete"),
    ):
        refused(ScenarioError, message, lambda columns=columns: craton.plan(of_table(columns)))
    with pytest.raises(ScenarioError) as caught:
        Scenario(**tables(model=STATIONS, receivers=crust(), time={"duration": -1}))
    assert [problem.key for problem in caught.value.problems] == ["model", "receivers.0", "time.duration"]
    unwritable = tables(model=crust().assign_attrs(note={"a": object()}))
    refused(ScenarioError, "model.file: this Dataset cannot be written as .nc", Scenario, **unwritable)
