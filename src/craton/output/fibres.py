"""What fibres recorded as one xarray.Dataset: strain_rate(channel, time)."""
import numpy as np

from craton.output.dataset import coordinate_attributes, global_attributes, time_axis
from craton.survey.receivers import ALONG_FIBRE


def dataset(samples, channels, fibres, dt, start, sampling=None, attributes=None, steps=None):
    """Build the dataset of the fibres of a run; arguments as of `craton.output.dataset.waveforms`.

    Returns
    -------
    xarray.Dataset
        ``strain_rate(channel, time)``, 1/s, along the fibre, extension positive; coordinates ``fibre`` (name), ``distance`` along it, and
        x, y, z of the middle of each channel, m.
    """
    import xarray as xr

    from craton.survey import filters

    columns = [n for n, channel in enumerate(channels) if channel.quantity == ALONG_FIBRE]
    samples = np.asarray(samples)
    times = time_axis(len(samples) if steps is None else min(steps, len(samples)), dt, start, sampling)
    series = samples[:, columns]
    if sampling is None:
        series = series[: len(times)]
    else:
        cutoff = 0.8 * 0.5 / sampling if sampling > dt * (1 + 1e-9) else None  # 0.8 of the output's Nyquist frequency
        series = filters.resample(series, start + 0.5 * dt, dt, times, cutoff).astype(samples.dtype, copy=False)
    about = {"units": "1/s", "long_name": "axial strain rate, mean over the gauge length"}
    result = xr.Dataset({"strain_rate": (("channel", "time"), series.T, about)}, _coordinates(fibres, times, sampling or dt),
                       global_attributes(**(attributes or {})))  # fmt: skip
    for variable in result.variables.values():
        variable.encoding["_FillValue"] = None  # CF forbids fill values on coordinates, and no sample is missing
    return result


def _coordinates(fibres, times, interval):
    along = {
        "fibre": (np.array(fibres.names, dtype=str), {"long_name": "name of the fibre"}),
        "distance": (fibres.distance, {"units": "m", "long_name": "distance along the fibre to the middle of the channel"}),
        "gauge": (fibres.gauge, {"units": "m", "long_name": "gauge length"}),
    }
    for axis, values in zip("xyz", fibres.xyz.T):
        along[axis] = (values, {k: v for k, v in coordinate_attributes(axis).items() if k != "axis"})
    time = {"units": "s", "long_name": "time after the origin time", "sampling_interval": float(interval)}
    return {name: ("channel", *rest) for name, rest in along.items()} | {"time": ("time", times, time)}
