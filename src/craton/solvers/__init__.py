"""Solvers: a folder is a physics, a .h an operator's body. SOLVERS gives each method of a scenario its builder, OPERATORS its operators."""
from importlib import import_module

SOLVERS = {"fd": "craton.solvers.fd_elastic.build:build", "gravity": "craton.solvers.gravity.build:build"}
OPERATORS = {"fd": "craton.solvers.fd_elastic.catalogue:operators"}


def build(scenario):
    """The plan of a scenario, by its method."""
    return _named(SOLVERS[scenario.method])(scenario)


def operators(method, order):
    """All operators of a method at one order in space: dict of name to Operator."""
    return _named(OPERATORS[method])(order)


def _named(place):
    module, name = place.split(":")
    return getattr(import_module(module), name)
