"""Forces counted in whole units, so that their sums are the same bits however elements are shared out among threads and ranks.

Single precision rounds every sum, and forces are small differences of large ones: in another order they come out a little different, and
after some hundred steps velocities differ by some 1e-6. Whole numbers add in any order (Le Grand, Goetz & Walker 2013 do so in
molecular dynamics). A unit is 2^-BITS of the largest force of the sources: waves a million times weaker are still finer than in
single precision, and forces 2^(62 - BITS) times larger fit. Runs come out as well with 30 and with 60 bits: there is room on both sides.
"""
from dataclasses import dataclass, replace

import numpy as np

BITS = 46


@dataclass(frozen=True)
class Units:
    """Unit of forces in the solid, N, and of those of the potential in the fluid, m3: powers of two.

    Parameters
    ----------
    solid, fluid : float
    """

    solid: float
    fluid: float

    def launch(self, launch, fluid=False, moved=0):
        """A launch of an operator on forces with these counted."""
        units = {"unit": self.fluid if fluid else self.solid, "fluid_unit": self.fluid}
        own = units_of(launch.op)
        return replace(launch, op=launch.op.exact(own, moved), params=launch.params | {name: units[name] for name in own})


class Reals:
    """Forces as they are."""

    def launch(self, launch, fluid=False, moved=0):
        """The same launch."""
        return launch


def units_of(op):
    """Names of the units that an operator on forces needs."""
    return ("unit", "fluid_unit") if op.file.name == "coupling.h" else ("unit",)


def units(d, sources):
    """The `Units` of a problem, the same on all ranks; `Reals` where sums may differ in their last digits.

    Parameters
    ----------
    d : Discretisation
    sources : list of PointSource and FiniteFault
    """
    if not d.exact:
        return Reals()
    edge, speeds = np.cbrt(d.first.smallest), d.first.speeds
    largest = max((strength(source, d, edge / d.element.degree) for source in sources), default=0.0)
    # An edge L under a force F in the solid moves by about F / (rho c^2 L); the fluid's potential gets that times L^2.
    fluid = largest * edge / (speeds["rho"][0] * speeds["slowest"][0] ** 2)
    return Units(unit(largest), unit(fluid))


def strength(source, d, spacing):
    """Largest force, N, that a source is at any time between points at a distance."""
    history = source.wavelet(d.start + np.arange(d.steps) * d.dt)
    if getattr(source, "force", None) is not None:
        return np.abs(history).max() * np.abs(source.force).max()
    return np.abs(np.cumsum(history)).max() * d.dt * np.abs(source.moment).max() / spacing


def unit(largest):
    """The power of two."""
    return 2.0 ** (np.ceil(np.log2(largest)) - BITS) if largest > 0 else 2.0**-BITS
