"""Earth models: cell averages against brute force, anomalies, files, extremes, and what is said of wrong ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from craton.core.grid import Grid
from craton.errors import ScenarioError
from craton.model import Region, cell_averages, extremes, point_values, problems
from craton.tables.medium import Box, Homogeneous, Layer, Layers, ModelFile, Sphere

GRID = Grid((-500.0, 0.0, -2000.0), 100.0, (21, 13, 11))
ROCK = {"vp": 4200.0, "vs": 2422.0, "rho": 2300.0}
DEEP = {"vp": 6000.0, "vs": 3460.0, "rho": 2700.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}


def layers(*tops_and_values, anomalies=()):
    return Layers(layers=[Layer(top=top, **values) for top, values in tops_and_values], anomalies=anomalies)


def raw_layers(*rows, anomalies=()):
    """A model that the schema would refuse."""
    return SimpleNamespace(
        kind="layers", layers=[SimpleNamespace(top=top, **values) for top, values in rows], anomalies=anomalies
    )


def file_model(path, anomalies=()):
    return SimpleNamespace(kind="file", file=path, anomalies=anomalies)


def moduli(vp, vs, rho):
    return rho * (vp**2 - 4 / 3 * vs**2), rho * vs**2


def brute(function, grid, point, n):
    """Means over one cell (k, j, i) from n^3 samples of a function of x, y, z; the cell is clipped at the grid's extent."""
    axes = []
    for name, index in zip("xyz", reversed(point)):
        low, high = grid.bounds(name)
        middle = grid.axis(name)[index]
        a, b = max(middle - grid.spacing / 2, low), min(middle + grid.spacing / 2, high)
        axes.append(a + (b - a) * (np.arange(n) + 0.5) / n)
    x, y, z = (c.ravel() for c in np.meshgrid(*axes, indexing="ij"))
    vp, vs, rho = function(x, y, z)
    kappa, mu = moduli(vp, vs, rho)
    with np.errstate(divide="ignore"):
        return rho.mean(), 1 / np.mean(1 / kappa), 1 / np.mean(1 / mu)


def at_points(model):
    return lambda x, y, z: point_values(model, np.column_stack([x, y, z]))


def assert_cells(model, grid, points, n, tolerance):
    found = cell_averages(model, grid, 0, grid.shape[0])
    for point in points:
        expected = brute(at_points(model), grid, point, n)
        for name, values, value in zip(("rho", "kappa", "mu"), found, expected):
            assert values[point] == pytest.approx(value, rel=tolerance), (name, point)


# ---------------------------------------------------------------- layers


def test_homogeneous_is_exact_and_takes_no_memory():
    rho, kappa, mu = cell_averages(Homogeneous(**ROCK), GRID, 3, 7)
    assert rho.shape == (4, 13, 11)
    assert rho.strides[1:] == (0, 0) and not rho.flags.writeable
    expected = moduli(*ROCK.values())
    assert np.ptp(kappa) == np.ptp(mu) == np.ptp(rho) == 0
    assert (rho[0, 0, 0], kappa[0, 0, 0], mu[0, 0, 0]) == pytest.approx((ROCK["rho"], *expected), rel=1e-15)


def test_interface_on_a_node_is_half_and_half_and_symmetric():
    up = cell_averages(layers((0, ROCK), (-1400, DEEP)), GRID, 0, 21)
    down = cell_averages(layers((0, DEEP), (-1400, ROCK)), GRID, 0, 21)
    k = 6  # z = -1400 m
    (k1, m1), (k2, m2) = moduli(*ROCK.values()), moduli(*DEEP.values())
    expected = (2500.0, 2 / (1 / k1 + 1 / k2), 2 / (1 / m1 + 1 / m2))
    for a, b, value in zip(up, down, expected):
        assert a[k, 0, 0] == pytest.approx(value, rel=1e-14)
        assert b[k, 0, 0] == pytest.approx(value, rel=1e-14)
    assert up[0][k - 1, 0, 0] == 2700 and up[0][k + 1, 0, 0] == 2300


