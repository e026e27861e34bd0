"""A CPU machine with bad intentions: nan wherever nothing was promised, so that stray reads and
missing exchanges show.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.backends.cpu import CPU


@dataclass
class Hostile(CPU):
    """The CPU machine, with nan outside what a plan declares as defined, and small odd tiles."""

    tile: tuple = (3, 5)
    name: str = "hostile"

    def allocate(self, plan, fills=None, ready=None):
        """Arrays with nan in padding and in ghosts that something must fill before they are read."""
        arrays = super().allocate(plan, fills, ready)
        for name, spec in plan.arrays.items():
            if spec.part_of and spec.defined:
                values = arrays[name][spec.defined].copy()
                arrays[name][...] = np.nan
                arrays[name][spec.defined] = values
        return arrays

    def array(self, spec):
        """One array; where it is whole and only written, nan."""
        out = super().array(spec)
        if spec.kind in ("record", "halos"):
            out[...] = worst(out.dtype)
        return out

    def commit(self, plan, fills=None, arrays=None):
        """Return the plan as a Program whose buffers hold nan again as soon as they are emptied."""
        program = super().commit(plan, fills, arrays)
        program.phases = [replace(stage, shared=forgetful(stage.shared, program.arrays)) for stage in program.phases]
        return program


def forgetful(shared, arrays):
    """Return what neighbours exchange after a phase, with nan in all buffers behind it."""
    if shared is None:
        return None

    def unpack(step):
        shared.unpack(step)
        for m in shared.messages:
            arrays[m.out][...] = arrays[m.into][...] = worst(arrays[m.out].dtype)

    return replace(shared, unpack=unpack)


def worst(dtype):
    """Return what shows in every sum: nan, or the largest number where there is none."""
    return np.nan if dtype.kind == "f" else np.iinfo(dtype).max
