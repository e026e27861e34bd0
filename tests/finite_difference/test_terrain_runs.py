"""Topography together with everything else: layers at the sides, attenuation, faults, plane waves, many shots, files and functions."""

from types import SimpleNamespace

import benchscript
import numpy as np
import pytest
import xarray

import craton
from craton.core.grid import Grid
from craton.errors import ScenarioError
from craton.methods.finite_difference import build, faults, points
from craton.model import cell_averages
from craton.model.ground import terrain
from craton.scenario import Scenario, dumps, loads
from craton.survey import problems as survey_problems
from craton.survey import sources
from craton.tables.medium import Homogeneous
from craton.validation import stability

ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}


def mountain(**more):
    """A rough mountain between two plains in the plane: 60 x 40 cells of 10 m."""
    x = np.arange(0, 601, 10.0)
    z = (
        50
        + 80 * np.exp(-(((x - 300) / 70) ** 2))
        + np.where(abs(x - 300) < 150, np.random.default_rng(3).normal(0, 5, x.size), 0)
    )
    stack = [{"top": 300, **ROCK}, {"top": -60, "vp": 6000, "vs": 3400, "rho": 2900}]
    if "q" in more:
        stack = [layer | {"qp": more["q"], "qs": more["q"]} for layer in stack]
    model = {"kind": "layers", "layers": stack, "topography": {"x": x, "z": z}}
    values = {
        "domain": {"origin": [0, -200], "size": [600, 400], "spacing": 10},
        "time": {"duration": 0.6},
        "run": {"threads": 1},
        "boundaries": {"top": "rigid", "others": "cpml"},
        "source": [
            {
                "kind": "explosion",
                "moment": 1e12,
                "at": {"x": 260, "depth": 40},
                "wavelet": {"kind": "ricker", "frequency": 12},
            }
        ],
        "receivers": [{"name": "A", "at": {"x": 150, "depth": 0}}, {"name": "B", "at": {"x": 380, "depth": 20}}],
    }
    return Scenario(
        **values
        | {"model": model | ({"attenuation": {"band": [1, 40]}} if "q" in more else {})}
        | {k: v for k, v in more.items() if k != "q"}
    )


def waves(asked):
    return craton.run(asked, progress=False).dataset.velocity


def peaks(found, parts):
    """Largest value in each of so many parts of the time."""
    return [float(abs(part).max()) for part in np.array_split(found.values, parts, axis=-1)]


# --- long runs -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more, left",
    [({}, 1e-3), ({"q": 20.0}, 1e-3), ({"q": 20.0, "boundaries": {"top": "rigid", "others": "rigid"}}, 0.1)],
    ids=["cpml", "cpml, Q = 20", "rigid, Q = 20"],
)
def test_mountain_dies_out_over_20000_steps(more, left):
    """With CPML on three faces, and with attenuation: what a mode that grows would have raised by powers of ten has died out.

    The layers leave a swing of 7.3 s, which decays: each part is longer than half of that. All from 16 s on is small.
    """
    found = waves(mountain(time={"duration": 40}, **more))
    assert found.sizes["time"] > 40_000
    first, *later = peaks(found, 10)
    assert max(later[3:]) < left * first and all(b < 1.2 * a for a, b in zip(later, later[1:]))


@pytest.mark.parametrize("row, limit", [("peak", 1e-6), ("hills", 1e-6), ("hills-water", 1e-3)])
def test_nothing_swings_on(row, limit):
    """A hill one cell wide at its top swung for ever at a tenth of the peak; what is left in water is eddies (docs/terrain.md)."""
    found = stability.measure(stability.ROWS[row].scenario(None, "P-SV"), 20_000, "cpu", threads=1)
    assert found["ratio"] < limit and not found["grows"]


def test_mountain_in_space_dies_out():
    x = np.arange(0, 301, 10.0)
    z = -40 + 60 * np.exp(-(((x - 150) / 50) ** 2 + ((x[:, None] - 140) / 60) ** 2))
    asked = Scenario(
        domain={"origin": [0, 0, -260], "size": [300, 300, 310], "spacing": 10},
        time={"duration": 2.0},
        model={"kind": "homogeneous", **ROCK, "topography": {"x": x, "y": x, "z": z}},
        boundaries={"top": "rigid", "others": "cpml", "cpml": {"thickness": 8}},
        run={"threads": 1},
        source=[
            {
                "kind": "explosion",
                "moment": 1e12,
                "at": {"x": 140, "y": 150, "depth": 40},
                "wavelet": {"kind": "ricker", "frequency": 14},
            }
        ],
        receivers=[{"name": "A", "at": {"x": 150, "y": 140, "depth": 0}}],
    )
    first, *later = peaks(waves(asked), 6)
    assert later[-1] < 0.02 * first and all(b < 1.05 * a for a, b in zip(later, later[1:]))


