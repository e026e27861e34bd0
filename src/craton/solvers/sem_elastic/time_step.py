"""The largest stable time step of a mesh, from the eigenvalues of its elements.

Central differences are stable while w dt < 2 for the highest frequency w of M^-1 K. The largest eigenvalue of the assembled problem is at
most that of the worst element alone, free on all sides: u . K u and u . M u are sums over the elements (Irons & Treharne 1971; Hughes 1987,
section 9.1). On a uniform mesh the bound is exact, as that element's mode, mirrored from element to element, is one of the mesh. So

    dt_max = 2 / sqrt(max over elements of lambda_max(M_e^-1 K_e))

whatever the shape, degree and anisotropy. As a Courant number, step times vp over the shortest distance of neighbouring nodes, this limit is
0.57 for cubes of degree 4 with vp / vs = 1.76, 0.49 for such cubes of fluid, 0.8 for flat boxes, and 0.2 where corners are moved by a fifth
of an edge: a fixed Courant number is either slow or unstable.

lambda_max of every element would cost as much as hundreds of time steps, so elements are ordered by a cheap estimate and looked at from the
worst on, with Lanczos' method, until no other can be worse by the largest ratio of eigenvalue to estimate met so far.
"""
from dataclasses import dataclass

import numpy as np

from craton.model import cells

KRYLOV = 24  # steps of Lanczos' method: the largest eigenvalue to 1e-3 and better, from below
MARGIN = 1.005  # for what is lacking
BLOCK = 1024  # elements estimated at a time
BATCH = 256  # elements looked at together
MOST = 4096  # elements looked at; the bound of those that remain is taken then
ROOM = 1.05  # on the largest ratio of eigenvalue and estimate, for elements not looked at


@dataclass(frozen=True)
class Stable:
    """The stability limit of a mesh.

    Parameters
    ----------
    limit : float
        Largest stable step, s.
    element : int
        That limits it.
    courant : float
        Step over the shortest distance of two nodes divided by the P speed there: of this element at the limit.
    """

    limit: float
    element: int
    courant: float


def stable_step(element, coordinates, material, fluid, count, relaxation=None):
    """The `Stable` of a mesh.

    Parameters
    ----------
    element : Element
    coordinates : callable
        ``coordinates(e)``: nodes of elements e, (len(e), 3, n^3), m.
    material : callable
        ``material(e)``: dict of arrays as of `craton.model.sampling.at_nodes`.
    fluid : (ne,) bool array
    count : int
        Elements.
    relaxation : Relaxation, optional
        Attenuation: moduli are those at the highest frequencies.
    """
    estimate = estimates(element, coordinates, material, count, relaxation)
    order = np.argsort(-estimate, kind="stable")
    best, where, ratio, at = 0.0, int(order[0]), 0.0, 0
    while at < min(count, MOST) and (at == 0 or estimate[order[at]] * ratio * ROOM > best * (1 + 1e-9)):
        some = order[at : at + BATCH]
        if at and np.ptp(estimate[some]) <= 1e-9 * estimate[some[0]] and estimate[some[0]] >= estimate[order[0]] * (1 - 1e-9):
            some = some[:1]  # elements all alike
        values = largest_eigenvalues(element, coordinates(some), material(some), fluid[some], relaxation)
        ratio = max(ratio, float((values / estimate[some]).max()))
        if values.max() > best:
            best, where = float(values.max()), int(some[np.argmax(values)])
        at += BATCH
    if at < count:
        rest = estimate[order[at]] * ratio * ROOM if at >= MOST else 0.0
        best = max(best, rest)
    limit = 2 / np.sqrt(best * MARGIN)
    one = np.array([where])
    return Stable(float(limit), where, float(limit / shortest_times(element, coordinates(one), p_speed(material(one), relaxation)).min()))


