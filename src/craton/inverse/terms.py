"""Terms of an objective: functions of one vector of parameters, with gradients, that add up with weights; least squares, and
those of the model alone: Tikhonov's and the cross-gradient.
"""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from craton.errors import Problem, refuse, refuse_all
from craton.inverse.data import finite, on_grid

ORDERS = (0, 1, 2)


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
            refuse("weight", "is not finite", "give a number")

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


class LeastSquares(Term):
    """Half the sum of the squared residuals of data, each times its weight."""

    weights: object = 1.0

    @abstractmethod
    def residual(self, m):
        """Return computed less observed data at a vector of parameters."""

    @abstractmethod
    def born(self, dm, m=None):
        """Return by how much the data change with the parameters, to first order.

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
            Where; by default the start.
        """

    @abstractmethod
    def adjoint(self, residual, m=None):
        """Return the transpose of `born`, (n,).

        Parameters
        ----------
        residual : array
            As `born` returns it.
        m : (n,) array, optional
            Where; by default the start.
        """

    def fun(self, m):
        """Return half the sum of squared weighted residuals.

        Parameters
        ----------
        m : (n,) array
        """
        return 0.5 * float(((self.weights * self.residual(m)) ** 2).sum())

    def jac(self, m):
        """Return the gradient of `fun`, (n,).

        Parameters
        ----------
        m : (n,) array
        """
        return self.adjoint(self.weights**2 * self.residual(m), m)

    def hvp(self, dm, m=None):
        """Return the Gauss-Newton Hessian times a change of the parameters, (n,).

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
            Where; by default the start.
        """
        return self.adjoint(self.weights**2 * self.born(dm, m), m)


class Tikhonov(LeastSquares):
    """Half the integral of the squared model, its gradient or its Laplacian, each parameter over a
    scale: ``1/2 sum over p of w_p int |L (p - reference) / scale|^2 dV``.

    Parameters
    ----------
    problem : Term
        Its parameters.
    order : int
        0: distance from the reference; 1: its gradient, 1/m; 2: its Laplacian, 1/m2.
    weights : dict of str to float, optional
        By parameter; by default 1 of all. A parameter left out is free.
    reference : (n,) array or float, optional
        By default the start; 0 for the model itself.
    scales : dict of str to float, optional
        By parameter; by default the mean of the start.

    Raises
    ------
    ScenarioError
        No such order or parameter; weights below 0, scales not above 0; a reference of other parameters.
    """

    def __init__(self, problem, order=1, weights=None, reference=None, scales=None):
        from scipy import sparse

        self.parameters = parameters = problem.parameters
        if order not in ORDERS:
            refuse("order", f"{order!r}", "use 0, 1 or 2")
        names = parameters.names
        weights = dict.fromkeys(names, 1.0) if weights is None else dict(weights)
        check_numbers("weights", weights, names, 0.0)
        scales = scales_of(parameters, scales)
        lines = lines_of(parameters)
        matrix = sparse.vstack([sparse.diags_array(np.sqrt(v)) @ part for part, v in derivatives(lines, order)])
        factors = [np.sqrt(weights.get(name, 0.0)) / scales[name] for name in names]
        self.matrix = sparse.block_diag([f * matrix for f in factors], format="csr")
        reference = parameters.vector if reference is None else reference
        if np.size(reference) == 1:
            reference = np.broadcast_to(reference, parameters.shape)
        self.reference = finite(reference, parameters.shape, "reference", "give it as problem.m0, or one number")

    def residual(self, m):
        """See `LeastSquares.residual`: of rough models."""
        return self.matrix @ (np.ravel(m) - self.reference)

    def born(self, dm, m=None):
        """See `LeastSquares.born`: the same everywhere."""
        return self.matrix @ np.ravel(dm)

    def adjoint(self, residual, m=None):
        """See `LeastSquares.adjoint`."""
        return self.matrix.T @ residual


