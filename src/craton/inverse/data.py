"""Data of an inversion. Computed: from the samples of a run to its data, and the transpose: correction in time, integration,
resampling, sorting into receivers and components. Observed: checked to have the same variables, receivers, components and
times before anything runs. Datasets of parameters, of gradients on the grid and by sources, of the data of many runs.
"""

import numpy as np

from craton.conventions import DIFFERENTIATED, INTEGRATED, QUANTITIES, TENSOR, VECTOR, recorded_as
from craton.driver.result import Result
from craton.errors import Problem, refuse, refuse_all
from craton.inverse.parameters import LONG_NAMES, UNITS
from craton.methods.waves.adjoint import PLACES
from craton.output.dataset import COMPONENT_DIMS, TimeAxis, components_along
from craton.output.inspection import named_damage
from craton.survey import filters, geography, leapfrog
from craton.survey.receivers import ALONG_FIBRE

SLACK = 1e-3  # of the sampling interval: times that differ by less are the same
MOVED = 1e-3  # of the time step: to both sides, for derivatives of wavelets


class Recording:
    """What a plan's receivers record, as data.

    Parameters
    ----------
    scenario : Scenario
    plan : Plan
    """

    def __init__(self, scenario, plan):
        self.scenario, self.plan = scenario, plan
        self.axis = TimeAxis.of(plan, scenario.output)
        self._blank = None
        self.quantities = scenario.output.waveforms if len(plan.receivers) else ()

    @property
    def interval(self):
        """Sampling interval of the data, s."""
        return self.axis.interval

    def dataset(self, samples, device="cpu"):
        """Return the data as a dataset: the waveforms, and ``fibre_strain_rate(channel, time)``.

        Parameters
        ----------
        samples : (steps, channels) array
        device : str
        """
        result = Result(self.scenario, self.plan, samples, {"device": device})
        waves = result.dataset if self.quantities else None
        if result.fibres is None:
            return waves
        fibres = result.fibres.rename({"strain_rate": ALONG_FIBRE})
        if waves is None:
            return fibres
        # positions of channels and of receivers have the same names
        along = {name: f"channel_{name}" for name in fibres.coords if name in waves.coords}
        along.pop("time", None)
        return waves.merge(fibres.rename(along), combine_attrs="override")

    def blank(self):
        """Return the dataset of a run in which nothing moves; NaN where a receiver has no channel."""
        if self._blank is None:
            shape = (self.plan.steps, len(self.plan.channels))
            self._blank = self.dataset(np.zeros(shape))
        return self._blank

    @property
    def shapes(self):
        """Shapes of the data by variable."""
        blank = self.blank()
        return {str(name): blank[name].shape for name in blank.data_vars}

    def arrays(self, samples):
        """Return the data by variable, without labels; 0 where a receiver has no channel.

        Parameters
        ----------
        samples : (steps, channels) array
        """
        data, blank = self.dataset(samples), self.blank()
        return {str(name): np.where(np.isnan(blank[name].values), 0.0, data[name].values) for name in data.data_vars}

    def transpose(self, derivatives):
        """Return the derivative by the samples from that by the data, (steps, channels).

        Parameters
        ----------
        derivatives : dict of str to ndarray
            By variable of the dataset, dimensions as there.
        """
        plan = self.plan
        out = np.zeros((plan.steps, len(plan.channels)))
        for name, values in derivatives.items():
            if name == ALONG_FIBRE:
                columns = [n for n, c in enumerate(plan.channels) if c.quantity == ALONG_FIBRE]
                out[:, columns] += self.axis.at_steps(np.asarray(values, float).T, 0.5, plan.steps)
                continue
            values = np.asarray(values, float)
            for shot, part in enumerate(values if plan.shots else [values]):
                self._add_quantity(out, name, part, shot)
        return self._uncorrected(out)

    def _add_quantity(self, out, name, values, shot):
        """Add the derivative by one quantity of a shot, (receiver[, component], time)."""
        plan, recorded, values = self.plan, recorded_as(name), self._in_model_axes(name, values)
        columns = [
            n for n, channel in enumerate(plan.channels) if channel.quantity == recorded and channel.shot == shot
        ]
        used = [plan.channels[n] for n in columns]
        components = self._components(name)
        series = np.stack(
            [values[c.receiver, components.index(c.component)] if components else values[c.receiver] for c in used],
            axis=1,
        )
        shift = 0.5 if name in INTEGRATED | DIFFERENTIATED else 0.0
        for place in {channel.place for channel in used}:
            chosen = [n for n, c in enumerate(used) if c.place == place]
            at_steps = self.axis.at_steps(series[:, chosen], place + shift, plan.steps)
            if name in INTEGRATED:
                at_steps = filters.integrate_transposed(at_steps, plan.dt)
            elif name in DIFFERENTIATED:
                at_steps = filters.differentiate_transposed(at_steps, plan.dt)
            out[:, [columns[n] for n in chosen]] += at_steps

    def _in_model_axes(self, name, values):
        """Transpose of `craton.survey.geography.turned`: from each receiver's east, north, up to the axes of the model."""
        stations = self.plan.receivers.stations
        axes, dim = getattr(stations, "axes", None), COMPONENT_DIMS.get(QUANTITIES[name][0])
        if axes is None or dim is None:
            return values
        turn, labels = (geography.vectors, VECTOR) if dim == "component" else (geography.tensors, TENSOR)
        unit = np.broadcast_to(np.eye(len(labels)), (len(values), len(labels), len(labels)))
        after = [labels.index(c) for c in self.blank()[dim].values]
        before = [labels.index(c) for c in self._components(name)]
        matrices = turn(unit, axes)[:, after][:, :, before]
        return np.einsum("roi,rot->rit", matrices, values)

    def _components(self, name):
        """Components of a quantity in the order of the dataset; empty without."""
        dim = COMPONENT_DIMS.get(QUANTITIES[name][0])
        return components_along(dim, self.quantities, self.scenario.domain.motion) if dim else ()

    def _uncorrected(self, values):
        """Transpose of `craton.output.dataset.corrected`."""
        plan, out = self.plan, np.empty_like(values)
        for place in {channel.place for channel in plan.channels}:
            columns = [n for n, channel in enumerate(plan.channels) if channel.place == place]
            out[:, columns] = leapfrog.from_leapfrog_transposed(values[:, columns], plan.dt, place, plan.band)
        return out


