"""Depths of events in files that look as if their unit were another."""

import numpy as np

from craton.conventions import moment_to_magnitude
from craton.survey import places, source_files
from craton.text import number

# m, by format: catalogues of earthquakes have depths of hundreds of metres at least
SHALLOW = {"quakeml": 30.0, "cmtsolution": 30.0}
DEEPEST = 800.0  # km, of earthquakes
STRESS_DROP = 3e6  # Pa
ASKED, REFUSED = 0.2, 0.05  # of the source's radius
KILOMETRES = ("cmtsolution",)  # formats with depths in km


def suspicion(scenario, entry):
    """Say which depth of a file's moments was probably meant in another unit: (message, whether it
    cannot be meant), or None.

    A depth that would fit into the domain in km is asked for where it is less than 30 m (of
    catalogues) or a fifth of the radius of a circular crack of its moment with a stress drop of
    3 MPa (Eshelby 1957); less than a twentieth cannot be meant.

    Parameters
    ----------
    scenario : Scenario
    entry : source of a scenario, from a file
    """
    held = source_files.contents(entry)
    if hasattr(held, "rates"):  # a rupture begins at the ground
        return None
    depth, moment = _columns(held)
    radius = np.cbrt(7 / 16 * moment / STRESS_DROP)
    fits = 1000 * depth <= _deepest(scenario)
    low = fits & ((depth < SHALLOW.get(entry.kind, 0.0)) | (depth < ASKED * radius)) | (depth < REFUSED * radius)
    low &= (depth > 0) & (depth < DEEPEST) & (moment > 0)
    if not low.any():
        return None
    n = int(np.where(low, depth / np.maximum(radius, 1e-300), np.inf).argmin())
    size = f"Mw {moment_to_magnitude(moment[n]):.1f}, some {number(float(f'{2 * radius[n]:.2g}'))} m wide"
    which = f"source {n + 1}, " if len(depth) > 1 else ""
    unit = "km" if entry.kind in KILOMETRES else "metres"
    words = (
        f"{which}a depth of {number(float(depth[n]))} m for a source of {size}: "
        f"depths of {entry.kind} files are in {unit}; did you mean {number(float(depth[n]))} km?"
    )
    return words, bool(depth[n] < REFUSED * radius[n])


def too_deep(scenario, entry):
    """Return words on sources of a file below the domain that would fit if their depths were in m,
    not in km; "" where there are none.

    Parameters
    ----------
    scenario : Scenario
    entry : source of a scenario, from a file
    """
    held = source_files.contents(entry)
    if entry.kind not in KILOMETRES:
        return ""
    depth, deepest = _columns(held)[0], _deepest(scenario)
    if not ((depth > deepest) & (depth <= 1000 * deepest)).any():
        return ""
    return f"; depths of {entry.kind} files are in km: did you mean m?"


def _columns(held):
    """Depths, m, and scalar moments, N m, of a file's sources; a force has none."""
    depth = np.array([p.depth for p in held] if isinstance(held, list) else held.depth, float)
    if isinstance(held, list):
        return depth, np.array([_moment(p.moment, p.plane) for p in held])
    if held.moment is not None:
        return depth, np.linalg.norm(held.moment, axis=(1, 2)) / np.sqrt(2)
    return depth, np.zeros(len(depth)) if held.plane is None else held.plane[:, 3]


def _moment(tensor, plane):
    if tensor is not None:
        return float(np.linalg.norm(tensor) / np.sqrt(2))
    return 0.0 if plane is None else float(plane[3])


def _deepest(scenario):
    """Return the depth of the domain's bottom, m; of a chunk that of the Earth's centre."""
    if places.globe_of(scenario) is not None:
        return 6.371e6
    return -float(scenario.domain.corner[2])
