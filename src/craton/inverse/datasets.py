"""Datasets of inversions: parameters and gradients on the grid, gradients by sources, data of many runs."""

import numpy as np

from craton.conventions import TENSOR, VECTOR
from craton.inverse.parameters import LONG_NAMES, UNITS
from craton.survey import leapfrog

MOVED = 1e-3  # of the time step: to both sides, for derivatives of wavelets
PLACES = {"force": 0.0, "moment": 0.5}  # of the samples of a series within a step


def on_grid(axes, values, illumination=None, derivative=False):
    """Return arrays (nz, ny, nx) of the cells as a dataset over (z, y, x); in the plane (z, x); or
    arrays of the nodes of elements over (element, node).

    Parameters
    ----------
    axes : dict of str to ndarray
        Coordinates along x, y, z, m; of nodes those of each, (elements, nodes).
    values : dict of str to ndarray
        Parameters by name.
    illumination : ndarray, optional
    derivative : bool
        They are derivatives of a misfit by the parameters.
    """
    import xarray as xr

    from craton.output.dataset import coordinate_attributes, global_attributes

    if axes["x"].ndim > 1:
        dims, shape, place = ("element", "node"), axes["x"].shape, "node of an element"
    else:
        dims, place = ("z", "x") if len(axes["y"]) == 1 else ("z", "y", "x"), "cell"
        shape = tuple(len(axes[dim]) for dim in dims)
    variables = {}
    for name, array in values.items():
        unit, long_name = UNITS[name], LONG_NAMES[name]
        if derivative:
            unit, long_name = f"1/({unit})", f"derivative of the misfit by the {long_name} of a {place}"
        variables[name] = (dims, np.reshape(array, shape), {"units": unit, "long_name": long_name})
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


def of_sources(by_sources, linear):
    """Return the gradient by the sources of one run.

    Parameters
    ----------
    by_sources : dict
        What `Experiment.adjoint` returns.
    linear : object
        What `Method.linearised` returns.

    Returns
    -------
    xarray.Dataset
        Over ``source``: ``force(source, component)``, 1/N, and ``moment(source, tensor)``, 1/(N m),
        NaN where a source is of the other kind; a component of the tensor stands for both places
        that it has. ``position(source, axis)``, 1/m; ``origin_time``, 1/s; ``wavelet(source,
        step)``, by the value of the wavelet at ``wavelet_time``, s.
    """
    import xarray as xr

    d, count = linear.d, len(linear.sources)
    series = ("source", "step"), np.zeros((count, d.steps))
    variables = {
        "force": (("source", "component"), np.full((count, len(VECTOR)), np.nan), {"units": "1/N"}),
        "moment": (("source", "tensor"), np.full((count, len(TENSOR)), np.nan), {"units": "1/(N m)"}),
        "position": (("source", "axis"), np.zeros((count, 3)), {"units": "1/m"}),
        "origin_time": ("source", np.zeros(count), {"units": "1/s"}),
        "wavelet": series,
        "wavelet_time": (*series, {"units": "s"}),
    }
    coordinates = {
        "source": ("source", np.array([source.name for source in linear.sources], dtype=str)),
        "component": ("component", list(VECTOR)),
        "tensor": ("tensor", list(TENSOR)),
        "axis": ("axis", list("xyz")),
    }
    out = xr.Dataset(variables, coordinates).set_coords("wavelet_time").copy(deep=True)
    values, moved = {str(name): variable.values for name, variable in out.variables.items()}, MOVED * d.dt
    for kind, place in PLACES.items():
        chosen = [n for n, source in enumerate(linear.sources) if (source.force is None) == (kind == "moment")]
        times = d.start + (np.arange(d.steps) + place) * d.dt
        for n, part in zip(chosen, by_sources[kind]):
            wavelet = linear.sources[n].wavelet
            by_wavelet = leapfrog.for_leapfrog_transposed(part["series"][:, None], d.dt, place)[:, 0]
            values[kind][n], values["position"][n] = part["strength"], part["position"]
            values["wavelet"][n], values["wavelet_time"][n] = by_wavelet, times
            values["origin_time"][n] = -by_wavelet @ ((wavelet(times + moved) - wavelet(times - moved)) / (2 * moved))
    return out
