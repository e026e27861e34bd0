"""The level sea floor of a layered model, and the vertical spacing that puts it half-way between planes.

There vertical velocity and traction are continuous, and differences that end at the floor
(contact.py) make waves of the water right to 0.3 % at 12 points per wavelength. A floor that the
grid moves by half a spacing changes the depth of the water by as much: 8 to 18 % of a waveform in
the case of tests/finite_difference/test_water.py.
"""

import math

import numpy as np

from craton.methods.finite_difference.equations.closure import HIGHEST, closure
from craton.model.media import anomalies, layered

NEAREST = 1e-9  # relative difference of spacings that are the same
ON_FLOOR = 1e-6  # spacings from a contact within which a position lies on it


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


def highest_solid(model, order, grid) -> int | None:
    """Return the highest solid plane below a level floor; None where the floor is not level, a body
    of fluid is elsewhere, or a body lies so near that differences about the floor reach it.
    """
    floor = level_floor(model)
    if floor is None:
        return None
    room = (closure(min(order, HIGHEST)).rows + 1) * grid.steps[2]
    for given, body in zip(model.anomalies, anomalies.build(model)):
        if given.vs == 0 or body.lower[2] - room < floor < body.upper[2] + room:
            return None
    return math.floor((floor - grid.origin[2]) / grid.steps[2] + ON_FLOOR)


def closed_plane(model, boundaries, order, grid) -> int | None:
    """Return the highest solid plane below a level floor that has room for a closure on both sides."""
    solid = highest_solid(model, order, grid)
    if solid is None or order == 2:
        return None
    rows, nz, layer = (closure(min(order, HIGHEST)).rows, grid.shape[0], boundaries.cpml.thickness)
    below = solid + 1 - (layer if boundaries.face("bottom") == "cpml" else 0)
    above = nz - 1 - solid - {"cpml": layer + 1, "free": rows + 1}.get(boundaries.face("top"), 0)
    return solid if min(below, above) >= rows else None
