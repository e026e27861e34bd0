"""Gravity of labelled data: layers of Harmonica, volumes, tables of pandas, grids of xarray and Verde, against Harmonica itself."""

import json

import harmonicacase
import numpy as np
import pandas
import pytest
import xarray

import craton
from craton import gravity
from craton.conventions import GRAVITY

EAST, NORTH = np.arange(5) * 200.0, 50 + np.arange(4) * 150.0
UPWARD = np.array([-700.0, -400.0, -100.0])
FIELDS = tuple(GRAVITY)


@pytest.fixture(scope="module")
def harmonica():
    return harmonicacase.library("harmonica")


@pytest.fixture(scope="module")
def layer(harmonica):
    """Columns with a density each, above and below the reference; one has no top."""
    rng = np.random.default_rng(3)
    surface = rng.uniform(-300, -50, (4, 5))
    surface[2, 3] = np.nan
    density = rng.uniform(-400, 400, (4, 5))
    return harmonica.prism_layer((EAST, NORTH), surface, -180.0, {"density": density})


@pytest.fixture(scope="module")
def grid():
    """Verde's grid: easting and northing as dimensions, upward over both."""
    verde = pytest.importorskip("verde")
    at = verde.grid_coordinates((-100, 900, 0, 500), shape=(3, 4), extra_coords=20.0)
    heights = 20 + np.arange(12.0).reshape(3, 4)
    return verde.make_xarray_grid((*at[:2], heights), at[0] * 0, "nothing", extra_coords_names="upward")


def close(ours, theirs):
    return np.linalg.norm(np.asarray(ours) - theirs) < 1e-9 * np.linalg.norm(theirs)


def test_layers_give_the_fields_of_harmonica(layer, grid):
    out = gravity.forward(layer, points=grid, fields=FIELDS, device="cpu")
    easting, northing = np.meshgrid(grid.easting, grid.northing)
    for name in FIELDS:
        theirs = layer.prism_layer.gravity((easting, northing, grid.upward.values), field=name)
        assert close(out[name], theirs), name
    assert out.g_z.dims == ("northing", "easting") and out.g_z.units == "mGal"
    assert out.g_ez.attrs["units"] == "Eotvos" and out.g_ez.attrs["estimated_error"] >= 0
    assert out.coords.equals(grid.coords) and out.attrs["device"].startswith("CPU")
    assert "nothing" not in out


SIMPEG = {"g_e": "e", "g_n": "n", "g_z": "u", "g_ee": "ee", "g_nn": "nn", "g_zz": "uu"}
SIMPEG |= {"g_en": "en", "g_ez": "eu", "g_nz": "nu"}  # choclo's functions behind gx, gy, gz, ..
DOWN = ("g_z", "g_ez", "g_nz")


def test_signs_are_those_of_the_table(harmonica):
    """Off all planes of symmetry, so that no field is zero: Harmonica, SimPEG's choclo, differences of the potential."""
    choclo = harmonicacase.library("choclo")
    prism, density, at = ([-300.0, 500.0, -200.0, 400.0, -900.0, -350.0], 300.0, (700.0, -450.0, 60.0))
    ours = {name: float(row) for name, row in gravity.forward([prism], density, at, FIELDS).items()}
    for name, theirs in ours.items():
        there = harmonica.prism_gravity(tuple(map(np.atleast_1d, at)), prism, density, name)[0]
        assert theirs == pytest.approx(there, rel=1e-10), name
    for name, word in SIMPEG.items():
        function = getattr(choclo.prism, f"gravity_{word}")
        theirs = function(*at, *prism, density) * (1e5 if len(name) == 3 else 1e9)
        assert ours[name] == pytest.approx(-theirs if name in DOWN else theirs, rel=1e-10), name
    step = 2.0
    axes = {"e": np.array([step, 0, 0]), "n": np.array([0, step, 0]), "z": np.array([0, 0, -step])}
    for name in FIELDS[1:]:
        along = [axes[letter] for letter in name[2:]]
        signs = np.array(np.meshgrid(*[[1.0, -1.0]] * len(along))).reshape(len(along), -1)
        points = np.array(at)[:, None] + np.stack(along, axis=1) @ signs
        potential = gravity.forward([prism], density, tuple(points), "potential")["potential"]
        slope = (potential * signs.prod(axis=0)).sum() / (2 * step) ** len(along)
        unit = 1e5 if len(along) == 1 else 1e9
        assert unit * slope == pytest.approx(ours[name], rel=2e-3), name


