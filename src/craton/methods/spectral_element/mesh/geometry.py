"""The elements of a rank and their GLL points, without material, time step or scenario."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from craton.methods.spectral_element.equations.state import State
from craton.methods.spectral_element.mesh import batched, mesh_terms
from craton.methods.spectral_element.mesh.element import Element


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
        if (compiled := batched.compiled()) is not None:
            return compiled.shapes(rows, self.mesh.nodes, centres)
        return np.ascontiguousarray((self.mesh.nodes[rows] - centres[:, None]).transpose(0, 2, 1))

    def coordinates(self, elements, nodes=slice(None)):
        """Return positions of GLL nodes of elements: (n, 3, nodes), m."""
        return mesh_terms.coordinates(self.element, self.shapes(elements), nodes) + self.centres[elements][:, :, None]

    def jacobian(self, elements, nodes=slice(None)):
        """Return d x_r / d xi_s at GLL nodes of elements: (n, 3, 3, nodes), m."""
        return mesh_terms.jacobian(self.element, self.shapes(elements), nodes)
