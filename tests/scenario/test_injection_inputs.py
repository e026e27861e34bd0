"""Injection from zarr and from scattered points; boxes that are moved and turned; ranks, and runs that go on."""

import numpy as np
import pytest
import xarray as xr
from damagecase import interrupted
from injectioncase import BOX, CASE, RUN, flat, wavefield

import craton
from craton import io
from craton.driver.run import plan
from craton.errors import ScenarioError
from craton.io.contents import Wavefield
from craton.methods.waves.coupling.recorded import series_name
from craton.methods.waves.coupling.sampled import SampledIncident
from craton.output.recordings import open_recording
from craton.survey import leapfrog

AGAIN = {"name": "again", "from": [1200, -600], "to": [1800, 0], "sampling": 90, "thickness": 180}
PUSH = {"kind": "force", "at": [400, 300, -400], "force": [2e12, -1e12, 3e12]}
CUBE = {
    "domain": {"origin": [0, 0, -1500], "size": [1600, 1500, 1500], "spacing": 100},
    "model": {"kind": "homogeneous", "vp": 2500, "vs": 1500, "rho": 2200},
    "time": {"duration": 0.6},
    "boundaries": {"cpml": {"thickness": 2, "frequency": 3.0}},
    "source": [PUSH | {"wavelet": {"kind": "gaussian", "tau": 0.12}}],
    "run": RUN,
}
ELEMENTS = CASE | {
    "domain": {"origin": [0, 0, -1600], "size": [1600, 1600, 1600], "element_size": 400},
    "time": {"duration": 0.6},
    "source": [CASE["source"][0] | {"at": [200, 800, -600]}],
    "recording": [{"name": "box", "from": [500, 500, -700], "to": [1100, 1100, 0]}],
    "receivers": [{"name": "in", "at": [800, 850, 0]}],
    "run": RUN,
}


@pytest.fixture(scope="module")
def waves():
    """A dataset of exact waves around a box of the plane."""
    return wavefield(end=1.2)


@pytest.fixture(scope="module")
def file(waves, tmp_path_factory):
    """The same in a netCDF file."""
    path = tmp_path_factory.mktemp("waves") / "waves.nc"
    waves.to_netcdf(path)
    return path


def taking(path, recording=(), **changes):
    """A section of the layers that takes the waves of a file."""
    return flat(
        *("P", 25),
        domain={"origin": [0, -1500], "size": [3000, 1500], "spacing": 40, "waves": "P-SV"},
        time={"duration": 0.9},
        boundaries={"cpml": {"thickness": 4, "frequency": 2.0}},
        injection=[{"file": str(path), **BOX} | changes],
        recording=list(recording),
        run=RUN,
    )


def incident_values(scenario):
    """What the plan of a scenario injects, (steps, values)."""
    return np.asarray(plan(scenario).arrays[series_name(0)].data)


def test_zarr_holds_what_netcdf_holds(waves, file, tmp_path):
    waves.to_zarr(tmp_path / "waves.zarr", zarr_format=2, consolidated=False)
    paths = file, tmp_path / "waves.zarr"
    of_netcdf, of_zarr = (io.read(path, "wavefield") for path in paths)
    assert np.array_equal(of_netcdf.xyz, of_zarr.xyz)
    assert of_netcdf.values.keys() == of_zarr.values.keys() == {"vx", "vz", "sxx", "szz", "sxz"}
    assert np.array_equal(*(incident_values(taking(path)) for path in paths))


def test_at_moves_the_points_of_a_file(waves, file, tmp_path):
    path = tmp_path / "moved.nc"
    waves.assign_coords(x=waves.x - 500.0, z=waves.z + 40.0).to_netcdf(path)
    values, expected = incident_values(taking(path, at=[500, -40])), incident_values(taking(file))
    assert np.abs(values - expected).max() < 1e-6 * np.abs(expected).max()


def test_points_between_which_waves_change_by_a_third_are_refused():
    """Between two layers of points values are linear: off by 1 - cos(pi / n) at n points a wavelength, 0.36 and 0.23."""
    grid = np.stack(np.meshgrid([0, 100], *2 * [np.arange(0, 900, 100)], indexing="ij"), axis=-1)
    series = np.exp(-(((np.arange(200) - 100) * 0.02 / 0.2) ** 2))[:, None]
    xyz = grid.reshape(-1, 3).astype(float)
    values = {f"u{axis}": np.repeat(series, len(xyz), axis=1) for axis in "xyz"}
    wavefield = Wavefield("two layers", xyz, values, 0.0, 0.02, {}, fewest=2)
    for points, messages in ((3.6, ["are off by 0.3"]), (4.5, [])):
        incident = SampledIncident("injection.0", wavefield, np.zeros((2, 3)))
        slowest = np.array([points * 100.0 * incident.frequency])
        medium = {"vp": 1.7 * slowest, "vs": slowest, "rho": np.array([2000.0])}
        problems = incident.problems(["ux", "uy", "uz"], np.array([[50.0, 400, 400]]), medium, 0)
        assert incident.resolution["error"] == pytest.approx(1 - np.cos(np.pi / points), rel=1e-6)
        assert len(problems) == len(messages)
        assert all(words in problem.message for words, problem in zip(messages, problems))


