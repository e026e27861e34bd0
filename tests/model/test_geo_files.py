"""Elevations and models on longitude and latitude, or on a projection, in a box that has a place on Earth."""

import re

import numpy as np
import pytest
import xarray

from craton.errors import ScenarioError
from craton.model.ground import surfaces, terrain
from craton.model.media import earth
from craton.model.media.cells import Region
from craton.scenario import Scenario, dumps, loads
from craton.survey.geography import Local
from craton.tables.on_earth import Frame

rasterio = pytest.importorskip("rasterio")
pytest.importorskip("rioxarray")

AT = 12.5, 47.25
AZIMUTH = 30.0
SIZE = 20_000.0
REGION = Region((-SIZE / 2, -SIZE / 2, -SIZE / 2), (SIZE / 2, SIZE / 2, 2000.0))
UTM = "EPSG:32633"


def height(longitude, latitude):
    """Smooth elevations, m."""
    east, north = (longitude - AT[0]) / 0.2, (latitude - AT[1]) / 0.15
    return 900 + 300 * np.sin(east) * np.cos(north) + 100 * north


def speed(longitude, latitude, z):
    """Smooth S speeds, m/s."""
    return 2500 + 0.06 * -z + 200 * np.sin((longitude - AT[0]) / 0.15) + 3000 * (latitude - AT[1])


def box(model, at=AT, azimuth=AZIMUTH, **domain):
    """Scenario with a model in a rotated box."""
    domain = {
        "origin": [-SIZE / 2, -SIZE / 2, -SIZE / 2],
        "size": [SIZE, SIZE, SIZE / 2 + 2000],
        "spacing": 500,
        "geographic": {"longitude": at[0], "latitude": at[1], "azimuth": azimuth},
    } | domain
    wavelet = {"kind": "gaussian", "tau": 1}
    source = {"kind": "explosion", "at": [0, 0, -3000], "moment": 1e15, "wavelet": wavelet}
    time = {"duration": 1}
    return Scenario(domain=domain, model=model, time=time, source=[source], receivers=[])


def grounded(**ground):
    """Model with topography from a file."""
    return {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700, "topography": ground}


def geotiff(path, x, y, values, system):
    """A raster by rasterio: pixels about x and y, rows from north to south."""
    transform = rasterio.transform.from_origin(
        x[0] - (x[1] - x[0]) / 2, y[-1] + (y[1] - y[0]) / 2, x[1] - x[0], y[1] - y[0]
    )
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        width=len(x),
        height=len(y),
        count=1,
        dtype="float32",
        crs=system,
        transform=transform,
        nodata=-9999,
    ) as file:
        file.write(values[::-1].astype("float32"), 1)


def degrees(half=0.25, step=0.005, middle=AT):
    """Axes of longitude and latitude around a place."""
    count = 2 * round(half / step) + 1
    return [c + np.linspace(-half, half, count) for c in middle]


def tif_of_degrees(path):
    lon, lat = degrees()
    geotiff(path, lon, lat, height(lon, lat[:, None]), "EPSG:4326")


def utm_grid():
    """Axes of UTM around the box, and their longitude and latitude."""
    import pyproj

    to_degrees = pyproj.Transformer.from_crs(UTM, "EPSG:4326", always_xy=True)
    x0, y0 = to_degrees.transform(*AT, direction="INVERSE")
    x, y = x0 + np.arange(-18e3, 18.1e3, 400), y0 + np.arange(-18e3, 18.1e3, 400)
    return x, y, to_degrees.transform(*np.meshgrid(x, y))


def tif_of_utm(path):
    x, y, (lon, lat) = utm_grid()
    geotiff(path, x, y, height(lon, lat), UTM)


def gmt_grid(path):
    """As GMT writes them: latitudes may fall, longitudes from 0 to 360."""
    lon, lat = degrees()
    array = xarray.DataArray(
        height(lon, lat[:, None])[::-1],
        {"lat": ("lat", lat[::-1], {"units": "degrees_north"}), "lon": ("lon", lon % 360, {"units": "degrees_east"})},
        ("lat", "lon"),
        name="z",
    )
    array.to_dataset().to_netcdf(path, engine="h5netcdf")


