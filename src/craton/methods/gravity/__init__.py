"""Gravity of prism ensembles.

ALGORITHMS names the modules; each offers `estimate(problem, speed)` and `solve(problem, runner)`.
"""

from importlib import import_module

from craton.errors import ScenarioError

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


def choose(problem, machine, method="auto"):
    """Return the estimate of the method that is taken on a machine, and those of all, the best first.

    Raises
    ------
    ValueError
        There is no method of that name, or it does not apply.
    """
    from craton.methods.gravity.cost import speed

    if method != "auto":
        algorithm(method)
    best = estimates(problem, speed(machine, problem.fields, problem.precision))
    taken = best[0] if method == "auto" else next(e for e in best if e.method == method)
    if not taken.applies and problem.pairs:
        raise ValueError(f'"{method}" does not apply: {taken.why}')
    return taken, best


def chosen(plan, machine):
    """`choose` for a plan.

    Raises
    ------
    ScenarioError
        The method asked for does not apply.
    """
    try:
        return choose(plan.problem, machine, plan.method)
    except ValueError as error:
        raise ScenarioError.of("gravity.method", str(error), 'write method = "auto"') from None