def test_interface_anywhere_in_a_cell_weights_by_volume():
    top = -1427.0  # the cell of z = -1400 m reaches from -1450 to -1350
    rho, kappa, mu = cell_averages(layers((0, ROCK), (top, DEEP)), GRID, 6, 7)
    w = 0.23
    (k1, m1), (k2, m2) = moduli(*ROCK.values()), moduli(*DEEP.values())
    assert rho[0, 0, 0] == pytest.approx(w * 2700 + (1 - w) * 2300, rel=1e-13)
    assert kappa[0, 0, 0] == pytest.approx(1 / (w / k2 + (1 - w) / k1), rel=1e-13)
    assert mu[0, 0, 0] == pytest.approx(1 / (w / m2 + (1 - w) / m1), rel=1e-13)


def test_several_thin_layers_in_one_cell():
    assert_cells(layers((0, ROCK), (-1390, DEEP), (-1400, ROCK), (-1430, DEEP)), GRID, [(6, 0, 0)], 20, 1e-12)


def test_first_and_last_cells_are_clipped_at_the_grid():
    # the interface lies 25 m below the top: half of the clipped cell of the top plane, which is 50 m high
    rho, _, _ = cell_averages(layers((0, ROCK), (-25, DEEP)), GRID, 0, 21)
    assert rho[20, 0, 0] == pytest.approx(2500, rel=1e-13)
    rho, _, _ = cell_averages(layers((0, ROCK), (-1975, DEEP)), GRID, 0, 1)
    assert rho[0, 0, 0] == pytest.approx(2500, rel=1e-13)


def test_gradients_are_integrated_exactly():
    model = layers(
        (0, {**ROCK, "vp_gradient": 0.6, "vs_gradient": 0.4, "rho_gradient": 0.1}),
        (-1427, {**DEEP, "vs_gradient": -0.2}),
    )
    rho, _, _ = cell_averages(model, GRID, 10, 11)
    assert rho[0, 0, 0] == pytest.approx(2300 + 0.1 * 1000, rel=1e-13)
    low, high = -1450.0, -1350.0
    z = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
    vp, vs, density = point_values(model, np.column_stack([0 * z, 0 * z, z]))
    expected = density.mean(), *(1 / np.mean(1 / m) for m in moduli(vp, vs, density))
    for values, value in zip(cell_averages(model, GRID, 6, 7), expected):
        assert values[0, 0, 0] == pytest.approx(value, rel=1e-9)


def test_fluid_cells_have_no_shear_modulus_and_rounding_puts_none_into_solid_ones():
    rho, kappa, mu = cell_averages(layers((0, WATER), (-150, ROCK)), GRID, 0, 21)
    assert (mu[19:] == 0).all() and (mu[:19] > 0).all()  # -150 m is the face between planes 18 and 19
    assert kappa[20, 0, 0] == pytest.approx(1000 * 1500**2)
    odd = Grid((0.0, 0.0, -7.7), 0.1, (78, 1, 1))
    for k in range(1, 77):
        top = odd.origin[2] + odd.spacing * (k + 0.5) * (1 + 2e-16)
        _, _, mu = cell_averages(layers((1, WATER), (top, ROCK)), odd, k, k + 2)
        assert mu[0, 0, 0] > 0 and mu[1, 0, 0] == 0
    for top, solid in (
        (-160, True),
        (-199, True),
        (-200, True),
        (-201, False),
    ):  # the cell of plane 18 reaches from -250 to -150 m
        rho, _, mu = cell_averages(layers((0, WATER), (top, ROCK)), GRID, 18, 19)
        assert (mu > 0).all() == solid and rho[0, 0, 0] == (ROCK if solid else WATER)[
            "rho"
        ]  # of the one that fills more of it


def test_a_slab_equals_the_same_planes_of_the_whole():
    model = layers(
        (0, ROCK), (-1427, DEEP), anomalies=[Sphere(shape="sphere", center=[0, 600, -1000], radius=420, dvs=-0.1)]
    )
    whole = cell_averages(model, GRID, 0, 21)
    for values, part in zip(whole, cell_averages(model, GRID, 5, 9)):
        assert np.array_equal(values[5:9], part)


