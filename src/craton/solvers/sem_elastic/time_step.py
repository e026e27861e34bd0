"""The largest stable time step of a mesh: 2 / sqrt of the largest eigenvalue of its own operator, compiled, by Lanczos' method.

The leapfrog is stable while dt^2 times that eigenvalue is below 4, whatever absorbs or attenuates (undamped.py). The worst mode lives where
elements are smallest for their speeds, at a folded corner, and often at an edge or a corner of the box, where masses have no neighbours:
of a homogeneous box of cubes with vp / vs = 2.5 the step may be 0.84 of that of its inside at edges, 0.82 of it at corners. What elements tell
alone, or those near them, does not show which it is.

Of large meshes Lanczos' method looks at a part: power steps on all elements show where the field grows fastest, there and around it the
largest eigenvalue is found. That of a part is never larger than that of the whole.
"""
from dataclasses import dataclass, replace

import numpy as np

from craton.model import cells, sampling
from craton.solvers.sem_elastic import faces, families, lanczos
from craton.solvers.sem_elastic.division import of_elements
from craton.solvers.sem_elastic.mesh_terms import batches
from craton.solvers.sem_elastic.undamped import Undamped
from craton.solvers.shared.sharing import Sharing

WHOLE = 1 << 16  # elements of all ranks up to which all are looked at
POWERS = 5  # power steps on larger meshes
SEEDS, RINGS = 4096, 2  # of these, the elements whose field grows fastest, and their neighbours
DIGITS = 4  # of the limit, rounded down: the last ones depend on the order of sums, and so on the partition
SAMPLES = 2  # nodes of an element at which the worst mode is known: opposite corners


@dataclass(frozen=True)
class Stable:
    """The stability limit of a mesh.

    Parameters
    ----------
    limit : float
        Largest stable step, s.
    element : int
        Where the worst mode is largest; -1 if that is another rank's.
    courant : float
        At the limit: step over the shortest distance of neighbouring nodes divided by the P speed there, of this element.
    """

    limit: float
    element: int
    courant: float


def stable_step(d, machine):
    """The `Stable` of a `Discretisation` whose elements are arranged; all ranks must ask.

    Parameters
    ----------
    d : Discretisation
    machine : backend
        Where the operator is applied.
    """
    team, some = d.division.team, np.arange(d.mesh.size)
    if sum(team.every(lambda: d.mesh.size)) <= WHOLE:
        found, energy = largest(Undamped(d, d.elements, machine))
    else:
        some = grown(d, fastest(d, machine))
        part = restricted(d, some)
        found, energy = largest(Undamped(part, part.elements, machine))
    most = team.every(lambda: float(energy.max(initial=0.0)))
    rank = int(np.argmax(most))
    element = int(some[energy.argmax()]) if rank == team.rank else -1
    limit = rounded_down(2 / np.sqrt(found.bound))
    courant = team.every(lambda: courant_number(d, element, limit) if rank == team.rank else 0.0)[rank]
    return Stable(limit, element, courant)


def rounded_down(value):
    """A positive number with `DIGITS` digits."""
    unit = 10.0 ** (np.floor(np.log10(value)) - DIGITS + 1)
    return float(np.floor(value / unit) * unit)


def largest(operator):
    """The `lanczos.Largest` of an `Undamped`, and the energy of its mode at some nodes of each element, relative: (ne,)."""
    d, kept = operator.d, []
    nodes = np.linspace(0, d.element.size - 1, SAMPLES).astype(int)

    def keep(vector):
        """Values at the nodes, in double: (ne, nodes, components) of each medium."""
        kept.append({medium: operator.at(vector, medium, d.points[d.fluid == (medium == "fluid")][:, nodes]) for medium in operator.media})

    found, energy = lanczos.largest(operator, operator.start(), operator.size, keep), np.zeros(d.mesh.size)
    for medium in operator.media:
        fluid = medium == "fluid"
        mode = sum(weight * vector[medium] for weight, vector in zip(found.weights, kept))
        mass = operator.masses[medium][d.points[d.fluid == fluid][:, nodes]]
        scale = found.value if fluid else 1.0  # chi^T K_f chi = value chi^T M_f chi, about
        energy[d.fluid == fluid] = scale * (mass[:, :, None] * mode**2).sum(axis=(1, 2))
    return found, energy


# --- large meshes -------------------------------------------------------------------------------------------------------------------------


def fastest(d, machine):
    """The elements around which a random field grows fastest by the operator: of all ranks together `SEEDS`, and those like the last."""
    operator, team = Undamped(d, d.elements, machine), d.division.team
    vector, before = operator.start(), None
    for _ in range(POWERS):
        before = vector
        vector, square, _ = operator.apply(vector)
        vector = operator.scaled(vector, 1 / max(np.sqrt(square), 1e-300))
    growth = around(d, energies(operator, vector)) / np.maximum(around(d, energies(operator, before)), 1e-300)
    values = np.concatenate(team.every(lambda: -np.sort(-growth)[:SEEDS]))
    return np.flatnonzero(growth >= -np.sort(-values)[: SEEDS][-1] * (1 - 1e-9))


