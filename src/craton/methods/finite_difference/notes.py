"""Sections that `craton plan` prints of a finite-difference plan: algorithm, accuracy, sources,
memory, phases.
"""

from functools import partial

import numpy as np

from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import acoustic, boundaries, laminate, relaxing, scheme, storage
from craton.methods.waves import guided, notes
from craton.model.media import cells, layered

ON_GROUND = 20  # points of the shortest wave where it runs along topography: docs/terrain.md
# fewest points per shortest wavelength without a warning; from order 6 on, the phase velocity error
# there is 0.7 %
FEWEST = {
    "taylor": {2: 10, 4: 5, 6: 4, 8: 3.5, 10: 3.2, 12: 3.0, 14: 2.9, 16: 2.8},
    "holberg": {2: 10, 4: 4.5, 6: 3.4, 8: 2.9, 10: 2.6, 12: 2.5, 14: 2.4, 16: 2.3},
}

# Largest reflection (dB) of P and S waves at incidence angles up to 60 degrees, by the CPML
# thickness in points and by the strength of damping over `guided.DAMPING`: homogeneous medium,
# order 4, 25 points per S wavelength at a Ricker's peak (`craton validate reflection`).
REFLECTED = {
    5: {0.0: -48, 0.75: -48, 1.75: -43},
    10: {0.0: -76, 0.75: -52, 1.75: -46},
    20: {0.0: -82, 0.75: -60, 1.75: -53},
}

SURFACE = {
    "sbp": "summation-by-parts closure",
    "imaging": "stress imaging",
    "imaging-2": "stress imaging of vertical order 2",
}
VTI = "VTI (transversely isotropic about z)"


def sections(d, plan, setup):
    """All sections, in the order in which they are printed."""
    method = [*algorithm(d, setup.sources), *storage.notes(d, plan)]
    pressure_alone = {*setup.scenario.output.waveforms} == {"pressure"}
    contact = (partial(sides.source_in_fluid, d), partial(sides.medium_at, d, fluid_first=pressure_alone))
    return {
        plan.title or ("Acoustic waves" if d.acoustic else "Elastic waves"): method,
        "Grid": grid(d),
        "Time": notes.time(d, d.limit),
        "Resolution": resolution(d, setup.sources, setup.scenario),
        **notes.shared(plan, setup, *(contact if d.partly_fluid else ())),
    }


# error of waveforms within three points of a contact of fluid and solid, times the points per
# wavelength at f95 or their square (bench/results/fluids_h100.json)
CLOSED, MIRRORED, STEPS = 4.3, 8.6, 9.0


def algorithm(d, sources):
    """Return method, boundaries and material averaging."""
    kinds = {}
    for face in ("top", "bottom", "west", "east", "south", "north"):
        if face in d.faced:
            kinds.setdefault(d.face(face), []).append(face)
    chosen = " with Holberg weights" if d.weights == "holberg" else ""
    lower = ""
    if d.rise == 1 and d.stencil.vertical != d.stencil.horizontal:
        lower = f" (along z Taylor weights of order {2 * len(d.stencil.vertical)})"
    closure = f"{lower}, {SURFACE[d.boundaries.surface]} at the free surface" if d.free else ""
    waves = f"{'acoustic' if d.acoustic else d.motion} waves in the (x, z) plane, " if d.planar else ""
    grid = f"velocity-{'pressure' if d.acoustic else 'stress'} staggered grid"
    stored, mu = ("rho, lambda", "") if d.acoustic else ("rho, lambda, 1/mu", " and harmonic means of mu")
    return [
        ("method", f"{waves}{grid}, order 2 in time, {d.order} in space{chosen}{closure}, {d.precision}"),
        ("boundaries", "; ".join(f"{kind}: {', '.join(faces)}" for kind, faces in kinds.items())),
        *absorbing(d),
        ("material", f"{stored} stored once per grid point; arithmetic means of density{mu} computed in the kernels"),
        *([("anisotropy", f"{VTI}; effective medium of each cell by Backus averaging")] if d.anisotropic else []),
        *acoustic.notes(d, sources),
        *interfaces(d),
        *sea_floor(d, sources),
        *thin_water(d),
    ]


def sea_floor(d, sources):
    """Return how the contact of fluid and solid is represented, and the error of waveforms beside it."""
    if not d.partly_fluid:
        return []
    highest, sampled = sides.flat_floor(d), sampling(d, sources)
    if highest is None:
        words = "in steps of whole cells, up to half a spacing from that of the model"
        error = sampled and STEPS / sampled[2]
    else:
        floor = sides.level_floor(d.model)
        off = abs(floor - d.grid.origin[2] - (highest + 0.5) * d.grid.steps[2])
        words = f"level at {floor:,.6g} m, half-way between two planes of points"
        if off > 1e-6 * d.grid.spacing:
            words = f"level at {floor:,.6g} m, represented {off:.4g} m from it (domain.vertical_spacing)"
        order = CLOSED if d.floor is not None else MIRRORED
        error = sampled and order / sampled[2] ** 2 + 2 * np.pi * off * sampled[0] / sampled[1]
    if error:
        percent = f"{100 * error:.0f}" if error > 0.1 else f"{100 * error:.2g}"
        words += f"; waveforms beside it are off by at most about {percent} %"
    return [("fluid beside solid", words)]


