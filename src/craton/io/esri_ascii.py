"""ESRI ASCII grid: a header of keys and values, then rows from north to south."""

import numpy as np

from craton.io.contents import FileError, floats
from craton.io.limits import within

KEYS = ("ncols", "nrows", "xllcorner", "yllcorner", "xllcenter", "yllcenter", "cellsize")
KEYS += ("nodata_value",)
MOST_KEYS = 20  # lines of a heading


def read(path, variable=None, part=None):
    """Read a grid.

    Parameters
    ----------
    path : pathlib.Path
    variable : str, optional
        Not used: the file holds one.
    part : callable, optional
        From the array to what of it is wanted.

    Returns
    -------
    xarray.DataArray
        Over y (falling) and x, nan where there is no value.

    Raises
    ------
    FileError
        The file is no such grid.
    """
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
        west, south = (header.get(f"{a}llcenter", header.get(f"{a}llcorner", np.nan) + step / 2) for a in "xy")
        z = floats(" ".join(lines[len(header) :]).split()).reshape(ny, nx)
    except (KeyError, ValueError) as error:
        raise FileError(f"{path.name} is not an ESRI ASCII grid: {error}") from None
    z[z == header.get("nodata_value", -9999.0)] = np.nan
    within("elevation, number", z, "length", missing=True)
    axes = {"y": south + step * np.arange(ny)[::-1], "x": west + step * np.arange(nx)}
    array = DataArray(z, axes, ("y", "x"))
    return part(array) if part else array
