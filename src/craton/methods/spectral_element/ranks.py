"""Elements over ranks: who has which element, what all ranks agree on, which of them has a position.

Elements on both sides of an interface between fluid and solid stay on one rank, so that it has both points of every pair.
"""
import zlib
from dataclasses import dataclass, replace

import numpy as np

from craton.core import elements
from craton.core.shares import Share, Total
from craton.errors import Problem, ScenarioError
from craton.methods.spectral_element import mesh_statistics, operators
from craton.methods.spectral_element.subdomain import number_by_medium, select_elements
from craton.model.mesh import numbering

ELSEWHERE = -2  # in place of an element: another rank has the position
NOWHERE = 1 << 62  # above twice any number of an element

# --- who has which element ---------------------------------------------------------------------------------------------------------------


def find_fluid_elements(given, team):
    """Which elements of a `Prepared` mesh are fluid, by their centres: (ne,) bool; of a whole one each rank looks at some."""
    mesh = given.mesh
    if team.size == 1 or given.owner is not None:
        return mesh_statistics.find_fluid_elements(mesh, given.sampler)
    limits = np.linspace(0, mesh.size, team.size + 1).astype(int)
    own = select_elements(mesh, np.arange(*limits[team.rank : team.rank + 2]))
    return np.concatenate(team.every(lambda: mesh_statistics.find_fluid_elements(own, given.sampler) if own.size else np.empty(0, bool)))


def assign_owners(scenario, given, wet, team):
    """Rank of each element, (ne,): that of a slice, or rank 0 finds it."""
    if team.size == 1 or given.owner is not None:
        return np.zeros(given.mesh.size, np.int32) if team.size == 1 else given.owner
    return team.every(lambda: partition(scenario, given.mesh, wet, team.size) if team.rank == 0 else None)[0]


def partition(scenario, mesh, wet, ranks):
    """Rank of each element by the scenario's method, (ne,)."""
    pairs = interface(mesh, wet)
    corners = mesh.corners.reshape(-1, 2, 2, 2)
    return elements.partition(corners, mesh.centroids(), ranks, scenario.run.partition, costs(scenario, wet), pairs=pairs)


@dataclass(frozen=True)
class Load:
    """What a rank would have to do.

    Parameters
    ----------
    elements, outer : int
        Its elements, and those of them that neighbours wait for.
    cost, outer_cost : float
        Least traffic of a step, reals; that of the outer elements.
    neighbours : int
    shared : int
        Points of others: one that it shares with two ranks counts twice.
    sent : int
        Reals that it sends in a step.
    """

    elements: int
    outer: int
    cost: float
    outer_cost: float
    neighbours: int
    shared: int
    sent: int


