"""The mesh of chunks of the Earth or of a part of them: nodes and elements numbered in the whole,
radii in the model.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.model.globe.planet import Planet
from craton.model.mesh import ordering
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
