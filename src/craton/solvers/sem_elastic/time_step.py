"""The largest stable time step of a mesh, from the highest frequency of the assembled elements that are worst.

Central differences are stable while w dt < 2 for the highest frequency w of M^-1 K. Its mode lives where elements are smallest for their
speeds, at a folded corner, at an edge of the mesh: some elements and their neighbours tell it. Three steps lead there:

    every element       a cheap indicator: vp^2 times the trace of the inverse metric, times its share of the assembled mass, at 27 nodes
    those worst by it, and the worst of each class of shapes: largest eigenvalue of M^-1 K_e with the assembled mass M and the stiffness K_e
                        of the element, by Lanczos' method
    those worst of them with two rings of neighbours: largest eigenvalue of M^-1 K_S with their assembled stiffness, the same way

The last is at most that of the whole mesh; it was from 0.96 to 1.0 of it for uniform and distorted meshes of a thousand elements and
degrees 2 to 6, and a margin stands for what may be lacking. The classical bound by the eigenvalues of elements alone (Irons & Treharne
1971) is within 2 % for uniform meshes, but 3 times too low in dt where corners are moved by a fifth of an edge. A fixed Courant number,
as 0.5 in SPECFEM, is either slow or unstable: at the limit, step times vp over the shortest distance of nodes is 0.57 for distorted cubes
of degree 4, 0.76 for flat boxes, 0.38 for distorted cubes of fluid.
"""
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from craton.model import cells, sampling
from craton.plan.shares import One
from craton.solvers.sem_elastic import worst
from craton.solvers.sem_elastic.element import Element
from craton.solvers.sem_elastic.mesh_terms import batches, cofactors

