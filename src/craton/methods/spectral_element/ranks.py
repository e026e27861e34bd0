"""Elements over ranks: the owner of each element, what all ranks agree on, the rank that takes a
position.

Elements on both sides of an interface between fluid and solid stay on one rank, so that it has both
points of every pair.
"""

import zlib
from dataclasses import dataclass, replace

import numpy as np

from craton.core import elements
from craton.core.elements import ElementWeights
from craton.core.subdomain import Neighbour, Subdomain, Totals
from craton.errors import refuse
from craton.methods.spectral_element.equations import operators
from craton.methods.spectral_element.mesh import mesh_statistics
from craton.methods.spectral_element.mesh.subdomain import number_by_medium, select_elements
from craton.model.mesh import numbering
from craton.model.mesh.locate import Located

ELSEWHERE = -2  # in place of an element: another rank has the position
NOWHERE = 1 << 62  # above twice any number of an element

# --- owners of elements ---------------------------------------------------------------------------


def find_fluid_elements(prepared, team):
    """Return which elements of a `Prepared` mesh are fluid, by their centres: (ne,) bool; ranks
    share the work on a whole mesh.
    """
    mesh = prepared.mesh
    if team.size == 1 or prepared.owner is not None:
        return mesh_statistics.find_fluid_elements(mesh, prepared.sampler)
    limits = np.linspace(0, mesh.size, team.size + 1).astype(int)
    part = select_elements(mesh, np.arange(*limits[team.rank : team.rank + 2]))

    def fluid_of_part():
        return mesh_statistics.find_fluid_elements(part, prepared.sampler) if part.size else np.empty(0, bool)

    return np.concatenate(team.every(fluid_of_part))


def assign_owners(scenario, prepared, fluid, team):
    """Return the rank of each element, (ne,): that of its slice, or as rank 0 partitions the mesh."""
    if team.size == 1 or prepared.owner is not None:
        return np.zeros(prepared.mesh.size, np.int32) if team.size == 1 else prepared.owner

    def owners():
        return partition(weigh_elements(scenario, prepared.mesh, fluid), team.size) if team.rank == 0 else None

    return team.every(owners)[0]


def weigh_elements(scenario, mesh, fluid):
    """Return the `ElementWeights` of a whole mesh."""
    run, cost = scenario.run, costs(scenario, fluid)
    return ElementWeights(mesh.corners, mesh.centroids(), fluid, cost, run.degree, run.partition)


def partition(weights, ranks):
    """Partition a mesh by the method that its `ElementWeights` name; return the rank of each element, (ne,)."""
    pairs = interface(weights.corners, weights.fluid)
    return elements.partition(weights.corners, weights.centroids, ranks, weights.method, weights.cost, pairs=pairs)


@dataclass(frozen=True)
class Load:
    """Load of one rank.

    Parameters
    ----------
    elements, outer : int
        Owned elements, and those of them that neighbours wait for.
    cost, outer_cost : float
        Least traffic of a step, reals; that of the outer elements.
    neighbours : int
    shared : int
        Points shared with other ranks: a point shared with two ranks counts twice.
    sent : int
        Reals sent in a step.
    """

    elements: int
    outer: int
    cost: float
    outer_cost: float
    neighbours: int
    shared: int
    sent: int


