"""A homogeneous full space against Aki & Richards (2002): differences at 10 points per minimum S
wavelength, 5 to 20 away; elements.
"""

import math

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import misfit, row
from craton.validation.exact import fullspace
from craton.validation.spectral import distorted, ran

VP, VS, RHO = 2000 * math.sqrt(3), 2000.0, 2500.0
SPACING, POINTS = 100.0, 10  # m; points per minimum S wavelength
# The minimum wavelength is that at the frequency where the Ricker spectrum, f^2 exp(-f^2 / f0^2),
# falls to 1 % of its peak: 2.7299 f0.
ONE_PERCENT = 2.7299
LIMITS = {4: 0.01, 8: 0.003}
NEAREST = 5  # wavelengths; in all directions
FORCE = (1e10, 0.7e10, -0.5e10)
COUPLE = {"strike": 30, "dip": 60, "rake": 40, "moment": 1e15}
DIRECTIONS = ((1, 0.03, 0.02), (1, 1, 1), (1, 0.6, 0.2), (0.3, 1, 0.8), (0.9, 1, 0.1))
UNITS = [np.array(d) / np.linalg.norm(d) for d in DIRECTIONS]
BORDER = 14  # points between the faces and what is inside


def full_space(source, order, device, reach=10, limit=None):
    """Return a source off the nodes near a corner of a cube, receivers off the nodes from 5 to
    `reach` wavelengths away, along axes and across; the limit is that of `LIMITS` by default.
    """
    frequency = VS / (POINTS * SPACING) / ONE_PERCENT
    at = SPACING * (BORDER + np.array([0.3, 0.45, 0.2]))
    places = places_about(at, reach)
    duration = reach * POINTS * SPACING / VS + 1.8 / frequency
    scenario = infinite(source_table(source, at, frequency), places, duration, order)
    data = api.run(scenario, device=device, progress=False).dataset
    expected = [exact(source, x, at, frequency, data.time.values) for x in places]
    worst = max(misfit(computed, trace) for computed, trace in zip(data.velocity.values, expected))
    label = f"{source}, order {order}: velocity at 5 to {reach:g} wavelengths, the worst of {len(places)}"
    return [row(label, worst, limit or LIMITS[order], (data.time.values, data.velocity.values[-1, 0], expected[-1][0]))]


def places_about(at, reach):
    """Places in some directions, 5, 7.5, 10, 15, 20 wavelengths away as far as the cube goes whose
    diagonal is `reach`; the nearest in all directions.
    """
    wavelength, side = POINTS * SPACING, max(NEAREST, 1.02 * reach / math.sqrt(3))
    distances = [d for d in (NEAREST, 7.5, 10, 15, 20) if d <= reach]
    return [at + wavelength * d * u for u in UNITS for d in distances if d * u.max() <= side]


def infinite(source, places, duration, order, **others):
    """Scenario of a box with CPML on all faces, of the size that the places need."""
    size = (np.ceil(np.max([source["at"], *places], axis=0) / SPACING) + BORDER) * SPACING
    return Scenario(
        domain={"origin": [0, 0, 0], "size": size.tolist(), "spacing": SPACING},
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": duration},
        boundaries={"top": "cpml", "others": "cpml"},
        source=[source],
        receivers=[{"name": f"R{n}", "at": list(map(float, x))} for n, x in enumerate(places)],
        run={"order": order, **others.pop("run", {})},
        **others,
    )


def source_table(source, at, frequency):
    """Return the scenario's table of a source."""
    kind = {"kind": "force", "force": list(FORCE)} if source == "single force" else {"kind": "moment_tensor", **COUPLE}
    return {**kind, "at": at.tolist(), "wavelet": {"kind": "ricker", "frequency": frequency}}


def exact(source, x, at, frequency, t, deriv=1):
    """Motion (3, nt) of the full space at x; the Ricker is the force's history, or the moment's
    rate.
    """
    history = fullspace.history("ricker", frequency)
    if source == "single force":
        return fullspace.point_force(x, at, FORCE, history, t, VP, VS, RHO, deriv)
    return fullspace.moment_tensor(
        x, at, double_couple(**COUPLE), lambda t, n: history(t, n - 1), t, VP, VS, RHO, deriv
    )


def double_couple(strike, dip, rake, moment):
    """Moment tensor in x east, y north, z up, from slip and normal vectors (Aki & Richards 2002,
    eqs 4.88, 4.89).
    """
    phi, delta, lam = np.radians([strike, dip, rake])
    north, east, down = 0, 1, 2
    slip, normal = np.zeros(3), np.zeros(3)
    slip[north] = np.cos(lam) * np.cos(phi) + np.cos(delta) * np.sin(lam) * np.sin(phi)
    slip[east] = np.cos(lam) * np.sin(phi) - np.cos(delta) * np.sin(lam) * np.cos(phi)
    slip[down] = -np.sin(delta) * np.sin(lam)
    normal[north], normal[east], normal[down] = (
        -np.sin(delta) * np.sin(phi),
        np.sin(delta) * np.cos(phi),
        -np.cos(delta),
    )
    to_enu = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    slip, normal = to_enu @ slip, to_enu @ normal
    return moment * (np.outer(slip, normal) + np.outer(normal, slip))


