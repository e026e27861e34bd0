"""From recorded channels, or gravity fields at points, to one xarray.Dataset: velocity(receiver, component, time) and
the like on one exact time axis, g_z(y, x) or g_z(point), with units and coordinates.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from craton.conventions import (
    DIFFERENTIATED,
    GRAVITY,
    INTEGRATED,
    ORIGIN_TIME,
    QUANTITIES,
    TENSOR,
    VECTOR,
    components,
    recorded_as,
)
from craton.survey.points import WORDS
from craton.survey.receivers import ALONG_FIBRE
from craton.text import now

COMPONENT_DIMS = {VECTOR: "component", TENSOR: "tensor"}
_COORDINATES = {
    "x": {"units": "m", "long_name": "easting", "axis": "X"},
    "y": {"units": "m", "long_name": "northing", "axis": "Y"},
    "z": {"units": "m", "long_name": "elevation", "positive": "up", "axis": "Z"},
}


def component_dim(array):
    """Return the dimension of the components of waveforms or snapshots, or None."""
    return next((dim for dim in COMPONENT_DIMS.values() if dim in array.dims), None)


def coordinate_attributes(name):
    """CF attributes of the coordinate ``"x"``, ``"y"`` or ``"z"``; empty for other names."""
    return dict(_COORDINATES.get(name, {}))


def off_axis_attributes(name):
    """CF attributes of x, y or z where it is not the axis of a dimension."""
    return {key: text for key, text in coordinate_attributes(name).items() if key != "axis"}


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
        "history": f"{now()} computed by {source}",
        "origin_time": ORIGIN_TIME,
    }
    return base | {key: value for key, value in attributes.items() if value is not None}


@dataclass(frozen=True)
class TimeAxis:
    """When the samples of a dataset are taken: over so many time steps of `dt` from `start`, s, at intervals of `sampling`,
    s, or without it in the middle of each step, where the leapfrog scheme knows velocity.
    """

    steps: int
    dt: float
    start: float
    sampling: float | None = None

    @classmethod
    def of(cls, plan, output) -> Self:
        """Return the time axis of a planned run with the settings of its output."""
        return cls(plan.steps - plan.extra, plan.dt, plan.start, output.sampling)

    @property
    def interval(self) -> float:
        """Sampling interval, s."""
        return self.sampling or self.dt

    @property
    def times(self) -> np.ndarray:
        """Sample times, s: as far as velocity was recorded."""
        if self.sampling is None:
            return self.start + (np.arange(self.steps) + 0.5) * self.dt
        # The small term keeps a last sample that falls on the end but for rounding.
        count = int(np.floor((self.steps - 0.5) * self.dt / self.sampling + 1e-9)) + 1 if self.steps else 0
        return self.start + np.arange(count) * self.sampling

    @property
    def cutoff(self) -> float | None:
        """Frequency above which series are filtered, Hz: 0.8 of the Nyquist frequency of an interval longer than a step."""
        is_coarser = self.sampling is not None and self.sampling > self.dt * (1 + 1e-9)
        return 0.8 * 0.5 / self.sampling if is_coarser else None

    @property
    def coordinate(self) -> tuple:
        """The coordinate `time`; it has no CF axis, so that it stays a number of seconds in every reader."""
        about = {"units": "s", "long_name": "time after the origin time", "sampling_interval": float(self.interval)}
        return "time", self.times, about

    def resampled(self, series, place):
        """Return series (steps, n), whose sample n belongs to start + (n + place) dt, at the times of the axis."""
        from craton.survey import filters

        times = self.times
        if place == 0.5 and self.sampling is None:
            return series[: len(times)]  # already there: not to be touched by a filter
        first = self.start + place * self.dt
        return filters.resample(series, first, self.dt, times, self.cutoff).astype(series.dtype, copy=False)

    def at_steps(self, series, place, steps):
        """Return the transpose of `resampled`: (steps, n)."""
        from craton.survey import filters

        times = self.times
        if place == 0.5 and self.sampling is None:
            out = np.zeros((steps, series.shape[1]))
            out[: len(times)] = series
            return out
        first = self.start + place * self.dt
        return filters.resample_transposed(series, first, self.dt, times, steps, self.cutoff)


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


def waveforms(samples, channels, receivers, axis, quantities, attributes=None, shots=(), motion=None):
    """Build the dataset of a wave run.

    Parameters
    ----------
    samples : ndarray, shape (steps, n_channels)
        What was recorded, SI units: also steps after those of the axis, by which filters are accurate up to its end.
    channels : sequence of Channel
        What each column is, and its `place`: sample n was taken at ``start + (n + place) dt``.
    receivers : Receivers
        ``names`` and ``xyz`` (n, 3) in metres.
    axis : TimeAxis
    quantities : sequence of str
        Names of `craton.conventions.QUANTITIES` to put out. Those of `INTEGRATED` and
        `DIFFERENTIATED` come from the channels of what they are the integral or derivative of.
    attributes : dict, optional
        Global attributes (title, scenario, ...).
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
        import xarray as xr

        parts = []
        for number in range(len(shots)):
            columns = [c for c, channel in enumerate(channels) if channel.shot == number]
            used = [channels[c] for c in columns]
            parts.append(waveforms(samples[:, columns], used, receivers, axis, quantities, attributes, (), motion))
        named = xr.DataArray(np.array(shots, dtype=str), dims="shot", attrs={"long_name": "shot name"}, name="shot")
        return xr.concat(parts, named, combine_attrs="override")
    axis = replace(axis, steps=min(axis.steps, len(samples)))
    variables = {}
    for name in quantities:
        series, used = _series(name, samples, channels, axis)
        variables[name] = _variable(name, series, used, len(receivers.names), quantities, motion)
    coordinates = _coordinates(receivers, axis, quantities, motion)
    return cf_dataset(variables, coordinates, global_attributes(**(attributes or {})))