def rank_loads(scenario, mesh, wet, ranks):
    """What each of some ranks would have to do, from nodes, edges and faces alone: list of Load."""
    owner = partition(scenario, mesh, wet, ranks) if ranks > 1 else np.zeros(mesh.size, np.int32)
    found, cost = numbering.number(mesh.elements, 2), costs(scenario, wet)
    points, solid, _ = number_by_medium(found.points.reshape(mesh.size, -1), found.count, wet)
    middles = sum((n == 1).astype(int) for n in np.indices((3, 3, 3))).ravel()
    weight = float(scenario.run.degree - 1) ** middles
    out = []
    for one in elements.pieces(points + solid * wet[:, None], owner):
        places = [(weight[at % 27], wet[one.elements[at // 27]]) for at in one.shared.values()]
        own, first = cost[one.elements], one.elements[: one.outer]
        out.append(Load(len(one.elements), one.outer, float(own.sum()), float(cost[first].sum()), len(places),
                        int(sum(count.sum() for count, _ in places)), int(sum((count * np.where(w, 1, 3)).sum() for count, w in places))))
    return out


def interface(mesh, wet):
    """Pairs of a fluid and a solid element with a common face, (m, 2)."""
    if not wet.any() or wet.all():
        return np.empty((0, 2), int)
    pairs = numbering.inner_faces(mesh.elements)[:, ::2]
    return pairs[wet[pairs[:, 0]] != wet[pairs[:, 1]]]


def costs(scenario, wet):
    """Cost of each element: the least traffic of its kernel and its points."""
    model = scenario.model
    mechanisms = model.attenuation.mechanisms if getattr(model, "attenuation", None) else 0
    kind = operators.Kind(scenario.run.degree, relaxation=((0,) * 7,) * mechanisms)
    solid, fluid = operators.cost(kind, 3)["reals_per_point"], operators.cost(replace(kind, relaxation=()), 1)["reals_per_point"]
    return np.where(wet, fluid, solid) + np.where(wet, 8.0, 19.0) * scenario.run.degree**3


# --- what ranks agree on -----------------------------------------------------------------------------------------------------------------


def combine_statistics(division, first):
    """A rank's `mesh_statistics.MeshStatistics` with the extremes of all ranks, and at shared points the same masses, complete as they are."""
    mass = tuple(copy_lowest_rank_values(division.shared[medium], own) for medium, own in zip(("solid", "fluid"), first.mass))
    every = division.team.every(lambda: (first.speeds, first.smallest, first.loss, first.bulk_loss))
    speeds, smallest, losses, bulk = zip(*every)
    extremes = {name: (min(one[name][0] for one in speeds), max(one[name][1] for one in speeds)) for name in speeds[0]}
    return replace(first, mass=mass, speeds=extremes, smallest=min(smallest), loss=max(losses), bulk_loss=any(bulk))


def copy_lowest_rank_values(sharing, values):
    """Values (n,) at all own points, made in place those of the lowest rank at the shared ones: equal bits everywhere; all must ask."""
    values[sharing.elsewhere] = 0.0
    return sharing.complete(values)


def assign_positions(division, located, wet):
    """Positions that several ranks looked for, each left to one: that with the lowest element of the wanted medium, else of any.

    Parameters
    ----------
    division : Subdomain
    located : Located
        What this rank found in its own elements.
    wet : (n,) bool array
        Positions found in an element of the wanted medium.

    Returns
    -------
    Located
        ``element`` is `ELSEWHERE` where another rank has the position. Where none has it, ``nearest`` is a number in the whole mesh.
    """
    team = division.team
    if team.size == 1:
        return located
    own = np.where(located.element < 0, NOWHERE, np.where(wet, 0, NOWHERE // 2) + division.numbers[np.maximum(located.element, -1)])
    scores, distances, nearest = map(np.stack, zip(*team.every(lambda: (own, located.distance, division.numbers[located.nearest]))))
    there, at = scores.min(axis=0) < NOWHERE, np.arange(len(own))
    elsewhere = there & (scores.argmin(axis=0) != team.rank)
    best = distances.argmin(axis=0), at
    return replace(located, element=np.where(elsewhere, ELSEWHERE, located.element),
                   nearest=np.where(there, located.nearest, nearest[best]), distance=np.where(there, located.distance, distances[best]))


def complete_plan(d, plan):
    """A rank's plan with its part, those of all, and what all have together."""
    team = d.subdomain.team
    owned = [count - len(d.subdomain.shared[name].elsewhere) for name, count in zip(("solid", "fluid"), d.subdomain.counts)]
    neighbours = {}
    for sharing in d.subdomain.shared.values():
        for rank, numbers in sharing.lists.items():
            neighbours[rank] = neighbours.get(rank, 0) + len(numbers)
    part = Share(team.rank, d.mesh.size, d.subdomain.outer, int(sum(owned)), neighbours,
                 zlib.crc32(np.ascontiguousarray(d.subdomain.numbers, np.int64)))
    every = team.every(lambda: (part, plan.traffic, plan.state_bytes, plan.nbytes, plan.grid.shortest, plan.grid.longest))
    parts, traffic, state, nbytes, shortest, longest = zip(*every)
    points = sum(one.points for one in parts)
    grid = replace(plan.grid, elements=sum(one.elements for one in parts), size=points, shortest=min(shortest), longest=max(longest))
    names = dict.fromkeys(name for one in traffic for name in one)
    total = Total(grid, points, {name: sum(one.get(name, 0) for one in traffic) for name in names}, sum(state), sum(nbytes))
    return replace(plan, part=part, whole=total, sharing=plan.sharing | {"parts": list(parts)})


@dataclass(frozen=True)
class Columns:
    """What ranks record of the channels: some of them whole, of others, whose points several ranks have, a part each.

    Parameters
    ----------
    count : int
        Channels.
    of_rank : list of array
        Channels that each rank records, in the order of its columns.
    """

    count: int
    of_rank: list

    def joined(self, blocks, machine):
        """All channels (steps, channels) from the columns (steps, columns) of every rank."""
        out = np.zeros((len(blocks[0]), self.count), blocks[0].dtype)
        for own, block in zip(self.of_rank, blocks):
            out[:, own] += block
        return out


def refuse_mesh(scenario, team):
    """The mesh as a file, which several ranks do not write yet."""
    if team.size > 1 and scenario.output.mesh:
        raise ScenarioError([Problem("output.mesh", "several ranks do not write the mesh yet", "run on one rank, or leave it out")])


def elements_holding(places, own, xyz, team):
    """All own elements of one medium that hold positions (n, 3), m, those that meet in a face, edge or corner; all ranks must ask.

    Parameters
    ----------
    places : placing.Places
    own : Located
        Of the positions, the solid's elements first; where none of them holds a position, as above a curved top, its element counts.
    xyz : (n, 3) array
    team : Together, or SingleRank

    Returns
    -------
    which : (m,) int array
        Position of each element, rising.
    found : Located
        m of them.
    parts : (n,) int array
        How many elements of all ranks hold each position.
    """
    which, found = places.every.holding(xyz)
    counts = np.zeros((len(xyz), 2), int)
    np.add.at(counts, (which, places.fluid[found.element].astype(int)), 1)
    total = np.sum(team.every(lambda: counts), axis=0)
    wet = total[:, 0] == 0
    kept, lost = places.fluid[found.element] == wet[which], np.flatnonzero((total.sum(axis=1) == 0) & (own.element >= 0))
    which, order = np.concatenate([which[kept], lost]), np.argsort(np.concatenate([which[kept], lost]), kind="stable")
    parts = (np.concatenate([getattr(found.some(kept), name), getattr(own.some(lost), name)])[order]
             for name in ("element", "local", "nearest", "distance"))  # fmt: skip
    return which[order], type(found)(*parts), np.maximum(total[np.arange(len(xyz)), wet.astype(int)], 1)
