"""Gravity of prism ensembles. METHODS names the modules; each offers `estimate(problem, speed)` and `solve(problem, runner)`."""
from importlib import import_module

METHODS = {
    "direct": "craton.methods.gravity.direct",
    "far": "craton.methods.gravity.far",
    "vertex": "craton.methods.gravity.vertex",
    "fft": "craton.methods.gravity.fft",
}  # fmt: skip


def method(name):
    """The module of a method.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r} (methods are auto, {', '.join(METHODS)})")
    return import_module(METHODS[name])


def estimates(problem, speed):
    """What every method would cost, those that apply and are quick first."""
    found = [method(name).estimate(problem, speed) for name in METHODS]
    return sorted(found, key=lambda e: (not e.applies, e.seconds))
