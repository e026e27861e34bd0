"""A mesh and what samples its medium, ready for a solver; of a mesh that no rank has whole, where a
rank's elements are in it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Prepared:
    """Elements near each other lie near each other.

    Parameters
    ----------
    mesh : HexMesh
        The whole, or a rank's own elements and those around them.
    sampler : sampling.Sampler, or one used as that
    numbers : (ne,) int64 array, optional
        Of the elements in the whole mesh: of several that hold a position, the lowest takes it. By
        default they are counted.
    owner : (ne,) int array, optional
        Rank of each element, where the mesh is not the whole.
    bounds : (2, 3) array, optional
        Lowest and highest x, y, z of the whole mesh, m.
    """

    mesh: Any
    sampler: Any
    numbers: np.ndarray | None = None
    owner: np.ndarray | None = None
    bounds: np.ndarray | None = None
