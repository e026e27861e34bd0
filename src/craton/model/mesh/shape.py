"""Reference hexahedra: Gauss-Lobatto-Legendre points, shape functions of 8 and 27 nodes, Jacobians."""

import numpy as np

from craton.io.contents import NODE_ORDERS

BLOCK = 4096  # elements handled at a time, so that temporaries stay in the cache
ROWS = 16  # that BLAS multiplies by its main kernels: a multiple of what its blocks have

# lexicographic corners among the nodes of an element
CORNERS = {8: np.arange(8), 27: np.array([0, 2, 6, 8, 18, 20, 24, 26])}


def lexicographic(elements, order):
    """Elements (ne, 8 or 27) in the node order of a format (a key of `NODE_ORDERS`), in lexicographic order.

    `elements` (ne, 8 or 27) int.
    """
    place = np.array(NODE_ORDERS[order])
    if elements.shape[1] == 8:
        place = np.searchsorted(CORNERS[27], place[:8])
    out = np.empty_like(elements)
    out[:, place] = elements
    return out


def gll_points(degree):
    """Gauss-Lobatto-Legendre points of a degree: (degree + 1,) from -1 to 1, the ends and the zeros of the derivative
    of P_degree.
    """
    if degree < 1:
        raise ValueError(f"the degree is {degree}; it must be 1 or more")
    slope = np.polynomial.Legendre.basis(degree).deriv()
    inner = np.sort(slope.roots().real)
    # Newton's method: roots() of degree 8 is good to 1e-15 already, symmetry is not
    for _ in range(3):
        inner = inner - slope(inner) / slope.deriv()(inner)
    points = np.concatenate([[-1.0], inner, [1.0]])
    return (points - points[::-1]) / 2


def functions(p, local):
    """Shape functions of p = 2 or 3 nodes an axis at reference coordinates (m, d): values (m, p^d) and slopes (m, p^d,
    d).

    Nodes are lexicographic, the first coordinate fastest.

    `p`: 2 or 3 nodes along each axis; `local` (m, d).
    """
    x = np.asarray(local, float)
    value = _values_along(p, x)
    if p == 2:
        slope = np.broadcast_to([-0.5, 0.5], (*x.shape, 2))
    else:
        slope = np.stack([x - 0.5, -2 * x, x + 0.5], -1)
    dims = x.shape[1]
    slopes = [_product([slope[:, a] if a == b else value[:, a] for a in range(dims)]) for b in range(dims)]
    return _product([value[:, a] for a in range(dims)]), np.stack(slopes, -1)


def values(p, local):
    """Shape functions as of `functions`, without slopes: (m, p^d).

    `p`: 2 or 3 nodes along each axis; `local` (m, d).
    """
    value = _values_along(p, np.asarray(local, float))
    return _product(list(value.swapaxes(0, 1)))


def _values_along(p, x):
    """Values of the p nodes of an axis at coordinates, with an axis of nodes behind theirs."""
    if p == 2:
        return np.stack([(1 - x) / 2, (1 + x) / 2], -1)
    return np.stack([x * (x - 1) / 2, 1 - x * x, x * (x + 1) / 2], -1)


def _product(factors):
    """Products of the nodes' values along each axis, the first axis fastest."""
    out = factors[0]
    for factor in factors[1:]:
        out = (factor[:, :, None] * out[:, None, :]).reshape(len(out), factor.shape[1] * out.shape[1])
    return out


def lattice(points):
    """Return the places (xi, eta, zeta) of all triples of 1-D points, xi fastest: (n^3, 3).

    `points` (n,): reference coordinates along each axis.
    """
    zeta, eta, xi = np.meshgrid(points, points, points, indexing="ij")
    return np.stack([xi.ravel(), eta.ravel(), zeta.ravel()], axis=1)


def nodes_per_edge(count):
    """2 for hexahedra with 8 nodes, 3 for those with 27.

    `count`: nodes of an element.
    """
    return {8: 2, 27: 3}[count]


