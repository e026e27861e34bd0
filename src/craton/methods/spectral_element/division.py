"""A rank's part of a mesh: its elements and points, what it shares with others, and the elements around it that its build looks at.

A rank knows the whole mesh, corner nodes and no more, or of a chunk of the Earth in slices only what lies around its own elements. All that
counts GLL points it makes for its own elements and those around them: the mass of a point is the sum over all elements that hold it.
"""
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.core import elements
from craton.core.shares import One
from craton.methods.shared.sharing import Sharing
from craton.methods.spectral_element.state import State
from craton.model.mesh import numbering

BLOCK = 1 << 12  # elements numbered at a time


@dataclass(frozen=True, eq=False)
class Division:
    """What a rank has of a mesh.

    Parameters
    ----------
    team : craton.comm.Together, or One
    mesh : HexMesh
        Its own elements, those that neighbours wait for first.
    outer : int
        How many these are.
    points : (m, n^3) int32 array
        Own numbers of their points, counted apart in the solid and in the fluid.
    counts : (int, int)
        Own points of the solid and of the fluid.
    shared : dict of str to Sharing
        Points of the "solid" and of the "fluid" that other ranks have, too.
    media : (bool, bool)
        Whether any rank has solid, fluid.
    numbers : (m,) int array
        Of its elements in the whole mesh.
    bounds : (2, 3) array
        Lowest and highest x, y, z of the whole mesh, m.
    whole : HexMesh or None
        None where no rank has it.
    """

    team: Any
    mesh: Any
    outer: int
    points: np.ndarray
    counts: tuple
    shared: dict
    media: tuple
    numbers: np.ndarray
    bounds: np.ndarray
    whole: Any

    @property
    def state(self):
        """Where its fields lie."""
        return State(*self.counts)


@dataclass(frozen=True, eq=False)
class Near:
    """Own elements of a rank, the first ones, and those around them.

    Parameters
    ----------
    mesh : HexMesh
    fluid : (ne,) bool array
    points : (ne, n^3) int32 array
        As of a `Division`; own points come first.
    counts : (int, int)
        Points of the solid and of the fluid.
    """

    mesh: Any
    fluid: np.ndarray
    points: np.ndarray
    counts: tuple

    @property
    def state(self):
        """Where their fields would lie."""
        return State(*self.counts)


def divide(given, degree, wet, owner, team=None):
    """The `Division` of a mesh on a rank, and what is `Near`.

    Parameters
    ----------
    given : Prepared
    degree : int
    wet : (ne,) bool array
        Fluid elements.
    owner : (ne,) int array
        Rank of each element.
    team : craton.comm.Together, optional
    """
    team, mesh = team or One(), given.mesh
    numbers = np.arange(mesh.size) if given.numbers is None else given.numbers
    if team.size == 1:
        found = numbering.number(mesh.elements, degree)
        points, *counts = media(found.points.reshape(mesh.size, -1), found.count, wet)
        alone, near = {"solid": Sharing(team), "fluid": Sharing(team)}, Near(mesh.elevated(), wet, points, tuple(counts))
        having = counts[0] > 0, counts[1] > 0
        return Division(team, near.mesh, 0, points, near.counts, alone, having, numbers, bounds(given, team), mesh), near
    mine = owner == team.rank
    some = elements.around(mesh.corners, mine, True)  # own elements, and those that complete their points' masses
    found = numbering.number(mesh.elements[some], degree)
    ids, solid, fluid = media(found.points.reshape(len(some), -1), found.count, wet[some])
    own = border(mesh.corners[some], owner[some], team.rank, ids, solid, wet[some])
    inner = np.setdiff1d(np.flatnonzero(mine[some]), own.elements)
    order, size = np.concatenate([own.elements, inner, np.flatnonzero(~mine[some])]), len(own.elements) + len(inner)
    places, fluids = some[order], wet[some[order]]
    points, counts, totals = own_first(ids, order, (solid, fluid), fluids, size)
    near = Near(of_elements(mesh, places).elevated(), fluids, points, totals)
    shared = sharings(team, own, points, fluids)
    having = team.every(lambda: (not wet.all(), bool(wet.any())))
    return Division(team, leading(near.mesh, size), own.outer, points[:size], counts, shared, tuple(map(any, zip(*having))),
                    numbers[places[:size]], bounds(given, team), mesh if given.owner is None else None), near  # fmt: skip