class CrossGradient(LeastSquares):
    """Half the integral of the squared cross product of the gradients of two parameters, each over
    a scale (Gallardo & Meju 2003, Geophys. Res. Lett. 30, 1658): 0 where both change in the same
    or in opposite directions, or one of them does not change.

    Parameters
    ----------
    problem : Term
        Its parameters.
    first, second : str
        Names of two of them.
    scales : dict of str to float, optional
        By parameter; by default the mean of the start.

    Raises
    ------
    ScenarioError
        They are not two of the parameters; scales not above 0; the grid is a line.
    """

    def __init__(self, problem, first, second, scales=None):
        self.parameters = parameters = problem.parameters
        names = parameters.names
        if first == second or not {first, second} <= set(names):
            words = f"{first} and {second} are not two of {', '.join(names)}"
            refuse("parameters", words, "name two parameters of the problem")
        self.places = names.index(first), names.index(second)
        scales = scales_of(parameters, scales)
        self.factors = 1 / scales[first], 1 / scales[second]
        lines = lines_of(parameters)
        if sum(len(line) > 1 for line in lines) < 2:
            refuse("problem", "its grid is a line", "use a plane or space")
        self.slopes, volumes = slopes_at_corners(lines)
        self.weights = np.sqrt(volumes)

    def _gradients(self, m):
        """Gradients of both parameters over their scales, (3, corners) each, along z, y, x."""
        fields = np.reshape(m, (self.parameters.shape[0], -1))
        return [
            np.stack([d @ (factor * fields[place]) for d in self.slopes])
            for place, factor in zip(self.places, self.factors)
        ]

    def residual(self, m):
        """See `LeastSquares.residual`: the cross product at each corner, (3, corners)."""
        return np.cross(*self._gradients(m), axis=0)

    def born(self, dm, m=None):
        """See `LeastSquares.born`."""
        (p, q), (dp, dq) = self._gradients(self.m0 if m is None else m), self._gradients(dm)
        return np.cross(dp, q, axis=0) + np.cross(p, dq, axis=0)

    def adjoint(self, residual, m=None):
        """See `LeastSquares.adjoint`."""
        p, q = self._gradients(self.m0 if m is None else m)
        slopes = np.cross(q, residual, axis=0), np.cross(residual, p, axis=0)
        out = np.zeros((self.parameters.shape[0], int(np.prod(self.parameters.shape[1:]))))
        for place, factor, slope in zip(self.places, self.factors, slopes):
            out[place] = factor * sum(d.T @ row for d, row in zip(self.slopes, slope))
        return out.ravel()


def scales_of(parameters, scales=None):
    """Return a scale of each parameter: what was given, else the mean of its start, 1 where that is 0.

    Parameters
    ----------
    parameters : Parameters
    scales : dict of str to float, optional
    """
    fields, scales = np.reshape(parameters.vector, parameters.shape), scales or {}
    means = {n: float(np.abs(f).mean()) or 1.0 for n, f in zip(parameters.names, fields)}
    check_numbers("scales", scales, parameters.names, np.finfo(float).tiny)
    return means | scales


def check_numbers(key, values, names, least):
    """Refuse numbers of unknown parameters, or below the least."""
    problems = [
        Problem(f"{key}.{name}", "is no parameter", f"these are {', '.join(names)}")
        for name in values
        if name not in names
    ]
    problems += [
        Problem(f"{key}.{name}", f"{value!r}", "give a positive number")
        for name, value in values.items()
        if not (isinstance(value, Real) and np.isfinite(value) and value >= least)
    ]
    refuse_all(problems)


class Stencils(NamedTuple):
    """Sparse matrices of an axis of n points; of one point the value itself, and 0 for derivatives.

    `values` and `bends` (n, n): second differences, with slopes 0 beyond the ends; `means` and `slopes` (n - 1, n).
    """

    values: Any
    means: Any
    slopes: Any
    bends: Any


