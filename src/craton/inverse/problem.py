"""An inverse problem of a scenario: misfit and gradient of a vector of parameters, and the linearised operators, for
scipy.optimize and pylops; the gradient as a dataset on the grid.
"""

import math

import numpy as np

from craton.comm.placement import planner
from craton.driver.run import method_of
from craton.errors import refuse, refuse_all
from craton.inverse import data, model_file
from craton.inverse import parameters as sets
from craton.inverse.options import Options, refuse_large, rows_of
from craton.inverse.terms import Term
from craton.methods import METHODS
from craton.misfits import compared, misfit_of, refuse_infinite


class Problem(Term):
    """Waveform inversion of one scenario, of one shot or many.

    The parameters are those of the cells of the grid: cell averages, as `craton.run` has them. The
    gradient is that of the discrete scheme, exact to rounding.

    Parameters
    ----------
    scenario : Scenario
        Its model is the start, and what stays of it. Its time step, absorbing layers and sources
        stay for all models.
    observed : xarray.Dataset, optional
        Data as `craton.run` returns them, of some or all `output.waveforms`; dimension ``shot``
        for many shots. Without, `fun` and `jac` cannot be used.
    misfit : str or callable
        ``"l2"``, ``"correlation"``, ``"travel_time"``, ``"envelope"``, ``"phase"``,
        ``"transport"``, or a function of computed and observed traces (..., time) and the sampling
        interval that returns the value and the derivative by the computed traces.
    parameters : sequence of str
        Of one set: vp, vs, rho; kappa, mu, rho; lambda, mu, rho; ip, is, rho (impedances); of an
        anisotropic medium vp, vs, epsilon, delta, gamma, rho; c11, c13, c33, c44, c66, rho; with
        attenuation vp, vs, qp, qs, rho or vp, vs, inverse_qp, inverse_qs (1/Q), rho.
    weights : xarray.Dataset or dict, optional
        Factors of computed and observed data by variable, broadcast to them: windows, tapers.
    device : str, optional
        See `craton.run`.
    every : int
        Every how many steps wavefields are correlated; 1 is exact.
    on : str
        ``"grid"``: parameters of the cells; ``"model"``: of the points of the scenario's model file
        (vp, vs, rho), through its interpolation and the averages over cells.
    memory : float, optional
        Bytes for the stored wavefield; by default 0.6 of what is free.
    storage : str
        ``"increments"`` of all steps; ``"boundaries"``: the field beside absorbing layers, from which
        it is computed backwards, or ``"boundaries-16"``, the same in 16 bits; ``"checkpoints"``, from
        which it is computed again; ``"auto"``: the first of these that fits. See docs/gradients.md.
    sums : str
        With boundaries, ``"fields"``: a sum at each point for each field, 8 in space;
        ``"parameters"``: one for each parameter, 3, in some more time; ``"auto"``: those of
        parameters where those of fields do not fit into the memory of the machine.
    ranks : int, optional
        GPUs of this computer that share each run, without MPI; on a CPU groups of its cores.
    comm : mpi4py communicator or craton.comm.Comm, optional
        Ranks that share each run; all must make the same problem and ask it the same, and each has
        the whole vector of parameters. By default this process alone.

    Raises
    ------
    ScenarioError
        The scenario or the data are wrong, with every problem found; or gradients do not cover it.
    """

    def __init__(
        self,
        scenario,
        observed=None,
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
        method, run, ranks = method_of(scenario), scenario.run, 1 if ranks is None else ranks
        options = Options(device or run.device, run.threads, every, memory, storage, sums, ranks, comm)
        sets.refuse_unknown(parameters)
        if on not in ("grid", "model"):
            refuse("on", f"{on!r} is no place", 'use "grid" or "model"')
        self.scenario, self.misfit = scenario, misfit_of(misfit)
        shots = shots_of(scenario)
        self.names = list(shots)
        trial = planner(threads=scenario.run.threads) if method.tries_operators(scenario) else None
        linear = [method.linearised(shot, trial) for shot in shots.values()]
        self.recordings = [data.Recording(run.scenario, run.at(run.cells).plain) for run in linear]
        grid, names = linear[0].grid, tuple(parameters)
        start = linear[0].start(names)
        sets.refuse_other(names, start)
        if on == "model" and len(start) == len(sets.THOMSEN):
            refuse("on", "the model file has Thomsen's parameters", 'use on="grid"')
        self.parameters = (
            model_file.parameters(names, scenario, grid) if on == "model" else sets.Parameters(names, start, grid)
        )
        blanks = [recording.blank() for recording in self.recordings]
        self.observed, of_shots = [None] * len(linear), [weights] * len(linear)
        if observed is not None:
            self.observed = list(map(data.matched, data.by_shot(observed, self.names, "observed"), blanks))
        if "shot" in getattr(weights, "dims", ()):
            of_shots = data.by_shot(weights, self.names, "weights")
        self.weights = list(map(data.weights_of, of_shots, blanks))
        if callable(misfit):
            self._try_misfit()
        self.experiments = options.experiments(linear)
        if memory != np.inf:  # which only plans
            refuse_large(self.experiments[0], names)
        self._m = self._cells = self._value = self._gradient = self._derivatives = None

    def _try_misfit(self):
        """Refuse a user's misfit that returns something else than a value and a derivative, before anything runs."""
        for name, observed in self.observed[0].items() if self.observed[0] else ():
            weighted = self.weights[0].get(name, 1.0) * observed
            compared(self.misfit, 0.9 * weighted, weighted, self.recordings[0].interval)

    # --- the vector of parameters -----------------------------------------------------------

    @property
    def plan(self):
        """What a gradient keeps and costs, as text: known before anything runs."""
        rows = rows_of(self.experiments[0], self.parameters.names)
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)

    @property
    def grid(self):
        """The points of the cells: `Grid`."""
        return self.experiments[0].linear.grid

    # --- misfit and gradient ----------------------------------------------------------------

    def fun(self, m):
        """Return the misfit of a vector of parameters.

        Parameters
        ----------
        m : (n,) array

        Raises
        ------
        ScenarioError
            The parameters are impossible, or too fast for the time step.
        ComputationError
            The wavefield diverged.
        """
        self._move(m)
        if self._value is None:
            self.check_observed()
            value, by_cells, many = 0.0, None, len(self.experiments) > 1
            for n in range(len(self.experiments)):
                more, self._derivatives = self._compared(n)
                value += more
                if many:  # only the last run is stored: the gradient follows each at once
                    by_cells = added(by_cells, self._adjoint(n, self._derivatives))
            if many:
                self._gradient = self.parameters.gradient(self._m, by_cells)
            self._value = value
        return self._value

    def jac(self, m):
        """Return the gradient of the misfit, (n,).

        Parameters
        ----------
        m : (n,) array
        """
        self.fun(m)
        if self._gradient is None:
            self._gradient = self.parameters.gradient(self._m, self._adjoint(0, self._derivatives))
        refuse_infinite(self._gradient, "the gradient")
        return self._gradient.copy()

    def by_sources(self, m=None):
        """Return the gradient of the misfit by the sources: forces, moment tensors, positions,
        origin times, wavelets; see `craton.inverse.data.gradient_by_sources`.

        Parameters
        ----------
        m : (n,) array, optional
            Where; by default the current one, or the start.

        Returns
        -------
        xarray.Dataset
            Over ``source``, of many runs with the coordinate ``shot``.
        """
        import xarray as xr

        self._at(m)
        self.check_observed()
        parts = []
        for n, experiment in enumerate(self.experiments):
            derivative = self.recordings[n].transpose(self._compared(n)[1])
            part = data.gradient_by_sources(experiment.adjoint(derivative, by_sources=True), experiment.linear)
            shot = ("source", np.full(part.sizes["source"], self.names[n]))
            parts.append(part.assign_coords(shot=shot) if self.names[n] else part)
        return xr.concat(parts, "source")

    def check_observed(self):
        """Refuse what needs observed data where there are none."""
        if self.observed[0] is None:
            refuse("observed", "there are no observed data", "give observed=")

    def _move(self, m):
        """Make a vector of parameters the current one."""
        m = data.numbers(m, self.shape, "m", "start from problem.m0")
        if self._m is not None and np.array_equal(m, self._m):
            return
        refuse_all(sets.below_zero(self.parameters.names, m.reshape(self.shape)))
        linear, cells = self.experiments[0].linear, self.parameters.cells(m)
        with np.errstate(invalid="ignore", divide="ignore"):  # told below
            limits = linear.fastest, linear.waves, linear.on_grid(cells)
        refuse_all(sets.problems(cells, *limits, linear.largest_inverse_q, linear.places))
        self._m, self._cells, self._value, self._gradient = m, cells, None, None
        for experiment in self.experiments:
            experiment.forget()

    def _compared(self, n):
        """Return the misfit of run n with the current medium, and its derivative by the data: dict by variable."""
        recording = self.recordings[n]
        computed, value, derivatives = recording.arrays(self._samples(n)), 0.0, {}
        for name, observed in self.observed[n].items():
            weight = self.weights[n].get(name, 1.0)
            more, slope = compared(self.misfit, weight * computed[name], weight * observed, recording.interval)
            value += more
            derivatives[name] = weight * slope
            refuse_infinite(np.append(slope, more), f"the misfit of {name}, with its derivative,")
        return value, derivatives

    def _samples(self, n):
        """Return the samples of run n with the current medium; its increments are stored."""
        experiment = self.experiments[n]
        if experiment.record is None:
            for other in self.experiments:
                other.forget()
            experiment.run(self._cells)
        return experiment.samples

    def _adjoint(self, n, derivatives):
        """dJ/d(rho, kappa, mu) of run n from the derivative by its data: dict by variable."""
        self._samples(n)
        return self.experiments[n].adjoint(self.recordings[n].transpose(derivatives))["cells"]

    # --- linearised -------------------------------------------------------------------------

    def data(self, m=None):
        """Return the data of a vector of parameters, the start by default: xarray.Dataset.

        Parameters
        ----------
        m : (n,) array, optional
        """
        self._move(self.m0 if m is None else m)
        return data.along_shots([r.dataset(self._samples(n)) for n, r in enumerate(self.recordings)], self.names)

    def born(self, dm, m=None):
        """Return by how much the data change with the parameters, to first order, as one vector:
        run by run, variable by variable (`data`), raveled.

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
            Where; by default the current one, or the start.
        """
        dm = data.finite(dm, self.shape, "dm", "give changes of all of problem.m0")
        self._at(m)
        changes = self.parameters.changes(self._m, dm)
        parts = []
        for n, recording in enumerate(self.recordings):
            self._samples(n)
            arrays = recording.arrays(self.experiments[n].born(changes))
            parts += [values.ravel() for values in arrays.values()]
        return np.concatenate(parts)

    def adjoint(self, residual, m=None):
        """Return the transpose of `born`, (n,).

        Parameters
        ----------
        residual : (samples,) array
            As `born` returns it.
        m : (n,) array, optional
        """
        residual = data.finite(residual, (self._rows,), "residual", "give it as problem.born returns it")
        self._at(m)
        total = None
        for n, arrays in enumerate(self._by_variable(residual)):
            total = added(total, self._adjoint(n, arrays))
        return self.parameters.gradient(self._m, total)

    def hvp(self, dm, m=None):
        """Return the Gauss-Newton Hessian of the L2 misfit times a change of the parameters, (n,).

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
        """
        change = self.born(dm, m)
        for n, arrays in enumerate(self._by_variable(change)):
            for name, values in arrays.items():
                values *= self.recordings[n].interval * self.weights[n].get(name, 1.0) ** 2
        return self.adjoint(change, m)

    def operator(self, m=None):
        """Return `born` and `adjoint` at a vector of parameters as a
        `scipy.sparse.linalg.LinearOperator`; pylops takes it by `pylops.aslinearoperator`.

        Parameters
        ----------
        m : (n,) array, optional
        """
        from scipy.sparse.linalg import LinearOperator

        self._at(m)
        here = self._m.copy()
        return LinearOperator(
            (self._rows, len(here)),
            matvec=lambda dm: self.born(dm.ravel(), here),
            rmatvec=lambda residual: self.adjoint(residual, here),
            dtype=float,
        )

    @property
    def _rows(self):
        """Number of the data of all runs."""
        return sum(math.prod(shape) for recording in self.recordings for shape in recording.shapes.values())

    def _by_variable(self, vector):
        """Return a vector of data as arrays by variable, views, of each run: list of dict."""
        at, out = 0, []
        for recording in self.recordings:
            arrays = {}
            for name, shape in recording.shapes.items():
                arrays[name] = vector[at : at + math.prod(shape)].reshape(shape)
                at += math.prod(shape)
            out.append(arrays)
        return out

    def _at(self, m):
        """Make a vector of parameters the current one: the one given, the last one, the start."""
        if m is not None or self._m is None:
            self._move(self.m0 if m is None else m)


