"""From gravity fields at points to one xarray.Dataset: g_z(y, x) or g_z(point), with units and
coordinates.
"""

import numpy as np

from craton.conventions import GRAVITY
from craton.output.dataset import cf_dataset, coordinate_attributes, global_attributes, off_axis_attributes
from craton.survey.points import WORDS

HEIGHTS = WORDS["z"]


def fields(values, points, attributes=None, errors=None):
    """Build the dataset of a gravity run.

    Parameters
    ----------
    values : dict of str to ndarray
        Fields by name, each of the points' shape, in the units of `craton.conventions.GRAVITY`.
    points : survey.points.Points
        The points and their layout.
    attributes : dict, optional
        Global attributes (title, scenario, ...).
    errors : dict of str to float, optional
        Estimated greatest error of a field, kept as its attribute ``estimated_error``.

    Returns
    -------
    xarray.Dataset
        Variables over ``(y, x)`` or ``(point)``; elevation z is a number where all points are at
        one level.
    """
    variables = {}
    for name, array in values.items():
        shaped = np.asarray(array).reshape(points.shape)
        variables[name] = (points.dims, shaped, attributes_of(name, errors))
    about = global_attributes(**(attributes or {}))
    about.pop("origin_time")  # nothing here has a time
    return cf_dataset(variables, _coordinates(points), about)


def _coordinates(points):
    coordinates = {name: (name, axis, coordinate_attributes(name)) for name, axis in points.axes.items()}
    for name in "xyz":
        if name in coordinates:
            continue
        values = getattr(points, name)
        about = off_axis_attributes(name)
        level = points.axes and values.size and np.ptp(values) == 0
        coordinates[name] = ((), float(values.flat[0]), about) if level else (points.dims, values, about)
    for name, (values, unit, long_name) in points.along.items():
        coordinates[name] = (points.dims, values, {"units": unit, "long_name": long_name})
    return coordinates


def labelled(values, points, dims, attributes, errors):
    """Return fields as data of the kind that the points came in.

    Parameters
    ----------
    values : dict of str to ndarray
        Fields by name, in the units of `craton.conventions.GRAVITY`.
    points : xarray.Dataset, xarray.DataArray or pandas.DataFrame
    dims : tuple of str, or None
        Dimensions of the fields; None for a DataFrame.
    attributes : dict
        Method, device and precision.
    errors : dict of str to float
        Estimated greatest error of a field.

    Returns
    -------
    xarray.Dataset or pandas.DataFrame
        A dataset on the coordinates of the points, or the table with a column for each field. The
        attributes have units and estimated errors.
    """
    if dims is None:
        table = points.assign(**values)
        units = {name: GRAVITY[name][0] for name in values}
        table.attrs = {**points.attrs, **attributes, "units": units, "estimated_error": errors}
        return table
    import xarray

    if not hasattr(points, "data_vars"):
        points = points.to_dataset(name="values" if points.name is None else points.name)
    heights = {name: points[name] for name in points.data_vars if str(name).lower() in HEIGHTS}
    variables = {name: (dims, array, attributes_of(name, errors)) for name, array in values.items()}
    return xarray.Dataset(variables, {**points.coords, **heights}, attributes)


def attributes_of(name, errors=None):
    """Return the attributes of a field: unit, long name, estimated error where it is known.

    Parameters
    ----------
    name : str
        Of `craton.conventions.GRAVITY`.
    errors : dict of str to float, optional
    """
    unit, long_name = GRAVITY[name]
    error = {"estimated_error": float(errors[name])} if errors and name in errors else {}
    return {"units": unit, "long_name": long_name, **error}