def product(rows, matrix):
    """Return rows @ matrix with bits that do not depend on how many rows there are.

    BLAS takes what is left over of its blocks of rows by other kernels, which on processors without AVX-512 round
    otherwise: an element's points would depend on the batch or rank it is in.

    `rows` (m, k); `matrix` (k, n).
    """
    whole = len(rows) // ROWS * ROWS
    out = np.empty((len(rows), matrix.shape[1]), np.result_type(rows, matrix))
    np.matmul(rows[:whole], matrix, out=out[:whole])
    if whole < len(rows):
        filled = np.zeros((ROWS, rows.shape[1]), rows.dtype)
        filled[: len(rows) - whole] = rows[whole:]
        out[whole:] = (filled @ matrix)[: len(rows) - whole]
    return out


def positions(places, elements, points):
    """Coordinates of the points of a lattice in elements: (ne, n^3, 3).

    `places` (m, 3): coordinates of the nodes, m; `elements` (ne, 8 or 27); `points` (n,): reference coordinates along
    each axis.
    """
    shapes = values(nodes_per_edge(elements.shape[1]), lattice(points)).T
    rows = places[elements].transpose(0, 2, 1).reshape(-1, len(shapes))
    return product(rows, shapes).reshape(len(elements), 3, -1).transpose(0, 2, 1)


def is_affine(places, elements, tolerance=1e-9):
    """Return true (ne,) for elements that are parallelepipeds: their Jacobian is the same everywhere.

    `places` (m, 3): nodes, m; `elements` (ne, 8 or 27) int; `tolerance`: relative.
    """
    p = nodes_per_edge(elements.shape[1])
    zeta, eta, xi = (c.ravel() for c in np.indices((p, p, p)) / (p - 1))
    out = np.empty(len(elements), bool)
    for start in range(0, len(elements), BLOCK):
        corners = places[elements[start : start + BLOCK]]
        corners = corners - corners[:, :1]
        edges = corners[:, [p - 1, p * (p - 1), p * p * (p - 1)]]
        error = np.abs(corners - np.einsum("ia,eic->eac", np.stack([xi, eta, zeta]), edges)).max(axis=(1, 2))
        out[start : start + BLOCK] = error <= tolerance * np.abs(edges).max(axis=(1, 2))
    return out


def determinants(places, elements, points):
    """Return determinants of the Jacobian d(x, y, z)/d(xi, eta, zeta) at the points of a lattice: (ne, n^3), m3.

    The volume of an element is the integral of it over the reference cube [-1, 1]^3: 8 times it for a parallelepiped.
    See `positions` for the parameters.

    `places` (m, 3): nodes, m; `elements` (ne, 8 or 27) int; `points` (n,): reference coordinates along each axis.
    """
    slopes = functions(nodes_per_edge(elements.shape[1]), lattice(points))[1]
    count = len(slopes)
    operator = np.ascontiguousarray(slopes.transpose(1, 2, 0).reshape(elements.shape[1], -1))
    out = np.empty((len(elements), count))
    block = max(1, BLOCK * 27 // count)
    for start in range(0, len(elements), block):
        corners = places[elements[start : start + block]]
        corners = corners - corners[:, :1]
        rows = product(corners.transpose(2, 0, 1).reshape(-1, len(operator)), operator)
        rows = rows.reshape(3, -1, 3, count)
        (xa, xb, xc), (ya, yb, yc), (za, zb, zc) = (row.swapaxes(0, 1) for row in rows)
        out[start : start + block] = xa * (yb * zc - yc * zb) + xb * (yc * za - ya * zc) + xc * (ya * zb - yb * za)
    return out


def quality(places, elements):
    """Least scaled Jacobian of each element over its corners: (ne,); 1 for boxes, at most 0 where an element is folded.

    The determinant of the three edges that meet in a corner, over the product of their lengths (the Verdict library's
    definition).

    `places` (m, 3): nodes, m; `elements` (ne, 8 or 27) int.
    """
    corners = elements[:, CORNERS[elements.shape[1]]]
    least = np.ones(len(corners))
    for corner in range(8):
        ends = [corner ^ (1 << d) for d in range(3)]
        sign = np.prod([-1.0 if corner >> d & 1 else 1.0 for d in range(3)])
        a, b, c = (places[corners[:, end]] - places[corners[:, corner]] for end in ends)
        lengths = np.prod([np.linalg.norm(v, axis=1) for v in (a, b, c)], axis=0)
        volume = sign * np.einsum("ec,ec->e", np.cross(a, b), c)
        np.minimum(least, np.divide(volume, lengths, out=np.zeros_like(volume), where=lengths > 0), out=least)
    return least
