"""From recorded channels to one xarray.Dataset: velocity(receiver, component, time) and the like,
on one exact time axis.
"""

from datetime import UTC, datetime

import numpy as np

from craton.conventions import (
    DIFFERENTIATED,
    INTEGRATED,
    ORIGIN_TIME,
    QUANTITIES,
    TENSOR,
    VECTOR,
    components,
    recorded_as,
)
from craton.survey.receivers import ALONG_FIBRE

COMPONENT_DIMS = {VECTOR: "component", TENSOR: "tensor"}
_COORDINATES = {
    "x": {"units": "m", "long_name": "easting", "axis": "X"},
    "y": {"units": "m", "long_name": "northing", "axis": "Y"},
    "z": {"units": "m", "long_name": "elevation", "positive": "up", "axis": "Z"},
}


def coordinate_attributes(name):
    """CF attributes of the coordinate ``"x"``, ``"y"`` or ``"z"``; empty for other names."""
    return dict(_COORDINATES.get(name, {}))


def off_axis_attributes(name):
    """CF attributes of x, y or z where it is not the axis of a dimension.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict
    """
    return {key: text for key, text in coordinate_attributes(name).items() if key != "axis"}


def time_coordinate(times, interval):
    """Return the coordinate `time`; it has no CF axis, so that it stays a number of seconds in
    every reader.

    Parameters
    ----------
    times : ndarray
        s.
    interval : float
        Sampling interval, s.

    Returns
    -------
    tuple of (str, ndarray, dict)
    """
    return (
        "time",
        times,
        {"units": "s", "long_name": "time after the origin time", "sampling_interval": float(interval)},
    )


def cf_dataset(variables, coordinates, attributes):
    """Return a dataset without fill values: CF forbids them on coordinates, and no sample is
    missing.

    Parameters
    ----------
    variables, coordinates : dict
        As of xarray.Dataset.
    attributes : dict

    Returns
    -------
    xarray.Dataset
    """
    import xarray as xr

    dataset = xr.Dataset(variables, coordinates, attributes)
    for variable in dataset.variables.values():
        variable.encoding["_FillValue"] = None
    return dataset


def global_attributes(**attributes):
    """Attributes of a dataset by CF-1.11: conventions, source (this program and its version),
    history.

    Parameters
    ----------
    attributes : dict
        Further ones; those that are None are left out.

    Returns
    -------
    dict
    """
    from craton.versions import versions

    source = " ".join(["craton", *versions("craton").values()])
    base = {
        "Conventions": "CF-1.11",
        "source": source,
        "history": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} computed by {source}",
        "origin_time": ORIGIN_TIME,
    }
    return base | {key: value for key, value in attributes.items() if value is not None}


def time_axis(steps, dt, start, sampling=None):
    """Sample times of a run's waveforms.

    Parameters
    ----------
    steps : int
        Time steps done.
    dt, start : float
        Time step and beginning of the run, s.
    sampling : float, optional
        Output interval, s.

    Returns
    -------
    ndarray
        ``start + (n + 1/2) dt``, where the leapfrog scheme knows velocity, or ``start + j
        sampling`` as far as velocity was recorded.
    """
    if sampling is None:
        return start + (np.arange(steps) + 0.5) * dt
    # The small term keeps a last sample that falls on the end but for rounding.
    count = int(np.floor((steps - 0.5) * dt / sampling + 1e-9)) + 1 if steps else 0
    return start + np.arange(count) * sampling


def corrected(samples, channels, dt, band):
    """Return recorded channels without the leapfrog's error in time; see
    `craton.survey.leapfrog.from_leapfrog`.

    Parameters
    ----------
    samples : ndarray, shape (steps, n_channels)
    channels : sequence of Channel
    dt, band : float
        Time step, s; highest frequency that the sources carry, Hz.

    Returns
    -------
    ndarray, shape (steps, n_channels)
    """
    from craton.survey.leapfrog import blocks, from_leapfrog

    samples = np.asarray(samples)
    out = np.empty_like(samples)
    places = np.array([channel.place for channel in channels])
    for place in np.unique(places):
        columns = np.flatnonzero(places == place)
        for block in blocks(len(columns), len(samples)):
            part = columns[block]
            out[:, part] = from_leapfrog(samples[:, part], dt, place, band)
    return out


