"""What `craton plan` prints of an elastic finite-difference plan: algorithm, accuracy, sources, memory, phases."""
import numpy as np

from craton.methods.finite_difference import acoustic, laminate, relaxing, scheme
from craton.methods.shared import guided
from craton.methods.shared.notes import memory, phases, receivers, sources_of
from craton.model.media import earth

FEWEST = {  # points per shortest wavelength below which a warning is due: from order 6 on, phase velocity is in error by 0.7 % there
    "taylor": {2: 10, 4: 5, 6: 4, 8: 3.5, 10: 3.2, 12: 3.0, 14: 2.9, 16: 2.8},
    "holberg": {2: 10, 4: 4.5, 6: 3.4, 8: 2.9, 10: 2.6, 12: 2.5, 14: 2.4, 16: 2.3},
}

# Largest amplitude that a CPML of so many points sends back of P and S waves up to 60 degrees from its normal, in dB: homogeneous medium,
# order 4, 25 points to the S wavelength of a Ricker's peak (`craton validate reflection`), by the strength of damping over
# `guided.DAMPING`.
REFLECTED = {5: {0.0: -48, 0.75: -48, 1.75: -43}, 10: {0.0: -76, 0.75: -52, 1.75: -46}, 20: {0.0: -82, 0.75: -60, 1.75: -53}}

SURFACE = {"sbp": "summation-by-parts closure", "imaging": "stress imaging", "imaging-2": "stress imaging of vertical order 2"}


def sections(d, plan, sources, limit):
    """All sections, in the order in which they are printed."""
    return {
        plan.title or ("Acoustic waves" if d.acoustic else "Elastic waves"): algorithm(d, sources),
        "Grid": grid(d),
        "Time": time(d, limit),
        "Resolution": resolution(d, sources),
        "Sources": sources_of(sources),
        "Receivers": receivers(d, plan),
        "Memory": memory(plan),
        "Phases of a step": phases(plan),
    }


def algorithm(d, sources):
    """Method, boundaries and material averaging."""
    kinds = {}
    for face in ("top", "bottom", "west", "east", "south", "north"):
        if face in d.faced:
            kinds.setdefault(d.face(face), []).append(face)
    chosen = " with Holberg's weights" if d.scenario.run.weights == "holberg" else ""
    vertical = 2 * len(d.stencil.vertical)
    lower = "" if d.stencil.vertical == d.stencil.horizontal else f" (along z Taylor weights of order {vertical})"
    closure = f"{lower}, {SURFACE[d.scenario.boundaries.surface]} at the free surface" if d.free else ""
    waves = f"{'acoustic' if d.acoustic else d.motion} waves in the (x, z) plane, " if d.planar else ""
    grid = f"velocity-{'pressure' if d.acoustic else 'stress'} staggered grid"
    stored, mu = ("rho, lambda", "") if d.acoustic else ("rho, lambda, 1/mu", ", mu harmonically")
    return [
        ("method", f"{waves}{grid}, order 2 in time, {d.order} in space{chosen}{closure}, {d.precision}"),
        ("boundaries", "; ".join(f"{kind}: {', '.join(faces)}" for kind, faces in kinds.items())),
        *absorbing(d),
        ("material", f"{stored} stored once per point; density averaged arithmetically{mu}, on the fly"),
        *([("anisotropy", "transversely isotropic about z; cells are averaged as thin layers (Backus 1962)")] if d.anisotropic else []),
        *acoustic.notes(d, sources),
        *interfaces(d),
    ]


def absorbing(d):
    """What CPML layers send back, as it was measured, and how much of it the damping of guided waves costs."""
    if not d.faces("cpml"):
        return []
    thickness = d.scenario.boundaries.cpml.thickness
    measured = REFLECTED[max((n for n in REFLECTED if n <= thickness), default=min(REFLECTED))]
    ratio = d.vp_max / d.slowest
    damping = guided.strength(d.guiding, ratio) / guided.DAMPING
    known = damping <= max(measured) and ratio <= guided.ORDINARY_RATIO and not d.backward
    sent = measured[min(strength for strength in measured if strength >= damping)] if known else measured[max(measured)]
    words = f"{thickness} points; they send back {'less' if known else 'more'} than {sent} dB of waves up to 60 degrees from their normal"
    more = f" ({measured[0.0]} dB without the damping that guided waves need here)" if damping else ""
    return [("absorbing layers", words + more)]