def test_one_point_across_keeps_its_cell():
    grid = Grid((0.0, 0.0, -500.0), 100.0, (6, 1, 11))
    ball = [Sphere(shape="sphere", center=[500, 0, -250], radius=180, rho=3000)]
    rho, _, mu = cell_averages(Homogeneous(**ROCK, anomalies=ball), grid, 0, 6)
    assert np.isfinite(mu).all() and rho.max() == pytest.approx(3000) and rho.min() == 2300


def test_fifty_million_points_of_layers_are_quick():
    import time

    grid = Grid((0.0, 0.0, -18800.0), 100.0, (189, 484, 540))
    started = time.perf_counter()
    rho, _, _ = cell_averages(layers((0, ROCK), (-1400, DEEP)), grid, 0, 189)
    assert rho.shape == grid.shape
    assert time.perf_counter() - started < 1


# ---------------------------------------------------------------- anomalies

SPHERE = {"shape": "sphere", "center": [20.0, 610.0, -1010.0], "radius": 333.0}


# Four samples per axis know the share of a cell to 1/8 where the surface runs along the grid, the worst case: an eighth of the contrast
@pytest.mark.parametrize(
    "change, tolerance", [({"dvs": -0.1, "drho": 0.05}, 0.02), ({"vp": 3000.0, "vs": 1700.0, "rho": 2100.0}, 0.1)]
)
def test_sphere_against_brute_force(change, tolerance):
    model = layers((0, ROCK), (-1125, DEEP), anomalies=[Sphere(**SPHERE, **change)])
    rng = np.random.default_rng(1)
    points = [(k, j, i) for k, j, i in rng.integers((5, 2, 1), (15, 11, 10), (60, 3))]
    assert_cells(model, GRID, points, 24, tolerance)
    inside, outside = (10, 6, 5), (18, 6, 5)
    assert_cells(model, GRID, [inside, outside], 4, 1e-12)


def test_sphere_has_its_volume():
    rho, _, _ = cell_averages(Homogeneous(**ROCK, anomalies=[Sphere(**SPHERE, rho=3300.0)]), GRID, 0, 21)
    volume = (rho - 2300).sum() / 1000 * 100**3
    assert volume == pytest.approx(4 / 3 * np.pi * 333**3, rel=2e-3)


def test_box_faces_on_nodes_halve_quarter_and_eighth_the_cells():
    box = Box(shape="box", min=[-200, 300, -1500], max=[200, 900, -1000], rho=3300.0)
    rho, _, _ = cell_averages(Homogeneous(**ROCK, anomalies=[box]), GRID, 0, 21)
    share = (rho - 2300) / 1000
    assert share[7, 6, 5] == 1 and share[4, 6, 5] == 0
    assert share[7, 6, 3] == pytest.approx(0.5)
    assert share[10, 6, 3] == pytest.approx(0.25)
    assert share[10, 9, 3] == pytest.approx(0.125)
    assert share.sum() * 100**3 == pytest.approx(400 * 600 * 500, rel=1e-12)


def test_box_and_layer_in_one_cell_are_exact_along_z():
    box = Box(shape="box", min=[-450, 50, -1433], max=[450, 1150, -800], dvp=0.1, dvs=0.1)
    model = layers((0, ROCK), (-1411, DEEP), anomalies=[box])
    assert_cells(model, GRID, [(6, 6, 5)], 100, 1e-12)


def test_later_anomalies_act_on_earlier_ones():
    first = Box(shape="box", min=[-450, 50, -1450], max=[450, 1150, -850], vs=2000.0)
    second = Box(shape="box", min=[-450, 50, -1450], max=[450, 1150, -850], dvs=0.1)
    vp, vs, rho = point_values(Homogeneous(**ROCK, anomalies=[first, second]), [[0, 600, -1000], [0, 600, -100]])
    assert vs == pytest.approx([2200, 2422]) and list(vp) == [4200, 4200] and list(rho) == [2300, 2300]
    _, _, mu = cell_averages(Homogeneous(**ROCK, anomalies=[first, second]), GRID, 10, 11)
    assert mu[0, 6, 5] == pytest.approx(2300 * 2200**2)
    vs = point_values(Homogeneous(**ROCK, anomalies=[second, first]), [[0, 600, -1000]])[1]
    assert vs == pytest.approx([2000])


