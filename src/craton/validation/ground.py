"""Topography against exact waves: Garvin's problem below flat ground that passes anywhere through
the cells, and below a slope.
"""

import math

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import misfit, row
from craton.validation.exact import fullspace, lines
from craton.validation.plane import DELAY, FREQUENCY, WIDTH, medium_of, ricker

DEPTH, MOMENT, PLACES = 153.0, 1e9, (400.0, 800.0)  # m below the ground; N m per metre; m along it
# of E = sum (a - b)^2 / sum b^2, with receivers on the ground and 25 points per S wavelength of the
# peak frequency
FLAT_LIMIT = 0.01
RATE_LIMIT = 0.5  # of the misfit at half the spacing over that at the whole one


def flat_ground(device, spacing=5.0, lifts=(0.0, 0.3, 0.5)):
    """Flat ground at some heights above a plane of points, in spacings."""
    rows = []
    for lift in lifts:
        t, computed, expected = ground_run(0.0, lift * spacing, spacing, device)
        label = f"flat ground {lift:g} h above the points, h = {spacing:g} m: E, worst of both receivers"
        rows.append(row(label, worst(computed, expected) ** 2, FLAT_LIMIT, (t, computed[-1][1], expected[-1][1])))
    return rows


def slope(device, spacings=(10.0, 5.0), degrees=15.0):
    """Ground with a slope: how the misfit falls with the spacing."""
    errors = []
    for spacing in spacings:
        t, computed, expected = ground_run(math.radians(degrees), 0.0, spacing, device)
        errors.append(worst(computed, expected))
    label = f"slope of {degrees:g} degrees: misfit {', '.join(f'{e:.2g}' for e in errors)} at h = {', '.join(f'{h:g}' for h in spacings)} m"
    return [row(f"{label}: last / first", errors[-1] / errors[0], RATE_LIMIT, (t, computed[-1][1], expected[-1][1]))]


def worst(computed, expected):
    """Largest misfit of the receivers."""
    return max(misfit(trace, exact) for trace, exact in zip(computed, expected))


def ground_run(angle, height, spacing, device):
    """Return times, velocity along and out of the ground, and the exact one: (nt,), (receivers, 2,
    nt) twice.
    """
    medium, turn = (
        medium_of(0.25),
        np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]),
    )
    data = api.run(ground_scenario(turn, height, spacing, medium), device=device, progress=False).dataset
    t, history = data.time.values, fullspace.history("ricker", FREQUENCY)
    expected = [lines.buried_explosion(x, DEPTH, MOMENT, history, WIDTH, t - DELAY, medium) for x in PLACES]
    return t, turn @ data.velocity.values, np.array(expected)


def ground_scenario(turn, height, spacing, medium):
    """Return a half-space below the line through (0, height) along the first row of `turn`, with
    empty cells above.
    """
    (c, s), far = turn[0], max(PLACES) + 300.0
    low, high = np.array([-300.0 * c, -300.0 * s - 500]), np.array([far * c, far * s + 60])
    low, high = np.floor(low / spacing) * spacing, np.ceil(high / spacing) * spacing
    ends = (low[0] - spacing, high[0] + spacing)
    return Scenario(
        domain={"origin": low.tolist(), "size": (high - low).tolist(), "spacing": spacing},
        model={
            "kind": "homogeneous",
            **dict(zip(("vp", "vs", "rho"), medium)),
            "topography": {"x": list(ends), "z": [height + x * s / c for x in ends]},
        },
        time={"duration": max(PLACES) / (0.87 * medium[1]) + 0.25, "start": 0},
        boundaries={"top": "rigid"},
        source=[{"kind": "explosion", "at": [DEPTH * s, height - DEPTH * c], "moment": MOMENT, "wavelet": ricker()}],
        receivers=[{"name": f"R{n}", "at": {"x": x * c, "depth": 0}} for n, x in enumerate(PLACES)],
    )
