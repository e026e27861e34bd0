"""What an inverse problem is asked: options, and vectors of parameters and of data, checked before
anything runs.
"""

from numbers import Real

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.inverse import parameters as sets
from craton.inverse.misfit import MISFITS
from craton.text import nearest


def options(parameters, every, on, memory):
    """Refuse parameters of no set, numbers of steps that are none, places that are none, and memory
    that is none.
    """
    sets.refuse_unknown(parameters)
    if on not in ("grid", "model"):
        raise ScenarioError([Problem("on", f"{on!r} is no place", 'use "grid" or "model"')])
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ScenarioError([Problem("every", f"{every!r} is no number of steps", "use 1 or more")])
    is_number = isinstance(memory, Real) and not isinstance(memory, bool)
    if memory is not None and not (is_number and memory > 0):
        words = f"{memory!r} is no number of bytes above 0"
        raise ScenarioError([Problem("memory", words, "use 2e9 for 2 GB, or leave it out")])


def of_ranks(ranks, comm):
    """Refuse numbers of ranks that are none, and ranks of two kinds."""
    if ranks is None:
        return
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise ScenarioError([Problem("ranks", f"{ranks!r} is no number of ranks", "use 1 or more")])
    if comm is not None and ranks > 1:
        words = "ranks are threads of this process, comm has ranks of its own"
        raise ScenarioError([Problem("ranks", words, "give one of them")])


def misfit_of(misfit):
    """Return the function of a misfit by its name, or the function itself."""
    if callable(misfit):
        return misfit
    if misfit in MISFITS:
        return MISFITS[misfit]
    remedy = f"{choice(misfit, MISFITS)}, or give a function"
    raise ScenarioError([Problem("misfit", f"there is no misfit {misfit!r}", remedy)])


def choice(word, names):
    """Return what to say to a word that is none of some names."""
    close = nearest(word, names)
    return (f'did you mean "{close}"? ' if close else "") + f"choose one of {', '.join(names)}"


def numbers(values, shape, key, remedy):
    """Return values as a vector of real numbers.

    Parameters
    ----------
    values : array_like
    shape : tuple of int
        Of as many values.
    key, remedy : str
        For the error.

    Raises
    ------
    ScenarioError
        They are no real numbers, or not as many.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iufb":
        raise ScenarioError([Problem(key, f"holds values of type {values.dtype}", "give numbers")])
    if values.size != np.prod(shape):
        words = f"has {values.size:,} values, the problem has {' x '.join(map(str, shape))}"
        raise ScenarioError([Problem(key, words, remedy)])
    return values.astype(float).ravel()


def finite(values, shape, key, remedy):
    """Return values as a vector of finite numbers; see `numbers`."""
    values = numbers(values, shape, key, remedy)
    if count := int((~np.isfinite(values)).sum()):
        raise ScenarioError([Problem(key, f"{count:,} values are not finite", "use 0 there")])
    return values
