"""Three-dimensional models of EMC's kind: units and names, interpolation, gaps; what a chunk's points get of them."""

import numpy as np
import pytest
import xarray
from common import refused
from earthcase import PREM, RADIUS, emc_data, emc_file

from craton.model.globe import earth_chunk, emc, prem
from craton.model.globe.chunk import chunk
from craton.model.media import properties
from craton.model.mesh import shape

LON, LAT, DEPTH = np.array([-80.0, -70, -60, -50]), np.array([-30.0, -20, -10, 0]), np.array([0.0, 100, 300, 700])
VP, VS, RHO = (properties.NAMES.index(n) for n in ("vp", "vs", "rho"))


def linear(depth, lat, lon):
    """Trilinear, so that interpolation gives it back."""
    return 4 + depth / 1000 + lat / 100 - lon / 200 + depth * lat / 1e5


FIELD = linear(DEPTH[:, None, None], LAT[:, None], LON)
PLACES = np.random.default_rng(0).uniform((-80, -30, 0), (-50, 0, 700e3), (50, 3)).T
EXPECTED = linear(PLACES[2] / 1e3, PLACES[1], PLACES[0])
GRID = DEPTH, LAT, LON


def laid_over(data, places=PLACES, fluid=()):
    """A medium of 9, 5 and 3.5 with a model's dataset laid over it."""
    values = np.tile([[9000.0], [5000], [3500], [0], [0], [0], [0], [0]], len(places[0]))
    values[VS, list(fluid)] = 0
    return emc.from_dataset(data).laid_over(values, *places)


@pytest.mark.parametrize(
    "dims, turned", [(("depth", "latitude", "longitude"), True), (("longitude", "latitude", "depth"), False)]
)
def test_values_between_points(dims, turned):
    """In km and m, longitudes beyond 180 degrees, depths that fall."""
    axes, field = ((DEPTH[::-1] * 1e3, LAT, LON + 360), FIELD[::-1]) if turned else (GRID, FIELD)
    fields = {"Vs": (field, "km.s-1"), "vp": (field * 1.8e3, "m/s"), "RHO": (3.3, "g/cm3")}
    data = emc_data(*axes, dims, "m" if turned else "km", **fields)
    out = laid_over(data)
    assert np.allclose(out[VS], 1e3 * EXPECTED, rtol=1e-12) and np.allclose(out[VP], 1.8e3 * EXPECTED, rtol=1e-12)
    assert np.allclose(out[RHO], 3300)
    assert any("Vs (km.s-1) as vs, times 1000" in line for line in emc.from_dataset(data).taken)


def test_relative_changes(tmp_path):
    """0.4 without a unit may be per cent or a ratio, unless the name tells."""
    for unit, size in (("%", 1), ("percent", 1), (None, 1), ("1", 0.01)):
        out = laid_over(emc_data(*GRID, dvs=(FIELD * size, unit)))
        assert np.allclose(out[VS], 5000 * (1 + 0.01 * EXPECTED), rtol=1e-12), unit
        assert np.allclose(out[VP], 9000) and np.allclose(out[RHO], 3500), unit
    out = emc.read(emc_file(tmp_path / "m.nc", *GRID, dvs=(FIELD, "%"))).laid_over(np.full((8, 50), 9000.0), *PLACES)
    assert np.allclose(out[VS], 9000 * (1 + 0.01 * EXPECTED), rtol=1e-12) and np.allclose(out[[VP, RHO]], 9000)
    words = ["dvs has no unit", "may be per cent or ratios"]
    refused(ValueError, words, emc.from_dataset, emc_data(*GRID, dvs=(0.4, None)))
    for name, ratio in (("dvs_percent", 0.004), ("dlnvs", 0.4)):
        assert np.allclose(laid_over(emc_data(*GRID, **{name: (0.4, None)}))[VS], 5000 * (1 + ratio)), name


def test_gaps_outside_fluids_and_around_the_world():
    """By a gap, on the point beside it, outside, below, in a fluid; between 270 and 360 degrees lies the neighbour 0."""
    field = np.full((4, 4, 4), 10.0)
    field[0, 0, 0] = np.nan
    places = [-78, -70, -90, -60, -60], [-28, -30, -20, -20, -20], [50e3, 0, 100e3, 800e3, 100e3]
    out = laid_over(emc_data(*GRID, dvs=(field, "%"), dvp=(field, "%")), places, fluid=[4])
    assert np.allclose(out[VS], (5000, 5500, 5000, 5000, 0)) and np.allclose(out[VP], (9000, 9900, 9000, 9000, 9000))
    data = emc_data(DEPTH, LAT, [0, 90, 180, 270], dvs=(np.arange(4.0), "%"))
    out = laid_over(data, ([-45, 315, -90, 45], -10.0, 10e3))
    assert np.allclose(out[VS] / 5000 - 1, (0.015, 0.015, 0.03, 0.005))


