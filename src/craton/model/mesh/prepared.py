"""A mesh and what samples its medium, ready for a solver; of a mesh that no rank has whole, where a
rank's elements are in it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Prepared:
    """Elements near each other lie near each other."""

    mesh: Any  # the whole, or a rank's own elements and those around them
    sampler: Any  # sampling.Sampler, or one used as that
    # (ne,) int64: of the elements in the whole mesh: of several that hold a position, the lowest takes it; by default
    # they are counted
    numbers: np.ndarray | None = None
    owner: np.ndarray | None = None  # (ne,) int: rank of each element, where the mesh is not the whole
    bounds: np.ndarray | None = None  # (2, 3): lowest and highest x, y, z of the whole mesh, m
