"""From gravity fields at points to one xarray.Dataset: g_z(y, x) or g_z(point), with units and
coordinates.
"""

import numpy as np

from craton.conventions import GRAVITY
from craton.output.dataset import (
    cf_dataset,
    coordinate_attributes,
    global_attributes,
    off_axis_attributes,
)


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
        unit, long_name = GRAVITY[name]
        error = {"estimated_error": float(errors[name])} if errors and name in errors else {}
        variables[name] = (
            points.dims,
            np.asarray(array).reshape(points.shape),
            {"units": unit, "long_name": long_name, **error},
        )
    about = global_attributes(**(attributes or {}))
    about.pop("origin_time")  # nothing here has a time
    return cf_dataset(variables, _coordinates(points), about)


def _coordinates(points):
    coordinates = {
        name: (name, axis, coordinate_attributes(name)) for name, axis in points.axes.items()
    }
    for name in "xyz":
        if name in coordinates:
            continue
        values = getattr(points, name)
        about = off_axis_attributes(name)
        level = points.axes and values.size and np.ptp(values) == 0
        coordinates[name] = (
            ((), float(values.flat[0]), about) if level else (points.dims, values, about)
        )
    for name, (values, unit, long_name) in points.along.items():
        coordinates[name] = (points.dims, values, {"units": unit, "long_name": long_name})
    return coordinates
