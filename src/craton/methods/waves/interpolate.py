"""Values and derivatives anywhere between staggered points, as weights on points around: for
receivers, their adjoint for sources.
"""

import math
from functools import cached_property, lru_cache

import numpy as np

NODES = 8  # points per axis inside the grid
# of a value and of a derivative, where the grid ends before the fourth point on one side
EDGE_NODES = (4, 6)
# wavenumber times spacing up to which weights are fitted: 4 points per wavelength
BAND = 0.5 * np.pi
REACH = 3  # points to each side that are looked at where some hold nothing
WORST = 1e4  # condition of a fit
MANY = 1 << 16  # different positions from which the last bit of weights gives way to speed
DEGREE = 6  # polynomials of lower degree are exact


def axis_weights(position, lowest, highest, derivative=0):
    """Weights on integer indices for the value (or first derivative) at `position`, in units of the
    spacing.

    Constrained least squares: exact for polynomials below degree 6 and, within that, closest to the
    exact exponential over wavenumbers up to pi/2 per spacing. On eight points it is more accurate
    than the Kaiser-windowed sinc of Hicks (2002) on the same points over that band, and it holds at
    the edge of the grid too, where only points within `lowest` .. `highest` may be used.

    Returns
    -------
    first : int
        Index of the first point.
    weights : ndarray
        One weight per point.
    """
    first, count = axis_points(position, lowest, highest, derivative)
    if count == 1 and derivative == 0:
        return first, np.ones(1)
    return first, _fitted(round(position - first, 12), count, derivative)


