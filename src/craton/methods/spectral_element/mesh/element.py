"""The reference element: Gauss-Lobatto-Legendre points and weights, derivatives, Lagrange
interpolation, nodes of the faces.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import Legendre

from craton.model.mesh import numbering
from craton.model.mesh.shape import gll_points

DEGREES = tuple(range(2, 9))


@dataclass(frozen=True)
class Element:
    """The cube [-1, 1]^3 with (degree + 1)^3 nodes; node (k n + j) n + i at the i-th, j-th, k-th
    point along xi, eta, zeta.

    Parameters
    ----------
    degree : int
        Polynomial degree along each axis, 2 to 8.
    """

    degree: int

    @property
    def n(self):
        """Nodes along an axis."""
        return self.degree + 1

    @property
    def size(self):
        """Nodes of the element."""
        return self.n**3

    @cached_property
    def points(self):
        """Gauss-Lobatto-Legendre points (n,), rising: -1, 1 and the zeros of the derivative of the
        Legendre polynomial.
        """
        return gll_points(self.degree)

    @cached_property
    def weights(self):
        """Their weights (n,): exact for polynomials up to degree 2 degree - 1."""
        return 2 / (self.degree * self.n * Legendre.basis(self.degree)(self.points) ** 2)

    @cached_property
    def derivative(self):
        """D[a, i] = l_a'(xi_i), (n, n): derivatives of the Lagrange polynomials at the points."""
        return lagrange_slopes(self.points, self.points).T

    @cached_property
    def volume_weights(self):
        """Weights of the element's nodes, (n^3,)."""
        w = self.weights
        return np.einsum("k,j,i->kji", w, w, w).ravel()

    @cached_property
    def face_nodes(self):
        """Nodes of each face, (6, n^2); faces 0 .. 5: xi = -1, 1, eta = -1, 1, zeta = -1, 1."""
        return numbering.face_nodes(self.degree)

    @cached_property
    def face_weights(self):
        """Weights of the nodes of a face, (n^2,)."""
        return np.outer(self.weights, self.weights).ravel()


def lagrange(points, where):
    """Evaluate the Lagrange polynomials of points.

    Parameters
    ----------
    points : (n,) array
        Interpolation points.
    where : (...) array
        Positions at which they are evaluated.

    Returns
    -------
    (..., n) array
        l_a(where), exactly 0 and 1 at the points.
    """
    points, where = np.asarray(points, float), np.asarray(where, float)
    away = where[..., None, None] - points  # row a: all factors of l_a
    diagonal = np.eye(len(points), dtype=bool)
    return np.prod(np.where(diagonal, 1.0, away), -1) / np.prod(np.where(diagonal, 1.0, points[:, None] - points), -1)


def lagrange_slopes(points, where):
    """Evaluate the derivatives of the Lagrange polynomials of points: (..., n), arguments as for `lagrange`."""
    points, where = np.asarray(points, float), np.asarray(where, float)
    n = len(points)
    total = np.zeros((*where.shape, n))
    for left in range(n):  # product rule: one factor after another is left out
        factors = ~np.eye(n, dtype=bool)
        factors[:, left] = False
        terms = np.prod(np.where(factors, where[..., None, None] - points, 1.0), -1)
        terms[..., left] = 0
        total += terms
    diagonal = np.eye(n, dtype=bool)
    return total / np.prod(np.where(diagonal, 1.0, points[:, None] - points), -1)