def by_shot(data, names, key):
    """Return the data of each of some shots, in their order: list; the data themselves of a run that has no name.

    `data`: xarray.Dataset, or weights; `key`: theirs, for messages.

    Raises
    ------
    ScenarioError
        There is no dimension of several shots, or not each of them.
    """
    has_shots = "shot" in getattr(data, "dims", ())
    if names == [""] or (len(names) == 1 and not has_shots):
        return [data]
    if not has_shots:
        refuse(key, f"has no dimension shot, the scenario has {len(names)} shots", "give the data of all shots")
    there = list(map(str, data["shot"].values))
    if missing := [name for name in names if name not in there]:
        refuse(key, f'there is no shot "{missing[0]}"; there are {", ".join(there[:5])}', "give the data of all shots")
    return [data.isel(shot=there.index(name), drop=True) for name in names]


def matched(observed, computed, name="observed"):
    """Return the arrays of observed data by variable, dimensions in the order of the computed ones.

    Parameters
    ----------
    observed : xarray.Dataset
        Some or all variables of the computed data.
    computed : xarray.Dataset
        What the scenario would record.
    name : str
        Of the observed data, for messages.

    Raises
    ------
    ScenarioError
        With every problem found: variables, shapes, stations, components, times, NaN.
    Damaged
        The store that they are read from.
    """
    known = [v for v in computed.data_vars if v in getattr(observed, "data_vars", ())]
    if not known:
        held = ", ".join(map(str, getattr(observed, "data_vars", ()))) or "no variables"
        refuse(name, f"has {held}", f"give an xarray.Dataset with {' or '.join(map(str, computed.data_vars))}")
    with named_damage(observed.encoding.get("source")):
        problems = [p for v in known for p in _differences(observed[v], computed[v], f"{name}.{v}")]
        refuse_all(problems)
        return {
            v: np.where(np.isnan(computed[v].values), 0.0, observed[v].transpose(*computed[v].dims).values)
            for v in known
        }


def _differences(observed, computed, key):
    """Problems of one variable."""
    if set(observed.dims) != set(computed.dims):
        words = f"has the dimensions {', '.join(map(str, observed.dims))}"
        return [Problem(key, words, f"the scenario records {', '.join(map(str, computed.dims))}")]
    problems = []
    for dim in computed.dims:
        ours, theirs = computed.sizes[dim], observed.sizes[dim]
        if ours != theirs:
            words = f"has {theirs} along {dim}, the scenario records {ours}"
            problems.append(Problem(key, words, _remedy(dim)))
        elif dim == "time" and dim not in observed.coords:
            words = "has no times: their sampling is not known"
            problems.append(Problem(key, words, 'give it a coordinate "time", s'))
        elif dim in observed.coords and dim in computed.coords:
            problems += _labels(observed[dim].values, computed[dim].values, dim, key)
    if not problems and observed.dtype.kind not in "iuf":
        words = f"holds values of type {observed.dtype}"
        problems.append(Problem(key, words, "give numbers, in the units of the computed data"))
    if problems:
        return problems
    wrong = ~np.isfinite(observed.transpose(*computed.dims).values)
    wrong &= np.isfinite(computed.values)  # no channel: no component of that quantity
    if count := int(wrong.sum()):
        words = f"{count} samples are not finite"
        problems.append(Problem(key, words, "fill them, and weigh them with 0 by weights="))
    return problems


