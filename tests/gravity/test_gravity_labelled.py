"""Gravity of labelled data: layers of Harmonica, volumes, tables of pandas, grids of Verde, against plain arrays and Harmonica."""

from functools import partial

import numpy as np
import pandas
import pytest
import xarray
from common import manifest, refused
from gravitycase import between, close, library

import craton
from craton import gravity
from craton.conventions import GRAVITY

EAST, NORTH, UPWARD = np.arange(5) * 200.0, 50 + np.arange(4) * 150.0, np.array([-700.0, -400.0, -100.0])
DIMS, FIELDS, SIDES = ("northing", "easting"), tuple(GRAVITY), ["west", "east", "south", "north", "bottom", "top"]
RNG = np.random.default_rng(3)
SURFACE, DENSITY = RNG.uniform(-300, -50, (4, 5)), RNG.uniform(-400, 400, (4, 5))
SURFACE[2, 3] = np.nan  # a column without a top
forward = partial(gravity.forward, device="cpu")
scenario = partial(craton.Scenario, method="gravity", run={"device": "cpu"})


@pytest.fixture
def layer():
    """Columns with a density each, above and below the reference, as Harmonica's `prism_layer` has them."""
    ends = {"top": (DIMS, np.maximum(SURFACE, -180)), "bottom": (DIMS, np.fmin(SURFACE, -180))}
    return xarray.Dataset({"density": (DIMS, DENSITY)}, {"easting": EAST, "northing": NORTH} | ends)


@pytest.fixture
def grid():
    """As Verde makes grids: easting and northing as dimensions, upward over both."""
    upward = DIMS, 20 + np.arange(12.0).reshape(3, 4)
    coords = {"northing": [0, 250, 500.0], "easting": np.linspace(-100, 900, 4), "upward": upward}
    return xarray.Dataset({"nothing": (DIMS, np.zeros((3, 4)))}, coords)


def layer_file(folder, dataset, **more):
    """The prisms of a scenario: a layer in a file."""
    dataset.to_netcdf(folder / "layer.nc")
    file = {"file": str(folder / "layer.nc")}
    return {"kind": "layer"} | {name: file | {"variable": name} for name in ("top", "bottom", "density")} | more


def test_layers_give_the_fields_of_their_prisms(layer, grid):
    out = forward(layer, points=grid, fields=FIELDS)
    easting, northing = np.meshgrid(grid.easting, grid.northing)
    x, y = np.meshgrid(EAST, NORTH)
    sides = np.stack([x - 100, x + 100, y - 75, y + 75, layer.bottom, layer.top], axis=-1)[np.isfinite(SURFACE)]
    plain = forward(sides, DENSITY[np.isfinite(SURFACE)], (easting, northing, grid.upward.values), FIELDS)
    assert all(close(out[name], plain[name]) for name in FIELDS)
    assert out.g_z.dims == ("northing", "easting") and out.g_z.units == "mGal"
    assert out.g_ez.attrs["units"] == "Eotvos" and out.g_ez.attrs["estimated_error"] >= 0
    assert out.coords.equals(grid.coords) and out.attrs["device"].startswith("CPU") and "nothing" not in out


@pytest.mark.long
def test_layers_give_the_fields_of_harmonica(layer, grid):
    theirs = library("harmonica").prism_layer((EAST, NORTH), SURFACE, -180.0, {"density": DENSITY})
    at = library("verde").grid_coordinates((-100, 900, 0, 500), shape=(3, 4), extra_coords=20.0)
    coordinates = (*at[:2], grid.upward.values)
    points = library("verde").make_xarray_grid(coordinates, at[0] * 0, "nothing", extra_coords_names="upward")
    out = forward(theirs, points=points, fields=FIELDS)
    assert all(close(out[name], theirs.prism_layer.gravity(coordinates, field=name)) for name in FIELDS)
    assert out.coords.equals(points.coords) and out.coords.equals(grid.coords) and theirs.equals(layer)


