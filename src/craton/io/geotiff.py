"""GeoTIFF, through rioxarray."""

from craton.io.contents import FileError


def read(path, variable=None):
    """Read the first band.

    Parameters
    ----------
    path : pathlib.Path
    variable : str, optional
        Not used: a band has no name.

    Returns
    -------
    xarray.DataArray
        Over y and x; its attribute ``geographic`` says whether these are latitude and longitude.

    Raises
    ------
    FileError
        rioxarray is missing, or cannot read the file.
    """
    try:
        import rioxarray
    except ImportError:
        raise FileError(
            f"{path.name}: GeoTIFF needs rioxarray (pip install rioxarray); netCDF and .asc do not"
        ) from None
    try:
        with rioxarray.open_rasterio(path, masked=True) as array:
            geographic = array.rio.crs is not None and array.rio.crs.is_geographic
            return array.isel(band=0, drop=True).load().assign_attrs(geographic=geographic)
    except Exception as error:  # rasterio's own kinds of failure
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FileError(f"cannot read {path} as GeoTIFF: {reason[:150]}") from error
