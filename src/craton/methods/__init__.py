"""Methods: a folder is a method, its kernels stand in a folder of their own. SOLVERS gives each its builder, OPERATORS its operators."""
from importlib import import_module

SOLVERS = {
    "fd": "craton.methods.finite_difference.build:build", "sem": "craton.methods.spectral_element.build:build",
    "gravity": "craton.methods.gravity.build:build",
}  # fmt: skip
OPERATORS = {
    "fd": "craton.methods.finite_difference.catalogue:operators", "sem": "craton.methods.spectral_element.catalogue:operators",
    "gravity": "craton.methods.gravity.catalogue:operators",
}  # fmt: skip
DOUBLE = {"gravity": "craton.methods.gravity.catalogue:DOUBLE"}


TRYING = ("sem",)  # methods whose builder applies operators: to find their stable step


def build(scenario, team=None, machine=None):
    """The plan of a scenario, by its method.

    Parameters
    ----------
    scenario : Scenario
    team : craton.comm.Together, optional
        Of spectral elements: ranks each of which builds its part.
    machine : backend, optional
        Where operators are applied while the plan is made; methods of `TRYING` need one.
    """
    more = ({"team": team} if team else {}) | ({"machine": machine} if scenario.method in TRYING else {})
    return _named(SOLVERS[scenario.method])(scenario, **more)


def operators(method, order, precision):
    """All operators of a method, in some order in space (degree of elements) where it has one: dict of name to (Operator, precision).

    The precision is the one asked for, except for operators that always run in double.
    """
    found = _named(OPERATORS[method])(precision if method == "gravity" else order)
    double = _named(DOUBLE[method]) if method in DOUBLE else ()
    return {name: (op, "float64" if name in double else precision) for name, op in found.items()}


def _named(place):
    module, name = place.split(":")
    return getattr(import_module(module), name)