@pytest.mark.long
def test_signs_are_those_of_harmonica_and_simpeg():
    """SimPEG has choclo's functions behind gx, gy, gz, ..; z is upward there. Off all planes of symmetry no field is 0."""
    prism, at = [-300.0, 500.0, -200.0, 400.0, -900.0, -350.0], (700.0, -450.0, 60.0)
    harmonica, choclo, ours = library("harmonica"), library("choclo"), forward([prism], 300.0, at, FIELDS)
    for name in FIELDS:
        theirs = [harmonica.prism_gravity(tuple(map(np.atleast_1d, at)), prism, 300.0, name)[0]]
        if name != "potential":
            value = getattr(choclo.prism, "gravity_" + name[2:].replace("z", "u"))(*at, *prism, 300.0)
            unit = 1e5 if len(name) == 3 else 1e9
            theirs.append(value * unit * (-1 if name in ("g_z", "g_ez", "g_nz") else 1))
        assert [float(ours[name])] * len(theirs) == pytest.approx(theirs, rel=1e-10), name


def test_points_without_a_limit_are_nan_and_warned_of(tmp_path, caplog):
    prism, at = [0.0, 100, 0, 100, -100, 0], np.array([[50.0, 0, 100], [50.0, 0, 100], [0.0, -50, 0]])
    with pytest.warns(UserWarning, match=r"nan in .*g_ee at 2, .*g_en at 2.* of 3 points.*point 1 at \(0, 0, -50\) m"):
        ours = forward([prism], 300, tuple(at), FIELDS)
    undefined = {"g_z": [False] * 3, "g_ee": [False, True, True], "g_en": [False, True, True]}
    assert {name: np.isnan(ours[name]).tolist() for name in undefined} == undefined
    matrix = gravity.operator([prism], tuple(at), FIELDS, device="cpu")
    with pytest.warns(UserWarning, match="g_en at 2"):
        matrix @ np.ones(1)
    with pytest.warns(UserWarning, match="nan in the transpose for 1 of 1 prisms"):
        matrix.T @ np.ones(30)
    points, prisms = {"kind": "scattered", "at": at.T.tolist()}, {"kind": "table", "rows": [[*prism, 300.0]]}
    craton.run(scenario(gravity={"fields": "all"}, prisms=prisms, points=points), out=tmp_path / "out", progress=False)
    warning = manifest(tmp_path / "out")["warnings"][-1]
    assert warning in caplog.text and "nan in g_ee at 2, " in warning and "of 3 points" in warning


def test_random_prisms_in_a_table_at_points_in_a_table():
    rng = np.random.default_rng(5)
    corner = rng.uniform([0, 0, -2000], [4000, 3000, -300], (30, 3))
    sides = between(corner, corner + rng.uniform(20, 280, (30, 3)))
    density, places = rng.uniform(-500, 500, 30), rng.uniform([0, 0, 1], [4000, 3000, 900], (11, 3))
    table = pandas.DataFrame(sides, columns=SIDES).assign(contrast=density)
    stations = pandas.DataFrame(places, [f"S{n}" for n in range(11)], ["Easting", "Northing", "Upward"])
    out = forward(table, "contrast", stations, FIELDS)
    plain = forward(sides, density, tuple(places.T), FIELDS)
    assert all(close(out[name], plain[name]) for name in FIELDS)
    assert list(out.columns) == [*stations.columns, *FIELDS] and list(out.index)[-1] == "S10"
    assert out.attrs["units"]["g_zz"] == "Eotvos" and "g_z" not in stations
    down = stations.assign(depth=-stations.Upward).drop(columns="Upward")
    assert np.allclose(forward(table, "contrast", down).g_z, out.g_z)


@pytest.mark.parametrize("names", [("easting", "northing", "upward"), ("x", "y", "depth")])
def test_volumes_are_cells_around_their_points(names):
    """A density over x, y, z is that of cells around its points, whichever way the axes run; a linear operator has these columns."""
    rho, at = np.random.default_rng(1).uniform(100, 400, (3, 4, 5)), (np.array([100.0, 400.0]), 200.0, 30.0)
    x, y, z = names
    down = z == "depth"
    axes = {z: -UPWARD[::-1] if down else UPWARD, y: NORTH, x: EAST}
    volume = xarray.DataArray(rho[::-1] if down else rho, coords=axes)
    k, j, i = np.indices(rho.shape).reshape(3, -1)
    centre, half = np.stack([EAST[i], NORTH[j], UPWARD[k]], axis=1), np.array([100, 75, 150])
    expected = forward(between(centre - half, centre + half), rho.ravel(), at)["g_z"]
    assert close(forward(volume, points=at)["g_z"], expected)
    contrast = (volume / 1000).assign_attrs(units="g/cm3")
    dataset = xarray.Dataset({"contrast": contrast, "porosity": volume})
    assert close(forward(dataset, "contrast", at)["g_z"], expected)
    assert close(gravity.operator(volume, at, device="cpu") @ rho.ravel(), expected)