def _labels(theirs, ours, dim, key):
    """Problems of the labels of a dimension, which has as many."""
    if dim != "time":
        wrong = np.flatnonzero(np.asarray(theirs).astype(str) != np.asarray(ours).astype(str))
        if not len(wrong):
            return []
        n = wrong[0]
        words = f'{dim} {n} is "{theirs[n]}", the scenario has "{ours[n]}"'
        return [Problem(key, words, f"sort the data with .sel({dim}=[...])")]
    if not np.issubdtype(np.asarray(theirs).dtype, np.number):
        return [Problem(key, "time is no number of seconds", "count seconds from the origin time")]
    if not np.isfinite(theirs).all():
        return [Problem(key, "times are not finite", "count seconds from the origin time")]
    interval = ours[1] - ours[0] if len(ours) > 1 else 1.0
    worst = float(np.abs(theirs - ours).max())
    if worst <= SLACK * interval:
        return []
    return [Problem(key, f"times differ by up to {worst:.4g} s from those that the scenario records", _remedy("time"))]


def _remedy(dim):
    """Return what to change where a dimension differs."""
    if dim == "time":
        return "set time.start, time.duration and output.sampling as in the data, or resample these"
    return f"give the scenario the data's {dim}s, or choose with .sel"


def weights_of(weights, computed):
    """Return factors of the data by variable, broadcast to them; a variable without has 1.

    Parameters
    ----------
    weights : xarray.Dataset, dict or None
    computed : xarray.Dataset

    Raises
    ------
    ScenarioError
        They are of no variable, do not broadcast, or are not finite.
    """
    out, problems = {}, []
    weights = {} if weights is None else weights
    if not hasattr(weights, "items"):
        words = f"is of the type {type(weights).__name__}"
        refuse("weights", words, f'give a dict or an xarray.Dataset: {{"{next(iter(computed.data_vars))}": ...}}')
    for name, values in weights.items():
        key = f"weights.{name}"
        if name not in computed.data_vars:
            held = ", ".join(map(str, computed.data_vars))
            problems.append(Problem(key, "is no variable of the data", f"these are {held}"))
            continue
        like = computed[name]
        try:
            if hasattr(values, "dims"):
                values = values.broadcast_like(like).transpose(*like.dims).values
            out[str(name)] = np.broadcast_to(np.asarray(values, float), like.shape)
        except ValueError:
            words = f"does not broadcast to {dict(like.sizes)}"
            problems.append(Problem(key, words, "give it these dimensions, or fewer"))
            continue
        if not np.isfinite(out[str(name)]).all():
            problems.append(Problem(key, "has values that are not finite", "use 0 there"))
    refuse_all(problems)
    return out


def numbers(values, shape, key, remedy):
    """Return values as a vector of real numbers.

    Parameters
    ----------
    values : array_like
    shape : tuple of int
        Of as many values.
    key, remedy : str
        For the error.

    Raises
    ------
    ScenarioError
        They are no real numbers, or not as many.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iufb":
        refuse(key, f"holds values of type {values.dtype}", "give numbers")
    if values.size != np.prod(shape):
        refuse(key, f"has {values.size:,} values, the problem has {' x '.join(map(str, shape))}", remedy)
    return values.astype(float).ravel()


def finite(values, shape, key, remedy):
    """Return values as a vector of finite numbers; see `numbers`."""
    values = numbers(values, shape, key, remedy)
    if count := int((~np.isfinite(values)).sum()):
        refuse(key, f"{count:,} values are not finite", "use 0 there")
    return values


# --- datasets of parameters, gradients and runs -----------------------------------------------------------------------


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


def along_shots(datasets, names):
    """Return the data of all runs along ``shot``, or of the only one."""
    if len(datasets) == 1:
        return datasets[0]
    import xarray as xr

    shot = xr.DataArray(np.array(names, dtype=str), dims="shot", name="shot")
    return xr.concat(datasets, shot, combine_attrs="override")


def gradient_by_sources(by_sources, linear):
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
