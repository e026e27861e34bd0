"""The largest stable time step of a mesh: 2 / sqrt of the largest eigenvalue of its own operator,
compiled, by Lanczos' method.

The leapfrog is stable while dt^2 times that eigenvalue is below 4, whatever absorbs or attenuates
(undamped.py). The worst mode lives where elements are smallest for their speeds, at a folded
corner, and often at an edge or a corner of the box, where masses have no neighbours: of a
homogeneous box of cubes with vp / vs = 2.5 the step is 0.96 of that of its inside at faces, 0.89 at
edges, 0.82 at corners.

On a large mesh Lanczos' method is applied to a part, which never has a larger eigenvalue than the
whole: the elements likely to have the worst mode and two rings around them. Likely elements have a
large Rayleigh quotient at a corner point: assembled over the mesh, for modes at the corner, and of
the element alone, for modes at its edges and inside, which fewer neighbours hold. They are chosen
separately for each kind of element (elements at its corners, vp / vs, flat or compact), because
modes with equal quotient differ by these. What a part lacks, the bound of Lanczos' method must
cover, which is 1 % above the part's eigenvalue: bench/cases/stable_part.py has it for random meshes
of all kinds, bench/NOTES.md what it found.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.memory import array_bytes
from craton.methods.spectral_element.equations import faces
from craton.methods.spectral_element.equations.undamped import CLOSE, Undamped, lanczos
from craton.methods.spectral_element.mesh.families import arrange_families
from craton.methods.spectral_element.mesh.mesh_statistics import add_at, inertia_by_medium
from craton.methods.spectral_element.mesh.mesh_terms import batches, compiled, jacobian_rows
from craton.methods.spectral_element.mesh.subdomain import select_elements
from craton.methods.waves.exchange import Sharing
from craton.model.media import cells, sampling

# elements of all ranks: the whole mesh up to this number; of a larger one at most as many, or a
# portion of it up to another number
WHOLE, PORTION, MOST = 1 << 13, 1 / 8, 1 << 15
# in media that differ from node to node corners do not tell the worst mode: where more than `MANY` of
# the elements have a node faster than their mean by `ROUGH`, a part is as large as it may be
ROUGH, MANY = 0.05, 0.25
SEEDS, RINGS = 1024, 2  # likeliest elements of each kind, and rings of neighbours around them
GROWN = 4  # times as many elements as seeds are in a part, at least, unless seeds touch each other
# quotients below a part of the one at this place are ignored: a few elements that are all but folded
# do not hide the others
LEAST, PLACE = 0.5, 256
EQUAL = 1e-6  # relative: quotients that differ less are equal, and the numbers of elements decide
RATIOS = np.array([1.6, 2.2, 3.5])  # vp / vs between kinds
# trace of the inverse metric over its largest eigenvalue, 1 (flat) to 3 (a cube), between kinds
COMPACT = np.array([1.2, 1.7, 2.3])
# of the limit, rounded down: the last ones depend on the order of sums, and so on the partition
DIGITS = 4
BATCH_BYTES = 2 << 20  # bytes of the intermediate values of a batch of points or elements
SAMPLES = 2  # nodes of an element at which the worst mode is known: opposite corners


@dataclass(frozen=True)
class Stable:
    """The stability limit of a mesh.

    Parameters
    ----------
    limit : float
        Largest stable step, s.
    element : int
        Element in which the worst mode is largest; -1 if another rank has it.
    courant : float
        At the limit: step over the shortest distance of neighbouring nodes divided by the P speed
        there, of this element.
    nbytes : int
        Bytes of the host's arrays that were held while it was found, those of the medium included.
    """

    limit: float
    element: int
    courant: float
    nbytes: int


def stable_step(medium, families, machine):
    """Return the `Stable` step of a `Medium`; all ranks must call.

    Parameters
    ----------
    medium : Medium
    families : list of families.ArrangedFamily
        All its elements.
    machine : backend
        Machine on which the operator is applied.
    """
    team, selected = medium.subdomain.team, np.arange(medium.mesh.size)
    if total_elements(medium) <= part_size(medium):
        eigenvalue, energy, nbytes = largest_eigenvalue(Undamped(medium, families, machine))
    else:
        selected = likely_elements(medium)
        part = restrict_to(medium, selected)
        undamped = Undamped(part, arrange_families(part), machine)
        eigenvalue, energy, nbytes = largest_eigenvalue(undamped, (medium, families))
    peaks = team.every(lambda: float(energy.max(initial=0.0)))
    rank = int(np.argmax(peaks))
    element = int(selected[energy.argmax()]) if rank == team.rank else -1
    limit = round_down(2 / np.sqrt(eigenvalue.bound))
    courant = team.every(lambda: courant_number(medium, element, limit) if rank == team.rank else 0.0)[rank]
    return Stable(limit, element, courant, nbytes)


def round_down(value):
    """Round a positive number down to `DIGITS` digits."""
    unit = 10.0 ** (np.floor(np.log10(value)) - DIGITS + 1)
    return float(np.floor(value / unit) * unit)


def largest_eigenvalue(operator, held=(), close=CLOSE):
    """Return the `Largest` of an `Undamped`, `close` to its bound, the relative energy of
    its mode at `SAMPLES` nodes of each element, (ne,), and the bytes that this took, those of
    values `held` besides included.
    """
    d, samples = operator.d, []
    nodes = np.linspace(0, d.element.size - 1, SAMPLES).astype(int)
    elements = {m: np.flatnonzero(d.fluid == (m == "fluid")) for m in operator.media}
    sampled = {m: d.points[rows[:, None], nodes] for m, rows in elements.items()}

    def store_sample():
        """Store the values at the nodes: (ne, nodes, components) of each medium."""
        samples.append({m: operator.previous_at(m, points) for m, points in sampled.items()})

    operator.start()
    eigenvalue = lanczos(operator, store_sample, close)
    energy = np.zeros(d.mesh.size)
    for medium in operator.media:
        mode = sum(weight * vector[medium] for weight, vector in zip(eigenvalue.weights, samples))
        mass = operator.masses[medium][sampled[medium]]
        # chi^T K_f chi = value chi^T M_f chi, about
        scale = eigenvalue.value if medium == "fluid" else 1.0
        energy[elements[medium]] = scale * (mass[:, :, None] * mode**2).sum(axis=(1, 2))
    beginning = array_bytes(operator, held) + operator.start_bytes
    nbytes = max(beginning, array_bytes(operator, held, samples)) + BATCH_BYTES
    return eigenvalue, energy, nbytes


# --- large meshes ---------------------------------------------------------------------------------


def total_elements(d):
    """Return the number of elements of all ranks; all must call."""
    return sum(d.subdomain.team.every(lambda: d.mesh.size))


def part_size(d):
    """Return how many elements of all ranks are looked at, at most; all ranks must call."""
    return MOST if is_rough(d) else min(max(WHOLE, int(PORTION * total_elements(d))), MOST)


def is_rough(d):
    """Return whether the medium differs much from node to node, see `ROUGH`; all ranks must call."""
    fast = d.statistics.fastest > (1 + ROUGH) * d.statistics.constant["vp"]
    return bool(sum(d.subdomain.team.every(fast.sum)) > MANY * total_elements(d))


def likely_elements(d):
    """Return the owned elements among those of all ranks that are likely to have the worst mode,
    with the rings around them: (m,).

    All ranks must call. The choice does not depend on the partition.
    """
    team, corners, count = d.subdomain.team, corners_by_medium(d), SEEDS
    most = part_size(d)
    quotients, kinds = indicator(d, corners)
    table = np.concatenate([likely_of_kinds(d, *pair) for pair in zip(quotients, kinds)])
    table = np.concatenate(team.every(lambda: table))
    while count > 1 and GROWN * len(first_of_kinds(table, count)) > most:
        count //= 2
    while True:
        seeds = np.isin(d.subdomain.numbers, first_of_kinds(table, count)[:, 2])
        chosen = grow_selection(d, seeds, corners)
        size = sum(team.every(lambda part=chosen: len(part)))
        if count == 1 or size <= most:
            return chosen
        count = max(1, min(count - 1, int(0.95 * count * most / size)))


def likely_of_kinds(d, quotients, kinds):
    """Return a row (kind, class, number) for each of the `SEEDS` owned elements of a kind that have
    its largest quotients (ne,), the largest first; all ranks must call.
    """
    first = quotients[largest_of(quotients, PLACE)]
    reference = np.sort(np.concatenate(d.subdomain.team.every(lambda: first)))[-PLACE:][0]
    candidates = np.flatnonzero(quotients > LEAST * reference)
    candidates = candidates[np.argsort(kinds[candidates].astype(np.int16), kind="stable")]
    ends = np.flatnonzero(np.diff(kinds[candidates])) + 1
    members = np.split(candidates, ends)
    candidates = np.concatenate([m[largest_of(quotients[m], SEEDS)] for m in members])
    classes = np.rint(np.log(quotients[candidates] / reference) / EQUAL).astype(int)
    rows = [kinds[candidates], -classes, d.subdomain.numbers[candidates]]
    return first_of_kinds(np.column_stack(rows), SEEDS)


def largest_of(values, count):
    """Return the places of the `count` largest values (n,), and of those that are equal to the least of them."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.flatnonzero(values > (1 - 2 * EQUAL) * np.partition(values, -count)[-count])


