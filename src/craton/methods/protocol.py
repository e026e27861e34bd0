"""What a method is: one object with the verbs of a run, in the order in which they are called; what it reuses from plan to plan."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol


@dataclass(frozen=True)
class BenchCase:
    """A case of `craton bench`: time steps of a plan.

    Parameters
    ----------
    scenario : Scenario
    plan : callable
        Takes a machine for trials and gives the plan.
    figures : callable, optional
        Takes the plan and the seconds of a step, and gives further figures: dict.
    unit : str
        What rates count: ``"point_steps"``, or a figure that `figures` gives, such as
        ``"elements"``.
    """

    scenario: Any
    plan: Callable
    figures: Callable = lambda plan, seconds: {}
    unit: str = "point_steps"

    @property
    def title(self):
        """Title of its scenario."""
        return self.scenario.title


def remembered(find):
    """Decorate a function that finds out something about a problem, once: the problem's memo keeps it under its name."""

    @wraps(find)
    def once(problem, *others):
        if find.__name__ not in problem.memo:
            problem.memo[find.__name__] = find(problem, *others)
        return problem.memo[find.__name__]

    return once


class Reuse:
    """Values of a plan that the next plan of the same domain, model and run takes over.

    One value is kept under each name, with the key that it was made for.

    Parameters
    ----------
    keep : bool
        Keep values; without, each is made anew and can be freed as soon as the plan needs it no
        more.
    """

    def __init__(self, keep=True):
        self._keep, self._values = keep, {}

    def get(self, name, make, key=None):
        """Return the value kept under a name, made anew where it is of another key.

        Parameters
        ----------
        name : str
        make : callable
            Makes the value, without arguments.
        key : object, optional
            Whatever the value depends on besides domain, model and run; compared with ``==``.
        """
        if not self._keep:
            return make()
        if name not in self._values or self._values[name][0] != key:
            self._values[name] = (key, make())
        return self._values[name][1]


class Linear(Protocol):
    """A scenario of one run, discretised once, with a medium that may change: what `craton.inverse` asks of every method.
    Time step, absorbing layers and sources' series stay those of the scenario.

    Attributes
    ----------
    d, grid, scenario
        Discretisation, points of the cells (or nodes), scenario.
    sources, channels : list
        Of the run, in its order.
    cells : tuple of arrays
        Density and moduli of the scenario's model, of cells or nodes.
    series : dict
        What forces and moments inject at each step, (steps, sources) by half step.
    places : str
        What `cells` are values of: ``"cells"``, ``"nodes"``.
    waves : str
        ``"acoustic"``, ``"P-SV"``, ``"SH"`` or ``"elastic"``.
    fastest : float
        Fastest wave that the time step carries, m/s.
    largest_inverse_q : float or None
        Largest 1/Q for which the mechanisms are good; None without attenuation.
    ends : dict or None
        Where the fields with which a run ends go in steps back that march both fields as pairs, and how many components they
        have (spectral elements); None where steps back begin with the fields themselves.
    """

    d: Any
    grid: Any
    scenario: Any
    sources: list
    channels: Any
    cells: Any
    series: dict
    places: str
    waves: str
    fastest: float
    largest_inverse_q: float | None
    ends: dict | None

    def start(self, names: tuple) -> tuple:
        """Return the arrays that parameters are made of: `cells`, and 1/Qp and 1/Qs behind them for parameters of Q."""

    def at(self, cells: tuple) -> Any:
        """Return the plans and the chain rule of one medium: a `State`."""

    def on_grid(self, cells: tuple) -> tuple:
        """Return density and moduli of the steps from those of the cells."""

    def irreversible(self) -> str:
        """Return why the steps cannot be taken back, or ""."""

    def chain_bytes(self, count: int) -> int:
        """Return the bytes of a cell that the chain rule takes at its peak, from the sums to `count` parameters."""


