"""What the elements' shapes give: coordinates, metric terms, mass, area vectors of faces; absorbing and coupled points. All in float64.

An element is given by 27 nodes relative to its centre, local (ne, 3, 27): node (c * 3 + b) * 3 + a at the a-th, b-th, c-th of the positions
-1, 0, 1 along xi, eta, zeta. Arrays over its points are (ne, ..., n^3). Where meshes are large, callers go batch by batch (`batches`).
"""
import numpy as np

from craton.solvers.sem_elastic.element import lagrange, lagrange_slopes

NODES = np.array([-1.0, 0.0, 1.0])
BATCH = 8192  # elements: some hundred MB of temporaries at degree 4


def batches(count, size=BATCH):
    """Slices of at most `size` elements."""
    return [slice(a, min(a + size, count)) for a in range(0, count, size)]


def relative(nodes):
    """Elements from their nodes (ne, 27, 3): local coordinates (ne, 3, 27) and centres (ne, 3)."""
    nodes = np.asarray(nodes, float)
    centres = nodes.mean(1)
    return np.ascontiguousarray((nodes - centres[:, None]).transpose(0, 2, 1)), centres


def corners(local, tolerance=1e-7):
    """Corners (ne, 3, 8) of elements, and True (ne,) where the other nodes lie in the middle between them, to `tolerance` of the size."""
    cube = local.reshape(len(local), 3, 3, 3, 3)
    eight = cube[..., ::2, ::2, ::2]
    half = np.array([[1, 0], [0.5, 0.5], [0, 1]])
    ideal = np.einsum("Cc,Bb,Aa,excba->exCBA", half, half, half, eight, optimize=True)
    straight = np.abs(cube - ideal).max((1, 2, 3, 4)) <= tolerance * np.ptp(eight.reshape(len(local), 3, 8), axis=2).min(1)
    return np.ascontiguousarray(eight).reshape(len(local), 3, 8), straight


def contracted(local, along_xi, along_eta, along_zeta):
    """Sum over the nodes, axis after axis: (ne, 3, n^3)."""
    cube = local.reshape(len(local), 3, 3, 3, 3)
    for matrix in (along_xi, along_eta, along_zeta):  # the last axis goes, the new one comes first of the three
        cube = np.moveaxis(cube @ matrix.T, -1, 2)
    return cube.reshape(len(local), 3, -1)


def coordinates(element, local):
    """Coordinates of the points relative to the centre, (ne, 3, n^3)."""
    values = lagrange(NODES, element.points)
    return contracted(local, values, values, values)


def jacobian(element, local):
    """J[s, r] = d x_r / d xi_s at the points, (ne, 3, 3, n^3)."""
    values, slopes = lagrange(NODES, element.points), lagrange_slopes(NODES, element.points)
    return np.stack([contracted(local, *(slopes if m == s else values for m in range(3))) for s in range(3)], 1)


def cofactors(jacobian):
    """A[s, r] = det J * d xi_s / d x_r, and det J: (ne, 3, 3, n^3), (ne, n^3)."""
    a = [np.cross(jacobian[:, (s + 1) % 3], jacobian[:, (s + 2) % 3], axis=1) for s in range(3)]
    return np.stack(a, 1), (jacobian[:, 0] * a[0]).sum(1)


def metric(element, local):
    """d xi_s / d x_r in rows 3 s + r, then det J: (ne, 10, n^3); the kernels' GEOMETRY = STORED."""
    a, det = cofactors(jacobian(element, local))
    return np.concatenate([(a / det[:, None, None]).reshape(len(local), 9, -1), det[:, None]], 1)


def boxes(local, tolerance=1e-6):
    """Edge lengths (ne, 3) of elements that are boxes along the axes, nan where one is not; `tolerance` relative to the shortest edge."""
    cube = local.reshape(len(local), 3, 3, 3, 3)  # [e][x y z][c][b][a]
    edges = np.stack([cube[:, 0, 1, 1, 2] - cube[:, 0, 1, 1, 0], cube[:, 1, 1, 2, 1] - cube[:, 1, 1, 0, 1],
                      cube[:, 2, 2, 1, 1] - cube[:, 2, 0, 1, 1]], 1)  # fmt: skip
    c, b, a = np.meshgrid(NODES, NODES, NODES, indexing="ij")
    ideal = np.stack([a, b, c])[None] * (edges / 2)[:, :, None, None, None]
    off = np.abs(cube - ideal).max((1, 2, 3, 4)) > tolerance * np.abs(edges).min(1)
    return np.where((off | (edges <= 0).any(1))[:, None], np.nan, edges)


def mass(element, local, points, count, weight):
    """Diagonal mass matrix.

    Parameters
    ----------
    element : Element
    local : (ne, 3, 27) array
        Nodes.
    points : (ne, n^3) int array
        Global numbers.
    count : int
        Global points.
    weight : (ne, n^3) or (ne, 1) array
        Density; of a fluid 1 / kappa.

    Returns
    -------
    (count,) array
    """
    total = np.zeros(count)
    for part in batches(len(local)):
        det = cofactors(jacobian(element, local[part]))[1]
        total += np.bincount(points[part].ravel(), (det * element.volume_weights * weight[part]).ravel(), count)
    return total


def area_vectors(element, local, faces):
    """Outward normal times area times quadrature weight at the nodes of faces.

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
    for part in batches(len(faces)):
        which, side = faces[part].T
        a = cofactors(jacobian(element, local[which]))[0]
        rows = np.arange(len(which))
        own = a[rows, side // 2].transpose(0, 2, 1)  # (nf, n^3, 3)
        signed = own[rows[:, None], element.face_nodes[side]] * np.where(side % 2, 1.0, -1.0)[:, None, None]
        out[part] = signed * element.face_weights[:, None]
    return out


def absorbing(points, vectors, rho, vp, vs):
    """Damping of absorbing faces, C = sum of rho area (vp n n^T + vs (I - n n^T)), once for each point.

    Parameters
    ----------
    points : (nf, n^2) int array
        Global numbers of the faces' nodes.
    vectors : (nf, n^2, 3) array
        Their area vectors, m2.
    rho, vp, vs : (nf, n^2) or broadcast
        Density and speeds of P and S waves there.

    Returns
    -------
    (m,) int array, (m, 6) array
        The points, rising; C as xx, yy, zz, yz, xz, xy in kg/s.
    """
    area = np.linalg.norm(vectors, axis=-1)
    n = vectors / area[..., None]
    pairs = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
    terms = [area * rho * ((vp - vs) * n[..., a] * n[..., b] + vs * (a == b)) for a, b in pairs]
    found, at = np.unique(points, return_inverse=True)
    return found, np.stack([np.bincount(at.ravel(), t.ravel(), len(found)) for t in terms], 1)


def implicit(damping, mass, dt):
    """G = M (M + dt/2 C)^-1 as (m, 6), for C (m, 6) and M (m,): makes the absorbing faces stable at any damping."""
    place = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
    full = mass[:, None, None] * np.eye(3) + dt / 2 * damping[:, place]
    g = mass[:, None, None] * np.linalg.inv(full)
    return g[:, (0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)]


def coupled(solid, fluid, vectors):
    """Pairs of a solid and a fluid point at one place, each once.

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
    pairs, at = np.unique(np.stack([np.ravel(solid), np.ravel(fluid)], 1), axis=0, return_inverse=True)
    flat = vectors.reshape(-1, 3)
    return pairs, np.stack([np.bincount(at.ravel(), flat[:, c], len(pairs)) for c in range(3)], 1)
