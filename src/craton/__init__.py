"""Forward modelling in geophysics on CPUs and GPUs: one Earth model, one scenario file, laptop to
many GPUs.
"""

from craton.api import Result, load, plan, resume, run

__all__ = ["Result", "Scenario", "Simulation", "load", "plan", "resume", "run", "run_survey"]


def __getattr__(name):
    """`Scenario`, `run_survey` and `gravity` are imported when they are first used: `craton --help`
    answers at once.
    """
    if name == "Scenario":
        from craton.scenario import Scenario

        return Scenario
    if name == "Simulation":
        from craton.driver.simulation import Simulation

        return Simulation
    if name == "run_survey":
        from craton.shots import run_survey

        return run_survey
    if name == "gravity":
        from importlib import import_module

        return import_module("craton.gravity")
    raise AttributeError(f"module 'craton' has no attribute {name!r}")
