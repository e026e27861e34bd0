"""Absorbing layers: convolutional PML of second order in displacement, along reference directions of elements; see layer.h.

With p = d/dt, the derivative across a layer is multiplied by 1/s, s = 1 + d / (alpha + p) (Komatitsch & Martin 2007), twice:

    rho p^2 u = 1/s_x d_x sigma_x + 1/s_y d_y sigma_y + 1/s_z d_z sigma_z,   sigma = C : (d_x / s_x, d_y / s_y, d_z / s_z) u

This is the stretched equation of Xie et al. (2014), s_x s_y s_z rho p^2 u = ..., divided by s_x s_y s_z: each direction keeps its own two
filters, in faces, edges and corners of the domain alike, the mass stays what it is and no filter follows another. At p = 0 the stretch is
1 + d / alpha, finite: static displacement goes on behind the layer as it would some layer thicknesses further out.

Derivatives are those along the lines of the mesh. Where the layer's depth is constant on the other two families of lines, that is the
derivative across the layer in the coordinates that the mesh makes.
"""
from dataclasses import dataclass, replace

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.solvers.sem_elastic import mesh_terms
from craton.solvers.sem_elastic.element import Element

FLOOR = 0.3  # of alpha at the outer face, of that at the inner one
INSIDE = 1e-3  # of the layer: as deep as this an element must reach into it
PLANE = 1e-3  # of the layer: so far nodes of its face may be out of plane


@dataclass(frozen=True)
class Side:
    """A layer along one plane face.

    Parameters
    ----------
    name : str
        Of the face.
    normal : (3,) array
        Outwards.
    outer : float
        normal . x on the face, m.
    width : float
        m.
    damping : float
        d on the face, 1/s.
    shift : float
        alpha at the inner edge, 1/s.
    """

    name: str
    normal: np.ndarray
    outer: float
    width: float
    damping: float = 0.0
    shift: float = 0.0

    def depth(self, coordinates):
        """Part of the layer behind positions (n, 3, m) from its inner edge on, negative outside it: (n, m)."""
        return 1 - (self.outer - np.einsum("a,nam->nm", self.normal, coordinates)) / self.width

    def profile(self, coordinates):
        """d and alpha at positions (n, 3, m), 1/s: d = d0 q^2, alpha falls linearly to `FLOOR` of itself (Collino & Tsogka 2001)."""
        q = np.clip(self.depth(coordinates), 0, 1)
        return self.damping * q**2, self.shift * (1 - (1 - FLOOR) * q)


@dataclass(frozen=True, eq=False)
class Layers:
    """The absorbing layers of a mesh.

    Parameters
    ----------
    sides : tuple of Side
    directions : (sides, ne) int8 array
        Reference direction of each element across each side's layer; -1 where it is not in that layer.
    """

    sides: tuple
    directions: np.ndarray

    @property
    def axes(self):
        """`Kind.axes` of each element: (ne,) int."""
        bits = np.where(self.directions >= 0, 1 << np.maximum(self.directions, 0).astype(int), 0)
        return np.bitwise_or.reduce(bits, axis=0)


def layers(d, sources):
    """The `Layers` of a `Discretisation`, None where no face has one; all ranks must ask."""
    names = [name for name in sorted({*d.mesh.faces}) if d.scenario.face(name) == "pml"]
    if not names:
        return None
    options = d.scenario.boundaries.pml
    vp = d.first.speeds["vp"][1]
    frequency = options.frequency or max((s.wavelet.peak_frequency for s in sources), default=0.0)
    sides = []
    for name in names:
        side = side_of(d, name, options)
        if side is not None:
            strength = -3 * vp * np.log(options.reflection) / (2 * side.width)
            own = frequency or 0.1 * vp / side.width
            sides.append(replace(side, damping=strength, shift=np.pi * own))
    return Layers(tuple(sides), np.stack([direction_across(d, side) for side in sides]))


def side_of(d, name, options):
    """The `Side` of a face without its profile; None where the face has no elements on any rank."""
    rows = d.mesh.faces[name]
    vectors = corner_vectors(d, rows).sum(axis=0) if len(rows) else np.zeros(3)
    vector = np.sum(d.division.team.every(lambda: vectors), axis=0)
    if not vector.any():
        return None
    normal = vector / np.linalg.norm(vector)
    every = [one for one in d.division.team.every(lambda: extents(d, rows, normal)) if one is not None]
    low, high, thick = min(one[0] for one in every), max(one[1] for one in every), max(one[2] for one in every)
    width = options.width or options.thickness * thick
    if high - low > PLANE * width:
        raise ScenarioError([Problem(f"boundaries.{name}", f"an absorbing layer needs a plane face; its nodes are {high - low:.4g} m apart "
                                     "along its normal", 'use "stacey" there')])  # fmt: skip
    return Side(name, normal, (low + high) / 2, width)


def corner_vectors(d, rows):
    """Area vectors of faces: (nf, 3), m2."""
    return mesh_terms.area_vectors(d.element, d.shapes(rows[:, 0]), np.column_stack([np.arange(len(rows)), rows[:, 1]])).sum(axis=1)


def extents(d, rows, normal):
    """Least and largest normal . x on some faces, and the largest extent of their elements along the normal, m; None without faces."""
    if not len(rows):
        return None
    along = d.mesh.nodes[d.mesh.elements[rows[:, 0]]] @ normal  # 27 nodes
    nodes = Element(2).face_nodes[rows[:, 1]]
    on_face = np.take_along_axis(along, nodes, axis=1)
    return float(on_face.min()), float(on_face.max()), float(np.ptp(along, axis=1).max())


def direction_across(d, side):
    """Reference direction of each element along which the depth in a layer changes; -1 outside the layer: (ne,) int8."""
    out = np.full(d.mesh.size, -1, np.int8)
    for part in mesh_terms.batches(d.mesh.size):
        depth = side.depth(d.mesh.nodes[d.mesh.elements[part]].transpose(0, 2, 1))
        some = depth.max(axis=1) > INSIDE
        cube = depth[some].reshape(-1, 3, 3, 3)
        spread = np.stack([np.ptp(cube, axis=axis).max(axis=(1, 2)) for axis in (3, 2, 1)])
        out[part][some] = spread.argmax(axis=0)
    return out


def rates(d, elements, axes):
    """Rows held, decay of each direction of `axes` at the nodes of elements, see layer.h: (n, 2 directions, n^3)."""
    places, h = d.coordinates(elements), d.dt / 2
    own = [s for s in range(3) if axes >> s & 1]
    out = np.zeros((len(elements), 2 * len(own), d.element.size))
    for n, s in enumerate(own):
        damping, shift = np.zeros((2, len(elements), d.element.size))
        for side, directions in zip(d.layers.sides, d.layers.directions):
            inside = directions[elements] == s
            more, alpha = side.profile(places[inside])
            damping[inside] += more
            shift[inside] = np.maximum(shift[inside], alpha)
        whole = 1 + (shift + damping) * h
        out[:, 2 * n], out[:, 2 * n + 1] = damping * h / whole, (1 - (shift + damping) * h) / whole
    return out