def rank_loads(weights, ranks):
    """Return the `Load` of each of `ranks` ranks, from nodes, edges and faces of the mesh alone: list."""
    from scipy.sparse import coo_array

    cost, fluid = weights.cost, weights.fluid
    owner = partition(weights, ranks) if ranks > 1 else np.zeros(len(cost), np.int32)
    numbered = numbering.number(weights.corners, 2)
    points, solid, _ = number_by_medium(numbered.points.reshape(len(cost), -1), numbered.count, fluid)
    points += solid * fluid[:, None]
    # of several ranks one stays: the others find it instead of themselves
    last, common = np.empty(points.max() + 1, np.int32), np.zeros(points.max() + 1, bool)
    last[points] = owner[:, None]
    common[points[last[points] != owner[:, None]]] = True
    element, node = np.nonzero(common[points])
    holds = coo_array((np.ones(len(node), bool), (points[element, node], owner[element])), shape=(len(last), ranks))
    holds = holds.tocsr()  # which ranks have a shared point
    middles = sum((n == 1).astype(int) for n in np.indices((3, 3, 3))).ravel()
    weight, sent = np.zeros(len(last)), np.zeros(len(last))
    weight[points[element, node]] = float(weights.degree - 1) ** middles[node]
    sent[points[element, node]] = np.where(fluid[element], 1, 3)
    between = [(holds.T.astype(float) @ holds.multiply(of[:, None])).tocsr() for of in (weight, weight * sent)]
    for of in between:
        of.setdiag(0)
        of.eliminate_zeros()
    is_outer = np.zeros(len(cost), bool)
    is_outer[element] = True
    columns = (
        np.bincount(owner, minlength=ranks),
        np.bincount(owner[is_outer], minlength=ranks),
        np.bincount(owner, cost, ranks),
        np.bincount(owner[is_outer], cost[is_outer], ranks),
        np.diff(between[0].indptr),
        between[0].sum(axis=1).astype(int),
        between[1].sum(axis=1).astype(int),
    )
    return [Load(*row) for row in zip(*(column.tolist() for column in columns))]


def interface(corners, fluid):
    """Return pairs of a fluid and a solid element with a common face, (m, 2), from corner nodes (ne, 8)."""
    if not fluid.any() or fluid.all():
        return np.empty((0, 2), int)
    pairs = numbering.inner_faces(corners)[:, ::2]
    return pairs[fluid[pairs[:, 0]] != fluid[pairs[:, 1]]]


def costs(scenario, fluid):
    """Return the cost of each element, (ne,): the least traffic of its kernel and its points, reals."""
    model = scenario.model
    mechanisms = model.attenuation.mechanisms if getattr(model, "attenuation", None) else 0
    kind = operators.Kind(scenario.run.degree, relaxation=((0,) * 7,) * mechanisms)
    solid_cost = operators.cost(kind, 3)["reals_per_point"]
    fluid_cost = operators.cost(replace(kind, relaxation=()), 1)["reals_per_point"]
    return np.where(fluid, fluid_cost, solid_cost) + np.where(fluid, 8.0, 19.0) * scenario.run.degree**3


# --- what ranks agree on --------------------------------------------------------------------------


def combine_statistics(subdomain, local):
    """Combine the `MeshStatistics` of all ranks; all ranks must call.

    Extremes become those of all ranks. Masses, complete on each rank, become equal bits at shared
    points.

    Parameters
    ----------
    subdomain : Subdomain
    local : mesh_statistics.MeshStatistics
        Statistics of this rank; the masses are changed in place.
    """
    mass = tuple(map(copy_lowest_rank_values, subdomain.shared.values(), local.mass))
    by_rank = subdomain.team.every(lambda: (local.speeds, local.smallest, local.loss, local.bulk_loss))
    return replace(local, mass=mass, **mesh_statistics.combine_extremes(by_rank))


def copy_lowest_rank_values(sharing, values):
    """Copy values (n,) at shared points, in place, from the lowest rank that has each: equal bits
    on all ranks; all ranks must call.
    """
    values[sharing.elsewhere] = 0.0
    return sharing.complete(values)


