"""Datasets of inversions: parameters and gradients on the grid, data of many runs."""

import numpy as np

from craton.inverse.parameters import LONG_NAMES, UNITS


def on_grid(axes, values, illumination=None, units=None):
    """Return arrays (nz, ny, nx) of the cells as a dataset over (z, y, x); in the plane (z, x); or
    arrays of the nodes of elements over (element, node).

    Parameters
    ----------
    axes : dict of str to ndarray
        Coordinates along x, y, z, m; of nodes those of each, (elements, nodes).
    values : dict of str to ndarray
        Parameters by name.
    illumination : ndarray, optional
    units : dict of str to str, optional
        Of each; by default those of the parameters.
    """
    import xarray as xr

    from craton.output.dataset import coordinate_attributes, global_attributes

    if axes["x"].ndim > 1:
        dims, shape = ("element", "node"), axes["x"].shape
    else:
        dims = ("z", "x") if len(axes["y"]) == 1 else ("z", "y", "x")
        shape = tuple(len(axes[dim]) for dim in dims)
    variables = {
        name: (dims, np.reshape(array, shape), {"units": (units or UNITS)[name], "long_name": LONG_NAMES[name]})
        for name, array in values.items()
    }
    if units:
        for name, (_, _, attributes) in variables.items():
            place = "node of an element" if dims[0] == "element" else "cell"
            attributes["long_name"] = f"derivative of the misfit by the {LONG_NAMES[name]} of a {place}"
    if illumination is not None:
        about = {"units": "m2 s-3", "long_name": "integral of squared accelerations"}
        variables["illumination"] = (dims, np.reshape(illumination, shape), about)
    coordinates = {
        name: (dims if dims[0] == "element" else name, axes[name], coordinate_attributes(name))
        for name in ("xyz" if dims[0] == "element" else dims)
    }
    return xr.Dataset(variables, coordinates, global_attributes())


def joined(datasets, names):
    """Return the data of all runs along ``shot``, or of the only one."""
    if len(datasets) == 1:
        return datasets[0]
    import xarray as xr

    shot = xr.DataArray(np.array(names, dtype=str), dims="shot", name="shot")
    return xr.concat(datasets, shot, combine_attrs="override")