def stencils_of(line):
    """Return the `Stencils` of an axis, m."""
    from scipy.sparse import csr_array, diags_array, eye_array

    n, distances = len(line), np.diff(line)
    if n == 1:
        return Stencils(eye_array(1), eye_array(1), csr_array((1, 1)), csr_array((1, 1)))
    means, slopes = (
        diags_array([left, right], offsets=[0, 1], shape=(n - 1, n))
        for left, right in ((np.full(n - 1, 0.5), np.full(n - 1, 0.5)), (-1 / distances, 1 / distances))
    )
    # the divergence of slopes: fluxes through the faces between cells over their widths
    bends = -diags_array(1 / widths_of(line)) @ slopes.T @ diags_array(distances) @ slopes
    return Stencils(eye_array(n), means, slopes, bends)


def derivatives(lines, order):
    """Return matrices (rows, cells) and the volumes, m3 (m2 of a plane), of their rows: the values
    (order 0), differences along each axis (1), or the sum of second differences (2).

    `lines`: coordinates of the cells along z, y, x, m.
    """
    widths, stencils = [widths_of(line) for line in lines], [stencils_of(line) for line in lines]
    used = [axis for axis in range(3) if len(lines[axis]) > 1]
    values = [stencil.values for stencil in stencils]
    if order == 0:
        return [(product(values), volumes_of(widths))]
    if order == 1:
        return [
            (
                product(replaced(values, axis, stencils[axis].slopes)),
                volumes_of(replaced(widths, axis, np.diff(lines[axis]))),
            )
            for axis in used
        ]
    laplacian = sum(product(replaced(values, axis, stencils[axis].bends)) for axis in used)
    return [(laplacian, volumes_of(widths))]


def slopes_at_corners(lines):
    """Return the matrices (corners, cells) of the derivatives along z, y and x where cells meet, a
    mean over their edges, and the volumes of the boxes between points, m3 (m2).

    `lines`: coordinates of the cells along z, y, x, m.
    """
    stencils = [stencils_of(line) for line in lines]
    means = [stencil.means for stencil in stencils]
    slopes = [product(replaced(means, axis, stencils[axis].slopes)) for axis in range(3)]
    return slopes, volumes_of([np.diff(line) if len(line) > 1 else np.ones(1) for line in lines])


def replaced(parts, axis, part):
    """Return a list with another part in one place."""
    return [*parts[:axis], part, *parts[axis + 1 :]]


def product(parts):
    """Return the Kronecker product of three matrices, of arrays (z, y, x) raveled."""
    from scipy import sparse

    return sparse.kron(sparse.kron(parts[0], parts[1]), parts[2], format="csr")


def widths_of(line):
    """Widths of the cells around the points of an axis, m: half-way to the next ones, and as far
    beyond the ends; 1 of one point.
    """
    if len(line) == 1:
        return np.ones(1)
    middles = (line[1:] + line[:-1]) / 2
    ends = 2 * line[0] - middles[0], 2 * line[-1] - middles[-1]
    return np.diff(np.concatenate([ends[:1], middles, ends[1:]]))


def volumes_of(widths):
    """Products of widths along z, y, x, raveled."""
    z, y, x = widths
    return (z[:, None, None] * y[None, :, None] * x).ravel()


def lines_of(parameters):
    """Return the coordinates of the cells along z, y, x, m.

    Raises
    ------
    ScenarioError
        The parameters are those of nodes of elements.
    """
    lines = [parameters.axes[axis] for axis in "zyx"]
    if any(np.ndim(line) != 1 for line in lines):
        refuse("problem", "its parameters lie at nodes of elements", "use a scenario of finite differences")
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
            refuse("terms", words, "build all terms on one Problem")
        if any(not np.allclose(other.axes[a], first.axes[a]) for a in "xyz"):
            refuse("terms", "their cells lie in other places", "build all terms on one Problem")
