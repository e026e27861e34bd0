"""Summary of a mesh of elements: number of points, edges, positions."""
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class ElementGrid:
    """Number, size and positions of elements and GLL points; the counterpart of `craton.model.Grid`.

    Parameters
    ----------
    elements, degree : int
    size : int
        Points that elements share counted once, solid and fluid.
    shortest, spacing, longest : float
        Edges of the elements, m: the shortest, the middle one, the longest.
    where : callable
        ``where(point)`` gives (x, y, z), m, of a point by its number among those of the solid.
    from_file : bool
        The mesh is not made here.
    media : callable, optional
        ``media()`` gives the mesh and values of its elements for pictures: (HexMesh, dict of (ne,) arrays).
    """

    elements: int
    degree: int
    size: int
    shortest: float
    spacing: float
    longest: float
    where: Callable
    from_file: bool = False
    media: Callable | None = None

    planar = False
    shape = None  # of a regular grid

    def words(self):
        """Elements, points and edges in words."""
        edges = f"{self.spacing:.4g} m"
        if self.longest > 1.001 * self.shortest:
            edges = f"{self.shortest:.4g} to {self.longest:.4g} m"
        return f"{self.elements:,} elements of degree {self.degree} = {self.size / 1e6:,.2f} million points, edges {edges}"

    def coarser(self, factor):
        """Say how a scenario asks for elements that are longer by a factor.

        Parameters
        ----------
        factor : float
        """
        if self.from_file:
            return f"a mesh whose elements are {factor:.3g} times longer"
        return f"elements {factor:.3g} times longer (domain.element_size, or period of a chunk), or a smaller domain"

    def place(self, at):
        """Say where the value ``at`` of a field, (point,) or (point, component), is, and whether that is at an edge: not told.

        Parameters
        ----------
        at : tuple of int
        """
        where = ", ".join(f"{axis} = {v:g}" for axis, v in zip("xyz", self.where(at[0])))
        return where, False