def test_both_polarisations():
    out = laid_over(emc_data(*GRID, vsv=(4.0, "km/s"), vsh=(4.4, "km/s"), vpv=(8.0, "km/s"), vph=(8.2, "km/s")))
    assert np.allclose(out[VS], 1e3 * np.sqrt((2 * 16 + 4.4**2) / 3))
    assert np.allclose(out[VP], 1e3 * np.sqrt((64 + 4 * 8.2**2) / 5))


def test_files_that_are_wrong(tmp_path):
    refused(ValueError, "no file", emc.read, tmp_path / "absent.nc")
    (tmp_path / "text.nc").write_text("no netCDF")
    refused(ValueError, "cannot read", emc.read, tmp_path / "text.nc")
    plane = ("y", "x"), np.ones((2, 2))
    coords = {"depth": [0, 1], "latitude": plane, "longitude": plane}
    for words, data in (
        ("holds temperature", emc_data(*GRID, temperature=(3.0, "K"))),
        ("units attribute of vs of the dataset, 'furlong/s'", emc_data(*GRID, vs=(3.0, "furlong/s"))),
        ("units attribute of depth", emc_data(*GRID, unit="miles", vs=(3.0, "km/s"))),
        ("projected grid", xarray.Dataset({"vs": (("depth", "y", "x"), np.ones((2, 2, 2)))}, coords)),
        ("no latitude", xarray.Dataset({"vs": ("depth", [1.0])}, {"depth": [0.0]})),
    ):
        refused(ValueError, words, emc.from_dataset, data)


# --- points of a chunk ------------------------------------------------------------------------------------------------------------------


def positions(part, points):
    """Points of all elements, (elements, points, 3)."""
    return shape.positions(part.mesh.nodes, part.mesh.elements, points)


def test_stiffness_of_a_chunk():
    """The same about every radius: stretching along it."""
    globe = chunk(prem.prem(transverse=True), (0, 0), (30, 30), 300e3, elements=(6, 6), growth=())
    sampler, xyz = earth_chunk.ChunkSampler(globe), positions(globe.part(), shape.gll_points(2))
    x, y, z = np.moveaxis(xyz / np.linalg.norm(xyz, axis=-1, keepdims=True), -1, 0)
    strain = np.array([x * x, y * y, z * z, 2 * y * z, 2 * x * z, 2 * x * y])
    rows, columns = np.triu_indices(6)
    c = np.moveaxis(sampler.at(xyz.swapaxes(1, 2))["stiffness"], 1, 0)
    along = (c * strain[rows] * strain[columns] * np.where(rows == columns, 1, 2)[:, None, None]).sum(axis=0)
    assert sampler.anisotropic and np.allclose(
        along, globe.model.moduli(sampler.radii(xyz))[1], rtol=1e-12
    )  # C = rho vpv^2


def test_points_of_a_chunk():
    """On an ellipsoid with topography: what methods ask for by position is what the mesh knows of its nodes, and of what is laid over."""
    figure = {"elliptic": True, "topography": lambda x, y: 3000 * np.cos(x / 3) * np.sin(y / 2)}
    globe = chunk(PREM, (-65, -15), (8, 8), 900e3, elements=(8, 8), growth=(300e3,), **figure)
    part, points = globe.part(), shape.gll_points(4)
    values = shape.values(3, shape.lattice(points)).T
    low, high = (globe.radii[part.sections + side][:, None] for side in (0, 1))
    r = np.clip(part.radius[part.mesh.elements] @ values, low + 0.01, high - 0.01)
    over = emc.from_dataset(emc_data(*GRID, dvs=(FIELD, "%"), rho=(3300.0, "kg/m3")))
    xyz = positions(part, points)
    plain, medium = (earth_chunk.ChunkSampler(globe, laid, lossy=True).at(xyz.swapaxes(1, 2)) for laid in (None, over))
    # 27 nodes put points up to 50 m off; speeds grow by 1e-6 a metre at most
    for name, row in zip(("vp", "vs", "rho", "loss_p", "loss_s"), PREM.medium(r), strict=True):
        assert np.allclose(plain[name], row, rtol=2e-5), name
    longitude, latitude, _ = globe.whereabouts(xyz)
    depth, change = RADIUS - r, medium["vs"] / plain["vs"] - 1
    inside, expected = (depth > 1e3) & (depth < 699e3), 0.01 * linear(depth / 1e3, latitude, longitude)
    assert np.allclose(change[inside], expected[inside], atol=2e-6) and np.allclose(medium["rho"][inside], 3300)
    assert np.allclose(change[depth > 701e3], 0) and (depth > 701e3).any()