def components_along(dim, quantities, motion):
    """Components of some quantities that lie along a dimension, in the order of the convention."""
    recorded = {c for q in quantities if COMPONENT_DIMS.get(QUANTITIES[q][0]) == dim for c in components(q, motion)}
    return tuple(c for whole, d in COMPONENT_DIMS.items() if d == dim for c in whole if c in recorded)


def _series(name, samples, channels, axis):
    """Columns of one quantity on a time axis: (times, n), and the channels they belong to."""
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
        series, places = filters.integrate(series, axis.dt), np.ones(len(used))
    elif name in DIFFERENTIATED:
        series, places = filters.differentiate(series, axis.dt), places + 0.5
    if len(set(places)) == 1:
        return axis.resampled(series, places[0]), used
    out = np.empty((len(axis.times), len(used)), samples.dtype)
    for place in set(places):
        out[:, places == place] = axis.resampled(series[:, places == place], place)
    return out, used


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


def _coordinates(receivers, axis, quantities, motion):
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
    return {"receiver": coordinates.pop("receiver"), **along, "time": axis.coordinate, **coordinates}


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
    rows = [(axis, xyz[:, n], "m", _COORDINATES[axis]["long_name"]) for n, axis in enumerate("xyz")]
    if local is not None:
        longitude, latitude = map(np.asarray, local.degrees(*xyz[:, :2].T))
        rows += [
            ("longitude", longitude, "degrees_east", "longitude"),
            ("latitude", latitude, "degrees_north", "latitude"),
        ]
        rows.append(("elevation", xyz[:, 2], "m", "elevation"))
    return {
        f"source_{name}": ("shot", values, {"units": unit, "long_name": f"{noun} of the source"})
        for name, values, unit, noun in rows
    }


def of_fibres(samples, channels, fibres, axis, attributes=None):
    """Build the dataset of the fibres of a run; arguments as of `waveforms`.

    Returns
    -------
    xarray.Dataset
        ``strain_rate(channel, time)``, 1/s, along the fibre, extension positive; coordinates
        ``fibre`` (name), ``distance`` along it, and x, y, z of the middle of each channel, m.
    """
    columns = [n for n, channel in enumerate(channels) if channel.quantity == ALONG_FIBRE]
    samples = np.asarray(samples)
    axis = replace(axis, steps=min(axis.steps, len(samples)))
    about = {"units": "1/s", "long_name": "axial strain rate, mean over the gauge length"}
    variables = {"strain_rate": (("channel", "time"), axis.resampled(samples[:, columns], 0.5).T, about)}
    distance = {"units": "m", "long_name": "distance along the fibre to the middle of the channel"}
    coordinates = {
        "fibre": ("channel", np.array(fibres.names, dtype=str), {"long_name": "name of the fibre"}),
        "distance": ("channel", fibres.distance, distance),
        "gauge": ("channel", fibres.gauge, {"units": "m", "long_name": "gauge length"}),
    }
    for name, values in zip("xyz", fibres.xyz.T):
        coordinates[name] = ("channel", values, off_axis_attributes(name))
    coordinates["time"] = axis.coordinate
    return cf_dataset(variables, coordinates, global_attributes(**(attributes or {})))


# --- gravity ----------------------------------------------------------------------------------------------------------

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
    return cf_dataset(variables, _point_coordinates(points), about)


def _point_coordinates(points):
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