def esri_grid(path):
    """ESRI ASCII grid of UTM, which cannot say so."""
    x, y, (lon, lat) = utm_grid()
    head = f"ncols {len(x)}\nnrows {len(y)}\nxllcenter {x[0]}\nyllcenter {y[0]}\ncellsize 400\n"
    np.savetxt(path, height(lon, lat)[::-1], "%.3f", header=head[:-1], comments="")


FILES = {
    "degrees.tif": (tif_of_degrees, {}),
    "utm.tif": (tif_of_utm, {}),
    "relief.grd": (gmt_grid, {}),
    "utm.asc": (esri_grid, {"crs": UTM}),
}


@pytest.mark.parametrize("name", FILES)
def test_elevations_stand_where_they_are_on_earth(name, tmp_path):
    write, keys = FILES[name]
    write(tmp_path / name)
    scenario = box(grounded(file=str(tmp_path / name), **keys))
    ground = terrain.build(scenario.model)
    x, y = np.random.default_rng(1).uniform(-SIZE / 2, SIZE / 2, (2, 500))
    expected = height(*Local(*AT, AZIMUTH).degrees(x, y))
    assert abs(ground.surface(x, y) - expected).max() < 0.6  # of 300 m over 0.2 degrees
    assert not terrain.problems(ground, REGION)
    assert loads(dumps(scenario)) == scenario
    turned = terrain.build(box(grounded(file=str(tmp_path / name), **keys), azimuth=0).model)
    assert abs(turned.surface(x, y) - expected).max() > 50


def test_a_file_that_does_not_cover_the_box_is_refused_with_what_is_missing(tmp_path):
    lon, lat = degrees()
    geotiff(tmp_path / "half.tif", lon[:51], lat, height(lon[:51], lat[:, None]), "EPSG:4326")
    with pytest.raises(ScenarioError) as caught:
        terrain.build(box(grounded(file=str(tmp_path / "half.tif"))).model)
    (problem,) = caught.value.problems
    assert problem.key == "model.topography"
    assert "half.tif covers longitude 12.25 to 12.5, latitude 47 to 47.5 deg" in problem.message
    share = float(re.search(r"([0-9.]+) % of the box is missing", problem.message)[1])
    assert share == pytest.approx(49.3, abs=1)  # half a pixel is covered beyond the last point
    assert "deg in the east" in problem.message and "south" not in problem.message
    with pytest.raises(ScenarioError, match="longitude and latitude.*say where the box lies"):
        terrain.build(box(grounded(file=str(tmp_path / "half.tif")), geographic=None).model)


def test_gaps_in_the_box_are_refused_and_others_are_not(tmp_path):
    lon, lat = degrees()
    values = height(lon, lat[:, None])
    values[:5] = np.nan  # south of the box
    geotiff(tmp_path / "gaps.tif", lon, lat, np.where(np.isnan(values), -9999, values), "EPSG:4326")
    ground = terrain.build(box(grounded(file=str(tmp_path / "gaps.tif"))).model)
    assert not terrain.problems(ground, REGION)
    values[50, 50] = -9999
    geotiff(tmp_path / "hole.tif", lon, lat, np.where(np.isnan(values), -9999, values), "EPSG:4326")
    ground = terrain.build(box(grounded(file=str(tmp_path / "hole.tif"))).model)
    (problem,) = terrain.problems(ground, REGION)
    assert "hole.tif has no elevation at (x, y)" in problem.message


def test_a_grid_of_the_world_is_read_across_its_seam(tmp_path):
    lon, lat = np.arange(0, 360, 0.5), np.arange(-90, 90.1, 0.5)
    values = 100 + 10 * np.sin(np.radians(lon)) + lat[:, None]
    xarray.Dataset({"z": (("lat", "lon"), values)}, {"lon": lon, "lat": lat}).to_netcdf(
        tmp_path / "world.nc", engine="h5netcdf"
    )
    model = grounded(file=str(tmp_path / "world.nc"))
    ground = terrain.build(box(model, at=(0.0, 10.0), azimuth=0).model)
    x, y = np.array([-9000.0, 0.0, 9000.0]), np.zeros(3)
    lon, lat = Local(0.0, 10.0).degrees(x, y)
    assert ground.surface(x, y) == pytest.approx(100 + 10 * np.sin(np.radians(lon)) + lat, abs=1e-2)
    assert ground.ground.z.size < 10_000  # no more of the world than the box needs