def test_points_without_a_limit_are_nan_as_in_harmonica_and_warned_of(harmonica, tmp_path, caplog):
    prism, names = [0.0, 100, 0, 100, -100, 0], ("g_z", "g_ee", "g_en")
    at = (np.array([50.0, 0, 100]), np.array([50.0, 0, 100]), np.array([0.0, -50, 0]))
    with pytest.warns(UserWarning, match=r"nan in g_ee at 2, g_en at 2 of 3 points.*point 1 at \(0, 0, -50\) m"):
        ours = gravity.forward([prism], 300, at, names, device="cpu")
    for name in names:
        theirs = harmonica.prism_gravity(at, prism, 300.0, name)
        assert np.array_equal(np.isnan(ours[name]), np.isnan(theirs)), name
    matrix = gravity.operator([prism], at, ("g_en",), device="cpu")
    with pytest.warns(UserWarning, match="nan in g_en at 2 of 3"):
        matrix @ np.ones(1)
    with pytest.warns(UserWarning, match="nan in the transpose for 1 of 1 prisms"):
        matrix.T @ np.ones(3)
    points = {"kind": "scattered", "at": np.array(at).T.tolist()}
    prisms = {"kind": "table", "rows": [[*prism, 300.0]]}
    scenario = craton.Scenario(
        method="gravity", gravity={"fields": list(names)}, prisms=prisms, points=points, run={"device": "cpu"}
    )
    craton.run(scenario, out=tmp_path / "out", progress=False)
    said = json.loads((tmp_path / "out" / "run.json").read_text())["warnings"][-1]
    assert said in caplog.text and "nan in g_ee at 2, g_en at 2 of 3 points" in said


def test_random_prisms_in_a_table_at_points_in_a_table(harmonica):
    rng = np.random.default_rng(5)
    corner = rng.uniform([0, 0, -2000], [4000, 3000, -300], (30, 3))
    sides = np.stack([corner, corner + rng.uniform(20, 280, (30, 3))], axis=2).reshape(30, 6)
    density = rng.uniform(-500, 500, 30)
    names = ["west", "east", "south", "north", "bottom", "top"]
    table = pandas.DataFrame(sides, columns=names).assign(contrast=density)
    stations = pandas.DataFrame(
        rng.uniform([0, 0, 1], [4000, 3000, 900], (11, 3)),
        columns=["Easting", "Northing", "Upward"],
        index=[f"S{n}" for n in range(11)],
    )
    out = gravity.forward(table, "contrast", stations, FIELDS, device="cpu")
    at = tuple(stations.to_numpy().T)
    for name in FIELDS:
        assert close(out[name], harmonica.prism_gravity(at, sides, density, name)), name
    assert list(out.columns) == [*stations.columns, *FIELDS] and list(out.index)[-1] == "S10"
    assert out.attrs["units"]["g_zz"] == "Eotvos" and "g_z" not in stations
    down = stations.assign(depth=-stations.Upward).drop(columns="Upward")
    assert np.allclose(gravity.forward(table, "contrast", down, device="cpu").g_z, out.g_z)


