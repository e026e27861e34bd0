"""Sources and hydrophones on the free surface, where tractions vanish: what is silent there."""

from dataclasses import replace

import numpy as np

from craton.model.ground import terrain
from craton.survey import places
from craton.survey.sources import PointSource
from craton.text import first_of

NEAR = 1e-6  # of the elevation, and m: on the surface
SILENT = 1e-6  # of the largest component of a moment


def warned(scenario, sources, receivers, medium):
    """Return sources and receivers with a warning of those that move and record nothing because
    they are on the free surface.

    There the pressure of a fluid is zero, and in a solid, where the ground is flat, the stresses xz,
    yz and zz: of a moment only M_xx - r M_zz, M_yy - r M_zz and M_xy radiate, r = lambda / (lambda +
    2 mu).

    Parameters
    ----------
    scenario : Scenario
    sources : list of PointSource, Catalogue, FiniteFault or PlaneWave
    receivers : Receivers
    medium : callable
        vp, vs, density at positions (n, 3).
    """
    points = [isinstance(s, PointSource) and s.moment is not None for s in sources]
    xyz = np.array([s.xyz for s, counts in zip(sources, points) if counts]).reshape(-1, 3)
    numbers = np.flatnonzero(points)[_on_surface(scenario, xyz)]
    if len(numbers):
        vp, vs, _ = medium(np.array([sources[n].xyz for n in numbers]))
        sources = [*sources]
        for n, p, s in zip(numbers, vp, vs):
            if reason := _silence(scenario, sources[n].moment, p, s):
                words = f"{sources[n].name} is on the free surface, {reason}: it excites nothing; put it a cell deeper"
                sources[n] = replace(sources[n], warnings=(*sources[n].warnings, words))
    if "pressure" in scenario.output.waveforms:
        rows = np.flatnonzero(_on_surface(scenario, receivers.xyz))
        in_fluid = rows[medium(receivers.xyz[rows])[1] == 0] if len(rows) else rows
        if len(in_fluid):
            names = first_of([receivers.names[n] for n in in_fluid])
            words = f"receivers on the free surface of a fluid record no pressure, which is 0 there: {names}; put them a cell deeper"
            receivers = replace(receivers, warnings=(*receivers.warnings, words))
    return sources, receivers


def _on_surface(scenario, xyz):
    """Whether positions (n, 3) are on the free surface: (n,) booleans."""
    on_globe = places.globe_of(scenario) is not None
    free = on_globe or scenario.boundaries.face("top") == "free" or terrain.build(scenario.model) is not None
    if not free or not len(xyz):
        return np.zeros(len(xyz), bool)
    depth, ground = places.heights(scenario, xyz)
    # on a globe m, of 6371 km in double precision
    return np.abs(depth) <= (1e-3 if on_globe else NEAR * (1 + np.abs(ground)))


def _silence(scenario, moment, vp, vs):
    """Say why a moment on the free surface is silent; "" where it is not."""
    if vs == 0:
        return "where the pressure of a fluid is 0"
    if places.globe_of(scenario) is not None or terrain.build(scenario.model) is not None:
        return ""  # on a slope, other components are silent
    ratio = 1 - 2 * (vs / vp) ** 2
    xx, yy = moment[0, 0] - ratio * moment[2, 2], moment[1, 1] - ratio * moment[2, 2]
    radiates = {"P-SV": [xx], "SH": [moment[0, 1]]}.get(scenario.domain.motion, [xx, yy, moment[0, 1]])
    if np.abs(radiates).max() > SILENT * np.abs(moment).max():
        return ""
    return "where the shear tractions that it consists of are 0"
