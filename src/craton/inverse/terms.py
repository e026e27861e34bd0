"""Terms of an objective: functions of one vector of parameters, with gradients, that add up with
weights.
"""

from abc import ABC, abstractmethod

import numpy as np

from craton.errors import Problem as Fault
from craton.errors import ScenarioError
from craton.inverse.datasets import on_grid


class Term(ABC):
    """A function of the vector of parameters of `parameters`: `fun`, `jac`, `hvp`. Terms of the
    same parameters add up: ``waves + 1e3 * gravity``.
    """

    parameters: object

    @property
    def m0(self):
        """The start as a vector, (parameters * cells,)."""
        return self.parameters.vector

    @property
    def shape(self):
        """(parameters, nz, ny, nx): of a vector before it is raveled."""
        return self.parameters.shape

    @abstractmethod
    def fun(self, m):
        """Return the value at a vector of parameters, (n,)."""

    @abstractmethod
    def jac(self, m):
        """Return the gradient at a vector of parameters, (n,)."""

    def fun_and_jac(self, m):
        """Return value and gradient, for `scipy.optimize.minimize(..., jac=True)`.

        Parameters
        ----------
        m : (n,) array
        """
        return self.fun(m), self.jac(m)

    def dataset(self, m):
        """Return a vector of parameters, or a gradient by them, as a dataset over (z, y, x).

        Parameters
        ----------
        m : (n,) array
        """
        values = dict(zip(self.parameters.names, np.reshape(m, self.shape)))
        return on_grid(self.parameters.axes, values)

    def __add__(self, other):
        if not isinstance(other, Term):
            return NotImplemented
        return Sum(summands_of(self) + summands_of(other))

    def __mul__(self, weight):
        if not np.isscalar(weight):
            return NotImplemented
        return Sum([(float(weight) * factor, term) for factor, term in summands_of(self)])

    __rmul__ = __mul__


def summands_of(term):
    """Return the (weight, term) pairs of a sum, or of one term."""
    return term.summands if isinstance(term, Sum) else [(1.0, term)]


class Sum(Term):
    """Terms with weights: what ``a + 2 * b`` returns.

    Parameters
    ----------
    summands : list of (float, Term)

    Raises
    ------
    ScenarioError
        The terms have other parameters, or these lie elsewhere; a weight is not finite.
    """

    def __init__(self, summands):
        self.summands = summands
        self.parameters = summands[0][1].parameters
        refuse_strangers([term for _, term in summands])
        if not np.isfinite([weight for weight, _ in summands]).all():
            raise ScenarioError([Fault("weight", "is not finite", "give a number")])

    def fun(self, m):
        """Return the sum at a vector of parameters.

        Parameters
        ----------
        m : (n,) array
        """
        return sum(weight * term.fun(m) for weight, term in self.summands)

    def jac(self, m):
        """Return the gradient of the sum, (n,).

        Parameters
        ----------
        m : (n,) array
        """
        return sum(weight * term.jac(m) for weight, term in self.summands)

    def values(self, m):
        """Return the weighted value of each term, in their order: list of float.

        Parameters
        ----------
        m : (n,) array
        """
        return [weight * term.fun(m) for weight, term in self.summands]

    def hvp(self, dm, m=None):
        """Return the Gauss-Newton Hessian times a change of the parameters, (n,).

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
        """
        return sum(weight * term.hvp(dm, m) for weight, term in self.summands)


def lines_of(parameters):
    """Return the coordinates of the cells along z, y, x, m.

    Raises
    ------
    ScenarioError
        The parameters are those of nodes of elements.
    """
    lines = [parameters.axes[axis] for axis in "zyx"]
    if any(np.ndim(line) != 1 for line in lines):
        words = "its parameters lie at nodes of elements"
        raise ScenarioError([Fault("problem", words, "use a scenario of finite differences")])
    return lines


def refuse_strangers(terms):
    """Refuse to add terms whose parameters are others, or lie elsewhere."""
    first = terms[0].parameters
    for term in terms[1:]:
        other = term.parameters
        if other is first:
            continue
        if other.names != first.names or other.shape != first.shape:
            words = f"{', '.join(other.names)} {other.shape[1:]} on {', '.join(first.names)} {first.shape[1:]}"
            raise ScenarioError([Fault("terms", words, "build all terms on one Problem")])
        if any(not np.allclose(other.axes[a], first.axes[a]) for a in "xyz"):
            words = "their cells lie in other places"
            raise ScenarioError([Fault("terms", words, "build all terms on one Problem")])
