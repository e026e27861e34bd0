"""Gravity scenarios: ensembles, points, tables, what a run leaves, Earth models as prisms, and what is refused."""

import re
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
import xarray as xr
from common import difference, manifest, refused, stored
from gravitycase import SMALL, between, mesh, small, volumes
from paths import ROOT
from smallcase import changed

import craton
from craton.errors import ScenarioError
from craton.methods.gravity import bench
from craton.methods.gravity.fields import FIELDS, G
from craton.model.ground import surfaces
from craton.model.prisms import ensembles as prisms
from craton.model.prisms import from_model as prisms_model
from craton.model.prisms import from_scenario, morton
from craton.report.gravity import figure_of
from craton.scenario import GravityScenario, dumps, loads

SPHERES = ROOT / "examples" / "seven_spheres.toml"
PRISMS = SMALL[SMALL.index("[prisms]") : SMALL.index("[points]")]
POINTS = SMALL[SMALL.index("[points]") : SMALL.index("[run]")]
AT = (*np.meshgrid(np.linspace(0, 1000, 4), np.linspace(0, 1000, 3)), np.full((3, 4), 10.0))  # of the small scenario
ALL = ('["g_z", "g_ez"]', '"all"')


def forward(*rows, points, fields=FIELDS):
    """Gravity of explicit prisms with density in the seventh place."""
    rows = np.array(rows, float)
    return craton.gravity.forward(rows[:, :6], rows[:, 6], points, fields, device="cpu", method="direct")


def ran(text, tmp_path):
    """The dataset of a scenario, run without a folder."""
    return craton.run(loads(text, file=tmp_path / "s.toml"), device="cpu", progress=False).dataset


def agree(fields, expected, names=("g_z", "g_ez")):
    """Whether fields agree to a part of the largest value."""
    return all(difference(fields[name], expected[name]) < 1e-9 for name in names)


# --- the example ------------------------------------------------------------------------------------------------------------------------


def test_seven_spheres_are_the_papers_case_and_the_benchmarks():
    plan = craton.plan(craton.load(SPHERES))
    assert len(plan.problem.prisms) == bench.LARGE[0] == 251_946  # the number that the paper prints
    assert all(map(np.array_equal, bench.seven_spheres(), (plan.problem.prisms, plan.problem.density)))
    assert plan.points.shape == (100, 150) and len(plan.problem.fields) == 10
    assert not morton.overlaps(plan.problem.prisms).size


def test_seven_spheres_run(cli, tmp_path):
    """On coarser cells and at fewer points; the fields are those of seven point masses to what such a staircase allows: 1.5 per cent."""
    sets = "prisms.shape=[88, 88, 50]", "points.x=[0, 22000, 12]", "points.y=[0, 22000, 9]"
    words = [word for text in sets for word in ("--set", text)]
    out, _ = cli(f"run {SPHERES} -o out --device cpu", *words)
    assert "method" in out and "done:" in out and "craton plot out" in out
    fields = stored(tmp_path / "out")
    assert fields.g_z.dims == ("y", "x") and fields.g_z.shape == (9, 12) and float(fields.z) == 100
    assert len(fields.data_vars) == 10 and {v.units for v in fields.data_vars.values()} == {"J/kg", "mGal", "Eotvos"}
    assert fields.x.units == "m"
    scenario = craton.load(tmp_path / "out" / "scenario.toml")
    assert scenario == craton.load(SPHERES, (*sets, "run.device=cpu"))
    g_z, g_zz = 0, 0
    for body in scenario.prisms[0].bodies:
        mass = 4 / 3 * np.pi * body.radius**3 * body.density
        dx, dy, dz = (c - p for c, p in zip(body.center, (*np.meshgrid(fields.x, fields.y), 100.0)))
        r = np.sqrt(dx**2 + dy**2 + dz**2)
        g_z = g_z - 1e5 * G * mass * dz / r**3
        g_zz = g_zz + 1e9 * G * mass * (3 * dz**2 / r**5 - 1 / r**3)
    assert difference(fields.g_z, g_z) < 0.015 and difference(fields.g_zz, g_zz) < 0.015
    assert np.abs(fields.g_ee + fields.g_nn + fields.g_zz).max() < 1e-8 * np.abs(g_zz).max()
    run = manifest(tmp_path / "out")
    assert run["state"] == "finished" and run["pairs"] == run["prisms"] * 108
    assert run["method"] and run["device"].startswith("CPU")
    cli(f"run {SPHERES} -o out", *words, code=2)  # holds a finished run


