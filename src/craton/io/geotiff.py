"""GeoTIFF: rasters through rioxarray, maps of peaks through rasterio."""

import warnings

import numpy as np

from craton.errors import CratonError
from craton.io.contents import FileError, MissingLibrary
from craton.io.libraries import library, written


def read(path, variable=None, part=None):
    """Read the first band.

    Parameters
    ----------
    path : pathlib.Path
    variable : str, optional
        Not used: a band has no name.
    part : callable, optional
        From the array to what of it is to be read.

    Returns
    -------
    xarray.DataArray
        Over y and x; its attribute ``geographic`` says whether these are latitude and longitude,
        ``crs_wkt`` is the reference system.

    Raises
    ------
    FileError
        rioxarray is missing, or cannot read the file.
    """
    rioxarray = library("rioxarray", f"{path.name}: GeoTIFF", MissingLibrary)
    from rasterio.errors import NotGeoreferencedWarning

    try:
        with warnings.catch_warnings():
            # a raster without a place would lie at x = y = 0 with cells of 1 m
            warnings.simplefilter("error", NotGeoreferencedWarning)
            raster = rioxarray.open_rasterio(path, masked=True)
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


def write_map(dataset, path):
    """Write the quantities of a map, a band for each with its components and periods.

    Parameters
    ----------
    dataset : xarray.Dataset
        Over y and x, m, or latitude and longitude, degrees. With the attributes ``map_longitude``,
        ``map_latitude`` and ``map_azimuth`` the metres are of the transverse Mercator map of WGS84
        about that place, turned by the azimuth; over eta and xi of a chunk, with longitude and
        latitude, the map is interpolated to degrees.
    path : path-like

    Returns
    -------
    path-like

    Raises
    ------
    CratonError
        The map is a vertical section.
    ResourceError
        rasterio is missing, or the file cannot be written.
    """
    rasterio = library("rasterio", "GeoTIFF")
    dataset = in_degrees(dataset)
    bands = [band for array in dataset.data_vars.values() for band in bands_of(array)]
    transform, system = placed(dataset)
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


def bands_of(array):
    """Yield name, values (y, x) and unit of each part of a quantity.

    Parameters
    ----------
    array : xarray.DataArray
        Its last two dimensions are those of the map.
    """
    if array.ndim == 2:
        yield array.name, array.values, array.attrs.get("units", "")
        return
    for value, part in zip(array[array.dims[0]].values, array):
        for name, values, unit in bands_of(part):
            mark = f"{value:g} s" if np.issubdtype(type(value), np.number) else value
            yield f"{name} {mark}", values, unit


def placed(dataset):
    """Return the affine transform of the rows from north to south, and the reference system.

    Parameters
    ----------
    dataset : xarray.Dataset
    """
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


def in_degrees(dataset):
    """Return a map over the angles of a chunk on a lattice of longitude and latitude.

    Parameters
    ----------
    dataset : xarray.Dataset
    """
    if "xi" not in dataset.dims:
        return dataset
    import xarray as xr
    from scipy.interpolate import griddata

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
    return xr.Dataset(out, coords | {"latitude": spans[0], "longitude": spans[1]})
