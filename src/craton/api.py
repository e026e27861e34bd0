"""craton in Python: load a scenario, plan it, run it; the command line calls the same functions."""

from craton.driver.result import Result
from craton.driver.run import load, resume, run
from craton.driver.run import plan as plan_of_run

__all__ = ["Result", "load", "plan", "resume", "run"]


def plan(scenario, comm=None, reuse=None):
    """Return the discretised problem of a scenario: prints as `craton plan`; `.nbytes`, `.steps`,
    `.phases`. Of a scenario with the table ``gradient`` it also says what a gradient takes.

    Parameters
    ----------
    scenario : Scenario
    comm : Comm, optional
        Ranks that will share the run, all of which must ask: where each can plan its own subdomain,
        the plan is that of this rank.
    reuse : craton.methods.shared.reuse.Reuse, optional
        See `Method.plan`.

    Raises
    ------
    ScenarioError
        With every problem found.

    Examples
    --------
    >>> plan = craton.plan(craton.load("two_layers.toml"))
    >>> plan.grid.shape, plan.dt > 0, plan.nbytes > 0
    ((31, 41, 46), True, True)
    """
    planned = plan_of_run(scenario, comm, reuse)
    if getattr(scenario, "gradient", None) is not None:
        from craton.inverse.survey import sections

        planned.notes |= sections(scenario, comm.size if comm is not None else 1)
    return planned
