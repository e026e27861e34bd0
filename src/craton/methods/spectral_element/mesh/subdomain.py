"""The elements of a rank: their geometry and GLL points, points shared with other ranks, one ring of ghost elements.

A rank knows corner nodes of the whole mesh, or, of a chunk of the Earth in slices, only those
around its own elements. Everything that counts GLL points is made for the owned elements and the
ghost elements around them, because the mass of a point is the sum over all elements that hold it.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from craton.core import elements
from craton.methods.spectral_element.equations.state import State
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.mesh.element import Element
from craton.methods.waves.exchange import Sharing, SingleRank
from craton.model.mesh import numbering


@dataclass(frozen=True, eq=False, kw_only=True)
class ElementGeometry:
    """Elements, their GLL points and where the fields of these points lie in memory.

    Parameters
    ----------
    mesh : HexMesh
        27 nodes per element; elements follow a space-filling curve.
    element : Element
    fluid : (ne,) bool array
        Fluid elements.
    points : (ne, n^3) int32 array
        Numbers of the GLL points, counted separately in the solid and in the fluid.
    state : State
        Layout of the fields in memory.
    centres : (ne, 3) array
        Means of the 27 nodes of each element, m.
    """

    mesh: Any
    element: Element
    fluid: np.ndarray
    points: np.ndarray
    state: State
    centres: np.ndarray

    @property
    def geometry(self):
        """The elements and points alone, without the fields of a subclass."""
        return ElementGeometry(**{field.name: getattr(self, field.name) for field in fields(ElementGeometry)})

    def owned_by(self, subdomain):
        """Return the owned elements of a `Subdomain`, which come first here, without its ghost
        elements; nothing is copied.
        """
        count = subdomain.mesh.size
        return ElementGeometry(
            mesh=subdomain.mesh,
            element=self.element,
            fluid=self.fluid[:count],
            points=subdomain.points,
            state=subdomain.state,
            centres=self.centres[:count],
        )

    def offset(self, field):
        """Return the first element of a field in its block of the state."""
        return self.state.offset(field)

    def shapes(self, elements):
        """Return the 27 nodes of elements relative to their centres: (n, 3, 27), m, float64."""
        rows, centres = self.mesh.elements[elements], self.centres[elements]
        local = np.empty((len(rows), 3, 27))
        mesh_terms.compiled("shapes", len(rows), rows, self.mesh.nodes, centres, local)
        return local

    def coordinates(self, elements, nodes=slice(None)):
        """Return positions of GLL nodes of elements: (n, 3, nodes), m."""
        return mesh_terms.coordinates(self.element, self.shapes(elements), nodes) + self.centres[elements][:, :, None]

    def jacobian(self, elements, nodes=slice(None)):
        """Return d x_r / d xi_s at GLL nodes of elements: (n, 3, 3, nodes), m."""
        return mesh_terms.jacobian(self.element, self.shapes(elements), nodes)


@dataclass(frozen=True, eq=False)
class Subdomain:
    """Subdomain of a rank: owned elements and the GLL points that it shares with other ranks.

    Parameters
    ----------
    team : craton.comm.Together, or SingleRank
    mesh : HexMesh
        The owned elements, outer ones first.
    outer : int
        Number of outer elements, for which neighbours wait.
    points : (m, n^3) int32 array
        Local numbers of the elements' points, counted separately in the solid and in the fluid.
    counts : (int, int)
        Local points of the solid and of the fluid.
    shared : dict of str to Sharing
        Points of the "solid" and of the "fluid" that other ranks have, too.
    media : (bool, bool)
        True where any rank has solid, fluid.
    numbers : (m,) int array
        Numbers of the owned elements in the whole mesh.
    bounds : (2, 3) array
        Lowest and highest x, y, z of the whole mesh, m.
    whole : HexMesh or None
        The whole mesh; None where no rank has it.
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
        """Where the fields of the owned points lie."""
        return State(*self.counts)