KRYLOV, KRYLOV_WHOLE = 16, 40  # most steps of Lanczos' method: of single elements, of assembled ones
CHECK, SETTLED = 8, 1e-3  # steps after which it ends where they changed less, relative
MARGIN = 1.08  # on the largest eigenvalue: 4 % in the step
IRREGULAR = 1.3  # the same where not all elements are looked at and they differ: of 6156 distorted ones, 22 % were lacking; of 332,100 in
# a chunk of the Earth, 22 %, as the worst mode is that of several elements none of which is the worst alone
ALIKE, CLASSES = 0.01, 16  # indicators of elements that do not differ; classes of shapes of a mesh in which they do not
SMALL = 64  # elements whose forces are found at a time: their fields stay in the cache
BATCH = 256  # elements whose eigenvalues are found at a time
CANDIDATES = 512  # elements whose own eigenvalue is looked at: those with the largest indicator,
SHAPES = 2048  # and one of each shape, as the eigenvalue is from 15 to 43 times the indicator in a chunk of the Earth
SEEDS, RINGS = 64, 2  # the worst of them, and their neighbours
MOST = 250_000  # nodes of elements that are assembled
CORNERS = np.array([[0, 0, 0], [0, 0, -1], [0, -1, 0], [0, -1, -1], [-1, 0, 0], [-1, 0, -1], [-1, -1, 0], [-1, -1, -1]])
PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
CONSTANT = np.zeros((6, 6), int)  # where c_ab is among the 21
CONSTANT[np.triu_indices(6)] = CONSTANT.T[np.triu_indices(6)] = np.arange(21)
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
        ``coordinates(e)`` (len(e), 3, n^3), m, and ``material(e, nodes)``, a dict as of `craton.model.sampling.at_nodes`, of elements e, at
        all of their nodes or some.
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
    jacobian : callable or None
        ``jacobian(e, nodes)`` d x_r / d xi_s at some nodes, (len(e), 3, 3, nodes); without it made from the coordinates.
    """

    element: Element
    coordinates: object
    material: object
    points: np.ndarray
    mass: np.ndarray
    some: np.ndarray
    wet: bool
    relaxation: object = None
    jacobian: object = None

    def slopes(self, some, nodes):
        """What `jacobian` gives."""
        if self.jacobian is not None:
            return self.jacobian(some, nodes)
        return derivatives(self.element, self.coordinates(some)).swapaxes(0, 1)[..., nodes]


def stable_step(element, coordinates, material, points, fluid, masses, relaxation=None, jacobian=None, coupling=0.0, own=None, team=None):
    """The `Stable` of a mesh; of several ranks that of all their elements, with -1 for an element of another rank.

    Parameters
    ----------
    element, coordinates, material, relaxation, jacobian
        See `Part`.
    points : (ne, n^3) int array
        Numbers of the nodes, in fluid elements among the fluid's points.
    fluid : (ne,) bool array
    masses : pair of (points,) arrays
        Assembled mass of the solid, integral of density; of the fluid, integral of 1 / kappa. Perhaps with a dummy point at the end.
    coupling : float
        Where fluid and solid touch, see `together`, 1/s2.
    own : int, optional
        The first elements, which are a rank's own; the others are around these. By default all.
    team : craton.comm.Together, optional
    """
    team, own, found = team or One(), len(points) if own is None else own, []
    for wet in (False, True):
        some = np.flatnonzero(fluid == wet)
        part = Part(element, coordinates, material, points.reshape(len(points), -1), masses[wet], some, wet, relaxation, jacobian)
        found.append(largest(part, int(np.searchsorted(some, own)), team))
    value, element_, rank = max(found)
    if all(one[0] for one in found):
        value = together(*(one[0] for one in found), coupling)
    limit, one = 2 / np.sqrt(value), np.array([element_])

    def courant():
        return limit / shortest_times(element, coordinates(one), p_speed(material(one), relaxation)).min() if rank == team.rank else None

    return Stable(float(limit), element_ if rank == team.rank else -1, float(team.every(courant)[rank]))


def together(solid, fluid, coupling):
    """Bound of the largest eigenvalue of a solid and a fluid that touch, from those of each alone, 1/s2.

    With M u'' + K u = -B^T chi'' and M_f chi'' + K_f chi = B u the leapfrog has the eigenvalues of the symmetric matrix
    [[k + g, -h], [-h^T, k_f]]: k = M^-1/2 K M^-1/2, g = M^-1/2 B^T M_f^-1 B M^-1/2, h = M^-1/2 B^T M_f^-1 K_f^1/2, and
    k_f = K_f^1/2 M_f^-1 K_f^1/2.
    `coupling` is the norm of g, the largest (area vector)^2 / (mass of the solid's point x mass of the fluid's); that of h^T h is at most
    its product with `fluid`. Two media with like limits lose up to a tenth of the step more than they must.
    """
    middle, half = (solid + coupling + fluid) / 2, (solid + coupling - fluid) / 2
    return middle + np.sqrt(half**2 + coupling * fluid)


def largest(part, own, team):
    """Largest eigenvalue of the assembled elements that are worst with its margin, 1/s2, the worst element, and the rank that has it.

    Each rank looks at its `own` elements, the first of the part, and those around the worst of them; 0 where no rank has any.
    """
    estimate, shapes = estimates(part, own)
    places, alike, count = candidates_of(estimate, shapes, team)
    if not count:
        return 0.0, -1, 0
    candidates = part.some[places]
    values = np.concatenate([np.empty(0), *(eigenvalues(part, candidates[at : at + BATCH]) for at in range(0, len(candidates), BATCH))])
    order = np.argsort(-values, kind="stable")
    chosen = seeds(part, candidates[order], values[order], team)
    every = team.every(lambda: (assembled(part, chosen) if len(chosen) else 0.0, values.max(initial=0)))
    margin = MARGIN if alike or count <= CANDIDATES else IRREGULAR
    rank = int(np.argmax([own for _, own in every]))
    return margin * max(value for value, _ in every), int(candidates[order[0]]) if rank == team.rank else -1, rank


def seeds(part, candidates, values, team):
    """The worst candidates, whose `values` fall, with the elements around them: those that all ranks together can look at."""
    count = SEEDS
    while True:
        chosen = grown(part, candidates[: worst.largest(values, count, team)[1]])
        if count == 1 or sum(team.every(lambda own=chosen: len(own))) * part.element.size <= MOST:
            return chosen
        count //= 2


def candidates_of(estimate, shapes, team):
    """The elements whose own eigenvalue is looked at, as places in `estimate`: the worst by it, and the worst of each class of shapes.

    Also whether all elements of all ranks are alike, and how many they are.
    """
    count = sum(team.every(lambda: len(estimate)))
    if not count:
        return np.empty(0, int), True, 0
    order = np.argsort(-estimate, kind="stable")
    values, own = worst.largest(estimate[order], CANDIDATES, team)
    classes, number = worst.of_classes(estimate, shapes, values[0], SHAPES, team)
    alike = number <= CLASSES and np.ptp(values) <= ALIKE * values[0]
    return np.unique(np.concatenate([order[:own], classes])), alike, count


# --- every element ---------------------------------------------------------------------------------------------------------------------


def estimates(part, count):
    """The indicator of the first elements, 1/s2: its largest value at corners, middles and centre; and the class of the shape, (ne, 5)."""
    out, shapes, nodes = np.empty(count), np.empty((count, 5), np.int16), few_nodes(part.element)

    def find(block):
        own = part.some[block]
        across, det = cofactors(part.slopes(own, nodes))
        samples = part.material(own, nodes)
        share = inertia(samples, part.wet) * det * part.element.volume_weights[nodes] / part.mass[part.points[own][:, nodes]]
        found = p_speed(samples, part.relaxation) ** 2 * (across**2).sum(axis=(1, 2)) / det**2 * share
        worst = found.argmax(axis=1)
        rows = np.arange(len(own))
        out[block], shapes[block] = found[rows, worst], shape_of(across[rows, :, :, worst])

    cells.in_parallel(find, batches(count))
    return out, shapes


def shape_of(gradients):
    """Class of the shape of elements from the directions of d xi_s / d x, (n, 3, 3): ratios of lengths and angles, (n, 5) int."""
    lengths = np.linalg.norm(gradients, axis=2)
    along = gradients / lengths[:, :, None]
    cosines = [(along[:, a] * along[:, b]).sum(axis=1) for a, b in ((0, 1), (0, 2), (1, 2))]
    return np.rint(worst.FINE * np.column_stack([np.log2(lengths[:, 1:] / lengths[:, :1]), *cosines])).astype(np.int16)


def few_nodes(element):
    """Nodes at corners, middles of edges and faces and the centre (or next to the middle), (27,)."""
    some = [0, element.n // 2, element.n - 1]
    return np.arange(element.size).reshape(3 * (element.n,))[np.ix_(some, some, some)].ravel()


def p_speed(samples, relaxation):
    """Speed of P waves at the highest frequencies; of an anisotropic medium along the stiffest axis."""
    if "stiffness" in samples:
        law = sampling.moduli(samples, relaxation)[0]
        return np.sqrt(law[:, sampling.NORMAL].max(axis=1) / samples["rho"])
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


@lru_cache
def in_plane(degree):
    """Matrix from the n^2 values of a plane zeta = const to derivatives along xi and, behind them, eta: (n^2, 2 n^2)."""
    d = Element(degree).derivative  # d[a, i] = l_a'(xi_i)
    one = np.eye(len(d))
    return np.hstack([np.kron(one, d), np.kron(d, one)])


def derivatives(element, field):
    """Derivatives along xi, eta, zeta of fields (..., n^3) at the nodes: (3, ..., n^3)."""
    n = element.n
    out, planes = np.empty((3, *field.shape)), field.reshape(-1, n, n * n)
    flat = (planes.reshape(-1, n * n) @ in_plane(element.degree)).reshape(*planes.shape[:2], 2, -1)
    out[0].reshape(planes.shape)[...], out[1].reshape(planes.shape)[...] = flat[:, :, 0], flat[:, :, 1]
    np.matmul(element.derivative.T, planes, out=out[2].reshape(planes.shape))
    return out


def transposed(element, fields):
    """The transpose of `derivatives`: (3, ..., n^3) to (..., n^3)."""
    n = element.n
    xi, eta, zeta = fields.reshape(3, -1, n, n * n)
    flat = np.stack([xi, eta], axis=2).reshape(-1, 2 * n * n) @ in_plane(element.degree).T
    return (flat.reshape(xi.shape) + element.derivative @ zeta).reshape(fields.shape[1:])


def metric(element, coordinates):
    """d xi_s / d x_r, (ne, 3, 3, n^3), and the Jacobian's determinant times the quadrature weights, (ne, n^3)."""
    across, det = cofactors(derivatives(element, coordinates).swapaxes(0, 1))
    return across / det[:, None, None], det * element.volume_weights


