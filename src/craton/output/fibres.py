"""What fibres recorded as one xarray.Dataset: strain_rate(channel, time)."""

import numpy as np

from craton.output.dataset import (
    at_times,
    cf_dataset,
    global_attributes,
    off_axis_attributes,
    time_axis,
    time_coordinate,
)
from craton.survey.receivers import ALONG_FIBRE


def dataset(samples, channels, fibres, dt, start, sampling=None, attributes=None, steps=None):
    """Build the dataset of the fibres of a run; arguments as of `craton.output.dataset.waveforms`.

    Returns
    -------
    xarray.Dataset
        ``strain_rate(channel, time)``, 1/s, along the fibre, extension positive; coordinates
        ``fibre`` (name), ``distance`` along it, and x, y, z of the middle of each channel, m.
    """
    columns = [n for n, channel in enumerate(channels) if channel.quantity == ALONG_FIBRE]
    samples = np.asarray(samples)
    times = time_axis(len(samples) if steps is None else min(steps, len(samples)), dt, start, sampling)
    series = at_times(samples[:, columns], 0.5, dt, start, times, sampling)
    about = {"units": "1/s", "long_name": "axial strain rate, mean over the gauge length"}
    variables = {"strain_rate": (("channel", "time"), series.T, about)}
    return cf_dataset(variables, _coordinates(fibres, times, sampling or dt), global_attributes(**(attributes or {})))


def _coordinates(fibres, times, interval):
    along = {
        "fibre": (np.array(fibres.names, dtype=str), {"long_name": "name of the fibre"}),
        "distance": (
            fibres.distance,
            {"units": "m", "long_name": "distance along the fibre to the middle of the channel"},
        ),
        "gauge": (fibres.gauge, {"units": "m", "long_name": "gauge length"}),
    }
    for axis, values in zip("xyz", fibres.xyz.T):
        along[axis] = (values, off_axis_attributes(axis))
    return {name: ("channel", *rest) for name, rest in along.items()} | {"time": time_coordinate(times, interval)}
