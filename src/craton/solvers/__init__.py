"""Solvers: a folder is a physics, a .h an operator's body. SOLVERS gives each method of a scenario its builder."""
from importlib import import_module

SOLVERS = {"fd": "craton.solvers.fd_elastic.build:build"}


def build(scenario):
    """The plan of a scenario, by its method."""
    module, name = SOLVERS[scenario.method].split(":")
    return getattr(import_module(module), name)(scenario)
