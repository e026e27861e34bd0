"""The gradient of a misfit by sources, as a dataset: moment tensors, forces, positions, wavelets,
origin times.
"""

import numpy as np

from craton.conventions import TENSOR, VECTOR
from craton.survey import leapfrog

MOVED = 1e-3  # of the time step: to both sides, for derivatives of wavelets
PLACES = {"force": 0.0, "moment": 0.5}  # of the samples of a series within a step


def dataset(by_sources, linear, names):
    """Return the gradient by the sources of one run.

    Parameters
    ----------
    by_sources : dict
        What `Experiment.adjoint` returns.
    linear : object
        What `Method.linearised` returns.
    names : list of str
        Names of all sources, in the order of the run.

    Returns
    -------
    xarray.Dataset
        Over ``source``: ``force(source, component)``, 1/N, and ``moment(source, tensor)``, 1/(N m),
        NaN where a source is of the other kind; a component of the tensor stands for both places
        that it has. ``position(source, axis)``, 1/m; ``origin_time``, 1/s; ``wavelet(source,
        step)``, by the value of the wavelet at ``wavelet_time``, s.
    """
    import xarray as xr

    d, count = linear.d, len(names)
    values = {
        "force": np.full((count, len(VECTOR)), np.nan),
        "moment": np.full((count, len(TENSOR)), np.nan),
        "position": np.zeros((count, 3)),
        "origin_time": np.zeros(count),
        "wavelet": np.zeros((count, d.steps)),
        "wavelet_time": np.zeros((count, d.steps)),
    }
    for kind in PLACES:
        sources = [s for s in linear.sources if (s.force is None) == (kind == "moment")]
        for source, by_source in zip(sources, by_sources[kind]):
            n = linear.sources.index(source)
            values[kind][n] = by_source["strength"]
            values["position"][n] = by_source["position"]
            _of_wavelet(values, n, source, by_source["series"], d, PLACES[kind])
    dims = {
        "force": ("source", "component"),
        "moment": ("source", "tensor"),
        "position": ("source", "axis"),
        "origin_time": ("source",),
        "wavelet": ("source", "step"),
        "wavelet_time": ("source", "step"),
    }
    units = {"force": "1/N", "moment": "1/(N m)", "position": "1/m", "origin_time": "1/s"}
    units |= {"wavelet_time": "s"}
    variables = {
        name: (dims[name], array, {"units": units[name]} if name in units else {}) for name, array in values.items()
    }
    coordinates = {
        "source": ("source", np.array(names, dtype=str)),
        "component": ("component", list(VECTOR)),
        "tensor": ("tensor", list(TENSOR)),
        "axis": ("axis", list("xyz")),
    }
    return xr.Dataset(variables, coordinates).set_coords("wavelet_time")


def _of_wavelet(values, n, source, by_series, d, place):
    """Set the derivatives by wavelet and origin time of source n."""
    by_wavelet = leapfrog.for_leapfrog_transposed(by_series[:, None], d.dt, place)[:, 0]
    times, moved = d.start + (np.arange(d.steps) + place) * d.dt, MOVED * d.dt
    slope = (source.wavelet(times + moved) - source.wavelet(times - moved)) / (2 * moved)
    values["wavelet"][n], values["wavelet_time"][n] = by_wavelet, times
    values["origin_time"][n] = -by_wavelet @ slope
