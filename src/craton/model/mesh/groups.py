"""What a mesh file holds, before it is a mesh: nodes, hexahedra, quadrilaterals, sides, each with the name of its group."""
from dataclasses import dataclass, field

import numpy as np

from craton.model.mesh import shape


class MeshFileError(Exception):
    """A mesh file cannot be used: (message, remedy)."""


@dataclass
class Parts:
    """Filled by the reader of a format.

    Parameters
    ----------
    points : (m, 3) array
        Nodes, m.
    elements : list of (ne, 8, 20 or 27) arrays
        Node numbers from 0, in VTK's order.
    names : list of (ne,) object arrays
        Name of each element's group, None where it has none.
    quads : list of ((nq, 4) array, (nq,) object array)
        Corners of quadrilaterals and the names of their groups.
    sides : dict of str to (elements, local faces)
        Face sets given by element.
    others : list of arrays
        Node numbers of points, lines and surfaces.
    counts : dict of str to int
        How many cells of types that are neither hexahedra nor quadrilaterals there are.
    """

    points: np.ndarray
    elements: list = field(default_factory=list)
    names: list = field(default_factory=list)
    quads: list = field(default_factory=list)
    sides: dict = field(default_factory=dict)
    others: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)

    def add_elements(self, cells, order, names):
        """Hexahedra in the node order of a format (a key of `shape.ORDERS`)."""
        if cells.shape[1] != 8:
            known, given = np.array(shape.ORDERS["VTK"]), np.array(shape.ORDERS[order])
            width = cells.shape[1]
            place = {int(spot): i for i, spot in enumerate(given[:width])}
            cells = cells[:, [place[int(spot)] for spot in known[:width]]]
        self.elements.append(np.asarray(cells, np.int64))
        self.names.append(names)

    def add_quads(self, corners, names):
        """Quadrilaterals (nq, 4)."""
        self.quads.append((np.asarray(corners, np.int64), names))
        self.others.append(np.asarray(corners, np.int64).ravel())

    def add_others(self, kind, cells):
        """Cells of another type."""
        self.counts[kind] = self.counts.get(kind, 0) + len(cells)
        if isinstance(cells, np.ndarray) and cells.dtype != object:
            self.others.append(cells.ravel())

    def gathered(self):
        """All elements and their names, in the order of the file."""
        return np.concatenate(self.elements), np.concatenate(self.names)