def test_points_of_every_shape(layer):
    """Along a line, at one level, on levels; in kilometres; and as an array of heights."""
    line = xarray.Dataset(coords={"x": ("p", [0.0, 100.0]), "y": ("p", [1.0, 2.0]), "z": ("p", [5.0, 6.0])})
    out = forward(layer, points=line).g_z
    assert out.dims == ("p",) and out.shape == (2,)
    moved = line.assign_coords(x=xarray.DataArray([0.0, 0.1], dims="p", attrs={"units": "km"}))
    assert np.allclose(forward(layer, points=moved).g_z, out)
    axes = {"northing": [0.0, 100.0, 200.0], "easting": [0.0, 300.0]}
    level, levels = (xarray.Dataset(coords=axes | {"upward": up}) for up in (10.0, [10.0, 20.0, 30.0, 40.0]))
    heights = xarray.DataArray(np.full((3, 2), 10.0), coords=axes, name="upward")
    flat, cube, over = (forward(layer, points=points) for points in (level, levels, heights))
    assert flat.g_z.dims == over.g_z.dims == DIMS
    assert cube.g_z.dims == ("upward", *DIMS) and float(over.upward.max()) == 10
    assert np.allclose(cube.g_z[0], flat.g_z) and np.allclose(over.g_z, flat.g_z)


def columns(unit="m", height="m", mass="kg/m3", turned=(False, False)):
    """A layer of Harmonica's names in other units, with axes that may fall."""
    per = {"m": 1.0, "km": 1e3, "ft": 0.3048, "kg/m3": 1.0, "g/cm3": 1e3, "g cm^-3": 1e3}
    rng = np.random.default_rng(7)
    top, density = rng.uniform(-200, 0, (4, 5)), rng.uniform(-300, 400, (4, 5))
    values = {"top": (top, height), "bottom": (np.full((4, 5), -1000.0), height), "density": (density, mass)}
    out = xarray.Dataset(
        {name: (DIMS, v / per[u], {"units": u}) for name, (v, u) in values.items()},
        {d: (d, a / per[unit], {"units": unit}) for d, a in zip(DIMS, (NORTH, EAST))},
    )
    return out[{d: slice(None, None, -1) for d, falls in zip(DIMS, turned) if falls}]


def test_layers_are_in_their_units_and_may_fall(tmp_path):
    """In Python and by a scenario; a linear operator has the columns in the order of the values."""
    at, turned = (np.array([100.0, 700.0]), 120.0, 30.0), (True, True)
    layer = columns("km", "ft", "g cm^-3", turned)
    expected, fields = (forward(data, points=at, fields=FIELDS) for data in (columns(), layer))
    assert all(close(fields[name], expected[name]) for name in FIELDS)
    density = columns(turned=turned).density.values.ravel()
    assert close(gravity.operator(layer, at, device="cpu") @ density, expected["g_z"])
    assert close(forward(layer.drop_vars("density"), layer.density, at)["g_z"], expected["g_z"])
    points = {"kind": "scattered", "at": [[100, 120, 30], [700, 120, 30]]}
    result = craton.run(scenario(prisms=layer_file(tmp_path, layer), points=points), progress=False)
    assert close(result.dataset.g_z, expected["g_z"])


def test_a_scenario_reads_a_layer_that_harmonica_saved(layer, tmp_path):
    """Top and bottom are coordinates of the file, and each column has its density; without those that are missing it is refused."""
    saved = layer.assign(density=(layer.density / 1000).assign_attrs(units="g/cm3"))
    prisms = layer_file(tmp_path, saved, missing="drop")
    points = {"kind": "scattered", "at": [[100.0, 200.0, 30.0], [400.0, 200.0, 30.0]]}
    out = craton.run(scenario(prisms=prisms, points=points), progress=False).dataset
    assert close(out.g_z, forward(layer, points=(np.array([100.0, 400.0]), 200.0, 30.0))["g_z"])
    bad = scenario(prisms=prisms | {"missing": "refuse"}, points=points)
    refused(craton.errors.ScenarioError, "1 of 20 points have no elevation", craton.plan, bad)


