"""The plan of a sum over sources at many points, as inert data: arrays, phases, and the tiles by which both are streamed through them."""
from dataclasses import dataclass, field
from typing import Any

from craton.core.layout import Layout


@dataclass(frozen=True)
class Tile:
    """One pass of the phases.

    Parameters
    ----------
    load : callable
        No arguments; host arrays by name that replace the first rows of the plan's arrays before the pass.
    work : int
        Interactions of the pass, for progress.
    store : ndarray or slice, optional
        Points to which the totals of this pass belong; None while sources of these points are still to come.
    """

    load: Any
    work: int
    store: Any = None


@dataclass
class SweepPlan:
    """A sum over sources at points.

    Parameters
    ----------
    title : str
    solver : str
        Name of the solver that built it.
    precision : str
        ``"float32"`` or ``"float64"``.
    layout : Layout
        Shape (parts of the source list, groups of points, points of a group), no reach.
    arrays : dict of str to Array
    phases : tuple of Phase
        One pass.
    tiles : list of Tile
        All passes, in order.
    count : tuple of int
        Fields and points of the result.
    total : str
        The array that holds the sums in double, (fields, points of a tile or more).
    scale : ndarray
        Factor of each field from sums over G in the kernels' length unit to the result's units.
    notes : dict of str to list of (str, str)
        What `craton plan` prints, by section.
    part : None
        A machine computes the points of a sweep whole: no subdomains, no halos.
    """

    title: str
    solver: str
    precision: str
    layout: Layout
    arrays: dict
    phases: tuple
    tiles: list
    count: tuple
    scale: Any
    total: str = "total"
    notes: dict = field(default_factory=dict)
    part: None = None

    @property
    def nbytes(self):
        """Bytes of all arrays."""
        return sum(a.nbytes for a in self.arrays.values())

    @property
    def work(self):
        """Interactions of all passes."""
        return sum(tile.work for tile in self.tiles)

    @property
    def operators(self):
        """Every operator that it launches, once, by name."""
        return {launch.op.name: launch.op for phase in self.phases for launch in phase.launches}