def first_of_kinds(table, count):
    """Return the first `count` rows (kind, ...) of each kind, in rising order."""
    table = table[np.lexsort(table.T[::-1])]
    _, first = np.unique(table[:, 0], return_index=True)
    place = np.arange(len(table)) - np.repeat(first, np.diff(np.append(first, len(table))))
    return table[place < count]


def indicator(d, corners):
    """Return the largest quotients of stiffness and mass at corners of each element, (2, ne), 1/s2:
    assembled, and of the element alone with the speed of its fastest node; and its kind for each
    of the two, (2, ne). All ranks must call.

    `corners` are those of `corners_by_medium`.
    """
    size = d.mesh.size
    nodes, stiff, kinds = corner_nodes(d.element.n), np.empty((size, 8)), np.empty(size, int)
    assembled, alone = np.empty((2, size))

    def find(part):
        in_medium = np.arange(part.start, part.stop)
        samples, fluid = d.material(in_medium, nodes), d.fluid[in_medium]
        speed, inert = p_speed(samples, d.relaxation), inertia_by_medium(samples, fluid)
        stiff[part], quotient, compact = corner_stiffness(d, in_medium, nodes, speed, inert)
        # the fastest node need not be at a corner
        alone[part] = quotient * (d.statistics.fastest[part] / samples["vp"].max(axis=1)) ** 2
        ratio = np.where(fluid, 1.0, (samples["vp"] / np.maximum(samples["vs"], 1e-9)).mean(axis=1))
        kinds[part] = np.searchsorted(RATIOS, ratio) * 4 + np.searchsorted(COMPACT, compact)

    cells.in_parallel(find, batches(d.mesh.size, 1 << 11))
    for fluid, medium in enumerate(corners.values()):
        rows = medium.elements
        sums = medium.sharing.complete(medium.added(stiff[rows]))
        counts = medium.sharing.complete(medium.added(np.ones((len(rows), 8))))
        assembled[rows] = (sums / medium.mass)[medium.points].max(axis=1)
        least = counts[medium.points].min(axis=1).astype(int)
        kinds[rows] += 16 * np.minimum(least, 8) + 256 * fluid
    return np.stack([assembled, alone]), np.stack([kinds, kinds + 512])