def interfaces(d):
    """Planes of cells that horizontal interfaces cut."""
    count = len(laminate.planes(d))
    return [("interfaces", f"{count} cut plane(s) of cells, transversely isotropic there (Backus 1962)")] if count else []


def grid(d):
    """Points and extent."""
    extent = "  ".join("{} {:,.0f} .. {:,.0f}".format(a, *d.grid.bounds(a)) for a in d.scenario.domain.axes)
    shots = [("shots", f"{len(d.shots)}, side by side: {', '.join(d.shots[:4])}{', ...' if len(d.shots) > 4 else ''}")] if d.shots else []
    return [("points", d.grid.words().replace(" points", "")), ("extent", f"{extent}  m"), *shots]


def time(d, limit):
    """Step against the stability limit."""
    past = f", {d.extra} more from which waveforms are corrected in time" if d.extra else ""
    return [
        ("step", f"{d.dt:.6g} s = {d.dt / limit:.3f} of the stability limit {limit:.6g} s"),
        ("steps", f"{d.steps - d.extra:,} from {d.start:.6g} s to {d.end:.6g} s{past}"),
    ]


def resolution(d, sources):
    """Points per wavelength at f95 and what they cost in phase velocity."""
    found = earth.extremes(d.scenario.model, d.grid)
    rows = [("model", "  ".join("{} {:,.0f} .. {:,.0f}".format(name, *found[name]) for name in ("vp", "vs", "rho")) + "  (m/s, kg/m3)")]
    rows += relaxing.notes(d)
    sampled = sampling(d, sources)
    if sampled:
        f95, slow, points = sampled
        judged = "ok" if points >= fewest(d) else "TOO FEW"
        rows += [
            ("points per wavelength", f"{points:.1f} at f95 = {f95:.4g} Hz and {slow:,.0f} m/s ({judged})"),
            ("phase velocity error", dispersion(d, 0.0, slow, f95) + ", of space alone: time is corrected"),
        ]
        if d.scenario.snapshots:
            rows.append(("in snapshots", dispersion(d, d.dt, slow, f95) + ", of space and time"))
    return rows + highest(d, found["slowest"])


def highest(d, slow):
    """The error of phase velocity at the scenario's max_frequency."""
    frequency = d.scenario.domain.max_frequency
    return [("at max_frequency", f"{dispersion(d, 0.0, slow, frequency)}, of space alone, at {frequency:.4g} Hz")] if frequency else []


def dispersion(d, step, slow, frequency):
    """The error of phase velocity in words, with that of a leapfrog of `step` s; 0: of space alone."""
    x, z, diagonal = scheme.velocity_error(d.stencil, d.grid.spacing, step, slow, frequency)
    if np.isnan([x, z, diagonal]).any():
        return "not carried by the grid"
    axes = f"{x:+.2%} along an axis" if x == z else f"{x:+.2%} along x and y, {z:+.2%} along z"
    return f"{axes}, {diagonal:+.2%} along the diagonal"


def fewest(d):
    """Points per wavelength that all differences want."""
    return max(FEWEST[d.scenario.run.weights][d.order], FEWEST["taylor"][2 * len(d.stencil.vertical)] if d.free else 0)


def sampling(d, sources):
    """f95 of the sources in Hz, the slowest wave in m/s and its points per wavelength there; None without sources."""
    f95, slow = max((s.wavelet.f95 for s in sources), default=0), earth.extremes(d.scenario.model, d.grid)["slowest"]
    return (f95, slow, slow / f95 / d.grid.spacing) if f95 else None


def too_coarse(d, sources):
    """A warning where the grid does not carry the sources' frequencies."""
    sampled = sampling(d, sources)
    if not sampled or sampled[2] >= fewest(d):
        return []
    f95, slow, points = sampled
    wanted = fewest(d)
    return [f"{points:.1f} points per wavelength at f95 = {f95:.4g} Hz ({slow:,.0f} m/s) are too few, order {d.order} wants {wanted:g}: "
            f"use a spacing of {slow / f95 / wanted:.4g} m, or a source with lower frequencies"]  # fmt: skip
