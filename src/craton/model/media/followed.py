"""Layers that follow the ground: a layered medium whose z counts from the local surface."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from craton.model.media import cells

PIECES = 8  # samples along z of a cell


def asked(model):
    """Whether the layers of a model count from its topography.

    Parameters
    ----------
    model : model of a scenario
    """
    return getattr(model, "follow", "level") == "surface" and getattr(model, "topography", None) is not None


@dataclass(frozen=True)
class Followed:
    """Layers at constant depth below the ground; see `layered.Layered` for the names.

    Parameters
    ----------
    flat : Layered
        In which z = 0 is the ground.
    terrain : Terrain
    """

    flat: Any
    terrain: Any
    breaks: np.ndarray = field(default_factory=lambda: np.empty(0))  # none at the same z everywhere

    whole = (1, PIECES, 1)

    def values(self, x, y, z):
        """vp, vs (m/s), rho (kg/m3) and what else the layers have at points (arrays that broadcast
        together).

        Parameters
        ----------
        x, y : array_like
            m.
        z : array_like
            m, up.
        """
        return self.flat.values(x, y, np.asarray(z, float) - self.terrain.surface(x, y))

    def averages(self, grid, k0, k1, average=cells.ELASTIC):
        """Density and moduli of the cells of planes k0 to k1 - 1, without anomalies, from `PIECES`
        samples along z.

        Parameters
        ----------
        grid : Grid
        k0 : int
            First plane.
        k1 : int
            One past the last plane.
        average : Average
            What is averaged, and how.
        """
        x, y = grid.axis("x"), grid.axis("y")[:, None]
        ground = self.terrain.surface(x, y)
        out = tuple(np.empty((k1 - k0, *grid.shape[1:])) for _ in range(average.size))
        z = cells.middles(*cells.edges(grid, "z"), PIECES)

        def plane(k):
            mean = average(
                self.flat.values(0, 0, z[k][:, None, None] - ground), np.full((PIECES, 1, 1), 1 / PIECES), (0,)
            )
            for whole, part in zip(out, mean):
                whole[k - k0] = part

        cells.in_parallel(plane, range(k0, k1))
        return out
