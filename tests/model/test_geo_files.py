"""Elevations and models on longitude and latitude, or on a projection, in a box that has a place on Earth."""

import re

import modelcase
import numpy as np
import pyproj
import pytest
import xarray
from common import refused
from modelcase import EXPLOSION

from craton.errors import ScenarioError
from craton.model.ground import surfaces, terrain
from craton.model.media import earth
from craton.model.media.cells import Region
from craton.scenario import dumps, loads
from craton.survey.geography import Local
from craton.tables.ground import Frame
from craton.tables.schema import BoxOfModel

rasterio = pytest.importorskip("rasterio")
rioxarray = pytest.importorskip("rioxarray")

AT = 12.5, 47.25
AZIMUTH = 30.0
FRAME = Local(*AT, AZIMUTH)
PLACE = {"longitude": AT[0], "latitude": AT[1], "azimuth": AZIMUTH}
HALF = 10_000.0
REGION = Region((-HALF, -HALF, -HALF), (HALF, HALF, 2000.0))
UTM = "EPSG:32633"
ROCK = {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2700}


def height(longitude, latitude):
    """Smooth elevations, m."""
    east, north = (longitude - AT[0]) / 0.2, (latitude - AT[1]) / 0.15
    return 900 + 300 * np.sin(east) * np.cos(north) + 100 * north


def speed(longitude, latitude, z):
    """Smooth S speeds, m/s."""
    return 2500 + 0.06 * -z + 200 * np.sin((longitude - AT[0]) / 0.15) + 3000 * (latitude - AT[1])


def box(model, **place):
    """Scenario with a model in a rotated box; with no place on Earth where `geographic` is None."""
    domain = {"geographic": PLACE | place} if place.get("geographic", 1) else {"geographic": None}
    return modelcase.box(model, [-HALF] * 3, [2 * HALF, 2 * HALF, HALF + 2000], 500, **domain)


def ground(file, keys=(), **place):
    """Topography from a file in a box."""
    return terrain.build(box(ROCK | {"topography": {"file": str(file), **dict(keys)}}, **place).model)


def geotiff(path, x, y, values, system, scale=1.0):
    """A raster by rasterio: pixels about x and y, rows from north to south, `scale` times its numbers; what is not finite is no data."""
    dx, dy, size = x[1] - x[0], y[1] - y[0], {"width": len(x), "height": len(y), "count": 1}
    size |= {"transform": rasterio.transform.from_origin(x[0] - dx / 2, y[-1] + dy / 2, dx, dy)}
    with rasterio.open(path, "w", driver="GTiff", dtype="float32", crs=system, nodata=-9999, **size) as file:
        file.write(np.nan_to_num(values[::-1] / scale, nan=-9999).astype("float32"), 1)
        file.scales = (scale,)


def degrees(half=0.25, step=0.005):
    """Axes of longitude and latitude around the place."""
    return [c + np.linspace(-half, half, 2 * round(half / step) + 1) for c in AT]