def added(total, parts):
    """Return the sums of arrays of runs, each of them by itself; of the first run its own.

    Parameters
    ----------
    total : list of arrays or None
    parts : sequence of arrays
    """
    if total is None:
        return list(parts)
    return [whole + part for whole, part in zip(total, parts)]


def shots_of(scenario):
    """Return the scenario of each run by the name of its shot: many where shots in space run one by
    one, else the scenario itself.
    """
    if not METHODS[scenario.method].shots(scenario):
        return {"": scenario}
    from craton.shots.survey import prepare

    fibres = [n for n, entry in enumerate(scenario.receivers) if entry.where == "das"]
    if fibres:
        refuse(f"receivers.{fibres[0]}.das", "gradients of several shots know no fibres", "take one shot at a time")
    return {shot.name: shot.scenario for shot in prepare(scenario).shots}


def gradient(scenario, observed, misfit="l2", parameters=("vp", "vs", "rho"), weights=None, **options):
    """Return the gradient of a waveform misfit by the medium of a scenario, summed over its shots.

    Parameters
    ----------
    scenario : Scenario
    observed : xarray.Dataset
    misfit, parameters, weights
        See `craton.Problem`.
    **options
        device, every, memory, on, storage, ranks, comm, sums: see `craton.Problem`.

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
    problem = Problem(scenario, observed, misfit, parameters, weights, **options)
    problem.check_observed()
    problem._move(problem.m0)
    total, light, value, sources = None, None, 0.0, []
    for n, recording in enumerate(problem.recordings):
        more, derivatives = problem._compared(n)
        samples = problem.experiments[n].samples
        sources.append(adjoint_sources(recording.dataset(samples), derivatives))
        back = problem.experiments[n].adjoint(recording.transpose(derivatives), illumination=True)
        total, value = added(total, back["cells"]), value + more
        shots = back.pop("illumination")  # in the plane one behind the other along y
        if problem.grid.planar and shots.shape[1] > 1:
            shots = shots.sum(1, keepdims=True)
        light = added(light, [shots])
    values = np.reshape(problem.parameters.gradient(problem._m, total), problem.shape)
    refuse_infinite(values, "the gradient")
    named, on_model = dict(zip(problem.parameters.names, values)), options.get("on") == "model"
    out = data.on_grid(problem.parameters.axes, named, None if on_model else light[0], derivative=True)
    out.attrs["misfit"] = value
    if "node" in out.dims:
        about = {"units": "m3", "long_name": "volume of a node of an element"}
        out["volume"] = (("element", "node"), problem.grid.volumes, about)
    return out.merge(data.along_shots(sources, problem.names), combine_attrs="override")


def adjoint_sources(computed, derivatives):
    """Return the derivative of the misfit by the data of a run as a dataset, from arrays by variable."""
    named = {}
    for name, values in derivatives.items():
        named[f"adjoint_{name}"] = computed[name].copy(data=values).where(computed[name].notnull())
        named[f"adjoint_{name}"].attrs = {
            "long_name": f"derivative of the misfit by {name}",
            "units": f"1/({computed[name].attrs.get('units', '')})",
        }
    # of receivers and of cells: positions have the same names
    positions = {axis: f"receiver_{axis}" for axis in "xyz" if axis in computed.coords}
    return computed.assign(named)[list(named)].rename(positions)
