"""Rasters: ESRI ASCII grids, a header of keys and values, then rows from north to south; GeoTIFF, read through rioxarray and
written, maps of peaks, through rasterio.
"""

import warnings

import numpy as np

from craton.errors import CratonError
from craton.io.contents import FileError, MissingLibrary, floats
from craton.io.libraries import library, written
from craton.io.limits import within

# --- ESRI ASCII grids -----------------------------------------------------------------------------

KEYS = ("ncols", "nrows", "xllcorner", "yllcorner", "xllcenter", "yllcenter", "cellsize")
KEYS += ("nodata_value",)
MOST_KEYS = 20  # lines of a heading


def read_esri(path, variable=None, part=None):
    """Read an ESRI ASCII grid over y (falling) and x, nan where there is no value: all, or what `part` takes of the array."""
    from xarray import DataArray

    header, lines = {}, path.read_text(encoding="ascii", errors="replace").splitlines()
    try:
        for line in lines[:MOST_KEYS]:
            if not line.strip()[:1].isalpha():
                break
            key, value = line.split()[:2]
            if key.lower() not in KEYS:
                raise ValueError(f"{key} is none of {', '.join(KEYS)}")
            if key.lower() in header:
                raise ValueError(f"{key} is stated twice")
            header[key.lower()] = floats([value])[0]
        nx, ny, step = int(header["ncols"]), int(header["nrows"]), header["cellsize"]
        if not step > 0:
            raise ValueError(f"cellsize {step:g} is not above 0")
        west, south = (
            header[f"{a}llcenter"] if f"{a}llcenter" in header else header[f"{a}llcorner"] + step / 2 for a in "xy"
        )
        z = floats(" ".join(lines[len(header) :]).split()).reshape(ny, nx)
    except (KeyError, ValueError) as error:
        raise FileError(f"{path.name} is not an ESRI ASCII grid: {error}") from None
    z[z == header.get("nodata_value", -9999.0)] = np.nan
    within("elevation, number", z, "length", missing=True)
    axes = {"y": south + step * np.arange(ny)[::-1], "x": west + step * np.arange(nx)}
    array = DataArray(z, axes, ("y", "x"))
    return part(array) if part else array


# --- GeoTIFF --------------------------------------------------------------------------------------


def read_geotiff(path, variable=None, part=None):
    """Read the first band of a GeoTIFF over y and x: all, or what `part` takes of the array. Its attribute ``geographic`` says
    whether these are latitude and longitude, ``crs_wkt`` is the reference system.
    """
    rioxarray = library("rioxarray", f"{path.name}: GeoTIFF", MissingLibrary)
    from rasterio.errors import NotGeoreferencedWarning

    try:
        with warnings.catch_warnings():
            # a raster without a place would lie at x = y = 0 with cells of 1 m
            warnings.simplefilter("error", NotGeoreferencedWarning)
            raster = rioxarray.open_rasterio(path, mask_and_scale=True)
        with raster as array:
            system = array.rio.crs
            array = array.isel(band=0, drop=True)
            if system is not None:
                geographic = system.is_geographic
                array = array.assign_attrs(geographic=geographic, crs_wkt=system.to_wkt())
            return (part(array) if part else array).load()
    except FileError:
        raise
    except Exception as error:  # rasterio's own kinds of failure
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FileError(f"cannot read {path} as GeoTIFF: {reason[:150]}") from error


def write_geotiff(dataset, path):
    """Write the quantities of a map, a band for each with its components and periods.

    It is over y and x, m, or latitude and longitude, degrees. With the attributes ``map_longitude``, ``map_latitude`` and
    ``map_azimuth`` the metres are of the transverse Mercator map of WGS84 about that place, turned by the azimuth; over eta
    and xi of a chunk, with longitude and latitude, the map is interpolated to degrees. A vertical section is refused.
    """
    rasterio = library("rasterio", "GeoTIFF")
    dataset = _in_degrees(dataset)
    bands = [band for array in dataset.data_vars.values() for band in _bands_of(array)]
    transform, system = _placed(dataset)
    height, width = bands[0][1].shape
    form = {"driver": "GTiff", "height": height, "width": width, "count": len(bands)}
    form |= {"dtype": "float32", "nodata": np.nan, "compress": "deflate"}
    with (
        written(path, rasterio.errors.RasterioError) as partial,
        rasterio.open(partial, "w", **form, crs=system, transform=transform) as file,
    ):
        for number, (name, values, unit) in enumerate(bands, 1):
            file.write(np.asarray(values[::-1], np.float32), number)  # north is up
            file.set_band_description(number, name)
            file.set_band_unit(number, unit)
    return path


def _bands_of(array):
    """Yield name, values (y, x) and unit of each part of a quantity whose last two dimensions are those of the map."""
    if array.ndim == 2:
        yield array.name, array.values, array.attrs.get("units", "")
        return
    for value, part in zip(array[array.dims[0]].values, array):
        for name, values, unit in _bands_of(part):
            mark = f"{value:g} s" if np.issubdtype(type(value), np.number) else value
            yield f"{name} {mark}", values, unit


def _placed(dataset):
    """Return the affine transform of the rows from north to south, and the reference system."""
    from rasterio import Affine

    if not {"y", "x"} <= {*dataset.dims} and not {"latitude", "longitude"} <= {*dataset.dims}:
        raise CratonError("GeoTIFF holds maps: a vertical section has no place in it, write .nc")
    across, along = ("x", "y") if "x" in dataset.dims else ("longitude", "latitude")
    x, y = dataset[across].values, dataset[along].values
    steps = [np.ptp(axis) / max(len(axis) - 1, 1) or 1.0 for axis in (x, y)]
    corner = x[0] - steps[0] / 2, y[-1] + steps[1] / 2
    transform = Affine(steps[0], 0, corner[0], 0, -steps[1], corner[1])
    if across == "longitude":
        return transform, "EPSG:4326"
    about = [dataset.attrs.get(f"map_{name}") for name in ("longitude", "latitude", "azimuth")]
    if None in about:
        return transform, None
    system = f"+proj=tmerc +lon_0={about[0]} +lat_0={about[1]} +k=1 +datum=WGS84 +units=m"
    return Affine.rotation(-about[2]) @ transform, system


def _in_degrees(dataset):
    """Return a map over the angles of a chunk on a lattice of longitude and latitude."""
    if "xi" not in dataset.dims:
        return dataset
    from scipy.interpolate import griddata
    from xarray import Dataset

    longitude, latitude = (dataset[name].values for name in ("longitude", "latitude"))
    middle = longitude.flat[longitude.size // 2]
    longitude = middle + (longitude - middle + 180) % 360 - 180
    spans = [np.linspace(a.min(), a.max(), n) for a, n in zip((latitude, longitude), latitude.shape)]
    nodes = np.stack([longitude.ravel(), latitude.ravel()], axis=1)
    lattice = np.meshgrid(spans[1], spans[0])
    out = {}
    for name, array in dataset.data_vars.items():
        lead = array.shape[:-2]
        values = array.values.reshape(*lead, -1)
        values = griddata(nodes, np.moveaxis(values, -1, 0), tuple(lattice))
        values = np.moveaxis(values, (0, 1), (-2, -1)).astype(np.float32)
        out[name] = ((*array.dims[:-2], "latitude", "longitude"), values, array.attrs)
    coords = {name: dataset[name] for name in ("component", "period") if name in dataset.coords}
    return Dataset(out, coords | {"latitude": spans[0], "longitude": spans[1]})
