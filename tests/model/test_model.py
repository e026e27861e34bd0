"""Earth models: cell averages against brute force, anomalies, files, extremes, and what is said of wrong ones."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from common import refused
from modelcase import unlike

from craton.core.grid import Grid
from craton.errors import ScenarioError
from craton.model import Region, cell_averages, extremes, point_values, problems
from craton.model.media import readers
from craton.tables.medium import Box, Homogeneous, Layer, Layers, ModelFile, Sphere

GRID = Grid((-500.0, 0.0, -2000.0), 100.0, (21, 13, 11))
ROCK = {"vp": 4200.0, "vs": 2422.0, "rho": 2300.0}
DEEP = {"vp": 6000.0, "vs": 3460.0, "rho": 2700.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
BALL = {"shape": "sphere", "center": [20.0, 610.0, -1010.0], "radius": 333.0}


def layers(*rows, anomalies=()):
    """A model of (top, values)."""
    return Layers(layers=[Layer(top=top, **values) for top, values in rows], anomalies=anomalies)


def raw_layers(*rows):
    """A model that the schema would refuse."""
    stack = [SimpleNamespace(top=top, **values) for top, values in rows]
    return SimpleNamespace(kind="layers", layers=stack, anomalies=())


def file_model(path, anomalies=()):
    return SimpleNamespace(kind="file", file=path, anomalies=anomalies)


def moduli(vp, vs, rho):
    return rho * (vp**2 - 4 / 3 * vs**2), rho * vs**2


def mixture(share, cell, tolerance):
    """Assert that a cell holds so much of DEEP in ROCK: the mean density, harmonic moduli."""
    expected = [share * DEEP["rho"] + (1 - share) * ROCK["rho"]]
    of_both = zip(moduli(*ROCK.values()), moduli(*DEEP.values()))
    expected += [1 / (share / deep + (1 - share) / rock) for rock, deep in of_both]
    assert cell == pytest.approx(expected, rel=tolerance)


def brute(function, grid, point, n):
    """Means over one cell (k, j, i) from n^3 samples of a function of x, y, z; the cell is clipped at the grid's extent."""
    axes = []
    for name, index in zip("xyz", reversed(point)):
        a, b = np.clip(grid.axis(name)[index] + grid.spacing / 2 * np.array([-1, 1]), *grid.bounds(name))
        axes.append(a + (b - a) * (np.arange(n) + 0.5) / n)
    vp, vs, rho = function(*(c.ravel() for c in np.meshgrid(*axes, indexing="ij")))
    kappa, mu = moduli(vp, vs, rho)
    with np.errstate(divide="ignore"):
        return rho.mean(), 1 / np.mean(1 / kappa), 1 / np.mean(1 / mu)


def assert_cells(model, points, n, tolerance):
    cells = cell_averages(model, GRID, 0, GRID.shape[0])
    for point in points:
        expected = brute(lambda *at: point_values(model, np.column_stack(at)), GRID, point, n)
        assert [values[point] for values in cells] == pytest.approx(expected, rel=tolerance), point


# --- layers ------------------------------------------------------------------------------------------------------------------------------


def test_homogeneous_is_exact_and_takes_no_memory():
    values = cell_averages(Homogeneous(**ROCK), GRID, 3, 7)
    assert all(v.shape == (4, 13, 11) and v.strides[1:] == (0, 0) and np.ptp(v) == 0 for v in values)
    mixture(0, [v[0, 0, 0] for v in values], 1e-15)


def test_interfaces_share_cells_by_volume():
    """On a node, half and half, either way up; anywhere; the first and last cells are clipped at the grid: half as high."""

    def cell(k, *rows):
        return [values[k, 0, 0] for values in cell_averages(layers(*rows), GRID, 0, 21)]

    mixture(0.5, cell(6, (0, ROCK), (-1400, DEEP)), 1e-14)
    mixture(0.5, cell(6, (0, DEEP), (-1400, ROCK)), 1e-14)
    assert [cell(k, (0, ROCK), (-1400, DEEP))[0] for k in (5, 7)] == [2700, 2300]
    mixture(0.23, cell(6, (0, ROCK), (-1427, DEEP)), 1e-13)  # the cell of z = -1400 m reaches from -1450 to -1350
    for k, top in ((20, -25), (0, -1975)):
        assert cell(k, (0, ROCK), (top, DEEP))[0] == pytest.approx(2500, rel=1e-13)
    assert_cells(layers((0, ROCK), (-1390, DEEP), (-1400, ROCK), (-1430, DEEP)), [(6, 0, 0)], 20, 1e-12)


