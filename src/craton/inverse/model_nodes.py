"""Parameters on the grid of a model file for spectral elements: the nodes of elements take them by
linear interpolation, and the chain rule goes through it.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from craton.inverse import parameters as sets
from craton.inverse.model_points import SPEEDS, PointParameters
from craton.model.interpolate import weights
from craton.model.media.sampling import INWARDS


@dataclass(frozen=True)
class NodeParameters(PointParameters):
    """Parameters of a model file for the nodes of elements; see `PointParameters`.

    Parameters
    ----------
    names, medium
        See `PointParameters`.
    nodes : craton.methods.spectral_element.adjoint.nodal.Nodes
    """

    nodes: Any

    @cached_property
    def _map(self):
        """Sparse matrix from points of the file to nodes of elements; as `Sampler` it looks up nodes
        a little way towards the centres of their elements.
        """
        from scipy.sparse import csr_array

        places = self.nodes.coordinates
        centres = self.nodes.d.centres[:, :, None]
        inner = (places + INWARDS * (centres - places)).transpose(1, 0, 2).reshape(3, -1)
        ends = [weights(axis, at) for axis, at in zip(self.medium.axes, inner)]
        (_, ny, nx), count = self.shape[1:], inner.shape[1]
        columns, values = [], []
        for side in product((0, 1), repeat=3):
            i, j, k = (ends[a][s] for a, s in enumerate(side))
            columns.append((k * ny + j) * nx + i)
            parts = [ends[a][2] if s else 1 - ends[a][2] for a, s in enumerate(side)]
            values.append(np.prod(parts, axis=0))
        rows = np.tile(np.arange(count), len(columns))
        shape = (count, int(np.prod(self.shape[1:])))
        entries = (np.concatenate(values), (rows, np.concatenate(columns)))
        return csr_array(entries, shape=shape)

    def _at_nodes(self, values):
        """Values of the file at the nodes, (ne, n^3)."""
        return (self._map @ np.ravel(values)).reshape(self.nodes.axis("x").shape)

    def _speeds(self, m):
        """Speeds and density at the nodes."""
        return [self._at_nodes(field) for field in self.at_points(m)]

    def cells(self, m):
        """Return (rho, kappa, mu) of the nodes from a vector of parameters."""
        return sets.to_cells(SPEEDS, self._speeds(m))

    def gradient(self, m, by_cells):
        """Return the gradient by the parameters from that by (rho, kappa, mu) of the nodes."""
        rows = sets.jacobian(SPEEDS, self._speeds(m))
        parts = {name: sum(row[n] * values for row, values in zip(rows, by_cells)) for n, name in enumerate(SPEEDS)}
        return np.concatenate([self._map.T @ np.ravel(parts[name]) for name in self.names])

    def changes(self, m, dm):
        """Return the changes of (rho, kappa, mu) of the nodes to first order."""
        rows = sets.jacobian(SPEEDS, self._speeds(m))
        named = dict(zip(self.names, np.reshape(np.asarray(dm, float), self.shape)))
        moved = {name: self._at_nodes(values) for name, values in named.items()}
        zero = np.zeros(self.nodes.axis("x").shape)
        return tuple(zero + sum(row[n] * moved[name] for n, name in enumerate(SPEEDS) if name in moved) for row in rows)