def corner_stiffness(d, elements, nodes, speed, inert):
    """Return the stiffness speed^2 |grad xi|^2 at corner nodes times their masses, (n, 8), its
    largest value without masses, (n,), and how compact the elements are, (n,), see `COMPACT`.
    """
    slopes = jacobian_rows(d.element, d.shapes(elements), nodes)
    stiff, alone, compact = np.empty(speed.shape), np.empty(len(speed)), np.empty(len(speed))
    arrays = (np.ascontiguousarray(a, float) for a in (slopes, speed, inert, d.element.volume_weights[nodes]))
    compiled("corner_stiffness", len(speed), *arrays, stiff, alone, compact)
    return stiff, alone, compact


def sum_over_touching(d, values, pairs, corners):
    """Sum values (ne,) over each element and those that touch it, each as often as they have
    corners in common.

    Pairs (m, 2) of a solid and a fluid point, numbered as in `corners`, join the two media;
    `corners` are those of `corners_by_medium`.
    """
    sums = {
        name: medium.sharing.complete(medium.added(np.repeat(values[medium.elements], 8).reshape(-1, 8)))
        for name, medium in corners.items()
    }
    across = {name: np.zeros(len(total)) for name, total in sums.items()}
    for n, (name, other) in enumerate((("solid", "fluid"), ("fluid", "solid"))):
        across[name][pairs[:, n]] = sums[other][pairs[:, 1 - n]]
    out = np.zeros(d.mesh.size)
    for name, medium in corners.items():
        total = sums[name] + medium.sharing.complete(across[name])
        out[medium.elements] = total[medium.points].sum(axis=1)
    return out


@dataclass(frozen=True, eq=False)
class Corners:
    """The corners of the elements of one medium, whose points have numbers of their own.

    Parameters
    ----------
    elements : (m,) int array
        The elements of the medium.
    points : (m, 8) int32 array
        Numbers of the points at their corners, among these only.
    mass : (n,) array
        Masses of these points.
    sharing : Sharing
        Those that other ranks have, too.
    number : (all points,) int32 array
        Number of each point of the medium; -1 of one that is no corner.
    """

    elements: np.ndarray
    points: np.ndarray
    mass: np.ndarray
    sharing: Sharing
    number: np.ndarray

    def added(self, values):
        """Return the sums (n,) of values (m, 8) at the corners."""
        total = np.zeros(len(self.mass))
        add_at(total, self.points, values)
        return total


