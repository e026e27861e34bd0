"""What a mesh file holds, before it is a mesh: nodes, hexahedra, quadrilaterals, sides, each with
the name of its group.
"""

from dataclasses import dataclass, field

import numpy as np

from craton.io.contents import FileError

# Lexicographic place (c * 3 + b) * 3 + a of each node of a 27-node hexahedron, in the order of the
# format.
_CORNERS = (0, 2, 8, 6, 18, 20, 26, 24)
_BELOW, _ABOVE, _UPRIGHT = (1, 5, 7, 3), (19, 23, 25, 21), (9, 11, 17, 15)
NODE_ORDERS = {
    # VTK file formats, type 29 (and 25: the first 20)
    "VTK": (*_CORNERS, *_BELOW, *_ABOVE, *_UPRIGHT, 12, 14, 10, 16, 4, 22, 13),
    # Gmsh reference manual, "Node ordering"
    "gmsh": (*_CORNERS, 1, 3, 9, 5, 11, 7, 17, 15, 19, 21, 23, 25, 4, 10, 12, 14, 16, 22, 13),
    # Exodus II: A finite element data model, HEX27
    "Exodus": (*_CORNERS, *_BELOW, *_UPRIGHT, *_ABOVE, 13, 4, 22, 12, 14, 10, 16),
    # SPECFEM3D Cartesian manual, figure of HEX27
    "SPECFEM": (*_CORNERS, *_BELOW, *_UPRIGHT, *_ABOVE, 4, 10, 14, 16, 12, 22, 13),
}


@dataclass
class MeshParts:
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
        """Add hexahedra.

        Parameters
        ----------
        cells : (ne, 8, 20 or 27) array of int
        order : str
            Of their nodes, a key of `NODE_ORDERS`.
        names : (ne,) array of object
        """
        width = cells.shape[1]
        if width not in (8, 20, 27):
            raise FileError(f"elements of {width} nodes are no hexahedra of 8, 20 or 27")
        columns = [NODE_ORDERS[order][:width].index(place) for place in NODE_ORDERS["VTK"][:width]]
        self.elements.append(np.asarray(cells[:, columns], np.int64))
        self.names.append(names)

    def add_quads(self, corners, names):
        """Add quadrilaterals.

        Parameters
        ----------
        corners : (nq, 4) array of int
        names : (nq,) array of object
        """
        self.quads.append((np.asarray(corners, np.int64), names))
        self.others.append(np.asarray(corners, np.int64).ravel())

    def add_others(self, kind, cells):
        """Count cells of another type.

        Parameters
        ----------
        kind : str
        cells : array of int
        """
        self.counts[kind] = self.counts.get(kind, 0) + len(cells)
        if isinstance(cells, np.ndarray) and cells.dtype != object:
            self.others.append(cells.ravel())

    def gathered(self):
        """All elements and their names, in the order of the file."""
        return np.concatenate(self.elements), np.concatenate(self.names)
