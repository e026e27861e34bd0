"""The state of a spectral-element run in memory: fields over global points in two blocks, so that
point tables need one index each.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from craton.core.grid import ALIGNMENT, Layout, rounded
from craton.core.plan import Array

SOLID = {"displacement": 3, "velocity": 3, "force": 3}  # reals a point, component fastest
FLUID = {"potential": 1, "potential_rate": 1, "potential_force": 1, "pressure": 1}
FORCE = "force"  # how names of the fields of the block "forces" end; all else is "state"


@dataclass(frozen=True)
class State:
    """Fields over the points of the solid and of the fluid, one dummy point behind each, to which
    padding elements add.

    Parameters
    ----------
    solid, fluid : int
        Global points of each, the dummy not counted.
    """

    solid: int
    fluid: int
    kinds: ClassVar[tuple] = (SOLID, FLUID)

    @property
    def layout(self):
        """The points as the grid of a machine: one row without ghosts."""
        return Layout((1, 1, self.solid + self.fluid), 0)

    @property
    def fields(self):
        """Name of each field: (first element in its block, points with the dummy, components)."""
        fields, start = {}, {True: 0, False: 0}
        for points, kinds in zip((self.solid, self.fluid), self.kinds):
            for name, components in kinds.items() if points else ():
                is_force = name.endswith(FORCE)
                fields[name] = (start[is_force], points + 1, components)
                start[is_force] += rounded((points + 1) * components, ALIGNMENT)
        return fields

    def offset(self, name):
        """Return the first element of a field in its block."""
        return self.fields[name][0]

    def arrays(self, precision, exact=False):
        """Return blocks and their parts as arrays of a plan; forces in fixed point (int64) if
        `exact`.
        """
        arrays = {}
        for block, dtype in (("state", precision), ("forces", "int64" if exact else precision)):
            fields = {name: field for name, field in self.fields.items() if name.endswith(FORCE) == (block == "forces")}
            last, points, components = list(fields.values())[-1]
            arrays[block] = Array("wavefield", (last + rounded(points * components, ALIGNMENT),), np.dtype(dtype))
            arrays |= {
                name: Array("wavefield", (n, c) if c > 1 else (n,), np.dtype(dtype), start=start, part_of=block)
                for name, (start, n, c) in fields.items()
            }
        return arrays


@dataclass(frozen=True)
class PairState(State):
    """Two fields side by side, of each point first all of the one, then all of the other: a field
    with its transposed field, or with its Born field; see kernels/pair.h.
    """

    kinds: ClassVar[tuple] = (
        {"pair": 6, "pair_rate": 6, "pair_force": 6},
        {"fluid_pair": 2, "fluid_pair_rate": 2, "fluid_pair_force": 2, "pair_pressure": 1},
    )