# ---------------------------------------------------------------- values at points and extremes


def test_point_on_an_interface_takes_the_layer_below():
    model = layers((0, ROCK), (-1400, {**DEEP, "vp_gradient": 0.5}))
    vp, vs, rho = point_values(model, [[0, 0, 10], [0, 0, 0], [0, 0, -1399.9], [0, 0, -1400], [0, 0, -1600]])
    assert list(vp) == [4200, 4200, 4200, 6000, 6100]
    assert list(rho) == [2300, 2300, 2300, 2700, 2700]
    assert vs.shape == (5,)


def test_extremes():
    model = layers(
        (0, ROCK),
        (-1400, {**DEEP, "vp_gradient": 0.5, "vs_gradient": 0.1}),
        (-9000, {"vp": 9e3, "vs": 5e3, "rho": 4e3}),
    )
    found = extremes(model, GRID)
    assert found["vp"] == (4200, 6300) and found["vs"] == (2422, 3520) and found["rho"] == (2300, 2700)
    assert found["slowest"] == 2422
    assert extremes(model, Region((0, 0, -1000), (10, 10, 0)))["vp"] == (4200, 4200)
    wet = extremes(layers((0, WATER), (-100, ROCK)), GRID)
    assert wet["vs"] == (0, 2422) and wet["slowest"] == 1500
    ball = [Sphere(**SPHERE, dvs=-0.5), Sphere(shape="sphere", center=[1e5, 0, 0], radius=10, vp=99.0)]
    odd = extremes(layers((0, ROCK), (-1130, DEEP), anomalies=ball), GRID)
    assert odd["vs"] == (1211, 3460) and odd["vp"] == (4200, 6000) and odd["slowest"] == 1211


# ---------------------------------------------------------------- files


def field(x, y, z):
    """A medium linear in each coordinate: linear interpolation is exact."""
    return (5000 + 0.1 * x - 0.3 * z + 1e-4 * x * y, 2500 + 0.05 * y - 0.2 * z, 2500 + 0.02 * x - 0.05 * z + 0 * y)


def dataset(x, y, z, function=field):
    import xarray as xr

    zz, yy, xx = np.meshgrid(z, y, x, indexing="ij")
    values = {name: (("z", "y", "x"), v) for name, v in zip(("vp", "vs", "rho"), function(xx, yy, zz))}
    return xr.Dataset(values, {"x": np.asarray(x), "y": np.asarray(y), "z": np.asarray(z)})


X, Y, Z = np.linspace(-500, 500, 9), np.array([0.0, 100, 350, 800, 1300]), np.linspace(-2100, 0, 8)


def plain(ds):
    return ds


def descending(ds):
    return ds.isel(z=slice(None, None, -1), y=slice(None, None, -1))


def other_units(ds):
    ds = ds.assign_coords({a: ds[a] / 1000 for a in "xyz"})
    for a in "xyz":
        ds[a].attrs["units"] = "km"
    for name, unit in (("vp", "km/s"), ("vs", "km s-1"), ("rho", "g/cm3")):
        ds[name] = ds[name] / 1000
        ds[name].attrs["units"] = unit
    return ds


def other_order(ds):
    return ds.transpose("x", "z", "y").assign(vs=ds.vs.transpose("y", "x", "z"))


def upper_case(ds):
    return ds.rename({"x": "X", "y": "Y", "z": "Z", "vp": "VP", "vs": "Vs", "rho": "Rho"})


def by_depth(ds):
    return ds.assign_coords(z=-ds.z).rename(z="depth")


def positive_down(ds):
    ds = ds.assign_coords(z=-ds.z)
    ds.z.attrs["positive"] = "down"
    return ds


