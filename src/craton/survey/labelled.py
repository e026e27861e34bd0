"""Points of labelled data: grids of xarray and Verde, tables of pandas, with the names of Harmonica."""

from craton.io.netcdf import TO_METRES, factor, height_factor
from craton.model.ground.surfaces import GEOGRAPHIC
from craton.model.media.readers import COORDINATES

WORDS = COORDINATES | {"z": ("upward", *COORDINATES["z"], "height", "altitude")}


def coordinates_of(points):
    """Return x, y, z of points, m, of one shape, and the dimensions that this shape has.

    Parameters
    ----------
    points : tuple of array_like, xarray.Dataset, xarray.DataArray or pandas.DataFrame
        Labelled data have easting, northing and upward (or x, y and z, elevation, height; depth
        counts downward) as coordinates, variables or columns; a grid has easting and northing as
        dimensions, and upward over both, over none of them or as a third. Units are those of the
        attributes, also of arrays in a tuple.

    Returns
    -------
    xyz : tuple of arrays
    dims : tuple of str, or None
        Names of the dimensions of these arrays; None where they have none.

    Raises
    ------
    ValueError
        A coordinate is missing, in degrees or in an unknown unit.
    """
    if hasattr(points, "columns"):
        table = {str(name).lower(): points[name] for name in points.columns}
        return tuple(_in_metres(axis, *_named(table, axis)) for axis in "xyz"), None
    if isinstance(points, tuple | list) and len(points) == 3:
        return tuple(_in_metres(axis, axis, part) for axis, part in zip("xyz", points)), None
    if not hasattr(points, "dims"):
        return points, None
    import xarray

    if not hasattr(points, "data_vars"):
        points = points.to_dataset(name="values" if points.name is None else points.name)
    table = {str(name).lower(): points[name] for name in points.variables}
    x, y, z = (_in_metres(axis, *_named(table, axis)) for axis in "xyz")
    dims = tuple(dict.fromkeys(dim for part in (z, y, x) for dim in part.dims))
    parts = xarray.broadcast(*(part.reset_coords(drop=True) for part in (x, y, z)))
    return tuple(part.transpose(*dims).values for part in parts), dims


def _named(table, axis):
    """Return the first name of an axis that a table has, and its values."""
    name = next((word for word in WORDS[axis] if word in table), None)
    if name is None:
        remedy = f"; {TO_METRES}" if set(table) & set(GEOGRAPHIC) else ""
        names = " or ".join(WORDS[axis])
        raise ValueError(f"the points have no {names}; they have {', '.join(table)}{remedy}")
    return name, table[name]


def _in_metres(axis, name, values):
    """Return a coordinate in metres, depths turned upward."""
    if axis == "z":
        scale = height_factor(values, name, "down" if name == "depth" else "up")
    else:
        scale = factor(values, "length", name)
    return values if scale == 1.0 else scale * values.astype(float)