def test_gradients_are_integrated_exactly():
    steep = {**ROCK, "vp_gradient": 0.6, "vs_gradient": 0.4, "rho_gradient": 0.1}
    model = layers((0, steep), (-1427, {**DEEP, "vs_gradient": -0.2}))
    assert cell_averages(model, GRID, 10, 11)[0][0, 0, 0] == pytest.approx(2300 + 0.1 * 1000, rel=1e-13)
    z = -1450 + 100 * (np.arange(200_000) + 0.5) / 200_000
    vp, vs, density = point_values(model, np.column_stack([0 * z, 0 * z, z]))
    expected = density.mean(), *(1 / np.mean(1 / m) for m in moduli(vp, vs, density))
    assert [v[0, 0, 0] for v in cell_averages(model, GRID, 6, 7)] == pytest.approx(expected, rel=1e-9)


def test_fluid_cells_have_no_shear_modulus_and_rounding_puts_none_into_solid_ones():
    _, kappa, mu = cell_averages(layers((0, WATER), (-150, ROCK)), GRID, 0, 21)
    assert (mu[19:] == 0).all() and (mu[:19] > 0).all()  # -150 m is the face between planes 18 and 19
    assert kappa[20, 0, 0] == pytest.approx(1000 * 1500**2)
    odd = Grid((0.0, 0.0, -7.7), 0.1, (78, 1, 1))
    for k in range(1, 77):
        top = odd.origin[2] + odd.spacing * (k + 0.5) * (1 + 2e-16)
        _, _, mu = cell_averages(layers((1, WATER), (top, ROCK)), odd, k, k + 2)
        assert mu[0, 0, 0] > 0 and mu[1, 0, 0] == 0
    for top, fuller in ((-160, ROCK), (-199, ROCK), (-200, ROCK), (-201, WATER)):  # of the cell from -250 to -150 m
        rho, _, mu = cell_averages(layers((0, WATER), (top, ROCK)), GRID, 18, 19)
        assert (mu > 0).all() == (fuller is ROCK) and rho[0, 0, 0] == fuller["rho"]


def test_parts_and_sections_of_grids():
    """A slab equals the same planes of the whole; one point across keeps its cell; fifty million points of layers are quick."""
    model = layers((0, ROCK), (-1427, DEEP), anomalies=[Sphere(center=[0, 600, -1000], radius=420, dvs=-0.1)])
    for values, part in zip(cell_averages(model, GRID, 0, 21), cell_averages(model, GRID, 5, 9)):
        assert np.array_equal(values[5:9], part)
    section, ball = Grid((0.0, 0.0, -500.0), 100.0, (6, 1, 11)), Sphere(center=[500, 0, -250], radius=180, rho=3000)
    rho, _, mu = cell_averages(Homogeneous(**ROCK, anomalies=[ball]), section, 0, 6)
    assert np.isfinite(mu).all() and rho.max() == pytest.approx(3000) and rho.min() == 2300
    large = Grid((0.0, 0.0, -18800.0), 100.0, (189, 484, 540))
    started = time.perf_counter()
    assert cell_averages(layers((0, ROCK), (-1400, DEEP)), large, 0, 189)[0].shape == large.shape
    assert time.perf_counter() - started < 1


# --- anomalies ---------------------------------------------------------------------------------------------------------------------------


