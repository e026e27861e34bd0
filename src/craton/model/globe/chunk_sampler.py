"""The medium of a chunk of the Earth at the nodes of its elements, as methods ask for it: by
position, whatever the order of elements.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.host.compile import helper
from craton.model.globe import radial
from craton.model.globe.planet import INWARD, directed

UPPER = np.triu_indices(6)


@dataclass(frozen=True, eq=False)
class ChunkSampler:
    """A chunk's model made ready to be sampled; used as `sampling.Sampler` is."""

    chunk: Any
    over: Any = None  # a three-dimensional model laid over the radial one
    lossy: bool = False  # with 1 / Q
    # ln(f / f0) / pi: speeds, given at f0, are stated at f, v (1 + dispersion / Q) (Kanamori & Anderson 1977, eq. 3)
    dispersion: float = 0.0

    @property
    def anisotropic(self):
        """21 constants in place of two."""
        return self.chunk.model.anisotropic

    def at(self, coordinates, centres=None, regions=None):
        """Return the medium at nodes: dict of arrays (ne, n), stiffness (ne, 21, n) in the chunk's axes; see
        `sampling.at_nodes`.

        `coordinates` (ne, 3, n): m, of all nodes of each element; a node on a discontinuity takes the side on which its
        element is; `centres`, `regions`: not used.
        """
        coordinates = np.ascontiguousarray(coordinates, float)
        xyz = np.moveaxis(coordinates, 1, -1)
        r, model = self.radii(xyz), self.chunk.model
        medium = model.medium(r, self.lossy or self.dispersion != 0 or self.over is not None)
        if self.over is not None:
            medium = self.over.laid_over(medium, *self.chunk.frame.degrees(xyz), model.radius - r)
        vp, vs, rho, loss_p, loss_s = medium
        if self.dispersion:
            vp, vs = vp * (1 + self.dispersion * loss_p), vs * (1 + self.dispersion * loss_s)
        out = {"rho": rho, "vp": vp, "vs": vs}
        if self.lossy:
            out |= {"loss_p": loss_p, "loss_s": loss_s}
        if self.anisotropic:
            out["stiffness"] = self._stiffness(model.parameters(r), xyz, vp, vs, rho)
        return out

    def uniform(self, z, centres, regions=None):
        """Elements that have the same values at all nodes, see `sampling.Sampler.uniform`: not known of any.

        `z` (ne, n) in m, up; `centres` (ne, 3) in m; `regions` (ne,) int: number of each element's region.
        """
        return np.zeros(len(z), bool)

    def _stiffness(self, values, xyz, vp, vs, rho):
        """Return the 21 constants (ne, 21, n) about the radial direction; what is laid over the
        radial model changes its speeds in proportion.
        """
        own_vp, own_vs, _ = radial.speeds(values)
        values[0], values[1:3] = rho, values[1:3] * (vp / own_vp)
        values[3:5] *= np.where(own_vs > 0, vs / np.where(own_vs > 0, own_vs, 1), 1)
        axis = np.moveaxis(directed(xyz)[0], -1, 0)
        return np.moveaxis(radial.stiffness(radial.love(values), axis)[UPPER], 0, 1)

    def radii(self, xyz):
        """Radii in the spherical model, m, of nodes (ne, n, 3), each within the section that its element lies in.

        That is the one half-way between its highest and lowest node; a wide element's centre may lie below a thin
        crust.
        """
        r, limits = np.ascontiguousarray(self.chunk.undone(xyz)), np.ascontiguousarray(self.chunk.radii, float)
        away = float(INWARD * self.chunk.model.radius)
        helper(radial.SPHERES).call("settle", *r.shape, len(limits) - 1, limits, away, r)
        return r
