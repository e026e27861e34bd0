"""GeoTIFF, through rioxarray."""

from craton.io.contents import FileError


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
    try:
        import rioxarray
    except ImportError:
        raise FileError(
            f"{path.name}: GeoTIFF needs rioxarray (pip install 'craton[geo]'); netCDF and .asc do not"
        ) from None
    try:
        with rioxarray.open_rasterio(path, masked=True) as array:
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