def test_sphere_against_brute_force():
    """Four samples per axis know the share of a cell to 1/8 where the surface runs along the grid, the worst case: of the contrast."""
    points = [tuple(p) for p in np.random.default_rng(1).integers((5, 2, 1), (15, 11, 10), (60, 3))]
    for change, tolerance in (({"dvs": -0.1, "drho": 0.05}, 0.02), ({"vp": 3000, "vs": 1700, "rho": 2100}, 0.1)):
        model = layers((0, ROCK), (-1125, DEEP), anomalies=[Sphere(**BALL, **change)])
        assert_cells(model, points, 24, tolerance)
        assert_cells(model, [(10, 6, 5), (18, 6, 5)], 4, 1e-12)  # inside, outside


def test_bodies_have_their_volume():
    """Of a sphere; of a box, faces on nodes halve, quarter and eighth the cells; with a layer in one cell, exact along z."""
    rho, _, _ = cell_averages(Homogeneous(**ROCK, anomalies=[Sphere(**BALL, rho=3300.0)]), GRID, 0, 21)
    assert (rho - 2300).sum() / 1000 * 100**3 == pytest.approx(4 / 3 * np.pi * 333**3, rel=2e-3)
    box = Box(min=[-200, 300, -1500], max=[200, 900, -1000], rho=3300.0)
    share = (cell_averages(Homogeneous(**ROCK, anomalies=[box]), GRID, 0, 21)[0] - 2300) / 1000
    assert share[7, 6, 5] == 1 and share[4, 6, 5] == 0
    assert [share[7, 6, 3], share[10, 6, 3], share[10, 9, 3]] == pytest.approx([0.5, 0.25, 0.125])
    assert share.sum() * 100**3 == pytest.approx(400 * 600 * 500, rel=1e-12)
    box = Box(min=[-450, 50, -1433], max=[450, 1150, -800], dvp=0.1, dvs=0.1)
    assert_cells(layers((0, ROCK), (-1411, DEEP), anomalies=[box]), [(6, 6, 5)], 100, 1e-12)


def test_later_anomalies_act_on_earlier_ones():
    body = {"min": [-450, 50, -1450], "max": [450, 1150, -850]}
    bodies = [Box(**body, vs=2000.0), Box(**body, dvs=0.1)]
    model = Homogeneous(**ROCK, anomalies=bodies)
    vp, vs, rho = point_values(model, [[0, 600, -1000], [0, 600, -100]])
    assert vs == pytest.approx([2200, 2422]) and list(vp) == [4200, 4200] and list(rho) == [2300, 2300]
    assert cell_averages(model, GRID, 10, 11)[2][0, 6, 5] == pytest.approx(2300 * 2200**2)
    turned = Homogeneous(**ROCK, anomalies=bodies[::-1])
    assert point_values(turned, [[0, 600, -1000]])[1] == pytest.approx([2000])


def test_point_on_an_interface_takes_the_layer_below():
    model = layers((0, ROCK), (-1400, {**DEEP, "vp_gradient": 0.5}))
    vp, vs, rho = point_values(model, [[0, 0, z] for z in (10, 0, -1399.9, -1400, -1600)])
    assert list(vp) == [4200, 4200, 4200, 6000, 6100] and vs.shape == (5,)
    assert list(rho) == [2300, 2300, 2300, 2700, 2700]


def test_extremes():
    steep, slow = {**DEEP, "vp_gradient": 0.5, "vs_gradient": 0.1}, {"vp": 9e3, "vs": 5e3, "rho": 4e3}
    model = layers((0, ROCK), (-1400, steep), (-9000, slow))
    balls = [Sphere(**BALL, dvs=-0.5), Sphere(center=[1e5, 0, 0], radius=10, vp=99.0)]
    whole, wet = extremes(model, GRID), extremes(layers((0, WATER), (-100, ROCK)), GRID)
    assert whole["vp"] == (4200, 6300) and whole["vs"] == (2422, 3520) and whole["rho"] == (2300, 2700)
    assert whole["slowest"] == 2422 and wet["vs"] == (0, 2422) and wet["slowest"] == 1500
    assert extremes(model, Region((0, 0, -1000), (10, 10, 0)))["vp"] == (4200, 4200)
    odd = extremes(layers((0, ROCK), (-1130, DEEP), anomalies=balls), GRID)
    assert odd["vs"] == (1211, 3460) and odd["vp"] == (4200, 6000) and odd["slowest"] == 1211


