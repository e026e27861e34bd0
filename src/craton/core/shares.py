"""Share of each rank of the elements of a run, totals of all ranks, and the communicator of a single rank."""
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Share:
    """Share of a rank, the `part` of its plan.

    Parameters
    ----------
    rank : int
    elements, outer : int
        Owned elements, and those of them that neighbours wait for.
    points : int
        Points that this rank counts: those that no lower rank has.
    neighbours : dict of int to int
        Shared points with each neighbour.
    mark : int
        Checksum of the numbers of its elements, which identifies the partition.
    """

    rank: int
    elements: int
    outer: int
    points: int
    neighbours: dict
    mark: int = 0

    @property
    def place(self):
        """The rank, as a place among parts."""
        return (self.rank,)

    @property
    def box(self):
        """Values that must agree when a run is resumed, as the box of a grid."""
        return (self.elements, self.outer, self.mark)


@dataclass(frozen=True)
class Total:
    """Totals over the plans of all ranks, the `whole` of a rank's plan.

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
    """Communicator of a single rank, for builders."""

    rank, size = 0, 1

    def every(self, work):
        """Return the results of `work()` on every rank: list.

        Parameters
        ----------
        work : callable
            Without arguments.
        """
        return [work()]

    def swap(self, arrays):
        """Exchange arrays with other ranks, of which there are none.

        Parameters
        ----------
        arrays : dict of int to ndarray
            By rank: empty, there are no others.
        """
        return {}