def axis_points(position, lowest, highest, derivative=0):
    """Return the first point and the number of points of `axis_weights`."""
    nearest = round(position)
    if derivative == 0 and abs(position - nearest) < 1e-9 and lowest <= nearest <= highest:
        return nearest, 1
    below = math.floor(position)
    first = below - NODES // 2 + 1
    if first < lowest or first + NODES - 1 > highest:
        count = min(EDGE_NODES[derivative], highest - lowest + 1)
        return min(max(below - count // 2 + 1, lowest), highest - count + 1), count
    return first, NODES


def axis_weights_many(positions, lowest, highest, derivative=0):
    """Return first points (n,), their numbers (n,) and weights (n, NODES) of `AxisWeights`.

    Parameters
    ----------
    positions, lowest, highest, derivative
        See there.
    """
    axis = AxisWeights(positions, lowest, highest, derivative)
    return axis.first, axis.count, axis.weights


class AxisWeights:
    """The weights of `axis_weights` for many positions, each with the same bits.

    Parameters
    ----------
    positions : ndarray, shape (n,)
        In units of the spacing.
    lowest, highest : int
        Limits of the indices.
    derivative : int, optional

    Attributes
    ----------
    first : ndarray of int, shape (n,)
        Index of the first point of each position.
    count : ndarray of int, shape (n,)
        Number of its points.
    """

    def __init__(self, positions, lowest, highest, derivative=0):
        self.positions = positions = np.asarray(positions, dtype=float)
        self.derivative = derivative
        nearest, below = np.rint(positions), np.floor(positions).astype(np.int64)
        on_point = (lowest <= nearest) & (nearest <= highest) & (np.abs(positions - nearest) < 1e-9)
        on_point &= derivative == 0
        first = below - NODES // 2 + 1
        at_edge = (first < lowest) | (first + NODES - 1 > highest)
        self.of_edge = min(EDGE_NODES[derivative], highest - lowest + 1)
        edge_first = np.maximum(below - self.of_edge // 2 + 1, lowest)
        edge_first = np.minimum(edge_first, highest - self.of_edge + 1)
        self.count = np.where(on_point, 1, np.where(at_edge, self.of_edge, NODES))
        first = np.where(at_edge, edge_first, first)
        self.first = np.where(on_point, nearest.astype(np.int64), first)
        self.on_point = on_point

    @cached_property
    def weights(self):
        """Weights, shape (n, NODES): zero behind the last point."""
        weights = np.zeros((len(self.positions), NODES))
        weights[self.on_point, 0] = 1.0
        for points in {self.of_edge, NODES}:
            rows = np.flatnonzero((self.count == points) & ~self.on_point)
            x = np.round(self.positions[rows] - self.first[rows], 12)
            different, of_row = np.unique(x, return_inverse=True)
            weights[rows, :points] = _solved_one_by_one(different, points, self.derivative)[of_row]
        return weights


def _solved_one_by_one(x, count, derivative):
    """Weights, shape (n, count), with the bits that `_solved` gives for each x alone: a system with
    many right sides rounds otherwise. Beyond MANY they are solved together.
    """
    if len(x) > MANY:
        return _solved(x, count, derivative).T
    system, right = _system(x, count, derivative)
    systems = np.broadcast_to(system, (len(x), *system.shape))
    return np.linalg.solve(systems, right.T[:, :, None])[:, :count, 0]


def fitted_many(x, count):
    """Weights, shape (n, count), on 0 .. count - 1 for the values at positions x, shape (n,); see
    `axis_weights`.
    """
    return _solved(np.asarray(x, dtype=float), count, 0).T


@lru_cache(4096)
def _fitted(x, count, derivative):
    """Weights on 0 .. count - 1 for the value or derivative at x; see `axis_weights`."""
    return _solved(np.array([x]), count, derivative)[:, 0]


def _solved(x, count, derivative):
    """Weights, shape (count, n)."""
    return np.linalg.solve(*_system(x, count, derivative))[:count]


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
    safe = np.where(np.abs(u) < 1e-6, 1.0, u)
    return np.where(
        np.abs(u) < 1e-6, u * BAND**3 / 3, (np.sin(BAND * safe) - BAND * safe * np.cos(BAND * safe)) / safe**2
    )


def scattered_weights(position, half, at, derivative=None):
    """Weights around one position on given points only: moving least squares, exact for linear
    functions, quadratic where it can be.

    Parameters
    ----------
    position, half, derivative
        As `point_weights` has them.
    at : tuple of int arrays
        Indices (k, j, i) of the points that may be used; along y they may all be the same, in a
        plane.

    Returns
    -------
    ndarray
        One weight per point.
    """
    offset = np.stack([at[2 - a] + half[a] / 2 - position[a] for a in range(3)], axis=1).astype(float)
    axes = [a for a in range(3) if np.ptp(offset[:, a]) > 0]
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
    wanted = np.zeros(matrix.shape[1])
    wanted[0 if derivative is None else 1 + axes.index(derivative)] = 1.0
    return left @ (right @ wanted / singular) * root[:, 0]


def point_indices(position, half, shape, derivative=None, vertical=None):
    """Return indices (k, j, i), flat, of the points of `point_weights`, without their weights."""
    spans = [
        axis_points(position[a] - half[a] / 2, 0, shape[2 - a] - 1 - half[a], int(derivative == a))
        for a in ((0, 1) if vertical else (0, 1, 2))
    ]
    spans += [(vertical[0], len(vertical[1]))] if vertical else []
    ranges = (np.arange(first, first + count) for first, count in reversed(spans))
    return tuple(index.ravel() for index in np.meshgrid(*ranges, indexing="ij"))


def point_weights(position, half, shape, derivative=None, vertical=None, limits=None):
    """Weights around one position on the points of a staggered field.

    Parameters
    ----------
    position : tuple of float
        (x, y, z) in units of the spacing from the grid's point (0, 0, 0).
    half : tuple of int
        Axes (x, y, z) along which the field lies half a cell later.
    shape : tuple of int
        Points of the grid along (z, y, x).
    derivative : int, optional
        Axis of a first derivative, per spacing.
    vertical : (int, ndarray), optional
        First index and weights along z, in place of the fitted ones.
    limits : (int, int), optional
        Lowest and highest index along z that may be used.

    Returns
    -------
    k, j, i : ndarray of int
        Indices, flat.
    weights : ndarray
        One weight per index.
    """
    own = (0, 1) if vertical else (0, 1, 2)
    ends = [(0, shape[2 - a] - 1 - half[a]) for a in range(3)]
    ends[2] = limits or ends[2]
    fitted = [axis_weights(position[a] - half[a] / 2, *ends[a], int(derivative == a)) for a in own]
    firsts, axes = zip(*fitted, *([vertical] if vertical else []))
    k, j, i = np.meshgrid(*(firsts[a] + np.arange(len(axes[a])) for a in (2, 1, 0)), indexing="ij")
    weights = axes[2][:, None, None] * axes[1][:, None] * axes[0]
    return k.ravel(), j.ravel(), i.ravel(), weights.ravel()
