"""Observed data beside computed data: the same variables, receivers, components and times, checked
before anything runs.
"""

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.output.inspection import named_damage

SLACK = 1e-3  # of the sampling interval: times that differ by less are the same


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
        remedy = f"give an xarray.Dataset with {' or '.join(map(str, computed.data_vars))}"
        raise ScenarioError([Problem(name, f"has {held}", remedy)])
    with named_damage(observed.encoding.get("source")):
        problems = [p for v in known for p in _differences(observed[v], computed[v], f"{name}.{v}")]
        if problems:
            raise ScenarioError(problems)
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
    words = f"times differ by up to {worst:.4g} s from those that the scenario records"
    return [Problem(key, words, _remedy("time"))]


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
        remedy = f'give a dict or an xarray.Dataset: {{"{next(iter(computed.data_vars))}": ...}}'
        raise ScenarioError([Problem("weights", words, remedy)])
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
    if problems:
        raise ScenarioError(problems)
    return out