@pytest.mark.parametrize("kind", ["nc", "zarr"])
@pytest.mark.parametrize("change", [plain, descending, other_units, other_order, upper_case, by_depth, positive_down])
def test_files_in_any_dress_give_the_same_medium(tmp_path, change, kind):
    path = tmp_path / f"model.{kind}"
    ds = change(dataset(X, Y, Z))
    ds.to_netcdf(path, engine="h5netcdf") if kind == "nc" else ds.to_zarr(path, consolidated=False)
    model = file_model(path)
    assert problems(model, GRID) == []
    xyz = np.random.default_rng(2).uniform((-500, 0, -2000), (500, 1200, 0), (50, 3))
    for found, expected in zip(point_values(model, xyz), field(*xyz.T)):
        assert found == pytest.approx(expected, rel=1e-12)
    found = cell_averages(model, GRID, 0, 21)
    for point in [(0, 0, 0), (20, 12, 10), (7, 5, 3), (20, 4, 0)]:
        for values, value in zip(found, brute(field, GRID, point, 2)):
            assert values[point] == pytest.approx(value, rel=1e-12)
    part = cell_averages(model, GRID, 4, 6)
    assert all(np.allclose(a[4:6], b, rtol=1e-13) for a, b in zip(found, part))


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_blocks_read_ahead_have_the_bits_of_parts_read_apart(tmp_path, monkeypatch):
    """Threads that ask for planes of a file in any order, with blocks of a few of its planes."""
    from craton.model.media import blocks, readers

    dataset(X, Y, Z).to_netcdf(tmp_path / "model.nc", engine="h5netcdf")
    model, planes = file_model(tmp_path / "model.nc"), range(GRID.shape[0])
    apart = [cell_averages(model, GRID, k, k + 1) for k in planes]
    monkeypatch.setattr(blocks, "VALUES", 3 * 2 * len(X) * len(Y))
    reads, read = [], readers.Source.read
    monkeypatch.setattr(readers.Source, "read", lambda *given: reads.append(1) or read(*given))
    with blocks.read_ahead(model):
        ahead = [cell_averages(model, GRID, k, k + 1) for k in planes]
        back = cell_averages(model, GRID, 2, 4)
    assert len(reads) < len(apart) and not blocks.HELD
    for one, other in zip(apart, ahead):
        assert all(np.array_equal(a, b) for a, b in zip(one, other))
    assert np.array_equal(back[0][0], apart[2][0][0])


def test_zarr_with_consolidated_metadata_and_blocks(tmp_path):
    dataset(X, Y, Z).to_zarr(tmp_path / "m.zarr", encoding={"vs": {"chunks": (3, 2, 4)}})
    model = ModelFile(file=str(tmp_path / "m.zarr"))
    assert problems(model, GRID) == []
    assert point_values(model, [[30, 40, -50]])[1] == pytest.approx([field(30, 40, -50)[1]])


def test_classic_netcdf_needs_no_extra(tmp_path):
    dataset(X, Y, Z).to_netcdf(tmp_path / "model.nc", engine="scipy", format="NETCDF3_64BIT")
    assert problems(file_model(tmp_path / "model.nc"), GRID) == []


def test_file_with_anomalies_and_extremes(tmp_path):
    dataset(X, Y, Z).to_zarr(tmp_path / "m.zarr", consolidated=False)
    model = file_model(tmp_path / "m.zarr", [Sphere(**SPHERE, dvs=-0.2)])
    assert problems(model, GRID) == []
    assert_cells(model, GRID, [(10, 6, 5), (16, 6, 5)], 2, 1e-12)  # wholly inside, wholly outside: 2 samples per axis
    assert_cells(model, GRID, [(7, 6, 5), (10, 3, 6), (12, 8, 7)], 4, 1e-12)  # cut: 4
    found = extremes(model, GRID)
    assert found["vs"][1] == pytest.approx(2500 + 0.05 * 1300 + 0.2 * 2100)
    assert found["vs"][0] < 0.85 * 2700 and found["slowest"] == found["vs"][0]


def test_nan_beyond_the_domain_does_no_harm(tmp_path):
    z = np.linspace(-2100, 300, 9)  # 0 is a point; above it there is air
    ds = dataset(X, Y, z)
    ds["vs"] = ds.vs.where(ds.z <= 0)
    ds.to_zarr(tmp_path / "m.zarr", consolidated=False)
    model = file_model(tmp_path / "m.zarr")
    assert problems(model, GRID) == []
    assert all(np.isfinite(values).all() for values in cell_averages(model, GRID, 0, 21))
    assert np.isfinite(point_values(model, [[0, 0, 0], [10, 10, -50]])).all()


