"""Maps of ground motion: measured at every step on the machine, as dense receivers would have them."""

from types import SimpleNamespace

import numpy as np
import pytest
import rasterio
import xarray
from common import difference, edited, refused
from damagecase import stopping
from rasterio.warp import transform

import craton
from craton.cli import main
from craton.errors import CratonError, Interrupted, ScenarioError
from craton.methods.finite_difference import build
from craton.methods.finite_difference.space import GridSpace
from craton.output.ground_motion import response_spectra
from craton.output.peaks import read, write
from craton.report.shaking import intensity
from craton.survey import source_files
from craton.survey.geography import Local

QUANTITIES = ["pgv", "pga", "pgd", "arias", "cav", "squared_velocity", "duration", "sa"]
MECHANISM, WAVELET = {"moment": 1e15, "strike": 30, "dip": 60, "rake": 70}, {"kind": "ricker", "frequency": 4}
BASE = {
    "domain": {"origin": [0, 0, -1500], "size": [1800, 1600, 1500], "spacing": 100},
    "time": {"duration": 0.6},
    "boundaries": {"top": "free", "cpml": {"thickness": 4}},
    "run": {"device": "cpu", "threads": 1},
    "model": {
        "kind": "layers",
        "layers": [{"top": 0, "vp": 3000, "vs": 1700, "rho": 2300}, {"top": -600, "vp": 4500, "vs": 2600, "rho": 2600}],
    },
    "source": [{"kind": "moment_tensor", "at": {"x": 900, "y": 700, "depth": 600}, "wavelet": WAVELET} | MECHANISM],
    "receivers": [{"name": "G", "grid": {"x": [0, 1800, 19], "y": [0, 1600, 17], "depth": 0}}],
    "peaks": [{"name": "ground", "quantities": QUANTITIES, "periods": [0.2, 1.0], "resolution": 0.019}],
}
ELEMENTS = {
    "method": "sem",
    "domain": {"origin": [0, 0, -1200], "size": [1800, 1600, 1200], "element_size": 400},
    "boundaries": {"top": "free", "others": "stacey"},
    "run__assembly": "colour",
}
STATION = [{"name": "A", "at": {"x": 900, "y": 700, "depth": 0}}]
TABLES = {"fd": {}, "sem": ELEMENTS}


def scenario(method="fd", **changes):
    """The scenario of a method, with other tables."""
    return craton.Scenario(**edited(BASE, **TABLES[method], **changes))


@pytest.fixture(scope="module")
def results():
    """Runs of both methods, with receivers at every site."""
    coords = craton.plan(scenario("sem", receivers=[])).peaks[0].coords
    x, y = ([float(c[0]), float(c[-1]), len(c)] for c in (coords["x"], coords["y"]))
    sites = {"name": "G", "grid": {"x": x, "y": y, "depth": 0}}
    cases = {"fd": scenario(), "sem": scenario("sem", receivers=[sites])}
    return {method: craton.run(case, progress=False, warn=False) for method, case in cases.items()}


def four(values):
    """Peaks over time of (steps, sites, 3): E, N, Z and the horizontal vector."""
    horizontal = np.hypot(values[..., 0], values[..., 1])
    return np.concatenate([np.abs(values), horizontal[..., None]], axis=-1).max(axis=0).T


def off(values, expected):
    """Greatest difference, as a share of the greatest value."""
    return difference(np.reshape(values, np.shape(expected)), expected)


