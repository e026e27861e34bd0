"""Values and derivatives anywhere between staggered points, as weights on points around: for
receivers, their adjoint for sources.
"""

from functools import cached_property, lru_cache

import numpy as np

NODES = 8  # points per axis inside the grid
MARGIN = NODES // 2  # points beside a position that its weights reach
# of a value and of a derivative, where the grid ends before the fourth point on one side
EDGE_NODES = (4, 6)
# wavenumber times spacing up to which weights are fitted: 4 points per wavelength
BAND = 0.5 * np.pi
REACH = 3  # points to each side that are looked at where some hold nothing
WORST = 1e4  # condition of a fit
MANY = 1 << 16  # different positions from which the last bit of weights gives way to speed
DEGREE = 6  # polynomials of lower degree are exact


class AxisWeights:
    """Weights on integer indices for the values (or first derivatives) at positions along an axis, in units of the spacing.

    Constrained least squares: exact for polynomials below degree 6 and, within that, closest to the
    exact exponential over wavenumbers up to pi/2 per spacing. On eight points it is more accurate
    than the Kaiser-windowed sinc of Hicks (2002) on the same points over that band, and it holds at
    the edge of the grid too, where only points within `lowest` .. `highest` may be used.

    Parameters
    ----------
    positions : ndarray, shape (n,)
    lowest, highest : int
        Limits of the indices.
    derivative : int, optional
    width : int, optional
        Points of a position away from the limits.
    together : bool
        Solve for all positions at once: a hundred times faster for thousands of them, to the last bit that of each position alone.

    Attributes
    ----------
    first : ndarray of int, shape (n,)
        Index of the first point of each position.
    count : ndarray of int, shape (n,)
        Number of its points.
    """

    def __init__(self, positions, lowest, highest, derivative=0, width=NODES, together=False):
        self.positions = positions = np.asarray(positions, dtype=float)
        self.derivative, self.width, self.together = derivative, width, together
        nearest, below = np.rint(positions), np.floor(positions).astype(np.int64)
        on_point = (lowest <= nearest) & (nearest <= highest) & (np.abs(positions - nearest) < 1e-9)
        on_point &= derivative == 0
        first = below - width // 2 + 1
        at_edge = (first < lowest) | (first + width - 1 > highest)
        self.of_edge = min(EDGE_NODES[derivative], highest - lowest + 1)
        edge_first = np.maximum(below - self.of_edge // 2 + 1, lowest)
        edge_first = np.minimum(edge_first, highest - self.of_edge + 1)
        self.count = np.where(on_point, 1, np.where(at_edge, self.of_edge, width))
        first = np.where(at_edge, edge_first, first)
        self.first = np.where(on_point, nearest.astype(np.int64), first)
        self.on_point = on_point

    @cached_property
    def weights(self):
        """Weights, shape (n, width) or wider: zero behind the last point."""
        weights = np.zeros((len(self.positions), max(self.width, self.of_edge)))
        weights[self.on_point, 0] = 1.0
        for points in {self.of_edge, self.width}:
            rows = np.flatnonzero((self.count == points) & ~self.on_point)
            x = np.round(self.positions[rows] - self.first[rows], 12)
            different, of_row = np.unique(x, return_inverse=True)
            solve = fitted_many if self.together else _solved_one_by_one
            weights[rows, :points] = solve(different, points, self.derivative)[of_row]
        return weights


def _solved_one_by_one(x, count, derivative):
    """Return `fitted_many` with the bits that each x has alone: a system with many right sides rounds otherwise. Beyond MANY they are
    solved together.
    """
    if len(x) > MANY:
        return fitted_many(x, count, derivative)
    system, right = _system(x, count, derivative)
    systems = np.broadcast_to(system, (len(x), *system.shape))
    return np.linalg.solve(systems, right.T[:, :, None])[:, :count, 0]


def fitted_many(x, count, derivative=0):
    """Return weights, (n, count), on 0 .. count - 1 for the values or derivatives at positions x, (n,); see `AxisWeights`."""
    return np.linalg.solve(*_system(np.asarray(x, dtype=float), count, derivative))[:count].T


def _system(x, count, derivative):
    """Matrix (m, m) and right sides (m, n) of the weights at x, shape (n,)."""
    nodes = np.arange(count, dtype=float)
    right = _band_integral(nodes[:, None] - x, derivative)
    centre, degrees = nodes.mean(), np.arange(min(DEGREE, count))[:, None]
    moments = (x - centre) ** degrees if derivative == 0 else degrees * (x - centre) ** np.maximum(degrees - 1, 0)
    return _matrix(count), np.concatenate([right, moments])


@lru_cache(64)
def _matrix(count):
    """Return the normal equations of the misfit over the band, with the polynomials that are
    exact, (m, m): inner products of cosines, k integrated from 0 to BAND.
    """
    nodes = np.arange(count, dtype=float)
    degrees = np.arange(min(DEGREE, count))
    gram = BAND * np.sinc((nodes[:, None] - nodes) * BAND / np.pi) + 1e-7 * np.eye(count)
    exact = (nodes - nodes.mean()) ** degrees[:, None]
    return np.block([[gram, exact.T], [exact, np.zeros((len(degrees),) * 2)]])


def _band_integral(u, derivative):
    """Integral over k of cos(k u), or of its derivative with respect to the position, k sin(k u)."""
    if derivative == 0:
        return BAND * np.sinc(u * BAND / np.pi)
    is_small = np.abs(u) < 1e-6
    x = np.where(is_small, 1.0, u)
    return np.where(is_small, u * BAND**3 / 3, (np.sin(BAND * x) - BAND * x * np.cos(BAND * x)) / x**2)


def scattered_weights(position, half, at, derivative=None):
    """Weights around one position on given points only: moving least squares, exact for linear
    functions, quadratic where it can be.

    Parameters
    ----------
    position, half : (3,) sequence of float, of int
        Along x, y, z in spacings; 1 where the points lie half a cell after the integer ones.
    derivative : int, optional
        Axis of the derivative that is wanted in place of the value.
    at : tuple of int arrays
        Indices (k, j, i) of the points that may be used; along y they may all be the same, in a
        plane.

    Returns
    -------
    ndarray or None
        One weight per point; None where there are too few of them.
    """
    offset = np.stack([at[2 - a] + half[a] / 2 - position[a] for a in range(3)], axis=1).astype(float)
    axes = [a for a in range(3) if (offset[:, a] != offset[:1, a]).any()]
    if not len(offset) or derivative not in (None, *axes):
        return None
    u = offset[:, axes]
    near = np.exp(-(u**2).sum(1) / 2)
    root = np.sqrt(near)[:, None]
    for degree in (2, 1, 0):
        basis = [np.ones(len(u)), *(u.T if degree else ())]
        basis += [u[:, a] * u[:, b] for a in range(len(axes)) for b in range(a, len(axes))] if degree == 2 else []
        matrix = np.stack(basis, axis=1) * root
        left, singular, right = np.linalg.svd(matrix, full_matrices=False)
        if len(u) >= matrix.shape[1] and singular[0] < WORST * singular[-1]:
            break
    if derivative is not None and degree == 0:
        return None
    wanted = np.zeros(matrix.shape[1])
    wanted[0 if derivative is None else 1 + axes.index(derivative)] = 1.0
    return left @ (right @ wanted / singular) * root[:, 0]
