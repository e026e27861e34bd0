"""Topography and water: the model's cells and messages, positions below the ground, and what the elastic scheme makes of them."""

import numpy as np
import pytest
import xarray
from scipy.interpolate import CubicSpline

import craton
from craton.core.grid import Grid
from craton.errors import ScenarioError
from craton.methods.finite_difference import build, receiver_points, snapshots
from craton.model import cell_averages, extremes, problems
from craton.model.ground import terrain
from craton.scenario import Scenario, dumps, loads
from craton.survey import problems as survey_problems
from craton.survey import receivers, source_files
from craton.tables.medium import Homogeneous, Layers

ROCK = {"vp": 1732.0508, "vs": 1000.0, "rho": 2000.0}
GRID = Grid((0.0, 0.0, -100.0), 10.0, (16, 3, 5))


def scenario(
    model,
    size=(3200, 1400),
    top=100.0,
    spacing=20.0,
    duration=1.4,
    at=(900, -150),
    receivers=((1300, -100), (1700, -100)),
    **more,
):
    values = {"run": {"threads": 1}, "boundaries": {"top": "rigid", "others": "rigid"}} | more
    wavelet = {"kind": "ricker", "frequency": 3.0, "delay": 0.4}
    return Scenario(
        domain={"origin": [0, top - size[1]], "size": size, "spacing": spacing},
        model=model,
        time={"duration": duration},
        source=[{"kind": "explosion", "moment": 1e12, "at": at, "wavelet": wavelet}],
        receivers=[{"name": f"R{n}", "at": p} for n, p in enumerate(receivers)],
        **values,
    )


def waves(asked):
    return craton.run(asked, progress=False).dataset


def misfit(found, wanted):
    """Relative L2 difference of velocity, on the times of what is wanted."""
    values = CubicSpline(found.time.values, found.velocity.values, axis=-1)(wanted.time.values)
    return np.sqrt(((values - wanted.velocity.values) ** 2).sum() / (wanted.velocity.values**2).sum())


# --- the model -------------------------------------------------------------------------------------------------------------------------


def test_cells_above_the_ground_are_empty_and_the_highest_hold_their_share():
    rho, kappa, mu = cell_averages(Homogeneous(**ROCK, topography=12.5), GRID, 0, 16)
    share = rho[:, 1, 2] / ROCK["rho"]
    assert np.allclose(share[9:14], [1, 1, 0.75, 0, 0])  # the cell around z = 10 m reaches from 5 to 15 m
    whole = cell_averages(Homogeneous(**ROCK), GRID, 0, 1)
    assert np.allclose(kappa[11] / whole[1][0], 0.75) and np.allclose(mu[11] / whole[2][0], 0.75)


def test_water_fills_what_lies_below_its_level():
    rho, kappa, mu = cell_averages(Homogeneous(**ROCK, topography=-40.0, water={"level": 0.0}), GRID, 0, 16)
    assert (
        np.allclose(rho[5:11, 0, 0], [2000, 2000, 1000, 1000, 1000, 500]) and (mu[7:] == 0).all() and (mu[:7] > 0).all()
    )
    assert np.allclose(kappa[8], 1000 * 1500**2)
    found = extremes(Homogeneous(**ROCK, topography=-40.0, water={"level": 0.0}), GRID)
    assert found["rho"] == (1000, 2000) and found["vs"][0] == 0 and found["slowest"] == 1000


def test_slopes_keep_their_volume():
    x = np.array([0.0, 40.0])
    rho, _, _ = cell_averages(Homogeneous(**ROCK, topography={"x": x, "z": [-30.0, 10.0]}), GRID, 0, 16)
    depth = (
        rho[:, 0, 1:4].sum(0) / ROCK["rho"] * 10
    )  # of the columns at x = 10, 20, 30 m; the lowest cell is half a cell
    assert np.allclose(depth - 5, np.array([-20, -10, 0]) + 100, atol=0.1)  # LEAST of a cell may be lost


ROUGH = np.random.default_rng(5).normal(0, 14, (37, 49)).cumsum(0).cumsum(1)
ROUGH = {"x": np.arange(0, 121, 2.5), "y": np.arange(0, 91, 2.5), "z": 60 * ROUGH / np.abs(ROUGH).max()}