def test_tables_arrays_and_volumes_are_in_their_units():
    """Columns of pandas, arrays with attributes, depths that count downward, a number beside a volume."""
    sides = np.array([[0.0, 300, 0, 200, -900, -400], [300, 500, 0, 200, -800, -500]])
    density, at = np.array([300.0, -200.0]), (np.array([100.0, 400.0]), 90.0, 30.0)
    expected = forward(sides, density, at)["g_z"]
    table = pandas.DataFrame(sides / 1e3, columns=SIDES).assign(rho=density / 1e3)
    table.attrs["units"] = dict.fromkeys(SIDES, "km") | {"rho": "g/cm3"}
    labelled = xarray.DataArray(density / 1e3, dims="prism", attrs={"units": "g/cm3"})
    stations = pandas.DataFrame({"x": at[0] / 1e3, "y": 0.09, "depth": -30.0})
    stations.attrs["units"] = {"x": "km", "y": "km"}
    x = xarray.DataArray(at[0] / 1e3, dims="p", attrs={"units": "km"})
    down = xarray.DataArray(-30.0, attrs={"positive": "down"})
    asked = (table, None, at), (sides, labelled, at), (sides, density, stations), (sides, density, (x, 90.0, down))
    assert all(close(forward(*arguments)["g_z"], expected) for arguments in asked)
    layer = columns()
    depths = layer.assign(bottom=(-layer.bottom).assign_attrs(positive="down"))
    assert close(forward(depths, points=at)["g_z"], forward(layer, points=at)["g_z"])
    rho = xarray.DataArray(np.full((3, 4, 5), 150.0), coords={"upward": UPWARD, "northing": NORTH, "easting": EAST})
    assert close(forward(rho, 300.0, at)["g_z"], 2 * forward(rho, None, at)["g_z"])
    refused(ValueError, "a density over x, y, z has its own values", forward, rho, rho.values, at)


def test_bad_labels_are_named(layer, grid):
    at, unit, own = (0.0, 0.0, 1.0), [[0, 1, 0, 1, 0, 1]], columns()
    missing = layer.assign(density=layer.density.where(layer.density != layer.density[0, 0]))
    lonlat, table = grid.rename(easting="longitude", northing="latitude"), pandas.DataFrame({"west": [0], "east": [1]})
    furlong = xarray.DataArray(1.0, attrs={"units": "furlong"})
    for arguments, message in (
        ((layer, None, lonlat), ["no x or easting", "project to metres"]),
        ((layer, None, grid.drop_vars("upward")), "no upward or z"),
        ((layer, "rho", at), "no 'rho' among density"),
        ((layer, None, None), "points are missing"),
        ((table, 1.0, at), "no column south, north, bottom, top; it has west, east"),
        ((unit, None, at), "need a density"),
        ((unit, "density", at), "have no names"),
        ((grid, None, at), ["top and bottom over northing and easting", "nothing"]),
        ((layer.rename(easting="lon"), None, at), "needs northing and easting"),
        ((own.assign(density=own.density.assign_attrs(units="m/s")), None, at), "is a velocity"),
        ((own.assign(top=own.top.assign_attrs(units="furlong")), None, at), "unknown unit"),
        ((own.assign_coords(easting=own.easting.assign_attrs(units="kg")), None, at), "'kg'"),
        ((own, None, (furlong, 0.0, 10.0)), "unknown unit"),
    ):
        refused(ValueError, message, forward, *arguments)
    with pytest.warns(UserWarning, match="1 prisms of the layer have no density"):
        forward(missing, points=at)


def test_doubtful_densities_are_warned_of(layer, tmp_path):
    for factor, words in ((1e-3, "no density is above 0.3988.*g/cm3"), (1e3, "reach 3.988e.05")):
        with pytest.warns(UserWarning, match=words):
            forward(layer.assign(density=layer.density * factor), points=(100.0, 200.0, 30.0))
    prisms = layer_file(tmp_path, layer.assign(density=layer.density * 1e-3), missing="drop", top=0)
    plan = craton.plan(scenario(prisms=prisms, points={"kind": "scattered", "at": [[100.0, 200.0, 30.0]]}))
    assert any("no density is above 0.3988" in text for text in plan.warnings)