@pytest.mark.parametrize("names", [("easting", "northing", "upward"), ("x", "y", "depth")])
def test_volumes_are_cells_around_their_points(names):
    """A density over x, y, z is that of cells around its points, whichever way the axes run; a linear operator has these columns."""
    rho = np.random.default_rng(1).uniform(100, 400, (3, 4, 5))
    x, y, z = names
    down = z == "depth"
    axes = {z: -UPWARD[::-1] if down else UPWARD, y: NORTH, x: EAST}
    volume = xarray.DataArray(rho[::-1] if down else rho, coords=axes)
    at = (np.array([100.0, 400.0]), 200.0, 30.0)
    k, j, i = np.indices(rho.shape).reshape(3, -1)
    centre = np.stack([EAST[i], NORTH[j], UPWARD[k]], axis=1)
    half = np.array([100, 75, 150])
    prisms = np.stack([centre - half, centre + half], axis=2).reshape(-1, 6)
    expected = gravity.forward(prisms, rho.ravel(), at, device="cpu")["g_z"]
    assert close(gravity.forward(volume, points=at, device="cpu")["g_z"], expected)
    held = xarray.Dataset({"contrast": volume / 1000, "porosity": volume})
    held.contrast.attrs["units"] = "g/cm3"
    assert close(gravity.forward(held, "contrast", at, device="cpu")["g_z"], expected)
    assert close(gravity.operator(volume, at, device="cpu") @ rho.ravel(), expected)


def test_points_of_every_shape(layer):
    """Along a line, at one level, on levels; in kilometres; and as an array of heights."""
    line = xarray.Dataset(coords={"x": ("p", [0.0, 100.0]), "y": ("p", [1.0, 2.0]), "z": ("p", [5.0, 6.0])})
    kilometres = xarray.DataArray([0.0, 0.1], dims="p", attrs={"units": "km"})
    out = gravity.forward(layer, points=line, device="cpu").g_z
    assert out.dims == ("p",) and out.shape == (2,)
    moved = line.assign_coords(x=kilometres)
    assert np.allclose(gravity.forward(layer, points=moved, device="cpu").g_z, out)
    axes = {"northing": [0.0, 100.0, 200.0], "easting": [0.0, 300.0]}
    level = xarray.Dataset(coords=axes | {"upward": 10.0})
    levels = xarray.Dataset(coords=axes | {"upward": [10.0, 20.0, 30.0, 40.0]})
    heights = xarray.DataArray(np.full((3, 2), 10.0), coords=axes, name="upward")
    flat, cube, over = (gravity.forward(layer, points=points, device="cpu") for points in (level, levels, heights))
    assert flat.g_z.dims == over.g_z.dims == ("northing", "easting")
    assert cube.g_z.dims == ("upward", "northing", "easting")
    assert np.allclose(cube.g_z[0], flat.g_z) and np.allclose(over.g_z, flat.g_z)
    assert float(over.upward.max()) == 10


def test_bad_labels_are_named(layer, grid):
    at = (0.0, 0.0, 1.0)
    lonlat = grid.rename(easting="longitude", northing="latitude")
    table = pandas.DataFrame({"west": [0], "east": [1]})
    for arguments, said in (
        ((layer, None, lonlat), "no x or easting.*project to metres"),
        ((layer, None, grid.drop_vars("upward")), "no upward or z"),
        ((layer, "rho", at), "no 'rho' among density"),
        ((layer, None, None), "points are missing"),
        ((table, 1.0, at), "no column south, north, bottom, top; it has west, east"),
        (([[0, 1, 0, 1, 0, 1]], None, at), "need a density"),
        (([[0, 1, 0, 1, 0, 1]], "density", at), "have no names"),
        ((grid, None, at), "top and bottom over northing and easting.*nothing"),
        ((layer.rename(easting="lon"), None, at), "needs northing and easting"),
    ):
        with pytest.raises(ValueError, match=said):
            gravity.forward(*arguments, device="cpu")
    missing = layer.assign(density=layer.density.where(layer.density != layer.density[0, 0]))
    with pytest.warns(UserWarning, match="1 prisms of the layer have no density"):
        gravity.forward(missing, points=at, device="cpu")


