"""The gradient of a misfit as a dataset on the grid: `craton.gradient`."""

import numpy as np

from craton.inverse.datasets import joined, on_grid
from craton.inverse.misfit import compared, refuse_infinite
from craton.inverse.parameters import UNITS
from craton.inverse.problem import Problem, added


def gradient(
    scenario,
    observed,
    misfit="l2",
    parameters=("vp", "vs", "rho"),
    weights=None,
    device=None,
    every=1,
    memory=None,
    on="grid",
    storage="auto",
    ranks=None,
    comm=None,
    sums="auto",
):
    """Return the gradient of a waveform misfit by the medium of a scenario, summed over its shots.

    Parameters
    ----------
    scenario : Scenario
    observed : xarray.Dataset
    misfit, parameters, weights, device, every, memory, on, storage, ranks, comm, sums
        See `craton.Problem`.

    Returns
    -------
    xarray.Dataset
        ``vp``, ``vs``, ``rho`` (or the parameters asked for) over (z, y, x), in the plane (z, x):
        the derivative of the misfit by the value of one cell, or of one point of the model file;
        ``illumination``, the integral of squared accelerations of the forward wavefield, (m/s2)2 s,
        of the cells (left out on a model file). Of spectral elements all this over (element, node),
        with ``volume``, m3, by which kernels are divided. Attribute ``misfit``. Adjoint
        sources, the derivative by the data, under ``adjoint_velocity`` and the like.

    Raises
    ------
    ScenarioError, ResourceError, ComputationError
        See `craton.Problem`.
    """
    problem = Problem(
        scenario, observed, misfit, parameters, weights, device, every, memory, on, storage, ranks, comm, sums
    )
    problem.check_observed()
    problem._move(problem.m0)
    total, light, value, sources = None, None, 0.0, []
    for n in range(len(problem.recordings)):
        more, derivative = problem.judged(n, problem._samples(n))
        sources.append(adjoint_sources(problem, n))
        back = problem.experiments[n].adjoint(derivative, illumination=True)
        total, value = added(total, back["cells"]), value + more
        shots = back.pop("illumination")  # in the plane one behind the other along y
        if problem.grid.planar and shots.shape[1] > 1:
            shots = shots.sum(1, keepdims=True)
        light = added(light, [shots])
    values = np.reshape(problem.parameters.gradient(problem._m, total), problem.shape)
    named = dict(zip(problem.parameters.names, values))
    refuse_infinite(values, "the gradient")
    units = {name: f"1/({UNITS[name]})" for name in named}
    out = on_grid(problem.parameters.axes, named, light[0] if on == "grid" else None, units)
    out.attrs["misfit"] = value
    if on == "grid" and hasattr(problem.grid, "volumes"):
        about = {"units": "m3", "long_name": "volume of a node of an element"}
        out["volume"] = (out[problem.parameters.names[0]].dims, problem.grid.volumes, about)
    return out.merge(joined(sources, problem.names), combine_attrs="override")


def adjoint_sources(problem, n):
    """Return the derivative of the misfit by the data of run n."""
    recording = problem.recordings[n]
    samples = problem.experiments[n].samples
    data, arrays = recording.dataset(samples), recording.arrays(samples)
    named = {}
    for name, observed in problem.observed[n].items():
        weight = problem.weights[n].get(name, 1.0)
        both = weight * arrays[name], weight * observed
        _, slope = compared(problem.misfit, *both, recording.interval)
        named[f"adjoint_{name}"] = data[name].copy(data=weight * slope).where(data[name].notnull())
        named[f"adjoint_{name}"].attrs = {
            "long_name": f"derivative of the misfit by {name}",
            "units": f"1/({data[name].attrs.get('units', '')})",
        }
    # of receivers and of cells: positions have the same names
    positions = {axis: f"receiver_{axis}" for axis in "xyz" if axis in data.coords}
    return data.assign(named)[list(named)].rename(positions)
