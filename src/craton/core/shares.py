"""What ranks that share the elements of a run know of each other: what each owns, what all have; and one alone, that has nobody to ask."""
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Share:
    """What a rank owns of a run, as its plan's `part`.

    Parameters
    ----------
    rank : int
    elements, outer : int
        Its elements, and those of them that neighbours wait for.
    points : int
        Points that it counts as its own: those of no lower rank.
    neighbours : dict of int to int
        Shared points with each neighbour.
    mark : int
        Of the numbers of its elements, to tell one partition from another.
    """

    rank: int
    elements: int
    outer: int
    points: int
    neighbours: dict
    mark: int = 0

    @property
    def place(self):
        """Its rank, as a place among parts."""
        return (self.rank,)

    @property
    def box(self):
        """What must agree when a run goes on: as a box is of a grid."""
        return (self.elements, self.outer, self.mark)


@dataclass(frozen=True)
class Total:
    """What the plans of all ranks have together, as a rank's plan knows it: its `whole`.

    Parameters
    ----------
    grid : object with words()
    points : int
    traffic : dict of str to int
        Least bytes a step.
    state_bytes, nbytes : int
    """

    grid: Any
    points: int
    traffic: dict
    state_bytes: int
    nbytes: int


class SingleRank:
    """One rank alone, where builders ask for others."""

    rank, size = 0, 1

    def every(self, work):
        """What `work()` gives on every rank: list."""
        return [work()]

    def swap(self, arrays):
        """What other ranks send for what goes to them."""
        return {}