def operator(part, some):
    """K_e of elements as a function of fields (ne, 3 or 1, n^3), their own diagonal masses (ne, n^3), and the shape of the fields."""
    slopes, weight = metric(part.element, part.coordinates(some))
    samples = part.material(some)
    if part.wet:
        own, law = _of_fluid, (weight / samples["rho"])[:, None]
    else:
        own, law = _of_solid, sampling.moduli(samples, part.relaxation)[0] * weight[:, None]
    blocks = batches(len(some), SMALL)

    def stiffness(u):
        return np.concatenate(list(cells.in_order(lambda block: own(part.element, slopes[block], law[block], u[block]), blocks)))

    return stiffness, inertia(samples, part.wet) * weight, (len(some), 1 if part.wet else 3, weight.shape[1])


def _of_solid(element, slopes, law, u):
    """Elastic forces of displacements (ne, 3, n^3); `law` (ne, 2 or 21, n^3) with quadrature weights."""
    along = derivatives(element, u)  # [s, e, i]
    grad = [sum(slopes[:, s, j, None] * along[s] for s in range(3)) for j in range(3)]  # d u_i / d x_j = grad[j][:, i]
    strain = [grad[j][:, i] if i == j else grad[j][:, i] + grad[i][:, j] for i, j in PAIRS]
    stress = np.empty((len(u), 6, u.shape[2]))
    if law.shape[1] == 2:
        pressure = law[:, 0] * (strain[0] + strain[1] + strain[2])
        for a in range(6):
            stress[:, a] = law[:, 1] * (2 * strain[a]) + pressure if a < 3 else law[:, 1] * strain[a]
    else:
        for a in range(6):
            stress[:, a] = sum(law[:, CONSTANT[a, b]] * strain[b] for b in range(6))
    flux = np.stack([sum(slopes[:, s, j, None] * stress[:, TENSOR[j]] for j in range(3)) for s in range(3)])
    return transposed(element, flux)