def assign_positions(subdomain, located, in_preferred):
    """Assign each position to one rank: that with the lowest element of the preferred medium, else
    of any; all ranks must call.

    Parameters
    ----------
    subdomain : Subdomain
    located : Located
        Positions (n,) in the owned elements of this rank.
    in_preferred : (n,) bool array
        Positions in an element of the preferred medium.

    Returns
    -------
    Located
        ``element`` is `ELSEWHERE` where another rank has the position. Where no rank has it,
        ``nearest`` is a number in the whole mesh.
    """
    team, numbers = subdomain.team, subdomain.numbers
    if team.size == 1:
        return located
    score = np.where(in_preferred, 0, NOWHERE // 2) + numbers[np.maximum(located.element, -1)]
    score = np.where(located.element < 0, NOWHERE, score)
    by_rank = team.every(lambda: (score, located.distance, numbers[located.nearest]))
    scores, distances, nearest = map(np.stack, zip(*by_rank))
    has_rank, columns = scores.min(axis=0) < NOWHERE, np.arange(len(score))
    elsewhere = has_rank & (scores.argmin(axis=0) != team.rank)
    best = distances.argmin(axis=0), columns
    return replace(
        located,
        element=np.where(elsewhere, ELSEWHERE, located.element),
        nearest=np.where(has_rank, located.nearest, nearest[best]),
        distance=np.where(has_rank, located.distance, distances[best]),
    )


def complete_plan(d, plan):
    """Return the plan of a rank with the subdomains of all ranks and their `Totals`; all ranks must call."""
    team, subdomain = d.subdomain.team, described(d)
    partition, totals = zip(*team.every(lambda: (subdomain, replace(plan.totals, grid=replace(plan.grid, tables=())))))
    return replace(plan, partition=partition, rank=team.rank, all_ranks=add_totals(partition, totals))


def described(d):
    """Return the subdomain of a rank as machines and the files of a run know it.

    Parameters
    ----------
    d : Medium

    Returns
    -------
    craton.core.subdomain.Subdomain
    """
    team, shared = d.subdomain.team, {}
    counted = sum(d.subdomain.counts) - sum(len(sharing.elsewhere) for sharing in d.subdomain.shared.values())
    for sharing in d.subdomain.shared.values():
        for rank, numbers in sharing.lists.items():
            shared[rank] = shared.get(rank, 0) + len(numbers)
    return Subdomain(
        box=(0, 1, 0, 1, 0, d.mesh.size),
        neighbours=tuple(Neighbour(rank, shared=count) for rank, count in sorted(shared.items())),
        place=(0, 0, team.rank),
        ranks=(1, 1, team.size),
        points=int(counted),
        outer=d.subdomain.outer,
        checksum=zlib.crc32(np.ascontiguousarray(d.subdomain.numbers, np.int64)),
    )


def add_totals(partition, totals):
    """Return the `Totals` over the plans of all ranks."""
    grids, points, traffic = [of_rank.grid for of_rank in totals], sum(one.points for one in partition), {}
    shortest, longest = min(grid.shortest for grid in grids), max(grid.longest for grid in grids)
    elements = sum(grid.elements for grid in grids)
    grid = replace(grids[0], elements=elements, size=points, shortest=shortest, longest=longest)
    for of_rank in totals:
        for name, nbytes in of_rank.traffic.items():
            traffic[name] = traffic.get(name, 0) + nbytes
    state_bytes, nbytes = (sum(getattr(one, name) for one in totals) for name in ("state_bytes", "nbytes"))
    return Totals(grid, points, traffic, state_bytes, nbytes)


def refuse_mesh(scenario, team):
    """Refuse to write the mesh as a file on several ranks."""
    if team.size > 1 and scenario.output.mesh:
        words, remedy = "several ranks do not write the mesh yet", "run on one rank, or leave it out"
        refuse("output.mesh", words, remedy)


def elements_holding(places, located, xyz, team):
    """Find all owned elements of one medium that hold positions, several where they meet in a face,
    edge or corner; all ranks must call.

    Parameters
    ----------
    places : placing.Places
    located : Located
        The positions, preferring the solid; its element is taken where no element holds a position,
        as above a curved top.
    xyz : (n, 3) array
        Positions, m.
    team : Together, or SingleRank

    Returns
    -------
    which : (m,) int array
        Position of each element, rising.
    holding : Located
        m elements.
    parts : (n,) int array
        Number of elements of all ranks that hold each position.
    """
    which, holding = places.every.holding(xyz)
    counts = np.zeros((len(xyz), 2), int)
    np.add.at(counts, (which, places.fluid[holding.element].astype(int)), 1)
    total = np.sum(team.every(lambda: counts), axis=0)
    in_fluid = total[:, 0] == 0
    preferred = places.fluid[holding.element] == in_fluid[which]
    unheld = np.flatnonzero((total.sum(axis=1) == 0) & (located.element >= 0))
    which = np.concatenate([which[preferred], unheld])
    order = np.argsort(which, kind="stable")
    both = Located.joined([holding.some(preferred), located.some(unheld)])
    return which[order], both.some(order), np.maximum(total[np.arange(len(xyz)), in_fluid.astype(int)], 1)
