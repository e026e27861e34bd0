"""In the (x, z) plane: Lamb's and Garvin's problems at several Poisson ratios, SH waves in a full
space and below a free surface.
"""

import math

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import at_times, misfit, reference, row
from craton.validation.exact import fullspace, lines

E_LIMIT = 0.002  # of sum (a - b)^2 / sum b^2: the bound that was set for Lamb's problem
GARVIN_LIMIT = 1e-4  # without a Rayleigh wave of many wavelengths: 6e-7 to 3e-6 were reached
# those of the reference, at another vp; Ricker
VS, RHO, FREQUENCY, DELAY = 1847.5, 2200.0, 14.5, 0.12
WIDTH = 1 / (math.sqrt(2) * math.pi * FREQUENCY)
RATIOS = (0.0, 0.4, 0.48)  # of Poisson
DISTANCES = (400.0, 800.0, 1400.0)
BORDER = 300.0  # m of medium on all sides, CPML included


def lamb_2d(device, spacing=5.0, order=4):
    """Return a vertical line force on the surface at the reference's vp / vs (closed forms), then
    an inclined one at other Poisson ratios.
    """
    kept = reference("lamb2d")
    medium, force = (float(kept["vp"]), VS, RHO), (0.0, -float(kept["F_down_per_m"]))
    data = surface_run(force_table(force), kept["x"], medium, spacing, order, device)
    label = f"Lamb 2-D, h = {spacing:g} m, order {order}: E at"
    rows = compared(label, data, kept["x"], kept["t"], np.stack([kept["vx"], -kept["vz"]], axis=1))
    return rows + [case for ratio in RATIOS for case in lamb_at(ratio, device, spacing, order)]


def lamb_at(ratio, device, spacing=5.0, order=4):
    """Return an inclined line force on the surface, lambda / mu of a Poisson ratio."""
    force, medium = (6e5, -8e5), medium_of(ratio)
    data = surface_run(force_table(force), DISTANCES, medium, spacing, order, device)
    history, t = fullspace.history("ricker", FREQUENCY), data.time.values
    expected = [lines.surface_force(x, force, history, WIDTH, t - DELAY, medium) for x in DISTANCES]
    return compared(
        f"Lamb 2-D, inclined force, Poisson ratio {ratio:g}, h = {spacing:g} m: E at", data, DISTANCES, t, expected
    )


def garvin(device, spacing=5.0, order=4, depth=153.0, ratios=(0.25, 0.4)):
    """Return a buried line of explosions between the points, receivers on the surface."""
    history, rows, moment = fullspace.history("ricker", FREQUENCY), [], 1e9
    for ratio in ratios:
        medium = medium_of(ratio)
        source = {"kind": "explosion", "at": [1.7, -depth], "moment": moment, "wavelet": ricker()}
        data = surface_run(source, DISTANCES, medium, spacing, order, device)
        t = data.time.values
        expected = [
            lines.buried_explosion(x - 1.7, depth, moment, history, WIDTH, t - DELAY, medium) for x in DISTANCES
        ]
        label = f"Garvin, {depth:g} m deep, Poisson ratio {ratio:g}, h = {spacing:g} m: E at"
        rows += compared(label, data, DISTANCES, t, expected, GARVIN_LIMIT)
    return rows


def medium_of(ratio):
    """vp, vs, rho of a Poisson ratio."""
    return VS * math.sqrt((2 - 2 * ratio) / (1 - 2 * ratio)), VS, RHO


def ricker():
    """Return the wavelet's table."""
    return {"kind": "ricker", "frequency": FREQUENCY, "delay": DELAY}


def force_table(force):
    """Return a line force on the surface."""
    return {"kind": "force", "at": [0, 0], "force": list(force), "wavelet": ricker()}


def surface_run(source, distances, medium, spacing, order, device):
    """Return a half-space with receivers on the surface, until the slowest wave has passed them."""
    far = max(distances)
    side = math.ceil((far + BORDER) / spacing) * spacing
    scenario = Scenario(
        domain={"origin": [-BORDER, -500], "size": [side + BORDER, 500], "spacing": spacing},
        model={"kind": "homogeneous", **dict(zip(("vp", "vs", "rho"), medium))},
        time={"duration": far / (0.87 * VS) + 0.25, "start": 0},
        source=[source],
        receivers=[{"name": f"R{n}", "at": [float(x), 0]} for n, x in enumerate(distances)],
        run={"order": order},
    )
    return api.run(scenario, device=device, progress=False).dataset


def compared(label, data, distances, t, expected, limit=E_LIMIT):
    """Rows of E = sum (a - b)^2 / sum b^2 over both components, up to the end of the run."""
    rows, inside = [], t <= data.time.values[-1]
    for n, x in enumerate(distances):
        computed, exact = (
            at_times(data.time.values, data.velocity.values[n], t[inside]),
            np.asarray(expected[n])[:, inside],
        )
        rows.append(row(f"{label} {x:g} m", misfit(computed, exact) ** 2, limit, (t[inside], computed[1], exact[1])))
    return rows


SH_PLACES = ((700.0, 13.0), (500.0, -490.0), (313.0, -21.0))  # from the source, m
SH_LIMIT = 0.01  # relative L2, that of the full space at order 4 and 10 points per wavelength


def sh(device, spacing=5.0, order=4):
    """Return a line force along y in a full space, then below a free surface, which its image below
    doubles exactly.
    """
    history, rows = fullspace.history("ricker", FREQUENCY), []
    at = np.array([2.2, -303.3])
    for top in ("cpml", "free"):
        data = sh_run(at, spacing, order, top, device)
        t, where = data.time.values, "in a full space" if top == "cpml" else "below a free surface"
        sources = [at] if top == "cpml" else [at, at * [1, -1]]
        for n, place in enumerate(SH_PLACES):
            distances = [np.linalg.norm(at + place - source) for source in sources]
            exact = sum(lines.sh_force(r, 1e6, history, WIDTH, t - DELAY, VS, RHO) for r in distances)
            computed = data.velocity.values[n, 0]
            rows.append(
                row(
                    f"SH {where}, h = {spacing:g} m: receiver {n + 1}",
                    misfit(computed, exact),
                    SH_LIMIT,
                    (t, computed, exact),
                )
            )
    return rows


def sh_run(at, spacing, order, top, device):
    """Return the SH run: a plane below z = 0, or one that goes on above it."""
    above = 0 if top == "free" else BORDER
    scenario = Scenario(
        domain={"origin": [-BORDER, -1100], "size": [1300, 1100 + above], "spacing": spacing, "waves": "SH"},
        model={"kind": "homogeneous", "vp": 3200, "vs": VS, "rho": RHO},
        time={"duration": 0.85, "start": 0},
        boundaries={"top": top},
        source=[{"kind": "force", "at": at.tolist(), "force": [0, 1e6, 0], "wavelet": ricker()}],
        receivers=[{"name": f"R{n}", "at": (at + place).tolist()} for n, place in enumerate(SH_PLACES)],
        run={"order": order},
    )
    return api.run(scenario, device=device, progress=False).dataset
