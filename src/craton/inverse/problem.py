"""An inverse problem of a scenario: misfit and gradient of a vector of parameters, and the
linearised operators, for scipy.optimize and pylops.
"""

import numpy as np

from craton.comm import agreed
from craton.comm import ranks as communicator
from craton.comm.local import Alone
from craton.comm.placement import machine, place, planner
from craton.errors import Problem as Fault
from craton.errors import ScenarioError
from craton.inverse import checks, host_memory, model_file
from craton.inverse import parameters as sets
from craton.inverse import storage as storages
from craton.inverse.data import Recording, matched, weights_of
from craton.inverse.datasets import joined, of_sources
from craton.inverse.misfit import compared, refuse_infinite
from craton.inverse.team import TeamExperiment
from craton.inverse.terms import Term
from craton.methods import METHODS


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
        checks.options(parameters, every, on, memory)
        checks.of_ranks(ranks, comm)
        self.scenario, self.misfit = scenario, checks.misfit_of(misfit)
        shots = shots_of(scenario)
        self.names = list(shots)
        method = METHODS[scenario.method]
        trial = planner(threads=scenario.run.threads) if method.tries_operators(scenario) else None
        linear = [method.linearised(shot, trial) for shot in shots.values()]
        self.recordings = [Recording(run.scenario, run.at(run.cells).plain) for run in linear]
        grid, names = linear[0].grid, tuple(parameters)
        start = linear[0].start(names)
        sets.refuse_other(names, start)
        if on == "model" and len(start) == len(sets.THOMSEN):
            words = "the model file has Thomsen's parameters"
            raise ScenarioError([Fault("on", words, 'use on="grid"')])
        self.parameters = (
            model_file.parameters(names, scenario, grid) if on == "model" else sets.Parameters(names, start, grid)
        )
        self.observed = [None] * len(linear)
        if observed is not None:
            self.observed = [
                matched(self._of_shot(observed, name), recording.blank())
                for name, recording in zip(self.names, self.recordings)
            ]
        self.weights = [
            weights_of(
                self._of_shot(weights, name) if "shot" in getattr(weights, "dims", ()) else weights, recording.blank()
            )
            for name, recording in zip(self.names, self.recordings)
        ]
        if callable(misfit):
            self._try_misfit()
        options, device = (every, memory, storage, sums), device or scenario.run.device
        threads = scenario.run.threads
        if ranks is not None and ranks > 1:
            self.experiments = [TeamExperiment(run, device, ranks, threads, options) for run in linear]
        else:
            comm = Alone() if comm is None else communicator(comm)
            with agreed(comm):
                chosen = machine(device, comm, place(comm), threads)
            self.experiments = [storages.experiment(run, chosen, *options, comm) for run in linear]
        if memory != np.inf:  # which only plans
            host_memory.refuse_large(self.experiments[0], names)
        self._m, self._cells, self._value, self._gradient = None, None, None, None
        self._derivatives = {}

    def _try_misfit(self):
        """Refuse a user's misfit that returns something else than a value and a derivative, before
        anything runs.
        """
        for name, observed in self.observed[0].items() if self.observed[0] else ():
            weighted = self.weights[0].get(name, 1.0) * observed
            compared(self.misfit, 0.9 * weighted, weighted, self.recordings[0].interval)

    def _of_shot(self, data, name):
        """Return the data of one of several runs, by its shot."""
        if data is None or len(self.names) == 1:
            return data
        if "shot" not in getattr(data, "dims", ()) or name not in list(map(str, data["shot"].values)):
            words = f'there is no shot "{name}" along the dimension shot'
            raise ScenarioError([Fault("observed", words, "give the data of all shots")])
        return data.sel(shot=name, drop=True)

    # --- the vector of parameters -----------------------------------------------------------

    @property
    def plan(self):
        """What a gradient keeps and costs, as text: known before anything runs."""
        first = self.experiments[0]
        rows = [*first.lines(), host_memory.row(first, self.parameters.names)]
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
            # of many runs only the last one is stored: the gradient follows each at once
            self._evaluate(with_gradient=len(self.experiments) > 1)
        return self._value

    def jac(self, m):
        """Return the gradient of the misfit, (n,).

        Parameters
        ----------
        m : (n,) array
        """
        self.fun(m)
        if self._gradient is None:
            by_cells = self._adjoint(0, self._derivatives[0])
            self._gradient = self.parameters.gradient(self._m, by_cells)
        refuse_infinite(self._gradient, "the gradient")
        return self._gradient.copy()

    def by_sources(self, m=None):
        """Return the gradient of the misfit by the sources: forces, moment tensors, positions,
        origin times, wavelets; see `craton.inverse.datasets.of_sources`.

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
        parts = []
        for n, experiment in enumerate(self.experiments):
            self.check_observed()
            _, derivative = self.judged(n, self._samples(n))
            part = of_sources(experiment.adjoint(derivative, by_sources=True), experiment.linear)
            shot = ("source", np.full(part.sizes["source"], self.names[n]))
            parts.append(part.assign_coords(shot=shot) if self.names[n] else part)
        return xr.concat(parts, "source")

    def check_observed(self):
        """Refuse what needs observed data where there are none."""
        if self.observed[0] is None:
            raise ScenarioError([Fault("observed", "there are no observed data", "give observed=")])

    def _move(self, m):
        """Make a vector of parameters the current one."""
        m = checks.numbers(m, self.shape, "m", "start from problem.m0")
        if self._m is not None and np.array_equal(m, self._m):
            return
        if wrong := sets.below_zero(self.parameters.names, m.reshape(self.shape)):
            raise ScenarioError(wrong)
        linear, cells = self.experiments[0].linear, self.parameters.cells(m)
        with np.errstate(invalid="ignore", divide="ignore"):  # told below
            limits = linear.fastest, linear.waves, linear.on_grid(cells)
        if wrong := sets.problems(cells, *limits, linear.largest_inverse_q):
            raise ScenarioError(wrong)
        self._m, self._cells, self._value, self._gradient = m, cells, None, None
        self._derivatives = {}
        for experiment in self.experiments:
            experiment.forget()

    def _evaluate(self, with_gradient=False):
        """Misfit, its derivative by the samples, and with many runs the gradient."""
        self.check_observed()
        value, by_cells = 0.0, None
        for n in range(len(self.experiments)):
            more, self._derivatives[n] = self.judged(n, self._samples(n))
            value += more
            if with_gradient:
                by_cells = added(by_cells, self._adjoint(n, self._derivatives[n]))
        self._value = value
        if with_gradient:
            self._gradient = self.parameters.gradient(self._m, by_cells)

    def judged(self, n, samples):
        """Return the misfit of the samples of run n, and its derivative by them.

        Parameters
        ----------
        n : int
        samples : (steps, channels) array
        """
        recording = self.recordings[n]
        data, value, derivatives = recording.arrays(samples), 0.0, {}
        for name, observed in self.observed[n].items():
            weight = self.weights[n].get(name, 1.0)
            both = weight * data[name], weight * observed
            more, slope = compared(self.misfit, *both, recording.interval)
            value += more
            derivatives[name] = weight * slope
            refuse_infinite(np.append(slope, more), f"the misfit of {name}, with its derivative,")
        return value, recording.transpose(derivatives)

    def _samples(self, n):
        """Return the samples of run n with the current medium; its increments are stored."""
        experiment = self.experiments[n]
        if experiment.state is None:
            for other in self.experiments:
                other.forget()
            stored = next((e.big for e in self.experiments if e.big), {})
            experiment.big = stored
            experiment.run(self._cells)
        return experiment.samples

    def _adjoint(self, n, derivative):
        """dJ/d(rho, kappa, mu) of run n by the derivative by its samples."""
        self._samples(n)
        return self.experiments[n].adjoint(derivative)["cells"]

    # --- linearised -------------------------------------------------------------------------

    def data(self, m=None):
        """Return the data of a vector of parameters, the start by default: xarray.Dataset.

        Parameters
        ----------
        m : (n,) array, optional
        """
        self._move(self.m0 if m is None else m)
        return joined([r.dataset(self._samples(n)) for n, r in enumerate(self.recordings)], self.names)

    def born(self, dm, m=None):
        """Return by how much the data change with the parameters, to first order, as one vector:
        run by run, variable by variable (`data`), raveled.

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
            Where; by default the current one, or the start.
        """
        dm = checks.finite(dm, self.shape, "dm", "give changes of all of problem.m0")
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
        rows = sum(int(np.prod(s)) for r in self.recordings for s in r.shapes.values())
        residual = checks.finite(residual, (rows,), "residual", "give it as problem.born returns it")
        self._at(m)
        at, total = 0, None
        for n, recording in enumerate(self.recordings):
            derivatives = {}
            for name, shape in recording.shapes.items():
                count = int(np.prod(shape))
                derivatives[name] = residual[at : at + count].reshape(shape)
                at += count
            total = added(total, self._adjoint(n, recording.transpose(derivatives)))
        return self.parameters.gradient(self._m, total)

    def hvp(self, dm, m=None):
        """Return the Gauss-Newton Hessian of the L2 misfit times a change of the parameters, (n,).

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
        """
        change, at = self.born(dm, m), 0
        for n, recording in enumerate(self.recordings):
            for name, shape in recording.shapes.items():
                count = int(np.prod(shape))
                weight = np.broadcast_to(self.weights[n].get(name, 1.0), shape).ravel()
                change[at : at + count] *= recording.interval * weight**2
                at += count
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
        rows = sum(int(np.prod(s)) for r in self.recordings for s in r.shapes.values())
        return LinearOperator(
            (rows, len(here)),
            matvec=lambda dm: self.born(dm.ravel(), here),
            rmatvec=lambda residual: self.adjoint(residual, here),
            dtype=float,
        )

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

    fibres = [n for n, entry in enumerate(scenario.receivers) if hasattr(entry, "das")]
    if fibres:
        words = "gradients of several shots know no fibres"
        raise ScenarioError([Fault(f"receivers.{fibres[0]}.das", words, "take one shot at a time")])
    return {shot.name: shot.scenario for shot in prepare(scenario).shots}
