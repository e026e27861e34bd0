"""Geometry of elements: coordinates, metric terms, area vectors of faces; matrices of points on
faces. All in float64.

An element is given by 27 nodes relative to its centre, local (ne, 3, 27): node (c * 3 + b) * 3 + a
at the a-th, b-th, c-th of the positions -1, 0, 1 along xi, eta, zeta. Arrays over its points are
(ne, ..., n^3). Where meshes are large, callers go batch by batch (`batches`).
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

from craton.host.compile import helper
from craton.methods.spectral_element.mesh.element import Element, lagrange, lagrange_slopes
from craton.model.media.cells import in_parallel
from craton.model.mesh.shape import product

NODES = np.array([-1.0, 0.0, 1.0])
HALVES = np.array([[1, 0.5, 0], [0, 0.5, 1]])
MIDDLES = np.kron(HALVES, np.kron(HALVES, HALVES))  # (8, 27): nodes in the middle between corners
CENTRE_BATCH = 1 << 14  # elements per batch when only centroids are needed
BATCH = 256  # elements per batch: their temporaries stay in the cache
SCAN = Path(__file__).parent / "scan.cpp"


def compiled(name, *arguments):
    """Call a function of scan.cpp, which takes a batch of elements, with contiguous arrays and numbers."""
    return helper(SCAN).call(name, *arguments)


def batches(count, size=BATCH):
    """Return slices of at most `size` elements."""
    return [slice(a, min(a + size, count)) for a in range(0, count, size)]


def centres(mesh):
    """Return the means of the nodes of each element, (ne, 3), m."""
    means = np.empty((mesh.size, 3))

    def average(part):
        means[part] = mesh.nodes[mesh.elements[part]].mean(axis=1)

    in_parallel(average, batches(mesh.size, CENTRE_BATCH))
    return means


def relative(nodes):
    """Split nodes (ne, 27, 3) of elements into local coordinates (ne, 3, 27) and centres (ne, 3)."""
    nodes = np.asarray(nodes, float)
    centres = nodes.mean(1)
    return np.ascontiguousarray((nodes - centres[:, None]).transpose(0, 2, 1)), centres


def corners(local):
    """Return the corners (ne, 3, 8) of elements."""
    return np.ascontiguousarray(local.reshape(-1, 3, 3, 3, 3)[..., ::2, ::2, ::2]).reshape(-1, 3, 8)


@lru_cache
def interpolation(degree):
    """Return values of the 27 shape functions at the points, (27, n^3), and their slopes along xi,
    eta, zeta, (27, 3, n^3).
    """
    points = Element(degree).points
    value, slope = lagrange(NODES, points).T, lagrange_slopes(NODES, points).T  # (3, n)
    lines = [[slope if m == s else value for m in range(3)] for s in range(4)]
    tables = [np.einsum("ai,bj,ck->cbakji", *line).reshape(27, -1) for line in lines]
    return tables[3], np.stack(tables[:3], axis=1)


def coordinates(element, local, nodes=slice(None)):
    """Return coordinates of the points, or of selected nodes, relative to the centre, (ne, 3, n^3)."""
    values = interpolation(element.degree)[0][:, nodes]
    return product(local.reshape(-1, 27), values).reshape(len(local), 3, values.shape[1])


def jacobian(element, local, nodes=slice(None)):
    """Return J[s, r] = d x_r / d xi_s at the points, or at selected nodes, (ne, 3, 3, n^3)."""
    rows = jacobian_rows(element, local, nodes)
    return rows.reshape(len(local), 3, 3, rows.shape[1] // 3).swapaxes(1, 2)


def jacobian_rows(element, local, nodes=slice(None)):
    """Return d x_r / d xi_s at the points, or at selected nodes, rows [element][r] and columns [s][node]."""
    slopes = interpolation(element.degree)[1][:, :, nodes]
    return product(local.reshape(-1, 27), slopes.reshape(27, -1))


def cross(t, u):
    """Return cross products of vectors (ne, 3, ...), one component after another."""
    out = np.empty(t.shape)
    for r in range(3):
        a, b = (r + 1) % 3, (r + 2) % 3
        np.multiply(t[:, a], u[:, b], out=out[:, r])
        out[:, r] -= t[:, b] * u[:, a]
    return out


def cofactors(jacobian):
    """Return A[s, r] = det J * d xi_s / d x_r, and det J: (ne, 3, 3, n^3), (ne, n^3)."""
    a = np.stack([cross(jacobian[:, (s + 1) % 3], jacobian[:, (s + 2) % 3]) for s in range(3)], 1)
    return a, (jacobian[:, 0] * a[:, 0]).sum(1)


def determinants(element, local):
    """Return det J at the points, (ne, n^3)."""
    slopes = jacobian_rows(element, local)
    out = np.empty((len(local), slopes.shape[1] // 3))
    compiled("determinants", *out.shape, slopes, out)
    return out


def metric(element, local):
    """Return d xi_s / d x_r in rows 3 s + r, then det J: (ne, 10, n^3); the kernels' GEOMETRY = STORED."""
    a, det = cofactors(jacobian(element, local))
    return np.concatenate([(a / det[:, None, None]).reshape(len(local), 9, -1), det[:, None]], 1)


def area_vectors(element, local, faces):
    """Return the outward normal times area times quadrature weight at the nodes of faces.

    Parameters
    ----------
    element : Element
    local : (ne, 3, 27) array
        Nodes.
    faces : (nf, 2) int array
        Element and local face.

    Returns
    -------
    (nf, n^2, 3) array
        m2, in the order of `element.face_nodes`.
    """
    faces = np.asarray(faces)
    out = np.empty((len(faces), element.n**2, 3))
    for side in range(6):
        rows = np.flatnonzero(faces[:, 1] == side)
        for part in batches(len(rows)):
            batch = rows[part]
            j = jacobian(element, local[faces[batch, 0]], element.face_nodes[side])
            vectors = cross(j[:, (side // 2 + 1) % 3], j[:, (side // 2 + 2) % 3])
            out[batch] = vectors.transpose(0, 2, 1) * (element.face_weights * (1 if side % 2 else -1))[:, None]
    return out


def implicit(damping, mass, dt):
    """Return G = M (M + dt/2 C)^-1 as (m, 6), for C (m, 6) and M (m,), which makes absorbing faces
    stable at any damping.
    """
    place = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
    full = mass[:, None, None] * np.eye(3) + dt / 2 * damping[:, place]
    g = mass[:, None, None] * np.linalg.inv(full)
    return g[:, (0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)]


def unique_pairs(solid, fluid, vectors):
    """Return pairs of a solid and a fluid point at one place, each once.

    Parameters
    ----------
    solid, fluid : (nf, n^2) int array
        Global numbers of the same places on both sides.
    vectors : (nf, n^2, 3) array
        Area vectors that point out of the fluid, m2.

    Returns
    -------
    (m, 2) int array, (m, 3) array
        Solid and fluid point; the sum of the area vectors.
    """
    span = int(np.max(fluid, initial=0)) + 1
    keys, pair = np.unique(np.ravel(solid).astype(np.int64) * span + np.ravel(fluid), return_inverse=True)
    pairs = np.stack(np.divmod(keys, span), 1)
    flat = vectors.reshape(-1, 3)
    return pairs, np.stack([np.bincount(pair.ravel(), flat[:, c], len(pairs)) for c in range(3)], 1)
