"""Elevations over longitude and latitude, and a chunk whose top follows them."""

import numpy as np
import pytest
import xarray

from craton.model.globe import prem
from craton.model.globe.chunk import chunk
from craton.model.ground import relief
from craton.model.mesh import shape


def grid(longitude, latitude, values=None, names=("lat", "lon"), unit="m"):
    """Elevations 100 lat + 10 lon, or `values`."""
    z = 100 * latitude[:, None] + 10 * longitude if values is None else values
    return xarray.DataArray(z, {names[0]: latitude, names[1]: longitude}, names, attrs={"units": unit})


def test_between_points():
    made = relief.from_array(grid(np.arange(-80.0, -49), np.arange(0.0, -31, -1)).T)
    x, y = np.random.default_rng(0).uniform((-80, -30), (-50, 0), (100, 2)).T
    assert np.allclose(made(x, y), 100 * y + 10 * x) and np.allclose(made(x + 360, y), 100 * y + 10 * x)
    assert np.isnan(made(np.array([-81.0, -60]), np.array([-5.0, 1]))).all()


@pytest.mark.parametrize("longitude", [np.arange(-180, 180, 2.0), np.arange(-180, 181, 2.0), np.arange(0, 360, 2.0)])
def test_around_the_world(longitude):
    latitude = np.arange(-90, 91, 2.0)
    made = relief.from_array(grid(longitude, latitude, 1e3 * np.cos(np.radians(longitude)) + latitude[:, None]))
    x = np.array([179.5, -179.5, 359.0, -1.0, 0.0])
    assert np.allclose(made(x, np.full(5, 10.0)), 1e3 * np.cos(np.radians(x)) + 10, atol=0.7)  # linear over 2 degrees


def test_files(tmp_path):
    array = grid(np.arange(-80.0, -49), np.arange(-30.0, 1), names=("latitude", "longitude"))
    array.to_dataset(name="z").to_netcdf(tmp_path / "one.nc", engine="h5netcdf")
    assert float(relief.read(tmp_path / "one.nc")(-60.0, -10.0)) == pytest.approx(-1600)
    xarray.Dataset({"z": array, "tid": array}).to_netcdf(tmp_path / "two.nc", engine="h5netcdf")
    assert float(relief.read(tmp_path / "two.nc", "z")(-60.0, -10.0)) == pytest.approx(-1600)
    with pytest.raises(ValueError, match="z, tid over two dimensions"):
        relief.read(tmp_path / "two.nc")
    with pytest.raises(ValueError, match="no variable depth"):
        relief.read(tmp_path / "two.nc", "depth")
    with pytest.raises(ValueError, match="no file"):
        relief.read(tmp_path / "none.nc")
    (tmp_path / "bad.nc").write_text("text")
    with pytest.raises(ValueError, match="bad.nc"):
        relief.read(tmp_path / "bad.nc")


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (grid(np.arange(5.0), np.arange(5.0), names=("northing", "easting")), "longitude and latitude"),
        (grid(np.arange(5.0), np.arange(5.0), unit="feet"), "must be in m"),
        (grid(np.arange(5.0), 1e3 * np.arange(5.0)), "not in degrees"),
    ],
)
def test_grids_that_are_none(array, match):
    with pytest.raises(ValueError, match=match):
        relief.from_array(array)


def test_averages():
    made = relief.from_array(grid(np.arange(-80.0, -60, 0.25), np.arange(-30.0, -10, 0.25)))
    coarse = made.lowered(1.0)
    assert coarse.elevation.shape == (20, 20) and np.allclose(
        coarse.elevation, 100 * coarse.latitude[:, None] + 10 * coarse.longitude
    )
    assert made.lowered(0.1).elevation.shape == made.elevation.shape


def test_chunk_follows_it():
    bumps = 2000 * np.sin(np.arange(31.0))[:, None] * np.cos(np.arange(31.0))
    made = relief.from_array(grid(np.arange(-80.0, -49), np.arange(-30.0, 1), bumps))
    earth = chunk(prem.prem(), (-65, -15), (8, 8), 400e3, elements=(16, 16), growth=(), topography=made)
    part = earth.part()
    top = part.radius == 6371e3
    longitude, latitude = earth.frame.degrees(part.mesh.nodes[top])
    assert np.allclose(np.linalg.norm(part.mesh.nodes[top], axis=1) - 6371e3, made(longitude, latitude), atol=1e-6)
    assert shape.determinants(part.mesh.nodes, part.mesh.elements, shape.gll_points(4)).min() > 0
