"""The state of a spectral-element run in memory: fields over global points in two blocks, so that
point tables need one index each; and the units in which forces are accumulated.

Fixed point gives sums equal bits however elements are distributed over threads and ranks. Single precision rounds every
sum, and forces are small differences of large ones: in another order they come out a little different, and after some
hundred steps velocities differ by some 1e-6. Whole numbers add in any order (Le Grand, Goetz & Walker 2013 do so in
molecular dynamics). A unit is 2^-BITS of the largest force of the sources: waves a million times weaker are still finer
than in single precision, and forces 2^(62 - BITS) times larger fit. Runs come out as well with 30 and with 60 bits:
there is room on both sides.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from craton.core.grid import ALIGNMENT, Layout, rounded
from craton.core.plan import Array
from craton.survey.sources import largest_moment

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
        """Return blocks and their parts as arrays of a plan; forces in fixed point (int64) if `exact`."""
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


BITS = 46


@dataclass(frozen=True)
class FixedPoint:
    """Forces are accumulated in whole units, powers of two.

    Parameters
    ----------
    solid : float
        Unit of forces in the solid, N.
    fluid : float
        Unit of forces of the potential in the fluid, m3.
    """

    solid: float
    fluid: float

    def launch(self, launch, fluid=False, moved=0):
        """Return a launch of an operator on forces with the forces in whole units."""
        units = {"unit": self.fluid if fluid else self.solid, "fluid_unit": self.fluid}
        names = units_of(launch.op)
        params = launch.params | {name: units[name] for name in names}
        return replace(launch, op=launch.op.exact(names, moved), params=params)


@dataclass(frozen=True)
class FloatingPoint:
    """Forces are accumulated in floating point."""

    def launch(self, launch, fluid=False, moved=0):
        """Return the launch unchanged."""
        return launch


def units_of(op):
    """Return the names of the units that an operator on forces needs."""
    return ("unit", "fluid_unit") if op.file.name == "coupling.h" else ("unit",)


def choose_units(medium, sources, times, dt):
    """Return the `FixedPoint` units of a problem, equal on all ranks; `FloatingPoint` where sums
    may differ in their last digits.

    Parameters
    ----------
    medium : Medium
    sources : list of PointSource and FiniteFault
    times : (steps,) array
        Times of the steps, s.
    dt : float
        Time step, s.
    """
    if not medium.exact:
        return FloatingPoint()
    edge, speeds = np.cbrt(medium.statistics.smallest), medium.statistics.speeds
    largest = max((peak_force(source, times, dt, edge / medium.element.degree) for source in sources), default=0.0)
    # An edge L under a force F in the solid moves by about F / (rho c^2 L); the fluid's potential
    # gets that times L^2.
    fluid = largest * edge / (speeds["rho"][0] * speeds["slowest"][0] ** 2)
    return FixedPoint(unit(largest), unit(fluid))


def peak_force(source, times, dt, spacing):
    """Return the largest force, N, of a source at any time; a moment acts as forces between points
    `spacing` m apart.
    """
    history = source.wavelet(times)
    if getattr(source, "force", None) is not None:
        return np.abs(history).max() * np.abs(source.force).max()
    return np.abs(np.cumsum(history)).max() * dt * largest_moment(source) / spacing


def unit(largest):
    """Return the unit for a largest force, a power of two."""
    return 2.0 ** (np.ceil(np.log2(largest)) - BITS) if largest > 0 else 2.0**-BITS