# --- every step, as dense receivers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", TABLES)
def test_maps_are_those_of_receivers_at_every_site(method, results):
    result = results[method]
    measured, dt, steps = result.peaks["ground"], result.plan.dt, result.plan.steps - result.plan.extra
    sites, dims = np.isfinite(measured.pgv[0].values).ravel(), measured.pgv.dims[1:]
    assert sites.mean() == (1 if method == "sem" else 11 * 9 / (19 * 17))  # none in CPML
    measured = measured.stack(site=dims)[{"site": sites}]
    # as computed, without the padding steps, which do not count
    velocity = result.samples[:steps].reshape(steps, -1, 3)[:, sites].astype(float)
    acceleration = np.diff(velocity, axis=0, prepend=0) / dt
    squares = np.cumsum(acceleration**2, axis=0) * dt
    spectra = response_spectra(velocity.transpose(1, 2, 0), dt, [0.2, 1.0])
    assert off(measured.pgv[:3], four(velocity)[:3]) == 0  # the same sums, to the last bit
    for values, expected in (
        (measured.pgv, four(velocity)),
        (measured.pga, four(acceleration)),
        (measured.pgd, four(np.cumsum(velocity, axis=0) * dt)),
        (measured.arias[:3], np.pi / 2 / 9.80665 * squares[-1].T),
        (measured.cav[:3], np.abs(acceleration).sum(axis=0).T * dt),
        (measured.squared_velocity[:3], (velocity**2).sum(axis=0).T * dt),
        (measured.sa[:, :3], spectra[0].transpose(2, 1, 0)),
        (measured.sa[:, 3], spectra[2].T),
    ):
        assert off(values, expected) < 1e-6, values.name
    every = round(0.019 / dt)  # the resolution
    ends = np.minimum(np.arange(every, steps + every, every), steps)
    growth = squares[ends - 1, :, :2].sum(axis=-1).T
    times = np.append(0, ends) * dt
    passed = [np.interp(np.array([0.05, 0.75, 0.95]) * g[-1], np.append(0, g), times) for g in growth]
    for name, end in (("duration_5_75", 1), ("duration_5_95", 2)):
        assert measured[name].values.min() > 0.05 and result.plan.extra > 0
        assert off(measured[name], [at[end] - at[0] for at in passed]) < 1e-5


# --- the same bits ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, before, after", [("fd", 1, 4), pytest.param("sem", 2, 1, marks=pytest.mark.long)])
def test_resumed_on_other_ranks_with_the_same_bits(method, before, after, results, tmp_path, monkeypatch):
    """Interrupted, resumed, stored: of a grid along y and z, whose lower ranks have no site, the upper ones points of each other's."""
    # one receiver: the padding of the records, and with it the last bits of the wavelets, stays
    case = scenario(method, receivers=STATION, **({"run__grid": [1, 2, 2]} if method == "fd" else {}))
    stopping(monkeypatch, 25)
    out = tmp_path / "out"
    with pytest.raises(Interrupted):
        craton.run(case, out=out, progress=False, warn=False, devices=before)
    craton.resume(out, progress=False, devices=after)
    stored = read(out)["ground"]
    for name, expected in results[method].peaks["ground"].data_vars.items():
        assert stored[name].values.tobytes() == expected.values.tobytes(), name


# --- topography, planes -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("a", "a_oscillators"), ("a_sites_b", "a")])
def test_maps_of_any_two_names_keep_arrays_of_their_own(names):
    """Arrays of one map were those of the other: its values were wrong, or the run ended with a KeyError."""
    asked = [{"quantities": ["sa"], "periods": [0.3]}, {"quantities": ["pgv"]}]
    arrays = []
    for pair in (("one", "two"), names):
        tables = [{"name": name} | table for name, table in zip(pair, asked)]
        planned = craton.plan(scenario(peaks=tables, receivers=STATION))
        used = {name for phase in planned.phases for launch in phase.launches for name in launch.arrays if name}
        assert used <= planned.arrays.keys()
        arrays.append(len(planned.arrays))
    assert arrays[0] == arrays[1]


