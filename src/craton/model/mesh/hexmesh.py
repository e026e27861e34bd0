"""Meshes of hexahedra with 8 or 27 nodes: nodes, elements, regions, named sets of faces; with what samples their medium."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from craton.model.mesh import numbering, shape
from craton.model.mesh.checks import problems

__all__ = ["HexMesh", "Prepared", "completed", "named_by_place", "problems", "subdivided"]


@dataclass(frozen=True, eq=False)
class HexMesh:
    """Hexahedra, conforming: elements that touch share all nodes of the corner, edge or face in
    which they do.

    Parameters
    ----------
    nodes : (m, 3) float64 array
        Coordinates x, y, z, m.
    elements : (ne, 8 or 27) int32 array
        Node numbers, lexicographic: node (c * p + b) * p + a is the a-th along xi, b-th along eta,
        c-th along zeta, p = 2 or 3. Axes xi, eta, zeta are right-handed. (Not the order of VTK or
        Gmsh: `craton.model.mesh.files` permutes.)
    regions : (ne,) int32 array, optional
        Index into `region_names`; zeros where not given; -1 for an element without a tag.
    region_names : tuple of str
    faces : dict of str to (nf, 2) int32 array
        Rows (element, local face) of each named set. Local faces: see `numbering.face_nodes`.
    """

    nodes: np.ndarray
    elements: np.ndarray
    regions: np.ndarray = None
    region_names: tuple = ()
    faces: dict = field(default_factory=dict)

    def __post_init__(self):
        elements = np.ascontiguousarray(self.elements, dtype=np.int32)
        if elements.ndim != 2 or elements.shape[1] not in (8, 27):
            shape_given = np.shape(self.elements)
            raise ValueError(f"elements have the shape {shape_given}; it must be (number, 8) or (number, 27)")
        values = {
            "nodes": np.ascontiguousarray(self.nodes, dtype=float),
            "elements": elements,
            "regions": np.asarray(np.zeros(len(elements)) if self.regions is None else self.regions, np.int32),
            "region_names": tuple(self.region_names),
            "faces": {name: np.asarray(rows, dtype=np.int32).reshape(-1, 2) for name, rows in self.faces.items()},
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def size(self):
        """Number of elements."""
        return len(self.elements)

    @property
    def order(self):
        """Order of the geometry: 1 for 8 nodes, 2 for 27."""
        return {8: 1, 27: 2}[self.elements.shape[1]]

    @property
    def corners(self):
        """Node numbers of the corners: (ne, 8), lexicographic."""
        return self.elements[:, shape.CORNERS[self.elements.shape[1]]]

    def centroids(self):
        """Mean of the corners of each element: (ne, 3), m."""
        corners = self.corners
        return sum(self.nodes[corners[:, c]] for c in range(8)) / 8

    def bounds(self):
        """Lowest and highest x, y, z of the nodes that elements use: (2, 3), m."""
        used = np.zeros(len(self.nodes), bool)
        used[self.elements.ravel()] = True
        return np.array([self.nodes[used].min(axis=0), self.nodes[used].max(axis=0)])

    def quality(self):
        """Least scaled Jacobian of each element over its corners: (ne,); 1 for boxes, 0 or less where it is folded."""
        return shape.quality(self.nodes, self.elements)

    def elevated(self):
        """Return the mesh with 27 nodes per element, the new ones placed by the trilinear map; self
        if it already has them.
        """
        if self.order == 2:
            return self
        return completed(self, shape.positions(self.nodes, self.elements, np.array([-1.0, 0.0, 1.0])))

    def reordered(self, permutation):
        """Return the mesh with its elements in the order ``permutation`` (new [i] = old number),
        faces following.

        Parameters
        ----------
        permutation : (ne,) array of int
            New [i] = old number.
        """
        place = np.empty(self.size, np.int32)
        place[permutation] = np.arange(self.size, dtype=np.int32)
        faces = {name: np.column_stack([place[rows[:, 0]], rows[:, 1]]) for name, rows in self.faces.items()}
        return replace(self, elements=self.elements[permutation], regions=self.regions[permutation], faces=faces)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A mesh and what samples its medium, ready for a solver; elements near each other lie near each other. Of a mesh
    that no rank has whole, where a rank's elements are in it.
    """

    mesh: Any  # the whole, or a rank's own elements and those around them
    sampler: Any  # sampling.Sampler, or one used as that
    # (ne,) int64: of the elements in the whole mesh: of several that hold a position, the lowest takes it; by default
    # they are counted
    numbers: np.ndarray | None = None
    owner: np.ndarray | None = None  # (ne,) int: rank of each element, where the mesh is not the whole
    bounds: np.ndarray | None = None  # (2, 3): lowest and highest x, y, z of the whole mesh, m


def completed(mesh, places):
    """Return a mesh of 27-node elements: the topology of `mesh`, the nodes at `places` (ne, 27, 3) in m, lexicographic
    in each element.

    `places` (ne, 27, 3): nodes, m.
    """
    gll = numbering.number(mesh.elements, 2)
    nodes = np.empty((gll.count, 3))
    nodes[gll.points.reshape(-1)] = places.reshape(-1, 3)
    return replace(mesh, nodes=nodes, elements=gll.points.reshape(-1, 27))


def subdivided(mesh, degree):
    """Return the mesh whose nodes are the GLL points of another: each element cut into degree^3 hexahedra with 8 nodes,
    for pictures.

    Returns HexMesh: node i is GLL point i of ``numbering.number(mesh.elements, degree)``; element e * degree^3 + c is
    cell c of element e, with its region; without face sets.
    """
    numbers = numbering.number(mesh.elements, degree)
    nodes = np.empty((numbers.count, 3))
    places = shape.positions(mesh.nodes, mesh.elements, shape.gll_points(degree))
    nodes[numbers.points.reshape(-1)] = places.reshape(-1, 3)
    n, points = degree, numbers.points
    corners = [points[:, c : c + n, b : b + n, a : a + n].ravel() for c in (0, 1) for b in (0, 1) for a in (0, 1)]
    return HexMesh(nodes, np.stack(corners, axis=1), np.repeat(mesh.regions, n**3), mesh.region_names)


def named_by_place(mesh):
    """Return sets of the boundary faces of a mesh that names none: sides of the bounding box, and what looks up or
    down.

    Returns dict of str to (nf, 2) int32: west, east, south, north: all corners on that side of the bounding box (within
    1e-6 of its size); of the others top and bottom by the sign of z of the outward normal; names without faces are left
    out.
    """
    rows = numbering.boundary_faces(mesh.elements)
    corners = mesh.nodes[numbering.face_corners(mesh.elements)[rows[:, 0], rows[:, 1]]]
    low, high = mesh.bounds()
    tolerance = 1e-6 * (high - low).max()
    outwards = np.where(np.isin(rows[:, 1], (1, 2, 5)), 1, -1)
    up = outwards * np.cross(corners[:, 3] - corners[:, 0], corners[:, 2] - corners[:, 1])[:, 2]
    rest, sets = np.ones(len(rows), bool), {}
    for name, axis, limit in (("west", 0, low), ("east", 0, high), ("south", 1, low), ("north", 1, high)):
        sets[name] = rest & (np.abs(corners[:, :, axis] - limit[axis]).max(axis=1) <= tolerance)
        rest = rest & ~sets[name]
    sets |= {"bottom": rest & (up < 0), "top": rest & (up >= 0)}
    return {name: rows[mask] for name, mask in sets.items() if mask.any()}