def test_a_scenario_reads_a_layer_that_harmonica_saved(layer, tmp_path):
    """Top and bottom are coordinates of the file, and each column has its density; without those that are missing it is refused."""
    saved = layer.copy(deep=True)
    saved["density"] = saved.density / 1000
    saved.density.attrs["units"] = "g/cm3"
    saved.to_netcdf(tmp_path / "layer.nc")
    file = str(tmp_path / "layer.nc")
    columns = {name: {"file": file, "variable": name} for name in ("top", "bottom", "density")}
    prisms = {"kind": "layer", "missing": "drop", **columns}
    points = {"kind": "scattered", "at": [[100.0, 200.0, 30.0], [400.0, 200.0, 30.0]]}
    values = {"method": "gravity", "prisms": prisms, "points": points, "run": {"device": "cpu"}}
    out = craton.run(craton.Scenario(**values), progress=False).dataset
    expected = gravity.forward(layer, points=(np.array([100.0, 400.0]), 200.0, 30.0), device="cpu")
    assert close(out.g_z, expected["g_z"])
    with pytest.raises(craton.errors.ScenarioError, match="1 of 20 points have no elevation"):
        craton.plan(craton.Scenario(**values | {"prisms": prisms | {"missing": "refuse"}}))


def columns(unit="m", height="m", mass="kg/m3", turned=(False, False)):
    """A layer of Harmonica's names in other units, with axes that may fall."""
    per = {"m": 1.0, "km": 1e3, "ft": 0.3048, "kg/m3": 1.0, "g/cm3": 1e3, "g cm^-3": 1e3}
    rng, dims = np.random.default_rng(7), ("northing", "easting")
    values = {
        "top": (rng.uniform(-200, 0, (4, 5)), height),
        "bottom": (np.full((4, 5), -1000.0), height),
        "density": (rng.uniform(-300, 400, (4, 5)), mass),
    }
    out = xarray.Dataset(
        {name: (dims, v / per[u], {"units": u}) for name, (v, u) in values.items()},
        {d: (d, a / per[unit], {"units": unit}) for d, a in zip(dims, (NORTH, EAST))},
    )
    return out[{d: slice(None, None, -1) for d, falls in zip(dims, turned) if falls}]


@pytest.mark.parametrize(
    "other",
    [
        {"mass": "g/cm3"},
        {"mass": "g cm^-3", "height": "ft"},
        {"height": "km"},
        {"unit": "km"},
        {"turned": (True, False)},
        {"turned": (True, True), "unit": "ft"},
    ],
    ids=str,
)
def test_layers_are_in_their_units_and_may_fall(other, tmp_path):
    """In Python and by a scenario; a linear operator has the columns in the order of the values."""
    at, names = (np.array([100.0, 700.0]), 120.0, 30.0), ("g_z", "g_ez", "potential")
    expected = gravity.forward(columns(), points=at, fields=names, device="cpu")
    layer = columns(**other)
    found = gravity.forward(layer, points=at, fields=names, device="cpu")
    assert all(close(found[name], expected[name]) for name in names)
    density = columns(turned=other.get("turned", (False, False))).density.values.ravel()
    assert close(gravity.operator(layer, at, device="cpu") @ density, expected["g_z"])
    given = layer.drop_vars("density")
    found = gravity.forward(given, layer.density, at, device="cpu")
    assert close(found["g_z"], expected["g_z"])
    layer.to_netcdf(tmp_path / "layer.nc")
    file = {"file": str(tmp_path / "layer.nc")}
    prisms = {"kind": "layer"} | {name: file | {"variable": name} for name in ("top", "bottom", "density")}
    points = {"kind": "scattered", "at": [[100, 120, 30], [700, 120, 30]]}
    scenario = craton.Scenario(method="gravity", prisms=prisms, points=points, run={"device": "cpu"})
    assert close(craton.run(scenario, progress=False).dataset.g_z, expected["g_z"])


