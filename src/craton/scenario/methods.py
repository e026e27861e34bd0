"""Which class of scenario a dict of tables is, by its method."""

from pydantic import BaseModel

from craton.scenario.elements import SpectralScenario
from craton.scenario.gravity import GravityScenario
from craton.scenario.schema import Scenario
from craton.text import nearest

SCENARIOS = {"fd": Scenario, "sem": SpectralScenario, "gravity": GravityScenario}


def scenario_class(values):
    """The class for a dict of tables: that of its method (the nearest one where it is misspelt); without one by its tables."""
    method = values.get("method")
    if method is None:
        return GravityScenario if {"prisms", "gravity"} & set(values) and not {"model", "source"} & set(values) else Scenario
    return SCENARIOS.get(nearest(method, SCENARIOS), Scenario)


def build(values):
    """A scenario from a dict of tables, with pydantic's own error where it is wrong (the classes raise ScenarioError instead)."""
    made = scenario_class(values)
    scenario = made.__new__(made)
    BaseModel.__init__(scenario, **values)
    return scenario