# --- sources and receivers -------------------------------------------------------------------------------------------------------------


def test_many_shots_are_those_one_by_one():
    shots = {"from": {"x": 200, "depth": 30}, "to": {"x": 420, "depth": 30}, "count": 3}
    source = {"kind": "explosion", "moment": 1e12, "wavelet": {"kind": "ricker", "frequency": 12}}
    together = mountain(source=[source | {"shots": shots}])
    found = waves(together)
    xyz = np.array(sources.positions(together, together.source[0]))
    assert len(set(np.round(xyz[:, 2], 3))) == 3  # each hangs below its own ground
    for n, place in enumerate(xyz):
        alone = waves(mountain(source=[source | {"at": [place[0], place[2]]}]))
        assert np.abs(found.isel(shot=n).values - alone.values).max() < 1e-5 * abs(alone.values).max()


def test_a_plane_wave_rises_below_the_ground_only():
    wave = {"kind": "plane_wave", "wave": "SV", "velocity": 0.1, "wavelet": {"kind": "ricker", "frequency": 12}}
    sides = {"top": "rigid", "bottom": "cpml", "others": "periodic"}
    found = waves(mountain(source=[wave | {"z": -60}], boundaries=sides))
    assert 0.1 < abs(found.values).max() < 1  # doubled at the surface, and what the mountain makes of it
    (problem,) = survey_problems(mountain(source=[wave | {"z": 60}], boundaries=sides))
    assert problem.key == "source.0.z" and "cuts the topography" in problem.message


def test_faults_act_on_matter_only():
    """A subfault below a slope: no weight on a point with air around it, the moment is kept; one in the air is refused."""
    x = np.arange(0, 201, 20.0)
    grid = Grid((0.0, 0.0, -200.0), 10.0, (30, 21, 21))
    model = Homogeneous(**ROCK, topography={"x": x, "y": x, "z": np.tile(x / 5, (11, 1))})
    ground = terrain.build(model)
    d = SimpleNamespace(
        grid=grid,
        ground=ground,
        planar=False,
        partly_fluid=False,
        vacuum_planes=(19, 25),
        norms=lambda k, half: np.ones(len(k)),
        cell=lambda at: at,
        whole_box=lambda box: terrain.whole(ground, grid, box),
    )
    places = np.array([[10.3, 9.7, 21.0], [4.0, 12.2, 10.5]])  # the surface lies at 22.05 and at 20.8
    for half in ((0, 0, 0), (1, 1, 0), (1, 0, 1)):
        (k, j, i), weights = faults.around(d, places, half, 8)
        plain = faults.around(SimpleNamespace(**vars(d) | {"ground": None}), places, half, 8)[1]
        assert np.allclose(weights.sum(1), 1) and (weights[1] == plain[1]).all() and not (weights[0] == plain[0]).all()
        rock = sum(ground.shares(grid, 0, 30))
        assert (rock[k[0], j[0], i[0]][weights[0] != 0] > terrain.FULL).all()
    with pytest.raises(ScenarioError, match="in the air"):
        faults.around(d, places + np.array([0, 0, 4.0]), (0, 0, 0), 8)


def test_points_deep_in_rock_are_interpolated_as_without_topography():
    """Also those less than half a cell from a grid point, whose eight points begin one further down."""
    slope = {"x": np.arange(0, 201, 20.0), "y": np.arange(0, 201, 20.0)}
    ground = terrain.build(Homogeneous(**ROCK, topography=slope | {"z": np.zeros((11, 11))}))
    halves = {"vx": (1, 0, 0), "vz": (0, 0, 1), "sxx": (0, 0, 0), "sxz": (1, 0, 1)}
    grid = Grid((0.0, 0.0, -200.0), 10.0, (30, 21, 21))
    d = SimpleNamespace(
        grid=grid,
        ground=ground,
        planar=False,
        half=halves.get,
        cell=lambda at: at,
        whole_box=lambda box: terrain.whole(ground, grid, box),
    )
    random = np.random.default_rng(0)
    for position in random.uniform(5, 15, (20, 3)):
        for field, half in halves.items():
            *at, _ = points.point_weights(tuple(position), half, (30, 21, 21))
            assert np.array_equal(at, points.point_indices(tuple(position), half, (30, 21, 21)))
            assert not points.reaches_other(d, field, at, None)
            shallow = (*position[:2], 20.2)
            assert points.reaches_other(d, field, points.point_indices(shallow, half, (30, 21, 21)), None)
            k, _, _, weights = points.own_points(d, field, shallow, None, None)
            assert k.max() <= 20 and abs(weights.sum() - 1) < 1e-9