def test_below_topography_as_snapshots_of_the_highest_cells():
    """At every step, of a slope with a hill; a plane through it has sites below the ground only."""
    hill = {"x": [0.0, 700.0, 900.0, 1800.0], "z": [-300.0, -300.0, -100.0, -200.0]}
    model = {"kind": "homogeneous", "vp": 3000, "vs": 1700, "rho": 2300, "topography": hill}
    snapshots = [{"name": "all", "quantity": "velocity", "every": 1e-9}]
    peaks = [{"name": "ground", "stride": 2}, {"name": "cut", "plane": {"z": -200}}]
    case = scenario(model=model, receivers=[], time__duration=0.1, snapshots=snapshots, peaks=peaks)
    result = craton.run(case, progress=False, warn=False)
    frames = np.abs(result.snapshots["all"].velocity).max("time")
    ground, cut = result.peaks["ground"], result.peaks["cut"]
    assert cut.pgv.dims == ("component", "y", "x") and float(cut.z) == -200
    heights = ground.elevation.fillna(-300.0)
    at = frames.sel(z=heights, y=ground.y, x=ground.x).transpose("component", "y", "x")
    sites = np.isfinite(ground.elevation.values)
    assert sites.sum() == 6 * 5 and {*np.unique(heights)} >= {-300.0, -200.0}
    assert off(ground.pgv.values[:3, sites], at.values[:, sites]) < 1e-6
    plane = frames.sel(z=-200).values
    inner = np.s_[..., 4:-4, 4:-4]  # outside of the absorbing layers
    there = np.isfinite(plane[inner]).all(axis=0)
    assert np.array_equal(np.isfinite(cut.pgv.values[0][inner]), there) and 0 < there.mean() < 1
    assert np.isfinite(cut.pgv.values[0]).sum() == there.sum()
    assert off(cut.pgv.values[:3][inner][:, there], plane[inner][:, there]) < 1e-6


def test_sites_at_the_ends_of_a_grid_below_topography_take_the_one_point_beside_them():
    case = scenario(model={"kind": "homogeneous", "vp": 3000, "vs": 1700, "rho": 2300, "topography": -200})
    space = GridSpace(build.discretise(case, build.grid_of(case), source_files.build_all(case)))
    _, ny, nx = space.d.grid.shape
    for at, one in (([5, 0, 0], True), ([5, ny - 1, nx - 1], True), ([5, 3, 4], False)):
        source = space.rows_of_sites(SimpleNamespace(points=np.array(at)[:, None]))[1][1].reshape(3, 2)
        assert (source[:2, 0] == source[:2, 1]).all() == one and source[2, 0] != source[2, 1]


# --- response spectra -------------------------------------------------------------------------------------------------------------------

PERIODS = [0.2, 0.5, 1.0, 2.0]  # s
# of `motion`, by pyrotd 0.6.1 (Kottke), which works in the frequency domain: of the components, RotD50, RotD100
PYROTD = [
    [2.10284397, 2.49039718, 1.88749949, 2.75163576],
    [1.42902426, 2.40334755, 1.92459015, 0.18122916],
    [1.28683632, 1.56614405, 1.31605368, 1.38536429],
    [1.99326299, 2.46943467, 2.13306579, 1.94630213],
    [2.43824043, 3.23685454, 2.65888961, 2.75204698],
]


def motion(dt):
    """Acceleration of the ground, m/s2: (3, n)."""
    t = np.arange(round(60 / dt)) * dt
    swell = np.where(t < 8, np.sin(np.pi * t / 8) ** 2, 0)
    east = swell * (np.sin(9.1 * t) + 0.7 * np.sin(3.3 * t + 1) + 0.4 * np.sin(21 * t))
    north = swell * (0.8 * np.sin(7.7 * t + 2) - 0.5 * np.sin(15 * t))
    return np.stack([east, north, 0.5 * east - 0.2 * north])


def test_response_spectra_against_pyrotd():
    spectra = response_spectra(np.cumsum(motion(0.002), axis=-1) * 0.002, 0.002, PERIODS)
    assert np.abs(np.vstack(spectra) / PYROTD - 1).max() < 1e-3


def test_response_spectra_of_a_run(results):
    """Of the velocities at every step, whatever the run stores; the map has those before the correction of the records."""
    result = results["sem"]
    spectra = result.response_spectra([0.2, 1.0])
    assert spectra.sa.dims == ("receiver", "component", "period") and "x" in spectra.coords
    peak = spectra.sa.max("receiver")
    rough = result.peaks["ground"].sa[:, :3].max(["x", "y"]).T
    assert np.abs(rough.values / peak.values - 1).max() < 0.05
    assert (spectra.rotd50 <= spectra.rotd100 * (1 + 1e-9)).all()
    refused(CratonError, "periods must be greater than 0", result.response_spectra, [0.0])


# --- pictures and files -----------------------------------------------------------------------------------------------------------------


