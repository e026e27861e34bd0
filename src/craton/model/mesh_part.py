"""The mesh of chunks of the Earth or of a part of them: nodes and GLL points numbered in the whole, radii in the model."""
from dataclasses import dataclass, replace

import numpy as np

from craton.model import ordering, shape
from craton.model.hexmesh import HexMesh
from craton.model.planet import INWARD, Planet


@dataclass(frozen=True, eq=False)
class Part:
    """The mesh of a chunk or of a slice of it.

    Parameters
    ----------
    chunk : chunk.Chunk or cubed_sphere.CubedSphere
    mesh : HexMesh
        Nodes in the chunk's axes, m. Faces "top", "bottom", and of the chunk's own sides "west", "east" (xi), "south", "north" (eta).
    keys : (m,) int64 array
        Number of each node in the whole chunk.
    radius : (m,) array
        Of each node in the spherical model, m: before flattening and topography.
    sections : (ne,) int32 array
        Number of the section of `Chunk.radii` that each element lies in.
    numbers : (ne,) int64 array
        Of each element in the whole chunk.
    """

    chunk: Planet
    mesh: HexMesh
    keys: np.ndarray
    radius: np.ndarray
    sections: np.ndarray
    numbers: np.ndarray

    def reordered(self, permutation):
        """The same part with its elements in another order: new [i] = old number."""
        return replace(self, mesh=self.mesh.reordered(permutation), sections=self.sections[permutation], numbers=self.numbers[permutation])

    def centres(self):
        """Places of the elements' centres in the stack: (ne, 3), or (ne, 4) on a cube."""
        return self.chunk.stack.places(self.keys[self.mesh.elements[:, 13]])

    def local(self):
        """The same part with its elements along a space-filling curve: any two of them follow one another alike in all parts."""
        return self.reordered(ordering.along_curve(*self.chunk.unrolled(self.centres())))

    def radii(self, points, chosen=slice(None)):
        """Radii of the spherical model at GLL points, (ne, n, n, n) [k][j][i], m, each well inside its element's section.

        Parameters
        ----------
        points : (n,) array
            Reference coordinates along each axis.
        chosen : slice or array
            Elements.
        """
        n = len(points)
        values, _ = shape.shape(3, *shape.lattice(np.asarray(points, float)))
        r = self.radius[self.mesh.elements[chosen]] @ values
        if self.chunk.radii[0] == 0:  # about the centre radii are not what lies linearly between those of nodes
            near = self.sections[chosen] == 0
            r[near] = self.chunk.undone(shape.positions(self.mesh.nodes, self.mesh.elements[chosen][near], np.asarray(points, float)))
        low, high = (self.chunk.radii[self.sections[chosen] + side][:, None] for side in (0, 1))
        away = INWARD * self.chunk.model.radius
        return np.clip(r, low + away, high - away).reshape(-1, n, n, n)

    def point_keys(self, degree, chosen=slice(None)):
        """Number in the whole chunk of each GLL point, (ne, n, n, n) int64: equal where, and only where, two points are one.

        A point on a node, edge, face, or inside an element is numbered by the key of the node at the centre of that, and by its place there
        counted from the corner of lowest key; for any part and any order of elements the same.
        """
        return point_keys(self.keys[self.mesh.elements[chosen]], degree)


def point_keys(keys, degree):
    """Numbers (ne, n, n, n) int64 of the GLL points of 27-node elements from those of their nodes (ne, 27): see `Part.point_keys`."""
    n, count = degree + 1, max(degree - 1, 1) ** 3
    out = np.empty((len(keys), n, n, n), np.int64)
    grid = keys.reshape(-1, 3, 3, 3)
    inner = np.arange(degree - 1)
    ends = [slice(0, 1), slice(1, degree), slice(degree, degree + 1)]
    for c in range(3):
        for b in range(3):
            for a in range(3):
                free = [axis for axis, at in enumerate((c, b, a)) if at == 1]
                corners = grid[:, [c] if c != 1 else [0, 2]][:, :, [b] if b != 1 else [0, 2]][:, :, :, [a] if a != 1 else [0, 2]]
                local = _ordered(corners, free, inner)
                out[:, ends[c], ends[b], ends[a]] = grid[:, c, b, a, None, None, None] * count + local
    return out


def _ordered(corners, free, inner):
    """Places of inner points on an edge, face or element, counted from its corner of lowest key along its axes of lower neighbours first.

    `corners` (ne, 1 or 2, 1 or 2, 1 or 2) are keys, `free` the axes (0 zeta, 1 eta, 2 xi) with 2. Inside an element, which nobody shares,
    it is along xi, eta, zeta.
    """
    m = len(inner)
    if len(free) == 0:
        return 0
    if len(free) == 3:
        return np.arange(m**3).reshape(m, m, m)
    flat = corners.reshape(len(corners), -1)
    lowest = flat.argmin(axis=1)
    if len(free) == 1:
        places = np.where((lowest == 1)[:, None], inner[::-1], inner)
    else:
        rows = np.arange(len(flat))
        q, p = (np.where((lowest & bit > 0)[:, None], inner[::-1], inner) for bit in (2, 1))
        swapped = flat[rows, lowest ^ 2] < flat[rows, lowest ^ 1]
        plain, turned = q[:, :, None] * m + p[:, None, :], q[:, :, None] + p[:, None, :] * m
        places = np.where(swapped[:, None, None], turned, plain)
    sizes = [m if axis in free else 1 for axis in range(3)]
    return places.reshape(len(flat), *sizes)
