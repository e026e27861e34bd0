"""The mesh of chunks of the Earth or of a part of them: nodes and elements numbered in the whole,
radii in the model.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.model.globe.planet import INWARD, Planet
from craton.model.mesh import ordering, shape
from craton.model.mesh.hexmesh import HexMesh


@dataclass(frozen=True, eq=False)
class Part:
    """The mesh of a chunk or of a slice of it.

    Parameters
    ----------
    chunk : chunk.Chunk or cubed_sphere.CubedSphere
    mesh : HexMesh
        Nodes in the chunk's axes, m. Faces "top", "bottom", and of the chunk's own sides "west",
        "east" (xi), "south", "north" (eta).
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
        """Return the part with its elements in another order: new [i] = old number.

        Parameters
        ----------
        permutation : (ne,) array of int
            New [i] = old number.
        """
        return replace(
            self,
            mesh=self.mesh.reordered(permutation),
            sections=self.sections[permutation],
            numbers=self.numbers[permutation],
        )

    def centres(self):
        """Places of the elements' centres in the stack: (ne, 3), or (ne, 4) on a cube."""
        return self.chunk.stack.places(self.keys[self.mesh.elements[:, 13]])

    def local(self):
        """Return the part with its elements along a space-filling curve; any two elements have the
        same order in all parts.
        """
        return self.reordered(ordering.along_curve(*self.chunk.unrolled(self.centres())))

    def radii(self, points, chosen=slice(None)):
        """Radii of the spherical model at GLL points, (ne, n, n, n) [k][j][i], m, each well inside
        its element's section.

        Parameters
        ----------
        points : (n,) array
            Reference coordinates along each axis.
        chosen : slice or array
            Elements.
        """
        n = len(points)
        values, _ = shape.shape(3, *shape.lattice(np.asarray(points, float)))
        r = shape.product(self.radius[self.mesh.elements[chosen]], values)
        # about the centre radii are not what lies linearly between those of nodes
        if self.chunk.radii[0] == 0:
            central = self.sections[chosen] == 0
            r[central] = self.chunk.undone(
                shape.positions(self.mesh.nodes, self.mesh.elements[chosen][central], np.asarray(points, float))
            )
        low, high = (self.chunk.radii[self.sections[chosen] + side][:, None] for side in (0, 1))
        away = INWARD * self.chunk.model.radius
        return np.clip(r, low + away, high - away).reshape(-1, n, n, n)