def test_a_box_is_moved_and_turned(tmp_path):
    """By 90 degrees its points are those of another box; by any other the velocities are those of receivers."""
    even = {"from": [700, 500, -700], "to": [1100, 700, -400], "sampling": 100}
    turned = {"from": [-200, 0, 0], "to": [0, 400, 300], "sampling": 100, "origin": [700, 500, -700]}
    boxes = {"even": even, "quarter": turned | {"azimuth": 90}, "oblique": turned | {"azimuth": 60}}
    recordings = [entry | {"name": name, "thickness": 100} for name, entry in boxes.items()]
    # axes of the oblique box, and a station of its lattice: 0.1 km along each of the first two
    cos, sin = np.cos(np.radians(60)), np.sin(np.radians(60))
    axes = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    station = [700, 500, -700] + 100 * axes[:2].sum(axis=0)
    tables = {"recording": recordings, "receivers": [{"name": "R", "at": station.tolist()}]}
    result = craton.run(craton.Scenario(**CUBE | tables), out=tmp_path, progress=False)
    fields = {name: fields_of(open_recording(tmp_path, name)) for name in boxes}
    xyz, values = fields["even"]
    turned_xyz, turned_values = fields["quarter"]
    x, y, z = turned_xyz.T
    places = np.stack([700 + y, 500 - x, z - 700])
    order, same = np.lexsort(np.round(places)), np.lexsort(np.round(xyz.T))
    assert np.abs(places.T[order] - xyz[same]).max() < 1e-6
    # x' points to the south, y' to the east
    pairs = {"vx": "-vy", "vy": "+vx", "vz": "+vz", "sxx": "+syy", "syy": "+sxx"}
    for name, source in (pairs | {"sxy": "-sxy", "sxz": "-syz", "syz": "+sxz"}).items():
        expected = float(f"{source[0]}1") * values[source[1:]][:, same]
        assert np.abs(turned_values[name][:, order] - expected).max() < 1e-6 * np.abs(expected).max()
    xyz, values = fields["oblique"]
    at = np.abs(xyz - [100, 100, 0]).sum(axis=1).argmin()
    recorded = np.stack([values[name][:, at] for name in ("vx", "vy", "vz")], axis=1)
    recorded = leapfrog.from_leapfrog(recorded, result.plan.dt)
    velocity = result.dataset.velocity.sel(receiver="R").transpose("time", ...).values
    expected = velocity @ axes.T
    count = len(expected)
    assert np.linalg.norm(recorded[:count] - expected) < 1e-4 * np.linalg.norm(expected)


def fields_of(recorded):
    """Positions (points, 3), and values (time, points) by field, of a recording at points."""
    labels = recorded.labels
    names = list(dict.fromkeys(map(str, labels["field"])))
    xyz = np.stack([labels[axis][: len(labels["field"]) // len(names)] for axis in "xyz"], axis=1)
    return xyz, dict(zip(names, np.split(recorded.values[...], len(names), axis=1)))


@pytest.mark.long
def test_waves_of_a_file_are_taken_by_ranks_and_after_a_checkpoint(file, tmp_path):
    """As by one process that is not interrupted, and recorded: the same bits."""
    scenario = taking(file, [AGAIN])
    alone, shared = (craton.run(scenario, out=tmp_path / str(n), progress=False, devices=n) for n in (1, 2))
    interrupted(craton.run, scenario, out=tmp_path / "parts", stop=(alone.plan.steps // 2,))
    resumed = craton.resume(tmp_path / "parts", progress=False)
    expected = open_recording(tmp_path / "1", "again").values[...]
    assert np.abs(alone.samples).max() > 0 and np.abs(expected).max() > 0
    for result, name in ((shared, "2"), (resumed, "parts")):
        assert np.array_equal(result.samples, alone.samples)
        assert np.array_equal(open_recording(tmp_path / name, "again").values[...], expected)


@pytest.mark.long
def test_scattered_points_are_taken_at_the_nodes_of_elements(tmp_path):
    """The displacement of a run at its nodes, as another program would write it: no points between are needed."""
    full = craton.run(craton.Scenario(**ELEMENTS), out=tmp_path, progress=False)
    recorded = open_recording(tmp_path, "box")
    about, labels = recorded.about, recorded.labels
    motion = leapfrog.from_leapfrog(recorded.values[...].astype(float), about["dt"], 1.0)
    axes = {axis: ("point", labels[axis][::3]) for axis in "xyz"} | {"component": ["x", "y", "z"]}
    axes["time"] = about["start"] + about["dt"] * np.arange(1, len(motion) + 1)
    series = np.stack([motion[:, n::3] for n in range(3)])
    dataset = xr.Dataset({"displacement": (("component", "time", "point"), series)}, axes)
    dataset.to_netcdf(tmp_path / "nodes.nc")
    box = {key: ELEMENTS["recording"][0][key] for key in ("from", "to")}
    tables = ELEMENTS | {"source": [], "recording": [], "injection": [{"file": str(tmp_path / "nodes.nc"), **box}]}
    scenario = craton.Scenario(**tables)
    assert "taken at the points themselves" in dict(plan(scenario).notes["Sources"])["injection"]
    result = craton.run(scenario, progress=False)
    values, expected = (run.dataset.velocity.sel(receiver="in") for run in (result, full))
    expected = expected.interp(time=values.time, method="cubic")
    assert np.abs(values - expected).max() < 1e-3 * np.abs(expected).max()
    dataset.assign_coords(x=dataset.x + 1.0).to_netcdf(tmp_path / "beside.nc")
    tables["injection"] = [{"file": str(tmp_path / "beside.nc"), **box}]
    with pytest.raises(ScenarioError, match="scattered points are taken only within 0.001 m"):
        plan(craton.Scenario(**tables))
