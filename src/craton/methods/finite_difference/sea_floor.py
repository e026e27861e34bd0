"""The level sea floor of a layered model, and the vertical spacing that puts it half-way between planes.

There vertical velocity and traction are continuous, and differences that end at the floor
(contact.py) make waves of the water right to 0.3 % at 12 points per wavelength. A floor that the
grid moves by half a spacing changes the depth of the water by as much: 8 to 18 % of a waveform in
the case of tests/test_sea_floor.py.
"""

import math

import numpy as np

from craton.model.media import layered

NEAREST = 1e-9  # relative difference of spacings that are the same


def vertical_spacing(scenario, spacing: float) -> float | None:
    """Return the widest vertical spacing, at most `spacing`, with the level sea floor half-way
    between two planes, m; None where that is `spacing`, or where there is no such floor.
    """
    floor = level_floor(scenario.model)
    if floor is None or not scenario.domain.origin[-1] < floor < scenario.domain.top:
        return None
    depth = scenario.domain.top - floor
    planes = max(math.ceil(depth / spacing - 0.5 - NEAREST), 0) + 0.5
    return None if abs(depth / planes - spacing) <= NEAREST * spacing else depth / planes


def level_floor(model) -> float | None:
    """Return the elevation where flat layers of fluid end above layers of solid, m; None for other
    models.
    """
    if model.kind != "layers" or model.follow == "surface" or model.topography is not None:
        return None
    medium = layered.build(model)
    fluid = medium.tops[1] == 0
    count = int(fluid.argmin()) if not fluid.all() else 0
    return float(medium.breaks[count]) if count and not np.any(fluid[count:]) else None