def waveforms(
    samples,
    channels,
    receivers,
    dt,
    start,
    quantities,
    sampling=None,
    attributes=None,
    steps=None,
    shots=(),
    motion=None,
):
    """Build the dataset of a wave run.

    Parameters
    ----------
    samples : ndarray, shape (steps, n_channels)
        What was recorded, SI units.
    channels : sequence of Channel
        What each column is, and its `place`: sample n was taken at ``start + (n + place) dt``.
    receivers : Receivers
        ``names`` and ``xyz`` (n, 3) in metres.
    dt, start : float
        Time step and beginning of the run, s.
    quantities : sequence of str
        Names of `craton.conventions.QUANTITIES` to put out. Those of `INTEGRATED` and
        `DIFFERENTIATED` come from the channels of what they are the integral or derivative of.
    sampling : float, optional
        Output interval, s, not shorter than `dt`; series are low-pass filtered below its Nyquist
        frequency. Absent: every time step.
    attributes : dict, optional
        Global attributes (title, scenario, ...).
    steps : int, optional
        Steps that the dataset covers, where more were recorded: filters are then accurate up to its
        end.
    shots : sequence of str, optional
        Names of the shots that the channels belong to.
    motion : str, optional
        ``"P-SV"`` or ``"SH"`` in the plane, which lacks some components.

    Returns
    -------
    xarray.Dataset
        ``quantity(receiver, component, time)``, behind ``shot`` where there are several, tensors
        over ``tensor``, pressure over ``(receiver, time)``; NaN where a receiver has no channel.

    Raises
    ------
    ValueError
        If no channel carries a quantity asked for, or the channels of one quantity differ in time.
    """
    samples = np.asarray(samples)
    if shots:
        return _of_shots(
            samples, channels, receivers, dt, start, quantities, sampling, attributes, steps, shots, motion
        )
    times = time_axis(len(samples) if steps is None else min(steps, len(samples)), dt, start, sampling)
    variables = {}
    for name in quantities:
        series, used = _series(name, samples, channels, dt, start, times, sampling)
        variables[name] = _variable(name, series, used, len(receivers.names), quantities, motion)
    coordinates = _coordinates(receivers, times, sampling or dt, quantities, motion)
    return cf_dataset(variables, coordinates, global_attributes(**(attributes or {})))


def _of_shots(samples, channels, receivers, dt, start, quantities, sampling, attributes, steps, shots, motion):
    """Return the datasets of all shots, one behind the other along `shot`."""
    import xarray as xr

    parts = []
    for number in range(len(shots)):
        columns = [c for c, channel in enumerate(channels) if channel.shot == number]
        used = [channels[c] for c in columns]
        parts.append(
            waveforms(
                samples[:, columns], used, receivers, dt, start, quantities, sampling, attributes, steps, (), motion
            )
        )
    named = xr.DataArray(np.array(shots, dtype=str), dims="shot", attrs={"long_name": "shot name"}, name="shot")
    return xr.concat(parts, named, combine_attrs="override")


def components_along(dim, quantities, motion):
    """Components of some quantities that lie along a dimension, in the order of the convention."""
    recorded = {c for q in quantities if COMPONENT_DIMS.get(QUANTITIES[q][0]) == dim for c in components(q, motion)}
    return tuple(c for whole, d in COMPONENT_DIMS.items() if d == dim for c in whole if c in recorded)


def _series(name, samples, channels, dt, start, times, sampling):
    """Columns of one quantity at the output times: (len(times), n), and the channels they belong
    to.
    """
    from craton.survey import filters

    recorded = recorded_as(name)
    columns = [c for c, channel in enumerate(channels) if channel.quantity == recorded]
    used = [channels[c] for c in columns]
    if not used:
        raise ValueError(f"no channel records {recorded}, which {name} needs")
    series, places = samples[:, columns], np.array([channel.place for channel in used])
    if name in INTEGRATED:
        if any(places != 0.5):
            raise ValueError(f"the channels of {recorded} do not have the sample times that {name} needs")
        series, places = filters.integrate(series, dt), np.ones(len(used))
    elif name in DIFFERENTIATED:
        series, places = filters.differentiate(series, dt), places + 0.5
    parts = {
        place: at_times(series[:, places == place], place, dt, start, times, sampling) for place in sorted(set(places))
    }
    if len(parts) == 1:
        return parts[places[0]], used
    out = np.empty((len(times), len(used)), samples.dtype)
    for place, part in parts.items():
        out[:, places == place] = part
    return out, used


