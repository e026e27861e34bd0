"""Terms of an objective that depend on the model only: Tikhonov's and the cross-gradient."""

import numpy as np

from craton.errors import Problem as Fault
from craton.errors import ScenarioError
from craton.inverse.terms import Term, lines_of

ORDERS = (0, 1, 2)


class Tikhonov(Term):
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
    reference : (n,) array or None
        By default the start; 0 for the model itself.
    scales : dict of str to float, optional
        By parameter; by default the mean of the start.

    Raises
    ------
    ScenarioError
        No such order or parameter; weights below 0, scales not above 0.
    """

    def __init__(self, problem, order=1, weights=None, reference=None, scales=None):
        from scipy import sparse

        self.parameters = parameters = problem.parameters
        if order not in ORDERS:
            raise ScenarioError([Fault("order", f"{order!r}", "use 0, 1 or 2")])
        names = parameters.names
        weights = dict.fromkeys(names, 1.0) if weights is None else dict(weights)
        check_numbers("weights", weights, names, 0.0)
        scales = scales_of(parameters, scales)
        lines = lines_of(parameters)
        matrix = sparse.vstack([sparse.diags_array(np.sqrt(v)) @ part for part, v in derivatives(lines, order)])
        factors = [np.sqrt(weights.get(name, 0.0)) / scales[name] for name in names]
        self.matrix = sparse.block_diag([f * matrix for f in factors], format="csr")
        size = int(np.prod(parameters.shape))
        start = parameters.vector if reference is None else reference
        self.reference = np.broadcast_to(np.asarray(start, float).ravel(), (size,))

    def fun(self, m):
        """Return the value at a vector of parameters.

        Parameters
        ----------
        m : (n,) array
        """
        rough = self.matrix @ (np.ravel(m) - self.reference)
        return 0.5 * float(rough @ rough)

    def jac(self, m):
        """Return the gradient of `fun`, (n,).

        Parameters
        ----------
        m : (n,) array
        """
        return self.matrix.T @ (self.matrix @ (np.ravel(m) - self.reference))

    def hvp(self, dm, m=None):
        """Return the Hessian times a change of the parameters, (n,).

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
            Not used: the Hessian is the same everywhere.
        """
        return self.matrix.T @ (self.matrix @ np.ravel(dm))


class CrossGradient(Term):
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
            raise ScenarioError([Fault("parameters", words, "name two parameters of the problem")])
        self.places = names.index(first), names.index(second)
        scales = scales_of(parameters, scales)
        self.factors = 1 / scales[first], 1 / scales[second]
        lines = lines_of(parameters)
        if sum(len(line) > 1 for line in lines) < 2:
            raise ScenarioError([Fault("problem", "its grid is a line", "use a plane or space")])
        self.slopes, self.volumes = slopes_at_corners(lines)

    def _gradients(self, m):
        """Gradients of both parameters over their scales, (3, corners) each, along z, y, x."""
        fields = np.reshape(m, (self.parameters.shape[0], -1))
        return [
            np.stack([d @ (factor * fields[place]) for d in self.slopes])
            for place, factor in zip(self.places, self.factors)
        ]

    def _spread(self, parts):
        """Transpose of `_gradients`, (n,)."""
        out = np.zeros((self.parameters.shape[0], int(np.prod(self.parameters.shape[1:]))))
        for place, factor, part in zip(self.places, self.factors, parts):
            out[place] = factor * sum(d.T @ row for d, row in zip(self.slopes, part))
        return out.ravel()

    def fun(self, m):
        """Return the value at a vector of parameters.

        Parameters
        ----------
        m : (n,) array
        """
        p, q = self._gradients(m)
        return 0.5 * float((self.volumes * np.cross(p, q, axis=0) ** 2).sum())

    def jac(self, m):
        """Return the gradient of `fun`, (n,).

        Parameters
        ----------
        m : (n,) array
        """
        p, q = self._gradients(m)
        return self._by_product(p, q, self.volumes * np.cross(p, q, axis=0))

    def _by_product(self, p, q, slope):
        """Gradient by the parameters from that by the cross product p x q."""
        return self._spread((np.cross(q, slope, axis=0), np.cross(slope, p, axis=0)))

    def hvp(self, dm, m=None):
        """Return the Gauss-Newton Hessian times a change of the parameters, (n,).

        Parameters
        ----------
        dm : (n,) array
        m : (n,) array, optional
            Where; by default the start.
        """
        p, q = self._gradients(self.m0 if m is None else m)
        dp, dq = self._gradients(dm)
        change = np.cross(dp, q, axis=0) + np.cross(p, dq, axis=0)
        return self._by_product(p, q, self.volumes * change)


def scales_of(parameters, scales=None):
    """Return a scale of each parameter: what was given, else the mean of its start, 1 where that
    is 0.

    Parameters
    ----------
    parameters : Parameters
    scales : dict of str to float, optional
    """
    fields = np.reshape(parameters.vector, parameters.shape)
    means = {n: float(np.abs(f).mean()) or 1.0 for n, f in zip(parameters.names, fields)}
    check_numbers("scales", scales or {}, parameters.names, np.finfo(float).tiny)
    return means | (scales or {})


def check_numbers(key, values, names, least):
    """Refuse numbers of unknown parameters, or below the least."""
    problems = [
        Fault(f"{key}.{name}", "is no parameter", f"these are {', '.join(names)}")
        for name in values
        if name not in names
    ]
    problems += [
        Fault(f"{key}.{name}", f"{value!r}", "give a positive number")
        for name, value in values.items()
        if not (np.isscalar(value) and np.isfinite(value) and value >= least)
    ]
    if problems:
        raise ScenarioError(problems)


def derivatives(lines, order):
    """Return matrices (rows, cells) and the volumes, m3 (m2 of a plane), of their rows: the values
    (order 0), differences along each axis (1), or the sum of second differences (2).

    Parameters
    ----------
    lines : list of arrays
        Coordinates of the cells along z, y, x, m.
    order : int
    """
    from scipy import sparse

    widths = [widths_of(line) for line in lines]
    used = [axis for axis in range(3) if len(lines[axis]) > 1]
    if order == 0:
        return [(product([sparse.eye_array(len(line)) for line in lines]), volumes_of(widths))]
    if order == 1:
        return [
            (
                along(lines, axis, difference(lines[axis])),
                volumes_of([np.diff(lines[a]) if a == axis else widths[a] for a in range(3)]),
            )
            for axis in used
        ]
    laplacian = sum(along(lines, axis, second_difference(lines[axis])) for axis in used)
    return [(laplacian, volumes_of(widths))]


def slopes_at_corners(lines):
    """Return the matrices (corners, cells) of the derivatives along z, y and x where cells meet, a
    mean over their edges, and the volumes of the boxes between points, m3 (m2).

    Parameters
    ----------
    lines : list of arrays
        Coordinates of the cells along z, y, x, m.
    """
    from scipy import sparse

    means = [mean_of_two(line) for line in lines]
    slopes = []
    for axis, line in enumerate(lines):
        parts = list(means)
        parts[axis] = difference(line) if len(line) > 1 else sparse.csr_array((1, 1))
        slopes.append(product(parts))
    boxes = volumes_of([np.diff(line) if len(line) > 1 else np.ones(1) for line in lines])
    return slopes, boxes


def along(lines, axis, matrix):
    """Return a matrix along one axis of arrays over all."""
    from scipy import sparse

    parts = [sparse.eye_array(len(line)) for line in lines]
    parts[axis] = matrix
    return product(parts)


def product(parts):
    """Return the Kronecker product of three matrices, of arrays (z, y, x) raveled."""
    from scipy import sparse

    return sparse.kron(sparse.kron(parts[0], parts[1]), parts[2], format="csr")


def difference(line):
    """First differences of an axis over its distances, (n - 1, n)."""
    from scipy import sparse

    inverse = 1 / np.diff(line)
    return sparse.diags_array([-inverse, inverse], offsets=[0, 1], shape=(len(line) - 1, len(line)))


def second_difference(line):
    """Second differences; slopes are 0 beyond the ends, (n, n)."""
    from scipy import sparse

    first, distances, widths = difference(line), np.diff(line), widths_of(line)
    # the divergence of slopes: fluxes through the faces between cells over their widths
    return -sparse.diags_array(1 / widths) @ first.T @ sparse.diags_array(distances) @ first


def mean_of_two(line):
    """Means of neighbours of an axis, (n - 1, n); of one point itself."""
    from scipy import sparse

    n = len(line)
    if n == 1:
        return sparse.eye_array(1)
    half = np.full(n - 1, 0.5)
    return sparse.diags_array([half, half], offsets=[0, 1], shape=(n - 1, n))


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
