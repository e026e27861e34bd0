"""craton in Python: load a scenario, plan it, run it; the command line calls the same functions."""
from importlib import import_module

from craton.wave_runs import Result

__all__ = ["Result", "load", "plan", "run", "runs"]

# What runs a method: a module with check_memory, run and run_into.
RUNS = {"fd": "craton.wave_runs", "gravity": "craton.gravity_runs"}


def runs(scenario):
    """The module that runs a scenario, by its method; imported when it is needed."""
    return import_module(RUNS[scenario.method])


def load(path, overrides=()):
    """A scenario from a TOML file; see `craton.scenario.load`."""
    from craton.scenario import load

    return load(path, overrides)


def plan(scenario):
    """The discretised problem of a scenario: prints as `craton plan`; `.nbytes`, `.steps`, `.phases`.

    Raises
    ------
    ScenarioError
        With every problem found.
    """
    from craton.solvers import build

    return build(scenario)


def run(scenario, device=None, out=None, force=False, progress=True):
    """Run a scenario.

    Parameters
    ----------
    scenario : Scenario
    device : str, optional
        ``"auto"``, ``"cpu"`` or ``"cuda"``; by default what the scenario says.
    out : path-like, optional
        Directory to keep the run in (DESIGN section 6); without, nothing is written and snapshots are not taken.
    force : bool
        Replace a finished run in `out`.
    progress : bool
        Show progress on standard error.

    Returns
    -------
    Result

    Raises
    ------
    ScenarioError
        The scenario is wrong; nothing was written.
    ResourceError
        It does not fit, or there is nothing to run it on; nothing was written.
    ComputationError, Interrupted
        It failed or was stopped; what was recorded is in `out`.
    """
    from craton.backends import backend

    planned = plan(scenario)
    machine = backend(device or scenario.run.device, threads=scenario.run.threads)
    how = runs(scenario)
    how.check_memory(planned, machine)
    if out is None:
        return how.run(scenario, planned, machine, progress)
    return how.run_into(scenario, planned, machine, out, force, progress)
