"""The largest stable time step of a mesh, from the highest frequency of the assembled elements that are worst.

Central differences are stable while w dt < 2 for the highest frequency w of M^-1 K. Its mode lives where elements are smallest for their
speeds, at a folded corner, at an edge of the mesh: some elements and their neighbours tell it. Three steps lead there:

    every element       a cheap indicator: vp^2 times the trace of the inverse metric, times its share of the assembled mass, at 27 nodes
    those worst by it   largest eigenvalue of M^-1 K_e with the assembled mass M and the stiffness K_e of the element, by Lanczos' method
    those worst of them with two rings of neighbours: largest eigenvalue of M^-1 K_S with their assembled stiffness, the same way

The last is at most that of the whole mesh; it was from 0.96 to 1.0 of it for uniform and distorted meshes of a thousand elements and
degrees 2 to 6, and `MARGIN` stands for what may be lacking. The classical bound by the eigenvalues of elements alone (Irons & Treharne
1971) is within 2 % for uniform meshes, but 3 times too low in dt where corners are moved by a fifth of an edge. A fixed Courant number,
as 0.5 in SPECFEM, is either slow or unstable: at the limit, step times vp over the shortest distance of nodes is 0.57 for distorted cubes
of degree 4, 0.76 for flat boxes, 0.38 for distorted cubes of fluid.
"""
from dataclasses import dataclass
from functools import partial

import numpy as np

from craton.model import cells, sampling
from craton.solvers.sem_elastic.element import Element

KRYLOV, KRYLOV_WHOLE = 16, 40  # steps of Lanczos' method: of single elements, of assembled ones
MARGIN = 1.08  # on the largest eigenvalue: 4 % in the step
BLOCK = 1024  # elements estimated at a time
BATCH = 256  # elements whose eigenvalues are found at a time
CANDIDATES = 512  # elements whose own eigenvalue is looked at
SEEDS, RINGS = 64, 2  # the worst of them, and their neighbours
MOST = 2000  # elements that are assembled
CORNERS = np.array([[0, 0, 0], [0, 0, -1], [0, -1, 0], [0, -1, -1], [-1, 0, 0], [-1, 0, -1], [-1, -1, 0], [-1, -1, -1]])
TENSOR = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])


@dataclass(frozen=True)
class Stable:
    """The stability limit of a mesh.

    Parameters
    ----------
    limit : float
        Largest stable step, s.
    element : int
        The worst.
    courant : float
        At the limit: step over the shortest distance of neighbouring nodes divided by the P speed there, of this element.
    """

    limit: float
    element: int
    courant: float


@dataclass(frozen=True, eq=False)
class Part:
    """The solid or the fluid elements of a mesh, for whose shapes and material is asked when needed.

    Parameters
    ----------
    element : Element
    coordinates, material : callable
        ``coordinates(e)`` (len(e), 3, n^3), m, and ``material(e)``, a dict as of `craton.model.sampling.at_nodes`, of elements e.
    points : (ne, n^3) int array
        Numbers of the nodes among the points of the solid, or the fluid.
    mass : (points,) array
        Assembled: kg, of a fluid m3 / Pa.
    some : (m,) int array
        Which elements.
    wet : bool
        The fluid.
    relaxation : Relaxation or None
        Attenuation: moduli are those at the highest frequencies.
    """

    element: Element
    coordinates: object
    material: object
    points: np.ndarray
    mass: np.ndarray
    some: np.ndarray
    wet: bool
    relaxation: object = None


def stable_step(element, coordinates, material, points, fluid, masses, relaxation=None):
    """The `Stable` of a mesh.

    Parameters
    ----------
    element, coordinates, material, relaxation
        See `Part`.
    points : (ne, n^3) int array
        Numbers of the nodes, in fluid elements among the fluid's points.
    fluid : (ne,) bool array
    masses : pair of (points,) arrays
        Assembled mass of the solid, integral of density; of the fluid, integral of 1 / kappa. Perhaps with a dummy point at the end.
    """
    found = []
    for wet in (False, True):
        some = np.flatnonzero(fluid == wet)
        if len(some):
            part = Part(element, coordinates, material, points.reshape(len(points), -1), masses[wet], some, wet, relaxation)
            found.append(largest(part))
    value, worst = max(found)
    limit = 2 / np.sqrt(value * MARGIN)
    one = np.array([worst])
    return Stable(float(limit), worst, float(limit / shortest_times(element, coordinates(one), p_speed(material(one), relaxation)).min()))


