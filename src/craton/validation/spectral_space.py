"""Spectral elements in a homogeneous full space: boxes and distorted curved elements against Aki & Richards (2002), constant Q.

Where a moment tensor lies in its element matters on distorted meshes: there it acts through slopes of polynomials, whose error at degree N
goes like the Legendre polynomial P_N, so that it vanishes at the Gauss points and is largest at the nodes; up to 3 % of the motion at 5
points per wavelength of degree 4. Among boxes it is shared out among Gauss points (`methods.sem_elastic.couples`).
"""
import numpy as np

from craton.scenario import SpectralScenario
from craton.validation import lossy
from craton.validation.compare import misfit, row
from craton.validation.homogeneous import ONE_PERCENT, RHO, VP, VS, exact, source_table
from craton.validation.spectral import by_elements, distorted, grown, ran

WAVELENGTH = 1000.0  # m, of S waves at the frequency where the Ricker's spectrum is 1 % of its peak
FREQUENCY = VS / WAVELENGTH / ONE_PERCENT  # Hz
PULSE = 1.0 / FREQUENCY  # s, half the pulse: 1e-3 of its peak is left then
DIRECTIONS = np.array([np.array(d) / np.linalg.norm(d) for d in ((1, 0.03, 0.02), (1, 1, 1), (1, 0.6, 0.2), (0.3, 1, 0.8))])
GAUSS, CORNER, ANYWHERE = (-0.34, 0.34, 0.34), (1.0, 1.0, 1.0), (0.5, 0.2, 0.8)  # reference coordinates of a source in its element
LIMIT = 0.005
SPACE = {  # source, place in its element, degree, distorted, limit
    "single force, box elements": ("single force", ANYWHERE, 4, False, LIMIT),
    "single force, distorted elements": ("single force", ANYWHERE, 4, True, LIMIT),
    "double couple at a Gauss point, box elements": ("double couple", GAUSS, 4, False, LIMIT),
    "double couple at a corner, box elements": ("double couple", CORNER, 4, False, LIMIT),
    "double couple, box elements": ("double couple", ANYWHERE, 4, False, LIMIT),
    "double couple, distorted elements": ("double couple", ANYWHERE, 6, True, LIMIT),
}


def full_space(device, cases=tuple(SPACE), distances=(2.0, 3.0), points=5):
    """A source and receivers off the nodes, 2 wavelengths away and more; compared until a face could answer."""
    rows = []
    for name in cases:
        source, place, degree, moved, limit = SPACE[name]
        together, worst, curves = errors(source, place, degree, moved, distances, points, device)
        places = f"at {min(distances):g} to {max(distances):g} wavelengths, all together (worst receiver {worst:.2g})"
        rows.append(row(f"{name}, degree {degree}, {points:g} points per wavelength: velocity {places}", together, limit, curves))
    return rows


def errors(source, place, degree, moved, distances, points, device):
    """Misfit of all receivers together and of the worst, each up to the end of its S wave, and curves of the last one."""
    spacing = WAVELENGTH * degree / points
    at = np.asarray(place) * spacing / 2
    places = [at + WAVELENGTH * r * u for r in distances for u in DIRECTIONS]
    scenario = scenario_of(source, at, places, distances, spacing, degree)
    data = ran(scenario, device, distorted(scenario) if moved else None)
    t = data.time.values
    wanted = [exact(source, x, at, FREQUENCY, t) * (t <= np.linalg.norm(x - at) / VS + PULSE) for x in places]
    found = [one * (t <= np.linalg.norm(x - at) / VS + PULSE) for x, one in zip(places, data.velocity.values)]
    worst = max(misfit(one, other) for one, other in zip(found, wanted))
    return misfit(np.array(found), np.array(wanted)), worst, (t, found[-1][0], wanted[-1][0])


def scenario_of(source, at, places, distances, spacing, degree):
    """Elements with one in the middle about the origin, in which the source is; a P wave reaches no receiver by a face in time."""
    far = VP * (max(distances) * WAVELENGTH / VS + 2 * PULSE)
    low, high = np.min([at, *places], axis=0), np.max([at, *places], axis=0)
    border = (far - max(distances) * WAVELENGTH) / 2
    first, last = np.ceil((border - low) / spacing - 0.5), np.ceil((high + border) / spacing - 0.5)
    return SpectralScenario(
        domain={"origin": (-(first + 0.5) * spacing).tolist(), "size": ((first + last + 1) * spacing).tolist(), "element_size": spacing},
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": max(distances) * WAVELENGTH / VS + PULSE, "start": -1.4 * PULSE},
        boundaries={"top": "stacey", "others": "stacey"},
        source=[source_table(source, at, FREQUENCY)],
        receivers=[{"name": f"R{n}", "at": x.tolist()} for n, x in enumerate(places)],
        run={"degree": degree},
    )


# --- constant Q ---------------------------------------------------------------------------------------------------------------------------

LOSSY_PLACES = ((610.0, 75.0, -40.0), (440.0, 390.0, 150.0))  # from the source, m: 3.6 shortest wavelengths
LOSSY_EDGE, LOSSY_BORDER = 130.0, 1000.0  # m; 5.2 points per S wavelength where the Ricker's spectrum is 1 %
LOSSY_RUNS = ((20, 3), (100, 4))  # Q, mechanisms


def attenuating(device, runs=LOSSY_RUNS):
    """A force where Q is constant: amplitude and phase as for finite differences."""
    return [one for quality, mechanisms in runs for one in lossy_rows(quality, mechanisms, device)]


def lossy_rows(quality, mechanisms, device):
    """Spectral amplitude and phase and velocity of one Q, the worst of the receivers."""
    scenario = lossy.scenario(quality, 30.0, 4, "full")
    low, high = np.min([(0, 0, 0), *LOSSY_PLACES], axis=0), np.max([(0, 0, 0), *LOSSY_PLACES], axis=0)
    law = scenario.model.attenuation.model_copy(update={"mechanisms": mechanisms})
    duration = max(map(np.linalg.norm, LOSSY_PLACES)) / lossy.VS + 1.9 * lossy.DELAY
    scenario = scenario.model_copy(update={
        "model": scenario.model.model_copy(update={"attenuation": law}),
        "time": scenario.time.model_copy(update={"duration": duration}),
        "receivers": tuple(one.model_copy(update={"at": type(one.at)(x=x[0], y=x[1], z=x[2])})
                           for one, x in zip(scenario.receivers, LOSSY_PLACES))})  # fmt: skip
    data = ran(by_elements(scenario, LOSSY_EDGE, box=grown(low, high, LOSSY_BORDER, LOSSY_EDGE)), device)
    t, runs = data.time.values, data.velocity.values
    wanted = [lossy.constant_q(x, t, quality) for x in LOSSY_PLACES]
    ratios = np.concatenate([lossy.ratio(found, one, t) for found, one in zip(runs, wanted)])
    what = f"Q = {quality}, {mechanisms} mechanisms, edge {LOSSY_EDGE:g} m:"
    curves = (t, runs[0, 2], wanted[0][2])
    return [
        row(f"{what} spectral amplitude, worst of both receivers", np.abs(np.abs(ratios) - 1).max(), lossy.LIMIT, curves),
        row(f"{what} spectral phase / pi, worst of both receivers", np.abs(np.angle(ratios)).max() / np.pi, lossy.LIMIT),
        row(f"{what} velocity", max(misfit(found, one) for found, one in zip(runs, wanted)), lossy.LIMIT),
    ]