# --- spectral elements ----------------------------------------------------------------------------

# Where a moment tensor lies in its element matters on distorted meshes: there it acts through
# slopes of polynomials, whose error at degree N goes like the Legendre polynomial P_N, so that it
# vanishes at the Gauss points and is largest at the nodes; up to 3 % of the motion at 5 points per
# wavelength of degree 4. Among boxes it is shared out among Gauss points
# (`methods.spectral_element.couples`).

WAVELENGTH = 1000.0  # m, of S waves at the frequency where the Ricker's spectrum is 1 % of its peak
FREQUENCY = VS / WAVELENGTH / ONE_PERCENT  # Hz
PULSE = 1.0 / FREQUENCY  # s, half the pulse: 1e-3 of its peak is left then
# reference coordinates of a source in its element
GAUSS, CORNER, ANYWHERE = (-0.34, 0.34, 0.34), (1.0, 1.0, 1.0), (0.5, 0.2, 0.8)
ELEMENTS_LIMIT = 0.005
SPACE = {  # source, place in its element, degree, distorted
    "single force, box elements": ("single force", ANYWHERE, 4, False),
    "single force, distorted elements": ("single force", ANYWHERE, 4, True),
    "double couple at a Gauss point, box elements": ("double couple", GAUSS, 4, False),
    "double couple at a corner, box elements": ("double couple", CORNER, 4, False),
    "double couple, box elements": ("double couple", ANYWHERE, 4, False),
    "double couple, distorted elements": ("double couple", ANYWHERE, 6, True),
}


def elements_space(device, cases=tuple(SPACE), distances=(2.0, 3.0), points=5):
    """Return a source and receivers off the nodes, 2 wavelengths away and more; compared until a
    face could answer.
    """
    rows = []
    for name in cases:
        source, place, degree, moved = SPACE[name]
        together, worst, curves = elements_errors(source, place, degree, moved, distances, points, device)
        places = f"at {min(distances):g} to {max(distances):g} wavelengths, all together (worst receiver {worst:.2g})"
        rows.append(
            row(
                f"{name}, degree {degree}, {points:g} points per wavelength: velocity {places}",
                together,
                ELEMENTS_LIMIT,
                curves,
            )
        )
    return rows


def elements_errors(source, place, degree, moved, distances, points, device):
    """Misfit of all receivers together and of the worst, each up to the end of its S wave, and
    curves of the last one.
    """
    spacing = WAVELENGTH * degree / points
    at = np.asarray(place) * spacing / 2
    places = [at + WAVELENGTH * r * u for r in distances for u in UNITS[:4]]
    scenario = elements_scenario(source, at, places, distances, spacing, degree)
    data = ran(scenario, device, distorted(scenario) if moved else None)
    t = data.time.values
    expected = [exact(source, x, at, FREQUENCY, t) * (t <= np.linalg.norm(x - at) / VS + PULSE) for x in places]
    computed = [trace * (t <= np.linalg.norm(x - at) / VS + PULSE) for x, trace in zip(places, data.velocity.values)]
    worst = max(misfit(trace, other) for trace, other in zip(computed, expected))
    return (misfit(np.array(computed), np.array(expected)), worst, (t, computed[-1][0], expected[-1][0]))


def elements_scenario(source, at, places, distances, spacing, degree):
    """Elements with one in the middle about the origin, in which the source is; a P wave reaches no
    receiver by a face in time.
    """
    far = VP * (max(distances) * WAVELENGTH / VS + 2 * PULSE)
    low, high = np.min([at, *places], axis=0), np.max([at, *places], axis=0)
    border = (far - max(distances) * WAVELENGTH) / 2
    first, last = np.ceil((border - low) / spacing - 0.5), np.ceil((high + border) / spacing - 0.5)
    return Scenario(
        method="sem",
        domain={
            "origin": (-(first + 0.5) * spacing).tolist(),
            "size": ((first + last + 1) * spacing).tolist(),
            "element_size": spacing,
        },
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": max(distances) * WAVELENGTH / VS + PULSE, "start": -1.4 * PULSE},
        boundaries={"top": "stacey", "others": "stacey"},
        source=[source_table(source, at, FREQUENCY)],
        receivers=[{"name": f"R{n}", "at": x.tolist()} for n, x in enumerate(places)],
        run={"degree": degree},
    )