def emc():
    """Model as EarthScope's EMC has them: km, km/s, g/cm3 on depth, latitude, longitude."""
    (lon, lat), depth = degrees(0.24, 0.02), np.arange(-3.0, 12.1, 1.0)
    values = speed(lon, lat[:, None], -1e3 * depth[:, None, None]) / 1e3
    axes = {"depth": ("depth", depth, {"units": "km", "positive": "down"})}
    axes |= {"latitude": ("latitude", lat, {"units": "degrees_north"})}
    axes |= {"longitude": ("longitude", lon, {"units": "degrees_east"})}
    fields = {"vp": (1.75 * values, "km/s"), "vs": (values, "km.s-1"), "rho": (0.9 * values, "g/cm3")}
    return xarray.Dataset({k: (tuple(axes), v.astype("f4"), {"units": u}) for k, (v, u) in fields.items()}, axes)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder of elevations (GeoTIFF, GMT, ESRI) and of a model."""
    folder, (lon, lat) = tmp_path_factory.mktemp("earth"), degrees()
    z = height(lon, lat[:, None])
    geotiff(folder / "degrees.tif", lon, lat, z, "EPSG:4326", 0.125)
    geotiff(folder / "half.tif", lon[:51], lat, z[:, :51], "EPSG:4326")
    z[:5] = np.nan  # south of the box
    geotiff(folder / "gaps.tif", lon, lat, z, "EPSG:4326")
    z[50, 50] = np.nan
    geotiff(folder / "hole.tif", lon, lat, z, "EPSG:4326")
    # as GMT writes them: latitudes may fall, longitudes from 0 to 360
    axes = {"lat": ("lat", lat[::-1], {"units": "degrees_north"}), "lon": ("lon", lon % 360, {"units": "degrees_east"})}
    gmt = xarray.Dataset({"z": (("lat", "lon"), height(lon, lat[:, None])[::-1])}, axes)
    gmt.to_netcdf(folder / "relief.grd", engine="h5netcdf")
    to_degrees = pyproj.Transformer.from_crs(UTM, "EPSG:4326", always_xy=True)
    x, y = (c + np.arange(-18e3, 18.1e3, 400) for c in to_degrees.transform(*AT, direction="INVERSE"))
    z = height(*to_degrees.transform(*np.meshgrid(x, y)))
    geotiff(folder / "utm.tif", x, y, z, UTM)
    head = f"ncols {len(x)}\nnrows {len(y)}\nxllcenter {x[0]}\nyllcenter {y[0]}\ncellsize 400"
    np.savetxt(folder / "utm.asc", z[::-1], "%.3f", header=head, comments="")  # which cannot say that it is UTM
    emc().isel(latitude=slice(None, None, -1)).to_netcdf(folder / "emc.nc", engine="h5netcdf")
    return folder


# --- elevations --------------------------------------------------------------------------------------------------------------------------


def test_elevations_stand_where_they_are_on_earth(files):
    x, y = np.random.default_rng(1).uniform(-HALF, HALF, (2, 500))
    expected = height(*FRAME.degrees(x, y))
    for name, keys in {"degrees.tif": {}, "utm.tif": {}, "relief.grd": {}, "utm.asc": {"crs": UTM}}.items():
        scenario = box(ROCK | {"topography": {"file": str(files / name), **keys}})
        topography = terrain.build(scenario.model)
        assert abs(topography.surface(x, y) - expected).max() < 0.6, name  # of 300 m over 0.2 degrees
        assert not terrain.problems(topography, REGION) and loads(dumps(scenario)) == scenario, name
    assert abs(ground(files / name, keys, azimuth=0).surface(x, y) - expected).max() > 50


def test_files_that_do_not_cover_the_box_are_refused_with_what_is_missing(files):
    """Gaps in the box are refused and others are not."""
    with pytest.raises(ScenarioError) as caught:
        ground(files / "half.tif")
    (problem,) = caught.value.problems
    assert problem.key == "model.topography"
    assert "half.tif covers longitude 12.25 to 12.5, latitude 47 to 47.5 deg" in problem.message
    share = float(re.search(r"([0-9.]+) % of the box is missing", problem.message)[1])
    assert share == pytest.approx(49.3, abs=1)  # half a pixel is covered beyond the last point
    assert "deg in the east" in problem.message and "south" not in problem.message
    words = ("longitude and latitude", "say where the box lies")
    refused(ScenarioError, words, ground, files / "half.tif", geographic=None)
    assert not terrain.problems(ground(files / "gaps.tif"), REGION)
    (problem,) = terrain.problems(ground(files / "hole.tif"), REGION)
    assert "hole.tif has no elevation at (x, y)" in problem.message


def test_a_grid_of_the_world_is_read_across_its_seam(tmp_path):
    lon, lat = np.arange(0, 360, 0.5), np.arange(-90, 90.1, 0.5)
    values = 100 + 10 * np.sin(np.radians(lon)) + lat[:, None]
    world = xarray.Dataset({"z": (("lat", "lon"), values)}, {"lon": lon, "lat": lat})
    world.to_netcdf(tmp_path / "world.nc", engine="h5netcdf")
    topography = ground(tmp_path / "world.nc", longitude=0.0, latitude=10.0, azimuth=0)
    x, y = np.array([-9000.0, 0.0, 9000.0]), np.zeros(3)
    lon, lat = Local(0.0, 10.0).degrees(x, y)
    assert topography.surface(x, y) == pytest.approx(100 + 10 * np.sin(np.radians(lon)) + lat, abs=1e-2)
    assert topography.ground.z.size < 10_000  # no more of the world than the box needs


def test_a_box_of_unknown_size_gets_all_of_a_file_and_nothing_beyond_it(files):
    """The box of a mesh file is known only when that is read."""
    surface = surfaces.read(files / "degrees.tif", frame=Frame(*AT, AZIMUTH))
    x, y = FRAME.xy([12.3, 12.5, 12.7], [47.05, 47.25, 47.4])
    assert surface.at(x, y) == pytest.approx(height(*FRAME.degrees(x, y)), abs=0.6)
    assert np.isnan(surface.at(*FRAME.xy(12.9, 47.25)))


def test_arrays_and_datasets_are_taken_as_they_are(files):
    """Of xarray on longitude and latitude, of rioxarray on a projection."""
    lon, lat = degrees()
    of_degrees = xarray.DataArray(height(lon, lat[:, None]), [("latitude", lat), ("longitude", lon)])
    with_ground = box({"file": emc(), "topography": of_degrees})
    assert with_ground.model.file == box(emc()).model.file
    with rioxarray.open_rasterio(files / "utm.tif", masked=True) as of_utm:
        projected = box(ROCK | {"topography": of_utm})
    for scenario, close in ((with_ground, 0.5), (projected, 0.6)):
        elevation = terrain.build(scenario.model).surface(*np.array(FRAME.xy(12.53, 47.27)))
        assert elevation == pytest.approx(height(12.53, 47.27), abs=close)


def test_a_reference_system_needs_a_box_on_earth_and_sense():
    raster = ROCK | {"topography": {"file": "a.asc", "crs": UTM}}
    refused(ScenarioError, "crs needs the place of the box on Earth", box, raster, geographic=None)
    wrong = {"kind": "file", "file": "a.nc", "crs": "EPSG:99"}
    refused(ScenarioError, "'EPSG:99' is not a coordinate reference system", box, wrong)


# --- models ------------------------------------------------------------------------------------------------------------------------------


def test_a_model_of_the_emc_fills_rotated_boxes_and_sections(files, tmp_path):
    """In scenarios and for prisms, with elevations; one property of it too."""
    model, xyz = {"kind": "file", "file": str(files / "emc.nc")}, np.random.default_rng(2).uniform(-1, 1, (400, 3))
    xyz = xyz * (9500, 9500, 4750) - (0, 0, 4000)
    whole = box(model).model
    assert not earth.problems(whole, REGION)
    vp, vs, rho = earth.point_values(whole, xyz)
    assert abs(vs / speed(*FRAME.degrees(*xyz[:, :2].T), xyz[:, 2]) - 1).max() < 2e-3
    assert vp == pytest.approx(1.75 * vs, rel=1e-4) and rho == pytest.approx(0.9 * vs, rel=1e-4)
    emc().vs.rename("speed").to_netcdf(tmp_path / "vs.nc", engine="h5netcdf")
    properties = {"vp": 6000, "vs": {"file": str(tmp_path / "vs.nc")}, "rho": 2500}
    assert earth.point_values(box({"kind": "file", "properties": properties}).model, xyz)[1] == pytest.approx(vs)
    nowhere = box(model, geographic=None).model
    refused(ScenarioError, "on longitude and latitude", earth.point_values, nowhere, xyz)
    domain = {"origin": [0, 0, -5000], "size": [4000, 4000, 5000], "spacing": 500, "geographic": PLACE}
    _, vs, _ = earth.point_values(BoxOfModel(domain=domain, model=model).model, np.array([[1000.0, 500.0, -1000.0]]))
    assert vs[0] == pytest.approx(speed(*FRAME.degrees(1000.0, 500.0), -1000.0), rel=2e-3)
    source, hills = EXPLOSION | {"at": [0, -3000]}, {"topography": {"file": str(files / "degrees.tif")}}
    section = modelcase.box(model | hills, [-9000, -8000], [18000, 10000], 200, source, geographic=PLACE).model
    assert not earth.problems(section, Region((-9000, 0, -8000), (9000, 0, 2000)))
    xyz = np.array([[x, 0.0, -2000.0] for x in (-8000, 0, 5000)])
    there = FRAME.degrees(*xyz[:, :2].T)
    assert earth.point_values(section, xyz)[1] == pytest.approx(speed(*there, -2000), rel=2e-3)
    assert terrain.build(section).surface(xyz[:, 0], 0.0) == pytest.approx(height(*there), abs=0.6)


def test_a_model_that_is_too_small_is_refused_with_what_is_missing(files, tmp_path):
    """One that ends at sea level fills mountains only when asked."""
    (problem,) = earth.problems(box({"kind": "file", "file": str(files / "emc.nc")}, longitude=12.6).model, REGION)
    assert problem.key == "model.file" and "emc.nc covers longitude 12.26 to 12.74" in problem.message
    assert "% of the box is missing" in problem.message and "deg in the east" in problem.message
    problems = earth.problems(box(emc().sel(depth=slice(-3, 5))).model, REGION)
    assert any("z runs from -5000" in problem.message for problem in problems)
    emc().sel(depth=slice(0, None)).to_netcdf(tmp_path / "sea.nc", engine="h5netcdf")
    model = {"kind": "file", "file": str(tmp_path / "sea.nc"), "topography": {"file": str(files / "degrees.tif")}}
    (problem,) = earth.problems(box(model).model, REGION)
    assert "missing 1" in problem.message and "m at its end" in problem.message
    assert "or write extend = true" in problem.remedy
    extended = box(model | {"extend": True}).model
    assert not earth.problems(extended, REGION)
    values = earth.point_values(extended, np.array([[0.0, 0, 0], [0, 0, 500]]))
    assert values[1][0] == values[1][1] > 2000