@pytest.mark.long
def test_pictures_of_a_run(cli, tmp_path):
    (tmp_path / "s.toml").write_text(small(('"g_ez"]', '"g_ez", "g_zz"]')))
    cli("run s.toml -o out")
    assert cli("plot out")[0].strip() == "out/overview.png" and cli("plot out maps")[0].strip() == "out/maps.png"
    assert (tmp_path / "out" / "overview.png").stat().st_size > 50_000
    cli("plot out records", code=2)


def test_plan_says_what_and_how_long(cli, tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    out, err = cli("plan s.toml")
    assert err == "" and not (tmp_path / "s").exists()
    words = ["24 of 10 x 10 x 4 cells of 100 x 100 x 100 m", "24 prisms x 12 points = 288", "mass    1.2e+10 kg"]
    assert [part for part in (*words, "-> ", "direct", "float64") if part not in out] == []


# --- ensembles --------------------------------------------------------------------------------------------------------------------------


def test_cells_keep_only_what_has_density():
    edges = prisms.edges(0, 10, 10)
    bodies = [
        SimpleNamespace(shape="box", density=5, min=(0, 0, 0), max=(4, 10, 10)),
        SimpleNamespace(shape="sphere", density=-3, center=(5, 5, 5), radius=2.0),
        SimpleNamespace(shape="box", density=0, min=(0, 0, 0), max=(1, 1, 1)),
    ]
    cells = prisms.cells(edges, edges, edges, 0, bodies)
    z, y, x = np.meshgrid(*3 * [edges[:-1] + 0.5], indexing="ij")
    expected = np.where(x < 4, 5.0, 0)
    expected[(x - 5) ** 2 + (y - 5) ** 2 + (z - 5) ** 2 <= 4] = -3
    expected[0, 0, 0] = 0
    assert np.array_equal(cells.index, np.flatnonzero(expected)) and cells.spacing == (1, 1, 1)
    assert np.array_equal(cells.density, expected[expected != 0]) and len(cells) == len(cells.prisms)
    corner = np.stack(np.nonzero(expected)[::-1], axis=1)
    assert np.array_equal(cells.prisms, between(corner, corner + 1))
    uneven = prisms.cells([0, 1, 4], edges, edges, np.arange(200.0).reshape(10, 10, 2))
    assert uneven.spacing == (None, 1, 1) and len(uneven) == 199


def ground():
    """A surface of 4 x 3 points, above and below zero."""
    z = np.array([[10.0, 20, 30, 40], [-5, -10, 5, 0], [1, 2, 3, 4]])
    axes = {"northing": [0.0, 100, 200], "easting": [0.0, 50, 100, 150]}
    return xr.DataArray(z, axes, ("northing", "easting"), "dem")


def test_layer_between_surfaces():
    columns = from_scenario.layer(ground(), 0.0, 2670, density_below=-1640)
    assert len(columns) == 11  # one of no height
    assert (columns.prisms[:, 4] < columns.prisms[:, 5]).all() and list(columns.density[4:6]) == [-1640, -1640]
    assert columns.prisms[[0, 4]].tolist() == [[-25, 25, -50, 50, 0, 10], [-25, 25, 50, 150, -5, 0]]
    both = from_scenario.layer(ground() + 100, ground(), 1000)
    assert len(both) == 12 and np.allclose(both.prisms[:, 5] - both.prisms[:, 4], 100)
    turned = from_scenario.layer(ground()[::-1, ::-1].T, 0.0, 2670, density_below=-1640)
    assert np.array_equal(turned.prisms, columns.prisms)
    coarse = surfaces.from_array(ground()[::2, ::3])  # linear between its points
    assert len(from_scenario.layer(1000.0, coarse, 1.0)) == 4
    assert surfaces.elevations(coarse, surfaces.from_array(ground()))[0] == pytest.approx([10, 20, 30, 40])
    hollow = ground().copy()
    hollow[-2, 1] = np.nan  # beside the last row, whose values count
    assert len(from_scenario.layer(hollow + 100, hollow, 1000, missing="drop")) == 11


def test_cells_and_layers_refuse():
    unit, two = [0, 1], [0, 1, 2]
    for arguments, words in (
        (([0, 1, 1], unit, unit, 1.0), "edge 2 is 1 after 1"),
        (([0, np.nan], unit, unit, 1.0), "edge 1 of x is not finite"),
        ((unit, unit, two, np.full((2, 1, 1), [[[1.0]], [[np.nan]]])), "(k, j, i) = (1, 0, 0)"),
        ((unit, unit, two, np.ones((1, 1, 2))), "shape (1, 1, 2)"),
    ):
        refused(ValueError, words, prisms.cells, *arguments)
    hole = ground().where(ground() != 3)
    for top, extra, words in (
        (ground(), {}, "2 of 12 points, the first at [1, 0] (x 0, y 100 m)"),
        (hole, {"density_below": 0}, "1 of 12 points have no elevation, the first at [2, 2]"),
        (ground() * np.inf, {"density_below": 0}, "infinite"),
        (ground().rename(easting="longitude", northing="latitude"), {}, "project longitude and latitude"),
        (ground().assign_attrs(units="furlong"), {}, "furlong"),
        (5.0, {}, "both constant"),
    ):
        with np.errstate(invalid="ignore"):
            refused(ValueError, words, from_scenario.layer, top, 0.0, 2670, **extra)


def test_surface_files(tmp_path):
    expected = surfaces.from_array(ground())
    height = (ground() / 1000).assign_attrs(units="km").rename(easting="x", northing="y")
    height.to_netcdf(tmp_path / "a.nc")
    xr.Dataset({"z": height, "other": 2 * height}).to_zarr(tmp_path / "b.zarr", zarr_format=2)
    rows = "\n".join(" ".join(map(str, row)) for row in np.where(ground() == 3, -99, ground())[::-1])
    head = "ncols 4\nnrows 3\nxllcenter 0\nyllcorner -25\ncellsize 50\nNODATA_value -99\n"
    (tmp_path / "c.asc").write_text(f"{head}{rows}\n")
    netcdf, ascii_ = surfaces.read(tmp_path / "a.nc"), surfaces.read(tmp_path / "c.asc")
    assert np.allclose(netcdf.z, expected.z) and np.array_equal(netcdf.x, expected.x)
    assert np.allclose(surfaces.read(tmp_path / "b.zarr", "other").z, 2 * expected.z)
    assert np.array_equal(ascii_.y, [0, 50, 100]) and np.isnan(ascii_.z[2, 2]) and ascii_.z[0, 3] == 40
    refused(ValueError, "over two dimensions; name one", surfaces.read, tmp_path / "b.zarr", None)
    refused(ValueError, "no variable q", surfaces.read, tmp_path / "a.nc", "q")
    refused(ValueError, "no file", surfaces.read, tmp_path / "no.nc", None)


def test_geotiff(tmp_path):
    pytest.importorskip("rioxarray", reason="rioxarray is not installed: pip install rioxarray")
    raster = ground().rename(easting="x", northing="y")
    holed = raster[::-1].astype("float32").where(ground().values[::-1] != 3)
    holed.rio.write_crs("EPSG:32632").rio.write_nodata(-99, encoded=True).rio.to_raster(tmp_path / "dem.tif")
    surface, expected = surfaces.read(tmp_path / "dem.tif"), surfaces.from_array(ground())
    assert np.array_equal(surface.x, expected.x) and np.array_equal(surface.y, expected.y)
    assert np.array_equal(surface.z, np.where(expected.z == 3, np.nan, expected.z), equal_nan=True)
    raster.rio.write_crs("EPSG:4326").rio.to_raster(tmp_path / "degrees.tif")
    refused(ValueError, "longitude and latitude", surfaces.read, tmp_path / "degrees.tif")


ROWS = [[0, 10, 0, 10, -10, 0, 500], [10, 30, 0, 10, -10, -5, -200], [0, 1, 0, 1, 0, 0, 7], [50, 60, 0, 10, -10, 0, 0]]
HEADING = "west,east,south,north,bottom,top,density"


def test_tables(tmp_path):
    (tmp_path / "a.csv").write_text("\n".join([HEADING, *(",".join(map(str, row)) for row in ROWS)]))
    turned = (" ".join(map(str, row[5::-1])) for row in ROWS)
    (tmp_path / "b.txt").write_text("\n".join(["# TOP bottom north south east west", *turned]))
    columns = {name: ("prism", values) for name, values in zip(HEADING.split(","), np.array(ROWS, float).T)}
    columns["east"] = ("prism", columns["east"][1] / 1000, {"units": "km"})
    columns["bottom"] = ("prism", -columns["bottom"][1], {"positive": "down"})
    xr.Dataset(columns).to_netcdf(tmp_path / "c.nc")
    first, second = from_scenario.table(tmp_path / "a.csv"), from_scenario.table(tmp_path / "b.txt", 300)
    assert first.prisms.tolist() == [row[:6] for row in ROWS[:2]]
    assert first.density.tolist() == [500, -200] and first.rows.tolist() == [0, 1]
    assert second.density.tolist() == 3 * [300] and second.rows.tolist() == [0, 1, 3]
    assert np.allclose(from_scenario.table(tmp_path / "c.nc").prisms, first.prisms)
    for text, words in (
        (f"{HEADING}\n0,1,0,1,0,1,5\n0,1,4,3,0,1,5\n", "prism 1 is reversed: south = 4 > north = 3"),
        (f"{HEADING}\n0,1,0,1,0,1,inf\n", "prism 0 is not finite"),
        ("west,east,south,north,bottom,density\n0,1,0,1,0,5\n", "no column top"),
        (f"{HEADING}\n0,1,0,1,0,1,a\n", "could not convert"),
        (f"{HEADING}\n0,1,0,1\n", "4 columns under a heading of 7"),
    ):
        (tmp_path / "a.csv").write_text(text)
        refused(ValueError, words, from_scenario.table, tmp_path / "a.csv")


def test_parquet_table(tmp_path):
    pytest.importorskip("pyarrow")
    pandas.DataFrame(ROWS, columns=[*prisms.SIDES, "rho"]).to_parquet(tmp_path / "a.parquet")
    assert from_scenario.table(tmp_path / "a.parquet").density.tolist() == [500, -200]


def test_overlaps_are_those_of_all_pairs():
    rng = np.random.default_rng(5)
    low = rng.uniform(0, 1000, (700, 3)) // 5 * 5  # many share planes
    high = low + rng.integers(1, 30, (700, 3)) * 5.0
    meet = ((low[:, None] < high[None]) & (low[None] < high[:, None])).all(axis=2)
    expected, boxes = np.argwhere(np.triu(meet, 1)), between(low, high)
    assert len(expected) > 100 and np.array_equal(morton.overlaps(boxes, 10**6), expected)
    assert len(morton.overlaps(np.repeat(boxes[:1], 50, axis=0), 7)) == 7
    edges = prisms.edges(1 / 3, 1e5 / 7, 30) + 4e6  # neighbours that touch but for rounding
    assert not morton.overlaps(prisms.cells(edges, edges, edges, 1.0).prisms).size


def test_columns_of_different_depths_are_few_pairs(monkeypatch):
    """Relief: each column is compared to its neighbours in the plane, whatever their depths."""
    compared, meeting = [], morton.meeting
    monkeypatch.setattr(morton, "meeting", lambda *args: compared.append(len(args[2])) or meeting(*args))
    columns, _ = mesh(np.arange(101.0), np.arange(101.0), np.array([-10.0, 0]))
    columns[:, 4] -= 90 * np.random.default_rng(0).random(len(columns))
    assert not morton.overlaps(columns).size and sum(compared) < 50 * len(columns)


# --- scenarios --------------------------------------------------------------------------------------------------------------------------

MANY = """
prisms = [
    { kind = "rectilinear", x = [0, 10, 40], y = [0, 20], z = [-50, -30, -25], density = "0.3 g/cm3" },
    { kind = "layer", top = { file = "dem.nc" }, bottom = 0, density = 2670, density_below = -1640 },
    { kind = "table", rows = [[0, 10, 0, 10, -100, -90, 500], [10, 20, 0, 10, -100, -90, -500]] },
    { kind = "file", file = "rho.nc", reference = 2 },
]
"""


def test_every_kind_of_prisms(tmp_path):
    ground().to_dataset(name="z").to_netcdf(tmp_path / "dem.nc")
    x = np.array([5.0, 15])
    rho = xr.DataArray(np.arange(8.0).reshape(2, 2, 2), {"z": x - 20, "y": x, "x": x}, ("z", "y", "x"), "density")
    rho.to_netcdf(tmp_path / "rho.nc")
    layer = from_scenario.layer(ground(), 0.0, 2670, -1640)
    rows = [[x0, x1, 0, 20, z0, z1, 300] for x0, x1 in ((0, 10), (10, 40)) for z0, z1 in ((-50, -30), (-30, -25))]
    rows += np.column_stack([layer.prisms, layer.density]).tolist()
    rows += [[0, 10, 0, 10, -100, -90, 500], [10, 20, 0, 10, -100, -90, -500]]
    for k, j, i in np.ndindex(2, 2, 2):
        west, south, bottom = 10 * i, 10 * j, 10 * k - 20
        rows.append([west, west + 10, south, south + 10, bottom, bottom + 10, 4 * k + 2 * j + i - 2])
    assert agree(ran(small((PRISMS, ""), ('title = "Small"\n', MANY), ALL), tmp_path), forward(*rows, points=AT))


DRAPE, LINE = 'kind = "drape"\nsurface = { file = "dem.nc" }\nheight = 2', 'kind = "profile"\nfrom = '
POINT = ("point",)
POINT_KINDS = {  # dimensions, shape, first heights
    DRAPE: (("y", "x"), (3, 4), [12, 22, 32]),
    DRAPE + "\nx = [0, 100, 5]\ny = [0, 0, 1]": (("y", "x"), (1, 5), [12, 17, 22]),
    LINE + "[0, 0, 10]\nto = { x = 30, y = 40, depth = -10 }\ncount = 6": (POINT, (6,), [10, 10, 10]),
    'kind = "borehole"\nx = 400\ny = 400\ntop = 100\nbottom = -300\ncount = 5': (POINT, (5,), [100, 0, -100]),
    'kind = "scattered"\nfile = "p.csv"': (POINT, (2,), [3, -6]),
    'kind = "scattered"\nat = [[1, 2, 3], { x = 1, y = 2, depth = 4 }]': (POINT, (2,), [3, -4]),
}


def test_every_kind_of_points(tmp_path):
    ground().to_dataset(name="z").to_netcdf(tmp_path / "dem.nc")
    (tmp_path / "p.csv").write_text("x,y,depth\n1,2,-3\n4,5,6\n")
    for text, (dims, shape, heights) in POINT_KINDS.items():
        scenario = loads(small((POINTS, f"[points]\n{text}\n\n"), ALL), file=tmp_path / "s.toml")
        assert loads(dumps(scenario)) == scenario
        fields = ran(dumps(scenario), tmp_path)
        assert fields.g_z.dims == dims and fields.g_z.shape == shape and np.isfinite(fields.g_z).all()
        assert np.broadcast_to(fields.z, shape).ravel()[: len(heights)].tolist() == heights
        if "profile" in text:
            assert fields.distance.values == pytest.approx([0, 10, 20, 30, 40, 50]) and fields.distance.units == "m"
    assert fields.x.dims == POINT


def test_curves_are_drawn(tmp_path):
    for kind in (LINE + "[0, 0, 10]\nto = [9000, 0, 10]", 'kind = "borehole"\nx = 0\ny = 0\ntop = 0\nbottom = -300'):
        page = figure_of(ran(small((POINTS, f"[points]\n{kind}\ncount = 20\n"), ALL), tmp_path), "Curves")
        assert len(page.axes) == 3 and sum(len(axis.get_legend().get_texts()) for axis in page.axes) == 10
    few = ran(small((POINTS, '[points]\nkind = "scattered"\nat = [[1, 2, 3], [500, 600, 7]]\n')), tmp_path)
    assert len(figure_of(few, "Points").axes) == 4  # two maps, each with its colour bar


def test_scenario_in_python():
    rows, points = [[0, 10, 0, 10, -10, 0, 500]], {"kind": "scattered", "at": [[5, 5, 5]]}
    tables = {"prisms": {"kind": "table", "rows": rows}, "points": points}
    scenario = craton.Scenario(method="gravity", **tables)
    assert isinstance(scenario, GravityScenario) and scenario == GravityScenario(**tables)
    assert loads(dumps(scenario)) == scenario
    assert scenario.gravity.fields == ("g_z",) and scenario.run.precision == "float64"
    assert float(craton.run(scenario, device="cpu", progress=False).dataset.g_z[0]) > 0
    with pytest.raises(ScenarioError) as error:
        GravityScenario(prisms=[], points=points)
    assert error.value.problems[0].key == "prisms"
    light = {"kind": "grid", "origin": [0, 0, -9], "size": [9, 9, 9], "shape": [3, 3, 3], "density": 2.67}
    assert "did you mean 2.67 g/cm3 = 2670?" in GravityScenario(prisms=light, points=points).warnings[0]


def test_snippets_of_the_page_are_scenarios():
    page = (ROOT / "docs" / "gravity.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(snippets) == 2
    for text in snippets:
        scenario = loads('method = "gravity"\n' + text)
        assert loads(dumps(scenario)) == scenario and not scenario.warnings
    kinds = re.findall(r'kind = "(\w+)"', " ".join(re.findall(r"```toml\n.*?```", page, re.DOTALL)))
    assert set(kinds) == {"grid", "rectilinear", "layer", "table", "model", "file", "drape", "borehole"}


TABLE = '[prisms]\nkind = "table"\nrows = [{}]\n\n'
UNEVEN = '[prisms]\nkind = "rectilinear"\nx = [0, 2, 1]\ny = [0, 1]\nz = [0, 1]\ndensity = 1\n\n'
HOLE = '[points]\nkind = "borehole"\nx = 0\ny = 0\ntop = 0\nbottom = 9\ncount = 3\n\n'
NO_SURFACE = '[points]\nkind = "drape"\nsurface = { file = "no.nc" }\nheight = 1\n\n'
FOUR = TABLE.format("[0, 9, 0, 9, 0, 0, 5], [0, 9, 0, 9, 0, 9, 5], [20, 29, 0, 9, 0, 9, 5], [8, 25, 0, 9, 0, 9, 5]")
OUTSIDE = ("min = [200", "min = [-900"), ("max = [600", "max = [-100")
REVERSED = "prism 0 is reversed: bottom = 0 > top = -10"
CHECKED = "fields =", "check_overlap = true\nfields ="
BAD = [  # edits, key, words, line
    ([("shape = [10", "shap = [10")], "prisms.shap", 'did you mean "shape"', 11),
    ([('"g_ez"', '"gz"')], "gravity.fields.1", 'did you mean "g_z"', 5),
    ([('method = "gravity"\n', "")], "method", 'write method = "gravity"', None),
    ([('method = "gravity"', 'method = "gravty"')], "method", 'did you mean "gravity"', 2),
    ([("[run]", "[time]\nduration = 1\n[run]")], "time", 'method = "fd"', 20),
    ([("density = 500", "density = 0")], "prisms.density", "all cells have zero density", 7),
    (OUTSIDE, "prisms", "no prism has a density and a volume", 7),
    ([(PRISMS, TABLE.format("[0, 10, 0, 10, 0, -10, 500]"))], "prisms", REVERSED, 7),
    ([(PRISMS, TABLE.format("[0, 10, 0, 10, 0, 10]"))], "prisms.rows.0", "6 numbers, not 7", 9),
    ([(PRISMS, TABLE.format("[0, 10, 0, nan, 0, 10, 500]"))], "prisms.rows.0.3", "finite", 9),
    ([(PRISMS, '[prisms]\nkind = "table"\nfile = "no.csv"\n\n')], "prisms.file", "no.csv", 9),
    ([(POINTS, NO_SURFACE)], "points", "no.nc", 14),
    ([(PRISMS, UNEVEN)], "prisms.x.2", "not above", 9),
    ([(POINTS, HOLE)], "points.bottom", "not below", 19),
    ([CHECKED, (PRISMS, FOUR)], "prisms", "prisms overlap: 1 and 3, 2 and 3", 8),
]


def test_bad_input(cli, tmp_path):
    for changes, key, words, line in BAD:
        (tmp_path / "s.toml").write_text(small(*changes))
        out, err = cli("run s.toml", code=2)
        assert out == "" and [p.name for p in tmp_path.iterdir()] == ["s.toml"], key
        assert err.startswith(f"s.toml:{line}: {key}: " if line else f"s.toml: {key}: "), err
        assert words in err and "1 problem;" in err, err
    edits = ("[gravity]", '[gravity]\nmethod = "fft"'), ("x = [0, 1000, 4]", "x = [0, 997, 4]")
    (tmp_path / "s.toml").write_text(small(*edits))
    for command in ("run", "plan"):  # a method that does not apply
        _, err = cli(f"{command} s.toml", code=2)
        assert "gravity.method" in err and 'method = "auto"' in err and not (tmp_path / "s").exists()


# --- Earth models -----------------------------------------------------------------------------------------------------------------------

BOX = "origin = [0, 0, -2500]\nsize = [3000, 3000, 2500]\nspacing = 100\n"  # of the small case
LAYERS = """
kind = "layers"
layers = [{ top = 0, vp = 4000, vs = 2000, rho = 2300 }, { top = -1400, vp = 6000, vs = 3460, rho = 2700 }]
"""
ANOMALY = 'anomalies = [{ shape = "box", min = [1000, 1000, -800], max = [2000, 1500, -400], rho = 2500 }]\n'
PLAIN, WAVES = (
    changed(('\nkind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300\n', LAYERS + more)) for more in ("", ANOMALY)
)
INLINE = PRISMS, f'[prisms]\nkind = "model"\n{BOX}reference = "background"\n[prisms.model]{LAYERS}{ANOMALY}'
FROM_FILE = PRISMS, '[prisms]\nkind = "model"\nfile = "w.toml"\nreference = "background"\n\n'
ABOVE = np.array([500.0, 1500, 2900]), np.array([200.0, 1200, 2900]), np.array([50.0, 50, 300])
BOXES = [[0, 3000, 0, 3000, -1400, 0, 2300], [0, 3000, 0, 3000, -2500, -1400, 2700]]
BLOCK = [1000, 2000, 1000, 1500, -800, -400, 200]


def test_model_of_waves_as_prisms(tmp_path):
    def of(model, **options):
        return craton.gravity.from_model(model, ABOVE, FIELDS, device="cpu", **options)

    waves = loads(WAVES)
    (tmp_path / "w.toml").write_text(WAVES)
    elements = WAVES.replace("spacing = 100", "element_size = 100").replace('method = "fd"', 'method = "sem"')
    (tmp_path / "elements.toml").write_text(elements)
    expected, alone = forward(*BOXES, BLOCK, points=ABOVE), forward(BLOCK, points=ABOVE)
    anomaly = of(waves, reference="background")
    for fields, exact in (
        (of(waves, shape=(6, 6, 25)), expected),
        (of(tmp_path / "elements.toml"), expected),
        (anomaly, alone),
        (of(tmp_path / "w.toml", spacing=(500, 500, 100), reference="background"), alone),
        (of(waves.model, region=(0, 2000, 0, 3000, -1000, 0), spacing=100, reference=2300.0), alone),
    ):
        assert agree(fields, exact, ("g_z", "g_n", "g_zz"))
    assert anomaly.report["pairs"] == 3 * 10 * 5 * 4
    valley = waves.model.model_copy(update={"topography": -100.0})  # air is no anomaly
    air = of(valley, region=(0, 3000, 0, 3000, -1000, 0), spacing=100, reference="background")
    assert agree(air, alone, ("g_z", "g_n", "g_zz"))
    refused(ValueError, "region", of, waves.model)
    refused(ScenarioError, "model", of, waves, region=(0, 1000, 0, 1000, -1000, 500))  # above the layers


def test_model_in_a_scenario(tmp_path):
    """A background without anomalies is refused: less itself nothing would be left of the model."""
    (tmp_path / "w.toml").write_text(WAVES)
    assert all(agree(ran(small(p, ALL), tmp_path), forward(BLOCK, points=AT)) for p in (FROM_FILE, INLINE))
    words = ["this one has none", '"mean"']
    refused(ValueError, words, craton.gravity.from_model, loads(PLAIN), ABOVE, reference="background", device="cpu")
    negative = WAVES.replace("rho = 2300", "rho = -1")
    for text, word in ((negative, "w.toml"), (PLAIN, "this one has none")):
        (tmp_path / "w.toml").write_text(text)
        with pytest.raises(ScenarioError) as error:
            craton.plan(loads(small(FROM_FILE), file=tmp_path / "s.toml"))
        (problem,) = error.value.problems
        assert problem.key == "prisms.file" and word in problem.message


def test_dataset_as_prisms():
    """Linear between its points: cells of any size have the mean of a trilinear function, which is its value in their middle."""
    x, y, z = np.linspace(0, 900, 10), np.array([0.0, 200, 300, 700]), np.linspace(0, -400, 5)

    def rho(x, y, z):
        return 2000 + 0.5 * x - 0.2 * y + 0.1 * z + 1e-4 * x * y - 1e-7 * x * y * z

    of, values = prisms_model.of_anything, rho(x, y[:, None], z[:, None, None])
    dataset = xr.Dataset({"rho": (("z", "y", "x"), values / 1000, {"units": "g/cm3"})}, {"x": x, "y": y, "z": z})
    for options in ({}, {"spacing": (70, 130, 90)}, {"region": (50, 850, 10, 640, -390, -20), "shape": (5, 7, 3)}):
        cells = of(dataset, **options)
        middle = (cells.prisms[:, ::2] + cells.prisms[:, 1::2]) / 2
        assert np.allclose(cells.density, rho(*middle.T), rtol=1e-12)
    assert of(dataset).shape == (4, 3, 9)
    contrast = of(dataset, reference="mean")
    masses = contrast.density * volumes(contrast.prisms)
    assert np.abs(np.bincount(contrast.index // 27, masses)).max() < 1e-9 * np.abs(masses).max()
    g_z = craton.gravity.from_model(dataset, (450.0, 300.0, 100.0), ("g_z",), device="cpu")["g_z"]
    assert g_z.shape == () and 0 < float(g_z) < 2e5 * np.pi * G * 2700 * 400
    hole = dataset.where((dataset.x != 200) | (dataset.y != 200) | (dataset.z != -400))
    refused(ValueError, "covers x from 0 to 900 m", of, dataset, region=(0, 1000, 0, 100, -100, 0), spacing=50)
    refused(ValueError, "[0, 1, 2]", of, hole)
    refused(ScenarioError, "no variable rho", of, dataset.rename(rho="vp"))
    refused(ValueError, "is it in g/cm3", of, dataset.assign(rho=dataset.rho.drop_attrs()))
    assert of(dataset.assign(rho=dataset.rho.assign_attrs(units="kg/m3"))).density.max() < 100