def corners_by_medium(d):
    """Return the `Corners` of the solid and of the fluid; all ranks must call."""
    corners = {}
    for fluid, (medium, sharing) in enumerate(d.subdomain.shared.items()):
        elements, mass = np.flatnonzero(d.fluid == bool(fluid)), d.statistics.mass[fluid]
        points = d.points[elements[:, None], corner_nodes(d.element.n)]
        used, number, shared = renumbered(points, len(mass), sharing)
        number[~used] = -1
        corners[medium] = Corners(elements, number[points], mass[used], shared, number)
    return corners


def corner_nodes(n):
    """Return the nodes at the corners of an element with n nodes along an axis, (8,)."""
    return np.array([(c * n + b) * n + a for c in (0, n - 1) for b in (0, n - 1) for a in (0, n - 1)])


def grow_selection(d, selected, corners, rings=RINGS):
    """Return the owned elements among selected ones of all ranks, flags (ne,), and `rings` rings
    around them: (m,); all ranks must call. `corners` are those of `corners_by_medium`.
    """
    rows = faces.interface(d)
    pairs = faces.coupled_points(d, rows)[0] if len(rows) else np.empty((0, 2), int)
    sides = [medium.number[pairs[:, n]] for n, medium in enumerate(corners.values())]
    pairs = np.stack([side[(sides[0] >= 0) & (sides[1] >= 0)] for side in sides], axis=1)
    for _ in range(rings):
        selected = sum_over_touching(d, selected.astype(float), pairs, corners) > 0
    return np.flatnonzero(selected)


def restrict_to(d, elements):
    """Return the `Medium` of some elements, (m,), with the masses of all elements; faces between
    them and the rest are free.
    """
    points, shared, masses = np.empty((len(elements), d.points.shape[1]), np.int32), {}, []
    for fluid, (medium, sharing) in enumerate(d.subdomain.shared.items()):
        in_medium, mass = d.fluid[elements] == bool(fluid), d.statistics.mass[fluid]
        chosen = d.points[elements[in_medium]]
        used, number, shared[medium] = renumbered(chosen, len(mass), sharing)
        points[in_medium] = number[chosen]
        masses.append(mass[used])
    counts = tuple(len(mass) for mass in masses)
    subdomain = replace(
        d.subdomain,
        mesh=select_elements(d.mesh, elements),
        points=points,
        counts=counts,
        shared=shared,
        outer=0,
        numbers=d.subdomain.numbers[elements],
    )
    return replace(
        d,
        mesh=subdomain.mesh,
        fluid=d.fluid[elements],
        points=points,
        state=subdomain.state,
        subdomain=subdomain,
        centres=d.centres[elements],
        statistics=d.statistics.select(elements, masses),
    )


def renumbered(points, count, sharing):
    """Return which of `count` points are among some, the numbers of these in their order, and the `Sharing` of
    those that both sides use, by these numbers; all ranks must call.
    """
    used = np.zeros(count, bool)
    used[points] = True
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    by_neighbour = sharing.team.swap({rank: used[common].astype(float) for rank, common in sharing.lists.items()})
    both = {rank: number[common[used[common] & (by_neighbour[rank] > 0)]] for rank, common in sharing.lists.items()}
    return used, number, Sharing(sharing.team, {rank: common for rank, common in both.items() if len(common)})


# --- in words -------------------------------------------------------------------------------------


def courant_number(d, element, step):
    """Return the Courant number: a step over the shortest distance of neighbouring nodes of an
    element divided by the P speed there.
    """
    elements = np.array([element])
    speed = p_speed(d.material(elements), d.relaxation)
    return float(step / shortest_times(d.element, d.coordinates(elements), speed).min())


def p_speed(samples, relaxation):
    """Return the speed of P waves at the highest frequencies; in an anisotropic medium along the stiffest axis."""
    if "stiffness" in samples:
        law = sampling.moduli(samples, relaxation)[0]
        return np.sqrt(law[:, sampling.NORMAL].max(axis=1) / samples["rho"])
    return samples["vp"] * (np.sqrt(relaxation.unrelaxed(samples["loss_p"])) if relaxation is not None else 1.0)


def shortest_times(element, coordinates, speed):
    """Return the shortest time between neighbouring nodes of each element at the faster of their speeds, s: (ne,)."""
    n = element.n
    cube, fast = coordinates.reshape(-1, 3, n, n, n), speed.reshape(-1, n, n, n)
    least = np.full(len(cube), np.inf)
    for axis in range(3):
        distance = np.sqrt((np.diff(cube, axis=axis + 2) ** 2).sum(axis=1))
        low, high = (np.take(fast, range(a, n - 1 + a), axis=axis + 1) for a in (0, 1))
        least = np.minimum(least, (distance / np.maximum(low, high)).min(axis=(1, 2, 3)))
    return least