def estimates(element, coordinates, material, count, relaxation):
    """vp^2 times the trace of the inverse metric, its largest value at corners, middles and centre of each element, 1/s2: (ne,).

    Eigenvalues grow like it.
    """
    out, some = np.empty(count), few_nodes(element)
    for start in range(0, count, BLOCK):
        own = np.arange(start, min(start + BLOCK, count))
        across, det = cofactors(few_slopes(element, coordinates(own)))
        trace = sum(across[s, r] ** 2 for s in range(3) for r in range(3)) / det**2
        out[own] = (p_speed({name: v[..., some] for name, v in material(own).items()}, relaxation) ** 2 * trace).max(axis=1)
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
    """Speed of P waves at the highest frequencies, of an anisotropic medium that of its stiffest direction or more: (ne, n^3)."""
    if "stiffness" in samples:
        diagonal = np.max([samples["stiffness"][:, n] for n in (0, 6, 11)], axis=0)  # c11, c22, c33
        return np.sqrt(diagonal / samples["rho"])
    return samples["vp"] * (np.sqrt(relaxation.unrelaxed(samples["loss_p"])) if relaxation is not None else 1.0)


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


def largest_eigenvalues(element, coordinates, samples, fluid, relaxation=None):
    """Largest eigenvalue of M^-1 K of elements alone, 1/s2: (ne,), by Lanczos' method."""
    out = np.empty(len(coordinates))
    for wet in (False, True):
        some = np.flatnonzero(fluid == wet)
        if len(some):
            own = {name: values[some] for name, values in samples.items()}
            slopes, weight = metric(element, coordinates[some])
            make = _fluid_operator if wet else _solid_operator
            out[some] = lanczos(*make(element, slopes, weight, own, relaxation))
    return out


def _solid_operator(element, slopes, weight, samples, relaxation):
    """M^-1/2 K M^-1/2 of solid elements as a function of (ne, 3, n^3), and that shape."""
    law = hooke(samples, relaxation)
    root = 1 / np.sqrt(samples["rho"] * weight)[:, None]

    def apply(u):
        grad = np.einsum("nsjm,nsim->nijm", slopes, derivatives(element, u * root).swapaxes(0, 1), optimize=True)  # d u_i / d x_j
        strain = np.stack([grad[:, 0, 0], grad[:, 1, 1], grad[:, 2, 2], grad[:, 1, 2] + grad[:, 2, 1], grad[:, 0, 2] + grad[:, 2, 0],
                           grad[:, 0, 1] + grad[:, 1, 0]], axis=1)  # fmt: skip
        stress = np.einsum("nabm,nbm->nam", law, strain, optimize=True) * weight[:, None]
        full = stress[:, [[0, 5, 4], [5, 1, 3], [4, 3, 2]]]  # (n, i, j, m)
        flux = np.einsum("nsjm,nijm->snim", slopes, full, optimize=True)
        return transposed(element, flux) * root

    return apply, (len(weight), 3, weight.shape[1])


def hooke(samples, relaxation):
    """Hooke's law at the nodes, (ne, 6, 6, n^3), Pa."""
    rho = samples["rho"]
    law = np.zeros((len(rho), 6, 6, rho.shape[1]))
    if "stiffness" in samples:
        upper = np.triu_indices(6)
        law[:, upper[0], upper[1]] = law[:, upper[1], upper[0]] = samples["stiffness"]
        return law
    from craton.model.sampling import moduli

    (lam, mu), _ = moduli(samples, relaxation)[0].swapaxes(0, 1), None
    law[:, :3, :3] = lam[:, None, None]
    for n in range(3):
        law[:, n, n] += 2 * mu
        law[:, n + 3, n + 3] = mu
    return law


def _fluid_operator(element, slopes, weight, samples, relaxation):
    """The same of fluid elements: of (1 / kappa) chi'' = div (grad chi / rho)."""
    kappa, _ = cells.moduli(samples["vp"], 0.0, samples["rho"])
    root = np.sqrt(kappa / weight)

    def apply(chi):
        grad = np.einsum("nsjm,nsm->njm", slopes, derivatives(element, chi * root).swapaxes(0, 1), optimize=True)
        flux = np.einsum("nsjm,njm->snm", slopes, grad * (weight / samples["rho"])[:, None], optimize=True)
        return transposed(element, flux) * root

    return apply, weight.shape


def lanczos(apply, shape, steps=KRYLOV):
    """Largest eigenvalue of symmetric operators, one for each first index, from a vector with all frequencies in it."""
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