def border(corners, owner, rank, ids, solid, wet):
    """The `elements.Piece` of the own elements that touch others, without the rest; arguments are of the elements near."""
    touched = np.zeros((2, int(corners.max()) + 1), bool)
    for n, which in enumerate((owner == rank, owner != rank)):
        touched[n, corners[which]] = True
    some = np.flatnonzero(touched.all(axis=0)[corners].any(axis=1))
    found = elements.own_piece(rank, some, ids[some] + solid * wet[some, None], owner[some])
    return elements.Piece(rank, found.elements[: found.outer], found.outer, found.shared)


def own_first(ids, order, counts, wet, size):
    """Points of elements in another order, numbered anew: those of the first `size` elements come first, in each medium.

    Returns
    -------
    points : (ne, n^3) int32 array
    own, all : (int, int)
        Points of the solid and of the fluid: of the first elements, of all.
    """
    points, own, total = np.empty((len(order), ids.shape[1]), np.int32), [], []
    for which, count in zip((~wet, wet), counts):
        mine, used, rows = np.zeros(count, bool), np.zeros(count, bool), np.flatnonzero(which)
        split = int(np.searchsorted(rows, size))
        for flags, some in ((mine, rows[:split]), (used, rows[split:])):
            for at in blocks(some):
                flags[ids[order[at]]] = True
        number, others = np.cumsum(mine, dtype=np.int32) - np.int32(1), np.flatnonzero(used & ~mine)
        own.append(int(mine.sum()))
        total.append(own[-1] + len(others))
        number[others] = np.arange(own[-1], total[-1], dtype=np.int32)
        for at in blocks(rows):
            points[at] = number[ids[order[at]]]
    return points, tuple(own), tuple(total)


def blocks(rows):
    """Some rows at a time: what is made of them stays in the cache."""
    return (rows[at : at + BLOCK] for at in range(0, len(rows), BLOCK))


def sharings(team, own, points, fluid):
    """`Sharing` of the points of each medium from a piece and the points of its elements."""
    lists = own.points(points)
    inside = {rank: fluid[places // points.shape[1]] for rank, places in own.shared.items()}
    shared = {}
    for name, which in (("solid", False), ("fluid", True)):
        some = {rank: numbers[inside[rank] == which] for rank, numbers in lists.items()}
        shared[name] = Sharing(team, {rank: numbers for rank, numbers in sorted(some.items()) if len(numbers)})
    return shared


def media(points, count, fluid):
    """Global points counted apart in the two media: points (ne, nodes) of the element's own medium, and how many each has.

    A point on both sides of an interface between fluid and solid is in both.
    """
    if not fluid.any():
        return points, count, 0
    out, counts = np.empty_like(points), []
    for which in (~fluid, fluid):
        used, rows = np.zeros(count, bool), np.flatnonzero(which)
        for at in blocks(rows):
            used[points[at]] = True
        number = np.cumsum(used, dtype=np.int32) - np.int32(1)
        for at in blocks(rows):
            out[at] = number[points[at]]
        counts.append(int(used.sum()))
    return out, *counts


# --- meshes of some elements ------------------------------------------------------------------------------------------------------------


def bounds(given, team):
    """Lowest and highest x, y, z of the whole mesh of which a rank is `given` a part, or all of it: (2, 3), m; all must ask."""
    if given.bounds is not None or given.owner is None:
        return given.mesh.bounds() if given.bounds is None else given.bounds
    own = replace(given.mesh, elements=given.mesh.elements[given.owner == team.rank], regions=None, faces={})
    low, high = zip(*team.every(own.bounds))
    return np.array([np.min(low, axis=0), np.max(high, axis=0)])


def leading(mesh, size):
    """The mesh of the first elements, with all nodes: nothing is copied."""
    faces = {name: rows[rows[:, 0] < size] for name, rows in mesh.faces.items()}
    return replace(mesh, elements=mesh.elements[:size], regions=mesh.regions[:size], faces=faces)


def of_elements(mesh, some):
    """The mesh of some elements in their order, with the nodes that they use."""
    place, used = np.full(mesh.size, -1, np.int32), np.zeros(len(mesh.nodes), bool)
    place[some] = np.arange(len(some), dtype=np.int32)
    chosen = mesh.elements[some]
    used[chosen] = True
    numbers = (np.cumsum(used, dtype=np.int32) - 1)[chosen]
    faces = {name: np.column_stack([place[rows[:, 0]], rows[:, 1]])[place[rows[:, 0]] >= 0] for name, rows in mesh.faces.items()}
    return replace(mesh, nodes=mesh.nodes[used], elements=numbers, regions=mesh.regions[some], faces=faces)