@pytest.mark.parametrize("water", [None, {"level": -4.0}, {"level": 5.05}])
@pytest.mark.parametrize(
    "ground", [ROUGH, ROUGH | {"z": np.random.default_rng(6).uniform(-60, 70, (37, 49))}], ids=["rough", "needles"]
)
def test_rock_stands_on_rock_in_blocks(ground, water):
    """A cell of rock with none beside it to both sides has no shear stress: there is none such, nor on water, in whole grids and parts."""
    model, grid = (Homogeneous(**ROCK, topography=ground, water=water), Grid((0.0, 0.0, -100.0), 10.0, (20, 10, 13)))
    averages = cell_averages(model, grid, 0, 20)
    rho, _, mu = averages
    solid = mu > 0
    assert not (solid[1:] & ~solid[:-1]).any() and not ((rho[1:] > 0) & (rho[:-1] == 0)).any()
    blocks = solid[:, 1:, 1:] & solid[:, :-1, 1:] & solid[:, 1:, :-1] & solid[:, :-1, :-1]
    covered = np.zeros_like(solid)
    for j, i in np.ndindex(2, 2):
        covered[:, j : j + 9, i : i + 12] |= blocks
    assert (solid == covered).all() and rho[rho > 0].min() >= terrain.LEAST * (1000 if water else 2000)
    for box in ((0, 20, 0, 4, 0, 13), (0, 20, 4, 5, 3, 9), (8, 14, 4, 10, 12, 13)):
        part = (slice(*box[:2]), slice(*box[2:4]), slice(*box[4:]))
        for here, whole in zip(cell_averages(model, grid.window(box), 0, box[1] - box[0]), averages):
            assert (here == whole[part]).all()
    built = terrain.build(model)
    assert (terrain.filled(built, grid) == (rho > 0).sum(0)).all()
    assert (terrain.whole(built, grid, (3, 17, 2, 8, 1, 12)) <= (rho > 0)[3:17, 2:8, 1:12]).all()


def test_layers_follow_the_ground():
    stack = [{"top": 0, "vp": 1500, "vs": 700, "rho": 1800}, {"top": -30, "vp": 3000, "vs": 1700, "rho": 2500}]
    model = Layers(layers=stack, follow="surface", topography={"x": [0.0, 40.0], "z": [0.0, 40.0]})
    rho, _, _ = cell_averages(model, GRID, 0, 16)
    for i, ground in enumerate((0, 10, 20, 30, 40)):
        assert np.allclose(rho[[round((ground - d) / 10) + 10 for d in (20, 40)], 0, i], [1800, 2500])
    assert extremes(model, GRID)["vp"] == (1500, 3000)


@pytest.mark.parametrize(
    "topography, says",
    [
        (60.0, "it needs a spacing of air above it"),
        (-120.0, "the bottom of the domain"),
        ({"x": [0.0, 20.0, 40.0], "y": [0.0, 20.0], "z": [[0.0, 1.0, 2.0], [0.0, float("nan"), 2.0]]}, "finite"),
        ({"x": [0.0, 8.0], "y": [0.0, 20.0], "z": [[0.0, 1.0], [0.0, 2.0]]}, "has no elevation at"),
        ({"x": [0.0, 20.0], "z": [0.0]}, "one elevation for each"),
        ({"file": "/nowhere/dem.nc"}, "there is no file"),
    ],
)
def test_wrong_grounds(topography, says):
    try:
        found = problems(Homogeneous(**ROCK, topography=topography), GRID)
    except (ScenarioError, ValueError) as error:
        assert says in str(error)
        return
    assert len(found) == 1 and found[0].key == "model.topography" and says in found[0].message


def test_ground_from_arrays_and_files_and_back_from_text(tmp_path):
    x, y = np.arange(0, 3300, 100.0), np.array([-100.0, 0.0, 100.0])
    dem = xarray.DataArray(np.tile(20 * np.sin(x / 500), (3, 1)), {"y": y, "x": x}, ("y", "x"), name="z")
    dem.to_dataset().to_netcdf(tmp_path / "dem.nc", engine="h5netcdf")
    grid = Grid((0, 0, -200), 50.0, (8, 1, 60))
    models = [Homogeneous(**ROCK, topography=t) for t in (dem, {"file": tmp_path / "dem.nc"}, dem.isel(y=0, drop=True))]
    first, *others = (cell_averages(m, grid, 0, 8)[0] for m in models)
    assert all(np.allclose(first, other) for other in others) and (first == 0).any()
    for m in models:
        asked = scenario(m)
        assert loads(dumps(asked)) == asked
    with pytest.raises(ScenarioError, match="needs topography as its floor"):
        scenario({"kind": "homogeneous", **ROCK, "water": {}})


# --- positions -------------------------------------------------------------------------------------------------------------------------


