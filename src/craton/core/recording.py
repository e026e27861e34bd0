"""Recordings of the wavefield around a box as data: which places, in which ring of the machine."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RING_BYTES = 1 << 24  # of samples that wait on the machine, about
MOST_SLOTS = 200


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
