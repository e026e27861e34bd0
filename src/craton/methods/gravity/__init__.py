"""Gravity of prism ensembles.

ALGORITHMS names the modules; each offers `estimate(problem, speed)` and `solve(problem, runner)`.
"""

from importlib import import_module

from craton.errors import Problem, ScenarioError

ALGORITHMS = {
    "direct": "craton.methods.gravity.direct",
    "far": "craton.methods.gravity.far",
    "vertex": "craton.methods.gravity.vertex",
    "fft": "craton.methods.gravity.fft",
}


def algorithm(name):
    """Return the module of an algorithm.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if name not in ALGORITHMS:
        raise ValueError(f"unknown method {name!r} (methods are auto, {', '.join(ALGORITHMS)})")
    return import_module(ALGORITHMS[name])


def estimates(problem, speed):
    """Return what every method would cost, those that apply and are quick first."""
    each = [algorithm(name).estimate(problem, speed) for name in ALGORITHMS]
    return sorted(each, key=lambda e: (not e.applies, e.seconds))


def choose(problem, machine):
    """Return what every method would cost on a machine, the best first."""
    from craton.methods.gravity.cost import speed

    return estimates(problem, speed(machine, problem.fields, problem.precision))


def chosen(plan, machine):
    """Estimate of the method that will be taken for a plan, and of all methods, the best first.

    Raises
    ------
    ScenarioError
        The method asked for does not apply.
    """
    best = choose(plan.problem, machine)
    taken = best[0] if plan.method == "auto" else next((e for e in best if e.method == plan.method), None)
    if taken is None or (not taken.applies and plan.problem.pairs):
        why = taken.why if taken else "it is not there"
        raise ScenarioError(
            [Problem("gravity.method", f'"{plan.method}" does not apply: {why}', 'write method = "auto"')]
        )
    return taken, best