def _of_fluid(element, slopes, law, chi):
    """The same of (1 / kappa) chi'' = div (grad chi / rho); `law` 1 / rho with quadrature weights, (ne, 1, n^3)."""
    along = derivatives(element, chi[:, 0])
    grad = [law[:, 0] * sum(slopes[:, s, j] * along[s] for s in range(3)) for j in range(3)]
    return transposed(element, np.stack([sum(slopes[:, s, j] * grad[j] for j in range(3)) for s in range(3)]))[:, None]


def lanczos(apply, shape, steps):
    """Largest eigenvalue of symmetric operators, one for each first index, from a random vector: from below.

    Ends before `steps` where the last `CHECK` steps raised none of them by more than `SETTLED`.
    """
    vector = np.broadcast_to(np.random.default_rng(1).standard_normal(shape[1:]), shape)
    axes = tuple(range(1, len(shape)))
    spread = (slice(None), *(None,) * len(axes))
    norm = np.sqrt((vector**2).sum(axis=axes))
    vector, before, beta = vector / norm[spread], np.zeros(shape), np.zeros(shape[0])
    full, found = np.zeros((shape[0], steps, steps)), np.zeros(shape[0])
    for n in range(steps):
        after = apply(vector) - beta[spread] * before
        full[:, n, n] = (after * vector).sum(axis=axes)
        after = after - full[:, n, n][spread] * vector
        if (n + 1) % CHECK == 0 or n + 1 == steps:
            last, found = found, np.linalg.eigvalsh(full[:, : n + 1, : n + 1])[:, -1]
            if n + 1 == steps or (found - last <= SETTLED * found).all():
                break
        beta = np.sqrt((after**2).sum(axis=axes))
        full[:, n, n + 1] = full[:, n + 1, n] = beta
        before, vector = vector, after / np.maximum(beta, 1e-300)[spread]
    return found


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
