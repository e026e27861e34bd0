"""What is taken of the wavefield, as data: snapshots, which fields a series reads and how a picture is made of them (each
method has the function that makes it); recordings around a box, which places, in which ring of the machine.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

MARGIN = 2  # planes beside a plane that centring and differentiating need
RING_BYTES = 1 << 24  # of samples that wait on the machine, about
MOST_SLOTS = 200


@dataclass(frozen=True, eq=False)
class GridSampling:
    """Points of a staggered grid that a picture shows, in a block of points that is read.

    Parameters
    ----------
    shape : tuple of int
        Points of a field along (z, y, x); in the plane y counts shots.
    lattice : dict of str to (tuple of int or int)
        Points of the grid along z, y, x that the picture shows: (0, last + 1, stride), or the
        number of the plane along the axis that is cut.
    half : dict of str to tuple of int
        For each field 1 along the axes (x, y, z) along which it lies half a cell after the integer
        point.
    spacing : tuple of float
        Of the grid along x, y, z, m.
    trace_share : float32 or float32 array (nz, 1, nx), or a dict of them by field, or None
        Pressure over minus the sum of the normal stresses that are computed, or of each its own.
    filled : int array (1 or ny, nx) or None
        Planes below a topography; the picture shows nothing above.
    shots : int or None
        Shots side by side in the plane, 0 for one without a name; None in space.
    chosen : tuple
        The picture's points in the block that is read: for each axis a slice or a number.
    scale : float or None
        Values of the fields as they are kept in 16 bits over values in SI units; None where they
        are kept as they are.
    """

    shape: tuple
    lattice: dict
    half: dict
    spacing: tuple
    trace_share: Any = None
    filled: np.ndarray | None = None
    shots: int | None = None
    chosen: tuple = ()
    scale: float | None = None

    def window(self, ranges):
        """Return the block (z, y, x) to read for a part of the picture, and the part's points in
        it.

        The block has points beside the part where the grid goes on: what is extrapolated at the
        ends of the block is then outside of the part.

        Parameters
        ----------
        ranges : dict of str to (int, int)
            First and last + 1 point of the grid along some axes; all points along others.
        """
        block, chosen = [], []
        for axis, n in zip("zyx", self.shape):
            where = self.lattice.get(axis)
            if where is None:  # shots
                block.append(slice(0, n))
                continue
            first, last = (where, where + 1) if isinstance(where, int) else ranges.get(axis, (0, n))
            low = max(first - MARGIN, 0)
            block.append(slice(low, min(last + MARGIN, n)))
            chosen.append(where - low if isinstance(where, int) else slice(first - low, last - low, where[2]))
        return tuple(block), tuple(chosen)


@dataclass(frozen=True, eq=False)
class ElementSampling:
    """Places of a picture in elements of one medium, and all that interpolation there needs of
    these m elements of n^3 nodes.

    Parameters
    ----------
    where : (places,) int array
        Numbers of the places, counted through the picture.
    element : (places,) int array
        Row of each place's element in the tables below.
    local : (places, 3) array
        Reference coordinates of the places.
    in_fluid : bool
    degree : int
        n - 1.
    points : (m, n^3) int32 array
        Numbers of the elements' nodes in their medium.
    count : int
        Points of the medium, the dummy point included.
    coordinates : (m, 3, n^3) array or None
        Positions of the nodes, m, where slopes are needed.
    material : dict of str to (m, ..., n^3) array
        What the quantity needs of the medium.
    """

    where: np.ndarray
    element: np.ndarray
    local: np.ndarray
    in_fluid: bool
    degree: int
    points: np.ndarray
    count: int
    coordinates: np.ndarray | None
    material: dict


@dataclass(frozen=True, eq=False)
class SnapshotSeries:
    """A series of snapshots of the wavefield.

    Parameters
    ----------
    name, quantity : str
        Name of the series and its quantity.
    components : tuple of str
        Components of the quantity.
    coords : dict
        Coordinates in memory order (z, y, x), a number for the axis that a plane cuts.
    steps : ndarray of int
        Steps after which a snapshot is taken.
    times : ndarray
        Times of the snapshots, s.
    reads : dict of str to tuple of slice
        Fields that it needs and where.
    sampling : GridSampling or tuple of ElementSampling
        How a picture is made of these fields.
    precision : str
        Of the plan.
    """

    name: str
    quantity: str
    components: tuple
    coords: dict
    steps: np.ndarray
    times: np.ndarray
    reads: dict
    sampling: Any
    precision: str = "float32"

    @property
    def shape(self):
        """Shape of one snapshot."""
        axes = tuple(np.size(c) for c in self.coords.values() if np.ndim(c))
        return ((len(self.components),) if len(self.components) > 1 else ()) + axes

    @property
    def nbytes(self):
        """Bytes of all snapshots in float32."""
        return 4 * int(np.prod(self.shape, dtype=np.int64)) * len(self.steps)

    @property
    def lattice(self):
        """Points of a grid that it shows (`GridSampling.lattice`); empty where it shows places in elements."""
        return self.sampling.lattice if isinstance(self.sampling, GridSampling) else {}

    @property
    def where(self):
        """Places of the picture in the elements of this rank, counted through the picture: int array."""
        return np.concatenate([np.empty(0, int), *(group.where for group in self.sampling)])

    def within(self, ranges):
        """Return the series for a part of the picture of a grid; its `coords` remain those of the
        whole.

        Parameters
        ----------
        ranges : dict of str to (int, int)
            First and last + 1 point of the grid along each axis of the picture.
        """
        block, chosen = self.sampling.window(ranges)
        return replace(self, reads=dict.fromkeys(self.reads, block), sampling=replace(self.sampling, chosen=chosen))


# --- recordings around a box ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Recording:
    """Values of the state at some places after every step, for an injection into another run.

    Parameters
    ----------
    name : str
    array : str
        Name of the ring (slots, places) into which the machine samples.
    slots : int
        Steps that the ring holds.
    labels : dict of str to (places,) array
        What and where each place is: ``field``, ``x``, ``y``, ``z`` and the medium.
    about : dict
        What the other run compares: method, step, start, spacing.
    steps : int
    precision : str
    gathering : Gathering or None
        Makes all places of those of the ranks; None on one rank.
    """

    name: str
    array: str
    slots: int
    labels: dict = field(repr=False)
    about: dict
    steps: int
    precision: str
    gathering: Any = None

    @property
    def places(self):
        """Number of places."""
        return len(self.labels["x"])

    @property
    def nbytes(self):
        """Bytes of all samples without compression."""
        return self.places * self.steps * np.dtype(self.precision).itemsize


def slots_for(places, steps, precision):
    """Return the steps that the ring of a recording holds.

    Parameters
    ----------
    places, steps : int
    precision : str
    """
    row = max(places * np.dtype(precision).itemsize, 1)
    return max(1, min(MOST_SLOTS, steps, RING_BYTES // row))