def test_a_fibre_along_the_ground():
    path = [{"x": 120, "depth": 15}, {"x": 480, "depth": 15}]
    asked = mountain(receivers=[{"name": "D", "das": {"along": path, "gauge": 20, "spacing": 20}}])
    samples = craton.run(asked, progress=False).samples
    assert np.isfinite(samples).all() and (abs(samples).max(0) > 0).all()


# --- grounds ---------------------------------------------------------------------------------------------------------------------------


def test_ground_from_a_function():

    def hill(x):
        return 30 * np.sin(x / 90)

    asked = mountain(model={"kind": "homogeneous", **ROCK, "topography": hill})
    x = np.arange(0, 601, 10)
    assert np.allclose(asked.model.topography.x, x) and np.allclose(asked.model.topography.z, hill(x))
    assert loads(dumps(asked)) == asked
    space = {"origin": [0, 0, -200], "size": [100, 50, 300], "max_frequency": 20}
    source = [{"kind": "explosion", "moment": 1e12, "at": [50, 20, -60], "wavelet": {"kind": "ricker", "frequency": 5}}]
    slope = {"kind": "homogeneous", **ROCK, "topography": lambda x, y: x / 10 - y}
    asked = mountain(domain=space, source=source, receivers=[], model=slope)
    z = np.array(asked.model.topography.z)
    assert z.shape == (500, 500) and z[0, -1] == pytest.approx(10) and z[-1, 0] == pytest.approx(-50)
    with pytest.raises(ScenarioError, match="spacing"):
        mountain(
            domain={"origin": [0, -200], "size": [600, 400]}, model={"kind": "homogeneous", **ROCK, "topography": hill}
        )


def dem():
    x, y = np.arange(0, 700, 50.0), np.arange(-100, 101, 50.0)
    return xarray.DataArray(20 * np.sin(x / 90) + y[:, None] / 20, {"y": y, "x": x}, ("y", "x"), name="z")


def averaged(topography):
    return cell_averages(Homogeneous(**ROCK, topography=topography), Grid((0, -50, -200), 10.0, (24, 11, 60)), 0, 24)[0]


def test_ground_from_zarr(tmp_path):
    dem().to_dataset().to_zarr(tmp_path / "dem.zarr", consolidated=False)
    assert (averaged({"file": tmp_path / "dem.zarr"}) == averaged(dem())).all()


def test_ground_from_geotiff(tmp_path):
    """Rows from north to south, gaps as no-data, and degrees refused."""
    pytest.importorskip("rioxarray")
    rows = dem().isel(y=slice(None, None, -1))
    rows.rio.write_crs("EPSG:32633").rio.to_raster(tmp_path / "dem.tif")
    assert np.allclose(averaged({"file": tmp_path / "dem.tif"}), averaged(dem()), atol=1e-9)
    rows.rio.write_crs("EPSG:4326").rio.to_raster(tmp_path / "degrees.tif")
    with pytest.raises(ScenarioError, match="longitude and latitude"):
        averaged({"file": tmp_path / "degrees.tif"})


# --- the set-up of Okamoto et al. (2010) -------------------------------------------------------------------------------------------------


def test_okamoto_on_a_small_grid():
    """A1, sponge and periodic sides, an ocean and hills: 700 steps without growth."""
    asked = benchscript.load("cases.builders").okamoto((48, 48, 56), 700, spacing=1600.0)
    plan = build.build(asked)
    launched = {launch.op.name for phase in plan.phases for launch in phase.launches}
    assert {"a1_z0", "wrap", "sponge_y", "velocity_terrain"} <= launched and plan.grid.shape == (56, 48, 48)
    found = craton.run(asked, device="cpu", progress=False).samples
    parts = [abs(part).max() for part in np.array_split(found, 7)]
    assert max(parts) > 1e-6 and parts[-1] < 0.9 * max(parts)