# --- files -------------------------------------------------------------------------------------------------------------------------------

X, Y, Z = np.linspace(-500, 500, 9), np.array([0.0, 100, 350, 800, 1300]), np.linspace(-2100, 0, 8)


def field(x, y, z):
    """A medium linear in each coordinate: linear interpolation is exact."""
    return (5000 + 0.1 * x - 0.3 * z + 1e-4 * x * y, 2500 + 0.05 * y - 0.2 * z, 2500 + 0.02 * x - 0.05 * z + 0 * y)


def dataset(x=X, y=Y, z=Z, function=field):
    zz, yy, xx = np.meshgrid(z, y, x, indexing="ij")
    values = {name: (("z", "y", "x"), v) for name, v in zip(("vp", "vs", "rho"), function(xx, yy, zz))}
    return xr.Dataset(values, {"x": np.asarray(x), "y": np.asarray(y), "z": np.asarray(z)})


def write(ds, path, **more):
    """A model of a file: classic netCDF, which takes a tenth of the time of zarr."""
    ds.to_netcdf(path, engine="scipy")
    return file_model(path, **more)


def other_units(ds, key="units"):
    """Kilometres; the attribute may have another name."""
    for name, unit in {**dict.fromkeys("xyz", "km"), "vp": "km/s", "vs": "km s-1", "rho": "g/cm3"}.items():
        ds[name] = ds[name] / 1000
        ds[name].attrs["units" if unit == "km" else key] = unit
    return ds


BACK = slice(None, None, -1)
UPPER = {"x": "X", "y": "Y", "z": "Z", "vp": "VP", "vs": "Vs", "rho": "Rho"}
DRESSES = {
    "other units, by depth": lambda ds: other_units(ds.assign_coords(z=-ds.z)).rename(z="depth"),
    "other spelling of units": lambda ds: other_units(ds, "Unit"),
    "turned": lambda ds: ds.isel(z=BACK, y=BACK).transpose("x", "z", "y").assign(vs=ds.vs.transpose("y", "x", "z")),
    "upper case, down": lambda ds: ds.assign_coords(z=("z", -ds.z.values, {"positive": "down"})).rename(UPPER),
}


def test_files_in_any_dress_give_the_same_medium(tmp_path):
    xyz = np.random.default_rng(2).uniform((-500, 0, -2000), (500, 1200, 0), (50, 3))
    for name, dress in DRESSES.items():
        model = file_model(tmp_path / f"{name}.nc")
        dress(dataset()).to_netcdf(model.file, engine="h5netcdf")
        assert problems(model, GRID) == [], name
        for values, expected in zip(point_values(model, xyz), field(*xyz.T)):
            assert values == pytest.approx(expected, rel=1e-12), name
        cells, part = cell_averages(model, GRID, 0, 21), cell_averages(model, GRID, 4, 6)
        for point in [(0, 0, 0), (20, 12, 10), (7, 5, 3), (20, 4, 0)]:
            assert [v[point] for v in cells] == pytest.approx(brute(field, GRID, point, 2), rel=1e-12), (name, point)
        assert all(np.allclose(a[4:6], b, rtol=1e-13) for a, b in zip(cells, part)), name