class Method(Protocol):
    """A method of computation, the value of a scenario's ``method``.

    Attributes
    ----------
    name : str
        Key in `craton.methods.METHODS`.
    drive : str
        How its plans are computed: ``"march"`` (a time loop) or ``"sweep"`` (a sum over tiles).
    plans_by_rank : bool
        Each rank plans its own subdomain; otherwise the whole is planned and then cut.
    benches : tuple of str
        Names of its benchmarks (`craton bench NAME`).
    """

    name: str
    drive: str
    plans_by_rank: bool
    benches: tuple

    def scenario(self):
        """Return the class of its scenarios: a `craton.tables.schema.Document` with the tables that
        the method has.

        Its keys of other methods are read, left out or refused as its `FOREIGN` says.
        """

    def tries_operators(self, scenario) -> bool:
        """Return whether operators are applied while a scenario is planned: `plan` needs a machine."""

    def plan(self, scenario, team=None, machine=None, reuse=None):
        """Return the plan of a scenario.

        Parameters
        ----------
        scenario : Scenario
        team : craton.comm.Together, optional
            Ranks that plan a subdomain each (`plans_by_rank`).
        machine : backend, optional
            Where operators are applied (`tries_operators`).
        reuse : Reuse, optional
            Keeps what the next plan of the same domain, model, boundaries, run and time takes over.

        Raises
        ------
        ScenarioError
            With every problem found.
        """

    def outline(self, scenario, ranks, planner):
        """Return the plan for `craton plan`, or what it costs where the plan itself is too large;
        None where there is no such short cut.

        Parameters
        ----------
        scenario : Scenario
        ranks : int
        planner : callable
            Gives a machine for trials.
        """

    def linearised(self, scenario, machine=None):
        """Return the scenario as `craton.inverse` needs it: a `Linear`, with plans of its forward, transposed and perturbed
        steps.

        Parameters
        ----------
        scenario : Scenario
        machine : backend, optional
            Where operators are applied (`tries_operators`).

        Raises
        ------
        ScenarioError
            The scenario is wrong, or the method has no gradients of what it asks for.
        """

    def moment_field(self, scenario, low, high):
        """Return the `craton.methods.waves.greens.MomentField` of a volume, None where it is refused, and list of Problem.

        Parameters
        ----------
        scenario : Scenario
            One that has a table ``greens``.
        low, high : sequence of float
            Corners of the volume, m; in a chunk of the Earth as `craton.survey.geography.in_corners`.
        """

    def subdomain(self, scenario, plan, rank, ranks):
        """Return the plan of one rank from the plan of the whole.

        Raises
        ------
        ScenarioError
            The domain cannot be cut into so many parts.
        """

    def fills(self, scenario, plan):
        """Return what fills the arrays of a rank's plan that are `filled`, by the block that they
        are parts of, see `craton.backends.base.Machine.commit`.

        Until then they take no memory; builders are needed for them, and are gone afterwards.
        """

    def picture_maker(self, series):
        """Return the function that makes a picture of a `SnapshotSeries` from a dict of fields on
        the host; runs beside the time loop.
        """

    def shots(self, scenario):
        """Return names of the shots that must be run one by one."""

    def dataset(self, result):
        """Return the `xarray.Dataset` of a `craton.driver.result.Result`."""

    def cut(self, scenario, plan, ranks):
        """Return what `craton plan --ranks N` prints of who owns what, in lines; None where ranks
        are alike.
        """

    def estimate(self, plan, machine, step=None):
        """Say what a run will take on a machine, in lines; `step` are the measured seconds of a
        time step, if there are any.
        """

    def header(self, scenario, plan, machine, out):
        """Say what will be computed, on what, into what, in lines."""

    def summary(self, result, paths):
        """Say what was computed, how fast, and where it is, in lines; `paths` are those in its
        directory.
        """

    def operators(self, order, precision):
        """Return all operators of a method: dict of name to (Operator, precision).

        Parameters
        ----------
        order : int
            In space, or degree of elements, where the method has one.
        precision : str
            The one asked for; operators that always work in double say so.
        """

    def bench(self, name, device):
        """Return cases of a benchmark for a machine called `device`: list of `BenchCase`, or of
        what a sweep times (`gravity.bench.Case`).
        """