def largest(part):
    """Largest eigenvalue of the assembled elements that are worst, 1/s2, and the worst element."""
    estimate = estimates(part)
    candidates = part.some[np.argsort(-estimate, kind="stable")[:CANDIDATES]]
    own = np.concatenate([eigenvalues(part, candidates[at : at + BATCH]) for at in range(0, len(candidates), BATCH)])
    worst = candidates[np.argsort(-own, kind="stable")]
    chosen = grown(part, worst[:SEEDS])
    while len(chosen) > MOST and len(worst) > 1:
        worst = worst[: max(1, min(SEEDS, len(worst)) // 2)]
        chosen = grown(part, worst)
    return assembled(part, chosen), int(worst[0])


# --- every element ---------------------------------------------------------------------------------------------------------------------


def estimates(part):
    """The indicator of each element, 1/s2: its largest value at corners, middles and centre."""
    out, nodes = np.empty(len(part.some)), few_nodes(part.element)
    for start in range(0, len(out), BLOCK):
        own = part.some[start : start + BLOCK]
        across, det = cofactors(few_slopes(part.element, part.coordinates(own)))
        trace = sum(across[s, r] ** 2 for s in range(3) for r in range(3)) / det**2
        samples = {name: v[..., nodes] for name, v in part.material(own).items()}
        share = inertia(samples, part.wet) * det * part.element.volume_weights[nodes] / part.mass[part.points[own][:, nodes]]
        out[start : start + BLOCK] = (p_speed(samples, part.relaxation) ** 2 * trace * share).max(axis=1)
    return out


def few(element):
    """First, middle and last node along an axis."""
    return [0, element.n // 2, element.n - 1]


def few_nodes(element):
    """Nodes at corners, middles of edges and faces and the centre (or next to the middle), (27,)."""
    some = few(element)
    return np.arange(element.size).reshape(3 * (element.n,))[np.ix_(some, some, some)].ravel()


def few_slopes(element, coordinates):
    """d x_r / d xi_s at `few_nodes` as [s][r] arrays (ne, 27)."""
    n, some = element.n, few(element)
    cube, d = coordinates.reshape(-1, 3, n, n, n), element.derivative[:, some]
    lines = (cube[:, :, some][:, :, :, some] @ d, np.swapaxes(np.swapaxes(cube[:, :, some][..., some], -1, -2) @ d, -1, -2),
             np.moveaxis(np.moveaxis(cube[..., some, :][..., some], 2, -1) @ d, -1, 2))  # fmt: skip
    return [[np.ascontiguousarray(line[:, r]).reshape(len(cube), -1) for r in range(3)] for line in lines]


def cofactors(j):
    """Cofactors A[s, r] = det d xi_s / d x_r and the determinant, of d x_r / d xi_s as [s][r] arrays of one shape."""
    out = np.empty((3, 3, *j[0][0].shape))
    for s in range(3):
        t, u = j[(s + 1) % 3], j[(s + 2) % 3]
        for r in range(3):
            a, b = (r + 1) % 3, (r + 2) % 3
            out[s, r] = t[a] * u[b] - t[b] * u[a]
    return out, sum(j[0][r] * out[0, r] for r in range(3))


def p_speed(samples, relaxation):
    """Speed of P waves at the highest frequencies; of an anisotropic medium along the stiffest axis."""
    if "stiffness" in samples:
        diagonal = np.max([samples["stiffness"][:, n] for n in (0, 6, 11)], axis=0)  # c11, c22, c33
        return np.sqrt(diagonal / samples["rho"])
    return samples["vp"] * (np.sqrt(relaxation.unrelaxed(samples["loss_p"])) if relaxation is not None else 1.0)


def inertia(samples, wet):
    """What the mass integrates: density, of a fluid 1 / kappa."""
    return 1 / cells.moduli(samples["vp"], 0.0, samples["rho"])[0] if wet else samples["rho"]


# --- eigenvalues -------------------------------------------------------------------------------------------------------------------------


def eigenvalues(part, some):
    """Largest eigenvalue of M^-1 K_e of elements each for itself, with the assembled mass: (len(some),), 1/s2."""
    stiffness, _, shape = operator(part, some)
    root = 1 / np.sqrt(part.mass[part.points[some]])[:, None]
    return lanczos(lambda u: stiffness(u * root) * root, shape, KRYLOV)


def assembled(part, some, steps=KRYLOV_WHOLE):
    """Largest eigenvalue of M^-1 K of the assembled stiffness of elements, with the assembled mass of all, 1/s2."""
    stiffness, _, (_, fields, _) = operator(part, some)
    own, number = np.unique(part.points[some], return_inverse=True)
    number, root = number.reshape(len(some), -1), 1 / np.sqrt(part.mass[own])

    def apply(vector):
        u = (vector.reshape(fields, -1) * root)[:, number].swapaxes(0, 1)
        force = stiffness(u)
        sums = np.stack([np.bincount(number.ravel(), force[:, c].ravel(), len(own)) for c in range(fields)])
        return (sums * root).reshape(1, -1)

    return float(lanczos(apply, (1, fields * len(own)), steps)[0])


def grown(part, some, rings=RINGS):
    """Elements and those around them, `rings` times."""
    n = part.element.n
    corners = (CORNERS % n) @ [n * n, n, 1]
    touched = np.zeros(len(part.mass), bool)
    for _ in range(rings):
        touched[part.points[some][:, corners]] = True
        some = part.some[touched[part.points[part.some][:, corners]].any(axis=1)]
    return some


def derivatives(element, field):
    """Derivatives along xi, eta, zeta of fields (..., n^3) at the nodes: (3, ..., n^3)."""
    n, d = element.n, element.derivative  # d[a, i] = l_a'(xi_i)
    cube = field.reshape(*field.shape[:-1], n, n, n)
    along = (cube @ d, np.swapaxes(np.swapaxes(cube, -1, -2) @ d, -1, -2), np.einsum("...kji,kl->...lji", cube, d, optimize=True))
    return np.stack([one.reshape(field.shape) for one in along])


def transposed(element, fields):
    """The transpose of `derivatives`: (3, ..., n^3) to (..., n^3)."""
    n, d = element.n, element.derivative
    xi, eta, zeta = (one.reshape(*one.shape[:-1], n, n, n) for one in fields)
    total = xi @ d.T + np.swapaxes(np.swapaxes(eta, -1, -2) @ d.T, -1, -2) + np.einsum("...lji,kl->...kji", zeta, d, optimize=True)
    return total.reshape(fields[0].shape)


def metric(element, coordinates):
    """d xi_s / d x_r, (ne, 3, 3, n^3), and the Jacobian's determinant times the quadrature weights, (ne, n^3)."""
    across, det = cofactors(derivatives(element, coordinates).swapaxes(1, 2))
    return (across / det).transpose(2, 0, 1, 3), det * element.volume_weights


def operator(part, some):
    """K_e of elements as a function of fields (ne, 3 or 1, n^3), their own diagonal masses (ne, n^3), and the shape of the fields."""
    slopes, weight = metric(part.element, part.coordinates(some))
    samples = part.material(some)
    mass = inertia(samples, part.wet) * weight
    if part.wet:
        stiffness = partial(_of_fluid, part.element, slopes, weight / samples["rho"])
    elif "stiffness" in samples:
        stiffness = partial(_of_solid, part.element, slopes, partial(_anisotropic, hooke(samples) * weight[:, None, None]))
    else:
        lam, mu = sampling.moduli(samples, part.relaxation)[0].swapaxes(0, 1) * weight
        stiffness = partial(_of_solid, part.element, slopes, partial(_isotropic, lam, mu))
    return stiffness, mass, (len(some), 1 if part.wet else 3, weight.shape[1])


def _of_solid(element, slopes, law, u):
    """Elastic forces of displacements (ne, 3, n^3); `law` makes stress of displacement gradients, with quadrature weights."""
    along = derivatives(element, u)  # (s, n, i, m)
    grad = [[sum(slopes[:, s, j] * along[s, :, i] for s in range(3)) for j in range(3)] for i in range(3)]  # d u_i / d x_j
    stress = law(grad)
    flux = [np.stack([sum(slopes[:, s, j] * stress[i][j] for j in range(3)) for i in range(3)], axis=1) for s in range(3)]
    return transposed(element, np.stack(flux))


def _isotropic(lam, mu, grad):
    """Stress [i][j] of an isotropic medium."""
    volume = lam * (grad[0][0] + grad[1][1] + grad[2][2])
    shear = {(i, j): mu * (grad[i][j] + grad[j][i]) for i in range(3) for j in range(i, 3)}
    return [[shear[min(i, j), max(i, j)] + (volume if i == j else 0) for j in range(3)] for i in range(3)]


def _anisotropic(law, grad):
    """Stress [i][j] by Hooke's law (ne, 6, 6, n^3)."""
    pairs = ((1, 2), (0, 2), (0, 1))
    strain = np.stack([*(grad[i][i] for i in range(3)), *(grad[i][j] + grad[j][i] for i, j in pairs)], axis=1)
    stress = np.einsum("nabm,nbm->nam", law, strain)
    return [[stress[:, TENSOR[i, j]] for j in range(3)] for i in range(3)]


def _of_fluid(element, slopes, weight, chi):
    """The same of (1 / kappa) chi'' = div (grad chi / rho); `weight` over density."""
    grad = np.einsum("nsjm,nsm->njm", slopes, derivatives(element, chi[:, 0]).swapaxes(0, 1), optimize=True)
    return transposed(element, np.einsum("nsjm,njm->snm", slopes, grad * weight[:, None], optimize=True))[:, None]


def hooke(samples):
    """Hooke's law of 21 constants at the nodes, (ne, 6, 6, n^3), Pa."""
    rho, upper = samples["rho"], np.triu_indices(6)
    law = np.zeros((len(rho), 6, 6, rho.shape[1]))
    law[:, upper[0], upper[1]] = law[:, upper[1], upper[0]] = samples["stiffness"]
    return law


def lanczos(apply, shape, steps):
    """Largest eigenvalue of symmetric operators, one for each first index, from a random vector: from below."""
    vector = np.broadcast_to(np.random.default_rng(1).standard_normal(shape[1:]), shape)
    axes = tuple(range(1, len(shape)))
    spread = (slice(None), *(None,) * len(axes))
    norm = np.sqrt((vector**2).sum(axis=axes))
    vector, before, beta = vector / norm[spread], np.zeros(shape), np.zeros(shape[0])
    diagonal, off = np.zeros((shape[0], steps)), np.zeros((shape[0], steps))
    for n in range(steps):
        after = apply(vector) - beta[spread] * before
        diagonal[:, n] = (after * vector).sum(axis=axes)
        after = after - diagonal[:, n][spread] * vector
        beta = np.sqrt((after**2).sum(axis=axes))
        off[:, n] = beta
        before, vector = vector, after / np.maximum(beta, 1e-300)[spread]
    full = np.zeros((shape[0], steps, steps))
    index = np.arange(steps)
    full[:, index, index] = diagonal
    full[:, index[1:], index[:-1]] = off[:, :-1]
    return np.linalg.eigvalsh(full)[:, -1]


def shortest_times(element, coordinates, speed):
    """Distance of neighbouring nodes over the faster of their speeds, the shortest of each element, s: (ne,)."""
    n = element.n
    cube, fast = coordinates.reshape(-1, 3, n, n, n), speed.reshape(-1, n, n, n)
    least = np.full(len(cube), np.inf)
    for axis in range(3):
        distance = np.sqrt((np.diff(cube, axis=axis + 2) ** 2).sum(axis=1))
        low, high = (np.take(fast, range(a, n - 1 + a), axis=axis + 1) for a in (0, 1))
        least = np.minimum(least, (distance / np.maximum(low, high)).min(axis=(1, 2, 3)))
    return least