def test_converted_and_drawn(results, tmp_path, capsys):
    """GeoTIFF where the model lies, turned, north up; netCDF as it is; a picture."""
    place = Local(11.0, 48.0, 30.0)
    # of the quantities of a map a picture has one panel each
    ground = results["sem"].peaks["ground"][["pgv", "sa", "duration_5_95"]]
    ground.attrs |= {"map_longitude": 11.0, "map_latitude": 48.0, "map_azimuth": 30.0}
    (tmp_path / "result.zarr").mkdir()
    write({"ground": ground}, tmp_path / "result.zarr")
    for name in ("g.tif", "g.nc"):
        assert main(["convert", str(tmp_path), str(tmp_path / name)]) == 0
    with rasterio.open(tmp_path / "g.tif") as file:
        band = file.descriptions.index("pgv N") + 1
        where = place.degrees(ground.x.values[3], ground.y.values[5])
        (x,), (y,) = transform("EPSG:4326", file.crs, [float(where[0])], [float(where[1])])
        assert file.read(band)[file.index(x, y)] == ground.pgv.values[1, 5, 3]
        assert "sa H 0.2 s" in file.descriptions and file.units[band - 1] == "m/s"
    with xarray.open_dataset(tmp_path / "g.nc") as file:
        assert np.array_equal(file.sa.values, ground.sa.values)
    assert main(["plot", str(tmp_path), "peaks"]) == 0
    assert (tmp_path / "peaks.png").stat().st_size > 30_000
    assert main(["convert", str(tmp_path), str(tmp_path / "h.nc"), "--series", "none"]) == 2
    assert "there are ground" in capsys.readouterr().err


def test_east_is_true_east(results):
    """Of a box whose y axis points east, x south: true east is y, true north is minus x."""
    base = {"receivers": [], "time__duration": 0.25}
    geographic = {"longitude": 11, "latitude": 48, "azimuth": 90}
    model, true = (
        craton.run(case, progress=False, warn=False).peaks["ground"].pgv.values
        for case in (scenario(**base), scenario(**base, domain__geographic=geographic))
    )
    sites = np.isfinite(model[0])
    assert off(true[:, sites], model[[1, 0, 2, 3]][:, sites]) < 1e-3  # the meridians converge


def test_axes_of_a_map_are_those_of_the_records_of_a_station():
    """Of a box that is turned by an angle whose rotation is not its inverse, nor the same for either component."""
    tables = {"receivers": STATION, "peaks": [{"name": "ground", "quantities": ["pgv"]}], "time__duration": 0.4}
    turned = {"longitude": 11, "latitude": 48, "azimuth": 30}
    result = craton.run(scenario(**tables, domain__geographic=turned), progress=False, warn=False)
    peaks = result.peaks["ground"].pgv[:3].sel(x=900, y=700, method="nearest")
    assert off(peaks.values, np.abs(result.dataset.velocity[0]).max("time").values) < 0.02


def test_intensity():
    """Of Worden et al. (2012), at both sides of the corner and at its limits."""
    peak = np.array([1e-6, 0.01, 0.1, 3.0])
    map_ = xarray.Dataset({"pgv": (("component", "x"), [peak, 0 * peak], {"units": "m/s"})}, {"component": ["E", "N"]})
    assert np.allclose(intensity(map_), [1.0, 3.78, 2.89 + 3.16, 10.0])
    refused(CratonError, "intensity needs pgv or pga", intensity, map_.drop_vars("pgv"))


# --- in words ---------------------------------------------------------------------------------------------------------------------------


def test_plans_say_what_maps_lack_and_problems_are_told():
    plan = str(craton.plan(scenario()))
    assert "peaks ground" in plan and "without the time-dispersion correction" in plan
    together = "spectral acceleration and periods belong together"
    for table, words in (
        ({"quantities": ["sa"]}, together),
        ({"periods": [1.0]}, together),
        ({"resolution": 0.1}, "which is not listed"),
        ({"quantities": ["mmi"]}, "mmi"),
        ({"plane": {"z": 5000}}, "outside the domain"),
        ({"damping": 1.0, "quantities": ["sa"], "periods": [1.0]}, "less than 1"),
    ):
        refused(ScenarioError, words, lambda peaks: craton.plan(scenario(peaks=peaks)), [{"name": "ground"} | table])
