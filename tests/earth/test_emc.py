"""Three-dimensional models of EMC's kind: units and names, interpolation, gaps; what a chunk's points get of them."""

import numpy as np
import pytest
import xarray

from craton.model.globe import chunk_medium, chunk_sampler, emc, prem, radial
from craton.model.globe.chunk import chunk
from craton.model.media import properties
from craton.model.mesh import shape

LON, LAT, DEPTH = (np.array([-80.0, -70, -60, -50]), np.array([-30.0, -20, -10, 0]), np.array([0.0, 100, 300, 700]))
VP, VS, RHO = (properties.NAMES.index(n) for n in ("vp", "vs", "rho"))


def file(path, dims=("depth", "latitude", "longitude"), lon=LON, unit="km", order=slice(None), **fields):
    """A netCDF file; `fields` are (values over depth, latitude, longitude, unit)."""
    coords = {
        "depth": ("depth", DEPTH[order] * (1 if unit == "km" else 1e3), {"units": unit, "positive": "down"}),
        "latitude": ("latitude", LAT),
        "longitude": ("longitude", lon),
    }
    data = {
        name: (
            ("depth", "latitude", "longitude"),
            np.broadcast_to(values, (4, 4, 4))[order],
            {"units": u} if u is not None else {},
        )
        for name, (values, u) in fields.items()
    }
    xarray.Dataset(data, coords).transpose(*dims).to_netcdf(path, engine="h5netcdf")
    return path


def linear(depth, lat, lon):
    """Trilinear, so that interpolation gives it back."""
    return 4 + depth / 1000 + lat / 100 - lon / 200 + depth * lat / 1e5


FIELD = linear(DEPTH[:, None, None], LAT[:, None], LON)
PLACES = np.random.default_rng(0).uniform((-80, -30, 0), (-50, 0, 700e3), (50, 3)).T


def radial_values(count=50):
    values = np.zeros((8, count))
    values[:3] = [[9000], [5000], [3500]]
    return values


@pytest.mark.parametrize("dims", [("depth", "latitude", "longitude"), ("longitude", "latitude", "depth")])
@pytest.mark.parametrize(("unit", "lon", "order"), [("km", LON, slice(None)), ("m", LON + 360, slice(None, None, -1))])
def test_values_between_points(tmp_path, dims, unit, lon, order):
    made = emc.read(
        file(
            tmp_path / "m.nc",
            dims,
            lon,
            unit,
            order,
            Vs=(FIELD, "km.s-1"),
            vp=(FIELD * 1.8e3, "m/s"),
            RHO=(3.3, "g/cm3"),
        )
    )
    out = made.laid_over(radial_values(), *PLACES)
    wanted = linear(PLACES[2] / 1e3, PLACES[1], PLACES[0])
    assert np.allclose(out[VS], 1e3 * wanted, rtol=1e-12) and np.allclose(out[VP], 1.8e3 * wanted, rtol=1e-12)
    assert np.allclose(out[RHO], 3300)
    assert any("Vs (km.s-1) as vs, times 1000" in line for line in made.taken)


@pytest.mark.parametrize(("unit", "size"), [("%", 1), ("percent", 1), (None, 1), ("1", 0.01)])
def test_relative_changes(tmp_path, unit, size):
    made = emc.read(file(tmp_path / "m.nc", dvs=(FIELD * size, unit)), scaling={"vp": 0.5})
    out = made.laid_over(radial_values(), *PLACES)
    wanted = 0.01 * linear(PLACES[2] / 1e3, PLACES[1], PLACES[0])
    assert np.allclose(out[VS], 5000 * (1 + wanted), rtol=1e-12) and np.allclose(
        out[VP], 9000 * (1 + wanted / 2), rtol=1e-12
    )
    assert np.allclose(out[RHO], 3500)


def test_small_changes_without_a_unit_are_asked_for(tmp_path):
    """0.4 may be per cent or a ratio, unless the name tells."""
    small = np.full((4, 4, 4), 0.4)
    with pytest.raises(ValueError, match="dvs has no unit.*may be per cent or ratios"):
        emc.read(file(tmp_path / "a.nc", dvs=(small, None)))
    for name, ratio in (("dvs_percent", 0.004), ("dlnvs", 0.4)):
        made = emc.read(file(tmp_path / f"{name}.nc", **{name: (small, None)}))
        out = made.laid_over(radial_values(), *PLACES)
        assert np.allclose(out[VS], 5000 * (1 + ratio)), name


