"""The state of a spectral-element run in memory: one block of fields over global points, so that point tables need one index."""
from dataclasses import dataclass

import numpy as np

from craton.plan.layout import ALIGNMENT, rounded
from craton.plan.plan import Array

SOLID = {"displacement": 3, "velocity": 3, "force": 3}  # reals a point, component fastest
FLUID = {"potential": 1, "potential_rate": 1, "potential_force": 1, "pressure": 1}


@dataclass(frozen=True)
class State:
    """Fields over the points of the solid and of the fluid, one dummy point behind each, to which padding elements add.

    Parameters
    ----------
    solid, fluid : int
        Global points of each, the dummy not counted.
    """

    solid: int
    fluid: int
    reach: int = 0  # no ghosts: a machine asks

    @property
    def shape(self):
        """Points, as the grid of a machine: one row."""
        return (1, 1, self.solid + self.fluid)

    @property
    def fields(self):
        """Name of each field: (first element in the block, points with the dummy, components)."""
        found, start = {}, 0
        for points, kinds in ((self.solid, SOLID), (self.fluid, FLUID)):
            for name, components in kinds.items() if points else ():
                found[name] = (start, points + 1, components)
                start += rounded((points + 1) * components, ALIGNMENT)
        return found

    def offset(self, name):
        """First element of a field in the block."""
        return self.fields[name][0]

    def arrays(self, precision):
        """The block and its parts as arrays of a plan."""
        last, points, components = list(self.fields.values())[-1]
        dtype = np.dtype(precision)
        found = {"state": Array("wavefield", (last + rounded(points * components, ALIGNMENT),), dtype)}
        return found | {name: Array("wavefield", (n, c) if c > 1 else (n,), dtype, start=start, part_of="state")
                        for name, (start, n, c) in self.fields.items()}  # fmt: skip
