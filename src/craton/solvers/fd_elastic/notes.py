"""What `craton plan` prints of an elastic finite-difference plan: algorithm, accuracy, sources, memory, phases."""
import numpy as np

from craton.model import earth
from craton.solvers.fd_elastic import laminate, scheme
from craton.survey import sources as survey_sources

FEWEST = {2: 10, 4: 5, 6: 4, 8: 3.5}  # points per shortest wavelength below which a warning is due


def sections(d, plan, sources, limit):
    """All sections, in the order in which they are printed."""
    return {
        plan.title or "Elastic waves": algorithm(d),
        "Grid": grid(d),
        "Time": time(d, limit),
        "Resolution": resolution(d, sources),
        "Sources": sources_of(sources),
        "Receivers": receivers(d, plan),
        "Memory": memory(plan),
        "Phases of a step": phases(plan),
    }


def sources_of(sources):
    """Each source with its place, mechanism and wavelet."""
    return [(s.name, survey_sources.describe(s).removeprefix(f"{s.name} ")) for s in sources] or [("none", "the wavefield stays at rest")]


def algorithm(d):
    """Method, boundaries and material averaging."""
    kinds = {}
    for face in ("top", "bottom", "west", "east", "south", "north"):
        kinds.setdefault(d.face(face), []).append(face)
    closure = ", summation-by-parts closure at the free surface" if d.free else ""
    return [
        ("method", f"velocity-stress staggered grid, order 2 in time, {d.order} in space{closure}, {d.precision}"),
        ("boundaries", "; ".join(f"{kind}: {', '.join(faces)}" for kind, faces in kinds.items())),
        ("material", "rho, lambda, 1/mu stored once per point; density averaged arithmetically, mu harmonically, on the fly"),
        *interfaces(d),
    ]


def interfaces(d):
    """Planes of cells that horizontal interfaces cut."""
    count = len(laminate.planes(d))
    return [("interfaces", f"{count} cut plane(s) of cells, transversely isotropic there (Backus 1962)")] if count else []


def grid(d):
    """Points and extent."""
    nz, ny, nx = d.grid.shape
    extent = "  ".join("{} {:,.0f} .. {:,.0f}".format(a, *d.grid.bounds(a)) for a in "xyz")
    return [("points", f"{nx} x {ny} x {nz} = {d.grid.size / 1e6:,.2f} million, spacing {d.grid.spacing:g} m"), ("extent", f"{extent}  m")]


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
    sampled = sampling(d, sources)
    if sampled:
        f95, slow, points = sampled
        errors = scheme.velocity_error(d.order, d.grid.spacing, 0.0, slow, f95)
        words = "{:+.2%} along an axis, {:+.2%} along the diagonal, of space alone: time is corrected"
        dispersion = "not carried by the grid" if np.isnan(errors).any() else words.format(*errors)
        judged = "ok" if points >= FEWEST[d.order] else "TOO FEW"
        rows += [
            ("points per wavelength", f"{points:.1f} at f95 = {f95:.4g} Hz and {slow:,.0f} m/s ({judged})"),
            ("phase velocity error", dispersion),
        ]
    return rows


def sampling(d, sources):
    """f95 of the sources in Hz, the slowest wave in m/s and its points per wavelength there; None without sources."""
    f95, slow = max((s.wavelet.f95 for s in sources), default=0), earth.extremes(d.scenario.model, d.grid)["slowest"]
    return (f95, slow, slow / f95 / d.grid.spacing) if f95 else None


def too_coarse(d, sources):
    """A warning where the grid does not carry the sources' frequencies."""
    sampled = sampling(d, sources)
    if not sampled or sampled[2] >= FEWEST[d.order]:
        return []
    f95, slow, points = sampled
    wanted = FEWEST[d.order]
    return [f"{points:.1f} points per wavelength at f95 = {f95:.4g} Hz ({slow:,.0f} m/s) are too few, order {d.order} wants {wanted:g}: "
            f"use a spacing of {slow / f95 / wanted:.4g} m, or a source with lower frequencies"]  # fmt: skip


def receivers(d, plan):
    """Number of receivers and channels."""
    return [("count", f"{len(plan.receivers)}, with {len(plan.channels)} channels: {', '.join(d.scenario.output.waveforms)}")]


def memory(plan):
    """Bytes by kind of array."""
    rows = [(kind, f"{size / 2**20:,.1f} MiB") for kind, size in plan.bytes_by_kind.items()]
    per_point = plan.nbytes / np.dtype(plan.precision).itemsize / plan.grid.size
    return [*rows, ("total", f"{plan.nbytes / 2**20:,.1f} MiB, {per_point:.2f} reals a point")]


def phases(plan):
    """Operators of each phase, with their points and least traffic."""
    rows = []
    for phase in plan.phases:
        names = {}
        for one in phase.launches:
            count, points = names.get(one.op.name, (0, 0))
            names[one.op.name] = (count + 1, points + one.points)
        for name, (count, points) in names.items():
            op = plan.operators[name]
            cost = f"{op.reals_per_point:g} reals and {op.flops} flops a point"
            rows.append((phase.name, f"{name:<18} {count} x, {points:>13,} points, {cost}"))
    return [*rows, ("least traffic", f"{sum(plan.traffic.values()) / 1e6:,.1f} MB a step")]