def test_blocks_read_ahead_have_the_bits_of_parts_read_apart(tmp_path, monkeypatch):
    """Threads that ask for planes of a file in any order, with blocks of a few of its planes."""
    model, planes = write(dataset(), tmp_path / "model.nc"), range(12)
    apart = [cell_averages(model, GRID, k, k + 1) for k in planes]
    monkeypatch.setattr(readers, "VALUES", 3 * 2 * len(X) * len(Y))
    reads, read = [], readers.Source.read
    monkeypatch.setattr(readers.Source, "read", lambda *arguments: reads.append(1) or read(*arguments))
    with readers.read_ahead(model):
        ahead = [cell_averages(model, GRID, k, k + 1) for k in planes]
        back = cell_averages(model, GRID, 2, 4)
    assert len(reads) < len(apart) and not readers.HELD
    assert np.array_equal(apart, ahead) and np.array_equal(back[0][0], apart[2][0][0])


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_zarr_classic_netcdf_and_air_beyond_the_domain(tmp_path):
    for consolidated in (True, False):
        model = ModelFile(file=str(tmp_path / f"{consolidated}.zarr"))
        dataset().to_zarr(model.file, encoding={"vs": {"chunks": (3, 2, 4)}}, consolidated=consolidated)
        assert problems(model, GRID) == []
        assert point_values(model, [[30, 40, -50]])[1] == pytest.approx([field(30, 40, -50)[1]])
    assert problems(write(dataset(), tmp_path / "model.nc"), GRID) == []  # needs no extra
    ds = dataset(z=np.linspace(-2100, 300, 9))  # 0 is a point; above it there is air
    model = write(ds.assign(vs=ds.vs.where(ds.z <= 0)), tmp_path / "air.nc")
    assert problems(model, GRID) == []
    assert all(np.isfinite(values).all() for values in cell_averages(model, GRID, 0, 21))
    assert np.isfinite(point_values(model, [[0, 0, 0], [10, 10, -50]])).all()


def test_file_with_anomalies_and_extremes(tmp_path):
    model = write(dataset(), tmp_path / "m.nc", anomalies=[Sphere(**BALL, dvs=-0.2)])
    assert problems(model, GRID) == []
    assert_cells(model, [(10, 6, 5), (16, 6, 5)], 2, 1e-12)  # wholly inside, wholly outside: 2 samples per axis
    assert_cells(model, [(7, 6, 5), (10, 3, 6), (12, 8, 7)], 4, 1e-12)  # cut: 4
    limits = extremes(model, GRID)
    assert limits["vs"][1] == pytest.approx(2500 + 0.05 * 1300 + 0.2 * 2100)
    assert limits["vs"][0] < 0.85 * 2700 and limits["slowest"] == limits["vs"][0]


# --- what is wrong -----------------------------------------------------------------------------------------------------------------------

SOFT, AIR = {"vp": 300.0, "vs": 30.0, "rho": 1300.0}, {"vp": 340.0, "vs": 0.0, "rho": 1.2}
FAST, ASTRAY = {**DEEP, "vs": 4300.0}, layers((0, ROCK), (-1400, {**DEEP, "rho_gradient": -5.0}))
BODIES = [Sphere(center=[9000, 0, 0], radius=100, dvs=0.1), Sphere(**BALL, dvs=0.3)]
OUTSIDE = ("model.anomalies.0", "outside the domain", "8900 to 9100")
TOO_FAST = ("model.anomalies.1", "vp / sqrt(2)", "points looked at")
WRONG = [  # model, the problems: key and words
    (raw_layers((0, ROCK), (-1400, FAST)), [("model.layers.1.vs", "4300", "4242.64", "vp / sqrt(2)")]),
    (Homogeneous(vp=2000, vs=np.sqrt(2) * 1000, rho=2000), []),
    (Homogeneous(vp=2000, vs=1900, rho=2000), [("model.vs",)]),
    (ASTRAY, [("model.layers.1.rho", "z = -2000 m", "-300")]),
    (raw_layers((0, ROCK), (-500, ROCK), (-400, DEEP)), [("model.layers.2.top", "-400", "top down")]),
    (layers((-100, ROCK)), [("model.layers.0.top", "-100 m", "domain at 0 m")]),
    (layers((0, ROCK), (-1130, DEEP), anomalies=BODIES), [OUTSIDE, TOO_FAST]),
    (layers((0, WATER), (-900, {**ROCK, "rho": 2.3})), [("", "g/cm3")]),  # the water does not hide it
    # soils, air and water are light and slow as they are
    (Homogeneous(**AIR), []),
    *((layers((0, light), (-900, ROCK)), []) for light in (SOFT, AIR, WATER)),
    (layers((0, {"vp": 200.0, "vs": 10.0, "rho": 90.0}), (-5, ROCK)), []),
]


