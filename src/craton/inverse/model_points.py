"""Parameters at the points of a model file, as one vector: what finite differences and spectral
elements share.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.conventions import AXES
from craton.inverse.parameters import SETS

SPEEDS = SETS[0]


@dataclass(frozen=True)
class PointParameters:
    """Parameters of the points of a model file as one vector: one after the other, each (nz, ny,
    nx).

    Parameters
    ----------
    names : tuple of str
        Of vp, vs, rho.
    medium : Gridded
        The start.
    """

    names: tuple
    medium: Any

    @property
    def shape(self):
        """(parameters, nz, ny, nx) of the file."""
        return (len(self.names), *self.medium.fields[0].shape)

    @property
    def axes(self):
        """Coordinates by axis, m."""
        return dict(zip(AXES, self.medium.axes))

    @property
    def vector(self):
        """The start as a vector."""
        fields = dict(zip(SPEEDS, self.medium.fields))
        return np.stack([fields[name] for name in self.names]).ravel()

    def at_points(self, m):
        """Return vp, vs and rho of the file, those of a vector where it has them."""
        fields = dict(zip(SPEEDS, self.medium.fields))
        fields |= dict(zip(self.names, np.reshape(np.asarray(m, float), self.shape)))
        return [fields[name] for name in SPEEDS]