def emc(path, rising=True):
    """Model as EarthScope's EMC has them: km, km/s, g/cm3 on depth, latitude, longitude."""
    lon, lat = degrees(0.24, 0.02)
    depth = np.arange(-3.0, 12.1, 1.0)
    values = speed(lon, lat[:, None], -1e3 * depth[:, None, None]) / 1e3
    axes = {
        "depth": ("depth", depth, {"units": "km", "positive": "down"}),
        "latitude": ("latitude", lat, {"units": "degrees_north"}),
        "longitude": ("longitude", lon, {"units": "degrees_east"}),
    }
    dims = ("depth", "latitude", "longitude")
    fields = {"vp": (1.75 * values, "km/s"), "vs": (values, "km.s-1"), "rho": (0.9 * values, "g/cm3")}
    dataset = xarray.Dataset({k: (dims, v.astype("f4"), {"units": u}) for k, (v, u) in fields.items()}, axes)
    (dataset if rising else dataset.isel(latitude=slice(None, None, -1))).to_netcdf(path, engine="h5netcdf")
    return dataset


def test_a_model_of_the_emc_fills_a_rotated_box(tmp_path):
    emc(tmp_path / "emc.nc", rising=False)
    scenario = box({"kind": "file", "file": str(tmp_path / "emc.nc")})
    assert not earth.problems(scenario.model, REGION)
    xyz = np.random.default_rng(2).uniform(-9500, 9500, (400, 3))
    xyz[:, 2] = xyz[:, 2] / 2 - 4000
    vp, vs, rho = earth.point_values(scenario.model, xyz)
    expected = speed(*Local(*AT, AZIMUTH).degrees(*xyz[:, :2].T), xyz[:, 2])
    assert abs(vs / expected - 1).max() < 2e-3
    assert vp == pytest.approx(1.75 * vs, rel=1e-4) and rho == pytest.approx(0.9 * vs, rel=1e-4)
    with pytest.raises(ScenarioError, match="on longitude and latitude"):
        earth.point_values(box({"kind": "file", "file": str(tmp_path / "emc.nc")}, geographic=None).model, xyz)


def test_a_dataset_on_longitude_and_latitude_is_taken_as_it_is(tmp_path):
    scenario = box(emc(tmp_path / "emc.nc"))
    lon, lat = degrees()
    array = xarray.DataArray(height(lon, lat[:, None]), {"latitude": lat, "longitude": lon}, ("latitude", "longitude"))
    with_ground = box({"file": emc(tmp_path / "emc.nc"), "topography": array})
    assert with_ground.model.file == scenario.model.file
    ground = terrain.build(with_ground.model)
    place = np.array(Local(*AT, AZIMUTH).xy(12.53, 47.27))
    assert ground.surface(*place) == pytest.approx(height(12.53, 47.27), abs=0.5)


def test_a_model_that_is_too_small_is_refused_with_what_is_missing(tmp_path):
    emc(tmp_path / "emc.nc")
    (problem,) = earth.problems(box({"kind": "file", "file": str(tmp_path / "emc.nc")}, at=(12.6, 47.25)).model, REGION)
    assert problem.key == "model.file" and "emc.nc covers longitude 12.26 to 12.74" in problem.message
    assert "% of the box is missing" in problem.message and "deg in the east" in problem.message
    shallow = xarray.open_dataset(tmp_path / "emc.nc").sel(depth=slice(-3, 5)).load()
    problems = earth.problems(box(shallow).model, REGION)
    assert any("z runs from -5000" in problem.message for problem in problems)


def test_a_reference_system_needs_a_box_on_earth_and_sense(tmp_path):
    with pytest.raises(ScenarioError, match="crs needs the place of the box on Earth"):
        box(grounded(file="a.asc", crs=UTM), geographic=None)
    with pytest.raises(ScenarioError, match="'EPSG:99' is not a coordinate reference system"):
        box({"kind": "file", "file": "a.nc", "crs": "EPSG:99"})


