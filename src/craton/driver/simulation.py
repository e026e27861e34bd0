"""One medium, many runs: what does not depend on sources, receivers and wavelets is planned, filled
and compiled once.
"""

from collections.abc import Sequence

from craton.comm.local import Alone
from craton.driver import run as driver
from craton.driver import waves
from craton.driver.job import Job
from craton.driver.march import Observer
from craton.driver.result import Result
from craton.errors import refuse, refuse_all
from craton.methods.protocol import Reuse
from craton.tables.fields import Table
from craton.tables.problems import as_files


class MediumRuns:
    """Runs of one rank whose scenarios differ in sources, receivers and wavelets only: plans,
    material on the machine and kernels stay from one to the next.

    Parameters
    ----------
    scenario : Scenario
        The first of them, of waves.
    device : str, optional
        As of `craton.run`.

    Attributes
    ----------
    plan : Plan
        Of the first scenario.
    machine : Machine

    Raises
    ------
    ScenarioError, ResourceError
        As `craton.run`.
    """

    def __init__(self, scenario, device=None):
        self._reuse, self._first = Reuse(), scenario
        self.plan = driver.plan(scenario, reuse=self._reuse)
        self.machine = driver.choose_machine(scenario, self.plan, Alone(), device)
        self._arrays, self._filled_for = {}, None

    def compute(self, scenario, progress: bool = False, observers: Sequence[Observer] = ()) -> Result:
        """Run a scenario of this medium, with the domain, model, times and run of the first, in memory; the bits are those
        of `craton.run`.
        """
        plan = self.plan if scenario is self._first else driver.plan(scenario, reuse=self._reuse)
        if plan.nbytes > self.plan.nbytes:
            waves.check_memory(plan, self.machine, held=sum(array.nbytes for array in self._arrays.values()))
        arrays = unchanged(plan, self._filled_for, self._arrays) if self._filled_for else {}
        program = waves.commit(scenario, plan, self.machine, arrays)
        self._filled_for, self._arrays = plan, {name: program.arrays[name] for name in fixed(plan)}
        job = Job(scenario, plan, self.machine, progress=progress, observers=observers)
        return waves.compute(job, program).finished()


class Simulation:
    """A scenario of waves that is run again and again with other sources, receivers or wavelets.

    Grid or mesh, material, time step, absorbing layers and compiled kernels are those of the first
    plan; only what sources and receivers touch is made anew. Results have the bits of `craton.run`
    with the same tables. The model's files are read once: make another `Simulation` where they have
    changed. One thread at a time may use it.

    Parameters
    ----------
    scenario : Scenario
        Of waves: finite differences or spectral elements.
    device : str, optional
        As of `craton.run`.

    Attributes
    ----------
    scenario : Scenario
        As it was given.
    plan : Plan
        Of the scenario as it was given.

    Raises
    ------
    ScenarioError
        The scenario is wrong, or is one of gravity.
    ResourceError
        It does not fit, or there is nothing to run it on.

    Examples
    --------
    >>> scenario = craton.load("two_layers.toml")
    >>> simulation = craton.Simulation(scenario, device="cpu")
    >>> (source,) = scenario.source
    >>> for x in (1000, 2000):
    ...     shot = simulation.run(source=source.model_copy(update={"at": [x, 4000, -2500]}))
    >>> shot.dataset.velocity.dims
    ('receiver', 'component', 'time')
    """

    def __init__(self, scenario, device=None):
        if driver.method_of(scenario).drive != "march":
            remedy = "use craton.run, or craton.gravity.operator for many densities"
            refuse("method", f'a Simulation is of waves, and the method is "{scenario.method}"', remedy)
        self.scenario, self._runs = scenario, MediumRuns(scenario, device)
        self.plan = self._runs.plan
        driver.log_warnings(self.plan)

    def __repr__(self):
        return f"<craton.Simulation of {self.scenario.title!r} on {self._runs.machine.describe()}>"

    def changed(self, source=None, receivers=None, wavelet=None):
        """Return the scenario with other sources, receivers or wavelets, checked: Scenario.

        Parameters
        ----------
        source, receivers : table, dict, object, or list of these, optional
            In place of those of the scenario, as in `craton.Scenario`: also an Event or Inventory
            of ObsPy, or a pandas.DataFrame.
        wavelet : table or dict, optional
            In place of the wavelet of every source.

        Raises
        ------
        ScenarioError
            With every problem found.
        """
        return changed(self.scenario, source, receivers, wavelet)

    def run(self, source=None, receivers=None, wavelet=None, progress=False):
        """Run the scenario with other sources, receivers or wavelets, in memory.

        Parameters
        ----------
        source, receivers, wavelet
            As of `changed`; what is left out is that of the scenario.
        progress : bool
            Show progress on standard error.

        Returns
        -------
        Result

        Raises
        ------
        ScenarioError, ResourceError, ComputationError, Interrupted
            As `craton.run`.
        """
        scenario = self.scenario
        if any(table is not None for table in (source, receivers, wavelet)):
            scenario = self.changed(source, receivers, wavelet)
        return self._runs.compute(scenario, progress)


def changed(scenario, source=None, receivers=None, wavelet=None):
    """Return a scenario with other sources, receivers or wavelets, checked; parameters as of
    `Simulation.changed`.
    """
    from craton.scenario import Scenario

    tables = {name: getattr(scenario, name) for name in scenario.model_fields_set}
    others = {"source": source, "receivers": receivers}
    tables |= {name: _listed(value) for name, value in others.items() if value is not None}
    tables, problems = as_files(tables)
    refuse_all(problems)
    if wavelet is not None:
        sources = _listed(tables["source"])
        tables["source"] = [{**table, "wavelet": wavelet} for table in sources]
    return Scenario(**tables)


def _listed(tables):
    """Return tables as a list of dicts, which are checked anew; what is no table stays as it is."""
    if isinstance(tables, (list, tuple)):
        return [_plain(table) for table in tables]
    return [_plain(tables)] if isinstance(tables, (dict, Table)) else tables


def _plain(table):
    """Return a table as a dict of its keys; values that are tables stay so."""
    if not isinstance(table, Table):
        return table
    keys = {field.alias or name: name for name, field in type(table).model_fields.items()}
    values = {key: getattr(table, name) for key, name in keys.items()}
    return {key: value for key, value in values.items() if value is not None}


def fixed(plan):
    """Return the names of the arrays of a plan that no launch writes: those with values, and blocks
    that the method fills.
    """
    filled = _filled_blocks(plan)
    return [
        name for name, spec in plan.arrays.items() if not spec.part_of and (spec.data is not None or name in filled)
    ]


def unchanged(plan, before, arrays):
    """Return those of the arrays of an earlier plan of the same medium that a plan can take as they
    are: dict.

    Parameters
    ----------
    plan, before : Plan
    arrays : dict of str to array
        Of a machine, the `fixed` ones of `before`.
    """
    filled, filled_before = _filled_blocks(plan), _filled_blocks(before)
    ready = {}
    for name in fixed(plan):
        spec, other = plan.arrays[name], before.arrays.get(name)
        if name not in arrays or (spec.shape, spec.dtype) != (other.shape, other.dtype):
            continue
        same = spec.data is other.data and spec.lanes == other.lanes
        if filled[name] == filled_before.get(name) if name in filled else same:
            ready[name] = arrays[name]
    return ready


def _filled_blocks(plan):
    """Names of the filled arrays of each block that has some, with where they begin."""
    blocks = {}
    for name, spec in plan.arrays.items():
        if spec.filled:
            blocks.setdefault(spec.part_of or name, []).append((name, spec.start))
    return blocks
