"""Gravity of prism ensembles: its algorithms, what each will cost, and which one is taken.

ALGORITHMS names the modules; each offers `estimate(problem, speed)` and `solve(problem, runner)`. Rates were measured;
they decide, they promise nothing.
"""

from dataclasses import dataclass
from importlib import import_module
from math import log10
from typing import Any

from craton.errors import ScenarioError

ALGORITHMS = {
    "direct": "craton.methods.gravity.direct",
    "far": "craton.methods.gravity.far",
    "vertex": "craton.methods.gravity.vertex",
    "fft": "craton.methods.gravity.fft",
}
HOST_PAIRS = 7e7  # closed form, g_z in double, pairs per second and thread (AVX-512, 2.6 GHz)
DEVICE_PAIRS = 2e10  # the same of a device with DEVICE_WIDTH threads (H200)
DEVICE_WIDTH = 2048 * 132
DEVICE = 1 << 15  # points that a machine takes side by side, from which on it is no CPU
SINGLE = 4.0  # closed form and series in single against closed form in double
# closed forms that a point's walk is worth, per decade of prisms above 1000
WALK = {4: 450, 6: 900, 8: 1500, 10: 6600, 12: 12000}
GROW = 1e-6  # s of one core to grow a tree and find its moments, per prism


@dataclass(frozen=True)
class Speed:
    """A machine's rates for some fields and a precision.

    Parameters
    ----------
    pairs : float
        Prism-point pairs per second by the direct sum.
    flops : float
        Rough rate of long vectorised arithmetic in double precision, for methods that count
        operations.
    start : float
        Seconds that any method needs before it works.
    double : float
        Prism-point pairs per second by the direct sum in double precision.
    machine : backend, optional
        Where methods that look at the ensemble may do so.
    """

    pairs: float
    flops: float
    start: float = 0.02
    double: float = 0.0
    machine: Any = None


@dataclass(frozen=True)
class Estimate:
    """What a method would cost.

    Parameters
    ----------
    method : str
    seconds : float
    why : str
        One line: what it would do, or why it cannot.
    applies : bool
    """

    method: str
    seconds: float
    why: str
    applies: bool = True


def share(fields):
    """Work of the closed form relative to g_z alone: its roots, logarithms and arctangents."""
    axes = {axis for name in fields if name != "potential" for axis in name[2:]}
    gradients = any(len(name) == 4 for name in fields)
    potential = "potential" in fields
    logarithms = (
        12 if potential else 9 if len(axes) == 3 and gradients else min(3 + 2 * len(axes), 9) if len(fields) > 1 else 4
    )
    angles = 6 if potential else 2 * max(len(axes), 1)
    return 0.3 + 0.1 * logarithms + 0.15 * angles


def speed(machine, fields, precision):
    """Rates of a machine."""
    base = DEVICE_PAIRS * machine.width / DEVICE_WIDTH if machine.width >= DEVICE else HOST_PAIRS * machine.threads
    double = base / share(fields)
    return Speed(double * (SINGLE if precision == "float32" else 1.0), 450 * base, double=double, machine=machine)


def walk(prisms, degree):
    """Return closed forms that one point's walk through a tree is worth."""
    return min(WALK[degree] * max(log10(max(prisms, 1)) - 3, 0.5), prisms)


# --- the choice -------------------------------------------------------------------------------------------------------


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