# ---------------------------------------------------------------- what is wrong


def only(found):
    assert len(found) == 1, found
    return found[0]


def test_vs_too_large_for_vp():
    p = only(problems(raw_layers((0, ROCK), (-1400, {**DEEP, "vs": 4300.0})), GRID))
    assert (
        p.key == "model.layers.1.vs"
        and "4300" in p.message
        and "4242.64" in p.message
        and "vp / sqrt(2)" in p.message
        and p.remedy
    )
    assert problems(Homogeneous(vp=2000, vs=np.sqrt(2) * 1000, rho=2000), GRID) == []
    assert only(problems(Homogeneous(vp=2000, vs=1900, rho=2000), GRID)).key == "model.vs"


SOFT = {"vp": 300.0, "vs": 30.0, "rho": 1300.0}
AIR = {"vp": 340.0, "vs": 0.0, "rho": 1.2}


@pytest.mark.parametrize(
    "wrong, asked",
    [
        ({"vp": 4.2, "vs": 2.4, "rho": 2.3}, {"vp": "km/s", "vs": "km/s", "rho": "g/cm3"}),
        ({**ROCK, "rho": 2.67}, {"rho": "g/cm3"}),
        ({**ROCK, "vs": 2.4}, {"vs": "km/s"}),
        ({**WATER, "vp": 1.5}, {"vp": "km/s"}),
        ({**WATER, "rho": 1.03}, {"rho": "g/cm3"}),
        ({**ROCK, "rho": 2.67e6}, {"rho": "twice"}),
    ],
)
def test_a_whole_model_in_other_units_is_refused(wrong, asked, tmp_path):
    """In every kind of model; one key takes it as it is."""
    path = tmp_path / "model.zarr"
    values = [np.full((8, 5, 9), wrong[name]) for name in ("vp", "vs", "rho")]
    write(dataset(X, Y, Z, lambda *at: values), path)
    for model in (Homogeneous(**wrong), layers((0, wrong), (-900, wrong)), ModelFile(file=str(path))):
        found = problems(model, GRID)
        assert [p.message.split()[0] for p in found] == list(asked)
        assert all(asked[p.message.split()[0]] in p.message for p in found)
        assert all('units = "SI"' in p.remedy for p in found)
        assert problems(model.model_copy(update={"units": "SI"}), GRID) == []


def test_soils_air_and_water_are_light_and_slow_as_they_are():
    for model in (
        Homogeneous(**AIR),
        layers((0, SOFT), (-900, ROCK)),
        layers((0, AIR), (-900, ROCK)),
        layers((0, {"vp": 200.0, "vs": 10.0, "rho": 90.0}), (-5, ROCK)),
        layers((0, WATER), (-900, ROCK)),
    ):
        assert problems(model, GRID) == []
    (found,) = problems(layers((0, WATER), (-900, {**ROCK, "rho": 2.3})), GRID)
    assert "g/cm3" in found.message  # the water does not hide it


def test_units_are_read_from_any_spelling_of_their_attribute(tmp_path):
    ds = other_units(dataset(X, Y, Z))
    for name in ("vp", "vs", "rho"):
        ds[name].attrs = {"Unit": ds[name].attrs["units"]}
    model = write(ds, tmp_path / "model.zarr")
    (vp,), *_ = point_values(model, [(0, 100, -1000)])
    assert vp == pytest.approx(field(0, 100, -1000)[0])


def test_all_wrong_values_are_told_at_once():
    found = problems(SimpleNamespace(kind="homogeneous", vp=float("nan"), vs=-1.0, rho=0.0), GRID, key="earth")
    assert [p.key for p in found] == ["earth.vp", "earth.vs", "earth.rho"]
    assert (
        "not a finite number" in found[0].message and "-1 m/s" in found[1].message and "more than 0" in found[2].message
    )


def test_gradient_that_leads_astray_is_seen_at_its_end():
    model = layers((0, ROCK), (-1400, {**DEEP, "rho_gradient": -5.0}))
    p = only(problems(model, GRID))
    assert p.key == "model.layers.1.rho" and "z = -2000 m" in p.message and "-300" in p.message
    assert problems(model, Region((0, 0, -1500), (1, 1, 0))) == []