def test_wrong_values_are_told_at_once():
    assert not list(filter(None, (unlike(problems(model, GRID), expected) for model, expected in WRONG)))
    assert problems(ASTRAY, Region((0, 0, -1500), (1, 1, 0))) == []
    nonsense = problems(SimpleNamespace(kind="homogeneous", vp=float("nan"), vs=-1.0, rho=0.0), GRID, key="earth")
    expected = [("earth.vp", "not a finite number"), ("earth.vs", "-1 m/s"), ("earth.rho", "more than 0")]
    assert unlike(nonsense, expected) is None


UNITS = [
    ({"vp": 4.2, "vs": 2.4, "rho": 2.3}, {"vp": "km/s", "vs": "km/s", "rho": "g/cm3"}),
    ({**ROCK, "rho": 2.67}, {"rho": "g/cm3"}),
    ({**ROCK, "vs": 2.4}, {"vs": "km/s"}),
    ({**WATER, "vp": 1.5}, {"vp": "km/s"}),
    ({**WATER, "rho": 1.03}, {"rho": "g/cm3"}),
    ({**ROCK, "rho": 2.67e6}, {"rho": "twice"}),
]


def test_a_whole_model_in_other_units_is_refused(tmp_path):
    """In every kind of model; one key takes it as it is."""
    for n, (wrong, asked) in enumerate(UNITS):
        path, values = tmp_path / f"{n}.nc", [np.full((8, 5, 9), wrong[name]) for name in ("vp", "vs", "rho")]
        write(dataset(function=lambda *at, values=values: values), path)
        for model in (Homogeneous(**wrong), layers((0, wrong), (-900, wrong)), ModelFile(file=str(path))):
            expected = [("", unit, 'units = "SI"') for unit in asked.values()]
            assert [p.message.split()[0] for p in problems(model, GRID)] == list(asked), wrong
            assert unlike(problems(model, GRID), expected) is None, wrong
            assert problems(model.model_copy(update={"units": "SI"}), GRID) == [], wrong


FILE = "model.file"
SHORT_X = "x runs from -500 to 375 m, the domain from -500 to 500 m: missing 125 m at its end"
DEEP_Z = "z runs from -1500 to 0 m"
HOLES, FURLONGS = dataset(), dataset()
HOLES["vs"][3, 2, 1], HOLES["rho"][0, 0, 0] = np.nan, -1
FURLONGS.vp.attrs["units"] = "furlong"
NO_VALUE = "vs is not a finite number (nan) at (x, y, z) = (-375, 350, -1200) m; 1 of 360 points"
NEGATIVE = "rho is -1 kg/m3 at (x, y, z) = (-500, 0, -2100) m"
BROKEN = [  # dataset, the problems
    (dataset(X[:-1], Y, Z[2:]), [(FILE, SHORT_X), (FILE, DEEP_Z, "500 m at its start")]),
    (HOLES, [("", NO_VALUE), ("", NEGATIVE)]),
    (dataset().assign(vs=dataset().vs * np.nan), [("", ": vs is nan everywhere; 360 of 360 points read")]),
    (dataset().drop_vars(["vs", "y"]), [("", "no coordinate y"), ("", "no variable vs (the file has")]),
    (dataset().assign(vp=("x", X)), [("", "vp has the dimensions x; it needs z, y, x")]),
    (FURLONGS, [("", "'furlong'")]),
    (dataset(np.zeros_like(X)), [("", "coordinate x must increase or decrease")]),
]


def test_wrong_files_name_axes_places_and_numbers(tmp_path):
    for ds, expected in BROKEN:
        assert unlike(problems(write(ds, tmp_path / "m.nc"), GRID), expected) is None
    (tmp_path / "bad.nc").write_text("not a netCDF file")
    (tmp_path / "bad.zarr").mkdir()
    for name, words in (("none.nc", "there is no file"), ("bad.nc", "cannot read"), ("bad.zarr", "cannot read")):
        (problem,) = problems(file_model(tmp_path / name), GRID)
        assert unlike([problem], [(FILE, words, name)]) is None and "\n" not in problem.message and problem.remedy
    refused(ScenarioError, "there is no file", cell_averages, file_model(tmp_path / "none.nc"), GRID, 0, 1)