def at_times(series, place, dt, start, times, sampling):
    """Series at the output times.

    Parameters
    ----------
    series : ndarray, shape (steps, n)
    place : float
        Sample n belongs to ``start + (n + place) dt``.
    dt, start : float
        s.
    times : ndarray
        s.
    sampling : float or None
        Output interval, s.

    Returns
    -------
    ndarray, shape (times, n)
    """
    from craton.survey import filters

    if place == 0.5 and sampling is None:
        return series[: len(times)]  # already there: not to be touched by a filter
    coarser = sampling is not None and sampling > dt * (1 + 1e-9)
    cutoff = 0.8 * 0.5 / sampling if coarser else None  # 0.8 of the output's Nyquist frequency
    return filters.resample(series, start + place * dt, dt, times, cutoff).astype(series.dtype, copy=False)


def _variable(name, series, used, n_receivers, quantities, motion):
    """(dims, values, attributes) of one of some quantities from its columns, the channels `used`."""
    whole, units, long_name = QUANTITIES[name]
    dim = COMPONENT_DIMS.get(whole)
    named = components_along(dim, quantities, motion) if dim else whole
    values = np.full((n_receivers, len(named), len(series)), np.nan, series.dtype)
    for column, channel in enumerate(used):
        values[channel.receiver, named.index(channel.component)] = series[:, column]
    attributes = {"units": units, "long_name": long_name}
    if dim:
        return ("receiver", dim, "time"), values, attributes
    return ("receiver", "time"), values[:, 0], attributes


def _coordinates(receivers, times, interval, quantities, motion):
    """Coordinates of the dataset."""
    along = {}
    for dim in COMPONENT_DIMS.values():
        if named := components_along(dim, quantities, motion):
            about = {"long_name": f"{dim} (E east, N north, Z up)"}
            along[dim] = (dim, np.array(named), about)
    coordinates = receiver_coordinates(receivers)
    if receivers.stations is not None and receivers.stations.axes is None:
        from craton.survey.geography import coordinates as paths_of

        coordinates |= paths_of(receivers.stations)
    return {"receiver": coordinates.pop("receiver"), **along, "time": time_coordinate(times, interval), **coordinates}


def receiver_coordinates(receivers):
    """Coordinates that say what receivers are called and where they are in the model: dict.

    Parameters
    ----------
    receivers : Receivers
    """
    texts = {"receiver": (receivers.names, "receiver name")}
    if receivers.codes is not None:
        texts["network"] = (receivers.networks, "FDSN network code")
        texts["station"] = (receivers.codes, "station code")
    if receivers.locations is not None:
        texts["location"] = (receivers.locations, "location code of the sensor")
    coordinates = {
        name: ("receiver", np.array(values, dtype=str), {"long_name": long_name})
        for name, (values, long_name) in texts.items()
    }
    xyz = np.asarray(receivers.xyz, float).reshape(-1, 3)
    for axis, column in zip("xyz", xyz.T):
        coordinates[axis] = ("receiver", column, off_axis_attributes(axis))
    return coordinates


def source_coordinates(xyz, local=None):
    """Coordinates over `shot` that say where the shots are: dict.

    Parameters
    ----------
    xyz : array_like, shape (n, 3)
        Positions, m; NaN where a shot has none.
    local : craton.survey.geography.Local, optional
        Where the model lies on Earth.
    """
    xyz = np.asarray(xyz, float).reshape(-1, 3)
    coordinates = {}
    for axis, column in zip("xyz", xyz.T):
        long_name = f"{_COORDINATES[axis]['long_name']} of the source"
        coordinates[f"source_{axis}"] = column, {"units": "m", "long_name": long_name}
    if local is not None:
        longitude, latitude = local.degrees(*xyz[:, :2].T)
        for name, values, unit in (
            ("longitude", longitude, "degrees_east"),
            ("latitude", latitude, "degrees_north"),
            ("elevation", xyz[:, 2], "m"),
        ):
            about = {"units": unit, "long_name": f"{name} of the source"}
            coordinates[f"source_{name}"] = np.asarray(values), about
    return {name: ("shot", values, about) for name, (values, about) in coordinates.items()}


def of_fibres(samples, channels, fibres, dt, start, sampling=None, attributes=None, steps=None):
    """Build the dataset of the fibres of a run; arguments as of `waveforms`.

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
    return cf_dataset(
        variables, _fibre_coordinates(fibres, times, sampling or dt), global_attributes(**(attributes or {}))
    )


def _fibre_coordinates(fibres, times, interval):
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