def test_depths_count_from_the_ground():
    hill = {"kind": "homogeneous", **ROCK, "topography": {"x": [0, 2000], "z": [-200, 0]}, "water": {"level": -50}}
    asked = scenario(hill, at={"x": 1000, "depth": 30}, receivers=[{"x": 500, "depth": 0}, [500, -60]])
    assert source_files.build_all(asked)[0].xyz == (1000, 0, -130)
    assert np.allclose(receivers.build(asked).xyz[:, 2], [-150, -60])
    assert not survey_problems(asked)
    (problem,) = survey_problems(scenario(hill, at={"x": 1000, "depth": 30}, receivers=[[500, -40]]))
    assert "in the air" in problem.message and "-50" in problem.message


# --- waves -----------------------------------------------------------------------------------------------------------------------------


def test_receivers_far_below_the_ground_are_placed_together(monkeypatch):
    """With the bits of receivers that are placed one by one, which those near the air are."""
    depths = np.linspace(-1200, -65, 24)
    model = {"kind": "homogeneous", **ROCK, "topography": lambda x: 60 * np.sin(x / 300)}
    asked = scenario(
        model,
        receivers=[(1000.3 + 13.7 * n, z) for n, z in enumerate(depths)],
        output={"waveforms": ["velocity", "strain_rate"]},
    )
    together, singly = craton.plan(asked), receiver_points.channel_rows
    counted = []
    monkeypatch.setattr(receiver_points, "channel_rows", lambda *of: counted.append(of) or singly(*of))
    craton.plan(asked)
    assert 0 < len(counted) < len(together.channels) / 2
    monkeypatch.setattr(receiver_points, "close_to_others", lambda d, xyz: np.ones(len(xyz), bool))
    one_by_one = craton.plan(asked)
    for name in ("sample_first", "sample_source", "sample_weight"):
        assert np.array_equal(together.arrays[name].data, one_by_one.arrays[name].data)


def test_flat_ground_is_the_free_surface():
    """Order 4, 17 points per S wavelength at the peak frequency: 1.1 to 3.5 % relative L2, worst where the ground is on a half plane."""
    wanted = waves(
        scenario(
            {"kind": "homogeneous", **ROCK}, size=(3200, 1300), top=0.0, boundaries={"top": "free", "others": "rigid"}
        )
    )
    for lift in (0.0, 5.0, 10.0):
        at, there = (900, -150 + lift), [(x, -100 + lift) for x in (1300, 1700)]
        found = waves(scenario({"kind": "homogeneous", **ROCK, "topography": lift}, at=at, receivers=there))
        assert misfit(found, wanted) < 0.04, lift


def test_slope_converges():
    """A half-space under a slope of 15 degrees is a flat one turned: the misfit falls by two and more when the spacing is halved."""
    angle = np.deg2rad(15)
    c, s = np.cos(angle), np.sin(angle)

    def turn(along, out):
        return 900 + along * c - out * s, along * s + out * c

    free = {"top": "free", "others": "rigid"}
    flat = scenario({"kind": "homogeneous", **ROCK}, size=(3200, 1400), top=0.0, spacing=10.0, boundaries=free)
    wanted = waves(flat)
    errors = []
    for spacing in (20.0, 10.0):
        ground = {"x": [0, 3200], "z": [-900 * s / c, 2300 * s / c]}
        found = waves(
            scenario(
                {"kind": "homogeneous", **ROCK, "topography": ground},
                size=(3200, 2300),
                top=700.0,
                spacing=spacing,
                at=turn(0, -150),
                receivers=[turn(400, -100), turn(800, -100)],
            )
        )
        e, z = found.velocity.values[:, 0].copy(), found.velocity.values[:, -1].copy()
        found.velocity.values[:, 0], found.velocity.values[:, -1] = c * e + s * z, c * z - s * e
        errors.append(misfit(found, wanted))
    assert errors[1] < 0.15 and errors[0] > 2 * errors[1], errors


