"""Forward modelling in geophysics on CPUs and GPUs: one Earth model, one scenario file, laptop to
many GPUs.
"""

from typing import TYPE_CHECKING

from craton.driver.result import Result
from craton.driver.run import resume, run

if TYPE_CHECKING:
    from craton.driver.march import Observer
    from craton.driver.simulation import Simulation
    from craton.inverse import Problem, gradient
    from craton.inverse.survey import plan, run_gradient
    from craton.methods.waves.coupling.boxes import injection_points
    from craton.scenario import *  # noqa: F403 (its tables)
    from craton.scenario import Scenario, load
    from craton.shots import run_survey

__all__ = [
    "Observer",
    "Problem",
    "Result",
    "Scenario",
    "Simulation",
    "gradient",
    "injection_points",
    "load",
    "plan",
    "resume",
    "run",
    "run_gradient",
    "run_survey",
]
_ELSEWHERE = {
    "Observer": "craton.driver.march",
    "Problem": "craton.inverse",
    "Simulation": "craton.driver.simulation",
    "gradient": "craton.inverse",
    "injection_points": "craton.methods.waves.coupling.boxes",
    "load": "craton.scenario",
    "plan": "craton.inverse.survey",
    "run_gradient": "craton.inverse.survey",
    "run_survey": "craton.shots",
}


def __getattr__(name):
    """`Scenario`, its tables, `Simulation`, `Observer`, `run_survey`, `Problem`, `gradient`, `run_gradient`, `plan`,
    `load`, `injection_points`, `gravity`, `greens` and `torch` are imported when they are first used: `craton --help` answers at once.
    """
    from importlib import import_module

    if name in ("gravity", "greens", "torch"):
        return import_module(f"craton.{name}")
    if name in _ELSEWHERE or name[:1].isupper():
        module = import_module(_ELSEWHERE.get(name, "craton.scenario"))
        if name in (*_ELSEWHERE, *getattr(module, "__all__", ())):
            return getattr(module, name)
    raise AttributeError(f"module 'craton' has no attribute {name!r}")


def __dir__():
    """Names for completion: the verbs, and the tables of scenarios."""
    from craton import scenario

    return sorted({*globals(), *__all__, "gravity", "greens", *(n for n in scenario.__all__ if n[0].isupper())})