def test_layers_out_of_order_or_below_the_top():
    found = problems(raw_layers((0, ROCK), (-500, ROCK), (-400, DEEP)), GRID)
    assert only(found).key == "model.layers.2.top" and "-400" in found[0].message and "top down" in found[0].remedy
    p = only(problems(layers((-100, ROCK)), GRID))
    assert p.key == "model.layers.0.top" and "-100 m" in p.message and "domain at 0 m" in p.message


def test_anomalies_outside_or_with_impossible_values():
    away = Sphere(shape="sphere", center=[9000, 0, 0], radius=100, dvs=0.1)
    fast = Sphere(**SPHERE, dvs=0.3)
    found = problems(layers((0, ROCK), (-1130, DEEP), anomalies=[away, fast]), GRID)
    assert [p.key for p in found] == ["model.anomalies.0", "model.anomalies.1"]
    assert "outside the domain" in found[0].message and "8900 to 9100" in found[0].message
    assert "vp / sqrt(2)" in found[1].message and "points looked at" in found[1].message


def write(ds, path):
    ds.to_zarr(path, consolidated=False)
    return file_model(path)


def test_file_smaller_than_the_domain_names_axis_and_numbers(tmp_path):
    found = problems(write(dataset(X[:-1], Y, Z[2:]), tmp_path / "m.zarr"), GRID)
    assert [p.key for p in found] == ["model.file"] * 2
    assert "x runs from -500 to 375 m, the domain from -500 to 500 m: missing 125 m at its end" in found[0].message
    assert "z runs from -1500 to 0 m" in found[1].message and "500 m at its start" in found[1].message


def test_file_with_nan_names_the_place(tmp_path):
    ds = dataset(X, Y, Z)
    ds["vs"][3, 2, 1] = np.nan
    ds["rho"][0, 0, 0] = -1
    found = problems(write(ds, tmp_path / "m.zarr"), GRID)
    assert len(found) == 2
    assert "vs is not a finite number (nan) at (x, y, z) = (-375, 350, -1200) m; 1 of 360 points" in found[0].message
    assert "rho is -1 kg/m3 at (x, y, z) = (-500, 0, -2100) m" in found[1].message


def test_shear_speeds_that_are_missing_everywhere_are_told(tmp_path):
    ds = dataset(X, Y, Z)
    p = only(problems(write(ds.assign(vs=ds.vs * np.nan), tmp_path / "model.zarr"), GRID))
    assert p.message.startswith("vs is nan everywhere; 360 of 360 points read")


def test_file_without_what_it_needs(tmp_path):
    found = problems(write(dataset(X, Y, Z).drop_vars(["vs", "y"]), tmp_path / "m.zarr"), GRID)
    assert (
        "no coordinate y" in found[0].message and "no variable vs (the file has" in found[1].message and len(found) == 2
    )
    found = problems(write(dataset(X, Y, Z).assign(vp=("x", X)), tmp_path / "n.zarr"), GRID)
    assert "vp has the dimensions x; it needs z, y, x" in only(found).message
    ds = dataset(X, Y, Z)
    ds.vp.attrs["units"] = "furlong"
    assert "'furlong'" in only(problems(write(ds, tmp_path / "o.zarr"), GRID)).message
    ds = dataset(np.zeros_like(X), Y, Z)
    assert "coordinate x must increase or decrease" in only(problems(write(ds, tmp_path / "p.zarr"), GRID)).message


def test_file_that_is_missing_or_no_model(tmp_path):
    p = only(problems(file_model(tmp_path / "none.nc"), GRID))
    assert p.key == "model.file" and "there is no file" in p.message and "none.nc" in p.message
    (tmp_path / "bad.nc").write_text("not a netCDF file")
    (tmp_path / "bad.zarr").mkdir()
    for name in ("bad.nc", "bad.zarr"):
        p = only(problems(file_model(tmp_path / name), GRID))
        assert "cannot read" in p.message and name in p.message and "\n" not in p.message and p.remedy
    with pytest.raises(ScenarioError, match="there is no file"):
        cell_averages(file_model(tmp_path / "none.nc"), GRID, 0, 1)