@pytest.mark.parametrize("water", [None, {"level": 60.0}])
def test_rough_mountain_is_stable_for_20000_steps(water):
    """Rigid faces, no absorption, the default step: what does not decay must not grow either."""
    x = np.arange(0, 601, 10.0)
    z = 50 + 90 * np.exp(-(((x - 300) / 80) ** 2)) + np.random.default_rng(3).normal(0, 6, x.size)
    stack = [{"top": 300, "vp": 3000, "vs": 1000, "rho": 2000}, {"top": -20, "vp": 6000, "vs": 3400, "rho": 2900}]
    model = {"kind": "layers", "layers": stack, "topography": {"x": x, "z": z}} | ({"water": water} if water else {})
    asked = scenario(
        model,
        size=(600, 400),
        top=200.0,
        spacing=10.0,
        duration=20.0,
        at={"x": 290, "depth": 12},
        receivers=[{"x": 200, "depth": 0}, {"x": 400, "depth": 30}],
    )
    found = waves(asked)
    assert found.sizes["time"] > 20000
    values = found.velocity.values
    first, last = (np.sqrt((part**2).mean()) for part in (values[..., 2000:8000], values[..., -6000:]))
    assert 0.7 < last / first < 1.3  # the energy sloshes; growth of a mode would give powers of ten


@pytest.mark.parametrize("floor", [0.0, 3.0])
def test_scholte_speed(floor):
    """Water over soft sediment, 15 points per Scholte wavelength: its phase speed within 0.3 %, wherever the floor cuts cells."""
    speed, h = 526.891, 10.0  # the root of the secular equation, shared/references/rheology
    wave = 15 * h
    frequency = speed / wave
    away = np.arange(8, 17, 0.25) * wave
    stack = [{"top": 330, "vp": 1500, "vs": 0, "rho": 1000}, {"top": floor, "vp": 1800, "vs": 600, "rho": 1900}]
    asked = Scenario(
        domain={"origin": [0, -330], "size": [28 * wave, 660], "spacing": h},
        model={"kind": "layers", "layers": stack},
        time={"duration": 20 * wave / speed + 2.5 / frequency},
        boundaries={"top": "cpml", "others": "cpml"},
        run={"threads": 1},
        source=[
            {
                "kind": "force",
                "force": [0, 1e9],
                "at": [6 * wave, floor - 0.3 * wave],
                "wavelet": {"kind": "ricker", "frequency": frequency, "delay": 1.5 / frequency},
            }
        ],
        receivers=[{"name": f"R{n}", "at": [6 * wave + x, floor - 0.5 * wave]} for n, x in enumerate(away)],
    )
    found = waves(asked)
    t, z = found.time.values, found.velocity.values[:, -1]
    near = np.exp(-(((t - 1.5 / frequency - away[:, None] / speed) * frequency / 1.6) ** 2))
    phase = np.unwrap(np.angle((z * near * np.exp(-2j * np.pi * frequency * t)).sum(-1)))
    assert -2 * np.pi * frequency / np.polyfit(away, phase, 1)[0] == pytest.approx(speed, rel=0.003)


def test_hill_and_lake_in_space():
    """A hill and a lake in 3-D, rigid faces: reciprocal to rounding, so sources, receivers and the operator are adjoint."""
    x = np.arange(0, 601, 20.0)
    z = 60 * np.exp(-(((x - 220) / 80) ** 2 + ((x[:, None] - 300) / 90) ** 2)) - 60 * np.exp(-(((x - 420) / 60) ** 2))
    model = {"kind": "homogeneous", **ROCK, "topography": {"x": x, "y": x, "z": z}, "water": {"level": -10}}
    places = ({"x": 220, "y": 300, "depth": 15}, {"x": 330, "y": 260, "depth": 25})
    got = []
    for here, there in (places, places[::-1]):
        asked = Scenario(
            domain={"origin": [0, 0, -360], "size": [600, 600, 460], "spacing": 20},
            model=model,
            time={"duration": 2.0, "start": -0.5},
            source=[{"kind": "force", "force": [0, 0, 1e9], "at": here, "wavelet": {"kind": "ricker", "frequency": 4}}],
            receivers=[{"name": "R", "at": there}],
            run={"threads": 1, "precision": "float64"},
            boundaries={"top": "rigid", "others": "rigid"},
        )
        got.append(waves(asked).velocity.values[0, -1])
    assert np.abs(got[0] - got[1]).max() < 1e-9 * np.abs(got[0]).max()


def test_air_shows_nothing_in_pictures():
    asked = scenario(
        {"kind": "homogeneous", **ROCK, "topography": {"x": [0, 3200], "z": [0, -200]}},
        duration=0.6,
        receivers=[],
        at={"x": 900, "depth": 100},
        snapshots=[{"name": "s", "every": 0.3}],
    )
    plan = build.build(asked)
    (series,) = plan.snapshots
    picture = snapshots.picture(
        series, {name: np.ones(plan.arrays[name].shape)[plan.arrays[name].window] for name in series.reads}
    )
    assert np.isnan(picture[:, -1]).all() and np.isfinite(picture[:, :40]).all()
