"""The plan of a sum over sources at many points: arrays and phases as data, and the tiles by which
both are streamed through them.
"""

from dataclasses import dataclass
from typing import Any

from craton.core.plan import StepPlan


@dataclass(frozen=True)
class Tile:
    """One pass of the phases.

    Parameters
    ----------
    load : callable
        No arguments; host arrays by name that replace the first rows of the plan's arrays before
        the pass.
    work : int
        Interactions of the pass, for progress.
    store : ndarray or slice, optional
        Points to which the totals of this pass belong; None while sources of these points are still
        to come.
    """

    load: Any
    work: int
    store: Any = None


@dataclass(kw_only=True)
class SweepPlan(StepPlan):
    """A sum over sources at points; its layout has the shape (parts of the source list, groups of
    points, points of a group).

    Parameters
    ----------
    tiles : list of Tile
        All passes, in order.
    count : tuple of int
        Fields and points of the result.
    total : str
        The array that holds the sums in double, (fields, points of a tile or more).
    scale : ndarray
        Factor of each field from sums over G in the kernels' length unit to the result's units.
    """

    tiles: list
    count: tuple
    scale: Any
    total: str = "total"

    @property
    def work(self):
        """Interactions of all passes."""
        return sum(tile.work for tile in self.tiles)