def build_subdomain(prepared, element, fluid, owner, team=None):
    """Build the `Subdomain` of a rank, and the geometry of its owned elements followed by the ghost
    elements.

    Parameters
    ----------
    prepared : Prepared
    element : Element
    fluid : (ne,) bool array
        Fluid elements.
    owner : (ne,) int array
        Rank of each element.
    team : craton.comm.Together, optional

    Returns
    -------
    subdomain : Subdomain
    ghosted : ElementGeometry
    """
    team, mesh = team or SingleRank(), prepared.mesh
    numbers = np.arange(mesh.size) if prepared.numbers is None else prepared.numbers
    is_single = team.size == 1
    # owned elements, and those that complete their points' masses
    nearby = slice(None) if is_single else elements.touching_elements(mesh.corners, owner, team.rank)
    numbered = numbering.number(mesh.elements[nearby], element.degree)
    ids, *of_media = number_by_medium(numbered.points.reshape(-1, element.size), numbered.count, fluid[nearby])
    if is_single:
        places, size, outer, points = nearby, mesh.size, 0, ids
        own_numbers = common = ({}, {})
        counts = ghosted_counts = tuple(of_media)
    else:
        media, is_owned, common = (~fluid[nearby], fluid[nearby]), owner[nearby] == team.rank, []
        is_outer = np.zeros(len(nearby), bool)
        for in_medium, count in zip(media, of_media):
            common.append(elements.shared_points(ids, count, owner[nearby], team.rank, in_medium))
            is_shared = np.zeros(numbered.count, bool)
            is_shared[np.concatenate([np.empty(0, int), *common[-1].values()])] = True
            is_outer |= is_shared[ids].any(axis=1) & in_medium & is_owned
        order = np.lexsort((~is_outer, ~is_owned))  # outer elements, inner ones, ghosts
        places, size, outer = nearby[order], int(is_owned.sum()), int(is_outer.sum())
        points, own_numbers, counts, ghosted_counts = number_owned_first(ids, order, of_media, fluid[places], size)
    ghosted_mesh = (mesh if is_single else select_elements(mesh, places)).elevated()
    about = {"state": State(*ghosted_counts), "centres": mesh_terms.centres(ghosted_mesh)}
    ghosted = ElementGeometry(mesh=ghosted_mesh, element=element, fluid=fluid[places], points=points, **about)
    media = team.every(lambda: (not fluid.all(), bool(fluid.any())))
    subdomain = Subdomain(
        team=team,
        mesh=leading_elements(ghosted_mesh, size),
        outer=outer,
        points=points[:size],
        counts=counts,
        shared={
            medium: Sharing(team, {rank: own[shared] for rank, shared in lists.items()})
            for medium, own, lists in zip(("solid", "fluid"), own_numbers, common)
        },
        media=tuple(map(any, zip(*media))),
        numbers=numbers[places][:size],
        bounds=mesh_bounds(prepared, team),
        whole=mesh if is_single or prepared.owner is None else None,
    )
    return subdomain, ghosted


def number_owned_first(ids, order, counts, fluid, size):
    """Renumber the points of elements in another order: those of the first `size` elements, the
    owned ones, come first in each medium.

    Returns
    -------
    points : (ne, n^3) int32 array
    numbers : list of int32 array
        New number of each point of the solid and of the fluid.
    owned, total : (int, int)
        Points of the solid and of the fluid: of the owned elements, of all.
    """
    points, numbers, owned_counts, total_counts = np.empty((len(order), ids.shape[1]), np.int32), [], [], []
    for in_medium, count in zip((~fluid, fluid), counts):
        owned, used, rows = np.zeros(count, bool), np.zeros(count, bool), np.flatnonzero(in_medium)
        split = int(np.searchsorted(rows, size))
        for flags, part in ((owned, rows[:split]), (used, rows[split:])):
            numbering.mark(flags, ids, order[part])
        number, ghosts = (np.cumsum(owned, dtype=np.int32) - np.int32(1), np.flatnonzero(used & ~owned))
        owned_counts.append(int(owned.sum()))
        total_counts.append(owned_counts[-1] + len(ghosts))
        number[ghosts] = np.arange(owned_counts[-1], total_counts[-1], dtype=np.int32)
        numbering.renumber(points, rows, number, ids, order[rows])
        numbers.append(number)
    return points, numbers, tuple(owned_counts), tuple(total_counts)


def number_by_medium(points, count, fluid):
    """Return numbers of points, counted separately in the two media.

    A point on both sides of an interface between fluid and solid is in both.

    Parameters
    ----------
    points : (ne, nodes) int array
    count : int
        Points of the mesh.
    fluid : (ne,) bool array

    Returns
    -------
    points : (ne, nodes) int array
        Numbers in the element's own medium.
    solid, fluid : int
        Points of each medium.
    """
    if not fluid.any():
        return points, count, 0
    out, counts = np.empty_like(points), []
    for in_medium in (~fluid, fluid):
        used, rows = np.zeros(count, bool), np.flatnonzero(in_medium)
        numbering.mark(used, points, rows)
        number = np.cumsum(used, dtype=np.int32) - np.int32(1)
        numbering.renumber(out, rows, number, points, rows)
        counts.append(int(used.sum()))
    return out, *counts


# --- meshes of selected elements ------------------------------------------------------------------


def mesh_bounds(prepared, team):
    """Return the lowest and highest x, y, z of the whole mesh, (2, 3), m, of which a rank may have
    only a part; all ranks must call.
    """
    if prepared.bounds is not None or prepared.owner is None:
        return prepared.mesh.bounds() if prepared.bounds is None else prepared.bounds
    owned = replace(prepared.mesh, elements=prepared.mesh.elements[prepared.owner == team.rank], regions=None, faces={})
    low, high = zip(*team.every(owned.bounds))
    return np.array([np.min(low, axis=0), np.max(high, axis=0)])


def leading_elements(mesh, size):
    """Return the mesh of the first `size` elements, with all nodes; nothing is copied."""
    faces = {name: rows[rows[:, 0] < size] for name, rows in mesh.faces.items()}
    return replace(mesh, elements=mesh.elements[:size], regions=mesh.regions[:size], faces=faces)


def select_elements(mesh, chosen):
    """Return the mesh of chosen elements (m,) in their order, with the nodes that they use."""
    place, used = np.full(mesh.size, -1, np.int32), np.zeros(len(mesh.nodes), bool)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    nodes = mesh.elements[chosen]
    used[nodes] = True
    numbers = (np.cumsum(used, dtype=np.int32) - 1)[nodes]
    faces = {
        name: np.column_stack([place[rows[:, 0]], rows[:, 1]])[place[rows[:, 0]] >= 0]
        for name, rows in mesh.faces.items()
    }
    return replace(mesh, nodes=mesh.nodes[used], elements=numbers, regions=mesh.regions[chosen], faces=faces)