def test_a_raster_of_rioxarray_is_taken_as_it_is(tmp_path):
    import rioxarray

    tif_of_utm(tmp_path / "utm.tif")
    with rioxarray.open_rasterio(tmp_path / "utm.tif", masked=True) as array:
        scenario = box({"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700, "topography": array})
    ground = terrain.build(scenario.model)
    place = np.array(Local(*AT, AZIMUTH).xy(12.53, 47.27))
    assert ground.surface(*place) == pytest.approx(height(12.53, 47.27), abs=0.6)


def test_prisms_of_a_model_with_files_on_longitude_and_latitude(tmp_path):
    from craton.tables.schema import BoxOfModel

    emc(tmp_path / "emc.nc")
    domain = {"origin": [0, 0, -5000], "size": [4000, 4000, 5000], "spacing": 500}
    domain["geographic"] = {"longitude": AT[0], "latitude": AT[1], "azimuth": AZIMUTH}
    model = BoxOfModel(domain=domain, model={"kind": "file", "file": str(tmp_path / "emc.nc")}).model
    _, vs, _ = earth.point_values(model, np.array([[1000.0, 500.0, -1000.0]]))
    lon, lat = Local(*AT, AZIMUTH).degrees(1000.0, 500.0)
    assert vs[0] == pytest.approx(speed(lon, lat, -1000.0), rel=2e-3)


def test_a_profile_cuts_a_model_and_elevations_on_longitude_and_latitude(tmp_path):
    emc(tmp_path / "emc.nc")
    tif_of_degrees(tmp_path / "dem.tif")
    model = {"kind": "file", "file": str(tmp_path / "emc.nc"), "topography": {"file": str(tmp_path / "dem.tif")}}
    source = {"kind": "explosion", "at": [0, -3000], "moment": 1e15, "wavelet": {"kind": "gaussian", "tau": 1}}
    domain = {"origin": [-9000, -8000], "size": [18000, 10000], "spacing": 200}
    domain["geographic"] = {"longitude": AT[0], "latitude": AT[1], "azimuth": AZIMUTH}
    model = Scenario(domain=domain, model=model, time={"duration": 1}, source=[source], receivers=[]).model
    assert not earth.problems(model, Region((-9000, 0, -8000), (9000, 0, 2000)))
    xyz = np.array([[x, 0.0, -2000.0] for x in (-8000, 0, 5000)])
    degrees = Local(*AT, AZIMUTH).degrees(*xyz[:, :2].T)
    assert earth.point_values(model, xyz)[1] == pytest.approx(speed(*degrees, -2000), rel=2e-3)
    assert terrain.build(model).surface(xyz[:, 0], 0.0) == pytest.approx(height(*degrees), abs=0.6)


def test_a_box_of_unknown_size_gets_all_of_a_file_and_nothing_beyond_it(tmp_path):
    """The box of a mesh file is known only when that is read."""
    tif_of_degrees(tmp_path / "dem.tif")
    surface = surfaces.read(tmp_path / "dem.tif", frame=Frame(*AT, AZIMUTH))
    local = Local(*AT, AZIMUTH)
    x, y = local.xy([12.3, 12.5, 12.7], [47.05, 47.25, 47.4])
    assert surface.at(x, y) == pytest.approx(height(*local.degrees(x, y)), abs=0.6)
    assert np.isnan(surface.at(*local.xy(12.9, 47.25)))


def test_a_model_that_ends_at_sea_level_fills_mountains_only_when_asked(tmp_path):
    emc(tmp_path / "emc.nc")
    tif_of_degrees(tmp_path / "dem.tif")
    with xarray.open_dataset(tmp_path / "emc.nc") as dataset:
        dataset.sel(depth=slice(0, None)).to_netcdf(tmp_path / "sea.nc", engine="h5netcdf")
    model = {"kind": "file", "file": str(tmp_path / "sea.nc"), "topography": {"file": str(tmp_path / "dem.tif")}}
    (problem,) = earth.problems(box(model).model, REGION)
    assert "missing 1" in problem.message and "m at its end" in problem.message
    assert "or write extend = true" in problem.remedy
    extended = box(model | {"extend": True}).model
    assert not earth.problems(extended, REGION)
    values = earth.point_values(extended, np.array([[0.0, 0, 0], [0, 0, 500]]))
    assert values[1][0] == values[1][1] > 2000