def absorbing(d):
    """Measured reflections of the CPML layers, and how much of them is due to the damping of guided
    waves.
    """
    if not d.faces("cpml"):
        return []
    thickness = d.boundaries.cpml.thickness
    measured = REFLECTED[max((n for n in REFLECTED if n <= thickness), default=min(REFLECTED))]
    damping = boundaries.damping_strength(d) / guided.DAMPING
    unbounded = boundaries.greatest_stretch(d) == np.inf
    known = damping <= max(measured) and unbounded and not d.backward
    sent = measured[min(strength for strength in measured if strength >= damping)] if known else measured[max(measured)]
    bound = "reflections below" if known else "reflections may exceed"
    undamped = f" ({measured[0.0]} dB without the damping of guided waves)" if damping else ""
    words = f"{thickness} points; {bound} {sent} dB at incidence angles up to 60 degrees{undamped}"
    return [("absorbing layers", f"{words}; made for {d.layer_words}")]


def interfaces(d):
    """Return number of grid planes that layer interfaces cross."""
    count = len(laminate.planes(d))
    crossed = "1 grid plane is crossed by a layer interface"
    if count > 1:
        crossed = f"{count} grid planes are crossed by layer interfaces"
    return [("interfaces", f"{crossed}; effective VTI medium used (Backus averaging)")] if count else []


def thin_water(d):
    """Say how water or another fluid layer that is thinner than a cell is represented."""
    h, ground = d.grid.spacing, d.ground
    depths = np.array([])
    if ground is not None and ground.water is not None:
        x, y = (d.grid.axis(name) for name in "xy")
        depths = ground.water.level - ground.surface(x, y[:, None])
        depths = depths[depths > 0]
    elif d.model.kind == "layers" and d.partly_fluid:
        medium = layered.build(d.model)
        low, high = d.grid.bounds("z") if ground is None else (-np.inf, np.inf)
        fluid = [upper - lower for n, lower, upper in medium.sections(low, high) if not medium.tops[1, n]]
        depths = np.array(fluid)
    thin = depths[depths < (1 - cells.SLIVER) * h]
    if not len(thin):
        return []
    where = f"over {len(thin) / len(depths):.0%} of its area" if len(depths) > 1 and ground else ""
    words = f"{thin.min():.3g} m at least, less than a cell of {h:.6g} m {where}".rstrip()
    rule = "a cell is fluid where the fluid fills more of it than rock: there it is a cell thick, elsewhere left out"
    return [("thin water", f"{words}; {rule}")]


def grid(d):
    """Points and extent."""
    extent = "  ".join("{} {:,.0f} .. {:,.0f}".format(a, *d.grid.bounds(a)) for a in d.axes)
    more = ", ..." if len(d.shots) > 4 else ""
    shots = [("shots", f"{len(d.shots)}, computed simultaneously: {', '.join(d.shots[:4])}{more}")] if d.shots else []
    return [("points", d.grid.words().replace(" points", "")), ("extent", f"{extent}  m"), *shots]


def resolution(d, sources, scenario):
    """Points per wavelength at f95 and the phase velocity error that follows."""
    rows = [notes.speeds(d.speeds), *relaxing.notes(d)]
    sampled = sampling(d, sources)
    if sampled:
        f95, slow, points = sampled
        judged = "ok" if points >= fewest(d) else "TOO FEW"
        if judged == "ok" and d.model.topography is not None and points < ON_GROUND:
            judged = f"ok inside; surface waves along the topography need {ON_GROUND}"
        words = f"{points:.1f} at f95 = {f95:.4g} Hz for the slowest wave, {slow:,.0f} m/s ({judged})"
        rows.append(("points per wavelength", words))
        words = f"{dispersion(d, 0.0, slow, f95)} (spatial discretisation; time dispersion is corrected)"
        rows.append(("phase velocity error", words))
        if scenario.snapshots:
            rows.append(("in snapshots", dispersion(d, d.dt, slow, f95) + " (spatial and temporal discretisation)"))
    if frequency := scenario.domain.max_frequency:
        words = f"{dispersion(d, 0.0, d.slowest, frequency)} (spatial discretisation) at {frequency:.4g} Hz"
        rows.append(("at max_frequency", words))
    return rows


def dispersion(d, step, slow, frequency):
    """Return the phase velocity error in words, for a leapfrog step of `step` s; step 0: spatial
    discretisation only.
    """
    x, z, diagonal = scheme.velocity_error(d.stencil, d.grid.spacing, step, slow, frequency)
    if np.isnan([x, z, diagonal]).any():
        return "not resolved by the grid"
    axes = f"{x:+.2%} along an axis" if x == z else f"{x:+.2%} along x and y, {z:+.2%} along z"
    return f"{axes}, {diagonal:+.2%} along the diagonal"


def fewest(d):
    """Points per wavelength required by all difference operators."""
    return max(FEWEST[d.weights][d.order], FEWEST["taylor"][2 * len(d.stencil.vertical)] if d.free else 0)


def sampling(d, sources):
    """f95 of the sources in Hz, the slowest wave in m/s and its points per wavelength there; None
    without sources.
    """
    f95, slow = notes.highest(sources), d.slowest
    return (f95, slow, slow / f95 / d.grid.spacing) if f95 else None


def too_coarse(d, sources):
    """Return a warning where the grid does not resolve the frequencies of the sources: list of str."""
    sampled = sampling(d, sources)
    if not sampled or sampled[2] >= fewest(d):
        return []
    f95, slow, points = sampled
    required = fewest(d)
    return [
        f"grid under-resolved: {points:.1f} points per wavelength at f95 = {f95:.4g} Hz for the slowest wave, {slow:,.0f} m/s "
        f"({required:g} required for order {d.order}): use a spacing of {slow / f95 / required:.4g} m, or a source with lower frequencies"
    ]
