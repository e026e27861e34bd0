"""Build the Plan of the elastic staggered grid from a scenario: step, arrays, phases."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from craton.conventions import components
from craton.core.grid import Grid
from craton.core.plan import Array, Launch, Phase, Plan
from craton.errors import Problem, ScenarioError
from craton.methods.finite_difference import (
    catalogues,
    faults,
    injection,
    notes,
    peaks,
    points,
    ranks,
    receiver_points,
    sides,
    snapshots,
)
from craton.methods.finite_difference.discretisation import Discretisation
from craton.methods.finite_difference.equations import (
    acoustic,
    contact,
    laminate,
    material,
    operators,
    relaxing,
    scheme,
    sea_floor,
    source_boxes,
    storage,
)
from craton.methods.finite_difference.equations.boundaries import BOUNDARIES, inside_layer
from craton.methods.finite_difference.equations.closure import HIGHEST
from craton.methods.finite_difference.equations.imaging import surface
from craton.methods.waves import timing
from craton.methods.waves.coupling import recorded
from craton.methods.waves.reuse import Reuse
from craton.methods.waves.tables import sampling
from craton.model.ground import terrain
from craton.model.media import checks, earth, rheology
from craton.model.media.cells import Region
from craton.survey import channels as survey_channels
from craton.survey import leapfrog, silence, source_files
from craton.survey import problems as survey_problems
from craton.survey import receivers as survey_receivers
from craton.survey import sources as survey_sources
from craton.survey import warnings as survey_warnings
from craton.survey.planes import PlaneWave
from craton.survey.shots import refusal
from craton.survey.sources import largest_moment
from craton.survey.whereabouts import located
from craton.text import first_of

MOST_POINTS = 1 << 52
LONGEST = 2**31 - 64  # points along an axis
# a run has diverged beyond this multiple of the velocity that all sources could give to one cell
DIVERGED = 1e3


def build(scenario, reuse=None):
    """Discretise a scenario.

    Parameters
    ----------
    scenario : craton.Scenario
    reuse : craton.methods.waves.reuse.Reuse, optional
        Keeps what the next plan of the same medium takes over.

    Returns
    -------
    Plan

    Raises
    ------
    ScenarioError
        With every problem found: model, sources, receivers, step, size.
    """
    reuse = reuse or Reuse(keep=False)
    grid = reuse.get("grid", lambda: grid_of(scenario))
    refuse(problems(scenario, grid, reuse))
    values = partial(earth.point_values, scenario.model)
    sources = source_files.build_all(scenario, values)
    refuse(acoustic.source_problems(scenario, sources))
    refuse(storage.source_problems(scenario, sources))
    receivers = located(survey_receivers.build(scenario), scenario, sources)
    sources, receivers = silence.warned(scenario, sources, receivers, values)
    incident = recorded.checked(*recorded.opened(scenario, "fd"))
    begin = survey_sources.start_time(scenario, sources) if sources else math.inf
    scenario = recorded.timed(scenario, incident, begin)
    refuse(step_problems(scenario, grid, reuse))
    d = discretise(scenario, grid, sources, reuse)
    if d.in_half:
        distances = source_boxes.distances(d, sources)
        d = replace(d, amplitude=storage.amplitude(d, sources, distances))
    waves = recorded.carriers(sources, incident)
    if len(waves) > len(sources):
        frequency = max(wave.wavelet.peak_frequency for wave in waves)
        d = replace(d, frequency=frequency)
    refuse(injection.problems(d, incident))
    refuse(sides.source_problems(d, sources))
    channels = survey_channels.channels(len(receivers), scenario.output.waveforms, d.motion, max(len(d.shots), 1))
    channels += receivers.fibre_channels()
    return assemble(d, sources, receivers, channels, reuse, incident)


def problems(scenario, grid, reuse):
    """All problems of a scenario on a grid: size, model, step, sources, receivers, snapshots: list
    of Problem.
    """
    wrong_model = reuse.get("model problems", lambda: model_problems(scenario, grid))
    wrong_step = [] if wrong_model else step_problems(scenario, grid, reuse)
    others = [*surface_problems(scenario), *survey_problems(scenario), *snapshots.problems(scenario)]
    others += output_problems(scenario)
    others += [] if wrong_model else storage.problems(scenario, grid)
    return [*size_problems(scenario, grid), *wrong_model, *wrong_step, *refusal(scenario), *others]


def model_problems(scenario, grid):
    """Return what is wrong with the model on a grid: list of Problem."""
    wrong = earth.problems(scenario.model, grid)
    if all(isinstance(problem, checks.Unlikely) for problem in wrong):
        wrong += rheology.problems(scenario.model, grid) or acoustic.problems(scenario, grid)
        wrong += ground_problems(scenario, grid)
    return wrong


def ground_problems(scenario, grid):
    """Return a problem where ground or water rises into an absorbing layer at the top."""
    ground, kind = terrain.build(scenario.model), scenario.boundaries.face("top")
    if ground is None or kind not in ("cpml", "sponge"):
        return []
    highest = terrain.highest(ground, grid)
    lower_side = grid.bounds("z")[1] - getattr(scenario.boundaries, kind).thickness * grid.steps[2]
    if highest < lower_side:
        return []
    message = f'the surface rises to {highest:.10g} m, into the "{kind}" layer of the top, which begins at {lower_side:.10g} m'
    return [Problem("boundaries.top", message, 'use "free" or "rigid": no waves enter the air above the ground')]


def surface_problems(scenario):
    """Return a method for the free surface where the top plane is not a free surface."""
    top, kind = scenario.boundaries.face("top"), scenario.boundaries.surface
    if kind == "sbp" or (top == "free" and scenario.model.topography is None):
        return []
    reason = f'the top is "{top}"' if top != "free" else "topography is represented by the material"
    return [Problem("boundaries.surface", f'"{kind}" needs a flat free surface: {reason}', "leave surface out")]


def output_problems(scenario):
    """Quantities that 2-D waves do not have."""
    motion = scenario.domain.motion
    fibres = [n for n, entry in enumerate(scenario.receivers) if hasattr(entry, "das")]
    if motion == "SH" and fibres:
        message = "SH waves do not strain a fibre in the (x, z) plane"
        remedy = "leave it out, or change domain.waves"
        return [Problem(f"receivers.{n}.das", message, remedy) for n in fibres]
    return [
        Problem(f"output.waveforms.{n}", f"{motion} waves have no {quantity}", "leave it out, or change domain.waves")
        for n, quantity in enumerate(scenario.output.waveforms)
        if components(quantity, motion) is None
    ]


def refuse(problems):
    """Raise all problems at once, if there are any."""
    if problems:
        raise ScenarioError(problems)


def grid_of(scenario):
    """Return the grid of a scenario; without a spacing it is derived from max_frequency and
    points_per_wavelength.
    """
    domain = scenario.domain
    spacing = domain.spacing or derived_spacing(scenario)
    vertical = domain.vertical_spacing or sea_floor.vertical_spacing(scenario, spacing)
    nx, ny, nz = domain.points(spacing, vertical)
    x, y, _ = domain.corner
    # the top keeps its elevation
    origin = (x, y, domain.top - (nz - 1) * (vertical or spacing))
    return Grid(origin, spacing, (nz, ny, nx), vertical=None if vertical == spacing else vertical)


def derived_spacing(scenario):
    """Spacing that gives the slowest wave its points per wavelength at max_frequency, m, rounded
    down to three digits.
    """
    domain = scenario.domain
    region = Region(domain.corner, tuple(o + s for o, s in zip(domain.corner, domain.extent)))
    refuse(earth.problems(scenario.model, region) + survey_problems(scenario) + snapshots.problems(scenario))
    spacing = earth.extremes(scenario.model, region)["slowest"] / (domain.max_frequency * domain.points_per_wavelength)
    digits = 2 - math.floor(math.log10(spacing))
    return math.floor(spacing * 10**digits) / 10**digits


def discretise(scenario, grid, sources, reuse=None):
    """Order, step, start and number of steps."""
    reuse = reuse or Reuse(keep=False)
    order, precision = scenario.run.order, scenario.run.precision
    vp_max = reuse.get("fastest", lambda: fastest(scenario, grid))
    speeds = reuse.get("speeds", lambda: earth.extremes(scenario.model, grid))
    dt = timing.time_step(scenario, stability_limit(scenario, grid, vp_max))
    start = timing.start_time(scenario, sources, dt)
    steps = timing.step_count(scenario, start, dt)
    timing.refuse_series(steps, len(sources))
    extra = leapfrog.extra(steps) if scenario.receivers or scenario.recording else 0
    frequency = max((s.wavelet.peak_frequency for s in sources), default=0.0) or 0.1 * vp_max / grid.spacing
    shots = survey_sources.shots(scenario)
    fluid_only = acoustic.chosen(scenario, grid, sources, speeds)
    return Discretisation(
        scenario,
        grid,
        order,
        precision,
        dt,
        start,
        steps + extra,
        vp_max,
        frequency,
        extra,
        shots,
        fluid_only,
        storage=scenario.run.storage,
        memo=reuse.get("medium", dict, (fluid_only, shots)),
    )


def restore(scenario, plan):
    """Return the `Discretisation` of a plan, without what follows from its sources: for the medium,
    which is no part of the plan.
    """
    return Discretisation(
        scenario,
        plan.grid.undivided,
        scenario.run.order,
        plan.precision,
        plan.dt,
        plan.start,
        plan.steps,
        np.nan,
        np.nan,
        plan.extra,
        plan.shots,
        acoustic="s" in plan.arrays,
        storage=scenario.run.storage,
    )


def fastest(scenario, grid):
    """Return the fastest wave speed, m/s: over all directions, and with attenuation in the
    high-frequency limit.
    """
    speed = "vs" if scenario.domain.motion == "SH" else "vp"
    if rheology.anisotropic(scenario.model, grid):
        return rheology.fastest_anisotropic(scenario.model, grid, speed, rheology.relaxation(scenario.model, grid))
    return relaxing.fastest(scenario, grid) or earth.extremes(scenario.model, grid)[speed][1]


def size_problems(scenario, grid):
    """Axes too short for their absorbing layers and differences, or too long for 32-bit indices."""
    order, problems = scenario.run.order, []
    surface = 2 * min(order, HIGHEST) + 2
    layers = {"cpml": scenario.boundaries.cpml.thickness + 1, "sponge": scenario.boundaries.sponge.thickness + 1}
    layers |= {"free": surface, "a1": order // 2 + 1}
    for axis, faces in (("x", ("west", "east")), ("y", ("south", "north")), ("z", ("bottom", "top"))):
        n = grid.shape[2 - "xyz".index(axis)]
        if axis == "y" and grid.planar:
            continue
        least = max(sum(layers.get(scenario.boundaries.face(f), 0) for f in faces) + 1, order + 1)
        if n < least:
            message = (
                f"{n} points along {axis} are too few: the boundaries and differences of order {order} need {least}"
            )
            problems.append(
                Problem(
                    "domain.size",
                    message,
                    f"make the domain longer along {axis}, the spacing smaller, or the absorbing layers thinner",
                )
            )
        if n > LONGEST:
            message = f"{n:,} points along {axis} exceed 32-bit indices"
            problems.append(Problem("domain.size", message, "use a larger spacing or a smaller domain"))
    count = math.prod(grid.shape)
    if not problems and count > MOST_POINTS:
        message = f"{count:,} points are more than a machine can address"
        problems.append(Problem("domain.size", message, "use a larger spacing"))
    return problems


def stability_limit(scenario, grid, vp_max):
    """Largest stable step, s."""
    free = scenario.boundaries.face("top") == "free" and scenario.model.topography is None
    rise = float(grid.steps[2] / grid.spacing)
    run, floor = scenario.run, sea_floor.closed_plane(scenario, grid) is not None
    radii = [surface(scenario.boundaries.surface, run.order)] * free + [surface("sbp", run.order)] * floor
    radius = max((one.spectral_radius / rise for one in radii), default=None)
    stencil = scheme.stencil(run.order, run.weights, free or floor, scenario.domain.motion, rise)
    return scheme.stable_step(stencil, grid.spacing, vp_max, radius)


def step_problems(scenario, grid, reuse):
    """Return a step beyond the stability limit."""
    vp_max = reuse.get("fastest", lambda: fastest(scenario, grid))
    step, limit = scenario.time.step, stability_limit(scenario, grid, vp_max)
    if step is None or step <= limit:
        return []
    return [
        Problem(
            "time.step",
            f"step = {step:g} s is unstable: the stability limit on this grid and model is {limit:.4g} s",
            f"use at most {limit:.4g} s, or leave step out to use {timing.time_step_for(limit):.4g} s",
        )
    ]


def assemble(d, sources, receivers, channels, reuse, incident=()):
    """Return the plan: arrays, phases, and what `craton plan` says of it."""
    plan = arranged(d, sources, receivers, channels, reuse, incident=incident)
    plan.warnings = warnings(d, sources, receivers, incident)
    plan.warnings += injection.warnings(d, incident, sources, receivers)
    limit = stability_limit(d.scenario, d.grid, d.vp_max)
    plan.notes = notes.sections(d, plan, sources, limit, incident)
    return plan


def arranged(d, sources, receivers, channels, reuse, more=({}, {}), incident=()):
    """Arrays and phases of the plan; `more` are further arrays, and launches by phase; `incident`
    the recordings that are injected.
    """
    slots = timing.slots(d.steps, len(channels))
    arrays = wavefield(d) | relaxing.arrays(d) | material.arrays(d)
    pieces = {phase: list(launches) for phase, launches in more[1].items()}
    arrays |= more[0]
    medium = (d.acoustic, d.shots)
    kinds = dict.fromkeys(BOUNDARIES.values(), (*medium, d.frequency))
    for kind, key in (kinds | dict.fromkeys((laminate.laminate, contact.contact), medium)).items():
        boundary_arrays, launches = reuse.get(kind.__name__, lambda kind=kind: kind(d), key)
        arrays |= boundary_arrays
        for phase, phase_launches in launches.items():
            pieces.setdefault(phase, []).extend(phase_launches)
    source_arrays, injections, band = points.sources(d, sources)
    for separate in (faults, catalogues):
        more_arrays, launches, more_band = separate.sources(d, sources)
        for phase, phase_launches in launches.items():
            pieces.setdefault(phase, []).extend(phase_launches)
        arrays |= more_arrays
        band = max(more_band, band if np.isfinite(band) or not more_band else 0.0)
    injected_arrays, injected, peak = injection.injections(d, incident)
    for phase, phase_launches in injected.items():
        pieces.setdefault(phase, []).extend(phase_launches)
    band = recorded.band_with(band, sources, incident)
    recordings, ring_arrays, recording = injection.recordings(d, band)
    arrays |= injected_arrays | ring_arrays
    rows = reuse.get(
        "rows of channels",
        lambda: receiver_points.rows_of(d, channels, receivers, later=not d.in_half),
        (d.acoustic, channels, receivers.xyz.tobytes()),
    )
    if d.in_half:
        rows = (*rows[:2], rows[2] / storage.scales(d, rows[1]))
    record_arrays, record = sampling(*rows, slots, d.precision)
    of_steps = (*medium, d.dt, d.start, d.steps, d.extra)
    series, peak_arrays, measuring = reuse.get("peaks", lambda: peaks.maps(d), of_steps)
    arrays |= source_arrays | record_arrays | peak_arrays
    steps = reuse.get("steps", lambda: {name: steps_of(d, name) for name in ("velocity", "stress")}, medium)
    phases = tuple(phase_of(d, name, steps[name], pieces, injections.get(name)) for name in steps) + (
        Phase("record", (*measuring, *recording, *record)),
    )
    if d.in_half:
        tables = source_arrays | record_arrays
        box_arrays, phases = source_boxes.kept_in_half(d, phases, tables)
        arrays |= box_arrays
        arrays = {name: array for name, array in arrays.items() if name not in source_arrays}
    return Plan(
        title=d.scenario.title,
        solver="fd_elastic",
        precision=d.precision,
        grid=d.grid,
        layout=d.layout,
        arrays=arrays,
        phases=phases,
        steps=d.steps,
        dt=d.dt,
        start=d.start,
        channels=channels,
        receivers=receivers,
        slots=slots,
        limit=divergence_limit(d, sources, peak),
        scale=d.amplitude,
        watched=d.velocity,
        kinetic=tuple((name, "") for name in d.velocity),
        quiet=survey_sources.end_time(sources, incident),
        snapshots=tuple(snapshots.series_of(d, spec) for spec in d.scenario.snapshots),
        extra=d.extra,
        band=band,
        shots=d.shots,
        peaks=tuple(series),
        recordings=tuple(recordings),
        weights=ranks.weights(d),
    )


def warnings(d, sources, receivers, incident=()):
    """Warnings about a valid scenario that is probably not what was meant: list of str."""
    sentences = [
        *d.scenario.warnings,
        *survey_warnings(d.scenario, sources, d.start),
        *receivers.warnings,
        *acoustic.warnings(d, sources),
        *sides.warnings(d, sources),
    ]
    in_layer = [source.name for source in sources if inside_layer(d, source.points).any()]
    in_layer += [receivers.names[n] for n in np.flatnonzero(inside_layer(d, receivers.xyz))]
    if in_layer:
        words = f"inside an absorbing layer, where waves are damped: {first_of(in_layer)}"
        sentences.append(words)
    return sentences + growing(d) + notes.too_coarse(d, recorded.carriers(sources, incident))


def growing(d):
    """Return a warning for A1 at a side of a solid: it grows slowly at vp / vs = 1.73, sooner at
    larger ratios (validation/stability_cases.py).
    """
    media = getattr(d.scenario.model, "layers", None) or [d.scenario.model]
    ratio = max((m.vp / m.vs for m in media if getattr(m, "vs", 0)), default=0)
    if not ratio or not any(axis < 2 for axis, _ in d.faces("a1")):
        return []
    return [
        f"A1 at a side face grows in long runs, sooner for larger vp / vs ({ratio:.2f} here; within 2,000 steps at 2.5): "
        'use "sponge" or "cpml"'
    ]


def wavefield(d):
    """Return the state: all fields in one block, so that point tables need one index, and each
    field as a part of it.
    """
    layout, dtype = d.layout, np.dtype(d.kept_as[0])
    parts = {
        "first": layout.first,
        "part_of": "state",
        "window": layout.window(),
        "defined": defined(d),
        "over": layout,
    }
    state = {
        "state": Array(
            "wavefield", (layout.block(len(d.fields)),), dtype, first=layout.start(0) + layout.first, over=layout
        )
    }
    return state | {
        name: Array("wavefield", layout.padded, dtype, start=layout.start(n), **parts)
        for n, name in enumerate(d.fields)
    }


def defined(d):
    """Slices in which a field is initialised: the grid, and the ghost points beyond its edges,
    which stay zero.
    """
    bare = {axis for axis, _ in d.faces("periodic")} | ({1} if d.planar else set())
    return tuple(
        slice(o, o + n) if 2 - axis in bare else slice(o - d.reach, o + n + d.reach)
        for axis, (o, n) in enumerate(zip(d.layout.origin, d.shape))
    )


def phase_of(d, name, steps, pieces, injection):
    """One half step: ghosts that it reads, the step itself, layers, the step below a free surface
    (which sets szz last), damping, edges.

    Forces come before the velocity step and moments after the stress step: nothing then stands
    between the two, and a machine may take both in one pass through memory.
    """
    before, after = ([injection], []) if name == "velocity" else ([], [injection])
    plain, *surface = steps
    steps = [plain, *pieces.get(name, ()), *surface]
    # layers add to memory variables what follows the step, and leave szz = 0 alone
    if d.relaxing and name == "stress":
        steps = [plain, *surface, *pieces.get(name, ())]
    ends = [f"{name}_{place}" for place in ("updated", "after", "last")]
    steps = [*steps, *(launch for end in ends for launch in pieces.get(end, ()))]
    begins = [f"{name}_{place}" for place in ("first", "before")]
    first = [launch for begin in begins for launch in pieces.get(begin, ())]
    launches = [*first, *before, *steps, *after]
    return Phase(name, tuple(launch for launch in launches if launch), ranks.halos(d, name))


def steps_of(d, name):
    """Return the plain step, below the planes that the closure of a free surface covers or that
    topography cuts, and the step of those planes.

    Above the highest point of a topography nothing is computed.
    """
    plain = replace(d.stencil, terrain=False)
    op = operators.velocity(plain) if name == "velocity" else operators.stress(plain, d.relaxing)
    scalars = d.fd_params if name == "velocity" else relaxing.params(d, d.fd_params)
    full, empty = d.vacuum_planes
    top = min(d.grid.shape[0] - d.surface_planes, full)
    names = d.names(*op.arrays)
    launches = [Launch(op, names, d.slab(2, 0, top), scalars)]
    if full < empty:
        launches.append(Launch(operators.among_air(op), names, d.slab(2, full, empty), scalars))
    if d.free:
        launches.append(
            Launch(operators.at_surface(op, d.closure, d.stencil), names, d.slab(2, top, d.grid.shape[0]), scalars)
        )
    return launches


def divergence_limit(d, sources, peak=0.0):
    """Particle velocity beyond which a run has diverged, m/s: `DIVERGED` times what all sources
    could give to one cell, and incident waves of a `peak` velocity.
    """
    rho, vs = d.speeds["rho"][0], d.slowest
    volume, times = d.volume, d.start + np.arange(d.steps) * d.dt
    total = peak
    for s in sources:
        impulse = np.abs(s.wavelet(times)).sum() * d.dt
        if isinstance(s, PlaneWave):
            total += abs(s.velocity) * s.wavelet.peak
            continue
        strength = np.abs(s.force).max() if s.force is not None else largest_moment(s) / vs
        total += impulse * strength / (rho * volume)
    return float(DIVERGED * total) if total > 0 else np.inf