def energies(operator, vector):
    """Sums over the nodes of each element of mass times the square of a vector: (ne,)."""
    d, out = operator.d, np.zeros(operator.d.mesh.size)
    for medium in operator.media:
        values = operator.machine.to_host((vector[medium] ** 2).sum(axis=1) * operator.mass[medium][:, 0])
        own = np.flatnonzero(d.fluid == (medium == "fluid"))

        def add(part, values=values, own=own):
            out[own[part]] = values[d.points[own[part]]].sum(axis=1)

        cells.in_parallel(add, batches(len(own), 1 << 12))
    return out


def around(d, values, pairs=None):
    """Sums of values (ne,) over each element and those that touch it, one of them as often as they have corners in common.

    With pairs (m, 2) of a solid and a fluid point, those that touch it in the other medium are among them.
    """
    sums, every = {}, {medium: corners(d, fluid) for fluid, medium in enumerate(("solid", "fluid"))}
    for fluid, (medium, (own, points)) in enumerate(every.items()):
        total = np.bincount(points.ravel(), np.repeat(values[own], 8), len(d.first.mass[fluid]))
        sums[medium] = d.division.shared[medium].complete(total)
    if pairs is not None:
        across = {medium: np.zeros(len(total)) for medium, total in sums.items()}
        for n, (medium, other) in enumerate((("solid", "fluid"), ("fluid", "solid"))):
            across[medium][pairs[:, n]] = sums[other][pairs[:, 1 - n]]
            sums[medium] = sums[medium] + d.division.shared[medium].complete(across[medium])
    out = np.zeros(d.mesh.size)
    for medium, (own, points) in every.items():
        out[own] = sums[medium][points].sum(axis=1)
    return out


def corners(d, fluid):
    """Elements of a medium, and the points at their corners, (m, 8)."""
    own, ends = np.flatnonzero(d.fluid == bool(fluid)), (0, d.element.degree)
    return own, d.points[own][:, [(c * d.element.n + b) * d.element.n + a for c in ends for b in ends for a in ends]]


def grown(d, some, rings=RINGS):
    """Some elements of all ranks and those around them, `rings` times: own ones; all ranks must ask."""
    chosen, rows = np.zeros(d.mesh.size), faces.interface(d)
    chosen[some] = 1
    pairs = faces.coupled_points(d, rows)[0] if len(rows) else np.empty((0, 2), int)
    for _ in range(rings):
        chosen = (around(d, chosen, pairs) > 0).astype(float)
    return np.flatnonzero(chosen)


def restricted(d, some):
    """The problem of some of the elements, with the masses of all, its elements arranged; faces between them and the rest are free."""
    points, shared, masses = np.empty((len(some), d.points.shape[1]), np.int32), {}, []
    for fluid, (medium, sharing) in enumerate(d.division.shared.items()):
        own = d.fluid[some] == bool(fluid)
        used = np.zeros(len(d.first.mass[fluid]), bool)
        used[d.points[some[own]]] = True
        number = np.cumsum(used, dtype=np.int32) - np.int32(1)
        points[own] = number[d.points[some[own]]]
        masses.append(d.first.mass[fluid][used])
        there = sharing.team.swap({rank: used[at].astype(float) for rank, at in (sharing.lists or {}).items()})
        both = {rank: number[at[used[at] & (there[rank] > 0)]] for rank, at in (sharing.lists or {}).items()}
        shared[medium] = Sharing(sharing.team, {rank: at for rank, at in both.items() if len(at)})
    counts = tuple(len(mass) for mass in masses)
    division = replace(d.division, mesh=of_elements(d.mesh, some), points=points, counts=counts, shared=shared, outer=0,
                       numbers=d.division.numbers[some])  # fmt: skip
    part = replace(d, mesh=division.mesh, fluid=d.fluid[some], points=points, state=division.state, division=division,
                   centres=d.centres[some], first=d.first.some(some, masses))  # fmt: skip
    return replace(part, elements=families.all_arranged(part))


# --- in words -----------------------------------------------------------------------------------------------------------------------------


def courant_number(d, element, step):
    """A step over the shortest distance of neighbouring nodes of an element divided by the P speed there."""
    one = np.array([element])
    return float(step / shortest_times(d.element, d.coordinates(one), p_speed(d.material(one), d.relaxation)).min())


def p_speed(samples, relaxation):
    """Speed of P waves at the highest frequencies; of an anisotropic medium along the stiffest axis."""
    if "stiffness" in samples:
        law = sampling.moduli(samples, relaxation)[0]
        return np.sqrt(law[:, sampling.NORMAL].max(axis=1) / samples["rho"])
    return samples["vp"] * (np.sqrt(relaxation.unrelaxed(samples["loss_p"])) if relaxation is not None else 1.0)


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