def test_gaps_outside_and_fluids_stay(tmp_path):
    field = np.full((4, 4, 4), 10.0)
    field[0, 0, 0] = np.nan
    made = emc.read(file(tmp_path / "m.nc", dvs=(field, "%"), dvp=(field, "%")))
    values = radial_values(5)
    values[VS, 4] = 0
    #                      by the gap, on the point beside it, outside, below, in a fluid
    out = made.laid_over(values, [-78, -70, -90, -60, -60], [-28, -30, -20, -20, -20], [50e3, 0, 100e3, 800e3, 100e3])
    assert np.allclose(out[VS], (5000, 5500, 5000, 5000, 0)) and np.allclose(out[VP], (9000, 9900, 9000, 9000, 9000))


def test_around_the_world(tmp_path):
    """Longitudes 0 to 270 in four steps: between 270 and 360 lies their neighbour 0."""
    made = emc.read(file(tmp_path / "m.nc", lon=np.array([0.0, 90, 180, 270]), dvs=(np.array([0.0, 1, 2, 3]), "%")))
    out = made.laid_over(radial_values(4), [-45, 315, -90, 45], -10.0, 10e3)
    assert np.allclose(out[VS] / 5000 - 1, (0.015, 0.015, 0.03, 0.005))


def test_both_polarisations(tmp_path):
    made = emc.read(file(tmp_path / "m.nc", vsv=(4.0, "km/s"), vsh=(4.4, "km/s"), vpv=(8.0, "km/s"), vph=(8.2, "km/s")))
    out = made.laid_over(radial_values(), *PLACES)
    assert np.allclose(out[VS], 1e3 * np.sqrt((2 * 16 + 4.4**2) / 3)) and np.allclose(
        out[VP], 1e3 * np.sqrt((64 + 4 * 8.2**2) / 5)
    )


def test_files_that_are_wrong(tmp_path):
    with pytest.raises(ValueError, match="no file"):
        emc.read(tmp_path / "absent.nc")
    (tmp_path / "text.nc").write_text("no netCDF")
    with pytest.raises(ValueError, match="cannot read"):
        emc.read(tmp_path / "text.nc")
    with pytest.raises(ValueError, match="holds temperature"):
        emc.read(file(tmp_path / "t.nc", temperature=(3.0, "K")))
    with pytest.raises(ValueError, match="unit of vs, 'furlong/s'"):
        emc.read(file(tmp_path / "u.nc", vs=(3.0, "furlong/s")))
    with pytest.raises(ValueError, match="unit of depth"):
        emc.read(file(tmp_path / "d.nc", unit="miles", vs=(3.0, "km/s")))
    flat = xarray.Dataset(
        {"vs": (("depth", "y", "x"), np.ones((2, 2, 2)))},
        {"depth": [0, 1], "latitude": (("y", "x"), np.ones((2, 2))), "longitude": (("y", "x"), np.ones((2, 2)))},
    )
    with pytest.raises(ValueError, match="projected grid"):
        emc.from_dataset(flat)
    with pytest.raises(ValueError, match="no latitude"):
        emc.from_dataset(xarray.Dataset({"vs": ("depth", [1.0])}, {"depth": [0.0]}))


def test_points_of_a_chunk(tmp_path):
    made = chunk(prem.prem(), (-65, -15), (8, 8), 900e3, elements=(6, 6), growth=())
    part, points = made.part(), shape.gll_points(3)
    plain = chunk_medium.medium(part, points)
    assert plain.shape == (8, part.mesh.size, 4, 4, 4)
    assert np.allclose(plain[:3], made.model.speeds(part.radii(points)))
    over = emc.read(file(tmp_path / "m.nc", dvs=(FIELD, "%")))
    some = np.arange(0, part.mesh.size, 7)
    out = chunk_medium.medium(part, points, some, over)
    longitude, latitude, depth = made.whereabouts(chunk_medium.places(part, points, some))
    change = out[VS] / plain[VS][some] - 1
    inside = (depth > 1e3) & (depth < 699e3)
    assert np.allclose(
        change[inside], 0.01 * linear(depth / 1e3, latitude, longitude)[inside], atol=2e-6
    )  # depth by 27 nodes: a metre
    assert np.allclose(change[depth > 701e3], 0) and (depth > 701e3).any()