def test_tables_arrays_and_volumes_are_in_their_units():
    """Columns of pandas, arrays with attributes, depths that count downward, a number beside a volume."""
    sides = np.array([[0.0, 300, 0, 200, -900, -400], [300, 500, 0, 200, -800, -500]])
    names = ["west", "east", "south", "north", "bottom", "top"]
    density, at = np.array([300.0, -200.0]), (np.array([100.0, 400.0]), 90.0, 30.0)
    expected = gravity.forward(sides, density, at, device="cpu")["g_z"]
    table = pandas.DataFrame(sides / 1e3, columns=names).assign(rho=density / 1e3)
    table.attrs["units"] = dict.fromkeys(names, "km") | {"rho": "g/cm3"}
    assert close(gravity.forward(table, points=at, device="cpu")["g_z"], expected)
    held = xarray.DataArray(density / 1e3, dims="prism", attrs={"units": "g/cm3"})
    assert close(gravity.forward(sides, held, at, device="cpu")["g_z"], expected)
    stations = pandas.DataFrame({"x": at[0] / 1e3, "y": 0.09, "depth": -30.0})
    stations.attrs["units"] = {"x": "km", "y": "km"}
    assert close(gravity.forward(sides, density, stations, device="cpu").g_z, expected)
    parts = [xarray.DataArray(part, dims="p", attrs={"units": "km"}) for part in (at[0] / 1e3,)]
    down = xarray.DataArray(-30.0, attrs={"positive": "down"})
    assert close(gravity.forward(sides, density, (*parts, 90.0, down), device="cpu")["g_z"], expected)
    layer = columns()
    depths = layer.assign(bottom=(-layer.bottom).assign_attrs(positive="down"))
    ours, theirs = (gravity.forward(data, points=at, device="cpu")["g_z"] for data in (depths, layer))
    assert close(ours, theirs)
    rho = xarray.DataArray(np.full((3, 4, 5), 150.0), coords={"upward": UPWARD, "northing": NORTH, "easting": EAST})
    ours, theirs = (gravity.forward(rho, given, at, device="cpu")["g_z"] for given in (300.0, None))
    assert close(ours, 2 * theirs)
    with pytest.raises(ValueError, match="a density over x, y, z has its own values"):
        gravity.forward(rho, rho.values, at, device="cpu")


def test_units_that_cannot_be_are_refused_and_doubtful_densities_warned_of(layer, tmp_path):
    at = (100.0, 200.0, 30.0)
    for data, said in (
        (columns().assign(density=columns().density.assign_attrs(units="m/s")), "is a velocity"),
        (columns().assign(top=columns().top.assign_attrs(units="furlong")), "unknown unit"),
        (columns().assign_coords(easting=columns().easting.assign_attrs(units="kg")), "'kg'"),
    ):
        with pytest.raises(ValueError, match=said):
            gravity.forward(data, points=at, device="cpu")
    with pytest.raises(ValueError, match="unknown unit"):
        bad = xarray.DataArray(1.0, attrs={"units": "furlong"})
        gravity.forward(columns(), points=(bad, 0.0, 10.0), device="cpu")
    light, heavy = (layer.assign(density=layer.density * f) for f in (1e-3, 1e3))
    for data, said in ((light, "no density is above 0.3988.*g/cm3"), (heavy, "reach 3.988e.05")):
        with pytest.warns(UserWarning, match=said):
            gravity.forward(data, points=at, device="cpu")
    light.to_netcdf(tmp_path / "layer.nc")
    file = {"file": str(tmp_path / "layer.nc")}
    prisms = {"kind": "layer", "missing": "drop", "top": 0, "bottom": file | {"variable": "bottom"}}
    prisms["density"] = file | {"variable": "density"}
    points = {"kind": "scattered", "at": [list(at)]}
    plan = craton.plan(craton.Scenario(method="gravity", prisms=prisms, points=points))
    assert any("no density is above 0.3988" in text for text in plan.warnings)