def test_stiffness_of_a_chunk():
    """The same about every radius: stretching along it."""
    made = chunk(prem.prem(transverse=True), (0, 0), (30, 30), 200e3, elements=(6, 6), growth=())
    part, points = made.part(), shape.gll_points(2)
    c = chunk_medium.stiffness(part, points)
    xyz = chunk_medium.places(part, points)
    x, y, z = np.moveaxis(xyz / np.linalg.norm(xyz, axis=-1, keepdims=True), -1, 0)
    strain = np.array([x * x, y * y, z * z, 2 * y * z, 2 * x * z, 2 * x * y])
    along = np.einsum(
        "p...,pq...,q...->...", np.array([x * x, y * y, z * z, 2 * y * z, 2 * x * z, 2 * x * y]), c, strain
    )
    assert np.allclose(along, made.model.moduli(part.radii(points))[1], rtol=1e-12)  # C = rho vpv^2
    assert np.allclose(c, c.swapaxes(0, 1))


@pytest.mark.parametrize(
    "options",
    [{}, {"elliptic": True, "topography": lambda x, y: 3000 * np.cos(x / 3) * np.sin(y / 2)}],
    ids=["sphere", "ellipsoid"],
)
def test_the_medium_by_position_is_that_of_the_mesh(tmp_path, options):
    """What methods ask for by position, in any order of elements, is what the mesh knows of its nodes."""
    made = chunk(prem.prem(), (-65, -15), (8, 8), 900e3, elements=(8, 8), growth=(300e3,), **options)
    part, points = made.part(), shape.gll_points(4)
    coordinates = np.moveaxis(chunk_medium.places(part, points).reshape(part.mesh.size, -1, 3), 2, 1)
    over = emc.read(file(tmp_path / "m.nc", dvs=(FIELD, "%"), rho=(3300.0, "kg/m3")))
    found = chunk_sampler.ChunkSampler(made, over, lossy=True).at(coordinates, part.mesh.centroids())
    wanted = chunk_medium.medium(part, points, over=over).reshape(8, part.mesh.size, -1)
    for name, row in zip(("vp", "vs", "rho", "loss_p", "loss_s"), wanted):
        assert np.allclose(found[name], row, rtol=2e-5), (
            name
        )  # 27 nodes put points up to 50 m off; speeds grow by 1e-6 a metre at most
    assert set(found) == {"vp", "vs", "rho", "loss_p", "loss_s"}


@pytest.mark.parametrize("options", [{}, {"elliptic": True}], ids=["sphere", "ellipsoid"])
def test_compiled_code_has_the_bits_of_numpy(options, monkeypatch):
    """Of elements on both sides of discontinuities, with nodes on them, and of none."""
    globe = chunk(prem.prem(), (0, 0), (30, 30), 900e3, elements=(6, 6), growth=(), **options)
    part, points = globe.part(), shape.gll_points(4)
    coordinates = np.moveaxis(chunk_medium.places(part, points).reshape(part.mesh.size, -1, 3), 2, 1)
    sampler = chunk_sampler.ChunkSampler(globe, lossy=True, dispersion=0.1)
    assert chunk_sampler.helper(radial.SPHERES) is not None
    compiled = [sampler.at(coordinates), sampler.at(coordinates[:0])]
    for module in (chunk_sampler, radial):
        monkeypatch.setattr(module, "helper", lambda path: None)
    assert sampler.at(coordinates)["vp"].size > 1000
    for some, found in zip((coordinates, coordinates[:0]), compiled):
        expected = sampler.at(some)
        assert list(found) == list(expected)
        assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_the_stiffness_by_position():
    made = chunk(prem.prem(transverse=True), (0, 0), (30, 30), 300e3, elements=(6, 6), growth=())
    part, points = made.part(), shape.gll_points(2)
    coordinates = np.moveaxis(chunk_medium.places(part, points).reshape(part.mesh.size, -1, 3), 2, 1)
    sampler = chunk_sampler.ChunkSampler(made)
    found = sampler.at(coordinates, part.mesh.centroids())["stiffness"]
    whole = chunk_medium.stiffness(part, points).reshape(6, 6, part.mesh.size, -1)
    assert sampler.anisotropic and np.allclose(found, np.moveaxis(whole[np.triu_indices(6)], 0, 1), rtol=1e-5, atol=1e5)
